"""Ten thousand damaged or forged model files: each loads or is refused, fast and in little memory.

ANMIN_FUZZ is another number of them.

Half of them have bytes changed, cut or moved. The other half are forged: header, facts or arrays
are changed in their meaning and the checksum is made right again, so that every later check is met.
"""

import hashlib
import io
import json
import os
import tracemalloc
import warnings
from contextlib import suppress
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from conftest import make_data

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.files import dumps, unpack
from anmin.model_file import ModelFileError

pytestmark = pytest.mark.slow

SEEDS = range(4)
FILES = int(os.environ.get("ANMIN_FUZZ", "10000")) // len(SEEDS)
MOST_BYTES = 2**21  # that a load may allocate; a good one here takes a tenth
MOST_SECONDS = 5.0
STRANGE = (None, True, False, 0, 1, -1, 2**31, 2**63, 10**39, 0.5, -0.0, 1e308, "", "inf", "nan",
           "A", "../../etc/passwd", "F32", "\ud800", "\0", [], [[]], [[[[]]]], {}, {"a": 1},
           {"float": "nan"}, {"dict": []}, [2**40, 2**40], [0, 2**48], ["x"] * 50)  # fmt: skip


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """The bytes of a regressor with intervals, of a classifier, and of a model of a table."""
    path = tmp_path_factory.mktemp("fuzz") / "m.anmin"
    X, y = make_data(n=40)
    options = {"n_hidden": 2, "lam": 1e-3, "max_iter": 2, "random_state": 0}
    labels = np.array(["a", "b", "c"])[np.digitize(y, [2.5, 3.5])]
    models = [
        ANMINRegressor(**options, intervals=True).fit(X, y),
        ANMINClassifier(**options, class_weight={"a": 2.0, "b": 1.0, "c": 1.0}).fit(X, labels),
        ANMINRegressor(**options, categorical_features=["a", "town"]).fit(table(X, labels), y),
    ]
    found = []
    for model in models:
        model.save(path)
        found.append(path.read_bytes())
    return found


def table(X, labels):
    """A number with gaps, levels with and without an input of their own, and dates."""
    when = np.datetime64("2024-01-01") + np.arange(len(X)) * np.timedelta64(9, "D")
    town = [f"town {k // 3}" for k in range(len(X))]
    number = np.where(X[:, 0] > 1, np.nan, X[:, 0])
    return pd.DataFrame({"a": labels, "x": number, "when": when, "town": town})


def damage(data, rng):
    """The file with some of its bytes changed, cut or moved."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at, n = int(rng.integers(len(data) + 1)), int(rng.integers(1, 40))
        kind = rng.integers(6)
        if kind == 0:
            data[at : at + n] = rng.bytes(n)
        elif kind == 1:
            del data[at : at + n]
        elif kind == 2:
            data[at:at] = rng.bytes(n)
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            data[at:at] = data[int(rng.integers(len(data) + 1)) :][:n]
        else:
            data[:8] = int(rng.choice([0, 2, at, len(data), 2**24, 2**62])).to_bytes(8, "little")
        data = data or bytearray(b"\0")
    return bytes(data)


def places(value, found):
    """Every (container, key) in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        found.append((value, key))
        if isinstance(inner, (dict, list)):
            places(inner, found)
    return found


def disturb(value, rng):
    """A JSON value with one to three entries replaced, dropped or doubled."""
    for _ in range(rng.integers(1, 4)):
        known = places(value, [])
        if not known:
            return
        holder, key = known[rng.integers(len(known))]
        kind = rng.integers(4)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.append(holder[key])
        else:
            holder[key] = json.loads(json.dumps(STRANGE[rng.integers(len(STRANGE))]))


def forge(data, rng):
    """The file with its meaning changed and its checksum right."""
    n = int.from_bytes(data[:8], "little")
    header, arrays = json.loads(data[8 : 8 + n]), bytearray(data[8 + n :])
    kind = rng.integers(4)
    if kind == 0:
        disturb(header, rng)
    elif kind == 1:
        values = np.frombuffer(arrays, "<f8").copy()
        bad = rng.integers(len(values), size=3)
        values[bad] = rng.choice([0.0, -1.0, 1e308, -1e308, 5e-324, np.nan, np.inf])
        arrays = bytearray(values.tobytes())
    else:
        facts = json.loads(header["__metadata__"]["facts"])
        disturb(facts, rng)
        header["__metadata__"]["facts"] = json.dumps(facts)
    if isinstance(header.get("__metadata__"), dict):
        header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header).encode()
    blank = len(text).to_bytes(8, "little") + text + bytes(arrays)
    return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)


def test_the_forger_makes_files_that_load(originals):
    for data in originals:
        facts, arrays = unpack(io.BytesIO(data), len(data))
        assert dumps(facts)
        assert arrays


@pytest.mark.parametrize("seed", SEEDS)
def test_no_file_crashes_hangs_or_takes_much_memory(originals, tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "m.anmin"
    X = make_data(n=3)[0]
    frame = table(X, ["a", "b", "c"])
    files = [(damage, forge)[i % 2](originals[rng.integers(3)], rng) for i in range(FILES)]
    loaded, worst_bytes, worst_seconds = 0, 0, 0.0
    tracemalloc.start()
    try:
        for data in files:
            path.write_bytes(data)
            tracemalloc.reset_peak()
            before, start = tracemalloc.get_traced_memory()[0], perf_counter()
            with suppress(ModelFileError), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a frame for a model that knows no names
                model = load_model(path)
                model.predict(X if model.n_features_in_ == 2 else frame)
                loaded += 1
            worst_seconds = max(worst_seconds, perf_counter() - start)
            worst_bytes = max(worst_bytes, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert worst_bytes < MOST_BYTES
    assert worst_seconds < MOST_SECONDS
    assert 0 < loaded < FILES / 2
