"""Write this version's model files; run once a release, and never again for the same version.

    python tests/files/golden/make.py

The rows to predict and what to expect are in the files themselves.
"""

from pathlib import Path

import numpy as np

import anmin
from anmin.model_file import save_model

FOLDER = Path(__file__).parent


def keep(name, model, X, methods):
    """Save a model with its own predictions."""
    version = ".".join(anmin.__version__.split(".")[:2])
    path = FOLDER / f"{version}-{name}.anmin"
    if path.exists():
        raise SystemExit(f"{path.name} exists: a released file does not change.")
    expected = {method: getattr(model, method)(X).tolist() for method in methods}
    save_model(model, path, {"X": X.tolist(), "expected": expected})


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -1.0]
    y = np.abs(X[:, 0]) + 0.1 * X[:, 1] + 0.05 * rng.normal(size=100)
    regressor = anmin.ANMINRegressor(4, slope=0.1, intervals=True, random_state=0)
    keep("regressor", regressor.fit(X, y), X[:5], ["predict"])
    label = np.array(["low", "middle", "high"])[np.digitize(y, [0.8, 1.6])]
    classifier = anmin.ANMINClassifier(
        4, lam=1e-3, max_iter=5, class_weight={"low": 2.0, "middle": 1.0, "high": 1.0},
        solver=anmin.solvers.Algorithm1(), random_state=0,
    )  # fmt: skip
    keep("classifier", classifier.fit(X, label), X[:5], ["predict", "predict_proba"])


if __name__ == "__main__":
    main()
