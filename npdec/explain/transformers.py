"""Fitted transformers of scikit-learn that stand before an estimator in a pipeline, in NumPy's functions.

What they are given is a row of numbers, in which a column of categories has one for each of them. So an encoder is a
matrix, which its own outputs for each category make, and its column is one component.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import npdec as np
from npdec.explain.categories import Categories

__all__ = ["Block", "Columns", "Function", "Raw", "Untranslated", "chained", "numbers", "unlike"]

Function = Callable[[Any], Any]


class Untranslated(Exception):
    """An estimator that is not known, or not in this use; the message says why."""


@dataclass
class Columns:
    """The columns that a model was fitted on: which of them are categories for it (by their places, with the values
    that its encoder knows), what it fills missing cells with, and which it takes as numbers."""

    names: tuple[str, ...] | None
    count: int
    categories: dict[int, Categories] = field(default_factory=dict)
    values: dict[int, list[Any]] = field(default_factory=dict)
    fills: dict[int, Any] = field(default_factory=dict)
    numeric: set[int] = field(default_factory=set)

    def named(self, place: int) -> str:
        return repr(self.names[place]) if self.names else f"number {place}"

    @property
    def used(self) -> list[int]:
        """The columns that the model has any use for: no other is an input."""
        return sorted(self.numeric | self.categories.keys())

    def slice(self, place: int) -> slice:
        """Where the numbers of a column stand among all."""
        start = sum(len(self.categories[j]) if j in self.categories else 1 for j in self.used if j < place)
        return slice(start, start + (len(self.categories[place]) if place in self.categories else 1))

    def encode(self, place: int, values: list[Any], open_to_others: bool) -> None:
        made = Categories.of_values(values, open_to_others)
        if self.categories.setdefault(place, made) != made:
            raise Untranslated(f"the column {self.named(place)} goes through two encoders with different categories")
        self.values[place] = values

    def fill(self, place: int, value: Any) -> None:
        if self.fills.setdefault(place, value) != value:
            raise Untranslated(f"the column {self.named(place)} goes through two imputers that fill it differently")

    def check(self) -> None:
        """Raise Untranslated for a column that is a category for one part of the model and a number for another."""
        for place in sorted(self.numeric & self.categories.keys()):
            raise Untranslated(f"the column {self.named(place)} is both encoded and taken as a number")


@dataclass(frozen=True)
class Raw:
    """Columns of the data as they are."""

    places: tuple[int, ...]
    columns: Columns

    def numbers(self) -> Function:
        """The columns as numbers."""
        self.columns.numeric.update(self.places)
        places, columns = self.places, self.columns

        def taken(x: Any) -> Any:
            if not columns.categories and list(places) == columns.used:
                return x
            return x[..., [columns.slice(j).start for j in places]]

        return taken


Block = Raw | Function  # columns as they are, or what has been made of them


def chained(steps: Sequence[Any], block: Block) -> Block:
    """What fitted transformers make one after the other. Raises Untranslated for one that is not known."""
    for step in steps:
        block = _transformed(step, block)
    return block


def _transformed(step: Any, block: Block) -> Block:
    kind = type(step).__name__
    if step is None or step == "passthrough":
        return block
    if kind == "Pipeline":
        return chained([part for _, part in step.steps], block)
    if kind in _WHOLE:
        return _WHOLE[kind](step, block)
    if kind not in _MAKERS:
        raise Untranslated(
            f"a {kind} before the estimator is not known: {', '.join([*_MAKERS, *_WHOLE])} and Pipeline are"
        )
    make, before = _MAKERS[kind](step), numbers(block)
    return lambda x: make(before(x))


def numbers(block: Block) -> Function:
    """What stands there, as a function of x."""
    return block.numbers() if isinstance(block, Raw) else block


# Several columns of several kinds.


def _by_columns(step: Any, block: Block) -> Block:
    """A ColumnTransformer: what it makes of its parts, beside each other."""
    parts: list[Function] = []
    for name, part, chosen in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        places = _places(chosen, step)
        if not places:
            continue
        made = numbers(_transformed(part, _some(block, places)))
        weight = (step.transformer_weights or {}).get(name, 1.0)
        parts.append(made if weight == 1.0 else _times(made, weight))
    return _beside(parts)


def _places(chosen: Any, step: Any) -> list[int]:
    """The places of the columns that a part of a ColumnTransformer was fitted on."""
    if isinstance(chosen, str):
        raise Untranslated(f"a part of a {type(step).__name__} takes the column {chosen!r} as a vector: give a list")
    if isinstance(chosen, slice):
        if isinstance(chosen.start, str) or isinstance(chosen.stop, str):
            names = list(step.feature_names_in_)
            stop = None if chosen.stop is None else names.index(chosen.stop) + 1
            return list(range(step.n_features_in_))[0 if chosen.start is None else names.index(chosen.start) : stop]
        return list(range(step.n_features_in_))[chosen]
    given = list(chosen)
    if given and all(type(one).__name__ in ("bool", "bool_") for one in given):
        return [i for i, one in enumerate(given) if one]
    names = list(getattr(step, "feature_names_in_", ()))
    return [names.index(one) if isinstance(one, str) else int(one) % step.n_features_in_ for one in given]


def _some(block: Block, places: list[int]) -> Block:
    if isinstance(block, Raw):
        return Raw(tuple(block.places[i] for i in places), block.columns)
    return lambda x: block(x)[..., places]


def _times(made: Function, weight: float) -> Function:
    return lambda x: made(x) * weight


def _beside(parts: Sequence[Function]) -> Function:
    if len(parts) == 1:
        return parts[0]
    return lambda x: np.concatenate([part(x) for part in parts], axis=-1)


def _union(step: Any, block: Block) -> Block:
    weights = step.transformer_weights or {}
    parts = [(name, part) for name, part in step.transformer_list if part != "drop"]
    return _beside([_times(numbers(_transformed(part, block)), weights.get(name, 1.0)) for name, part in parts])


def _encoded(step: Any, block: Block) -> Block:
    """An encoder: the numbers of each category, as it gives them itself."""
    import numpy

    if not isinstance(block, Raw):
        raise Untranslated(f"a {type(step).__name__} of what another transformer makes is not known")
    open_to_others = getattr(step, "handle_unknown", "ignore") != "error"  # TargetEncoder always is
    known = [list(some.tolist()) for some in step.categories_]
    firsts = [some[0] for some in known]

    def outputs(rows: list[list[Any]]) -> Any:
        numeric = all(isinstance(cell, (int, float)) for row in rows for cell in row)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the columns have no names here
            made = step.transform(numpy.array(rows, dtype=float if numeric else object))
        return numpy.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=float)

    base = outputs([firsts])[0]
    tables = []
    for i, values in enumerate(known):
        block.columns.encode(block.places[i], values, open_to_others)
        tried = [*values, unlike(values)] if open_to_others else values
        tables.append(outputs([[*firsts[:i], value, *firsts[i + 1 :]] for value in tried]))
    moved = numpy.array([(table != base).any(0) for table in tables]).reshape(len(tables), len(base))
    if (moved.sum(0) > 1).any():
        raise Untranslated(f"a {type(step).__name__} whose outputs depend on several columns is not known")
    # What no category moves is added as it is.
    constant: Any = np.array(numpy.where(moved.any(0), 0.0, base))
    matrices = [np.array(numpy.where(moves, table, 0.0)) for table, moves in zip(tables, moved)]
    columns, places = block.columns, block.places
    return lambda x: sum((x[..., columns.slice(j)] @ m for j, m in zip(places, matrices)), start=constant)


def unlike(values: list[Any]) -> Any:
    """What is none of these."""
    known = [value for value in values if isinstance(value, (int, float)) and not _is_gap(value)]
    return max(known) + 1 if known else "\0 none of these"


def _is_gap(value: Any) -> bool:
    """Whether it is None, NaN or pandas.NA."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value))


def _imputed(step: Any, block: Block) -> Block:
    """An imputer: where cells are missing, what it fills them with is what the row has."""
    if step.add_indicator:
        raise Untranslated(f"a {type(step).__name__} that adds columns which say what was missing is not known")
    statistics = list(getattr(step, "statistics_", ()))
    empty = [i for i, one in enumerate(statistics) if _is_gap(one) and not step.keep_empty_features]
    missing = step.missing_values
    if not _is_gap(missing):
        if isinstance(missing, str) or not statistics:
            raise Untranslated(f"a {type(step).__name__} that takes {missing!r} for missing is not known")
        before, fills = numbers(block), np.array(statistics, dtype=float)
        kept = [i for i in range(len(statistics)) if i not in empty]

        def filled(x: Any) -> Any:
            given = before(x)
            return np.where(given == missing, fills, given)[..., kept]

        return filled
    if not isinstance(block, Raw) or not statistics:
        return block  # inputs are numbers: none is missing
    for i, place in enumerate(block.places):
        if i not in empty:
            one = statistics[i]
            block.columns.fill(place, one.item() if hasattr(one, "item") else one)
    return Raw(tuple(place for i, place in enumerate(block.places) if i not in empty), block.columns)


def _called(step: Any, block: Block) -> Block:
    """A FunctionTransformer of one of NumPy's functions of an element."""
    import numpy

    if step.func is None:
        return block
    if (
        not isinstance(step.func, numpy.ufunc)
        or step.func.nin > 1
        or step.kw_args
        or not hasattr(np, step.func.__name__)
    ):
        name = getattr(step.func, "__name__", repr(step.func))
        raise Untranslated(f"a FunctionTransformer of {name} is not known: of NumPy's functions of an element it is")
    function, before = getattr(np, step.func.__name__), numbers(block)
    return lambda x: function(before(x))


# Numbers.


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


def _singular(step: Any) -> Function:
    axes = np.array(step.components_).T
    return lambda x: x @ axes


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


def _binary(step: Any) -> Function:
    return lambda x: np.where(x > step.threshold, 1.0, 0.0)


def _binned(step: Any) -> Function:
    inner = [edges[1:-1].tolist() for edges in step.bin_edges_]

    def beyond(x: Any, i: int) -> list[Any]:
        return [np.where(x[..., i] >= edge, 1.0, 0.0) for edge in inner[i]]

    def ordinal(x: Any) -> Any:
        return np.stack([sum(beyond(x, i), start=np.zeros(x.shape[:-1])) for i in range(len(inner))], axis=-1)

    def by_bins(x: Any) -> Any:
        found = []
        for i in range(len(inner)):
            steps = [np.ones(x.shape[:-1]), *beyond(x, i), np.zeros(x.shape[:-1])]
            found += [before - after for before, after in itertools.pairwise(steps)]
        return np.stack(found, axis=-1)

    return ordinal if step.encode == "ordinal" else by_bins


def _chosen(step: Any) -> Function:
    places = step.get_support(indices=True).tolist()
    return lambda x: x[..., places]


_WHOLE: dict[str, Callable[[Any, Block], Block]] = {
    "ColumnTransformer": _by_columns,
    "FeatureUnion": _union,
    "OneHotEncoder": _encoded,
    "OrdinalEncoder": _encoded,
    "TargetEncoder": _encoded,
    "SimpleImputer": _imputed,
    "KNNImputer": _imputed,
    "FunctionTransformer": _called,
}
_MAKERS: dict[str, Callable[[Any], Function]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _between,
    "RobustScaler": _robust,
    "MaxAbsScaler": _largest,
    "PCA": _principal,
    "TruncatedSVD": _singular,
    "PolynomialFeatures": _polynomial,
    "Binarizer": _binary,
    "KBinsDiscretizer": _binned,
    "SelectKBest": _chosen,
    "VarianceThreshold": _chosen,
    "SelectFromModel": _chosen,
}
