"""Directions along a straight segment: path integrals for norms and normalisations, in elementary functions.

Along u(t) = r + t d let q(t) = |u(t)|² + floor, whose root s(t) is the distance from the origin once `floor` is the
square of one more coordinate that stays. Two things are integrated over t from 0 to 1: the direction u / s, which is
the gradient of s, and its derivative, the matrix I / s − u uᵀ / s³.

With the unit vector e of d, L = |d|, the foot p0 = r·e, p1 = p0 + L, the part U = r − p0 e across the path and
q0 = |U|² + floor, a substitution τ = p0 + t L gives ∫ 1/s = log((s0 + s1 + L) / (s0 + s1 − L)) / L (the potential of a
rod), ∫ τ/s = (s1 − s0) / L, and for the matrix in the basis U / √q0, e:

    ∫ q0/s³ = (p1/s1 − p0/s0) / L,   ∫ √q0 τ/s³ = √q0 (1/s0 − 1/s1) / L,   ∫ τ²/s³ = ∫ 1/s − ∫ q0/s³.

None of them loses digits, however close to the origin the path passes; a path that is short beside its distance from
the origin would lose them in the differences, and there eight Gauss–Legendre nodes are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

__all__ = ["Jacobian", "mean_direction", "mean_jacobian", "mean_jacobian_beside", "of_sums", "unit_segments"]

_SHORT = 1 / 16  # |d|² / s0²: the nearest pole is at |t| ≥ 4, and eight nodes leave 14 ** -16
_CLEAR = 1 / 16  # q0 / s0²: r and d are independent enough for sums of their multiples to keep their digits
_LARGE = 1e10  # |r|² + |d|², between which and its reciprocal nothing leaves the range of single precision
# Gauss–Legendre on [0, 1] (Abramowitz and Stegun, "Handbook of Mathematical Functions", 25.4.30, n = 8).
_HALF_NODES = (0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363)
_HALF_WEIGHTS = (0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763)
_NODES = tuple((1 + sign * x) / 2 for x in _HALF_NODES for sign in (-1, 1))
_WEIGHTS = tuple(w / 2 for w in _HALF_WEIGHTS for _ in (-1, 1))


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum(-1, keepdim=True)


def _root(z: torch.Tensor) -> torch.Tensor:
    """The square root, with a derivative of zero at zero."""
    positive = z > 0
    return torch.where(positive, torch.sqrt(torch.where(positive, z, 1)), 0)


def _scaled(
    r: torch.Tensor, d: torch.Tensor, floor: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """r and d in units of their largest number, or of the root of floor if that is larger, floor in units of the square
    of the unit, and the unit: squares stay in range."""
    unit = torch.maximum(r.detach().abs().amax(-1, keepdim=True), d.detach().abs().amax(-1, keepdim=True))
    unit = unit.clamp(min=floor**0.5)
    unit = torch.where((unit > 0) & (unit < torch.inf), unit, 1)
    low = torch.full_like(unit, floor) / unit / unit  # a number over a tensor is a product with its inverse, of torch
    return r / unit, d / unit, low, unit


class Jacobian(NamedTuple):
    """diagonal − Vᵀ W V: the diagonal (…, 1), V (…, 2, m) and W (…, 2, 2). `depth` (…, 1) is the logarithm of how near
    the path comes to the origin, beside its length; None if no path comes near."""

    diagonal: torch.Tensor
    basis: torch.Tensor
    matrix: torch.Tensor
    depth: torch.Tensor | None


def _symmetric(w00: torch.Tensor, w01: torch.Tensor, w11: torch.Tensor) -> torch.Tensor:
    """Matrices (…, 2, 2) of numbers (…, 1)."""
    return torch.cat([w00, w01, w01, w11], -1).unflatten(-1, (2, 2))


class _Long:
    """The numbers of the closed forms, for rows whose path is not short."""

    def __init__(self, length: torch.Tensor, p0: torch.Tensor, q0: torch.Tensor) -> None:
        self.length, self.p0, self.p1, self.q0 = length, p0, p0 + length, q0
        self.s0, self.s1 = _root(q0 + p0 * p0), _root(q0 + self.p1 * self.p1)

    @classmethod
    def of(
        cls, r: torch.Tensor, d: torch.Tensor, floor: torch.Tensor, dd: torch.Tensor, centred: bool = False
    ) -> tuple[_Long, torch.Tensor, torch.Tensor]:
        """The numbers, the direction e, and U, which keeps its digits where it is short beside r."""
        length = torch.sqrt(dd)
        along = d / length
        foot = _dot(r, along)
        across = r - foot * along
        if centred:
            across = across - across.mean(-1, keepdim=True)  # what rounding left, beside a short U
        more = _dot(across, along)
        across = across - more * along
        return cls(length, foot + more, _dot(across, across) + floor), along, across

    def bend(self) -> torch.Tensor:
        """∫ q0 / s³."""
        return (self.p1 / self.s1 - self.p0 / self.s0) / self.length

    def potential(self) -> torch.Tensor:
        """∫ 1/s; infinite where the path meets the origin."""
        outer0, outer1 = self.s0 + self.p0.abs(), self.s1 + self.p1.abs()
        gap = torch.where(self.p0 > 0, outer0, _over(self.q0, outer0))
        gap = gap + torch.where(self.p1 < 0, outer1, _over(self.q0, outer1))
        meets = gap <= 0
        ratio = (self.s0 + self.s1 + self.length) / torch.where(meets, 1, gap)
        return torch.where(meets, torch.inf, torch.log(ratio) / self.length)


def _over(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a / b, zero where b is."""
    return torch.where(b > 0, a / torch.where(b > 0, b, 1), 0)


def _moments(rr: torch.Tensor, rd: torch.Tensor, dd: torch.Tensor, power: float, count: int) -> list[torch.Tensor]:
    """∫ tᵏ q^power for k below `count`, by nodes, where q = rr + 2 t rd + t² dd."""
    t = torch.tensor(_NODES, dtype=rr.dtype, device=rr.device)
    weights = torch.tensor(_WEIGHTS, dtype=rr.dtype, device=rr.device)
    values = (rr + t * (2 * rd + t * dd)) ** power * weights
    return [(values if not k else values * t**k).sum(-1, keepdim=True) for k in range(count)]


def _blind() -> bool:
    """Whether no branch may depend on numbers: within torch.compile and torch.func."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


def _kinds(short: torch.Tensor) -> tuple[bool, bool]:
    """Whether there are short paths, and others. Code that may not look computes both."""
    if _blind():
        return True, True
    some = bool(short.any())
    return some, not some or not bool(short.all())


def mean_direction(r: torch.Tensor, d: torch.Tensor, floor: float = 0.0) -> torch.Tensor:
    """∫ u / s dt, for rows r and d (..., m): the mean of the gradient of the norm s. Shape (..., m)."""
    r, d, low, _ = _scaled(r, d, floor)
    rr, dd = _dot(r, r) + low, _dot(d, d)
    short = dd <= _SHORT * rr
    some_short, some_long = _kinds(short)
    made = r
    if some_long:
        path, along, across = _Long.of(r, d, low, torch.where(short, 1, dd))
        potential = torch.where(path.q0 > 0, path.potential(), 0)  # on a path through the origin, U is zero
        made = across * potential + along * ((path.s1 - path.s0) / path.length)
    if some_short:
        rd = torch.where(short, _dot(r, d), 0)
        inside = torch.where(short & (rr > 0), rr, 1)  # at the origin the gradient is taken to be zero
        k0, k1 = _moments(inside, rd, torch.where(short, dd, 0), -0.5, 2)
        near = r * k0 + d * k1
        made = torch.where(short, near, made) if some_long else near
    return made


def mean_jacobian(u: torch.Tensor, floor: float, centred: bool = False) -> Jacobian:
    """∫ (I / s − u uᵀ / s³) dt for rows r and d, stacked as (…, 2, m).

    Where no path comes near the origin (beside the length of r), V is u itself, and numbers alone are computed.
    `centred` says that the rows have means of zero.
    """
    if _blind():
        return _jacobian_across(u[..., 0, :], u[..., 1, :], floor, centred)
    rr, rd, _, dd = (u @ u.mT).flatten(-2).split(1, -1)
    made = of_sums(rr + floor, rd, dd)
    if made is None:
        return _jacobian_across(u[..., 0, :], u[..., 1, :], floor, centred)
    diagonal, *matrix = made
    return Jacobian(diagonal, u, _symmetric(*matrix), None)


def mean_jacobian_beside(
    r: torch.Tensor, d: torch.Tensor, floor: float, centred: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[torch.Tensor], torch.Tensor | None]:
    """The same for rows d (…, m) from r, which broadcasts to them and is computed with where it lies: the diagonal, the
    two rows of V, the three numbers of W, each (…, 1), and the depth."""
    made = of_sums(_dot(r, r) + floor, _dot(r, d), _dot(d, d))
    if made is not None:
        return made[0], r, d, made[1:], None
    diagonal, basis, matrix, depth = _jacobian_across(r.expand(d.shape), d, floor, centred)
    w00, w01, _, w11 = matrix.flatten(-2).split(1, -1)
    first, second = basis.unbind(-2)
    return diagonal, first, second, [w00, w01, w11], depth


def of_sums(rr: torch.Tensor, rd: torch.Tensor, dd: torch.Tensor) -> list[torch.Tensor] | None:
    """∫ 1/s, and ∫ (1, t, t²) / s³, by |r|² + floor, r·d and |d|²; None where a path comes near the origin."""
    short = dd <= _SHORT * rr
    some_short, some_long = _kinds(short)
    length2, foot = (torch.where(short, 1, dd), torch.where(short, 0, rd)) if some_short else (dd, rd)
    q0 = rr - foot * foot / length2
    least, most = map(float, torch.aminmax((rr + dd).detach()))
    if not (1 / _LARGE < least and most < _LARGE and bool((q0 > _CLEAR * rr).all())):
        return None
    made: list[torch.Tensor] = []
    if some_long:
        made = _clear(length2, foot, q0)
    if some_short:
        rr, rd, dd = torch.where(short, rr, 1), torch.where(short, rd, 0), torch.where(short, dd, 0)
        near = [_moments(rr, rd, dd, -0.5, 1)[0], *_moments(rr, rd, dd, -1.5, 3)]
        made = [torch.where(short, n, f) for n, f in zip(near, made, strict=True)] if some_long else near
    return made


def _clear(length2: torch.Tensor, foot: torch.Tensor, q0: torch.Tensor) -> list[torch.Tensor]:
    """∫ 1/s, and ∫ (1, t, t²) / s³, of paths that keep off the origin: there the logarithm is a difference of inverse
    hyperbolic sines that differ."""
    length = torch.sqrt(length2)
    p0 = foot / length
    p = torch.cat([p0, p0 + length], -1)
    s = torch.sqrt(q0 + p * p)
    first, last = torch.stack([torch.asinh(p * q0.rsqrt()), p / s, s.reciprocal()], -1).unbind(-2)
    potential, bend, turn = ((last - first) / length).split(1, -1)
    back, w00 = foot / length2, bend / q0
    cross = -turn / length
    w01 = cross - w00 * back
    return [potential, w00, w01, (potential - bend) / length2 - back * (cross + w01)]


def _jacobian_across(r: torch.Tensor, d: torch.Tensor, floor: float, centred: bool) -> Jacobian:
    """The same with V along and across the path, for paths that may come as near to the origin as they like."""
    r, d, low, unit = _scaled(r, d, floor)
    rr, dd = _dot(r, r) + low, _dot(d, d)
    short = dd <= _SHORT * rr
    some_short, some_long = _kinds(short)
    made: list[torch.Tensor] = []
    if some_long:
        path, along, across = _Long.of(r, d, low, torch.where(short, 1, dd), centred)
        width = _root(path.q0)
        diagonal, bend = path.potential(), path.bend()
        cross = width * (1 / path.s0 - 1 / path.s1) / path.length
        across = across / torch.where(width > 0, width, 1)  # nothing is across a path through the origin
        made = [diagonal, across, along, bend, cross, diagonal - bend]
    if some_short:
        ahead, inside = torch.where(short, d, 0), torch.where(short, rr, 1)
        s0, rd, small = torch.sqrt(inside), _dot(r, ahead), torch.where(short, dd, 0)
        moments = [k * inside for k in _moments(inside, rd, small, -1.5, 3)]
        near = [_moments(inside, rd, small, -0.5, 1)[0], r / s0, ahead / s0, *moments]
        made = [torch.where(short, n, f) for n, f in zip(near, made, strict=True)] if some_long else near
    diagonal, first, second, w00, w01, w11 = made
    depth = torch.where(short, 0, diagonal.detach() * torch.sqrt(dd.detach()))
    matrix = _symmetric(w00, w01, w11) / unit.unsqueeze(-1)
    return Jacobian(diagonal / unit, torch.stack([first, second], -2), matrix, depth)


def unit_segments(
    r: torch.Tensor, x: torch.Tensor, radius: float
) -> tuple[torch.Tensor, Iterator[tuple[torch.Tensor, torch.Tensor]]]:
    """The parts of the paths from r to x, rows (R, m), within a distance of the origin, and outside.

    Returns the length of the part inside (of one), (R, 1), and for the parts before and after it their lengths and
    their start and step, stacked as (R, 2, m), which are made when they are asked for. Where a part has no length its
    path is some other one, and parts of which none has any are left out.
    """
    d = x - r
    dd = _dot(d, d)
    still = dd == 0
    length = torch.sqrt(torch.where(still, 1, dd))
    along = d / length
    # Places along the path are counted from its foot, and found from the end that is nearer to the origin: that one has
    # digits beside the radius.
    ahead = _dot(x, x) < _dot(r, r)
    end, other = torch.where(ahead, x, r), torch.where(ahead, r, x)
    foot = _dot(end, along)
    across = end - foot * along
    more = _dot(across, along)
    across, foot = across - more * along, foot + more
    start, stop = torch.where(ahead, foot - length, foot), torch.where(ahead, foot, foot + length)
    half = _root(radius**2 - _dot(across, across))
    meets = (half > 0) & ~still & (start < half) & (stop > -half)
    inside = torch.where(meets, (torch.minimum(half, stop) - torch.maximum(-half, start)) / length, 0.0)
    inside = torch.where(still & (_dot(r, r) < radius**2), 1.0, inside)
    # A path that does not meet the inside is all before it.
    before = torch.where(meets, ((-half - start) / length).clamp(0, 1), 1 - inside)
    behind = torch.where(meets, ((stop - half) / length).clamp(0, 1), 0.0)

    def parts() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        # Each part starts at its inner end, which has digits beside the radius; a path backwards has the same integral.
        for part, inner, outer in ((before, -half, r), (behind, half, x)):
            there = part > 0
            if not _blind() and not bool(there.any()):
                continue
            at = torch.where(meets, torch.addcmul(across, inner, along), end)
            step = torch.where(meets, outer, other) - at
            yield part, torch.stack([torch.where(there, at, 1), torch.where(there, step, 0)], -2)

    return inside, parts()
