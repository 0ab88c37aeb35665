"""Integers: arithmetic that wraps around, division by zero, shifts of any distance, numbers that do not fit."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import npdec as np

DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
BINARY = """add subtract multiply floor_divide remainder fmod bitwise_and bitwise_or bitwise_xor left_shift right_shift
    maximum minimum less less_equal equal gcd lcm power""".split()
UNARY = "negative invert square reciprocal absolute sign bitwise_count positive logical_not".split()


def extremes(dtype: str) -> Any:
    """The ends of the range, what is near them, halves, and small numbers."""
    low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    numbers = [low, low + 1, high, high - 1, high // 2, high // 2 + 1, high // 3, 0, 1, 2, 5, 7, 8, 15, 16, 31, 32, 63]
    numbers += [64, 65, 100, 127] + ([-1, -2, -7, -64] if low else [200, 255])
    return numpy.array(numbers, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_extremes(name, dtype):
    x = extremes(dtype)
    left, right = (side.copy() for side in numpy.broadcast_arrays(x[:, None], x))
    if name == "power":
        right = numpy.clip(right, 0, None)
    with numpy.errstate(all="ignore"):
        want = getattr(numpy, name)(left, right)
        got = getattr(np, name)(np.array(left), np.array(right))
        assert str(got.dtype) == str(want.dtype)
        numpy.testing.assert_array_equal(numpy.asarray(got), want)
        for i, j in zip(range(0, 24, 3), (1, 5, 8, 12, 17, 21, 22, 23), strict=True):  # scalars go another way
            a, b = left[i % len(x), j], right[i % len(x), j]
            scalar = getattr(np, name)(np.asarray(a)[()], np.asarray(b)[()])
            assert int(scalar) == int(getattr(numpy, name)(a, b)), (a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_extremes(name, dtype):
    x = extremes(dtype)
    with numpy.errstate(all="ignore"):
        want = getattr(numpy, name)(x)
    got = getattr(np, name)(np.array(x))
    assert str(got.dtype) == str(want.dtype)
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [operator.lshift, operator.rshift], ids=["lshift", "rshift"])
def test_shifts_by_python_integers(op, dtype):
    x = extremes(dtype)
    for distance in (0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 100) + ((-1, -8) if dtype[0] == "i" else ()):
        numpy.testing.assert_array_equal(numpy.asarray(op(np.array(x), distance)), op(x, distance))


# Where NumPy and npdec have to say the same: a result, or an error in the same words.
EXPRESSIONS = """
np.array([1], 'u1') + 300
np.array([1], 'u1') + (-1)
np.array([1], 'i8') + 2**63
np.array([1], 'i8') + 2**64
np.array([1], 'u8') + 2**64
np.array([1], 'u8') - 1
np.array([1], 'i1') * 128
np.uint8(1) + 300
np.uint8(1) - (-1)
np.int64(1) + 2**63
np.int64(1) + 2**64
300 + np.uint8(1)
np.array([1], 'u1') < 300
np.array([1], 'u1') == -1
np.uint8(1) < 2**100
np.array([1.0]) + 2**70
np.array([1.0]) + 10**400
np.float64(1) + 10**400
np.array([1], 'u8') >> -1
np.left_shift(True, 3)
np.left_shift(np.array([True]), np.array([True]))
1 << np.uint8(3)
np.power(2, -1)
np.power(np.array([2, 3]), np.array([-1, 0]))
np.power(np.array([1], 'i1'), np.array([-1], 'i1'))
np.array([1, 2]) ** -1
np.int8(3) ** -1
np.array([], 'i8') ** -1
np.uint64(5) - np.uint64(7)
np.uint64(5) + np.int64(3)
np.uint64(2**63) // np.int64(3)
np.array([2**63], 'u8') + np.array([1], 'i8')
np.uint8(5) / 2
-np.uint8(5)
~np.uint8(5)
np.uint32(5) * np.uint32(2**31)
np.int8(100) + np.int8(100)
np.int8(-128) // np.int8(-1)
np.int8(5) // np.int8(0)
np.int8(5) % np.int8(0)
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_numpy(expression):
    outcomes = []
    with numpy.errstate(all="ignore"):
        for lib in (np, numpy):
            try:
                outcomes.append(repr(eval(expression, {"np": lib})))
            except (OverflowError, ValueError, TypeError) as error:
                outcomes.append(f"{type(error).__name__}: {error}")
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_float64_is_rounded_once(dtype):
    rng = numpy.random.default_rng(0)
    halfway = (numpy.arange(1000, 3000) + 0.5) * 2.0**-10
    x = numpy.concatenate([rng.standard_normal(10000), halfway, halfway * (1 + 2.0**-40), halfway * (1 - 2.0**-40)])
    x = numpy.concatenate([x, x * 2.0**-16, [numpy.inf, -numpy.inf, numpy.nan, -0.0, 1e300]])
    with numpy.errstate(all="ignore"):
        want = x.astype(dtype)
    numpy.testing.assert_array_equal(numpy.asarray(np.array(x).astype(dtype)), want)


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64, 2**70, -(2**63), -(2**63) - 1], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "equal", "less", "greater_equal"])
def test_a_number_beyond_64_bits_is_refused_at_every_call_or_at_none(name, dtype, number):
    """As NumPy refuses it, whatever was called before."""

    def outcome(module):
        try:
            return getattr(module, name)(module.array([1, 0, 3], dtype), number).tolist()
        except OverflowError:
            return "OverflowError"

    assert [outcome(np), outcome(np)] == [outcome(numpy)] * 2
