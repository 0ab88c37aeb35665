"""Quotients of a few numbers whose divisors are zero at an end of the path: number by number beside the law in general;
and functions of integers that divide by zero."""

from __future__ import annotations

import random
import warnings

import numpy
import pytest
import torch

import npdec as np
from npdec._rules import dispatch
from npdec.exceptions import DecompositionWarning
from tiers import fewer

POOL = [0.0, 0.0, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 1e-8, 1e8, float("inf")]


def drawn(source: random.Random, count: int, dtype):
    ends = [[source.choice(POOL) if source.random() < 0.6 else source.gauss(0, 1) for _ in range(count)] for _ in "xr"]
    return np.decompose(np.asarray(ends[0], dtype=dtype), baseline=np.asarray(ends[1], dtype=dtype))


def outcome(x, y):
    """The parts of a quotient, and what is said of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = (x / y)._t
    messages = {str(one.message) for one in said if issubclass(one.category, DecompositionWarning)}
    return [made.value, made.residual, made.components], messages


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_quotients_over_zero_are_the_laws(dtype, monkeypatch):
    """Value, residual, contributions and warnings are those that the law in general gives."""
    source = random.Random(3)
    short, answered = dispatch.number_by_number, 0

    def counted(one, func, args):
        nonlocal answered
        made = short(one, func, args)
        answered += made is not NotImplemented
        return made

    for _ in range(fewer(1000, 10)):
        count = source.choice([1, 2, 3])
        x, y = drawn(source, count, dtype), drawn(source, count, dtype)
        if source.random() < 0.3:
            y = y > 0.25
        elif source.random() < 0.3:
            y = y[0]
        if source.random() < 0.2:
            x = source.choice([0.0, 1.0, 2.5])
        found = []
        for way in (counted, lambda one, func, args: NotImplemented):
            monkeypatch.setattr(dispatch, "number_by_number", way)
            found.append(outcome(x, y))
        (parts, said), (expected, also) = found
        # Where a number is infinite, is known better of each.
        assert {message.split(" number ")[0] for message in said} == {message.split(" number ")[0] for message in also}
        size = sum(end.nan_to_num(0, 0, 0).abs() for end in expected[:2])
        size = size + expected[2].nan_to_num(0, 0, 0).abs().sum(0)
        assert torch.equal(parts[0].nan_to_num(7.0), expected[0].nan_to_num(7.0))
        assert torch.equal(parts[1].nan_to_num(7.0), expected[1].nan_to_num(7.0))
        a, b = parts[2], expected[2]
        near = (a - b).abs() <= 8 * torch.finfo(a.dtype).eps * size
        assert bool(((a == b) | (a.isnan() & b.isnan()) | near).all())
    assert answered > 20


@pytest.mark.quick
@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide", "divmod"])
def test_integers_over_zero_say_that_they_drop(name):
    """What booleans leave of each other is 0 over False, where numbers have none: contributions are dropped, and
    nothing else is said."""
    x = np.decompose(np.array([0.3, 0.7]), baseline=np.array([0.6, 0.1]))
    c, d = x > 0.5, x > 0.9
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = getattr(np, name)(c, d)
    expected = getattr(np, name)(np.array([False, True]), np.array([False, False]))
    assert numpy.array_equal(made, expected)
    messages = [str(one.message) for one in said if issubclass(one.category, DecompositionWarning)]
    assert len(messages) == 1
    assert "dropped" in messages[0]
