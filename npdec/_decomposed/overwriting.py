"""Numbers put at places of which some are named more than once: of those that go to one place one stays.

Which one, torch leaves open: it depends on how its kernel goes through memory, and so may differ between a value and
its components; and backwards torch gives each of them the gradient of the place. So torch's kernel is asked once, with
the positions of the elements in their place, and all parts follow it: what stays in the value stays in all of them, and
it alone has the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.registry import Rule, functions, wrap
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import has_overlap
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing

__all__ = ["are_distinct", "put", "watch"]

Function = Callable[..., Any]


def put(write: Function, target: torch.Tensor, source: torch.Tensor) -> Any:
    """What `write(target, source)` makes, which puts elements of the source at places of the target."""
    held, given = (t.value if isinstance(t, DecomposedTensor) else t for t in (target, source))
    positions = torch.arange(given.numel(), device=given.device).reshape(given.shape)
    if given.numel() and 0 not in given.stride():  # the kernel goes through memory in an order that depends on strides
        positions = torch.empty_strided(given.shape, given.stride(), dtype=torch.int64, device=given.device).copy_(
            positions
        )
    owner = write(torch.full_like(held, -1, dtype=torch.int64), positions)
    chosen = source.to(target.dtype).reshape(-1)[owner.clamp(min=0)]
    return torch.where(owner < 0, target, chosen)


# -- whether a place is named more than once ---------------------------------------------------------------------------


def are_distinct(target: torch.Tensor, items: Sequence[Any]) -> bool:
    """Whether an index of a tensor, made of what torch takes for one, names no element twice.

    In traced code, and within torch.vmap, no branch may depend on numbers: there, arrays of integers may.
    """
    shape = target.shape
    arrays = [item for item in items if isinstance(item, (torch.Tensor, list, tuple, range))]
    if arrays and has_overlap(target.value if isinstance(target, DecomposedTensor) else target):
        return False  # several are one in memory
    masks = sum(map(_is_mask, arrays))
    if not arrays or masks == len(arrays) == 1:
        return True
    if tracing() or mapped():
        return False
    axis, used = 0, sum(map(_axes_of, items))
    places: list[tuple[int, torch.Tensor]] = []
    for item in items:
        if _is_mask(item):
            places += [(axis + i, part) for i, part in enumerate(item.nonzero().cpu().unbind(1))]
        elif isinstance(item, (torch.Tensor, list, tuple, range)):
            places.append((axis, torch.as_tensor(item, device="cpu")))
        axis += len(shape) - used if item is Ellipsis else _axes_of(item)
    together = torch.broadcast_tensors(*[part for _, part in places])
    flat = torch.zeros_like(together[0], dtype=torch.int64)
    for (axis, _), part in zip(places, together, strict=True):
        flat = flat * shape[axis] + part % shape[axis]
    return _differ(flat.reshape(-1), 0)


def _is_mask(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.uint8)


def _axes_of(item: Any) -> int:
    """How many axes of a tensor an item of its index is for; an Ellipsis, for the rest."""
    if _is_mask(item):
        return int(item.ndim)
    return 0 if item is None or item is Ellipsis or isinstance(item, bool) else 1


def _differ(index: torch.Tensor, dim: int) -> bool:
    """Whether the elements along an axis differ from each other."""
    if not index.ndim or index.shape[dim] < 2:
        return True
    if tracing() or mapped():
        return False
    return not bool((index.sort(dim).values.diff(dim=dim) == 0).any())


# -- the functions that do so ------------------------------------------------------------------------------------------


def _scatter(x: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
    if reduce is not None or not isinstance(src, torch.Tensor) or not src.ndim or _differ(index, dim):
        return None
    src = src[tuple([slice(0, n) for n in index.shape])]
    return put(lambda held, elements: torch.scatter(held, dim, index, elements), x, src)


def _index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    if _differ(index, 0):
        return None
    return put(lambda held, elements: torch.index_copy(held, dim, index, elements), x, source)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    items = [slice(None) if item is None else item for item in indices]
    if accumulate or are_distinct(x, items):
        return None
    return put(lambda held, elements: torch.index_put(held, indices, elements), x, values)


def _put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    if accumulate or are_distinct(x.reshape(-1), (index,)):
        return None
    return put(lambda held, elements: torch.put(held, index, elements), x, source)


class _Watched(Rule):
    """A rule that is looked at first."""

    def __init__(self, made: Function, inner: Rule) -> None:
        self.made = made
        self.inner = inner
        self.tags = inner.tags

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        made = self.made(*args, **kwargs)
        return self.inner(func, args, kwargs) if made is None else made


def watch() -> None:
    """Wrap the rules of the functions that put elements at places, each keeping its own where the places differ."""
    wrap(functions("scatter"), partial(_Watched, _scatter))
    wrap(functions("index_copy"), partial(_Watched, _index_copy))
    wrap(functions("index_put"), partial(_Watched, _index_put))
    wrap(functions("put"), partial(_Watched, _put))
