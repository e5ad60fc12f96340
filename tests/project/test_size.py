"""The house stays small: files, lines and functions of the package, and no name for two things."""

import ast
from collections import Counter
from pathlib import Path

import anmin

ROOT = Path(anmin.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MOST_FILES, MOST_LINES = 149, 23_980
LONGEST_FILE, LONGEST_FUNCTION = 370, 40


def lines(file):
    return len(file.read_text(encoding="utf-8").splitlines())


def definitions(*kinds):
    """Every definition of these kinds, as (place, node)."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, kinds):
                yield f"{file.relative_to(ROOT)}:{node.lineno} {node.name}", node


def length(node):
    """Lines of a function, its decorators and its docstring included."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return node.end_lineno - first + 1


def used_twice(places):
    """Names that stand for several things, with the places of each."""
    count = Counter(name for name, _ in places)
    return {name: [at for n, at in places if n == name] for name in count if count[name] > 1}


def test_the_package_has_few_files_and_lines():
    assert len(FILES) <= MOST_FILES
    assert sum(map(lines, FILES)) <= MOST_LINES


def test_a_file_is_short():
    assert {str(f.relative_to(ROOT)): lines(f) for f in FILES if lines(f) > LONGEST_FILE} == {}


def test_a_function_is_short():
    functions = definitions(ast.FunctionDef, ast.AsyncFunctionDef)
    long = {place: length(node) for place, node in functions if length(node) > LONGEST_FUNCTION}
    assert long == {}


def test_a_module_name_stands_for_one_thing():
    modules = [(f.stem, str(f.relative_to(ROOT))) for f in FILES if not f.stem.startswith("__")]
    assert used_twice(modules) == {}


def test_a_class_name_stands_for_one_thing():
    classes = [(node.name, place) for place, node in definitions(ast.ClassDef)]
    assert used_twice(classes) == {}
