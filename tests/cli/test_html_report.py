"""The report page: every section and picture is there, and nothing is fetched from elsewhere."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason='the page needs the extra "cli"')
pytest.importorskip("typer", reason='the page needs the extra "cli"')

from anmin import ANMINClassifier, ANMINRegressor
from anmin.cli.columns import Inputs
from anmin.cli.measures import LabelledRows, errors
from anmin.cli.page import Subject, report_page
from anmin.cli.schema import FitSummary, Schema

pytestmark = pytest.mark.slow

JUDGED = ["errors", "dependence", "making"]
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
    return X, np.abs(X[:, 0]) + 0.1 * X[:, -1]


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
    assert page.sections == ["making"]
    assert page.pictures == {}


def test_with_rows_the_page_judges_the_model(model):
    text = page_of(model, LabelledRows(*rows()))
    page = check_page(text)
    assert page.sections == JUDGED
    counts = {name: len(found) for name, found in page.pictures.items()}
    assert counts == {"dependence": 3}
    found = errors(model, LabelledRows(*rows()))["y"]
    assert f"{found['mse']:#.4g}" in text
    for words in ("MSE", "R²", "multiply-adds a row", "gradient"):
        assert words in text


@pytest.mark.parametrize("classes", [2, 3, 14])
def test_a_classifier_is_judged_by_accuracy_and_log_loss(classes):
    X, y = rows(n=300)
    label = np.array([f"class {k}" for k in range(classes)])
    target = label[np.searchsorted(np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]), y)]
    model = ANMINClassifier(6, lam=1e-3, max_iter=10, random_state=0).fit(X, target)
    text = page_of(model, LabelledRows(X, target), ("kind",))
    page = check_page(text)
    assert page.sections == JUDGED
    assert "accuracy" in text
    assert "log-loss" in text


def test_many_outputs_and_weights():
    X, y = rows()
    Y = np.column_stack([y, -y])
    model = ANMINRegressor(4, lam=1e-3, max_iter=5, random_state=0).fit(X, Y)
    page = check_page(page_of(model, LabelledRows(X, Y, np.ones(len(X))), ("up", "down")))
    assert page.sections == JUDGED


def test_names_cannot_break_the_page():
    X, y = rows()
    names = ["<script>alert(1)</script>", 'a"b & $x$ $', "–" * 60]
    model = ANMINRegressor(4, lam=1e-3, max_iter=5, random_state=0).fit(X, y)
    summary = FitSummary("<u>.csv", 150, 0, False, False, 1.0, {"<i>": {"mse": 1.0}}, {})
    schema = Schema(Inputs(tuple(names)), ("<i>",), summary=summary)
    page = check_page(report_page(Subject(model, schema, LabelledRows(X, y), "<b> $body")))
    assert page.sections[0] == "errors"


def test_a_constant_column_and_a_network_without_units():
    X = np.column_stack([np.ones(30), np.arange(30.0)])
    model = ANMINRegressor(4, random_state=0).fit(X, np.ones(30))
    page = check_page(page_of(model, LabelledRows(X, np.ones(30))))
    assert len(page.pictures["dependence"]) == 1


def test_the_input_that_counts_comes_first():
    X = np.random.default_rng(0).normal(size=(60, 40))
    model = ANMINRegressor(3, lam=1e-2, max_iter=3, random_state=0).fit(X, X[:, 7])
    shown = check_page(page_of(model, LabelledRows(X, X[:, 7]))).pictures["dependence"]
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
