"""Evenly spaced numbers between a few decomposed ones, in both of which they are linear."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.of_few import FEW, all_listed, vector
from npdec._law.ordinary import built, is_ordinary
from npdec._law.ordinary_pairs import aligned

__all__ = ["evenly_spaced"]

Function = Callable[..., Any]
Numbers = Sequence[float]
Rounded = Callable[[Iterable[float]], list[float]]
_MOST = 64  # numbers of one range


def evenly_spaced(func: Function, args: Sequence[Any]) -> Any:
    """The numbers of `npdec._impl.creation_ranges_impl.spaced`, by its steps."""
    start, stop, num, endpoint = args
    if type(num) is not int or not 0 < num <= _MOST:
        return NotImplemented
    intervals = max(1, num - 1) if endpoint else num  # one number is the start
    carried = [x for x in (start, stop) if type(x) is DecomposedTensor]
    ends: list[list[torch.Tensor]] = [[], []]
    for x in (start, stop):
        if type(x) is DecomposedTensor:
            if not is_ordinary(x):
                return NotImplemented
        elif type(x) is not torch.Tensor:
            return NotImplemented
        ends[0].append(x.value if type(x) is DecomposedTensor else x)
        ends[1].append(x.residual if type(x) is DecomposedTensor else x)
    like = max(ends[0], key=operator.attrgetter("ndim"))
    if ends[0][0].dtype is not ends[0][1].dtype or any(x.ndim and x.shape != like.shape for x in ends[0]):
        return NotImplemented
    labels, parts = aligned(stop, start) if len(carried) == 2 else (carried[0].labels, (carried[0].components,))
    few = None if parts is None else all_listed((*ends[0], *ends[1]), parts, like)
    size = like.numel()
    if parts is None or few is None or len(labels) * num * size > FEW:
        return NotImplemented
    shape, dtype = like.shape, like.dtype
    rounded: Rounded = list if dtype is torch.float64 else lambda numbers: vector(list(numbers), dtype).tolist()
    steps = rounded([step / intervals for step in rounded(map(operator.sub, few[1], few[0]))])
    value, residual = [
        vector(_between(first, last, num, intervals, all(steps), rounded), dtype).reshape(num, *shape)
        for first, last in (few[:2], few[2:])
    ]
    columns = [part.reshape(len(labels), -1).tolist() for part in parts]
    if len(carried) == 1:
        columns.insert(stop is carried[0], [[0.0]] * len(labels))  # of the constant one
    shares = [k / intervals for k in range(num)]
    found = [
        a + share * (b - a) if share < 1 else b
        for last, first in zip(*columns, strict=True)
        for share in shares
        for a, b in zip(_repeated(first, size), _repeated(last, size), strict=True)
    ]
    return built(value, residual, vector(found, dtype).reshape(len(labels), num, *shape), labels)


def _repeated(row: list[float], size: int) -> list[float]:
    return row if len(row) == size else row * size


def _between(start: Numbers, stop: Numbers, num: int, intervals: int, are_apart: bool, rounded: Rounded) -> list[float]:
    """The numbers, each step of which is rounded; where they are not `are_apart`, as shares of the distance."""
    distance = rounded(map(operator.sub, stop, start))
    steps = rounded([step / intervals for step in distance])
    made: list[float] = []
    for k in range(num):
        if k == intervals:
            made += stop
            continue
        if are_apart:
            moved = rounded([k * step for step in steps])
        else:
            (share,) = rounded([k / intervals])
            moved = rounded([share * step for step in distance])
        made += map(operator.add, moved, start)
    return made
