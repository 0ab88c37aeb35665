"""Python numbers, and scalars that are nothing but numbers, as a vector: by array.array, which takes a third of the
time that torch.tensor takes."""

from __future__ import annotations

import array
import functools
import sys
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch.utils import _python_dispatch as _dispatch

from npdec._array.convert_errors import IntegerTooLarge
from npdec._dtypes.spelling import dtype_name
from npdec._impl import _util, dtypes_impl
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = ["HOSTED", "NUMBERS", "from_numbers", "from_scalars"]

NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
HOSTED: dict[type, torch.dtype] = {}  # the types of scalars that hold a Python number; `npdec._array.scalars` fills it
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_CODES = {
    torch.float64: "d", torch.complex128: "d", torch.float32: "f", torch.bool: "b",
    torch.int64: "q", torch.int32: "i", torch.int16: "h", torch.int8: "b",
    torch.uint64: "Q", torch.uint32: "I", torch.uint16: "H", torch.uint8: "B",
}  # fmt: skip
_NARROWED = {torch.float32: {torch.float64}, torch.complex64: {torch.float64, torch.complex128}}  # rounded once
_function_modes = torch._C._len_torch_function_stack


def _packed(numbers: Sequence[Any], dtype: torch.dtype) -> torch.Tensor:
    """The vector of Python numbers that the dtype holds. It is left to torch.tensor where somebody follows what is
    made: a default device, np.jit, the modes and transforms of torch."""
    followed = _function_modes() or _dispatch._is_in_torch_dispatch_mode or is_transformed() or tracing()
    if followed or not numbers or dtype not in _CODES:
        return torch.tensor(numbers, dtype=dtype)
    if dtype is torch.complex128:
        numbers = [part for number in numbers for part in (number.real, number.imag)]
    return torch.frombuffer(array.array(_CODES[dtype], numbers), dtype=dtype)


def from_numbers(numbers: Sequence[Any], kinds: Collection[type], dtype: torch.dtype | None) -> torch.Tensor:
    """A flat tensor of Python numbers, `kinds` being the types among them."""
    if dtype is None:
        dtype = _discover(numbers, kinds)
    elif dtype is torch.bool:
        numbers = list(map(bool, numbers))
    elif not dtype.is_complex and complex in kinds:
        what = "float() argument must be a string" if dtype.is_floating_point else "int() argument must be a string"
        raise TypeError(f"{what} or a real number, not 'complex'; take .real or convert to a complex dtype")
    elif not (dtype.is_complex or dtype.is_floating_point) and numbers:
        if float in kinds:
            numbers = list(map(int, numbers))
        limits = torch.iinfo(dtype)
        for number in (min(numbers), max(numbers)):
            if not limits.min <= number <= limits.max:
                raise OverflowError(f"Python integer {number} out of bounds for {dtype_name(dtype)}")
    if dtype is torch.float16 and float in kinds:
        made = _util.rounded_once(_packed(numbers, torch.float64))
    else:
        made = _packed(numbers, dtype)
    if _util.on_number is not None and (dtype.is_floating_point or dtype.is_complex):
        _util.on_number(torch.tensor(numbers, dtype=torch.complex128 if dtype.is_complex else torch.float64), made)
    return made


def _discover(numbers: Sequence[Any], kinds: Collection[type]) -> torch.dtype:
    """The dtype that NumPy gives to a list of Python numbers."""
    if int in kinds:
        integers = numbers if len(kinds) == 1 else [number for number in numbers if type(number) is int]
        low, high = min(integers), max(integers)
        if low < _INT64_MIN or high > _INT64_MAX:
            if low < _INT64_MIN or high > 2 * _INT64_MAX + 1:
                raise IntegerTooLarge(
                    f"Python integer {low if low < _INT64_MIN else high} fits neither int64 nor uint64: NumPy would "
                    "make an object array, which torch cannot hold; give dtype=float, or pass floats"
                )
            if not {float, complex} & set(kinds):
                return torch.uint64 if low > _INT64_MAX else torch.float64  # int64 and uint64 promote to float64
    if complex in kinds:
        return torch.complex128
    if float in kinds or not kinds:
        return torch.float64
    return torch.int64 if int in kinds else torch.bool


def from_scalars(items: Sequence[Any], kinds: Collection[type], dtype: torch.dtype | None) -> torch.Tensor | None:
    """A flat tensor of scalars that are nothing but numbers, Python numbers among them, where the dtype holds these as
    they are or rounds them as Python numbers are rounded; None for others, which are cast one by one. `kinds` are the
    types among them, in their order: promotion depends on it."""
    if len(kinds) == 1:
        (kind,) = kinds
        if kind in HOSTED and (dtype is None or dtype is HOSTED[kind]):
            return _packed([x._n for x in items], HOSTED[kind])
    held = [found for kind in kinds if (found := HOSTED.get(kind) or NUMBERS.get(kind) or _of_numpy(kind))]
    if len(held) < len(kinds):
        return None
    numbers = [x._n if type(x) in HOSTED else x if type(x) in NUMBERS else x.item() for x in items]
    if dtype is None:
        if int in kinds and _discover([x for x in items if type(x) is int], {int}) is not torch.int64:
            return None
        return _packed(numbers, functools.reduce(dtypes_impl.promote_types, held))
    if not (dtype is torch.bool or dtype.is_floating_point or dtype.is_complex):
        return _whole(numbers, dtype)
    for source in held:
        narrowed = _util.on_number is None and source in _NARROWED.get(dtype, ())
        if not (narrowed or dtype is torch.bool or dtypes_impl.can_cast(source, dtype)):
            return None
    return from_numbers(numbers, set(map(type, numbers)), dtype)


def _of_numpy(kind: type) -> torch.dtype | None:
    """The dtype of a scalar type of NumPy's whose numbers Python's hold."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not issubclass(kind, numpy.generic) or numpy.dtype(kind).char not in "?bBhHiIlLefdFD":
        return None
    return None if numpy.dtype(kind).type is not kind else getattr(torch, numpy.dtype(kind).name)


def _whole(numbers: Sequence[Any], dtype: torch.dtype) -> torch.Tensor | None:
    """Numbers in a dtype of integers; None if one does not fit."""
    try:
        integers = list(map(int, numbers))
    except (TypeError, ValueError, OverflowError):  # complex numbers; nan; inf
        return None
    limits = torch.iinfo(dtype)
    return _packed(integers, dtype) if limits.min <= min(integers) and max(integers) <= limits.max else None
