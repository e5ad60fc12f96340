"""The numbers of the report: printed values, means, tests, tables, and the records on disk."""

import math

import numpy as np
import pytest

from paper import pictures, published, summary, tables
from paper.methods import ABLATION, ARITHMETICS, PAPER
from paper.record import Folder, Record, thinned
from paper.summary import Results, Verdict, p_value


def test_the_printed_numbers_are_whole():
    for measure, by_data in published.TABLE3.items():
        assert set(by_data) == {"sdf", "abalone", "bike", "year", "dae"}
        for row in by_data.values():
            assert tuple(row) == PAPER
            if measure.endswith("r2"):
                assert all(0 <= mean <= 1 for mean, _ in row.values())
    anmin = published.TABLE3["test_mse"]["sdf"]["anmin"]
    assert anmin == (3.56, 1.06)
    assert published.TABLE5[4] == tuple(published.TABLE3[m]["bike"]["anmin"] for m in PARTS)
    # R² and MSE of one set tell the same spread of the targets.
    for data in ("sdf", "bike", "dae"):
        mse, r2 = (published.TABLE3[m][data]["anmin"].mean for m in ("train_mse", "train_r2"))
        adam, ada2 = (published.TABLE3[m][data]["adam"].mean for m in ("train_mse", "train_r2"))
        assert mse / (1 - r2) == pytest.approx(adam / (1 - ada2), rel=0.15)


PARTS = ("train_mse", "test_mse")


def test_bold_is_the_best_and_what_is_not_worse():
    rng = np.random.default_rng(0)
    base = rng.normal(10, 3, size=20)
    noise = rng.normal(0, 0.5, size=20)
    runs = {
        "anmin": base,
        "adam": base + noise,
        "sgd": base + 2,
        "lbfgs": np.append(base[:19], np.nan),
    }
    results = Results(
        Record("bike", name, k, train_mse=v) for name, vs in runs.items() for k, v in enumerate(vs)
    )
    first, good = results.best("bike", list(runs), "train_mse")
    assert first in {"anmin", "adam"}
    assert good == {"anmin", "adam"}
    lost = results.summary("bike", "lbfgs", "train_mse")
    assert (lost.count, lost.lost) == (19, 1)
    assert p_value({0: 1.0}, {0: 2.0}) == 0


@pytest.mark.parametrize(
    ("mean", "words"), [(1457, "agrees"), (1600, "agrees"), (1000, "better"), (1800, "worse")]
)
def test_the_verdict_allows_a_seventh(mean, words):
    ours_ = summary.Summary(mean, 50.0, 20)
    assert Verdict(ours_, published.TABLE3["train_mse"]["bike"]["anmin"]).words == words


def test_the_verdict_allows_two_standard_errors():
    wide = Verdict(summary.Summary(1800.0, 1000.0, 4), published.Printed(1457.0, 319.0))
    assert wide.words == "agrees"


def test_growth_is_the_slope_of_the_logarithms():
    sizes = [(10, 2, 4), (20, 2, 4), (40, 2, 4), (10, 4, 4), (10, 8, 4), (10, 2, 8), (10, 2, 16)]
    results = Results(
        Record(f"growth-{k}", "growth-cg", 0, seconds=n * d**2.0 * h**3.0, n_train=n, d=d, h=h)
        for k, (n, d, h) in enumerate(sizes)
    )
    found = dict(tables.growth_exponents(results, "growth-cg"))
    assert found == pytest.approx({"N": 1, "d": 2, "h": 3})


def test_table5_tells_the_order():
    means = {1: 9000, 2: 1800, 3: 2200, 4: 1450}
    results = Results(
        Record("bike", name, 0, train_mse=means[number], test_mse=1.0)
        for name, (number, _) in ABLATION.items()
    )
    table = tables.table5(results)
    assert len(table.rows) == 4
    assert table.caption.count("4 < 2 < 3 < 1") == 2 + len(ARITHMETICS)


def test_records_survive_the_disk(tmp_path):
    folder = Folder(tmp_path)
    record = Record("sdf", "lbfgs", 5, train_mse=math.inf, note="x", curve={"step": [1, 2]})
    folder.write(record)
    assert repr(folder.read("sdf", "lbfgs", 5)) == repr(record)  # NaN is not NaN
    folder.write_tables(folder.records())
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines == ["data,method,split,step", "sdf,lbfgs,5,1", "sdf,lbfgs,5,2"]
    assert len(thinned({"a": list(range(1000))})["a"]) == 60


def test_an_image_is_put_together_again():
    rng = np.random.default_rng(0)
    image = rng.normal(size=((pictures.GRID[0] - 1) * 3 + 15, (pictures.GRID[1] - 1) * 3 + 15))
    windows = np.lib.stride_tricks.sliding_window_view(image, (15, 15))[::3, ::3]
    np.testing.assert_allclose(pictures.assemble(windows.reshape(-1, 225)), image)
