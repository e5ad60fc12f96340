"""Callbacks of scikit-learn (1.9 and later); on older versions estimators have none."""

from __future__ import annotations

from collections.abc import Callable
from math import isinf, isnan
from typing import Any

from anmin.history import Listener, Step
from anmin.network import Network
from anmin.sources import Scaling

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Callable) -> Callable:
        return method


__all__ = ["CallbackSupportMixin", "fit_listener", "with_callbacks"]


def print_step(step: Step, _: Network) -> None:
    """One line for each step, for verbose=1; held-out errors are of the penalty path."""
    held_out = "" if isnan(step.held_out_mse) else f"   held-out mse {step.held_out_mse:.6g}"
    print(
        f"{step.phase or 'iteration':9s} {step.iteration:4d}   loss {step.loss:.6g}   "
        f"mse {step.mse:.6g}{held_out}   lam {step.lam:.3g}   {step.seconds:.2f} s"
    )


def fit_listener(
    estimator: Any, X: Any, y: Any, max_iter: float, scaling: Callable[[], Scaling]
) -> tuple[Listener, Callable[[], Any]]:
    """What hears of each step: the estimator's callbacks, and `verbose`; and how to close.

    A callback may ask for the estimator as it would be, had it stopped at this step; `scaling`
    tells which inputs the network of this step acts on.
    """
    listeners: list[Listener] = [print_step] if estimator.verbose else []
    close: Callable[[], Any] = lambda: None  # noqa: E731
    if getattr(estimator, "_skl_callbacks", None):
        open_end = isinf(max_iter) or estimator.lam == "auto"  # which has looks beside iterations
        limit = None if open_end else int(max_iter)
        context = estimator._init_callback_context(max_subtasks=limit)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

        def tell(step: Step, network: Network) -> bool:
            if step.iteration == 0:
                return False
            task = context.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
            so_far = {"_network": network, "_scaling": scaling(), "n_outputs_": len(network.b0)}
            return task.call_on_fit_task_end(
                estimator=estimator, X=X, y=y, reconstruction_attributes=lambda: so_far
            )

        listeners.append(tell)
        close = lambda: context.call_on_fit_task_end(  # noqa: E731
            estimator=estimator, X=X, y=y, reconstruction_attributes={}
        )

    def tell_all(step: Step, network: Network) -> bool:
        answers = [hear(step, network) for hear in listeners]  # every one hears
        return any(answers)

    return tell_all, close
