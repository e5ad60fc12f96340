"""Two-layer ReLU networks trained analytically, as scikit-learn estimators."""

from anmin.estimators import ANMINClassifier, ANMINRegressor
from anmin.model_file import load_model

__version__ = "0.1.0"

__all__ = ["ANMINClassifier", "ANMINRegressor", "__version__", "load_model"]
