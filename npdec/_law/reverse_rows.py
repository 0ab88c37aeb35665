"""Functions of rows in reverse mode, whose mean gradient C finds (`npdec._native`): rows along axes of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import again_and_again, axes_of
from npdec._decomposed.reverse_graph import with_vjp
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary_reverse import on_graph, on_graph_of
from npdec._law.reverse_forms import on_graph_with

__all__ = ["ALONE", "axes_or_all", "gradient_along", "reduced"]

ALONE = 2**20  # elements of rows, up to which one thread is enough
_NODE = 2**15  # elements, of which torch has computed a sum before Python has made a node for one


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
    if not value.numel() or not value.is_cpu or not is_for_one_thread(value.numel(), ALONE):
        return None
    kept = [a for a in range(ndim) if a not in axes]
    order, lead = [*kept, *axes], len(kept)
    value, low = value.permute(order), again_and_again(residual.permute(order), lead)
    shape = value.shape
    rows, start = [t.contiguous().flatten(lead) if lead < ndim - 1 else t.contiguous() for t in (value, low)]
    made = torch.empty_like(rows)
    if not fill(rows, start, made):
        return None
    return made.view(shape).permute([order.index(a) for a in range(ndim)])


def reduced(
    x: DecomposedTensor,
    value: torch.Tensor,
    residual: torch.Tensor,
    gradient: torch.Tensor,
    axes: Sequence[int],
    keepdim: bool,
) -> Any:
    """The decomposed tensor of a value that has this gradient by x, added up along axes."""
    if x.value.numel() <= _NODE:
        return on_graph_with(x, value, residual, (on_graph_of(x) * gradient).sum(list(axes), keepdim))
    shape = [1 if axis in axes else length for axis, length in enumerate(x.value.shape)]
    carrier = with_vjp(value, on_graph_of(x), lambda grad: grad.reshape(shape) * gradient)
    return on_graph(carrier.detach(), residual, carrier, x)
