"""The demo: its numbers and its picture, at a small size."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("matplotlib", reason='the demo needs the extra "cli"')

from anmin import demo
from anmin.datasets import draw_shape, signed_distance

SMALL = demo.DemoSettings(side=24, n_hidden=8, seed=1, max_time=0.3)


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def result(told):
    return demo.run(SMALL, told.append)


def test_target_is_the_signed_distance_field(result):
    _, y = signed_distance(draw_shape(SMALL.side))
    assert_allclose(result.target.ravel(), y)


def test_every_method_is_scored(result):
    assert [fit.method for fit in result.fits] == list(demo.METHODS)
    for fit in result.fits:
        assert fit.parameters <= 8 * 3 + 9  # idle units are removed
        assert 0 < fit.train_mse < result.target.var()
        assert 0 < fit.test_mse < result.target.var()


def test_scores_are_those_of_the_picture(result):
    """Training and held-out rows together are the picture: 0.8 train + 0.2 test = its error."""
    n, n_test = SMALL.side**2, int(np.ceil(0.2 * SMALL.side**2))
    for fit in result.fits:
        total = np.mean((fit.field - result.target) ** 2)
        split = ((n - n_test) * fit.train_mse + n_test * fit.test_mse) / n
        assert split == pytest.approx(total)


def test_curves_end_at_the_network_returned(result):
    for fit in result.fits[1:]:
        assert_allclose(fit.curve[-1], [fit.seconds, fit.train_mse])
    ours = result.fits[0]
    assert np.isclose(ours.curve[:, 1], ours.train_mse, rtol=1e-6).any()
    assert ours.curve[-1, 0] <= ours.seconds


def test_each_method_is_announced(result, told):
    assert told == list(demo.METHODS)


def test_table_is_json(result):
    table = json.loads(json.dumps(result.as_dict()))
    assert table["settings"]["seed"] == 1
    assert [row["method"] for row in table["results"]] == list(demo.METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", demo.FORMATS)
def test_picture_is_written_whole(result, tmp_path, suffix):
    path = tmp_path / f"cat{suffix}"
    path.write_text("an older picture")
    demo.draw(result, path)
    assert path.stat().st_size > 10_000
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_picture_leaves_the_old_one(result, tmp_path, monkeypatch):
    def half_written(self, file, **kwargs):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(demo.Figure, "savefig", half_written)
    path = tmp_path / "cat.png"
    path.write_text("an older picture")
    with pytest.raises(OSError, match="disk full"):
        demo.draw(result, path)
    assert path.read_text() == "an older picture"
    assert list(tmp_path.iterdir()) == [path]
