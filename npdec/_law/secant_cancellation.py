"""Slopes between close numbers, where the difference of the function has lost its leading digits.

Of less than double precision they are the slopes of the differences in double precision, which have digits enough;
otherwise a closed form, or the mean of the derivative along the segment, by Gauss–Legendre quadrature, which is the
same number.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence

import torch

from npdec._law.quadrature_nodes import gauss_legendre

__all__ = [
    "FEW_DIGITS", "MANY", "NODES", "SMOOTH", "closed_where_close", "elements", "is_of_torch", "mean_derivative",
    "put_doubles", "with_doubles",
]  # fmt: skip

SMOOTH = 0.5  # how much the derivative may change over a segment that the quadrature takes as one
NODES = 6
FEW_DIGITS = 2.0**-33  # a difference beside numbers of double precision that has twenty bits
_PAIRS = [(0.0, 0.0), (1.0, 0.0), *gauss_legendre(NODES)]  # both ends, and the nodes with their weights
MANY = 2**13  # elements of which the nodes are computed one by one


def elements(tensor: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """These elements in row-major order; equal rows are not copied for them."""
    row = tensor
    while row.ndim and not row.stride(0):
        row = row[0]
    if row is not tensor:
        count = row.numel()
        chosen = chosen % count if count & (count - 1) else chosen & (count - 1)  # no division by a power of two
    return row.reshape(-1).index_select(0, chosen)


def is_of_torch(function: object) -> bool:
    """Whether a function is one of torch's own, which are the same functions in every precision."""
    if isinstance(function, types.MethodDescriptorType):
        return function.__objclass__ is torch.Tensor.__base__
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(function).partition(".")[0] in ("aten", "prims")
    known = isinstance(function, (types.BuiltinFunctionType, types.FunctionType))
    return known and str(function.__module__).partition(".")[0] == "torch"


def _doubles(
    f: Callable[..., torch.Tensor], x: torch.Tensor, r: torch.Tensor, others: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
    """The slopes of pairs in double precision, how great the difference is, and the value; None where the function has
    a precision of its own."""
    ends = torch.stack((x, r)).double()
    values = f(ends, *others)
    if values.dtype is not torch.float64:
        return None
    difference = values[0] - values[1]
    return difference / (ends[0] - ends[1]), difference.abs(), values[0].abs()


def put_doubles(
    f: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    slope: torch.Tensor,
    chosen: torch.Tensor,
    others: Sequence[torch.Tensor],
) -> torch.Tensor:
    """Put the slopes of close pairs of less than double precision, by the difference in double precision. The places of
    those in which that loses too many digits are returned."""
    made = _doubles(f, elements(x, chosen), elements(r, chosen), [elements(o, chosen) if o.ndim else o for o in others])
    if made is None:
        return chosen
    slopes, difference, size = made
    slope.index_copy_(0, chosen, slopes.to(slope.dtype))
    lost = difference <= FEW_DIGITS * size
    return chosen.index_select(0, lost.nonzero().squeeze(1)) if bool(lost.any()) else chosen[:0]


def with_doubles(
    f: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    slope: torch.Tensor,
    close: torch.Tensor,
    others: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The slopes, and where the pairs are close what `put_doubles` puts there; the places that it would leave. Of fewer
    than MANY elements all are sooner computed than the close ones are told apart."""
    if x.shape != r.shape:
        x, r = torch.broadcast_tensors(x, r)
    several = [o.expand(slope.shape).reshape(-1) if o.ndim else o for o in others]
    made = _doubles(f, x.reshape(-1), r.reshape(-1), several)
    if made is None:
        return slope, close.reshape(-1).nonzero().squeeze(1)
    slopes, difference, size = made
    found = torch.where(close, slopes.to(slope.dtype).reshape(slope.shape), slope)
    if float(torch.sub(difference, size, alpha=FEW_DIGITS).amin()) > 0:
        return found, None
    lost = close.reshape(-1) & (difference <= FEW_DIGITS * size)
    return found, lost.nonzero().squeeze(1)


def closed_where_close(
    close: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    rounded: torch.Tensor,
    difference: torch.Tensor,
    step: torch.Tensor,
    chosen: torch.Tensor,
) -> torch.Tensor:
    """The secants, and by the closed form of slopes between close numbers those that are `chosen`, unless it leaves the
    secant by more than what rounding of numbers of the size `rounded` can do to that."""
    still = step == 0
    step = torch.where(still, math.sqrt(torch.finfo(step.dtype).tiny), step)
    secants, slopes = difference / step, close(x, r, step)
    good = (slopes - secants).abs() <= 16 * torch.finfo(step.dtype).eps * rounded / step.abs()
    return torch.where(chosen & (good | still), slopes, secants)


def mean_derivative(
    derivative: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    rounded: torch.Tensor,
    slope: torch.Tensor,
) -> torch.Tensor:
    """The mean derivative between close x and r, where that is smooth between them, and agrees with the secant to what
    rounding of numbers of the size `rounded` can do to the latter (it does not where the function turns in between);
    else the secant."""
    step = x - r
    if len(x) < MANY:
        nodes, weights = torch.tensor(_PAIRS, dtype=x.dtype, device=x.device).unbind(1)
        slopes = derivative(torch.addcmul(r, nodes.unsqueeze(1), step))
        first, last, mean = slopes[0], slopes[1], torch.mv(slopes.T, weights)
    else:
        first, last, mean = derivative(r), derivative(x), torch.zeros_like(x)
        for node, weight in gauss_legendre(NODES):
            mean.add_(derivative(torch.add(r, step, alpha=node)), alpha=weight)
    rounding = 16 * torch.finfo(slope.dtype).eps * rounded / step.abs()
    good = (last - first).abs() <= SMOOTH * torch.maximum(first.abs(), last.abs())
    good &= (mean - slope).abs() <= rounding
    return torch.where(x == r, last, torch.where(good, mean, slope))
