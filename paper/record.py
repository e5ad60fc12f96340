"""One tidy table on disk: a row for each (data, method, split), written as soon as it is known.

    FOLDER/runs/DATA/METHOD-000.json    one run: its row and its curve, written at once and whole
    FOLDER/results.csv                  all rows
    FOLDER/curves.csv                   all curves: a row for each point

The runs are what counts; both tables are made from them.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anmin.files import open_atomically, write_atomically

Curve = dict[str, list[float]]  # column → values: step, seconds, train_mse, test_mse, …
POINTS = 60  # of a curve that are kept
SETTINGS = "run.json"


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the table, with its curve."""

    data: str
    method: str
    split: int
    train_mse: float = nan
    test_mse: float = nan
    train_r2: float = nan
    test_r2: float = nan
    seconds: float = nan
    n_train: int = 0
    n_test: int = 0
    d: int = 0
    h: int = 0
    q: int = 0
    device: str = "cpu"
    machine: str = ""
    note: str = ""
    curve: Curve = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int]:
        return self.data, self.method, self.split


COLUMNS = [item.name for item in fields(Record) if item.name != "curve"]


class Folder:
    """Where an experiment lives.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = Folder(Path(place))
    ...     folder.write(Record("sdf", "adam", 3, train_mse=8.0))
    ...     [record.train_mse for record in folder.records()]
    [8.0]
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def place(self, data: str, method: str, split: int) -> Path:
        return self.path / "runs" / data / f"{method}-{split:03d}.json"

    def has(self, data: str, method: str, split: int) -> bool:
        return self.place(data, method, split).is_file()

    def write(self, record: Record) -> None:
        """Keep a run: afterwards it is on disk, whole."""
        place = self.place(*record.key)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, json.dumps(asdict(record)).encode())

    def read(self, data: str, method: str, split: int) -> Record:
        return Record(**json.loads(self.place(data, method, split).read_bytes()))

    def records(self) -> list[Record]:
        """All runs, in order of data, method and split."""
        files = sorted((self.path / "runs").glob("*/*.json"))
        return [Record(**json.loads(file.read_bytes())) for file in files]

    def write_tables(self, records: Iterable[Record]) -> None:
        """results.csv and curves.csv, anew from the runs."""
        records = list(records)
        rows = [[getattr(record, name) for name in COLUMNS] for record in records]
        write_atomically(self / "results.csv", csv_bytes(COLUMNS, rows))
        names = list(dict.fromkeys(name for record in records for name in record.curve))
        header = ["data", "method", "split", *names]
        write_atomically(self / "curves.csv", csv_bytes(header, curve_rows(records, names)))

    def keep_picture(self, name: str, picture: NDArray) -> None:
        """An array that a figure shows as an image."""
        with open_atomically(self / f"{name}.npy") as file:
            np.save(file, picture, allow_pickle=False)

    def picture(self, name: str) -> NDArray | None:
        file = self / f"{name}.npy"
        return np.load(file, allow_pickle=False) if file.is_file() else None

    def settings(self) -> dict[str, Any]:
        """What is known of the experiment as a whole; empty where there is none yet."""
        file = self / SETTINGS
        return json.loads(file.read_bytes()) if file.is_file() else {}

    def keep_settings(self, facts: dict[str, Any]) -> None:
        write_atomically(self / SETTINGS, json.dumps(facts, indent=2).encode())


def curve_rows(records: Iterable[Record], names: list[str]) -> Iterator[list[Any]]:
    for record in records:
        for i in range(max(map(len, record.curve.values()), default=0)):
            values = [record.curve[name][i] if name in record.curve else "" for name in names]
            yield [*record.key, *values]


def csv_bytes(header: list[str], rows: Iterable[list[Any]]) -> bytes:
    """A CSV file.

    >>> csv_bytes(["a", "b"], [[1, 2.5]])
    b'a,b\\n1,2.5\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def thinned(curve: Curve, most: int = POINTS) -> Curve:
    """At most so many points of a curve, the first and the last among them.

    >>> thinned({"step": [0, 1, 2, 3, 4]}, 3)
    {'step': [0, 2, 4]}
    """
    n = max(map(len, curve.values()), default=0)
    if n <= most:
        return curve
    places = sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})
    return {name: [values[i] for i in places] for name, values in curve.items()}
