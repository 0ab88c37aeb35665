"""Ufuncs of numbers on the host give what the general way gives, which calls torch, to the last bit."""

from __future__ import annotations

import math
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import npdec as np

UFUNCS = {
    name: function
    for name, function in vars(np).items()
    if isinstance(function, np.ufunc) and function.nin < 3 and function.nout == 1 and function.signature is None
}
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL = ("float16", "float32", "float64")
TYPES = ("bool_", *WHOLE, *REAL, "bool", "int", "float")
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.5, 2.0, -7.25, 65504.0, -6e-8, 1e-310, 5e-324, 3.4e38, -3.5e38, 1.7e308]
FLOATS += [math.inf, -math.inf, math.nan, 1e22, 745.0, -745.0, 2.0**53 + 2]
INTS = [0, 1, -1, 2, 3, 7, 255, -128, 2**31, 2**63 - 1, -(2**63), 2**63, 2**64, 10**400]


def _drawn(rng: Any, kind: str, count: int) -> list[Any]:
    """Numbers of a type: ordinary ones, and any that it has."""
    numbers: list[Any]
    if kind in ("bool", "bool_"):
        numbers = [False, True]
    elif kind == "int":
        numbers = [*rng.integers(-100, 100, count).tolist(), *INTS]
    elif kind in WHOLE:
        limits = numpy.iinfo(kind)
        ordinary = rng.integers(max(limits.min, -100), 100, count).tolist()
        numbers = [*ordinary, *rng.integers(limits.min, limits.max, count, dtype=kind).tolist(), limits.min, limits.max]
    else:
        any_bits = rng.integers(-(2**63), 2**63 - 1, count // 2).view(float)
        drawn = [
            rng.normal(size=count),
            rng.lognormal(0, 20, count // 2),
            rng.uniform(-100, 100, count),
            any_bits,
            FLOATS,
        ]
        with numpy.errstate(all="ignore"):
            numbers = numpy.concatenate(drawn).astype("float64" if kind == "float" else kind).tolist()
    return numbers if kind in ("bool", "int", "float") else list(map(getattr(np, kind), numbers))


def _bits(scalar: Any) -> Any:
    assert not scalar._carries
    number = scalar._n
    bits = struct.pack("d", number) if type(number) is float and number == number else repr(number)
    return type(scalar), type(number), bits


def _against_the_general_way(name: str, count: int, pairs: int) -> int:
    """How many numbers a ufunc computes at once; that it gives what the general way gives, type and bits."""
    function, rng = UFUNCS[name], numpy.random.default_rng(0)
    calls = type(function).__call__.__globals__["_calls"]
    drawn = {kind: _drawn(rng, kind, count) for kind in TYPES}
    if function.nin == 1:
        cases = [(x,) for kind in TYPES for x in drawn[kind]]
    else:
        each = [(drawn[one], drawn[other]) for one in TYPES for other in TYPES]
        cases = [tuple(numbers[rng.integers(len(numbers))] for numbers in two) for two in each for _ in range(pairs)]
    found = 0
    for case in cases:
        call = calls[type(case[0])]
        made = (call if function.nin == 1 else call[type(case[1])])(*case)
        if made is not None:
            found += 1
            assert _bits(made) == _bits(function._general(case)), case
    return found


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.whole
def test_numbers_are_those_of_the_general_way(name):
    found = _against_the_general_way(name, 6, 2)
    assert found or name in SLOW, "no number is computed at once"


SLOW = ("cbrt", "float_power", "heaviside", "isnat", "ldexp", "logaddexp", "logaddexp2", "spacing")


@pytest.mark.slow
@pytest.mark.parametrize("name", UFUNCS)
def test_more_numbers_are_those_of_the_general_way(name):
    _against_the_general_way(name, 150, 10)


def test_numbers_while_torch_is_watched():
    """Nothing that is kept for calls goes into a graph or a mode, or comes out of one."""
    x, wanted = np.float64(1.25), math.exp(1.25)
    wanted_to_the_bit = np.exp(np.array([1.25]))[0]
    assert np.exp(x) == wanted_to_the_bit

    class Counting(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            Counting.seen += function is torch.ops.aten.exp.default
            return function(*args, **(kwargs or {}))

    with Counting():
        assert abs(np.exp(x) - wanted) < 1e-12
    assert Counting.seen == 1
    assert np.vmap(lambda row: row * np.exp(x))(np.ones(2)).tolist() == [np.exp(x)] * 2
    assert np.grad(lambda y: y * np.exp(x))(2.0) == np.exp(x)
    with torch.inference_mode():
        assert np.cos(x) == np.cos(np.array([1.25]))[0]
        assert np.sinh(x) == np.sinh(np.array([1.25]))[0]
    assert np.sinh(x) == np.sinh(np.array([1.25]))[0]
    with torch.device("meta"):
        assert np.exp(1.25).tensor.device.type == "meta"
        assert np.exp(x) == wanted_to_the_bit
    double = np.jit(lambda y: y * np.exp(x) + np.exp(1.25), backend="eager")
    assert double(np.ones(3)).tolist() == [2 * float(np.exp(x))] * 3


@pytest.mark.slow
@pytest.mark.parametrize("make", ["element", "float64", "int64"])
@pytest.mark.filterwarnings("ignore:Dynamo detected a call:UserWarning")  # of what is remembered, on its first call
def test_scalars_that_hold_no_tensor_are_compiled(make):
    """torch.compile does not see that the tensor is made when it is asked for."""
    s = (np.arange(3.0) + 0.5)[1] if make == "element" else getattr(np, make)(3)

    def f(x: Any) -> Any:
        made = x * s + np.exp(s) + np.maximum(x, s) * (s * s) - np.where(x > 1, x, s) + (s + 1) * s**3
        return made + divmod(s, 2)[1] + 2.0**s + np.minimum(s, 3) + abs(-s)

    wanted = f(np.arange(4.0))
    made = torch.compile(f, backend="eager", fullgraph=True)(np.arange(4.0))
    numpy.testing.assert_allclose(numpy.asarray(made), numpy.asarray(wanted), rtol=1e-14)


def test_numbers_in_threads():
    """Each call is alone with the memory in which its number is computed."""
    numbers = [float(n) for n in range(40)]
    wanted = [float(np.exp(np.float64(-x))) for x in numbers]

    def computed(_: int) -> list[float]:
        return [float(np.exp(np.float64(-x))) for x in numbers * 20]

    with ThreadPoolExecutor(4) as pool:
        assert all(found == wanted * 20 for found in pool.map(computed, range(8)))


def test_errors_of_numbers_that_are_watched():
    with np.errstate(all="raise"):
        for call in (lambda: np.exp(np.float64(1000.0)), lambda: np.log(0.0), lambda: np.sqrt(np.float64(-1.0))):
            with pytest.raises(FloatingPointError):
                call()
    assert np.exp(np.float64(1000.0)) == math.inf


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
