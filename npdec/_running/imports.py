"""The import statement of the modules in which numpy is npdec.

An `import` statement calls the `__import__` that it finds in the builtins of the module it stands in. So the modules
that are chosen are executed with builtins of their own, whose `__import__` answers `numpy` with npdec, and passes
everything else to Python. This decides by the module that imports, and nothing else: at the top of a file, within a
function that is called later, in text that is given to `exec`, in the examples of a docstring. What other modules
import, `sys.modules` and `builtins.__import__` stay as they are, so that SciPy, pandas or matplotlib get NumPy even
when a chosen module is the first to import them.

`importlib.import_module("numpy")` and `pytest.importorskip("numpy")` name the module in a string; a chosen module finds
in `importlib` and `pytest` functions that read it in its way.

The builtins are a copy, one for the process. A test that replaces a function of `builtins` means the chosen modules
too, so what is set there is set in the copy.
"""

from __future__ import annotations

import builtins
import functools
import importlib.machinery
import re
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from npdec._array import wrap
from npdec._guests.kinds import NAMES
from npdec._guests.stand_ins import imported, is_numpy, module_for, npdec_name

__all__ = ["fill_if_listed", "own_builtins"]

_LISTING = re.compile(rb"\b(_?np\w*|numpy[\w.]*)\.__dict__|\bvars\((_?np\w*|numpy[\w.]*)\)")

# Functions that are given the name of a module, by the module that has them.
_BY_NAME = {"importlib": "import_module", "pytest": "importorskip"}


def _import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> types.ModuleType:
    __tracebackhide__ = True  # where pytest shows the traceback of an import that fails
    if not level and is_numpy(name):
        if type(fromlist) is list:  # PyImport_Import, which C calls, finds the module in sys.modules then
            builtins.__import__(name, globals, locals, fromlist)
        return imported(name, fromlist)
    module = builtins.__import__(name, globals, locals, fromlist or (), level)
    return _reading(module) if module.__name__ in _BY_NAME and not level else module


@functools.cache
def _reading(module: types.ModuleType) -> types.ModuleType:
    """importlib or pytest, whose function that takes the name of a module takes numpy for npdec."""
    made = _Reading(module.__name__, module.__doc__)
    function = _BY_NAME[module.__name__]
    vars(made).update({name: value for name, value in vars(module).items() if name != function})
    vars(made).update(_theirs=module, **{function: _by_name(module, function)})
    return made


class _Reading(types.ModuleType):
    """A module that gives what another has."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_theirs"], name)


def _by_name(module: types.ModuleType, function: str) -> Callable[..., Any]:
    def call(name: str, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if isinstance(name, str) and is_numpy(name):
            module_for(name)
            name = npdec_name(name)
        return getattr(module, function)(name, *args, **kwargs)

    return functools.update_wrapper(call, getattr(module, function))


class _Builtins(types.ModuleType):
    """The module `builtins`, once there is a copy of what it has."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name != "__import__":  # the copy's own calls it
            vars(own_builtins())[name] = value

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        vars(own_builtins()).pop(name, None)


@functools.cache
def own_builtins() -> types.ModuleType:
    """The builtins of the modules in which numpy is npdec."""
    made = types.ModuleType("builtins", builtins.__doc__)
    vars(made).update(vars(builtins), __import__=_import)
    builtins.__class__ = _Builtins
    return made


def fill_if_listed(source: bytes | importlib.machinery.ModuleSpec) -> None:
    """Make all names of npdec, most of which are made when they are first asked for, for a file, or the module of a
    specification, that looks through `np.__dict__` or `vars(np)`."""
    if isinstance(source, importlib.machinery.ModuleSpec):
        known = source.has_location and str(source.origin).endswith(".py")
        source = Path(str(source.origin)).read_bytes() if known else b""
    if _LISTING.search(source):
        top = wrap.NAMESPACE.value
        for module, names in (
            (top, (*top.__all__, *NAMES)),
            (top.linalg, top.linalg.__all__),
            (top.fft, top.fft.__all__),
        ):
            for name in names:
                getattr(module, name, None)
