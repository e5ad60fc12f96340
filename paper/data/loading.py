"""The paper's experiments by name: their rows as published, and the sizes that belong to them.

Nothing is shifted, scaled or split here; `benchmarks.cases` does that. `casual` stays an input of
bike, as in the paper, although casual + registered = count. DAE has two readings: noise of
deviation 10 on the inputs (the text of the paper), or inputs equal to the targets (the author's
notebook). `shape` needs no file: it stands in where none of the paper's sets can be had.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anmin.datasets import draw_shape, signed_distance
from paper.data.reading import read_table
from paper.data.sets import DATASETS
from paper.data.store import Folder, fetch

Array = NDArray[np.float64]
NOISE = 10.0  # deviation of the noise on the inputs of DAE, in grey levels of 0 to 255


@dataclass(frozen=True, slots=True)
class Case:
    """An experiment: its title, files, hidden units, and the batches of SGD and Adam."""

    title: str
    files: str  # name in DATASETS; empty where the rows are made in code
    h: int = 64
    batch: int = 256

    @property
    def inputs(self) -> int:
        return DATASETS[self.files].inputs if self.files else 2

    @property
    def outputs(self) -> int:
        return DATASETS[self.files].outputs if self.files else 1


CASES = {
    "sdf": Case("SDF decoder", "sdf"),
    "abalone": Case("Abalone", "abalone"),
    "bike": Case("Bike-sharing", "bike"),
    "dae": Case("DAE, noisy inputs", "dae", h=32),
    "dae-clean": Case("DAE, clean inputs", "dae", h=32),
    "year": Case("YearPredictionMSD", "year", batch=2048),
    "shape": Case("Shape drawn in code", ""),
}


def load_rows(
    case: str, folder: Folder | None = None, *, download_if_missing: bool = True
) -> tuple[Array, Array]:
    """X (n, d) and y (n,) or (n, q) of an experiment.

    >>> X, y = load_rows("shape")
    >>> X.shape, y.shape
    ((25600, 2), (25600,))
    """
    if case == "shape":
        return signed_distance(draw_shape(160))
    dataset = DATASETS[CASES[case].files]
    paths = fetch(dataset.name, folder, download_if_missing=download_if_missing)
    tables = [
        read_table(path, dataset.rows, file.columns)
        for file, path in zip(dataset.files, paths, strict=True)
    ]
    if case == "sdf":
        return tables[0], tables[1].ravel()
    if case == "dae":
        noise = np.random.RandomState(0).standard_normal(tables[0].shape)
        return tables[0] + NOISE * noise, tables[0]
    if case == "dae-clean":
        return tables[0], tables[0].copy()
    if case == "year":
        return tables[0][:, 1:], tables[0][:, 0]
    return tables[0][:, : dataset.inputs], tables[0][:, -1]
