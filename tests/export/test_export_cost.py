"""The benchmark of what a prediction costs, on tiny data."""

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.__main__ import main
from benchmarks.suites import inference


def test_the_suite_compares_models_and_the_c_is_as_accurate(tmp_path, capsys):
    out = tmp_path / "out.json"
    main(["--suite", "inference", "--quick", "--cases", "teacher-n200-d3-h4", "--json", str(out)])
    records = {record["method"]: record for record in json.loads(out.read_text())}
    assert {"anmin", "MLPRegressor", "boosted trees"} <= records.keys()
    assert "Cost of a prediction" in capsys.readouterr().out
    for record in records.values():
        assert record["batch_us"] > 0
        assert record["numbers"] > 0
    if shutil.which("gcc"):
        assert records["anmin, C"]["test_mse"] == pytest.approx(records["anmin"]["test_mse"])


def test_without_the_papers_data_there_are_synthetic_sets(monkeypatch):
    monkeypatch.delenv("ANMIN_DATA", raising=False)
    assert inference.available() == inference.WITHOUT_DATA
