"""The mean gradient of a power along the path of its base and its exponent, of one number on the host."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

import torch

from npdec._law.powers_at_zero import LEAST
from npdec._law.quadrature_error import evenness
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._native import calls

__all__ = ["COMPLEX_NODES", "mean_power", "means_by_nodes", "means_through_zero"]

Means = tuple[float, float]
_TEN, _TWELVE, _SIXTEEN = gauss_legendre(10), gauss_legendre(12), gauss_legendre(16)
_MOST = 8  # panels, from which on torch finds the means sooner
_WANTED = 1e-12 / 8  # as the quadrature in double precision, in which Python computes
_EVEN, _EPS = evenness(torch.float64), torch.finfo(torch.float64).eps
_FAR = 6.0  # arguments of the series of complex numbers, from which on its terms cancel
COMPLEX_NODES = gauss_legendre(8), gauss_legendre(16), gauss_legendre(32)
_FEW_NODES, *_MORE_NODES = COMPLEX_NODES
_ALIKE = 1e-7  # the square of which is what twice as many nodes leave
_TERMS = 40  # of the series, which has converged long before where its terms do not cancel


def mean_power(x: float, y: float, r: float, s: float) -> Means | None:
    """x ** y: of a positive base by nodes along the path, or along the logarithm of the base where that goes so far
    that the path comes close to the singularity at zero."""
    if calls is not None:
        known: Means | None = calls.mean_power(x, y, r, s)
        return known
    if x < 0.0 or r < 0.0:
        return _beside_negatives(x, y, r, s)
    if x == r == 1.0:
        return (y + s) / 2, 0.0
    if not (x > 0.0 < r):
        return _from_zero(x, y, r, s) if x >= 0.0 <= r and x != r else None
    dx, dy, base = x - r, y - s, math.log(r)
    ratio = x / r if x > r else r / x
    nodes = _TEN if ratio < 2 else _TWELVE if ratio < 3.01 else _SIXTEEN  # the logarithm is singular at zero
    long = ratio > 5
    growth = math.log(x / r) if long else 0.0
    pace = growth / dx if long else 0.0
    start, end = r**s, x**y
    before = start * (s * dx / r + base * dy)  # the rates of change at the ends
    after = end * (y * dx / x + math.log(x) * dy)
    if (dx or dy) and abs(before - after) <= 4 * _EVEN * max(abs(before), abs(after)):
        return None  # its change does not tell whether the nodes are enough
    first = second = 0.0
    todo, count = [(0.0, 1.0, start, end)], 0
    while todo:
        a, b, low, high = todo.pop()
        count += 1
        if count > _MOST:
            return None
        length, of_base, of_exponent = b - a, 0.0, 0.0
        if long:
            for node, weight in nodes:
                log = growth * (a + length * node)
                u = r * math.exp(log)
                v, log = s + (u - r) / dx * dy, base + log
                p = weight * math.exp(v * log)
                of_base += p * v
                of_exponent += p * u * log
            of_base, of_exponent = length * pace * of_base, length * pace * of_exponent
        else:
            for node, weight in nodes:
                t = a + length * node
                u, v = r + t * dx, s + t * dy
                p = weight * u**v
                of_base += p * v / u
                of_exponent += p * math.log(u)
            of_base, of_exponent = length * of_base, length * of_exponent
        by_x, by_y = of_base * dx, of_exponent * dy
        error = abs(high - low - by_x - by_y)
        if error <= max(_WANTED * max(abs(low), abs(high)), 16 * _EPS * (abs(by_x) + abs(by_y))):
            first, second = first + of_base, second + of_exponent
        else:
            middle = (a + b) / 2
            u = r * math.exp(growth * middle) if long else r + middle * dx
            v = s + ((u - r) / dx if long else middle) * dy
            between = u**v
            todo += [(a, middle, low, between), (middle, b, between, high)]
    return first, second


def _from_zero(x: float, y: float, r: float, s: float) -> Means | None:
    """The same where the base is zero at one end: u = b t, v = v0 + d t, seen from there.

    By the exponent it is the integral of u ** v log u = b ** v0 Σ d^k / k! t^(v0 + k) (log b t)^(k + 1), term by term;
    by the base it is the rest of the change."""
    end, v0, d = (x, s, y - s) if r == 0.0 else (r, y, s - y)
    if not end > 0.0 or not (v0 == 0.0 or v0 >= LEAST):
        return None
    log = math.log(end)
    scale, total, gross, factor = end**v0, 0.0, 0.0, 1.0
    for k in range(_TERMS):
        # The integral of t^a (log b t)^n, by that of one power of the logarithm less.
        a, part, power = v0 + k + 1, 1 / (v0 + k + 1), 1.0
        for n in range(1, k + 2):
            power *= log
            part = (power - n * part) / a
        term = factor * part
        total, gross = total + term, gross + abs(term)
        factor *= d / (k + 1)
        if abs(term) <= _EPS * abs(total) / 4 or not factor:
            break
    else:
        return None
    change, by_exponent = x**y - r**s, scale * total
    moved = by_exponent * (y - s)
    if _EPS * scale * gross * abs(y - s) > _WANTED * (abs(change) + abs(moved)):
        return None  # the terms have cancelled
    return (change - moved) / (x - r), by_exponent


def _beside_negatives(x: float, y: float, r: float, s: float) -> Means | None:
    """The same of a base that is negative at one end at least, and an exponent that moves: between the ends the power
    is complex, and the real parts add up to its change."""
    if y == s:
        return None
    find = means_by_nodes if x < 0.0 and r < 0.0 else means_through_zero
    found = find(complex(x), complex(r), complex(y), complex(s))
    return None if found is None else (found[0].real, found[1].real)


def means_through_zero(x: complex, r: complex, y: complex, s: complex) -> tuple[complex, complex] | None:
    """The mean gradients of x ** y of complex numbers whose path meets zero: from there to either end, by the series of
    `npdec._law.powers_at_zero`. None where it does not meet zero, or these do not converge."""
    step, other = x - r, y - s
    along, size = r.conjugate() * step, step.real * step.real + step.imag * step.imag
    if not 0.0 < size < math.inf or along.imag:
        return None
    place = -along.real / size
    if not 0.0 <= place <= 1.0:
        return None
    v0 = s + place * other
    if v0 and not v0.real >= LEAST:
        return None
    first = second = 0j
    for end, way, moved in ((x, 1.0 - place, (1.0 - place) * other), (r, place, -place * other)):
        if way:
            means = _series(end, v0, moved)
            if means is None:
                return None
            first, second = first + way * means[0], second + way * means[1]
    return first, second


def _series(end: complex, v0: complex, moved: complex) -> tuple[complex, complex] | None:
    log = complex(math.log(abs(end)), math.atan2(end.imag, end.real))
    if not abs(moved) * (abs(log) + 1.0) <= _FAR:
        return None
    powers = [1 + 0j]
    of_base, of_exponent, factor, before = 0j, 0j, 1 + 0j, 0j
    for k in range(_TERMS):
        # The integrals of t^(a - 1) times powers of log b t, each by that of one less.
        inverse, powers = 1 / (v0 + (k + 1)), [*powers, powers[-1] * log]
        last = part = inverse
        for n in range(1, k + 2):
            last, part = part, (powers[n] - n * part) * inverse
        first = moved * last + (v0 * before if k else complex(bool(v0)))
        term, terms = factor * part, factor * first
        of_base, of_exponent = of_base + terms, of_exponent + term
        if abs(term) <= _EPS / 4 * abs(of_exponent) and abs(terms) <= _EPS / 4 * abs(of_base):
            scale = cmath.exp(v0 * log)
            return of_base * scale / end, of_exponent * scale
        factor, before = factor * moved / (k + 1), part
    return None


def means_by_nodes(x: complex, r: complex, y: complex, s: complex) -> tuple[complex, complex] | None:
    """The mean gradients along a path that has no singularity; None where it comes too close to one."""
    means = _means_of_power(_FEW_NODES, x, r, y, s)
    for nodes in _MORE_NODES:
        fewer, means = means, _means_of_power(nodes, x, r, y, s)
        if all(abs(rough - mean) <= _ALIKE * abs(mean) for rough, mean in zip(fewer, means, strict=True)):
            return means
    return None


def _means_of_power(
    nodes: Sequence[tuple[float, float]], x: complex, r: complex, y: complex, s: complex
) -> tuple[complex, complex]:
    by_base = by_exponent = 0j
    for node, weight in nodes:
        base, exponent = r + node * (x - r), s + node * (y - s)
        log = cmath.log(base)
        whole = cmath.exp(exponent * log) * weight
        by_base += exponent * whole / base
        by_exponent += log * whole
    return by_base, by_exponent
