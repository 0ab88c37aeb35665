"""What is an array, for `isinstance` and `issubclass`."""

from __future__ import annotations

import sys
from abc import ABCMeta
from types import FunctionType
from typing import Any

from npdec._array import wrap
from npdec._core import door

__all__ = ["ArrayType"]


class ArrayType(ABCMeta):
    """The type of the class of arrays: NumPy's arrays, of what torch cannot hold, are arrays too.

    Classes that programs derive from that class are of Python's own `type`, as they are in NumPy, or of the metaclass
    of their other bases: a program may derive from them in turn with a metaclass of its own. Between them and the class
    of arrays stands `npdec._subclasses.array.Subclassed`. (Python looks for the metaclass before it asks anybody: so
    that a class can derive from arrays and from an abstract class, this is a class of Python's metaclass of those.)
    """

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **more: Any) -> Any:
        if wrap.ARRAY not in bases:
            return super().__new__(cls, name, bases, namespace, **more)
        root = door.subclasses.value().Subclassed
        bases = tuple(root if base is wrap.ARRAY else base for base in bases)
        if cls is not ArrayType:
            return super().__new__(cls, name, bases, namespace, **more)
        abstract = any(getattr(item, "__isabstractmethod__", False) for item in namespace.values())
        return (ABCMeta if abstract else type)(name, bases, namespace, **more)

    def __getattribute__(cls, name: str) -> Any:
        """What is taken from the class to be called with an array, `np.ndarray.copy(x)`, takes those of classes that
        programs derive as well. Arrays do not look for their own methods here."""
        found = super().__getattribute__(name)
        if cls is wrap.ARRAY and isinstance(found, (FunctionType, property)):
            return door.subclasses.value().of_both(name, found)
        return found

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
