"""Norms, spreads, distances and unit vectors in reverse mode by the shortest way: the mean gradient of each row's
length is found in one pass (`npdec._native`). The general way is `npdec._rules.norms`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import again_and_again, narrowed, row_by_row
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._decomposed.reverse_graph import with_vjp
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.native_forms import in_c
from npdec._law.ordinary_reverse import derived, is_ordinary, on_graph, on_graph_of
from npdec._law.reverse_forms import Single, on_graph_with, single
from npdec._law.reverse_rows import axes_or_all, gradient_along, reduced
from npdec._native import calls
from npdec._rules.normalisation_at_once import Rows, back_through
from npdec._rules.rows_compared import between_rows

__all__ = ["cosine", "distances", "length", "pairs", "spread", "unit"]

Function = Callable[..., Any]
Options = dict[str, Any] | None
_LARGEST = 2**22  # differences that are made together


@in_c("measured")
def length(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """torch.linalg.vector_norm of the order 2, or 1: a sum of magnitudes."""
    named = {**dict(zip(("x", "ord", "dim", "keepdim"), args)), **(options or {})}
    x, order, keepdim = named.get("x"), named.get("ord", 2), named.get("keepdim", False)
    if type(x) is not DecomposedTensor or not is_ordinary(x) or not x.value.ndim or named.get("dtype") is not None:
        return NotImplemented
    axes = axes_or_all(named.get("dim"), x.value.ndim)
    if axes is None or type(order) not in (int, float) or order not in (1, 2):
        return NotImplemented
    if order == 1:

        def call(t: torch.Tensor) -> torch.Tensor:
            made: torch.Tensor = func(t, 1, named.get("dim"), keepdim)
            return made

        sums = torch.sum(torch.abs(x), list(axes), keepdim)
        return _own(sums, call(x.value), row_by_row(call, x.residual, axes[0]))
    return _of_lengths(x, axes, keepdim, False, 1.0, lambda t: func(t, order, named.get("dim"), keepdim))


def _of_lengths(
    x: DecomposedTensor, axes: Sequence[int], keepdim: bool, centred: bool, factor: float, call: Function
) -> Any:
    if calls is None:
        return NotImplemented
    fill: Any = lambda rows, start, made: calls.mean_directions(rows, start, centred, factor, made)  # noqa: E731
    gradient = gradient_along(x.value, x.residual, axes, fill)
    if gradient is None:
        return NotImplemented
    value, residual = call(x.value), row_by_row(call, x.residual, axes[0])
    return reduced(x, value, residual, gradient, axes, keepdim)


def spread(root: bool, func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """The variance, or its `root`, the standard deviation."""
    named, rest = dict(options or {}), list(args)
    x = rest.pop(0) if rest else named.pop("input", None)
    if type(x) is not DecomposedTensor or not is_ordinary(x) or not x.value.ndim:
        return NotImplemented
    if rest and type(rest[0]) is bool:
        named["unbiased"] = rest.pop(0)
    named |= dict(zip(("dim", "unbiased", "keepdim"), rest))
    freedom: Any = named.get("correction")
    freedom = int(named.get("unbiased", True)) if freedom is None else freedom
    dim, keepdim = named.get("dim"), named.get("keepdim", False)
    axes = axes_or_all(dim, x.value.ndim)
    if axes is None or type(freedom) is not int or named.keys() - {"dim", "unbiased", "keepdim", "correction"}:
        return NotImplemented
    left = math.prod([x.value.shape[a] for a in axes]) - freedom
    if left <= 0:
        return NotImplemented

    def call(t: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = func(t, dim, correction=freedom, keepdim=keepdim)
        return made

    if root:
        return _of_lengths(x, axes, keepdim, True, 1 / math.sqrt(left), call)
    value, residual = call(x.value), row_by_row(call, x.residual, axes[0])
    both = x.value + x.residual
    gradient = (both - both.mean(axes, True)).mul_(1 / left)
    return reduced(x, value, residual, gradient, axes, keepdim)


def _own(made: Any, value: torch.Tensor, residual: torch.Tensor) -> Any:
    """A decomposed tensor with other numbers, which are a function's own."""
    if type(made) is not DecomposedTensor or not is_ordinary(made) or made.value.shape != value.shape:
        return NotImplemented
    return on_graph_with(made, value, residual, on_graph_of(made).clone())


def pairs(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """pairwise_distance: the length of a difference."""
    alone = between_rows(func, args, options)
    if alone is not NotImplemented:
        return alone
    named = {**dict(zip(("x1", "x2", "p", "eps", "keepdim"), args)), **(options or {})}
    a, b = named.get("x1"), named.get("x2")
    ends = [t for t in (a, b) if type(t) is DecomposedTensor]
    if not ends or not all(map(is_ordinary, ends)) or named.get("p", 2.0) != 2 or "input" in named:
        return NotImplemented
    rest = (2.0, named.get("eps", 1e-6), named.get("keepdim", False))
    made = length(torch.linalg.vector_norm, (a - b + rest[1], 2, -1, rest[2]))  # type: ignore[operator]
    if made is NotImplemented:
        return made
    high, low = ([getattr(t, end) if type(t) is DecomposedTensor else t for t in (a, b)] for end in _ENDS)
    return _own(made, func(*high, *rest), func(*low, *rest))


_ENDS = ("value", "residual")


def distances(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """cdist of decomposed rows and constant ones: the gradients of all lengths by products of matrices."""
    call = single(func, args, options)
    if call is None or call.plain != 1 or calls is None:
        return NotImplemented
    x, y = call.x, call.args[1 - call.place]
    power = call.args[2] if len(call.args) > 2 else call.options.get("p", 2.0)
    if call.place > 1 or not x.value.ndim == y.ndim == 2 or y.dtype is not x.value.dtype or power not in (1, 2):
        return NotImplemented
    if power == 1:
        return _sums_of_magnitudes(call, x, y)
    value = call(x.value)
    if not value.numel() or not value.is_cpu:
        return NotImplemented
    row, step = narrowed(x.residual, 1), x.value - x.residual
    found = _mean_inverses(row, step, y)
    if found is None:
        return NotImplemented
    inverse, weighted = found
    if call.place:
        value, residual = value.contiguous(), call(materialised_residual(x))
        inverse, weighted = inverse.mT, weighted.mT
    else:
        residual = row_by_row(call.__call__, x.residual, 1)
    back = _BetweenRows(call.place)
    carrier = with_vjp(value, on_graph_of(x), back, (y, row, step, inverse, weighted))
    return on_graph(carrier.detach(), residual, carrier, x)


def _sums_of_magnitudes(call: Single, x: DecomposedTensor, y: torch.Tensor) -> Any:
    """The same of the order 1."""
    if x.value.numel() * len(y) > _LARGEST:
        return NotImplemented
    apart: Any = x.unsqueeze(1 - call.place) - y.unsqueeze(call.place)
    value = call(x.value)
    if call.place:
        return _own(torch.sum(torch.abs(apart), -1), value, call(materialised_residual(x)))
    return _own(torch.sum(torch.abs(apart), -1), value, row_by_row(call.__call__, x.residual, 1))


def _mean_inverses(row: torch.Tensor, step: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The means of 1 / s and of t / s for the distances s from rows that move by a step to constant ones."""
    if len(row) == 1:  # of one row the differences themselves keep the digits
        apart = row - y
        across = step @ apart.mT
        inverse, weighted = torch.empty_like(across), torch.empty_like(across)
        return (inverse, weighted) if calls.inverses_beside(step, apart, across, inverse, weighted) else None
    low, others = row.double(), y.double().mT
    between = low.square().sum(-1, keepdim=True) - 2 * (low @ others) + others.square().sum(0)
    across = (step * low).sum(-1, keepdim=True) - step.double() @ others
    size = step.double().square().sum(-1, keepdim=True)
    sums = [t.expand(len(step), len(y)).contiguous() for t in (between, across, size)]
    inverse, weighted = torch.empty_like(sums[0]), torch.empty_like(sums[0])
    if not calls.mean_inverses(*sums, inverse, weighted):
        return None
    return inverse.to(step.dtype), weighted.to(step.dtype)


class _BetweenRows:
    """What takes gradients of distances back to the rows, which are the first argument or the second one."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __call__(self, grad: torch.Tensor, y: torch.Tensor, row: torch.Tensor, *held: torch.Tensor) -> torch.Tensor:
        step, inverse, weighted = held
        by_row, by_step = grad * inverse, grad * weighted
        if self.place:
            by_row, by_step = by_row.mT, by_step.mT
        made = torch.addmm(by_row.sum(-1, keepdim=True) * row, by_row, y, alpha=-1)
        return made.addcmul_(step, by_step.sum(-1, keepdim=True))


def unit(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """normalize of torch.nn.functional, of vectors along an axis of which no path comes near zero, or all begin there:
    they are what a normalisation by the mean square gives, but for the root of their length."""
    named = {**dict(zip(("input", "p", "dim", "eps", "out"), args)), **(options or {})}
    x, dim, eps = named.get("input"), named.get("dim", 1), named.get("eps", 1e-12)
    if type(x) is not DecomposedTensor or not is_ordinary(x) or not x.value.ndim or named.get("out") is not None:
        return NotImplemented
    axes = axes_or_all(dim, x.value.ndim) if type(dim) is int else None
    if calls is None or axes is None or named.get("p", 2.0) != 2 or not 0 <= eps <= 1e-8 or not x.value.numel():
        return NotImplemented
    axis, last = axes[0], x.value.ndim - 1

    def call(t: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = func(t, 2.0, axis, eps)
        return made

    if not narrowed(x.residual, last + 1).any():
        return _from_zero(x, call, axis, eps)
    if axis != last:
        made = unit(func, (x.movedim(axis, -1), 2.0, -1, eps))
        if made is NotImplemented:
            return made
        return _own(made.movedim(-1, axis), call(x.value), row_by_row(call, x.residual, axis))
    found = _back_to(x, last, eps)
    if found is None:
        return NotImplemented
    return derived(x, call(x.value), row_by_row(call, x.residual, last), *found)


def _from_zero(x: DecomposedTensor, call: Function, axis: int, eps: float) -> Any:
    """Unit vectors of rows that start at zero, where they are divided by eps as long as they are shorter: along them
    nothing changes then, and across them the mean of the reciprocal of their length has a logarithm."""
    length = torch.linalg.vector_norm(x.value, 2, axis, True)
    if not (eps > 0 and 1e3 * eps < float(length.amin()) and float(length.amax()) < math.inf):
        return NotImplemented
    value = call(x.value)
    across = torch.log(length / eps) + 1

    def vjp(grad: torch.Tensor, length: torch.Tensor, across: torch.Tensor, unit: torch.Tensor) -> torch.Tensor:
        along = unit * (unit * grad).sum(axis - unit.ndim, True)
        return torch.lerp(along, grad, across).div_(length)

    return derived(x, value, row_by_row(call, x.residual, axis), vjp, (length, across, value.clone()))


def cosine(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """cosine_similarity: the inner product of unit vectors."""
    named = {**dict(zip(("x1", "x2", "dim", "eps"), args)), **(options or {})}
    given: list[Any] = [named.get("x1"), named.get("x2")]
    ends = [t for t in given if type(t) is DecomposedTensor]
    if not ends or not all(map(is_ordinary, ends)):
        return NotImplemented
    dim, eps, like = named.get("dim", 1), named.get("eps", 1e-8), ends[0].value
    if not all(isinstance(t, torch.Tensor) and t.ndim == like.ndim and t.dtype is like.dtype for t in given):
        return NotImplemented
    lengths = {t.shape[dim] for t in given} if type(dim) is int and -like.ndim <= dim < like.ndim else ()
    if len(lengths) != 1:  # a vector of one number stands for one of several
        return NotImplemented
    are_alike = given[0].shape == given[1].shape
    alone = _beside_constant(given, ends[0], func, dim, eps) if len(ends) == 1 and are_alike else None
    if alone is not None:
        return alone
    units: list[Any] = []
    for t in given:
        made = unit(F.normalize, (t, 2.0, dim, eps)) if type(t) is DecomposedTensor else F.normalize(t, 2.0, dim, eps)
        if made is NotImplemented:
            return made
        units.append(made)
    high, low = ([getattr(t, end) if type(t) is DecomposedTensor else t for t in given] for end in _ENDS)
    return _own((units[0] * units[1]).sum(dim), func(*high, dim, eps), func(*low, dim, eps))


def _beside_constant(given: Sequence[Any], x: DecomposedTensor, func: Function, dim: Any, eps: float) -> Any:
    """The inner product with the unit vectors of a constant, along the last axis: of those of what is decomposed, only
    what takes gradients back is needed. None of others."""
    last = x.value.ndim - 1
    if calls is None or axes_or_all(dim, last + 1) != (last,) or type(dim) is not int or not x.value.numel():
        return None
    found = _back_to(x, last, eps) if 0 <= eps <= 1e-8 else None
    if found is None:
        return None
    (other,) = [t.detach() for t in given if t is not x]
    sides = [[end if t is x else other for t in given] for end in (x.value, x.residual)]
    unit = F.normalize(other, 2.0, -1, eps)
    carrier = (with_vjp(torch.empty_like(x.value), on_graph_of(x), *found) * unit).sum(-1)
    return on_graph_with(x, func(*sides[0], dim, eps), func(*sides[1], dim, eps), carrier)


def _back_to(x: DecomposedTensor, last: int, eps: float) -> Any:
    """What takes gradients of unit vectors along the last axis back, and what is held for it; None where a path comes
    near zero."""
    low = calls.shortest(again_and_again(x.residual, last))
    if not low:
        return None
    n = x.value.shape[-1]
    found = back_through(x, Rows(n, last, 1, 0.0, False), x.value.new_full((n,), n**-0.5))
    return None if found is None or not min(low, calls.shortest(found[1][0])) > 1e3 * eps else found
