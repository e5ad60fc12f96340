"""Pages of shapes in a real browser: headless Chromium, whose software draws WebGL.

    python tests/browser.py spot.html spot.obj 256      silhouettes of 256 units from three sides

A page has the network on its left and the original on its right. Both silhouettes are compared with
a projection of the boundary that is made here.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

WIDTH, HEIGHT, PADDING = 720, 560, 16
SIDE = (WIDTH - 3 * PADDING) // 2  # of a canvas, in pixels
VIEWS = {"front": (0.0, 0.0), "right": (np.pi / 2, 0.0), "top": (0.0, 1.57)}  # yaw, pitch
PATIENCE = 6.0  # seconds until the picture is taken


def find_browser():
    """The path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def look(page, anchor, patience=PATIENCE):
    """The page as pixels (rows, columns, 3), and what it complained of in the console."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder, "shot.png")
        command = [
            find_browser(), "--headless", "--no-sandbox", "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader", "--hide-scrollbars", "--enable-logging=stderr",
            f"--window-size={WIDTH},{HEIGHT}", f"--timeout={int(1000 * patience)}",
            f"--user-data-dir={folder}/profile", f"--screenshot={shot}",
            f"{Path(page).resolve().as_uri()}#{anchor}",
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=10 * patience + 60
        )
        pixels = np.asarray(Image.open(shot).convert("RGB"))
    return pixels, re.findall(r"CONSOLE.*", done.stderr)


def silhouettes(pixels):
    """Masks of what is blue in the left half and what is orange in the right: (rows, SIDE) each."""
    red, blue = pixels[..., 0].astype(int), pixels[..., 2].astype(int)
    left, right = (slice(k, k + SIDE) for k in (PADDING, 2 * PADDING + SIDE))
    return (blue - red > 15)[:, left], (red - blue > 15)[:, right]


def projection(boundary, yaw=0.0, pitch=0.0):
    """A mask of the boundary as the page shows it: (SIDE, SIDE)."""
    from PIL import Image, ImageDraw

    from anmin.shapes.webpage import reach as reach_of

    reach = reach_of(boundary)
    if boundary.dimension == 2:
        y, x = (2 * (np.mgrid[:SIDE, :SIDE] + 0.5) / SIDE - 1) * reach * boundary.radius
        pixels = boundary.centre + np.column_stack([x.ravel(), y.ravel()])
        return boundary.inside(pixels).reshape(SIDE, SIDE)
    places = (boundary.vertices - boundary.centre) / boundary.radius
    a, b, c, d = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    right, up = np.array([a, 0, -b]), np.array([-b * d, c, -a * d])
    places = np.column_stack([places @ right, -places @ up])
    at = 4 * SIDE * (places / reach + 1) / 2
    image = Image.new("L", (4 * SIDE, 4 * SIDE))
    for corners in at[boundary.simplices]:
        ImageDraw.Draw(image).polygon([tuple(corner) for corner in corners], fill=255)
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX)) > 127


def overlap(one, other):
    return (one & other).sum() / (one | other).sum()


def compare(page, boundary, yaw, pitch, units):
    """Overlap of the silhouettes of network and original with the true one; complaints."""
    pixels, complaints = look(page, f"yaw={yaw:.6f}&pitch={pitch:.6f}&units={units}")
    ours, original = silhouettes(pixels)
    true = projection(boundary, yaw, pitch)
    top = max(  # of the canvases: where the original fits best
        range(20, HEIGHT - SIDE), key=lambda k: (original[k : k + SIDE] & true).sum()
    )
    rows = slice(top, top + SIDE)
    return overlap(ours[rows], true), overlap(original[rows], true), complaints


def main(page, given, units):
    """Print the overlaps of a page of a solid."""
    from anmin.shapes import read_shape

    boundary = read_shape(given)
    for name, (yaw, pitch) in VIEWS.items():
        ours, original, complaints = compare(page, boundary, yaw, pitch, int(units))
        line = f"{name}: network {ours:.4f}, original as drawn {original:.4f}"
        sys.stdout.write(f"{line}, {len(complaints)} complaints {complaints}\n")


if __name__ == "__main__":
    if find_browser() is None:
        sys.exit("there is no Chromium here; nothing was checked")
    main(*sys.argv[1:])
