"""What Python finds of numbers in place of torch is torch's to the last bit, on this processor."""

from __future__ import annotations

import inspect

import numpy
import pytest
import torch

import npdec as np
from npdec._impl._numbers import OF_NUMBERS


@pytest.mark.parametrize("function", OF_NUMBERS, ids=lambda f: f.__name__)
def test_numbers_are_torchs_bit_for_bit(function):
    rng = numpy.random.default_rng(0)
    numbers = numpy.concatenate([rng.normal(size=1500), rng.lognormal(0, 40, 400), [0.0, -0.0, 1.5, -2.5, 5e-324]])
    others = rng.permutation(numbers)
    try:
        count = len(inspect.signature(OF_NUMBERS[function]).parameters)
    except ValueError:  # of C
        count = 1
    for x, y in zip(numbers.tolist(), others.tolist(), strict=True):
        try:
            found = OF_NUMBERS[function](*(x, y)[:count])
        except (ArithmeticError, ValueError):  # torch has to say it
            continue
        if found is not None:
            wanted = function(*(torch.tensor(z, dtype=torch.float64) for z in (x, y)[:count])).item()
            assert (type(found), str(found)) == (type(wanted), str(wanted)), (x, y)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64", "int32", "bool"])
def test_isfinite_of_all_kinds_of_numbers(dtype):
    """Of large and of small ones, of both zeros, and of what is none, in any number of dimensions."""
    numbers = [0.0, -0.0, 1.5, -1.5, numpy.inf, -numpy.inf, numpy.nan, 5e-324, -5e-324, 1e308, -1e308]
    with numpy.errstate(all="ignore"):
        x = numpy.array(numbers * 3).astype(dtype)
    for given in (x, x[::2], x.reshape(3, -1), x[:0], x[4]):
        made = np.isfinite(np.array(given))
        assert made.dtype == bool
        numpy.testing.assert_array_equal(numpy.asarray(made), numpy.isfinite(given))
