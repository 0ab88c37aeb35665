"""Indices in lists, ranges, masks and arrays of short integers, and values in sequences, as NumPy takes them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import npdec as np

pytestmark = pytest.mark.quick

MASK = numpy.array([True, False, True, True])
TABLE = numpy.arange(12).reshape(4, 3) % 5 > 1
KEYS: list[Any] = [
    [0, 2], [2, -1, 2], [True, False, True, True], [[0, 1], [1, 0]], range(1, 3), MASK, TABLE,
    numpy.array([3, 0], dtype=numpy.uint8), numpy.array([[1], [-1]], dtype=numpy.int32), ([0, 2], [1, 1]),
    ([0, 2], 1), (1, [0, 2]), (slice(1, 3), [0, 2]), (MASK, 1), (MASK, slice(1)), (2, numpy.array([True, False, True])),
    (range(2), range(2)), (numpy.array([1, 0], dtype=numpy.int16), [2, 1]), (MASK, [0, 1, 2]),
]  # fmt: skip
REFUSED: list[Any] = [[0, 4], [True, False], [0.5], ([0, 1], [0, 1, 2]), (MASK[:3], 1), TABLE.T]


def as_key(library: Any, key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(as_key(library, item) for item in key)
    return library.array(key) if isinstance(key, numpy.ndarray) else key


def as_taken(found: Any) -> Any:
    return numpy.asarray(found).tolist(), str(found.dtype), found.shape


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("transposed", [False, True])
def test_what_a_key_chooses(dtype: str, transposed: bool) -> None:
    base = numpy.arange(12).reshape(3, 4).T if transposed else numpy.arange(12).reshape(4, 3)
    for key in KEYS:
        theirs, ours = base.astype(dtype), np.array(base.astype(dtype))
        wanted = theirs[as_key(numpy, key)]
        assert as_taken(ours[as_key(np, key)]) == as_taken(wanted), key
        values = [wanted[::-1].copy(), wanted.flat[0], wanted.astype(dtype).tolist(), wanted[-1].copy()]
        for value in values:
            theirs[as_key(numpy, key)] = value
            ours[as_key(np, key)] = np.array(value) if isinstance(value, numpy.ndarray) else value
            assert ours.tolist() == theirs.tolist(), (key, value)


def test_keys_that_are_refused() -> None:
    for key in REFUSED:
        x = np.arange(12).reshape(4, 3)
        with pytest.raises(IndexError):
            x[as_key(np, key)]
        with pytest.raises(IndexError):
            x[as_key(np, key)] = 1
        assert x.tolist() == numpy.arange(12).reshape(4, 3).tolist()


def test_values_in_sequences() -> None:
    dtypes, values = (
        ["bool", "int64", "float32", "float64", "complex128"],
        [(1, 2), [0.5, 2], (True, False), [[3], [4]]],
    )
    for dtype, value, key in itertools.product(dtypes, values, [slice(0, 2), slice(None, None, 2), [1, 0]]):
        theirs, ours = numpy.zeros((3, 2), dtype)[:, 0], np.zeros((3, 2), dtype)[:, 0]
        found = []
        for x in (theirs, ours):
            try:
                x[key] = value
            except (ValueError, TypeError) as error:
                found.append(type(error))
        assert len(set(found)) < 2, (dtype, value)
        assert ours.tolist() == theirs.tolist(), (dtype, value)
    x = np.zeros(3, np.uint8)
    with pytest.raises(OverflowError):
        x[:2] = [1, 300]
    assert x.tolist() == [0, 0, 0]


def test_truth_is_written_through_indices() -> None:
    used = np.zeros(10, dtype=bool)
    used[np.array([1, 3])] = True
    used[np.array([[5, 6], [7, 5]])] = np.True_
    used[[9]] = True
    used[used] = False
    used[[2, 4]] = [True, False]
    assert np.flatnonzero(used).tolist() == [2]


def test_contributions_are_chosen_by_lists() -> None:
    x = np.decompose(np.arange(4.0))
    assert (x[[2, 0]].components.sum(0) + x[[2, 0]].residual).tolist() == [2.0, 0.0]
    x[[0, 1]] = [5.0, 6.0]
    assert x.tolist() == [5.0, 6.0, 2.0, 3.0]
