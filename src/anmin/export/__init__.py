"""Taking a fitted model elsewhere: to a file, to PyTorch, to ONNX, to C.

Every export computes the network on raw inputs: standardisation is folded into the first layer,
and an estimator needs nothing else. A regressor exports its outputs, (n, q). A classifier exports
its decision values to PyTorch and C (outputs minus 1/2: one column for two classes, whose sign
decides, else one a class, whose largest decides) and probabilities to ONNX.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from anmin.model_file import save_model
from anmin.network import Network

DTYPES = ("float32", "float64")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a prediction takes: sizes, numbers to store, multiply-adds a row."""

    inputs: int
    hidden: int
    outputs: int

    @property
    def parameters(self) -> int:
        """Weights and biases of both layers."""
        return (self.inputs + 1) * self.hidden + (self.hidden + 1) * self.outputs

    @property
    def multiply_adds(self) -> int:
        """A row, at most: units that do not fire may be passed over."""
        return (self.inputs + self.outputs) * self.hidden


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
    return Cost(model.n_features_in_, model.n_hidden_, model.n_outputs_)


def raw_network(model: Any) -> Network:
    """The network on raw inputs whose outputs are predictions, or decision values.

    A network without hidden units gets one that does nothing: no target has empty layers.
    """
    check_is_fitted(model)
    s, network = model._scaling, model._network
    if network.A.shape[1] == 0:
        p, q = len(network.A), len(network.b0)
        network = replace(network, A=np.zeros((p, 1)), B=np.zeros((1, q)))
    shift = 0.5 if hasattr(model, "classes_") else 0.0
    return network.fold(s.x_mean, s.x_scale, s.y_mean - shift)


def in_dtype(network: Network, dtype: str) -> Network:
    """The network rounded to a floating-point type, or ValueError where that has no room for it."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}; got {dtype!r}.")
    with np.errstate(over="ignore"):
        layers = {name: getattr(network, name).astype(dtype) for name in ("A", "B", "b0")}
    if not all(np.isfinite(W).all() for W in layers.values()):
        raise ValueError(f"weights overflow {dtype}; use dtype='float64', or larger units for y.")
    return replace(network, **layers)


class Exports:
    """The methods of a fitted estimator that take it elsewhere."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file for `anmin.load_model`, all or nothing.

        The file is safe to load, whoever wrote it: arrays and JSON, and no pickle.

        >>> import tempfile
        >>> import numpy as np
        >>> from anmin import ANMINRegressor, load_model
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/m.anmin")
        ...     again = load_model(f"{folder}/m.anmin")
        >>> bool((again.predict(X) == model.predict(X)).all())
        True
        """
        save_model(self, path)

    def to_torch(self, dtype: str = "float32") -> Any:
        """The network as a `torch.nn.Sequential` on raw inputs: (n, d) → (n, n_outputs_).

        A classifier's outputs are its decision values.

        >>> import numpy as np
        >>> from anmin import ANMINRegressor
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
        >>> model.to_torch()  # doctest: +SKIP
        Sequential(
          (0): Linear(in_features=1, out_features=4, bias=True)
          (1): ReLU()
          (2): Linear(in_features=4, out_features=1, bias=True)
        )
        """
        try:
            from anmin.export.torch import to_torch
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "to_torch needs PyTorch: pip install 'anmin[torch]'"
            ) from error
        return to_torch(self, dtype)

    def to_onnx(self, path: str | os.PathLike[str], dtype: str = "float32") -> None:
        """Write the network as an ONNX file (opset 13) that takes raw inputs "X", (rows, d).

        A regressor gives "y", (rows, n_outputs_). A classifier gives "probabilities", (rows,
        n_classes), and "index", the place in `classes_` of the most likely one.

        >>> import tempfile
        >>> import numpy as np
        >>> from anmin import ANMINRegressor
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.to_onnx(f"{folder}/m.onnx")  # doctest: +SKIP
        """
        try:
            from anmin.export.onnx import to_onnx
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("to_onnx needs onnx: pip install 'anmin[export]'") from error
        to_onnx(self, path, dtype)

    def to_c(
        self, path: str | os.PathLike[str], name: str = "model", dtype: str = "float32"
    ) -> None:
        """Write the network as one file of C99 without dependencies, for any compiler.

        It defines `void NAME_predict(const float x[], float y[])`, and for a classifier
        `int NAME_class(const float x[])`, the place of the label in `classes_`.

        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from anmin import ANMINRegressor
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.to_c(Path(folder, "m.c"), name="tide")
        ...     print(Path(folder, "m.c").read_text().count("tide_predict("))
        3
        """
        from anmin.export.c import to_c

        to_c(self, path, name, dtype)
