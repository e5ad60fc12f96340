"""The benchmark of shapes on the shape that needs no file."""

import json

import numpy as np
import pytest

pytest.importorskip("igl", reason="needs the extra shapes")
torch = pytest.importorskip("torch")

from anmin.shapes.meshes import solid  # noqa: E402
from benchmarks.__main__ import main  # noqa: E402
from benchmarks.rivals.torch_shapes import count, deep, two_layers  # noqa: E402
from benchmarks.suites.shapes import chamfer, evaluations  # noqa: E402


@pytest.mark.slow
def test_every_method_is_judged(tmp_path, capsys):
    out = tmp_path / "out.json"
    main(["--suite", "shapes", "--quick", "--cases", "cat", "--json", str(out)])
    entries = json.loads(out.read_text())
    methods = [entry["method"] for entry in entries]
    assert methods[:2] == ["anmin", "anmin"]
    assert methods[2:] == ["adam-two-layer-10x", "adam-deep-1x", "adam-deep-10x"]
    assert entries[1]["iou"] > 0.7
    assert "Shapes as networks" in capsys.readouterr().out


def test_the_rivals_have_the_sizes_that_they_should():
    assert count(two_layers(3, 256)) == 256 * 5 + 1
    assert count(deep(3, 0)) == 7553


def ball():
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.icosphere(4)
    return solid(mesh.vertices, mesh.faces)


def test_chamfer_is_the_distance_of_two_balls():
    apart = chamfer(ball(), lambda X: np.linalg.norm(X, axis=1) - 1.1, 40)
    assert apart == pytest.approx(10, rel=0.05)


def test_a_distance_needs_few_evaluations():
    """A ray that misses takes a few steps; one that hits, nine more for its end."""
    few = evaluations(ball(), lambda X: np.linalg.norm(X, axis=1) - 1, 40)
    assert 5 < few < 30
