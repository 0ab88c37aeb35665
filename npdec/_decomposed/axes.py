"""Components (C, *shape) beside tensors of other shapes: axes to line up, and axes on which a tensor is broadcast. And
the axes along which functions look at the elements of their first argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._native import calls
from npdec._torch.tracing import tracing

__all__ = [
    "again_and_again",
    "axes_named",
    "axes_of",
    "axes_of_heads",
    "axes_of_shape",
    "lead",
    "narrowed",
    "once",
    "row_by_row",
]


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


def again_and_again(tensor: torch.Tensor, ndim: int) -> torch.Tensor:
    """The rows of the last axes that follow each other, by rows in memory, and again and again for the whole tensor: of
    the first `ndim` axes those are one on which it is broadcast, as long as none before is not."""
    if calls is not None and not tracing():
        known: torch.Tensor | None = calls.equal_rows(tensor, ndim, True)
        if known is not None:
            return known
    row = narrowed(tensor, ndim)
    equal = next((axis for axis in range(ndim) if row.shape[axis] > 1), ndim)
    return row.expand((*(1,) * equal, *tensor.shape[equal:])).contiguous()


def once(tensor: torch.Tensor, function: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A function of each element alone, made once of those that are one in memory."""
    row = narrowed(tensor, tensor.ndim)
    made = function(row)
    return made if row is tensor else made.expand(tensor.shape)


def row_by_row(function: Callable[[torch.Tensor], torch.Tensor], residual: torch.Tensor, axes: int) -> torch.Tensor:
    """A function that looks at each row of the first `axes` axes alone, and leaves these where they are."""
    row = None if calls is None or tracing() else calls.equal_rows(residual, axes, False)
    row = narrowed(residual, axes) if row is None else row
    made = function(row)
    return made if row is residual else made.expand(*residual.shape[:axes], *made.shape[axes:])


def axes_of(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """The axes that a dim names, in order; None of what names none of some, or one twice."""
    dims = (dim,) if type(dim) is int else dim
    if type(dims) not in (tuple, list) or not dims:
        return None
    if not all(type(axis) is int and -ndim <= axis < ndim for axis in dims):
        return None
    axes = tuple(sorted({axis % ndim for axis in dims}))
    return axes if len(axes) == len(dims) else None


# -- the axes along which a function looks, by its arguments -----------------------------------------------------------


def axes_of_shape(x: torch.Tensor, shape: Any, *_: Any, **__: Any) -> Sequence[int]:
    """The last axes, of a shape."""
    return range(x.ndim - (1 if isinstance(shape, int) else len(shape)), x.ndim)


def axes_named(x: torch.Tensor, dim: Any = None, *_: Any, **__: Any) -> Sequence[int]:
    """The axes `dim`: one, several, or all."""
    if dim is None:
        return range(x.ndim)
    return [d % x.ndim for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]


def axes_of_heads(x: torch.Tensor, *_: Any, **__: Any) -> Sequence[int]:
    """The last two axes: attention looks at all rows of a head."""
    return range(x.ndim - 2, x.ndim)
