"""What a user can get wrong, or a stranger make wrong on purpose: one line, never a traceback."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

from typer.testing import CliRunner

from anmin import ANMINRegressor, load_model
from anmin.cli import app

QUICK = ("--n-hidden", "4", "--lam", "1e-3", "--max-iter", "3")


def invoke(*words, **kwargs):
    return CliRunner().invoke(app, words, env={"COLUMNS": "160"}, **kwargs)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_table(names, rows, path="t.csv"):
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    Path(path).write_text("\n".join(lines), encoding="utf-8")


def some_rows(n=40, d=2):
    X = np.random.default_rng(0).uniform(-1, 1, (n, d))
    return np.column_stack([X, np.abs(X[:, 0])]).tolist()


@pytest.mark.parametrize("name", ["rate [/s]", "speed [m/s]", "[bold]x", "[link=a]", ":cat:"])
def test_a_target_is_shown_as_it_is_written(folder, name):
    write_table(["a", "b", name], some_rows())
    result = invoke("fit", "t.csv", "-t", name, *QUICK)
    assert result.exit_code == 0, result.output
    assert name in result.stdout
    assert name in invoke("report", "t.anmin").stdout
    result = invoke("fit", "t.csv", "-t", "other [/b]", *QUICK)
    assert result.exit_code == 2
    assert name in result.stderr
    assert "other [/b]" in result.stderr


def test_a_picture_is_named_as_it_is_written(folder, monkeypatch):
    from anmin import demo

    empty = demo.Demo(demo.DemoSettings(), np.zeros((2, 2)), ())
    monkeypatch.setattr(demo, "run", lambda *_: empty)
    monkeypatch.setattr(demo, "draw", lambda *_: None)
    result = invoke("demo", "-o", "a[bold].png")
    assert result.exit_code == 0, result.output
    assert "a[bold].png" in result.stdout


@pytest.mark.parametrize("value", ["1e308", "-1e200"])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_number_too_large_is_named_with_its_row(folder, column, value):
    rows = some_rows()
    rows[6][column] = value
    write_table(["a", "w", "y"], rows)
    result = invoke("fit", "t.csv", "-t", "y", "--weight", "w", *QUICK)
    assert result.exit_code == 2, result.output
    assert f"'{'awy'[column]}' holds {value.replace('e', 'e+')} in row 7" in result.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--seed", "99999999999"), "--seed"),
        (("--seed", "-1"), "--seed"),
        (("--test-size", "nan"), "--test-size"),
        (("--max-time", "nan"), "max_time"),
        (("--max-iter", "-1"), "max_iter"),
        (("--lam", "nan"), "lam"),
        (("--lam", "inf"), "lam"),
        (("--slope", "2"), "slope"),
        (("--n-hidden", "1e400"), "n_hidden"),
        (("--device", "[/x]"), "[/x]"),
        (("--solver", "[/x]"), "[/x]"),
    ],
)
def test_a_setting_that_cannot_be(folder, words, complaint):
    write_table(["a", "b", "y"], some_rows())
    result = invoke("fit", "t.csv", "-t", "y", *words)
    assert result.exit_code == 2, result.output
    assert complaint in result.stderr
    assert not Path("t.anmin").exists()


def test_the_demo_refuses_a_seed_that_cannot_be(folder):
    assert invoke("demo", "--seed", "99999999999").exit_code == 2


# ---- outputs that cannot be written -------------------------------------------------------------

OUTPUTS = {
    "no such folder": "no/out{}",
    "a folder": "folder{}",
    "a folder that is a file": "m.anmin/out{}",
    "a name that is too long": "x" * 300 + "{}",
    "a link into nowhere": "link{}",
    "a folder that takes no files": "/proc/out{}",
}
COMMANDS = {
    ".anmin": ("fit", "t.csv", "-t", "y"),
    ".csv": ("predict", "m.anmin", "t.csv"),
    ".html": ("report", "m.anmin"),
    ".c": ("export", "m.anmin", "--to", "c"),
    ".png": ("demo",),
}


@pytest.mark.parametrize("ending", COMMANDS)
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_an_output_is_tried_before_the_work(folder, monkeypatch, ending, output):
    output = output.format(ending)
    if output.startswith("/proc") and not os.path.isdir("/proc"):
        pytest.skip("needs /proc")
    write_table(["a", "b", "y"], some_rows())
    Path("m.anmin").touch()
    Path(f"folder{ending}").mkdir()
    Path(f"link{ending}").symlink_to("nowhere/at/all")

    def work(*_, **__):
        raise AssertionError("the work has begun")

    for name in ("anmin.cli.tables.parse", "anmin.cli.schema.load_model", "anmin.demo.run"):
        monkeypatch.setattr(name, work)
    before = set(folder.iterdir())
    result = invoke(*COMMANDS[ending], "-o", output)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error: the output {output} ")
    assert result.stderr.count("\n") == 1
    assert set(folder.iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do all")
@pytest.mark.parametrize("ending", COMMANDS)
def test_an_output_in_a_folder_that_is_not_ours(folder, ending):
    Path("theirs").mkdir(mode=0o500)
    result = invoke(*COMMANDS[ending], "-o", f"theirs/out{ending}")
    assert result.exit_code == 2
    assert "cannot be written: Permission denied" in result.stderr


# ---- model files that anybody may have written --------------------------------------------------


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a table and a model of it."""
    colours, folder = ["red", "blue"] * 20, tmp_path_factory.mktemp("fitted")
    rows = [(x, colours[i], x * x) for i, (x, *_) in enumerate(some_rows())]
    write_table(["a", "colour", "y"], rows, folder / "t.csv")
    words = ("-t", "y", *QUICK, "-o", str(folder / "m.anmin"))
    result = invoke("fit", str(folder / "t.csv"), *words)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def model(folder, fitted):
    """A model file and its facts, which may be changed."""
    for path in fitted.iterdir():
        shutil.copy(path, folder)
    return load_model("m.anmin")


HOSTILE = {
    "no summary": lambda extra: extra.pop("summary"),
    "summary is a list": lambda extra: extra.update(summary=[1]),
    "summary without rows": lambda extra: extra.update(summary={"data": "t.csv"}),
    "rows are text": lambda extra: extra["summary"].update(rows_train="many"),
    "seconds are a list": lambda extra: extra["summary"].update(seconds=[1]),
    "errors are text": lambda extra: extra["summary"].update(train="good"),
    "errors of another": lambda extra: extra["summary"].update(train={"z": {"mse": 1.0}}),
    "unknown error": lambda extra: extra["summary"].update(train={"y": {"[/b]": 1.0}}),
    "error is text": lambda extra: extra["summary"].update(test={"y": {"mse": "low"}}),
    "data is a number": lambda extra: extra["summary"].update(data=3),
    "table is a list": lambda extra: extra.update(table=[1, 2]),
    "table is nothing": lambda extra: extra.update(table=None),
    "inputs are a text": lambda extra: extra["table"].update(inputs="ab"),
    "inputs are numbers": lambda extra: extra["table"].update(inputs=[1, 2]),
    "too few inputs": lambda extra: extra["table"].update(inputs=["colour"]),
    "inputs repeat": lambda extra: extra["table"].update(inputs=["a", "a"]),
    "kinds are a text": lambda extra: extra["table"].update(kinds="text"),
    "kinds of nothing": lambda extra: extra["table"].update(kinds={"x": "text"}),
    "an unknown kind": lambda extra: extra["table"].update(kinds={"a": "code"}),
    "one-hot of old": lambda extra: extra["table"].update(categories={"colour": ["r", "s"]}),
    "an unknown mark": lambda extra: extra["table"].update(decimal="x"),
    "missing numbers": lambda extra: extra["table"].update(missing=[3]),
    "prints are no numbers": lambda extra: extra["summary"].update(prints="xyz"),
    "ranges without ends": lambda extra: extra["summary"].update(ranges={"a": {"min": 1.0}}),
    "errors of a rival": lambda extra: extra["summary"].update(rivals={"r": {"z": {"mse": 1.0}}}),
    "no targets": lambda extra: extra["table"].update(targets=[]),
    "two targets": lambda extra: extra["table"].update(targets=["y", "z"]),
    "target is a list": lambda extra: extra["table"].update(targets=[["y"]]),
    "weight is a list": lambda extra: extra["table"].update(weight=["w"]),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_model_file_is_refused(model, change):
    change(model.extra_)
    model.save("bad.anmin")
    commands = {
        "report": ("report", "bad.anmin"),
        "page": ("report", "bad.anmin", "-d", "t.csv", "-o", "p.html"),
        "predict": ("predict", "bad.anmin", "t.csv"),
        "export": ("export", "bad.anmin", "--to", "c"),
    }
    for words in commands.values():
        result = invoke(*words)
        assert result.exit_code == 2, result.output
        assert "does not say what its columns are" in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("extra", [{}, {"my": "own"}, {"summary": "mine"}])
def test_extra_of_another_kind_is_left_alone(folder, extra):
    model = ANMINRegressor(3, lam=1e-3, max_iter=2, random_state=0).fit([[0], [1], [2]], [0, 1, 2])
    model.extra_ = extra
    model.save("m.anmin")
    assert invoke("report", "m.anmin").exit_code == 0


def test_a_summary_with_few_errors_makes_a_page(model):
    model.extra_["summary"].update(test={"y": {"mse": 1.0}})
    model.save("m.anmin")
    result = invoke("report", "m.anmin", "-o", "p.html")
    assert result.exit_code == 0, result.output


# ---- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("--keep", "y"), ("--keep", "a", "--keep", "y")])
def test_a_kept_column_does_not_hide_a_prediction(model, words):
    result = invoke("predict", "m.anmin", "t.csv", *words)
    assert result.exit_code == 2
    assert "--keep 'y' is also the name of a prediction" in result.stderr


def test_a_kept_column_twice_is_kept_once(model):
    result = invoke("predict", "m.anmin", "t.csv", "--keep", "a", "--keep", "a")
    assert result.stdout.startswith("a,y\n")


def test_a_feature_named_twice_is_used_once(folder):
    write_table(["a", "b", "y"], some_rows())
    result = invoke("fit", "t.csv", "-t", "y", "--features", "a", "--features", "a", *QUICK)
    assert result.exit_code == 0, result.output
    assert list(load_model("t.anmin").feature_names_in_) == ["a"]


@pytest.mark.parametrize("weight", ["0", "-1"])
def test_weights_that_cannot_be(folder, weight):
    write_table(["a", "w", "y"], [(a, weight, y) for a, _, y in some_rows()])
    result = invoke("fit", "t.csv", "-t", "y", "--weight", "w", *QUICK)
    assert result.exit_code == 2, result.output
    assert "weight" in result.stderr
