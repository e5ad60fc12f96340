"""Two-layer ReLU networks trained analytically, as scikit-learn estimators."""

from anmin.estimators import ANMINClassifier, ANMINRegressor

__version__ = "0.1.0"

__all__ = ["ANMINClassifier", "ANMINRegressor", "__version__"]
