"""Fitted trees of scikit-learn as arrays, and their sum in NumPy's functions.

A tree is a sum over its leaves: the leaf's value where all comparisons on the way to it hold. Each comparison says
which column moved the row across its threshold, and the products of them share what depends on several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import npdec as np

__all__ = ["leaves_of", "sum_of_leaves"]

Leaf = tuple[list[float], list[tuple[int, float, bool]]]  # values; (feature, threshold, whether x <= threshold) steps


def leaves_of(tree: Any, single: bool = True) -> list[Leaf]:
    """The leaves of a `sklearn.tree._tree.Tree`. `single`: scikit-learn compares columns rounded to float32."""
    found: list[Leaf] = []
    todo: list[tuple[int, list[tuple[int, float, bool]]]] = [(0, [])]
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    feature, threshold = tree.feature.tolist(), tree.threshold.tolist()
    values = tree.value.reshape(len(left), -1).tolist()
    while todo:
        node, way = todo.pop()
        if left[node] < 0:
            found.append((values[node], way))
            continue
        limit = _float32_limit(threshold[node]) if single else threshold[node]
        todo.append((left[node], [*way, (feature[node], limit, True)]))
        todo.append((right[node], [*way, (feature[node], limit, False)]))
    return found


def _float32_limit(split: float) -> float:
    """What a float64 has to stay below where it is rounded to float32 before it is compared with this."""
    import numpy

    low = numpy.float32(split)
    low = low if float(low) <= split else numpy.nextafter(low, numpy.float32(-numpy.inf))
    return (float(low) + float(numpy.nextafter(low, numpy.float32(numpy.inf)))) / 2


def sum_of_leaves(leaves: Sequence[Leaf], start: Sequence[float]) -> Callable[[Any], Any]:
    """The function of x (..., columns) that adds up the values of the leaves that x is in: (..., values)."""
    place: dict[tuple[int, float], int] = {}
    for _, way in leaves:
        for feature, limit, _ in way:
            place.setdefault((feature, limit), len(place))
    count = len(place)
    depth = max((len(way) for _, way in leaves), default=0)
    paths = [[place[f, limit] + (0 if below else count) for f, limit, below in way] for _, way in leaves]
    path = np.array([way + [2 * count] * (depth - len(way)) for way in paths], dtype=int).reshape(len(leaves), depth)
    features = [feature for feature, _ in place]
    limits = np.array([limit for _, limit in place])
    values: Any = np.array([value for value, _ in leaves])
    first = np.array(list(start))

    def total(x: Any) -> Any:
        if not count:
            return np.zeros((*x.shape[:-1], 1)) + values.sum(0) + first
        holds = x[..., features] <= limits
        always = np.ones((*holds.shape[:-1], 1), dtype=bool)
        sides = np.concatenate([holds, ~holds, always], axis=-1)
        reached = np.all(sides[..., path], axis=-1)
        return (reached[..., None] * values).sum(axis=-2) + first

    return total
