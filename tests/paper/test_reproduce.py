"""The paper, reproduced: protocol, statistics, the whole way to the report, and resuming."""

import base64
import math
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason='the report needs the extra "cli"')
pytest.importorskip("typer", reason='the command line needs the extra "cli"')

from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

from anmin import ANMINRegressor, datasets, reproduce
from anmin.cli import app
from anmin.reproduce import (
    experiments,
    gradient,
    ours,
    paper,
    pictures,
    protocol,
    summary,
    tables,
    workers,
)
from anmin.reproduce.experiments import Plan, Task, execute, tasks
from anmin.reproduce.methods import ABLATION, ARITHMETICS, FAIR, PAPER
from anmin.reproduce.printed import printed
from anmin.reproduce.protocol import Setup, Size, load_split
from anmin.reproduce.record import Folder, Record, thinned
from anmin.reproduce.summary import Results, Verdict, p_value

pytestmark = pytest.mark.slow

TINY = Size(
    rows=60, epochs=3, iterations=3, lbfgs_steps=2, line_search_steps=3, varpro_steps=3,
    simulations=((40, 1), (40, 2)), growth=30, landscape=(0, 2),
)  # fmt: skip
REAL = ("sdf", "abalone", "bike", "dae", "dae-clean")
SHOWN = ("sdf", "abalone", "bike", "dae")
FIGURES = range(1, 14)


def synthetic(name):
    """Rows that stand for a data set of the paper."""
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(200, 3)) * [1, 5, 0.1]
    y = np.sin(X[:, 0]) + X[:, 1]
    return X, np.column_stack([y, -y]) if name.startswith("dae") else y


@pytest.fixture
def small(monkeypatch):
    """Synthetic data and tiny sizes; a run takes a moment."""
    loaders = {name: lambda name=name: synthetic(name) for name in REAL}
    monkeypatch.setattr(protocol, "LOADERS", loaders)
    monkeypatch.setattr(pictures, "LOADERS", loaders)
    monkeypatch.setattr(pictures, "SHAPE", (20, 10))
    monkeypatch.setattr(datasets, "fetch", lambda _: ())
    monkeypatch.setattr(datasets, "locate", lambda _: datasets.store.Place("not fetched"))
    monkeypatch.setattr(experiments, "QUICK", TINY)
    monkeypatch.setattr(workers, "warm_up", lambda _: None)
    protocol.standardised_rows.cache_clear()
    yield
    protocol.standardised_rows.cache_clear()


def command(*words):
    return CliRunner().invoke(app, ["reproduce", *words], env={"COLUMNS": "200"})


class Page(HTMLParser):
    """What a page holds: identifiers, tables, images, text."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.images, self.links, self.tables, self.words = set(), [], [], 0, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        self.ids.add(facts.get("id"))
        self.tables += tag == "table"
        if tag == "img":
            self.images.append(facts)
        self.links += [facts[key] for key in ("href", "src") if key in facts]

    def handle_data(self, words):
        self.words.append(words)


# ---- the whole way ----------------------------------------------------------------------------


def test_every_table_and_figure_is_in_the_report(small, tmp_path):
    pytest.importorskip("torch")
    words = ("--quick", "--splits", "2", "-j", "1", "-o", str(tmp_path))
    result = command(*words, "--data", ",".join([*SHOWN, "year"]))
    assert result.exit_code == 0, result.output
    assert "report.html" in result.stdout
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    names = {"table1", "table2", "table4", "table5", *(f"table3-{name}" for name in SHOWN)}
    names |= {"protocol", "deviations", "machine"}
    figures = {f"figure{number}" for number in FIGURES}
    assert names | figures <= page.ids
    assert page.tables == 4 + len(SHOWN)
    files = {path.stem for path in (tmp_path / "figures").glob("*.png")}
    assert files == {path.stem for path in (tmp_path / "figures").glob("*.svg")}
    assert len(page.images) == len(files)
    for image in page.images:
        kind, data = image["src"].split(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")
        assert image["alt"]
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert {link[1:] for link in page.links if link[0] == "#"} <= page.ids
    said = " ".join(page.words)
    for words in ("quick run", "YearPredictionMSD is left out", "casual", "rate 0."):
        assert words in said
    header, *rows = (tmp_path / "results.csv").read_text().splitlines()
    assert header.startswith("data,method,split,train_mse,test_mse")
    stages = [turn for stage in reproduce.STAGES for turn in tasks(all_plan(tmp_path), stage)]
    assert len(rows) == sum(map(len, stages))
    assert (tmp_path / "curves.csv").stat().st_size > 0


def all_plan(folder):
    return Plan(folder, splits=2, data=SHOWN, quick=True)


def test_a_second_call_runs_only_what_is_missing(small, tmp_path, monkeypatch):
    done, methods = [], ("anmin", "trees")
    plan = Plan(tmp_path, 2, ("abalone", "bike"), methods, ("tables", "fair"), quick=True)

    def counting(plan, task):
        done.append(task)
        return execute(plan, task)

    monkeypatch.setattr(workers, "execute", counting)
    heard = []
    assert not reproduce.run(plan, 1, heard.append)
    assert len(done) == heard[-1].done == heard[-1].total == 8
    assert heard[-1].left == 0
    gone = tmp_path / "runs" / "bike" / "anmin-001.json"
    gone.unlink()
    (gone.parent / ".broken.tmp").write_text("{")
    done.clear()
    reproduce.run(plan, 1, heard.append)
    assert done == [Task("bike", "anmin", 1)]
    reproduce.run(replace(plan, splits=3), 1, heard.append)
    assert {task.split for task in done[1:]} == {2}


def test_a_failed_run_is_said_and_tried_again(small, tmp_path, monkeypatch):
    words = ("--quick", "-j", "1", "-o", str(tmp_path), "--data", "abalone", "--splits", "2")
    words += ("--methods", "anmin,anmin-l", "--only", "tables")

    def failing(plan, task):
        if task.method == "anmin-l":
            raise RuntimeError("no luck")
        return execute(plan, task)

    with monkeypatch.context() as patch:
        patch.setattr(workers, "execute", failing)
        result = command(*words)
    assert result.exit_code == 1
    assert "no luck" in result.stderr
    assert "report.html" in result.stdout
    assert command(*words).exit_code == 0
    monkeypatch.setattr(workers, "execute", None)
    assert command("--draw", "-o", str(tmp_path)).exit_code == 0


def test_full_size_prints_ours_beside_the_paper(small, tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "FULL", TINY)
    words = ("-o", str(tmp_path), "--data", "abalone", "--methods", "anmin", "--only", "tables")
    result = command(*words, "--splits", "2", "-j", "1")
    assert result.exit_code == 0, result.output
    assert "ANMIN beside the paper" in result.stdout
    assert "3.94 (0.10)" in result.stdout
    assert "check" in Page((tmp_path / "report.html").read_text(encoding="utf-8")).ids
    refused = command("--quick", "-o", str(tmp_path))
    assert refused.exit_code == 2
    assert "--output" in refused.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--data", "mnist"), "known are sdf"),
        (("--methods", "adma"), "known are sgd"),
        (("--only", "figures"), "known are tables"),
        (("--draw",), "holds no runs"),
        (("--device", "nonsense"), "device"),
    ],
)
def test_wrong_words_are_refused(small, tmp_path, words, complaint):
    result = command(*words, "-o", str(tmp_path))
    assert result.exit_code == 2
    assert complaint in result.stderr.replace("\n", " ")


def test_without_torch_its_methods_are_left_out_with_a_sentence(small, tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "find_spec", lambda _: None)
    plan, left_out = reproduce.prepare(Plan(tmp_path, splits=1, quick=True))
    assert any("PyTorch" in words and "anmin[torch]" in words for words in left_out)
    (runs,) = tasks(plan, "tables")
    assert {task.method for task in runs} == {"anmin", "anmin-l"}


def test_data_that_cannot_be_had_are_left_out(small, tmp_path, monkeypatch):
    def fetch(name):
        if name != "bike":
            raise datasets.DatasetMissingError(f"{name} is not here.")

    monkeypatch.setattr(datasets, "fetch", fetch)
    plan, left_out = reproduce.prepare(Plan(tmp_path, quick=True))
    assert plan.data == ("bike",)
    assert len(left_out) == 4
    with pytest.raises(ValueError, match="no data set"):
        reproduce.prepare(Plan(tmp_path, quick=True, data=("sdf",)))


def test_a_dead_worker_is_one_line_with_the_remedy(small, tmp_path, monkeypatch):
    def dying(*_):
        raise BrokenProcessPool

    monkeypatch.setattr(reproduce, "run", dying)
    result = command("--quick", "-o", str(tmp_path), "-j", "4")
    assert result.exit_code == 1
    assert "--jobs 2" in result.stderr
    assert "Traceback" not in result.output


# ---- processes --------------------------------------------------------------------------------


def test_processes_write_records_and_report_errors(tmp_path):
    plan = Plan(tmp_path, quick=True, methods=("anmin",))
    good = [Task("sin-n64-d2-h4", "anmin", k) for k in range(2)]
    with workers.workers(plan, 2) as each:
        answers = dict(each([*good, Task("nowhere", "anmin", 0)]))
    for task in good:
        assert answers[task].train_mse == plan.folder.read(*vars_of(task)).train_mse
    assert "KeyError" in str(answers[Task("nowhere", "anmin", 0)])
    assert not workers.active_children()
    assert "OMP_NUM_THREADS" not in os.environ or os.environ["OMP_NUM_THREADS"] == THREADS


THREADS = os.environ.get("OMP_NUM_THREADS")


def vars_of(task):
    return task.data, task.method, task.split


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_do_not_outlive_their_parent(how, tmp_path, paper_data):
    psutil = pytest.importorskip("psutil")
    words = ["reproduce", "--quick", "-o", str(tmp_path), "-j", "2", "--data", "abalone"]
    process = subprocess.Popen(
        [sys.executable, "-m", "anmin", *words, "--methods", "anmin", "--splits", "400"],
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/*/*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 2
    process.send_signal(how)
    process.wait(timeout=30)
    assert not psutil.wait_procs(family, timeout=30)[1]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(tmp_path, paper_data):
    words = ["reproduce", "--quick", "-o", str(tmp_path), "-j", "2", "--data", "abalone"]
    process = subprocess.Popen(
        [sys.executable, "-m", "anmin", *words, "--methods", "anmin", "--splits", "400"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509, as in a terminal
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/*/*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    errors = process.communicate(timeout=30)[1]
    assert process.returncode == 130, errors
    assert "Go on with: anmin reproduce --quick" in errors.replace("\n", " ")
    assert "Traceback" not in errors
    runs = Folder(tmp_path).records()
    assert runs
    assert all(math.isfinite(run.train_mse) for run in runs)


# ---- protocol ---------------------------------------------------------------------------------


def test_a_split_is_the_papers(small):
    split = load_split("abalone", 7)
    X, y = synthetic("abalone")
    X = (X - X.mean(0)) / X.std(0, ddof=1)
    expected = train_test_split(X, y - y.mean(), test_size=0.2, random_state=7)
    for ours_, theirs in zip((split.X, split.X_test, split.y, split.y_test), expected, strict=True):
        np.testing.assert_allclose(ours_, theirs)
    assert split.start().shape == (4, 64)
    assert load_split("dae", 0).h == 32


def test_some_rows_for_a_quick_run(small):
    split = load_split("bike", 0, replace(TINY, rows=50))
    assert (len(split.X), len(split.X_test)) == (40, 10)


def test_the_papers_data_have_the_papers_sizes(paper_data):
    split = load_split("bike", 0)
    assert split.X.shape == (13_903, 13)
    assert split.X_test.shape == (3_476, 13)
    assert abs(split.y.mean()) < 5


def test_tasks_of_each_stage(tmp_path):
    plan = Plan(tmp_path, splits=3, data=REAL)
    first, then = tasks(plan, "tables")
    assert len(first) == 5
    assert len(then) == 3 * 5 * 6
    assert {task.split for task in then[: 5 * 6]} == {0}
    assert len(tasks(plan, "simulations")[0]) == 3 * 5 * 2
    ablation = [name for name in ABLATION if experiments.can_run(name)]
    assert len(tasks(plan, "ablation")[0]) == 3 * len(ablation)
    (fair,) = tasks(plan, "fair")
    assert {task.method for task in fair} == set(FAIR)
    assert {task.data for task in fair if task.method == "trees"} == {"sdf", "abalone", "bike"}
    landscapes = [t for t in tasks(plan, "diagnostics")[0] if t.method.startswith("landscape")]
    assert {task.data for task in landscapes} == {"dae", "dae-clean"}


def test_scores_are_about_the_mean_of_the_training_targets():
    split = load_split("sin-n50-d2", 0)
    mean = split.y.mean()
    found = experiments.scores(split, lambda X: np.full(len(X), mean))
    assert found["train_r2"] == pytest.approx(0)
    assert found["test_r2"] == pytest.approx(0)
    assert found["test_mse"] == pytest.approx(((split.y_test - mean) ** 2).mean())


# ---- methods ----------------------------------------------------------------------------------


def test_anmin_is_the_library_at_the_papers_constants():
    split = load_split("sin-n200-d2-h8", 3)
    fit = ours.anmin(split, Setup(replace(TINY, iterations=8)), slope=0.1)
    model = ANMINRegressor(
        8, solver="anmin", lam=1e-3 / 200, slope=0.1, max_iter=8, standardize=False,
        init=split.start(),
    ).fit(split.X, split.y)  # fmt: skip
    np.testing.assert_allclose(fit.predict(split.X), model.predict(split.X), rtol=1e-8)
    best = ((model.predict(split.X_test) - split.y_test) ** 2).mean()
    assert fit.curve["test_mse"][-1] == pytest.approx(best)
    assert len(fit.curve["logdet"]) == 9


@pytest.mark.parametrize("nan_is_low", [True, False])
def test_the_printed_program_takes_the_steps_of_the_fast_one(nan_is_low):
    split = load_split("sin-n300-d2-h3", 2)  # few units, well conditioned
    setup, last = Setup(replace(TINY, iterations=2)), ours.ABLATION[3]
    fast = ours.anmin(split, setup, experiment=last)
    literal = printed(split, setup, experiment=last, nan_is_low=nan_is_low)
    np.testing.assert_allclose(literal.predict(split.X)[:, 0], fast.predict(split.X), atol=1e-3)
    on_sums = np.array(fast.curve["logdet"][1:]) + 9 * math.log(300)
    np.testing.assert_allclose(literal.curve["logdet"], on_sums, rtol=1e-3)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("nan_is_low", [True, False])
def test_a_determinant_that_is_lost(number, nan_is_low, monkeypatch):
    monkeypatch.setattr("torch.Tensor.logdet", lambda _: math.nan)
    split = load_split("sin-n100-d2-h8", 0)
    setup, experiment = Setup(replace(TINY, iterations=4)), ours.ABLATION[number]
    fit = printed(split, setup, experiment=experiment, nan_is_low=nan_is_low)
    losses = fit.curve["loss"]
    assert len(losses) == (0 if number == 1 and nan_is_low else 4)
    assert np.isfinite(fit.predict(split.X_test)).all()
    if number == 3:
        best = printed(split, setup, experiment=ours.ABLATION[4], nan_is_low=nan_is_low)
        assert best.curve["loss"] == losses


def test_ablation_keeps_and_stops_as_it_says():
    split = load_split("sin-n100-d2-h8", 0)
    setup = Setup(replace(TINY, iterations=6))
    best, last = (ours.anmin(split, setup, experiment=ours.ABLATION[k]) for k in (4, 3))
    final = last.curve["train_mse"][-1]
    assert ((last.predict(split.X) - split.y) ** 2).mean() == pytest.approx(final)
    assert ((best.predict(split.X) - split.y) ** 2).mean() <= final * (1 + 1e-9)
    means = ours.paper_model(split, setup, arithmetic=ours.ARITHMETICS["float32-means"])
    assert (means.lam, means.solver.tau, means.solver.floor) == (1e-3, -10_000, 1e-4)


def test_the_landscape_agrees_with_the_way():
    split = load_split("sin-n100-d2-h6", 0)
    setup = Setup(replace(TINY, iterations=4, landscape=(0, 3)))
    seen, way = ours.landscape(split, setup).curve, ours.anmin(split, setup).curve
    assert seen["step"] == [1, 4]
    np.testing.assert_allclose(seen["logdet"], [way["logdet"][k] for k in (1, 4)], rtol=1e-4)


def test_gradient_methods_follow_their_schedule():
    pytest.importorskip("torch")
    split = load_split("sin-n200-d1-h8", 0)
    setup = Setup(replace(TINY, epochs=30, lbfgs_steps=4), sgd_rate=0.1)
    for train in (gradient.adam, gradient.sgd, gradient.lbfgs):
        fit = train(split, setup)
        steps, errors = fit.curve["step"], fit.curve["train_mse"]
        assert steps == list(range(len(steps)))
        final = ((fit.predict(split.X)[:, 0] - split.y) ** 2).mean()
        assert final < errors[0]
        wanted = min(errors) if train is gradient.lbfgs else errors[-1]
        assert final == pytest.approx(wanted, rel=1e-4)
    scaled = gradient.adam(split, setup, scaled=True)
    final = ((scaled.predict(split.X)[:, 0] - split.y) ** 2).mean()
    assert scaled.curve["train_mse"][-1] == pytest.approx(final, rel=1e-3)


def test_a_rate_that_blows_up_is_not_chosen():
    pytest.importorskip("torch")
    split = load_split("sin-n200-d2-h8", 0)
    split = replace(split, y=1e6 * split.y)
    trial = gradient.sgd_trial(split, Setup(TINY)).curve
    rate = gradient.best_rate(trial)
    assert not math.isfinite(trial["train_mse"][0])
    assert rate < 0.1


# ---- numbers ----------------------------------------------------------------------------------


def test_the_printed_numbers_are_whole():
    for measure, by_data in paper.TABLE3.items():
        assert set(by_data) == {"sdf", "abalone", "bike", "year", "dae"}
        for row in by_data.values():
            assert tuple(row) == PAPER
            if measure.endswith("r2"):
                assert all(0 <= mean <= 1 for mean, _ in row.values())
    anmin = paper.TABLE3["test_mse"]["sdf"]["anmin"]
    assert anmin == (3.56, 1.06)
    assert paper.TABLE5[4] == tuple(paper.TABLE3[m]["bike"]["anmin"] for m in PARTS)
    # R² and MSE of one set tell the same spread of the targets.
    for data in ("sdf", "bike", "dae"):
        mse, r2 = (paper.TABLE3[m][data]["anmin"].mean for m in ("train_mse", "train_r2"))
        adam, ada2 = (paper.TABLE3[m][data]["adam"].mean for m in ("train_mse", "train_r2"))
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
    assert Verdict(ours_, paper.TABLE3["train_mse"]["bike"]["anmin"]).words == words


def test_the_verdict_allows_two_standard_errors():
    wide = Verdict(summary.Summary(1800.0, 1000.0, 4), paper.Printed(1457.0, 319.0))
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


def test_the_help_has_examples():
    assert re.search(r"anmin reproduce --splits 20", command("--help").stdout)
