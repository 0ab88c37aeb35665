"""The arguments of a call as npdec computes with them: plain arrays for those of a program's own classes."""

from __future__ import annotations

from typing import Any

from npdec._array import wrap
from npdec._array.convert import MAX_NDIM, as_tensor
from npdec._core.base import ArrayBase, SubclassBase
from npdec._core.containers import refilled

__all__ = ["Plain", "as_array"]


class Plain:
    """Arguments of one call, made plain one after the other. `met` are the arrays of subclasses among them."""

    def __init__(self) -> None:
        self.met: list[Any] = []
        self._depth = 0

    def __call__(self, x: Any) -> Any:
        """One argument; in containers, its items."""
        if isinstance(x, SubclassBase):
            self.met.append(x)
            return x._p
        kind = type(x)
        if kind is slice:
            bounds = [self(x.start), self(x.stop), self(x.step)]
            return slice(*bounds)
        if isinstance(x, dict):
            named = {key: self(item) for key, item in x.items()}
            return x if all(named[key] is item for key, item in x.items()) else named
        if not isinstance(x, (list, tuple)) or self._depth >= MAX_NDIM:  # a list may contain itself
            return x
        self._depth += 1
        items = [self(item) for item in x]
        self._depth -= 1
        if all(a is b for a, b in zip(items, x, strict=True)):
            return x
        return refilled(x, items)

    def origin(self, array: Any) -> Any:
        """The array of a subclass before which a plain one stands among the arguments; None if there is none."""
        return next((x for x in self.met if x._p is array), None)


def as_array(result: Any) -> Any:
    """A result as an array, where it is a scalar."""
    if type(result) is wrap.ARRAY or not isinstance(result, ArrayBase):
        return result
    return wrap.wrap_array(as_tensor(result))
