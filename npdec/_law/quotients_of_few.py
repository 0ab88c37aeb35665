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

__all__ = ["SHARES", "quotients_of_few"]

Numbers = Sequence[float]
Shares = tuple[list[float], list[float]]
_CLEAR = 1.5 * LEAST  # whatever single precision makes of it
_DIGITS = {dtype: half_of_digits(dtype) for dtype in (torch.float32, torch.float64)}


def _parts(ends: Sequence[Numbers]) -> list[float | None]:
    """The part that each dividend has in the change of a / b; None where that is not known."""
    parts: list[float | None] = []
    for a, b, r, s in zip(*ends, strict=True):
        by_a, by_b = (a - r) * (1 / b + 1 / s) / 2, (s - b) / (b * s) * (a + r) / 2
        change, gross = by_a + by_b, abs(by_a) + abs(by_b)
        known = _CLEAR * gross < abs(change) < math.inf and (b > 0) == (s > 0)
        parts.append(by_a / change if known else None)
    return parts


def _of_quotients(ends: Sequence[Numbers], value: Numbers, base: Numbers, digits: float) -> Shares | None:
    found: Shares = [], []
    for part, fx, fr in zip(_parts(ends), value, base, strict=True):
        change = fx - fr
        if part is None or not abs(change) < math.inf:  # or NaN
            return None
        found[0].append(change * part)
        found[1].append(change - change * part)
    return found


def _of_rests(ends: Sequence[Numbers], value: Numbers, base: Numbers, digits: float) -> Shares | None:
    found: Shares = [], []
    for known, a, b, r, s, fx, fr in zip(_parts(ends), *ends, value, base, strict=True):
        q, q_r = round((a - fx) / b), round((r - fr) / s)  # of infinities and NaN there is none
        steps, middle, mean, part = q - q_r, (b + s) / 2, (q + q_r) / 2, known
        if part is None:
            if steps or (b > 0) != (s > 0):
                return None
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


SHARES: dict[Any, Callable[..., Shares | None]] = {of_quotient: _of_quotients, of_rest: _of_rests}


def quotients_of_few(
    form: Any, ends: Sequence[Numbers], value: Numbers, base: Numbers, dtype: torch.dtype
) -> Shares | None:
    """What a and b, which were r and s, have of the change by the closed form, one of `SHARES`; None where that of one
    is not known, or something has to be said of it."""
    digits = _DIGITS[dtype]
    try:
        found = SHARES[form](ends, value, base, digits)
    except (ArithmeticError, ValueError):
        return None
    if found is None:
        return None
    gross, limit = sum(map(abs, found[0])) + sum(map(abs, found[1])), STEEP
    if digits < STEEP:
        limit = min(limit, digits * (min(map(abs, value)) + min(map(abs, base))))
    return found if gross <= limit else None
