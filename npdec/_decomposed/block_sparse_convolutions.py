"""Convolutions and pools of components that are kept by blocks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from npdec._decomposed.block_sparse import BlockLayout, BlockSparse, pooled_forms
from npdec._decomposed.call import Call

__all__ = ["Made", "convolution"]


_MOST_SLICES = 32  # that are copied one by one


Made = BlockSparse | torch.Tensor | list[Any] | None


class _Reach(NamedTuple):
    """Which results blocks reach: `layout`, blocks of the results; and what those look at: `width` positions from
    each of `starts` on, which may lie outside."""

    layout: BlockLayout
    starts: list[int]
    width: int


def _reach(layout: BlockLayout, outputs: int, kernel: int, stride: int, padding: int, dilation: int) -> _Reach | None:
    """The results of a kernel that moves along the axis; None if blocks would not pay."""
    if layout.starts is None:
        return None
    extent = dilation * (kernel - 1)
    width = (layout.width - 1 + extent) // stride + 1
    if width > outputs * 0.75:
        return None
    firsts = [min(max(-((extent - s - padding) // stride), 0), outputs - width) for s in layout.starts]
    made = BlockLayout.contiguous(outputs, width, firsts, layout)
    return _Reach(made, [first * stride - padding for first in firsts], (width - 1) * stride + extent + 1)


def _fitted(blocks: BlockSparse, starts: Sequence[int], width: int) -> torch.Tensor:
    """The components within other blocks, of `width` positions from each of `starts` on: zero outside their own."""
    parts, dim, layout = blocks.parts, blocks.axis + 1, blocks.layout
    assert layout.starts is not None
    shifts = [there - here for here, there in zip(layout.starts, starts, strict=True)]
    if len(set(shifts)) == 1:
        around = (-shifts[0], width + shifts[0] - layout.width)
        return F.pad(parts, [*[0, 0] * (parts.ndim - 1 - dim), *around])
    shape = list(parts.shape)
    shape[dim] = width
    made = parts.new_zeros(shape)
    for shift, rows in _alike(shifts):
        first, last = max(0, -shift), min(width, layout.width - shift)
        if first < last:
            made.narrow(dim, first, last - first)[rows] = parts.narrow(dim, first + shift, last - first)[rows]
    return made


def _alike(shifts: Sequence[int]) -> list[tuple[int, Any]]:
    """Each shift, with the blocks that have it: a slice for neighbours, if those are not too many."""
    ends = [i for i in range(1, len(shifts)) if shifts[i] != shifts[i - 1]]
    if len(ends) < _MOST_SLICES:
        return [(shifts[a], slice(a, b)) for a, b in itertools.pairwise([0, *ends, len(shifts)])]
    return [(shift, [i for i, s in enumerate(shifts) if s == shift]) for shift in dict.fromkeys(shifts)]


def convolution(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    names = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
    given = {names[key] if isinstance(key, int) else key: item for key, item in others.items()}
    weight, spatial = given["weight"], blocks.axis - 2
    if place not in (0, "input") or not isinstance(weight, torch.Tensor) or value.ndim != weight.ndim or spatial < 0:
        return None
    count = weight.ndim - 2
    stride, padding, dilation = (
        given.get(name, usual) for name, usual in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    if isinstance(padding, str):
        return None
    strides, paddings, dilations = (
        [item] * count if isinstance(item, int) else list(item) * (count if len(item) == 1 else 1)
        for item in (stride, padding, dilation)
    )
    found = _reach(
        blocks.layout, value.shape[blocks.axis], weight.shape[blocks.axis], strides[spatial], paddings[spatial],
        dilations[spatial],
    )  # fmt: skip
    if found is None:
        return None
    parts = _fitted(blocks, found.starts, found.width)
    paddings[spatial] = 0
    rest = (strides, paddings, dilations, given.get("groups", 1))
    made = call.func(parts.flatten(0, 1), weight, None, *rest)
    return BlockSparse(made.unflatten(0, parts.shape[:2]), blocks.axis, found.layout)


def _pooled(
    blocks: BlockSparse,
    value: torch.Tensor,
    places: Sequence[list[list[int]]],
    settings: Sequence[list[int]],
    share: Callable[..., torch.Tensor],
    fractions: torch.Tensor,
) -> BlockSparse | None:
    """Blocks of the maxima; None where some of a pool's blocks hang over the end of that axis."""
    dim = blocks.axis - value.ndim + len(places)
    parts, layout = blocks.parts, blocks.layout
    if dim >= 0:
        kernel, stride, padding, dilation = (setting[dim] for setting in settings)
        outputs = value.shape[blocks.axis]
        found = _reach(layout, outputs, kernel, stride, padding, dilation)
        if padding or found is None or (outputs - 1) * stride + dilation * (kernel - 1) >= layout.n:
            return None
        parts, layout = _fitted(blocks, found.starts, found.width), found.layout
        places = list(places)
        places[dim] = [[k * dilation + stride * j for j in range(layout.width)] for k in range(kernel)]
    seen = (layout.seen(fraction, blocks.axis) for fraction in fractions)
    return BlockSparse(share(parts, places, seen), blocks.axis, layout)


pooled_forms.fill(_pooled)
