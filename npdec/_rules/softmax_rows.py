"""Rows of numbers along axes, and what is computed of them (`npdec._rules.softmax`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

__all__ = ["averaged", "dots", "relative", "rows_of", "shaped"]


def averaged(weights: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """Σ over the nodes of weights (N,) or (R, N) times p (R, N, n)."""
    return torch.bmm(weights.expand(p.shape[:2]).contiguous().unsqueeze(1), p).squeeze(1)


def relative(components: torch.Tensor, mean: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Components less their number at the heaviest place of each row, and that number: what is the same for a whole
    row vanishes exactly."""
    place = mean.detach().argmax(-1, keepdim=True)
    top = components.gather(-1, place.expand(len(components), *place.shape))
    return components - top, top


def rows_of(t: torch.Tensor, axes: Sequence[int], lead: int) -> torch.Tensor:
    """The axes last and as one, the others as one: (R, n), with `lead` leading axes."""
    if len(axes) == 1 and axes[0] + lead == t.ndim - 1:  # where they lie so
        return t.reshape((*t.shape[:lead], -1, t.shape[-1]))
    axes = [a + lead for a in axes]
    kept = [a for a in range(lead, t.ndim) if a not in axes]
    n = math.prod([t.shape[a] for a in axes])
    return t.permute((*range(lead), *kept, *axes)).reshape((*t.shape[:lead], -1, n))


def shaped(rows: torch.Tensor, axes: Sequence[int], shape: torch.Size) -> torch.Tensor:
    """Rows (C, R, n) along one axis at most as (C, *shape)."""
    if not axes or axes[0] == len(shape) - 1:
        return rows.reshape((len(rows), *shape))
    others = [n for a, n in enumerate(shape) if a != axes[0]]
    return rows.reshape((len(rows), *others, shape[axes[0]])).movedim(-1, axes[0] + 1)


def dots(components: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    """Σ mean · c for components (C, R, n): (C, R)."""
    return torch.bmm(mean.unsqueeze(-2), components.permute(1, 2, 0)).squeeze(-2).T
