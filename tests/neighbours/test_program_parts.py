"""Passages of programs that calls with one argument of each kind do not reach."""

from __future__ import annotations

import fractions
import subprocess
import sys

import numpy
import pytest
import torch

import npdec as np

Z = numpy.array([0.5 + 1j, -0.5 + 0.75j, 1.1 - 0.2j, 0.8j, -1.05 + 0j])


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("exponent", [*range(-5, 8), 31, -31, 99, 100])
def test_whole_powers_of_complex_numbers(dtype, exponent):
    z = Z.astype(dtype)
    ours = np.array(z) ** exponent
    assert str(ours.dtype) == dtype
    numpy.testing.assert_allclose(numpy.asarray(ours), z**exponent, rtol=3e-14 if dtype == "complex128" else 2e-5)
    many = np.array(z) ** np.full(len(z), exponent)
    assert np.allclose(ours, many, rtol=3e-14 if dtype == "complex128" else 2e-5, atol=0)


def test_a_whole_power_of_complex_numbers_is_a_new_array():
    z = np.array(Z)
    one = z**1
    one[0] = 0
    assert z[0] == Z[0]
    assert ((z**0) == 1).all()
    assert str(np.zeros(1, complex) ** 2) == "[0.+0.j]"


def test_whole_powers_of_decomposed_complex_numbers_are_complete():
    z = np.decompose(np.array(Z), baseline=0.5 + 0.5j)
    for exponent in (2, 3, -2, 1, 0):
        y = z**exponent
        assert np.allclose(y.value, y.residual + y.components.sum(0), rtol=1e-12)
        assert np.allclose(y.residual, (0.5 + 0.5j) ** exponent)
    exponent = np.decompose(np.array(2 + 0j), baseline=1.0)
    y = np.array(Z) ** exponent
    assert np.allclose(y.components[0], Z**2 - Z)


@pytest.mark.slow
def test_operands_of_different_shapes_do_not_load_symbolic_mathematics():
    program = """
import sys
import npdec as np
x = np.ones((3, 1)) + 1j * np.ones(4)
np.where(x.real > 0, x, np.zeros(4))
np.add(np.ones((2, 1)), np.ones(3, "f4"))
np.ones((2, 2)) @ np.ones((3, 1, 2, 2))
np.cross(np.ones(3), x.real[0, :3])
np.ones((2, 3)).sum(where=np.ones(3, bool))
np.ravel_multi_index(([[1], [0]], [1, 2]), (2, 3))
np.linalg.solve(np.eye(2), np.ones(2))
np.array_equiv(np.ones((2, 1)), np.ones(3))
np.fft.fftfreq(4, np.ones(4))
np.exp(np.decompose(np.ones(2))) @ np.ones((2, 2))
assert "sympy" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


@pytest.mark.parametrize(
    "shapes", [((3, 1), (4,)), ((), (2,)), ((0,), (1,)), ((5, 1, 0), (3, 1)), ((2, 3), (4,)), ((0,), (3,)), ()]
)
def test_shapes_together(shapes):
    try:
        wanted = numpy.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ValueError, match="could not be broadcast"):
            np.add(np.ones(shapes[0], "f4"), np.ones(shapes[1]))
    else:
        arrays = [np.ones(shape, dtype) for shape, dtype in zip(shapes, ("f4", "f8"))]
        assert len(arrays) < 2 or np.add(*arrays).shape == wanted


def test_numpy_itself_computes_what_only_it_can_hold():
    x = np.arange(3.0)
    one, two = numpy.broadcast_arrays(x, None)  # as matplotlib's bar does
    assert type(one) is np.ndarray
    assert isinstance(two, numpy.ndarray)
    assert one.tolist() == [0, 1, 2]
    assert two.tolist() == [None] * 3
    objects = numpy.array([1, 2.5, 3], dtype=object)
    assert numpy.add(objects, x).tolist() == (objects + x.__array__()).tolist() == [1, 3.5, 5]
    with pytest.raises(TypeError, match="Cannot cast"):
        numpy.add(objects, x, out=np.zeros(3))
    assert np.broadcast_arrays(x, None)[1].tolist() == [None] * 3
    carried = numpy.broadcast_arrays(np.decompose(x), None)[0]
    assert [item.item() for item in carried] == [0, 1, 2]
    assert np.array(carried, dtype=float).components.tolist() == np.decompose(x).components.tolist()


def test_lengths_may_be_scalars_of_arrays():
    x, n = np.arange(12.0), np.prod((2, 3))
    for shape in ((n, -1), (n, 2), (n * 2,), (2, n // 2, -1)):
        wanted = numpy.arange(12.0).reshape(*map(int, shape))
        for y in (x.reshape(*shape), x.reshape(shape), np.reshape(x, shape)):
            assert type(y.tensor) is torch.Tensor
            assert y.shape == wanted.shape
            assert all(type(length) is int for length in y.shape)
            y += 1
            assert (x == y.ravel()).all()
            x -= 1
    d = np.decompose(x).reshape(n, -1)
    assert (d.components.sum(0) == wanted.reshape(6, 2)).all()


def test_scalars_of_pythons_precision_count_as_pythons_own():
    for lib in (numpy, np):
        x, z = lib.float64(2.5), lib.array([1 + 2j])[0]
        assert isinstance(x, float)
        assert isinstance(lib.ones(2).sum(), (int, float))
        assert isinstance(z, complex)
        assert not isinstance(x, complex)
        assert not isinstance(lib.float32(1), float)
        assert not isinstance(lib.int64(1), (int, float))
        assert x.__class__ == lib.float64
        assert hash(x.__class__) == hash(lib.float64)
        assert x.__class__.__name__ == "float64"
        assert type(x.__class__(3)) is lib.float64
        assert issubclass(x.__class__, float)
        assert issubclass(x.__class__, lib.floating)
        assert issubclass(z.__class__, lib.complexfloating)
        assert lib.zeros(1, dtype=x.__class__).dtype == lib.float64
        assert float in x.__class__.__mro__
        assert (x.__class__.fromhex("0x1p+1"), x.__class__.__doc__ is None) == (2, False)
        assert fractions.Fraction(x) == fractions.Fraction(5, 2)
        match x:
            case float():
                pass
            case _:
                raise AssertionError(x)
    assert issubclass(np.float64, np.floating)
    assert not issubclass(np.float64(1).__class__, np.integer)
    assert type(np.float64(1)) is np.float64
    total = np.decompose(np.arange(3.0)).sum()
    assert isinstance(total, float)
    assert total.is_decomposed


def test_indices_of_the_lengths_of_any_iterable():
    for lengths in ((2, 3), [3], {2: 0, 3: 0}, range(3), np.array([2, 3])):
        assert np.indices(lengths).shape == numpy.indices(tuple(lengths)).shape
        assert np.indices(n for n in lengths).shape == numpy.indices(tuple(lengths)).shape
    assert [len(x) for x in np.indices(map(len, ["ab", "c"]), sparse=True)] == [2, 1]
    for wrong in (3, "ab", (2.0,)):
        with pytest.raises(TypeError) as theirs:
            numpy.indices(wrong)
        with pytest.raises(TypeError) as ours:
            np.indices(wrong)
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64"]
)
def test_a_number_minus_an_array(dtype):
    many = numpy.array([0, 1, 3, 100]).astype(dtype)
    for number in (1, 0.1, 2**53 + 1, 1e300, -0.0, 2j, True, 2**63):
        for theirs in (many, many[1], many[:0], many[2:3].reshape(())):
            ours = np.array(theirs) if isinstance(theirs, numpy.ndarray) else np.array(many)[1]
            if type(number) is complex and isinstance(theirs, float):  # which Python itself subtracts
                made = number - ours
                assert type(made) is type(number - theirs)
                assert made == number - theirs
                continue
            try:
                with numpy.errstate(all="ignore"):
                    wanted = numpy.subtract(number, theirs)
            except (TypeError, OverflowError) as error:
                with pytest.raises(type(error)):
                    number - ours
                continue
            with np.errstate(all="ignore"):
                result = number - ours
            assert (str(result.dtype), result.shape) == (str(wanted.dtype), wanted.shape)
            assert isinstance(result, np.generic) == isinstance(wanted, numpy.generic)
            assert numpy.array_equal(numpy.asarray(result), wanted)
            assert (numpy.signbit(numpy.asarray(result).real) == numpy.signbit(wanted.real)).all()


def test_a_number_minus_a_decomposed_array():
    x = np.decompose(np.array([1.0, 3.0]), baseline=0.5)
    for y in (5.0 - x, 5 - x):
        assert (y.value == [4, 2]).all()
        assert (y.residual == 4.5).all()
        assert (y.components == [[-0.5, 0], [0, -2.5]]).all()
    assert (2.0 - x[1]).components.tolist() == [0, -2.5]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        -1e308 - np.array([1e308])


def test_arrays_of_numpys_are_written_by_numpy():
    x, picks = np.arange(3.0), np.array([2, 0, 1])
    sums = numpy.ones(3)
    sums += x  # a library's own array, in place
    assert type(sums) is numpy.ndarray
    assert sums.tolist() == [1, 2, 3]
    numpy.multiply(x, 2, sums)
    assert sums.tolist() == [0, 2, 4]
    for written in (numpy.zeros(3), np.zeros(3)):
        assert numpy.add(x, 1, out=written) is written
        assert numpy.clip(x, 0, 1, out=written) is written
        assert written.tolist() == [0, 1, 1]
        assert numpy.matmul(numpy.eye(3)[picks.__array__()], x, out=written) is written
        assert written.tolist() == [2, 0, 1]
        assert numpy.take(x, picks, None, written) is written
        assert numpy.divmod(x, 2, out=(written, written.copy()))[0] is written
        numpy.copyto(written, x)
        numpy.put(written, picks[:1], x[1])
        assert written.tolist() == [0, 1, 1]
        numpy.add.at(written, picks, x)
        assert written.tolist() == [1, 3, 1]
        numpy.put_along_axis(written, picks, x, 0)
        assert written.tolist() == [1, 2, 0]
    total = numpy.zeros(())
    assert numpy.sum(x, out=total) is numpy.add.reduce(x, out=total) is total
    assert total == 3
    with pytest.warns(np.DecompositionWarning, match="drops the contributions"):
        sums += np.decompose(x)
    assert sums.tolist() == [0, 3, 6]


def test_plots_of_columns_are_plots_of_columns():
    cbook = pytest.importorskip("matplotlib.cbook")
    y = numpy.random.default_rng(0).random((5, 3))
    theirs, ours = cbook.boxplot_stats(y), cbook.boxplot_stats(np.array(y))
    assert [box["med"] for box in ours] == [box["med"] for box in theirs]
    x = np.array(y)
    x.to_numpy()[0] = 7
    assert x[0].tolist() == [7, 7, 7]
    with pytest.warns(np.DecompositionWarning, match="drops the contributions"):
        assert type(np.decompose(x).to_numpy()) is numpy.ndarray
