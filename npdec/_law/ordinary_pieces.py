"""The law of ordinary calls of functions that are linear between kinks: magnitudes, numbers between bounds, lines
between points, of a handful of numbers on the host, those that do not move among them."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch

from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.numbers_in_c import clamped_number
from npdec._law.of_few import larger_of_two, slope_of_number, slopes_of_few, vector
from npdec._law.ordinary import Form, built, is_ordinary, number_of, pointwise
from npdec._law.ordinary_choices import number_at_ends
from npdec._law.ordinary_numbers import listed_total
from npdec._law.secant import KEPT

__all__ = ["bounded", "clamped", "interpolated", "magnitude"]

Function = Callable[..., Any]
Derivative = Callable[[float], float]
_PIECES = Trait.ELEMENTWISE | Trait.PIECEWISE_LINEAR
_TABLE = 256  # points that are gone through sooner one by one
_BOUNDS = frozenset({float, int, type(None)})


def _in_pieces(
    derivative: Callable[..., Derivative | None],
    func: Function,
    args: Sequence[Any],
    options: dict[str, Any] | None = None,
) -> Any:
    x: Any = args[0] if args else None
    if not options and is_ordinary(x) and settings.get().rule == "affine":
        value, residual = x.value, x.residual
        graph = value.requires_grad or residual.requires_grad or x.components.requires_grad
        known = None if graph or not value.is_cpu or not 0 < value.numel() <= HANDFUL else derivative(*args[1:])
        made = None if known is None else _of_few(known, func, args, value, residual)
        if made is not None:
            return _carried(made, x)
    return pointwise(None, _PIECES, (0,), func, args, options)


def _of_few(
    derivative: Derivative, func: Function, args: Sequence[Any], value: torch.Tensor, residual: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, Any] | None:
    """The function at the value and at the residual, and its slopes: of one number, a number."""
    after, before = func(value, *args[1:]), func(residual, *args[1:])
    if after.dtype is not value.dtype:
        return None

    def close(x: float, r: float, step: float) -> float:
        return derivative(x)

    slopes: Any
    if value.ndim:
        slopes = slopes_of_few(None, close, _PIECES, KEPT, value, residual, after, before)
    else:
        ends = value.item(), residual.item(), after.item(), before.item()
        slopes = slope_of_number(None, close, _PIECES, KEPT, *ends, value.dtype)
    return None if slopes is None else (after, before, slopes)


def _carried(made: tuple[torch.Tensor, torch.Tensor, Any], x: Any) -> Any:
    after, before, slopes = made
    components = x.components
    if not after.ndim and 0 < len(x.labels) <= HANDFUL:
        components = vector([c * slopes for c in components.tolist()], after.dtype)
    else:
        components = components * slopes
    return built(after, before, components, x.labels)


def _sign(*rest: Any) -> Derivative | None:
    return None if rest else lambda x: (x > 0) - (x < 0)


def _inside(low: Any = None, high: Any = None) -> Derivative | None:
    """Whether a number is within the bounds, if these are numbers."""
    if type(low) not in _BOUNDS or type(high) not in _BOUNDS:
        return None
    return lambda x: float((low is None or x >= low) and (high is None or x <= high))


magnitude: Form = partial(_in_pieces, _sign)
bounded: Form = partial(_in_pieces, _inside)


def clamped(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """torch.clamp, whose bounds may be decomposed numbers too: the larger of two, and then the smaller."""
    if options or len(args) != 3 or not any(type(bound) is DecomposedTensor for bound in args[1:]):
        return bounded(func, args, options)
    found = clamped_number(*args)
    if found is not None:
        return found
    like = next(part for part in args if type(part) is DecomposedTensor)
    dtype = like.value.dtype
    ends = [number_at_ends(part, dtype) for part in args]
    if None in ends:
        return NotImplemented
    (x, r, _), (low, low_r, _), (high, high_r, _) = cast(Any, ends)
    first = larger_of_two(1, x, low, r, low_r)
    y, s = max(x, low), max(r, low_r)
    second = larger_of_two(-1, y, high, s, high_r)
    if first is None or second is None or not ((x or low) and (r or low_r) and (y or high) and (s or high_r)):
        return NotImplemented  # which of two zeros is the larger, torch knows
    weights = first[0] * second[0], first[1] * second[0], second[1]
    parts = [
        (part.labels, known[2], weight)
        for part, known, weight in zip(args, cast(Any, ends), weights, strict=True)
        if type(part) is DecomposedTensor
    ]
    made = listed_total(parts)
    if made is None:
        return NotImplemented
    return number_of(float(min(y, high)), float(min(s, high_r)), *made, dtype)


def interpolated(func: Function, args: Sequence[Any]) -> Any:
    """The values at a handful of numbers of the lines between plain points (`npdec._impl._interpolate`)."""
    x, points = args
    if not is_ordinary(x) or settings.get().rule != "affine":
        return NotImplemented
    value, residual, places = x.value, x.residual, points[0]
    if value.requires_grad or residual.requires_grad or x.components.requires_grad:
        return NotImplemented
    if not value.is_cpu or not 0 < value.numel() <= HANDFUL or not 1 < len(places) <= _TABLE:
        return NotImplemented
    after, before = func(value, points), func(residual, points)
    if after.dtype is not value.dtype or after.requires_grad or after.shape != value.shape:
        return NotImplemented
    close, slopes = _on_a_line(places.tolist(), points[1].tolist()), cast(Any, None)
    if value.ndim:
        slopes = slopes_of_few(None, close, 0, KEPT, value, residual, after, before)
    else:
        slopes = slope_of_number(
            None, close, 0, KEPT, value.item(), residual.item(), after.item(), before.item(), value.dtype
        )
    return NotImplemented if slopes is None else _carried((after, before, slopes), x)


def _on_a_line(places: Sequence[float], heights: Sequence[float]) -> Callable[[float, float, float], float]:
    """The slope between numbers that lie on one line; NaN of others. At a point, and beyond all, there is none."""

    def close(x: float, r: float, step: float) -> float:
        i, j = bisect.bisect_right(places, x), bisect.bisect_right(places, r)
        if x == r and i and places[i - 1] == x:
            return 0.0
        if i != j:
            return math.nan
        return (heights[i] - heights[i - 1]) / (places[i] - places[i - 1]) if 0 < i < len(places) else 0.0

    return close
