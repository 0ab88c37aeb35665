"""Choices between decomposed numbers, and functions with jumps of two, are what the law makes of them, whatever finds
it: values are those of the functions of plain numbers, and contributions those of the mean path."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np

pytestmark = pytest.mark.quick
DTYPES = {torch.float64: 1e-12, torch.float32: 1e-5}
NODES = 20_000  # of the midpoint rule, for functions that jump or turn


def number(
    value: float, residual: float, labels: str, dtype: torch.dtype, shares: tuple[float, ...] = (0.75, 0.25)
) -> Any:
    """A number whose components have these shares of its step."""
    x, r = torch.tensor(value, dtype=dtype), torch.tensor(residual, dtype=dtype)
    components = torch.tensor(shares[: len(labels)], dtype=torch.float64)
    components = components / components.sum() * (x.double() - r.double())
    return np.asarray(np.DecomposedTensor(x, r, components.to(dtype), tuple(labels)).reshape(1))[0]


def column(x: Any) -> dict[Any, float]:
    """The components of a number by their labels; of a constant there are none."""
    tensor = getattr(x, "_t", None)
    if type(tensor) is not np.DecomposedTensor:
        return {}
    return {label: float(c) for label, c in zip(tensor.labels, tensor.components, strict=True)}


def ends(x: Any) -> tuple[float, float]:
    tensor = getattr(x, "_t", None)
    return (float(tensor.value), float(tensor.residual)) if type(tensor) is np.DecomposedTensor else (float(x),) * 2


def checked(result: Any, value: Any, residual: Any, wanted: dict[Any, float], within: float) -> None:
    tensor = result._t
    assert type(tensor) is np.DecomposedTensor
    for part, its in ((tensor.value, value), (tensor.residual, residual)):
        assert part.item() == its
        assert math.copysign(1, part.item()) == math.copysign(1, its)
    size = max(1.0, abs(float(value)), abs(float(residual)), *map(abs, wanted.values()))
    found = column(result)
    assert set(found) == set(wanted)
    for label, share in wanted.items():
        assert abs(found[label] - share) <= within * size, label
    assert abs(float(residual) + sum(found.values()) - float(value)) <= within * size


def by_steps(jumps: list[float], xs: list[Any]) -> dict[Any, float]:
    """What has moved of each number by `jumps`, in the shares of its components in its step."""
    wanted: dict[Any, float] = {}
    for jump, x in zip(jumps, xs, strict=True):
        own = column(x)
        total = sum(own.values())
        for label, c in own.items():
            wanted[label] = wanted.get(label, 0.0) + (jump * c / total if jump else 0.0)
    return wanted


def on_paths(derivative: Callable[..., tuple[float, ...]], xs: list[Any]) -> dict[Any, float]:
    """The mean of the derivatives on the way of all numbers, times their components."""
    ways = [ends(x) for x in xs]
    means = [0.0] * len(xs)
    for i in range(NODES):
        at = (i + 0.5) / NODES
        for j, slope in enumerate(derivative(*[r + at * (x - r) for x, r in ways])):
            means[j] += slope / NODES
    wanted: dict[Any, float] = {}
    for mean, x in zip(means, xs, strict=True):
        for label, c in column(x).items():
            wanted[label] = wanted.get(label, 0.0) + mean * c
    return wanted


PAIRS = {
    "other labels": ((2.5, -1.25, "ab"), (1.5, 0.75, "cd")),
    "same labels": ((2.5, -1.25, "ab"), (-1.5, 0.75, "ab")),
    "labels in another order": ((-0.5, 3.25, "ab"), (1.5, -0.75, "bca"[:2])),
    "no crossing": ((5.5, 4.25, "a"), (1.5, 0.75, "b")),
    "a constant": ((2.5, -1.25, "ab"), 0.75),
    "beside a constant": (0.75, (2.5, -1.25, "ab")),
}


def made(what: Any, dtype: torch.dtype) -> Any:
    return number(*what, dtype) if type(what) is tuple else what


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("sign", [1, -1])
def test_larger_of_two(sign: int, pair: str, dtype: torch.dtype) -> None:
    a, b = (made(what, dtype) for what in PAIRS[pair])
    function, best = (np.maximum, max) if sign > 0 else (np.minimum, min)
    wanted = on_paths(lambda x, y: (1.0, 0.0) if best(x, y) == x else (0.0, 1.0), [a, b])
    values = [best(float(u), float(w)) for u, w in zip(ends(a), ends(b), strict=True)]
    checked(function(a, b), *values, wanted, 2e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("low", [(-0.5, 0.25, "cd"), 0.25])
@pytest.mark.parametrize("high", [(0.75, 1.5, "ae"), 1.0])
def test_between_bounds(low: Any, high: Any, dtype: torch.dtype) -> None:
    x, a, b = number(2.5, -1.25, "ab", dtype), made(low, dtype), made(high, dtype)
    (v, r), (lows, highs) = ends(x), (ends(a), ends(b))
    value, residual = (min(max(u, lo), hi) for u, lo, hi in zip((v, r), lows, highs, strict=True))
    result = np.clip(x, a, b)
    assert (float(result._t.value), float(result._t.residual)) == (value, residual)
    inner = np.minimum(np.maximum(x, a), b)
    assert column(result) == pytest.approx(column(inner), abs=1e-5)


COMPARISONS = {"less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
               "equal": np.equal, "not_equal": np.not_equal}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str, pair: str, dtype: torch.dtype) -> None:
    """A step of the difference, in the shares of its components."""
    a, b = (made(what, dtype) for what in PAIRS[pair])
    compare = getattr(torch, {"equal": "eq", "not_equal": "ne"}.get(name, name))
    value, residual = (bool(compare(*map(torch.tensor, pair))) for pair in zip(ends(a), ends(b), strict=True))
    difference = dict(column(a))
    for label, c in column(b).items():
        difference[label] = difference.get(label, 0.0) - c
    total, jump = sum(difference.values()), value - residual
    wanted = {label: c / total * jump if jump else 0.0 for label, c in difference.items()}
    result = COMPARISONS[name](a, b)
    assert result.dtype == np.bool_
    checked(result, value, residual, wanted, DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [1.5, 0.25])
@pytest.mark.parametrize("branches", itertools.product([(2.5, -1.25, "cd"), 0.75], [(-1.5, 0.75, "ae"), -2.0]))
def test_selections(branches: tuple[Any, Any], value: float, dtype: torch.dtype) -> None:
    """The product rule: c·a + (1 − c)·b, which moves by the gain of the condition, and by its share of each branch."""
    gate = number(value, -1.0, "ab", dtype) > 0.5
    a, b = (made(what, dtype) for what in branches)
    (c, d), (x, r), (y, s) = ends(gate), ends(a), ends(b)
    wanted = dict.fromkeys([*column(gate), *column(a), *column(b)], 0.0)
    # Where the branches are chosen at neither end, they do not count.
    gain = (x + r) / 2 * bool(c or d) - (y + s) / 2 * (not (c and d))
    for part, weight in ((gate, gain), (a, (c + d) / 2), (b, 1 - (c + d) / 2)):
        for label, share in column(part).items():
            wanted[label] += weight * share
    a, b = (what if type(what) is not float else np.asarray(what, dtype=gate_dtype(dtype))[()] for what in (a, b))
    result = np.where(gate, a, b)
    if type(getattr(result, "_t", None)) is np.DecomposedTensor:
        checked(result.reshape(1)[0], x if c else y, r if d else s, wanted, DTYPES[dtype])
    else:
        assert not any(wanted.values())


def gate_dtype(dtype: torch.dtype) -> Any:
    return np.float64 if dtype is torch.float64 else np.float32


JUMPS: dict[str, tuple[Callable[..., Any], Callable[[float, float], float]]] = {
    "remainder": (np.remainder, lambda a, b: a % b),
    "floor_divide": (np.floor_divide, lambda a, b: a // b),
    "fmod": (np.fmod, math.fmod),
    "copysign": (np.copysign, math.copysign),
    "heaviside": (np.heaviside, lambda a, b: b if a == 0 else float(a > 0)),
    "mod, operator": (lambda a, b: a % b, lambda a, b: a % b),
    "divmod, quotient": (lambda a, b: divmod(a, b)[0], lambda a, b: a // b),
    "divmod, rest": (lambda a, b: np.divmod(a, b)[1], lambda a, b: a % b),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", JUMPS)
def test_jumps_beside_a_constant(name: str, dtype: torch.dtype) -> None:
    """What moves has the whole change."""
    function, computed = JUMPS[name]
    for value, residual in ((7.5, -2.25), (-7.5, 1.0), (0.0, 3.5), (6.0, 6.25)):
        x = number(value, residual, "ab", dtype)
        for constant in (1.5, -0.75, 2):
            wanted = computed(value, constant), computed(residual, constant)
            jump = wanted[0] - wanted[1]
            checked(function(x, constant), *wanted, by_steps([jump, 0.0], [x, constant]), DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["copysign", "heaviside"])
def test_signs_of_two(name: str, dtype: torch.dtype) -> None:
    """The mean of the changes in both orders."""
    function, f = JUMPS[name]
    for (x, r), (y, s) in itertools.product(((2.5, -1.25), (-1.5, -0.5), (0.0, 2.0)), ((1.5, -0.75), (0.5, 3.0))):
        a, b = number(x, r, "ab", dtype), number(y, s, "cb", dtype)
        first = ((f(x, s) - f(r, s)) + (f(x, y) - f(r, y))) / 2
        second = ((f(r, y) - f(r, s)) + (f(x, y) - f(x, s))) / 2
        checked(function(a, b), f(x, y), f(r, s), by_steps([first, second], [a, b]), DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in JUMPS if name not in ("copysign", "heaviside")])
def test_quotients_of_two(name: str, dtype: torch.dtype) -> None:
    """Values are those of Python's numbers, and contributions add up to the change; of an array of two they are the
    same."""
    function, f = JUMPS[name]
    draw = random.Random(5)
    for _ in range(40):
        x, r, y, s = (draw.randint(-64, 64) / 8 for _ in range(4))
        y, s = y or 1.0, s or -1.0
        a, b = number(x, r, "ab", dtype), number(y, s, "cb", dtype)
        with np.errstate(all="ignore"):
            result, rows = function(a, b), function(np.stack([a, a]), np.stack([b, b]))
        value, residual = f(x, y), f(r, s)
        assert (float(result._t.value), float(result._t.residual)) == (value, residual)
        assert result._t.labels == rows._t.labels
        assert torch.allclose(result._t.components, rows._t.components[:, 0], rtol=1e-4, atol=1e-5)
        assert abs(residual + float(result._t.components.sum()) - value) <= 1e-4


@pytest.mark.parametrize("rule", ["affine", "none"])
def test_general_law(rule: str) -> None:
    """Under each rule the contributions are those of the general law, which answers where completeness is checked."""
    a, b = number(7.5, -2.25, "ab", torch.float64), number(1.5, 0.75, "cd", torch.float64)
    functions = np.remainder, np.floor_divide, np.fmod, np.copysign, np.maximum, np.hypot, np.greater, np.logaddexp2
    for function in functions:
        with np.rule(rule):
            result = function(a, b)
            with np.check_completeness():
                wanted = function(a, b)
        if rule == "affine" or type(getattr(wanted, "_t", None)) is np.DecomposedTensor:
            assert column(result) == pytest.approx(column(wanted), rel=1e-9, abs=1e-12), function


def test_frozen_conditions_are_asked() -> None:
    a, b = number(7.5, -2.25, "ab", torch.float64), number(1.5, 0.75, "cd", torch.float64)
    with np.rule(conditions="frozen"):
        assert type(getattr(a > b, "_t", None)) is not np.DecomposedTensor


@pytest.mark.filterwarnings("ignore::npdec.exceptions.DecompositionWarning")
def test_what_is_not_finite() -> None:
    """Infinite and undefined numbers are what they are of plain numbers."""
    for value in (math.inf, -math.inf, math.nan):
        a, b = number(2.0, 1.0, "ab", torch.float64), number(1.5, 0.75, "cd", torch.float64)
        bad = np.asarray(torch.tensor([value], dtype=torch.float64))[0]
        for function in (np.remainder, np.fmod, np.maximum, np.minimum, np.copysign, np.less, np.floor_divide):
            with np.errstate(all="ignore"):
                for pair in ((a, bad), (bad, b)):
                    result = function(*pair)
                    wanted = function(*[np.float64(ends(x)[0]) for x in pair])
                    own = getattr(result, "value", result)
                    assert bool(np.array_equal(np.float64(float(own)), np.float64(float(wanted)), equal_nan=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_have_their_signs(dtype: torch.dtype) -> None:
    for value, divisor in itertools.product((0.0, -0.0, 3.0, -3.0), (1.5, -1.5)):
        x = number(value, 1.25, "ab", dtype)
        for name in ("remainder", "fmod", "floor_divide", "copysign"):
            function, _ = JUMPS[name]
            own = gate_dtype(dtype)
            wanted = float(function(own(value), own(divisor)))
            found = float(function(x, divisor)._t.value)
            assert (found, math.copysign(1, found)) == (wanted, math.copysign(1, wanted)), name
