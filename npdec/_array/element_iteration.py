"""Going through the elements of a vector, which are read from memory where nothing but numbers is in it.

The memory is looked at anew for each element, as NumPy's own iterator does, so what is written on the way is seen; and
whether it may be looked at is asked each time, as between two elements anything can happen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, cast

import torch
from torch.utils import _python_dispatch as _dispatch

from npdec._array import ordinary, wrap
from npdec._array.elements import NOT_YET, elements_of, memory_of
from npdec._dtypes.dtype import SCALARS
from npdec._native import calls

__all__ = ["elements", "through"]

_new_float, _Tensor, _float64 = float.__new__, torch.Tensor, torch.float64
_tracing = torch.compiler.is_dynamo_compiling


def through(array: Any) -> Iterator[Any]:
    """The elements of a vector, or the rows of an array of more axes."""
    if calls is not None and not _tracing():
        found = calls.few_iterated(array)
        if found is not None:
            return cast("Iterator[Any]", found)
    rank = len(array._t.shape)
    if not rank:
        raise TypeError("iteration over a 0-d array")
    return elements(array) if rank == 1 else ordinary.rows(array)


def elements(array: Any) -> Iterator[Any]:
    """The elements of an array of one axis."""
    tensor = array._t
    count = tensor.shape[0]
    if _tracing() or count < 2:
        return _one_by_one(array, count)
    window = getattr(array, "_w", None)
    if window is not None:
        if window[0] is tensor:  # it is over the memory already
            return _from_memory(array, window[2], window[3], count)
        return _one_by_one(array, count)  # which opens one: this is the second time
    array._w = NOT_YET
    found = memory_of(tensor, array._d)
    if found is None:
        return _one_by_one(array, count)
    return _from_memory(array, found[0], elements_of(tensor, array._d, *found), count)


def _one_by_one(array: Any, count: int) -> Iterator[Any]:
    for i in range(count):
        yield array[i]


def _from_memory(array: Any, address: int, items: Any, count: int) -> Iterator[Any]:
    if calls is not None and type(items) is calls.Elements and sys.getprofile() is None is sys.gettrace():
        return cast("Iterator[Any]", calls.Iterator(array, items))
    return _in_python(array, address, items, count)


def _in_python(array: Any, address: int, items: Any, count: int) -> Iterator[Any]:
    tensor, dtype = array._t, array._d
    data_ptr, cls = tensor.data_ptr, SCALARS[dtype]
    for i in range(count):
        if (
            array._t is tensor
            and data_ptr() == address
            and type(tensor) is _Tensor
            and not tensor.requires_grad
            and not _dispatch._is_in_torch_dispatch_mode
        ):
            number = items[i]
            if dtype is _float64:
                scalar: Any = _new_float(cls, number)
                scalar._n = number
                yield scalar
            else:
                yield wrap.on_host(cls, number)
        else:
            yield array[i]
