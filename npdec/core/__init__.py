"""`np.core`: names of NumPy's private modules that libraries import from (`numpy.core`, `numpy._core`).

A name that the main namespace has is npdec's; any other is NumPy's own, a function as one that takes and gives npdec's
arrays. Each of the modules can be imported (`npdec.core.multiarray`).
"""

from __future__ import annotations

import sys
import types
from typing import Any

from npdec._array import wrap
from npdec._core.installed_numpy import numpy_or_none
from npdec._guests.modules import standing_name

DELEGATES_TO_NUMPY = True

_MODULES = (
    "_dtype", "_exceptions", "_internal", "_methods", "_multiarray_umath", "_type_aliases", "_ufunc_config",
    "arrayprint", "defchararray", "einsumfunc", "fromnumeric", "function_base", "getlimits", "memmap", "multiarray",
    "numeric", "numerictypes", "overrides", "records", "shape_base", "umath",
)  # fmt: skip


def _found(module: str, name: str) -> Any:
    """The object of the name in NumPy's private module, npdec's if it is public. AttributeError if there is none."""
    where = f"_core.{module}" if module else "_core"
    numpy, ours = numpy_or_none(), wrap.NAMESPACE.value
    absent = AttributeError(f"module 'npdec.{where[1:]}' has no attribute {name!r}")
    if name.startswith("__"):
        raise absent
    if numpy is not None:
        return standing_name(where, name)
    if name.startswith("_") or not hasattr(ours, name):
        raise absent
    return getattr(ours, name)


class _Private(types.ModuleType):
    """A module that stands for a private one of NumPy's."""

    def __getattr__(self, name: str) -> Any:
        found = _found(self.__name__.rpartition(".")[2], name)
        setattr(self, name, found)
        return found


def __getattr__(name: str) -> Any:
    return _found("", name)


for _name in _MODULES:
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _Private(
        f"{__name__}.{_name}", f"What `numpy._core.{_name}` has, of npdec's where that is public."
    )
