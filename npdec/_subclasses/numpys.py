"""NumPy's functions that are written in Python, of which each step is a function or a ufunc of npdec's.

A class that computes ufuncs itself, or wraps what they give, sees the steps of `np.diff` or `np.trapezoid`: its units
come of them. Which these are, nobody knows better than the installed NumPy. So its own function is run, over npdec's
names in place of NumPy's: what is public there becomes npdec's of that name, private functions of Python the same in
their turn. A function that needs anything else (a loop written in C) is not made so, and the class of its result comes
of `npdec._subclasses.table`, as it does without NumPy.
"""

from __future__ import annotations

import builtins
import dis
import functools
import importlib
import operator
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from npdec._array import wrap
from npdec._core.installed_numpy import has_numpy, numpy_or_none
from npdec._core.tags import NoValue
from npdec._subclasses.converter import Converter

__all__ = ["composed"]

DELEGATES_TO_NUMPY = True

_PUBLIC = ("", "exceptions", "fft", "lib", "lib.array_utils", "lib.stride_tricks", "linalg")
_LOADED = ("LOAD_ATTR", "LOAD_METHOD")

# What gives no arrays, and what asks a method of the array.
_APART = frozenset("save savez savez_compressed array_repr einsum_path set_printoptions info put".split())
_BY_METHODS = ("_wrapfunc", "_wrapreduction", "_wrapreduction_any_all")


class _NotPublicError(Exception):
    """A name of NumPy's that npdec has nothing for."""


@functools.cache
def composed(name: str) -> Callable[..., Any] | None:
    """NumPy's function of a dotted name, made of npdec's functions; None where it cannot be, and without NumPy."""
    if not has_numpy() or name in _APART:
        return None
    try:
        theirs = operator.attrgetter(name)(numpy_or_none())
    except AttributeError:
        return None
    theirs = getattr(theirs, "_implementation", theirs)
    if not isinstance(theirs, types.FunctionType):
        return None
    try:
        made: Callable[..., Any] = _Translation().function(theirs)
    except _NotPublicError:
        return None
    return made


@functools.cache
def _places() -> Mapping[int, tuple[str, str]]:
    """The module and the name of NumPy's public objects, by their identity."""
    found: dict[int, tuple[str, str]] = {}
    for module in _PUBLIC:
        for name, item in vars(importlib.import_module(f"numpy.{module}" if module else "numpy")).items():
            # (an iterator of npdec's has no views of its operands)
            if name.startswith("_") or name == "nditer" or isinstance(item, types.ModuleType):
                continue
            found.setdefault(id(item), (module, name))
            bare = getattr(item, "_implementation", None)
            if isinstance(bare, types.BuiltinFunctionType):
                found.setdefault(id(bare), (module, f"{name}._implementation"))
    return types.MappingProxyType(found)


@functools.cache
def _private() -> Mapping[int, Any]:
    """What stands for private objects of NumPy's, written in C."""
    umath: Any = importlib.import_module("numpy._core._multiarray_umath")
    return {
        id(umath._array_converter): Converter,
        id(umath._unique_hash): lambda *args, **kwargs: NotImplemented,  # NumPy goes on without it then
        id(importlib.import_module("numpy")._NoValue): NoValue,
    }


def _public(module: str, name: str) -> Any:
    """What npdec has of this name. _NotPublicError if it has nothing."""
    try:
        return operator.attrgetter(f"{module}.{name}".removeprefix("."))(wrap.NAMESPACE.value)
    except AttributeError:
        raise _NotPublicError(name) from None


def _numpy_array() -> type:
    cls: type = importlib.import_module("numpy").ndarray
    return cls


def _is_numpys(name: str | None) -> bool:
    return name is not None and name.partition(".")[0] == "numpy"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of those within it."""
    yield code
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            yield from _codes(item)


class _Module(types.ModuleType):
    """A module of NumPy's, with npdec's in place of what it has."""

    def __init__(self, theirs: types.ModuleType, translation: _Translation) -> None:
        super().__init__(theirs.__name__)
        self.__dict__["_translated"] = lambda name: translation.of(getattr(theirs, name))

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__["_translated"](name)
        setattr(self, name, found)
        return found


class _Translation:
    """One public function, and all private ones that it is made of."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def of(self, item: Any) -> Any:
        """What stands for an object that a function of NumPy's names."""
        made: Any
        if id(item) in self._made:
            return self._made[id(item)]
        if id(item) in _private():
            return _private()[id(item)]
        if id(item) in _places():
            return _public(*_places()[id(item)])
        if isinstance(item, types.ModuleType):
            made = _Module(item, self) if _is_numpys(item.__name__) else item
        elif isinstance(item, types.FunctionType) and _is_numpys(item.__module__):
            return self.function(item)
        elif type(item) in (tuple, list):
            made = type(item)(self.of(x) for x in item)
        elif type(item) is dict:
            made = {self.of(key): self.of(x) for key, x in item.items()}
        elif isinstance(item, type) and issubclass(item, (tuple, Exception, _numpy_array())):
            made = item  # several results with names, an error, a kind of guest
        elif _is_numpys(getattr(item, "__module__", type(item).__module__)):
            raise _NotPublicError(repr(item))
        else:
            made = item
        self._made[id(item)] = made
        return made

    def function(self, theirs: types.FunctionType) -> Any:
        """The function with the same code, over npdec's names."""
        if theirs.__closure__ or theirs.__name__ in _BY_METHODS:
            raise _NotPublicError(repr(theirs))
        names: dict[str, Any] = {"__builtins__": self._builtins(), "__name__": theirs.__module__}
        made: Any = types.FunctionType(theirs.__code__, names, theirs.__name__)
        self._made[id(theirs)] = made  # before what it names: functions call themselves
        made.__defaults__ = self.of(theirs.__defaults__)
        options = theirs.__kwdefaults__
        made.__kwdefaults__ = None if options is None else {name: self.of(x) for name, x in options.items()}
        for code in _codes(theirs.__code__):
            self._name_all(code, theirs.__globals__, names)
        return made

    def _name_all(self, code: types.CodeType, theirs: Mapping[str, Any], names: dict[str, Any]) -> None:
        steps = list(dis.get_instructions(code))
        for place, step in enumerate(steps):
            if step.opname not in ("LOAD_GLOBAL", "LOAD_NAME") or step.argval not in theirs:
                continue
            item = theirs[step.argval]
            names[step.argval] = self.of(item)
            while isinstance(item, types.ModuleType) and _is_numpys(item.__name__):
                place += 1  # which of its names the code means: asked for now, so that a call does not stop half-way
                if steps[place].opname not in _LOADED:
                    break
                item = getattr(item, steps[place].argval)
                self.of(item)

    def _builtins(self) -> dict[str, Any]:
        def imported(name: str, *args: Any) -> Any:
            module = builtins.__import__(name, *args)
            return self.of(module)

        return {**vars(builtins), "__import__": imported}
