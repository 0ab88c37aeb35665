"""The same program under NumPy and under npdec: what comes of it in each, in a form that can be compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy

import npdec


def described(lib: Any, item: Any) -> Any:
    """A result as plain objects: of arrays and scalars the kind, numbers, dtype and shape."""
    if isinstance(item, (tuple, list)):
        return type(item)(described(lib, i) for i in item)
    if isinstance(item, lib.ndarray):
        return "array", numpy.asarray(item).tolist(), str(item.dtype), item.shape
    if isinstance(item, lib.generic):
        return type(item).__name__, item.item()
    if isinstance(item, lib.dtype):
        return str(item)
    return item


def outcome(lib: Any, program: Callable[[Any], Any]) -> tuple[Any, ...]:
    """("gives", the result) or ("raises", the kinds of the error), and the kinds of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: tuple[Any, ...] = "gives", described(lib, program(lib))
        except Exception as error:
            found = "raises", type(error)
    return (*found, sorted(warning.category.__name__ for warning in caught))


def same(program: Callable[[Any], Any]) -> None:
    """The program gives the same under both, or raises the same kind of error."""
    want, got = outcome(numpy, program), outcome(npdec, program)
    assert got[0] == want[0], f"{got} instead of {want}"
    if want[0] == "gives":
        assert got == want
    else:
        kinds = {cls.__name__ for cls in want[1].__mro__} - {"Exception", "BaseException", "object"}
        assert got[1].__name__ in kinds or any(cls.__name__ == want[1].__name__ for cls in got[1].__mro__)
        assert got[2] == want[2]
