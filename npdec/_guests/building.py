"""Arrays of objects from nested sequences in which scalars and arrays of npdec's are elements."""

from __future__ import annotations

from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import MAX_NDIM
from npdec._array.generic import generic
from npdec._array.host_numpy import host_array
from npdec._core.base import ArrayBase
from npdec._core.installed_numpy import numpy_or_none
from npdec._guests.array import as_plain, guest_class
from npdec._guests.exchange import as_objects

__all__ = ["array_of_objects", "holds_ours"]


class _Held:
    """A scalar on its way into an array of objects: NumPy would look into it."""

    __slots__ = ("scalar",)

    def __init__(self, scalar: Any) -> None:
        self.scalar = scalar


def holds_ours(x: Any, depth: int = 0) -> bool:
    """Whether an array or a scalar of npdec's is among the items of nested lists and tuples."""
    if isinstance(x, (ArrayBase, torch.Tensor)):
        return True
    return isinstance(x, (list, tuple)) and depth < MAX_NDIM and any(holds_ours(item, depth + 1) for item in x)


def array_of_objects(items: Any, **options: Any) -> Any:
    """NumPy's array of objects of a nested sequence: scalars of npdec's are elements as they are, arrays are taken
    apart where NumPy takes arrays apart, and elements elsewhere."""
    numpy: Any = numpy_or_none()
    arrays: dict[int, tuple[Any, Any]] = {}

    def boxed(x: Any) -> Any:
        if isinstance(x, generic):
            return _Held(x)
        if isinstance(x, (ArrayBase, torch.Tensor)):
            tensor = x._t if isinstance(x, ArrayBase) else x
            plain = wrap.is_on_host(tensor)
            made = host_array("array", tensor) if plain else as_objects(x)
            arrays[id(made)] = made, x
            return made
        if type(x) in (list, tuple):
            return type(x)([boxed(item) for item in x])
        return as_plain(x) if type(x) is guest_class() else x

    made = numpy.array(boxed(items), dtype=object, **options)
    flat = made.reshape(-1)
    for i, x in enumerate(flat):
        if type(x) is _Held:
            flat[i] = x.scalar
        elif id(x) in arrays and arrays[id(x)][0] is x:
            flat[i] = arrays[id(x)][1]
    return made if made.flags.c_contiguous else flat.reshape(made.shape)
