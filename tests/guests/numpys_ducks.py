"""Objects that are written for NumPy and record what they are asked, in a module that knows nothing else."""

from __future__ import annotations

import inspect
from typing import Any

import numpy


def _named(function: Any, args: Any, kwargs: Any) -> list[str]:
    """The arguments that are not their defaults: whether they were given by name is known to none but the caller."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return [str(len(args) + len(kwargs))]
    given = signature.bind(*args, **kwargs).arguments
    return sorted(name for name, x in given.items() if x is not signature.parameters[name].default)


class Recording:
    def __init__(self, data: Any) -> None:
        self.data = data
        self.asked: list[Any] = []

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.asarray(self.data)


class Functions(Recording):
    """It computes functions, and no ufunc."""

    __array_ufunc__ = None

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.asked.append((func.__name__, len(types), _named(getattr(numpy, func.__name__, func), args, kwargs)))
        return "answered"


class Ufuncs(Recording):
    """It computes ufuncs, and no function."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        self.asked.append((ufunc.__name__, method, len(inputs), sorted(kwargs)))
        return "answered"


class Both(Functions, Ufuncs):
    __array_ufunc__ = Ufuncs.__array_ufunc__  # type: ignore[assignment]


class RefusingUfuncs(Ufuncs):
    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        super().__array_ufunc__(*args, **kwargs)
        return NotImplemented


class RefusingFunctions(Functions):
    def __array_function__(self, *args: Any, **kwargs: Any) -> Any:
        super().__array_function__(*args, **kwargs)
        return NotImplemented


KINDS = [Functions, Ufuncs, Both, RefusingUfuncs, RefusingFunctions]
