"""Components (C, *shape) beside tensors of other shapes: axes to line up, and axes on which a tensor is broadcast."""

from __future__ import annotations

from collections.abc import Callable

import torch

__all__ = ["lead", "narrowed", "once", "row_by_row"]


def lead(components: torch.Tensor, ndim: int) -> torch.Tensor:
    """Components (C, *shape) with axes of length one after the first, for broadcasting with `ndim` axes."""
    missing = ndim + 1 - components.ndim
    if missing <= 0:
        return components
    return components.reshape((components.shape[0],) + (1,) * missing + tuple(components.shape[1:]))


def narrowed(tensor: torch.Tensor, ndim: int) -> torch.Tensor:
    """One of the equal rows along each of the first `ndim` axes on which the tensor is broadcast; itself if on none."""
    strides = tensor.stride()
    if 0 not in strides[:ndim]:
        return tensor
    return tensor[tuple([slice(0, 1) if not stride else slice(None) for stride in strides[:ndim]])]


def once(tensor: torch.Tensor, function: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A function of each element alone, made once of those that are one in memory."""
    return function(narrowed(tensor, tensor.ndim)).expand(tensor.shape)


def row_by_row(function: Callable[[torch.Tensor], torch.Tensor], residual: torch.Tensor, axes: int) -> torch.Tensor:
    """A function that looks at each row of the first `axes` axes alone, and leaves these where they are."""
    row = narrowed(residual, axes)
    made = function(row)
    return made if row is residual else made.expand(*residual.shape[:axes], *made.shape[axes:])
