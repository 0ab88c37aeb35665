"""Functions of a few numbers that are infinite or NaN at an end, powers of negative numbers, and smooth functions
beside constants: value, residual, contributions and warnings are those of the law in general."""

from __future__ import annotations

import contextlib
import itertools
import operator
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np
from tiers import fewer, turns

pytestmark = pytest.mark.quick
DIVISIONS: dict[str, Callable[..., Any]] = {
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod, "fmod": np.fmod,
    "divmod": divmod,
}  # fmt: skip
SMOOTH = ["power", "float_power", "hypot", "arctan2", "logaddexp", "logaddexp2", "nextafter"]
WITHIN = {torch.float64: 1e-9, torch.float32: 3e-5, torch.complex128: 1e-9, torch.complex64: 3e-5}


def outcome(function: Callable[..., Any], args: tuple[Any, ...], general: bool) -> tuple[list[Any], list[str]]:
    """The tensors that a function gives, and what is said; `general`: while somebody looks on, so that no short way is
    gone."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with np.check_completeness() if general else contextlib.nullcontext():
            made = function(*args)
    parts = [part._t if hasattr(part, "_t") else part for part in (made if isinstance(made, tuple) else (made,))]
    # Of one of several results, beside a constant, the general way does not know the name.
    return parts, sorted(re.sub("^(None|divmod):", "divmod:", str(one.message)) for one in said)


def same(one: torch.Tensor, other: torch.Tensor, within: float = 0.0) -> bool:
    return one.dtype is other.dtype and torch.allclose(one, other, rtol=within, atol=within, equal_nan=True)


def check(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    (found, said), (wanted, told) = (outcome(function, args, general) for general in (False, True))
    assert said == told
    for one, other in zip(found, wanted, strict=True):
        assert type(one) is type(other)
        if type(one) is not np.DecomposedTensor:
            assert one == other
            continue
        assert one.labels == other.labels
        assert same(one.value, other.value)
        if one.value.dtype.is_floating_point:
            zero = one.value == 0
            assert torch.equal(torch.signbit(one.value)[zero], torch.signbit(other.value)[zero])
        assert same(one.residual, other.residual)
        assert same(one.components, other.components, WITHIN.get(one.components.dtype, 0.0))


def numbers(dtype: str) -> list[Any]:
    """Numbers that are zero at the value, at the baseline, at both ends, or move through zero, some under other labels;
    and conditions and integers."""
    a = np.decompose(
        np.asarray([1.5, -0.4, 0.0, -0.0], dtype=dtype), baseline=np.asarray([0.1, 0.1, 0.5, -2.0], dtype=dtype)
    )
    b = np.decompose(np.asarray([1.25, 3.0, 0.0], dtype=dtype), baseline=np.asarray([0.0, -2.0, 0.0], dtype=dtype))
    conditions = [a[0] > 0.5, a[1] > 0.2, b[1] > 1.0]
    return [*a, *b, *conditions, conditions[0].astype(int), conditions[1].astype(int) + 2]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_by_zero_are_the_laws(name, dtype):
    """Of two numbers, conditions and integers that carry something, and beside constants."""
    function, given = DIVISIONS[name], numbers(dtype)
    over_zero = [b for b in given if not (b.value and b._t.residual)]
    for a, b in turns(itertools.product(given, over_zero), 0, 3):
        check(function, (a, b))
    for constant, b in itertools.product((2.5, -0.5, 3, 0.0), over_zero):
        check(function, (constant, b))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_quotients_over_zero_are_the_laws(dtype):
    """NaN comes of whatever the divisor has, and of what moves of the dividend."""
    a = np.decompose(
        np.asarray([1.5 + 1j, -0.4, 0, 2j], dtype=dtype), baseline=np.asarray([0.1, 0.1j, 0.5, 0], dtype=dtype)
    )
    b = np.decompose(np.asarray([0, 1 - 2j], dtype=dtype), baseline=np.asarray([1j, 0], dtype=dtype))
    for x, y in itertools.product([*a, *b, a, 2.5, 1j, a[0].real > 0.5], [*a, *b, a[0].real > 0.5]):
        check(operator.truediv, (x, y))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_powers_of_negative_numbers_are_the_laws(dtype):
    """Of bases that move through zero, or stay below it, and exponents that move from one integer to another, or from
    where the base is positive; those that are NaN at an end too."""
    source = random.Random(5)
    whole = [0.0, 1.0, 2.0, 3.0, 1.5, 0.5]
    for _ in range(fewer(300, 5)):
        base = [source.choice([-2.0, -0.5, 0.0, 1.0, 0.75, 3.0]) for _ in range(2)]
        exponent = [source.choice(whole) for _ in range(2)]
        x = np.decompose(np.asarray(base[:1], dtype=dtype), baseline=np.asarray(base[1:], dtype=dtype), labels=["x"])
        y = np.decompose(
            np.asarray(exponent[:1], dtype=dtype), baseline=np.asarray(exponent[1:], dtype=dtype), labels=["y"]
        )
        check(operator.pow, (x[0], y[0]))
        check(operator.pow, (x, y))
        check(operator.pow, (x[0], y[0] > 0.75))
        check(operator.pow, (base[0], y[0]))
        check(operator.pow, (x[0], exponent[0]))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_beside_constants_are_the_laws(name, dtype):
    """Of one number and a few constants, of a few numbers and one, and of as many."""
    if name == "float_power":  # which computes in double precision, of numbers that have fewer digits
        dtype = "float64"
    function = getattr(np, name)
    few = np.decompose(np.asarray([1.5, -0.4, 2.2], dtype=dtype), baseline=np.asarray([0.1, 0.1, 2.199], dtype=dtype))
    constants = [np.asarray([1.0, 2.0, 3.0], dtype=dtype), np.asarray([[0.5], [-1.0]], dtype=dtype), 2.5, 1.0]
    for x, other in itertools.product([few[0], few[1], few[2], few], constants):
        if not (x is few and np.ndim(other) == 2):
            check(function, (x, other))
            check(function, (other, x))


def test_reciprocals_of_integers_drop_contributions():
    """An integer has no reciprocal but for one, and contributions to others are dropped with a warning."""
    for number in numbers("float64")[7:]:
        check(np.reciprocal, (number,))
