"""Writing into plain arrays by ordinary keys, as `npdec._array.ordinary` reads them. Whatever else there may be, and
whatever torch refuses, is left to `npdec._array.indexing`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import fp_state, memory, wrap
from npdec._array.backwards import forwards, reverse
from npdec._array.convert import as_tensor
from npdec._array.ordinary import REFUSALS, arrays_of, axes_of, indices_of, is_free, items_of, spread
from npdec._array.packing import HOSTED
from npdec._core.installed_numpy import numpy_or_none
from npdec._impl._by_numpy import put_selected
from npdec._impl.dtypes_impl import RANGES, WHOLE, WIDE_UNSIGNED, kept_beside, promote_types
from npdec._native import calls
from npdec._torch.tracing import tracing

__all__ = ["FEW_SORTED", "sorted_in_place", "write"]

FEW_SORTED = 512  # numbers, of which a stable sort is as quick as any

_Tensor = torch.Tensor
# What fill_ takes of Python's numbers as NumPy does: floats are rounded once, integers fit.
_COMPLEX = frozenset({torch.complex128, torch.complex64})
_FILLED = frozenset({torch.float64, torch.float32}) | _COMPLEX
# Into arrays of these dtypes scalars on the host are written as their numbers are.
_FROM_SCALARS = frozenset({torch.bool, *_FILLED, *RANGES})
_FEW = 256  # indices that are looked at one by one, to find whether two name one element


def write(array: Any, key: Any, value: Any) -> bool:
    """Whether a plain number or array was written into a plain array, where an ordinary key says."""
    tensor, dtype = array._t, array._d
    kind = type(value)
    if type(tensor) is not _Tensor or tensor.requires_grad or not is_free(array):
        return False
    try:
        if kind is wrap.ARRAY:
            given = value._t
            if type(given) is not _Tensor or given.requires_grad:
                return False
            if value._d is not dtype and not _casts(value._d, dtype):
                return False
            if (
                key is Ellipsis or (type(key) is slice and key.step is None)
            ) and given.untyped_storage()._cdata != tensor.untyped_storage()._cdata:
                tensor[key] = given  # `_put`, written out
                return True
            if value._d is not dtype:
                given = given.to(dtype=dtype)
        else:
            if kind in HOSTED and dtype in _FROM_SCALARS:
                value = value._n
                kind = type(value)
            if kind is list:
                given = _of_list(value, dtype)
                if given is None or given.dim() > axes_of(key if type(key) is tuple else (key,), tensor.dim()):
                    return False
            elif _takes(dtype, kind, value):
                given = None
            else:
                return False
        kind = type(key)
        if kind is int:
            return _put(array, key, value, given, False)
        if kind is slice:
            step = key.step
            if step is None or (type(step) is int and step > 0):
                return _put(array, key, value, given)
            return type(step) is int and _put_backwards(array, (key,), value, given)
        if key is Ellipsis:
            return _put(array, key, value, given)
        if kind is wrap.ARRAY and key._d is torch.bool:
            return _put_where(tensor, key._t, value, given)
        if kind is wrap.ARRAY or kind is list:
            index = key._t if kind is wrap.ARRAY and key._d is torch.int64 else indices_of(key, tensor.shape)
            if index is None or type(index) is not _Tensor or not index.dim():
                return False
            done = _put_at_one(tensor, dtype, index, value, given)
            return _put_at(tensor, dtype, [index], value, given) if done is None else done
        if kind is tuple:
            if _is_basic(key):
                return _put(array, key, value, given)
            found = arrays_of(key)
            if found:
                return _put_at(tensor, dtype, found, value, given)
            items, arrays, dots = items_of(key, tensor.shape)
            if items is None:
                return _put_backwards(array, key, value, given)
            if arrays:
                return _put_at(tensor, dtype, spread(items, tensor.dim()) if dots else items, value, given)
            return _put(array, tuple(items), value, given, dots or slice in map(type, items))
        return False
    except REFUSALS:
        return False  # nothing was written: torch looks at shapes and indices first


def _is_basic(key: tuple[Any, ...]) -> bool:
    """Whether a key is of ints and slices without steps, a slice among them."""
    part = False
    for item in key:
        if type(item) is slice:
            if item.step is not None:
                return False
            part = True
        elif type(item) is not int:
            return False
    return part


def _takes(dtype: torch.dtype, kind: type, number: Any) -> bool:
    """Whether torch writes a Python number into an array of a dtype as NumPy does."""
    if kind is float:
        return dtype in _FILLED and not fp_state.watching
    if kind is int:
        limits = RANGES.get(dtype)
        low, high = limits if limits is not None else (-WHOLE, WHOLE) if dtype in _FILLED else (1, 0)
        return low <= number <= high
    if kind is complex:
        return dtype in _COMPLEX and not fp_state.watching
    return kind is bool and dtype is torch.bool


@functools.cache
def _is_safe(source: torch.dtype, dtype: torch.dtype) -> bool:
    if source in WIDE_UNSIGNED or dtype in WIDE_UNSIGNED:
        return False
    return promote_types(source, dtype) is dtype or (source in RANGES and dtype in RANGES)  # integers wrap around


def _casts(source: torch.dtype, dtype: torch.dtype) -> bool:
    """Whether torch casts elements as NumPy does, and nothing is lost that anybody looks for."""
    return not fp_state.watching and ((source is torch.float64 and dtype is torch.float32) or _is_safe(source, dtype))


def _of_list(numbers: list[Any], dtype: torch.dtype) -> torch.Tensor | None:
    given = as_tensor(numbers)
    if given.dtype is torch.int64 and dtype is torch.float64:
        given = given.to(torch.float64)
    return given if type(given) is _Tensor and not given.requires_grad and given.dtype is dtype else None


def _put(array: Any, key: Any, number: Any, given: Any, is_part: bool = True) -> bool:
    """`array[key] = given`, or the number if nothing is given; `is_part` says that the key names no single element,
    to which no sequence is given."""
    tensor = array._t
    if given is None:
        if key is Ellipsis:
            tensor.fill_(number)
        elif tensor.is_cpu and (made := kept_beside(number, array._d)) is not None:
            tensor[key] = made
        else:
            tensor[key].fill_(number)
        return True
    if not is_part and given.dim() and tensor.dim() <= (1 if type(key) is int else len(key)):
        return False
    if given._base is tensor or given.untyped_storage()._cdata == tensor.untyped_storage()._cdata:
        if _is_row(given, tensor, key) if type(key) is int else _is_same(given, tensor[key]):
            return True  # x[key] += y, which has written the view
        given = given.clone()
    tensor[key] = given
    return True


def _put_backwards(array: Any, key: tuple[Any, ...], number: Any, given: Any) -> bool:
    """As `_put`, where slices run backwards."""
    tensor = array._t
    found = forwards(key, tensor.shape)
    if found is None or not found[1]:
        return False
    items, axes = found
    if given is None or not given.dim():
        return _put(array, items, number, given)
    part = tensor[items] if items else tensor
    if given.shape != part.shape or memory.shares_storage(given, tensor):
        return False
    part.copy_(reverse(given, axes))
    return True


def _is_row(given: torch.Tensor, tensor: torch.Tensor, key: int) -> bool:
    """`_is_same(given, tensor[key])`, which has no need of the view."""
    shape, strides = tensor.shape, tensor.stride()
    place = key + shape[0] if key < 0 else key
    if given.storage_offset() != tensor.storage_offset() + place * strides[0] or not 0 <= place < shape[0]:
        return False
    return given.stride() == strides[1:] and given.shape == shape[1:]


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors over one storage have the same elements."""
    return a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride()


def _put_where(tensor: torch.Tensor, mask: torch.Tensor, number: Any, given: Any) -> bool:
    if type(mask) is not _Tensor or not mask.dim() or mask.shape != tensor.shape[: mask.dim()]:
        return False
    if tensor.dtype in WIDE_UNSIGNED or memory.shares_storage(mask, tensor):
        return False
    if given is None:
        rest = tensor.dim() - mask.dim()
        tensor.masked_fill_(mask.view(*mask.shape, *[1] * rest) if rest else mask, number)
    elif given.dim() == 1 or mask.dim() < tensor.dim():
        given = given.clone() if memory.shares_storage(given, tensor) else given
        if not put_selected(tensor, mask, given):
            tensor[mask] = given
    else:
        return False
    return True


def _put_at_one(tensor: torch.Tensor, dtype: torch.dtype, index: torch.Tensor, number: Any, given: Any) -> bool | None:
    """`_put_at` for a vector of few indices along the first axis; None where it is more than that."""
    count = index.numel()
    if not 0 < count <= _FEW or not tensor.is_cpu or dtype in WIDE_UNSIGNED:
        return None
    places, memory_of_all = index.tolist(), tensor.untyped_storage()._cdata
    if type(places[0]) is not int or index.untyped_storage()._cdata == memory_of_all:
        return None
    in_order, size = sorted(places), tensor.shape[0]  # sooner than to ask for the least and for the greatest
    if in_order[0] < -size or in_order[-1] >= size:
        return False
    if given is None:
        made = kept_beside(number, dtype)
        if made is not None and in_order[0] >= 0 and index.dtype is torch.int64:
            tensor.index_fill_(0, index, made)
        else:
            tensor[index] = number if made is None else made
        return True
    if in_order[0] < 0 or given.dim() != 1 or tensor.dim() != 1 or given.shape[0] != count:
        return None
    if len(set(places)) < count or given.untyped_storage()._cdata == memory_of_all or index.dtype is not torch.int64:
        return None
    tensor.scatter_(0, index, given)
    return True


def _put_at(tensor: torch.Tensor, dtype: torch.dtype, items: Sequence[Any], number: Any, given: Any) -> bool:
    """Write at indices, which are all looked at first: torch would write what comes before one that is out of bounds,
    and leave open which of several values an element gets that is named more than once."""
    if not tensor.is_cpu or dtype in WIDE_UNSIGNED:
        return False
    several = given is not None and given.dim() > 0
    if several and given.dim() > 1 and tensor.dim() == 1:
        return False  # which a mask refuses, and indices take if the other axes have length one
    named: list[list[int]] = []
    memory_of_all = tensor.untyped_storage()._cdata
    shape = tensor.shape
    for axis, item in enumerate(items):
        if type(item) is _Tensor:
            size = shape[axis]
            count = item.numel()
            if item.untyped_storage()._cdata == memory_of_all or (several and (count > _FEW or item.dim() != 1)):
                return False
            if count > _FEW:
                low, high = (bound.item() for bound in torch.aminmax(item))
            elif count:
                places = item.tolist()
                if type(places[0]) is list:
                    places = item.view(-1).tolist()
                in_order = sorted(places)  # sooner than to ask for the least and for the greatest
                low, high = in_order[0], in_order[-1]
            if count and (low < -size or high >= size):
                return False
            if count and several:
                named.append([place % size for place in places] if low < 0 else places)
        elif item is None or item is Ellipsis:
            return False
    if several and named:
        places = named[0] if len(named) == 1 else list(zip(*named, strict=True))
        if len(set(places)) < len(places):
            return False
    if given is not None and memory.shares_storage(given, tensor):
        given = given.clone()
    if given is None:
        given = kept_beside(number, dtype)
        given = number if given is None else given
    tensor[items if type(items) is tuple else tuple(items)] = given
    return True


def sorted_in_place(array: Any, axis: int) -> bool:
    """Whether an array of so few numbers as a stable sort is quick for has been sorted, by NumPy."""
    numpy = numpy_or_none()
    if calls is None or numpy is None or tracing() or array.size > FEW_SORTED:
        return False
    made = calls.few_by_numpy(numpy.sort, array, axis, "stable")
    return made is not None and bool(calls.few_copyto(array, made))
