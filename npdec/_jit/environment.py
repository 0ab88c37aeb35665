"""What a function reads beside its arguments: globals, variables of enclosing functions, defaults.

The function is made again with a world of its own, in which stand-ins take the place of arrays. So recording it changes
nothing outside. What was read is looked at again before the graph is used; what cannot be looked at is refused.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import math
import operator
import os
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import torch

from npdec._core.base import UfuncBase
from npdec._core.unbound import is_unbound
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._jit.classes import copied, is_record, rebuilt
from npdec._jit.later import CALLED, as_float, with_calls
from npdec._jit.numbers import FUNCTIONS, module
from npdec._jit.operations import is_array
from npdec._torch.tracing import Refused

__all__ = ["Environment", "is_atom", "is_fixed_slice", "is_library", "is_of_program", "same"]

Get = Callable[[], Any]

_MISSING = object()
_ATOMS = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, torch.dtype,
    torch.device,
)  # fmt: skip
_PURE = frozenset(
    "math cmath operator functools itertools collections typing typing_extensions dataclasses enum numbers fractions "
    "contextlib abc types string re copy heapq bisect __future__ numpy torch npdec array_api_compat builtins".split()
)
_IMPURE_BUILTINS = frozenset(
    "print input open exec eval compile globals locals vars id setattr delattr breakpoint __import__".split()
)
_FOLDERS = tuple(
    os.path.join(os.path.dirname(module.__file__ or "-"), "") for module in (sys.modules["npdec"], torch, functools)
)
_SITE = os.path.join(sysconfig.get_paths()["purelib"], "")


def same(a: Any, b: Any) -> bool:
    """Whether two constants are of one type and one value: a zero's sign counts, and NaN is itself."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    return repr(a) == repr(b) if isinstance(a, (float, complex)) else bool(a == b)


def is_fixed_slice(value: Any) -> bool:
    """Whether a value is a slice of numbers."""
    if type(value) is not slice:
        return False
    return all(part is None or type(part) is int for part in (value.start, value.stop, value.step))


def is_atom(value: Any) -> bool:
    """Whether a value is a constant that nothing changes."""
    return type(value) in _ATOMS or isinstance(value, (enum.Enum, dtype_class)) or is_fixed_slice(value)


def is_of_program(value: Any) -> bool:
    """Whether a value is an instance of classes that a program has defined."""
    return is_record(value, _is_of_library)


def _is_of_library(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _PURE or top in sys.stdlib_module_names


def is_library(code: types.CodeType) -> bool:
    """Whether the code is npdec's, torch's or Python's own."""
    name = code.co_filename
    if name.startswith(_FOLDERS[:2]):
        return True
    return name.startswith(_FOLDERS[2]) and not name.startswith(_SITE)


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The global names that code reads, functions within it included, and all names of attributes."""
    loaded: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            raise Refused(f"it assigns to the global variable {instruction.argval!r}")
        if instruction.opname == "IMPORT_NAME" and str(instruction.argval).partition(".")[0] not in _PURE:
            raise Refused(f"it imports {instruction.argval!r}")
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.add(instruction.argval)
    attributes = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            more, names = _names(constant)
            loaded |= more
            attributes |= names
    return frozenset(loaded), frozenset(attributes)


class Environment:
    """The world of one recording. `array` gives the stand-in for an array, and how to get at the array."""

    def __init__(self, array: Callable[[Get, Any], Any]) -> None:
        self.array = array
        self.guards: list[tuple[Get, Any, bool]] = []  # how to get it, what it was, whether it has to be the object
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []  # what ids stand for
        self._copies: list[tuple[Any, Any, str]] = []
        self.originals: dict[type, type] = {}  # of classes of this world
        self.asks_kinds = False  # a function names `type`
        self.given: list[Any] = []  # instances of them that stand for others

    def holds(self) -> bool:
        """Whether everything is as it was read."""
        try:
            for get, value, exactly in self.guards:
                found = get()
                if found is not value and (exactly or not same(found, value)):
                    return False
        except (LookupError, AttributeError, TypeError, ValueError):
            return False
        return True

    def close(self) -> None:
        """Forget everything but what is looked at again."""
        self.array = _closed
        for held in (self._made, self._copies, self.originals, self.given):
            held.clear()

    def check_unchanged(self) -> None:
        """Refuse a function that changed what it found."""
        for made, before, where in self._copies:
            if isinstance(made, types.CellType):
                now = [made.cell_contents]
            else:
                now = _flat(made)
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before)):
                raise Refused(f"it changes {where}")

    def watched(self, made: Any, where: str) -> Any:
        """A list or dict of stand-ins, which the function must not change."""
        self._copies.append((made, _flat(made), where))
        return made

    # -- one value -----------------------------------------------------------------------------------------------------

    def read(self, get: Get, value: Any, where: str, names: frozenset[str] = frozenset()) -> Any:
        """What stands in the place of a value of this world."""
        if is_array(value):
            self.exactly(get, value)
            return self._once(value, lambda: self.array(get, value))
        if is_atom(value):
            self.guards.append((get, value, False))
            return value
        if isinstance(value, (list, tuple, dict)):
            return self._container(get, value, where)
        if isinstance(value, (set, frozenset)) and all(type(item) in _ATOMS for item in value):
            self.guards.append((get, type(value)(value), False))
            made = type(value)(value)
            if isinstance(made, set):
                self._copies.append((made, list(made), where))
            return made
        self.exactly(get, value)
        if isinstance(value, types.FunctionType):
            return self.function(get, value, where)
        if type(value) is types.BuiltinFunctionType and value in FUNCTIONS:
            return FUNCTIONS[value]
        if value is math:
            return self._once(value, module)
        if isinstance(value, types.ModuleType):
            return self._module(get, value, where, names)
        if isinstance(value, functools.partial) and type(value) is functools.partial:
            return functools.partial(
                self.read(lambda: get().func, value.func, where),
                *self.read(lambda: get().args, value.args, where),
                **self.read(lambda: get().keywords, value.keywords, where),
            )
        if isinstance(value, types.MethodType) and not is_unbound(value):
            return types.MethodType(
                self.read(lambda: get().__func__, value.__func__, where),
                self.read(lambda: get().__self__, value.__self__, where),
            )
        if isinstance(value, type) and type(value) is type and not self._is_plain(value):
            return self._once(value, lambda: copied(self, value, where))
        if is_of_program(value):
            return self._once(value, lambda: self._instance(get, value, where))
        if not self._is_plain(value):
            raise Refused(
                f"it reads {where}, a {type(value).__name__}, which may change unnoticed: give it as an argument"
            )
        return value

    def exactly(self, get: Get, value: Any) -> None:
        self.guards.append((get, value, True))
        self._kept.append(value)

    def _once(self, value: Any, make: Callable[[], Any]) -> Any:
        if id(value) not in self._made:
            self._made[id(value)] = make()
        return self._made[id(value)]

    def _is_plain(self, value: Any) -> bool:
        """Whether a value is what it is: classes and functions of libraries, classes with no code of their own."""
        if isinstance(value, UfuncBase) or is_unbound(value):
            return True
        if isinstance(value, type):
            if value.__module__.partition(".")[0] in _PURE or issubclass(value, (enum.Enum, BaseException)):
                return True
            if value is not tuple and not (issubclass(value, tuple) and hasattr(value, "_fields")):
                return False  # its attributes may change
            functions = [found for found in vars(value).values() if isinstance(found, types.FunctionType)]
            codes = [found.__code__ for found in functions]
            generated = all(code.co_filename.startswith("<") or is_library(code) for code in codes)
            return generated and all(self._is_plain(base) for base in value.__bases__)
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            if owner is builtins:
                return value.__name__ not in _IMPURE_BUILTINS
            return (isinstance(owner, types.ModuleType) and owner.__name__.partition(".")[0] in _PURE) or (
                isinstance(owner, type(torch._C)) or owner is None
            )
        module = type(value).__module__.partition(".")[0]
        return callable(value) and module in ("torch", "numpy") and type(value).__name__ in (
            "OpOverload", "OpOverloadPacket", "ufunc", "_ArrayFunctionDispatcher"
        )  # fmt: skip

    def note_class(self, original: type, made: type) -> None:
        """A class of this world, which its own methods may name."""
        self._made[id(original)] = made
        self.originals[made] = original

    # -- what holds others ---------------------------------------------------------------------------------------------

    def _container(self, get: Get, value: Any, where: str) -> Any:
        if type(value) not in (list, tuple, dict) and not hasattr(value, "_fields"):
            raise Refused(f"it reads {where}, a {type(value).__name__}, which may change unnoticed")
        self.guards.append((lambda: (type(get()), len(get())), (type(value), len(value)), False))
        if not isinstance(value, dict):
            items = [self.read(lambda i=i: get()[i], item, f"{where}[{i}]") for i, item in enumerate(value)]  # type: ignore[misc]
            if isinstance(value, list):
                return self.watched(items, where)
            return tuple(items) if type(value) is tuple else type(value)(*items)
        if not all(type(key) in _ATOMS for key in value):
            raise Refused(f"it reads {where}, whose keys may change unnoticed")
        keys = tuple(value)
        self.guards.append((lambda: tuple(get()), keys, False))
        made = {key: self.read(lambda k=key: get()[k], value[key], f"{where}[{key!r}]") for key in keys}  # type: ignore[misc]
        return self.watched(made, where)

    def _instance(self, get: Get, value: Any, where: str) -> Any:
        kind, names = type(value), tuple(vars(value))
        self.guards.append((lambda: (type(get()), *vars(get())), (kind, *names), False))
        found = {
            name: self.read(lambda n=name: vars(get())[n], vars(value)[name], f"{where}.{name}")  # type: ignore[misc]
            for name in names
        }
        return self.instance(kind, found, where)

    def instance(self, kind: type, found: dict[str, Any], where: str) -> Any:
        """An instance of a program's class with these attributes, which must not change."""
        made = rebuilt(self.read(lambda: kind, kind, kind.__name__), found)
        self.watched(vars(made), where)
        self.given.append(made)
        return made

    def _module(self, get: Get, module: types.ModuleType, where: str, names: frozenset[str]) -> Any:
        top = module.__name__.partition(".")[0]
        if top == "numpy" and "random" in names:
            raise Refused("it names numpy.random, of which a graph has no new numbers")
        if top in _PURE:
            return module
        if top in sys.stdlib_module_names:
            raise Refused(f"it uses the module {module.__name__!r}, whose results are not those of arguments alone")
        made = types.ModuleType(module.__name__)
        for name in names:
            value = getattr(module, name, _MISSING)
            if value is not _MISSING:
                read = self.read(lambda n=name: getattr(get(), n), value, f"{where}.{name}", names)  # type: ignore[misc]
                setattr(made, name, read)
        return made

    def function(self, get: Get, function: types.FunctionType, where: str) -> Any:
        """The function in this world. It is looked at before what it holds, which is read from it and not by `get`."""
        if id(function) in self._made:
            return self._made[id(function)]
        inner = getattr(function, "_compiled_from", None)
        if inner is not None:  # it is compiled as a part of this one
            made = self.read(lambda: get()._compiled_from, inner, where)
            self._made[id(function)] = made
            return made
        code, library = function.__code__, is_library(function.__code__)
        if str(function.__module__).partition(".")[0] in _PURE:  # what wraps another takes its module's name
            if library or code.co_filename.startswith("<"):
                return function
        elif library and not function.__closure__:
            return function
        if not library:
            self.guards.append((functools.partial(getattr, function, "__code__"), code, True))
        scope: dict[str, Any] = (
            function.__globals__
            if library
            else {"__builtins__": builtins, "__name__": function.__globals__.get("__name__")}
        )
        cells = tuple(types.CellType() for _ in code.co_freevars)
        made = types.FunctionType(code if library else with_calls(code), scope, function.__name__, None, cells)
        self._made[id(function)] = made
        self._kept.append(function)
        for i, (name, cell) in enumerate(zip(code.co_freevars, function.__closure__ or ())):
            try:
                contents = cell.cell_contents
            except ValueError:
                raise Refused(f"the variable {name!r} has no value yet") from None
            read = functools.partial(getattr, function.__closure__[i], "cell_contents")  # type: ignore[index]
            cells[i].cell_contents = self._variable(read, contents, name, function)
            self._copies.append((cells[i], [cells[i].cell_contents], f"the variable {name!r}"))
        if not library:
            self._globals(function, scope)
            for name in ("__defaults__", "__kwdefaults__"):
                read = functools.partial(getattr, function, name)
                setattr(made, name, self.read(read, getattr(function, name), "defaults of parameters"))
        return made

    def _variable(self, get: Get, value: Any, name: str, function: types.FunctionType) -> Any:
        return self.read(get, value, f"{name!r}", _names(function.__code__)[1])

    def _globals(self, function: types.FunctionType, scope: dict[str, Any]) -> None:
        loaded, attributes = _names(function.__code__)
        found = function.__globals__
        for name in sorted(loaded):
            if name in found:
                read = functools.partial(operator.getitem, found, name)
                scope[name] = self.read(read, found[name], f"{name!r}", attributes)
            elif name in _IMPURE_BUILTINS:
                raise Refused(f"it calls {name}()")
            elif not hasattr(builtins, name):
                self.guards.append((functools.partial(found.get, name, _MISSING), _MISSING, True))
        scope[CALLED] = scope.get("float", as_float)
        self.asks_kinds = self.asks_kinds or "type" in loaded
        self.watched(scope, "a global variable")


def _flat(made: Any) -> list[Any]:
    """What a container holds, keys and values."""
    if isinstance(made, (dict, types.MappingProxyType)):
        return [x for pair in made.items() for x in pair]
    return list(made)


def _closed(get: Get, value: Any) -> Any:
    raise AssertionError("the recording is over")
