"""Exports: the same numbers elsewhere, in single and double precision."""

import copy
import ctypes
import inspect
import json
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import make_data
from sklearn.exceptions import NotFittedError

import anmin
from anmin import ANMINClassifier, ANMINRegressor
from anmin.encoding import Encoding
from anmin.export import EXPORTS, Export, Exports, PickleVersionWarning, cost, raw_network, register
from anmin.export.c import c_source

pytestmark = pytest.mark.slow

GCC = shutil.which("gcc")
FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wmissing-prototypes"]
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}
LABELS = np.array(["a*/", "b??/", 'c"\\\n'])
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")
dtypes = pytest.mark.parametrize("dtype", TOLERANCE)


def regressor(q=1, slope=0.0, **options):
    X, y = make_data(n=80, d=3, q=q)
    options = {"lam": 1e-3, "max_iter": 5, "random_state": 0} | options
    return ANMINRegressor(7, slope=slope, **options).fit(X, y), X


def classifier(k=3, slope=0.0):
    X, y = make_data(n=80, d=3)
    frame = pd.DataFrame(X, columns=["in/*", "in*/", "über"])
    label = LABELS[:k][np.digitize(y, np.quantile(y, np.arange(1, k) / k))]
    return ANMINClassifier(7, slope=slope, lam=1e-3, max_iter=5, random_state=0).fit(
        frame, label
    ), X


def encoded(hinges=5, q=1, target=None, **options):
    """A model with an encoding, and rows far outside of those that it was fitted to."""
    X, y = make_data(n=160, d=3, q=q)
    X[:, 1] = np.round(X[:, 1])
    given = {"n_networks": 2, "encoding": Encoding.fit(X, None, hinges), "max_iter": 300}
    kind, y = (ANMINRegressor, y) if target is None else (ANMINClassifier, LABELS[target(y)])
    frame = pd.DataFrame(X, columns=["in/*", "in*/", "über"])
    model = kind(8, random_state=0, **given, **options).fit(X if target is None else frame, y)
    assert model._scaling.encoding is not None
    assert model.n_hidden_ > 0
    return model, np.vstack([X, 100 * X[:5], [[1e30, -1e30, 0.0]]])


def decision(model, X):
    """Decision values as (n, q), whatever the number of classes."""
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    return model.decision_function(frame).reshape(len(X), -1)


def constant():
    X = np.zeros((20, 3))
    return ANMINRegressor(3, random_state=0).fit(X, np.ones(20)), X


MODELS = {
    "one output": regressor,
    "many outputs": lambda: regressor(q=3),
    "leaky": lambda: regressor(slope=0.1),
    "raw": lambda: regressor(standardize=False),
    "no units": constant,
    "two classes": lambda: classifier(2),
    "three classes": lambda: classifier(3, slope=0.2),
    "encoded": encoded,
    "clipped": lambda: encoded(hinges=0),
    "encoded, many outputs": lambda: encoded(q=2, slope=0.1),
    "encoded, two classes": lambda: encoded(
        target=lambda y: (y > 3).astype(int), loss="squared_error"
    ),
    "encoded, three classes": lambda: encoded(target=lambda y: np.digitize(y, [2.5, 3.5])),
}
models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def expected(model, X):
    """What an export computes: predictions, or decision values, as (n, q)."""
    if hasattr(model, "classes_"):
        return decision(model, X)
    return model.predict(X).reshape(len(X), -1)


def close(found, wanted, dtype):
    size = np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOLERANCE[dtype] * size)


# ---- PyTorch ------------------------------------------------------------------------------


@models
@dtypes
def test_torch_gives_the_same(make, dtype):
    torch = pytest.importorskip("torch")
    model, X = make()
    module = model.to_torch(dtype)
    found = module(torch.tensor(X, dtype=getattr(torch, dtype)))
    assert found.dtype == getattr(torch, dtype)
    close(found.detach().numpy(), expected(model, X), dtype)


def test_torch_is_a_plain_sequence_that_trains_on():
    torch = pytest.importorskip("torch")
    module = regressor()[0].to_torch()
    assert [type(layer).__name__ for layer in module] == ["Linear", "ReLU", "Linear"]
    assert type(regressor(slope=0.1)[0].to_torch()[1]) is torch.nn.LeakyReLU
    module(torch.zeros(1, 3)).sum().backward()
    assert module[2].bias.grad is not None


# ---- ONNX ---------------------------------------------------------------------------------


def session(model, path, dtype):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model.to_onnx(path, dtype=dtype)
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])


@models
@dtypes
def test_onnx_gives_the_same(make, dtype, tmp_path):
    model, X = make()
    run = session(model, tmp_path / "m.onnx", dtype)
    assert [(i.name, i.shape) for i in run.get_inputs()] == [("X", ["rows", 3])]
    outputs = run.run(None, {"X": X.astype(dtype)})
    if not hasattr(model, "classes_"):
        assert [output.name for output in run.get_outputs()] == ["y"]
        return close(outputs[0], expected(model, X), dtype)
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    close(outputs[0], model.predict_proba(frame), dtype)
    assert [output.name for output in run.get_outputs()] == ["probabilities", "index"]
    np.testing.assert_array_equal(model.classes_[outputs[1]], model.predict(frame))
    facts = run.get_modelmeta().custom_metadata_map
    assert json.loads(facts["classes"]) == model.classes_.tolist()
    assert json.loads(facts["feature_names"]) == list(model.feature_names_in_)
    return None


def test_onnx_is_of_an_old_opset_and_takes_any_number_of_rows(tmp_path):
    onnx = pytest.importorskip("onnx")
    model, X = regressor()
    run = session(model, tmp_path / "m.onnx", "float32")
    for n in (1, 2, 80):
        assert run.run(["y"], {"X": X[:n].astype("float32")})[0].shape == (n, 1)
    saved = onnx.load(tmp_path / "m.onnx")
    assert [(o.domain, o.version) for o in saved.opset_import] == [("", 13)]
    assert saved.ir_version == 8


# ---- C ------------------------------------------------------------------------------------


def compiled(model, folder, dtype, name="model"):
    """The functions of the exported file, as ctypes has them."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    model.to_c(source, name=name, dtype=dtype)
    subprocess.run([GCC, *FLAGS, "-fPIC", "-shared", source, "-o", library], check=True)
    return ctypes.CDLL(str(library))


def call(function, X, q, dtype):
    real = {"float32": ctypes.c_float, "float64": ctypes.c_double}[dtype]
    Y = np.full((len(X), q), np.nan, dtype=dtype)
    for x, y in zip(np.ascontiguousarray(X, dtype=dtype), Y, strict=True):
        function(x.ctypes.data_as(ctypes.POINTER(real)), y.ctypes.data_as(ctypes.POINTER(real)))
    return Y


@needs_gcc
@models
@dtypes
def test_c_gives_the_same(make, dtype, tmp_path):
    model, X = make()
    library = compiled(model, tmp_path, dtype, name="tide_2")
    close(call(library.tide_2_predict, X, model.n_outputs_, dtype), expected(model, X), dtype)
    if hasattr(model, "classes_"):
        index = [library.tide_2_class(x.ctypes.data_as(ctypes.c_void_p)) for x in X.astype(dtype)]
        values = decision(model, X)
        best = values.argmax(1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
        np.testing.assert_array_equal(index, best)


@needs_gcc
@pytest.mark.parametrize("make", [lambda: regressor(q=2), encoded], ids=["plain", "encoded"])
def test_c_needs_no_library_and_no_writable_memory(tmp_path, make):
    model, _ = make()
    model.to_c(tmp_path / "m.c")
    subprocess.run(
        [GCC, *FLAGS, "-c", "-ffreestanding", "-nostdlib", tmp_path / "m.c", "-o",
         tmp_path / "m.o"], check=True,
    )  # fmt: skip
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    symbols = subprocess.run(
        ["nm", tmp_path / "m.o"], check=True, capture_output=True, text=True
    ).stdout
    kinds = [line.split()[-2] for line in symbols.splitlines()]
    assert set(kinds) <= {"T", "r"}  # code and constants: nothing undefined, nothing in memory


@needs_gcc
def test_two_models_in_one_program(tmp_path):
    one, _ = regressor()
    two, _ = regressor(slope=0.3)
    one.to_c(tmp_path / "one.c", name="one")
    two.to_c(tmp_path / "two.c", name="two", dtype="float64")
    program = tmp_path / "main.c"
    program.write_text(
        "#include <stdio.h>\n"
        "void one_predict(const float x[3], float y[1]);\n"
        "void two_predict(const double x[3], double y[1]);\n"
        "int main(void) { float a[3] = {1, 2, 3}, b[1]; double c[3] = {1, 2, 3}, e[1];\n"
        'one_predict(a, b); two_predict(c, e); printf("%.9g %.17g", b[0], e[0]); return 0; }\n'
    )
    files = [tmp_path / name for name in ("one.c", "two.c", "main.c")]
    subprocess.run([GCC, *FLAGS, *files, "-o", tmp_path / "main"], check=True)
    out = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout
    x = np.array([[1.0, 2.0, 3.0]])
    np.testing.assert_allclose(list(map(float, out.split())), [*one.predict(x), *two.predict(x)],
                               rtol=1e-5)  # fmt: skip


@dtypes
def test_literals_are_the_weights_to_the_bit(dtype):
    model, _ = regressor()
    text = c_source(model, dtype=dtype)
    body = text.split("model_w0[MODEL_HIDDEN] = {")[1].split("}")[0]
    found = np.array([float(word.strip().rstrip("f")) for word in body.split(",")]).astype(dtype)
    np.testing.assert_array_equal(found, model.intercepts_[0].astype(dtype))


def test_the_header_says_what_it_costs():
    model, _ = regressor(q=2)
    text = c_source(model)
    h = model.n_hidden_
    size = 4 * h + 2 * (h + 1)
    assert f"Cost: {size} numbers ({4 * size} bytes of constants), at most {5 * h} mul" in text
    assert "void model_predict(const float x[3], float y[2]);" in text
    assert "\t" not in text
    assert max(map(len, text.splitlines())) <= 100


# ---- all of them --------------------------------------------------------------------------


def test_cost_counts_what_there_is():
    model, _ = regressor(q=2)
    spent = cost(model)
    assert spent.parameters == model.A_.size + model.B_.size + model.b0_.size
    assert spent.multiply_adds == 5 * model.n_hidden_


def test_cost_counts_the_encoding():
    model, _ = encoded()
    d, hinges = 3, len(model._scaling.encoding.column)
    assert model.A_.shape == (1 + d + hinges, model.n_hidden_)
    spent = cost(model)
    layers = model.A_.size + model.B_.size + model.b0_.size
    assert (spent.inputs, spent.parameters) == (d, layers + 2 * d + 3 * hinges)
    assert spent.multiply_adds == (d + hinges + 1) * model.n_hidden_ + 9 * d + hinges
    for dtype, size in {"float32": 4, "float64": 8}.items():
        text = c_source(model, dtype=dtype)
        constants = size * (spent.parameters - hinges) + 4 * hinges
        assert f"Cost: {spent.parameters} numbers ({constants} bytes of constants)" in text
        assert f"{d + hinges + 8} variables on the stack" in text
        assert max(map(len, text.splitlines())) <= 100


def test_an_encoding_without_room_in_single_precision_is_refused(tmp_path):
    X, y = make_data(n=80)
    X = 1e60 * X
    encoding = Encoding.fit(X, None, 8)
    model = ANMINRegressor(4, encoding=encoding, max_iter=20, random_state=0).fit(X, y)
    assert model._scaling.encoding is not None
    with pytest.raises(ValueError, match=r"overflow float32|no room in float32"):
        model.to_c(tmp_path / "m.c")
    model.to_c(tmp_path / "m.c", dtype="float64")


def test_an_encoded_torch_module_is_copied_pickled_and_trained_on():
    torch = pytest.importorskip("torch")
    model, X = encoded()
    module = pickle.loads(pickle.dumps(copy.deepcopy(model.to_torch("float64"))))
    close(module(torch.tensor(X)).detach().numpy(), expected(model, X), "float64")
    assert [type(layer).__name__ for layer in module][1:] == ["Linear", "ReLU", "Linear"]
    module(torch.zeros(1, 3, dtype=torch.float64)).sum().backward()
    assert module[1].bias.grad is not None


def test_by_hand_an_encoded_model_is_two_products():
    model, X = encoded(q=2)
    (W1, W2), (b1, b2) = model.coefs_, model.intercepts_
    assert W1.shape == (model.encode(X).shape[1], model.n_hidden_)
    by_hand = np.maximum(model.encode(X) @ W1 + b1, 0) @ W2 + b2
    np.testing.assert_allclose(by_hand, model.predict(X), rtol=1e-9)
    assert model.n_features_in_ == 3


def test_inputs_far_from_zero_are_folded_well():
    X, y = make_data(n=80, d=3)
    far = X + 1e4
    model = ANMINRegressor(7, lam=1e-3, max_iter=5, random_state=0).fit(far, y)
    torch = pytest.importorskip("torch")
    found = model.to_torch("float64")(torch.tensor(far)).detach().numpy()[:, 0]
    np.testing.assert_allclose(found, model.predict(far), rtol=1e-9)


def test_what_is_refused(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    model, _ = regressor()
    path = tmp_path / "m"
    for call_it in (model.to_torch, lambda d: model.to_onnx(path, d),
                    lambda d: model.to_c(path, dtype=d)):  # fmt: skip
        with pytest.raises(ValueError, match="dtype must be one of 'float32', 'float64'"):
            call_it("half")
    for name in ("2x", "a-b", "", "_a", "ä", "a\n"):
        with pytest.raises(ValueError, match="C identifier"):
            model.to_c(path, name=name)
    with pytest.raises(NotFittedError):
        ANMINRegressor().to_c(path)
    X, y = make_data(n=40)
    huge = ANMINRegressor(3, max_iter=20, random_state=0).fit(X, 1e90 * y)
    with pytest.raises(ValueError, match="weights overflow float32"):
        huge.to_c(path)
    huge.to_c(path, dtype="float64")
    assert [file.name for file in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("make", [regressor, encoded])
def test_torch_writes_a_program_for_any_number_of_rows(tmp_path, make):
    torch = pytest.importorskip("torch")
    model, X = make()
    EXPORTS["torch"].write(model, tmp_path / "m.pt2", dtype="float64")
    module = torch.export.load(tmp_path / "m.pt2").module()
    close(module(torch.tensor(X)).detach().numpy(), expected(model, X), "float64")


def test_the_registry_says_what_there_is():
    ours = [EXPORTS[name] for name in ("c", "onnx", "torch")]
    assert [export.suffix for export in ours] == [".c", ".onnx", ".pt2"]
    assert [export.extra for export in ours] == ["", "export", "torch"]
    assert all("dtype" in export.options and export.description for export in ours)
    assert inspect.getdoc(ANMINRegressor.to_c).startswith("Write the network as one file of C99")
    assert list(inspect.signature(ANMINRegressor().to_onnx).parameters) == ["path", "dtype"]


def test_an_export_needs_nothing_but_its_own_file(tmp_path, monkeypatch):
    def to_text(model, path, digits=3):
        """Write the biases."""
        path.write_text(str(np.round(raw_network(model).b0, digits)))

    monkeypatch.setattr(Exports, "to_text", None, raising=False)  # put back afterwards
    monkeypatch.setitem(EXPORTS, "text", None)
    register(Export("text", ".txt", "the biases", to_text))
    model, _ = regressor()
    model.to_text(tmp_path / "a.txt")
    EXPORTS["text"].write(model, tmp_path / "b.txt", digits=3)
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text()
    assert EXPORTS["text"].options == ("digits",)
    with pytest.raises(NotFittedError):
        ANMINRegressor().to_text(tmp_path / "c.txt")
    register(Export("text", ".txt", "the biases", to_text, library="no_such", extra="none"))
    with pytest.raises(ModuleNotFoundError, match=r"to_text needs no_such: .*'anmin\[none\]'"):
        model.to_text(tmp_path / "c.txt")


@pytest.mark.parametrize(("method", "library"), [("to_torch", "torch"), ("to_onnx", "onnx")])
def test_a_missing_library_is_named(monkeypatch, method, library):
    monkeypatch.setitem(sys.modules, library, None)
    model, _ = regressor()
    with pytest.raises(ModuleNotFoundError, match=rf"{method} needs .*pip install 'anmin\["):
        getattr(model, method)("float32")


# ---- pickles ------------------------------------------------------------------------------


def test_a_pickle_of_this_version_says_nothing():
    model, X = regressor()
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert vars(again).keys() == vars(model).keys()
    assert pickle.loads(pickle.dumps(ANMINClassifier(3))).n_hidden == 3


@pytest.mark.parametrize("version", ["9.9.9", None])
def test_a_pickle_of_another_version_warns(version):
    model, X = regressor()
    state = model.__getstate__()
    assert state["_anmin_version"] == anmin.__version__
    if version is None:
        del state["_anmin_version"]  # as before there was a stamp
    again = ANMINRegressor()
    said = f"pickled by anmin {version or 'unknown'} and is unpickled by anmin {anmin.__version__}"
    with pytest.warns(PickleVersionWarning, match=re.escape(said)):
        again.__setstate__(state | ({"_anmin_version": version} if version else {}))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(again, "_anmin_version")
