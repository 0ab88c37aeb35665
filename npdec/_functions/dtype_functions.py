"""NumPy's functions of dtypes: casting, promotion, kinds. The rules are in `npdec._impl.dtypes_impl`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

import torch

from npdec._array import memory, scalars, wrap
from npdec._array.convert import as_dtype, as_tensor
from npdec._array.foreign_arrays import as_argument, check_asking, is_numpys_scalar
from npdec._array.generic import generic
from npdec._core.base import ArrayBase
from npdec._core.door import hand_over, open_to_guests
from npdec._core.tracebacks import cut, ended
from npdec._core.unbound import unbound
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import INTERNED, SCALARS
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._impl import dtypes_impl
from npdec.exceptions import AbsentDTypeError

__all__ = [
    "astype",
    "can_cast",
    "common_type",
    "isdtype",
    "issubdtype",
    "little_endian",
    "min_scalar_type",
    "mintypecode",
    "promote_types",
    "result_type",
    "typename",
]

little_endian = sys.byteorder == "little"
_NUMBERS = {bool: torch.bool, int: int, float: float, complex: complex}  # what they are to promotion


def _array_dtype(obj: Any) -> torch.dtype | None:
    """The dtype of an array or scalar; None for anything else."""
    if isinstance(obj, ArrayBase):
        return obj._d
    if isinstance(obj, torch.Tensor):
        return obj.dtype
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, (numpy.ndarray, numpy.generic)):
        return as_dtype(obj.dtype)
    return None


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a dtype, or that of an array or scalar, can be cast to another under a rule.

    `casting`: "no" or "equiv" (the same dtype), "safe" (every value survives), "same_kind" (as safe, or within a kind:
    float64 to float32), "unsafe" (any). Raises TypeError for Python numbers, which have no dtype of their own, and
    ValueError for another rule.

    >>> np.can_cast("i4", "f8"), np.can_cast("f8", "f4"), np.can_cast("f8", "f4", "same_kind")
    (True, False, True)
    """
    try:
        if type(from_) in (bool, int, float, complex):
            raise TypeError(
                f"can_cast() does not support Python ints, floats, and complex: the dtype of {from_!r} depends on what "
                "it meets; use np.result_type, or a NumPy scalar"
            )
        if from_ is None or to is None:
            raise TypeError("can_cast: give the name of a dtype, not None")
        try:
            source = _array_dtype(from_)
            return dtypes_impl.can_cast(as_dtype(from_) if source is None else source, as_dtype(to), casting)
        except AbsentDTypeError as error:
            absent = error
        return hand_over("can_cast", (from_, to, casting), {}, absent)
    except Exception as error:
        raise ended(error)  # noqa: B904


@unbound
@open_to_guests
def promote_types(_: Any, type1: Any, type2: Any, /) -> dtype_class:
    """The smallest dtype to which both dtypes can be cast safely. It is symmetric. Raises TypeError for no dtype.

    >>> np.promote_types("i4", "f4"), np.promote_types("i8", "u8")
    (dtype('float64'), dtype('float64'))
    """
    return dtype_class(dtypes_impl.promote_types(as_dtype(type1), as_dtype(type2)))


def result_type(*arrays_and_dtypes: Any) -> dtype_class:
    """The dtype of the result of a computation with these arrays, dtypes and Python numbers.

    Python's int, float and complex numbers adapt to the others as far as their kind allows. Raises ValueError without
    an argument, TypeError for what is neither array, number nor dtype.

    >>> np.result_type(np.ones(2, dtype="f4"), 3.0), np.result_type("i1", 3.0)
    (dtype('float32'), dtype('float64'))
    """
    try:
        operands = []
        try:
            for obj in arrays_and_dtypes:
                kind = type(obj)
                if kind in _NUMBERS:
                    operands.append(_NUMBERS[kind])
                    continue
                operand: Any = obj._d if kind is wrap.ARRAY else _array_dtype(obj)
                if operand is None:
                    check_asking(obj)
                    is_number = isinstance(obj, (int, float, complex))
                    operand = dtypes_impl.scalar_type(kind) if is_number else as_dtype(obj)
                operands.append(operand)
            return INTERNED[dtypes_impl.common_dtype(*operands)]
        except AbsentDTypeError as error:
            absent = error
        return hand_over("result_type", arrays_and_dtypes, {}, absent)
    except Exception as error:
        raise ended(error)  # noqa: B904


@open_to_guests
def min_scalar_type(a: Any, /) -> dtype_class:
    """For a scalar (or a 0-d array) the smallest dtype of its kind that holds its value; for an array its dtype.

    Whole numbers from 0 on give unsigned dtypes. For floats the range counts, not the precision.

    >>> np.min_scalar_type(10), np.min_scalar_type(-260), np.min_scalar_type(1e50)
    (dtype('uint8'), dtype('int16'), dtype('float64'))
    """
    tensor = as_argument(a)
    if tensor.dim() or tensor.dtype in (torch.bool, torch.bfloat16):
        return dtype_class(tensor.dtype)
    number = (tensor.value if isinstance(tensor, DecomposedTensor) else tensor).item()
    if isinstance(number, int):
        kinds = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
        if number < 0:
            kinds = (torch.int8, torch.int16, torch.int32, torch.int64)
        return dtype_class(next(d for d in kinds if dtypes_impl.fits(number, d)))
    if isinstance(number, complex):
        return dtype_class(torch.complex64 if _within(number.real) and _within(number.imag) else torch.complex128)
    if not math.isfinite(number) or abs(number) < 65000:
        return dtype_class(torch.float16)
    return dtype_class(torch.float32 if _within(number) else torch.float64)


def _within(x: float) -> bool:
    """Whether a number counts as one of float32 for `min_scalar_type`."""
    return not math.isfinite(x) or abs(x) < 3.4e38


def _scalar_type(obj: Any) -> type:
    """The scalar type, concrete or abstract, that `obj` names."""
    try:
        if isinstance(obj, type) and issubclass(obj, generic):
            return obj
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(obj, type) and issubclass(obj, numpy.generic):
            abstract = getattr(scalars, obj.__name__, None)  # numpy.floating means ours
            if abstract is not None:
                return abstract
        found: type = dtype_class(obj).type
        return found
    except Exception as error:
        raise cut(error)  # noqa: B904


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether the first dtype (or scalar type) is at or below the second in the hierarchy of scalar types.

    Raises TypeError for what names no dtype.

    >>> np.issubdtype(np.float32, np.floating), np.issubdtype("i4", float)
    (True, False)
    """
    first, second = _scalar_type(arg1), _scalar_type(arg2)
    return second is generic or issubclass(first, second)  # NumPy's own scalar types are below generic too


@open_to_guests
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind of the array API standard, or is another dtype, or either of those in a tuple.

    The kinds: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric".
    Raises TypeError for what is no dtype object or scalar type, ValueError for another kind.

    >>> np.isdtype(np.float32, "real floating"), np.isdtype(np.float32, ("integral", np.float64))
    (True, False)
    """
    abstract = isinstance(dtype, type) and issubclass(dtype, generic) and dtype not in SCALARS.values()
    found = None if abstract else _strict_dtype(dtype)
    if found is None and not abstract:
        raise TypeError(f"dtype argument must be a NumPy dtype, but it is a {type(dtype)}.")
    answers = []
    for item in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(item, str):
            if item not in dtypes_impl.KINDS:
                raise ValueError(f"kind argument is a string, but {item!r} is not a known kind name.")
            answers.append(found is not None and dtypes_impl.kind(found) in dtypes_impl.KINDS[item])
        elif isinstance(item, type) and issubclass(item, generic):
            answers.append(item is (dtype if found is None else SCALARS[found]))
        else:
            other = _strict_dtype(item)
            if other is None:
                raise TypeError(
                    f"kind argument must be comprised of NumPy dtypes or strings only, but is a {type(item)}."
                )
            answers.append(other is found)
    return any(answers)


def _strict_dtype(obj: Any) -> torch.dtype | None:
    """The dtype of a dtype object or scalar type (npdec's, NumPy's or torch's); None for other spellings."""
    numpy = sys.modules.get("numpy")
    if isinstance(obj, type):
        known = issubclass(obj, generic) or (numpy is not None and issubclass(obj, numpy.generic))
    else:
        known = isinstance(obj, (dtype_class, torch.dtype)) or (numpy is not None and isinstance(obj, numpy.dtype))
    return as_dtype(obj) if known else None


@open_to_guests
def common_type(*arrays: Any) -> type[generic]:
    """The scalar type, float16 at least, that all numeric arrays convert to; integers count as float64.

    Raises TypeError for boolean arrays, and for what has no dtype.

    >>> np.common_type(np.ones(2, dtype="f4"), np.ones(2, dtype="c8")) is np.complex64
    True
    """
    common = torch.float16
    for obj in arrays:
        found = _array_dtype(obj)
        if found is None:
            check_asking(obj)
            raise TypeError(f"common_type: arrays are needed, not {type(obj).__name__}")
        kind = dtypes_impl.kind(found)
        if kind == "b":
            raise TypeError("can't get common type for non-numeric array")
        common = dtypes_impl.promote_types(common, torch.float64 if kind in "iu" else found)
    return SCALARS[common]


@open_to_guests
def mintypecode(typechars: Iterable[Any], typeset: Any = "GDFgdf", default: str = "d") -> str:
    """The character of the smallest type in `typeset` that holds all the given types, `default` if none is in it.

    `typechars`: type characters, or arrays and scalars for their dtypes.

    >>> np.mintypecode(["d", "f"]), np.mintypecode("dF"), np.mintypecode("i")
    ('d', 'D', 'd')
    """
    codes = [item if isinstance(item, str) else _char(item) for item in typechars]
    known = [code for code in codes if code in typeset]
    if not known:
        return default
    if "F" in known and "d" in known:
        return "D"
    return min(known, key="GDFgdfeLlQqIiHhBb?".index)


def _char(obj: Any) -> str:
    found = _array_dtype(obj)
    return dtype_class(as_tensor(obj).dtype if found is None else found).char


# What NumPy calls the types of its characters.
_TYPE_NAMES = {
    "S1": "character", "?": "bool", "b": "signed char", "B": "unsigned char", "h": "short", "H": "unsigned short",
    "i": "integer", "I": "unsigned integer", "l": "long integer", "L": "unsigned long integer",
    "q": "long long integer", "Q": "unsigned long long integer", "f": "single precision", "d": "double precision",
    "g": "long precision", "F": "complex single precision", "D": "complex double precision",
    "G": "complex long double precision", "S": "string", "U": "unicode", "V": "void", "O": "object",
}  # fmt: skip


def typename(char: str) -> str:
    """What the type of a dtype's character is called. KeyError for another character.

    >>> np.typename("d"), np.typename("B")
    ('double precision', 'unsigned char')
    """
    return _TYPE_NAMES[char]


@open_to_guests
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """An array or scalar converted to a dtype, and moved to a device if one is given; see `np.ndarray.astype`.

    Without `copy` it is `x` itself if nothing changes. TypeError for what is no array or scalar.

    >>> np.astype(np.array([1.7, -1.7]), int)
    array([ 1, -1])
    """
    if not isinstance(x, ArrayBase):
        check_asking(x)
    if not isinstance(x, ArrayBase) and _array_dtype(x) is not None:
        x = wrap.wrap_scalar(as_tensor(x)) if is_numpys_scalar(x) else memory.over(as_tensor(x))
    if not isinstance(x, ArrayBase):
        raise TypeError(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.")
    result = x.astype(dtype, copy=copy)  # type: ignore[attr-defined]
    return result if device is None else result.to_device(device)
