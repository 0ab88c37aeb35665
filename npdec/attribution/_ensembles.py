"""Shapley values of fitted ensembles of trees, which SHAP's TreeExplainer computes from the trees themselves.

Where `shap` is installed, what a forest predicts is not asked of for all coalitions: the interventional values of
Lundberg et al. ("From local explanations to global understanding with explainable AI for trees", 2020) are the same
numbers, at a cost that grows with the leaves. What TreeExplainer gives is believed where it adds up.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from npdec.attribution._problem import Found, Problem

__all__ = ["shapley"]

_REGRESSORS = frozenset(
    "DecisionTreeRegressor ExtraTreeRegressor RandomForestRegressor ExtraTreesRegressor GradientBoostingRegressor "
    "HistGradientBoostingRegressor".split()
)
_FORESTS = frozenset("DecisionTreeClassifier ExtraTreeClassifier RandomForestClassifier ExtraTreesClassifier".split())
_BOOSTED = frozenset("GradientBoostingClassifier HistGradientBoostingClassifier".split())
_METHODS = {"predict": _REGRESSORS, "predict_proba": _FORESTS, "decision_function": _BOOSTED}
_CLOSE = 1e-6  # of the largest magnitude


def _ensemble(f: Any) -> Any:
    """The fitted ensemble of scikit-learn's of which f is a method that adds up its trees; None for other functions."""
    owner = getattr(f, "__self__", None)
    known = _METHODS.get(getattr(f, "__name__", ""), ())
    return owner if type(owner).__module__.startswith("sklearn.") and type(owner).__name__ in known else None


def _refusals() -> tuple[type[Exception], ...]:
    """What SHAP says of models that it cannot read: errors of its own, and of Python where a check of it fails."""
    import shap

    own: Any = shap.utils._exceptions
    return own.ExplainerError, own.DimensionError, ValueError, NotImplementedError, AssertionError


def shapley(problem: Problem, baselines: list[torch.Tensor]) -> Found | None:
    """The Shapley values over the baselines, tensors of the shape of the input, one after the other. None where the
    function is no such method, elements are joined to groups, or SHAP is not installed or does not add up."""
    model, output = _ensemble(problem.f), problem.output
    values = problem.values
    if model is None or problem.member is not None or len(values) != 1 or values[0].dim() != 1 or problem.graph:
        return None
    if not (output is None or isinstance(output, int)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it deprecates as it is loaded
        try:
            import shap
        except ImportError:
            return None
    rows = torch.stack(baselines)
    value, starts = problem.many([values[0][None]])[0], problem.many([rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            explainer = shap.TreeExplainer(model, rows.double().numpy(), feature_perturbation="interventional")
            made: Any = explainer.shap_values(values[0][None].double().numpy(), check_additivity=False)
        except _refusals():  # an ensemble that this version of it cannot read: coalitions say the same
            return None
    found = torch.as_tensor(made)[0]
    if found.dim() == 2:
        if output is None:
            return None
        found = found[:, output]
    residual = starts.mean(0)
    missed = (value - residual - found.sum()).abs()
    if found.shape != values[0].shape or not missed <= _CLOSE * max(float(value.abs()), float(starts.abs().max())):
        return None
    return Found(value, residual, found.to(value.dtype))
