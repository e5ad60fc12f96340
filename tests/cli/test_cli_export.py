"""`anmin export` as a user meets it."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

import pandas as pd
from typer.testing import CliRunner

from anmin import load_model
from anmin.cli import app


@pytest.fixture
def X():
    """The columns of the table."""
    red = np.arange(40) % 2 > 0
    return pd.DataFrame({"colour": np.where(red, "red", "green"), "size": np.linspace(1, 9, 40)})


@pytest.fixture
def run(X, tmp_path, monkeypatch):
    """Run a command line in a folder with a model."""
    monkeypatch.chdir(tmp_path)

    def invoke(*words):
        return CliRunner().invoke(app, words, env={"COLUMNS": "120"})

    X.assign(price=X["size"] * (X["colour"] == "red")).to_csv("t.csv", index=False)
    words = ("--n-hidden", "4", "--lam", "1e-3", "--max-iter", "5")
    assert invoke("fit", "t.csv", "-t", "price", *words, "-o", "m.anmin").exit_code == 0
    return invoke


def test_export_to_c(run, tmp_path):
    path = tmp_path / "m.c"
    result = run("export", "m.anmin", "--to", "c", "-o", str(path), "--name", "price")
    assert result.exit_code == 0, result.output
    assert "2 inputs, in this order: colour, size" in result.stdout
    assert "price_predict(const struct price_row *row, float" in path.read_text()
    words = ("--to", "c", "-o", str(path), "--dtype", "float64", "--json")
    facts = json.loads(run("export", "m.anmin", *words).stdout)
    assert facts["inputs"] == ["colour", "size"]
    assert "model_predict(const struct model_row *row, double" in path.read_text()


def test_export_to_onnx(run, X):
    runtime = pytest.importorskip("onnxruntime")
    assert run("export", "m.anmin", "--to", "onnx", "--dtype", "float64").exit_code == 0
    columns = {name: X[name].to_numpy(object if name == "colour" else float)[:, None] for name in X}
    (said,) = runtime.InferenceSession("m.onnx").run(None, columns)
    np.testing.assert_allclose(said[:, 0], load_model("m.anmin").predict(X))


@pytest.mark.slow
def test_export_to_torch(run, X):
    torch = pytest.importorskip("torch")
    words = ("--to", "torch", "--dtype", "float64")
    result = run("export", "m.anmin", *words)
    assert result.exit_code == 0, result.output
    model = load_model("m.anmin")
    assert f"in this order: {', '.join(model._columns.made)}" in result.stdout
    module = torch.export.load("m.pt2").module()
    said = module(torch.tensor(model.encode(X))).detach().numpy()
    np.testing.assert_allclose(said[:, 0], model.predict(X))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--to", "java"), "java"),
        ((), "--to"),
        (("--to", "c", "-o", "m.txt"), "must end in .c"),
        (("--to", "c", "--name", "no name"), "name"),
    ],
)
def test_an_export_that_cannot_be(run, words, complaint):
    result = run("export", "m.anmin", *words)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_an_export_whose_library_is_missing(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "anmin.export.onnx", raising=False)
    result = run("export", "m.anmin", "--to", "onnx")
    assert result.exit_code == 2
    assert "anmin[export]" in result.stderr
