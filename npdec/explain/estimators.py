"""Fitted estimators of scikit-learn, saved by joblib or skops: what they predict, in NumPy's functions of their arrays.

What is made of an estimator is compared with its own predictions on the data before it is explained.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import npdec as np
from npdec.explain.categories import Categories
from npdec.explain.errors import InputError, one_line
from npdec.explain.transformers import Block, Columns, Function, Raw, Untranslated, chained, numbers, unlike
from npdec.explain.trees import Leaf, leaves_of, sum_of_leaves

__all__ = ["SUFFIXES", "Saved"]

SUFFIXES = (".joblib", ".pkl", ".pickle", ".skops")
_CLOSE = 1e-6  # relative: a network of single precision is as far from itself


class Saved:
    """A file with a fitted estimator, as a context manager; it has the functions that the estimator predicts with."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._estimator: Any = None
        self._columns = Columns(None, 0)

    def __enter__(self) -> Saved:
        if not self.path.is_file():
            raise InputError(f"{self.path}: {'is no regular file' if self.path.exists() else 'no such file'}")
        try:
            self._estimator = _loaded(self.path)
        except InputError:
            raise
        except ImportError as error:
            raise InputError(f"{self.path}: loading it needs {error.name or one_line(error)}: "
                             "pip install 'npdec[explain]'") from error  # fmt: skip
        except Exception as error:  # unpickling runs whatever the file says
            raise InputError(
                f"{self.path}: cannot be loaded: {type(error).__name__}: {one_line(error, 150)}"
            ) from error
        if not hasattr(self._estimator, "predict"):
            raise InputError(f"{self.path}: holds {_kind(self._estimator)}, not a fitted estimator")
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def columns_of(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns that the estimator was fitted on. Raises InputError if one of them is missing."""
        names = getattr(self._estimator, "feature_names_in_", None)
        if names is not None:
            wanted = tuple(" ".join(str(name).split()) for name in names)
            if lacking := [name for name in wanted if name not in columns]:
                raise InputError(f"{self.path}: was fitted on a column {lacking[0]!r}, which the data does not have")
            return wanted
        count = getattr(self._estimator, "n_features_in_", len(columns))
        if count != len(columns):
            raise InputError(
                f"{self.path}: was fitted on {count} columns without names, and the data has {len(columns)}: "
                f"{one_line(', '.join(columns), 200)}; choose them with --columns, --target or --drop"
            )
        return tuple(columns)

    def find(self, name: str) -> Function:
        """The function of a row, or of rows, that the estimator's method of this name is."""
        names = getattr(self._estimator, "feature_names_in_", None)
        names = None if names is None else tuple(map(str, names))
        self._columns = columns = Columns(names, getattr(self._estimator, "n_features_in_", 0))
        try:
            found = translated(self._estimator, name, Raw(tuple(range(columns.count)), columns))
            columns.check()
            return found
        except Untranslated as error:
            raise InputError(f"{self.path}: {error}") from None
        except (AttributeError, TypeError, ValueError, IndexError) as error:  # it lacks what fitting makes
            what = f"{_kind(self._estimator)} cannot be read, as if it were not fitted"
            raise InputError(f"{self.path}: {what}: {one_line(error, 150)}") from error

    def used(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of its columns that the model has any use for."""
        return tuple(names[place] for place in self._columns.used)

    def categories(self, names: Sequence[str]) -> dict[str, Categories]:
        """The columns that the model encodes itself, with the categories that it knows."""
        return {names[place]: known for place, known in sorted(self._columns.categories.items())}

    def fills(self, names: Sequence[str]) -> dict[str, Any]:
        """What the model fills missing cells of its columns with."""
        return {names[place]: value for place, value in self._columns.fills.items()}

    @property
    def default(self) -> str:
        """What is explained unless something else is asked for: probabilities of a classifier that has them."""
        if not _is_classifier(self._estimator):
            return "predict"
        return "predict_proba" if hasattr(self._estimator, "predict_proba") else "decision_function"

    def check(self, function: Function, name: str, points: Sequence[Sequence[float]], cells: Sequence[Any]) -> None:
        """Raise InputError if the function is not, at these points, what the estimator itself says of the cells of the
        rows: numbers, texts, and None where one is missing."""
        import numpy

        used = self._columns.used
        rows = [[float("nan")] * self._columns.count for _ in cells]
        for row, given in zip(rows, cells):
            for place, cell in zip(used, given):
                row[place] = self._value(place, cell)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that the columns have no names here
                made = getattr(self._estimator, name)(self._framed(rows))
        except Exception as error:  # whatever it refuses
            what = f"{_kind(self._estimator)} refuses the rows"
            raise InputError(f"{self.path}: {what}: {type(error).__name__}: {one_line(error, 150)}") from error
        wanted = numpy.asarray(made, dtype=float).reshape(len(rows), -1)
        found = numpy.asarray(function(np.array(points))).reshape(len(rows), -1)
        if found.shape[1] != wanted.shape[1]:
            wanted = wanted[:, -found.shape[1] :]
        scale = numpy.abs(wanted).max() or 1.0
        if not numpy.abs(found - wanted).max() <= _CLOSE * scale:
            raise InputError(f"{self.path}: {_kind(self._estimator)} computes something else than its arrays say, by "
                             f"{numpy.abs(found - wanted).max() / scale:.1g} of the largest prediction")  # fmt: skip

    def _value(self, place: int, cell: Any) -> Any:
        """A cell as the estimator takes it: of a column that it encodes, the value that it was fitted on."""
        known = self._columns.categories.get(place)
        if cell is None:
            return float("nan")
        if known is None:
            return cell
        values = self._columns.values[place]
        return unlike(values) if cell == known.other else values[known.texts.index(cell)]

    def _framed(self, rows: list[list[Any]]) -> Any:
        import numpy

        numeric = all(isinstance(cell, float) for row in rows for cell in row)
        names = getattr(self._estimator, "feature_names_in_", None)
        if names is None:
            return numpy.array(rows, dtype=float if numeric else object)
        try:
            import pandas as pd
        except ImportError:
            return numpy.array(rows, dtype=float if numeric else object)
        return pd.DataFrame(rows, columns=names)

    def describe(self, error: BaseException, what: str) -> str:
        return f"{what}: {type(error).__name__}: {one_line(error)}"


def _loaded(path: Path) -> Any:
    if path.suffix == ".skops":
        from skops import io

        unknown = io.get_untrusted_types(file=path)
        if unknown:
            raise InputError(f"{path}: holds types that skops does not trust: {one_line(', '.join(unknown), 150)}")
        return io.load(path)
    import joblib

    before = list(sys.path)
    sys.path.insert(0, os.fspath(path.resolve().parent))  # classes of the user's own stand beside it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of another version of scikit-learn: what it predicts is compared
            return joblib.load(path)
    finally:
        sys.path[:] = before


def _kind(estimator: Any) -> str:
    return f"a {type(estimator).__name__}"


def _is_classifier(estimator: Any) -> bool:
    return hasattr(estimator, "classes_")


def translated(estimator: Any, method: str, block: Block) -> Function:
    """A method of a fitted estimator as a function of x (..., numbers of the columns), given what becomes of these.
    Raises Untranslated with the reason."""
    kind = type(estimator).__name__
    if not hasattr(estimator, method) or method.startswith("_"):
        raise Untranslated(f"a {kind} has no method {method!r}")
    if method == "predict" and _is_classifier(estimator):
        raise Untranslated(
            "a classifier's predict gives a class, which is no number that inputs move; explain predict_proba or "
            "decision_function"
        )
    if kind == "Pipeline":
        *before, (_, last) = estimator.steps
        return translated(last, method, chained([step for _, step in before], block))
    if kind == "TransformedTargetRegressor":
        raise Untranslated("a TransformedTargetRegressor is not known; save its regressor_")
    if kind in ("VotingRegressor",) and getattr(estimator, "weights", None) is None:
        parts = [translated(part, method, block) for part in estimator.estimators_]
        return lambda x: sum(part(x) for part in parts) / len(parts)
    for names, make in _MAKERS:
        if kind in names.split():
            of_numbers, before = make(estimator, method), numbers(block)
            return lambda x: of_numbers(before(x))
    known = ", ".join(" ".join(names for names, _ in _MAKERS).split()[:6])
    raise Untranslated(f"{kind} is not known: linear models, networks, trees and forests are ({known}, …)")


def _probabilities(decision: Function) -> Function:
    """Of two classes the probability of the second; else that of each."""

    def probable(x: Any) -> Any:
        scores = decision(x)
        if scores.shape[-1] == 1:
            return 1 / (1 + np.exp(-scores))
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    return probable


def _linear(estimator: Any, method: str) -> Function:
    coefficients = np.array(estimator.coef_, dtype=float)
    if hasattr(coefficients, "ndim") and coefficients.ndim == 1:
        coefficients = coefficients[None, :]
    weights, start = coefficients.T, np.array(estimator.intercept_, dtype=float).reshape(-1)

    def decision(x: Any) -> Any:
        return x @ weights + start

    if method == "predict_proba":
        if getattr(estimator, "multi_class", "auto") == "ovr" and len(estimator.classes_) > 2:
            raise Untranslated("probabilities of one class against the rest are not known; explain decision_function")
        if type(estimator).__name__ == "SGDClassifier" and estimator.loss != "log_loss":
            raise Untranslated("an SGDClassifier without log_loss has no probabilities; explain decision_function")
        return _probabilities(decision)
    links: dict[str, Callable[[Any], Any]] = {"PoissonRegressor": np.exp, "GammaRegressor": np.exp}
    link = links.get(type(estimator).__name__)
    if type(estimator).__name__ == "TweedieRegressor":
        link = np.exp if estimator.link == "log" or (estimator.link == "auto" and estimator.power > 0) else None
    return (lambda x: link(decision(x))) if link else decision


_ACTIVATIONS: Mapping[str, Function] = {
    "identity": lambda z: z,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
}


def _network(estimator: Any, method: str) -> Function:
    layers = [(np.array(w), np.array(b)) for w, b in zip(estimator.coefs_, estimator.intercepts_)]
    bend = _ACTIVATIONS[estimator.activation]
    if getattr(estimator, "loss", "") == "poisson":
        raise Untranslated("a network with a Poisson loss is not known")

    def decision(x: Any) -> Any:
        for weights, start in layers[:-1]:
            x = bend(x @ weights + start)
        return x @ layers[-1][0] + layers[-1][1]

    if method == "predict_proba":
        several = estimator.out_activation_ == "softmax" or len(estimator.classes_) == 2
        return _probabilities(decision) if several else lambda x: 1 / (1 + np.exp(-decision(x)))
    return decision


def _tree(estimator: Any, method: str) -> Function:
    return _mean_of_trees([estimator], method)


def _forest(estimator: Any, method: str) -> Function:
    return _mean_of_trees(estimator.estimators_, method)


def _mean_of_trees(trees: Sequence[Any], method: str) -> Function:
    if getattr(trees[0], "n_outputs_", 1) > 1 and hasattr(trees[0], "classes_"):
        raise Untranslated("a tree of several classifications at once is not known")
    leaves: list[Leaf] = []
    for one in trees:
        for values, way in leaves_of(one.tree_):
            shares = [v / sum(values) for v in values] if method == "predict_proba" else values
            leaves.append(([v / len(trees) for v in shares], way))
    total = sum_of_leaves(leaves, [0.0] * len(leaves[0][0]))
    if method == "predict_proba" and len(leaves[0][0]) == 2:
        return lambda x: total(x)[..., 1:]
    return total


def _boosted(estimator: Any, method: str) -> Function:
    if estimator.n_features_in_ and not isinstance(estimator.init_, str) and not hasattr(estimator.init_, "constant_") \
            and not hasattr(estimator.init_, "class_prior_"):  # fmt: skip
        raise Untranslated("gradient boosting that starts from another estimator is not known")
    import numpy

    columns = estimator.estimators_.shape[1]
    zeros = numpy.zeros((1, estimator.n_features_in_))
    start = numpy.asarray(estimator._raw_predict_init(zeros), dtype=float).reshape(-1).tolist()
    leaves: list[Leaf] = []
    for stage in estimator.estimators_:
        for k, one in enumerate(stage):
            for values, way in leaves_of(one.tree_):
                steps = [0.0] * columns
                steps[k] = values[0] * estimator.learning_rate
                leaves.append((steps, way))
    total = sum_of_leaves(leaves, start)
    if method == "predict_proba":
        if estimator.loss != "log_loss":
            raise Untranslated(f"probabilities of a loss {estimator.loss!r} are not known; explain decision_function")
        return _probabilities(total)
    return total


def _histogram_boosted(estimator: Any, method: str) -> Function:
    columns = estimator.n_trees_per_iteration_
    leaves: list[Leaf] = []
    for stage in estimator._predictors:
        for k, one in enumerate(stage):
            nodes = one.nodes
            if nodes["is_categorical"].any():
                raise Untranslated("histogram boosting with categorical columns is not known")
            todo: list[tuple[int, list[tuple[int, float, bool]]]] = [(0, [])]
            while todo:
                i, way = todo.pop()
                node = nodes[i]
                if node["is_leaf"]:
                    steps = [0.0] * columns
                    steps[k] = float(node["value"])
                    leaves.append((steps, way))
                    continue
                split = (int(node["feature_idx"]), float(node["num_threshold"]))
                todo.append((int(node["left"]), [*way, (*split, True)]))
                todo.append((int(node["right"]), [*way, (*split, False)]))
    total = sum_of_leaves(leaves, estimator._baseline_prediction.reshape(-1).tolist())
    if method == "predict_proba":
        return _probabilities(total)
    if method == "predict" and estimator.loss in ("poisson", "gamma"):
        return lambda x: np.exp(total(x))
    return total


_LINEAR = """
    LinearRegression Ridge RidgeCV Lasso LassoCV LassoLars LassoLarsCV ElasticNet ElasticNetCV Lars LarsCV BayesianRidge
    ARDRegression HuberRegressor TheilSenRegressor SGDRegressor LinearSVR QuantileRegressor OrthogonalMatchingPursuit
    PoissonRegressor GammaRegressor TweedieRegressor MultiTaskLasso MultiTaskElasticNet PassiveAggressiveRegressor
    LogisticRegression LogisticRegressionCV RidgeClassifier RidgeClassifierCV SGDClassifier LinearSVC Perceptron
    LinearDiscriminantAnalysis
"""
_MAKERS: tuple[tuple[str, Callable[[Any, str], Function]], ...] = (
    (_LINEAR, _linear),
    ("MLPRegressor MLPClassifier", _network),
    ("DecisionTreeRegressor DecisionTreeClassifier ExtraTreeRegressor ExtraTreeClassifier", _tree),
    ("RandomForestRegressor RandomForestClassifier ExtraTreesRegressor ExtraTreesClassifier", _forest),
    ("GradientBoostingRegressor GradientBoostingClassifier", _boosted),
    ("HistGradientBoostingRegressor HistGradientBoostingClassifier", _histogram_boosted),
)
