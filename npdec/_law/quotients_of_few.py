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

__all__ = ["SHARES", "quotients_of_few"]

Numbers = Sequence[float]
OnHost = Callable[[float, float], float]
Shares = tuple[list[float], list[float]]
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


def _parts(ends: Sequence[Numbers]) -> list[float] | None:
    """The part that each dividend has in the change of a / b; NaN where that is hardly any, or b changes its sign. None
    where it is not clear which."""
    parts: list[float] = []
    for a, b, r, s in zip(*ends, strict=True):
        by_a, by_b = (a - r) * (1 / b + 1 / s) / 2, (s - b) / (b * s) * (a + r) / 2
        change, gross = by_a + by_b, abs(by_a) + abs(by_b)
        if not gross < math.inf:
            return None
        if (b > 0) != (s > 0) or abs(change) * _CLEAR <= LEAST * gross:
            parts.append(math.nan)
        elif abs(change) > _CLEAR * LEAST * gross:
            parts.append(by_a / change)
        else:
            return None
    return parts


def _in_both_orders(f: OnHost, ends: Sequence[Numbers], value: Numbers, base: Numbers, digits: float = 0.0) -> Shares:
    found: Shares = [], []
    for a, b, r, s, fx, fr in zip(*ends, value, base, strict=True):
        only_a, only_b = f(a, s), f(r, b)
        found[0].append(((only_a - fr) + (fx - only_b)) / 2)
        found[1].append(((only_b - fr) + (fx - only_a)) / 2)
    return found


def _of_quotients(f: OnHost, ends: Sequence[Numbers], value: Numbers, base: Numbers, digits: float) -> Shares | None:
    parts = _parts(ends)
    if parts is None:
        return None
    found: Shares = [], []
    for part, a, b, r, s, fx, fr in zip(parts, *ends, value, base, strict=True):
        change = fx - fr
        if not abs(change) < math.inf:  # or NaN
            return None
        if math.isnan(part):
            both = _in_both_orders(f, ((a,), (b,), (r,), (s,)), (fx,), (fr,))
            found[0].extend(both[0])
            found[1].extend(both[1])
        else:
            found[0].append(change * part)
            found[1].append(change - change * part)
    return found


def _of_rests(f: OnHost, ends: Sequence[Numbers], value: Numbers, base: Numbers, digits: float) -> Shares | None:
    parts = _parts(ends)
    if parts is None:
        return None
    found: Shares = [], []
    for known, a, b, r, s, fx, fr in zip(parts, *ends, value, base, strict=True):
        q, q_r = round((a - fx) / b), round((r - fr) / s)  # of infinities and NaN there is none
        steps, middle, mean, part = q - q_r, (b + s) / 2, (q + q_r) / 2, known
        if math.isnan(part):
            if steps or (b > 0) != (s > 0):
                both = _in_both_orders(f, ((a,), (b,), (r,), (s,)), (fx,), (fr,))
                found[0].extend(both[0])
                found[1].extend(both[1])
                continue
            part = 0.0
        of_a = middle * (steps * part)
        of_b = middle * (steps - steps * part)
        by_a, by_b = (a - r) - of_a, -mean * (b - s) - of_b
        gross = abs(a - r) + abs(of_a) + abs(of_b) + abs(mean * (b - s))
        if not gross <= (abs(fx) + abs(fr) + abs(by_a) + abs(by_b)) * digits:
            return None
        found[0].append(by_a)
        found[1].append(by_b)
    return found


SHARES: dict[Any, Callable[..., Shares | None]] = {
    of_quotient: _of_quotients,
    of_rest: _of_rests,
    in_both_orders: _in_both_orders,
}


def _asked(function: Any, dtype: torch.dtype) -> OnHost:
    """A function of tensors, of numbers; or that of a function and the place of its result."""

    def asked(a: float, b: float) -> float:
        ends = torch.scalar_tensor(a, dtype=dtype), torch.scalar_tensor(b, dtype=dtype)
        found: float = (function[0](*ends)[function[1]] if type(function) is tuple else function(*ends)).item()
        return found

    return asked


def quotients_of_few(
    form: Any, function: Any, ends: Sequence[Numbers], value: Numbers, base: Numbers, dtype: torch.dtype
) -> Shares | None:
    """What a and b, which were r and s, have of the change of the function by the closed form, one of `SHARES`; None
    where that of one is not known, or something has to be said of it."""
    digits, on_host = _DIGITS[dtype], _ON_HOST.get(function)
    if on_host is None and form is in_both_orders and len(value) > 1:
        return None  # torch computes all of them at once
    try:
        found = SHARES[form](on_host or _asked(function, dtype), ends, value, base, digits)
    except (ArithmeticError, ValueError):
        return None
    if found is None:
        return None
    gross, limit = sum(map(abs, found[0])) + sum(map(abs, found[1])), STEEP
    if digits < STEEP:
        limit = min(limit, digits * (min(map(abs, value)) + min(map(abs, base))))
    return found if gross <= limit else None
