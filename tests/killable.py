"""Fits in processes of their own, to be killed or interrupted: real processes, quickly started.

One process imports the library and then forks a child for each fit that it is asked for.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np

NURSERY = """
import json, os, signal, sys, time, warnings
import numpy as np
from anmin import ANMINRegressor

def say(*words):
    os.write(1, (" ".join(map(str, words)) + chr(10)).encode())  # in one piece

warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)
for line in sys.stdin:
    rows, params = json.loads(line)
    child = os.fork()
    if child == 0:
        with np.load(rows) as data:
            X, y = data["X"], data["y"]
        say("begun")
        model = ANMINRegressor(**params).fit(X, y)
        say("done", json.dumps([time.time(), model.score(X, y), model.n_iter_]))
        os._exit(0)
    say("child", child)
    say("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Nursery:
    """Where fits are started, one at a time."""

    def __init__(self):
        env = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        env["PYTHONPATH"] = os.pathsep.join(sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def start(self, rows, **params):
        """Begin a fit of the rows in a file; `end` gives its exit status and what it printed."""
        print(json.dumps([str(rows), params]), file=self.process.stdin, flush=True)
        first = dict(self.read() for _ in range(2))  # either may be first
        assert set(first) == {"begun", "child"}, first
        self.child = int(first["child"])

    def read(self):
        """The next line, as a word and the rest."""
        word, _, rest = self.process.stdout.readline().strip().partition(" ")
        return word, rest

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
            os.kill(self.child, number)

    def end(self):
        """The exit status of the fit, and what it printed when it was done."""
        done = None
        while True:
            word, rest = self.read()
            if word == "ended":
                return int(rest), done
            done = json.loads(rest)

    def kill_when(self, true, seconds=30.0):
        """SIGKILL as soon as `true()`; the exit status."""
        begin = time.monotonic()
        while not true() and time.monotonic() - begin < seconds:
            time.sleep(0.002)
        self.signal(signal.SIGKILL)
        return self.end()[0]


def save_rows(path, X, y):
    np.savez(path, X=X, y=y)
    return path
