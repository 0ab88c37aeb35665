"""What each of two arguments has of the change of a quotient that is rounded to an integer, and of what it leaves, of a
handful of numbers on the host: as `npdec._impl.quotients_impl` says, which says it of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.size_warnings import STEEP, half_of_digits
from npdec._impl.quotients_impl import LEAST, of_quotient, of_rest

__all__ = ["SHARES", "quotients_of_few", "shares_of_number"]

Numbers = Sequence[float]
_CLEAR = 1.5 * LEAST  # whatever single precision makes of it
_DIGITS = {dtype: half_of_digits(dtype) for dtype in (torch.float32, torch.float64)}


def _share(a: float, b: float, r: float, s: float) -> float | None:
    """The part that the dividend has in the change of a / b; None where that is not known."""
    by_a, by_b = (a - r) * (1 / b + 1 / s) / 2, (s - b) / (b * s) * (a + r) / 2
    change, gross = by_a + by_b, abs(by_a) + abs(by_b)
    known = _CLEAR * gross < abs(change) < math.inf and (b > 0) == (s > 0)
    return by_a / change if known else None


def _of_quotient(
    a: float, b: float, r: float, s: float, fx: float, fr: float, digits: float
) -> tuple[float, float] | None:
    change = fx - fr
    if not abs(change) < math.inf:  # or NaN
        return None
    share = _share(a, b, r, s)
    return None if share is None else (change * share, change - change * share)


def _of_rest(a: float, b: float, r: float, s: float, fx: float, fr: float, digits: float) -> tuple[float, float] | None:
    q, q_r = round((a - fx) / b), round((r - fr) / s)  # of infinities and NaN there is none
    steps, middle, mean = q - q_r, (b + s) / 2, (q + q_r) / 2
    share = _share(a, b, r, s)
    if share is None:
        if steps or (b > 0) != (s > 0):
            return None
        share = 0.0
    of_a = middle * (steps * share)
    of_b = middle * (steps - steps * share)
    by_a, by_b = (a - r) - of_a, -mean * (b - s) - of_b
    gross = abs(a - r) + abs(of_a) + abs(of_b) + abs(mean * (b - s))
    return (by_a, by_b) if gross <= (abs(fx) + abs(fr) + abs(by_a) + abs(by_b)) * digits else None


SHARES: dict[Any, Callable[..., tuple[float, float] | None]] = {of_quotient: _of_quotient, of_rest: _of_rest}


def shares_of_number(
    form: Any, a: float, b: float, r: float, s: float, fx: float, fr: float, dtype: torch.dtype
) -> tuple[float, float] | None:
    """What a and b, which were r and s, have of the change by the closed form; None where that is not known, or
    something has to be said of it."""
    digits = _DIGITS[dtype]
    try:
        shares = SHARES[form](a, b, r, s, fx, fr, digits)
    except (ArithmeticError, ValueError):
        return None
    if shares is None:
        return None
    gross = abs(shares[0]) + abs(shares[1])
    few = gross <= STEEP and (digits >= STEEP or gross <= digits * (abs(fx) + abs(fr)))
    return shares if few else None


def quotients_of_few(
    form: Any, ends: Sequence[Numbers], value: Numbers, base: Numbers, dtype: torch.dtype
) -> tuple[list[float], list[float]] | None:
    """The same of each of a few."""
    if form not in SHARES:
        return None
    found: tuple[list[float], list[float]] = [], []
    for a, b, r, s, fx, fr in zip(*ends, value, base, strict=True):
        shares = shares_of_number(form, a, b, r, s, fx, fr, dtype)
        if shares is None:
            return None
        found[0].append(shares[0])
        found[1].append(shares[1])
    return found
