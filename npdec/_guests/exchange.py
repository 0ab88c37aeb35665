"""Arguments as NumPy takes them, and what NumPy gives as npdec gives it.

Arguments go as NumPy's arrays over the same memory. NumPy never sees an array of npdec here: its functions would hand
it back to the function of npdec that called them. What torch can hold comes back as arrays, scalars and dtypes of
npdec's, over the same memory where torch can address it; the rest stays NumPy's.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._array import memory, wrap
from npdec._array.buffers import alias
from npdec._array.convert import MAX_NDIM, as_dtype, as_tensor
from npdec._array.generic import generic
from npdec._array.host_numpy import host_array
from npdec._array.tensor_bytes import bytes_of, seen
from npdec._core.base import ArrayBase, MetSubclass, SubclassBase, plain_of
from npdec._core.installed_numpy import numpy_or_none
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import SCALARS, is_own, numpy_dtype
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._guests.array import as_guest, as_plain, guest_class
from npdec._guests.kinds import holds

__all__ = ["MAKING", "Hosted", "Values", "arguments", "as_objects", "received", "received_class", "storable"]


def as_objects(x: Any) -> Any:
    """NumPy's array of objects that are the elements of an array: Python numbers as NumPy makes them; scalars of
    npdec's where a number would lose contributions, a graph or a device. A scalar is itself the element."""
    numpy: Any = numpy_or_none()
    tensor = x._t if isinstance(x, ArrayBase) else x
    made = numpy.empty(tuple(tensor.shape), object)
    if isinstance(x, generic):
        made[()] = x
    elif wrap.is_on_host(tensor):
        made[...] = host_array("objects", tensor)
    else:
        flat = made.reshape(-1)
        for i, item in enumerate(tensor.reshape(-1).unbind()):
            flat[i] = wrap.wrap_scalar(item)
    return made


class Hosted:
    """The arguments of one call, as NumPy takes them. `name` is for warnings.

    Arrays that carry more than numbers become arrays of objects beside other objects, and otherwise leave their
    contributions behind with a DecompositionWarning. `origins` says whose NumPy's arrays are.
    """

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name = name
        self.numpy: Any = numpy_or_none()
        self.origins: dict[int, tuple[Any, Any]] = {}
        self._arguments = arguments
        self._objects: bool | None = None
        self._depth = 0
        self._watched: list[tuple[Any, bytes]] = []

    def among_objects(self) -> bool:
        """Whether an argument is, or holds, objects: then others go as objects too."""
        if self._objects is None:
            self._objects = _has_objects(self._arguments, self.numpy, 0)
        return self._objects

    def __call__(self, x: Any) -> Any:
        """One argument; in containers, its items."""
        kind = type(x)
        if kind in _AS_THEY_ARE:
            return x
        if isinstance(x, (ArrayBase, torch.Tensor)):
            return self._array(x)
        if kind in (list, tuple):
            self._depth += 1
            items = [self(item) for item in x] if self._depth <= MAX_NDIM else x  # a list may contain itself
            self._depth -= 1
            return x if all(a is b for a, b in zip(items, x, strict=True)) else kind(items)
        if kind is dict:
            named = {key: self(item) for key, item in x.items()}
            return x if all(named[key] is item for key, item in x.items()) else named
        if kind is guest_class():
            self._watch(getattr(x, "_owner", None))
            return self._known(as_plain(x), x)
        if isinstance(x, slice):
            return slice(self(x.start), self(x.stop), self(x.step))
        if is_own(x):
            return numpy_dtype(x.torch_dtype)
        if isinstance(x, torch.dtype):
            return numpy_dtype(x)
        return self._class(x) if isinstance(x, type) else self._like(x)

    def _known(self, given: Any, origin: Any) -> Any:
        self.origins[id(given)] = given, origin
        return given

    def _watch(self, array: Any) -> None:
        """Remember the bytes of an array whose memory others follow: copies that stand for views, contributions."""
        family = getattr(array, "_m", None)
        if family is not None and (family.mirrors or family.origin is not None or family.mixed):
            self._watched.append((array, bytes_of(array._t)))

    def done(self) -> None:
        """Tell the others what NumPy has written."""
        for array, before in self._watched:
            if bytes_of(array._t) != before:
                memory.written(array)

    def _array(self, x: Any) -> Any:
        x = plain_of(x)
        tensor = as_tensor(x)
        if not wrap.is_on_host(tensor) and self.among_objects():
            return as_objects(x)
        made = host_array(self.name, tensor)
        if isinstance(x, generic):
            return made[()]
        if isinstance(tensor, DecomposedTensor):
            return made.copy()  # whoever writes into it does not write a value without its contributions
        self._watch(x)
        if getattr(x, "_ro", None) is not None:
            made.flags.writeable = False
        return self._known(made, x)

    def _like(self, x: Any) -> Any:
        """An object of which NumPy asks an array: it takes none of npdec's, which a class of the program may give. What
        is asked for more than its numbers stays itself."""
        kind = type(x)
        if not hasattr(kind, "__array__") or isinstance(x, (self.numpy.ndarray, self.numpy.generic)):
            return x
        if any(hasattr(kind, name) for name in ("__array_ufunc__", "__array_function__", "__array_wrap__")):
            return x
        if self.name == "ndarray.fill" or (self.name in MAKING and self._depth):  # it may become an element itself
            return x
        made = x.__array__()
        return self(made) if isinstance(made, ArrayBase) else x

    def _class(self, x: type) -> Any:
        """A class: NumPy's for npdec's."""
        if x is wrap.ARRAY:
            return self.numpy.ndarray
        if issubclass(x, generic) and not issubclass(x, self.numpy.generic):
            found = getattr(self.numpy, x.__name__, None)
            return x if found is None else found
        return x


class Values(Hosted):
    """Arguments of which only the dtype is asked: nothing is dropped by that."""

    def _array(self, x: Any) -> Any:
        tensor = as_tensor(plain_of(x))
        return super()._array(tensor.value if isinstance(tensor, DecomposedTensor) else x)


MAKING = frozenset({"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require"})
_AS_THEY_ARE = frozenset({str, bytes, int, float, complex, bool, type(None), type(Ellipsis)})


def _has_objects(x: Any, numpy: Any, depth: int) -> bool:
    if type(x) in _AS_THEY_ARE:
        return x is None and depth > 0
    if isinstance(x, (ArrayBase, torch.Tensor)):
        return False
    if isinstance(x, numpy.ndarray):
        return bool(x.dtype.hasobject)
    if isinstance(x, (list, tuple)):
        return depth < MAX_NDIM and any(_has_objects(item, numpy, depth + 1) for item in x)
    if isinstance(x, dict):  # options, of which None says nothing
        return any(item is not None and _has_objects(item, numpy, depth + 1) for item in x.values())
    if isinstance(x, type):
        return x is object or x is numpy.object_
    if isinstance(x, numpy.dtype):
        return bool(x.hasobject)
    return not isinstance(x, (numpy.generic, torch.dtype, slice, range)) and not hasattr(x, "__array__")


def received(x: Any, hosted: Hosted | None = None) -> Any:
    """What NumPy gave, as npdec gives it: in tuples, lists and dictionaries as well."""
    numpy: Any = numpy_or_none()
    kind = type(x)
    if isinstance(x, numpy.ndarray):
        return _array(x, hosted)
    if isinstance(x, numpy.generic):
        return wrap.wrap_scalar(as_tensor(x)) if holds(x.dtype) else x
    if isinstance(x, numpy.dtype):
        return dtype_class(as_dtype(x)) if holds(x) else x
    if isinstance(x, tuple):
        items = [received(item, hosted) for item in x]
        if all(a is b for a, b in zip(items, x, strict=True)):
            return x
        return kind(*items) if hasattr(kind, "_fields") else kind(items) if kind is tuple else x
    if kind is list and any(isinstance(item, (numpy.ndarray, numpy.generic, tuple, list)) for item in x):
        return [received(item, hosted) for item in x]
    if kind is dict:
        return {key: received(item, hosted) for key, item in x.items()}
    if isinstance(x, type) and issubclass(x, numpy.generic):
        return received_class(x)
    return x


def received_class(cls: Any) -> Any:
    """npdec's scalar type for one of NumPy's that torch can hold."""
    numpy: Any = numpy_or_none()
    try:
        dtype = numpy.dtype(cls)
    except TypeError:  # an abstract type
        return getattr(wrap.NAMESPACE.value, cls.__name__, cls)
    return SCALARS[as_dtype(dtype)] if holds(dtype) else cls


def _array(x: Any, hosted: Hosted | None) -> Any:
    numpy: Any = numpy_or_none()
    known = None if hosted is None else hosted.origins.get(id(x))
    if known is not None and known[0] is x:
        return known[1]
    if type(x) is not numpy.ndarray and type(x) is not guest_class():
        return x  # a matrix, a masked array, ...
    owner = None if x.base is None else _owner(x, hosted)
    theirs: Any = getattr(owner, "_owner", owner)
    if not holds(x.dtype) or not (x.base is None or _is_addressable(x)):
        return as_guest(x, alias(theirs, _bytes) if type(theirs) is wrap.ARRAY else None, owner)
    if type(theirs) is wrap.ARRAY:
        place = x.__array_interface__["data"][0] - theirs._t.data_ptr()
        made = alias(theirs, lambda tensor: seen(tensor, as_dtype(x.dtype), place, x.shape, x.strides))
    else:
        made = memory.over(as_tensor(x))
    if not x.flags.num & _WRITEABLE:
        memory.freeze(made, "NumPy's array is read-only")
    elif owner is not None:
        made._exporter = owner
    return made


_WRITEABLE = 0x400  # in `flags.num`, which says it without NumPy's warning about broadcast arrays


def _bytes(tensor: torch.Tensor) -> tuple[torch.Tensor, None]:
    """All bytes of a tensor's memory."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,)), None


def _owner(x: Any, hosted: Hosted | None) -> Any:
    """Whose memory an array of NumPy's looks at, as the caller knows it."""
    for given, origin in hosted.origins.values() if hosted is not None else ():
        if given is x.base or given.base is x.base:
            return origin
    return x.base


def _is_addressable(x: Any) -> bool:
    """Whether torch can look at the very memory: forwards, in strides of whole elements."""
    return all(stride >= 0 and not stride % x.itemsize for stride in x.strides)


def arguments(name: str, x: Any) -> Any:
    """An argument as NumPy takes it."""
    return Hosted(name, x)(x)


def storable(name: str, arr: Any, allow_pickle: bool) -> Any:
    """What NumPy is to write for an array-like. MetSubclass for one of a program's own class, which is asked first."""
    if isinstance(arr, SubclassBase):
        raise MetSubclass(type(arr))
    numpy: Any = numpy_or_none()
    made = numpy.asanyarray(arguments(name, arr))
    if made.dtype.hasobject and not allow_pickle:
        raise ValueError("Object arrays cannot be saved when allow_pickle=False")
    return made
