"""What is an array, for `isinstance` and `issubclass`."""

from __future__ import annotations

import sys
from typing import Any

from npdec._array import wrap
from npdec._core import door

__all__ = ["ArrayType"]


class ArrayType(type):
    """The type of the class of arrays: NumPy's arrays, of what torch cannot hold, are arrays too. Between that class
    and one that a program derives from it stands `npdec._subclasses.array.Subclassed`."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, between: bool = False, **more: Any
    ) -> ArrayType:
        if not between and wrap.ARRAY in bases:
            root = door.subclasses.value().Subclassed
            bases = tuple(root if base is wrap.ARRAY else base for base in bases)
        return super().__new__(cls, name, bases, namespace, **more)

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, between: bool = False, **more: Any
    ) -> None:
        super().__init__(name, bases, namespace, **more)

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
