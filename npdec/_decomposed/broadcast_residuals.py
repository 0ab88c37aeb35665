"""Residuals whose rows are equal: one row is computed, and stands for all.

A baseline of one number makes the residual of a batch the same for all its examples, and often for all positions. Such
a residual is broadcast (strides of zero in memory) along these axes, and so is what follows from it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from npdec._decomposed import batching
from npdec._decomposed.axes import narrowed, row_by_row
from npdec._decomposed.call import Call
from npdec._decomposed.registry import Trait
from npdec._decomposed.tensor import DecomposedTensor, is_broadcast
from npdec._impl._storage import shares_memory
from npdec._torch.functorch import is_wrapped
from npdec._torch.tracing import tracing

__all__ = ["equal_axes", "materialised_residual", "narrowed_product", "of_rows", "of_the_residuals", "row_along"]


def of_the_residuals(call: Call, value: Any) -> Any:
    """The call of the residuals; `value` is what it gives for the values."""
    residuals = [t.residual for t in call.tensors]
    if tracing() or not any(0 in r.stride() for r in residuals):
        return call(*residuals)
    first = residuals[0]
    if len(residuals) == 1 and call.decomposed[0].key == 0:
        leading = batching.leading_axes(call, first)
        if leading:
            return row_by_row(call, first, leading)
    made = None
    if isinstance(value, torch.Tensor):
        if call.traits & Trait.ELEMENTWISE:
            made = _elementwise(call, residuals, value.shape)
        elif call.traits & Trait.MATMUL and len(call.args) == 2 and not call.kwargs:
            made = _product(call, residuals)
    if made is not None:
        return made.expand(value.shape)
    equal = call.traits & Trait.SELECT and len(residuals) == 1 and first.numel() and not any(first.stride())
    apart = isinstance(value, torch.Tensor) and not shares_memory(value, call.tensors[0].value)
    if equal and apart:
        return first.as_strided((), (), first.storage_offset()).clone().expand(value.shape)
    if call.traits & Trait.CAST and len(residuals) == 1 and apart and value.shape == first.shape:
        copied = call(first[tuple([slice(None) if stride else slice(1) for stride in first.stride()])])
        return (copied.clone() if shares_memory(copied, first) else copied).expand(value.shape)
    if call.traits & Trait.RESHAPE and len(residuals) == 1 and value.numel() == first.numel():
        return first.reshape(value.shape).to(value.dtype)
    return call(*residuals) if call.traits & Trait.STRIDED else call(*map(materialised_residual, call.tensors))


def materialised_residual(t: DecomposedTensor) -> torch.Tensor:
    """The residual: where some of its elements are one in memory, a copy that lies there as the value does."""
    if tracing() or not is_broadcast(t.residual):
        return t.residual
    if is_wrapped(t.value) or t.residual.requires_grad:
        return t.residual.clone(memory_format=torch.contiguous_format)
    return torch.empty_like(t.value).copy_(t.residual)


def equal_axes(
    residuals: Sequence[torch.Tensor], others: Sequence[torch.Tensor], shape: Sequence[int]
) -> Sequence[int]:
    """Of a function of broadcasting tensors, of which the result has this shape, the axes, counted from the last one,
    on which all residuals are one row, and the others have but one."""
    equal = []
    for axis in range(-len(shape), 0):
        strides = [0 if r.ndim < -axis or r.shape[axis] == 1 else r.stride(axis) for r in residuals]
        fixed = all(a.ndim < -axis or a.shape[axis] == 1 for a in others)
        if fixed and not any(strides) and shape[axis] > 1:
            equal.append(axis)
    return equal


def row_along(residual: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    """The row that a residual is along each of the axes, which are counted from the last one."""
    return residual[tuple([slice(0, 1) if axis in axes else slice(None) for axis in range(-residual.ndim, 0)])]


def of_rows(func: Any, parts: Sequence[Any], are_residuals: Sequence[bool], shape: Sequence[int]) -> torch.Tensor:
    """A function of broadcasting tensors and numbers, of which some are residuals, in the shape of the result: on the
    axes on which all are one row, made once."""
    pairs = list(zip(parts, are_residuals, strict=True))
    others = [part for part, is_one in pairs if not is_one and isinstance(part, torch.Tensor)]
    axes = equal_axes([part for part, is_one in pairs if is_one], others, shape)
    made: torch.Tensor = func(*[row_along(part, axes) if is_one and axes else part for part, is_one in pairs])
    return made.expand(shape)


def _elementwise(call: Call, residuals: Sequence[torch.Tensor], shape: Sequence[int]) -> torch.Tensor | None:
    """A function of broadcasting tensors, on the axes on which all of them are one row."""
    others = [a for a in itertools.chain(call.args, call.kwargs.values()) if isinstance(a, torch.Tensor)]
    others = [a for a in others if not any(a is t for t in call.tensors)]
    equal = equal_axes(residuals, others, shape)
    if not equal:
        return None
    made: torch.Tensor = call(*[row_along(r, equal) for r in residuals])
    return made


def _product(call: Call, residuals: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """A product of matrices: equal rows of the first and columns of the second, and equal ones of a batch."""
    parts = list(call.args)
    for leaf, residual in zip(call.decomposed, residuals, strict=True):
        if not isinstance(leaf.key, int) or residual.ndim < 2:
            return None
        parts[leaf.key] = residual
    return narrowed_product(call.func, *parts)


def narrowed_product(func: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    """A product of matrices, of equal rows of the first, equal columns of the second, and equal matrices of a batch
    once; None if there are none, or of a vector."""
    if a.ndim < 2 or b.ndim < 2:
        return None
    rows, columns = narrowed(a, a.ndim - 1), narrowed(b.mT, b.ndim - 1).mT
    if rows is a and columns.shape == b.shape:
        return None
    if a.ndim == b.ndim == 3 and len(rows) != len(columns):  # torch.bmm broadcasts no batch
        count = len(a) if len(b) == 1 else len(b)
        rows, columns = rows.expand(count, -1, -1), columns.expand(count, -1, -1)
    made: torch.Tensor = func(rows, columns)
    return made
