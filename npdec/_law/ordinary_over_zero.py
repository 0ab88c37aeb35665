"""The law of ordinary quotients of a few numbers, whose divisors are zero at an end of the path: products with the
reciprocal, of which nothing comes of what does not move. The others among the divisors are moderate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import STEEP, half_of_digits, warn_infinite
from npdec._law.of_few import FEW
from npdec._law.ordinary_pairs import Pair

__all__ = ["over_zero"]

Function = Callable[..., Any]
_EVEN = {dtype: half_of_digits(dtype) - 3 for dtype in (torch.float32, torch.float64)}


def over_zero(pair: Pair, func: Function) -> Any:
    """The quotient of a pair; NotImplemented where no divisor is zero at an end, or something else is to be said."""
    (x, y), (r, s), (first, second) = pair.values, pair.residuals, pair.components
    if second is None or not 0 < y.numel() <= HANDFUL or not y.is_cpu or second.numel() > FEW:
        return NotImplemented
    parts = [part for part in (x, y, r, s, first, second) if isinstance(part, torch.Tensor)]
    if any(part.requires_grad or not part.numel() or not math.isfinite(part.sum().item()) for part in parts):
        return NotImplemented
    ends = y == 0, s == 0
    at_zero, still = ends[0] | ends[1], ends[0] & ends[1]
    if not at_zero.any() or (still.any() and (second * still).any()):
        return NotImplemented
    after, before = torch.reciprocal(y), torch.reciprocal(s)
    steepness, inverse, middle = after * before, (after + before) / 2, (x + r) / 2
    even = 4 * inverse * inverse <= _EVEN[y.dtype] * steepness.abs()
    if not (at_zero | (even & (steepness.abs() <= STEEP))).all() or not _are_moderate(middle):
        return NotImplemented
    slope = torch.where(at_zero, (after - before) / (y - s), -steepness)
    inverted = torch.where(second == 0, 0, second * slope)
    made = torch.where(inverted == 0, 0, inverted * middle)
    if first is not None:
        made = pair.together(torch.where(first == 0, 0, first * inverse), made)
    if not math.isfinite(inverted.sum().item()):
        warn_infinite("reciprocal", after, before)
    return pair.made(func, made)


def _are_moderate(middle: torch.Tensor | float) -> bool:
    size = middle.abs().max().item() if isinstance(middle, torch.Tensor) else abs(middle)
    return size <= STEEP
