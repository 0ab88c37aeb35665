"""Functions of elements in reverse mode by the shortest way, beside those of `npdec._law.ordinary_reverse`: maxima of
two, quotients, what moves across jumps, and choices by conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP, STEEPEST, has_finite_sum, keeps_digits
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary import has_elements
from npdec._law.ordinary_reverse import is_ordinary, on_graph_of
from npdec._law.ordinary_slopes import ordinary_slope
from npdec._law.quadrature import tolerance
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.reverse_forms import constant, on_graph_with, single
from npdec._law.secant import derivative

__all__ = ["chosen", "compared", "gated", "leaky", "of_two", "quotient", "stepped"]

Function = Callable[..., Any]
_PIECES = Trait.ELEMENTWISE | Trait.PIECEWISE_LINEAR
_ROUNDINGS = 32  # of the numbers at the ends, by which a step is no larger than rounding alone may be
_MOST_NODES = 24


class Ends(NamedTuple):
    """An argument at the value and at the residual, and on the graph of its component, if it is decomposed."""

    value: Any
    residual: Any
    on_graph: torch.Tensor | None

    def middle(self) -> Any:
        """The middle of the path."""
        if self.on_graph is None:
            return self.value
        return torch.add(self.value / 2, self.residual, alpha=0.5)


def ends_of(args: Sequence[Any]) -> tuple[DecomposedTensor, list[Ends]] | None:
    """The arguments of an ordinary call in reverse mode, which are such tensors, constants or numbers, and one that is
    decomposed; None of others."""
    like = next((x for x in args if type(x) is DecomposedTensor and not x.discrete), None)
    if like is None or not is_ordinary(like):
        return None
    made: list[Ends] = []
    for x in args:
        if type(x) is DecomposedTensor:
            if not is_ordinary(x) or x.value.dtype is not like.value.dtype or x.labels != like.labels:
                return None
            made.append(Ends(x.value, x.residual, on_graph_of(x)))
        elif type(x) is float or type(x) is int:
            made.append(Ends(x, x, None))
        else:
            kept = constant(x, like.value)
            if kept is None:
                return None
            made.append(Ends(kept, kept, None))
    return like, made


def _is_plain() -> bool:
    return bool(settings.get().rule == "affine")


def of_two(sign: int, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """The larger (sign 1) or the smaller (−1) of two lines: each passes on the part of the path on which it leads, and
    lines that are equal a half."""
    found = ends_of(args) if len(args) == 2 and not options and _is_plain() else None
    if found is None:
        return NotImplemented
    like, (a, b) = found
    last, first = a.value - b.value, a.residual - b.residual
    if sign < 0:
        last, first = -last, -first
    above, below = last.clamp_min(0) + first.clamp_min(0), last.clamp_max(0) + first.clamp_max(0)
    path = above - below
    if not path.numel() or not has_finite_sum(path):
        return NotImplemented
    share = above.div_(path)
    if not has_finite_sum(share):  # of lines that are equal at both ends
        share.masked_fill_(path == 0, 0.5)
    value = func(*[torch.as_tensor(x.value, dtype=last.dtype) for x in (a, b)])
    residual = func(*[torch.as_tensor(x.residual, dtype=last.dtype) for x in (a, b)]).expand(value.shape)
    carrier = None if a.on_graph is None else a.on_graph * share
    if b.on_graph is not None:
        other = b.on_graph * (1 - share)
        carrier = other if carrier is None else carrier + other
    return on_graph_with(like, value, residual, carrier) if carrier is not None else NotImplemented


def quotient(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """a / b of a decomposed b: the product of a with the reciprocal of b, whose slope is −1 / (value residual)."""
    found = ends_of(args) if len(args) == 2 and not options and _is_plain() else None
    if found is None:
        return NotImplemented
    like, (a, b) = found
    if b.on_graph is None:
        return NotImplemented
    end, start = torch.reciprocal(b.value), torch.reciprocal(b.residual)
    value, residual = func(a.value, b.value), func(a.residual, b.residual)
    if value.dtype is not like.value.dtype or not value.numel():
        return NotImplemented
    both = end * start
    largest = float(torch.linalg.vector_norm(both, math.inf))
    if not largest <= STEEPEST.get(both.dtype, STEEP) or not (has_finite_sum(value) and has_finite_sum(residual)):
        return NotImplemented
    if float(torch.linalg.vector_norm(both, -math.inf)) < torch.finfo(both.dtype).tiny / torch.finfo(both.dtype).eps:
        return NotImplemented
    if a.on_graph is not None and not keeps_digits(b.value, start):
        return NotImplemented
    carrier = b.on_graph * (both * (-a.middle() if isinstance(a.value, torch.Tensor) else -a.value))
    if a.on_graph is not None:
        carrier = carrier + a.on_graph * torch.add(end / 2, start, alpha=0.5)
    return on_graph_with(like, value, residual.expand(value.shape), carrier)


def leaky(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """prelu of a constant weight: that of relu, less what is passed on below zero."""
    call = single(func, args, options) if _is_plain() else None
    if call is None or call.place or len(call.args) != 2 or call.plain != 1:
        return NotImplemented
    x, weight = call.x, call.args[1]
    if weight.dtype is not x.value.dtype:
        return NotImplemented
    value = call(x.value)
    found = ordinary_slope(None, _PIECES, F.relu, x.value, x.residual, F.relu)
    if found is None:
        return NotImplemented
    if weight.numel() == 1:
        weight = weight.reshape(())
    elif x.value.ndim > 1:
        weight = weight.reshape([-1 if axis == 1 else 1 for axis in range(x.value.ndim)])
    slope = torch.lerp(weight.expand(value.shape), torch.ones_like(value), found[2])
    if not has_finite_sum(slope):
        return NotImplemented
    return on_graph_with(x, value, call(x.residual), on_graph_of(x) * slope)


# -- jumps -------------------------------------------------------------------------------------------------------------


def _moved(x: DecomposedTensor) -> tuple[torch.Tensor, torch.Tensor | None] | None:
    """By how much contributions move each element, and where that may be rounding alone, or None where it is nowhere;
    None in place of both where value and residual are apart by something else: what they are differences of was
    rounded."""
    value, residual = x.value, x.residual
    step = value - residual
    eps = torch.finfo(value.dtype).eps
    total = step
    if "components" in vars(x):
        total = x.components.detach().squeeze(0)
        if not bool(((step - total).abs() <= eps**0.5 * step.abs()).all()):
            return None
    room = step.abs().sub_((value.abs() + residual.abs()).mul_(_ROUNDINGS * eps))
    return total, None if float(room.amin()) > 0 else ~(room > 0)


def stepped(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A function of one that moves across jumps, and has a derivative beside them."""
    call = single(func, args, options) if _is_plain() else None
    if call is None or call.place or call.plain or call.options.get("inplace"):
        return NotImplemented
    x, r = call.x.value, call.x.residual
    value, residual = call(x), call(r)
    if type(value) is not torch.Tensor or value.dtype is not x.dtype or value.shape != x.shape or not x.numel():
        return NotImplemented
    moved = _moved(call.x)
    if moved is None:
        return NotImplemented
    change, (total, still) = value - residual, moved
    slope = change / (total if still is None else total.masked_fill(still, 1.0))
    if still is not None:
        places = still.reshape(-1).nonzero().squeeze(1)
        at = x.reshape(-1).index_select(0, places)
        rates = derivative(call.__call__, at)
        if bool((change.reshape(-1).index_select(0, places) != 0).any()):
            return NotImplemented
        slope = slope.reshape(-1).index_copy(0, places, rates).reshape(x.shape)
    if not float(torch.linalg.vector_norm(slope, math.inf)) <= STEEP:
        return NotImplemented
    return on_graph_with(call.x, value, residual, on_graph_of(call.x) * slope)


def compared(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A comparison with a constant: a condition, whose component says how it has moved."""
    found = ends_of(args) if len(args) == 2 and not options and _is_plain() else None
    if found is None or conditions_are_frozen():
        return NotImplemented
    like, (a, b) = found
    if a.on_graph is None or b.on_graph is not None:
        return NotImplemented
    value, residual = func(a.value, b.value), func(a.residual, b.residual)
    if value.shape != like.value.shape or not value.numel() or not has_finite_sum(like.value):
        return NotImplemented
    moved = _moved(args[0])
    if moved is None:
        return NotImplemented
    total, still = moved
    change = value.to(total.dtype) - residual.to(total.dtype)
    if still is not None and bool(still.logical_and(change != 0).any()):
        return NotImplemented
    slope = change / (total if still is None else total.masked_fill(still, 1.0))
    if not float(torch.linalg.vector_norm(slope, math.inf)) <= STEEP:
        return NotImplemented
    return DecomposedTensor(value, residual, like.components * slope, like.labels, True)


def _is_condition(x: Any) -> bool:
    return (
        type(x) is DecomposedTensor
        and x.value.dtype is torch.bool
        and x.reverse
        and x.kept is None
        and not conditions_are_frozen()
    )


def chosen(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """torch.where of a condition, which is decomposed or not, and two branches."""
    if len(args) != 3 or options or not _is_plain():
        return NotImplemented
    condition = args[0]
    decomposed = _is_condition(condition)
    if not decomposed and (type(condition) is not torch.Tensor or not has_elements(condition)):
        return NotImplemented
    found = ends_of(args[1:])
    if found is None:
        return NotImplemented
    like, (a, b) = found
    parts: list[Any] = [x.on_graph if x.on_graph is not None else x.value for x in (a, b)]
    if not decomposed:
        if condition.dtype is not torch.bool:
            return NotImplemented
        value = torch.where(condition, a.value, b.value)
        residual = torch.where(condition, a.residual, b.residual)
        if value.dtype is not like.value.dtype or not (has_finite_sum(value) and has_finite_sum(residual)):
            return NotImplemented
        return on_graph_with(like, value, residual, torch.where(condition, parts[0], parts[1]))
    at, before = condition.value, condition.residual
    if condition.labels != like.labels or condition.components.dtype is not like.value.dtype:
        return NotImplemented
    value, residual = torch.where(at, a.value, b.value), torch.where(before, a.residual, b.residual)
    if value.dtype is not like.value.dtype or value.shape != like.value.shape or at.shape != value.shape:
        return NotImplemented
    middles = [torch.as_tensor(x.middle(), dtype=value.dtype) for x in (a, b)]
    if not all(map(has_finite_sum, middles)):  # a branch that is not chosen may be anything
        return NotImplemented
    rise = torch.where(at | before, middles[0], 0) - torch.where(at & before, 0, middles[1])
    share = (at.to(value.dtype) + before.to(value.dtype)) / 2
    carrier = condition.components.squeeze(0) * rise
    if a.on_graph is not None:
        carrier = carrier + a.on_graph * share
    if b.on_graph is not None:
        carrier = carrier + b.on_graph * (1 - share)
    return on_graph_with(like, value, residual.expand(value.shape), carrier)


# -- products of a half with the sigmoid of the other ------------------------------------------------------------------


def gated(digits_of: Function, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """glu: of a and b the mean along the path of σ(b), and that of a σ'(b), by nodes. `digits_of` says what a tolerance
    asks for."""
    call = single(func, args, options) if _is_plain() else None
    if call is None or call.place or call.plain:
        return NotImplemented
    x = call.x
    dim = call.args[1] if len(call.args) > 1 else call.options.get("dim", -1)
    if type(dim) is not int or not x.value.ndim:
        return NotImplemented
    value = call(x.value)
    (a, b), (low, start) = x.value.chunk(2, dim), x.residual.chunk(2, dim)
    step = b - start
    longest = float(torch.linalg.vector_norm(step, math.inf))
    if not longest < math.inf or not value.numel():
        return NotImplemented
    # σ is analytic for |Im t| < π / |step|.
    digits = digits_of(tolerance(value.dtype))
    nodes = max(2, math.ceil(digits / math.asinh(2 * math.pi / longest))) if longest else 2
    if nodes > _MOST_NODES:
        return NotImplemented
    change = a - low
    of_a: torch.Tensor | None = None
    of_b: torch.Tensor | None = None
    for time, weight in gauss_legendre(nodes):
        p = torch.sigmoid(torch.add(start, step, alpha=time))
        rate = torch.addcmul(p, p, p, value=-1).mul_(torch.add(low, change, alpha=time))
        of_a = p * weight if of_a is None else of_a.add_(p, alpha=weight)
        of_b = rate.mul_(weight) if of_b is None else of_b.add_(rate, alpha=weight)
    assert of_a is not None
    assert of_b is not None
    first, second = on_graph_of(x).chunk(2, dim)
    return on_graph_with(x, value, call(x.residual), first * of_a + second * of_b)
