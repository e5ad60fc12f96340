"""Model files: what is saved comes back, and whatever is wrong with a file is refused."""

import hashlib
import io
import json
import pickle
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import make_data
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from anmin import ANMINClassifier, ANMINRegressor, load_model
from anmin.encoding import Encoding
from anmin.files import LONGEST_HEADER, pack, unpack
from anmin.model_file import ModelFileError, read_parameters, save_model
from anmin.model_file.values import encode
from anmin.solvers import SOLVERS, Algorithm1, VarPro

GOLDEN = Path(__file__).parent / "golden"
LABELS = {
    "ints": np.array([3, 5, 9]),
    "uint8": np.array([0, 1, 255], dtype=np.uint8),
    "floats": np.array([-1.0, 0.0, 2.0]),
    "float32": np.array([-1.0, 0.0, 2.0], dtype=np.float32),
    "bools": np.array([False, True]),
    "two": np.array(["no", "yes"]),
    "strings": np.array(["fish", "größe", "x\ty"]),
    "objects": np.array(["a", "b", "c"], dtype=object),
}


def fitted(q=1, **parameters):
    X, y = make_data(n=60, d=2, q=q)
    options = {"n_hidden": 3, "lam": 1e-3, "max_iter": 5, "random_state": 0} | parameters
    return ANMINRegressor(**options).fit(X, y), X


def classified(labels):
    X, y = make_data(n=60)
    place = np.digitize(y, np.quantile(y, np.arange(1, len(labels)) / len(labels)))
    options = {"n_hidden": 3, "lam": 1e-3, "max_iter": 5, "random_state": 0}
    return ANMINClassifier(**options).fit(X, labels[place]), X


def contents(path):
    data = path.read_bytes()
    return unpack(io.BytesIO(data), len(data))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.anmin"


def plain(model):
    """The parameters; a solver object by what it says, as two of them are never equal."""
    params = model.get_params()
    return params | {"solver": repr(params["solver"])}


def through(model, path):
    model.save(path)
    return load_model(path)


# ---- what is saved comes back -------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"lam": "auto", "n_hidden": 8},
        {"slope": 0.1, "solver": "anmin"},
        {"standardize": False},
        {"intervals": True},
        {"solver": VarPro(dtype="float32")},
        {"lam": "auto", "max_iter": 60, "n_networks": 2, "encoding": "auto", "intervals": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("q", [1, 3])
def test_a_regressor_comes_back_to_the_bit(path, q, parameters):
    model, X = fitted(q, **parameters)
    again = through(model, path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert plain(again) == plain(model)
    assert again.lam_ == model.lam_
    assert repr(again.history_) == repr(model.history_)
    assert repr(again.path_) == repr(model.path_)
    assert again.report() == model.report()
    for name in ("A_", "B_", "b0_", "loss_", "best_loss_", "loss_curve_", "n_iter_", "n_hidden_",
                 "n_outputs_", "n_features_in_"):  # fmt: skip
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    for name in ("coefs_", "intercepts_"):
        for one, other in zip(getattr(again, name), getattr(model, name), strict=True):
            np.testing.assert_array_equal(one, other)
    if model.intervals:
        for one, other in zip(again.predict(X, True), model.predict(X, True), strict=True):
            np.testing.assert_array_equal(one, other)
    assert vars(again).keys() == vars(model).keys() | {"extra_"}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_classifier_comes_back_with_its_labels(path, labels):
    model, X = classified(labels)
    again = through(model, path)
    np.testing.assert_array_equal(again.classes_, labels)
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_feature_names_are_kept_and_checked(path):
    X, y = make_data(n=60)
    frame = pd.DataFrame(X, columns=["größe", "b/../c"])
    model = ANMINRegressor(3, lam=1e-3, max_iter=3, random_state=0).fit(frame, y)
    again = through(model, path)
    assert list(again.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"größe": "else"}))


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": Algorithm1(tau=-np.inf, keep="last")},
        {"solver": VarPro(patience=np.int64(3))},
        {
            "random_state": np.int64(5),
            "solver": VarPro(tol=np.float32(0.5)),
            "standardize": np.True_,
        },
        {"init": np.ones((3, 3)).tolist()},
        {"max_time": 100.0, "cv": 2},
    ],
    ids="-".join,
)
def test_parameters_survive_so_that_a_refit_is_the_same(path, parameters):
    model, X = fitted(**parameters)
    again = through(model, path)
    y = np.sin(X[:, 0])
    one, other = model.fit(X, y), again.fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_weights_of_classes_are_kept(path):
    X, y = make_data(n=60)
    weight = {"high": 2.0, "low": 1.0}
    model = ANMINClassifier(3, lam=1e-3, max_iter=3, class_weight=weight, random_state=0)
    again = through(model.fit(X, np.where(y > 3, "high", "low")), path)
    assert again.class_weight == weight


LEFT_OUT = {"cv": KFold(2), "random_state": np.random.RandomState(7)}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_parameter_that_cannot_be_kept_is_named(path, name):
    model, X = fitted(**{name: LEFT_OUT[name]})
    with pytest.warns(UserWarning, match=rf"{name}=.*cannot be kept"):
        model.save(path)
    again = load_model(path)
    assert getattr(again, name) is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


class Mine(VarPro):
    """A solver that a user wrote."""

    def __init__(self, patience=10, depth=2):
        super().__init__(patience)
        self.depth = depth


def test_a_solver_of_ones_own_is_left_out_with_a_warning(path):
    model, X = fitted(solver=Mine())
    with pytest.warns(UserWarning, match=r"solver=Mine.*cannot be kept"):
        model.save(path)
    again = load_model(path)
    assert again.solver == "varpro"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_registered_solver_is_kept(path, monkeypatch):
    monkeypatch.setitem(SOLVERS, "mine", Mine)
    model, _ = fitted(solver=Mine(depth=5))
    again = through(model, path)
    assert type(again.solver) is Mine
    assert again.solver.depth == 5
    monkeypatch.delitem(SOLVERS, "mine")
    refused(path, path.read_bytes(), r"solver 'Mine' is unknown here; put it into anmin\.solvers")


def test_a_registered_solver_that_cannot_be_made(path, monkeypatch):
    class Needy(VarPro):
        def __init__(self, depth):
            self.depth = depth

    monkeypatch.setitem(SOLVERS, "needy", Needy)
    fitted()[0].save(path)
    facts, arrays = contents(path)
    facts["parameters"]["solver"] = {"solver": "Needy", "parameters": {}}
    refused(path, pack(facts, arrays), "its solver cannot be made")


def test_what_was_kept_beside_the_model_comes_back(path):
    model, _ = fitted()
    extra = {"target": "price", "one_hot": {"colour": ["red", "blue"]}, "scale": 0.1}
    save_model(model, path, extra)
    again = load_model(path)
    assert again.extra_ == extra
    again.save(path)
    assert load_model(path).extra_ == extra
    with pytest.raises(ValueError, match="JSON"):
        save_model(model, path, {"a": float("nan")})
    assert load_model(path).extra_ == extra  # the old file is still whole


def test_a_loaded_model_is_an_estimator_like_any_other(path):
    model, X = fitted()
    again = through(model, path)
    clone(again)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).predict(X), model.predict(X))
    again.A_[0, 0] += 1  # arrays are our own


def test_a_network_without_hidden_units(path):
    X = np.zeros((20, 2))
    model = ANMINRegressor(3, random_state=0, intervals=True).fit(X, np.ones(20))
    assert model.n_hidden_ == 0
    again = through(model, path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_cannot_be_saved(path):
    with pytest.raises(NotFittedError):
        ANMINRegressor().save(path)

    class Other(ANMINRegressor):
        pass

    X, y = make_data(n=40)
    with pytest.raises(TypeError, match="holds ANMINRegressor or ANMINClassifier; got Other"):
        Other(2, lam=1e-3, max_iter=2).fit(X, y).save(path)
    model, _ = fitted()
    with pytest.raises(ModelFileError, match="the facts take"):
        save_model(model, path, {"a": "x" * LONGEST_HEADER})
    model._network.B[0, 0] = np.nan
    with pytest.raises(ModelFileError, match="B holds NaN"):
        model.save(path)
    labelled, _ = classified(LABELS["objects"])
    labelled.classes_ = np.array(["a", 1, None], dtype=object)
    with pytest.raises(ModelFileError, match="must be numbers of one type, or strings"):
        labelled.save(path)
    assert not path.exists()


def test_the_container_is_that_of_safetensors(path):
    model, _ = fitted()
    model.save(path)
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + n])
    assert (8 + n) % 8 == 0
    begin, end = header["B"]["data_offsets"]
    B = np.frombuffer(data[8 + n :][begin:end], "<f8").reshape(header["B"]["shape"])
    np.testing.assert_array_equal(B, model.B_)
    digest = header["__metadata__"]["sha256"].encode()
    assert hashlib.sha256(data.replace(digest, b"0" * 64)).hexdigest().encode() == digest


# ---- files of released versions ------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.anmin")), ids=lambda file: file.name)
def test_files_of_released_versions_keep_loading(file):
    model = load_model(file)
    for method, expected in model.extra_["expected"].items():
        found = getattr(model, method)(np.array(model.extra_["X"]))
        if isinstance(expected[0], str):
            assert found.tolist() == expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert model.history_[0].iteration == 0
    assert model.path_ == [] or model.path_[0].lam > 0


def test_there_are_files_of_released_versions():
    assert len(list(GOLDEN.glob("0.1-*.anmin"))) == 2


class Shorter(BaseEstimator):
    """An estimator whose solver has taken over most of what it had."""

    def __init__(self, lam=1.0, solver="fast"):
        self.lam, self.solver = lam, solver


class Fast(BaseEstimator):
    """A solver with parameters that the estimator used to have."""

    def __init__(self, tol=1e-4, dtype="auto"):
        self.tol, self.dtype = tol, dtype


@pytest.mark.parametrize(
    ("solver", "tol", "expected"),
    [
        ("fast", 1e-4, "fast"),
        ("fast", 0.5, Fast(tol=0.5)),
        (Fast(dtype="float32"), 0.5, Fast(tol=0.5)),
        ("elsewhere", 0.5, "elsewhere"),
        (None, 0.5, None),
    ],
)
def test_parameters_that_moved_to_the_solver_are_found_there(monkeypatch, solver, tol, expected):
    monkeypatch.setitem(SOLVERS, "fast", Fast)
    old = {"tol": tol, "dtype": "auto", "n_init": 3, "validation_fraction": 0.1, "lam": 2.0}
    found = read_parameters(Shorter, {"parameters": old | {"solver": encode(solver)}}, {})
    assert found.keys() == {"lam", "solver"}
    assert repr(found["solver"]) == repr(expected)


def test_parameters_of_old_files_go_to_the_estimator_or_its_solver(path, good):
    facts, arrays = unpack(io.BytesIO(good), len(good))
    old = {"tol": 0.5, "n_init": 2, "linear_solver": "cg", "dtype": "float32", "batch_size": 7,
           "validation_fraction": 0.3}  # fmt: skip
    facts["parameters"] |= old
    path.write_bytes(pack(facts, arrays))
    model = load_model(path)
    params = model.get_params()
    kept = [name for name in old if name in params or f"solver__{name}" in params]
    assert set(old) - set(kept) <= {"validation_fraction"}
    for name in kept:
        assert params.get(name, params.get(f"solver__{name}")) == old[name]


def test_columns_that_are_no_longer_recorded_are_left_out(path, good):
    facts, arrays = unpack(io.BytesIO(good), len(good))
    facts["history"]["columns"].append("mood")
    for row in facts["history"]["rows"]:
        row.append("fine")
    path.write_bytes(pack(facts, arrays))
    assert not hasattr(load_model(path).history_[0], "mood")


# ---- files that are refused ----------------------------------------------------------------


def refused(path, data, match):
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "m.anmin"
    fitted(intervals=True)[0].save(path)
    return path.read_bytes()


def test_files_of_another_kind(path, good):
    refused(path, b"", "does not begin like a model file")
    refused(path, pickle.dumps({"a": 1}), "does not begin like")
    refused(path, b"PK\x03\x04" + bytes(100), "does not begin like")
    refused(path, bytes([20]) + bytes(7) + b"{} " + b" " * 40, "of another kind")
    refused(path, bytes([20]) + bytes(7) + b"[1]" + b" " * 40, "not a JSON object")
    with pytest.raises(FileNotFoundError):
        load_model(path.with_name("nothing"))
    with pytest.raises(OSError):  # noqa: PT011  a folder, whose error depends on the system
        load_model(path.parent)


def test_every_truncation_is_refused(path, good):
    for n in {*range(0, len(good), 37), *range(20), len(good) - 1}:
        refused(path, good[:n], "cannot be loaded")
    refused(path, good + b"\0", "cut short")


def test_a_flipped_bit_is_found(path, good):
    for place in range(0, len(good), 211):
        data = bytearray(good)
        data[place] ^= 1
        refused(path, bytes(data), "cannot be loaded")
    data = bytearray(good)
    data[-1] ^= 1
    refused(path, bytes(data), "checksum does not match")


def test_a_future_version_says_so(path, good):
    assert good.count(b'"version":"1"') == 1
    refused(path, good.replace(b'"version":"1"', b'"version":"2"'), "reads up to 1; update anmin")


def header_of(good):
    n = int.from_bytes(good[:8], "little")
    return json.loads(good[8 : 8 + n]), good[8 + n :]


def with_header(header, data):
    """A file with that header and the right checksum."""
    metadata = header.get("__metadata__")
    if isinstance(metadata, dict):
        metadata["sha256"] = "0" * 64
    text = json.dumps(header).encode()
    blank = len(text).to_bytes(8, "little") + text + data
    return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({"shape": [2**60, 1]}, "a bad shape"),
        ({"shape": [2**40, 2**40]}, "should be"),
        ({"shape": [-1, 3]}, "a bad shape"),
        ({"shape": [True, 3]}, "a bad shape"),
        ({"shape": "33"}, "a bad shape"),
        ({"shape": [1, 3, 3]}, "a bad shape"),
        ({"shape": [2**45], "data_offsets": [0, 2**48]}, "should be|cut short"),
        ({"dtype": "F32"}, "'A' should be .*F64"),
        ({"dtype": "O"}, "should be"),
        ({"data_offsets": [8, 80]}, "should be"),
        ({"data_offsets": [-8, 64]}, "should be"),
        ({"data_offsets": [0]}, "should be"),
        ({"more": 1}, "should be"),
    ],
    ids=str,
)
def test_hostile_sizes(path, good, entry, match):
    header, data = header_of(good)
    header["A"] |= entry
    refused(path, with_header(header, data), match)


def test_hostile_headers(path, good):
    header, data = header_of(good)
    refused(path, b"\xff" * 8 + good[8:], "does not begin like")
    refused(path, with_header(header | {"../../x": header.pop("noise")}, data), "incomplete")
    header, data = header_of(good)
    refused(path, with_header(header, data + bytes(8)), "cut short")
    deep = b'{"a":' * 100_000
    refused(path, len(deep).to_bytes(8, "little") + deep, "cannot be read")
    for text in (b'{"a": NaN}', b'{"a": 1e999}', b'{"a": ' + b"9" * 5000 + b"}", b'{"a":1,"a":2}',
                 b'{"a": "\xff"}'):  # fmt: skip
        refused(path, len(text).to_bytes(8, "little") + text, "cannot be read")


LONG = {
    "too long": b'{"a":"' + b"x" * 15_000_000 + b'"}',
    "lists": b'{"a":[' + b",".join([b"[]"] * 2_700_000) + b"]}",
    "objects": b'{"a":[' + b",".join([b'{"":[]}'] * 1_000_000) + b"]}",
    "names": b"{" + b",".join(b'"%x":0' % i for i in range(800_000)) + b"}",
    "as many as allowed": b'{"a":[' + b",".join(b'{"%x":0}' % i for i in range(349_000)) + b"]}",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_large_header_is_refused_in_little_memory(path, text):
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=r"longer than|more than 1,048,576 values|kind"):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 120e6
    finally:
        tracemalloc.stop()


def nested(depth):
    return {"a": nested(depth - 1)} if depth else {}


EXTRA = {
    "nested": (nested(20), "nested more than 16 levels"),
    "surrogate": ({"target": "\ud800"}, "not valid Unicode"),
    "name": ({"a": [{"\udfff": 1}]}, "not valid Unicode"),
    "list": ([], "not a dictionary"),
    "none": (None, "not a dictionary"),
}


@pytest.mark.parametrize(("extra", "match"), EXTRA.values(), ids=EXTRA)
def test_hostile_extra(path, good, extra, match):
    facts, arrays = unpack(io.BytesIO(good), len(good))
    refused(path, pack(facts | {"extra": extra}, arrays), match)
    if extra is not None:  # what cannot be loaded is not saved either
        with pytest.raises(ModelFileError, match=match):
            save_model(fitted()[0], path, extra)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_arrays_that_are_not_finite(path, good, bad):
    header, data = header_of(good)
    spoiled = np.frombuffer(data, "<f8").copy()
    spoiled[3] = bad
    refused(path, with_header(header, spoiled.tobytes()), "holds NaN or infinity")


FACTS = {
    "estimator": ["Pipeline", None, ["ANMINRegressor"]],
    "parameters": [
        [], {"nonsense": 1}, {"checkpoint": "/etc/passwd"}, {"lam": {"float": "1"}}, {"lam": []},
        {"solver": {"solver": "os.system", "parameters": {}}},
        {"solver": {"solver": "VarPro", "parameters": {"x": 1}}},
        {"cv": {"dict": [[1]]}}, {"cv": {"dict": [[[], 1]]}},
    ],
    "slope": [1.0, -0.1, "0", None, True],
    "y_scale": [0, -1.0, None],
    "lam": ["auto", None],
    "loss": ["x", []],
    "history": [
        None, [], {"columns": [], "rows": []}, {"columns": ["loss"], "rows": [[1.0]]},
        {"columns": ["danger"], "rows": []}, {"columns": ["loss"], "rows": [1]},
        {"columns": [["loss"]], "rows": []},
        {"columns": ["iteration", "loss", "mse", "status"], "rows": [[0, 1.0, 1.0, "NEW"]]},
        {"columns": ["iteration", "loss", "mse", "phase"], "rows": [[0, 1.0, 1.0, 3]]},
        {"columns": ["iteration", "loss", "mse"], "rows": [[0.5, 1.0, 1.0]]},
        {"columns": ["iteration", "loss", "mse"], "rows": [[0, "one", 1.0]]},
    ],
    "path": [None, {"columns": ["lam"], "rows": [[0.1]]}],
    "report": [[], {}, {"status": 1}],
    "skipped": ["1", -1, True],
    "feature_names": [None, ["a"], ["a", "a"], [1, 2], "ab"],
    "one_dimensional": [None, 1],
    "extra": [None, []],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in FACTS.items() for value in values]
)
def test_facts_that_are_wrong(path, good, name, value):
    facts, arrays = unpack(io.BytesIO(good), len(good))
    refused(path, pack(facts | {name: value}, arrays), "cannot be loaded")


CLASSES = [
    None, {"dtype": "int64", "labels": [1, 2, 3, 4]}, {"dtype": "int64", "labels": [2, 1, 3]},
    {"dtype": "int8", "labels": [1, 2, 300]}, {"dtype": "int64", "labels": [1, 2, 2.5]},
    {"dtype": "O", "labels": [1, 2, 3]}, {"dtype": "str", "labels": ["a", "a", "b"]},
    {"dtype": "str", "labels": ["a", "b", "b\0"]}, {"dtype": "str", "labels": [1, 2, 3]},
    {"dtype": "float64", "labels": ["a", "b", "c"]}, {"dtype": ["str"], "labels": ["a"]},
    {"dtype": "str", "labels": ["a", "b", "c" * 7_000_000]},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:NumPy will stop:DeprecationWarning")  # before NumPy 2
@pytest.mark.parametrize("value", CLASSES, ids=lambda value: repr(value)[:50])
def test_classes_that_are_wrong(path, value):
    classified(LABELS["ints"])[0].save(path)
    facts, arrays = contents(path)
    refused(path, pack(facts | {"classes": value}, arrays), "cannot be loaded")
    del facts["classes"]
    refused(path, pack(facts, arrays), "does not say what it predicts")


# ---- an encoding --------------------------------------------------------------------------


def behind(encoding, **parameters):
    """A model with an encoding."""
    options = {"lam": "auto", "n_hidden": 4, "max_iter": 60, "n_networks": 2} | parameters
    model, X = fitted(encoding=encoding, **options)
    assert model._scaling.encoding is not None
    return model, X


def test_an_encoding_comes_back_to_the_bit(path):
    X, _ = make_data(n=60, d=2)
    given = Encoding.fit(X, None, 5)
    model, X = behind(given)
    again = through(model, path)
    far = np.vstack([X, 1e6 * X])
    np.testing.assert_array_equal(again.predict(far), model.predict(far))
    np.testing.assert_array_equal(again.encode(X), model.encode(X))
    assert again.n_features_in_ == 2
    assert len(again.A_) == 1 + len(given.inputs)
    for one in (again.encoding, again._scaling.encoding):
        for name in ("centre", "scale", "column", "low", "high"):
            found, expected = getattr(one, name), getattr(given, name)
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    np.testing.assert_array_equal(clone(again).fit(*make_data(n=60)).predict(X), model.predict(X))


def test_intervals_of_the_output_layer_alone_come_back(path, monkeypatch):
    monkeypatch.setattr("anmin.inspect.intervals.LARGEST", 20)
    model, X = behind("auto", intervals=True)
    again = through(model, path)
    assert len(again._intervals.root) == model.n_hidden_ + 1
    for one, other in zip(again.predict(X, True), model.predict(X, True), strict=True):
        np.testing.assert_array_equal(one, other)


def test_encodings_that_are_wrong(path):
    model, _ = behind(Encoding.fit(make_data(n=60)[0], None, 5))
    model.save(path)
    facts, arrays = contents(path)
    for prefix in ("encoding_", "given_encoding_"):
        names = [name for name in arrays if name.startswith(prefix)]
        assert len(names) == 5
        for name in names:
            others = {k: v for k, v in arrays.items() if k != name}
            refused(path, pack(facts, others), "encoding is incomplete")
            W = arrays[name]
            for bad in (np.vstack([W, W]), np.append(W, W[-1]), np.zeros((0, 2**40)), W[:0]):
                refused(path, pack(facts, arrays | {name: bad}), "shapes of its encoding")
        for value in (-1.0, 2.0, 0.5, 1e300):
            column = arrays[f"{prefix}column"].copy()
            column[0] = value
            refused(path, pack(facts, arrays | {f"{prefix}column": column}), "belongs to no input")
        high, low = arrays[f"{prefix}high"], np.full_like(arrays[f"{prefix}low"], -1.7e308)
        for wrong in (
            {"scale": np.zeros(2)}, {"scale": np.array([1.0, -1.0])}, {"low": high},
            {"high": arrays[f"{prefix}low"]}, {"low": low, "high": -low},
        ):  # fmt: skip
            bad = {prefix + name: value for name, value in wrong.items()}
            refused(path, pack(facts, arrays | bad), "a scale or a hinge of its encoding")
    without = {k: v for k, v in arrays.items() if not k.startswith("encoding_")}
    path.write_bytes(pack(facts | {"importances": []}, without))
    assert load_model(path).n_features_in_ == len(model.A_) - 1  # another model, but a sound one
    fewer = {
        f"encoding_{name}": arrays[f"encoding_{name}"][:-1] for name in ("column", "low", "high")
    }
    refused(path, pack(facts, arrays | fewer), "does not go with its network")


def test_arrays_that_do_not_go_together(path, good):
    facts, arrays = unpack(io.BytesIO(good), len(good))
    for name, W in arrays.items():
        refused(
            path, pack(facts, {k: v for k, v in arrays.items() if k != name}), "cannot be loaded"
        )
        refused(path, pack(facts, arrays | {name: np.vstack([W, W])}), "cannot be loaded")
        refused(path, pack(facts, arrays | {name: np.zeros((0, 2**40))}), "cannot be loaded")
    refused(path, pack(facts, arrays | {"more": np.zeros(1)}), "unknown here: more")
    refused(path, pack(facts, arrays | {"x_scale": np.zeros(2)}), "not positive")
    refused(path, pack(facts, arrays | {"noise": np.array([-1.0])}), "do not go with")


def test_what_travels_with_a_model_ends_with_the_next_fit(tmp_path):
    save_model(fitted()[0], tmp_path / "m.anmin", {"target": "price"})
    again = load_model(tmp_path / "m.anmin")
    assert again.extra_ == {"target": "price"}
    X, y = make_data(n=60, d=3)
    assert not hasattr(again.fit(X, y), "extra_")
