"""Single elements of plain arrays on the host, read from memory and written to it without a call of torch.

An array gets a window when an element is first asked for: a memoryview over its memory. What is read through it is a
Python number, of which a scalar is made; what is written is a Python number, and autograd is told by the tensor's
version. A window is open for arrays of which nobody else knows: no other tensor looks at the memory, and nobody holds
the tensor itself. For of those who do, one could give it a graph, another shape, or other memory. `close` is called
where a tensor is given away or gets a graph, references to it are counted at every use, and the address is compared, as
memory that torch has freed must not be read. All other arrays, keys and values go the general way
(`npdec._array.indexing`).
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils import _python_dispatch as _dispatch

from npdec._array import fp_state, indexing, memory, wrap
from npdec._array.element_memory import FORMATS, items_of
from npdec._array.family import family_of
from npdec._core.base import NDArrayBase
from npdec._dtypes.dtype import SCALARS
from npdec._torch.functorch import is_wrapped

__all__ = ["ElementAccess", "close"]

_new, _new_float, _new_complex, _Tensor = object.__new__, float.__new__, complex.__new__, torch.Tensor
_tracing = torch.compiler.is_dynamo_compiling
_references = sys.getrefcount
_increment_version = torch._C._increment_version
_REFUSALS = (IndexError, TypeError, ValueError, OverflowError)

_SECOND: Any = object()
_SHUT: Any = (None,) * 8
_NOT_YET: Any = (None, None, None, None, _SECOND, None, None, None)
# What an array takes of Python's types and of scalars on the host, by the dtypes of array and scalar, as it is (False)
# or as the number that a scalar is (True). Numbers that its memory refuses go the general way.
_TAKEN: dict[torch.dtype, dict[type, bool]] = {}
_ROUNDED = frozenset({torch.float16, torch.float32, torch.complex64})
_LONG = frozenset({torch.int64, torch.uint64})


def _taken(dtype: torch.dtype) -> dict[type, bool]:
    inexact = dtype.is_floating_point or dtype.is_complex
    whole = not inexact and dtype is not torch.bool
    found: dict[type, bool] = {bool: False, int: False}
    if not whole:
        found[float] = False
    if dtype.is_complex:
        found[complex] = False
    for other, cls in SCALARS.items():
        if other is torch.bfloat16 or (other.is_complex and not dtype.is_complex):
            continue
        if whole and (other.is_floating_point or other.is_complex):
            continue
        if dtype in _ROUNDED and other in _LONG:  # by way of a Python float they are rounded twice
            continue
        found[cls] = True
    if dtype in _ROUNDED:
        del found[int]
    return found


def _open(array: Any) -> tuple[Any, ...]:
    """The window of an array, which is made now: `_SHUT`, or one that stays shut, if others know of its tensor."""
    tensor, dtype = array._t, array._d
    window = _SHUT
    if (
        wrap.is_on_host(tensor)
        and dtype in FORMATS
        and tensor.layout is torch.strided
        and tensor.numel()
        and not (tensor.is_conj() or tensor.is_neg() or tensor.is_inference())
        and (address := tensor.data_ptr())
        and _is_private(array, tensor)
        and not is_wrapped(tensor)
    ):
        if dtype not in _TAKEN:
            _TAKEN[dtype] = _taken(dtype)
        taken = _TAKEN[dtype] if getattr(array, "_ro", None) is None else {}
        items = items_of(tensor, address)
        window = (tensor, address, tensor.data_ptr, items, SCALARS[dtype], tensor.dim(), taken, (tensor,))
    array._w = window
    return window


def _is_private(array: Any, tensor: torch.Tensor) -> bool:
    """Whether the arrays of a family hold the only tensors over their memory, and nobody else holds these."""
    storage, size = tensor.untyped_storage(), tensor.element_size()
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride())) + 1
    if (tensor.storage_offset() + reach) * size > storage.nbytes():
        return False  # torch has freed it
    if _references(tensor) > _IN_CALL:
        return False
    members = family_of(array).living()
    base = tensor._base
    rooted = base is not None and all(member._t is not base for member in members)  # held by its views alone
    if rooted and _references(base) > _IN_BASE:
        return False
    count = len(members) + rooted
    if torch._C._storage_Use_Count(storage._cdata) > count + 1:  # one for `storage`
        return False
    return all(member is array or _is_held(member) <= _IN_MEMBER for member in members)


def _is_held(member: Any) -> int:
    """The references to the tensor of an array, but for those of its window."""
    tensor = member._t
    return _references(tensor) - (3 if getattr(member, "_w", _SHUT)[0] is tensor else 0)


def close(array: Any) -> None:
    """Shut the windows of the arrays over the same memory: a tensor is given away, with which anything may be done."""
    family = getattr(array, "_m", None)
    if family is not None:
        family.shut()


class _Sample:
    """An array as far as its references are counted."""

    __slots__ = ("_t", "_w")

    _t: torch.Tensor
    _w: tuple[Any, ...]


def _count_in_access(sample: Any) -> int:
    tensor = sample._w[0]
    return _references(tensor)


def _count_in_call(array: Any, tensor: torch.Tensor) -> int:
    return _references(tensor)


def _count_from_open(sample: Any) -> int:
    tensor = sample._t
    return _count_in_call(sample, tensor)


def _count_in_base(tensor: torch.Tensor) -> int:
    base = tensor._base
    return _references(base)


def _sample(window: bool) -> Any:
    sample = _Sample()
    sample._t = torch.empty(2)
    sample._w = (sample._t, 0, sample._t.data_ptr, None, None, 1, None, (sample._t,)) if window else _SHUT
    return sample


# How many references there are to a tensor that nobody else knows, counted where the windows count them.
_IN_ACCESS = _count_in_access(_sample(True))
_IN_CALL = _count_from_open(_sample(False))
_IN_MEMBER = _is_held(_sample(False))
_IN_BASE = _count_in_base(torch.empty(2)[1:])


def _place(key: Any) -> tuple[Any, int]:
    """What names an element in a memoryview, and for how many axes: the key itself, if it is a tuple of ints. (None, 0)
    where there is anything else in it."""
    if type(key) is tuple:
        for item in key:
            if type(item) is not int:
                break
        else:
            return key, len(key)
        found = []
        for item in key:
            kind = type(item)
            if kind is not int:
                if kind not in wrap.INTEGERS:
                    return None, 0
                item = item._n
            found.append(item)
        return tuple(found), len(key)
    return (key._n, 1) if type(key) in wrap.INTEGERS else (None, 0)


class ElementAccess(NDArrayBase):
    """`x[key]` and `x[key] = value`: elements through the window, slices by torch, the rest in the general way."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        if type(key) is int:
            place, count = key, 1
        else:
            if type(key) is slice:
                step = key.step
                if step == -1 and key.start is None and key.stop is None:
                    return indexing.getitem(self, key)
                if step is None or (type(step) is int and step > 0):
                    return memory.seen(self, self._t[key])
            if (key is None or key is Ellipsis) and type(self._t) is _Tensor:
                return memory.seen(self, self._t[key])
            place, count = _place(key)
            if place is None:
                return _by_mask(self, key)
        if not _tracing():
            try:
                tensor, address, data_ptr, items, cls, rank, _, _ = self._w
            except AttributeError:
                tensor, address, data_ptr, items, cls, rank, _, _ = _first(self)
            if (
                tensor is self._t
                and data_ptr() == address
                and _references(tensor) == _IN_ACCESS
                and rank == count
                and type(tensor) is _Tensor
                and not _dispatch._is_in_torch_dispatch_mode
            ):
                try:
                    number = items[place]
                except IndexError:
                    return indexing.getitem(self, key)
                dtype = self._d
                if dtype is _float64:
                    scalar = _new_float(cls, number)
                elif dtype is _bool:
                    return _bools[number]
                elif dtype is _complex128:
                    scalar = _new_complex(cls, number)
                else:
                    scalar = _new(cls)
                scalar._n = number
                return scalar
            if tensor is not self._t:
                _again(self, count, cls)
        if type(key) is int:
            try:
                found = self._t[key]
            except (IndexError, ValueError):  # ValueError for what does not fit 64 bits
                pass
            else:
                return memory.view(self, found) if found.dim() else wrap.wrap_scalar(found.clone())
        return indexing.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is int:
            place, count = key, 1
        else:
            place, count = _place(key)
        if place is not None and not _tracing():
            try:
                tensor, address, data_ptr, items, cls, rank, taken, own = self._w
                family = self._m
            except AttributeError:
                tensor, address, data_ptr, items, cls, rank, taken, own = _first(self)
                family = family_of(self)
            if (
                tensor is self._t
                and data_ptr() == address
                and _references(tensor) == _IN_ACCESS
                and rank == count
                and type(tensor) is _Tensor
                and not _dispatch._is_in_torch_dispatch_mode
                and family.limit >= 0
                and not family.mirrors
                and not family.mixed
            ):
                scalar = taken.get(type(value))
                if scalar is not None and not (fp_state.watching and self._d in _ROUNDED):
                    _increment_version(own)  # first: an interrupt may come between
                    try:
                        items[place] = value._n if scalar else value
                        return
                    except _REFUSALS:
                        pass  # NumPy's words are found on the general way
            elif tensor is not self._t:
                _again(self, count, cls)
        indexing.setitem(self, key, value)


_float64, _complex128, _bool = torch.float64, torch.complex128, torch.bool


_bools = wrap.BOOLS


def _first(array: Any) -> tuple[Any, ...]:
    """The window of an array that has none: to open one takes longer than to read an element by torch, and many an
    array is read once."""
    array._w = _NOT_YET
    return _SHUT


def _again(array: Any, count: int, cls: Any) -> None:
    """After an element was asked for of an array whose window, which is for scalars of a class, is not over its memory.
    It is opened the second time."""
    if cls is _SECOND:
        if array._t.dim() == count:
            _open(array)
    elif cls is not None:  # the array has other memory now
        del array._w


def _by_mask(array: Any, key: Any) -> Any:
    if type(key) is wrap.ARRAY and key._d is _bool and type(array._t) is _Tensor and key._t.dim():
        try:
            return wrap.wrap_array(array._t[key._t])
        except IndexError:
            pass
    return indexing.getitem(array, key)
