"""Functions of elements in reverse mode by the shortest way, beside those of `npdec._law.ordinary_reverse`: maxima of
two, quotients, what moves across jumps, and choices by conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import once, row_by_row
from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP, has_finite_sum
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.native_forms import in_c
from npdec._law.ordinary import has_elements
from npdec._law.ordinary_reverse import is_ordinary, on_graph_of
from npdec._law.ordinary_slopes import ordinary_slope
from npdec._law.quadrature import tolerance
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.reverse_beside import is_for_c
from npdec._law.reverse_forms import constant, on_graph_with, single
from npdec._law.secant import derivative
from npdec._native import calls

__all__ = ["chosen", "compared", "ends_of", "gated", "is_plain", "larger", "leaky", "smaller", "stepped"]

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


def is_plain() -> bool:
    return bool(settings.get().rule == "affine")


def of_two(sign: int, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """The larger (sign 1) or the smaller (−1) of two lines: each passes on the part of the path on which it leads, and
    lines that are equal a half."""
    found = ends_of(args) if len(args) == 2 and not options and is_plain() else None
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


@in_c("larger", known=(1,))
def larger(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """maximum."""
    return of_two(1, func, args, options)


@in_c("larger", known=(-1,))
def smaller(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """minimum."""
    return of_two(-1, func, args, options)


def leaky(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """prelu of a constant weight: that of relu, less what is passed on below zero."""
    call = single(func, args, options) if is_plain() else None
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


class Step(NamedTuple):
    """A change across jumps over that of what moves: where this may stand still, zero of conditions, else NaN."""

    slope: torch.Tensor
    still: int
    change: torch.Tensor | None


def _in_one_pass(x: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor) -> Step | None:
    """What C finds of a step; None where it is to be looked at more closely."""
    if not is_for_c(x.value):
        return None
    total = x.components.detach().squeeze(0) if "components" in vars(x) else None
    slope = torch.empty_like(x.value)
    change = torch.empty_like(x.value) if value.dtype is torch.bool else None
    still = calls.jumps(x.value, x.residual, total, value, residual, slope, change)
    return None if still is None else Step(slope, still, change)


def _in_several(x: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor) -> Step | None:
    """The same by torch; None where it is not to be had so."""
    moved = _moved(x)
    if moved is None:
        return None
    total, still = moved
    change = value.to(total.dtype) - residual.to(total.dtype)
    if still is None:
        slope = change / total
    else:
        if bool(still.logical_and(change != 0).any()):
            return None
        slope = change / total.masked_fill(still, 1.0)
    if not float(torch.linalg.vector_norm(slope, math.inf)) <= STEEP:
        return None
    if still is None or value.dtype is torch.bool:
        return Step(slope, 0, change)
    return Step(slope.masked_fill_(still, math.nan), int(still.sum()), change)


def _step(x: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor) -> Step | None:
    return _in_one_pass(x, value, residual) or _in_several(x, value, residual)


def stepped(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A function of one that moves across jumps, and has a derivative beside them."""
    call = single(func, args, options) if is_plain() else None
    if call is None or call.place or call.plain or call.options.get("inplace"):
        return NotImplemented
    x = call.x.value
    value, residual = call(x), once(call.x.residual, call.__call__)
    if type(value) is not torch.Tensor or value.dtype is not x.dtype or value.shape != x.shape or not x.numel():
        return NotImplemented
    step = _step(call.x, value, residual)
    if step is None:
        return NotImplemented
    slope = step.slope
    if step.still:
        places = slope.reshape(-1).isnan().nonzero().squeeze(1)
        rates = derivative(call.__call__, x.reshape(-1).index_select(0, places))
        if not float(torch.linalg.vector_norm(rates, math.inf)) <= STEEP:
            return NotImplemented
        slope = slope.reshape(-1).index_copy(0, places, rates).reshape(x.shape)
    return on_graph_with(call.x, value, residual, on_graph_of(call.x) * slope)


@in_c("turned")
def compared(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A comparison with a constant: a condition, whose component says how it has moved."""
    found = ends_of(args) if len(args) == 2 and not options and is_plain() else None
    if found is None or conditions_are_frozen():
        return NotImplemented
    like, (a, b) = found
    if a.on_graph is None or b.on_graph is not None:
        return NotImplemented
    value = func(a.value, b.value)
    if value.shape != like.value.shape or not value.numel() or not has_finite_sum(like.value):
        return NotImplemented
    is_beside = isinstance(b.residual, torch.Tensor) and b.residual.ndim > 0
    residual = func(a.residual, b.residual) if is_beside else once(a.residual, lambda u: func(u, b.residual))
    step = _step(args[0], value, residual)
    if step is None:
        return NotImplemented
    assert step.change is not None
    carrier = a.on_graph * step.slope
    carrier.data = step.change
    return DecomposedTensor(value, residual, carrier.unsqueeze(0), like.labels, True)


def _is_condition(x: Any) -> bool:
    return (
        type(x) is DecomposedTensor
        and x.value.dtype is torch.bool
        and x.reverse
        and x.kept is None
        and not conditions_are_frozen()
    )


@in_c("chosen")
def chosen(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """torch.where of a condition, which is decomposed or not, and two branches."""
    if len(args) != 3 or options or not is_plain():
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
    quick = _chosen_in_one_pass(like, condition, a, b)
    if quick is not None:
        return quick
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


def _chosen_in_one_pass(like: DecomposedTensor, condition: DecomposedTensor, a: Ends, b: Ends) -> Any:
    """The same by C, of a condition of the shape; None where that does not."""
    at, before, shape = condition.value, condition.residual, like.value.shape
    if at.shape != shape or not is_for_c(at):
        return None
    value, rise, share = [torch.empty_like(like.value, memory_format=torch.contiguous_format) for _ in range(3)]
    row = value.new_empty(_shape_of_rows([before, a.residual, b.residual], shape))
    if not calls.choices(at, before, a.value, a.residual, b.value, b.residual, value, row, rise, share):
        return None
    if a.on_graph is None or b.on_graph is None:
        one = b.on_graph * (1 - share) if a.on_graph is None else a.on_graph * share  # type: ignore[operator]
    else:
        one = torch.lerp(b.on_graph, a.on_graph, share)
    return on_graph_with(like, value, row.expand(shape), condition.components.squeeze(0) * rise + one)


def _shape_of_rows(parts: Sequence[Any], shape: torch.Size) -> list[int]:
    """The shape of what is made of tensors that broadcast: of length one on the first axes, on which all repeat."""
    repeated = len(shape)
    for part in parts:
        if isinstance(part, torch.Tensor):
            axis = len(shape) - part.ndim
            for length, stride in zip(part.shape, part.stride(), strict=True):
                if stride and length != 1:
                    break
                axis += 1
            repeated = min(repeated, axis)
    return [1] * repeated + list(shape[repeated:])


# -- products of a half with the sigmoid of the other ------------------------------------------------------------------


def gated(digits_of: Function, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """glu: of a and b the mean along the path of σ(b), and that of a σ'(b), by nodes. `digits_of` says what a tolerance
    asks for."""
    call = single(func, args, options) if is_plain() else None
    if call is None or call.place or call.plain:
        return NotImplemented
    x = call.x
    dim = call.args[1] if len(call.args) > 1 else call.options.get("dim", -1)
    if type(dim) is not int or not x.value.ndim:
        return NotImplemented
    dim %= x.value.ndim
    value = call(x.value)
    if not value.numel():
        return NotImplemented
    n = value.shape[dim:].numel()
    longest = calls.gate_length(x.value, x.residual, n) if is_for_c(value) else None
    if is_found := longest is not None:
        longest = float(longest)
    else:
        step = x.value.chunk(2, dim)[1] - x.residual.chunk(2, dim)[1]
        longest = float(torch.linalg.vector_norm(step, math.inf))
    if not longest < math.inf:
        return NotImplemented
    # σ is analytic for |Im t| < π / |step|.
    digits = digits_of(tolerance(value.dtype))
    nodes = max(2, math.ceil(digits / math.asinh(2 * math.pi / longest))) if longest else 2
    if nodes > _MOST_NODES:
        return NotImplemented
    rule = gauss_legendre(nodes)
    residual = row_by_row(call.__call__, x.residual, dim)
    both = torch.empty_like(x.value) if is_found else None
    if both is not None and calls.gate_means(x.value, x.residual, n, rule, both):
        cut = [*x.value.shape[:dim], 2, -1, *x.value.shape[dim + 1 :]]
        return on_graph_with(x, value, residual, (on_graph_of(x).reshape(cut) * both.view(cut)).sum(dim))
    of_a, of_b = _means_of_gates(x.value.chunk(2, dim), x.residual.chunk(2, dim), rule)
    first, second = on_graph_of(x).chunk(2, dim)
    return on_graph_with(x, value, residual, first * of_a + second * of_b)


def _means_of_gates(
    ends: Sequence[torch.Tensor], starts: Sequence[torch.Tensor], rule: Sequence[tuple[float, float]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The means along the path of σ(b), and of a σ'(b)."""
    (a, b), (low, start) = ends, starts
    step, change = b - start, a - low
    of_a, of_b = torch.zeros_like(step), torch.zeros_like(step)
    for time, weight in rule:
        p = torch.sigmoid(torch.add(start, step, alpha=time))
        rate = torch.addcmul(p, p, p, value=-1).mul_(torch.add(low, change, alpha=time))
        of_a.add_(p, alpha=weight)
        of_b.add_(rate, alpha=weight)
    return of_a, of_b
