"""Numbers that are names are told from numbers that measure."""

import numpy as np
import pandas as pd
import pytest

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.columns import CodeColumn
from anmin.columns.codes import is_code

N = 400


def panel(seed=0):
    """A person, an age, and a target with an effect of each person."""
    rng = np.random.default_rng(seed)
    person, age = rng.integers(0, 40, N), rng.integers(20, 60, N)
    effect = rng.normal(size=40)
    y = effect[person] + np.sin(age / 10) + 0.2 * rng.normal(size=N)
    return pd.DataFrame({"person": person, "age": age}), y, effect


def quick(kind=ANMINRegressor, **options):
    settings = {"n_hidden": 4, "lam": 1e-2, "max_iter": 3, "random_state": 0}
    return kind(**(settings | options))


def coded(model):
    return [c.name for c in model._columns.columns if isinstance(c, CodeColumn)]


def told(x, y, w=None):
    return is_code(np.asarray(x, dtype=float), y[:, None], np.ones(len(y)) if w is None else w)


@pytest.mark.parametrize("seed", range(5))
def test_persons_are_codes_and_ages_are_not(seed):
    frame, y, _ = panel(seed)
    assert told(frame["person"], y)
    assert not told(frame["age"], y)
    assert not told(frame["person"], np.random.default_rng(seed).normal(size=N))


def test_the_test_does_not_depend_on_units_weights_or_rows_that_do_not_count():
    frame, y, _ = panel()
    x = frame["person"].to_numpy(float)
    w = np.random.default_rng(0).integers(0, 2, N).astype(float)
    assert told(x, 1e6 * y + 1e9)
    assert told(x, np.exp(9 * y))
    assert told(x, y, np.full(N, 1e-8))
    junk = np.where(w > 0, x, np.nan)
    assert told(junk, np.where(w > 0, y, 1e9), w) == told(x[w > 0], y[w > 0])


def test_a_few_large_values_make_no_code():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, N)
    assert not told(x, np.where(x == 7, 1e3 * rng.exponential(size=N), 0) + rng.normal(size=N))


@pytest.mark.parametrize(
    "x",
    [np.arange(N), np.arange(N) % 16, np.arange(N) % 40 + 0.5, (np.arange(N) % 40) * 2.0**24],
    ids=["all different", "as many as hinges", "no whole numbers", "too large"],
)
def test_what_no_code_can_be(x):
    assert not told(x, np.random.default_rng(0).normal(size=2**20)[x.astype(int) % 2**20])


def test_a_code_keeps_its_number_and_gets_levels():
    frame, y, _ = panel()
    model = quick().fit(frame, y)
    assert coded(model) == ["person"]
    assert {"person", "person=3", "person: mean", "age"} <= set(model.get_feature_names_out())
    assert "age=30" not in model.get_feature_names_out()


def test_values_not_known_and_gaps_are_predicted_as_floats_and_whole_numbers_are(tmp_path):
    frame, y, _ = panel()
    model = quick().fit(frame, y)
    new = pd.DataFrame({"person": [3.0, 3.5, 77.0, np.nan], "age": [30, 30, 30, 30]})
    said = model.predict(new)
    assert np.isfinite(said).all()
    alone = model.predict(frame[:1].assign(person=3, age=30))[0]
    assert said[0] == pytest.approx(alone, rel=1e-12)  # products of one row round differently
    model.save(tmp_path / "m.anmin")
    np.testing.assert_array_equal(load_model(tmp_path / "m.anmin").predict(new), said)


def test_the_user_has_the_last_word():
    frame, y, _ = panel()
    for options in ({"categorical_features": None}, {"monotonic_cst": [0, 1]}):
        assert quick(**options).fit(frame, y)._columns is None
    assert quick().fit(frame.to_numpy(), y)._columns is None  # an array has no columns to name
    assert quick(lam="auto").fit(frame, y, groups=frame["person"])._columns is None
    assert quick().fit(frame[["age"]], y)._columns is None


@pytest.mark.slow
def test_effects_of_persons_are_learnt():
    frame, y, effect = panel()
    new = pd.DataFrame({"person": np.arange(40), "age": 31})
    truth = effect + np.sin(3.1)
    said = ANMINRegressor(random_state=0).fit(frame, y).predict(new)
    plain = ANMINRegressor(random_state=0, categorical_features=None).fit(frame, y).predict(new)
    assert np.mean((said - truth) ** 2) < 0.3 * np.mean((plain - truth) ** 2)
    high = quick(ANMINClassifier).fit(frame, y > 0)
    assert coded(high) == ["person"]


def test_a_gap_elsewhere_makes_no_code_of_an_array():
    frame, y, _ = panel()
    X = frame.to_numpy(float, copy=True)
    assert quick().fit(X, y)._columns is None
    X[0, 1] = np.nan
    assert coded(quick().fit(X, y)) == []
    assert len(coded(quick().fit(pd.DataFrame(X), y))) == 1
