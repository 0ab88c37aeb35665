"""Scalars on the host beside arrays, in operators, writes in place, ufuncs, keys and values: NumPy's, to a bit."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import npdec as np

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARED = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
BITS = [operator.and_, operator.or_, operator.xor]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.iand, operator.ior, operator.ixor]
ARRAYS = {
    "float64": [0.0, -0.0, 1.5, -2.25, 1e300, float("inf"), float("nan"), 5e-324],
    "float32": [0.0, -0.0, 1.5, -2.25, 3e38, float("inf"), float("nan"), 1e-45],
    "int64": [0, 1, -1, 7, -8, 2**62, -(2**62), 2**53 + 1],
    "int32": [0, 1, -1, 7, -8, 2**30, -(2**30), 100],
    "uint8": [0, 1, 255, 7, 128, 3, 2, 100],
    "bool": [True, False, True, True, False, False, True, True],
}
SCALARS = {
    "float64": [0.1, 1.5, -2.5, float("inf"), float("nan"), 1e-320],
    "float32": [0.1, -2.5, float("inf")],
    "int64": [1, 3, -3, 2**61],
    "int32": [3, -3],
    "uint8": [3, 200],
    "bool": [True, False],
}


def _tried(call: Callable[[], Any]) -> Any:
    """What a call gives: bytes, shape and dtype, or the type of what it raises."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = call()
        except Exception as error:
            return type(error).__mro__[-4:-2] or type(error)
    if isinstance(found, bool):
        return found
    plain = found.tensor.numpy() if hasattr(found, "tensor") else numpy.asarray(found)
    kind = hasattr(found, "__setitem__")  # an array, or a scalar
    return kind, plain.dtype.name, plain.shape, numpy.where(plain != plain, 0, plain).astype(plain.dtype).tobytes()


@pytest.mark.parametrize("dtype", list(ARRAYS))
@pytest.mark.parametrize("kind", list(SCALARS))
def test_operators_beside_arrays(dtype: str, kind: str) -> None:
    for function in (*ARITHMETIC, *COMPARED, *BITS):
        for number in SCALARS[kind]:
            for turned in (False, True):

                def call(lib: Any) -> Any:
                    x = lib.array(ARRAYS[dtype], dtype=dtype)
                    s = getattr(lib, kind + "_" * (kind == "bool"))(number)  # noqa: B023
                    return function(s, x) if turned else function(x, s)  # noqa: B023

                expected, found = _tried(lambda: call(numpy)), _tried(lambda: call(np))
                assert found == expected, (function, number, turned)


@pytest.mark.parametrize("dtype", list(ARRAYS))
@pytest.mark.parametrize("kind", list(SCALARS))
def test_writes_in_place(dtype: str, kind: str) -> None:
    for function in IN_PLACE:
        for number in SCALARS[kind]:
            for key in (None, slice(2, 6), slice(None, None, 2)):

                def call(lib: Any) -> Any:
                    x = lib.array(ARRAYS[dtype], dtype=dtype)
                    place = x if key is None else x[key]  # noqa: B023
                    made = function(place, getattr(lib, kind + "_" * (kind == "bool"))(number))  # noqa: B023
                    assert made is place
                    return x

                expected, found = _tried(lambda: call(numpy)), _tried(lambda: call(np))
                assert found == expected, (function, number, key)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_ufuncs_of_two_integers(dtype: str) -> None:
    limits = numpy.iinfo(dtype)
    numbers = [limits.min, limits.max, 0, 1, 7, limits.max - 1]
    for name in ("maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal", "equal"):
        for a in numbers:
            for b in numbers:

                def call(lib: Any) -> Any:
                    make = getattr(lib, dtype)
                    return getattr(lib, name)(make(a), make(b))  # noqa: B023

                expected, found = call(numpy), call(np)
                assert type(found).__name__ == type(expected).__name__, name
                assert int(found) == int(expected), (name, a, b)


KEYS: list[Callable[[Any], Any]] = [
    lambda np: (np.int64(1), slice(1, 3)),
    lambda np: (slice(None), np.int64(2)),
    lambda np: (np.uint8(1), slice(None, np.int64(2))),
    lambda np: (..., np.int32(0)),
    lambda np: (np.int64(1), np.int64(2)),
    lambda np: (np.int64(-1), 0),
    lambda np: (None, np.int64(1)),
    lambda np: (np.int64(1), None, slice(None)),
    lambda np: (np.int64(0), np.array([0, 2])),
    lambda np: (np.int64(9), slice(None)),
    lambda np: (slice(None), np.int64(9)),
    lambda np: (np.bool_(True), slice(None)),
    lambda np: (1, slice(None, None, -1)),
    lambda np: (slice(None), ..., 1),
    lambda np: (..., ...),
    lambda np: (1, 2, 3),
    lambda np: (1, 2, slice(None)),
    lambda np: 1,
    lambda np: slice(1, 2),
    lambda np: slice(None, None, -1),
    lambda np: ...,
    lambda np: None,
    lambda np: (),
]
VALUES: list[Callable[[Any], Any]] = [
    lambda np: 7,
    lambda np: 2.5,
    lambda np: True,
    lambda np: np.float64(2.5),
    lambda np: np.int64(4),
    lambda np: np.float32(0.1),
    lambda np: np.array(3),
    lambda np: np.array([5.0]),
    lambda np: np.array([5, 6, 8]),
    lambda np: np.array([[5.0, 6.0, 8.0]]),
    lambda np: np.array([[[5.0, 6.0, 8.0, 9.0]]]),
    lambda np: np.arange(12.0).reshape(3, 4),
    lambda np: np.arange(3.0).reshape(3, 1),
    lambda np: np.ones(4),
    lambda np: np.arange(2),
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint32", "bool"])
@pytest.mark.parametrize("number", range(len(KEYS)))
def test_keys_and_values(dtype: str, number: int) -> None:
    """What a key reads, whether it is a view, and what is written there, in the same shapes or with the same error."""
    key = KEYS[number]

    def made(lib: Any) -> Any:
        return lib.arange(12).reshape(3, 4).astype(dtype)

    assert _tried(lambda: made(np)[key(np)]) == _tried(lambda: made(numpy)[key(numpy)])
    for value in VALUES:
        if dtype == "bool" and number in (4, 5) and value(numpy).__class__ is numpy.ndarray and value(numpy).ndim:
            continue  # of a sequence for one boolean NumPy takes the truth value

        def written(lib: Any) -> Any:
            x = made(lib)
            x[key(lib)] = value(lib)  # noqa: B023
            return x

        assert _tried(lambda: written(np)) == _tried(lambda: written(numpy)), value(numpy)


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize(("ours", "theirs"), [(slice(1, 3), slice(0, 2)), (1, 0), ((slice(None), 1), (slice(None), 0))])
def test_values_over_the_memory_that_is_written(ours: Any, theirs: Any, turn: bool) -> None:
    found, expected = np.arange(9.0).reshape(3, 3), numpy.arange(9.0).reshape(3, 3)
    for x in (found, expected):
        y = x.T if turn else x
        y[ours] = x[theirs]
    assert found.tolist() == expected.tolist()


def test_views_of_fresh_arrays_are_known_to_each_other() -> None:
    """Contributions written through one view are in all of them, whether made by slices, ints, or keys of both."""
    x = np.zeros(4) + 1.0
    part, row = x[1:], x.reshape(2, 2)[1]
    column = x.reshape(2, 2)[:, 0]
    part[1] = np.decompose(np.array([5.0]), labels=["given"])[0]
    for view, where in ((x, 2), (part, 1), (row, 0), (column, 1)):
        assert view[where].tensor.components.sum().item() == 5.0
        assert view[where].tensor.residual.item() == 0.0
