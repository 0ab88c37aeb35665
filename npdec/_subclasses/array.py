"""What stands between `np.ndarray` and a class that a program derives from it.

An array of such a class stands before a plain array, which has the memory, the contributions and all that is computed.
It has no tensor itself: wherever npdec reaches for that, an error leads the call to `npdec._subclasses.calls`, which
goes on with the plain arrays and gives the results the class that NumPy gives them. So kernels and the law never see
one, and calls with plain arrays pay nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from npdec._array import memory
from npdec._array.ndarray import Composition
from npdec._array.protocols import own_function, own_ufunc
from npdec._core.base import SubclassBase
from npdec._core.slots import Slot
from npdec._core.tracebacks import ended
from npdec._normalizer.operators import _Method

__all__ = ["Subclassed", "adopt", "base_of", "of_both", "plain_view"]


def adopt(cls: type, plain: Any, source: Any, base: Any = None) -> Any:
    """A plain array as one of a subclass, which is told by `__array_finalize__` where it comes from: None, a plain
    array, or an array of a subclass."""
    made: Any = object.__new__(cls)
    made._p = plain
    made._b = base
    finalize = getattr(cls, "__array_finalize__", None)
    if finalize is None or finalize is Composition.__array_finalize__:
        return made
    if not callable(finalize):
        raise TypeError(f"{cls.__name__}.__array_finalize__ is not callable: {finalize!r}")
    made.__array_finalize__(source)
    return made


def base_of(source: Any, cls: type) -> Any:
    """Which array a view of `source`, of a class, names as its base: views of views of one class have one base."""
    while isinstance(source, Composition):
        base = source.base
        if base is None or type(base) is not cls:
            return source
        source = base
    return source


def plain_view(array: Any, tensor: Any = None) -> Any:
    """A plain array over the memory of one of a subclass."""
    made = memory.view(array._p, array._p._t if tensor is None else tensor)
    made._exporter = base_of(array, Composition)
    return made


if TYPE_CHECKING:

    class _Between(SubclassBase, Composition): ...
else:
    _Between = SubclassBase


class Subclassed(_Between):
    """An array of a class that a program derives from np.ndarray. It derives from that too, below."""

    __slots__ = ()
    __array_priority__ = 0.0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, ours in (("__array_ufunc__", own_ufunc), ("__array_function__", lambda func: own_function(func)[0])):
            own = vars(cls).get(name)
            if isinstance(own, FunctionType):
                setattr(cls, name, _asked_twice(own, ours))

    @property
    def to_numpy(self) -> Any:
        """Not of these classes, as not of NumPy's: libraries that look for it (matplotlib) would take numbers of what
        has units."""
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute 'to_numpy'; np.asarray(x).to_numpy() gives its numbers",
            name="to_numpy",
            obj=self,
        )

    @property
    def base(self) -> Any:
        """The array, or the buffer, that this is a view of; None if it owns its memory."""
        return self._p.base if self._b is None else self._b

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        if not self.ndim:
            return format(self._p, spec)
        if spec:
            raise TypeError("unsupported format string passed to numpy.ndarray.__format__")
        return str(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


def _asked_twice(own: Callable[..., Any], ours: Callable[[Any], Any]) -> Callable[..., Any]:
    """A class's answer to NumPy's protocol. Libraries that stay NumPy's ask with NumPy's function, and where the class,
    for which numpy is npdec, does not know that, it is asked with npdec's."""

    @functools.wraps(own)
    def asked(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        made = own(self, function, *args, **kwargs)
        if made is NotImplemented:
            known = ours(function)
            if known is not None and known is not function:
                return own(self, known, *args, **kwargs)
        return made

    return asked


# A class statement would give it the metaclass of np.ndarray, which no class with another metaclass could derive from.
Subclassed.__bases__ = (SubclassBase, Composition)

taken_over: Slot[Callable[..., Any]] = Slot("methods of arrays of subclasses")

# Attributes that say something of an array, and are none themselves.
_ASIDE = frozenset(
    "shape dtype ndim size itemsize nbytes strides device is_decomposed labels tensor __array_interface__ "
    "__array_struct__".split()
)


def _method(name: str, plain: Callable[..., Any] | None) -> Any:
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return taken_over.value(name, self, args, kwargs)
        except Exception as error:
            raise ended(error)  # noqa: B904

    method.__code__ = method.__code__.replace(co_name=name)
    if plain is not None:
        return functools.update_wrapper(method, plain)
    method.__name__, method.__qualname__ = name, f"ndarray.{name}"
    return method


def _attribute(name: str, plain: property) -> property:
    read: Any = plain.fget

    def aside(self: Any) -> Any:
        return read(self._p)

    def get(self: Any) -> Any:
        return taken_over.value("__getattribute__", self, (name,), {})

    def put(self: Any, value: Any) -> None:
        taken_over.value("__setattr__", self, (name, value), {})

    return property(aside if name in _ASIDE else get, put if plain.fset is not None else None, None, plain.__doc__)


# What finds its way by itself, or is of the class and not of an array.
_OWN = frozenset(
    "__array_finalize__ __array_function__ __array_ufunc__ __array_namespace__ __class_getitem__ __delitem__ __new__ "
    "__torch_function__".split()
)


def of_both(name: str, plain: Any) -> Any:
    """A function or property of np.ndarray, which a program takes from the class: for arrays of subclasses theirs."""
    own = vars(Subclassed).get(name)
    return plain if name in _OWN or not isinstance(own, type(plain)) else _of_both(plain, own)


@functools.cache
def _of_both(plain: Any, own: Any) -> Any:
    if isinstance(plain, property):
        setter = None if plain.fset is None else _of_both(plain.fset, own.fset)
        return property(_of_both(plain.fget, own.fget), setter, None, plain.__doc__)

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return (own if isinstance(self, SubclassBase) else plain)(self, *args, **kwargs)

    return functools.update_wrapper(call, plain)


def _fill() -> None:
    """Give the class the methods and attributes of arrays, each of which goes to the door at once."""
    for cls in Composition.__mro__[:-1]:
        for name, item in vars(cls).items():
            hidden = name.startswith("_") and not name.endswith("_")
            if hidden or name in _OWN or name in vars(Subclassed) or isinstance(item, (staticmethod, classmethod)):
                continue
            if isinstance(item, property):
                setattr(Subclassed, name, _attribute(name, item))
            elif isinstance(item, (FunctionType, _Method)):
                setattr(Subclassed, name, _method(name, item if isinstance(item, FunctionType) else None))


_fill()
