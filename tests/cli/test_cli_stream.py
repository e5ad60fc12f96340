"""`anmin fit` on a table larger than memory: in a stream, to the same network as a source."""

import io
import json

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pyarrow", reason='streams need the extra "parquet"')

import pandas as pd
from typer.testing import CliRunner

from anmin import ANMINRegressor, load_model
from anmin.cli import app, streaming
from anmin.sources import ParquetSource

QUICK = ("--n-hidden", "4", "--lam", "1e-3", "--max-iter", "5")


def rows(n=500):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 2)), columns=["a", "b"])
    extra = {"town": rng.choice(["Ulm", "Bonn"], n), "n": range(n), "y": np.abs(X["a"]) + X["b"]}
    return X.assign(**extra)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command line where memory is short, in a folder with the table in both formats."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streaming, "free_memory", lambda: 1000.0)
    rows().to_parquet("t.parquet")
    rows().to_csv("t.csv", index=False)

    def invoke(*words):
        return CliRunner().invoke(app, words, env={"COLUMNS": "120"})

    return invoke


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_a_large_table_is_streamed_to_the_same_network(run, name):
    result = run("fit", name, "-t", "y", *QUICK, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["rows_train"], facts["rows_test"]) == (400, 100)
    assert list(facts["rivals"]) == ["the mean", "ridge", "boosted trees"]
    for words in ("larger than memory", "only count rows: 'n'"):
        assert words in result.stderr
    assert ("numbers alone: 'town'" in result.stderr) == (name == "t.csv")
    inputs = ["a", "b", "town"] if name == "t.parquet" else ["a", "b"]
    model, table = load_model("t.anmin"), rows()
    assert list(model.feature_names_in_) == inputs
    held_out = table[::5]
    miss = model.predict(held_out[inputs]) - held_out["y"]
    assert facts["test"]["y"]["mse"] == pytest.approx(np.mean(miss**2))
    table[table.index % 5 > 0].to_parquet("kept.parquet")
    source = ParquetSource("kept.parquet", target="y", columns=inputs)
    direct = ANMINRegressor(4, lam=1e-3, max_iter=5, random_state=0).fit(source)
    np.testing.assert_allclose(model.predict(table[inputs]), direct.predict(table[inputs]))
    said = pd.read_csv(io.StringIO(run("predict", "t.anmin", "t.parquet").stdout))["y"]
    assert said.tolist() == model.predict(table[inputs]).tolist()
    assert "unknown" in run("report", "t.anmin", "-d", name).stdout  # whose rows these are


def test_rows_with_gaps_are_counted(run):
    table = rows()
    table.loc[7, "a"] = np.nan
    table.to_parquet("t.parquet")  # where there are texts, gaps have a place
    assert run("fit", "t.parquet", "-t", "y", *QUICK, "--test-size", "0").exit_code == 0
    table.drop(columns="town").to_parquet("t.parquet")
    result = run("fit", "t.parquet", "-t", "y", *QUICK, "--test-size", "0")
    assert result.exit_code == 0, result.output
    assert "1 rows with gaps were left out" in result.stderr


@pytest.mark.parametrize(
    ("sep", "target", "words"),
    [
        (";", "y", "no plain CSV (cells are separated by semicolons)"),
        (",", "town", "classes cannot"),
    ],
)
def test_what_cannot_be_streamed_is_refused(run, sep, target, words):
    rows().to_csv("t.csv", index=False, sep=sep)
    result = run("fit", "t.csv", "-t", target, *QUICK)
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_small_table_is_not_streamed(tmp_path):
    path = tmp_path / "t.csv"
    rows(20).to_csv(path)
    assert not streaming.too_large(str(path))
