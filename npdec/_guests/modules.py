"""Modules of NumPy for what torch cannot hold (text, records, masked arrays, ...) as modules of npdec.

Their functions take npdec's arrays and give npdec's of what torch can hold; their classes are NumPy's own.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import types
from collections.abc import Callable
from typing import Any

from npdec._array import wrap
from npdec._core.installed_numpy import numpy_or_none
from npdec._core.tags import NoValue
from npdec._core.tracebacks import cut
from npdec._core.unbound import FIRST, unbound_of
from npdec._guests import calls
from npdec._guests.exchange import received
from npdec.exceptions import MissingNameError

DELEGATES_TO_NUMPY = True

__all__ = ["Standing", "facade", "published", "standing", "standing_name"]


def _theirs(module: str) -> Any:
    numpy = numpy_or_none()
    if numpy is None:
        raise ImportError(f"np.{module} is done by NumPy itself: install NumPy")
    return importlib.import_module(f"numpy.{module}") if module else numpy


def published(module: str, name: str) -> Any:
    """The object of NumPy's module as npdec gives it: a function takes and gives npdec's arrays, a class is NumPy's."""
    found = getattr(_theirs(module), name)
    if isinstance(found, types.ModuleType):
        return standing(found.__name__) if found.__name__.startswith("numpy.") else found
    if isinstance(found, type) or not callable(found):
        return received(found)
    functions = (types.FunctionType, types.BuiltinFunctionType, _theirs("").ufunc)
    if not isinstance(found, functions) and not hasattr(found, "__wrapped__"):
        return found  # an object that can be called, with methods of its own
    where = f"{module}.{name}" if module else name
    binds = hasattr(type(found), "__get__")
    first = int(not binds)  # before it stands the namespace

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return calls.run(where, found, args[first:], kwargs)
        except Exception as error:
            raise cut(error)  # noqa: B904

    made: Any = functools.update_wrapper(call, found)
    made.__name__ = made.__qualname__ = name
    made.__module__ = f"npdec.{module}" if module else "npdec"
    made.__doc__ = f"numpy.{where}, which documents it, on the host: what torch can hold comes back as npdec's."
    if binds:
        return made
    del made.__wrapped__  # it has not the parameter to which the function is bound
    with contextlib.suppress(ValueError):  # one that has no signature
        before, shown = inspect.Parameter(FIRST, inspect.Parameter.POSITIONAL_ONLY), inspect.signature(found)
        made.__signature__ = shown.replace(parameters=[before, *shown.parameters.values()])
    return unbound_of(made.__module__)(made)


def names(module: str) -> list[str]:
    """The public names of NumPy's module."""
    theirs = _theirs(module)
    return [name for name in getattr(theirs, "__all__", dir(theirs)) if not name.startswith("_")]


def facade(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module of npdec that stands for NumPy's of that name."""

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return names(module)
        if (name.startswith("__") and name.endswith("__")) or not hasattr(_theirs(module), name):
            raise MissingNameError(f"npdec.{module}", name)
        value = published(module, name)
        return vars(importlib.import_module(f"npdec.{module}")).setdefault(name, value)

    def __dir__() -> list[str]:
        return sorted(names(module))

    return __getattr__, __dir__


# --- private modules --------------------------------------------------------------------------------------------------


class Standing(types.ModuleType):
    """A module that stands for one of NumPy's, private for the most part."""

    def __init__(self, name: str, where: str) -> None:
        super().__init__(name, f"What `numpy.{where}` has, of npdec's where that is public.")
        self.__dict__["_where"] = where

    def __getattr__(self, name: str) -> Any:
        found = standing_name(self.__dict__["_where"], name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        there = wrap.NAMESPACE.value if numpy_or_none() is None else _theirs(self.__dict__["_where"])
        return [name for name in dir(there) if not name.startswith("__")]


@functools.cache
def standing(name: str) -> types.ModuleType:
    """A module that stands for NumPy's of a dotted name (`numpy.ma.core`).

    A name that has a public place in a module of NumPy's above it, or in NumPy itself, is npdec's; any other is NumPy's
    own, a function as one that takes and gives npdec's arrays.
    """
    where = name.partition(".")[2]
    return Standing(f"npdec.{where}", where)


def standing_name(where: str, name: str) -> Any:
    """The object of the name in such a module, without NumPy what npdec's namespace has. AttributeError if there is
    none."""
    absent = AttributeError(f"module 'npdec.{where.removeprefix('_')}' has no attribute {name!r}")
    if name.startswith("__"):
        raise absent
    if numpy_or_none() is None:
        if name.startswith("_") or not hasattr(wrap.NAMESPACE.value, name):
            raise absent
        return getattr(wrap.NAMESPACE.value, name)
    theirs = getattr(_theirs(where), name, absent)
    if theirs is absent:
        raise absent
    if theirs is getattr(_theirs(""), "_NoValue", absent):
        return NoValue
    if isinstance(theirs, types.ModuleType):
        return published(where, name)
    parts = where.split(".")
    for i in range(len(parts)):
        above = ".".join(parts[:i])
        ours: Any = wrap.NAMESPACE.value
        for part in parts[:i]:
            ours = getattr(ours, part, None)
        if getattr(_theirs(above), name, absent) is theirs and hasattr(ours, name):
            return getattr(ours, name)
    return published(where, name)
