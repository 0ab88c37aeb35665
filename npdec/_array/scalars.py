"""The scalar types in NumPy's hierarchy, one concrete type for each dtype, and NumPy's other names for them."""

from __future__ import annotations

import math
import numbers
import sys
import types
from types import FunctionType
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import SPELLINGS, as_tensor
from npdec._array.generic import generic
from npdec._array.packing import HOSTED
from npdec._core.base import ArrayBase
from npdec._core.tags import NoValue
from npdec._core.tracebacks import ended
from npdec._decomposed.pickling import safe
from npdec._dtypes.dtype import SCALARS, subscripted
from npdec._dtypes.dtype import dtype as dtype_class

__all__ = [
    "False_", "True_", "bfloat16", "bool_", "byte", "cdouble", "character", "complex64", "complex128",
    "complexfloating", "csingle", "double", "flexible", "float16", "float32", "float64", "floating", "generic",
    "half", "inexact", "int16", "int32", "int64", "int8", "int_", "intc", "integer", "intp", "isscalar", "long",
    "longlong", "number", "short", "signedinteger", "single", "ubyte", "uint", "uint16", "uint32", "uint64", "uint8",
    "uintc", "uintp", "ulong", "ulonglong", "unsignedinteger", "ushort",
]  # fmt: skip


class number(generic):
    """Any number: the root of the scalar types but bool."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any, /) -> Any:
        if cls._torch_dtype is not None:
            raise TypeError(f"There are no type variables left in {cls.__module__}.{cls.__name__}")
        return subscripted(cls, item, 2 if issubclass(cls, complexfloating) else 1)


class _Real(number):
    """What integers and floats share: Python's rounding."""

    __slots__ = ()

    def __round__(self, ndigits: Any = None) -> Any:
        if ndigits is None:
            return round(self._converted("round()"))
        return self.round(ndigits)

    def __trunc__(self) -> int:
        return math.trunc(self._converted("math.trunc()"))

    def __floor__(self) -> int:
        return math.floor(self._converted("math.floor()"))

    def __ceil__(self) -> int:
        return math.ceil(self._converted("math.ceil()"))


class integer(_Real):
    """Any integer."""

    __slots__ = ()

    def __index__(self) -> int:
        return self._converted("an index")

    @property
    def numerator(self) -> integer:
        """The integer itself."""
        return self

    @property
    def denominator(self) -> int:
        """1."""
        return 1

    def is_integer(self, /) -> bool:
        """True."""
        return True

    def bit_count(self) -> int:
        """How many ones the absolute value has in binary.

        >>> np.int8(-3).bit_count()
        2
        """
        return self._number().bit_count()


class signedinteger(integer):
    """Any signed integer."""

    __slots__ = ()


class unsignedinteger(integer):
    """Any unsigned integer."""

    __slots__ = ()


class inexact(number):
    """Any number of finite precision: floats and complex numbers."""

    __slots__ = ()


class floating(_Real, inexact):
    """Any float."""

    __slots__ = ()

    def is_integer(self, /) -> bool:
        """Whether the number is integral.

        >>> np.float32(2.0).is_integer(), np.float32(2.5).is_integer()
        (True, False)
        """
        return self._number().is_integer()

    def as_integer_ratio(self, /) -> tuple[int, int]:
        """The numerator and the denominator of the number, in lowest terms.

        >>> np.float32(2.5).as_integer_ratio()
        (5, 2)
        """
        return self._converted("as_integer_ratio()").as_integer_ratio()


class complexfloating(inexact):
    """Any complex number."""

    __slots__ = ()

    def __new__(cls, real: Any = 0, imag: Any = NoValue, /) -> Any:
        try:
            if imag is NoValue or cls._torch_dtype is None:
                return super().__new__(cls, real)
            for part in (real, imag):
                if isinstance(part, (ArrayBase, torch.Tensor)):
                    if (part._t if isinstance(part, ArrayBase) else part).dim():
                        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
                elif not hasattr(type(part), "__float__"):
                    raise TypeError(f"Could not convert arguments into a complex scalar. '{(real, imag)}' given.")
            dtype = torch.float32 if cls._torch_dtype is torch.complex64 else torch.float64
            return super().__new__(cls, torch.complex(as_tensor(real, dtype), as_tensor(imag, dtype)))
        except Exception as error:
            raise ended(error)  # noqa: B904


class flexible(generic):
    """Anything without a fixed size: text, bytes, records. npdec has none; NumPy's count as such."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Raises TypeError for classes of a program: as in NumPy, none is derived from this one."""
        if cls.__module__.partition(".")[0] not in ("npdec", "numpy"):
            raise TypeError("type 'numpy.flexible' is not an acceptable base type")
        super().__init_subclass__(**kwargs)


class character(flexible):
    """Text or bytes. npdec has none; NumPy's `np.str_` and `np.bytes_` count as such."""

    __slots__ = ()


class bool_(generic):
    """True or False."""

    __slots__ = ("_n", "_t")
    __class_getitem__: Any = classmethod(types.GenericAlias)
    _torch_dtype = torch.bool


class int8(signedinteger):
    """An integer of 8 bits: -128 to 127."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.int8


class int16(signedinteger):
    """An integer of 16 bits: -32768 to 32767."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.int16


class int32(signedinteger):
    """An integer of 32 bits."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.int32


class int64(signedinteger):
    """An integer of 64 bits: the default integer."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.int64


class uint8(unsignedinteger):
    """An unsigned integer of 8 bits: 0 to 255."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.uint8


class uint16(unsignedinteger):
    """An unsigned integer of 16 bits: 0 to 65535."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.uint16


class uint32(unsignedinteger):
    """An unsigned integer of 32 bits."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.uint32


class uint64(unsignedinteger):
    """An unsigned integer of 64 bits."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.uint64


class float16(floating):
    """A float of 16 bits: 10 of mantissa, 5 of exponent."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.float16


class bfloat16(floating):
    """A float of 16 bits with the range of float32: 7 of mantissa, 8 of exponent. NumPy itself lacks it."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.bfloat16


class float32(floating):
    """A float of 32 bits: 23 of mantissa, 8 of exponent."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.float32


class float64(floating, float):
    """A float of 64 bits, as Python's: the default float."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.float64
    __hash__ = float.__hash__

    def hex(self) -> str:
        """The number in hexadecimal, exactly.

        >>> np.float64(1.5).hex()
        '0x1.8000000000000p+0'
        """
        return self._converted("hex()").hex()

    @classmethod
    def fromhex(cls, string: str, /) -> float64:
        """The number that a hexadecimal text spells.

        >>> np.float64.fromhex("0x1.8p+0")
        np.float64(1.5)
        """
        return float64(float.fromhex(string))


class complex64(complexfloating):
    """A complex number of two float32."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.complex64


class complex128(complexfloating, complex):
    """A complex number of two float64, as Python's: the default complex number."""

    __slots__ = ("_n", "_t")
    _torch_dtype = torch.complex128
    __hash__ = complex.__hash__


CONCRETE: tuple[type[generic], ...] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
_ABSTRACT = (
    generic, number, integer, signedinteger, unsignedinteger, inexact, floating, complexfloating, flexible, character,
)  # fmt: skip


def _carrier(cls: Any) -> Any:
    """The class of scalars of a type that hold a tensor: a subclass, or beside np.float64 and np.complex128, as an
    instance of a subclass of float holds a C double, which functions written in C read without asking. It says that it
    is the public class: `isinstance` looks at both. What is public is written of that class alone."""
    native = issubclass(cls, (float, complex))
    body: dict[str, Any] = {"__slots__": ("_t",) if native else (), "__doc__": cls.__doc__, "_carries": True}
    if native:
        body |= {name: value for name, value in vars(cls).items() if isinstance(value, (FunctionType, classmethod))}
        body |= {"_torch_dtype": cls._torch_dtype, "_d": cls._d, "__hash__": generic.__hash__}
    body |= {"__class__": cls, "_stands_for": cls, "__module__": "npdec"}
    return type(cls)(cls.__name__, cls.__bases__[:1] if native else (cls,), body)


for _cls in CONCRETE:
    assert _cls._torch_dtype is not None
    _cls._d = _cls._torch_dtype
    SCALARS[_cls._torch_dtype] = _cls
    HOSTED[_cls] = _cls._torch_dtype
    SPELLINGS[_cls] = _cls._torch_dtype
    type(dtype_class(_cls._torch_dtype)).type = _cls
for _cls in CONCRETE + _ABSTRACT:
    _cls.__module__ = "npdec"
bool_.__name__ = bool_.__qualname__ = "bool"
for _cls in CONCRETE:
    safe(_cls)
    wrap.CARRIERS[_cls._d] = _carrier(_cls)

wrap.INTEGERS.update(_cls for _cls in CONCRETE if issubclass(_cls, integer))

numbers.Number.register(number)
numbers.Integral.register(integer)
numbers.Real.register(floating)
numbers.Complex.register(inexact)

byte, short, intc, int_, intp, long, longlong = int8, int16, int32, int64, int64, int64, int64
ubyte, ushort, uintc, uint, uintp, ulong, ulonglong = uint8, uint16, uint32, uint64, uint64, uint64, uint64
half, single, double, csingle, cdouble = float16, float32, float64, complex64, complex128
True_, False_ = bool_(True), bool_(False)
wrap.BOOLS[:] = False_, True_
wrap.FLOAT64, wrap.INT64 = float64, int64


def isscalar(element: Any) -> bool:
    """Whether `element` is a scalar: a Python number or text, or a NumPy-style scalar. A 0-d array is none.

    >>> np.isscalar(3.1), np.isscalar(np.float32(3.1)), np.isscalar(np.array(3.1))
    (True, True, False)
    """
    if isinstance(element, (generic, str, bytes, memoryview, numbers.Number)):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(element, numpy.generic)
