"""Views as torch makes them: the common calls of functions that change nothing but shape and axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_MAX_NDIM = 64


def transposed(a: torch.Tensor) -> torch.Tensor:
    return a.mT if a.dim() == 2 else a.permute(tuple(reversed(range(a.dim()))))


def of_matrices(x: torch.Tensor) -> torch.Tensor | None:
    return x.mT if x.dim() > 1 else None


def squeezed(a: torch.Tensor) -> torch.Tensor | None:
    return a.squeeze() if 1 in a.shape else None


def with_axis(a: torch.Tensor, axis: Any) -> torch.Tensor | None:
    return a.unsqueeze(axis) if a.dim() < _MAX_NDIM else None


def expanded(a: torch.Tensor, shape: Any) -> torch.Tensor | None:
    sizes = type(shape) is tuple or type(shape) is list
    return torch.broadcast_to(a, shape) if sizes and shape and min(shape) >= 0 else None


def reshaped(a: torch.Tensor, shape: Any) -> torch.Tensor:
    return a.reshape(shape) if type(shape) is int else torch.reshape(a, shape)  # which reads a sequence sooner


def with_two_axes(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor | None]:
    """A function of two axes, of which a number has none."""
    return lambda a, first, second: function(a, first, second) if a.dim() else None
