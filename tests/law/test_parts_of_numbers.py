"""Numbers that are taken apart on the host, beside the general way, which arrays go; and kernels of one number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np
from npdec._impl import elementwise_math_impl

pytestmark = pytest.mark.slow

ENDS = [0.0, -0.0, 0.5, 1.5, -1.5, 2.75, 1e-3, -7.125, 1e10, 0.75]
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "modf": np.modf, "frexp": np.frexp, "ldexp": lambda x: np.ldexp(x, 3), "ldexp down": lambda x: np.ldexp(x, -5),
    "ldexp of an array": lambda x: np.ldexp(x, np.int32(2)),
}  # fmt: skip


def told(function: Callable[[Any], Any], x: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = function(x)
    return made if isinstance(made, tuple) else (made,), [str(one.message) for one in caught]


MANY = 70  # elements, of which none are taken apart on the host


def ends_of(at: float, start: float, dtype: Any) -> tuple[Any, Any, Any]:
    """A number, an array of it alone, and one of it many times, under one label."""
    many = np.full(MANY, at, dtype=dtype), np.full(MANY, start, dtype=dtype)
    groups = np.zeros(MANY, dtype=np.int64)
    x = np.decompose(many[0][:1], baseline=many[1][:1])
    return x[0], x, np.decompose(many[0], baseline=many[1], groups=groups)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_taken_apart_as_many_are(name: str, dtype: Any):
    function = FUNCTIONS[name]
    for at in ENDS:
        for start in ENDS:
            number, few, many = ends_of(at, start, dtype)
            alone, said = told(function, number)
            row, _ = told(function, few)
            beside, also = told(function, many)
            plain = told(function, np.array(at, dtype=dtype)[()])[0]
            assert bool(said) == bool(also), (at, start)
            for one, its, other, wanted in zip(alone, row, beside, plain, strict=True):
                for found in (one, its[0], other[0]):
                    assert found.dtype == wanted.dtype
                    assert np.signbit(found.value) == np.signbit(wanted)
                    assert found.value == wanted
                    assert found.residual == other.residual[0]
                    assert found.dtype.kind == "i" or found.components.dtype == other.components.dtype
                    wide, size = float(other.components[0, 0]), abs(float(wanted)) + abs(float(found.residual))
                    assert abs(float(found.components[0]) - wide) <= 1e-6 * abs(wide) + 1e-12
                    assert abs(float(np.completeness(found))) <= 1e-6 * size


CONSTANTS: dict[str, Callable[[Any, Any], Any]] = {
    "power": np.power, "hypot": np.hypot, "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2,
    "arctan2": np.arctan2, "exponential": lambda x, y: np.power(y, x), "angle": lambda x, y: np.arctan2(y, x),
    "sum of powers": lambda x, y: np.logaddexp(y, x), "float_power": np.float_power,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CONSTANTS)
def test_a_few_numbers_beside_constants_move_as_many_do(name: str, dtype: Any):
    function = CONSTANTS[name]
    ends = [0.5, 1.5, 2.0, 2.5, 1e-3]
    for constant in (0.5, 2.0, 3.0, -1.0) if name not in ("exponential",) else (0.5, 2.0, 3.0):
        for at in ends:
            for start in (*ends, at * (1 + 1e-7)):
                number, few, many = ends_of(at, start, dtype)
                beside = np.full(MANY, constant, dtype=dtype)
                one, its, other = (
                    told(lambda x, y=y: function(x, y), x)[0][0]
                    for x, y in ((number, beside[0]), (few, beside[:1]), (many, beside))
                )
                wide, size = float(other.components[0, 0]), abs(float(other.value[0])) + abs(float(other.residual[0]))
                for found in (one, its[0]):
                    eps = float(np.finfo(dtype).eps)
                    assert abs(float(found.value) - float(other.value[0])) <= 4 * eps * size
                    assert abs(float(found.components[0]) - wide) <= 1e-11 * abs(wide) + 32 * eps * size, (at, start)
                    assert abs(float(np.completeness(found))) <= 16 * eps * size


def test_an_exponent_that_leaves_the_range_is_left_to_the_general_way():
    x = np.decompose(np.array([1.5, 2.0]), baseline=1.0)
    for moves in (2000, -1070, -2000, 5000):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.array_equal(np.ldexp(x[0], moves).value, np.ldexp(1.5, moves))
    with pytest.raises(TypeError):
        np.ldexp(x[0], 1.5)


def root_of(x: torch.Tensor) -> torch.Tensor:
    """A power, and a step of Newton's method, in torch's calls."""
    root = torch.abs(x).pow(1 / 3).copysign(x)
    return root - (root - x / (root * root)) / 3


def sum_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.log1p(torch.exp2(-torch.abs(x - y))) * (1 / math.log(2)) + torch.maximum(x, y)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_kernels_of_one_number_give_torchs_bits(dtype: torch.dtype):
    generator = torch.Generator().manual_seed(4)
    x, y, powers = torch.randn(3, 400, generator=generator, dtype=torch.float64).unbind(0)
    x, y = (x * 10 ** (4 * powers)).to(dtype), (x + y).to(dtype)
    x[:4], y[:4] = torch.tensor([1e-40, 3e38, -1e-42, 2.0]), torch.tensor([3e38, -3e38, 0.0, 2.0])
    for a, b in zip(x, y, strict=True):
        assert torch.equal(elementwise_math_impl.cbrt(a), root_of(a)), a
        assert torch.equal(elementwise_math_impl.logaddexp2(a, b), sum_of(a, b)), (a, b)
    for special in (math.inf, -math.inf, math.nan, 0.0, -0.0):
        number, several = np.array(special, dtype=str(dtype)[6:])[()], np.array([special] * 2, dtype=str(dtype)[6:])
        assert np.array_equal(np.cbrt(number), np.cbrt(several)[0], equal_nan=True)
        assert np.signbit(np.cbrt(number)) == np.signbit(number)
        assert np.array_equal(np.logaddexp2(number, number), np.logaddexp2(several, several)[0], equal_nan=True)


def test_closeness_of_single_precision_is_told_as_numpy_tells_it():
    """Beside the comparison written out, whose steps are rounded to single precision each."""
    generator = torch.Generator().manual_seed(2)
    for a, noise in torch.randn(150, 2, generator=generator).tolist():
        b = a * (1 + 1.2e-5 * noise)
        x = np.decompose(np.array([a, b], dtype=np.float32), baseline=np.array([0.25, 0.5], dtype=np.float32))
        for left, right in ((x[0], x[1]), (x[0], np.float32(b)), (np.float32(a), x[1]), (x[0], float(np.float32(b)))):
            found = np.isclose(left, right)
            plain = [
                part.value if hasattr(part, "is_decomposed") and part.is_decomposed else part for part in (left, right)
            ]
            assert bool(found.value) == bool(np.isclose(*plain))
            moved = abs(left - right) <= abs(right) * 1e-5 + 1e-8
            assert bool(found.residual) == bool(moved.residual)
            torch.testing.assert_close(
                torch.as_tensor(found.components), torch.as_tensor(moved.components), rtol=1e-3, atol=1e-5
            )
            assert abs(float(np.completeness(found))) < 1e-4
