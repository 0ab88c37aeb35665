"""Names that a module declares, and a later one in the order of imports gives their meaning: once.

What an array is computed with, say, needs the class of arrays, which is defined after all that it is computed with.
"""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Slot"]

T = TypeVar("T")


class Slot(Generic[T]):
    """A place for one object. `value` raises AttributeError before it is filled.

    >>> from npdec._core.slots import Slot
    >>> namespace = Slot("namespace")
    >>> namespace.fill("npdec")
    >>> namespace.value
    'npdec'
    """

    value: T

    def __init__(self, name: str) -> None:
        self.name = name
        self.filled = False

    def fill(self, value: T) -> None:
        """Give the slot its meaning. Raises RuntimeError if it has one."""
        if self.filled:
            raise RuntimeError(f"the slot {self.name!r} is filled already")
        self.value, self.filled = value, True
