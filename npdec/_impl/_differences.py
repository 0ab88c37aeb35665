"""Differences of neighbours."""

from __future__ import annotations

import torch

from npdec._impl import _util

__all__ = ["slopes", "steps_along"]


def subtract(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a - b in one dtype; unsigned integers wrap around."""
    if a.dtype in _util.UNSIGNED:
        return _util.from_int64(_util.to_int64(a) - _util.to_int64(b), a.dtype)
    return _util.on_parts(torch.sub, a, b) if a.is_complex() else a - b


def steps_along(a: torch.Tensor, axis: int) -> torch.Tensor:
    """Each element less the one before."""
    n = a.shape[axis]
    if n < 2:
        return a.narrow(axis, 0, 0)
    vector = a.dim() == 1  # of which parts are sooner made
    later, earlier = (a[1:], a[:-1]) if vector else (a.narrow(axis, 1, n - 1), a.narrow(axis, 0, n - 1))
    return later ^ earlier if a.dtype is torch.bool else subtract(later, earlier)


def slopes(f: torch.Tensor) -> torch.Tensor | None:
    """The derivative of a vector whose elements are at a distance of one: by differences of second order, at the ends
    of first order."""
    if f.dim() != 1 or f.shape[0] < 2:
        return None
    return torch.cat([f[1:2] - f[:1], (f[2:] - f[:-2]) / 2.0, f[-1:] - f[-2:-1]])
