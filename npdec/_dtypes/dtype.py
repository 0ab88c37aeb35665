"""`np.dtype`: one object for each torch dtype, with what NumPy says about it."""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any, TypeAlias

import torch

from npdec._core.base import ArrayBase
from npdec._core.door import hand_over
from npdec._core.tracebacks import ended
from npdec._decomposed.pickling import safe
from npdec._dtypes.spelling import SPELLINGS, as_dtype, dtype_name
from npdec._impl import _util, dtypes_impl
from npdec.exceptions import AbsentDTypeError, VisibleDeprecationWarning

__all__ = ["dtype", "is_own"]


class _Scalars(dict[torch.dtype, Any]):
    """The scalar type of each torch dtype; `npdec._array.scalars` fills it."""

    def __missing__(self, torch_dtype: torch.dtype) -> Any:
        as_dtype(torch_dtype)  # raises the TypeError that says what to do
        raise KeyError(torch_dtype)


SCALARS = _Scalars()

# Inside the class below, `str` and `type` are properties.
_Text: TypeAlias = str
_ScalarType: TypeAlias = "type[ArrayBase]"

# NumPy's type character and type number. bfloat16 has those that ml_dtypes gives it, the usual bfloat16 of NumPy.
_CODES = {
    torch.bool: ("?", 0),
    torch.int8: ("b", 1),
    torch.uint8: ("B", 2),
    torch.int16: ("h", 3),
    torch.uint16: ("H", 4),
    torch.int32: ("i", 5),
    torch.uint32: ("I", 6),
    torch.int64: ("l", 7),
    torch.uint64: ("L", 8),
    torch.float32: ("f", 11),
    torch.float64: ("d", 12),
    torch.complex64: ("F", 14),
    torch.complex128: ("D", 15),
    torch.float16: ("e", 23),
    torch.bfloat16: ("E", 256),
}
INTERNED: dict[Any, dtype] = {}
_ORDERS = {"=": "=", "n": "=", "native": "=", "|": "=", "i": "=", "ignore": "=", "s": "swap", "swap": "swap"}
_ORDERS |= {"<": "little", "l": "little", "little": "little", ">": "big", "b": "big", "big": "big"}


def _refuse(options: dict[_Text, Any]) -> None:
    """Raise for options of a dtype: `metadata` that is none, and names that NumPy has not either."""
    for name, value in options.items():
        if name != "metadata":
            raise TypeError(f"{name!r} is an invalid keyword argument for dtype()")
        if not isinstance(value, dict):
            what = "None" if value is None else type(value).__name__
            raise TypeError(f"dtype() argument 4 must be dict, not {what}")


def _aligned(align: Any, copy: Any) -> bool:
    """The truth of `align`, where other than booleans are deprecated: a number may be meant for a shape. Those of old
    pickles, beside a copy of 1, are not."""
    pickled = type(align) is int and type(copy) is int and copy == 1
    if not pickled and not isinstance(align, (bool, SCALARS[torch.bool])):
        _util.warn(
            f"dtype(): align should be passed as Python or NumPy boolean but got `align={align!r}`. Did you mean to "
            "pass a tuple to create a subarray type? (Deprecated NumPy 2.4)",
            VisibleDeprecationWarning,
        )
    return bool(align)


def subscripted(cls: Any, item: Any, most: int) -> Any:
    """`cls[item]` for annotations, which take at least one parameter and at most so many."""
    count = len(item) if isinstance(item, tuple) else 1
    if not 1 <= count <= most:
        raise TypeError(f"Too {'many' if count else 'few'} arguments for {cls.__module__}.{cls.__name__}")
    return types.GenericAlias(cls, item)


class _DType(type):
    """The type of `np.dtype` and its subclasses: NumPy's dtypes, of what torch cannot hold, are dtypes too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(instance, numpy.dtype) and cls is dtype

    def __subclasscheck__(cls, other: Any) -> bool:
        if type.__subclasscheck__(cls, other):
            return True
        numpy = sys.modules.get("numpy")
        return numpy is not None and cls is dtype and issubclass(other, numpy.dtype)


@safe
class dtype(metaclass=_DType):
    """The type of an array's elements. There is one object per type, so `is` works as well as `==`.

    `dtype(obj)` takes what NumPy takes for numbers and booleans: type names and characters (`"float32"`, `"f4"`,
    `"?"`), Python and scalar types, NumPy's and torch's dtypes. `align` and `copy` say nothing about such types. For
    everything else, text, dates, objects, records, and bytes in the other order, it gives NumPy's own dtype. Raises
    TypeError for what is no dtype; without NumPy, for these others as well.
    `torch_dtype` is the torch dtype. bfloat16 is a dtype like the others.

    >>> np.dtype("f4") is np.dtype(np.float32), np.dtype("f4") == torch.float32
    (True, True)
    >>> np.dtype(int).itemsize, np.dtype(int).kind
    (8, 'i')
    """

    __module__ = "npdec"
    __slots__ = ("__weakref__", "alignment", "char", "itemsize", "kind", "name", "num", "torch_dtype")

    torch_dtype: torch.dtype
    name: _Text
    kind: _Text
    char: _Text
    num: int
    itemsize: int
    alignment: int

    # What NumPy says of records and subarrays, which torch does not have.
    fields = names = subdtype = metadata = None
    shape: tuple[int, ...] = ()
    ndim = 0
    flags = 0
    hasobject = isalignedstruct = False
    isnative = True
    isbuiltin = 1

    def __new__(cls, dtype: Any, align: bool = False, copy: bool = False, **kwargs: Any) -> Any:
        try:
            if align is not False:
                align = _aligned(align, copy)
            if kwargs:
                _refuse(kwargs)
            else:
                try:
                    return INTERNED[dtype]
                except (KeyError, TypeError):
                    pass
            try:
                if kwargs:
                    raise AbsentDTypeError("dtype: metadata= is not supported, as there is one object per dtype")
                return INTERNED[as_dtype(dtype)]  # a dtype cannot change, so it is its own copy, and is always aligned
            except AbsentDTypeError as error:
                absent = error
            return hand_over("dtype", (dtype, align, copy), kwargs, absent)
        except Exception as error:
            raise ended(error)  # noqa: B904

    def __setattr__(self, name: _Text, value: Any) -> None:
        if name == "names":
            raise ValueError("there are no fields defined")
        self.__delattr__(name)

    def __delattr__(self, name: _Text) -> None:
        if not hasattr(self, name):
            raise AttributeError(f"'npdec.dtype' object has no attribute {name!r}")
        raise AttributeError(f"attribute {name!r} of 'npdec.dtype' objects is not writable")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        try:
            return as_dtype(other) is self.torch_dtype
        except (TypeError, ValueError):
            return False

    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> bool:
        return self != other and self <= other

    def __le__(self, other: Any) -> bool:
        return _can_cast(self, other)

    def __gt__(self, other: Any) -> bool:
        return self != other and self >= other

    def __ge__(self, other: Any) -> bool:
        return _can_cast(other, self)

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return 0

    __iter__ = None  # Python would ask `__getitem__` for its items

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(f"There are no fields in dtype {self.name}.")

    def __repr__(self) -> _Text:
        return f"dtype('{self.name}')"

    def __str__(self) -> _Text:
        return self.name

    def __reduce__(self) -> Any:
        return dtype, (self.name,)

    def __class_getitem__(cls, item: Any, /) -> Any:
        return subscripted(cls, item, 1)

    @property
    def base(self) -> dtype:
        """The dtype of a subarray's elements: this one, as there are no subarrays."""
        return self

    @property
    def byteorder(self) -> _Text:
        """ "|" for one-byte types, "=" for all others: torch holds this machine's order only."""
        return "|" if self.itemsize == 1 else "="

    @property
    def str(self) -> _Text:
        """The spelling with byte order, kind and size, as in `__array_interface__`.

        >>> np.dtype("float32").str, np.dtype(bool).str
        ('<f4', '|b1')
        """
        if self.torch_dtype is torch.bfloat16:
            return self.name
        native = "<" if sys.byteorder == "little" else ">"
        return f"{'|' if self.itemsize == 1 else native}{self.kind}{self.itemsize}"

    @property
    def descr(self) -> list[tuple[Any, ...]]:
        """The description of a record with this one nameless field."""
        return [("", self.str)]

    @property
    def type(self) -> _ScalarType:
        """The scalar type."""
        return SCALARS[self.torch_dtype]

    @property
    def __numpy_dtype__(self) -> Any:
        """NumPy's own dtype, for code that uses the installed NumPy. Raises TypeError for bfloat16."""
        return numpy_dtype(self.torch_dtype)

    def newbyteorder(self, new_order: Any = "S", /) -> Any:
        """The dtype in the given byte order: in the other, NumPy's. Without NumPy, that raises TypeError.

        >>> np.dtype("f8").newbyteorder("=")
        dtype('float64')
        """
        order = _ORDERS.get(new_order.lower()) if isinstance(new_order, _Text) else None
        if order is None:
            raise ValueError(f"byteorder not recognized (got {new_order!r})")
        if order in ("=", sys.byteorder) or self.itemsize == 1:
            return self
        absent = AbsentDTypeError(f"newbyteorder({new_order!r}): torch holds numbers in this machine's byte order only")
        return hand_over("dtype.newbyteorder", (self, new_order), {}, absent)


def is_own(obj: Any) -> bool:
    """Whether an object is a dtype of npdec's, and none of NumPy's."""
    return type.__instancecheck__(dtype, obj)


def _can_cast(source: Any, target: Any) -> bool:
    """Whether every value of a dtype is one of another."""
    try:
        return dtypes_impl.can_cast(as_dtype(source), as_dtype(target))
    except AbsentDTypeError as error:
        absent = error
    return hand_over("can_cast", (dtype(source), dtype(target)), {}, absent)


# The class of each dtype object, by its name in `npdec.dtypes`.
DTYPE_CLASSES: dict[str, type[dtype]] = {}


def _class_of(torch_dtype: torch.dtype) -> type[dtype]:
    """The class whose only instance is the dtype. Called without an argument, it gives that instance."""

    def __new__(cls: type, /, *args: Any, **options: Any) -> Any:
        if args or options:
            raise TypeError("currently only the no-argument instantiation is supported; use `np.dtype` instead.")
        return INTERNED[torch_dtype]

    name = dtype_name(torch_dtype).title().replace("Uint", "UInt").replace("Bf", "BF") + "DType"
    signature = inspect.Signature()
    body: dict[_Text, Any] = {"__new__": __new__, "__slots__": (), "__module__": "npdec.dtypes"}
    body |= {"__signature__": signature, "_is_numeric": True}
    DTYPE_CLASSES[name] = _DType(name, (dtype,), body)  # type: ignore[assignment]
    return DTYPE_CLASSES[name]


def _intern(torch_dtype: torch.dtype) -> None:
    cls = _class_of(torch_dtype)
    self = object.__new__(cls)
    kind, size = dtypes_impl.kind(torch_dtype), torch_dtype.itemsize
    char, num = _CODES[torch_dtype]
    attributes = {
        "torch_dtype": torch_dtype, "name": dtype_name(torch_dtype), "kind": kind, "char": char, "num": num,
        "itemsize": size, "alignment": size // 2 if kind == "c" else size,
    }  # fmt: skip
    for name, value in attributes.items():
        object.__setattr__(self, name, value)
    INTERNED[torch_dtype] = INTERNED[self] = self
    SPELLINGS[self] = SPELLINGS[cls] = torch_dtype
    SPELLINGS[self.char] = torch_dtype


for _torch_dtype in _CODES:
    _intern(_torch_dtype)


def numpy_dtype(torch_dtype: torch.dtype) -> Any:
    """NumPy's dtype of a torch dtype. Raises ImportError without NumPy, TypeError for bfloat16."""
    try:
        import numpy
    except ImportError:
        raise ImportError("a dtype of NumPy itself was asked for: install NumPy") from None
    if torch_dtype is torch.bfloat16:
        raise TypeError("NumPy has no bfloat16: convert with .astype('float32') first")
    return numpy.dtype(dtype_name(torch_dtype))
