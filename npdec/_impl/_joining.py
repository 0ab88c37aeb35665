"""Joining arrays that fit, with the axes of the result ordered in memory as theirs are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._impl import _util, dtypes_impl

__all__ = ["at_once", "join", "with_scalars"]


def join(arrays: Sequence[torch.Tensor], axis: int) -> torch.Tensor:
    """The arrays joined, with the axes ordered in memory as theirs are."""
    for a in arrays:
        if not a.is_contiguous():
            break
    else:
        return torch.cat(list(arrays), axis)
    order = _memory_order(arrays)
    joined = torch.cat([a.permute(order) for a in arrays], order.index(axis))
    return joined.permute([order.index(i) for i in range(len(order))])


def at_once(
    function: Callable[..., torch.Tensor], arrays: Sequence[torch.Tensor], axis: Any, dtype: Any, casting: str
) -> torch.Tensor | None:
    """What torch makes of row-major arrays of one dtype and as many axes; None where there is more to do, or to say."""
    if dtype is not None or casting != "same_kind" or type(axis) is not int:
        return None
    first = arrays[0]
    kind, ndim = first.dtype, first.dim()
    if ndim == 1 and not -1 <= axis <= 0:  # which torch does not look at where all are empty
        return None
    for a in arrays:
        if a.dtype is not kind or a.dim() != ndim or not a.is_contiguous():
            return None
    try:
        return function(arrays, axis)
    except (RuntimeError, IndexError):
        return None


def _memory_order(arrays: Sequence[torch.Tensor]) -> list[int]:
    """The axes from the largest stride to the smallest, in as many arrays as agree.

    Axes of length one have no order; where arrays contradict each other the axes stay as they are.
    """
    order: list[int] = []
    for axis in range(arrays[0].ndim):
        place = len(order)
        for k in range(len(order) - 1, -1, -1):
            verdicts = [
                a.stride(axis) > a.stride(order[k]) for a in arrays if a.shape[axis] != 1 and a.shape[order[k]] != 1
            ]
            if verdicts and not all(verdicts):
                break
            if verdicts:
                place = k
        order.insert(place, axis)
    return order


def with_scalars(arrays: Sequence[Any]) -> list[torch.Tensor]:
    """The arrays, and the Python scalars among them in the dtype that is common with these; an int wraps around."""
    wanted = dtypes_impl.result_type(*arrays)
    device = next((a.device for a in arrays if isinstance(a, torch.Tensor)), None)
    return [
        a
        if isinstance(a, torch.Tensor)
        else _util.cast(dtypes_impl.scalar_tensor(a, dtypes_impl.result_type(a), device), wanted)
        for a in arrays
    ]
