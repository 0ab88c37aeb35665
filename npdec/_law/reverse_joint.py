"""Functions in reverse mode that are linear in several tensors together (`npdec._law.ordinary_reverse`): sums put at
places, and tensors joined along an axis. Autograd's nodes take gradients back without Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.axes import narrowed
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._impl._storage import shares_memory
from npdec._law.ordinary_reverse import on_graph
from npdec._law.reverse_forms import operands_of

__all__ = ["joined", "jointly", "put_at"]

Function = Callable[..., Any]


def jointly(places: Collection[int], func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A function that is linear in the arguments of these places together, and takes numbers and places beside; it
    gives new memory."""
    if len(args) <= max(places) or not all(isinstance(args[i], torch.Tensor) for i in places):
        return NotImplemented
    if not all(map(_is_plain, [item for i, item in enumerate(args) if i not in places])):
        return NotImplemented
    if not all(type(item) in (int, float, bool) for item in (options or {}).values()):
        return NotImplemented
    known = operands_of([args[i] for i in places])
    if known is None:
        return NotImplemented
    rest = iter(known.carriers)
    through, low = list(args), list(args)
    for i, value, residual, moves in zip(places, known.values, known.residuals, known.moving, strict=True):
        through[i] = next(rest) if moves else value
        low[i] = materialised_residual(args[i]) if moves else residual
    carrier = func(*through, **(options or {}))
    if type(carrier) is not torch.Tensor or carrier.dtype is not known.like.value.dtype:
        return NotImplemented
    if any(shares_memory(carrier, value) for value in known.values):
        return NotImplemented
    return on_graph(carrier.detach(), func(*low, **(options or {})), carrier, known.like)


put_at = partial(jointly, (0, 3))  # of (tensor, axis, places, what is put there)


def _is_plain(item: Any) -> bool:
    """Whether it is a number, or a plain tensor of places or conditions."""
    if isinstance(item, torch.Tensor):
        return type(item) is torch.Tensor and not item.dtype.is_floating_point and not item.dtype.is_complex
    if type(item) is tuple or type(item) is list:
        return all(map(_is_plain, item))
    return item is None or type(item) in (int, float, bool)


def joined(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """Tensors joined along an axis, decomposed ones and constants: of equal rows on the axes before it one."""
    named = {**dict(zip(("tensors", "dim"), args)), **(options or {})}
    tensors: Any = named.pop("tensors", None)
    dim: Any = named.pop("dim", 0)
    if named or type(dim) is not int or type(tensors) not in (list, tuple):
        return NotImplemented
    known = operands_of(tensors)
    if known is None or len({t.ndim for t in known.values}) > 1 or not known.like.value.ndim:
        return NotImplemented
    rest = iter(known.carriers)
    through = [next(rest) if moves else value for value, moves in zip(known.values, known.moving, strict=True)]
    carrier = func(through, dim)
    ndim, last = carrier.ndim, dim % carrier.ndim
    equal = 0
    while equal < last and all(t.stride(equal) == 0 or t.shape[equal] == 1 for t in known.residuals):
        equal += 1
    rows = [narrowed(t, equal) for t in known.residuals]
    residual = func(rows, dim - ndim if dim >= 0 else dim).expand(carrier.shape)
    return on_graph(carrier.detach(), residual, carrier, known.like)
