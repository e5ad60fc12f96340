"""Imports go one way, and optional libraries stay where they belong."""

import ast
from pathlib import Path

import pytest

import anmin

ROOT = Path(anmin.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ALLOWED = {
    # the network, the arithmetic, the rows
    "network": set(),
    "status": set(),
    "checks": set(),
    "files": set(),
    "columns": set(),
    "history": {"network", "status"},
    "backends": {"network"},
    "encoding": {"backends"},
    "objective": {"backends"},
    "linsolve": {"backends"},
    "sources": {"backends", "columns", "encoding", "network"},
    "sums": {"backends", "objective", "sources"},
    "tree_models": set(),
    "starts": {"encoding", "sources", "tree_models"},
    "conformal": {"sources"},
    "losses": {"backends", "checks", "objective", "sources"},
    # the loop and the solvers
    "moves": {"history", "status"},
    "engine": {"history", "moves", "status"},
    "solvers": {
        "backends", "checks", "encoding", "engine", "history", "linsolve", "moves", "network",
        "objective", "sources", "starts", "status", "sums",
    },
    "logfile": {"files"},
    "checkpoint": {
        "backends", "encoding", "logfile", "moves", "solvers", "sources", "status", "sums",
    },
    # what is made of a fit
    "inspect": {
        "backends", "history", "linsolve", "network", "objective", "solvers", "sources",
        "status", "sums",
    },
    "model_file": {
        "columns", "conformal", "encoding", "files", "history", "inspect", "losses", "network",
        "solvers", "sources", "status",
    },
    "export": {"columns", "encoding", "files", "model_file", "network"},
    # the scikit-learn surface
    "parameters": set(),
    "rows": {"columns", "sources"},
    "callbacks": {"history", "network", "sources"},
    "compact": {"checks", "encoding", "rows", "solvers", "sources"},
    "short_time": {"checks", "sources"},
    "monotone": {"columns", "solvers"},
    "base": {
        "backends", "callbacks", "checkpoint", "checks", "compact", "encoding", "engine", "export",
        "history", "inspect", "losses", "monotone", "network", "objective", "rows", "short_time",
        "solvers", "sources", "starts", "status",
    },
    "probabilities": set(),
    "interval_methods": {"checks", "conformal", "sources"},
    "calibration": {"conformal", "history", "losses", "solvers", "sources"},
    "first_look": {"checks", "engine", "losses", "sources"},
    "estimators": {
        "base", "calibration", "callbacks", "checks", "conformal", "first_look",
        "interval_methods", "losses", "model_file", "parameters", "probabilities", "rows",
        "solvers", "sources",
    },
    "__init__": {"estimators", "model_file"},
    # the command line and what it shows
    "datasets": set(),
    "plotting": set(),
    "demo": {"__init__", "datasets", "engine", "files"},
    "shapes": {"__init__", "export", "network"},
    "cli": {
        "__init__", "base", "demo", "engine", "export", "files", "history", "inspect",
        "model_file", "network", "plotting", "shapes", "sources",
    },
    "__main__": {"cli"},
}  # fmt: skip
NAMED = {  # in annotations alone: below `if TYPE_CHECKING`
    "engine": {"checkpoint", "solvers"},
    "moves": {"backends", "solvers", "sums"},
}


def part(file):
    """The part of the library that a file belongs to: a module, or a folder."""
    return file.relative_to(ROOT).with_suffix("").parts[0]


def for_types(tree):
    """The nodes below `if TYPE_CHECKING`, which never run."""
    blocks = (n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CH" in ast.dump(n.test))
    return {node for block in blocks for node in ast.walk(block)}


def imports(file, everywhere=True, types=True):
    """Dotted names of what a file imports: at its top only, or not for types, where so asked."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    unused = set() if types else for_types(tree)
    for node in ast.walk(tree) if everywhere else tree.body:
        if node in unused:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            names = [f"{node.module}.{name.name}" for name in node.names]
            yield from names if node.module == "anmin" else [node.module]


def parts_imported(file, types=True):
    """The parts of the library, but its own, that a file imports from."""
    names = [name for name in imports(file, types=types) if name.split(".")[0] == "anmin"]
    return {own_part(name) for name in names} - {part(file)}


def own_part(name):
    """`anmin.sums` → "sums"; a name that is no module is a name of the package itself."""
    first = name.split(".")[1] if "." in name else "__init__"
    known = (ROOT / first).is_dir() or (ROOT / f"{first}.py").is_file()
    return first if known else "__init__"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_go_one_way(file):
    here = part(file)
    assert here in ALLOWED, "a new module: say in ALLOWED what it may import"
    assert parts_imported(file, types=False) <= ALLOWED[here]
    assert parts_imported(file) <= ALLOWED[here] | NAMED.get(here, set())


def test_the_table_lists_the_parts_that_there_are():
    assert set(ALLOWED) == {part(file) for file in FILES}


def test_the_allowed_imports_have_no_circle():
    order = []
    while len(order) < len(ALLOWED):
        ready = [m for m in ALLOWED if m not in order and ALLOWED[m] <= set(order)]
        assert ready, f"a circle among {set(ALLOWED) - set(order)}"
        order += ready


def test_torch_is_imported_at_the_top_of_files_that_are_read_when_they_are_needed():
    tops = [f for f in FILES if any(n.split(".")[0] == "torch" for n in imports(f, False))]
    stacks = ["solvers/curvatures.py", "solvers/stacked.py", "sums/slabs.py"]
    known = ["backends/card.py", "backends/torch.py", "export/torch_encoding.py", *stacks]
    assert tops == [ROOT / name for name in known]


def test_the_library_does_not_know_its_benchmarks_or_the_paper():
    for file in FILES:
        assert not {"benchmarks", "paper", "tests"} & {name.split(".")[0] for name in imports(file)}
