"""`anmin fit` as a user meets it: options, held-out rows, the summary, Ctrl-C."""

import json
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

import pandas as pd
from typer.testing import CliRunner

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.cli import app
from anmin.cli.progress import FitProgress, standing
from anmin.cli.roles import LabelledRows
from anmin.cli.training import layers, split
from anmin.engine import Engine, listening

QUICK = ("--n-hidden", "4", "--lam", "1e-3", "--max-iter", "5")


def things(n=120, seed=0):
    """Text, numbers, a boolean, two targets, a class and weights."""
    rng = np.random.default_rng(seed)
    colour, size = rng.choice(["red", "green", "blue"], n), rng.uniform(1, 10, n)
    old = rng.integers(0, 2, n).astype(bool)
    price = size * np.where(colour == "red", 2, 1) + 5 * old
    kind = np.where(price > 10, "dear", "cheap")
    columns = {"colour": colour, "size": size, "old": old, "w": rng.uniform(1, 2, n)}
    return pd.DataFrame(columns | {"price": price, "double": 2 * price, "kind": kind})


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command line in a folder with things.csv."""
    monkeypatch.chdir(tmp_path)
    things().to_csv("things.csv", index=False)
    return lambda *words, **kwargs: CliRunner().invoke(app, words, env={"COLUMNS": "120"}, **kwargs)


def fit(run, *words):
    """Fit quickly from the numbers alone, and return the JSON."""
    plain = () if "--features" in words else ("--features", "size", "--features", "old")
    result = run("fit", "things.csv", *QUICK, *plain, "-o", "m.anmin", "--json", *words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_summary_says_all_that_counts(run):
    result = run("fit", "things.csv", "-t", "price", "--drop", "kind", *QUICK)
    assert result.exit_code == 0, result.output
    words = ("price, 120 rows of the fit: RMSE", "price, 24 rows held out: RMSE", "R²", "ridge",
             "the mean", "boosted trees", "The error is", "hidden units", "things.anmin",
             "fitted on all rows")  # fmt: skip
    for word in words:
        assert word in result.stdout
    assert (
        result.stderr
        == "note: left out, as they copy the target: 'double'; --keep NAME takes one in\n"
    )


def test_the_rivals_are_judged_on_the_same_rows(run):
    facts = fit(run, "-t", "price")
    assert list(facts["rivals"]) == ["the mean", "ridge", "boosted trees"]
    table = things()
    spread = table["price"].var(ddof=0)
    assert facts["rivals"]["the mean"]["price"]["mse"] == pytest.approx(spread, rel=0.5)
    assert facts["rivals"]["the mean"]["price"]["edge"] > 0
    facts = fit(run, "-t", "kind", "--weight", "w")
    assert list(facts["rivals"]) == ["class frequencies", "logistic regression", "boosted trees"]
    assert set(fit(run, "-t", "price", "-t", "double")["rivals"]["ridge"]) == {"price", "double"}


def test_a_table_of_texts_gaps_and_dates_needs_no_option(run):
    table = things()[["colour", "size", "price"]]
    table["day"] = pd.date_range("2020-01-01", periods=len(table)).strftime("%d.%m.%Y")
    table.loc[::9, "size"] = np.nan
    table.loc[::10, "colour"] = None
    table.to_csv("things.csv", index=False, sep=";", decimal=",")
    result = run("fit", "things.csv", "-t", "price", *QUICK)
    assert result.exit_code == 0, result.output
    model = load_model("things.anmin")
    assert list(model.feature_names_in_) == ["colour", "size", "day"]
    said = run("predict", "things.anmin", "things.csv").stdout.split()[1:]
    table["day"] = pd.to_datetime(table["day"], dayfirst=True)
    expected = model.predict(table[["colour", "size", "day"]])
    assert np.array(said, float).tolist() == expected.tolist()  # to the last bit
    assert run("report", "things.anmin", "-d", "things.csv", "-o", "r.html").exit_code == 0


def test_json_holds_the_errors_and_the_sizes(run):
    facts = fit(run, "-t", "price")
    assert (facts["rows_train"], facts["rows_test"], facts["refitted_on_all_rows"]) == (
        96,
        24,
        True,
    )
    assert facts["parameters"] == 3 * 4 + 5
    assert facts["model"] == "m.anmin"
    assert facts["test"]["price"]["mse"] == pytest.approx(facts["test"]["price"]["rmse"] ** 2)
    assert not facts["interrupted"]


def test_the_saved_model_is_the_one_that_was_reported(run):
    facts = fit(run, "-t", "price")
    model, table = load_model("m.anmin"), things()
    X = table[["size", "old"]].astype(float)
    error = np.mean((model.predict(X) - table["price"]) ** 2)
    assert error == pytest.approx(facts["train"]["price"]["mse"])  # refitted: on all rows
    assert list(model.feature_names_in_) == ["size", "old"]
    assert model.solver == "varpro"
    facts = fit(run, "-t", "price", "--no-refit")
    error = np.mean((load_model("m.anmin").predict(X) - table["price"]) ** 2)
    train, test = (facts[part]["price"]["mse"] for part in ("train", "test"))
    assert error == pytest.approx(0.8 * train + 0.2 * test)


def test_without_a_test_all_rows_are_fitted_once(run):
    facts = fit(run, "-t", "price", "--test-size", "0")
    assert (facts["rows_train"], facts["rows_test"], facts["test"]) == (120, 0, {})
    result = run(
        "fit", "things.csv", "-t", "price", "--features", "size", *QUICK, "--test-size", "0"
    )
    assert "no rows were held out" in result.stdout


def test_the_tested_network_is_among_the_starts_of_the_refit(run, monkeypatch):
    seen = []

    def noted(model, X, *args, **kwargs):
        seen.append((model.warm_start, getattr(model, "A_", None)))
        return whole(model, X, *args, **kwargs)

    whole = ANMINRegressor.fit
    monkeypatch.setattr(ANMINRegressor, "fit", noted)
    fit(run, "-t", "price")
    (first, nothing), (second, start) = seen
    assert (first, nothing, second) == (False, None, True)
    assert start is not None
    assert load_model("m.anmin").warm_start is False


@pytest.mark.slow
def test_the_saved_model_is_of_the_kind_that_was_tested(run, monkeypatch):
    plans = []

    def noted(model, *args):
        plans.append(plan(model, *args))
        return plans[-1]

    plan = ANMINRegressor._plan
    monkeypatch.setattr(ANMINRegressor, "_plan", noted)
    words = ("--features", "size", "--features", "old", "--n-hidden", "4", "-o", "m.anmin")
    assert run("fit", "things.csv", "-t", "price", *words).exit_code == 0
    assert set(plans) == {(5, "auto")}  # few rows


def test_a_constant_target(run):
    table = "a,y\n" + "".join(f"{i},3\n" for i in range(40))
    result = run("fit", "-", "-t", "y", *QUICK, "--json", "-o", "m.anmin", input=table)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["test"]["y"] == {"mse": 0, "rmse": 0, "mae": 0, "r2": 1}


def test_several_targets(run):
    facts = fit(run, "-t", "price", "-t", "double")
    assert list(facts["test"]) == ["price", "double"]
    assert facts["outputs"] == 2


def test_weights_count_in_the_fit_and_in_the_errors(run):
    plain, weighted = fit(run, "-t", "price"), fit(run, "-t", "price", "--weight", "w")
    assert plain["test"] != weighted["test"]
    table, X = things(), things()[["size", "old"]].astype(float)
    gap = (load_model("m.anmin").predict(X) - table["price"]) ** 2
    expected = np.average(gap, weights=table["w"])
    assert weighted["train"]["price"]["mse"] == pytest.approx(expected)


def test_classes(run):
    facts = fit(run, "-t", "kind", "--classify")
    assert facts["estimator"] == "ANMINClassifier"
    assert set(facts["test"]["kind"]) == {"accuracy", "log_loss"}
    assert load_model("m.anmin").classes_.tolist() == ["cheap", "dear"]
    assert fit(run, "-t", "old", "--classify", "--features", "size")["test"]["old"]["accuracy"] > 0


def test_a_class_too_rare_to_be_split_evenly(run):
    table = things()
    table.loc[0, "kind"] = "odd"
    table.to_csv("things.csv", index=False)
    assert fit(run, "-t", "kind", "--classify")["rows_test"] == 24


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-t", "kind", "--intervals"), "--intervals goes with numbers, and 'kind' is a class"),
        (("-t", "price", "--text", "zzz"), "has no column 'zzz' (--text)"),
        (("-t", "price", "--max-time", "-1"), "0 or more seconds; got -1"),
    ],
)
def test_what_cannot_be_asked_for(run, words, said):
    result = run("fit", "things.csv", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_what_is_no_table(run, tmp_path):
    (tmp_path / "t.parquet").write_text("a,b")
    result = run("fit", "t.parquet", "-t", "a")
    assert (result.exit_code, "t.parquet cannot be read" in result.stderr) == (2, True)
    result = run("fit", ".", "-t", "a")
    assert (result.exit_code, ". is a folder" in result.stderr) == (2, True)


@pytest.mark.parametrize(("n", "test_size"), [(1000, 0.2), (300, 0.35), (9, 0.2), (4, 0.5)])
def test_rows_held_out_have_targets_like_the_others(n, test_size):
    """A test error then depends less on its rows: few large targets are much of it."""
    y = np.random.default_rng(0).exponential(size=(n, 1)) ** 3
    rows = LabelledRows(pd.DataFrame({"x": np.arange(n)}), y)
    layer = layers(y, test_size)
    kept, held_out = split(ANMINRegressor(random_state=1), rows, test_size)
    assert sorted([*kept.X["x"], *held_out.X["x"]]) == list(range(n))
    counts = np.bincount(layer[held_out.X["x"]], minlength=layer.max() + 1)
    assert np.abs(counts - test_size * np.bincount(layer)).max() <= 1
    again = split(ANMINRegressor(random_state=2), rows, test_size)[1]
    assert (again.X["x"] == held_out.X["x"]).all()
    assert (layers(np.zeros(50), 0.2) == np.repeat(range(5), 10)).all()


def test_the_settings_reach_the_estimator(run):
    words = ("--slope", "0.1", "--solver", "anmin", "--device", "cpu", "--seed",
             "7", "--intervals", "--max-time", "100")  # fmt: skip
    fit(run, "-t", "price", *words)
    found = load_model("m.anmin").get_params()
    expected = {
        "slope": 0.1, "solver": "anmin", "device": "cpu", "random_state": 7,
        "intervals": True, "max_time": 100, "n_hidden": 4, "lam": 1e-3, "max_iter": 5,
    }  # fmt: skip
    assert expected.items() <= found.items()


def test_the_name_of_the_model_follows_the_data(run, tmp_path):
    run("fit", "things.csv", "-t", "price", "--features", "size", *QUICK)
    assert (tmp_path / "things.anmin").is_file()


def test_a_table_from_a_pipe(run, tmp_path):
    text = (tmp_path / "things.csv").read_text()
    result = run("fit", "-", "-t", "price", "--features", "size", *QUICK, input=text)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "model.anmin").is_file()


def test_a_table_without_header(run):
    things()[["size", "w", "price"]].to_csv("things.csv", index=False, header=False)
    result = run("fit", "things.csv", "-t", "x2", *QUICK)
    assert result.exit_code == 0, result.output
    assert "no header: its columns are x0 … x2" in result.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "which column is to be predicted?"),
        (("-t", "cost"), "no column 'cost'"),
        (("-t", "price", "--drop", "hue"), "no column 'hue'"),
        (("-t", "price", "--features", "hue"), "no column 'hue'"),
        (("-t", "price", "--weight", "hue"), "no column 'hue'"),
        (("-t", "prize"), "did you mean 'price'?"),
        (("-t", "price", "--keep", "colr"), "did you mean 'colour'?"),
        (("-t", "price", "--decimal", "x"), "--decimal must be"),
        (("-t", "price", "-t", "price"), "twice"),
        (("-t", "kind", "-t", "old", "--classify"), "one target"),
        (("-t", "size", "--classify", "--features", "w"), "leave --classify out"),
        (("-t", "price", "--features", "price"), "left as an input"),
        (("-t", "price", "--features", "size", "--lam", "-1"), "lam must be"),
        (("-t", "price", "--features", "size", "--n-hidden", "many"), "n_hidden must be"),
        (("-t", "price", "--features", "size", "--solver", "magic"), "solver must be"),
        (("-t", "price", "--features", "size", "--device", "abacus"), "abacus"),
        (("-t", "price", "--features", "size", "--test-size", "0.01"), "--test-size 0"),
        (("-t", "price", "--features", "size", "-o", "no/m.anmin"), "there is no folder no"),
        (("-t", "price", "--features", "size", "-o", "."), "is a folder"),
        (("-t", "price", "--features", "size", "-o", "things.csv"), "is also the input"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(run, words, complaint):
    result = run("fit", "things.csv", *words)
    assert result.exit_code == 2, result.output
    assert complaint in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_an_output_that_cannot_be_written_is_refused_before_the_table_is_read(run, monkeypatch):
    monkeypatch.setattr("anmin.cli.training.read", None)
    assert run("fit", "things.csv", "-t", "price", "-o", "no/m.anmin").exit_code == 2


def test_a_file_that_is_not_ours_is_refused(run, monkeypatch, tmp_path):
    (tmp_path / "things.anmin").touch()
    monkeypatch.setattr("os.access", lambda *_: False)
    result = run("fit", "things.csv", "-t", "price")
    assert result.exit_code == 2
    assert "not yours to write" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 1, "out of memory"),
        (OSError(28, "No space left on device"), 1, "No space left"),
        (KeyboardInterrupt(), 130, "nothing was written"),
    ],
)
def test_a_failure_is_one_line(run, monkeypatch, error, code, words):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("anmin.cli.training.assign", fail)
    result = run("fit", "things.csv", "-t", "price")
    assert result.exit_code == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture
def interrupt(monkeypatch):
    """Press Ctrl-C at the step of that number, counted over all fits."""

    def at(step):
        original, seen = Engine.record, []

        def record(self, *args, **kwargs):
            answer = original(self, *args, **kwargs)
            seen.append(1)
            if len(seen) == step:
                signal.raise_signal(signal.SIGINT)
            return answer

        monkeypatch.setattr(Engine, "record", record)

    return at


def test_ctrl_c_keeps_the_best_network(run, interrupt):
    interrupt(at_first_fit := 3)
    result = run("fit", "things.csv", "-t", "price", "--features", "size", *QUICK, "-o", "m.anmin")
    assert result.exit_code == 130, result.output
    assert "Stopped early. The model in m.anmin is the tested one" in result.stdout
    assert "best network so far" in result.stderr
    assert load_model("m.anmin").n_iter_ < at_first_fit


def test_ctrl_c_in_the_second_fit_keeps_the_tested_model(run, interrupt):
    interrupt(8)
    words = ("--features", "size", *QUICK, "--json", "-o", "m.anmin")
    result = run("fit", "things.csv", "-t", "price", *words)
    assert result.exit_code == 130, result.output
    facts = json.loads(result.stdout)
    assert facts["interrupted"]
    assert not facts["refitted_on_all_rows"]
    assert facts["iterations"] == 5


def test_the_time_is_shared_by_both_fits(run, monkeypatch):
    given = []
    original = ANMINRegressor.fit

    def spy(self, *args, **kwargs):
        given.append(self.max_time)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(ANMINRegressor, "fit", spy)
    fit(run, "-t", "price", "--max-time", "60")
    assert given == [30, 30]


@pytest.mark.parametrize("cls", [ANMINRegressor, ANMINClassifier])
@pytest.mark.parametrize("solver", ["varpro", "anmin"])
def test_a_watched_fit_is_the_same_fit(cls, solver):
    X, y = things()[["size", "old"]].to_numpy(float), things()["old"].to_numpy(int)
    plain, watched = (cls(4, solver=solver, max_iter=5, random_state=0) for _ in range(2))
    plain.fit(X, y)
    progress = FitProgress()
    progress.begin("test")
    with listening(progress.hear):
        watched.fit(X, y)
    assert watched.solver == solver
    assert np.array_equal(watched.A_, plain.A_)
    (line,) = progress.tasks
    assert 0 < line.completed <= 1
    assert "error " in line.fields["standing"]


@pytest.mark.parametrize(
    ("phase", "best", "words"),
    [
        ("path", 0.36, "choosing the penalty: error 0.5000, held out 0.6000"),
        ("descend", np.inf, "descending: error 0.5000"),
        ("explore", 0.36, "moving idle units: error 0.5000, held out 0.6000"),
        ("", np.inf, "iterating: error 0.5000"),
        ("polish", np.inf, "polish: error 0.5000"),
    ],
)
def test_the_line_says_what_is_done_and_how_well(phase, best, words):
    assert standing(SimpleNamespace(phase=phase, mse=0.25), best) == words


def test_a_log_loss_has_no_root():
    step = SimpleNamespace(phase="path", mse=0.25)
    assert standing(step, 0.36, 1.0) == "choosing the penalty: error 0.2500, held out 0.3600"


@pytest.mark.slow
def test_the_errors_that_are_shown_are_true():
    """Along the penalty path, and in the units of y: those of the path, and of the network."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 2))  # enough rows for one held-out part
    y = 1e4 * np.abs(X[:, 0]) + 1e3 * rng.normal(size=len(X))
    progress, told, best = FitProgress(), [], []
    progress.begin("test")

    def hear(step, network):
        progress.hear(step, network)
        told.append(step)
        best.append(progress.best)

    with listening(hear):
        model = ANMINRegressor(6, n_networks=1, encoding=None, random_state=0).fit(X, y)
    walk = [step for step in told if step.phase == "path"]
    held_out = [step.held_out_mse for step in walk]
    for entry in model.path_:
        assert np.isclose(entry.held_out_mse, held_out, rtol=1e-6).any()
    assert 0.5e3 < np.nanmin(held_out) ** 0.5 < 2e3
    assert told[-1].mse == pytest.approx(np.mean((model.predict(X) - y) ** 2), rel=0.05)
    start = next(i for i in range(len(told)) if told[i].phase == "path" and np.isfinite(best[i]))
    for i in range(start, len(told)):
        assert best[i] == np.nanmin([s.held_out_mse for s in told[: i + 1]])
    shares = [step.share for step in told]
    assert shares == sorted(shares)


def test_no_progress_where_nobody_looks(run):
    result = run("fit", "things.csv", "-t", "price", "--features", "size", *QUICK)
    assert result.stderr == ""


@pytest.mark.slow
def test_abalone_with_all_defaults(run, paper_data):
    errors = []
    for seed in "01234":
        words = ("-t", "x7", "-o", "m.anmin", "--json", "--seed", seed)
        result = run("fit", str(paper_data / "abalone.csv"), *words)
        assert result.exit_code == 0, result.output
        errors.append(json.loads(result.stdout)["test"]["x7"]["mse"])
    assert 4.2 <= min(errors) <= max(errors) <= 4.6


def test_a_file_that_is_no_model_is_not_overwritten(run):
    before = Path("things.csv").read_bytes()
    Path("other.csv").write_bytes(before)
    result = run("fit", "things.csv", "-t", "price", "--drop", "kind", *QUICK, "-o", "other.csv")
    assert result.exit_code == 2
    assert "is there already and is no .anmin file" in result.stderr
    assert Path("other.csv").read_bytes() == before
