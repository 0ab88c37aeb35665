"""`np.generic`, the root of the scalar types.

A scalar on the host, which carries nothing, holds a Python number: `_n`, a bool, int, float or complex that is the
number exactly. np.float64 and np.complex128 are subclasses of Python's own types. Its 0-d tensor `_t` is made when it
is asked for.

What a number cannot hold, a graph, contributions, or a place on another device, needs a scalar that holds a 0-d tensor,
which is never written. It is of a class of its own, which passes for the public one: a carrier (`_carries`).
"""

from __future__ import annotations

import struct
import sys
import types
from typing import Any, ClassVar, Self

import torch

from npdec._array import fp_state, wrap
from npdec._array.convert import as_host_tensor, as_tensor
from npdec._array.methods import ArrayMethods
from npdec._array.packing import HOSTED
from npdec._array.printing import legacy_scalar_text, legacy_text, scalar_text
from npdec._core.base import plain_of
from npdec._core.installed_numpy import numpy_or_none
from npdec._core.tracebacks import ended, ends
from npdec._decomposed.choices import chosen
from npdec._decomposed.described import described
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import SCALARS, numpy_dtype
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._impl import _devices
from npdec._impl._util import warn
from npdec._impl.dtypes_impl import RANGES, WHOLE
from npdec._torch.tracing import tracing
from npdec.exceptions import AxisError, ComplexWarning, DecompositionWarning

__all__ = ["generic"]

_OWN = frozenset({bool, int, float, complex, str, bytes, types.NoneType})
# The Python type all of whose numbers a dtype holds.
_OF = {torch.bool: bool, torch.float64: float, torch.complex128: complex}


_PYTHON = (int, float, bool)
_FORMS = {torch.float32: struct.Struct("f"), torch.float16: struct.Struct("e")}


def _number_of(x: Any, dtype: torch.dtype) -> Any:
    """What a real number of Python's, or a scalar on the host, is in a dtype; None where it may be out of range, is
    cast while errors are watched, or lies on a device that was chosen."""
    if type(x) in _PYTHON:
        if not _devices.is_unchosen():
            return None
    elif type(x) in HOSTED:
        x = x._n
    else:
        return None
    kind = type(x)
    if kind is complex or dtype.is_complex or fp_state.watching:
        return None
    if dtype is torch.bool:
        return x != 0
    if dtype in RANGES:
        low, high = RANGES[dtype]
        # A float is cut: the greatest integers are no floats.
        return (
            int(x) if (low <= x <= high if kind is not float else -WHOLE <= x <= WHOLE and low <= x <= high) else None
        )
    if kind is int and not -WHOLE <= x <= WHOLE:
        return None
    if dtype is torch.float64:
        return float(x)
    form = _FORMS.get(dtype)
    try:
        return None if form is None else form.unpack(form.pack(float(x)))[0]
    except OverflowError:
        return None


def _is_numpys(cls: Any) -> bool:
    """Whether a class is a scalar type of the installed NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and numpy.generic in getattr(cls, "__mro__", ())


class ScalarType(type):
    """The type of scalar types: it tells the installed NumPy which of its dtypes a scalar type means."""

    _torch_dtype: torch.dtype | None
    _carries: bool

    @property
    def __numpy_dtype__(cls) -> Any:
        if cls._torch_dtype is None:
            raise AttributeError(f"{cls.__name__} is an abstract type")
        return numpy_dtype(cls._torch_dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(instance, numpy.generic) and issubclass(type(instance), cls)

    def __subclasscheck__(cls, other: type) -> bool:
        if type.__subclasscheck__(cls, getattr(other, "_stands_for", other)):
            return True
        numpy = sys.modules.get("numpy")
        if numpy is None or not _is_numpys(other):
            return False
        theirs = getattr(numpy, cls.__name__, None)  # NumPy's own scalars are of the kinds that NumPy says
        return theirs is not None and issubclass(other, theirs)

    def __subclasses__(cls) -> list[Any]:
        found: list[Any] = type.__subclasses__(cls)
        return [other for other in found if not other._carries]


class generic(ArrayMethods, metaclass=ScalarType):
    """The root of the scalar types. A scalar is an immutable number with a dtype, and has the methods of arrays.

    `isinstance(x, np.floating)` and the like ask for its kind. The abstract types cannot be instantiated; the others
    convert a number, text or None as Python does, and anything with dimensions to an array of their dtype.
    Raises OverflowError for a Python integer out of range, and TypeError or ValueError for what is no number.

    >>> np.float32("1.5"), np.int8(3.7), np.float64([1, 2])
    (np.float32(1.5), np.int8(3), array([1., 2.]))
    >>> np.int8(300)
    Traceback (most recent call last):
    OverflowError: Python integer 300 out of bounds for int8
    """

    __module__ = "npdec"
    __slots__ = ()

    __array_priority__ = -1000000.0

    _torch_dtype: ClassVar[torch.dtype | None] = None
    _carries: ClassVar[bool] = False  # whether it holds a tensor
    _n: Any

    def __new__(cls, x: Any = 0, /) -> Any:
        try:
            if cls._torch_dtype is None:
                raise TypeError(f"cannot create 'numpy.{cls.__name__}' instances")
            if cls._carries:  # the type of what a function was given
                return SCALARS[cls._torch_dtype](x)
            if type(x) is _OF.get(cls._torch_dtype) and not tracing() and not _devices.used:
                return wrap.on_host(cls, x)
            number = None if tracing() else _number_of(x, cls._torch_dtype)
            if number is not None:
                return wrap.on_host(cls, number)
            x = plain_of(x)  # of an array of a program's own class too
            tensor = as_tensor(x, cls._torch_dtype)
            if tensor.dim():
                same = type(x) is wrap.ARRAY and tensor is x._t
                return x if same else wrap.wrap_array(tensor)
            # Whatever else a 0-d tensor came from may be written later.
            made = wrap.wrap_scalar(tensor if type(x) in _OWN or isinstance(x, generic) else tensor.clone())
            # A class that a program derives from a type is kept by what lives on the host.
            return made if type(made) is cls or made._carries else wrap.on_host(cls, made._n)
        except Exception as error:
            raise ended(error)  # noqa: B904

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> dtype_class:
        """The dtype."""
        return dtype_class(self._d)

    @property
    def shape(self) -> tuple[int, ...]:
        """The empty tuple."""
        return ()

    def __getattr__(self, name: str) -> Any:
        if name != "_t" or self._carries:
            raise AttributeError(f"'npdec.{type(self).__name__}' object has no attribute {name!r}")
        tensor = as_host_tensor(self._n, self._d)
        if wrap.is_on_host(tensor) and not tensor.is_inference():
            self._t = tensor  # type: ignore[misc]
        return tensor

    @property
    def tensor(self) -> torch.Tensor:
        """The torch face: a 0-d tensor, a DecomposedTensor if the scalar is decomposed."""
        return self._t.clone()  # what becomes of it does not change the number

    def _number(self) -> Any:
        """The number as Python's own."""
        if not self._carries:
            return self._n
        tensor = self._t
        return (tensor.value if isinstance(tensor, DecomposedTensor) else tensor).item()

    def _sympy_(self) -> Any:
        """What SymPy makes of the scalar: what it makes of NumPy's, with its precision."""
        from sympy import sympify

        theirs = self._converted("sympify()", False) if numpy_or_none() is None else self.__array__()[()]
        return sympify(theirs)

    def _decomposed_tensor(self) -> DecomposedTensor | None:
        return self._t if self._carries and isinstance(self._t, DecomposedTensor) else None

    def _converted(self, conversion: str, real: bool = True) -> Any:
        """The number for a Python protocol, which can carry no contributions, and some no imaginary part."""
        decomposed = self._decomposed_tensor()
        if decomposed is None:
            pass
        elif decomposed.discrete:
            chosen(conversion, decomposed)
        else:
            warn(
                f"{conversion} of a decomposed scalar: a Python number cannot carry its {len(decomposed.labels)} "
                "components; use .item() to say that only the value matters",
                DecompositionWarning,
            )
        number = self._number()
        if real and isinstance(number, complex):
            warn("Casting complex values to real discards the imaginary part", ComplexWarning)
            return number.real
        return number

    # -- a Python number -----------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        decomposed = self._decomposed_tensor()
        return bool(self._number() if decomposed is None else decomposed)

    def __int__(self) -> int:
        return int(self._converted("int()"))

    def __float__(self) -> float:
        return float(self._converted("float()"))

    def __complex__(self, /) -> complex:
        return complex(self._converted("complex()", real=False))

    def __hash__(self) -> int:
        return hash(self._number())

    # -- text ----------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        text = str(self)
        if legacy_text():
            return text
        decomposed = self._decomposed_tensor()
        components = "" if decomposed is None else f", {', '.join(described(decomposed))}"
        if self._d is torch.bool and not components:
            return f"np.{text}_"
        name = f"np.{type(self).__name__}"
        if type(self).__module__ != "npdec":  # a class that a program derives, of which NumPy names those of integers
            inexact = self._d.is_floating_point or self._d.is_complex
            name = f"np.{SCALARS[self._d].__name__}" if inexact else type(self).__name__
        return f"{name}({text.removeprefix('(').removesuffix(')')}{components})"

    def __str__(self) -> str:
        return legacy_scalar_text(self._number(), self._d) or scalar_text(self._number(), self._d)

    def __format__(self, spec: str) -> str:
        return format(self._number(), spec)

    # -- a container of one --------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and not key:
            return self
        try:
            return wrap.wrap_array(self._t.clone())[key]
        except IndexError:
            raise IndexError("invalid index to scalar variable.") from None

    # Without this, __getitem__ and its IndexError would make a scalar an empty iterable.
    __iter__ = None

    # -- what arrays do with their memory: a scalar, which cannot be written, does nothing, as NumPy's ----------------

    @property
    def base(self) -> None:
        """None: a scalar is no view."""
        return None

    def fill(self, /, value: Any) -> None:
        """Nothing: a scalar cannot be written. Raises what an array of its dtype raises for the value."""
        try:
            wrap.wrap_array(self._t.clone()).fill(value)
        except Exception as error:
            raise ended(error)  # noqa: B904

    def resize(self, /, *new_shape: Any, refcheck: bool = True) -> None:
        """Nothing: a scalar has no shape."""
        del new_shape, refcheck

    @ends
    def setflags(self, /, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """Nothing: the flags of a scalar are what they are."""
        del write, align, uic

    def setfield(self, /, val: Any, dtype: Any, offset: int = 0) -> None:
        """Raises TypeError: a scalar cannot be written."""
        del val, dtype, offset
        raise TypeError("Can't set fields in a non-void array scalar.")

    def sort(
        self, /, axis: int = -1, kind: str | None = None, order: Any = None, *, stable: bool | None = None
    ) -> None:
        """Raises AxisError: a scalar has no axis to sort along."""
        del kind, order, stable
        raise AxisError(axis, 0)

    # -- copies: nobody gets the memory of a scalar --------------------------------------------------------------------

    def __array__(self, /, dtype: Any = None, copy: bool | None = None) -> Any:
        """The value as a 0-d NumPy array, which is always a copy."""
        if copy is False:
            raise ValueError("a scalar cannot become a NumPy array without a copy")
        return super().__array__(dtype, True)

    def __copy__(self, /) -> Self:
        return self

    def __deepcopy__(self, /, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap.reduced(wrap.wrap_scalar, self._t)

    def __reduce_ex__(self, /, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()
