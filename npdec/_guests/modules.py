"""Modules of NumPy for what torch cannot hold (text, records, masked arrays, ...) as modules of npdec.

Their functions take npdec's arrays and give npdec's of what torch can hold; their classes are NumPy's own.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

from npdec._core.installed_numpy import numpy_or_none
from npdec._core.tracebacks import cut
from npdec._guests import calls
from npdec._guests.exchange import received
from npdec.exceptions import MissingNameError

__all__ = ["facade", "published"]


def _theirs(module: str) -> Any:
    numpy = numpy_or_none()
    if numpy is None:
        raise ImportError(f"np.{module} is done by NumPy itself: install NumPy")
    return importlib.import_module(f"numpy.{module}") if module else numpy


def published(module: str, name: str) -> Any:
    """The object of NumPy's module as npdec gives it: a function takes and gives npdec's arrays, a class is NumPy's."""
    found = getattr(_theirs(module), name)
    if isinstance(found, type | types.ModuleType) or not callable(found):
        return found if isinstance(found, types.ModuleType) else received(found)
    functions = (types.FunctionType, types.BuiltinFunctionType, _theirs("").ufunc)
    if not isinstance(found, functions) and not hasattr(found, "__wrapped__"):
        return found  # an object that can be called, with methods of its own
    where = f"{module}.{name}" if module else name

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return calls.run(where, found, args, kwargs)
        except Exception as error:
            raise cut(error)  # noqa: B904

    functools.update_wrapper(call, found)
    call.__name__ = call.__qualname__ = name
    call.__module__ = f"npdec.{module}" if module else "npdec"
    call.__doc__ = f"numpy.{where}, which documents it, on the host: what torch can hold comes back as npdec's."
    return call


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
