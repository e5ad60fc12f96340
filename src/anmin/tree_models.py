"""Fitted ensembles of trees, of whatever library, as splits.

A model is known by what it offers, so that no library is imported here: `_predictors` (histogram
boosting of scikit-learn), `tree_` and `estimators_` (its other trees), `dump_model` (LightGBM),
`get_dump` (XGBoost), `tree_count_` (CatBoost).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

EXPECTED = (
    'init must be an array, "random", "trees", or a fitted ensemble of trees of scikit-learn, '
    "LightGBM, XGBoost or CatBoost; got {}."
)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows with x_input ≤ threshold go left, the others right; a child that is None is a leaf.

    `input` is None where a split is no threshold on one input, but one of categories.
    """

    input: int | None
    threshold: float
    gain: float
    left: Split | None = None
    right: Split | None = None


Trees = list[Split | None]


def trees_of(model: Any) -> list[Split]:
    """The first splits of the trees of a fitted ensemble.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from anmin.tree_models import trees_of
    >>> [tree] = trees_of(DecisionTreeRegressor().fit([[0], [1], [5]], [0, 0, 1]))
    >>> tree.input, tree.threshold
    (0, 3.0)
    """
    if type(model).__name__ == "FrozenEstimator":  # what keeps a fitted model fitted in a clone
        model = model.estimator
    for read in (hist_boosting, sklearn_trees, lightgbm, xgboost, catboost):
        found = read(model)
        if found is not None:
            return [tree for tree in found if tree is not None]
    state = " that is not fitted" if hasattr(model, "fit") else ""
    raise ValueError(EXPECTED.format(f"{type(model).__name__}{state}"))


# ---- scikit-learn -------------------------------------------------------------------------------


def hist_boosting(model: Any) -> Trees | None:
    """HistGradientBoostingRegressor and -Classifier."""
    stages = getattr(model, "_predictors", None)
    if stages is None:
        return None
    place = np.arange(model.n_features_in_)
    if model.is_categorical_ is not None:  # categories come first in it
        place = np.argsort(~model.is_categorical_, kind="stable")
    return [hist_tree(tree.nodes, 0, place) for stage in stages for tree in stage]


def hist_tree(nodes: np.ndarray, k: int, place: np.ndarray) -> Split | None:
    node = nodes[k]
    if node["is_leaf"]:
        return None
    where = None if node["is_categorical"] else int(place[node["feature_idx"]])
    below = (hist_tree(nodes, int(node[side]), place) for side in ("left", "right"))
    return Split(where, float(node["num_threshold"]), float(node["gain"]), *below)


def sklearn_trees(model: Any) -> Trees | None:
    """A decision tree, a forest, or GradientBoosting."""
    trees = getattr(model, "estimators_", [model] if hasattr(model, "tree_") else [])
    trees = list(np.ravel(np.asarray(trees, dtype=object)))
    if not trees or not all(hasattr(tree, "tree_") for tree in trees):
        return None
    return [array_tree(tree.tree_, 0) for tree in trees]


def array_tree(tree: Any, k: int) -> Split | None:
    left, right = int(tree.children_left[k]), int(tree.children_right[k])
    if left < 0:
        return None
    part = tree.weighted_n_node_samples * tree.impurity
    gain = float(part[k] - part[left] - part[right])
    below = array_tree(tree, left), array_tree(tree, right)
    return Split(int(tree.feature[k]), float(tree.threshold[k]), gain, *below)


# ---- other libraries ----------------------------------------------------------------------------


def lightgbm(model: Any) -> Trees | None:
    booster: Any = model if hasattr(model, "dump_model") else getattr(model, "booster_", None)
    if not hasattr(booster, "dump_model") or hasattr(booster, "get_dump"):
        return None
    return [leafwise(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]


def leafwise(node: dict[str, Any]) -> Split | None:
    if "split_feature" not in node:
        return None
    numeric = node["decision_type"] == "<="
    below = leafwise(node["left_child"]), leafwise(node["right_child"])
    threshold = float(node["threshold"]) if numeric else 0.0
    where = int(node["split_feature"]) if numeric else None
    return Split(where, threshold, float(node["split_gain"]), *below)


def xgboost(model: Any) -> Trees | None:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "get_dump"):
        return None
    names = booster.feature_names or [f"f{j}" for j in range(booster.num_features())]
    place = {name: j for j, name in enumerate(names)}
    dumps = booster.get_dump(dump_format="json", with_stats=True)
    return [levelwise(json.loads(tree), place) for tree in dumps]


def levelwise(node: dict[str, Any], place: dict[str, int]) -> Split | None:
    if "children" not in node:
        return None
    child = {below["nodeid"]: levelwise(below, place) for below in node["children"]}
    below, gain = (child[node["yes"]], child[node["no"]]), float(node.get("gain", 1.0))
    condition = node.get("split_condition", 1.0)  # none for one of 0 and 1
    if isinstance(condition, list):
        return Split(None, 0.0, gain, *below)
    threshold = float(np.nextafter(np.float32(condition), np.float32(-np.inf)))  # x < condition
    return Split(place[node["split"]], threshold, gain, *below)


def catboost(model: Any) -> Trees | None:
    """Trees with one split a level, or others, from the file that CatBoost writes."""
    if not hasattr(model, "save_model") or not getattr(model, "tree_count_", None):
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        found = json.loads(path.read_text(encoding="utf-8"))
    inputs = found["features_info"].get("float_features", [])
    place = {each["feature_index"]: each["flat_feature_index"] for each in inputs}
    if "oblivious_trees" in found:
        return [oblivious(tree, place) for tree in found["oblivious_trees"]]
    return [nested(tree, place) for tree in found["trees"]]


def oblivious(tree: dict[str, Any], place: dict[int, int]) -> Split | None:
    """A tree with the same split for all of a level: bit k of a leaf is the side at split k."""
    depth = len(tree["splits"])
    values = np.reshape(tree["leaf_values"], (2,) * depth + (-1,))
    weights = np.reshape(tree.get("leaf_weights", np.ones(2**depth)), (2,) * depth + (1,))
    below = None
    for k in reversed(range(depth)):
        (v0, v1), (w0, w1) = (np.moveaxis(V, depth - 1 - k, 0) for V in (values, weights))
        gain = float((w0 * w1 / np.maximum(w0 + w1, 1e-300) * (v1 - v0) ** 2).sum())
        where, border = catboost_split(tree["splits"][k], place)
        below = Split(where, border, gain, below, below)
    return below


def nested(node: dict[str, Any], place: dict[int, int]) -> Split | None:
    if "split" not in node:
        return None
    where, border = catboost_split(node["split"], place)
    return Split(where, border, 1.0, nested(node["left"], place), nested(node["right"], place))


def catboost_split(split: dict[str, Any], place: dict[int, int]) -> tuple[int | None, float]:
    if split["split_type"] != "FloatFeature":
        return None, 0.0
    return place[split["float_feature_index"]], float(split["border"])
