"""Operators beside objects that are no arrays: who is asked first, and what NumPy makes of them, element by element."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from npdec._array.ndarray import Composition
from npdec._core.door import hand_over_method
from npdec._core.installed_numpy import has_numpy

__all__ = ["apart", "beside", "into", "leaves_it_to", "priority_of"]


def priority_of(array: Any) -> float:
    """The `__array_priority__` of an array or a scalar, by which NumPy ranks operands: 0 of plain arrays, which tell
    others a higher one."""
    return 0.0 if type(array) is Composition else float(array.__array_priority__)


def leaves_it_to(array: Any, other: Any, in_place: bool = False) -> bool:
    """Whether the other operand, which is no array, asks for the operation: `__array_ufunc__ = None`, if it is not in
    place, or a higher `__array_priority__`."""
    asks = getattr(type(other), "__array_ufunc__", 0)
    if asks != 0:
        return asks is None and not in_place
    priority = getattr(other, "__array_priority__", None)
    return isinstance(priority, (int, float)) and priority > priority_of(array)


def apart(array: Any, other: Any, unlike: bool | None, error: TypeError) -> Any:
    """What a comparison that failed gives, `unlike` being what it is of unequal things: between kinds that cannot be
    compared (numbers and text) NumPy's operators == and != find nothing equal, its functions raise. Raises the error
    for others."""
    numpy = sys.modules.get("numpy")
    if unlike is None or numpy is None or not isinstance(other, (numpy.ndarray, numpy.generic, list, tuple)):
        raise error
    return hand_over_method("__ne__" if unlike else "__eq__", array, (other,), {}, error)


def beside(function: Callable[..., Any], array: Any, other: Any, reflected: bool = False) -> Any:
    """The operator beside an object that is no array: element by element, as NumPy does it where it is installed. A
    scalar that carries more than its number takes the object for a number, if it is one."""
    if isinstance(other, (str, bytes)) or _asks_itself(other):
        return NotImplemented
    if type(array) is not Composition:
        if other is None or hasattr(type(other), "__len__"):  # sequences, which Python repeats as often as an int says
            return NotImplemented
        if array._carries:
            if not hasattr(type(other), "__float__"):
                return NotImplemented
            other = float(other)
        elif leaves_it_to(array, other) or not has_numpy():
            return NotImplemented
        return function(other, array) if reflected else function(array, other)
    if leaves_it_to(array, other) or not has_numpy():
        return NotImplemented
    return function(other, array) if reflected else function(array, other)


def into(function: Any, array: Any, other: Any) -> Any:
    """The operator in place beside such an object."""
    if isinstance(other, (str, bytes)) or _asks_itself(other) or leaves_it_to(array, other) or not has_numpy():
        return NotImplemented
    return function._general((array, other), array)


def _asks_itself(other: Any) -> bool:
    """Whether an object is asked by NumPy's ufuncs itself."""
    return getattr(type(other), "__array_ufunc__", None) is not None
