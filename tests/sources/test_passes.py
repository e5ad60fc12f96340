"""How often rows are read, where there is no room to keep them."""

import numpy as np
import pytest

from anmin import ANMINRegressor
from anmin.backends import numpy as cpu
from anmin.sources import BatchSource


def made(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [{}, {"n_networks": 1, "encoding": None}])
def test_a_stream_without_room_is_read_few_times_and_fitted_as_well(monkeypatch, arguments):
    X, y = made(3000)
    read = [0]

    def batches():
        read[0] += 1
        yield X[:1500], y[:1500]
        yield X[1500:], y[1500:]

    inside = ANMINRegressor(16, random_state=0, **arguments).fit(X, y)
    monkeypatch.setattr(cpu, "KEEP", 2**14)
    model = ANMINRegressor(16, random_state=0, **arguments).fit(BatchSource(batches))
    assert read[0] <= 40
    assert model.report().passes == read[0] - 1  # the first look at the columns is no pass
    X_new, y_new = made(6000)
    assert model.score(X_new[3000:], y_new[3000:]) > inside.score(X_new[3000:], y_new[3000:]) - 0.02


def test_rows_in_memory_are_not_counted_as_read():
    X, y = made(300)
    report = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, y).report()
    assert report.passes == 0
    assert "read" not in str(report).splitlines()[1]
