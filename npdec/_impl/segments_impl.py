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

import torch

__all__ = ["mean_direction", "mean_jacobian"]

_SHORT = 1 / 16  # |d|² / s0²: the nearest pole is at |t| ≥ 4, and eight nodes leave 14 ** -16
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
    """r and d in units of their largest number, floor in units of its square, and the unit: squares stay in range."""
    unit = torch.maximum(r.detach().abs().amax(-1, keepdim=True), d.detach().abs().amax(-1, keepdim=True))
    unit = torch.where((unit > 0) & (unit < torch.inf), unit, 1)
    return r / unit, d / unit, floor / unit / unit, unit


class _Long:
    """The quantities of the closed forms, for rows whose path is not short."""

    def __init__(self, r: torch.Tensor, d: torch.Tensor, floor: torch.Tensor, dd: torch.Tensor) -> None:
        self.length = torch.sqrt(dd)
        self.along = d / self.length
        foot = _dot(r, self.along)
        across = r - foot * self.along
        more = _dot(across, self.along)  # what rounding left
        self.across = across - more * self.along
        self.p0 = foot + more
        self.p1 = self.p0 + self.length
        self.q0 = _dot(self.across, self.across) + floor
        self.s0, self.s1 = _root(self.q0 + self.p0 * self.p0), _root(self.q0 + self.p1 * self.p1)

    def potential(self) -> torch.Tensor:
        """∫ 1/s; infinite where the path meets the origin."""
        outer0, outer1 = self.s0 + self.p0.abs(), self.s1 + self.p1.abs()
        gap = torch.where(self.p0 > 0, outer0, _over(self.q0, outer0))
        gap = gap + torch.where(self.p1 < 0, outer1, _over(self.q0, outer1))
        return torch.log((self.s0 + self.s1 + self.length) / gap) / self.length


def _over(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a / b, zero where b is."""
    return torch.where(b > 0, a / torch.where(b > 0, b, 1), 0)


def _moments(
    r: torch.Tensor, d: torch.Tensor, rr: torch.Tensor, dd: torch.Tensor, power: float, count: int
) -> list[torch.Tensor]:
    """∫ tᵏ q^power for k below `count`, by nodes; `rr` is q(0)."""
    t = torch.tensor(_NODES, dtype=r.dtype, device=r.device)
    weights = torch.tensor(_WEIGHTS, dtype=r.dtype, device=r.device)
    values = (rr + t * (2 * _dot(r, d) + t * dd)) ** power * weights
    return [(values * t**k).sum(-1, keepdim=True) for k in range(count)]


def _kinds(short: torch.Tensor) -> tuple[bool, bool]:
    """Whether there are short paths, and others. Traced code (torch.compile), which may not look, computes both."""
    if torch.compiler.is_compiling():
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
        path = _Long(r, d, low, torch.where(short, 1, dd))
        potential = torch.where(path.q0 > 0, path.potential(), 0)  # on a path through the origin, U is zero
        made = path.across * potential + path.along * ((path.s1 - path.s0) / path.length)
    if some_short:
        k0, k1 = _moments(r, torch.where(short, d, 0), torch.where(short, rr, 1), torch.where(short, dd, 0), -0.5, 2)
        near = r * k0 + d * k1
        made = torch.where(short, near, made) if some_long else near
    return made


def mean_jacobian(
    r: torch.Tensor, d: torch.Tensor, floor: float
) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """∫ (I / s − u uᵀ / s³) dt for rows r and d (..., m), as diagonal − Vᵀ W V.

    Returns the diagonal (..., 1), V (..., 2, m), and the numbers W₀₀, W₀₁ = W₁₀, W₁₁ (..., 1).
    """
    r, d, low, unit = _scaled(r, d, floor)
    rr, dd = _dot(r, r) + low, _dot(d, d)
    short = dd <= _SHORT * rr
    some_short, some_long = _kinds(short)
    far: list[torch.Tensor] = []
    if some_long:
        path = _Long(r, d, low, torch.where(short, 1, dd))
        width = torch.sqrt(path.q0)
        diagonal = path.potential()
        w00 = (path.p1 / path.s1 - path.p0 / path.s0) / path.length
        w01 = width * (1 / path.s0 - 1 / path.s1) / path.length
        far = [diagonal, path.across / width, path.along, w00, w01, diagonal - w00]
    if some_short:
        inside, ahead = torch.where(short, rr, 1), torch.where(short, d, 0)
        s0 = torch.sqrt(inside)
        diagonal = _moments(r, ahead, inside, torch.where(short, dd, 0), -0.5, 1)[0]
        moments = [k * inside for k in _moments(r, ahead, inside, torch.where(short, dd, 0), -1.5, 3)]
        near = [diagonal, r / s0, ahead / s0, *moments]
        far = [torch.where(short, n, f) for n, f in zip(near, far, strict=True)] if some_long else near
    diagonal, first, second, w00, w01, w11 = far
    return diagonal / unit, torch.stack([first, second], -2), (w00 / unit, w01 / unit, w11 / unit)
