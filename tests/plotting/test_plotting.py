"""Displays: what they draw, where, and what they refuse."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay

pytest.importorskip("matplotlib", reason='pictures need the extra "cli"')

import matplotlib.pyplot as plt

from anmin import ANMINClassifier, ANMINRegressor
from anmin.engine import listening
from anmin.plotting import PathDisplay, TrainingDisplay, plain


@pytest.fixture(autouse=True)
def _no_windows():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def rows(d, n=120):
    X = np.random.default_rng(0).uniform(-2, 2, (n, d))
    return X, np.abs(X).sum(axis=1)


@pytest.fixture(scope="module")
def auto():
    """A model of one input whose penalty was chosen."""
    return ANMINRegressor(8, random_state=0).fit(*rows(1))


@pytest.fixture(scope="module")
def paper():
    """A model of two inputs by the paper's algorithm."""
    return ANMINRegressor(8, solver="anmin", max_iter=6, random_state=0).fit(*rows(2))


def test_training_shows_the_history(paper):
    display = TrainingDisplay.from_estimator(paper)
    (line,) = display.ax_.lines
    np.testing.assert_array_equal(line.get_xdata(), [step.seconds for step in paper.history_])
    np.testing.assert_array_equal(line.get_ydata(), paper.loss_curve_)
    assert display.ax_.get_xlabel() == "seconds"
    assert display.figure_ is display.ax_.figure


def test_training_shows_the_choice_of_the_penalty_too(auto):
    display = TrainingDisplay.from_estimator(auto)
    loss, held_out = display.ax_.lines
    np.testing.assert_array_equal(loss.get_ydata(), auto.loss_curve_)
    np.testing.assert_array_equal(held_out.get_ydata(), [s.held_out_mse for s in auto.path_])
    seconds = held_out.get_xdata()
    assert (np.diff(seconds) >= 0).all()
    assert 0 < seconds[0] <= seconds[-1] <= auto.history_[-1].seconds
    assert display.ax_.get_legend() is not None


def test_the_path_is_timed_by_what_listeners_hear():
    told = []
    with listening(lambda step, _: told.append(step) and None):
        model = ANMINRegressor(8, random_state=0).fit(*rows(2))
    looks = {step.seconds for step in told if np.isfinite(step.held_out_mse)}
    assert {step.seconds for step in model.path_} <= looks


def test_a_loss_that_hardly_falls_is_written_in_full():
    loss = [0.4319657, 0.4319653, 0.4319651]
    display = TrainingDisplay(seconds=[0, 1, 2], loss=loss).plot()
    display.figure_.canvas.draw()
    assert display.ax_.yaxis.get_offset_text().get_text() == ""
    assert any(label.get_text().startswith("0.43196") for label in display.ax_.get_yticklabels())


def test_displays_draw_where_they_are_told_and_keep_the_style(auto, paper):
    figure, (left, right) = plt.subplots(1, 2)
    display = TrainingDisplay.from_estimator(paper, ax=left, color="red")
    assert display.figure_ is figure
    assert display.ax_.lines[0].get_color() == "red"
    path = PathDisplay.from_estimator(auto, ax=right, linewidth=3)
    assert path.ax_ is right
    assert path.ax_.lines[0].get_linewidth() == 3
    assert len(plt.get_fignums()) == 1


def test_the_path_shows_both_errors_the_units_and_the_choice(auto):
    display = PathDisplay.from_estimator(auto)
    held_out, train, chosen = display.ax_.lines
    np.testing.assert_array_equal(held_out.get_ydata(), [s.held_out_mse for s in auto.path_])
    np.testing.assert_array_equal(train.get_ydata(), [s.train_mse for s in auto.path_])
    assert chosen.get_xdata()[0] == auto.lam_
    (units,) = display.units_ax_.lines
    np.testing.assert_array_equal(units.get_ydata(), [s.active for s in auto.path_])
    assert display.ax_.xaxis_inverted()
    assert display.ax_.get_xscale() == "log"


def test_a_fit_without_a_path_says_how_to_have_one(paper):
    with pytest.raises(ValueError, match='lam="auto"'):
        PathDisplay.from_estimator(paper)


@pytest.mark.parametrize("display", [TrainingDisplay, PathDisplay])
def test_a_model_that_is_not_fitted_is_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(ANMINRegressor())


@pytest.mark.parametrize("target", [0, 1])
def test_partial_dependence_is_scikit_learns_own(target):
    X, y = rows(3)
    model = ANMINRegressor(8, lam=1e-3, random_state=0).fit(X, np.column_stack([y, -y]))
    shown = PartialDependenceDisplay.from_estimator(
        model, X, [0, (1, 2)], target=target, grid_resolution=9
    )
    (line,) = shown.axes_[0, 0].lines
    sign = 1 - 2 * target
    assert sign * line.get_ydata()[0] > sign * line.get_ydata()[len(line.get_ydata()) // 2]


def test_long_names_are_cut():
    assert plain("x" * 100, 10) == "x" * 9 + "…"


def test_the_path_says_what_its_error_is():
    X = rows(2)[0]
    model = ANMINClassifier(4, random_state=0).fit(X, X[:, 0] > 0)
    assert PathDisplay.from_estimator(model).ax_.get_ylabel() == "mean log-loss"
