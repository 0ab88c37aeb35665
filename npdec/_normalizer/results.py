"""What kernels return, as the caller gets it: arrays and scalars, views of the arguments, NumPy's dtypes and tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._array import element_order, memory
from npdec._array import wrap as _wrap
from npdec._array.memory import seen
from npdec._core.base import ArrayBase, NDArrayBase
from npdec._decomposed.tensor import is_broadcast
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._native import calls
from npdec._torch.tracing import tracing

__all__ = [
    "FROZEN",
    "wrap_array",
    "wrap_flat",
    "wrap_frozen",
    "wrap_mirror",
    "wrap_result",
    "wrap_tuple",
    "wrap_view",
]

_Tensor = torch.Tensor


def wrap_result(result: Any) -> Any:
    """Tensors in what a kernel returned become arrays and scalars, dtypes and sizes become NumPy's."""
    if isinstance(result, torch.Tensor):
        return _wrap.wrap(result)
    return _contained(result, wrap_result)


_new_tuple = tuple.__new__  # called sooner than the class with names


def wrap_tuple(tensors: tuple[torch.Tensor, ...]) -> Any:
    """Several tensors as arrays and scalars, in a tuple of the same class."""
    items = [_wrap.wrap(tensor) for tensor in tensors]
    return _new_tuple(type(tensors), items) if hasattr(tensors, "_fields") else tuple(items)


def wrap_array(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return _wrap.wrap_array(result)
    return _contained(result, wrap_array)


def wrap_view(source: Any, result: Any) -> Any:
    """What a kernel returned as arrays that may share memory with `source`; with several sources, each with its own."""
    if calls is not None and not tracing():
        lazy = calls.lazy_view(source, result)
        if lazy is not None:
            return lazy
    if type(source) is _wrap.ARRAY and type(result) is _Tensor and type(source._t) is _Tensor:
        tensor = source._t
        if tensor is result:
            return source
        if result.is_contiguous() or not result.numel() or not is_broadcast(result):
            return seen(source, result)
        base = result._base
        if base is not None and (base is tensor or base is tensor._base):  # it is known to be a view
            return memory.seen_frozen(source, result, memory.ONE_IN_MEMORY)
        made = seen(source, result)
        memory.freeze(made, memory.ONE_IN_MEMORY)
        return made
    if isinstance(result, torch.Tensor):
        if type(source) is tuple and len(source) == 1:
            source = source[0]
        if type(source) is _wrap.ARRAY and source._t is result:
            return source
        if not result.dim() and isinstance(source, ArrayBase) and type(source) is not _wrap.ARRAY:
            return _wrap.wrap_scalar(result)
        made = memory.view(source, result)
        if result.numel() and is_broadcast(result):
            memory.freeze(made, memory.ONE_IN_MEMORY)
        return made
    if type(result) is list and type(source) is _wrap.ARRAY:
        return [wrap_view(source, item) for item in result]
    if type(source) is tuple and isinstance(result, (tuple, list)) and len(source) == len(result):
        return type(result)([_view_of_one(one, item) for one, item in zip(source, result, strict=True)])
    return _contained(result, lambda item: wrap_view(source, item))


def _view_of_one(source: Any, result: Any) -> Any:
    """What is made of one of several arguments: an array, also of a scalar."""
    scalar = isinstance(source, ArrayBase) and not isinstance(source, NDArrayBase)
    return _wrap.wrap_array(result.clone()) if scalar and not result.dim() else wrap_view(source, result)


def wrap_flat(source: Any, result: torch.Tensor) -> Any:
    """A view of `source`; where that is a copy that stands for a view, and in the memory of which the elements do not
    follow each other, a copy, as NumPy's is."""
    made = wrap_view(source, result)
    if type(source) is _wrap.ARRAY and source._m.origin is not None and not element_order.follow_each_other(made):
        return _wrap.wrap_array(result.clone())
    return made


FROZEN = "NumPy gives a read-only view here; take .copy() to have an array to write"


def wrap_frozen(source: Any, result: torch.Tensor) -> Any:
    """A read-only view of `source`."""
    if calls is not None and not tracing():
        lazy = calls.lazy_view(source, result, FROZEN)
        if lazy is not None:
            return lazy
    if type(source) is _wrap.ARRAY and type(result) is _Tensor and type(source._t) is _Tensor:
        if memory.shares_storage(result, source._t):
            made = seen(source, result)
            memory.freeze(made, FROZEN)
            return made
        return _wrap.wrap_array(result)
    made = wrap_view(source, result)
    if type(source) is _wrap.ARRAY and memory.shares_storage(result, source._t):
        memory.freeze(made, FROZEN)
    return made


def wrap_mirror(source: Any, result: torch.Tensor, again: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A view of `source`, or a copy that stands for one. Reversed along no axis, an element is a scalar."""
    if not result.dim():
        return _wrap.wrap_scalar(result.clone())
    if type(source) is not _wrap.ARRAY or memory.shares_storage(result, source._t):
        return wrap_view(source, result)
    made = _wrap.wrap_array(result)
    memory.mirror(source, made, again)
    return made


def _contained(result: Any, wrap: Callable[[Any], Any]) -> Any:
    if isinstance(result, torch.dtype):
        return dtype_class(result)
    if isinstance(result, torch.Size):
        return tuple(result)
    if isinstance(result, tuple):
        items = [wrap(item) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    if isinstance(result, list):
        return [wrap(item) for item in result]
    return result
