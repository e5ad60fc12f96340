"""Rows of the user's own to choose and to stop on, and groups that stay together."""

import numpy as np
import pandas as pd
import pytest
from conftest import make_data
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, PredefinedSplit

from anmin import ANMINClassifier, ANMINRegressor
from anmin.sources import BatchSource

N = 120
X, Y = make_data(N, 2)
TRAIN, OUT = np.arange(80), np.arange(80, N)


def model(kind=ANMINRegressor, **options):
    quick = {"n_hidden": 4, "max_iter": 40, "n_networks": 1, "encoding": None, "random_state": 0}
    return kind(**(quick | options))


def held_out(fitted, X_out, y_out):
    return np.mean((fitted.predict(X_out) - y_out) ** 2)


def test_lam_is_chosen_on_the_rows_given():
    """Where they contradict the training rows, next to nothing is learnt."""
    kind = model().fit(X[TRAIN], Y[TRAIN], X_val=X[OUT], y_val=Y[OUT])
    cruel = model().fit(X[TRAIN], Y[TRAIN], X_val=X[OUT], y_val=Y[TRAIN].mean() * np.ones(40))
    assert kind.score(X[OUT], Y[OUT]) > 0.5
    assert held_out(cruel, X[OUT], Y[TRAIN].mean()) < 0.2 * held_out(kind, X[OUT], Y[TRAIN].mean())


def test_nothing_is_trained_on_them():
    """The path's last point is judged on them, and the network is that of the other rows."""
    by_rows = model().fit(X[TRAIN], Y[TRAIN], X_val=X[OUT], y_val=Y[OUT])
    assert by_rows.path_[-1].held_out_mse > 0
    penalty = by_rows.lam_ * (np.sum(by_rows.A_**2) + np.sum(by_rows.B_**2))
    penalty += by_rows.lam_ * np.sum(by_rows.b0_**2)
    mse = np.mean((by_rows.predict(X[TRAIN]) - Y[TRAIN]) ** 2)
    assert by_rows.loss_ == pytest.approx(mse + penalty, rel=0.05)
    assert by_rows._scaling.x_mean == pytest.approx(X[TRAIN].mean(axis=0))


@pytest.mark.parametrize("options", [{}, {"lam": 1e-6, "n_hidden": 20}], ids=str)
def test_early_stopping_is_on_them_too(options):
    fitted = model(early_stopping=True, **options).fit(
        X[TRAIN], Y[TRAIN], X_val=X[OUT], y_val=Y[OUT]
    )
    errors = [step.held_out_mse for step in fitted.history_]
    assert min(errors) == pytest.approx(held_out(fitted, X[OUT], Y[OUT]), rel=1e-6)


def test_early_stopping_obeys_cv():
    """One split: its rows are held out, those and no others, to stop and to choose lam."""
    split = PredefinedSplit(np.where(np.arange(N) < 80, -1, 0))
    by_cv = model(early_stopping=True, cv=split).fit(X, Y)
    errors = [step.held_out_mse for step in by_cv.history_]
    assert min(errors) == pytest.approx(held_out(by_cv, X[OUT], Y[OUT]), rel=1e-6)


def test_averaging_is_judged_on_them():
    options = {"n_networks": 2, "encoding": "auto", "max_iter": 60}
    fitted = model(**options).fit(X[TRAIN], Y[TRAIN], X_val=X[OUT], y_val=Y[OUT])
    assert fitted.score(X[OUT], Y[OUT]) > 0.5


def test_a_classifier_and_a_table():
    frame = pd.DataFrame({"x": X[:, 0], "sign": np.where(X[:, 1] > 0, "plus", "minus")})
    frame.loc[::7, "x"] = np.nan
    label = np.where(np.median(Y) < Y, "much", "little")
    fitted = model(ANMINClassifier).fit(frame[:80], label[:80], X_val=frame[80:], y_val=label[80:])
    assert fitted.score(frame[80:], label[80:]) > 0.5
    with pytest.raises(ValueError, match="class that y does not have: 'some'"):
        model(ANMINClassifier).fit(frame[:80], label[:80], X_val=frame[80:], y_val=["some"] * 40)


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        ({}, {"X_val": X[OUT]}, "go together"),
        ({"lam": 1e-2}, {"X_val": X[OUT], "y_val": Y[OUT]}, "X_val.*early_stopping"),
        ({"cv": 3}, {"X_val": X[OUT], "y_val": Y[OUT]}, "X_val.*cv"),
        ({}, {"X_val": X[OUT], "y_val": np.zeros((40, 2))}, "2 outputs and y has 1"),
        ({}, {"X_val": X[OUT], "y_val": Y[:3]}, "inconsistent numbers of samples"),
        ({}, {"X_val": X[OUT, :1], "y_val": Y[OUT]}, "1 features"),
        ({}, {"groups": np.zeros(80)}, "two groups"),
        ({}, {"groups": np.zeros(3)}, r"groups has shape \(3,\)"),
    ],
)
def test_what_makes_no_sense(options, given, words):
    with pytest.raises(ValueError, match=words):
        model(**options).fit(X[TRAIN], Y[TRAIN], **given)


def test_sources_bring_their_own():
    with pytest.raises(ValueError, match="groups needs X in memory; got BatchSource"):
        model().fit(BatchSource([(X, Y)]), groups=np.zeros(N))


# ---- groups --------------------------------------------------------------------------------------


def persons(n=20, each=6):
    """Rows of persons: each has a level of its own, which an input gives away."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(n), each)
    x = rng.normal(size=len(person))
    level = rng.normal(size=n)[person]
    code = rng.permutation(n)[person].astype(float)
    return np.column_stack([x, code]), x + 3 * level, person


def test_groups_stay_together(monkeypatch):
    """No group is on both sides of a split, whatever holds rows out."""
    Z, y, person = persons()
    seen = []
    for options in ({}, {"cv": 2}, {"cv": 0.5}, {"cv": GroupKFold(4)}):
        fitted = model(**options)
        search = fitted._search
        monkeypatch.setattr(
            fitted, "_search", lambda *a, search=search: seen.append(search(*a)) or seen[-1]
        )
        fitted.fit(Z, y, groups=person)
    assert [len(found.splits) for found in seen] == [3, 2, 3, 4]
    for found in seen:
        for train, out in found.splits:
            assert not set(person[train]) & set(person[out])


def test_grid_search_with_groups_inside():
    Z, y, person = persons()
    with config_context(enable_metadata_routing=True):
        inner = model(max_iter=15).set_fit_request(groups=True)
        search = GridSearchCV(inner, {"n_hidden": [2, 4]}, cv=GroupKFold(3))
        search.fit(Z, y, groups=person)
    assert search.best_params_["n_hidden"] in (2, 4)
    plain = GridSearchCV(model(max_iter=15), {"n_hidden": [2]}, cv=GroupKFold(3))
    assert plain.fit(Z, y, groups=person).best_score_ < 1


def test_means_of_the_target_respect_groups():
    """A level that one group has alone tells nothing about its rows."""
    from anmin.columns import Columns, Table

    _, y, person = persons(30, 5)
    table = Table.of(pd.DataFrame({"name": [f"p{k}" for k in person], "x": y}))
    _, made = Columns.fit(table, y[:, None], None, groups=person)
    mean = made[:, -2]
    others = Columns.fit(table, y[:, None], None)[1][:, -2]
    assert abs(np.corrcoef(mean, y)[0, 1]) < 0.5 < np.corrcoef(others, y)[0, 1]


@pytest.mark.parametrize(("loss", "wrong"), [("poisson", -5.0), ("gamma", 0.0)])
def test_their_targets_must_suit_the_loss(loss, wrong):
    counts = 1 + np.round(np.exp(Y))
    with pytest.raises(ValueError, match=f'loss="{loss}" needs y'):
        model(loss=loss).fit(X, counts, X_val=X[OUT], y_val=wrong * np.ones(len(OUT)))


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_their_labels_may_be_a_column():
    label = np.where(np.median(Y) < Y, "high", "low")
    given = X[TRAIN], label[TRAIN]
    flat = model(ANMINClassifier).fit(*given, X_val=X[OUT], y_val=label[OUT])
    column = model(ANMINClassifier).fit(*given, X_val=X[OUT], y_val=label[OUT][:, None])
    np.testing.assert_array_equal(flat.A_, column.A_)
