"""A fitted network for other frameworks: as a PyTorch module or program, and as an ONNX file.

    X (rows, d) ─ (encoding) ─ Gemm ─ Relu ─ Gemm ─ (Exp or TopK) ─▶ y    regressor
                                             └─ Softmax ─▶ probabilities  classifier
                                             └─ ArgMax  ─▶ index

A leaky ReLU is Max(P, slope P) in ONNX: LeakyRelu has no double precision in common runtimes. A
classifier's temperature, and the second column that two classes need, are in the last Gemm.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anmin.encoding import CLIP, FAR
from anmin.export import (
    EncodingArrays,
    Export,
    in_dtype,
    link_of,
    raw_columns,
    raw_network,
    register,
)
from anmin.export.onnx_columns import ML_OPSET, behind_columns
from anmin.files import PathLike, open_atomically, write_atomically
from anmin.network import Network

if TYPE_CHECKING:
    import torch

OPSET, IR_VERSION = 13, 8  # read by every runtime since 2021


def to_onnx(model: Any, path: PathLike, dtype: str = "float32") -> None:
    """Write the network as an ONNX file (opset 13) that takes raw inputs "X", (rows, d).

    For a table with text, gaps or dates there is an input for each column, (rows, 1), of its name:
    texts, "" for a gap; numbers, NaN for a gap; dates as seconds since 1970, in double precision.
    A regressor gives "y", (rows, n_outputs_). A classifier gives "probabilities", (rows,
    n_classes), and "index", the place in `classes_` of the most likely one.

    >>> from anmin import ANMINRegressor
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit([[-1], [0], [1]], [1, 0, 1])
    >>> model.to_onnx("m.onnx")  # doctest: +SKIP
    """
    import onnx
    from onnx import helper

    graph = onnx_graph(model, dtype)
    opsets = [helper.make_opsetid("", OPSET)]
    if model._columns is not None:
        opsets.append(helper.make_opsetid("ai.onnx.ml", ML_OPSET))
    proto = helper.make_model(graph, producer_name="anmin", opset_imports=opsets)
    proto.ir_version = IR_VERSION
    names = ("feature_names", "feature_names_in_"), ("classes", "classes_")
    facts = {name: getattr(model, attribute, None) for name, attribute in names}
    known = {name: json.dumps(v.tolist()) for name, v in facts.items() if v is not None}
    helper.set_model_props(proto, known)
    onnx.checker.check_model(proto, full_check=True)
    write_atomically(path, proto.SerializeToString())


def onnx_graph(model: Any, dtype: str) -> Any:
    """The graph from raw inputs, or from the columns of a table, to the outputs."""
    classify, network = hasattr(model, "classes_"), raw_network(model)
    if classify:
        network = logits(network, model._temperature)
    last = "class" if classify else link_of(model)
    graph = make_graph(in_dtype(network, dtype), raw_columns(model, dtype), dtype, last)
    if model._columns is not None:
        behind_columns(graph, model._columns, dtype)
    return graph


def logits(network: Network, temperature: float) -> Network:
    """The network whose softmax is `predict_proba`, from the one that gives decision values."""
    B, b0 = network.B, network.b0
    if len(b0) == 1:  # scores 1 − s and s; decision value s − 1/2
        B, b0 = np.hstack([-B, B]), np.concatenate([-b0, b0])
    return replace(network, B=temperature * B, b0=temperature * b0)


def make_graph(network: Network, columns: EncodingArrays | None, dtype: str, link: str) -> Any:
    """The graph of the picture above."""
    from onnx import TensorProto, numpy_helper
    from onnx.helper import make_graph, make_node, make_tensor_value_info

    kind = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    q, last = len(network.b0), "y" if link == "identity" else "scores"
    d = len(network.A) - 1 if columns is None else len(columns.centre)
    layers = {"W": network.A[1:], "w": network.A[0], "V": network.B, "v": network.b0}
    act = [make_node("Relu", ["P"], ["S"])]
    if network.slope:
        layers["slope"] = np.array(network.slope, dtype=dtype)
        act = [make_node("Mul", ["P", "slope"], ["leak"]), make_node("Max", ["P", "leak"], ["S"])]
    before, row = ([], "X") if columns is None else encoding_nodes(columns, layers)
    weights = [numpy_helper.from_array(np.asarray(W, order="C"), k) for k, W in layers.items()]
    first, second = ([row, "W", "w"], ["P"]), (["S", "V", "v"], [last])
    nodes = [*before, make_node("Gemm", *first), *act, make_node("Gemm", *second)]
    outputs = [make_tensor_value_info("y", kind, ["rows", q])]
    if link == "exp":
        nodes.append(make_node("Exp", [last], ["y"]))
    if link == "sort":
        weights.append(numpy_helper.from_array(np.array([q]), "q"))
        nodes.append(make_node("TopK", [last, "q"], ["y", "places"], largest=0))
    if link == "class":
        nodes.append(make_node("Softmax", [last], ["probabilities"], axis=1))
        nodes.append(make_node("ArgMax", [last], ["index"], axis=1, keepdims=0))
        outputs = [
            make_tensor_value_info("probabilities", kind, ["rows", q]),
            make_tensor_value_info("index", TensorProto.INT64, ["rows"]),
        ]
    inputs = [make_tensor_value_info("X", kind, ["rows", d])]
    return make_graph(nodes, "anmin", inputs, outputs, weights)


def encoding_nodes(columns: EncodingArrays, layers: dict[str, np.ndarray]) -> tuple[list[Any], str]:
    """The nodes from X to the columns of an encoding, whose name is the second; see `Encoding`."""
    from onnx.helper import make_node

    real = columns.centre.dtype.type
    numbers = {"far": FAR, "near": -FAR, "clip": CLIP, "zero": 0.0, "one": 1.0}
    layers |= {name: np.array(real(value)) for name, value in numbers.items()}
    layers |= {"centre": columns.centre, "scale": columns.scale}
    steps = [
        ("Sub", "X centre", "from_centre"), ("Div", "from_centre scale", "z"),
        ("Clip", "z near far", "t"), ("Div", "t clip", "u"), ("Mul", "u u", "uu"),
        ("Add", "uu one", "under_root"), ("Sqrt", "under_root", "root"),
        ("Div", "t root", "clipped"),
    ]  # fmt: skip
    nodes = [make_node(kind, given.split(), [made]) for kind, given, made in steps]
    if not len(columns.column):
        return nodes, "clipped"
    layers |= {"column": columns.column, "low": columns.low, "width": columns.width}
    steps = [
        ("Sub", "of_hinge low", "from_low"), ("Div", "from_low width", "t_hinge"),
        ("Clip", "t_hinge zero one", "hinges"),
    ]  # fmt: skip
    nodes += [make_node("Gather", ["X", "column"], ["of_hinge"], axis=1)]
    nodes += [make_node(kind, given.split(), [made]) for kind, given, made in steps]
    return [*nodes, make_node("Concat", ["clipped", "hinges"], ["Z"], axis=1)], "Z"


def to_torch(model: Any, dtype: str = "float32") -> torch.nn.Sequential:
    """The network as a `torch.nn.Sequential` on raw inputs: (n, d) → (n, n_outputs_).

    A classifier's outputs are its decision values. An encoding is a first layer without weights
    to train. PyTorch has no text: for a table with text, gaps or dates the module takes
    `model.encode(X)`.

    >>> from anmin import ANMINRegressor
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit([[-1], [0], [1]], [1, 0, 1])
    >>> module = model.to_torch()  # doctest: +SKIP
    """
    from torch import nn

    network, columns = raw_network(model, dtype), raw_columns(model, dtype)
    hidden, output = linear(network.A[1:], network.A[0]), linear(network.B, network.b0)
    act = nn.LeakyReLU(network.slope) if network.slope else nn.ReLU()
    layers, link = [hidden, act, output], link_of(model)
    if model._columns is not None:
        columns = None
    if columns is None and link == "identity":
        return nn.Sequential(*layers)
    from anmin.export.torch_encoding import LINKS, EncodedColumns

    before = [] if columns is None else [EncodedColumns(columns)]
    return nn.Sequential(*before, *layers, *([LINKS[link]()] if link in LINKS else []))


def linear(W: np.ndarray, bias: np.ndarray) -> torch.nn.Linear:
    """The layer x ↦ xW + bias."""
    import torch

    weight = torch.tensor(W.T)
    layer = torch.nn.Linear(W.shape[0], W.shape[1], dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(torch.tensor(bias))
    return layer


def write_program(model: Any, path: PathLike, dtype: str = "float32") -> None:
    """Write a program for any number of rows."""
    import torch

    module = to_torch(model, dtype)
    d = model.n_features_in_ if model._columns is None else model._scaling.n_inputs
    example = torch.zeros(2, d, dtype=getattr(torch, dtype))
    shapes = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(module, (example,), dynamic_shapes=shapes)
    with open_atomically(path) as file:
        torch.export.save(program, file)


PROGRAM = "a PyTorch program, for torch.export.load"
register(Export("torch", ".pt2", PROGRAM, write_program, to_torch, library="torch", extra="torch"))
register(Export("onnx", ".onnx", "an ONNX file", to_onnx, library="onnx", extra="export"))
