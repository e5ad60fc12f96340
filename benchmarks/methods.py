"""The methods by name. Each is a function (split, budget) -> Fit, imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from benchmarks.cases import Split
from benchmarks.record import Budget, Fit, SkippedError

Method = Callable[[Split, Budget], Fit]

OURS = {
    "anmin": "ours:anmin",
    "varpro": "ours:varpro",
    "default": "ours:default",
    "trees": "ours:trees",
    "single": "ours:single",
    "sized": "ours:sized",
    "compact": "ours:compact",
    "averaged": "ours:averaged",
    "anmin-direct": "ours:anmin_direct",
    "anmin-cg": "ours:anmin_cg",
    "varpro-direct": "ours:varpro_direct",
    "varpro-cg": "ours:varpro_cg",
    "varpro-wide": "ours:varpro_wide",
}
ON_CARD = {
    "anmin-cuda-cg": "ours_cuda:anmin_cg",
    "varpro-cuda-cg": "ours_cuda:varpro_cg",
    "anmin-cuda-cholesky": "ours_cuda:anmin_cholesky",
    "varpro-cuda-cholesky": "ours_cuda:varpro_cholesky",
    "varpro-cuda-wide": "ours_cuda:varpro_wide",
    "adam-cuda": "rivals.torch_cuda:adam_cuda",
    "adam-cuda-graph": "rivals.torch_cuda:adam_cuda_graph",
}
RIVALS = {
    "paper-torch-dataloader": "rivals.paper_torch:dataloader",
    "paper-torch-slices": "rivals.paper_torch:slices",
    "paper-torch-gemm": "rivals.paper_torch:gemm",
    "sgd-paper": "rivals.torch_gradient:sgd_paper",
    "adam-paper": "rivals.torch_gradient:adam_paper",
    "adam-scaled": "rivals.torch_gradient:adam_scaled",
    "lbfgs": "rivals.mlp:lbfgs",
    "mlp-default": "rivals.mlp:mlp_default",
    "mlp-adam": "rivals.mlp:mlp_adam",
    "mlp-lbfgs": "rivals.mlp:mlp_lbfgs",
    "hgb": "rivals.hgb:hgb",
    "ridge": "rivals.ridge:ridge",
    "reduced-rank": "rivals.reduced_rank:reduced_rank",
    "pyscnn": "rivals.pyscnn:pyscnn",
    "torch-lm": "rivals.torch_lm:torch_lm",
}
PEERS = {  # that people use on tables; the packages are in the extra `bench`
    "catboost": "rivals.trees:catboost",
    "xgboost": "rivals.trees:xgboost",
    "lightgbm": "rivals.trees:lightgbm",
    "realmlp": "rivals.tabular_nets:realmlp",
    "tabm": "rivals.tabular_nets:tabm",
    "gp": "rivals.gaussian_process:gaussian_process",
}
METHODS = OURS | RIVALS | PEERS | ON_CARD


def method(name: str) -> Method:
    """The function behind a name."""
    if name not in METHODS:
        raise ValueError(f"There is no method {name!r}; known are {', '.join(METHODS)}.")
    module, function = METHODS[name].split(":")
    return getattr(import_module(f"{__package__}.{module}"), function)


def train(name: str, split: Split, budget: Budget) -> Fit:
    """Run a method; SkippedError where a package that it needs is missing."""
    try:
        return method(name)(split, budget)
    except ModuleNotFoundError as error:
        raise SkippedError(f"{name} needs {error.name}, which is not installed") from error
