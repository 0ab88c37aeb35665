"""Nodes and weights of quadrature on [0, 1]."""

from __future__ import annotations

import decimal
import functools
import math
from decimal import Decimal
from typing import Any

from npdec._torch.tracing import constant_when_traced

__all__ = ["gauss_legendre", "last_coefficients"]

_FEW = 64


@constant_when_traced
@functools.cache
def gauss_legendre(n: int) -> tuple[tuple[float, float], ...]:
    """(node, weight) pairs on [0, 1], exact for polynomials of degree 2n − 1; of a few nodes each is rounded once.

    The nodes are the roots of Legendre's polynomial P, by Newton's method, the weights 1 / ((1 − x²) P'(x)²).
    """
    number: Any = Decimal if n <= _FEW else float
    found: list[tuple[float, float, float]] = []
    with decimal.localcontext(prec=34):
        for i in range((n + 1) // 2):
            x = number(math.cos(math.pi * (i + 0.75) / (n + 0.5)))
            for _ in range(6):
                last, before = x, number(1)
                for k in range(1, n):
                    last, before = ((2 * k + 1) * x * last - k * before) / (k + 1), last
                slope = n * (x * last - before) / (x * x - 1)
                x -= last / slope
            found.append((float((1 - x) / 2), float((1 + x) / 2), float(1 / ((1 - x * x) * slope * slope))))
    below, above = [(low, weight) for low, _, weight in found], [(high, weight) for _, high, weight in found]
    return tuple(below[: n // 2] + above[::-1])


@functools.cache
def last_coefficients(n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The coefficients, one for each of n nodes, that give of what is known at the nodes the two last coefficients by
    Legendre's polynomials. The square of what they are of the largest tells how far n nodes are from enough."""
    rows: list[list[float]] = []
    for node, weight in gauss_legendre(n):
        x, before, last = 2 * node - 1, 0.0, 1.0
        found = []
        for k in range(n):
            found.append((2 * k + 1) * weight * last)
            before, last = last, ((2 * k + 1) * x * last - k * before) / (k + 1)
        rows.append(found)
    return tuple(row[-2] for row in rows), tuple(row[-1] for row in rows)
