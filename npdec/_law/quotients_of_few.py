"""What each of two arguments has of the change of a function with jumps, of a handful of numbers on the host: as
`npdec._impl.quotients_impl` says, which says it of the others.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.size_warnings import STEEP, half_of_digits
from npdec._impl import elementwise_float_impl, elementwise_impl
from npdec._impl.quotients_impl import LEAST, in_both_orders, of_quotient, of_rest

__all__ = ["SHARES", "quotient_of_number", "quotients_of_few"]

Numbers = Sequence[float]
OnHost = Callable[[float, float], float]
Share = tuple[float, float]
_CLEAR = 1.5  # times as much, or as little, whatever single precision makes of it
_DIGITS = {dtype: half_of_digits(dtype) for dtype in (torch.float32, torch.float64)}

# What computes the function of Python's numbers, where torch need not be asked. Of a function of several results each
# has its own.
_ON_HOST: dict[Any, OnHost] = {
    elementwise_impl.float_remainder: operator.mod,
    elementwise_impl.float_fmod: math.fmod,
    elementwise_impl.float_floor_divide: operator.floordiv,
    (elementwise_impl.divmod, 0): operator.floordiv,
    (elementwise_impl.divmod, 1): operator.mod,
    torch.copysign: math.copysign,
    elementwise_float_impl.heaviside: lambda a, b: b if a == 0 else float(a > 0),
}


def _part(a: float, b: float, r: float, s: float) -> float | None:
    """The part that the dividend has in the change of a / b; NaN where that is hardly any, or b changes its sign; None
    where it is not clear which."""
    by_a, by_b = (a - r) * (1 / b + 1 / s) / 2, (s - b) / (b * s) * (a + r) / 2
    change, gross = by_a + by_b, abs(by_a) + abs(by_b)
    if not gross < math.inf:
        return None
    if (b > 0) != (s > 0) or abs(change) * _CLEAR <= LEAST * gross:
        return math.nan
    return by_a / change if abs(change) > _CLEAR * LEAST * gross else None


def _in_both_orders(
    f: OnHost, a: float, b: float, r: float, s: float, fx: float, fr: float, digits: float = 0.0
) -> Share:
    only_a, only_b = f(a, s), f(r, b)
    return ((only_a - fr) + (fx - only_b)) / 2, ((only_b - fr) + (fx - only_a)) / 2


def _of_quotient(
    f: OnHost, a: float, b: float, r: float, s: float, fx: float, fr: float, digits: float
) -> Share | None:
    change = fx - fr
    part = _part(a, b, r, s)
    if part is None or not abs(change) < math.inf:  # or NaN
        return None
    if math.isnan(part):
        return _in_both_orders(f, a, b, r, s, fx, fr)
    return change * part, change - change * part


def _of_rest(f: OnHost, a: float, b: float, r: float, s: float, fx: float, fr: float, digits: float) -> Share | None:
    part = _part(a, b, r, s)
    if part is None:
        return None
    q, q_r = round((a - fx) / b), round((r - fr) / s)  # of infinities and NaN there is none
    steps, middle, mean = q - q_r, (b + s) / 2, (q + q_r) / 2
    if math.isnan(part):
        if steps or (b > 0) != (s > 0):
            return _in_both_orders(f, a, b, r, s, fx, fr)
        part = 0.0
    of_a = middle * (steps * part)
    of_b = middle * (steps - steps * part)
    by_a, by_b = (a - r) - of_a, -mean * (b - s) - of_b
    gross = abs(a - r) + abs(of_a) + abs(of_b) + abs(mean * (b - s))
    return (by_a, by_b) if gross <= (abs(fx) + abs(fr) + abs(by_a) + abs(by_b)) * digits else None


SHARES: dict[Any, Callable[..., Share | None]] = {
    of_quotient: _of_quotient,
    of_rest: _of_rest,
    in_both_orders: _in_both_orders,
}


def quotient_of_number(
    form: Any, function: Any, a: float, b: float, r: float, s: float, fx: float, fr: float, dtype: torch.dtype
) -> Share | None:
    """What a and b, which were r and s, have of the change of the function by the closed form, one of `SHARES`; None
    where it is not known, or something has to be said of it."""
    digits = _DIGITS[dtype]
    try:
        found = SHARES[form](_ON_HOST.get(function) or _asked(function, dtype), a, b, r, s, fx, fr, digits)
    except (ArithmeticError, ValueError):
        return None
    if found is None:
        return None
    limit = STEEP if digits >= STEEP else min(STEEP, digits * (abs(fx) + abs(fr)))
    return found if abs(found[0]) + abs(found[1]) <= limit else None


def _asked(function: Any, dtype: torch.dtype) -> OnHost:
    """A function of tensors, of numbers; or that of a function and the place of its result."""

    def asked(a: float, b: float) -> float:
        ends = torch.scalar_tensor(a, dtype=dtype), torch.scalar_tensor(b, dtype=dtype)
        found: float = (function[0](*ends)[function[1]] if type(function) is tuple else function(*ends)).item()
        return found

    return asked


def quotients_of_few(
    form: Any, function: Any, ends: Sequence[Numbers], value: Numbers, base: Numbers, dtype: torch.dtype
) -> tuple[list[float], list[float]] | None:
    """The same of each of a few, whose arguments are those at the value and at the residual."""
    found: tuple[list[float], list[float]] = [], []
    for a, b, r, s, fx, fr in zip(*ends, value, base, strict=True):
        shares = quotient_of_number(form, function, a, b, r, s, fx, fr, dtype)
        if shares is None:
            return None
        found[0].append(shares[0])
        found[1].append(shares[1])
    return found if sum(map(abs, found[0])) + sum(map(abs, found[1])) <= STEEP else None
