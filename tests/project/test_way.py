"""The way from `fit` to the first sum over rows, as a stranger reads it: few frames, few files."""

import sys
from pathlib import Path

import numpy as np

import anmin
from anmin import ANMINRegressor
from anmin.sources import Batch

ROOT = str(Path(anmin.__file__).parent)


class FirstSumError(Exception):
    """A kernel was called with a batch."""


def way_to_the_first_sum():
    """Frames of the package below the first kernel, and the files that ran on the way."""
    files = {}

    def look(frame, event, _):
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(ROOT):
            return
        files[name] = None
        if frame.f_code.co_name == "__call__" and isinstance(frame.f_locals.get("batch"), Batch):
            stack = []
            while frame is not None:
                if frame.f_code.co_filename.startswith(ROOT):
                    stack.append(frame.f_code.co_qualname)
                frame = frame.f_back
            raise FirstSumError(stack[::-1])

    X = np.random.default_rng(0).normal(size=(200, 3))
    sys.setprofile(look)
    try:
        ANMINRegressor(random_state=0).fit(X, X[:, 0])
    except FirstSumError as found:
        return found.args[0], list(files)
    finally:
        sys.setprofile(None)


def test_few_frames_and_files_lie_between_fit_and_the_first_sum():
    stack, files = way_to_the_first_sum()
    assert len(stack) <= 10, stack
    assert len(files) <= 33, "\n".join(files)
