"""The dtypes of numbers that NumPy and npdec share, and elements of each: zeros of both signs, infinities, extremes."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["DTYPES", "elements_of"]

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
_ELEMENTS = {
    "b": [True, False, False, True, True, False],
    "u": [0, 1, 2, 200, 7, 9],
    "i": [0, 1, -5, 100, -128, 3],
    "f": [-0.0, 1.5, numpy.inf, numpy.nan, -7.25, 1e30],
    "c": [complex(-0.0, 1), 1.5 - 2j, complex("inf"), complex(numpy.nan, 1), 3j, 1e30 + 1j],
}


def elements_of(dtype: str) -> Any:
    """An array of NumPy's of six elements."""
    with numpy.errstate(all="ignore"):
        return numpy.array(_ELEMENTS[numpy.dtype(dtype).kind]).astype(dtype)
