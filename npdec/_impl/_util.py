"""Helpers that kernels share: axes, reductions over several axes, broadcasting."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import torch

from npdec.exceptions import AxisError


def normalize_axis(axis: int, ndim: int, argname: str | None = None) -> int:
    """The axis counted from the front. Raises AxisError if it is out of range."""
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise AxisError(index, ndim, argname)
    return index + ndim if index < 0 else index


def normalize_axes(
    axis: int | Iterable[int] | None, ndim: int, argname: str | None = None, allow_duplicate: bool = False
) -> tuple[int, ...]:
    """A tuple of axes counted from the front; None means all. Raises AxisError, or ValueError on a repeated axis."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, int):
        return (normalize_axis(axis, ndim, argname),)
    axes = tuple(normalize_axis(item, ndim, argname) for item in axis)
    if not allow_duplicate and len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{argname}` argument" if argname else "repeated axis")
    return axes


def move_axes_last(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """`x` with the axes, counted from the front, merged into one last axis."""
    kept = [dim for dim in range(x.ndim) if dim not in axes]
    return x.permute(*kept, *axes).reshape([x.shape[dim] for dim in kept] + [-1 if x.numel() else _size(x, axes)])


def restore_axes(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """`x` with an axis of length one inserted at each of the axes (keepdims)."""
    for axis in sorted(axes):
        x = x.unsqueeze(axis)
    return x


def _size(x: torch.Tensor, axes: tuple[int, ...]) -> int:
    size = 1
    for axis in axes:
        size *= x.shape[axis]
    return size
