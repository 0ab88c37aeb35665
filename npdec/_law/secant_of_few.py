"""The slopes of pointwise functions of a handful of numbers, on the host: sooner than one call of torch for each step.

They are found as `npdec._law.secant` finds them, which finds the others: where a number is not finite, or something has
to be said of a slope, or a difference has lost digits and there is no closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.registry import Trait, close_of
from npdec._decomposed.size_warnings import STEEP, STEEPEST
from npdec._impl import slopes_impl

__all__ = ["CLOSED", "HANDFUL", "listed", "slopes_of_few"]

HANDFUL = 16  # numbers that Python goes through sooner
_LONGEST = 2.0**40  # steps up to which the pieces of a piecewise linear function are looked at here
_RANGE = {
    dtype: (torch.finfo(dtype).tiny, torch.finfo(dtype).tiny / torch.finfo(dtype).eps, STEEPEST.get(dtype, STEEP))
    for dtype in (torch.float32, torch.float64)
}


def _sigmoid(step: float, fx: float, fr: float) -> float:
    return math.tanh(step / 2) / step * (fx * (1 - fr) + fr * (1 - fx))


Function = Callable[..., Any]

# The closed forms of slopes that take torch many calls.
CLOSED: dict[Any, Callable[[float, float, float], float]] = {slopes_impl.sigmoid: _sigmoid}


def listed(x: torch.Tensor) -> list[float]:
    """The numbers, in row-major order."""
    return x.tolist() if x.ndim == 1 else x.reshape(-1).tolist()


def slopes_of_few(
    closed: Any,
    function: Any,
    traits: int,
    kept: float,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> torch.Tensor | None:
    """The slopes of a function between r and x, of one shape: by the closed form that it has, or the secants; where
    these have lost digits, by that of slopes between close numbers which the `function` has, if it is given. A
    difference d of a and b has its digits where `kept` d² is not less than a b. None where one of the slopes is not to
    be found so."""
    sizes: Any = _RANGE.get(x.dtype)
    if sizes is None or not x.is_cpu or fx.requires_grad or fr.requires_grad:
        return None
    tiny, least, most = sizes
    form = None if closed is None else CLOSED[closed]
    pieces, coarse = traits & Trait.PIECEWISE_LINEAR, traits & Trait.COARSE
    slopes: list[float] = []
    steps: list[float] = []
    places: list[int] = []
    for u, w, a, b in zip(listed(x), listed(r), listed(fx), listed(fr), strict=True):
        step, difference = u - w, a - b
        if step == 0 and (function is None or form is not None or pieces or not math.isfinite(a)):
            return None
        slope = difference / step if step else 0.0
        if form is not None:
            slope = form(step, a, b)
            if not least < slope < math.inf:
                return None
        elif pieces:
            if not (-_LONGEST < step < _LONGEST and -most <= slope <= most):
                return None
        elif not (step and tiny + a * b <= kept * difference * difference):
            if function is None or not abs(difference) < math.inf:
                return None
            places.append(len(slopes))
        elif coarse and not u * w <= kept * step * step:
            return None
        slopes.append(slope)
        steps.append(step or tiny**0.5)
    if places:
        close = close_of(function)
        if close is None:
            return None
        eps = torch.finfo(x.dtype).eps
        found = listed(close(x, r, torch.tensor(steps, dtype=x.dtype).reshape(x.shape)))
        ends = listed(fx), listed(fr)
        for i in places:
            rounded = 16 * eps * (abs(ends[0][i]) + abs(ends[1][i])) / abs(steps[i])
            if steps[i] == tiny**0.5 or abs(found[i] - slopes[i]) <= rounded:
                slopes[i] = found[i]
    if not pieces and form is None and not all(least <= abs(slope) <= most for slope in slopes):
        return None
    made = torch.tensor(slopes, dtype=x.dtype)
    return made if x.ndim == 1 else made.reshape(x.shape)
