"""Sums that begin with a negative zero; classes that nothing is derived from; protocols of polynomials: as NumPy's."""

import itertools

import numpy
import pytest

import npdec as np

NUMBERS = [[], [-0.0], [-0.0, -0.0, -0.0], [-0.0, 0.0], [0.0], [1.0, -1.0], [-0.0, 2.0], [[-0.0, 1.0], [-0.0, -0.0]]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("numbers", NUMBERS, ids=str)
def test_sums_keep_negative_zeros_as_numpys(numbers, dtype):
    starts = (-0.0, 0.0, complex(-0.0, -0.0)) if dtype.startswith("c") else (-0.0, 0.0)
    for start, axis, keepdims in itertools.product(starts, (None, 0), (False, True)):
        made, wanted = (
            lib.sum(lib.array(numbers, dtype) * 1, axis=axis, initial=start, keepdims=keepdims) for lib in (np, numpy)
        )
        made = numpy.asarray(made)
        numpy.testing.assert_array_equal(made, wanted)
        for part in ("real", "imag"):
            assert numpy.array_equal(*[numpy.signbit(getattr(numpy.asarray(x), part)) for x in (made, wanted)])


def test_masked_out_numbers_are_no_zeros():
    for lib in (np, numpy):
        found = lib.sum(lib.array([1.0, -0.0]), where=lib.array([False, True]), initial=-0.0)
        assert numpy.signbit(float(found))


def test_no_class_is_derived_from_what_has_no_size():
    for lib in (np, numpy):
        with pytest.raises(TypeError, match="not an acceptable base type"):
            type("Mine", (lib.flexible,), {"__module__": "mine"})


class Asked:
    def __array_function__(self, function, types, args, kwargs):
        return function.__name__, len(args)


@pytest.mark.parametrize("name", ["polyval2d", "polygrid2d"])
def test_classes_are_asked_for_polynomials_of_two_variables(name):
    for lib in (np, numpy):
        assert getattr(lib.polynomial.polynomial, name)(Asked(), [1.0], [[1.0]]) == (name, 3)
