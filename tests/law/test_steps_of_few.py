"""Functions that move across jumps alone, and comparisons, of few decomposed numbers: the components of an element that
moves have its jump in proportion to their part of the step; others have nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

import npdec as np

SHAPES: tuple[tuple[int, ...], ...] = (), (3,), (2, 3), (1, 1)
DTYPES = {torch.float64: 1e-12, torch.float32: 1e-5}
STEPS: dict[str, Callable[[Any], Any]] = {
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": torch.round,
    "sign": torch.sign,
    "method": lambda t: t.floor(),
    "signbit": torch.signbit,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "gt": torch.gt,
}


def made(shape: tuple[int, ...], dtype: torch.dtype, seed: int, labels: str = "abc") -> Any:
    """A value, and a residual that is the same in some elements; each element has two components."""
    generator = torch.Generator().manual_seed(seed)
    value, residual, share = torch.rand((3, *shape), generator=generator, dtype=torch.float64) * 4 - 2
    residual = torch.where(share > 1, value, residual)
    components = torch.stack([(value - residual) * 0.25, (value - residual) * 0.75, 0 * value])
    parts = (t.to(dtype) for t in (value, residual, components))
    return np.DecomposedTensor(*parts, tuple(labels))


def shared(jump: torch.Tensor, components: torch.Tensor) -> torch.Tensor:
    """The jump of each element in proportion to the components."""
    total = components.sum(0)
    return torch.where(jump == 0, 0.0, components * jump / torch.where(total == 0, 1.0, total))


def compared(result: Any, value: torch.Tensor, residual: torch.Tensor, wanted: dict[str, Any], within: float) -> None:
    assert result.value.dtype is value.dtype
    assert torch.equal(result.value, value)
    assert torch.equal(result.residual, residual)
    assert result.discrete == (value.dtype is torch.bool)
    assert set(result.labels) == set(wanted)
    for label, component in zip(result.labels, result.components, strict=True):
        assert torch.allclose(component.double(), wanted[label].double(), rtol=within, atol=within)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", STEPS)
def test_steps(name: str, dtype: torch.dtype) -> None:
    function = STEPS[name]
    for seed in range(12):
        x = made(SHAPES[seed % 4], dtype, seed)
        value, residual = function(x.value), function(x.residual)
        jump = value.double() - residual.double()
        wanted = dict(zip(x.labels, shared(jump, x.components.double()), strict=True))
        result = function(x)
        compared(result, value, residual, wanted, DTYPES[dtype])
        with np.check_completeness():
            again = function(x)
        assert torch.allclose(result.components, again.components, rtol=DTYPES[dtype], atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_with_constants(name: str, dtype: torch.dtype) -> None:
    compare = COMPARISONS[name]
    for seed in range(12):
        x = made(SHAPES[seed % 4], dtype, seed)
        constant: Any
        for constant in (0.5, 1, torch.tensor(0.25, dtype=dtype), x.value.clone(), torch.full_like(x.value, -0.5)):
            value, residual = compare(x.value, constant), compare(x.residual, constant)
            jump = value.double() - residual.double()
            wanted = dict(zip(x.labels, shared(jump, x.components.double()), strict=True))
            compared(compare(x, constant), value, residual, wanted, DTYPES[dtype])
            if isinstance(constant, torch.Tensor):
                ends = compare(constant, x.value), compare(constant, x.residual)
                jump = ends[0].double() - ends[1].double()
                wanted = dict(zip(x.labels, shared(jump, x.components.double()), strict=True))
                compared(compare(constant, x), *ends, wanted, DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("labels", ["abc", "xyz", "cxa"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_two(name: str, labels: str, dtype: torch.dtype) -> None:
    """The step is that of their difference, of which each has its components."""
    compare = COMPARISONS[name]
    for seed in range(12):
        shape = SHAPES[seed % 4]
        x, y = made(shape, dtype, seed), made(shape, dtype, seed + 100, labels)
        value, residual = compare(x.value, y.value), compare(x.residual, y.residual)
        difference: dict[str, Any] = dict(zip(x.labels, x.components.double(), strict=True))
        for label, component in zip(y.labels, y.components.double(), strict=True):
            difference[label] = difference.get(label, 0.0) - component
        parts = shared(value.double() - residual.double(), torch.stack(list(difference.values())))
        compared(compare(x, y), value, residual, dict(zip(difference, parts, strict=True)), 10 * DTYPES[dtype])


def test_conditions_that_are_frozen() -> None:
    """They are plain booleans, however few the elements."""
    x = made((3,), torch.float64, 1)
    with np.rule(conditions="frozen"):
        assert type(x > 0.0) is torch.Tensor
    assert type(x > 0.0) is np.DecomposedTensor
