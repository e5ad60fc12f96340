"""Tables of the folder ANMIN_MIXED: one artefact, from the file to Python, ONNX and C."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_export_tables import cells, feed, from_c

import anmin
from anmin import load_model
from anmin.columns import CategoryColumn

pytestmark = pytest.mark.slow


@pytest.fixture
def saratoga():
    """House prices: eleven columns of numbers and six of text."""
    path = Path(os.environ.get("ANMIN_MIXED", ""), "saratoga.csv")
    if not os.environ.get("ANMIN_MIXED") or not path.is_file():
        pytest.skip("ANMIN_MIXED does not name a folder with saratoga.csv")
    return path


def run(folder, *words):
    source = str(Path(anmin.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {source!r}); from anmin.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def with_gaps(path, folder):
    """Half of the file with a gap in every third row, to fit; all of it with more, to predict."""
    frame, rng = pd.read_csv(path), np.random.default_rng(0)
    inputs = [name for name in frame if name not in ("rownames", "price")]
    for k, (name, share) in enumerate({"train": 0.03, "new": 0.1}.items()):
        holes = pd.DataFrame(rng.random((len(frame), len(inputs))) < share, columns=inputs)
        spoiled = frame.assign(**frame[inputs].mask(holes))
        spoiled.loc[:2, "fuel"] = "whale oil" if k else spoiled.loc[:2, "fuel"]
        spoiled[k::2].to_csv(folder / f"{name}.csv", index=False)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_file_python_onnx_and_c_agree(tmp_path, saratoga):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    pytest.importorskip("typer", reason='the command line needs the extra "cli"')
    with_gaps(saratoga, tmp_path)
    run(tmp_path, "fit", "train.csv", "--target", "price", "-o", "m.anmin", "--no-refit")
    run(tmp_path, "predict", "m.anmin", "new.csv", "-o", "out.csv")
    model, frame = load_model(tmp_path / "m.anmin"), pd.read_csv(tmp_path / "new.csv")
    kinds = [type(column) for column in model._columns.columns]
    assert kinds.count(CategoryColumn) == 6
    frame = frame[model.feature_names_in_]
    said = model.predict(frame)
    head, *printed = (tmp_path / "out.csv").read_text().split()
    assert head == "price"
    np.testing.assert_array_equal(said, [float(number) for number in printed])

    model.to_onnx(tmp_path / "m.onnx", dtype="float64")
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    np.testing.assert_allclose(session.run(None, feed(session, model, frame))[0][:, 0], said, 1e-6)
    np.testing.assert_allclose(from_c(model, frame, tmp_path, "float64")[:, 0], said, 1e-6)
    gaps = [cells(column, frame[column.name]) for column in model._columns.columns]
    assert sum(any(cell in ("", "whale oil") for cell in column) for column in gaps) >= 6
