"""Linear functions of blocks: what products, convolutions, sums and views make of components known by their blocks.

Each form is called as `form(call, place, blocks, others, value)`: the argument at `place` has the blocks, `others`
are all arguments with plain tensors in place of what is decomposed beside it, and `value` is the value of the result.
It returns the blocks of the result, its dense components, or None, where the components have to be dense already.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from npdec._decomposed.aliasing import shares_memory
from npdec._decomposed.batching_rules import batch_rule, is_basic
from npdec._decomposed.block_sparse import BlockLayout, BlockSparse, linear_forms
from npdec._decomposed.block_sparse_convolutions import Made, convolution
from npdec._decomposed.call import Call
from npdec._decomposed.components import LinearCall, total
from npdec._decomposed.registry import Trait
from npdec._decomposed.size_limits import has_many
from npdec._torch.functorch import vmap

__all__ = ["given_beside", "linked", "reduced_axes"]

Function = Callable[..., Any]


def _linear_forms(blocks: BlockSparse, at: LinearCall) -> Any:
    """What a linear function makes of blocks, alone or in a sum with others; of many as of entries, if it knows no
    way."""
    made = None
    if not all(isinstance(c, (BlockSparse, torch.Tensor)) for c in at.components):
        pass
    elif len(at.components) > 1:
        made = _summed(at.call, at.components, at.value) if isinstance(at.value, torch.Tensor) else None
    elif not at.endless:
        made = _moved(at.call, at.places[0], blocks, at.held, at.value)
    given = blocks.entries() if made is None and has_many(len(blocks)) else None
    return made if given is None else given.linear(at)


def _moved(call: Call, at: int, blocks: BlockSparse, held: Sequence[Any], value: Any) -> Made:
    """What the function makes of the blocks of argument number `at`, the other decomposed ones held."""
    leaf, form = call.decomposed[at], _form(call.traits)
    if form is None or leaf.place is not None:
        return None
    others = given_beside(call, at, held)
    return None if others is None else linked(call, at, form(call, leaf.key, blocks, others, value), value)


def given_beside(call: Call, at: int, held: Sequence[Any]) -> dict[int | str, Any] | None:
    """All arguments, plain where they are decomposed beside the one at `at`; None if there are sequences."""
    others: dict[int | str, Any] = dict(enumerate(call.args))
    others.update(call.kwargs)
    for i, (leaf, tensor) in enumerate(zip(call.decomposed, held, strict=True)):
        if leaf.place is not None:
            return None
        if i != at:
            others[leaf.key] = tensor
    return others


def linked(call: Call, at: int, made: Any, value: Any) -> Any:
    """What a function made of blocks, or entries, of argument number `at`: what is a view has components that are."""
    source = call.decomposed[at].tensor
    values = value if isinstance(value, (tuple, list)) else (value,)
    if isinstance(made, torch.Tensor) or made is None or not any(shares_memory(v, source.value) for v in values):
        return made
    for i, item in enumerate(made if isinstance(made, list) else [made]):
        if not isinstance(item, torch.Tensor):
            item.source, item.view = source, _part(torch.vmap(call.linear_part), i if isinstance(made, list) else None)
    return made


def _part(function: Function, index: int | None) -> Function:
    return function if index is None else lambda components: function(components)[index]


# -- products ----------------------------------------------------------------------------------------------------------


def _linear(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    weight = others.get(1, others.get("weight"))
    if place not in (0, "input") or not isinstance(weight, torch.Tensor) or weight.ndim != 2:
        return None
    return _left_product(blocks, weight.t(), value)


def _product(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    """matmul and its kin, of two arguments; `others` has the place of the blocks as well."""
    left = place in (0, "input", "self")
    names = (1, "other", "mat2", "tensor2") if left else (0, "input", "self")
    other = next((others[name] for name in names if name in others), None)
    if not isinstance(other, torch.Tensor):
        return None
    if blocks.parts.ndim == 2 and other.ndim <= 2:  # a vector, as one row
        matrix = other[:, None] if other.ndim == 1 else other if left else other.mT
        row = BlockSparse(blocks.parts[:, None], 1, blocks.layout)
        made = _left_product(row, matrix, value)
        return made.reshape(blocks.layout.count, *value.shape) if isinstance(made, torch.Tensor) else None
    if other.ndim < 2 or blocks.parts.ndim - 1 != value.ndim:
        return None
    if left:
        return _left_product(blocks, other, value)
    last = value.ndim - 1
    if blocks.axis == last - 1 and other.shape[:-2] == value.shape[:-2]:  # each component has some of the sums' terms
        return _by_owner(blocks.layout, torch.matmul(blocks.layout.seen(other, last), blocks.parts))
    axis = {last: last - 1, last - 1: last}.get(blocks.axis, blocks.axis)
    made = _left_product(BlockSparse(blocks.parts.mT, axis, blocks.layout), other.mT, value.mT)
    if isinstance(made, BlockSparse):
        axis = {last: last - 1, last - 1: last}.get(made.axis, made.axis)
        return BlockSparse(made.parts.mT, axis, made.layout)
    return made.mT if isinstance(made, torch.Tensor) else None


def _plain_sum(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    """addmm: a product, to which a constant is added."""
    if place not in (1, "mat1") or "beta" in others or "alpha" in others or 2 not in others or value.ndim != 2:
        return None
    return _left_product(blocks, others[2], value)


def _left_product(blocks: BlockSparse, other: torch.Tensor, value: torch.Tensor) -> Made:
    """Blocks of the left factor, times the right one (..., k, n)."""
    parts, axis, layout = blocks.parts, blocks.axis, blocks.layout
    ndim, batched = parts.ndim - 1, other.ndim > 2
    if batched and (other.ndim != ndim or other.shape[:-2] != value.shape[:-2]):
        return None
    if axis == ndim - 1:  # of the sums that the product is, each component has some terms only
        seen = layout.seen(other, other.ndim - 2)
        if batched:
            return _by_owner(layout, torch.matmul(parts, seen))
        flat = torch.bmm(parts.reshape(len(parts), -1, parts.shape[-1]), seen)
        return _by_owner(layout, flat.reshape(*parts.shape[:-1], flat.shape[-1]))
    if not batched:
        return blocks.like(torch.matmul(parts, other))
    if axis < ndim - 2:
        return blocks.like(torch.matmul(parts, layout.seen(other, axis)))
    rows = parts.movedim(0, -3)
    made = torch.matmul(rows.flatten(-3, -2), other)
    return blocks.like(made.unflatten(-2, rows.shape[-3:-1]).movedim(-3, 0))


def _by_owner(layout: BlockLayout, made: torch.Tensor) -> torch.Tensor:
    """Dense components of what each block contributes."""
    if layout.direct:
        return made
    return made.new_zeros((layout.count, *made.shape[1:])).index_add(0, layout.owner, made)


# -- element by element ------------------------------------------------------------------------------------------------


def _scaled(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    """A product or quotient with plain tensors, element by element."""
    other = others.get(1 if place == 0 else 0, others.get("other"))
    if blocks.parts.ndim - 1 != value.ndim or set(others) - {0, 1, "other"}:
        return None
    ndim = value.ndim
    if isinstance(other, torch.Tensor) and other.ndim >= ndim - blocks.axis and other.ndim:
        seen = other.reshape([1] * (ndim - other.ndim) + list(other.shape))
        if seen.shape[blocks.axis] != 1:
            other = blocks.layout.seen(seen, blocks.axis)
    elif not isinstance(other, (torch.Tensor, int, float, complex)):
        return None
    parts = call.func(blocks.parts, other) if place == 0 else call.func(other, blocks.parts)
    expected = list(value.shape)
    expected[blocks.axis] = blocks.layout.width
    return blocks.like(parts) if list(parts.shape[1:]) == expected else None


def _added(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    """A sum or difference with plain tensors, which have no components."""
    if blocks.parts.ndim - 1 != value.ndim or set(others) - {0, 1, "other"} or blocks.shape[1:] != value.shape:
        return None
    parts = blocks.parts.to(value.dtype)
    taken = call.traits & (Trait.SUBTRACT_FROM if place == 0 else Trait.SUBTRACT)
    return blocks.like(-parts if taken else parts)


def _summed(call: Call, components: Sequence[Any], value: Any) -> Any:
    """The sum or difference of two decomposed tensors, of which at least one has blocks; None for other functions."""
    if not call.traits & (Trait.ADD | Trait.SUBTRACT) or len(components) != 2 or len(call.args) != 2 or call.kwargs:
        return None
    if any(c.shape[1:] != value.shape or c.dtype is not value.dtype for c in components):
        return None
    first, second = components
    if call.traits & Trait.SUBTRACT:
        second = -second if isinstance(second, torch.Tensor) else second.negative()
    return total([first, second])


def _each(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    """A function of each element alone, which leaves it on its device."""
    if place != 0 or value.device != blocks.parts.device:
        return None
    return blocks.like(call.linear_part(blocks.parts))


def _total(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    """A sum or mean over axes."""
    found = reduced_axes(others, blocks.parts.ndim - 1)
    if place != 0 or found is None:
        return None
    axes, keep = found
    parts = blocks.parts.sum([axis + 1 for axis in axes], keepdim=keep)
    if call.traits & Trait.MEAN:
        parts = parts / torch.Size([blocks.shape[1 + axis] for axis in axes]).numel()
    if blocks.axis in axes:
        return _by_owner(blocks.layout, parts)
    lost = 0 if keep else sum(axis < blocks.axis for axis in axes)
    return BlockSparse(parts, blocks.axis - lost, blocks.layout)


def reduced_axes(others: dict[int | str, Any], ndim: int) -> tuple[list[int], bool] | None:
    """The axes that a sum or mean is taken over, and whether they are kept; None if it does something else as well."""
    if set(others) - {0, 1, 2, "dim", "axis", "keepdim", "keepdims"}:
        return None
    dims = others.get(1, others.get("dim", others.get("axis")))
    dims = range(ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    axes = [dim % max(ndim, 1) for dim in dims] or list(range(ndim))
    return axes if ndim else [], bool(others.get(2, others.get("keepdim", others.get("keepdims", False))))


# -- views -------------------------------------------------------------------------------------------------------------


def _viewed(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    """A function that takes elements elsewhere: where it leaves the axis whole, it does the same with the blocks."""
    axis, layout, shape = blocks.axis, blocks.layout, blocks.shape[1:]
    if place != 0:
        return None
    if call.traits & Trait.SPLIT and others.get(2, others.get("dim", 0)) % len(shape) == axis:
        return None
    if call.traits & Trait.INDEX and not is_basic(others[1]):
        return None
    # A tensor that has a stride along the axis alone tells where that goes.
    probe = layout.owner.new_empty(layout.n).as_strided(shape, [int(i == axis) for i in range(len(shape))])
    marks = call.linear_part(probe)
    axes = [_marked_axis(mark, layout.n) for mark in ((marks,) if isinstance(marks, torch.Tensor) else marks)]
    if None in axes:
        return None
    front = batch_rule(call, value)
    made = vmap(call.linear_part, [blocks.parts]) if front is None else front(blocks.parts)
    if isinstance(made, torch.Tensor):
        return BlockSparse(made, cast(int, axes[0]), layout)
    return [BlockSparse(parts, cast(int, new), layout) for parts, new in zip(made, axes, strict=True)]


def _marked_axis(view: torch.Tensor, n: int) -> int | None:
    """The axis of length n that alone has a stride, of one."""
    moving = [i for i, (length, s) in enumerate(zip(view.shape, view.stride(), strict=True)) if s and length > 1]
    whole = len(moving) == 1 and view.stride(moving[0]) == 1 and view.shape[moving[0]] == n
    return moving[0] if whole and not view.storage_offset() else None


def _reshaped(call: Call, place: int | str, blocks: BlockSparse, others: dict[int | str, Any], value: Any) -> Made:
    """Another shape in which the axis is one as before."""
    if place != 0 or value.dtype is not blocks.parts.dtype:
        return None
    shape, axis = torch.Size(blocks.shape[1:]), blocks.axis
    before = shape[:axis].numel()
    for new in range(value.ndim):
        if value.shape[new] == shape[axis] and value.shape[:new].numel() == before:
            parts = blocks.parts.reshape(
                len(blocks.parts), *value.shape[:new], blocks.layout.width, *value.shape[new + 1 :]
            )
            return BlockSparse(parts, new, blocks.layout)
    return None


# What each trait makes of blocks.
_FORMS: tuple[tuple[int, Callable[..., Made]], ...] = (
    (Trait.LAYER, _linear),
    (Trait.MATMUL, _product),
    (Trait.ADDMM, _plain_sum),
    (Trait.CONV, convolution),
    (Trait.SCALE, _scaled),
    (Trait.ARITHMETIC, _added),
    (Trait.REDUCTION, _total),
    (Trait.EACH, _each),
    (Trait.TRANSPOSE | Trait.SPLIT | Trait.INDEX, _viewed),
    (Trait.RESHAPE, _reshaped),
)


@functools.cache
def _form(traits: int) -> Callable[..., Made] | None:
    return next((form for trait, form in _FORMS if traits & trait), None)


linear_forms.fill(_linear_forms)
