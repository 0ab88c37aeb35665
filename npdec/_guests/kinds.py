"""What is a guest: arrays, scalars and dtypes of the installed NumPy that torch cannot hold."""

from __future__ import annotations

from typing import Any

__all__ = ["CLASSES", "FUNCTIONS", "NAMES", "TABLES", "holds"]

# The names of NumPy's main namespace that stand for what torch cannot hold, or tell of it.
CLASSES = (
    "busdaycalendar", "bytes_", "clongdouble", "complex256", "datetime64", "float128",
    "longdouble", "matrix", "memmap", "object_", "recarray", "record", "str_", "timedelta64", "void",
)  # fmt: skip
FUNCTIONS = ("asmatrix", "bmat", "fromregex")
TABLES = ("ScalarType", "sctypeDict", "typecodes")
NAMES = frozenset({*CLASSES, *FUNCTIONS, *TABLES})


def holds(dtype: Any) -> bool:
    """Whether torch holds elements of a dtype of NumPy's: numbers and booleans, in this machine's byte order and at
    most in double precision. A dtype with metadata, which would be lost, is a guest too."""
    return dtype.kind in "biufc" and dtype.isnative and dtype.char not in "gG" and dtype.metadata is None
