"""The memory of a tensor as Python's numbers, by the indices of its elements."""

from __future__ import annotations

import ctypes
import struct
from collections import deque
from functools import cache
from itertools import starmap
from typing import Any

import torch

from npdec._dtypes.dtype import SCALARS

__all__ = ["FORMATS", "LETTERS", "ROUNDED", "items_of", "taken_by"]

_view_memory = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
_WRITEABLE = 0x200  # PyBUF_WRITE

# What a memoryview calls the numbers of a dtype: of float16 their bits, of complex dtypes their parts.
FORMATS = {
    torch.bool: "?", torch.int8: "b", torch.int16: "h", torch.int32: "i", torch.int64: "q", torch.uint8: "B",
    torch.uint16: "H", torch.uint32: "I", torch.uint64: "Q", torch.float16: "H", torch.float32: "f",
    torch.float64: "d", torch.complex64: "f", torch.complex128: "d",
}  # fmt: skip
# Of float16 and complex numbers the letters that `npdec._native` has.
LETTERS = FORMATS | {torch.float16: "e", torch.complex64: "F", torch.complex128: "D"}
_half = struct.Struct("e")
_short = struct.Struct("H")


@cache
def _halves() -> list[float]:
    """The numbers of float16, by their bits."""
    return [number for (number,) in _half.iter_unpack(struct.pack("65536H", *range(65536)))]


class _Halves:
    """float16, which a memoryview does not know, over the memory of their bits."""

    __slots__ = ("bits", "numbers")

    def __init__(self, bits: Any) -> None:
        self.bits, self.numbers = bits, _halves()

    def __getitem__(self, key: Any) -> float:
        return self.numbers[self.bits[key]]

    def __setitem__(self, key: Any, number: Any) -> None:
        (self.bits[key],) = _short.unpack(_half.pack(float(number)))


class _Pairs:
    """Complex numbers over the memory of their parts."""

    __slots__ = ("parts",)

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    def __getitem__(self, key: Any) -> complex:
        key = (key,) if type(key) is int else key
        parts = self.parts
        return complex(parts[(*key, 0)], parts[(*key, 1)])

    def __setitem__(self, key: Any, number: Any) -> None:
        key = (key,) if type(key) is int else key
        number = complex(number)
        both = ((*key, 0), number.real), ((*key, 1), number.imag)
        deque(starmap(self.parts.__setitem__, both), 0)  # a loop in C, in which no interrupt comes


class _Grid:
    """Elements at strides that a memoryview does not know: those of transposed matrices, columns, 0-d arrays."""

    __slots__ = ("flat", "shape", "strides")

    def __init__(self, flat: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.flat, self.shape, self.strides = flat, shape, strides

    def _place(self, key: Any) -> int:
        key = (key,) if type(key) is int else key
        place = 0
        for index, size, stride in zip(key, self.shape, self.strides, strict=True):
            if index < 0:
                index += size
            if not 0 <= index < size:
                raise IndexError(index)
            place += index * stride
        return place

    def __getitem__(self, key: Any) -> Any:
        return self.flat[self._place(key)]

    def __setitem__(self, key: Any, number: Any) -> None:
        self.flat[self._place(key)] = number


def items_of(tensor: torch.Tensor, dtype: torch.dtype, address: int, reach: int) -> Any:
    """The elements by their indices, which are an int for one axis, or a tuple; `reach` is over how many the memory of
    the tensor goes."""
    form, shape = FORMATS[dtype], tensor.shape
    raw = _view_memory(address, reach * dtype.itemsize, _WRITEABLE)
    if len(shape) == 1 and reach == shape[0] and not dtype.is_complex:
        items = raw.cast(form)
    elif not shape or not tensor.is_contiguous():
        if len(shape) == 1 and not dtype.is_complex and (stride := tensor.stride()[0]) > 0:
            items = raw.cast(form)[::stride]
        else:
            flat = _Pairs(raw.cast(form, (reach, 2))) if dtype.is_complex else raw.cast(form)
            return _Grid(_Halves(flat) if dtype is torch.float16 else flat, tuple(shape), tensor.stride())
    elif dtype.is_complex:
        return _Pairs(raw.cast(form, (*shape, 2)))
    else:
        items = raw.cast(form, shape)
    return _Halves(items) if dtype is torch.float16 else items


ROUNDED = frozenset({torch.float16, torch.float32, torch.complex64})
_LONG = frozenset({torch.int64, torch.uint64})


@cache
def taken_by(dtype: torch.dtype) -> dict[type, bool]:
    """What an array of a dtype takes of Python's types and of scalars on the host: as it is (False), or as the number
    that a scalar is (True). Numbers that its memory refuses go the general way."""
    inexact = dtype.is_floating_point or dtype.is_complex
    whole = not inexact and dtype is not torch.bool
    found: dict[type, bool] = {bool: False, int: False}
    if not whole:
        found[float] = False
    if dtype.is_complex:
        found[complex] = False
    for other, cls in SCALARS.items():
        if other is torch.bfloat16 or (other.is_complex and not dtype.is_complex):
            continue
        if whole and (other.is_floating_point or other.is_complex):
            continue
        if dtype in ROUNDED and other in _LONG:  # by way of a Python float they are rounded twice
            continue
        found[cls] = True
    if dtype in ROUNDED:
        del found[int]
    return found
