"""The report page: every section and picture is there, and nothing is fetched from elsewhere."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib", reason='the page needs the extra "cli"')
pytest.importorskip("typer", reason='the page needs the extra "cli"')

from anmin import ANMINClassifier, ANMINRegressor
from anmin.cli.measures import errors
from anmin.cli.page import report_page
from anmin.cli.roles import LabelledRows
from anmin.cli.schema import FitSummary, Schema
from anmin.cli.subject import Subject

pytestmark = pytest.mark.slow

JUDGED = ["verdict", "failures", "importance", "dependence", "residuals", "making"]
VOID = {"meta", "br", "img", "link", "input"}


class Page(HTMLParser):
    """What is on a page: sections with their headings and pictures, ids, links, balance."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.ids, self.links, self.stack, self.pictures = [], [], [], [], {}
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.stack.append(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [v for k, v in attrs.items() if k in ("src", "href", "xlink:href") and v]
        if tag == "section":
            self.sections.append(attrs["id"])
        if tag == "svg" and attrs.get("role") == "img":
            assert attrs["aria-label"]
            self.pictures.setdefault(self.sections[-1], []).append(attrs["aria-label"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def rows(d=3, n=150):
    X = np.random.default_rng(0).uniform(-2, 2, (n, d))
    return frame(X), np.abs(X[:, 0]) + 0.1 * X[:, -1]


def frame(X):
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


@pytest.fixture(scope="module")
def model():
    return ANMINRegressor(6, random_state=0, max_iter=60).fit(*rows())


def page_of(model, rows=None, targets=()):
    """The page of a model that knows nothing of a table but the names of its targets."""
    schema = Schema.of(model)
    return report_page(Subject(model, replace(schema, targets=targets or schema.targets), rows))


def check_page(text):
    """What holds for every page."""
    page = Page(text)
    assert len(page.ids) == len(set(page.ids)), "an id occurs twice"
    assert all(link.startswith(("#", "data:")) for link in page.links), "a link leads elsewhere"
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    referred = set(re.findall(r"url\(#([^)]+)\)", text))
    assert referred <= set(page.ids), "a clip path is missing"
    assert "<script" not in text
    assert not re.search(r"url\((?!#)|@import", text)
    assert "#010203" not in text
    return page


def test_without_rows_the_page_shows_what_the_model_knows(model):
    page = check_page(page_of(model))
    assert page.sections == ["importance", "making"]
    assert list(page.pictures) == ["importance"]


def test_with_rows_the_page_judges_the_model(model):
    text = page_of(model, LabelledRows(*rows()))
    page = check_page(text)
    assert page.sections == JUDGED
    counts = {name: len(found) for name, found in page.pictures.items()}
    assert counts == {"importance": 1, "dependence": 3, "residuals": 2}
    found = errors(model, LabelledRows(*rows()))["y"]
    assert f"{found['rmse']:#.4g}" in text
    for words in ("RMSE", "R²", "multiply-adds a row", "gradient"):
        assert words in text
    assert text.index("<h2>Verdict") < text.index("Where it fails") < text.index("<details>")
    assert "gradient" not in text[: text.index("<details>")]


@pytest.mark.parametrize("classes", [2, 3, 14])
def test_a_classifier_is_judged_by_accuracy_and_log_loss(classes):
    X, y = rows(n=300)
    label = np.array([f"class {k}" for k in range(classes)])
    target = label[np.searchsorted(np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]), y)]
    model = ANMINClassifier(6, lam=1e-3, max_iter=10, random_state=0).fit(X, target)
    text = page_of(model, LabelledRows(X, target), ("kind",))
    page = check_page(text)
    assert page.sections == [name for name in JUDGED if classes < 14 or name != "residuals"]
    assert "accuracy" in text
    assert "log-loss" in text
    assert "class" in page.pictures["dependence"][0] or "x0" in page.pictures["dependence"][0]


def test_many_outputs_and_weights():
    X, y = rows()
    Y = np.column_stack([y, -y])
    model = ANMINRegressor(4, lam=1e-3, max_iter=5, random_state=0).fit(X, Y)
    page = check_page(page_of(model, LabelledRows(X, Y, np.ones(len(X))), ("up", "down")))
    assert page.sections == JUDGED


def test_names_cannot_break_the_page():
    X, y = rows()
    names = ["<script>alert(1)</script>", 'a"b & $x$ $', "–" * 60]
    X.columns = names
    model = ANMINRegressor(4, lam=1e-3, max_iter=5, random_state=0).fit(X, y)
    summary = FitSummary("<u>.csv", 150, 0, False, False, 1.0, {"<i>": {"mse": 1.0}}, {})
    schema = Schema(tuple(names), ("<i>",), summary=summary)
    page = check_page(report_page(Subject(model, schema, LabelledRows(X, y), "<b> $body")))
    assert page.sections[0] == "verdict"


def test_a_constant_column_and_a_network_without_units():
    X = frame(np.column_stack([np.ones(30), np.arange(30.0)]))
    model = ANMINRegressor(4, random_state=0).fit(X, np.ones(30))
    page = check_page(page_of(model, LabelledRows(X, np.ones(30))))
    assert len(page.pictures["dependence"]) == 1
    assert "importance" not in page.pictures


def test_the_input_that_counts_comes_first():
    X = frame(np.random.default_rng(0).normal(size=(60, 40)))
    y = X["x7"].to_numpy()
    model = ANMINRegressor(3, lam=1e-2, max_iter=3, random_state=0).fit(X, y)
    shown = check_page(page_of(model, LabelledRows(X, y))).pictures["dependence"]
    assert shown[0] == "Dependence on x7"
    assert len(shown) == 6


def test_errors_are_those_of_scikit_learn(model):
    from sklearn import metrics

    X, y = rows()
    w = np.linspace(1, 2, len(y))
    found, said = errors(model, LabelledRows(X, y, w))["y"], model.predict(X)
    assert found["mse"] == pytest.approx(metrics.mean_squared_error(y, said, sample_weight=w))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y, said, sample_weight=w))
    assert found["r2"] == pytest.approx(metrics.r2_score(y, said, sample_weight=w))
    flat = np.full(len(X), y[0])
    assert errors(model, LabelledRows(X, flat))["y"]["r2"] == 0
    assert (
        errors(model, LabelledRows(X[:1], y[:1]))["y"]["r2"] == 0
    )  # scikit-learn has none for one row


# ---- where it fails, what it relies on ----------------------------------------------------------


def spoilt(n=600):
    """Rows of a noisy town, with gaps, a date, and a range that grows."""
    rng = np.random.default_rng(0)
    X = frame(rng.uniform(-1, 1, (n, 2)))
    X["town"] = rng.choice(["Ulm", "Bonn", "a town of a very long name, far from everything"], n)
    X["day"] = pd.date_range("2020-01-01", periods=n)
    y = X["x0"].to_numpy() + np.where(X["town"] == "Bonn", 5 * rng.normal(size=n), 0)
    X.loc[::9, "x1"] = np.nan
    return X, y + 1e6


@pytest.fixture(scope="module")
def mixed():
    X, y = spoilt()
    return ANMINRegressor(4, lam=1e-2, max_iter=5, random_state=0).fit(X, y)


def test_the_group_that_fails_is_found(mixed):
    from anmin.cli.findings import Findings

    found = Findings(mixed, LabelledRows(*spoilt()))
    group = found.weak_groups()[0]
    assert group.name == "town = Bonn"
    assert group.times > 1.2
    worst = found.worst_rows()
    assert (found.losses[worst[0]] >= found.losses).all()
    X, _ = spoilt()
    assert set(X["town"].iloc[worst]) == {"Bonn"}
    ((name, outside),) = found.outside({"x0": {"min": -0.9, "max": 2.0}})
    assert name == "-0.9 to 2"
    assert outside.rows == (X["x0"] < -0.9).sum()


def test_importance_and_dependence_follow_the_columns(mixed):
    from anmin.cli.findings import Findings

    found = Findings(mixed, LabelledRows(*spoilt()))
    assert set(found.importance) == set(spoilt()[0])
    values, means = found.dependence("x0")
    assert np.corrcoef(values, means)[0, 1] > 0.9
    levels, means = found.dependence("town")
    assert len(levels) == len(means) == 3


def test_labels_on_axes_never_overlap(mixed, monkeypatch):
    from matplotlib.figure import Figure

    seen = []

    def check(self, *args, **kwargs):
        self.canvas.draw()
        for axis in (axis for ax in self.axes for axis in (ax.xaxis, ax.yaxis)):
            boxes = [t.get_window_extent() for t in axis.get_ticklabels() if t.get_text()]
            seen.append(len(boxes))
            for a, b in pairwise(boxes):
                assert not a.overlaps(b), [t.get_text() for t in axis.get_ticklabels()]
        return original(self, *args, **kwargs)

    original = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", check)
    check_page(page_of(mixed, LabelledRows(*spoilt())))
    assert max(seen) > 2


def test_training_rows_are_recognised(mixed):
    from anmin.cli.schema import PRINTS, fewest, prints_of, share_seen

    X, y = spoilt(3 * PRINTS)
    whole, half = LabelledRows(X, y), LabelledRows(X[::2], y[::2])
    others = LabelledRows(X.assign(x0=X["x0"] + 1), y)
    known = fewest(prints_of(half))
    assert len(known) == 16 * PRINTS
    assert share_seen(half, known) == 1
    assert share_seen(others, known) == 0
    assert share_seen(whole, known) == pytest.approx(0.5, abs=0.05)
    assert np.isnan(share_seen(whole, ""))
    few = LabelledRows(X[:20], y[:20])
    assert share_seen(few.part(np.arange(5, 25) % 20), fewest(prints_of(few))) == 1
