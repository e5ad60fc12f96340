"""The benchmark suite on tiny data: the runner, the tables, and every rival that is installed."""

import importlib.util
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import cases, methods, plot, record, runner, synthetic, table
from benchmarks.__main__ import main
from benchmarks.suites import SUITES, defaults, gpu, suite

TINY = "teacher-n300-d3-h4"
BUDGET = record.Budget(iterations=2, epochs=2, max_time=0.3)
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)
ON_CPU = [name for name in methods.METHODS if name not in methods.ON_CARD]
SLOW_IMPORTS = {"torch-lm", "realmlp", "tabm"}  # they bring in lightning: many seconds


def test_formulas_are_cases():
    split = cases.load("weak-n50-d3", 1)
    assert split.X.shape == (50, 3)
    assert np.linalg.norm(cases.load("outlier-n50-d3", 0).X[0]) == pytest.approx(1e4)
    curve = cases.load("sine-n20", 0)
    assert curve.h == 19
    np.testing.assert_allclose(curve.y, np.sin(2 * np.pi * curve.X[:, 0]))


@pytest.mark.parametrize("name", list(synthetic.LIMITS))
def test_the_limits_are_those_of_the_formula(name):
    kind, _, pieces = name.partition("-n")
    f, a, b = synthetic.CURVES[kind]
    x = a + (b - a) * np.linspace(0, 1, 20_001) ** 3  # dense where the root bends without bound
    middle, step = (x[1:] + x[:-1]) / 2, 1e-4 * (x[1:] - x[:-1]) + 1e-7
    bend = np.abs(f(middle + step) - 2 * f(middle) + f(middle - step)) / step**2
    if kind == "power":
        bend = 2 / 9 * middle ** (-4 / 3)
    integral = (bend**0.4 * np.diff(x)).sum()
    limit = int(pieces) ** -2.0 / 720**0.5 * integral**2.5 / (b - a) ** 0.5
    assert limit == pytest.approx(synthetic.LIMITS[name], rel=0.03)


def test_a_split_may_stay_while_the_seed_changes():
    one, other = cases.load(f"{TINY}:3", 0), cases.load(f"{TINY}:3", 1)
    np.testing.assert_array_equal(one.X, cases.load(TINY, 3).X)
    np.testing.assert_array_equal(one.X, other.X)
    assert (one.seed, other.seed) == (0, 1)


@pytest.mark.parametrize(
    ("name", "case"),
    [("simplest", "noise-n60-d5"), ("noise-free", "sinc-n4"), ("seeds", f"{TINY}:0")],
)
@pytest.mark.slow
def test_the_small_suites_print_a_table(name, case, monkeypatch, capsys):
    monkeypatch.setattr(runner, "warm_up", lambda *_, **__: None)
    monkeypatch.setattr(synthetic, "CURVE_ROWS", 500)
    main(["--suite", name, "--cases", case, "--seeds", "2"])
    assert case in capsys.readouterr().out


def test_a_case_is_a_function_of_its_name_and_seed():
    one, same, other = cases.load(TINY, 0), cases.load(TINY, 0), cases.load(TINY, 1)
    np.testing.assert_array_equal(one.X, same.X)
    assert not np.array_equal(one.X, other.X)
    assert one.start().shape == (4, 4)
    assert cases.load("sin-n50-d2", 0).X_test.shape == (50, 2)


def test_the_sin_case_is_the_papers():
    split = cases.load("sin-n50-d2", 3)
    np.testing.assert_allclose(split.y, np.sin(np.sum(split.X**2, axis=1)))


def test_a_missing_folder_is_named(monkeypatch, tmp_path):
    for variable in ("ANMIN_DATA", "ANMIN_TABULAR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ANMIN_CACHE", str(tmp_path))
    cases.paper_rows.cache_clear()
    with pytest.raises(FileNotFoundError, match=r"data fetch abalone.* set ANMIN_DATA"):
        cases.load("abalone", 0)
    with pytest.raises(FileNotFoundError, match="Set ANMIN_TABULAR"):
        cases.load("some-set", 0)


def test_tabular_folds_and_scaling(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    mask = np.arange(40)[:, None] % 10 == np.arange(10)
    X = 5 + 3 * rng.standard_normal((40, 2))
    np.savez(tmp_path / "small.npz", X=X, y=rng.standard_normal((40, 1)), test_mask=mask)
    monkeypatch.setenv("ANMIN_TABULAR", str(tmp_path))
    split = cases.load("small", 7)
    assert cases.tabular_names() == ["small"]
    assert split.X_test.shape == (4, 2)
    assert split.y.shape == (36,)
    np.testing.assert_allclose(split.standardize(split.X).mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(split.standardize(split.X).std(0), 1)
    with pytest.raises(ValueError, match="There is no case 'other'"):
        cases.load("other", 0)


def test_the_stopwatch_stops():
    watch = record.Stopwatch()
    with watch.paused():
        sum(range(200_000))
        inside = watch.seconds()
    assert watch.seconds() < inside


def test_results_are_on_disk_after_every_run(tmp_path):
    results = record.Results(tmp_path / "deep" / "out.json")
    results.add({"case": "a", "seconds": 1.0, "curve": [(0.5, float("nan"))]})
    results.add({"case": "b", "seconds": np.float64(2.0)})
    saved = json.loads((tmp_path / "deep" / "out.json").read_text())
    assert [entry["case"] for entry in saved] == ["a", "b"]
    assert saved[0]["curve"] == [[0.5, None]]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out.json"]


def test_ratios_are_paired_by_seed():
    def entry(method, seed, seconds):
        return {"case": "c", "method": method, "seed": seed, "seconds": seconds}

    runs = [entry("a", 0, 1.0), entry("a", 1, 2.0), entry("b", 0, 8.0), entry("b", 1, 4.0)]
    runs += [entry("b", 2, 100.0), entry("a", 3, None)]
    assert table.paired(runs, "c", "a", "b", "seconds") == pytest.approx(4.0)
    assert table.paired(runs, "c", "a", "none", "seconds") is None


def test_time_to_reach_a_loss():
    curve = [(0.1, 5.0), (0.2, 3.0), (0.3, 4.0)]
    assert record.seconds_to(curve, 3.5) == 0.2
    assert record.seconds_to(curve, 1.0) is None
    assert table.reach({"curve": curve}, {"seconds": 2.0, "train_mse": 3.0}) == pytest.approx(10)


def runs_of(**errors):
    """Records of one set: RMSE by method, a number a fold, each run a second."""
    return [
        {"case": "set", "method": name, "seed": k, "seconds": 1.0, "test_mse": rmse**2}
        for name, folds in errors.items()
        for k, rmse in enumerate(folds)
    ]


def test_methods_are_compared_on_the_folds_that_both_have():
    runs = runs_of(default=[1.0, 3.0], catboost=[2.0, 2.0], realmlp=[0.8])
    sets = defaults.errors_by_set(runs)
    assert defaults.ratios(sets, "default", "catboost") == pytest.approx([1.0])
    assert defaults.ratios(sets, "default", "realmlp") == pytest.approx([1.25])
    assert defaults.clearly_worse(sets, "default") == ["set"]
    assert defaults.clearly_worse(sets, "realmlp") == []
    assert defaults.seconds_over(runs, "default", "realmlp") == 1.0


def test_each_of_ours_is_ranked_among_the_rivals_alone():
    runs = runs_of(default=[1.0], single=[0.9], catboost=[0.95], hgb=[2.0])
    sets = defaults.errors_by_set(runs)
    places = {name: defaults.mean_rank(sets, name, sets["set"]) for name in sets["set"]}
    assert places == {"default": 2, "single": 1, "catboost": 1, "hgb": 3}


def test_classes_go_on_from_a_file_too(tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    line = ["--suite", "classification", "--cases", "iris", "--methods", "logistic", "--json"]
    for folds in ("1", "2", "2"):
        main([*line, str(out), "--folds", folds])
    assert [json.loads(r)["seed"] for r in out.read_text().splitlines()] == [0, 1]
    assert capsys.readouterr().out.count("iris") >= 3  # a table each time


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path, monkeypatch, capsys):
    out, done = tmp_path / "out.jsonl", []
    train = runner.train
    monkeypatch.setattr(runner, "train", lambda *a: done.append(a[0]) or train(*a))
    monkeypatch.setattr(runner, "warm_up", lambda *_, **__: None)
    monkeypatch.setitem(sys.modules, "catboost", None)
    line = ["--suite", "defaults", "--cases", TINY, "--folds", "1", "--json", str(out), "--methods"]
    main([*line, "hgb"])
    with out.open("a") as file:
        file.write('{"case": "cut o')
    main([*line, "hgb", "default", "catboost"])
    assert done == ["hgb", "default", "catboost"]
    assert "catboost needs catboost, which is not installed" in capsys.readouterr().out
    main([*line, "hgb", "default"])
    assert done == ["hgb", "default", "catboost"]
    monkeypatch.setattr(runner, "code_version", lambda: "another")
    main([*line, "hgb", "default"])
    assert done == ["hgb", "default", "catboost", "default"]


def test_the_dots_of_the_defaults_are_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    defaults.picture(runs_of(default=[1.0], hgb=[2.0]), str(tmp_path / "dots.png"))
    assert (tmp_path / "dots.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "name", [n for n in ON_CPU if n not in methods.OURS and n not in SLOW_IMPORTS]
)
@pytest.mark.filterwarnings("ignore")
def test_every_rival_learns_something(name):
    results = record.Results(None)
    split = cases.load(TINY, 0)
    entry = runner.run(results, name, split, replace(BUDGET, epochs=20))
    if "skipped" in entry:
        pytest.skip(entry["skipped"])
    assert entry["seconds"] > 0
    assert entry["train_mse"] < np.var(split.y)
    times = [seconds for seconds, _ in entry["curve"]]
    assert times == sorted(times)


@needs_torch
def test_the_products_of_the_papers_algorithm_agree():
    import torch

    from benchmarks.rivals.paper_torch import at_once, from_loader, from_slices, pairwise

    X, G = torch.randn(300, 3, dtype=torch.float64), torch.rand(300, 5, dtype=torch.float64)
    sums = [
        sum(products(x, g) for x, g in batches(X, G))
        for batches in (from_loader, from_slices)
        for products in (pairwise, at_once)
    ]
    for other in sums[1:]:
        torch.testing.assert_close(sums[0], other)
    torch.testing.assert_close(sums[0][1, 4], (X * G[:, 1:2]).T @ (X * G[:, 4:5]))


@needs_torch
def test_both_forms_of_the_hidden_system_agree():
    import torch

    from benchmarks.rivals.paper_torch import fit_output, large_products, row_system, with_ones

    X, Y = with_ones(torch.randn(600, 3)).double(), torch.randn(600, 2).double()
    net = fit_output(X, Y, torch.randn(4, 5).double())
    for one, other in zip(large_products(X, Y, net), row_system(X, Y, net), strict=True):
        torch.testing.assert_close(one, other)


@needs_torch
def test_our_iterates_are_those_of_the_papers_algorithm(tmp_path, capsys):
    out = tmp_path / "out.json"
    main(["--suite", "paper-solver", "--quick", "--cases", TINY, "--json", str(out)])
    entries = json.loads(out.read_text())
    assert [entry["method"] for entry in entries[:2]] == ["anmin", "paper-torch-gemm"]
    assert max(entry.get("first_losses_gap", 0) for entry in entries) < 1e-3
    assert {"case", "method", "seed", "seconds", "train_mse", "test_mse"} <= entries[0].keys()
    assert "x anmin" in capsys.readouterr().out


def test_a_missing_package_is_recorded(monkeypatch):
    monkeypatch.setitem(sys.modules, "benchmarks.rivals.hgb", None)
    entry = runner.run(record.Results(None), "hgb", cases.load(TINY, 0), BUDGET)
    assert entry["seconds"] is None
    assert "not installed" in entry["skipped"]


def test_every_suite_exists():
    assert all(callable(suite(name)) for name in SUITES)
    assert all(callable(methods.method(name)) for name in ("anmin", "hgb", "reduced-rank"))
    with pytest.raises(ValueError, match="There is no method"):
        methods.method("magic")


@needs_torch
@pytest.mark.slow
def test_the_suites_of_the_card_run_without_one(tmp_path, capsys):
    out = tmp_path / "out.json"
    line = ["--quick", "--cases", TINY, "--json", str(out)]
    main(["--suite", "gpu-shares", *line])
    entries = json.loads(out.read_text())
    assert [entry["method"].split(",")[0] for entry in entries] == [*gpu.CG, *gpu.DIRECT]
    assert max(entry["first"] for entry in entries) < 1e-3
    main(["--suite", "gpu-wide", *line, "--methods", "varpro-cuda-wide", "adam-cuda"])
    assert "varpro-cuda-wide" in capsys.readouterr().out
    main(["--suite", "gpu-networks", "--quick", "--cases", TINY])
    assert "16 networks against one" in capsys.readouterr().out


def test_the_plot_is_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    runs = [
        {"case": "c", "method": name, "seed": 0, "seconds": 1.0, "curve": [(0.1, 2.0), (1.0, 1.0)]}
        for name in ("anmin", "adam-paper")
    ]
    plot.loss_against_time(runs, str(tmp_path / "loss.png"))
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_mixed_tables(monkeypatch, tmp_path, capsys):
    """Every model takes raw frames with text and gaps, for numbers and for classes."""
    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=90), rng.choice(["a", "b", "c"], 90)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"rownames": range(90), "x": x, "kind": kind})
    frame.loc[::9, "x"] = np.nan
    frame.assign(price=x + (kind == "a")).to_csv(tmp_path / "saratoga.csv", index=False)
    label = np.where(x + (kind == "a") > 0, "s", "t")
    frame.assign(species=label).to_csv(tmp_path / "penguins.csv", index=False)
    monkeypatch.setenv("ANMIN_MIXED", str(tmp_path))
    out = tmp_path / "out.json"
    line = ["--suite", "mixed", "--cases", "saratoga", "penguins", "--quick", "--json", str(out)]
    main([*line, "--methods", "default", "hgb", "linear"])
    found = json.loads(out.read_text())
    assert [r["method"] for r in found] == ["default", "hgb", "linear"] * 2
    assert all(r["error"] > 0 for r in found)
    assert "relative to the best rival" in capsys.readouterr().out


def test_rows_of_the_sparse_suite():
    from benchmarks.suites import sparse

    X, y = sparse.text_rows(0, n=40)
    again, _ = sparse.text_rows(0, n=40)
    assert X.shape == (80, sparse.WORDS)
    assert y.shape == (80,)
    assert (again != X).nnz == 0
    np.testing.assert_allclose((X * X).sum(axis=1), 1)


@pytest.mark.slow
def test_the_sparse_suite(monkeypatch, tmp_path, capsys):
    from benchmarks.suites import sparse

    monkeypatch.setattr(sparse, "ROWS", 300)
    monkeypatch.setattr(sparse, "INPUTS", 20)
    line = ["--suite", "sparse", "--cases", "friedman", "--methods", "connections=4", "--quick"]
    main([*line, "--json", str(tmp_path / "out.json")])
    assert "connections=4" in capsys.readouterr().out
