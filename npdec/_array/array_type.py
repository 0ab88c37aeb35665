"""What is an array, for `isinstance` and `issubclass`."""

from __future__ import annotations

import sys
from typing import Any

from npdec._array import wrap

__all__ = ["ArrayType"]


class ArrayType(type):
    """The type of the class of arrays: NumPy's arrays, of what torch cannot hold, are arrays too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(instance, numpy.ndarray) and cls is wrap.ARRAY

    def __subclasscheck__(cls, other: Any) -> bool:
        if type.__subclasscheck__(cls, other):
            return True
        numpy = sys.modules.get("numpy")
        return numpy is not None and cls is wrap.ARRAY and issubclass(other, numpy.ndarray)
