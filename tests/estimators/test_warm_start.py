"""warm_start: a fit that begins with the hidden layer of the one before."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import make_data

from anmin import ANMINClassifier, ANMINRegressor

GIVEN = {"n_hidden": 8, "lam": 1e-4, "max_iter": 3, "random_state": 0, "warm_start": True}
SOLVERS = {"given": GIVEN, "paper": GIVEN | {"solver": "anmin"}}


@pytest.mark.parametrize("params", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("q", [1, 3])
def test_never_worse_than_before(params, q):
    X, y = make_data(q=q)
    model, losses = ANMINRegressor(**params), []
    for _ in range(5):
        losses.append(model.fit(X, y).loss_)
        assert model.n_hidden_ <= 8
    assert all(new <= old * (1 + 1e-9) for old, new in pairwise(losses))
    assert losses[-1] < losses[0] or "solver" in params  # the paper's algorithm may stand still


def test_it_starts_from_the_layer_it_has():
    X, y = make_data()
    model = ANMINRegressor(**GIVEN).fit(X, y)
    before = model.loss_
    assert model.fit(X, y).history_[0].loss == pytest.approx(before, rel=1e-6)
    cold = ANMINRegressor(**GIVEN | {"warm_start": False}).fit(X, y)
    assert cold.history_[0].loss > before


def test_with_lam_auto_the_layer_competes():
    X, y = make_data()
    model = ANMINRegressor(8, warm_start=True, max_iter=40, random_state=0).fit(X, y)
    assert model.fit(X, y).score(X, y) > 0.9
    assert ANMINClassifier(8, warm_start=True, random_state=0).fit(X, y > 3).fit(X, y > 3).score(
        X, y > 3
    ) > 0.9  # fmt: skip


def test_a_layer_that_does_not_fit_is_left():
    """Other inputs, or more units than are asked for now: a fresh start."""
    (X, y), (Z, z) = make_data(d=2), make_data(d=3)
    fresh = ANMINRegressor(**GIVEN).fit(Z, z)
    assert np.array_equal(ANMINRegressor(**GIVEN).fit(X, y).fit(Z, z).A_, fresh.A_)
    few = GIVEN | {"n_hidden": 4}
    model = ANMINRegressor(**GIVEN).fit(X, y).set_params(n_hidden=4).fit(X, y)
    assert np.array_equal(model.A_, ANMINRegressor(**few).fit(X, y).A_)
    start = np.ones((4, 8))
    model = ANMINRegressor(**GIVEN).fit(X, y).set_params(init=start).fit(Z, z)
    assert model.history_[0].loss == ANMINRegressor(init=start, **GIVEN).fit(Z, z).history_[0].loss


def test_a_layer_without_units_is_left():
    X, y = make_data()
    model = ANMINRegressor(**GIVEN).fit(X, np.ones_like(y))
    assert model.n_hidden_ == 0
    assert np.array_equal(model.fit(X, y).A_, ANMINRegressor(**GIVEN).fit(X, y).A_)


def test_it_must_be_true_or_false():
    with pytest.raises(ValueError, match="warm_start must be True or False; got 'yes'"):
        ANMINRegressor(warm_start="yes").fit(*make_data())
