"""Callbacks of scikit-learn (1.9 and later); on older versions estimators have none."""

from __future__ import annotations

from collections.abc import Callable
from math import isinf
from typing import Any

from anmin.history import Listener, Step
from anmin.network import Network

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Callable) -> Callable:
        return method


__all__ = ["CallbackSupportMixin", "fit_listener", "with_callbacks"]


def print_step(step: Step, _: Network) -> bool:
    """A line a step, for verbose=1."""
    print(
        f"iteration {step.iteration:4d}   loss {step.loss:.6g}   mse {step.mse:.6g}   "
        f"flips {step.flips:.2%}   dead {step.dead}   {step.seconds:.2f} s"
    )
    return False


def fit_listener(
    estimator: Any, X: Any, y: Any, max_iter: float, attributes: Callable[[Network], dict]
) -> tuple[Listener, Callable[[], Any]]:
    """What hears of each step: the estimator's callbacks, and `verbose`; and how to close.

    A callback may ask for the estimator as it would be, had it stopped at this step:
    `attributes` gives the fitted attributes of a network.
    """
    listeners: list[Listener] = [print_step] if estimator.verbose else []
    close: Callable[[], Any] = lambda: None  # noqa: E731
    if getattr(estimator, "_skl_callbacks", None):
        limit = None if isinf(max_iter) else int(max_iter)
        context = estimator._init_callback_context(max_subtasks=limit)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

        def tell(step: Step, network: Network) -> bool:
            if step.iteration == 0:
                return False
            task = context.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
            return task.call_on_fit_task_end(
                estimator=estimator, X=X, y=y,
                reconstruction_attributes=lambda: attributes(network),
            )  # fmt: skip

        listeners.append(tell)
        close = lambda: context.call_on_fit_task_end(  # noqa: E731
            estimator=estimator, X=X, y=y, reconstruction_attributes={}
        )

    def tell_all(step: Step, network: Network) -> bool:
        answers = [hear(step, network) for hear in listeners]  # every one hears
        return any(answers)

    return tell_all, close
