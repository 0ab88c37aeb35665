"""Functions whose results are exact, of a few elements: what NumPy gives, in every dtype, laid out as it is, and where
somebody follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import npdec as np
from npdec._native import calls

pytestmark = pytest.mark.quick

DTYPES = ["bool", "int8", "int64", "uint16", "uint64", "float32", "float64", "complex128"]
VECTOR, TABLE = numpy.array([3, 0, 2, 2, 1]), numpy.arange(12).reshape(3, 4) % 5
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "repeat": lambda np, x: (np.repeat(x, 2), np.repeat(x, [1, 0, 2, 0, 3] if x.ndim == 1 else 2, 0)),
    "tile": lambda np, x: (np.tile(x, 2), np.tile(x, (2, 1))),
    "lexsort": lambda np, x: np.lexsort((x, x[::-1])),
    "digitize": lambda np, x: np.digitize(x.real, np.array([0.0, 2.0])),
    "choose": lambda np, x: np.choose(np.arange(x.shape[-1]) % 2, [x, x[..., ::-1]]),
    "select": lambda np, x: np.select([x == 0, x == 2], [x, x + x], np.int8(7)),
    "roll": lambda np, x: (np.roll(x, 1), np.roll(x, -2, 0)),
    "delete": lambda np, x: (np.delete(x, 1), np.delete(x, [0, -1])),
    "insert": lambda np, x: np.insert(x, 1, x.ravel()[0]),
    "append": lambda np, x: (np.append(x, x), np.append(x, [1, 2])),
    "triu": lambda np, x: (np.triu(x), np.tril(x, -1)),
    "argwhere": lambda np, x: (np.argwhere(x), np.flatnonzero(x), np.nonzero(x)),
    "compress": lambda np, x: (np.compress([True, False, True], x), np.extract(x == x, x)),
    "take": lambda np, x: (np.take(x, [0, 2]), np.take(x, np.array([[0], [1]]), 0)),
    "array_equal": lambda np, x: (np.array_equal(x, x), np.array_equal(x, x[:-1])),
    "isin": lambda np, x: np.isin(x, [0, 2]),
    "pad": lambda np, x: (np.pad(x, 1), np.pad(x, (0, 2), "edge"), np.pad(x, 1, "wrap")),
    "unique": lambda np, x: (np.unique(x), *np.unique(x, return_index=True, return_counts=True)),
    "sets": lambda np, x: (np.union1d(x, [9]), np.setdiff1d(x, [0]), np.intersect1d(x, x)),
    "column_stack": lambda np, x: (np.column_stack((x, x)), np.column_stack([x, list(range(len(x)))])),
    "interp": lambda np, x: np.interp(x.real, [0, 1, 4], np.array([0.5, 2.0, 1.0])),
    "sort": lambda np, x: (np.sort(x), np.argsort(x, kind="stable"), np.sort(x, 0)),
}


def flat(found: Any) -> list[Any]:
    items = found if isinstance(found, (tuple, list)) else (found,)
    return [x for item in items for x in (flat(item) if isinstance(item, (tuple, list)) else [item])]


def told(found: Any) -> list[Any]:
    return [
        (type(x).__name__ if isinstance(x, (bool, numpy.ndarray, np.ndarray)) else "", *as_numpy(x))
        for x in flat(found)
    ]


def as_numpy(x: Any) -> tuple[Any, ...]:
    x = numpy.asarray(x)
    return x.tolist(), x.dtype, x.shape


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_those_of_numpy(name: str, dtype: str) -> None:
    for given in (VECTOR, TABLE, TABLE.T):
        if name == "lexsort" and given.ndim > 1:
            continue
        wanted = CALLS[name](numpy, given.astype(dtype))
        for x in (np.array(given.astype(dtype)), np.array(numpy.repeat(given.astype(dtype), 2, 0))[::2]):
            assert told(CALLS[name](np, x)) == told(wanted)


def test_numbers_keep_their_dtypes() -> None:
    x = np.zeros(2, np.float32)
    assert np.select([x == 0], [x], np.float64(1)).dtype == np.float64
    assert np.append(x, np.float64(1)).dtype == np.float64
    assert np.unravel_index(7, (3, 4)) == (1, 3)
    assert type(np.unravel_index(7, (3, 4))[0]) is np.int64
    assert [x.tolist() for x in np.unravel_index(np.array([7, 2]), (3, 4))] == [[1, 0], [3, 2]]
    assert np.ravel_multi_index((np.array([1, 0]), np.array([3, 2])), (3, 4)).tolist() == [7, 2]
    assert np.packbits(np.array([1, 0, 1], np.uint8)).tolist() == [160]
    assert np.bincount(np.array([1, 1, 3]), minlength=5).tolist() == [0, 2, 0, 1, 0]


def test_who_follows_is_told() -> None:
    x = np.decompose(np.array([3.0, 1.0, 2.0]))
    assert np.repeat(x, 2).components.shape[-1] == 6
    assert np.sort(x).tolist() == [1.0, 2.0, 3.0]
    assert hasattr(np.sort(x), "components")
    made = np.grad(lambda v: (np.roll(v, 1) * np.arange(3.0)).sum())(np.array([1.0, 2.0, 3.0]))
    assert made.tolist() == [1.0, 2.0, 0.0]


def test_errors_are_in_its_own_words() -> None:
    with pytest.raises(ValueError, match="negative"):
        np.repeat(np.arange(3), -1)
    with pytest.raises(IndexError):
        np.take(np.arange(3), [5])
    with pytest.raises(IndexError):
        np.delete(np.arange(3), 5)


def test_slices_folded_by_ufuncs() -> None:
    for dtype in ("int8", "uint32", "int64", "bool", "float32", "float64"):
        x = (numpy.arange(9) % 4).astype(dtype)
        for name in ("add", "multiply", "maximum", "minimum", "logical_or"):
            for starts in ([0, 3, 7], [0, 5, 2, 2, 8], [8]):
                wanted = getattr(numpy, name).reduceat(x, starts)
                assert told(getattr(np, name).reduceat(np.array(x), starts)) == told(wanted)
                assert told(getattr(np, name).reduceat(np.array(x), np.array(starts))) == told(wanted)
    with pytest.raises(IndexError):
        np.add.reduceat(np.arange(3), [0, 3])
    with pytest.raises(IndexError):
        np.add.reduceat(np.arange(3), [-1])


def test_slices_are_folded_alike() -> None:
    """By halves: what C folds, and what Python does of an axis that is not the only one."""
    x = np.random.default_rng(0).standard_normal(40)
    starts = [0, 7, 8, 21, 39]
    assert np.add.reduceat(x, starts).tolist() == np.add.reduceat(x.reshape(40, 1), starts)[:, 0].tolist()


def test_ufuncs_at_rows_and_pairs() -> None:
    rows, pairs = [0, 2, 0], (numpy.array([0, 1, 0]), numpy.array([1, 1, 1]))
    for dtype in ("int32", "uint64", "float32", "float64", "complex128"):
        for name in ("add", "subtract"):
            for key, value in [(rows, numpy.arange(9).reshape(3, 3)), (rows, 1), (pairs, numpy.arange(3)), (pairs, 1)]:
                theirs, ours = (library.zeros((3, 3), dtype) + library.ones((), dtype) * 9 for library in (numpy, np))
                getattr(numpy, name).at(theirs, key, numpy.asarray(value).astype(dtype))
                taken = tuple(map(np.array, key)) if isinstance(key, tuple) else key
                getattr(np, name).at(ours, taken, np.array(value).astype(dtype))
                assert told(ours) == told(theirs)


def test_reductions_of_integers() -> None:
    x = numpy.arange(12, dtype=numpy.uint8).reshape(3, 4)
    for name in ("bitwise_xor", "bitwise_and", "gcd", "left_shift"):
        for axis in (0, 1) if name == "left_shift" else (0, 1, None):
            wanted = getattr(numpy, name).reduce(x, axis=axis)
            assert told(getattr(np, name).reduce(np.array(x), axis=axis)) == told(wanted)
    assert np.maximum.reduce([np.array([1.0, 5.0]), np.array([4.0, 2.0])]).tolist() == [4.0, 5.0]


def test_masked_calls_write_where_they_are_to() -> None:
    for dtype in ("float32", "float64", "int64"):
        x = numpy.array([2, 0, 4], dtype)
        for name in ("multiply", "floor_divide", "maximum"):
            theirs, ours = numpy.full(3, 9, dtype), np.full(3, 9, dtype)
            with numpy.errstate(all="ignore"):
                made = getattr(numpy, name)(x, x, out=theirs, where=x != 0)
            found = getattr(np, name)(np.array(x), np.array(x), out=ours, where=np.array(x != 0))
            assert found is ours
            assert told(ours) == told(made)
    x = np.array([1.0, 2.0, 3.0])
    np.add(x, 1, out=x, where=np.array([True, False, True]))
    assert x.tolist() == [2.0, 2.0, 4.0]
    out = np.zeros(3)
    with np.errstate(divide="raise"):
        np.divide(1.0, np.array([1.0, 0.0, 2.0]), out=out, where=np.array([True, False, True]))
    assert out.tolist() == [1.0, 0.0, 0.5]


def test_views_and_what_is_written() -> None:
    x = np.arange(24.0).reshape(1, 2, 3, 4)
    for view, wanted in [
        (x.transpose(3, 0, 2, 1), numpy.arange(24.0).reshape(1, 2, 3, 4).transpose(3, 0, 2, 1)),
        (np.transpose(x, (0, -1, 1, 2)), numpy.arange(24.0).reshape(1, 2, 3, 4).transpose(0, -1, 1, 2)),
        (np.transpose(x), numpy.arange(24.0).reshape(1, 2, 3, 4).T),
        (np.squeeze(x), numpy.arange(24.0).reshape(2, 3, 4)),
    ]:
        assert told(view) == told(wanted)
        assert view.strides == wanted.strides
        assert np.shares_memory(view, x)
    x.transpose(3, 2, 1, 0)[0] = -1.0
    assert x[0, :, :, 0].tolist() == [[-1.0] * 3] * 2
    with pytest.raises(ValueError):
        x.transpose(0, 0, 1, 2)
    for shape in ((3, 3), (2, 4), (4, 2)):
        theirs, ours = numpy.zeros(shape), np.zeros(shape)
        numpy.fill_diagonal(theirs, 2)
        np.fill_diagonal(ours, 2)
        assert told(ours) == told(theirs)
    frozen = np.zeros((2, 2))
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        np.fill_diagonal(frozen, 1)
    table = np.array([[3.0, 1.0], [0.0, 2.0]])
    table[:, 0].sort()
    assert table.tolist() == [[0.0, 1.0], [3.0, 2.0]]


def test_quotients_and_rests() -> None:
    for dtype in ("int32", "int64", "float64"):
        x = numpy.array([7, -7, 6, 0], dtype)
        for y in (4, -3, numpy.array([2, 2, -4, 5], dtype)):
            found = np.divmod(np.array(x), np.array(y) if isinstance(y, numpy.ndarray) else y)
            assert told(found) == told(numpy.divmod(x, y))


@pytest.mark.skipif(calls is None, reason="not built")
def test_results_are_lazy() -> None:
    assert np.repeat(np.arange(3), 2)._e is not None
    assert np.random.default_rng(0).random(3)._e is not None


def test_draws_are_those_of_numpy() -> None:
    ours, theirs = np.random.default_rng(5), numpy.random.default_rng(5)
    scale = np.array([0.5])[0]
    for name, args, options in [
        ("normal", (0.0, 0.5), {}), ("random", (), {}), ("random", ((2, 3),), {}), ("integers", (5,), {}),
        ("integers", (0, 9), {"size": 4}), ("permutation", (6,), {}), ("choice", (7, 3), {"replace": False}),
        ("standard_normal", (3,), {"dtype": "float32"}), ("poisson", (2.0,), {}), ("exponential", (0.5, 2), {}),
    ]:  # fmt: skip
        wanted = getattr(theirs, name)(*args, **options)
        found = getattr(ours, name)(*(scale if x == 0.5 else x for x in args), **options)
        assert type(found).__name__ == type(wanted).__name__
        assert as_numpy(found) == as_numpy(wanted)
    x = numpy.arange(5.0)
    assert ours.permutation(np.array(x)).tolist() == theirs.permutation(x).tolist()
    assert ours.choice(np.array(x), 3).tolist() == theirs.choice(x, 3).tolist()
    assert float(ours.choice(np.array(x))) == float(theirs.choice(x))
