"""Contributions to a sum of trees, by plain loops over exact fractions, for tests to compare with: nothing of npdec.

`by_crossings` is the path integral of the whole sum along the straight line from the baseline to x: where the line
crosses a threshold the sum jumps, and the jump is the column's whose threshold it is. `by_products` is the law applied
operation by operation: a comparison moves by its column alone, and a leaf is the product of the comparisons on the way
to it, which gives each of its factors the integral of the others along the line from their baselines to their values.
For a product of comparisons that is its Shapley value (`shapley_of_product`). The two agree where no way asks for two
columns; elsewhere the first follows the order in which the line crosses, and the second the mean over all orders.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple


class Leaf(NamedTuple):
    """A value, and the comparisons on the way there: (column, threshold, whether x <= threshold)."""

    value: Fraction
    way: tuple[tuple[int, Fraction, bool], ...]


def leaves_of(model: dict[str, Any]) -> list[Leaf]:
    """The leaves of a model of examples/forest.py, as its file has them."""
    count = len(model["feature"])
    found = []
    for value, path in zip(model["value"], model["path"], strict=True):
        way = [
            (model["feature"][step % count], Fraction(model["threshold"][step % count]), step < count)
            for step in path
            if step < 2 * count
        ]
        found.append(Leaf(Fraction(value), tuple(way)))
    return found


def holds(step: tuple[int, Fraction, bool], x: Sequence[Fraction]) -> bool:
    column, threshold, below = step
    return (x[column] <= threshold) is below


def value_at(leaves: Sequence[Leaf], x: Sequence[float]) -> Fraction:
    exact = [Fraction(number) for number in x]
    return sum((leaf.value for leaf in leaves if all(holds(step, exact) for step in leaf.way)), Fraction(0))


def by_products(leaves: Sequence[Leaf], x: Sequence[float], baseline: Sequence[float]) -> list[Fraction]:
    """The contribution of each column, operation by operation."""
    ends = [Fraction(number) for number in x]
    starts = [Fraction(number) for number in baseline]
    shares = [Fraction(0)] * len(ends)
    for value, way in leaves:
        at_end, at_start = ([holds(step, point) for step in way] for point in (ends, starts))
        for i, (column, _, _) in enumerate(way):
            move = at_end[i] - at_start[i]
            if move:
                others = [(at_start[j], at_end[j]) for j in range(len(way)) if j != i]
                shares[column] += value * move * integral(others)
    return shares


def integral(factors: Sequence[tuple[bool, bool]]) -> Fraction:
    """That of the product of numbers that go from 0 or 1 to 0 or 1 while t goes from 0 to 1: t^rising (1-t)^falling."""
    if any(not start and not end for start, end in factors):
        return Fraction(0)
    rising, falling = (sum(move == way for move in factors) for way in ((False, True), (True, False)))
    return Fraction(math.factorial(rising) * math.factorial(falling), math.factorial(rising + falling + 1))


def shapley_of_product(starts: Sequence[bool], ends: Sequence[bool]) -> list[Fraction]:
    """The mean, over all orders in which the factors move, of how much the product moves with each."""
    shares = [Fraction(0)] * len(starts)
    for order in itertools.permutations(range(len(starts))):
        now = list(starts)
        for i in order:
            before = all(now)
            now[i] = ends[i]
            shares[i] += all(now) - before
    return [share / math.factorial(len(starts)) for share in shares]


def by_crossings(leaves: Sequence[Leaf], x: Sequence[float], baseline: Sequence[float]) -> list[Fraction]:
    """The contribution of each column along the straight line; where columns cross at once, the mean of all orders."""
    ends, starts = [Fraction(number) for number in x], [Fraction(number) for number in baseline]
    crossed: dict[Fraction, set[tuple[int, Fraction]]] = {}
    for leaf in leaves:
        for column, threshold, _ in leaf.way:
            if (ends[column] <= threshold) != (starts[column] <= threshold):
                time = (threshold - starts[column]) / (ends[column] - starts[column])
                crossed.setdefault(time, set()).add((column, threshold))
    below = {(c, t): starts[c] <= t for leaf in leaves for c, t, _ in leaf.way}
    shares = [Fraction(0)] * len(ends)
    for _, splits in sorted(crossed.items()):
        columns = sorted({column for column, _ in splits})
        moved = dict.fromkeys(columns, Fraction(0))
        orders = list(itertools.permutations(columns))
        for order in orders:
            now = dict(below)
            level = _sum(leaves, now)
            for column in order:
                now.update({split: not now[split] for split in splits if split[0] == column})
                moved[column] += _sum(leaves, now) - level
                level = _sum(leaves, now)
        for column, move in moved.items():
            shares[column] += move / len(orders)
        below.update({split: not below[split] for split in splits})
    return shares


def _sum(leaves: Sequence[Leaf], below: dict[tuple[int, Fraction], bool]) -> Fraction:
    return sum((v for v, way in leaves if all(below[c, t] is side for c, t, side in way)), Fraction(0))
