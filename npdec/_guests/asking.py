"""Objects of other libraries that compute functions or ufuncs themselves (`__array_function__`, `__array_ufunc__`):
what they are asked before their numbers are taken.

A class of a program or a library that is written for npdec is asked with npdec's function and the arguments as they
are. Any other knows NumPy: its objects are guests, and the call is left as a whole to NumPy's function, which asks
them. Beside arrays that carry more than numbers their numbers are taken, so that nothing is lost.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import MAX_NDIM, as_tensor
from npdec._array.foreign_arrays import asks_functions, asks_ufuncs
from npdec._array.generic import generic
from npdec._core.base import ArrayBase, UfuncBase, plain_of
from npdec._core.containers import refilled
from npdec._core.door import subclasses
from npdec._core.installed_numpy import numpy_or_none
from npdec._core.tags import NoValue
from npdec._impl import _util
from npdec._torch.tracing import recording
from npdec.exceptions import AbsentDTypeError

__all__ = ["by_function", "by_method", "by_ufunc"]


def by_function(public: Any, found: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call of a public function gives that has met such objects; NoValue where NumPy's function, `found`, is to
    give it."""
    items = tuple(_items((args, kwargs)))
    if found is None or any(asks_functions(x) and _knows_npdec(_class(x), "__array_function__") for x in items):
        made = subclasses.value().overridden(public, args, kwargs)
        if made is not NoValue:
            return made
    if found is None or _carry(items):
        return public(*_arrays(args), **_arrays(kwargs))
    return NoValue


def by_method(name: str, found: Any, array: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same of a method of npdec's array, for which nobody is asked but by the ufuncs that it is made of."""
    if found is None or _carry((array, *_items((args, kwargs)))):
        return getattr(array, name)(*_arrays(args), **_arrays(kwargs))
    return NoValue


def by_ufunc(function: UfuncBase, method: str, found: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same of a ufunc or its method."""
    items = tuple(_items((args, kwargs)))
    if found is None or any(asks_ufuncs(x) and _knows_npdec(_class(x), "__array_ufunc__") for x in items):
        made = subclasses.value().asked(function, method, args, kwargs)
        if made is not NoValue:
            return made
    if found is None or _carry(items):
        return getattr(function, method)(*_arrays(args), **_arrays(kwargs))
    return NoValue


def _class(x: Any) -> Any:
    return type(x)


@functools.lru_cache(256)
def _knows_npdec(kind: Any, protocol: str) -> bool:
    """Whether the class that has the protocol is written for npdec: its module names it, or something of it."""
    owner = next((cls for cls in kind.__mro__ if protocol in vars(cls)), None)
    if owner is None:
        return False
    method = vars(owner)[protocol]
    module = sys.modules.get(owner.__module__)
    names = method.__globals__ if isinstance(method, FunctionType) else {} if module is None else vars(module)
    return any(_is_npdecs(x) for x in list(names.values()))


def _is_npdecs(x: Any) -> bool:
    if isinstance(x, ModuleType):
        name = x.__name__
    elif isinstance(x, (type, FunctionType, UfuncBase)):
        name = x.__module__
    else:
        return False
    return isinstance(name, str) and name.partition(".")[0] == "npdec"


def _items(x: Any, depth: int = 0) -> Iterator[Any]:
    """All that stands in nested lists, tuples and dictionaries."""
    if isinstance(x, dict):
        x = tuple(x.values())
    if isinstance(x, (list, tuple)) and depth < MAX_NDIM:
        for item in x:
            yield from _items(item, depth + 1)
    else:
        yield x


def _carry(items: tuple[Any, ...]) -> bool:
    """Whether one of npdec's arrays has what NumPy's cannot have: contributions, a graph, another device; or the call
    is recorded."""
    for x in items:
        if isinstance(x, generic):
            if x._carries:
                return True
        elif isinstance(x, (ArrayBase, torch.Tensor)):
            tensor = plain_of(x)._t if isinstance(x, ArrayBase) else x
            if recording.get() is not None or not _util.are_numbers(tensor):
                return True
    return False


def _arrays(x: Any, depth: int = 0) -> Any:
    """The arguments with arrays for such objects."""
    if isinstance(x, dict):
        return {key: _arrays(item, depth) for key, item in x.items()}
    if isinstance(x, (list, tuple)):
        return refilled(x, [_arrays(item, depth + 1) for item in x]) if depth < MAX_NDIM else x
    if not asks_functions(x):
        return x
    try:
        return wrap.wrap_array(as_tensor(x))
    except AbsentDTypeError:  # of text, objects, ...
        numpy: Any = numpy_or_none()
        if numpy is None:
            raise
        return numpy.asarray(x)
