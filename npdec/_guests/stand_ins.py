"""The module of npdec that stands for a module of NumPy."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

from npdec._array import wrap
from npdec._core.installed_numpy import numpy_or_none
from npdec._guests.modules import standing

__all__ = ["imported", "is_numpy", "is_within", "module_for", "npdec_name"]


def is_within(name: str, package: str) -> bool:
    """Whether a dotted name is that of a package, or of what is in it."""
    return f"{name}.".startswith(f"{package}.")


def is_numpy(name: str) -> bool:
    """Whether a dotted name is NumPy, or one of its modules."""
    return is_within(name, "numpy")


def npdec_name(name: str) -> str:
    """The dotted name of the module of npdec that stands for one of NumPy's."""
    below = name.removeprefix("numpy")
    return f"npdec{'.core' + below.removeprefix('._core') if below.startswith('._core') else below}"


def module_for(name: str) -> types.ModuleType:
    """The module of npdec for `numpy…`. One that npdec does not have, a private one for the most part, is made of
    NumPy's: its names are npdec's where they are public. ModuleNotFoundError if there is none."""
    ours = npdec_name(name)
    if ours in sys.modules:
        return sys.modules[ours]
    above, _, last = ours.rpartition(".")
    parent = module_for(f"numpy{above.removeprefix('npdec')}")
    if ours in sys.modules:  # its package has brought it
        return sys.modules[ours]
    if not last.startswith("_") and _has(parent, ours):
        return importlib.import_module(ours)
    numpy_or_none()
    try:
        theirs = importlib.import_module(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"No module named {name!r} (numpy is npdec here)", name=name) from None
    made = sys.modules[ours] = standing(theirs.__name__)
    if not hasattr(parent, last):
        setattr(parent, last, made)
    return made


def _has(parent: Any, name: str) -> bool:
    return hasattr(parent, "__path__") and importlib.util.find_spec(name) is not None


def imported(name: str, wanted: Sequence[str] | None) -> types.ModuleType:
    """What an import statement of a module of NumPy's gives: `wanted` are the names behind `from … import`."""
    module = module_for(name)
    if not wanted:
        namespace: types.ModuleType = wrap.NAMESPACE.value
        return namespace
    for item in wanted:
        if item == "*":
            return _starred(module, name)
        if not hasattr(module, item):
            try:
                module_for(f"{name}.{item}")
            except ModuleNotFoundError:
                continue  # Python says that there is no such name
    return module


def _starred(module: types.ModuleType, name: str) -> types.ModuleType:
    """The module with no more public names than NumPy's: a program does not expect others."""
    theirs = importlib.import_module(name) if numpy_or_none() is not None else module
    public = getattr(theirs, "__all__", None) or [item for item in dir(theirs) if not item.startswith("_")]
    found = {item: getattr(module, item) for item in public if hasattr(module, item)}
    made = types.ModuleType(module.__name__, module.__doc__)
    vars(made).update(found, __all__=list(found))
    return made
