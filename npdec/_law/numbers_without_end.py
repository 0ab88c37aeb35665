"""The law of two numbers on the host, of which a function gives an infinity or NaN at an end of the path: quotients and
rests of a division by zero, and powers of negative numbers.

The numbers are what the general way comes to, as are the warnings. Each function answers with None where that looks
more closely: contributions that cancel, and arguments that are not finite themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from npdec._decomposed.size_warnings import STEEP, half_of_digits, warn_infinite
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._impl._quotient_of_numbers import divmod_in_numbers
from npdec._impl.quotients_impl import of_quotient, of_rest
from npdec._law import numbers_in_c
from npdec._law.all_components import current as chunk
from npdec._law.means_of_few import is_undefined
from npdec._law.of_few import RANGE, ROUNDINGS, multiplier
from npdec._law.ordinary import number_in, number_of
from npdec._law.ordinary_numbers import constant_beside, listed_sum
from npdec._torch.tracing import name_of

__all__ = ["divided_by_zero", "over_zero", "undefined_power"]

Function = Callable[..., Any]
_ANOTHER = 1 / 2  # of a step, from where on it is another one than components make (npdec._law.jumps)
_EVEN = {dtype: half_of_digits(dtype) - 3 for dtype in RANGE}


class _Side:
    """One of two: its numbers at the value and at the residual, and its components with their labels, or none."""

    __slots__ = ("column", "labels", "r", "x")

    def __init__(self, x: float, r: float, column: list[float], labels: Labels | None) -> None:
        self.x, self.r, self.column, self.labels = x, r, column, labels


def _sides(a: Any, b: Any) -> tuple[_Side, _Side, torch.dtype] | None:
    """Both sides, finite numbers of one dtype, one of which may be constant, and that dtype."""
    first, second = number_in(a), number_in(b)
    one = b if first is None else a
    if (first is None and second is None) or chunk.get() is not None:
        return None
    dtype: torch.dtype = one.value.dtype
    made = []
    for x, known in ((a, first), (b, second)):
        if known is None:
            number = constant_beside(one.value, x)
            if number is None or not math.isfinite(number):
                return None
            number = float(number) if dtype is torch.float64 else torch.scalar_tensor(number, dtype=dtype).item()
            made.append(_Side(number, number, [], None))
        elif x.value.dtype is not dtype or not sum(map(abs, (*known[:2], *known[2]))) < math.inf:
            return None
        else:
            made.append(_Side(*known, x.labels))
    return made[0], made[1], dtype


def _together(a: _Side, b: _Side) -> tuple[list[float], list[float], Labels] | None:
    """The components of both under the labels of both; those that one does not have are zero."""
    if a.labels is None or b.labels is None:
        labels = a.labels if b.labels is None else b.labels
        assert labels is not None
        return a.column, b.column, labels
    first = listed_sum(a.labels, b.labels, a.column, b.column, 1.0, 0.0)
    second = listed_sum(a.labels, b.labels, a.column, b.column, 0.0, 1.0)
    return None if first is None or second is None else (first[0], second[0], first[1])


# -- quotients ---------------------------------------------------------------------------------------------------------


def over_zero(func: Function, a: Any, b: Any) -> Any:
    """a / b of numbers, where b is zero at an end: a product with the reciprocal, of which nothing comes of what does
    not move."""
    known = numbers_in_c.over_zero(a, b)
    if known is not None:
        if known[1] is not None:
            warn_infinite("reciprocal", *known[1])
        return known[0]
    found = _sides(a, b)
    if found is None:
        return None
    x, y, dtype = found
    if y.labels is None and y.x == 0:
        return _over_constant_zero(func, a, b, x, y.x, dtype)
    middle = (x.x + x.r) / 2
    if y.labels is None or (y.x and y.r) or (not y.x and not y.r and any(y.column)) or not abs(middle) <= STEEP:
        return None
    parts = _together(x, y)
    if parts is None:
        return None
    first, second, labels = parts
    after, before = _reciprocal(y.x), _reciprocal(y.r)
    inverse = (after + before) / 2
    slope = (after - before) / (y.x - y.r) if y.x != y.r else math.nan
    made, ends = [], False
    for i, c in enumerate(second):
        inverted = c * slope if c else 0.0
        ends = ends or not math.isfinite(inverted)
        inverted = inverted * middle if inverted else 0.0
        made.append(inverted + first[i] * inverse if first and first[i] else inverted)
    if ends:
        warn_infinite("reciprocal", after, before)
    value, residual = _computed(func, a, b)
    return number_of(value, residual, made, labels, dtype)


def _over_constant_zero(func: Function, a: Any, b: Any, x: _Side, zero: float, dtype: torch.dtype) -> Any:
    """What moves of the dividend, divided by zero, is infinite."""
    made = [math.copysign(math.inf, c) * math.copysign(1.0, zero) if c else 0.0 for c in x.column]
    value, residual = _computed(func, a, b)
    if any(made):
        warn_infinite("divide", value, residual)
    assert x.labels is not None
    return number_of(value, residual, made, x.labels, dtype)


def _reciprocal(x: float) -> float:
    return 1 / x if x else math.copysign(math.inf, x)


def _computed(func: Function, a: Any, b: Any) -> tuple[Any, Any]:
    ends: list[Any] = [x.value if type(x) is DecomposedTensor else x for x in (a, b)]
    bases: list[Any] = [x.residual if type(x) is DecomposedTensor else x for x in (a, b)]
    return func(*ends), func(*bases)


# -- rounded quotients, and rests --------------------------------------------------------------------------------------


def divided_by_zero(shares: Any, func: Function, a: Any, b: Any) -> Any:
    """A quotient rounded down, the rest, or both, where the divisor is zero at an end: each moves first once."""
    known = numbers_in_c.divided_by_zero(shares, func, a, b)
    if known is not None:
        for _ in range(known[1]):
            warn_infinite(name_of(func))
        return known[0]
    several = type(shares) is tuple
    for form in shares if several else (shares,):
        if form is not of_quotient and form is not of_rest:
            return None
    found = _sides(a, b)
    if found is None or (found[1].x and found[1].r):
        return None
    x, y, dtype = found
    parts = _together(x, y)
    if parts is None:
        return None
    results, said, name = [], 0, name_of(func)
    for form in shares if several else (shares,):
        f = _floored if form is of_quotient else _truncated if name.endswith("fmod") else _rest
        one = _shared(partial(f, dtype), x, y, parts, dtype)
        if one is None:
            return None
        results.append(number_of(*one[:3], parts[2], dtype))
        said += one[3]
    for _ in range(said):
        warn_infinite(name)
    return tuple(results) if several else results[0]


def _floored(dtype: torch.dtype, a: float, b: float) -> float | None:
    if not b:
        return math.copysign(math.inf, a) * math.copysign(1.0, b) if a else _undefined()
    found = divmod_in_numbers(a, b, dtype)
    return None if found is None else found[0]


def _rest(dtype: torch.dtype, a: float, b: float) -> float | None:
    found = (0.0, _undefined()) if not b else divmod_in_numbers(a, b, dtype)
    return None if found is None else found[1]


def _truncated(dtype: torch.dtype, a: float, b: float) -> float | None:
    return math.fmod(a, b) if b else _undefined()


def _undefined() -> float:
    """NaN, with the sign that the processor gives it."""
    return math.inf - math.inf


def _shared(
    f: Callable[[float, float], float | None],
    x: _Side,
    y: _Side,
    parts: tuple[list[float], list[float], Labels],
    dtype: torch.dtype,
) -> tuple[float, float, list[float], int] | None:
    """What the function is at both ends, what each component has of its change, and how many of two have an infinite
    share."""
    fx, fr, only_x, only_y = f(x.x, y.x), f(x.r, y.r), f(x.x, y.r), f(x.r, y.x)
    if fx is None or fr is None or only_x is None or only_y is None:
        return None
    if x.labels is None or y.labels is None:
        side, column = (y, parts[1]) if x.labels is None else (x, parts[0])
        jump = _change(fx, fr)
        found = _of_jump(jump, side, column, dtype)
        return None if found is None else (fx, fr, found, not math.isfinite(jump))
    by_x = (_change(only_x, fr) + _change(fx, only_y)) / 2
    by_y = (_change(only_y, fr) + _change(fx, only_x)) / 2
    of_x, of_y = _of_jump(by_x, x, parts[0], dtype), _of_jump(by_y, y, parts[1], dtype)
    said = 2 - math.isfinite(by_x) - math.isfinite(by_y)
    if of_x is None or of_y is None or not said:
        return None
    return fx, fr, [c + d for c, d in zip(of_x, of_y, strict=True)], said


def _change(after: float, before: float) -> float:
    return 0.0 if after == before else after - before


def _of_jump(jump: float, side: _Side, column: list[float], dtype: torch.dtype) -> list[float] | None:
    """What each component has of a jump (`npdec._law.jumps`)."""
    step, size = side.x - side.r, abs(side.x) + abs(side.r)
    if math.isfinite(jump):
        weight = multiplier(jump, step, column, dtype, size)
        if weight is None or abs(weight) > STEEP:
            return None
        return [c * weight for c in column]
    total, gross, eps = sum(column), sum(map(abs, column)), torch.finfo(dtype).eps
    if not gross and math.isnan(jump):
        return [math.nan] * len(column)
    if not abs(total) > max(1 / STEEP, eps**0.5) * gross:
        return None
    if len(column) > 1:
        least, most = sorted((abs(step), abs(total)))
        noise = min(ROUNDINGS * eps, eps**0.5 / 4)
        if abs(step - total) > _ANOTHER * most and least <= noise * size:
            return None
    return [jump * (c / total) for c in column]


# -- powers ------------------------------------------------------------------------------------------------------------


def undefined_power(func: Function, a: Any, b: Any, value: torch.Tensor, residual: torch.Tensor) -> Any:
    """A power of two numbers that is NaN at an end, as it is along the part of the path where the base is negative:
    NaN comes of whatever moves."""
    found = _sides(a, b)
    if found is None:
        return None
    x, y, dtype = found
    parts = _together(x, y) if is_undefined(x.x, x.r, y.x, y.r, value.item(), residual.item()) else None
    if parts is None or x.labels is None or y.labels is None:
        return None
    warn_infinite(name_of(func), value, residual)
    made = [math.nan if c or d else 0.0 for c, d in zip(*parts[:2], strict=True)]
    return number_of(value, residual, made, parts[2], dtype)
