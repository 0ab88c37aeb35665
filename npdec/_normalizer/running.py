"""Running sums, products and extremes by torch's own functions, where each of their steps is that of the ufunc."""

from __future__ import annotations

import math
from typing import Any

import torch

from npdec._core.base import UfuncBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util

__all__ = ["along", "of_vector"]


def of_vector(function: UfuncBase, array: Any) -> torch.Tensor | None:
    """Running sums and products of a vector by torch's own functions; None where there is more to look at."""
    step = _RUNNING.get(function.__name__)
    if step is None or array._d not in _STEPWISE or not _util.are_numbers(array._t) or len(array._t.shape) != 1:
        return None
    if step is torch.cumsum and array._d is torch.float64:
        first = float(array[0]) if len(array) else -0.0  # no name holds the tensor, or it would not come from memory
        if not first and math.copysign(1.0, first) < 0:  # torch begins with 0.0, to which it adds
            return None
    return step(array._t, 0)


_RUNNING = {"add": torch.cumsum, "multiply": torch.cumprod}
_EXTREMES = {"maximum": torch.cummax, "minimum": torch.cummin}
# In which torch takes each step as the ufunc does; sums of float32 it takes in float64.
_STEPWISE = frozenset({torch.float64, torch.int8, torch.int16, torch.int32, torch.int64})
_TINY = 2.0**-1022


def _has_negative_zero(a: torch.Tensor) -> bool:
    negative = torch.signbit(a)
    return bool(negative.any()) and bool(((a == 0) & negative).any())


def along(function: UfuncBase, a: torch.Tensor, dim: int, found: set[str] | None) -> torch.Tensor | None:
    """Running sums, products and extremes by torch's own functions; None for other ufuncs, where steps differ, and
    where there are floating-point errors to be told from one another."""
    name, plain = function.__name__, _util.are_numbers(a)
    if not a.numel() or not (plain or type(a) is DecomposedTensor):
        return None
    numbers = _util.numbers(a)
    if name in _RUNNING and a.dtype in _STEPWISE:
        if name == "add" and a.is_floating_point() and _has_negative_zero(numbers.select(dim, 0)):
            return None  # torch begins with 0.0, to which it adds
        result = _RUNNING[name](a, dim, dtype=a.dtype)
        if found is None or not a.is_floating_point():
            return result
        size = _util.numbers(result).abs()
        least = _TINY if name == "multiply" else 0.0
        return result if _util.is_known_true(((size < math.inf) & (size >= least)).all()) else None
    if plain and found is None and name in _EXTREMES and (a.dtype in _STEPWISE or a.dtype is torch.float32):
        if a.is_floating_point() and _has_negative_zero(a):
            return None  # which of two zeros is the greater one, torch's functions see otherwise
        return _EXTREMES[name](a, dim)[0]
    return None
