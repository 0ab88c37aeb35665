"""What Python finds of numbers in place of torch is torch's to the last bit, on this processor."""

from __future__ import annotations

import inspect

import numpy
import pytest
import torch

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
