"""Taking a fitted model elsewhere: to a file, to PyTorch, to ONNX, to C.

Every export computes the network on raw inputs: standardisation is folded into the first layer,
before which stands the encoding where there is one. An estimator needs nothing else.

A regressor exports its predictions, (n, q). A classifier exports its decision values to PyTorch and
C (one column for two classes, whose sign decides, else one a class, whose largest decides) and
probabilities to ONNX.

An export is one module that registers an `Export`; the list at the end of this file names the
modules. The methods `to_NAME` of the estimators and `anmin export --to NAME` come from `EXPORTS`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anmin.files import PathLike
from anmin.model_file import library_version, save_model
from anmin.network import Network

DTYPES = ("float32", "float64")


class PickleVersionWarning(UserWarning):
    """An estimator was unpickled by another version of anmin than the one that pickled it."""


class Exports:
    """The methods of a fitted estimator that take it elsewhere; `register` adds a `to_NAME`."""

    def save(self, path: PathLike) -> None:
        """Write the model to a file for `anmin.load_model`, all or nothing.

        The file is safe to load, whoever wrote it: arrays and JSON, and no pickle.
        """
        save_model(self, path)

    def onnx_shape_calculator(self) -> Callable[[Any], None]:
        """For skl2onnx: what gives the shapes of the outputs."""
        return import_module("anmin.export.skl2onnx_converter").shapes

    def onnx_converter(self) -> Callable[[Any, Any, Any], None]:
        """For skl2onnx: what adds the nodes of `to_onnx` to those of a pipeline."""
        return import_module("anmin.export.skl2onnx_converter").convert

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "_anmin_version": library_version()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        found, ours = state.pop("_anmin_version", "unknown"), library_version()
        if found != ours:
            warnings.warn(
                f"This {type(self).__name__} was pickled by anmin {found} and is unpickled by "
                f"anmin {ours}: it may fail or predict wrongly. Fit it again, or use `save` and "
                "`anmin.load_model`, whose files keep loading.",
                PickleVersionWarning,
                stacklevel=2,
            )
        super().__setstate__(state)  # type: ignore[misc]


@dataclass(frozen=True)
class Export:
    """A form in which a fitted model can be written to a file."""

    name: str  # of `model.to_NAME(…)` and `anmin export --to NAME`
    suffix: str  # of its files
    description: str  # in one line
    write: Callable[..., None]  # (model, path, and options such as dtype)
    method: Callable[..., Any] | None = None  # what `model.to_NAME` calls, where it is not `write`
    library: str = ""  # that it imports, if any, ...
    extra: str = ""  # ... and the extra that installs it: pip install 'anmin[EXTRA]'

    @property
    def options(self) -> tuple[str, ...]:
        """The options that `write` takes."""
        return tuple(inspect.signature(self.write).parameters)[2:]


EXPORTS: dict[str, Export] = {}


def register(export: Export) -> None:
    """Make an export known, and give the estimators its method.

    >>> from anmin.export import EXPORTS
    >>> EXPORTS["c"].suffix, EXPORTS["c"].options
    ('.c', ('name', 'dtype'))
    """

    def checked(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(model: Any, *args: Any, **options: Any) -> Any:
            check_is_fitted(model)
            try:
                import_module(export.library or "anmin")
            except ModuleNotFoundError as error:
                needs = f"to_{export.name} needs {export.library}"
                install = f"pip install 'anmin[{export.extra}]'"
                raise ModuleNotFoundError(f"{needs}: {install}") from error
            return function(model, *args, **options)

        return call

    EXPORTS[export.name] = replace(export, write=checked(export.write))
    setattr(Exports, f"to_{export.name}", checked(export.method or export.write))


def raw_network(model: Any, dtype: str = "float64") -> Network:
    """The network on raw inputs whose outputs are predictions, or decision values.

    With an encoding it acts on the columns of `raw_columns`. A network without hidden units gets
    one that does nothing: no target has empty layers.
    """
    check_is_fitted(model)
    s, network = model._scaling, model._network
    if network.A.shape[1] == 0:
        p, q = len(network.A), len(network.b0)
        network = replace(network, A=np.zeros((p, 1)), B=np.zeros((1, q)))
    shift = model._middle if hasattr(model, "classes_") else 0.0
    return in_dtype(network.fold(s.x_mean, s.x_scale, s.y_mean - shift), dtype)


def link_of(model: Any) -> str:
    """What makes predictions of outputs: "identity", "exp" or "sort"; see `losses/loss.py`."""
    loss = model._loss
    return "identity" if loss is None or hasattr(model, "classes_") else loss.link


@dataclass(frozen=True, slots=True)
class EncodingArrays:
    """An encoding in numbers of one type: (x − centre) / scale, (x_column − low) / width."""

    centre: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)
    column: np.ndarray  # (m,) int64
    low: np.ndarray  # (m,)
    width: np.ndarray  # (m,)


def raw_columns(model: Any, dtype: str = "float64") -> EncodingArrays | None:
    """What stands before the first layer of `raw_network`; None without an encoding."""
    e = model._scaling.encoding
    if e is None:
        return None
    with np.errstate(over="ignore", under="ignore"):
        found = (W.astype(dtype) for W in (e.centre, e.scale, e.low, e.high - e.low))
        centre, scale, low, width = found
    finite = all(np.isfinite(W).all() for W in (centre, scale, low, width))
    if not (finite and (scale > 0).all() and (width > 0).all()):
        raise ValueError(f"the encoding has no room in {dtype}; use dtype='float64'.")
    return EncodingArrays(centre, scale, e.column, low, width)


def in_dtype(network: Network, dtype: str) -> Network:
    """The network rounded to a floating-point type, or ValueError where that has no room for it."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}; got {dtype!r}.")
    with np.errstate(over="ignore"):
        layers = {name: getattr(network, name).astype(dtype) for name in ("A", "B", "b0")}
    if not all(np.isfinite(W).all() for W in layers.values()):
        raise ValueError(f"weights overflow {dtype}; use dtype='float64', or larger units for y.")
    return replace(network, **layers)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a prediction takes: sizes, numbers to store, multiply-adds a row."""

    inputs: int
    hidden: int
    outputs: int
    parameters: int  # weights and biases of both layers, numbers of encoding and columns
    multiply_adds: int  # at most: units that do not fire may be passed over


def cost(model: Any) -> Cost:
    """What a prediction of a fitted model takes.

    >>> import numpy as np
    >>> from anmin import ANMINRegressor
    >>> from anmin.export import cost
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
    >>> cost(model).parameters == 3 * model.n_hidden_ + 1
    True
    """
    check_is_fitted(model)
    d, h, q = model.n_features_in_, model.n_hidden_, model.n_outputs_
    p = model._scaling.n_inputs + 1
    parameters, multiply_adds = p * h + (h + 1) * q, (p - 1 + q) * h
    if model.connections is not None:  # weights with the number of their input, by unit
        seen = max(int(np.count_nonzero(model.A_[1:])), 1)
        parameters, multiply_adds = 2 * seen + 2 * h + 1 + (h + 1) * q, seen + q * h
    if model._scaling.encoding is not None:
        numbers = model._scaling.n_features
        hinges = p - 1 - numbers
        parameters += 2 * numbers + 3 * hinges
        multiply_adds += 9 * numbers + hinges
    if model._columns is not None:
        parameters += model._columns.n_numbers
    return Cost(d, h, q, parameters, multiply_adds)


for module in ("c", "frameworks"):  # each registers itself, with what is defined above
    import_module(f"anmin.export.{module}")
