"""Functions of rows in reverse mode, whose mean gradient C finds (`npdec._native`): rows along axes of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import axes_of, narrowed
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary_reverse import on_graph_of

__all__ = ["axes_or_all", "gradient_along", "summed"]

_ALONE = 2**20  # elements, up to which one thread is enough


def axes_or_all(dim: Any, ndim: int) -> Sequence[int] | None:
    """The axes that are named, in order; all, where none is."""
    named = dim is not None and (type(dim) not in (tuple, list) or len(dim) > 0)
    return axes_of(dim if named else tuple(range(ndim)), ndim)


def gradient_along(
    value: torch.Tensor, residual: torch.Tensor, axes: Sequence[int], fill: Callable[..., bool]
) -> torch.Tensor | None:
    """What `fill(rows, start, made)` makes of the rows along axes of the value, and of those of the residual that are
    equal once, in the shape of the value; None where it does not."""
    ndim = value.ndim
    if not value.is_cpu or not value.numel() or (value.numel() > _ALONE and torch.get_num_threads() > 1):
        return None
    kept = [a for a in range(ndim) if a not in axes]
    order, lead = [*kept, *axes], len(kept)
    value, low = value.permute(order), narrowed(residual.permute(order), lead)
    shape = value.shape
    rows, start = [t.contiguous().flatten(lead) if lead < ndim - 1 else t.contiguous() for t in (value, low)]
    made = torch.empty_like(rows)
    if not fill(rows, start, made):
        return None
    return made.view(shape).permute([order.index(a) for a in range(ndim)])


def summed(x: DecomposedTensor, gradient: torch.Tensor, axes: Sequence[int], keepdim: bool) -> torch.Tensor:
    """The gradient times what is on the graph of x, added up along axes."""
    return (on_graph_of(x) * gradient).sum(list(axes), keepdim)
