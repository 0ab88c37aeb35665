"""The law of ordinary calls of isclose of two numbers: |a − b| <= atol + rtol |b|, on the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._impl._util import rounding_to
from npdec._law.of_few import multiplier
from npdec._law.ordinary import number_in, number_of
from npdec._law.ordinary_numbers import constant_beside, listed_sum, numbers_in_two

__all__ = ["close"]

Function = Callable[..., Any]
# The components of a sum of two with weights, and its labels; None if these are many.
Parts = Callable[[float, float], tuple[list[float], Labels] | None]


def close(func: Function, args: Sequence[Any]) -> Any:
    """torch.isclose of finite numbers: near to each other, or equal."""
    here = settings.get()
    if not 2 <= len(args) <= 4 or here.frozen_conditions or here.rule != "affine":
        return NotImplemented
    a, b = args[:2]
    rtol, atol = args[2] if len(args) > 2 else 1e-5, args[3] if len(args) > 3 else 1e-8
    found = _ends(a, b)
    if found is None or type(rtol) is not float or type(atol) is not float or rtol < 0 or atol < 0:
        return NotImplemented
    (x, y, r, s), parts = found
    dtype = (a if type(a) is DecomposedTensor else b).value.dtype
    if not math.isfinite(x - y + r - s):
        return NotImplemented
    to = rounding_to(dtype)
    near = [abs(to(u - w)) <= to(to(atol) + abs(to(to(rtol) * w))) for u, w in ((x, y), (r, s))]
    equal = [x == y, r == s]
    value, residual = near  # as equal ones are
    if value is residual and equal[0] is equal[1]:
        still = parts(1.0, -1.0)
        return NotImplemented if still is None else number_of(value, residual, [0.0] * len(still[0]), still[1], dtype)
    distance = _slope(x - y, r - s)
    by_distance = parts(distance, -distance - rtol * _slope(y, s))
    if by_distance is None:
        return NotImplemented
    step = (abs(x - y) - (atol + rtol * abs(y))) - (abs(r - s) - (atol + rtol * abs(s)))
    labels, first = by_distance[1], _moved(near, step, by_distance[0], dtype)
    if first is None:
        return NotImplemented
    if equal == [False, False]:
        return number_of(value, residual, first, labels, dtype)
    by_difference = parts(1.0, -1.0)
    second = None if by_difference is None else _moved(equal, (x - y) - (r - s), by_difference[0], dtype)
    if second is None:
        return NotImplemented
    share, other = 1 - sum(equal) / 2, 1 - sum(near) / 2  # of one of two, the other held at its middle
    return number_of(
        value, residual, [c * share + d * other for c, d in zip(first, second, strict=True)], labels, dtype
    )


def _moved(flags: Sequence[bool], step: float, parts: list[float], dtype: torch.dtype) -> list[float] | None:
    """What numbers that add up to a step have of the change of a condition."""
    jump = flags[0] - flags[1]
    if not jump:
        return [0.0] * len(parts)
    weight = multiplier(jump, step, parts, dtype, None)
    return None if weight is None else [c * weight for c in parts]


def _ends(a: Any, b: Any) -> tuple[tuple[float, float, float, float], Parts] | None:
    """Both at the value and at the residual, of which one may be a constant, and what gives the components of a sum of
    them with weights, and its labels."""
    if type(a) is type(b) is DecomposedTensor:
        numbers = numbers_in_two(a, b)
        if numbers is None:
            return None
        (x, r, first), (y, s, second) = numbers
        return (x, y, r, s), lambda of_a, of_b: listed_sum(a.labels, b.labels, first, second, of_a, of_b)
    one, other = (a, b) if type(a) is DecomposedTensor else (b, a)
    known = number_in(one)
    number = None if known is None else constant_beside(one.value, other)
    if known is None or number is None:
        return None
    x, r, column = known
    if one is a:
        return (x, number, r, number), lambda of_a, of_b: ([c * of_a for c in column], one.labels)
    return (number, x, number, r), lambda of_a, of_b: ([c * of_b for c in column], one.labels)


def _slope(x: float, r: float) -> float:
    """That of a magnitude."""
    return (abs(x) - abs(r)) / (x - r) if x != r else float((x > 0) - (x < 0))
