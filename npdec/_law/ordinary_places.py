"""The law of ordinary calls that put constants at places of a decomposed tensor, or take its elements from places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._law.native_forms import in_c
from npdec._law.ordinary import built, has_elements, is_ordinary, made_of

__all__ = [
    "added_at", "copied_to", "filled", "filled_at", "mask_scattered", "mask_selected", "padded", "put_over",
    "scattered",
]  # fmt: skip

Function = Callable[..., Any]
_NUMBERS = (float, int)


def _is_mask(mask: Any, x: Any) -> bool:
    """Whether it is a plain condition for each element."""
    return (
        type(mask) is torch.Tensor and mask.dtype is torch.bool and mask.shape == x.value.shape and has_elements(mask)
    )


def _is_index(dim: Any, index: Any, x: Any) -> bool:
    """Whether they are an axis and plain places along it."""
    return (
        type(dim) is int
        and x.value.ndim > 0
        and type(index) is torch.Tensor
        and index.dtype is torch.int64
        and has_elements(index)
    )


def _behind(dim: int) -> int:
    """The axis of the components that is this one of the value."""
    return dim + 1 if dim >= 0 else dim


@in_c("filled")
def filled(func: Function, args: Sequence[Any]) -> Any:
    """masked_fill with a number, where a plain mask says so."""
    if len(args) != 3 or type(args[2]) not in _NUMBERS or not is_ordinary(args[0]) or not _is_mask(args[1], args[0]):
        return NotImplemented
    x, mask, number = args
    return built(func(x.value, mask, number), func(x.residual, mask, number), func(x.components, mask, 0), x.labels)


@in_c("filled")
def filled_at(func: Function, args: Sequence[Any]) -> Any:
    """index_fill with a number."""
    if len(args) != 4 or type(args[3]) not in _NUMBERS or not is_ordinary(args[0]):
        return NotImplemented
    x, dim, index, number = args
    if not _is_index(dim, index, x):
        return NotImplemented
    value, residual = func(x.value, dim, index, number), func(x.residual, dim, index, number)
    return built(value, residual, func(x.components, _behind(dim), index, 0), x.labels)


def _are_elements(source: Any, x: Any) -> bool:
    """Whether it is a plain tensor of the dtype, with as many axes."""
    plain = type(source) is torch.Tensor and source.dtype is x.value.dtype and source.ndim == x.value.ndim
    return plain and has_elements(source)


def scattered(func: Function, args: Sequence[Any]) -> Any:
    """scatter of a number or of plain elements."""
    if len(args) != 4 or not is_ordinary(args[0]):
        return NotImplemented
    x, dim, index, source = args
    if not _is_index(dim, index, x) or index.ndim != x.value.ndim:
        return NotImplemented
    if type(source) not in _NUMBERS and not _are_elements(source, x):
        return NotImplemented
    value, residual = func(x.value, dim, index, source), func(x.residual, dim, index, source)
    every = index.expand(len(x.labels), *index.shape)
    return built(value, residual, torch.scatter(x.components, _behind(dim), every, 0), x.labels)


def copied_to(func: Function, args: Sequence[Any]) -> Any:
    """index_copy of plain elements."""
    if len(args) != 4 or not is_ordinary(args[0]):
        return NotImplemented
    x, dim, index, source = args
    if not _is_index(dim, index, x) or index.ndim != 1 or not _are_elements(source, x):
        return NotImplemented
    value, residual = func(x.value, dim, index, source), func(x.residual, dim, index, source)
    return built(value, residual, x.components.index_fill(_behind(dim), index, 0), x.labels)


def added_at(func: Function, args: Sequence[Any]) -> Any:
    """scatter_add and index_add of plain elements, which contribute nothing."""
    if len(args) != 4 or not is_ordinary(args[0]):
        return NotImplemented
    x, dim, index, source = args
    if not _is_index(dim, index, x) or not index.ndim or not _are_elements(source, x):
        return NotImplemented
    return built(
        func(x.value, dim, index, source), func(x.residual, dim, index, source), x.components.clone(), x.labels
    )


def put_over(func: Function, args: Sequence[Any]) -> Any:
    """slice_scatter and its like, of plain elements: the function itself says where these go."""
    if len(args) < 2 or not is_ordinary(args[0]) or any(isinstance(item, torch.Tensor) for item in args[2:]):
        return NotImplemented
    x, source, *rest = args
    if type(source) is not torch.Tensor or source.dtype is not x.value.dtype or not has_elements(source):
        return NotImplemented
    value, residual = func(x.value, source, *rest), func(x.residual, source, *rest)
    nowhere = torch.zeros_like(x.value, dtype=torch.bool)
    mask = func(nowhere, torch.ones_like(source, dtype=torch.bool), *rest)
    return built(value, residual, x.components.masked_fill(mask, 0), x.labels)


def mask_scattered(func: Function, args: Sequence[Any]) -> Any:
    """masked_scatter of plain elements."""
    if len(args) != 3 or not is_ordinary(args[0]) or not _is_mask(args[1], args[0]):
        return NotImplemented
    x, mask, source = args
    if type(source) is not torch.Tensor or source.dtype is not x.value.dtype or not has_elements(source):
        return NotImplemented
    value, residual = func(x.value, mask, source), func(x.residual, mask, source)
    return built(value, residual, x.components.masked_fill(mask, 0), x.labels)


@in_c("masked")
def mask_selected(func: Function, args: Sequence[Any]) -> Any:
    """masked_select of a plain mask."""
    if len(args) != 2 or not is_ordinary(args[0]) or not _is_mask(args[1], args[0]):
        return NotImplemented
    x, mask = args
    value, places = func(x.value, mask), mask.reshape(-1).nonzero().squeeze(1)
    components = x.components.reshape(len(x.labels), mask.numel()).index_select(1, places)
    return built(value, func(x.residual, mask), components, x.labels)


def padded(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """pad with a number, which is no component's."""
    if not 2 <= len(args) <= 4 or not is_ordinary(args[0]):
        return NotImplemented
    x, pad = args[:2]
    given = dict(zip(("mode", "value"), args[2:], strict=False)) | (options or {})
    mode, number = given.pop("mode", "constant"), given.pop("value", None)
    if given or mode != "constant" or type(pad) not in (tuple, list) or type(number) not in (*_NUMBERS, type(None)):
        return NotImplemented
    if not all(type(width) is int for width in pad):
        return NotImplemented
    value, residual = (func(part, pad, mode, number) for part in (x.value, materialised_residual(x)))
    return made_of(value, residual, func(x.components, pad), x)
