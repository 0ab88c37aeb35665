"""Objects of other libraries that are asked for an array: by which protocol, and what becomes of `copy=`."""

from __future__ import annotations

import sys
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor, asks_array, from_exporter, produced
from npdec._core.base import ArrayBase, MetAsking, Poly1dBase
from npdec._impl._util import warn
from npdec.exceptions import AbsentDTypeError

__all__ = [
    "as_argument", "as_copy", "as_operand", "asks_functions", "asks_ufuncs", "check_asking", "copy_modes",
    "exports_memory", "given", "is_numpys_scalar",
]  # fmt: skip

_COPIED = frozenset({bool, int, float, complex, str, bytes, list, tuple, range, type(None)})  # into memory of our own
_GUIDE = "https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-keyword"


def _is_foreign(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    theirs = () if numpy is None else (numpy.ndarray, numpy.generic)
    return not issubclass(kind, (torch.Tensor, *theirs))


def is_numpys_scalar(obj: Any) -> bool:
    """Whether it is a scalar of the installed NumPy: what is made of it alone is a scalar too."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.generic)


def asks_ufuncs(obj: Any) -> bool:
    """Whether an object of another library is to be asked before its numbers are taken as a ufunc's operand."""
    kind = type(obj)
    if kind in _COPIED or isinstance(obj, ArrayBase):  # whose class is slower to ask for an attribute
        return False
    return hasattr(kind, "__array_ufunc__") and _is_foreign(kind)


def asks_functions(obj: Any) -> bool:
    """The same, as an argument of a function: functions are made of ufuncs, so that a class that computes these is
    asked by them."""
    kind = type(obj)
    if kind in _COPIED or isinstance(obj, ArrayBase):
        return False
    asks = hasattr(kind, "__array_function__") or getattr(kind, "__array_ufunc__", None) is not None
    return asks and _is_foreign(kind)


def as_operand(obj: Any) -> torch.Tensor:
    """The tensor of a ufunc's operand. Raises MetAsking where the operand is to be asked first."""
    if asks_ufuncs(obj):
        raise MetAsking(type(obj))
    return wrap.lent(obj) if type(obj) is wrap.ARRAY else as_tensor(obj)


def check_asking(obj: Any) -> None:
    """Raise MetAsking where a function's argument is to be asked first."""
    if asks_functions(obj):
        raise MetAsking(type(obj))


def as_argument(obj: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The tensor of a function's argument. Raises MetAsking where the argument is to be asked first."""
    check_asking(obj)
    return as_tensor(obj, dtype)


def copy_modes() -> Any:
    """The enumeration that NumPy takes for `copy=` besides True, False and None, if it is imported."""
    return getattr(sys.modules.get("numpy"), "_CopyMode", ())


def as_copy(copy: Any) -> bool | None:
    """`copy=` of functions that make arrays: always (True), never (False) or where it is needed (None).

    Raises ValueError for text and for what is neither true nor false.
    """
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    if isinstance(copy, copy_modes()):
        return None if copy.name == "IF_NEEDED" else bool(copy.name == "ALWAYS")
    return bool(copy)


def exports_memory(obj: Any) -> bool:
    """Whether an object that is no array tells where its memory lies: then it is the base of arrays over it."""
    numpy = sys.modules.get("numpy")
    if isinstance(obj, (ArrayBase, torch.Tensor)) or (numpy is not None and isinstance(obj, numpy.ndarray)):
        return False
    return hasattr(obj, "__array_interface__")


def given(obj: Any, copy: bool | None, cast: bool = False) -> tuple[Any, bool | None]:
    """What an object gives for an array by a protocol (itself, if it has none), and whether that is still to be copied.

    `__array__` is asked for a copy where one is wanted, and is trusted to have made it. An implementation without
    that argument is deprecated, as in NumPy: it is copied here. What NumPy's arrays hold and torch does not is left for
    who casts it.
    """
    if type(obj) in _COPIED or isinstance(obj, (ArrayBase, torch.Tensor, Poly1dBase, list, tuple, type)):
        return obj, copy
    if not asks_array(obj):
        try:
            tensor = from_exporter(obj)
        except AbsentDTypeError:
            if not cast:
                raise
            return obj, copy
        return (obj if tensor is None else tensor), copy
    if copy is None:
        return produced(obj.__array__()), None
    try:
        return produced(obj.__array__(copy=copy)), None if copy else False
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
    warn(
        "__array__ takes no 'copy' here: an implementation must implement the arguments 'dtype' and 'copy'; see "
        + _GUIDE,
        DeprecationWarning,
    )
    if not copy:
        raise ValueError(f"Unable to avoid copy while creating an array as requested.\nSee {_GUIDE}")
    return produced(obj.__array__()), True
