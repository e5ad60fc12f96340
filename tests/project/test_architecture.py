"""Imports go one way, and optional libraries stay where they belong."""

import ast
from pathlib import Path

import pytest

import anmin

ROOT = Path(anmin.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LEAVES = {"network", "checks", "probabilities", "datasets", "files"}
ALLOWED = {
    **{leaf: set() for leaf in LEAVES},
    "status": set(),
    "backends": {"network"},
    "objective": {"backends"},
    "sources": {"backends"},
    "linsolve": {"backends"},
    "history": {"network", "status"},
    "callbacks": {"history", "network"},
    "checkpoint": {"backends", "files", "history", "sources"},
    "sums": {"backends", "objective", "sources"},
    "solvers": {
        "backends", "checkpoint", "checks", "history", "linsolve", "network", "objective",
        "sources", "status", "sums",
    },
    "report": {"history", "solvers", "status"},
    "intervals": {"backends", "history", "network", "solvers", "sources", "sums"},
    "model_file": {
        "files", "history", "intervals", "network", "report", "solvers", "sources", "status",
    },
    "export": {"files", "model_file", "network"},
    "parameters": set(),
    "base": {
        "backends", "callbacks", "checkpoint", "checks", "export", "history", "intervals",
        "network", "report", "solvers", "sources", "status",
    },
    "estimators": {
        "base", "callbacks", "checks", "intervals", "model_file", "network", "parameters",
        "probabilities", "sources",
    },
    "__init__": {"estimators", "model_file"},
    "demo": {"__init__", "datasets"},
    "reproduce": {
        "__init__", "backends", "datasets", "files", "history", "html", "network", "solvers",
    },
    "plotting": set(),
    "html": {"export", "plotting", "report"},
    "cli": {
        "__init__", "datasets", "demo", "files", "history", "html", "network", "reproduce",
        "solvers",
    },
    "__main__": {"cli"},
}  # fmt: skip


def part(file):
    """The part of the library that a file belongs to: a module, or a folder."""
    return file.relative_to(ROOT).with_suffix("").parts[0]


def imports(file, everywhere=True):
    """Dotted names of what a file imports; with `everywhere` False, at its top only."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            names = [f"{node.module}.{name.name}" for name in node.names]
            yield from names if node.module == "anmin" else [node.module]


def own_part(name):
    """`anmin.sums` → "sums"; a name that is no module is a name of the package itself."""
    first = name.split(".")[1] if "." in name else "__init__"
    known = (ROOT / first).is_dir() or (ROOT / f"{first}.py").is_file()
    return first if known else "__init__"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_go_one_way(file):
    ours = {own_part(name) for name in imports(file) if name.split(".")[0] == "anmin"}
    assert part(file) in ALLOWED, "a new module: say in ALLOWED what it may import"
    assert ours - {part(file)} <= ALLOWED[part(file)]


def test_the_allowed_imports_have_no_circle():
    order = []
    while len(order) < len(ALLOWED):
        ready = [m for m in ALLOWED if m not in order and ALLOWED[m] <= {*order, "reproduce"}]
        assert ready, f"a circle among {set(ALLOWED) - set(order)}"
        order += ready


def test_torch_is_imported_at_the_top_of_two_files_that_are_read_when_it_is_needed():
    tops = [f for f in FILES if any(n.split(".")[0] == "torch" for n in imports(f, False))]
    assert tops == [ROOT / "backends" / "torch.py", ROOT / "export" / "torch.py"]


def test_the_library_does_not_know_its_benchmarks():
    for file in FILES:
        assert not {"benchmarks", "tests"} & {name.split(".")[0] for name in imports(file)}
