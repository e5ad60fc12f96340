"""What skl2onnx asks of an estimator, so that a Pipeline with one of ours at its end converts.

skl2onnx calls `onnx_shape_calculator` and `onnx_converter` of the estimator, which lead here. The
nodes are those of `to_onnx`; a classifier also gives its label.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anmin.export.frameworks import OPSET, onnx_graph
from anmin.export.onnx_columns import ML_OPSET


def shapes(operator: Any) -> None:
    """Types and shapes of the outputs."""
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    model = operator.raw_operator
    rows = operator.inputs[0].get_first_dimension()
    real = DoubleTensorType if precision(operator) == "float64" else FloatTensorType
    if not hasattr(model, "classes_"):
        operator.outputs[0].type = real([rows, model.n_outputs_])
        return
    text = model.classes_.dtype.kind in "OUS"
    operator.outputs[0].type = (StringTensorType if text else Int64TensorType)([rows])
    operator.outputs[1].type = real([rows, len(model.classes_)])


def precision(operator: Any) -> str:
    """float64 where an input has double precision."""
    kinds = {type(variable.type).__name__ for variable in operator.inputs}
    return "float64" if "DoubleTensorType" in kinds else "float32"


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of a model, under names that are new."""
    from onnx import helper, numpy_helper

    model, dtype = operator.raw_operator, precision(operator)
    graph = onnx_graph(model, dtype)
    if len(graph.input) != len(operator.inputs):
        raise ValueError(
            f"the model takes {len(graph.input)} inputs, one a column, and skl2onnx gives it "
            f"{len(operator.inputs)}; name each column in initial_types, in their order."
        )
    names = dict(zip(outputs_of(model), (v.full_name for v in operator.outputs), strict=True))
    for wanted, given in zip(graph.input, operator.inputs, strict=True):
        new = scope.get_unique_variable_name(wanted.name)
        kind = wanted.type.tensor_type.elem_type
        text = type(given.type).__name__ == "StringTensorType"
        container.add_node(
            "Identity" if text else "Cast", [given.full_name], [new], op_version=OPSET,
            name=scope.get_unique_operator_name("anmin"), **({} if text else {"to": kind}),
        )  # fmt: skip
        names[wanted.name] = new
    for tensor in graph.initializer:
        names[tensor.name] = scope.get_unique_variable_name(tensor.name)
        add_constant(container, names[tensor.name], numpy_helper.to_array(tensor))
    for node in graph.node:
        given, made = (
            [names.setdefault(n, scope.get_unique_variable_name(n)) for n in part]
            for part in (node.input, node.output)
        )
        options = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        version = ML_OPSET if node.domain else OPSET
        container.add_node(
            node.op_type, given, made, op_domain=node.domain, op_version=version,
            name=scope.get_unique_operator_name("anmin"), **options,
        )  # fmt: skip
    if hasattr(model, "classes_"):
        add_label(scope, container, model.classes_, names)


def outputs_of(model: Any) -> list[str]:
    return ["label", "probabilities"] if hasattr(model, "classes_") else ["y"]


def add_constant(container: Any, name: str, value: np.ndarray) -> None:
    from onnx import helper

    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    container.add_initializer(name, kind, list(value.shape), value.ravel().tolist())


def add_label(scope: Any, container: Any, classes: np.ndarray, names: dict[str, str]) -> None:
    """The label of the most likely class."""
    from onnx import TensorProto

    table = scope.get_unique_variable_name("classes")
    text = classes.dtype.kind in "OUS"
    kind = TensorProto.STRING if text else TensorProto.INT64
    values = [str(c).encode() if text else int(c) for c in classes.tolist()]
    container.add_initializer(table, kind, [len(values)], values)
    container.add_node(
        "Gather", [table, names["index"]], [names["label"]], op_version=OPSET, axis=0,
        name=scope.get_unique_operator_name("anmin"),
    )  # fmt: skip
