"""What each of two arguments has of the change of a function with jumps, of a handful of numbers on the host: as
`npdec._impl.quotients_impl` says, which says it of the others.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.size_warnings import STEEP, half_of_digits
from npdec._impl import elementwise_float_impl, elementwise_impl
from npdec._impl.quotients_impl import LEAST, in_both_orders, of_quotient, of_rest

__all__ = ["OF_FEW", "ON_HOST", "SHARES", "quotient_of_number", "quotients_of_few"]

Numbers = Sequence[float]
OnHost = Callable[[float, float], float]
Shares = tuple[list[float], list[float]]
_CLEAR = 1.5  # times as much, or as little, whatever single precision makes of it
_DIGITS = {dtype: half_of_digits(dtype) for dtype in (torch.float32, torch.float64)}

# What computes the function of Python's numbers, where torch need not be asked. Of a function of several results each
# has its own.
ON_HOST: dict[Any, OnHost] = {
    elementwise_impl.float_remainder: operator.mod,
    elementwise_impl.float_fmod: math.fmod,
    elementwise_impl.float_floor_divide: operator.floordiv,
    (elementwise_impl.divmod, 0): operator.floordiv,
    (elementwise_impl.divmod, 1): operator.mod,
    torch.copysign: math.copysign,
    elementwise_float_impl.heaviside: lambda a, b: b if a == 0 else float(a > 0),
}


def _in_both_orders(f: OnHost, ends: Sequence[Numbers], value: Numbers, base: Numbers, digits: float = 0.0) -> Shares:
    found: Shares = [], []
    for a, b, r, s, fx, fr in zip(*ends, value, base, strict=True):
        only_a, only_b = f(a, s), f(r, b)
        found[0].append(((only_a - fr) + (fx - only_b)) / 2)
        found[1].append(((only_b - fr) + (fx - only_a)) / 2)
    return found


def _rounded(
    rest: bool, f: OnHost, ends: Sequence[Numbers], value: Numbers, base: Numbers, digits: float
) -> Shares | None:
    """Of quotients that are rounded to integers, or of their rests."""
    first: list[float] = []
    second: list[float] = []
    for a, b, r, s, fx, fr in zip(*ends, value, base, strict=True):
        by_a, by_b = (a - r) * (1 / b + 1 / s) / 2, (s - b) / (b * s) * (a + r) / 2
        change, gross, alike = by_a + by_b, abs(by_a) + abs(by_b), (b > 0) == (s > 0)
        known = alike and abs(change) > _CLEAR * LEAST * gross
        if not gross < math.inf or not abs(fx - fr) < math.inf:  # or NaN
            return None
        if not known and alike and abs(change) * _CLEAR > LEAST * gross:  # it is not clear whether
            return None
        part = by_a / change if known else 0.0
        apart = not known
        if rest:
            q, q_r = round((a - fx) / b), round((r - fr) / s)
            steps, middle, mean = q - q_r, (b + s) / 2, (q + q_r) / 2
            apart = not known and (bool(steps) or not alike)
            of_a = middle * (steps * part)
            of_b = middle * (steps - steps * part)
            by_a, by_b = (a - r) - of_a, -mean * (b - s) - of_b
            gross = abs(a - r) + abs(of_a) + abs(of_b) + abs(mean * (b - s))
            if not (apart or gross <= (abs(fx) + abs(fr) + abs(by_a) + abs(by_b)) * digits):
                return None
        else:
            by_a = (fx - fr) * part
            by_b = fx - fr - by_a
        if apart:
            (by_a,), (by_b,) = _in_both_orders(f, ((a,), (b,), (r,), (s,)), (fx,), (fr,))
        first.append(by_a)
        second.append(by_b)
    return first, second


SHARES: dict[Any, Callable[..., Shares | None]] = {
    of_quotient: partial(_rounded, False),
    of_rest: partial(_rounded, True),
    in_both_orders: _in_both_orders,
}


OF_FEW = frozenset((of_quotient, of_rest))  # shares that are found sooner here of a few, too


def _asked(function: Any, dtype: torch.dtype) -> OnHost:
    """A function of tensors, of numbers; or that of a function and the place of its result."""

    def asked(a: float, b: float) -> float:
        ends = torch.scalar_tensor(a, dtype=dtype), torch.scalar_tensor(b, dtype=dtype)
        found: float = (function[0](*ends)[function[1]] if type(function) is tuple else function(*ends)).item()
        return found

    return asked


def _left(a: float, b: float) -> float:
    """A function that torch computes of all at once."""
    raise ArithmeticError


def quotient_of_number(
    form: Any, function: Any, a: float, b: float, r: float, s: float, fx: float, fr: float, dtype: torch.dtype
) -> tuple[float, float] | None:
    """What a and b, which were r and s, have of the change of the function by the closed form, one of `SHARES`; None
    where it is not known, or something has to be said of it."""
    digits = _DIGITS[dtype]
    f = ON_HOST.get(function) or _asked(function, dtype)
    try:
        found = SHARES[form](f, ((a,), (b,), (r,), (s,)), (fx,), (fr,), digits)
    except (ArithmeticError, ValueError):
        return None
    if found is None:
        return None
    limit = STEEP if digits >= STEEP else min(STEEP, digits * (abs(fx) + abs(fr)))
    (by_a,), (by_b,) = found
    return (by_a, by_b) if abs(by_a) + abs(by_b) <= limit else None


def quotients_of_few(
    form: Any, function: Any, ends: Sequence[Numbers], value: Numbers, base: Numbers, dtype: torch.dtype
) -> Shares | None:
    """The same of a few, whose arguments are those at the value and at the residual."""
    digits = _DIGITS[dtype]
    try:
        found = SHARES[form](ON_HOST.get(function) or _left, ends, value, base, digits)
    except (ArithmeticError, ValueError):
        return None
    if found is None:
        return None
    sizes = [abs(a) + abs(b) for a, b in zip(*found, strict=True)]
    if digits < STEEP and not all(
        size <= digits * (abs(fx) + abs(fr)) for size, fx, fr in zip(sizes, value, base, strict=True)
    ):
        return None
    return found if sum(sizes) <= STEEP else None
