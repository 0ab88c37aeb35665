"""The names of dtypes: every spelling that NumPy accepts, and what to say of those that torch cannot hold."""

from __future__ import annotations

import re
import sys
from typing import Any

import torch

from npdec._core.base import ArrayBase
from npdec._dtypes.objects import named_otherwise
from npdec.exceptions import AbsentDTypeError

__all__ = ["SPELLINGS", "as_dtype", "dtype_name"]

# One row a dtype: name, NumPy's code with the size, and the other names and characters that NumPy gives it.
_NAMES = {
    torch.bool: "bool b1 bool_ ?",
    torch.int8: "int8 i1 byte b",
    torch.int16: "int16 i2 short h",
    torch.int32: "int32 i4 intc i",
    torch.int64: "int64 i8 int int_ intp long longlong l q p n",
    torch.uint8: "uint8 u1 ubyte B",
    torch.uint16: "uint16 u2 ushort H",
    torch.uint32: "uint32 u4 uintc I",
    torch.uint64: "uint64 u8 uint uintp ulong ulonglong L Q P N",
    torch.float16: "float16 f2 half e",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32 f4 single f",
    torch.float64: "float64 f8 double float d",
    torch.complex64: "complex64 c8 csingle F",
    torch.complex128: "complex128 c16 cdouble complex D",
}

# Every spelling met so far. `_dtypes` and `_scalars` add npdec's own dtype objects and scalar types.
SPELLINGS: dict[Any, torch.dtype] = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
    None: torch.float64,
    **{dtype: dtype for dtype in _NAMES},
    **{name: dtype for dtype, names in _NAMES.items() for name in names.split()},
}

_NUMPYS: dict[int, torch.dtype] = {}  # of NumPy's own dtype objects, by identity

FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"
_REFUSED_WORDS = {
    "O": "objects", "S": "bytes", "a": "bytes", "U": "text", "M": "dates", "m": "time spans", "V": "records",
    "T": "text", "g": "extended-precision floats", "G": "extended-precision complex numbers",
}  # fmt: skip

_REFUSED_NAMES = {
    object: "objects", str: "text", bytes: "bytes", memoryview: "records",
    "object": "objects", "str": "text", "bytes": "bytes", "void": "records", "longdouble": "extended-precision floats",
    "float128": "extended-precision floats", "f16": "extended-precision floats",
    "clongdouble": "extended-precision complex numbers", "complex256": "extended-precision complex numbers",
    "c32": "extended-precision complex numbers", "datetime64": "dates", "timedelta64": "time spans",
}  # fmt: skip


_REMOVED = frozenset({"int0", "uint0", "bool8", "bytes0", "str0", "object0", "void0"})
_SUBARRAY = re.compile(r"\d+[<>=|]?[a-zA-Z?]\d*$")  # "2f4": two numbers in each element


def as_dtype(obj: Any) -> torch.dtype:
    """The torch dtype that `obj` names, in any spelling that NumPy accepts. Raises TypeError if there is none.

    >>> as_dtype("f4"), as_dtype(int), as_dtype("<c16")
    (torch.float32, torch.int64, torch.complex128)
    """
    try:
        found = SPELLINGS.get(obj)
    except TypeError:  # unhashable: the description of a record, or an object with a dtype
        other = named_otherwise(obj)
        if other is not None:
            return as_dtype(other)
        raise AbsentDTypeError(
            f"Cannot interpret '{obj!r}' as a data type: npdec holds numbers and booleans, no records"
        ) from None
    if found is None:
        found = _NUMPYS.get(id(obj))
    if found is None:
        if word := _REFUSED_NAMES.get(obj):
            raise AbsentDTypeError(
                f"Cannot interpret '{obj!r}' as a data type: npdec holds numbers and booleans, no {word}"
            )
        if not isinstance(obj, (str, torch.dtype)) and not _is_numpys(obj):
            other = named_otherwise(obj)
            if other is not None:
                return as_dtype(other)
        found = _dtype_of_text(obj) if isinstance(obj, str) else _dtype_of_object(obj)
        _remember(obj, found)
    return found


def _remember(obj: Any, found: torch.dtype) -> None:
    """Find the dtype at once from now on. NumPy's are known by their identity, as one with metadata, which torch has
    not, equals the one without: that one lives as long as NumPy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(obj, numpy.dtype):
        SPELLINGS[obj] = found
    elif obj is numpy.dtype(obj.char):
        _NUMPYS[id(obj)] = found


def _is_numpys(obj: Any) -> bool:
    """Whether it is a dtype or a scalar type of the installed NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and (
        isinstance(obj, numpy.dtype) or (isinstance(obj, type) and issubclass(obj, (numpy.generic, numpy.dtype)))
    )


def _dtype_of_text(text: str) -> torch.dtype:
    order, code = (text[0], text[1:]) if text[:1] in ("<", ">", "=", "|") else ("", text)
    found = SPELLINGS.get(code) if len(code) <= 3 else None
    if found is None:
        word = _REFUSED_WORDS.get(code[:1])
        if word is None or (len(code) > 1 and code[1].isalpha()):
            word = _REFUSED_NAMES.get(code.partition("[")[0])
        if "," in code or _SUBARRAY.match(code):
            word = "records"
        elif code == "c":
            word = "text"
        if word:
            raise AbsentDTypeError(f"data type {text!r} is not supported: npdec holds numbers and booleans, no {word}")
        if code in _REMOVED:
            raise TypeError(f"Alias {code!r} was removed in NumPy 2.0. Use a name without a digit at the end.")
        raise TypeError(f"data type {text!r} not understood")
    if order == FOREIGN_ORDER and found.itemsize > 1:
        raise AbsentDTypeError(
            f"data type {text!r} is not supported: torch holds numbers in this machine's byte order only; "
            f"use {code!r}, and convert such data with .astype({code!r}) in NumPy first"
        )
    return found


def _dtype_of_object(obj: Any) -> torch.dtype:
    if isinstance(obj, tuple | list):
        raise AbsentDTypeError(
            f"Cannot interpret '{obj!r}' as a data type: npdec holds numbers and booleans, no records"
        )
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(obj, type) and issubclass(obj, numpy.generic):
            try:
                obj = numpy.dtype(obj)
            except TypeError as error:  # an abstract type: numpy.floating
                raise TypeError(f"Cannot interpret '{obj!r}' as a data type: {error}") from None
        if isinstance(obj, numpy.dtype):
            return _dtype_of_numpy(obj)
    if isinstance(obj, torch.dtype):
        raise TypeError(
            f"Cannot interpret '{obj!r}' as a data type: NumPy has no such type; "
            "convert the tensor with .to(torch.bfloat16) or another dtype of npdec first"
        )
    if isinstance(obj, type) and (not issubclass(obj, ArrayBase) or hasattr(obj, "__setitem__")):
        raise AbsentDTypeError(f"Cannot interpret '{obj!r}' as a data type: torch holds no Python objects")
    raise TypeError(f"Cannot interpret '{obj!r}' as a data type")


def _dtype_of_numpy(dtype: Any) -> torch.dtype:
    if dtype.metadata is not None:
        raise AbsentDTypeError(
            f"Cannot interpret '{dtype!r}' as a data type: torch's dtypes have no metadata; leave them with "
            "np.dtype(dtype.str)"
        )
    if dtype.kind in "biufc" and dtype.isnative:
        found = SPELLINGS.get(f"{dtype.kind}{dtype.itemsize}")
    else:
        found = SPELLINGS.get(dtype.name) if dtype.isnative else None  # ml_dtypes.bfloat16
    if found is not None:
        return found
    if dtype.kind in "iufc" and not dtype.isnative:
        hint = f"numbers in this machine's byte order only; convert with .astype({dtype.newbyteorder('=').str!r})"
    elif dtype.kind in "fc":
        hint = "no extended precision; convert with .astype('f8') or .astype('c16')"
    elif dtype.kind == "O":
        hint = "no objects; convert with .astype(float), or keep the data in a list"
    elif dtype.kind in "mM":
        hint = "no dates; convert with .astype('i8') and keep the unit beside it"
    elif dtype.names is not None:
        hint = "no records; pass the fields one by one"
    else:
        hint = "numbers and booleans only; convert with .astype(float), or keep the data in NumPy"
    raise AbsentDTypeError(f"Cannot interpret '{dtype!r}' as a data type: torch holds {hint}")


def dtype_name(dtype: torch.dtype) -> str:
    """NumPy's name of a torch dtype.

    >>> dtype_name(torch.float32)
    'float32'
    """
    return str(dtype).removeprefix("torch.")
