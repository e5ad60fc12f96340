"""The whole way: from the command to the report, resuming, failures, and processes."""

import base64
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from paper_tools import TINY, make_small, needs_engine, needs_torch

pytest.importorskip("matplotlib", reason="the report needs matplotlib")

from benchmarks import cases
from paper import figures as drawing
from paper import plan as planning
from paper import run as running
from paper import workers
from paper.__main__ import main
from paper.data import DatasetMissingError, OfflineError
from paper.plan import STAGES, Plan, Task, tasks
from paper.record import Folder
from paper.run import execute, prepare, run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHOWN = ("sdf", "abalone", "bike", "dae")
FIGURES = range(1, 14)


@pytest.fixture
def small(monkeypatch):
    cases.paper_rows.cache_clear()
    make_small(monkeypatch)
    yield
    cases.paper_rows.cache_clear()


@pytest.fixture
def command(capsys):
    def call(*words):
        code = main(list(words))
        captured = capsys.readouterr()
        return SimpleNamespace(exit_code=code, stdout=captured.out, stderr=captured.err)

    return call


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


@needs_engine
@needs_torch
def test_every_table_and_figure_is_in_the_report(small, command, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "DPI", 30)
    words = ("run", "--quick", "--splits", "2", "-j", "1", "-o", str(tmp_path))
    result = command(*words, "--data", ",".join([*SHOWN, "year"]))
    assert result.exit_code == 0, result.stderr
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
    stages = [turn for stage in STAGES for turn in tasks(all_plan(tmp_path), stage)]
    assert len(rows) == sum(map(len, stages))
    assert (tmp_path / "curves.csv").stat().st_size > 0


def all_plan(folder):
    return Plan(folder, splits=2, data=SHOWN, quick=True)


@needs_engine
def test_a_second_call_runs_only_what_is_missing(small, tmp_path, monkeypatch):
    done, methods = [], ("anmin", "trees")
    plan = Plan(tmp_path, 2, ("abalone", "bike"), methods, ("tables", "fair"), quick=True)

    def counting(plan, task):
        done.append(task)
        return execute(plan, task)

    monkeypatch.setattr(workers, "execute", counting)
    heard = []
    assert not run(plan, 1, heard.append)
    assert len(done) == heard[-1].done == heard[-1].total == 8
    assert heard[-1].left == 0
    gone = tmp_path / "runs" / "bike" / "anmin-001.json"
    gone.unlink()
    (gone.parent / ".broken.tmp").write_text("{")
    done.clear()
    run(plan, 1, heard.append)
    assert done == [Task("bike", "anmin", 1)]
    run(replace(plan, splits=3), 1, heard.append)
    assert {task.split for task in done[1:]} == {2}


@needs_engine
def test_a_failed_run_is_said_and_tried_again(small, command, tmp_path, monkeypatch):
    words = ("run", "--quick", "-j", "1", "-o", str(tmp_path), "--data", "abalone")
    words += ("--splits", "2")
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
    assert command("draw", "-o", str(tmp_path)).exit_code == 0


@needs_engine
def test_full_size_prints_ours_beside_the_paper(small, command, tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "FULL", TINY)
    words = (
        "run",
        "-o",
        str(tmp_path),
        "--data",
        "abalone",
        "--methods",
        "anmin",
        "--only",
        "tables",
    )
    result = command(*words, "--splits", "2", "-j", "1")
    assert result.exit_code == 0, result.stderr
    assert "ANMIN beside the paper" in result.stdout
    assert "3.94 (0.10)" in result.stdout
    assert "check" in Page((tmp_path / "report.html").read_text(encoding="utf-8")).ids
    refused = command("run", "--quick", "-o", str(tmp_path))
    assert refused.exit_code == 2
    assert "--output" in refused.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--data", "mnist"), "known are sdf"),
        (("--methods", "adma"), "known are sgd"),
        (("--only", "figures"), "known are tables"),
        (("--device", "nonsense"), "device"),
    ],
)
def test_wrong_words_are_refused(small, command, tmp_path, words, complaint):
    result = command("run", *words, "-o", str(tmp_path))
    assert result.exit_code == 2
    assert complaint in result.stderr.replace("\n", " ")


def test_without_torch_its_methods_are_left_out_with_a_sentence(small, tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "find_spec", lambda _: None)
    plan, left_out = prepare(Plan(tmp_path, splits=1, quick=True))
    assert any("PyTorch" in words and "[torch]" in words for words in left_out)
    (runs,) = tasks(plan, "tables")
    assert {task.method for task in runs} == {"anmin", "anmin-l"}


def test_data_that_cannot_be_had_are_left_out(small, tmp_path, monkeypatch):
    def fetch(name, **_):
        if name != "bike":
            raise DatasetMissingError(f"{name} is not here.")

    monkeypatch.setattr(planning, "fetch", fetch)
    plan, left_out = prepare(Plan(tmp_path / "some", quick=True))
    assert plan.data == ("bike",)
    assert len(left_out) == 4
    with pytest.raises(ValueError, match="no data set"):
        prepare(Plan(tmp_path / "none", data=("sdf",)))


def test_without_a_network_one_server_is_asked_once_and_a_quick_run_has_a_shape(
    small, tmp_path, monkeypatch
):
    asked = []

    def fetch(name, download_if_missing):
        asked.append(download_if_missing)
        raise OfflineError("no connection") if download_if_missing else DatasetMissingError("-")

    monkeypatch.setattr(planning, "fetch", fetch)
    plan, left_out = prepare(Plan(tmp_path, quick=True))
    assert plan.data == ("shape",)
    assert "a shape drawn in code stands in" in left_out[-1]
    assert asked == [True, False, False, False, False]


@needs_engine
def test_a_quick_run_on_the_shape_ends_well(small, command, tmp_path):
    words = ("--quick", "--data", "shape", "--splits", "1", "-j", "1", "-o", str(tmp_path))
    result = command("run", *words, "--methods", "anmin,trees", "--only", "tables,fair")
    assert result.exit_code == 0, result.stderr
    assert "Shape drawn in code" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_there_is_nothing_to_draw_yet(command, tmp_path):
    result = command("draw", "-o", str(tmp_path))
    assert result.exit_code == 2
    assert "holds no runs yet" in result.stderr


@pytest.mark.parametrize("words", [("--splits", "0"), ("-j", "two")])
def test_numbers_are_whole_and_positive(words, tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["run", *words, "-o", str(tmp_path)])
    assert left.value.code == 2
    assert "whole number" in capsys.readouterr().err


def test_a_dead_worker_is_one_line_with_the_remedy(small, command, tmp_path, monkeypatch):
    def dying(*_):
        raise BrokenProcessPool

    monkeypatch.setattr(running, "run", dying)
    result = command("run", "--quick", "-o", str(tmp_path), "-j", "4")
    assert result.exit_code == 1
    assert "--jobs 2" in result.stderr
    assert "Traceback" not in result.stderr


# ---- processes --------------------------------------------------------------------------------


@needs_engine
def test_processes_write_records_and_report_errors(tmp_path):
    plan = Plan(tmp_path, quick=True, methods=("anmin",))
    good = [Task("sin-n64-d2-h4", "anmin", k) for k in range(2)]
    with workers.workers(plan, 2) as each:
        answers = dict(each([*good, Task("nowhere", "anmin", 0)]))
    for task in good:
        assert answers[task].train_mse == plan.folder.read(*vars_of(task)).train_mse
    assert "FileNotFoundError" in str(answers[Task("nowhere", "anmin", 0)])
    assert not workers.active_children()
    assert "OMP_NUM_THREADS" not in os.environ or os.environ["OMP_NUM_THREADS"] == THREADS


THREADS = os.environ.get("OMP_NUM_THREADS")


def vars_of(task):
    return task.data, task.method, task.split


@needs_engine
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_do_not_outlive_their_parent(how, tmp_path):
    psutil = pytest.importorskip("psutil")
    words = ["run", "--quick", "-o", str(tmp_path), "-j", "2", "--data", "shape"]
    process = subprocess.Popen(
        [sys.executable, "-m", "paper", *words, "--methods", "anmin", "--splits", "400"],
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=ROOT,
    )  # fmt: skip
    deadline = time.monotonic() + 150
    while not list(tmp_path.glob("runs/*/*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 2
    process.send_signal(how)
    process.wait(timeout=30)
    assert not psutil.wait_procs(family, timeout=30)[1]


@needs_engine
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(tmp_path):
    words = ["run", "--quick", "-o", str(tmp_path), "-j", "2", "--data", "shape"]
    process = subprocess.Popen(
        [sys.executable, "-m", "paper", *words, "--methods", "anmin", "--splits", "400"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=ROOT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509, as in a terminal
    )  # fmt: skip
    deadline = time.monotonic() + 150
    while not list(tmp_path.glob("runs/*/*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    errors = process.communicate(timeout=30)[1]
    assert process.returncode == 130, errors
    assert "Go on with: python -m paper run --quick" in errors.replace("\n", " ")
    assert "Traceback" not in errors
    runs = Folder(tmp_path).records()
    assert runs
    assert all(math.isfinite(run.train_mse) for run in runs)
