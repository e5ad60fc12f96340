"""The command line, as a user meets it."""

import json
import os
import subprocess
import sys
from functools import partial

import pytest

import anmin

pytest.importorskip("typer", reason='the command line needs the extra "cli"')

from typer.testing import CliRunner

from anmin import demo
from anmin.__main__ import main
from anmin.cli import app


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command line in an empty folder, with a small demo."""
    small = partial(demo.DemoSettings, side=24, n_hidden=8, max_time=0.1)
    monkeypatch.setattr(demo, "DemoSettings", small)
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, words, env={"COLUMNS": "120"})


@pytest.mark.slow
def test_demo_prints_a_table_and_writes_a_picture(run, tmp_path):
    result = run("demo")
    assert result.exit_code == 0, result.output
    for word in (*demo.METHODS, "train MSE", "test MSE", "seconds", "parameters"):
        assert word in result.stdout
    assert (tmp_path / "anmin-demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_demo_speaks_json(run, tmp_path):
    result = run("demo", "--json", "--seed", "3", "-o", "cat.svg")
    assert result.exit_code == 0, result.output
    table = json.loads(result.stdout)
    assert table["settings"]["seed"] == 3
    assert table["picture"] == "cat.svg"
    assert (tmp_path / "cat.svg").exists()


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ("cat.bmp", "must end in"),
        ("nowhere/cat.png", "there is no folder"),
        ("folder.png", "is a folder"),
    ],
)
def test_a_bad_output_is_refused_before_the_work(run, tmp_path, monkeypatch, output, complaint):
    (tmp_path / "folder.png").mkdir()
    monkeypatch.setattr(demo, "run", None)
    result = run("demo", "-o", output)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"anmin {anmin.__version__}\n"


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("demo", "--help")])
def test_help(run, words):
    result = run(*words)
    assert result.exit_code == 0
    assert "demo" in result.stdout


@pytest.mark.parametrize("command", ["fit", "predict", "report", "export"])
def test_help_has_examples(run, command):
    assert f"anmin {command} m.anmin" in run("--help").stdout.replace(
        "train.csv --target", "m.anmin"
    )
    assert f"anmin {command} " in run(command, "--help").stdout.partition("Examples")[2]


def test_the_commands_come_in_the_order_of_use(run):
    help_text = run("--help").stdout.partition("Commands")[2]
    places = [help_text.index(f" {name} ") for name in ("fit", "predict", "report", "export")]
    assert places == sorted(places)


@pytest.mark.slow
def test_the_help_does_not_wait_for_what_only_a_command_needs():
    code = "import sys, anmin.cli; print(*{'matplotlib', 'torch', 'onnx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_an_unknown_command_is_an_error(run):
    result = run("dmeo")
    assert result.exit_code == 2
    assert "dmeo" in result.stderr


def test_main_runs_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["anmin", "--version"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    assert anmin.__version__ in capsys.readouterr().out


@pytest.mark.parametrize("name", ["typer", "rich", "matplotlib", "pandas"])
def test_a_missing_library_is_one_line_with_the_remedy(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit) as stop:
        main()
    message = str(stop.value)
    assert name in message
    assert 'pip install "anmin[cli]"' in message
    assert "\n" not in message


@pytest.mark.slow
def test_module_is_the_command():
    command = [sys.executable, "-m", "anmin", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == f"anmin {anmin.__version__}"


@pytest.mark.slow
def test_import_anmin_imports_no_extra():
    """Beside those that scikit-learn itself imports where it finds them."""
    code = (
        "import sys, sklearn.linear_model; before = set(sys.modules); "
        "from anmin import ANMINRegressor, load_model; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "anmin" in imported
    extras = "typer rich matplotlib pooch torch dask distributed pyarrow pandas onnx onnxruntime"
    assert imported.isdisjoint(extras.split())


def test_import_anmin_takes_no_time_and_its_names_are_there():
    code = (
        "import sys, anmin; print(*{'numpy', 'sklearn'} & set(sys.modules)); "
        "anmin.ANMINRegressor, anmin.load_model, anmin.sources.CSVSource; "
        "print(hasattr(anmin, 'nothing'), hasattr(anmin, '__wrapped__'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", "False False"]
