"""A fitted network as an ONNX file.

    X (rows, d) ─ Gemm ─ Relu ─ Gemm ─▶ y                        regressor
                                └─ Softmax ─▶ probabilities      classifier
                                └─ ArgMax  ─▶ index

A leaky ReLU is Max(P, slope P): LeakyRelu has no double precision in common runtimes. A
classifier's temperature, and the second column that two classes need, are in the last Gemm.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from anmin.export import in_dtype, raw_network
from anmin.files import write_atomically
from anmin.network import Network

OPSET, IR_VERSION = 13, 8  # read by every runtime since 2021


def to_onnx(model: Any, path: str | os.PathLike[str], dtype: str = "float32") -> None:
    """Write an ONNX file; inputs and outputs as `Exports.to_onnx` says.

    >>> import tempfile
    >>> import numpy as np
    >>> import onnx
    >>> from anmin import ANMINRegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = ANMINRegressor(4, lam=1e-3, random_state=0).fit(X, np.abs(X).ravel())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.to_onnx(f"{folder}/m.onnx")
    ...     print([node.op_type for node in onnx.load(f"{folder}/m.onnx").graph.node])
    ['Gemm', 'Relu', 'Gemm']
    """
    classes = getattr(model, "classes_", None)
    network = raw_network(model)
    if classes is not None:
        network = logits(network, model._temperature)
    graph = make_graph(in_dtype(network, dtype), dtype, classes is not None)
    opsets = [helper.make_opsetid("", OPSET)]
    proto = helper.make_model(graph, producer_name="anmin", opset_imports=opsets)
    proto.ir_version = IR_VERSION
    facts = {"feature_names": getattr(model, "feature_names_in_", None), "classes": classes}
    known = {name: json.dumps(v.tolist()) for name, v in facts.items() if v is not None}
    helper.set_model_props(proto, known)
    onnx.checker.check_model(proto, full_check=True)
    write_atomically(path, proto.SerializeToString())


def logits(network: Network, temperature: float) -> Network:
    """The network whose softmax is `predict_proba`, from the one that gives decision values."""
    B, b0 = network.B, network.b0
    if len(b0) == 1:  # scores 1 − s and s; decision value s − 1/2
        B, b0 = np.hstack([-B, B]), np.concatenate([-b0, b0])
    return replace(network, B=temperature * B, b0=temperature * b0)


def make_graph(network: Network, dtype: str, classify: bool) -> Any:
    """The graph of the picture above."""
    kind = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    d, q, last = len(network.A) - 1, len(network.b0), "scores" if classify else "y"
    layers = {"W": network.A[1:], "w": network.A[0], "V": network.B, "v": network.b0}
    weights = [numpy_helper.from_array(np.ascontiguousarray(W), k) for k, W in layers.items()]
    act = [helper.make_node("Relu", ["P"], ["S"])]
    if network.slope:
        weights.append(numpy_helper.from_array(np.array(network.slope, dtype=dtype), "slope"))
        act = [helper.make_node("Mul", ["P", "slope"], ["leak"]),
               helper.make_node("Max", ["P", "leak"], ["S"])]  # fmt: skip
    nodes = [
        helper.make_node("Gemm", ["X", "W", "w"], ["P"]),
        *act,
        helper.make_node("Gemm", ["S", "V", "v"], [last]),
    ]
    shape: list[str | int | None] = ["rows", q]
    outputs = [helper.make_tensor_value_info("y", kind, shape)]
    if classify:
        nodes.append(helper.make_node("Softmax", [last], ["probabilities"], axis=1))
        nodes.append(helper.make_node("ArgMax", [last], ["index"], axis=1, keepdims=0))
        outputs = [
            helper.make_tensor_value_info("probabilities", kind, shape),
            helper.make_tensor_value_info("index", TensorProto.INT64, ["rows"]),
        ]
    inputs = [helper.make_tensor_value_info("X", kind, ["rows", d])]
    return helper.make_graph(nodes, "anmin", inputs, outputs, weights)
