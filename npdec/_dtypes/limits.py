"""`np.finfo` and `np.iinfo`: the limits of floats and integers.

Everything about a float follows from how many bits its mantissa and its exponent have, so that is all that is stored.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import torch

from npdec._core.base import ArrayBase
from npdec._core.door import hand_over
from npdec._core.tracebacks import ends
from npdec._dtypes.dtype import SCALARS
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._dtypes.spelling import as_dtype
from npdec._impl import _util, dtypes_impl
from npdec.exceptions import AbsentDTypeError

__all__ = ["finfo", "iinfo"]

_LINE = "---------------------------------------------------------------"

# The bits of mantissa and exponent.
_FLOATS = {torch.float16: (10, 5), torch.bfloat16: (7, 8), torch.float32: (23, 8), torch.float64: (52, 11)}


def _dtype_of(obj: Any) -> torch.dtype:
    """The dtype of a number or an array, or the dtype that `obj` names."""
    if isinstance(obj, ArrayBase):
        return obj._d
    if isinstance(obj, torch.Tensor):
        return obj.dtype
    if isinstance(obj, (bool, int, float, complex)):
        return as_dtype(type(obj) if type(obj) in (bool, int, float, complex) else getattr(obj, "dtype", float))
    return as_dtype(obj)


class _Limit:
    """An attribute of `finfo`: a number of the float's own type. It is made when asked for, on the default device."""

    def __init__(self, formula: Callable[[finfo], float], doc: str) -> None:
        self.formula = formula
        self.__doc__ = doc

    def __get__(self, info: finfo | None, owner: type | None = None) -> Any:
        return self if info is None else SCALARS[info.dtype.torch_dtype](self.formula(info))


@functools.cache
def _finfo(torch_dtype: torch.dtype) -> finfo:
    """The one object for a dtype."""
    made = object.__new__(finfo)
    made._fill(torch_dtype)
    return made


class finfo:
    """The limits of a float dtype; of a complex dtype, those of its parts. An instance is accepted for its dtype.

    `eps` is the gap between 1 and the next number, `epsneg` the one below 1, `max` and `min` the largest and the
    lowest number, `tiny` = `smallest_normal` and `smallest_subnormal` the smallest above 0, `precision` the number of
    reliable decimal digits and `resolution` 10 to the minus that; `bits`, `nmant`, `nexp` (`iexp`), `machep`, `negep`,
    `minexp`, `maxexp` count bits. Raises ValueError for integers and booleans.

    >>> np.finfo(np.float32).eps, np.finfo(complex).max
    (np.float32(1.1920929e-07), np.float64(1.7976931348623157e+308))
    """

    __module__ = "npdec"
    __slots__ = ("bits", "dtype", "maxexp", "minexp", "nexp", "nmant", "precision")

    dtype: dtype_class
    bits: int
    nmant: int
    nexp: int
    minexp: int
    maxexp: int
    precision: int

    eps = _Limit(lambda f: 2.0**-f.nmant, "The gap between 1 and the next larger number.")
    epsneg = _Limit(lambda f: 2.0 ** -(f.nmant + 1), "The gap between 1 and the next smaller number.")
    max = _Limit(lambda f: (2 - 2.0**-f.nmant) * 2.0 ** (f.maxexp - 1), "The largest number.")
    min = _Limit(lambda f: -(2 - 2.0**-f.nmant) * 2.0 ** (f.maxexp - 1), "The lowest number.")
    smallest_normal = _Limit(lambda f: 2.0**f.minexp, "The smallest number above 0 with all bits of the mantissa.")
    tiny = smallest_normal
    smallest_subnormal = _Limit(lambda f: 2.0 ** (f.minexp - f.nmant), "The smallest number above 0.")
    resolution = _Limit(lambda f: 10.0**-f.precision, "10 to the minus `precision`.")

    __class_getitem__: Any = classmethod(types.GenericAlias)

    @ends
    def __new__(cls, dtype: Any) -> Any:
        if dtype is None:
            _util.warn("finfo() of None is that of float64: name the dtype", DeprecationWarning)
        absent = None
        try:
            torch_dtype = dtypes_impl.real_dtype(_dtype_of(dtype))
        except AbsentDTypeError as error:
            absent = error
        if absent is not None:  # of extended precision
            return hand_over("finfo", (dtype,), {}, absent)
        if torch_dtype not in _FLOATS:
            raise ValueError(f"data type {SCALARS[torch_dtype]} not inexact")
        return _finfo(torch_dtype)

    def _fill(self, torch_dtype: torch.dtype) -> None:
        self.dtype = dtype_class(torch_dtype)
        self.nmant, self.nexp = _FLOATS[torch_dtype]
        self.bits = 8 * torch_dtype.itemsize
        self.maxexp = 2 ** (self.nexp - 1)
        self.minexp = 2 - self.maxexp
        self.precision = math.floor(self.nmant * math.log10(2))

    @property
    def machep(self) -> int:
        """The exponent of `eps`."""
        return -self.nmant

    @property
    def negep(self) -> int:
        """The exponent of `epsneg`."""
        return -self.nmant - 1

    @property
    def iexp(self) -> int:
        """The number of bits of the exponent."""
        return self.nexp

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"finfo(resolution={self.resolution!s}, min={self.min!s}, max={self.max!s}, dtype={self.dtype})"

    def __str__(self) -> str:
        return (
            f"Machine parameters for {self.dtype}\n{_LINE}\n"
            f"precision = {self.precision}   resolution = {self.resolution!s}\n"
            f"machep = {self.machep}   eps =        {self.eps!s}\n"
            f"negep =  {self.negep}   epsneg =     {self.epsneg!s}\n"
            f"minexp = {self.minexp}   tiny =       {self.tiny!s}\n"
            f"maxexp = {self.maxexp}   max =        {self.max!s}\n"
            f"nexp =   {self.nexp}   min =        -max\n"
            f"smallest_normal = {self.smallest_normal!s}   smallest_subnormal = {self.smallest_subnormal!s}\n{_LINE}\n"
        )


class iinfo:
    """The limits of an integer dtype: `min`, `max`, `bits`, `kind`. An integer is accepted for its dtype.

    Raises ValueError for floats, complex numbers and booleans.

    >>> np.iinfo(np.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __module__ = "npdec"
    __slots__ = ("bits", "dtype", "kind", "max", "min")
    __class_getitem__: Any = classmethod(types.GenericAlias)

    @ends
    def __init__(self, int_type: Any) -> None:
        absent = None
        try:
            self.dtype = dtype_class(_dtype_of(int_type))
        except AbsentDTypeError as error:
            absent = error
        except TypeError:  # no dtype: an object, of whose type none is of integers
            raise ValueError(f"Invalid integer data type {'U' if isinstance(int_type, str) else 'O'!r}.") from None
        if absent is not None:  # of the other byte order; NumPy refuses all others
            theirs = hand_over("iinfo", (int_type,), {}, absent)
            self.dtype = dtype_class(f"{theirs.kind}{theirs.bits // 8}")
        self.kind = self.dtype.kind
        if self.kind not in "iu":
            raise ValueError(f"Invalid integer data type {self.kind!r}.")
        limits = torch.iinfo(self.dtype.torch_dtype)
        self.bits, self.min, self.max = limits.bits, limits.min, limits.max

    @property
    def key(self) -> str:
        """The kind and the number of bits."""
        return f"{self.kind}{self.bits}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __str__(self) -> str:
        return f"Machine parameters for {self.dtype}\n{_LINE}\nmin = {self.min}\nmax = {self.max}\n{_LINE}\n"
