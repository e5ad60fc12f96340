"""Two-layer ReLU networks trained analytically, as scikit-learn estimators."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anmin.estimators import ANMINClassifier, ANMINRegressor
    from anmin.model_file import load_model

__version__ = "0.1.0"

__all__ = ["ANMINClassifier", "ANMINRegressor", "__version__", "load_model"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import what is asked for when it is asked for, so that `anmin` itself starts at once."""
        if name in __all__:
            estimators = import_module("anmin.estimators")  # also makes them known to load_model
            home = import_module("anmin.model_file") if name == "load_model" else estimators
            return getattr(home, name)
        try:
            return import_module(f"anmin.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"anmin.{name}":  # but a library that the module needs
                raise
            raise AttributeError(f"module 'anmin' has no attribute {name!r}") from None
