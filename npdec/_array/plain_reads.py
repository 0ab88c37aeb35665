"""What keys of integers, slices and masks say of a plain array that is not read through a window (`elements`)."""

from __future__ import annotations

from typing import Any
from weakref import ref

import torch

from npdec._array import indexing, memory, ordinary, wrap
from npdec._array.convert import MAX_NDIM
from npdec._array.family import family_of
from npdec._core.tags import NoValue
from npdec._dtypes.dtype import SCALARS
from npdec._impl._by_numpy import selected

__all__ = ["by_mask", "first", "part", "row"]

_new, _Tensor, _bool = object.__new__, torch.Tensor, torch.bool
_INTEGERS = wrap.INTEGERS
_FEW = 32  # elements that are all read to have one of them


def first(array: Any, key: Any, place: Any, count: int) -> Any:
    """What a key of integers says of a plain array without a window: an element of few is read of all of them, sooner
    than torch makes a tensor of it."""
    tensor = array._t
    if tensor.dim() != count or tensor.numel() > _FEW or not wrap.is_on_host(tensor):
        return row(array, key, place)
    numbers = tensor.tolist()
    try:
        for index in place if type(place) is tuple else (place,):
            numbers = numbers[index]
    except IndexError:
        return indexing.getitem(array, key)
    return wrap.on_host(SCALARS[array._d], numbers)


def row(array: Any, key: Any, place: Any) -> Any:
    """What a key of integers says of a plain array: nearly always a view, named by fewer than it has axes."""
    try:
        found = array._t[place]
    except (IndexError, ValueError, RuntimeError):  # ValueError for what does not fit 64 bits
        return indexing.getitem(array, key)
    if not found.dim():
        return wrap.read_scalar(found)
    result = _new(type(array))  # `memory.seen_part`, written out
    result._t = found
    result._d = array._d
    family = array._m
    if family is None:
        family = family_of(array)
    result._m = family
    family.append(ref(result))
    if len(family) > family.limit:
        memory.settle(array, result)
    return result


def part(array: Any, key: tuple[Any, ...]) -> Any:
    """The view that slices, ints, new axes and one Ellipsis choose of a plain array, or what arrays of indices among
    them choose; None for all other keys."""
    dots = new = sliced = False
    for item in key:
        kind = type(item)
        if kind is slice:
            sliced = True
            step = item.step
            if step is not None and type(step) is int and step < 0:
                return ordinary.backwards(array, key)
        elif kind is not int:
            if item is None:
                new = True
            elif item is Ellipsis and not dots:
                dots = True
            elif kind in _INTEGERS:
                key = tuple([item._n if type(item) in _INTEGERS else item for item in key])
            elif kind is wrap.ARRAY:
                found = ordinary.read(array, key)
                return indexing.getitem(array, key) if found is NoValue else found
            else:
                return None
    tensor = array._t
    if not (sliced or dots or new) or type(tensor) is not _Tensor or (new and len(key) + tensor.dim() > MAX_NDIM):
        return None  # among others a key of integers alone
    try:
        seen = tensor[key]
    except (IndexError, ValueError, TypeError, RuntimeError):
        return None  # NumPy's words are found on the general way
    return memory.seen_part(array, seen)


def by_mask(array: Any, key: Any) -> Any:
    if type(key) is wrap.ARRAY and key._d is _bool and type(array._t) is _Tensor and key._t.dim():
        try:
            found = selected(array._t, key._t)
            return wrap.array_of(array._t[key._t] if found is None else found, array._d)
        except (IndexError, NotImplementedError):  # which accelerators say of unsigned integers
            pass
    return indexing.getitem(array, key)
