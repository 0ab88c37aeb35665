"""Python integers beyond int64 beside arrays: what NumPy does with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import npdec as np

NUMBERS = (2**63, 2**64 - 1, -(2**63) - 1, 2**64, 2**63 - 1, -(2**63))
DTYPES = ("float64", "float32", "float16", "complex128", "int64", "int32", "uint8", "uint64", "bool")


def written(write: Callable[[Any, Any, int], Any]) -> Callable[[Any, Any, int], Any]:
    def call(lib: Any, x: Any, n: int) -> Any:
        write(lib, x, n)
        return x

    return call


CALLS: dict[str, Callable[[Any, Any, int], Any]] = {
    "where": lambda lib, x, n: lib.where(x > 0, n, x),
    "where, of the other": lambda lib, x, n: lib.where(x > 0, x, n),
    "where, of two numbers": lambda lib, x, n: lib.where(x > 0, n, 1),
    "where, of a scalar": lambda lib, x, n: lib.where(True, n, x[1]),
    "where, of a list": lambda lib, x, n: lib.where(x > 0, [n], x),
    "select": lambda lib, x, n: lib.select([x > 0], [x], n),
    "choose": lambda lib, x, n: lib.choose([0, 1, 0, 1], [x, n]),
    "sum": lambda lib, x, n: lib.sum(x, initial=n),
    "max": lambda lib, x, n: lib.max(x, initial=n),
    "maximum": lambda lib, x, n: lib.maximum(x, n),
    "clip": lambda lib, x, n: lib.clip(x, 0, n),
    "+": lambda lib, x, n: x + n,
    "less": lambda lib, x, n: lib.less(x, n),
    ">=": lambda lib, x, n: n >= x,
    "==": lambda lib, x, n: x == n,
    "full": lambda lib, x, n: lib.full(2, n),
    "concatenate": lambda lib, x, n: lib.concatenate([x, [n]]),
    "append": lambda lib, x, n: lib.append(x, n),
    "array": lambda lib, x, n: lib.array([n, -1]),
    "x[1] = n": written(lambda lib, x, n: x.__setitem__(1, n)),
    "x[1:3] = [n, 1]": written(lambda lib, x, n: x.__setitem__(slice(1, 3), [n, 1])),
    "x[mask] = n": written(lambda lib, x, n: x.__setitem__(x > 0, n)),
    "fill": written(lambda lib, x, n: x.fill(n)),
    "put": written(lambda lib, x, n: lib.put(x, [0, 1], n)),
    "place": written(lambda lib, x, n: lib.place(x, x > 0, [n])),
    "putmask": written(lambda lib, x, n: lib.putmask(x, x > 0, n)),
}


def outcome(name: str, lib: Any, dtype: str, number: int) -> Any:
    try:
        made = CALLS[name](lib, lib.array([0, 1, 1, 2]).astype(dtype), number)
    except (OverflowError, TypeError, ValueError) as error:
        return type(error)
    return str(made.dtype), repr(made.tolist())


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.whole
def test_large_integers_beside_arrays(name: str) -> None:
    for dtype in DTYPES:
        for number in NUMBERS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                wanted, found = (outcome(name, lib, dtype, number) for lib in (numpy, np))
            assert found == wanted, (dtype, number)


def test_a_large_integer_beside_a_decomposed_array() -> None:
    x = np.decompose(np.array([1.0, 2.0]), baseline=np.array([3.0, 0.5]))
    for number in (2**63, 2**64, -(2**63) - 1):
        made = np.where(x > 1.5, float(number), x)
        same = np.where(x > 1.5, number, x)
        assert numpy.array_equal(same.components.to_numpy(), made.components.to_numpy())
        assert numpy.array_equal(same.value.to_numpy(), made.value.to_numpy())
