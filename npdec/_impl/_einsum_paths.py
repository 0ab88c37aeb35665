"""In which order several operands of an Einstein sum are contracted: by greed, or the best of all orders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["ALGORITHMS", "cost", "volume"]


def volume(labels: Iterable[str], sizes: dict[str, int]) -> int:
    return math.prod(sizes[label] for label in labels)


def cost(labels: Iterable[str], sizes: dict[str, int], operands: int, sums: bool) -> int:
    """Operations of one contraction: a product for each further operand and, where it sums, an addition, an element."""
    return volume(labels, sizes) * max(1, operands - 1 + sums)


def _merge(terms: list[frozenset[str]], pair: tuple[int, ...], output: frozenset[str]) -> tuple[Any, ...]:
    """All labels of a contraction, the labels of its result, and the terms that remain (its result last)."""
    rest = [term for i, term in enumerate(terms) if i not in pair]
    involved = frozenset().union(*(terms[i] for i in pair))
    result = involved & frozenset().union(output, *rest)
    return involved, result, [*rest, result]


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(count) for j in range(i + 1, count))


def _greedy(terms: list[frozenset[str]], output: frozenset[str], sizes: dict[str, int], limit: float) -> list[Any]:
    """At each step the pair that frees the most memory, the cheaper one of equals; outer products come last."""
    path: list[tuple[int, ...]] = []
    while len(terms) > 2:
        found = None
        for shared in (True, False):
            for pair in _pairs(len(terms)):
                if shared and not terms[pair[0]] & terms[pair[1]]:
                    continue
                involved, result, remaining = _merge(terms, pair, output)
                size = volume(result, sizes)
                if size > limit:
                    continue
                freed = sum(volume(terms[i], sizes) for i in pair) - size
                score = (-freed, cost(involved, sizes, 2, involved != result))
                if found is None or score < found[0]:
                    found = (score, pair, remaining)
            if found is not None:
                break
        if found is None:  # every intermediate is too large: the rest in one
            break
        path.append(found[1])
        terms = found[2]
    return [*path, tuple(range(len(terms)))]


def _optimal(terms: list[frozenset[str]], output: frozenset[str], sizes: dict[str, int], limit: float) -> list[Any]:
    """The cheapest sequence of pairs, by trying all of them and leaving what is already dearer than the best.

    Where no sequence keeps within the limit to its end, the cheapest of the longest that do; the rest in one.
    """
    steps = len(terms) - 1
    best: tuple[int, int, list[tuple[int, ...]]] = (-1, 0, [])  # length, cost

    def search(terms: list[frozenset[str]], path: list[tuple[int, ...]], spent: int) -> None:
        nonlocal best
        if (len(path), -spent) > (best[0], -best[1]):
            best = (len(path), spent, path)
        for pair in _pairs(len(terms)):
            involved, result, remaining = _merge(terms, pair, output)
            total = spent + cost(involved, sizes, 2, involved != result)
            if volume(result, sizes) <= limit and (best[0] < steps or total < best[1]):
                search(remaining, [*path, pair], total)

    search(terms, [], 0)
    rest = len(terms) - best[0]
    return [*best[2], tuple(range(rest))] if rest > 1 else best[2]


ALGORITHMS = {"greedy": _greedy, "optimal": _optimal}
