"""The convergence report: its facts against slow arithmetic, its words, its file form."""

import json
import pickle
import re
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import in_solver, make_data, standardised
from estimators.test_odd_input import FINE, regressor
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from anmin import ANMINClassifier, ANMINRegressor
from anmin.history import Fit
from anmin.inspect import Report, audit
from anmin.inspect.report import SMALL, status_of
from anmin.model_file import ModelFileError
from anmin.model_file.values import read_record
from anmin.solvers import Algorithm1, Problem, VarPro
from anmin.sources import ArraySource, Scaling
from anmin.status import Status

SETTINGS = {"n_hidden": 6, "lam": 1e-3, "max_iter": 40, "random_state": 0}
VARIETY = {
    "plain": {},
    "many outputs": {"q": 3},
    "weights": {"weighted": True},
    "leaky": {"slope": 0.1},
    "raw": {"standardize": False},
    "all": {"q": 2, "weighted": True, "slope": 0.05},
    "algorithm 1": {"solver": "anmin", "max_iter": 4},
}
variety = pytest.mark.parametrize("case", VARIETY.values(), ids=VARIETY.keys())


def fit(X, y, w=None, **kwargs):
    return ANMINRegressor(**in_solver(**(SETTINGS | kwargs))).fit(X, y, sample_weight=w)


def fitted(q=1, weighted=False, n=200, **kwargs):
    """A model, and its rows as Eq. (1) has them, times √w / √Σw."""
    X, y = make_data(n, 3, q)
    w = np.random.default_rng(1).uniform(0.2, 3.0, n) if weighted else None
    model = fit(X, y, w, **kwargs)
    X1, Y = standardised(X, y, w)
    if not kwargs.get("standardize", True):
        X1, Y = np.column_stack([np.ones(n), X]), y.reshape(n, -1)
    root = np.sqrt(np.ones(n) / n if w is None else w / w.sum())[:, None]
    return model, X1 * root, Y * root


def frozen(model, X):
    """Eq. (1) with the firing pattern of the model held, as a function of A and W."""
    F = np.where(X @ model.A_ > 0, 1.0, model.slope)

    def loss(A, W, Y):
        R = Y - (F * (X @ A)) @ W[:-1] - X[:, :1] * W[-1]
        return (R**2).sum() + model.lam_ * ((A**2).sum() + (W**2).sum())

    return loss, F


def best_gain(parabola):
    """How much f(t) of a parabola can fall below f(0)."""
    low, here, high = (parabola(t) for t in (-1.0, 0.0, 1.0))
    slope, bend = (high - low) / 2, (high + low) / 2 - here
    return slope**2 / (4 * bend)


# ---- gradient -----------------------------------------------------------------------------------


@variety
def test_gradient_against_finite_differences(case):
    model, X, Y = fitted(**case)
    loss, _ = frozen(model, X)
    A, W = model.A_, np.vstack([model.B_, model.b0_])
    slopes, gains = [], []
    for V in (A, W):
        for at in np.ndindex(V.shape):
            unit = np.zeros(V.shape)
            unit[at] = 1.0

            def along(t, unit=unit, V=V):
                return loss(A + t * unit, W, Y) if V is A else loss(A, W + t * unit, Y)

            slopes.append((along(1.0) - along(-1.0)) / 2)  # exact: it is a parabola
            gains.append(best_gain(along))
    report = model.report()
    assert report.gradient_norm == pytest.approx(np.linalg.norm(slopes), rel=1e-5, abs=1e-9)
    assert report.gradient_cosine**2 == pytest.approx(max(gains) / model.loss_, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("lam", ["auto", 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_converged_means_a_small_gradient(lam, seed):
    """The law: and it is said of every ordinary fit that was not cut short."""
    X, y = make_data(300, 3, seed=seed)
    model = fit(X, y, lam=lam, random_state=seed, max_iter=400)
    report = model.report()
    assert report.status == "converged"
    assert report.gradient_cosine**2 <= SMALL
    start = fit(X, y, lam=model.lam_, solver=Algorithm1(), max_iter=0, random_state=seed).report()
    assert report.gradient_norm < 0.1 * start.gradient_norm


def test_a_large_gradient_is_never_called_converged():
    X, y = make_data(300, 3)
    model = fit(X, y, solver=VarPro(tol=10.0), max_iter=400)  # content with any gain
    report = model.report()
    assert report.status == ("converged" if report.gradient_cosine**2 <= SMALL else "settled")
    done = Fit(model._network, model.loss_, model.history_, Status.CONVERGED, model.lam_)
    assert status_of(done, cosine=0.1)[0] == "settled"


# ---- hidden system ------------------------------------------------------------------------------


@variety
def test_hidden_gain_is_that_of_the_best_hidden_layer(case):
    """Theorem 1, solved as one tall least-squares problem."""
    model, X, Y = fitted(**case)
    loss, F = frozen(model, X)
    A, B, W = model.A_, model.B_, np.vstack([model.B_, model.b0_])
    n, q = Y.shape
    Z = (F[:, :, None] * X[:, None, :]).reshape(n, -1)  # neuron-major
    J = np.vstack([Z * np.repeat(B[:, c], len(A)) for c in range(q)])
    y = (Y - X[:, :1] * W[-1]).T.ravel()
    ridge = np.sqrt(model.lam_) * np.eye(A.size)
    best = np.linalg.lstsq(np.vstack([J, ridge]), np.append(y, np.zeros(A.size)), None)[0]
    gain = 1 - loss(best.reshape(A.T.shape).T, W, Y) / loss(A, W, Y)
    report = model.report()
    assert report.hidden_gain == pytest.approx(gain, rel=1e-5, abs=1e-10)
    assert report.system_rank == np.linalg.matrix_rank(J)
    eigenvalues = np.linalg.eigvalsh(J.T @ J) + model.lam_
    exact = eigenvalues[-1] / eigenvalues[0]
    assert exact / 2 <= report.system_condition <= exact * A.size
    assert report.unknowns == A.size


# ---- what is not formed -------------------------------------------------------------------------


def test_a_large_system_is_not_formed(monkeypatch):
    monkeypatch.setattr(audit, "UNKNOWNS", 3)
    report = fit(*make_data(200, 3)).report()
    assert report.system_rows == 0
    assert " unknowns" in report.system_note
    assert report.system_rank is report.hidden_gain is None
    assert f"not formed: {report.system_note}" in " ".join(str(report).split())


def test_a_sample_is_stated(monkeypatch):
    X, y = make_data(900, 3)
    whole = fit(X, y).report()
    monkeypatch.setattr(audit, "FEWEST", 400)
    part = fit(X, y).report()
    assert (whole.system_rows, part.system_rows) == (900, 400)
    assert "from 400 rows" in str(part)
    assert part.gradient_norm == whole.gradient_norm
    assert part.hidden_gain == pytest.approx(whole.hidden_gain, rel=1.0, abs=1e-4)


def test_no_row_is_blown_up():
    """Working memory is far below that of the N × (d+1)h matrix Z."""
    X, y = make_data(30_000, 10)
    model = fit(X, y, n_hidden=30, solver="anmin", max_iter=0)
    source = ArraySource(X, y[:, None], None, Scaling.fit(X, y[:, None], None),
                         audit.NumpyBackend(), 4096)  # fmt: skip
    problem = Problem(source, 1e-3)
    problem.at(model.A_)  # the source has its batches
    tracemalloc.start()
    audit.audit(problem, model._network, 30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 30_000 * 330 / 2


# ---- units --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", ["auto", 1e-3])
def test_units_agree_with_the_model(lam):
    X, y = make_data(200, 3)
    model = fit(X, y, lam=lam, n_hidden=20)
    report = model.report()
    assert report.units == model.n_hidden_ == model.B_.shape[0]
    assert report.units_asked == 20
    assert report.units + report.removed <= 20


def test_removed_units_are_counted():
    report = replace(EASY, units_asked=64, units=59, removed=5)
    assert "59 of 64 asked for, 5 removed" in str(report)


def test_no_unit_at_all():
    X, _ = make_data(50, 2)
    model = ANMINRegressor(random_state=0).fit(X, np.full(50, 2.5))
    report = model.report()
    assert report.explained is None
    assert report.status == "converged"
    assert str(report)


# ---- the floor ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", ["auto", 1e-4])
def test_floor_is_the_residual_of_principal_components(lam):
    X, Y = make_data(200, 3, 5)
    Y = Y + np.random.default_rng(0).normal(size=Y.shape)
    report = fit(X, Y, n_hidden=2, lam=lam).report()
    pca = PCA(2).fit(Y)
    left = ((Y - pca.inverse_transform(pca.transform(Y))) ** 2).sum(1).mean()
    assert report.floor == pytest.approx(left)
    assert report.mse >= report.floor
    assert fit(X, Y, n_hidden=5, lam=lam).report().floor is None


# ---- invariance ---------------------------------------------------------------------------------

FACTS = [
    "loss", "mse", "explained", "gradient_norm", "gradient_cosine", "hidden_gain", "system_rank",
    "system_condition",
]  # fmt: skip


def start_facts(X, y, w=None, batch_size=100, **kwargs):
    solver = Algorithm1(batch_size=batch_size)
    report = fit(X, y, w, solver=solver, max_iter=0, **kwargs).report().as_dict()
    return [float(report[name]) for name in FACTS]


def test_a_weight_is_a_number_of_rows():
    X, y = make_data(100, 3, 2)
    k = np.random.default_rng(0).integers(1, 4, 100)
    one, other = start_facts(X, y, k), start_facts(np.repeat(X, k, axis=0), np.repeat(y, k, axis=0))
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_batches_do_not_matter():
    X, y = make_data(9000, 2)
    np.testing.assert_allclose(start_facts(X, y), start_facts(X, y, batch_size="auto"), rtol=1e-9)


def test_units_of_y_scale_the_losses_alone():
    X, y = make_data(200, 3)
    one = fit(X, y, lam="auto", max_iter=60).report()
    other = fit(X, 1000 * y, lam="auto", max_iter=60).report()
    powers = dict.fromkeys(FACTS, 0) | {"loss": 2, "mse": 2, "lam": 1, "gradient_norm": 1.5}
    for name, power in powers.items():
        expected = getattr(one, name) * 1000**power
        assert getattr(other, name) == pytest.approx(expected, rel=1e-3, abs=1e-9), name
    assert other.units == one.units
    assert other.loss == pytest.approx(fit(X, 1000 * y, lam="auto", max_iter=60).loss_)


def test_torch_finds_the_same(monkeypatch):
    torch = pytest.importorskip("torch")
    from anmin.backends.torch import TorchBackend

    torch.set_num_threads(1)
    X, y = make_data(200, 3, 2)
    ours = start_facts(X, y, slope=0.1)
    monkeypatch.setattr("anmin.base.get_backend", lambda *_: TorchBackend("cpu"))
    np.testing.assert_allclose(start_facts(X, y, slope=0.1), ours, rtol=1e-6)


# ---- status and history -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kwargs"),
    [
        ("out of iterations", {"max_iter": 1}),
        ("out of iterations", {"max_iter": 0}),
        ("out of time", {"max_time": 0.0, "max_iter": None}),
        ("out of time", {"max_time": 1e-9, "solver": "anmin"}),
        ("finished", {"solver": "anmin", "max_iter": 3}),
        ("degenerate", {"solver": Algorithm1(tau=1e6, degenerate="stop")}),
        ("converged", {"max_iter": 400}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_status(status, kwargs):
    report = fit(*make_data(200, 3), **kwargs).report()
    assert report.status == status
    assert report.message in str(report).replace("\n              ", " ")


def test_interrupted():
    model = fit(*make_data(100, 2), max_iter=2)
    done = Fit(model._network, model.loss_, model.history_, Status.INTERRUPTED, model.lam_)
    assert status_of(done, cosine=0.0) == ("interrupted", Status.INTERRUPTED.value)


STEPS = {Status.START, Status.SOLVED, Status.FLOORED, Status.REINITIALISED}  # they end no fit


@pytest.mark.parametrize("status", sorted(set(Status) - STEPS, key=str))
def test_every_status_has_a_name_and_its_own_message(status):
    name, message = status_of(SimpleNamespace(status=status, networks=1), cosine=0.0)
    assert name == name.lower()
    assert message == status.value
    assert not message.startswith(name)
    others = set(Status) - STEPS - {status}
    assert name not in {
        status_of(SimpleNamespace(status=s, networks=1), cosine=0.0)[0] for s in others
    }


def test_stopped_early():
    X, y = make_data(100, 3)
    y = np.random.default_rng(0).normal(size=100)  # nothing to learn
    model = fit(X, y, lam=1e-6, n_hidden=30, early_stopping=True, max_iter=400)
    report = model.report()
    assert report.status == "stopped early"
    assert report.explained == pytest.approx(model.score(X, y))
    assert report.loss >= report.mse


@pytest.mark.parametrize("kwargs", [{}, {"lam": "auto"}, {"solver": "anmin"}, {"max_iter": 0}])
def test_history_is_summed_up(kwargs):
    model = fit(*make_data(200, 3), **kwargs)
    report, curve = model.report(), model.loss_curve_
    assert report.steps == model.n_iter_
    assert report.loss == pytest.approx(model.loss_, rel=1e-9)
    assert report.lam == model.lam_
    assert report.mse == pytest.approx(model.history_[int(np.argmin(curve))].mse, rel=1e-6)
    assert report.seconds == model.history_[-1].seconds
    assert report.lam_chosen == (kwargs.get("lam") == "auto")
    assert 0 <= report.late_gain < 1


def test_explained_is_the_score():
    X, y = make_data(200, 3)
    model = fit(X, y)
    assert model.report().explained == pytest.approx(model.score(X, y))


def test_classifier_reports_too():
    X, y = load_iris(return_X_y=True)
    report = ANMINClassifier(n_hidden=8, random_state=0).fit(X, y).report()
    assert (report.rows, report.inputs, report.outputs) == (150, 4, 3)
    assert report.mse < 0.1


def test_report_needs_a_fit():
    with pytest.raises(NotFittedError):
        ANMINRegressor().report()


# ---- files and words ----------------------------------------------------------------------------

EASY = fit(*make_data(400, 3), n_hidden=4, max_iter=400).report()


def test_json_and_back():
    text = json.dumps(EASY.as_dict(), allow_nan=False)
    assert read_record(json.loads(text), "report", Report) == EASY
    assert json.loads(text)["advice"] == list(EASY.advice)
    assert pickle.loads(pickle.dumps(EASY)) == EASY


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", FINE.values(), ids=FINE.keys())
@pytest.mark.parametrize("solver", ["anmin", "varpro"])
def test_odd_input_gives_plain_numbers(case, solver):
    X, y, w, parameters = case
    model = regressor(**({"solver": solver} | parameters)).fit(X, y, sample_weight=w)
    report = model.report()
    values = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert read_record(values, "report", Report) == report
    assert "nan" not in str(report)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", 3), ("rows", 1.5), ("rows", True), ("rows", None), ("loss", "0"),
        ("value", ...), ("lam_chosen", 1), ("explained", "much"), ("floor", [1]),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused(name, value):
    values = EASY.as_dict() | {name: value}
    if value is ...:
        del values["loss"]
    with pytest.raises(ModelFileError, match=name):
        read_record(values, "report", Report)


def test_text_is_neat():
    lines = str(EASY).splitlines()
    assert max(map(len, lines)) <= 96
    labels = [line[:14].strip() for line in lines]
    assert [label for label in labels if label] == [
        "status", "data", "loss", "gradient", "steps", "units", "hidden system",
    ]  # fmt: skip
    assert repr(EASY) == str(EASY)


def test_a_gradient_that_overflows_is_said_to():
    assert "too large for a number" in str(replace(EASY, gradient_norm=None))


ADVICE = {
    "more time": ({"status": "out of time", "late_gain": 0.02}, "more time (max_time).* 2%"),
    "more steps": ({"status": "out of iterations", "late_gain": 0.02}, "more time (max_iter)"),
    "a slope": ({"status": "interrupted", "gradient_cosine": 0.1}, "more time (max_time).* 1%"),
    "path": ({"path_cut": True, "lam": 0.5}, "more time: it ran out while .* lam = 0.5"),
    "tol": ({"status": "settled", "gradient_cosine": 0.1}, "Lower tol.* 1%"),
    "singular": ({"system_condition": None, "system_rank": 5}, "Raise lam.*singular.*rank 5"),
    "condition": ({"system_condition": 1e14}, "Raise lam.*1.0e"),
    "noise": ({"rows": 10}, "held-out rows"),
    "fewer": ({"units_asked": 10, "removed": 6}, "Fewer units will do: 6 of 10.*n_hidden=4"),
    "floor": ({"floor": 1.0, "mse": 1.05}, "Use more units: 4 cannot"),
    "more": ({"explained": 0.5, "rows": 10_000}, "More units may help: all 4.*50.0%"),
}


@pytest.mark.parametrize(("facts", "text"), ADVICE.values(), ids=ADVICE.keys())
def test_advice_follows_from_a_fact(facts, text):
    assert EASY.advice == ()
    (line,) = replace(EASY, **facts).advice
    words = text.replace("(", r"\(").replace(")", r"\)")
    assert re.search(words, line)
    assert line in " ".join(str(replace(EASY, **facts)).split())


QUIET = {
    "time spent, loss flat": {"status": "out of time", "late_gain": 1e-5},
    "lam was chosen": {"rows": 10, "lam_chosen": True},
    "units were chosen": {"units_asked": 64, "removed": 9, "lam_chosen": True},
    "not formed": {"system_rows": 0, "system_condition": None},
    "far from the floor": {"floor": 1.0, "mse": 2.0},
    "room for more units": {"explained": 0.5, "rows": 10_000, "units_asked": 9},
    "too few rows for more": {"explained": 0.5, "rows": 100},
}


@pytest.mark.parametrize("facts", QUIET.values(), ids=QUIET.keys())
def test_no_advice_without_a_reason(facts):
    assert replace(EASY, **facts).advice == ()


def test_a_penalty_path_that_is_cut_short_is_said_to_be():
    X, y = make_data(300, 3)
    hurried = fit(X, y, lam="auto", max_iter=12).report()
    assert hurried.path_cut
    assert any("penalties below lam" in line for line in hurried.advice)
    assert not fit(X, y, lam="auto", max_iter=400).report().path_cut
    assert not fit(X, y, lam=1e-3).report().path_cut


def test_advice_of_real_fits():
    X, y = make_data(300, 3)
    greedy = fit(X[:40], y[:40], n_hidden=30, lam=0.0, max_iter=3)
    assert sum("aise lam" in line for line in greedy.report().advice) == 2
