"""anmin shape: what it writes, by the suffix of its output."""

import json
import shutil
import signal
import subprocess
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("igl", reason="needs the extra shapes")
pytest.importorskip("typer")
trimesh = pytest.importorskip("trimesh")

from typer.testing import CliRunner  # noqa: E402

import anmin  # noqa: E402
from anmin.cli import app  # noqa: E402

DISC = '<svg xmlns="http://www.w3.org/2000/svg"><circle cx="5" cy="5" r="4"/></svg>'


@pytest.fixture
def given(tmp_path, monkeypatch):
    """A ball and a disc to start from."""
    monkeypatch.setattr("anmin.shapes.fitting.SAMPLES", 4000)
    monkeypatch.setattr("anmin.shapes.fitting.JUDGED", 5000)
    trimesh.creation.icosphere(3, radius=2).export(tmp_path / "ball.stl")
    (tmp_path / "disc.svg").write_text(DISC)
    return tmp_path


def shape(*words):
    done = CliRunner().invoke(app, ["shape", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_mesh_becomes_a_page_of_several_networks(given):
    out = shape(given / "ball.stl", "-o", given / "ball.html", "-u", 16, "-u", 8)
    assert "8 units" in out
    assert "16 units" in out
    assert "<title>ball.stl</title>" in (given / "ball.html").read_text()


def test_a_picture_becomes_a_page(given, monkeypatch):
    monkeypatch.chdir(given)
    facts = json.loads(shape(given / "disc.svg", "--json", "-u", 12))
    assert facts["output"] == "disc.html"
    assert facts["bytes"] == (given / "disc.html").stat().st_size
    (row,) = facts["networks"]
    assert row["overlap"] > 0.97
    assert row["numbers"] == 4 * row["units"] + 1


@pytest.mark.slow
def test_a_mesh_becomes_a_mesh_and_a_model(given):
    shape(given / "ball.stl", "-o", given / "again.obj", "-u", 24)
    again = trimesh.load(given / "again.obj")
    assert again.is_watertight
    assert again.volume == pytest.approx(4 / 3 * np.pi * 8, rel=0.05)
    shape(given / "ball.stl", "-o", given / "ball.anmin", "-u", 24)
    model = anmin.load_model(given / "ball.anmin")
    assert model.predict([[0.0, 0, 0]])[0] < 0 < model.predict([[3.0, 0, 0]])[0]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_picture_becomes_c(given):
    shape(given / "disc.svg", "-o", given / "disc.c", "-u", 12)
    main = "void shape_predict(const float*, float*);\n#include <stdio.h>\nint main(void) { float "
    main += 'x[2] = {9, 5}, y[1]; shape_predict(x, y); printf("%f", y[0]); return 0; }'
    (given / "main.c").write_text(main)
    build = ["cc", "-o", "run", "main.c", "disc.c"]
    subprocess.run(build, cwd=given, check=True)
    out = subprocess.run([given / "run"], capture_output=True, text=True, check=True).stdout
    assert float(out) == pytest.approx(0, abs=0.2)


def test_a_picture_becomes_glsl(given):
    shape(given / "disc.svg", "-o", given / "disc.glsl", "-u", 12)
    assert "float shape(vec2 p)" in (given / "disc.glsl").read_text()


@pytest.mark.parametrize(
    ("out", "complaint"),
    [("disc.obj", "gives no .obj"), ("disc.txt", "must end in"), ("disc.svg", "must end in")],
)
def test_what_cannot_be_written_is_said(given, out, complaint):
    done = CliRunner().invoke(app, ["shape", str(given / "disc.svg"), "-o", str(given / out)])
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert sorted(path.name for path in given.iterdir()) == ["ball.stl", "disc.svg"]


@pytest.mark.parametrize("sizes", [["-u", "8"], ["-u", "8", "-u", "12"]])
def test_an_interrupt_during_a_fit_ends_the_command(given, sizes, monkeypatch):
    fit = anmin.ANMINRegressor.fit

    def interrupted(model, *args, **more):  # as the engine does: it goes on with what it has
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return fit(model, *args, **more)

    monkeypatch.setattr(anmin.ANMINRegressor, "fit", interrupted)
    words = ["shape", str(given / "disc.svg"), "-o", str(given / "disc.html"), *sizes]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 130
    assert "nothing was written" in done.stderr
    assert not (given / "disc.html").exists()


def test_the_same_seed_gives_the_same_file(given):
    for name in ("one.glsl", "two.glsl"):
        shape(given / "disc.svg", "-o", given / name, "-u", 8, "--seed", 3)
    assert (given / "one.glsl").read_text() == (given / "two.glsl").read_text()
