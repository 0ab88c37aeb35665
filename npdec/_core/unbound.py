"""Functions that do not become methods of a class whose attribute they are: those that are builtins in NumPy.

`class Table: make = np.zeros` calls np.zeros without the table. A function of Python's would be bound to it; a bound
method is not bound again, at no more than a few nanoseconds for a call. So these are methods, of the namespace in which
they stand. Their first parameter, `_`, is that namespace, which none of them looks at.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Concatenate, ParamSpec, TypeVar

__all__ = ["FIRST", "Namespace", "is_function", "is_unbound", "takes_namespace", "unbound", "unbound_of"]

P = ParamSpec("P")
R = TypeVar("R")

FIRST = "_"  # the name of the first parameter


class Namespace:
    """A module, as that of which such functions are the methods. A pickle of one names its module and itself."""

    __slots__ = ("__name__",)

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)

    def __deepcopy__(self, memo: Any) -> Namespace:
        return self

    def __repr__(self) -> str:
        return self.__name__


_NAMESPACES = {"npdec": Namespace("npdec")}


def unbound_of(module: str) -> Callable[[Callable[Concatenate[Any, P], R]], Callable[P, R]]:
    """A decorator that makes such functions of a module of npdec's."""
    namespace = _NAMESPACES.setdefault(module, Namespace(module))

    def decorated(function: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
        made: Callable[P, R] = MethodType(function, namespace)
        return made

    return decorated


unbound = unbound_of("npdec")


def takes_namespace(function: Callable[..., Any]) -> bool:
    """Whether a function is written to become such a one."""
    return isinstance(function, FunctionType) and function.__code__.co_varnames[:1] == (FIRST,)


def is_function(item: Any) -> bool:
    """Whether it is a function of Python's, or such a one."""
    return isinstance(item, FunctionType) or is_unbound(item)


def is_unbound(function: Any) -> bool:
    """Whether it is such a function."""
    return type(function) is MethodType and type(function.__self__) is Namespace
