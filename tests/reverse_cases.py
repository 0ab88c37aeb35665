"""What tests of forms in reverse mode look at: attributions beside the law forward, and beside the general way, which
looks at each call's completeness."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

import npdec as np
import tiers

__all__ = ["drawn", "from_everywhere", "is_close", "looked_at", "total"]


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal numbers, the same for a shape and a seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + len(shape)), dtype=torch.float64)


def total(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A number that each element of the result comes into."""

    def program(x: Any) -> Any:
        made = function(x)
        made = made._t if isinstance(made, np.ndarray) else made
        weights = torch.linspace(0.5, 1.5, made.numel(), dtype=made.dtype).reshape(made.shape)
        return (made * weights).sum()

    return program


def is_close(found: Any, wanted: Any, digits: float = 1e-9) -> None:
    """Raises AssertionError where attributions differ, or are not complete."""
    size = float(wanted.attribution.abs().max()) + abs(float(wanted.value)) + 1e-9
    assert float((found.attribution - wanted.attribution).abs().max()) <= digits * size
    assert abs(float(found.error)) <= digits * size
    assert abs(float(found.residual - wanted.residual)) <= digits * size


def looked_at(function: Callable[[Any], Any], x: torch.Tensor, baseline: Any, digits: float = 1e-9) -> None:
    """What reverse mode says of a function is what the law says forward, and the general way."""
    program = total(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.DecompositionWarning)
        found = np.attribute(program, x, baseline=baseline)
        is_close(found, np.attribute(program, x, baseline=baseline, mode="forward"), digits)
        with np.check_completeness():
            is_close(found, np.attribute(program, x, baseline=baseline), digits)
    assert torch.equal(found.value, program(x))


def from_everywhere(
    function: Callable[[Any], Any], x: torch.Tensor, start: torch.Tensor, turn: int, digits: float = 1e-9
) -> None:
    """The same from a baseline of zeros, of equal rows, and of rows of their own."""
    row = start[(0,) * (start.ndim - 1)]
    for baseline in tiers.turns((0.0, row, start), turn, 3):
        looked_at(function, x, baseline, digits)
