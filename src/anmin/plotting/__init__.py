"""Pictures of a fitted model, in the style of scikit-learn's displays.

`XDisplay.from_estimator(model)` collects the numbers and draws them; `.plot(ax)` draws them again
elsewhere. Matplotlib is imported when something is drawn. Partial dependence needs nothing from
here: `sklearn.inspection.PartialDependenceDisplay.from_estimator(model, X, features)`.
"""

from anmin.plotting.curves import PathDisplay, TrainingDisplay
from anmin.plotting.function import FunctionDisplay

__all__ = ["FunctionDisplay", "PathDisplay", "TrainingDisplay"]
