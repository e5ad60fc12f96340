"""Ctrl-C at any moment: exit code 130, one line, no traceback."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs the extra "cli"')
pytest.importorskip("pandas", reason='the command line needs the extra "cli"')

if os.name != "posix":
    pytest.skip("signals of POSIX", allow_module_level=True)

ANMIN = [sys.executable, "-m", "anmin"]


def start(folder, *words):
    """The command in a process of its own."""
    return subprocess.Popen(
        [*ANMIN, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def folder(tmp_path):
    """A folder with a table that takes long to fit."""
    X = np.random.default_rng(0).normal(size=(20_000, 8))
    table = np.column_stack([X, np.sin(3 * X[:, 0]) * X[:, 1]])
    head = ",".join([*"abcdefgh", "y"])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header=head, comments="", fmt="%.6f")
    return tmp_path


def wait_until_reading(process):
    """Until the handler of the command is in place: it then opens the modules of the libraries."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with open(f"/proc/{process.pid}/maps", encoding="utf-8", errors="replace") as maps:
            if "numpy" in maps.read():
                return
        time.sleep(0.005)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.2])
def test_ctrl_c_while_libraries_load(folder, delay):
    process = start(folder, "fit", "t.csv", "-t", "y", "--max-time", "60")
    wait_until_reading(process)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "stopped; nothing was written\n")


TWICE = """
import signal, sys
from anmin.__main__ import main
from anmin.cli.progress import FitProgress

def hear(self, step, network):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        signal.raise_signal(signal.SIGINT)

FitProgress.hear = hear
sys.argv = ["anmin", "fit", "t.csv", "-t", "y", "--max-time", "60"]
main()
"""


def test_ctrl_c_twice_leaves_at_once(folder):
    command = [sys.executable, "-c", TWICE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped; nothing was written\n")
    assert not (folder / "t.anmin").exists()
