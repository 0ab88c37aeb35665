"""Dtypes that are named by way of something else: objects that have one, types of ctypes, bytes."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import torch

from npdec._core.base import ArrayBase
from npdec.exceptions import AbsentDTypeError

__all__ = ["named_otherwise"]

_SIMPLE = type(ctypes.c_int)
# The order of NumPy's type numbers, as far as torch has the types; a single byte that is one of them names its type.
_NUMBERED = "?bBhHiIlLqQfdgFDGOSUVMme"


def named_otherwise(obj: Any) -> Any:
    """What `obj` (no text, and no dtype or scalar type) stands for: another spelling, or a dtype of another library;
    None if it stands for none. Raises ValueError where an attribute that should be a dtype is none."""
    numpy = sys.modules.get("numpy")
    arrays = torch.Tensor if numpy is None else (torch.Tensor, numpy.ndarray)
    if isinstance(obj, arrays) or (isinstance(obj, ArrayBase) and hasattr(obj, "__setitem__")):
        raise TypeError("Cannot construct a dtype from an array")
    if isinstance(obj, ArrayBase):
        return obj._d
    if isinstance(obj, bytes):
        return _of_bytes(obj)
    if isinstance(obj, (type(ctypes.Structure), type(ctypes.Array))):
        raise AbsentDTypeError(
            f"Cannot interpret '{obj!r}' as a data type: npdec holds numbers and booleans, no records"
        )
    if isinstance(obj, _SIMPLE):
        return _of_ctypes(obj)
    if isinstance(obj, type) and (obj.__module__, obj.__name__) == ("npdec", "dtype"):
        raise TypeError("Cannot convert np.dtype into a dtype.")
    for name in ("__numpy_dtype__", "dtype"):
        try:
            found = getattr(obj, name)
        except AttributeError:
            continue
        if isinstance(obj, type) and hasattr(type(found), "__get__"):
            continue  # the attribute of its instances
        if not _is_dtype(found):
            raise ValueError(f"Could not convert {obj!r} to a NumPy dtype (via `.{name}` value {found!r}).")
        return found
    return None


def _is_dtype(obj: Any) -> bool:
    """A dtype of npdec, of torch or of NumPy."""
    return isinstance(obj, torch.dtype) or any(c.__name__ == "dtype" for c in type(obj).__mro__)


def _of_bytes(code: bytes) -> str:
    try:
        text = code.decode("ascii")
    except UnicodeDecodeError:
        raise TypeError("data type not understood") from None
    if len(code) == 1 and code[0] < len(_NUMBERED):
        return _NUMBERED[code[0]]
    return text


def _of_ctypes(kind: Any) -> str:
    if issubclass(kind, ctypes.c_void_p):
        return f"u{ctypes.sizeof(ctypes.c_void_p)}"
    code = kind._type_
    if code in "cuzZO":
        raise AbsentDTypeError(f"Cannot interpret '{kind!r}' as a data type: npdec holds numbers and booleans only")
    foreign = "__ctype_be__" if sys.byteorder == "little" else "__ctype_le__"
    own = "__ctype_le__" if sys.byteorder == "little" else "__ctype_be__"
    swapped = getattr(kind, foreign, None) is kind and getattr(kind, own, None) is not kind
    return f"{'>' if sys.byteorder == 'little' else '<'}{code}" if swapped else code
