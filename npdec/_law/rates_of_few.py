"""The slopes of pointwise functions between close numbers that have no closed form, of which there are a handful: their
mean derivatives, as `npdec._law.secant_cancellation` finds those of others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.registry import Trait, rate_of
from npdec._law.of_few import vector
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.secant_cancellation import NODES, SMOOTH, is_of_torch
from npdec._torch.interrupts import undisturbed

__all__ = ["mean_rates"]

_NODES = [node for node, _ in gauss_legendre(NODES)]
_WEIGHTS = [weight for _, weight in gauss_legendre(NODES)]
_AT_ONE = NODES + 2
_ROUNDING = {dtype: 16 * torch.finfo(dtype).eps for dtype in (torch.float32, torch.float64)}


def mean_rates(
    f: Callable[..., torch.Tensor],
    function: Any,
    traits: int,
    dtype: torch.dtype,
    derivative: Callable[..., torch.Tensor],
    ends: Sequence[Sequence[float]],
) -> list[float] | None:
    """The slopes between x and r, of numbers of the dtype, by x, r, f(x) and f(r), and `derivative(f, u)`; None where
    they are not to be found here. Without a step they are the derivatives, and where the mean derivative leaves the
    secant by more than rounding can do, that."""
    rate = rate_of(function) if f is function else None
    pieces = traits & Trait.PIECEWISE_LINEAR
    points: list[float] = []
    for x, r, _, _ in ends:
        if pieces or x == r:
            points.append(x)
        else:
            step = x - r
            points += [r, x, *[r + node * step for node in _NODES]]
    if rate is None:
        found = undisturbed(derivative, f, vector(points, torch.float64 if is_of_torch(function) else dtype))
    else:
        found = rate(vector(points, torch.float64))  # which is the rate in each precision
    if found.ndim != 1 or len(found) != len(points):
        return None
    rates: list[float] = found.tolist()
    made: list[float] = []
    at = 0
    for x, r, fx, fr in ends:
        if pieces or x == r:
            made.append(rates[at])
            at += 1
            continue
        first, last = rates[at], rates[at + 1]
        mean = sum(map(float.__mul__, rates[at + 2 : at + _AT_ONE], _WEIGHTS))
        at += _AT_ONE
        step, secant = x - r, (fx - fr) / (x - r)
        if traits & Trait.COARSE:
            rounded = (abs(x) if fx else 0.0) + (abs(r) if fr else 0.0)
        else:
            rounded = abs(fx) + abs(fr)
        smooth = abs(last - first) <= SMOOTH * max(abs(first), abs(last))
        made.append(mean if smooth and abs(mean - secant) <= _ROUNDING[dtype] * rounded / abs(step) else secant)
    return made if all(map(math.isfinite, made)) else None
