"""Rows in reverse mode that are compared with constant ones, by the mean gradients of their lengths: pairwise_distance,
triplet_margin_loss and cosine_embedding_loss. Other calls are those of `npdec._rules.norms_reverse` and
`npdec._rules.losses_reverse`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._decomposed.size_warnings import half_of_digits, has_finite_sum
from npdec._law.ordinary_reverse import on_graph_of
from npdec._law.ordinary_slopes import ordinary_slope
from npdec._law.reverse_forms import Single, on_graph_with, single
from npdec._native import calls

__all__ = ["between_rows", "similarity", "triplet"]

Function = Callable[..., Any]
Named = dict[str, Any]
_MEAN, _SUM = 1, 2  # torch's numbers of reductions
_PIECES = Trait.ELEMENTWISE | Trait.PIECEWISE_LINEAR
_TINY = 1e-12  # what torch adds to sums of squares


def _of_rows(func: Function, args: Sequence[Any], options: Named | None, count: int) -> Single | None:
    """A call of so many rows, (B, n), of which the first alone are decomposed, and the others are constants."""
    call = single(func, args, options) if calls is not None and settings.get().rule == "affine" else None
    if call is None or call.place or call.plain < count - 1 or call.x.value.ndim != 2 or not call.x.value.is_cpu:
        return None
    like = call.x.value
    if not like.numel() or not is_for_one_thread(like.numel()):
        return None
    others = call.args[1:count]
    return call if all(t.shape == like.shape and t.dtype is like.dtype for t in others) else None


def _directions(call: Single, other: torch.Tensor, eps: float) -> torch.Tensor | None:
    """The mean gradient of the lengths of x − other + eps; None where a path comes near zero."""
    ends = [torch.sub(end, other).add_(eps) for end in (call.x.value, call.x.residual)]
    made = torch.empty_like(ends[0])
    return made if calls is not None and calls.mean_directions(*ends, False, 1.0, made) else None


def between_rows(func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
    """pairwise_distance of rows to constant ones."""
    call = _of_rows(func, args, options, 2)
    if call is None:
        return NotImplemented
    named: Named = {"p": 2.0, "eps": 1e-6, "keepdim": False}
    named |= dict(zip(("x1", "x2", "p", "eps", "keepdim"), call.args))
    named |= call.options
    if named["p"] != 2 or type(named["keepdim"]) is not bool:
        return NotImplemented
    gradient = _directions(call, call.args[1], named["eps"])
    if gradient is None:
        return NotImplemented
    carrier = (on_graph_of(call.x) * gradient).sum(-1, named["keepdim"])
    return on_graph_with(call.x, call(call.x.value), call(call.x.residual), carrier)


def _relu(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor | None:
    """The slopes of relu."""
    found = ordinary_slope(None, _PIECES, F.relu, high, low, F.relu)
    return None if found is None else found[2]


def _together(call: Single, rates: torch.Tensor, reduction: int, gradient: torch.Tensor) -> Any:
    """The sum or mean of losses of rows: of these, the gradients by the rates."""
    rates = rates / len(rates) if reduction == _MEAN else rates
    gradient = gradient.mul_(rates.unsqueeze(1))
    if not has_finite_sum(gradient):
        return NotImplemented
    value, residual = call(call.x.value), call(call.x.residual)
    carrier = torch.dot(on_graph_of(call.x).reshape(-1), gradient.reshape(-1))
    return on_graph_with(call.x, value, residual, carrier)


def triplet(func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
    """torch's kernel of triplet_margin_loss, of a decomposed anchor."""
    call = _of_rows(func, args, options, 3) if len(args) == 8 else None
    if call is None or call.plain != 2:
        return NotImplemented
    x, near, far, margin, power, eps, swap, reduction = call.args
    if power != 2 or swap or reduction not in (_MEAN, _SUM):
        return NotImplemented
    x, distance = call.x, partial(torch.pairwise_distance, p=2.0, eps=eps)
    high, low = (margin + distance(end, near) - distance(end, far) for end in (x.value, x.residual))
    rates, closer, further = _relu(high, low), _directions(call, near, eps), _directions(call, far, eps)
    if rates is None or closer is None or further is None:
        return NotImplemented
    return _together(call, rates, reduction, closer.sub_(further))


def similarity(func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
    """torch's kernel of cosine_embedding_loss, of rows beside constant ones: the quotient of the inner product and the
    root of the sums of squares, whose slope is the sum of both ends."""
    call = _of_rows(func, args, options, 2) if len(args) == 5 else None
    if call is None or call.plain != 2:
        return NotImplemented
    _, other, target, margin, reduction = call.args
    x, r = call.x.value, call.x.residual
    if not isinstance(target, torch.Tensor) or target.shape != x.shape[:1] or reduction not in (_MEAN, _SUM):
        return NotImplemented
    size = other.square().sum(1) + _TINY
    inner, before = [(end * other).sum(1) for end in (x, r)]
    root, start = [((end.square().sum(1) + _TINY) * size).sqrt() for end in (x, r)]
    apart = root / start
    limit = half_of_digits(x.dtype) - 1
    if not (float(apart.amax()) <= limit and float(apart.amin()) * limit >= 1):  # contributions of both may cancel
        return NotImplemented
    rates: Any = _relu(inner / root - margin, before / start - margin)
    if rates is None:
        return NotImplemented
    rates = torch.where(target == 1, -1, torch.where(target == -1, rates, 0))
    end, begin = root.reciprocal(), start.reciprocal()
    by_inner = (end / 2 + begin / 2).unsqueeze(1)
    by_squares = (size / (root + start) * (end * begin) * (inner / 2 + before / 2)).unsqueeze(1)
    return _together(call, rates, reduction, torch.addcmul(by_inner * other, by_squares, x + r, value=-1))
