"""Rules of reductions of groups of elements."""

from __future__ import annotations

from typing import Any

import torch

from npdec._rules.by_formula import value_of

__all__ = ["index_reduce", "scatter_reduce", "segment_reduce"]


def _members(places: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """For each of `count` places, the positions of what goes there: a table (count, K), filled up with −1, and how many
    there are."""
    order = torch.argsort(places, stable=True)
    sizes = torch.bincount(places, minlength=count)
    first = torch.cumsum(sizes, 0) - sizes
    width = int(sizes.max()) if count else 0
    rank = torch.arange(len(order), device=places.device) - first[places[order]]
    table = torch.full((count, max(width, 1)), -1, dtype=torch.int64, device=places.device)
    table[places[order], rank] = order
    return table, sizes


def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """Elements put at places of the input, and reduced there with each other (and with it)."""
    shape = tuple(input.shape)
    if not input.ndim:
        input, index, src = input.reshape(1), index.reshape(1), src.reshape(1)
    dim = dim % input.ndim
    index = value_of(index)
    source = src[tuple([slice(0, n) for n in index.shape])]
    positions = torch.arange(input.numel(), device=index.device).reshape(tuple(input.shape))
    window = positions[tuple([slice(0, n) if a != dim else slice(None) for a, n in enumerate(index.shape)])]
    places = window.gather(dim, index).reshape(-1)
    flat = input.reshape(-1)
    return _reduced_groups(flat, places, source.reshape(-1), reduce, include_self).reshape(shape)


def _reduced_groups(flat: Any, places: torch.Tensor, source: Any, reduce: str, include_self: bool) -> Any:
    table, sizes = _members(places, flat.shape[0])
    kept = sizes == 0 if not include_self else torch.ones_like(sizes, dtype=torch.bool)
    if reduce in ("sum", "mean"):
        made = torch.where(kept, flat, 0).index_add(0, places, source)
        return made / (sizes + kept) if reduce == "mean" else made
    both = torch.cat([source, flat, flat.new_ones(1)])
    own = torch.arange(len(sizes), device=table.device) + source.shape[0]
    table = torch.cat([table, torch.where(kept, own, -1)[:, None]], 1)
    if reduce == "prod":
        return both[torch.where(table < 0, both.shape[0] - 1, table)].prod(1)
    # An element that is there twice shares with itself.
    rows = both[torch.where(table < 0, table.amax(1, keepdim=True), table)]
    return rows.amax(1) if reduce == "amax" else rows.amin(1)


def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    if not input.ndim:
        return scatter_reduce(input, 0, index.reshape(()), source.reshape(()), reduce, include_self=include_self)
    dim = dim % input.ndim
    along = value_of(index).reshape([-1 if a == dim else 1 for a in range(input.ndim)])
    return scatter_reduce(input, dim, along.expand(source.shape), source, reduce, include_self=include_self)


def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    """Reductions of the pieces of an axis."""
    sizes = torch.diff(offsets, dim=-1) if lengths is None else lengths
    axis = sizes.ndim - 1
    count = sizes.shape[-1]
    start = {"sum": 0.0, "mean": torch.nan, "prod": 1.0, "max": -torch.inf, "min": torch.inf}[reduce]
    shape = (*data.shape[:axis], count, *data.shape[axis + 1 :])
    begun = torch.full(shape, start if initial is None else initial, dtype=data.dtype, device=data.device)
    lead = sizes.shape[:-1]
    rows = sizes.reshape(-1, count)
    positions = torch.arange(count, device=rows.device)
    index = torch.stack([torch.repeat_interleave(positions, row) for row in rows]).reshape(*lead, -1)
    index = index.reshape(*index.shape, *[1] * (data.ndim - axis - 1)).expand(*index.shape, *data.shape[axis + 1 :])
    names = {"max": "amax", "min": "amin"}
    used = data.narrow(axis, 0, index.shape[axis])
    with_start = initial is not None
    return scatter_reduce(begun, axis, index, used, names.get(reduce, reduce), include_self=with_start)
