"""`anmin predict` and `anmin report` as a user meets them."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

import pandas as pd
from typer.testing import CliRunner

from anmin import ANMINRegressor, load_model
from anmin.cli import app
from anmin.model_file import save_model

QUICK = ("--n-hidden", "4", "--lam", "1e-3", "--max-iter", "5", "--json")


def things(n=80):
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green"], n), rng.uniform(1, 10, n)
    price = size * np.where(colour == "red", 2, 1)
    kind = np.where(price > 8, "dear", "cheap")
    return pd.DataFrame({"id": range(n), "colour": colour, "size": size, "price": price,
                         "kind": kind, "double": 2 * price, "w": 1.0})  # fmt: skip


def invoke(*words, **kwargs):
    return CliRunner().invoke(app, words, env={"COLUMNS": "120"}, **kwargs)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with things.csv and models of it."""
    folder = tmp_path_factory.mktemp("models")
    table = folder / "things.csv"
    things().to_csv(table, index=False)
    inputs = ("--features", "colour", "--features", "size")
    fits = {
        "prices": ("-t", "price", *inputs, "--intervals", "--weight", "w"),
        "kinds": ("-t", "kind", *inputs, "--classify"),
        "both": ("-t", "price", "-t", "double", *inputs),
    }
    for name, words in fits.items():
        done = invoke("fit", str(table), *words, *QUICK, "-o", str(folder / f"{name}.anmin"))
        assert done.exit_code == 0, done.output
    X = things()[["size"]].to_numpy()
    ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, X[:, 0]).save(folder / "python.anmin")
    return folder


@pytest.fixture
def run(models, monkeypatch):
    """Run a command line in that folder."""
    monkeypatch.chdir(models)
    return invoke


def frame(result):
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


def inputs_of(table):
    return table[["colour", "size"]]


def test_predictions_have_the_name_of_the_target(run):
    said = frame(run("predict", "prices.anmin", "things.csv"))
    assert list(said.columns) == ["price"]
    model = load_model("prices.anmin")
    raw = pd.read_csv("things.csv")[["colour", "size"]]  # as anybody would, in Python
    assert said["price"].tolist() == model.predict(raw).tolist()  # to the last bit


def test_the_order_of_the_columns_does_not_count_and_others_are_left_alone(run):
    table = things()[["size", "id", "colour"]].assign(strange=1)
    result = run("predict", "prices.anmin", "-", input=table.to_csv(index=False))
    whole = frame(run("predict", "prices.anmin", "things.csv"))
    pd.testing.assert_frame_equal(frame(result), whole)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_predictions_go_to_a_file_of_any_kind(run, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    assert run("predict", "prices.anmin", "things.csv", "-o", f"out.{ending}").exit_code == 0
    again = run("predict", "prices.anmin", "things.csv", "--keep", "id")
    kept = {"csv": pd.read_csv, "tsv": lambda p: pd.read_csv(p, sep="\t"),
            "parquet": pd.read_parquet}[ending]  # fmt: skip
    np.testing.assert_allclose(kept(f"out.{ending}")["price"], frame(again)["price"], rtol=1e-12)


def test_kept_columns_come_first(run):
    words = ("--keep", "id", "--keep", "colour")
    said = frame(run("predict", "prices.anmin", "things.csv", *words))
    assert list(said.columns) == ["id", "colour", "price"]
    assert said["id"].tolist() == list(range(80))


def test_classes_and_their_probabilities(run):
    said = frame(run("predict", "kinds.anmin", "things.csv", "--proba"))
    assert list(said.columns) == ["kind", "kind=cheap", "kind=dear"]
    likely = np.where(said["kind=dear"] > said["kind=cheap"], "dear", "cheap")
    assert (said["kind"] == likely).all()


def test_the_standard_deviation(run):
    said = frame(run("predict", "prices.anmin", "things.csv", "--std"))
    assert list(said.columns) == ["price", "price_std"]
    assert (said["price_std"] > 0).all()


def test_two_targets(run):
    assert list(frame(run("predict", "both.anmin", "things.csv"))) == ["price", "double"]


def test_a_model_saved_from_python(run):
    whole = things()[["size"]].to_csv(index=False, header=["x0"])
    said = frame(run("predict", "python.anmin", "-", input=whole))
    np.testing.assert_allclose(
        said["y"], load_model("python.anmin").predict(things()[["size"]].to_numpy())
    )


@pytest.mark.parametrize(
    ("words", "table", "complaint"),
    [
        ((), "size\n1\n", "no column 'colour' (the model needs it)"),
        ((), "size,colour\nbig,red\n", "'size' holds numbers, but 'big' in row 1"),
        (("--proba",), "size,colour\n1,red\n", "--proba needs a model of classes"),
        (("--keep", "hue"), "size,colour\n1,red\n", "no column 'hue'"),
        (("-o", "no/out.csv"), "", "there is no folder no"),
        (("-o", "out.xlsx"), "", "must end in"),
        (("-o", "prices.anmin"), "", "must end in"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(run, words, table, complaint):
    result = run("predict", "prices.anmin", "-", *words, input=table)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_the_deviation_needs_intervals(run):
    result = run("predict", "both.anmin", "things.csv", "--std")
    assert result.exit_code == 2
    assert "--intervals" in result.stderr


def test_an_unknown_text_and_a_gap_are_predicted(run):
    result = run("predict", "prices.anmin", "-", input="size,colour\n1,pink\n,red\n1,\n")
    assert frame(result)["price"].notna().all()


def test_a_column_is_read_as_in_training(run):
    """Texts stay texts although all of them are numbers here, and 1,234 has the mark of then."""
    table = things().assign(code=lambda t: np.where(t["size"] > 5, "007", "x1"))
    german = table.to_csv(sep=";", decimal=",", index=False)
    words = ("-t", "price", "--features", "size", "--features", "code", *QUICK)
    assert run("fit", "-", *words, "-o", "german.anmin", input=german).exit_code == 0
    said = frame(run("predict", "german.anmin", "-", input="size;code\n1,234;7\n5,678;007\n"))
    raw = pd.DataFrame({"size": [1.234, 5.678], "code": ["7", "007"]})
    assert said["price"].tolist() == load_model("german.anmin").predict(raw).tolist()


def test_the_data_is_not_overwritten(run):
    before = things()
    assert run("predict", "prices.anmin", "things.csv", "-o", "things.csv").exit_code == 2
    pd.testing.assert_frame_equal(pd.read_csv("things.csv"), before)


def test_parquet_needs_its_library_before_the_work(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run("predict", "prices.anmin", "things.csv", "-o", "new.parquet")
    assert result.exit_code == 2
    assert "anmin[parquet]" in result.stderr


@pytest.mark.parametrize("command", ["predict", "report", "export"])
@pytest.mark.parametrize("content", [None, b"", b"no model"])
def test_a_file_that_is_no_model(run, tmp_path, command, content):
    path = tmp_path / "m.anmin"
    if content is not None:
        path.write_bytes(content)
    more = {"predict": ("things.csv",), "report": (), "export": ("--to", "c")}[command]
    result = run(command, str(path), *more)
    assert result.exit_code == 2
    assert "m.anmin" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_model_file_whose_columns_are_not_there(run, tmp_path):
    model = load_model("python.anmin")
    model.extra_ = {"table": {"inputs": ["a"]}}
    model.save(tmp_path / "m.anmin")
    result = run("report", str(tmp_path / "m.anmin"))
    assert result.exit_code == 2
    assert "does not say what its columns are" in result.stderr


@pytest.mark.slow
def test_a_reader_who_has_seen_enough_is_no_error(models):
    files = f"{models / 'prices.anmin'} {models / 'things.csv'}"
    command = f"{sys.executable} -m anmin predict {files} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "price\n"
    assert "Traceback" not in done.stderr


def test_the_report_says_what_the_model_knows(run):
    result = run("report", "prices.anmin")
    assert result.exit_code == 0, result.output
    words = (
        "rows held out: RMSE",
        "boosted trees",
        "hidden units",
        "multiply-adds a row",
        "status",
        "gradient",
    )
    for word in words:
        assert word in result.stdout


def test_the_report_on_data(run):
    result = run("report", "prices.anmin", "--data", "things.csv", "--json")
    facts = json.loads(result.stdout)
    found = facts["errors"]["these 80 rows"]["price"]["mse"]
    said = load_model("prices.anmin").predict(inputs_of(things()))
    assert found == pytest.approx(np.mean((said - things()["price"]) ** 2))
    assert facts["cost"]["inputs"] == 2
    assert facts["convergence"]["rows"] == 80
    assert "price, these 80 rows: RMSE" in run("report", "prices.anmin", "-d", "things.csv").stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prices", "kinds", "both"])
@pytest.mark.parametrize("data", [(), ("--data", "things.csv")])
def test_the_report_as_a_page(run, name, data, tmp_path):
    path = tmp_path / "report.html"
    result = run("report", f"{name}.anmin", *data, "-o", str(path))
    assert result.exit_code == 0, result.output
    assert str(path) in result.stdout
    assert f"Report on {name}.anmin" in path.read_text(encoding="utf-8")


def test_the_report_tells_training_rows_from_others(run):
    def verdict(table):
        result = run("report", "prices.anmin", "-d", "-", "--json", input=table.to_csv(index=False))
        return json.loads(result.stdout)["verdict"][-1]

    assert "The rows are training rows" in verdict(things())
    assert "About 50% of the rows" in verdict(pd.concat([things(), things().assign(size=99)]))
    assert "None of these rows" in verdict(things().assign(size=99))


def test_the_report_needs_the_truth(run):
    table = things().rename(columns={"price": "cost"}).to_csv(index=False)
    result = run("report", "prices.anmin", "--data", "-", "--json", input=table)
    assert result.exit_code == 2
    assert "no column 'price'" in result.stderr


def test_a_class_that_the_model_has_never_seen(run):
    table = things()
    table.loc[0, "kind"] = "odd"
    words = ("report", "kinds.anmin", "-d", "-", "--json")
    result = run(*words, input=table.to_csv(index=False))
    assert set(json.loads(result.stdout)["errors"]["these 80 rows"]["kind"]) == {"accuracy"}


def test_the_report_on_a_model_saved_from_python(run):
    table = "x0,y\n1,1\n2,2\n3,3\n"
    result = run("report", "python.anmin", "-d", "-", "--json", input=table)
    assert result.exit_code == 0, result.output
    assert list(json.loads(result.stdout)["errors"]) == ["these 3 rows"]
    assert "unknown" in json.loads(result.stdout)["verdict"][0]
    assert run("report", "python.anmin").exit_code == 0


def test_a_model_whose_report_was_interrupted(run, tmp_path):
    model = load_model("python.anmin")
    model._report = None
    model.save(tmp_path / "m.anmin")
    result = run("report", str(tmp_path / "m.anmin"))
    assert result.exit_code == 0, result.output
    assert "report: none, as the fit was interrupted" in result.stdout
    facts = json.loads(run("report", str(tmp_path / "m.anmin"), "--json").stdout)
    assert facts["convergence"] is None
    page = tmp_path / "report.html"
    assert run("report", str(tmp_path / "m.anmin"), "-o", str(page)).exit_code == 0
    assert "none, as the fit was interrupted" in page.read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written(run):
    assert run("report", "prices.anmin", "-o", "report.pdf").exit_code == 2


def test_a_model_with_an_encoding_is_predicted_reported_and_exported(models, run, tmp_path):
    old, table = load_model(models / "prices.anmin"), things(80)
    X = inputs_of(table)
    options = {"lam": "auto", "max_iter": 60, "n_networks": 2, "encoding": "auto"}
    model = ANMINRegressor(4, intervals=True, random_state=0, **options).fit(X, np.sin(X["size"]))
    assert model._scaling.encoding is not None
    save_model(model, tmp_path / "new.anmin", old.extra_)
    new, rows = str(tmp_path / "new.anmin"), str(models / "things.csv")
    said = pd.read_csv(io.StringIO(run("predict", new, rows, "--std").stdout))
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(said.to_numpy(), np.column_stack([mean, std]))
    facts = json.loads(run("report", new, "-d", rows, "--json").stdout)
    assert facts["cost"]["inputs"] == 2
    assert run("report", new, "-d", rows, "-o", str(tmp_path / "r.html")).exit_code == 0
    assert run("export", new, "--to", "c", "-o", str(tmp_path / "m.c")).exit_code == 0
    assert "COLUMNS" in (tmp_path / "m.c").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "price"), [("self", "index"), ("values", "self")])
def test_names_that_python_uses_itself(size, price, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = things()[["colour", "size", "price"]].rename(columns={"size": size, "price": price})
    table.to_csv("things.csv", index=False)
    done = invoke("fit", "things.csv", "-t", price, *QUICK)
    assert done.exit_code == 0, done.output
    assert invoke("predict", "things.anmin", "things.csv", "-o", "p.csv").exit_code == 0
    assert list(pd.read_csv("p.csv")) == [price]
    page = ("report", "things.anmin", "--data", "things.csv", "-o", "page.html")
    assert invoke(*page).exit_code == 0
