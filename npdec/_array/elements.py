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
from weakref import ref

import torch
from torch.utils import _python_dispatch as _dispatch

from npdec._array import fp_state, indexing, memory, ordinary, ordinary_writes, plain_reads, wrap
from npdec._array.convert import MAX_NDIM
from npdec._array.element_memory import FORMATS, LETTERS, ROUNDED, items_of, taken_by
from npdec._array.family import alive, family_of
from npdec._core.base import MetSubclass, NDArrayBase
from npdec._core.door import hand_over_method
from npdec._core.tracebacks import ended
from npdec._dtypes.dtype import SCALARS
from npdec._native import calls
from npdec._torch.functorch import is_wrapped

__all__ = ["NOT_YET", "ElementAccess", "close", "elements_of", "memory_of", "sample_array"]

_new, _new_float, _new_complex, _Tensor = object.__new__, float.__new__, complex.__new__, torch.Tensor
_tracing = torch.compiler.is_dynamo_compiling
_references, _increment_version = sys.getrefcount, torch._C._increment_version
_REFUSALS = (IndexError, TypeError, ValueError, OverflowError)

_SECOND: Any = object()
# A window: the tensor, what says its address now, the address, the elements, the class of scalars, the number of axes,
# and what writes ask for: what is taken (`taken_by`), and the tensor again.
_SHUT: Any = (None, None, None, None, None, None, (None, None))
NOT_YET: Any = (None, None, None, None, _SECOND, None, (None, None))
_OF_ROWS: Any = [(*NOT_YET[:5], rank, NOT_YET[6]) for rank in range(MAX_NDIM + 1)]  # has axes left
_STRIDED = torch.strided
_DEAD = 8  # so many views that are gone a family may remember beside as many as there are


def _open(array: Any) -> tuple[Any, ...]:
    """The window of an array, which is made now: `_SHUT`, or one that stays shut, if others know of its tensor."""
    tensor, dtype = array._t, array._d
    window, found = _SHUT, memory_of(tensor, dtype)
    if found is not None and _is_private(array, tensor):
        taken = {} if getattr(array, "_ro", None) is not None else taken_by(dtype)
        items = elements_of(tensor, dtype, *found)
        window = (tensor, tensor.data_ptr, found[0], items, SCALARS[dtype], len(tensor.shape), (taken, (tensor,)))
    array._w = window
    return window


def elements_of(tensor: torch.Tensor, dtype: torch.dtype, address: int, reach: int) -> Any:
    """The elements by their indices (`npdec._array.element_memory.items_of`), in C where that is built."""
    if calls is None or len(tensor.shape) > calls.MOST_AXES:
        return items_of(tensor, dtype, address, reach)
    return calls.Elements(address, LETTERS[dtype], tuple(tensor.shape), tensor.stride())


def memory_of(tensor: torch.Tensor, dtype: torch.dtype) -> tuple[int, int] | None:
    """The address of a tensor, and over how many elements its memory goes, where these are nothing but numbers on the
    host, as they lie there; None where they are more, or torch has freed them."""
    if not (
        wrap.is_on_host(tensor)
        and dtype in FORMATS
        and tensor.layout is _STRIDED
        and not (tensor.is_neg() or tensor.is_inference() or (dtype.is_complex and tensor.is_conj()))
        and (address := tensor.data_ptr())
        and (reach := _reach(tensor))
        and not is_wrapped(tensor)
    ):
        return None
    if (tensor.storage_offset() + reach) * dtype.itemsize > tensor.untyped_storage().nbytes():
        return None
    return address, reach


def _reach(tensor: torch.Tensor) -> int:
    """How many elements of memory lie between the first and the last one of a tensor, these included."""
    if tensor.is_contiguous():
        return tensor.numel()
    reach = 1
    for length, stride in zip(tensor.shape, tensor.stride()):
        if not length:
            return 0
        reach += (length - 1) * stride
    return reach


def _is_private(array: Any, tensor: torch.Tensor) -> bool:
    """Whether the arrays of a family hold the only tensors over their memory, and nobody else holds these."""
    storage = tensor.untyped_storage()
    if _references(tensor) > _IN_CALL:
        return False
    family, base = family_of(array), tensor._base
    if len(family) == 1 and base is None and family[0]() is array:
        return torch._C._storage_Use_Count(storage._cdata) <= 2
    members = family.living()
    if len(family) > 2 * len(members) + _DEAD:
        family[1:] = alive(family[1:])  # the owner stays first
    rooted = base is not None  # held by its views alone
    for member in members:
        if member is not array and _is_held(member) > _IN_MEMBER:
            return False
        if member._t is base:
            rooted = False
    if rooted and _references(base) > _IN_BASE:
        return False
    return torch._C._storage_Use_Count(storage._cdata) <= len(members) + rooted + 1  # one for `storage`


def _is_held(member: Any) -> int:
    """The references to the tensor of an array, but for those of its window."""
    tensor = member._t
    return _references(tensor) - (3 if getattr(member, "_w", _SHUT)[0] is tensor else 0)


def close(array: Any) -> None:
    """Shut the windows of the arrays over the same memory: a tensor is given away, with which anything may be done.
    From now on the array has a family, as one whose axes may go."""
    if type(array) is wrap.ARRAY:
        if array._m is None:
            family_of(array)
        else:
            array._m.shut()


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
    sample._w = (sample._t, sample._t.data_ptr, 0, None, None, 1, (None, (sample._t,))) if window else _SHUT
    return sample


def sample_array() -> Any:
    """What holds a tensor that nobody else knows, and a window to it, as an array does."""
    return _sample(True)


# How many references there are to a tensor that nobody else knows, counted where the windows count them.
_IN_ACCESS = _count_in_access(_sample(True))
_IN_CALL = _count_from_open(_sample(False))
_IN_MEMBER = _is_held(_sample(False))
_IN_BASE = _count_in_base(torch.empty(2)[1:])


def _place(key: tuple[Any, ...]) -> tuple[Any, int]:
    """What names an element in a memoryview, and for how many axes, where a tuple is of integers that are not all
    Python's. (None, 0) where there is anything else in it."""
    found = []
    for item in key:
        if type(item) is not int:
            if type(item) not in _INTEGERS:
                return None, 0
            item = item._n
        found.append(item)
    return tuple(found), len(key)


class ElementAccess(NDArrayBase):
    """`x[key]` and `x[key] = value`: elements through the window, slices by torch, the rest in the general way."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        try:
            kind = type(key)
            if kind is int:
                place, count = key, 1
            else:
                if kind is slice or ((key is Ellipsis or key is None) and type(self._t) is _Tensor):
                    step = key.step if kind is slice else None
                    if step is None or (type(step) is int and step > 0):
                        result = _new(type(self))  # `memory.seen_part`, written out
                        result._t = self._t[key]
                        result._d = self._d
                        family = self._m
                        if family is None:
                            family = family_of(self)
                        result._m = family
                        family.append(ref(result))
                        if len(family) > family.limit:
                            memory.settle(self, result)
                        return result
                    whole = key.start is None is key.stop and type(step) is int and step == -1
                    found = ordinary.reversed_rows(self) if whole else None
                    if found is None and type(step) is int:
                        found = ordinary.backwards(self, (key,))
                    return indexing.getitem(self, key) if found is None else found
                if kind is tuple:
                    for item in key:
                        if type(item) is not int:
                            place, count = _place(key) if type(item) in _INTEGERS else (None, 0)
                            if place is None:
                                found = plain_reads.part(self, key)
                                if found is not None:
                                    return found
                            break
                    else:
                        place, count = key, len(key)
                elif kind in _INTEGERS:
                    place, count = key._n, 1
                elif key is Ellipsis or key is None:
                    return indexing.getitem(self, key)
                else:
                    place = None
                if place is None:
                    return plain_reads.by_mask(self, key)
            if not _tracing():
                try:
                    tensor, data_ptr, address, items, cls, rank, _ = self._w
                except AttributeError:
                    self._w = NOT_YET
                    tensor = cls = rank = None  # read by torch below, where an error has no other before it
                if (
                    tensor is self._t
                    and data_ptr() == address
                    and _references(tensor) == _IN_ACCESS
                    and rank == count
                    and type(tensor) is _Tensor  # no more, where contributions were written to it
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
                    else:
                        scalar = _new_complex(cls, number) if dtype is _complex128 else _new(cls)
                    scalar._n = number
                    return scalar
                if rank is not None and rank != count and type(self._t) is _Tensor:
                    return plain_reads.row(self, key, place)
                if tensor is not self._t:
                    _again(self, count, cls)
                    if cls is _SECOND and self._w[0] is self._t:
                        return self[key]
            if type(self._t) is _Tensor:
                return plain_reads.first(self, key, place, count)
            return indexing.getitem(self, key)
        except MetSubclass as error:
            met = error
        except Exception as error:
            raise ended(error)  # noqa: B904
        return hand_over_method("__getitem__", self, (key,), {}, met)

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            place: Any
            kind = type(key)
            if kind is int:
                place, count = key, 1
            elif kind is tuple:
                for item in key:
                    if type(item) is not int:
                        place, count = _place(key)
                        break
                else:
                    place, count = key, len(key)
            elif kind is slice or key is Ellipsis or kind not in _INTEGERS:
                place = None
            else:
                place, count = key._n, 1
            if place is not None and not _tracing():
                try:
                    tensor, data_ptr, address, items, cls, rank, more = self._w
                except AttributeError:
                    self._w = NOT_YET
                    cls, tensor, rank = _SECOND, None, None
                if tensor is not self._t and (rank == count or rank is None):
                    _again(self, count, cls)
                    tensor, data_ptr, address, items, cls, rank, more = getattr(self, "_w", _SHUT)
                family = self._m
                if (
                    tensor is self._t
                    and data_ptr() == address
                    and _references(tensor) == _IN_ACCESS
                    and rank == count
                    and type(tensor) is _Tensor  # no more, where contributions were written to it
                    and not _dispatch._is_in_torch_dispatch_mode
                    and family.limit >= 0
                    and not family.mirrors
                    and not family.mixed
                ):
                    taken, own = more
                    kind = type(value)
                    if kind in taken and not (fp_state.watching and self._d in ROUNDED):
                        _increment_version(own)  # first: an interrupt may come between
                        try:
                            items[place] = value._n if kind is cls or taken[kind] else value
                            return
                        except _REFUSALS:
                            pass  # NumPy's words are found on the general way
            if not ordinary_writes.write(self, key, value):
                indexing.setitem(self, key, value)
            return
        except MetSubclass as error:
            met = error
        except Exception as error:
            raise ended(error)  # noqa: B904
        hand_over_method("__setitem__", self, (key, value), {}, met)


_float64, _complex128, _bool = torch.float64, torch.complex128, torch.bool
_bools, _INTEGERS = wrap.BOOLS, wrap.INTEGERS


def _again(array: Any, count: int, cls: Any) -> None:
    """After an element was asked for of an array whose window, which is for scalars of a class, is not over its memory.
    To open one takes longer than to read an element by torch, and many an array is read once: it is opened the second
    time, or for the first write."""
    if cls is _SECOND:
        rank = len(array._t.shape)
        if rank == count:
            _open(array)
        elif rank <= MAX_NDIM:
            array._w = _OF_ROWS[rank]
    elif cls is not None:  # the array has other memory now
        del array._w
