"""The integrals of the gradient of a power beside the place where its base is zero, which no polynomial comes close to.

Seen from there the base is u = b t and the exponent v = v₀ + d t, and the derivatives u^v log u and v u^(v − 1) are
series in d, of which each term is an integral of a power of t and of one of log b t, known in closed form. They
converge at once where d log b t is small: the rest of the path is left to the quadrature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._law.panels import chosen

__all__ = ["LEAST", "TERMS", "real_at_ends", "without_zeros"]

LEAST = 2.0**-10  # exponents of less jump from zero before the least of numbers
TERMS = 24  # of the series, of arguments up to one
_HALVINGS = 64


class _Beside(NamedTuple):
    """Pieces of the paths of some rows, from the place `inner`, where the base is zero and the power 0 or 1, to
    `outer`: what the power is at the start, and the integrals of both derivatives."""

    row: torch.Tensor
    inner: torch.Tensor
    outer: torch.Tensor
    low: torch.Tensor
    parts: list[torch.Tensor]


def without_zeros(
    panels: Any,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    between: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    added: Callable[[Any, bool, Any], torch.Tensor],
) -> Any:
    """What is left of the whole paths of powers, where the pieces beside zeros of the base are `added` up. `between`
    gives the powers of rows at places."""
    beside = _beside_zero(start, step, panels.low, panels.high)
    if not beside:
        return panels
    kind, whole = type(panels), torch.ones_like(panels.row, dtype=torch.bool)
    left: list[Any] = []
    for row, inner, outer, at_zero, parts in beside:
        whole[row] = False
        low, high, up = panels.low[row], panels.high[row], outer > inner
        is_end = outer == up
        at = torch.where(is_end, torch.where(up, high, low), between(row, outer))
        a, b = torch.minimum(inner, outer), torch.maximum(inner, outer)
        near = kind(row, a, b, torch.where(up, at_zero, at), torch.where(up, at, at_zero))
        ends = torch.where(up, at, low), torch.where(up, high, at)
        far = kind(row, torch.where(up, b, 0), torch.where(up, 1, a), *ends)
        done = added(near, False, (parts, torch.zeros_like(a)))  # the others are left to the quadrature
        left += [chosen(near, ~done), chosen(far, ~is_end)]
    return kind(*map(torch.cat, zip(chosen(panels, whole), *left, strict=True)))


def _beside_zero(
    start: Sequence[torch.Tensor], step: Sequence[torch.Tensor], before: torch.Tensor, after: torch.Tensor
) -> list[_Beside]:
    """Of the paths of bases and exponents, a number each, the pieces that begin or end where the base is zero: where
    the exponent is zero or has a positive real part, and real bases are not negative. The powers `before` and `after`
    are those at both ends."""
    (r, s), (d, e) = [[part.to(torch.complex128) for part in parts] for parts in (start, step)]
    along, size = r.conj() * d, d.real.square() + d.imag.square()
    place = -along.real / size  # NaN where nothing moves
    known = (along.imag == 0) & (place >= 0) & (place <= 1) & torch.isfinite(size)
    v0 = s + torch.where(known, place, 0) * e
    known &= (v0 == 0) | (v0.real >= LEAST)
    if not start[0].is_complex():
        known &= ((r == 0) & (d.real > 0)) | ((r + d == 0) & (d.real < 0))
    made = _of_zero(start, step, before, after)
    row = torch.nonzero(known).reshape(-1)
    if not len(row):
        return made
    place, v0, r, d, e = (part[row] for part in (place.abs(), v0, r, d, e))
    for far, end in ((1.0, r + d), (0.0, r)):
        some = torch.nonzero(place != far).reshape(-1)
        if not len(some):
            continue
        inner, exponent = place[some], v0[some]
        way = far - inner  # with its sign
        base, moved = end[some], e[some] * way
        near = _near(base, moved)
        outer = torch.where(near == 1, far, inner + near * way)
        parts = [mean * (near * way.abs()) for mean in _means(base * near, exponent, moved * near)]
        if not start[0].is_complex():
            parts = [part.real for part in parts]
        low = (exponent == 0).to(start[0].dtype)
        made.append(_Beside(row[some], inner, outer, low, [part.to(start[0].dtype) for part in parts]))
    return made


def _of_zero(
    start: Sequence[torch.Tensor], step: Sequence[torch.Tensor], before: torch.Tensor, after: torch.Tensor
) -> list[_Beside]:
    """The paths of exponents of a base that stays zero: the power jumps where its exponent is zero at one end."""
    (r, s), (d, e) = start, step
    row = torch.nonzero((r == 0) & (d == 0) & (e != 0) & torch.isfinite(before) & torch.isfinite(after)).reshape(-1)
    if not len(row):
        return []
    s, e, low, high = s[row], e[row], before[row], after[row]
    inner = torch.zeros_like(e.real, dtype=torch.float64)
    by_base = torch.where(torch.minimum(s.real, (s + e).real) < 1, torch.inf, 0.0).to(r.dtype)
    return [_Beside(row, inner, torch.ones_like(inner), low, [by_base, ((high - low) / e).to(s.dtype)])]


def _near(base: torch.Tensor, moved: torch.Tensor) -> torch.Tensor:
    """How far from zero to its end the series is taken, where the base moves by one number and the exponent by the
    other: powers of two."""
    near, log = torch.ones_like(base.real), torch.log(base).abs()
    for _ in range(_HALVINGS):
        near = torch.where(moved.abs() * near * (log - torch.log(near) + 1) > 1, near / 2, near)
    return near


def _means(base: torch.Tensor, v0: torch.Tensor, moved: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean derivatives by the base, from zero to this one, and by the exponent, from v₀ on."""
    log = torch.log(base)
    none = v0 == 0
    by_base, by_exponent = torch.where(none, 0, torch.ones_like(v0)), -1 / (v0 + 1).square() + log / (v0 + 1)
    # The first terms. Those that follow have the mean of t^(v₀ + k - 1), and of t^(v₀ + k), times powers of log b t.
    factor = torch.ones_like(v0)
    by_base = by_base + moved * _mean_of(v0 + 1, log, 0)
    for k in range(1, TERMS):
        factor = factor * moved / k
        by_base = by_base + factor * (v0 * _mean_of(v0 + k, log, k) + moved * _mean_of(v0 + k + 1, log, k))
        by_exponent = by_exponent + factor * _mean_of(v0 + k + 1, log, k + 1)
    scale = torch.exp(v0 * log)
    return by_base * scale / base, by_exponent * scale


def _mean_of(a: torch.Tensor, log: torch.Tensor, n: int) -> torch.Tensor:
    """The integral of t^(a − 1) (log b t)^n, by that of one power of the logarithm less."""
    made, power = 1 / a, torch.ones_like(a)
    for i in range(1, n + 1):
        power = power * log
        made = (power - i * made) / a
    return made


def real_at_ends(
    start: Sequence[torch.Tensor], step: Sequence[torch.Tensor], before: torch.Tensor, after: torch.Tensor
) -> torch.Tensor:
    """The rows of powers of negative numbers to moving exponents, which are numbers at both ends, and between them
    complex ones: what adds up to their change is the real part."""
    (r, _), (d, e) = start, step
    known = torch.isfinite(before) & torch.isfinite(after)
    return torch.nonzero(((r < 0) | (r + d < 0)) & (e != 0) & known).reshape(-1)
