"""The law of ordinary calls of isclose of two numbers, or of few: |a − b| <= atol + rtol |b|, on the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._impl._util import rounding_to
from npdec._law.numbers_in_c import ends_of_two
from npdec._law.of_few import FEW, Numbers, listed, multiplier, vector
from npdec._law.ordinary import number_in, number_of
from npdec._law.ordinary_numbers import constant_beside, listed_sum, numbers_in_two
from npdec._law.ordinary_pairs import pair_of
from npdec._law.ordinary_steps import condition_of

__all__ = ["close"]

Function = Callable[..., Any]
# The components of a sum of two with weights, and its labels; None if these are many.
Parts = Callable[[float, float], tuple[list[float], Labels] | None]


def close(func: Function, args: Sequence[Any]) -> Any:
    """torch.isclose of finite numbers, or of arrays of few elements: near to each other, or equal."""
    here = settings.get()
    if not 2 <= len(args) <= 4 or here.frozen_conditions or here.rule != "affine":
        return NotImplemented
    a, b = args[:2]
    rtol, atol = args[2] if len(args) > 2 else 1e-5, args[3] if len(args) > 3 else 1e-8
    if type(rtol) is not float or type(atol) is not float or rtol < 0 or atol < 0:
        return NotImplemented
    found = _ends(a, b)
    if found is None:
        return _close_of_few(a, b, rtol, atol)
    (x, y, r, s), parts = found
    dtype = (a if type(a) is DecomposedTensor else b).value.dtype
    if not math.isfinite(x - y + r - s):
        return NotImplemented
    near = _near((x, y, r, s), rtol, atol, dtype)
    made = _shared((x, y, r, s), parts, near, rtol, atol, dtype)
    return NotImplemented if made is None else number_of(near[0], near[1], *made, dtype)


def _close_of_few(a: Any, b: Any, rtol: float, atol: float) -> Any:
    pair = pair_of((a, b))
    if pair is None:
        return NotImplemented
    labels, like = pair.labels, pair.like.value
    shape = torch.broadcast_shapes(*[end.shape for end in pair.values if isinstance(end, torch.Tensor)])
    given = (*pair.values, *pair.residuals, *pair.components)
    if not 0 < math.prod(shape) * len(labels) <= FEW or not like.is_cpu:
        return NotImplemented
    if any(isinstance(end, torch.Tensor) and end.requires_grad for end in given):
        return NotImplemented
    ends = ends_of_two(a, b) or [_elements(end, shape) for end in (*pair.values, *pair.residuals)]
    if not math.isfinite(sum(map(sum, ends))):
        return NotImplemented
    rows = [None if part is None else _columns(part, shape) for part in pair.components]
    flags: list[tuple[bool, bool]] = []
    made: list[list[float]] = []
    for i, numbers in enumerate(zip(*ends, strict=True)):
        first, second = ([0.0] * len(labels) if its is None else its[i] for its in rows)

        def parts(of_a: float, of_b: float, c: Numbers = first, d: Numbers = second) -> tuple[list[float], Labels]:
            return [u * of_a + w * of_b for u, w in zip(c, d, strict=True)], labels

        near = _near(numbers, rtol, atol, like.dtype)
        found = _shared(numbers, parts, near, rtol, atol, like.dtype)
        if found is None:
            return NotImplemented
        flags.append(near)
        made.append(found[0])
    value, residual = (torch.tensor(flag).reshape(shape) for flag in zip(*flags, strict=True))
    components = vector(list(chain.from_iterable(zip(*made, strict=True))), like.dtype)
    return condition_of(value, residual, components.reshape(len(labels), *shape), labels)


def _near(ends: Sequence[float], rtol: float, atol: float, dtype: torch.dtype) -> tuple[bool, bool]:
    """Whether finite numbers are near to each other, at the value and at the residual, as torch rounds."""
    x, y, r, s = ends
    to = rounding_to(dtype)
    least, times = to(atol), to(rtol)
    return abs(to(x - y)) <= to(least + abs(to(times * y))), abs(to(r - s)) <= to(least + abs(to(times * s)))


def _elements(end: Any, shape: Sequence[int]) -> Numbers:
    """The elements of an end, spread over a shape."""
    return listed(end.expand(shape)) if isinstance(end, torch.Tensor) else [float(end)] * math.prod(shape)


def _columns(components: torch.Tensor, shape: Sequence[int]) -> Any:
    """The components of each element of a result."""
    return components.detach().expand(-1, *shape).reshape(len(components), -1).T.tolist()


def _shared(
    ends: Sequence[float], parts: Parts, near: Sequence[float], rtol: float, atol: float, dtype: torch.dtype
) -> tuple[list[float], Labels] | None:
    """The components of one number's closeness, which is known at both ends, and their labels."""
    x, y, r, s = ends
    equal = [x == y, r == s]  # what is equal is near
    if near[0] == near[1] and equal[0] is equal[1]:
        still = parts(1.0, -1.0)
        return None if still is None else ([0.0] * len(still[0]), still[1])
    distance = _slope(x - y, r - s)
    by_distance = parts(distance, -distance - rtol * _slope(y, s))
    if by_distance is None:
        return None
    step = (abs(x - y) - (atol + rtol * abs(y))) - (abs(r - s) - (atol + rtol * abs(s)))
    labels, first = by_distance[1], _moved(near, step, by_distance[0], dtype)
    if first is None:
        return None
    if equal == [False, False]:
        return first, labels
    by_difference = parts(1.0, -1.0)
    second = None if by_difference is None else _moved(equal, (x - y) - (r - s), by_difference[0], dtype)
    if second is None:
        return None
    share, other = 1 - sum(equal) / 2, 1 - sum(near) / 2  # of one of two, the other held at its middle
    return [c * share + d * other for c, d in zip(first, second, strict=True)], labels


def _moved(flags: Sequence[float], step: float, parts: list[float], dtype: torch.dtype) -> list[float] | None:
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
