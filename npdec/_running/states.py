"""What npdec has for a name of NumPy: an implementation of its own, NumPy's, or nothing, with the reason."""

from __future__ import annotations

import inspect
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any

import npdec
from npdec import exceptions
from npdec._core.absent import ABSENT
from npdec._core.installed_numpy import has_numpy, numpy_or_none
from npdec._guests import kinds
from npdec._guests.stand_ins import is_within
from npdec.exceptions import AbsentError

__all__ = ["find", "functions_of", "is_delegated", "reason", "state"]

_GUESTS = ("char", "ctypeslib", "lib.recfunctions", "ma", "rec", "strings")  # modules of what torch cannot hold


def find(lib: Any, dotted: str) -> Any:
    """The object of a dotted name; AttributeError if there is none."""
    return operator.attrgetter(dotted)(lib) if dotted else lib


def reason(owner: Any, dotted: str, name: str) -> str | None:
    """Why npdec lacks a name: what its error says, or what is written for it; None if nothing says."""
    try:
        getattr(owner, name)
    except AbsentError as error:
        return str(error).partition(": ")[2]
    except (AttributeError, ModuleNotFoundError):
        pass
    parts = f"{dotted}.{name}".removeprefix(".").split(".")
    found = (ABSENT.get(".".join(parts[:i])) for i in range(len(parts), 0, -1))
    return next((text for text in found if text is not None), None)


def functions_of(item: Any) -> Iterator[types.FunctionType]:
    """The Python functions that an object runs, unwrapped: of a class its own methods."""
    if isinstance(item, property):
        yield from functions_of(item.fget)
        return
    item = inspect.unwrap(item) if callable(item) and not isinstance(item, type) else item
    for part in (item, getattr(item, "__func__", None), getattr(item, "__kernel__", None)):
        if isinstance(part, types.FunctionType):
            yield part


def _home(item: Any) -> str:
    """The module in which an object is defined."""
    for function in functions_of(item):
        if "__name__" in function.__globals__:
            return str(function.__globals__["__name__"])
    if callable(item) and not isinstance(item, type):
        item = inspect.unwrap(item)
    return str(getattr(item, "__module__", None) or getattr(type(item), "__module__", ""))


def _declared(module: str, name: str) -> bool:
    said = getattr(sys.modules.get(module), "DELEGATES_TO_NUMPY", ())
    return said is True or (said is not False and name in said)


def is_delegated(owner: Any, name: str, item: Any) -> bool:
    """Whether the installed NumPy does what a name of a module or a class of npdec does."""
    homes = [base.__module__ for base in item.__mro__] if isinstance(item, type) else [_home(item)]
    if isinstance(item, types.ModuleType):
        homes = [item.__name__]
    if homes[0].partition(".")[0] == "numpy":
        return getattr(exceptions, name, None) is not item  # those npdec has without NumPy too
    if isinstance(owner, types.ModuleType):
        homes.append(owner.__name__)
    return any(_declared(module, name) for module in homes)


def _missing(dotted: str) -> str:
    numpy = numpy_or_none()
    try:
        find(numpy, dotted)
    except AttributeError:
        return "npdec has no such name" if numpy is None else f"NumPy {numpy.__version__} has no such name either"
    return "npdec has no such name"


def state(dotted: str) -> tuple[str, str]:
    """`native`, `guest`, `delegated` or `absent` for a dotted name below `numpy`, and the reason of an absent one.

    >>> state("linalg.norm"), state("datetime64"), state("savetxt")[0]
    (('native', ''), ('guest', ''), 'delegated')
    """
    if dotted in kinds.NAMES or any(is_within(dotted, module) for module in _GUESTS):
        return ("guest", "") if has_numpy() else ("absent", "it is NumPy's own array: install NumPy")
    module, _, name = dotted.rpartition(".")
    try:
        owner = find(npdec, module)
        item = getattr(owner, name)
    except (AttributeError, ModuleNotFoundError):
        owner = None
    if owner is None:
        return "absent", reason(npdec, module, name) or _missing(dotted)
    return ("delegated" if is_delegated(owner, name, item) else "native"), ""
