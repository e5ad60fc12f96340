"""From the frame to a file, to ONNX and to C: the same predictions, levels and gaps included."""

import ctypes
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from test_frames import people, quick

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.columns import CategoryColumn, CodeColumn, DateColumn
from anmin.export import cost
from anmin.export.c_columns import identifiers

pytestmark = pytest.mark.slow

FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wmissing-prototypes"]
TOLERANCE = {"float32": 1e-4, "float64": 1e-12}
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
dtypes = pytest.mark.parametrize("dtype", TOLERANCE)


def rows():
    """The training rows, and rows with unknown levels, new gaps and dates far away."""
    frame, _ = people()
    strange = frame[:6].assign(
        town=["nowhere", None, "town 1", "", "town 2", "town 3"],
        member=[True, None, False, None, True, True],
        when=pd.to_datetime(
            ["1600-02-29", "2400-02-29", None, "1969-12-31", "2000-03-01", "1970-01-01"]
        ),
    )
    frame = pd.concat([frame, strange], ignore_index=True)
    return frame.assign(member=frame["member"].astype("boolean"))


def regressor(**options):
    frame, y = people()
    return quick(**options).fit(frame.rename(columns={"age": "X", "town": "int"}), y)


def classifier():
    frame, y = people()
    label = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    return quick(ANMINClassifier, slope=0.1).fit(frame, label)


def coded():
    """The age in years, which are names here: each has a mean of its own."""
    frame, _ = people()
    rng = np.random.default_rng(0)
    frame["age"] = 20 + np.arange(len(frame)) % 25
    y = rng.normal(size=50)[frame["age"]] + 0.1 * rng.normal(size=len(frame))
    model = quick().fit(frame, y)
    assert isinstance(model._columns.columns[0], CodeColumn)
    return model


MODELS = {
    "regressor": regressor,
    "coded": coded,
    "encoded": lambda: regressor(lam="auto", encoding="auto", n_networks=2, max_iter=60),
    "classifier": classifier,
}
models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def given(model):
    frame = rows()
    if isinstance(model._columns.columns[0], CodeColumn):  # known ones, others, and gaps
        frame["age"] = (frame["age"] / 2).round()
    return frame.set_axis(model.feature_names_in_, axis=1)


def cells(column, values):
    """A column as the exports take it."""
    if isinstance(column, CategoryColumn):
        return values.astype(object).where(values.notna(), "").to_numpy(object)
    if isinstance(column, DateColumn):
        seconds = values.to_numpy().astype("datetime64[us]").astype(np.int64) / 1e6
        return np.where(values.isna(), np.nan, seconds)
    return values.to_numpy(dtype=float, na_value=np.nan)


def close(found, wanted, dtype):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOLERANCE[dtype] * np.abs(wanted).max())


# ---- ONNX ----------------------------------------------------------------------------------------


def feed(session, model, frame):
    columns = zip(session.get_inputs(), model._columns.columns, strict=True)
    kinds = {"tensor(string)": object, "tensor(float)": np.float32, "tensor(double)": np.float64}
    return {
        wanted.name: cells(column, frame[column.name]).astype(kinds[wanted.type])[:, None]
        for wanted, column in columns
    }


@models
@dtypes
def test_onnx_takes_raw_columns(tmp_path, make, dtype):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model = make()
    model.to_onnx(tmp_path / "m.onnx", dtype=dtype)
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    frame = given(model)
    found = session.run(None, feed(session, model, frame))
    if hasattr(model, "classes_"):
        close(found[0], model.predict_proba(frame), dtype)
        np.testing.assert_array_equal(model.classes_[found[1]], model.predict(frame))
    else:
        close(found[0][:, 0], model.predict(frame), dtype)


def test_a_column_called_like_a_part_of_the_graph_is_marked(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model = regressor()
    model.to_onnx(tmp_path / "m.onnx")
    names = [i.name for i in runtime.InferenceSession(tmp_path / "m.onnx").get_inputs()]
    assert names == ["_X", "colour", "when", "member", "int"]


def test_a_pipeline_converts_with_skl2onnx():
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    y = X[:, 0] + X[:, 1] ** 2
    for kind, target in {
        ANMINRegressor: [y, np.column_stack([y, -y])],
        ANMINClassifier: [(y > 1).astype(int), np.where(y > 1, "much", "little")],
    }.items():
        for each in target:
            pipeline = make_pipeline(StandardScaler(), quick(kind)).fit(X, each)
            proto = skl2onnx.to_onnx(pipeline, X[:1])
            found = runtime.InferenceSession(proto.SerializeToString()).run(None, {"X": X})
            if kind is ANMINRegressor:
                close(found[0].reshape(each.shape), pipeline.predict(X), "float32")
            else:
                np.testing.assert_array_equal(found[0], pipeline.predict(X))
                close(found[1], pipeline.predict_proba(X), "float32")


def test_skl2onnx_takes_the_columns_of_a_table():
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    model = regressor()
    kinds = [
        StringTensorType if isinstance(column, CategoryColumn) else DoubleTensorType
        for column in model._columns.columns
    ]
    types = [(name, t([None, 1])) for name, t in zip(model.feature_names_in_, kinds, strict=True)]
    proto = skl2onnx.convert_sklearn(model, initial_types=types)
    session = runtime.InferenceSession(proto.SerializeToString())
    frame = given(model)
    close(session.run(None, feed(session, model, frame))[0][:, 0], model.predict(frame), "float64")
    with pytest.raises(ValueError, match=r"5 inputs.*gives it 1.*initial_types"):
        skl2onnx.convert_sklearn(model, initial_types=types[:1])


# ---- C -------------------------------------------------------------------------------------------


def compiled(model, folder, dtype):
    """The functions of the C file, and the type of its rows."""
    model.to_c(folder / "m.c", dtype=dtype)
    library = folder / "m.so"
    subprocess.run(
        ["gcc", *FLAGS, "-shared", "-fPIC", folder / "m.c", "-o", library], check=True, timeout=60
    )
    real = ctypes.c_float if dtype == "float32" else ctypes.c_double
    kinds = [
        ctypes.c_int if isinstance(column, CategoryColumn)
        else ctypes.c_double if isinstance(column, DateColumn) else real
        for column in model._columns.columns
    ]  # fmt: skip

    class Row(ctypes.Structure):
        _fields_ = [(f"c{j}", kind) for j, kind in enumerate(kinds)]

    return ctypes.CDLL(str(library)), Row, real


def from_c(model, frame, folder, dtype):
    """What the C file says for the rows of a frame: (n, q)."""
    library, row, real = compiled(model, folder, dtype)
    columns = []
    for column in model._columns.columns:
        values = cells(column, frame[column.name])
        if isinstance(column, CategoryColumn):
            m = len(column.levels)
            place = {level: k for k, level in enumerate(column.levels)} | {"": m + 1}
            values = [place.get(text, m) for text in values]
        columns.append(list(values))
    found, y = [], (real * model.n_outputs_)()
    for each in zip(*columns, strict=True):
        one = row(*each)
        library.model_predict(ctypes.byref(one), y)
        found.append(list(y))
        if hasattr(model, "classes_") and model.n_outputs_ > 1:
            assert library.model_class(ctypes.byref(one)) == np.argmax(found[-1])
    return np.array(found)


@needs_gcc
@models
@dtypes
def test_c_takes_a_struct(tmp_path, make, dtype):
    model = make()
    frame = given(model)
    classify = hasattr(model, "classes_")
    wanted = model.decision_function(frame) if classify else model.predict(frame)[:, None]
    close(from_c(model, frame, tmp_path, dtype), wanted, dtype)


def test_c_names_fields_and_levels(tmp_path):
    model = regressor()
    model.to_c(tmp_path / "m.c", name="house")
    text = (tmp_path / "m.c").read_text()
    assert "struct house_row {" in text
    assert '    enum house_colour colour; /* "colour" */' in text
    assert '    HOUSE_COLOUR_RED, /* "red" */' in text
    assert "    enum house_int_ int_;" in text
    assert "malloc" not in text
    assert "#include" not in text


def test_identifiers_differ():
    assert identifiers(["a b", "a-b", "ä"], "X_", ["X_a_b"]) == ["X_a_b_2", "X_a_b_3", "X__"]


# ---- others --------------------------------------------------------------------------------------


def test_torch_takes_what_encode_makes():
    torch = pytest.importorskip("torch")
    model = MODELS["encoded"]()
    frame = given(model)
    made = model.to_torch("float64")(torch.tensor(model.encode(frame))).detach().numpy()
    close(made[:, 0], model.predict(frame), "float64")


def test_file_onnx_and_python_agree(tmp_path):
    model = regressor()
    model.save(tmp_path / "m.anmin")
    again = load_model(tmp_path / "m.anmin")
    frame = given(model)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    again.to_c(tmp_path / "a.c")
    model.to_c(tmp_path / "b.c")
    assert (tmp_path / "a.c").read_text() == (tmp_path / "b.c").read_text()
    assert cost(again) == cost(model)
