"""Indices of arrays of no elements, which are out of bounds, or are not looked at: as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import npdec as np


def written(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(lib: Any, x: Any) -> Any:
        write(lib, x)
        return x

    return call


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "x[array]": lambda lib, x: x[lib.array([5])],
    "x[array of two axes]": lambda lib, x: x[lib.array([[5]])],
    "x[list]": lambda lib, x: x[[5]],
    "x[list], from the back": lambda lib, x: x[[-9]],
    "x[list], within": lambda lib, x: x[[0]],
    "x[list, :]": lambda lib, x: x[[5], :],
    "x[:, array]": lambda lib, x: x[:, lib.array([5])],
    "x[..., list]": lambda lib, x: x[..., [7]],
    "x[0, list]": lambda lib, x: x[0, [5]],
    "x[list, 0:0]": lambda lib, x: x[[5], 0:0],
    "x[list, None]": lambda lib, x: x[[5], None],
    "x[lists]": lambda lib, x: x[[0], [5]],
    "x[lists] of none": lambda lib, x: x[lib.zeros((0, 1), dtype=int), [5]],
    "x[list] = 1": written(lambda lib, x: x.__setitem__([5], 1)),
    "x[:, list] = 1": written(lambda lib, x: x.__setitem__((slice(None), [5]), 1)),
    "x[lists] = 1": written(lambda lib, x: x.__setitem__(([0], [5]), 1)),
    "take": lambda lib, x: lib.take(x, [5]),
    "take along the first": lambda lib, x: lib.take(x, [5], 0),
    "take along the last": lambda lib, x: lib.take(x, [5], -1),
    "take_along_axis": lambda lib, x: lib.take_along_axis(x, lib.full((1, *x.shape[1:]), 5), 0),
    "take_along_axis, the last": lambda lib, x: lib.take_along_axis(x, lib.full((*x.shape[:-1], 1), 5), -1),
    "choose": lambda lib, x: lib.choose(lib.full(x.shape[-1:], 5), [x, x]),
    "choose of rows": lambda lib, x: lib.choose([5], [x, x]),
    "compress": lambda lib, x: lib.compress([0] * 5 + [1], x, 0),
    "compress along the last": lambda lib, x: lib.compress([0] * 5 + [1], x, -1),
    "put": written(lambda lib, x: lib.put(x, [5], 1)),
    "put_along_axis": written(lambda lib, x: lib.put_along_axis(x, lib.full((1, *x.shape[1:]), 5), 1, 0)),
    "flat": lambda lib, x: x.flat[[50]],
    "add.at": written(lambda lib, x: lib.add.at(x, [5], 1)),
    "delete": lambda lib, x: lib.delete(x, [5], 0),
    "insert": lambda lib, x: lib.insert(x, [9], 1, 0),
}


def outcome(call: Callable[[Any, Any], Any], lib: Any, x: Any) -> Any:
    try:
        return call(lib, x).shape
    except (IndexError, TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.whole
def test_indices_of_nothing(name: str) -> None:
    for shape in ((3, 0), (0, 3), (0,), (3, 0, 2), (0, 0), (2, 3, 0)):
        wanted = outcome(CALLS[name], numpy, numpy.zeros(shape))
        assert outcome(CALLS[name], np, np.zeros(shape)) == wanted, shape
        assert outcome(CALLS[name], np, np.decompose(np.zeros(shape))) == wanted, shape
