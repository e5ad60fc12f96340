"""From a plan to the runs on disk: those that are there already are not run again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import Split, load
from benchmarks.record import Fit
from paper.machine import describe_machine
from paper.methods import METHODS, SGD_TRIAL, find_method
from paper.pictures import keep_pictures
from paper.plan import Plan, Task, available, can_run, tasks, unusable_methods
from paper.record import Curve, Record, thinned
from paper.trainers import Setup, Size, best_rate

WIDE = ("dae", "dae-clean", "year")  # worth a GPU
TINY = Size(epochs=3, iterations=3, lbfgs_steps=1, line_search_steps=3, varpro_steps=2)


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands; `left` is in seconds, None while nothing is known."""

    stage: str
    done: int
    total: int
    left: float | None
    task: Task | None = None


class Forecast:
    """The time left, from the mean time of runs of each kind."""

    def __init__(self, jobs: int, known: Iterable[Record]) -> None:
        self.jobs = jobs
        self.seconds: dict[tuple[str, str], list[float]] = {}
        for record in known:
            self.learn(record)

    def learn(self, record: Record) -> None:
        if np.isfinite(record.seconds):
            self.seconds.setdefault((record.data, record.method), []).append(record.seconds)

    def left(self, waiting: Iterable[Task]) -> float | None:
        """Seconds for the tasks that wait; kinds not met yet are taken as the mean of the others.

        >>> forecast = Forecast(2, [Record("sdf", "adam", 0, seconds=10.0)])
        >>> forecast.left([Task("sdf", "adam", 1), Task("sdf", "sgd", 1)])
        10.0
        """
        means = {kind: float(np.mean(values)) for kind, values in self.seconds.items()}
        if not means:
            return None
        typical = float(np.mean(list(means.values())))
        return sum(means.get(task.kind, typical) for task in waiting) / self.jobs


def prepare(plan: Plan) -> tuple[Plan, list[str]]:
    """Check the folder, find the data; the plan that can be run, and what is left out."""
    check_device(plan.device)
    plan.output.mkdir(parents=True, exist_ok=True)
    before = plan.folder.settings()
    if before.get("quick", plan.quick) != plan.quick:
        held = "small experiments (--quick)" if before["quick"] else "experiments of full size"
        raise ValueError(f"{plan.output} holds {held}; choose another folder with --output.")
    data, left_out = available(plan)
    if not data:
        raise ValueError("There is no data set to run. " + " ".join(left_out))
    left_out += unusable_methods(plan)
    plan.folder.keep_settings({"quick": plan.quick, "left_out": left_out})
    return replace(plan, data=data), left_out


def check_device(device: str) -> None:
    """Refuse a device that is not there, before the work and not after it."""
    if device not in ("auto", "cpu"):
        try:
            import torch

            torch.zeros(1, device=device)
        except (ImportError, RuntimeError, AssertionError) as error:
            raise ValueError(f"device {device!r} cannot be used: {error}") from error


def run(plan: Plan, jobs: int, listen: Callable[[Progress], None]) -> list[str]:
    """Run every task that is not on disk; returns a sentence for each that failed."""
    from paper.workers import workers

    keep_pictures(plan.folder, plan.data)
    failures: list[str] = []
    forecast = Forecast(jobs, plan.folder.records())
    stages = [(stage, turn) for stage in plan.stages for turn in tasks(plan, stage)]
    waiting = [task for _, turn in stages for task in turn if not is_done(plan, task)]
    total = sum(len(turn) for _, turn in stages)
    with workers(plan, jobs) as each:
        for stage, turn in stages:
            listen(Progress(stage, total - len(waiting), total, forecast.left(waiting)))
            for task, answer in each([task for task in turn if task in waiting]):
                waiting.remove(task)
                if isinstance(answer, Record):
                    forecast.learn(answer)
                else:
                    failures.append(f"{task.data}, {task.method}, split {task.split}: {answer}")
                done = total - len(waiting)
                listen(Progress(stage, done, total, forecast.left(waiting), task))
    return failures


def is_done(plan: Plan, task: Task) -> bool:
    return plan.folder.has(task.data, task.method, task.split)


def warm_up(methods: tuple[str, ...]) -> None:
    """Train the methods on a handful of rows: what only a first call costs is not to be timed."""
    split = load("sin-n64-d2-h4", 0)
    for name in filter(can_run, methods):
        METHODS[name].train(split, Setup(TINY, sgd_rate=1e-3))


def execute(plan: Plan, task: Task) -> Record:
    """Run a task, and keep its record."""
    split = load(task.data, task.split, plan.size.rows)
    rate = float("nan")
    if task.method == "sgd":
        rate = best_rate(plan.folder.read(task.data, SGD_TRIAL, 0).curve)
    device = choose_device(plan.device, task.data)
    fit = find_method(task.method).train(split, Setup(plan.size, device, rate))
    record = Record(
        task.data,
        task.method,
        task.split,
        seconds=fit.seconds,
        n_train=len(split.X),
        n_test=len(split.X_test),
        d=split.X.shape[1],
        h=split.h,
        q=split.Y.shape[1],
        device=device,
        machine=describe_machine(device),
        note=fit.info.get("note", ""),
        curve=thinned(curve_of(fit)),
    )
    if fit.predict is not None:
        record = replace(record, **scores(split, fit.predict))
    plan.folder.write(record)
    return record


def curve_of(fit: Fit) -> Curve:
    """All that a method tells of its way, by column."""
    if not fit.curve:
        return fit.columns
    seconds, errors = zip(*fit.curve, strict=True)
    return {"seconds": list(seconds), "train_mse": list(errors)} | fit.columns


def scores(split: Split, predict: Callable[[NDArray], NDArray]) -> dict[str, Any]:
    """MSE, and R² about the mean of the training targets, on both parts."""
    found: dict[str, Any] = {}
    centre = split.Y.mean(0)
    parts = (("train", split.X, split.Y), ("test", split.X_test, split.Y_test))
    for name, X, Y in parts:
        with np.errstate(all="ignore"):
            mse = float(((predict(X).reshape(Y.shape) - Y) ** 2).mean())
        found |= {f"{name}_mse": mse, f"{name}_r2": 1 - mse / float(((Y - centre) ** 2).mean())}
    return found


def choose_device(wanted: str, data: str) -> str:
    """ "auto" is a GPU, where there is one, for the sets with many inputs."""
    if wanted != "auto":
        return wanted
    if data not in WIDE or find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
