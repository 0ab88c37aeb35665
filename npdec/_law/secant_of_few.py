"""The slopes of pointwise functions of a handful of numbers, on the host: sooner than one call of torch for each step.

They are the secants, where these have their digits and nothing has to be said of them; where a difference has lost
some, or a number is not finite, the general way finds the slopes (`npdec._law.secant`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.registry import Trait
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


# The closed forms of slopes that take torch many calls.
CLOSED: dict[Any, Callable[[float, float, float], float]] = {slopes_impl.sigmoid: _sigmoid}


def listed(x: torch.Tensor) -> list[float]:
    """The numbers, in row-major order."""
    return x.tolist() if x.ndim == 1 else x.reshape(-1).tolist()


def slopes_of_few(
    closed: Any, traits: int, kept: float, x: torch.Tensor, r: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor
) -> torch.Tensor | None:
    """The slopes of a function between r and x, of one shape: by the closed form that it has, or the secants. A
    difference d of a and b has its digits where `kept` d² is not less than a b. None where one of them has not."""
    sizes: Any = _RANGE.get(x.dtype)
    if sizes is None or not x.is_cpu or fx.requires_grad or fr.requires_grad:
        return None
    tiny, least, most = sizes
    form = None if closed is None else CLOSED[closed]
    pieces, coarse = traits & Trait.PIECEWISE_LINEAR, traits & Trait.COARSE
    slopes = []
    for u, w, a, b in zip(listed(x), listed(r), listed(fx), listed(fr), strict=True):
        step, difference = u - w, a - b
        if step == 0:
            return None
        slope = difference / step if form is None else form(step, a, b)
        if form is not None:
            if not least < slope < math.inf:
                return None
        elif pieces:
            if not (-_LONGEST < step < _LONGEST and -most <= slope <= most):
                return None
        else:
            if not (tiny + a * b <= kept * difference * difference and least <= abs(slope) <= most):
                return None
            if coarse and not u * w <= kept * step * step:
                return None
        slopes.append(slope)
    made = torch.tensor(slopes, dtype=x.dtype)
    return made if x.ndim == 1 else made.reshape(x.shape)
