"""Meshes that are none: a sentence each, and nothing is written."""

import struct

import numpy as np
import pytest

pytest.importorskip("igl", reason="needs the extra shapes")
pytest.importorskip("typer")
trimesh = pytest.importorskip("trimesh")

from typer.testing import CliRunner  # noqa: E402

from anmin.cli import app  # noqa: E402
from anmin.shapes import ShapeError, read_shape, sample_mesh  # noqa: E402
from anmin.shapes.crossings import crossing_faces  # noqa: E402
from anmin.shapes.meshes import MESHES, solid  # noqa: E402

BOX = trimesh.creation.box()
OFF = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 2 0 3\n"


def joined(*meshes):
    return trimesh.util.concatenate(meshes)


def moved(mesh, *by):
    return mesh.copy().apply_translation(by)


def spiked():
    """A ball with one vertex pulled through to the other side."""
    ball = trimesh.creation.icosphere(2)
    ball.vertices[0] *= -2
    return ball


def obj(mesh):
    return trimesh.exchange.obj.export_obj(mesh).encode()


def stl(faces):
    """A binary STL that claims so many faces and has none."""
    return b"\0" * 80 + struct.pack("<I", faces)


def ply(vertices, faces=1):
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {vertices}\n"
    head += "property float x\nproperty float y\nproperty float z\n"
    head += f"element face {faces}\nproperty list uchar int vertex_indices\nend_header\n"
    return head.encode() + b"\0" * 40


def with_faces(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith("f ")).encode()


HOSTILE = {
    "open.obj": (obj(trimesh.Trimesh(BOX.vertices, BOX.faces[1:])), "open: 3 edges"),
    "crossing.obj": (obj(joined(BOX, moved(BOX, 0.5, 0.5, 0.5))), "goes through itself"),
    "pulled.obj": (obj(spiked()), "goes through itself"),
    "empty.obj": (b"", "the file is empty"),
    "no-faces.obj": (with_faces(obj(BOX).decode()), "no faces"),
    "nan.off": (OFF.replace("1 0 0", "nan 0 0", 1).encode(), "1 of its 4 vertices are not finite"),
    "infinite.off": (OFF.replace("1 0 0", "inf 0 0", 1).encode(), "not finite"),
    "flat.off": (OFF.replace("0 0 1\n", "1 1 0\n", 1).encode(), "encloses no volume"),
    "far.off": (OFF.replace("3 0 2 1", "3 0 2 9").encode(), "not there|cannot be read"),
    "counts.off": (OFF.replace("4 4 0", "99999999 4 0").encode(), "header claims 99,999,999"),
    "words.off": (b"hello world, this is no mesh", "no header"),
    "two-gigabytes.stl": (stl(42_949_672), "header claims 42,949,672 faces, 2,147,483,684 bytes"),
    "two-gigabytes.ply": (ply(178_956_970), "header claims at least 2,147,4"),
    "many-faces.ply": (ply(1, 2**40), "header claims at least"),
    "no-header.ply": (b"ply\n", "no header"),
    "cut.ply": (BOX.export(file_type="ply")[:-30], "header claims|cannot be read"),
    "cut.stl": (BOX.export(file_type="stl")[:-30], "header claims"),
    "noise.stl": (np.random.default_rng(0).bytes(5000), "header claims"),
    "noise.obj": (np.random.default_rng(0).bytes(5000), "no faces|cannot be read"),
    "picture.gif": (b"GIF89a", "it ends in .gif; known are"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_mesh_gets_a_sentence_and_nothing_is_written(name, tmp_path):
    data, complaint = HOSTILE[name]
    given = tmp_path / name
    given.write_bytes(data)
    with pytest.raises(ShapeError, match=complaint):
        read_shape(given)
    done = CliRunner().invoke(app, ["shape", str(given), "-o", str(tmp_path / "out.html")])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_missing_file_is_named(tmp_path):
    done = CliRunner().invoke(app, ["shape", str(tmp_path / "x.obj"), "-o", str(tmp_path / "o.c")])
    assert done.exit_code == 2
    assert "No such file" in done.stderr


def test_a_file_can_be_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr("anmin.shapes.meshes.MOST_BYTES", 100)
    (tmp_path / "m.obj").write_bytes(obj(BOX))
    with pytest.raises(ShapeError, match=r"bytes; at most 100 are read"):
        read_shape(tmp_path / "m.obj")
    monkeypatch.setattr("anmin.shapes.meshes.MOST_FACES", 11)
    with pytest.raises(ShapeError, match=r"12 faces; simplify it to 11"):
        sample_mesh((BOX.vertices, BOX.faces), 100)


@pytest.mark.parametrize("suffix", MESHES)
def test_every_format_gives_the_same_solid(suffix, tmp_path):
    ball = trimesh.creation.icosphere(2)
    path = tmp_path / f"ball{suffix}"
    ball.export(path)
    found = read_shape(path)
    assert len(found.vertices) == len(ball.vertices)  # an STL repeats them
    assert found.content == pytest.approx(ball.volume, rel=1e-5)


def test_faces_that_point_inwards_are_turned():
    faces = BOX.faces.copy()
    faces[::2] = faces[::2, ::-1]
    assert solid(BOX.vertices, faces).content == pytest.approx(1)
    assert solid(BOX.vertices, BOX.faces[:, ::-1]).content == pytest.approx(1)


def test_a_surface_with_one_side_is_refused():
    """A Klein bottle: a grid whose columns close, and whose rows close mirrored."""
    n = 8
    at = np.arange(n * n).reshape(n, n)
    right = np.roll(at, -1, axis=1)
    down = np.vstack([at[1:], at[:1, ::-1]])
    corner = np.roll(down, -1, axis=1)
    corner[-1] = np.roll(at[0, ::-1], -1)
    faces = [np.stack([at, right, corner], -1), np.stack([at, corner, down], -1)]
    places = np.random.default_rng(0).normal(size=(n * n, 3))
    with pytest.raises(ShapeError, match="one side only"):
        solid(places, np.concatenate(faces).reshape(-1, 3))


def test_crossings_agree_with_trying_all_pairs(monkeypatch):
    """Balls at random places cross where their centres are near, and not where they are nested."""
    monkeypatch.setattr("anmin.shapes.crossings.AT_ONCE", 1000)
    ball, rng = trimesh.creation.icosphere(1), np.random.default_rng(0)
    for _ in range(20):
        other = moved(ball, *rng.uniform(-2, 2, 3))
        both = joined(ball, other)
        found = crossing_faces(both.vertices, both.faces)
        ours = np.linalg.norm(other.vertices.mean(0) - ball.vertices.mean(0))
        if abs(ours - 1.9) > 0.15 and ours > 0.2:
            assert (found is not None) == (ours < 1.9)
    inner = trimesh.creation.icosphere(1, radius=0.5)
    both = joined(ball, inner)
    assert crossing_faces(both.vertices, both.faces) is None


def test_a_material_that_a_mesh_names_is_not_opened(tmp_path):
    (tmp_path / "m.obj").write_bytes(b"mtllib secret.mtl\n" + obj(BOX))
    (tmp_path / "secret.mtl").write_text("newmtl a\nmap_Kd nowhere.png\n")
    assert read_shape(tmp_path / "m.obj").content == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("box.obj", b"# caf\xe9\no W\xfcrfel\n" + obj(BOX)),
        ("pyramid.off", OFF.replace("OFF\n", "OFF\n# caf\xe9\n").encode("latin-1")),
    ],
)
def test_a_name_in_another_encoding_does_no_harm(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    assert read_shape(tmp_path / name).content > 0
