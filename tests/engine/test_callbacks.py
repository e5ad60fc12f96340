"""Callbacks of scikit-learn 1.9: progress bars, scores on the way, stopping. None before that."""

import pickle

import numpy as np
import pytest
import sklearn
from conftest import Recorder
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anmin import ANMINClassifier, ANMINRegressor

QUICK = {"n_hidden": 6, "solver": "anmin", "lam": 1e-2, "max_iter": 4, "random_state": 0}


def regressor(**kwargs):
    return ANMINRegressor(**(QUICK | kwargs))


def classifier(**kwargs):
    return ANMINClassifier(**(QUICK | kwargs))


needs_callbacks = pytest.mark.skipif(
    not hasattr(ANMINRegressor, "set_callbacks"),
    reason=f"scikit-learn {sklearn.__version__} has no callbacks",
)


def test_callbacks_are_there_where_scikit_learn_has_them():
    try:
        import sklearn.callback  # noqa: F401
    except ImportError:
        expected = False
    else:
        expected = True
    assert hasattr(ANMINRegressor, "set_callbacks") is expected


@needs_callbacks
@pytest.mark.parametrize("make", [regressor, classifier])
class TestCallbacks:
    def target(self, make, y):
        return y if make is regressor else np.where(y > 3, "high", "low")

    def test_one_task_an_iteration(self, make, data):
        X, y = data
        recorder = Recorder()
        model = make().set_callbacks(recorder).fit(X, self.target(make, y))
        assert recorder.life == ["setup", "teardown"]
        iterations = [task for task in recorder.ended if not task[2]]
        assert len(iterations) == model.n_iter_ == 4
        assert sorted(recorder.begun) == sorted(recorder.ended)
        assert [task[2] for task in (recorder.begun[0], recorder.ended[-1])] == [True, True]

    def test_models_on_the_way_predict(self, make, data):
        X, y = data
        recorder = Recorder()
        model = make().set_callbacks(recorder).fit(X, self.target(make, y))
        assert len(recorder.scores) >= model.n_iter_
        assert recorder.scores[-1] == pytest.approx(model.score(X, self.target(make, y)))

    def test_a_callback_may_stop_the_fit(self, make, data):
        X, y = data
        model = make().set_callbacks(Recorder(stop=1)).fit(X, self.target(make, y))
        assert model.n_iter_ == 2
        assert model.loss_ == min(model.loss_curve_)

    def test_result_and_pickle_are_the_same(self, make, data):
        X, y = data
        watched = make().set_callbacks(Recorder()).fit(X, self.target(make, y))
        alone = make().fit(X, self.target(make, y))
        assert watched.loss_curve_ == alone.loss_curve_
        again = pickle.loads(pickle.dumps(watched))
        np.testing.assert_array_equal(again.predict(X), alone.predict(X))

    def test_progress_bar(self, make, data, capsys):
        pytest.importorskip("rich")
        from sklearn.callback import ProgressBar

        X, y = data
        make().set_callbacks(ProgressBar()).fit(X, self.target(make, y))
        assert "100%" in capsys.readouterr().out

    def test_nested(self, make, data):
        X, y = data
        recorder = Recorder()
        recorder.max_propagation_depth = None
        make_pipeline(StandardScaler(), make()).set_callbacks(recorder).fit(X, self.target(make, y))
        GridSearchCV(make(), {"lam": [1e-2]}, cv=2).set_callbacks(recorder).fit(
            X, self.target(make, y)
        )
        assert recorder.life == ["setup", "teardown"] * 2

    def test_score_monitor(self, make, data):
        from sklearn.callback import ScoringMonitor

        X, y = data
        monitor = ScoringMonitor(scoring="r2" if make is regressor else "accuracy")
        make().set_callbacks(monitor).fit(X, self.target(make, y))
        assert monitor.get_logs() is not None

    def test_torn_down_after_an_error(self, make, data):
        X, y = data
        recorder = Recorder()
        with pytest.raises(ValueError, match="lam"):
            make(lam=-1.0).set_callbacks(recorder).fit(X, self.target(make, y))
        assert recorder.life.count("setup") == recorder.life.count("teardown")
