"""Fitted transformers of scikit-learn that stand before an estimator in a pipeline, in NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import npdec as np

__all__ = ["Function", "Untranslated", "transformed"]

Function = Callable[[Any], Any]


class Untranslated(Exception):
    """An estimator that is not known, or not in this use; the message says why."""


def transformed(step: Any) -> Function:
    """A fitted transformer as a function of x (..., columns). Raises Untranslated for one that is not known."""
    kind = type(step).__name__
    if step is None or kind == "str":  # "passthrough"
        return lambda x: x
    if kind in _MAKERS:
        return _MAKERS[kind](step)
    raise Untranslated(f"a {kind} before the estimator is not known: {', '.join(_MAKERS)} are")


def _standard(step: Any) -> Function:
    mean = 0.0 if step.mean_ is None or not step.with_mean else np.array(step.mean_)
    scale = 1.0 if step.scale_ is None or not step.with_std else np.array(step.scale_)
    return lambda x: (x - mean) / scale


def _between(step: Any) -> Function:
    scale, start = np.array(step.scale_), np.array(step.min_)
    low, high = step.feature_range
    return (lambda x: np.clip(x * scale + start, low, high)) if step.clip else lambda x: x * scale + start


def _robust(step: Any) -> Function:
    center = 0.0 if step.center_ is None else np.array(step.center_)
    scale = 1.0 if step.scale_ is None else np.array(step.scale_)
    return lambda x: (x - center) / scale


def _largest(step: Any) -> Function:
    scale = np.array(step.scale_)
    return lambda x: x / scale


def _principal(step: Any) -> Function:
    axes, mean = np.array(step.components_).T, np.array(step.mean_)
    size = np.sqrt(np.array(step.explained_variance_)) if step.whiten else 1.0
    return lambda x: ((x - mean) @ axes) / size


def _polynomial(step: Any) -> Function:
    powers = step.powers_.tolist()

    def products(x: Any) -> Any:
        columns = []
        for row in powers:
            made = np.ones(x.shape[:-1])
            for i, power in enumerate(row):
                for _ in range(power):
                    made = made * x[..., i]
            columns.append(made)
        return np.stack(columns, axis=-1)

    return products


def _chosen(step: Any) -> Function:
    places = step.get_support(indices=True).tolist()
    return lambda x: x[..., places]


_MAKERS: dict[str, Callable[[Any], Function]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _between,
    "RobustScaler": _robust,
    "MaxAbsScaler": _largest,
    "PCA": _principal,
    "PolynomialFeatures": _polynomial,
    "SelectKBest": _chosen,
    "VarianceThreshold": _chosen,
    "SelectFromModel": _chosen,
    "SimpleImputer": lambda step: lambda x: x,  # inputs are numbers: none is missing
}
