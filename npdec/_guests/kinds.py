"""What is a guest: arrays, scalars and dtypes of the installed NumPy that torch cannot hold."""

from __future__ import annotations

import functools
import types
from typing import Any

__all__ = ["CLASSES", "FUNCTIONS", "NAMES", "TABLES", "has_numpy", "holds", "numpy_or_none"]

# The names of NumPy's main namespace that stand for what torch cannot hold, or tell of it.
CLASSES = (
    "busdaycalendar", "bytes_", "clongdouble", "complex256", "datetime64", "float128",
    "longdouble", "matrix", "memmap", "object_", "recarray", "record", "str_", "timedelta64", "void",
)  # fmt: skip
FUNCTIONS = ("asmatrix", "bmat", "fromregex")
TABLES = ("ScalarType", "sctypeDict", "typecodes")
NAMES = frozenset({*CLASSES, *FUNCTIONS, *TABLES})


@functools.cache
def numpy_or_none() -> types.ModuleType | None:
    """The installed NumPy, imported when it is first asked for."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


@functools.cache
def has_numpy() -> bool:
    """Whether NumPy is installed."""
    return numpy_or_none() is not None


def holds(dtype: Any) -> bool:
    """Whether torch holds elements of a dtype of NumPy's: numbers and booleans, in this machine's byte order and at
    most in double precision. A dtype with metadata, which would be lost, is a guest too."""
    return dtype.kind in "biufc" and dtype.isnative and dtype.char not in "gG" and dtype.metadata is None
