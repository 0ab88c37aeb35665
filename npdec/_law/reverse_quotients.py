"""Quotients by a decomposed divisor in reverse mode (`npdec._law.reverse_beside`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import narrowed
from npdec._decomposed.broadcast_residuals import of_rows
from npdec._decomposed.size_warnings import half_of_digits, has_finite_sum
from npdec._law.ordinary_reverse import is_ordinary
from npdec._law.reverse_beside import beside, is_for_c
from npdec._law.reverse_elements import ends_of, is_plain
from npdec._native import calls

__all__ = ["quotient", "reciprocal_times"]

Function = Callable[..., Any]


def quotient(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """a / b of a decomposed b: the product of a with the reciprocal of b, whose slope is −1 / (value residual)."""
    found = ends_of(args) if len(args) == 2 and not options and is_plain() else None
    if found is None:
        return NotImplemented
    like, (a, b) = found
    if b.on_graph is None:
        return NotImplemented
    value = func(a.value, b.value)
    if value.dtype is not like.value.dtype or not value.numel():
        return NotImplemented
    residual = of_rows(func, [x.residual for x in (a, b)], [x.on_graph is not None for x in (a, b)], value.shape)
    slopes, info = _range_of(b.value, b.residual), torch.finfo(value.dtype)
    if slopes is None or not slopes[1] >= info.tiny / info.eps:
        return NotImplemented
    if not (has_finite_sum(value) and has_finite_sum(residual)):
        return NotImplemented
    ends = [tuple([torch.as_tensor(t, dtype=value.dtype) for t in (x.value, x.residual)]) for x in (a, b)]
    limit = half_of_digits(value.dtype)
    if a.on_graph is not None and not slopes[2] <= limit - 1:  # what the two contribute may cancel
        parts = [t for its in ends for t in its]
        if not is_for_c(value) or calls.digits_lost(value, residual, *parts, limit) != 0:
            return NotImplemented
    return beside(True, like, ends, [x.on_graph for x in (a, b)], value, residual)  # type: ignore[arg-type]


def reciprocal_times(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A number over a tensor, as torch computes it: the reciprocal times the number."""
    if len(args) != 2 or options or not is_ordinary(args[0]) or type(args[1]) not in (int, float) or not is_plain():
        return NotImplemented
    made = torch.reciprocal(args[0])
    return made if args[1] == 1 else made * args[1]


def _range_of(b: torch.Tensor, low: torch.Tensor) -> tuple[float, float, float] | None:
    """Of divisors and their residuals the largest and the smallest magnitude of the slope of the reciprocal, and how
    many times the one is larger than the other at most; None where one is no number."""
    row = narrowed(low, low.ndim)
    if is_for_c(b):
        found: tuple[float, float, float] | None = calls.divisor_range(b, row)
        if found is not None:
            return found
    end, start = torch.reciprocal(b), torch.reciprocal(row)
    slope = end * start
    most, least = [float(torch.linalg.vector_norm(slope, order)) for order in (math.inf, -math.inf)]
    far = max(float(torch.linalg.vector_norm(t, math.inf)) for t in (b * start, row * end))
    return (most, least, far) if most < math.inf and far < math.inf else None
