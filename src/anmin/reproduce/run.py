"""From a plan to the runs on disk: those that are there already are not run again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from anmin.backends import get_backend
from anmin.reproduce.experiments import Plan, Task, available, tasks, unusable_methods
from anmin.reproduce.pictures import keep_pictures
from anmin.reproduce.record import Record
from anmin.reproduce.workers import workers


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands; `left` is in seconds, None while nothing is known."""

    stage: str
    done: int
    total: int
    left: float | None
    task: Task | None = None


Listener = Callable[[Progress], None]


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
    before = plan.folder.making()
    if before.get("quick", plan.quick) != plan.quick:
        held = "small experiments (--quick)" if before["quick"] else "experiments of full size"
        raise ValueError(f"{plan.output} holds {held}; choose another folder with --output.")
    data, left_out = available(plan)
    if not data:
        raise ValueError("There is no data set to run. " + " ".join(left_out))
    left_out += unusable_methods(plan)
    plan.folder.keep_making({"quick": plan.quick, "left_out": left_out})
    return replace(plan, data=data), left_out


def check_device(device: str) -> None:
    """Refuse a device that is not there, before the work and not after it."""
    if device != "auto":
        try:
            get_backend(device)
        except (ImportError, RuntimeError) as error:
            raise ValueError(f"device {device!r} cannot be used: {error}") from error


def run(plan: Plan, jobs: int, listen: Listener) -> list[str]:
    """Run every task that is not on disk; returns a sentence for each that failed."""
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
