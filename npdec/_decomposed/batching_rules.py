"""Functions of one argument that leave leading axes alone, if their own axes are counted from the end.

`torch.vmap` does so for any function. For those that networks call most it takes longer than the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.registry import row_of

__all__ = [
    "adjoint", "axes_of", "batch_rule", "diagonal", "diagonals", "expanded", "flipped", "flipped_along", "gathered",
    "indexed", "is_basic", "is_plain", "moved", "of_all_axes", "of_axes", "of_last_axes", "permuted", "reduced",
    "repeated", "reshaped", "reversed_axes", "rolled", "rotated", "squeezed", "swapped", "taken", "traced",
    "unsqueezed",
]  # fmt: skip

Function = Callable[..., Any]


def batch_rule(call: Call, value: Any) -> Function | None:
    """The function of a tensor with one more leading axis, which stays there; None if that takes torch.vmap.

    `value` is what the function makes of the argument itself.
    """
    leaf = call.decomposed[0]
    row = row_of(call.func)
    form = None if row is None else row.batch
    if form is None or len(call.decomposed) > 1 or leaf.key != 0 or leaf.place is not None or call.constant_linear:
        return None
    return form(call.func, leaf.tensor.ndim, call.args[1:], call.kwargs, value)


def is_basic(key: Any) -> bool:
    """Whether a key is of integers and slices, so that it gives a view."""
    for item in key if isinstance(key, tuple) else (key,):
        if item is not None and item is not Ellipsis and type(item) is not int and type(item) is not slice:
            return False
    return True


def is_plain(key: Any) -> bool:
    """Whether a key is of integers, slices and plain tensors."""
    for item in key if isinstance(key, tuple) else (key,):
        if item is not None and item is not Ellipsis and type(item) not in (int, slice, bool, torch.Tensor):
            return False
    return True


def _leaves_first_axis(items: tuple[Any, ...]) -> bool:
    """Whether an axis that comes before those of a plain key stays the first one: the indices follow each other.
    (Integers take their axes away before.)"""
    indices, is_apart = 0, False
    for item in items:
        if type(item) is torch.Tensor or type(item) is bool:
            if indices and is_apart:
                return False
            indices, is_apart = indices + 1, False
        elif type(item) is not int:
            is_apart = True
    return True


_LAST_AXES = (-4, -3, -2, -1)


def _from_the_end(dims: Iterable[int], ndim: int) -> list[int]:
    """Axes counted from the end, which one more leading axis does not move."""
    return [dim if dim < 0 else dim - ndim for dim in dims]


def reduced(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    """sum, mean: over an axis, axes, or all."""
    if not ndim:
        return None if args or kwargs else torch.clone
    if kwargs and not set(kwargs) <= {"dim", "keepdim", "dtype"}:
        return None
    if not args and not kwargs:
        every = _LAST_AXES[-ndim:] if ndim <= len(_LAST_AXES) else tuple(range(-ndim, 0))
        return lambda c: func(c, every)
    dims = args[0] if args else kwargs.get("dim")
    if isinstance(dims, int):
        dims = (dims,)
    elif dims is None:
        dims = range(ndim)
    elif not isinstance(dims, (tuple, list, torch.Size)) or not all(type(dim) is int for dim in dims):
        return None
    axes = _from_the_end(dims, ndim) or list(range(-ndim, 0))
    rest, named = args[1:], {key: item for key, item in kwargs.items() if key != "dim"}
    return lambda c: func(c, axes, *rest, **named)


def of_axes(first: int, last: int, default: tuple[int, ...] = ()) -> Function:
    """The arguments from `first` to before `last` (after the tensor) are axes; their defaults."""

    def form(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
        given = (*args, *default[len(args) - first :]) if len(args) < last else args
        if not ndim or kwargs or len(given) < last:
            return None
        if last - first == 1 and type(given[first]) is int:
            its = given[first]
            axis, leading, trailing = its if its < 0 else its - ndim, given[:first], given[last:]
            return lambda c: func(c, *leading, axis, *trailing)
        if not all(type(dim) is int for dim in given[first:last]):
            return None
        axes = _from_the_end(given[first:last], ndim)
        before, after = given[:first], given[last:]
        return lambda c: func(c, *before, *axes, *after)

    _AXES[form] = first, last, default
    return form


_AXES: dict[Function, tuple[int, int, tuple[int, ...]]] = {}


def axes_of(form: Function | None) -> tuple[int, int, tuple[int, ...]] | None:
    """What `of_axes` made the form of; None if it did not make it."""
    return None if form is None else _AXES.get(form)


def permuted(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    dims = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    if kwargs or not all(type(dim) is int for dim in dims):
        return None
    order = (0, *[dim % ndim + 1 for dim in dims])
    return lambda c: c.permute(order)


def flipped(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    dims = kwargs.get("dims", args[0] if len(args) == 1 and not isinstance(args[0], int) else args)
    if not isinstance(dims, (tuple, list)) or not all(type(dim) is int for dim in dims):
        return None
    # A tensor of no axes is its own mirror image: torch.vmap does not know that (torch.flip takes dims=(0,) of it).
    axes = _from_the_end(dims, ndim) if ndim else []
    return lambda c: c.flip(axes)


def taken(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    index = kwargs.get("index", args[0] if args else None)  # of which torch.vmap warns that it is slow
    return lambda c: c.reshape(c.shape[0], c.shape[1:].numel())[:, index]


def unsqueezed(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    if kwargs or len(args) != 1 or type(args[0]) is not int:
        return None
    axis = args[0] if args[0] < 0 else args[0] - ndim - 1
    return lambda c: c.unsqueeze(axis)


def reshaped(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    if not isinstance(value, torch.Tensor):
        return None
    for arg in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(arg, torch.dtype):
            return None
    shape = tuple(value.shape)
    return lambda c: c.reshape(c.shape[0], *shape)


def squeezed(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    if ndim and not kwargs and len(args) == 1 and type(args[0]) is int:
        axis = args[0] if args[0] < 0 else args[0] - ndim
        return lambda c: c.squeeze(axis)
    return reshaped(func, ndim, args, kwargs, value)


def indexed(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    if not is_plain(args[0]):
        return None
    items = args[0] if isinstance(args[0], tuple) else (args[0],)
    if _leaves_first_axis(items):
        key = (slice(None), *items)
        return lambda c: c[key]
    behind = (*items, slice(None)) if any(item is Ellipsis for item in items) else items
    return lambda c: c.movedim(0, -1)[behind].movedim(-1, 0)  # where torch.vmap loses the axis beside booleans


def swapped(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    return (lambda c: c.mT) if ndim > 1 else None


def expanded(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    shape, more = tuple(value.shape), value.ndim - ndim
    return lambda c: c.reshape(c.shape[0], *[1] * more, *c.shape[1:]).expand(c.shape[0], *shape)


def moved(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    """moveaxis, movedim."""
    if kwargs or len(args) != 2:
        return None
    places = [[dims] if type(dims) is int else dims for dims in args]
    if not all(isinstance(dims, (tuple, list)) and all(type(dim) is int for dim in dims) for dims in places):
        return None
    source, destination = (_from_the_end(dims, ndim) for dims in places)
    return lambda c: c.movedim(source, destination)


def reversed_axes(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    order = (0, *range(ndim, 0, -1))
    return lambda c: c.permute(order)


def adjoint(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    return (lambda c: c.mH) if ndim > 1 else None


def of_last_axes(many: int, most: int) -> Function:
    """The last axes, so many; up to `most` arguments do not change which."""

    def form(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
        return (lambda c: func(c, *args)) if ndim >= many and not kwargs and len(args) <= most else None

    return form


def of_all_axes(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    if kwargs or args:
        return None
    axes = list(range(-ndim, 0))
    return lambda c: func(c, dim=axes)


def traced(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    return lambda c: c.diagonal(0, -2, -1).sum(-1)


def diagonal(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    offset, first, second = list(args) + [0, 0, 1][len(args) :]
    if kwargs or ndim < 2:
        return None
    axes = _from_the_end((first, second), ndim)
    return lambda c: c.diagonal(offset, *axes)


def diagonals(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    """diag: the matrix that has a vector for its diagonal, or the diagonal of a matrix, as a copy."""
    if kwargs:
        return None
    if ndim == 1:
        return lambda c: c.diag_embed(*args)
    return lambda c: c.diagonal(*(args or (0,)), -2, -1).clone()


def flipped_along(axis: int) -> Function:
    def form(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
        return lambda c: c.flip(axis - ndim)

    return form


def rolled(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    if kwargs or not args:
        return None
    shifts, dims = args if len(args) == 2 else (args[0], ())
    if type(dims) is int:
        dims = (dims,)
    if not ndim:
        return torch.clone
    if not dims:
        return lambda c: c.reshape(c.shape[0], c.shape[1:].numel()).roll(shifts, 1).reshape(c.shape)
    axes = _from_the_end(dims, ndim)
    return lambda c: c.roll(shifts, axes)


def rotated(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    if kwargs:
        return None
    turns = args[0] if args else 1
    dims = args[1] if len(args) > 1 else (0, 1)
    axes = _from_the_end(dims, ndim)
    return lambda c: torch.rot90(c, turns, axes)


def repeated(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    """repeat, tile: of axes that are there, or of more leading ones."""
    counts = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if kwargs or not all(type(count) is int for count in counts):
        return None
    more = max(len(counts) - ndim, 0)
    every = (1, *[1] * (ndim - len(counts)), *counts)
    return lambda c: c.reshape(c.shape[0], *[1] * more, *c.shape[1:]).repeat(every)


def gathered(func: Function, ndim: int, args: Any, kwargs: dict[str, Any], value: Any) -> Function | None:
    if kwargs or len(args) != 2 or type(args[0]) is not int or not ndim:
        return None
    axis, index = args[0] if args[0] < 0 else args[0] - ndim, args[1]
    return lambda c: c.gather(axis, index.expand(c.shape[0], *index.shape))
