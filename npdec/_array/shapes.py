"""Axes and shapes, as callers pass them."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["as_axis", "as_shape"]


def as_axis(obj: Any) -> Any:
    """None, an int, or a tuple of ints, as given. Raises TypeError for anything that is no integer.

    >>> as_axis([0, -1])
    (0, -1)
    """
    if obj is None or type(obj) is int:
        return obj
    if isinstance(obj, (tuple, list, range)):
        return tuple(map(_integer, obj))
    if getattr(obj, "ndim", 0) == 1:
        return tuple(map(_integer, obj))
    return _integer(obj)


def _integer(obj: Any) -> int:
    """An int, from anything that is one. True is none, here as in NumPy."""
    if obj is True or obj is False:
        raise TypeError(f"an integer is required, not {obj}")
    return operator.index(obj)


def as_shape(obj: Any) -> tuple[int, ...]:
    """A shape: a tuple of ints from an integer or from a sequence of them. Sizes are not checked.

    >>> as_shape(3), as_shape([2, -1])
    ((3,), (2, -1))
    """
    if type(obj) is int:
        return (obj,)
    if isinstance(obj, (tuple, list)):
        for item in obj:
            if type(item) is not int:
                return tuple(map(_integer, obj))
        return tuple(obj)
    if isinstance(obj, (str, bytes)) or not hasattr(obj, "__getitem__") or getattr(obj, "ndim", 1) == 0:
        return (_integer(obj),)
    if isinstance(obj, dict):
        raise TypeError(f"expected a sequence of integers or a single integer, got '{obj}'")
    return tuple(map(_integer, obj))
