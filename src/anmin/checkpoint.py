"""What outlives a fit that is killed: a log of what each move came to, and when.

A solver is deterministic: given the outcome of each move it asks for the same moves again. So a fit
that is started again takes the outcomes from the log, and goes on where the log ends, to the same
bits. That a budget was spent is an outcome too, so time need not be the same.

A log belongs to one fit: to its parameters, and to its rows, to the last bit and in their order.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import astuple
from os import PathLike
from typing import Any, TypeGuard

import numpy as np

from anmin.backends import Backend
from anmin.encoding import Encoding
from anmin.logfile import CheckpointError, Log
from anmin.moves import Move, Visit
from anmin.solvers.problem import Point, Problem
from anmin.sources import Batch, Source
from anmin.status import Status
from anmin.sums.output import OutputStats
from anmin.sums.patterns import Counts

NO_MATTER = ("checkpoint", "n_jobs", "verbose")  # parameters that do not change the fit
SHOWN = 60  # characters of a parameter
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
BUDGETS = {status.name: status for status in (Status.OUT_OF_TIME, Status.OUT_OF_ITERATIONS)}

Scalars = dict[str, Any]
Arrays = dict[str, np.ndarray]


class Checkpoint:
    """The outcomes of moves, in a file."""

    def __init__(self, path: str | PathLike[str], params: dict[str, Any], source: Source) -> None:
        """Open the log of the fit with these parameters and rows; make it where there is none."""
        facts = {
            "params": {name: describe(v) for name, v in params.items() if name not in NO_MATTER},
            "data": rows_mark(source),
            "seed": int(np.random.default_rng().integers(2**31)),
        }
        self.log = Log(path, (facts, {}))
        try:
            self.seed = self.checked(facts)
            self.next = self.log.read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.log.close()

    def checked(self, facts: Scalars) -> int:
        """The seed in the file; a log of another fit is refused with what differs."""
        found = self.log.read()
        known, path = ({} if found is None else found[0]), self.log.path
        kinds = {name: type(value) for name, value in known.items()}
        if kinds != {"params": dict, "data": str, "seed": int} or not 0 <= known["seed"] < 2**32:
            raise self.log.damaged()
        for name in sorted({*known["params"], *facts["params"]}):
            was, now = known["params"].get(name), facts["params"].get(name)
            if was != now:
                raise CheckpointError(
                    f"{path} was made with {name}={was}, now {name}={now}; "
                    "use the same parameters, delete it, or give another name."
                )
        if known["data"] != facts["data"]:  # last: batches of another device are other bits
            raise CheckpointError(f"{path} belongs to other data; delete it, or give another name.")
        return int(known["seed"])

    def recall(self, move: Move) -> tuple[Visit | Status, float] | None:
        """What the move came to, and when, where the log has it."""
        if self.next is None:
            return None
        record, arrays = self.next
        at, seconds = record.get("at"), record.get("seconds")
        if not isinstance(at, str) or not is_number(seconds):
            raise self.log.damaged()
        if at != mark(move):
            raise CheckpointError(
                f"{self.log.path} does not fit: the same steps come out differently with this "
                "version or on this machine. Delete it, or give another name."
            )
        if record.get("spent") in BUDGETS:
            outcome: Visit | Status = BUDGETS[record["spent"]]
        else:
            try:
                facts = RecalledFacts(record["facts"], self.log)
                outcome = restored(move.problem, record | {"facts": facts}, arrays)
            except (KeyError, TypeError, ValueError) as error:
                raise self.log.damaged() from error
        self.next = self.log.read()
        return outcome, float(seconds)

    def write(self, move: Move, outcome: Visit | Status, seconds: float) -> None:
        """Log what the move came to."""
        record: Scalars = {"at": mark(move), "seconds": seconds}
        if isinstance(outcome, Status):
            self.log.append(record | {"spent": outcome.name}, {})
            return
        scalars, arrays = stored(move.problem.backend, outcome)
        self.log.append(record | scalars, arrays)


class RecalledFacts(dict[str, float]):
    """Facts of a visit from the log; where one is missing that a solver asks for, it is damaged."""

    def __init__(self, facts: dict[str, float], log: Log) -> None:
        super().__init__(facts)
        self.log = log

    def __missing__(self, name: str) -> float:
        raise self.log.damaged()


def mark(move: Move) -> str:
    """What the same move is known by."""
    return fingerprint(move.problem.backend.to_numpy(move.at))


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def stored(backend: Backend, visit: Visit) -> tuple[Scalars, Arrays]:
    """A visit as scalars and arrays."""
    point, sums, counts = visit.point, visit.point.sums, visit.counts
    scalars: Scalars = {"loss": point.loss, "mse": point.mse, "n": sums.n, "YtY": sums.YtY}
    scalars |= {"status": visit.status.name, "facts": {k: float(v) for k, v in visit.facts.items()}}
    arrays = {"A": point.A, "W": point.W, "StS": sums.StS, "StY": sums.StY}
    if counts is not None:
        scalars |= {"flips": counts.flips, "rows": counts.rows, "cells": counts.cells}
        arrays["fired"] = counts.fired
    return scalars, {name: backend.to_numpy(V) for name, V in arrays.items()}


def restored(problem: Problem, scalars: Scalars, arrays: Arrays) -> Visit:
    """The visit that `stored` took apart; a ValueError where it is not one of this problem."""
    _, p, q = problem.source.shape
    h = arrays["A"].shape[1] if arrays["A"].ndim == 2 else -1
    shapes: dict[str, tuple[int, ...]] = {"A": (p, h), "W": (h + 1, q), "StY": (h + 1, q)}
    shapes["StS"] = (h + 1, h + 1)
    numbers = [scalars[name] for name in ("loss", "mse", "n", "YtY")]
    facts, counts = scalars["facts"], None
    if "fired" in arrays:
        shapes["fired"] = (h,)
        tally = [scalars[name] for name in ("flips", "rows", "cells")]
        counts = Counts(arrays["fired"], *map(float, tally))
        numbers += tally
    plain = isinstance(facts, dict) and all(map(is_number, [*numbers, *facts.values()]))
    if {name: V.shape for name, V in arrays.items()} != shapes or not plain:
        raise ValueError("shapes or numbers that no fit of this problem has")
    double = problem.backend.double
    A, W, StS, StY = (double(arrays[name]) for name in ("A", "W", "StS", "StY"))
    sums = OutputStats(float(scalars["n"]), StS, StY, float(scalars["YtY"]))
    point = Point(A, W, float(scalars["loss"]), float(scalars["mse"]), sums)
    return Visit(point, Status[scalars["status"]], counts, facts)


def rows_mark(source: Source) -> str:
    """What rows are known by."""
    s, digests = source.scaling, source.reduce(digest_of)
    scales = fingerprint(s.x_mean, s.x_scale, s.y_mean, s.y_scale)
    return scales + hashlib.sha256(digests).hexdigest()


def digest_of(backend: Backend, batch: Batch) -> bytes:
    """A kernel: a sum over the bits of a batch; those of several stand one after the other."""

    def part(rows: slice) -> bytes:
        digest = hashlib.sha256()
        X = batch.X[rows]
        pieces = X.pieces if hasattr(X, "pieces") else (X,)
        for V in (*pieces, batch.Y[rows]):
            digest.update(np.ascontiguousarray(backend.to_numpy(V)).data)
        return digest.digest()

    return hashlib.sha256(backend.sum_over_blocks(part, len(batch))).digest()


def fingerprint(*arrays: Any) -> str:
    """A short name for some arrays of numbers.

    >>> import numpy as np
    >>> from anmin.checkpoint import fingerprint
    >>> fingerprint(np.zeros(3)) == fingerprint(np.zeros(3)) != fingerprint(np.ones(3))
    True
    """
    digest = hashlib.sha256()
    for W in arrays:
        numbers = np.ascontiguousarray(W, dtype=np.float64)
        digest.update(repr(numbers.shape).encode() + numbers.tobytes())
    return digest.hexdigest()[:32]


def describe(value: Any) -> str:
    """A parameter in a few words, different for different values."""
    if isinstance(value, np.random.RandomState):
        kind, keys, *rest = value.get_state(legacy=True)
        return f"RandomState {kind} {fingerprint(keys)} {rest}"
    if isinstance(value, np.ndarray):
        return f"array {fingerprint(value)}"
    if isinstance(value, Encoding):
        return f"Encoding {fingerprint(*astuple(value))}"
    if isinstance(value, (list, tuple)):
        text = ", ".join(describe(item) for item in value)
    else:
        text = ADDRESS.sub("", repr(value))  # an object of the same kind; its moves must agree
    if len(text) <= SHOWN:
        return text
    return f"{text[:SHOWN]}… {hashlib.sha256(text.encode()).hexdigest()[:16]}"
