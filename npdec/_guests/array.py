"""The class of guests: NumPy's array, whose methods give npdec's arrays of what torch can hold.

It is made when NumPy is first needed, since NumPy is optional. Its own elements are always of a dtype, or lie in memory
in a way, that torch has not: what torch can hold never stays a guest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from npdec._core.installed_numpy import numpy_or_none
from npdec._core.slots import Slot
from npdec._core.tracebacks import ends

__all__ = ["as_guest", "as_plain", "guest_class", "methods"]

# Methods whose results are new arrays, views or scalars. They run on NumPy's array over the same memory.
_GIVING = (
    "all any argmax argmin argpartition argsort byteswap choose clip compress conj conjugate copy cumprod cumsum "
    "diagonal dot getfield max mean min nonzero prod ravel flatten repeat reshape round searchsorted squeeze std sum "
    "swapaxes take to_device trace transpose var view"
).split()
_CHANGING = ("fill", "partition", "put", "setfield", "sort")


methods: Slot[Callable[[], Any]] = Slot("methods of guests")  # imports them when one is first called


def _giving(name: str, plain: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return methods.value().given(name, self, args, kwargs)

    return ends(functools.update_wrapper(method, plain, ("__name__", "__doc__"), ()))


def as_guest(array: Any, owner: Any = None, source: Any = None) -> Any:
    """An array of NumPy's as a guest, over the same memory: if that is npdec's, `owner` is an array over it. `source`
    is the guest of which it is a view."""
    numpy: Any = numpy_or_none()
    made = numpy.ndarray.view(array, guest_class())
    if owner is not None:
        made._owner = owner
    if type(source) is guest_class():
        made._source = getattr(source, "_source", source)
    return made


def as_plain(guest: Any) -> Any:
    """A guest as an array of NumPy's, over the same memory."""
    numpy: Any = numpy_or_none()
    return numpy.ndarray.view(guest, numpy.ndarray)


_showing: ContextVar[frozenset[int]] = ContextVar("npdec.showing", default=frozenset())


def _shown(guest: Any, show: Callable[[Any], str], within: str) -> str:
    """The text of a guest; `within` itself, which an array of objects may hold. NumPy knows the array by its identity,
    and here each look at it is another array."""
    around = _showing.get()
    if id(guest) in around:
        return within
    token = _showing.set(around | {id(guest)})
    try:
        return show(as_plain(guest))
    finally:
        _showing.reset(token)


@functools.cache
def guest_class() -> Any:
    """The class of guests."""
    numpy: Any = numpy_or_none()
    plain = numpy.ndarray

    def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return methods.value().by_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return methods.value().by_function(func, args, kwargs)

    def __torch_function__(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise methods.value().refused(func, [*args, *(kwargs or {}).values()])

    def __getitem__(self: Any, key: Any) -> Any:
        return methods.value().item(self, key)

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        methods.value().set_item(self, key, value)

    def __iter__(self: Any) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self: Any, item: Any) -> bool:
        return bool(methods.value().contains(self, item))

    def astype(self: Any, *args: Any, **kwargs: Any) -> Any:
        return methods.value().converted(self, args, kwargs)

    def __eq__(self: Any, other: Any) -> Any:
        return plain.__eq__(self, other) if self.dtype.names is None else methods.value().compared("eq", self, other)

    def __ne__(self: Any, other: Any) -> Any:
        return plain.__ne__(self, other) if self.dtype.names is None else methods.value().compared("ne", self, other)

    def base(self: Any) -> Any:
        source = getattr(self, "_source", None)
        return plain.base.__get__(self) if source is None else source

    def __getattr__(self: Any, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'guest' object has no attribute {name!r}", name=name, obj=self)
        raise methods.value().lacking(self, name)

    def to_numpy(self: Any) -> Any:
        """NumPy's array itself, over the same memory."""
        return as_plain(self)

    def resize(self: Any, *shape: Any, refcheck: bool = True) -> None:
        methods.value().resized(self, shape, refcheck)

    def __repr__(self: Any) -> str:
        return _shown(self, repr, "array(..., dtype=object)")

    def __str__(self: Any) -> str:
        return _shown(self, str, "...")

    def __copy__(self: Any) -> Any:
        return as_guest(plain.view(self, plain).__copy__())

    def __deepcopy__(self: Any, memo: Any) -> Any:
        return as_guest(plain.view(self, plain).__deepcopy__(memo))

    def __reduce__(self: Any) -> Any:
        return as_guest, (plain.view(self, plain),)

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return as_guest, (plain.view(self, plain),)

    body: dict[str, Any] = {
        function.__name__: ends(function)
        for function in (
            __array_ufunc__, __array_function__, __getitem__, __setitem__, __iter__, __contains__, __eq__, __ne__,
            __getattr__, to_numpy, astype, resize, __repr__, __str__, __copy__, __deepcopy__, __reduce__, __reduce_ex__,
        )
    }  # fmt: skip
    body |= {name: _giving(name, getattr(plain, name)) for name in (*_GIVING, *_CHANGING)}
    body |= {
        "__module__": "npdec",
        "__doc__": plain.__doc__,
        "__hash__": None,
        "__slots__": ("_owner", "_source"),
        "_is_guest": True,
    }
    body["__torch_function__"] = classmethod(ends(__torch_function__))
    body["base"] = property(base, doc=plain.base.__doc__)
    return type("guest", (plain,), body)
