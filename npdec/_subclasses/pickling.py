"""Pickles of arrays of a program's own classes: `__reduce__` and `__setstate__`, to which a class adds its own."""

from __future__ import annotations

import math
from typing import Any

from npdec._array import wrap
from npdec._array.construct import construct
from npdec._array.convert import as_tensor
from npdec._subclasses.array import adopt

__all__ = ["reconstructed", "reduced", "set_state"]

_VERSION = 1


def reduced(array: Any) -> tuple[Any, ...]:
    """How an array of a subclass is pickled: as in NumPy, the third item is a tuple, to which a class may add what it
    holds, and which `__setstate__` is given."""
    plain = array._p
    state = (_VERSION, plain.shape, plain.dtype, plain.flags.fnc, plain)
    return reconstructed, (type(array), (0,), b"b"), state


def reconstructed(cls: type, shape: Any, code: Any) -> Any:
    """An array of a subclass that `__setstate__` is going to fill."""
    return adopt(cls, construct(shape, bool, None, 0, None, None), None)


def set_state(array: Any, state: Any) -> None:
    """Give an array what `reduced` has made of another, or NumPy, whose state ends in the bytes of the elements."""
    held = state[4] if isinstance(state, tuple) and len(state) == 5 else None
    if isinstance(held, bytes):
        _, shape, dtype, in_columns, _ = state
        if len(held) != math.prod(shape) * dtype.itemsize:
            raise ValueError("buffer size does not match array size")
        held = construct(shape, dtype, bytearray(held), 0, None, "F" if in_columns else "C").copy()
    if not isinstance(held, wrap.ARRAY):
        raise TypeError(f"__setstate__: the state of an array is what its __reduce__ gave, a tuple of 5, not {state!r}")
    array._p = wrap.wrap_array(as_tensor(held))
    array._b = None
