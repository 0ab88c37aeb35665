"""A program of npdec as one of NumPy: the same functions in a world in which npdec's names are NumPy's."""

from __future__ import annotations

import copy
import functools
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

from npdec._core.base import ArrayBase, NDArrayBase
from npdec._core.containers import refilled
from npdec._core.unbound import is_function
from npdec._jit.environment import is_library
from npdec.debug._against_numpy import numpy_of
from npdec.debug._values import Unknown, value_of

__all__ = ["as_numpy", "under_numpy"]


def as_numpy(value: Any) -> Any:
    """A copy of an array as NumPy's, of a scalar as its scalar, of containers with those."""
    if isinstance(value, ArrayBase):
        array = value_of(value).cpu().resolve_conj().resolve_neg().numpy().copy()
        return array if isinstance(value, NDArrayBase) else array[()]
    if isinstance(value, (tuple, list)):
        items = [as_numpy(item) for item in value]
        return refilled(value, items)
    if type(value) is dict:
        return {key: as_numpy(item) for key, item in value.items()}
    return copy.deepcopy(value)


class _World:
    """The program's functions and classes, made again; each once."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self.kept: list[Any] = []

    def of(self, value: Any) -> Any:
        """What a value is in this world."""
        if id(value) in self.made:
            return self.made[id(value)]
        if isinstance(value, types.ModuleType):
            return self.module(value)
        if isinstance(value, ArrayBase):
            return self.note(value, as_numpy(value))
        if is_function(value):
            return self.function(value)
        if isinstance(value, types.MethodType):
            return types.MethodType(self.of(value.__func__), self.of(value.__self__))
        if isinstance(value, functools.partial):
            return functools.partial(self.of(value.func), *map(self.of, value.args), **self.mapping(value.keywords))
        if type(value) in (list, tuple):
            return self.note(value, type(value)(self.of(item) for item in value))
        if type(value) is dict:
            return self.note(value, self.mapping(value))
        if isinstance(value, type):
            return self.class_(value)
        if type(value).__module__.partition(".")[0] == "npdec":
            try:
                return numpy_of(value)
            except Unknown:
                return value
        if hasattr(value, "__dict__") and self.class_(type(value)) is not type(value):
            made = self.note(value, copy.copy(value))
            made.__class__ = self.class_(type(value))
            vars(made).update(self.mapping(vars(value)))
            return made
        return value

    def note(self, value: Any, made: Any) -> Any:
        self.kept.append(value)
        self.made[id(value)] = made
        return made

    def mapping(self, found: Any) -> dict[Any, Any]:
        return {key: self.of(item) for key, item in found.items()}

    def module(self, module: types.ModuleType) -> Any:
        top, _, rest = module.__name__.partition(".")
        if top != "npdec":
            return self.note(module, _Module(self, module)) if _is_program(top) and _names_npdec(module) else module
        try:
            return importlib.import_module("numpy" + f".{rest}" * bool(rest))
        except ImportError:
            return module

    def function(self, function: types.FunctionType) -> Any:
        module = str(function.__module__).partition(".")[0]
        if module == "npdec" and not hasattr(function, "_compiled_from"):
            try:
                return numpy_of(function)
            except Unknown:
                return function
        inner = getattr(function, "_compiled_from", None)
        if inner is not None:
            return self.of(inner)
        if is_library(function.__code__) or not _is_program(module):
            return function
        cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
        made = types.FunctionType(function.__code__, self.globals(function.__globals__), function.__name__, None, cells)
        self.note(function, made)
        for cell, other in zip(cells, function.__closure__ or ()):
            try:
                cell.cell_contents = self.of(other.cell_contents)
            except ValueError:
                continue  # it has no value yet
        made.__defaults__ = self.of(function.__defaults__)
        made.__kwdefaults__ = None if function.__kwdefaults__ is None else self.mapping(function.__kwdefaults__)
        made.__dict__.update(function.__dict__)
        return made

    def globals(self, found: dict[str, Any]) -> dict[str, Any]:
        """The names of a module."""
        if id(found) not in self.made:
            self.note(found, _Globals(self, found))
        return self.made[id(found)]

    def class_(self, cls: type) -> Any:
        """A class of the program, made again if its functions are."""
        if id(cls) in self.made:
            return self.made[id(cls)]
        top = cls.__module__.partition(".")[0]
        if top == "npdec":
            try:
                return numpy_of(cls)
            except Unknown:
                return cls
        if not _is_program(top) or cls.__flags__ & (1 << 8) or not any(map(_is_python, vars(cls).values())):
            return cls
        bases = tuple(map(self.class_, cls.__bases__))
        body = {name: item for name, item in vars(cls).items() if name not in ("__dict__", "__weakref__")}
        try:
            made = self.note(cls, type(cls)(cls.__name__, bases, body))
        except TypeError:
            return self.note(cls, cls)
        for name, item in body.items():
            if is_function(item):
                setattr(made, name, self.of(item))
            elif isinstance(item, (staticmethod, classmethod)):
                setattr(made, name, type(item)(self.of(item.__func__)))
            elif isinstance(item, property):
                setattr(made, name, property(*(self.of(part) for part in (item.fget, item.fset, item.fdel))))
        return made


class _Globals(dict[str, Any]):
    """The names of a module, each made when the program asks for it."""

    def __init__(self, world: _World, found: dict[str, Any]) -> None:
        super().__init__({name: found[name] for name in ("__builtins__", "__name__", "__file__") if name in found})
        self.world, self.found = world, found

    def __missing__(self, name: str) -> Any:
        made = self[name] = self.world.of(self.found[name])
        return made


class _Module(types.ModuleType):
    """A module of the program."""

    def __init__(self, world: _World, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["_of"] = lambda name: world.of(getattr(module, name))

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["_of"](name)


def _names_npdec(module: types.ModuleType) -> bool:
    """Whether a module has imported npdec, or something of it."""
    origins = (getattr(value, "__module__", None) or getattr(value, "__name__", "") for value in vars(module).values())
    return any(isinstance(name, str) and name.partition(".")[0] == "npdec" for name in origins)


def _is_python(item: Any) -> bool:
    return is_function(item) or isinstance(item, (staticmethod, classmethod, property))


def _is_program(top: str) -> bool:
    return top not in sys.stdlib_module_names and top not in ("torch", "numpy", "scipy", "array_api_compat")


def under_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """The program with NumPy in the place of npdec."""
    made: Callable[..., Any] = _World().of(function)
    return made
