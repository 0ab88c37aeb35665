"""Joining arrays: what may be joined, into what, and how the result lies in memory; as in NumPy."""

from __future__ import annotations

import itertools
import operator

import numpy
import pytest

import npdec as np


def _layouts(lib):
    column_major = lib.asfortranarray(lib.arange(12.0).reshape(3, 4))
    row_major = lib.arange(12.0).reshape(3, 4)
    turned = lib.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0)
    return column_major, row_major, turned, column_major[:1], row_major[:, :1], column_major[::2]


PAIRS = list(itertools.product(range(6), repeat=2))


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack", "dstack"])
@pytest.mark.parametrize("pair", PAIRS)
def test_axes_lie_in_memory_as_those_of_the_parts(name, pair):
    def joined(lib, axis):
        parts = [_layouts(lib)[i] for i in pair]
        return getattr(lib, name)(parts, **axis)

    for axis in [{"axis": i} for i in range(3)] if name in ("concatenate", "stack") else [{}]:
        try:
            want = joined(numpy, axis)
        except ValueError:
            with pytest.raises(ValueError, match=r"dimension|shape|axis"):
                joined(np, axis)
            continue
        got = joined(np, axis)
        assert got.strides == want.strides
        numpy.testing.assert_array_equal(numpy.asarray(got), want)


@pytest.mark.parametrize("mode", ["constant", "edge", "mean", "reflect", "wrap"])
def test_a_padded_array_stays_column_major(mode):
    x = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    got = np.pad(x, 2, mode)
    assert got.flags.f_contiguous
    assert not got.flags.c_contiguous
    numpy.testing.assert_array_equal(numpy.asarray(got), numpy.pad(numpy.asarray(x), 2, mode))


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("make", [iter, lambda items: (item for item in items), set], ids=["iter", "generator", "set"])
def test_only_sequences_can_be_joined(name, make):
    with pytest.raises(TypeError) as want:
        getattr(numpy, name)(make([1, 2]))
    with pytest.raises(TypeError) as got:
        getattr(np, name)(make([1, 2]))
    assert str(got.value) == str(want.value)


class _Long(list):
    def __len__(self):
        return 2**31


def test_too_many_arrays():
    with pytest.raises(ValueError, match="only supports up to 2147483647 arrays but got 2147483648"):
        np.concatenate(_Long())


@pytest.mark.parametrize("name", ["concatenate", "stack"])
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128"])
def test_out_is_cast_to_as_the_rule_says(name, casting, dtype):
    def run(lib):
        parts = [lib.array([1.5, 2.5]), lib.array([3.5, 4.5])]
        out = lib.zeros((4,) if name == "concatenate" else (2, 2), dtype=dtype)
        assert operator.attrgetter(name)(lib)(parts, out=out, casting=casting) is out
        return out

    if numpy.can_cast("float64", dtype, casting):
        numpy.testing.assert_array_equal(numpy.asarray(run(np)), run(numpy))
        return
    with pytest.raises(TypeError) as want:
        run(numpy)
    with pytest.raises(TypeError) as got:
        run(np)
    assert str(got.value) == str(want.value)


@pytest.mark.parametrize("name", ["concatenate", "stack"])
def test_out_and_dtype_exclude_each_other(name):
    with pytest.raises(TypeError, match="only takes `out` or `dtype`"):
        getattr(np, name)([[1.0], [2.0]], out=np.zeros(2), dtype=float)
    with pytest.raises(TypeError, match="'out' must be an array"):
        getattr(np, name)([[1.0], [2.0]], out=[0.0, 0.0])


@pytest.mark.parametrize(
    "blocks", [[1, []], [[], 1], [[1], [[]]], [[], []], [], [[1], []], [[[]], [[1]]], [[[1]], [[]]], [[], [], [2]]]
)
def test_lists_of_blocks_that_are_empty_or_not_equally_deep(blocks):
    with pytest.raises(ValueError) as want:
        numpy.block(blocks)
    with pytest.raises(ValueError) as got:
        np.block(blocks)
    assert str(got.value) == str(want.value)
