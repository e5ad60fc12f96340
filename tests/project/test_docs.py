"""The pages say what is true: their code runs, their links lead somewhere, every name is there."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anmin
from anmin import ANMINRegressor

ROOT = Path(__file__).parents[2]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
if not DOCS.is_dir():
    pytest.skip("the docs are not here: tests outside a checkout", allow_module_level=True)

MADE = {DOCS / "gallery", DOCS / "_build"}
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if not MADE & set(p.parents)]
TEXTS = [*sorted(ROOT.glob("*.md")), *PAGES, ROOT / "benchmarks" / "README.md"]
SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
QUICK = ("plot_curve", "plot_intervals", "plot_microcontroller")  # `make docs` runs them all
NEEDED = {"anmin.plotting": "matplotlib", "anmin.shapes": "igl", "anmin.sources": "pyarrow"}
WORDS = ("anmin", "sklearn", "numpy", "scipy")

PUBLIC = {
    "anmin": [name for name in anmin.__all__ if name != "__version__"],
    "anmin.checkpoint": ["CheckpointError"],
    "anmin.datasets": None,  # all of them
    "anmin.engine": ["listening"],
    "anmin.export": ["cost"],
    "anmin.model_file": ["ModelFileError", "save_model"],
    "anmin.plotting": None,
    "anmin.shapes": [
        "Boundary",
        "FittedShape",
        "ShapeError",
        "fit_shape",
        "glsl_source",
        "mesh_of",
        "outline_of",
        "read_shape",
        "sample_mesh",
        "sample_picture",
        "shape_page",
    ],
    "anmin.inspect": ["Report"],
    "anmin.solvers": ["Algorithm1", "VarPro"],
    "anmin.losses": [
        "AbsoluteError",
        "Gamma",
        "Huber",
        "Logistic",
        "Loss",
        "Poisson",
        "Quantile",
        "Softmax",
    ],
    "anmin.sources": ["BatchSource", "CSVSource", "DaskSource", "ParquetSource"],
    "anmin.status": ["Status"],
}


def short(path):
    return str(path.relative_to(ROOT))


# ---- code ---------------------------------------------------------------------------------------


def fenced(page, kind):
    """What stands behind ```kind, and the lines below it, for every such block of a page."""
    pattern = rf"^```{kind}(.*?)\n(.*?)^```"
    text = page.read_text(encoding="utf-8")
    return re.findall(pattern, text, re.MULTILINE | re.DOTALL)


def blocks(page):
    """The code that runs: ```python. What cannot run everywhere is ```py."""
    return [body for behind, body in fenced(page, "python") if not behind]


def need(source):
    """Skip where the code imports something that is not installed."""
    tree = ast.parse(source)
    names = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    for name in sorted(names):
        if name.split(".")[0] not in WORDS:
            pytest.importorskip(name)
        if name in NEEDED:
            pytest.importorskip(NEEDED[name])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, and no window for a picture."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    yield tmp_path
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def make_files(source):
    """What the code of a page takes for granted."""
    x = np.linspace(-1, 1, 30)
    if 'open("m.anmin"' in source:
        ANMINRegressor(2, lam=1e-3, random_state=0).fit(x[:, None], np.abs(x)).save("m.anmin")
    if '"train/*.parquet"' in source:
        Path("train").mkdir()
        table = pytest.importorskip("pyarrow").table({"x": x, "y": np.abs(x)})
        pytest.importorskip("pyarrow.parquet").write_table(table, "train/part.parquet")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # open(path).read() is good enough there
@pytest.mark.parametrize("page", [p for p in [ROOT / "README.md", *PAGES] if blocks(p)], ids=short)
def test_the_code_of_a_page_runs(page, folder, capsys):
    source = "\n".join(blocks(page))
    need(source)
    make_files(source)
    exec(compile(source, page.name, "exec"), {"__name__": "page"})
    assert "False" not in capsys.readouterr().out  # what pages print is meant to be true


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_an_example_runs_as_a_script(name, folder):
    script = EXAMPLES / f"{name}.py"
    need(script.read_text(encoding="utf-8"))
    quiet = "ignore:FigureCanvasAgg is non-interactive:UserWarning"
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-W", "error", "-W", quiet, str(script)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=short)
def test_an_example_is_a_page(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    title, rule, *text = (ast.get_docstring(tree) or "").splitlines()
    assert rule == "=" * len(title)
    assert any(text), "say what the example shows"
    assert script.read_text(encoding="utf-8").rstrip().count("plt.show()") == 1


# ---- links --------------------------------------------------------------------------------------


def links(text):
    """Targets of links and images that are not elsewhere, as (path, anchor)."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text))
    return [target.partition("#")[::2] for target in found if "://" not in target]


def anchors(path):
    """What a heading is called in a link."""
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def is_made(path):
    """Pages of the gallery are made from the examples."""
    example = EXAMPLES / f"{path.stem}.py"
    return path.parent == DOCS / "gallery" and (path.stem == "index" or example.is_file())


@pytest.mark.parametrize("text", TEXTS, ids=short)
def test_links_lead_somewhere(text):
    for target, anchor in links(text.read_text(encoding="utf-8")):
        path = (text.parent / target).resolve() if target else text
        assert path.exists() or is_made(path), f"{short(text)}: nothing at {target}"
        if anchor:
            assert anchor in anchors(path), f"{short(text)}: no heading {anchor} in {target}"


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_what_a_page_includes_is_there(page):
    for name, options in fenced(page, r"\{include\} "):
        text = (page.parent / name).read_text(encoding="utf-8")
        for mark in re.findall(r':(?:start-after|end-before): "(.*)"', options):
            assert mark in text, f"{name} has no {mark!r} any more"


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_the_code_that_a_page_shows_is_there(page):
    for name, options in fenced(page, r"\{literalinclude\} "):
        text = (page.parent / name).read_text(encoding="utf-8")
        for shown in re.findall(r"^:pyobject: (.+)$", options, re.MULTILINE):
            assert f"class {shown}" in text or f"def {shown}(" in text, f"{name} has no {shown}"


FOLDERS = [ROOT / name for name in ("src/anmin", "tests", "paper", "benchmarks", "examples")]
SOURCES = [path.as_posix() for folder in FOLDERS for path in folder.rglob("*.py")]


@pytest.mark.parametrize("text", TEXTS, ids=short)
def test_files_that_a_text_names_are_there(text):
    for name in re.findall(r"`([\w./-]+\.py)`", text.read_text(encoding="utf-8")):
        assert any(path.endswith(f"/{name}") for path in SOURCES), f"there is no {name}"


def test_every_page_is_in_a_table_of_contents():
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for _, body in fenced(page, r"\{toctree\}"):
            names = [n for n in body.splitlines() if n and not n.startswith(":")]
            listed |= {path for name in names for path in page.parent.glob(f"{name}.md")}
    assert set(PAGES) == listed


# ---- names --------------------------------------------------------------------------------------

WITH_METHODS = ("anmin", "anmin.plotting", "anmin.inspect")
NAMES = [
    (module, name)
    for module, names in PUBLIC.items()
    for name in (names or importlib.import_module(module).__all__)
]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_is_documented(module, name):
    if module == "anmin.shapes":
        pytest.importorskip(NEEDED[module])
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    pattern = rf"^\.\. (auto\w+|data):: ({re.escape(module)}\.)?{name}$"
    assert re.search(pattern, pages, re.MULTILINE), f"docs/api does not list {module}.{name}"
    thing = getattr(importlib.import_module(module), name)
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return
    assert thing.__doc__, f"{module}.{name} has no docstring"
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    assert ">>> " in thing.__doc__, f"{module}.{name} has no example"
    for method, _ in inspect.getmembers(thing, inspect.isfunction):
        if not method.startswith("_") and module in WITH_METHODS:
            assert inspect.getdoc(getattr(thing, method)), f"{name}.{method} has no docstring"
