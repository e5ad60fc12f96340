"""The columns of a table in ONNX: an input a column, and the nodes that make them numbers.

    text    ─ LabelEncoder ─ Gather(rows of a table)                     "" is a gap
    number  ─ Where(IsNaN, neutral) , IsNaN
    code    ─ as a number, and through a LabelEncoder of numbers
    date    ─ seconds since 1970: floors and products (`columns/kinds.py`)

Each input has the name of its column, and shape (rows, 1). Dates are double in any precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anmin.columns import CategoryColumn, CodeColumn, Column, Columns, DateColumn

ML_OPSET = 2
CALENDAR = (  # name = operation of two names; a number stands for itself
    ("d", "Div", "t 86400"), ("days", "Floor", "d"), ("z", "Add", "days 719468"),
    ("e", "Div", "z 146097"), ("era", "Floor", "e"), ("eras", "Mul", "era 146097"),
    ("within", "Sub", "z eras"), ("a", "Div", "within 1460"), ("b", "Div", "within 36524"),
    ("c", "Div", "within 146096"), ("fa", "Floor", "a"), ("fb", "Floor", "b"),
    ("fc", "Floor", "c"), ("ab", "Sub", "fa fb"), ("leaps", "Add", "ab fc"),
    ("plain", "Sub", "within leaps"), ("y", "Div", "plain 365"), ("year", "Floor", "y"),
    ("y4", "Div", "year 4"), ("f4", "Floor", "y4"), ("y100", "Div", "year 100"),
    ("f100", "Floor", "y100"), ("y365", "Mul", "year 365"), ("to4", "Add", "y365 f4"),
    ("to_year", "Sub", "to4 f100"), ("dayno", "Sub", "within to_year"),
    ("m5", "Mul", "dayno 5"), ("m2", "Add", "m5 2"), ("m153", "Div", "m2 153"),
    ("m", "Floor", "m153"), ("n153", "Mul", "m 153"), ("n2", "Add", "n153 2"),
    ("n5", "Div", "n2 5"), ("before", "Floor", "n5"), ("since", "Sub", "dayno before"),
    ("day", "Add", "since 1"), ("m12", "Add", "m 2"), ("k12", "Div", "m12 12"),
    ("f12", "Floor", "k12"), ("w12", "Mul", "f12 12"), ("r12", "Sub", "m12 w12"),
    ("month", "Add", "r12 1"), ("s60", "Add", "dayno 60"), ("s366", "Div", "s60 366"),
    ("fs", "Floor", "s366"), ("ws", "Mul", "fs 366"), ("season", "Sub", "s60 ws"),
    ("d3", "Add", "days 3"), ("d7", "Div", "d3 7"), ("f7", "Floor", "d7"),
    ("w7", "Mul", "f7 7"), ("r7", "Sub", "d3 w7"), ("weekday", "Add", "r7 1"),
    ("ds", "Mul", "days 86400"), ("rest", "Sub", "t ds"), ("hour", "Div", "rest 3600"),
    ("years", "Div", "t 31556952"),
)  # fmt: skip


class ColumnNodes:
    """Inputs, nodes and constants from the columns of a table to the numbers "X"."""

    def __init__(self, columns: Columns, dtype: str, taken: set[str]) -> None:
        from onnx import TensorProto

        self.dtype = dtype
        self.real = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.names = input_names(columns, taken)
        blocks = [
            self.column(column, name, f"column{j}/")
            for j, (column, name) in enumerate(zip(columns.columns, self.names, strict=True))
        ]
        self.node("Concat", [each for block in blocks for each in block], "X", axis=1)

    def node(self, kind: str, given: list[str], made: str, **options: Any) -> str:
        from onnx.helper import make_node

        self.nodes.append(make_node(kind, given, [made], **options))
        return made

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = value
        return name

    def column(self, column: Column, name: str, at: str) -> list[str]:
        """Names of the blocks (rows, k) that a column gives."""
        from onnx import TensorProto
        from onnx.helper import make_tensor_value_info

        kind, make = self.real, self.number
        if isinstance(column, CategoryColumn):
            kind, make = TensorProto.STRING, self.category
        elif isinstance(column, CodeColumn):
            make = self.code
        elif isinstance(column, DateColumn):
            kind, make = TensorProto.DOUBLE, self.date
        self.inputs.append(make_tensor_value_info(name, kind, ["rows", 1]))
        return make(column, name, at)

    def filled(self, column: Any, name: str, at: str, dtype: str) -> tuple[str, list[str]]:
        """The column with its neutral value in gaps, and where these are."""
        neutral = self.constant(f"{at}neutral", np.array(column.neutral, dtype=dtype))
        gap = self.node("IsNaN", [name], f"{at}gap")
        x = self.node("Where", [gap, neutral, name], f"{at}x")
        if not column.gaps:
            return x, []
        return x, [self.node("Cast", [gap], f"{at}missing", to=self.real)]

    def number(self, column: Any, name: str, at: str) -> list[str]:
        x, missing = self.filled(column, name, at, self.dtype)
        return [x, *missing]

    def category(self, column: Any, name: str, at: str) -> list[str]:
        m = len(column.levels)
        keys = {"keys_strings": [*column.levels, ""], "values_int64s": [*range(m), m + 1]}
        return self.levels(column, name, at, keys) if column.made else []

    def code(self, column: Any, name: str, at: str) -> list[str]:
        from onnx import TensorProto

        levels = column.category.levels
        keys = {"keys_floats": [*map(float, levels)], "values_int64s": [*range(len(levels))]}
        single = self.node("Cast", [name], f"{at}single", to=TensorProto.FLOAT)
        rows = self.levels(column.category, single, at, keys)
        return [self.filled(column.number, name, at, self.dtype)[0], *rows]

    def levels(self, column: Any, name: str, at: str, keys: dict[str, Any]) -> list[str]:
        m = len(column.levels)
        table = self.constant(f"{at}table", column.rows(np.arange(m + 2)).astype(self.dtype))
        place = self.node(
            "LabelEncoder", [name], f"{at}place", domain="ai.onnx.ml", default_int64=m, **keys
        )
        rows = self.node("Gather", [table, place], f"{at}rows", axis=0)  # (rows, 1, k)
        return [self.node("Flatten", [rows], f"{at}block", axis=1)]

    def date(self, column: Any, name: str, at: str) -> list[str]:
        t, missing = self.filled(column, name, at, "float64")
        made = {"t": t}
        for result, kind, given in CALENDAR:
            parts = [made.get(word) or self.whole(word) for word in given.split()]
            made[result] = self.node(kind, parts, f"{at}{result}")
        cast = [
            self.node("Cast", [made[part]], f"{at}part_{part}", to=self.real)
            for part in column.parts
        ]
        return [*cast, *missing]

    def whole(self, word: str) -> str:
        return self.constant(f"whole/{word}", np.array(float(word)))


def behind_columns(graph: Any, columns: Columns, dtype: str) -> None:
    """Put the nodes of the columns before a graph that takes "X"."""
    from onnx import numpy_helper

    names = [name for node in graph.node for name in (*node.input, *node.output)]
    made = ColumnNodes(columns, dtype, set(names))
    del graph.input[:]
    graph.input.extend(made.inputs)
    graph.initializer.extend(numpy_helper.from_array(W, k) for k, W in made.constants.items())
    nodes = [*made.nodes, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def input_names(columns: Columns, taken: set[str]) -> list[str]:
    """The names of the columns; one that the graph uses for something else gets a mark."""
    found: list[str] = []
    for column in columns.columns:
        name = column.name
        while name in taken or name in found or name.startswith(("column", "whole/")):
            name = f"_{name}"
        found.append(name)
    return found
