"""Means of the target by level: laws."""

import numpy as np
import pytest

from anmin.columns.target_means import FOLDS, Targets, folds, level_means


def rows(n=200, levels=20):
    rng = np.random.default_rng(0)
    place = rng.integers(0, levels, n)
    Y = rng.normal(size=(levels, 2))[place] + 0.5 * rng.normal(size=(n, 2))
    return place, Y


def test_a_row_twice_is_a_row_of_weight_two_nearly():
    """But for the count of rows in the variances."""
    place, Y = rows()
    twice = np.concatenate([place, place]), np.vstack([Y, Y])
    one = level_means(place, 20, Y, 2 * np.ones(200))
    other = level_means(twice[0], 20, twice[1], np.ones(400))
    np.testing.assert_allclose(one, other, atol=0.1)
    np.testing.assert_allclose(one, level_means(place, 20, Y, np.ones(200)), rtol=1e-12)


def test_means_are_between_the_level_and_all():
    place, Y = rows()
    found, w = level_means(place, 21, Y, np.ones(200)), np.ones(200)
    np.testing.assert_allclose(found[20], Y.mean(axis=0))  # no row
    for k in range(20):
        own, grand = Y[place == k].mean(axis=0), w @ Y / 200
        assert (np.sign(found[k] - grand) == np.sign(own - grand)).all()
        assert (np.abs(found[k] - grand) <= np.abs(own - grand)).all()


def test_levels_without_meaning_are_all_alike():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(400, 1))
    assert level_means(rng.integers(0, 100, 400), 100, Y, np.ones(400)).std() < 0.1


def test_the_own_y_has_no_part():
    place, Y = rows()
    targets = Targets(Y, np.ones(200), folds(200, None), False)
    before = targets.cross_fitted(place, 20)
    Y[7] += 100
    np.testing.assert_allclose(targets.cross_fitted(place, 20)[7], before[7], rtol=1e-12)


def test_rows_of_weight_zero_do_not_count():
    place, Y = rows()
    w = np.where(np.arange(200) % 3 == 0, 0.0, 1.0)
    changed = np.where(w[:, None] == 0, 1e6, Y)
    for values in (Y, changed):
        found = Targets(values, w, folds(200, None), False)
        np.testing.assert_allclose(found.means(place, 20), level_means(place, 20, Y, w))


@pytest.mark.parametrize("groups", [None, np.arange(60) // 4])
def test_folds(groups):
    found = folds(60, groups)
    assert set(found) == set(range(FOLDS))
    if groups is not None:
        assert all(len(set(found[groups == k])) == 1 for k in set(groups))
