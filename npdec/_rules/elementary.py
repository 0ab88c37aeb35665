"""Closed forms of the law for functions that the tags do not describe: quotients, maxima, selections by order."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch

from npdec._decomposed.axes import lead
from npdec._decomposed.choices import compare_choices, is_watched, places_beside
from npdec._decomposed.components import Use, total
from npdec._decomposed.kept_components import handed_on, stand_in, weighted
from npdec._decomposed.registry import Trait, attributes
from npdec._decomposed.reverse_graph import guarded, no_graph, read_only
from npdec._decomposed.size_limits import check
from npdec._decomposed.size_warnings import (
    STEEP,
    has_finite_sum,
    keeps_digits,
    warn_infinite,
    warn_of_digits,
    warn_of_size,
)
from npdec._decomposed.tensor import DecomposedTensor, align, carries
from npdec._impl.envelope_impl import leading_fractions
from npdec._impl.quotients_impl import of_quotient, of_rest
from npdec._impl.segments_impl import mean_direction
from npdec._law import law, reverse_complex
from npdec._law.complex_laws import length
from npdec._law.create_graph import wants_graph
from npdec._law.mean_gradient import combined
from npdec._law.ordinary import pointwise
from npdec._law.ordinary_arithmetic import quotient
from npdec._law.ordinary_linear import detached
from npdec._law.ordinary_order import in_order
from npdec._law.ordinary_pieces import bounded, clamped, magnitude
from npdec._law.ordinary_places import added_at, scattered
from npdec._law.ordinary_steps import stepwise_instead
from npdec._law.ordinary_vectors import greatest
from npdec._law.pairs_of_numbers import quotients
from npdec._law.reverse_joint import put_at
from npdec._rules import extremes_reverse
from npdec._rules.extremes_reverse import with_places
from npdec._rules.rule import rule
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing

__all__ = ["routed"]

Function = Callable[..., Any]
_EACH = Trait.ELEMENTWISE
_PIECES = Trait.ELEMENTWISE | Trait.PIECEWISE_LINEAR
_OF_ONE = partial(pointwise, None, _PIECES, (0,))


@rule("div divide true_divide", traits=_EACH | Trait.DIVIDE, mean=of_quotient, short=quotient, numbers=quotients)
def _divide(func: Function, input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """x / y: linear in x; in y, and in both, the product of x with the reciprocal of y, whose slope is −1 / (x y)."""
    x, y = input, other
    if rounding_mode is not None:
        return law.TaggedRule.of("Stepwise", "Stepwise")(torch.div, (x, y), {"rounding_mode": rounding_mode})
    if not isinstance(y, DecomposedTensor):
        made = law.TaggedRule.of("Multilinear", "Multilinear")(torch.div, (x, y), {})
        if not tracing() and not mapped() and _is_small(y):
            if bool((y == 0).any()) if isinstance(y, torch.Tensor) else y == 0:
                return _without_still(x, y, made)
            elif not made.reverse and len(made.labels) > 1:
                warn_of_size("divide", [handed_on(made)], [handed_on(x)], [made.value], [made.residual], reverse=False)
        return made
    inverse = cast(DecomposedTensor, torch.reciprocal(y))
    product = cast(DecomposedTensor, torch.mul(x, inverse))
    # The value is the quotient itself, not the product with a rounded reciprocal.
    x_value = x.value if isinstance(x, DecomposedTensor) else x
    x_residual = x.residual if isinstance(x, DecomposedTensor) else x
    with no_graph(product.reverse):
        value, residual = torch.div(x_value, y.value), torch.div(x_residual, y.residual)
        # Where a quotient is infinite the multipliers are, and what does not move contributes nothing all the same.
        safe = tracing() or mapped() or (bool(torch.isfinite(value).all()) and bool(torch.isfinite(residual).all()))
    components = handed_on(product) if safe else _parted(x, inverse, product)
    looked_at = safe and isinstance(x, DecomposedTensor) and not (tracing() or mapped())
    if looked_at and not keeps_digits(y.value, inverse.residual):
        gross = [_gross(x_value, x_residual, inverse)]
        product.value, product.residual = value, residual  # memory is used again where there are many contributions
        del inverse
        warn_of_digits("divide", gross.pop(), components, value, residual, product.reverse)
    return DecomposedTensor(value, residual, components, product.labels, product.reverse)


def _gross(value: torch.Tensor, residual: torch.Tensor, inverse: DecomposedTensor) -> torch.Tensor:
    """The magnitudes of what a dividend and the reciprocal of its divisor contribute to the quotient."""
    with torch.no_grad():
        by_value = ((value - residual) * (inverse.value + inverse.residual)).abs()
        by_inverse = ((value + residual) * (inverse.value - inverse.residual)).abs()
        return by_value.add_(by_inverse).div_(2)


def _is_small(divisor: Any) -> bool:
    """Whether a quotient may be a million times as large as what is divided."""
    if not isinstance(divisor, torch.Tensor):
        return bool(abs(divisor) < 1 / STEEP)
    if not carries(divisor.dtype):
        return bool((divisor == 0).any())
    least = float(torch.linalg.vector_norm(divisor.detach(), -math.inf)) if divisor.numel() else 1.0
    return not least >= 1 / STEEP  # NaN may hide a zero


def _without_still(x: DecomposedTensor, y: Any, made: DecomposedTensor) -> DecomposedTensor:
    """x / y, of which nothing comes of what does not move, though it be divided by zero."""
    given: Any = None if x.reverse else stand_in(x)
    if given is None:
        components: Any = torch.where(lead(x.components, made.value.ndim) == 0, 0, made.components)
        finite = bool(torch.isfinite(components).all())
    else:
        divisor = y if isinstance(y, torch.Tensor) else made.value.new_tensor(y)
        components = given.each(lambda c, divisor: torch.where(c == 0, 0, c / divisor), divisor).to(made.value.dtype)
        finite = bool(torch.isfinite(components.sum().sum()))
    if not finite:
        warn_infinite("divide", made.value, made.residual)
    return DecomposedTensor(made.value, made.residual, components, made.labels, made.reverse)


def _parted(x: Any, inverse: DecomposedTensor, product: DecomposedTensor) -> Any:
    """The components of x · (1 / y), each zero where those of x and of 1 / y are."""
    with no_graph(product.reverse):
        half_y = (x.value + x.residual) / 2 if isinstance(x, DecomposedTensor) else x
        halves = ((x, (inverse.value + inverse.residual) / 2), (inverse, half_y))
    parts = [(part, half) for part, half in halves if isinstance(part, DecomposedTensor)]
    ndim = product.value.ndim
    _, components = align([part for part, _ in parts], None if product.reverse else Use.LAW)
    terms: list[Any] = []
    for c, (_, half) in zip(components, parts, strict=True):
        if not isinstance(c, torch.Tensor):
            factor = half if isinstance(half, torch.Tensor) else product.value.new_tensor(half)
            terms.append(c.each(lambda c, half: torch.where(c == 0, 0, c * half), factor))
        else:
            moved = lead(c, ndim)
            check((len(moved), *product.value.shape), moved.numel())
            made = _apart(moved, half) if product.reverse else torch.where(moved == 0, 0, moved * half)
            terms.append(made.expand(len(made), *product.value.shape))
    return total(terms)


def _apart(component: torch.Tensor, half: Any) -> torch.Tensor:
    return guarded(component, half if isinstance(half, torch.Tensor) else component.new_tensor(half))


def routed(values: DecomposedTensor, dim: int, sign: int, value: torch.Tensor, keepdim: bool) -> DecomposedTensor:
    """The maximum (sign 1) or minimum (−1) along an axis, each element passing on what it has for the part it leads."""
    x, r = values.value, values.residual
    base = r.amax(dim, keepdim) if sign > 0 else r.amin(dim, keepdim)
    fractions = leading_fractions(x, r, dim % x.ndim) if sign > 0 else leading_fractions(-x, -r, dim % x.ndim)
    components = weighted(values, fractions, [dim], keepdim)
    made = DecomposedTensor(value, base, components, values.labels, values.reverse)
    looked_at = isinstance(components, torch.Tensor) and not (values.reverse or tracing() or mapped())
    if looked_at and not has_finite_sum(components):
        _leave_out(made, values, fractions, dim, sign, keepdim)
    return made


def _leave_out(
    made: DecomposedTensor, values: DecomposedTensor, fractions: torch.Tensor, dim: int, sign: int, keepdim: bool
) -> None:
    """Take what is infinite out of the contributions to `made` where it is of elements that never lead."""
    never = fractions == 0
    for part in (values.value, values.residual):  # a line to infinity may lead at one point, where the maximum jumps
        never = never & (part != (part.amax(dim, True) if sign > 0 else part.amin(dim, True)))
    made.components = torch.where(never, 0, values.components * fractions).sum(dim % values.ndim + 1, keepdim)
    known = torch.isfinite(made.value) & torch.isfinite(made.residual)
    if bool((known & ~torch.isfinite(made.components)).any()):
        warn_infinite("max" if sign > 0 else "min", values.value, values.residual)


def _extremum_along(sign: int) -> Function:
    def extremum(func: Function, x: Any, dim: Any = (), keepdim: bool = False) -> Any:
        """amax, amin: over one axis, several, or all."""
        if not x.ndim:
            return x.clone()
        shape, ndim = x.value.shape, x.value.ndim
        given = (dim,) if isinstance(dim, int) else dim or range(ndim)
        axes = [axis % ndim for axis in given]
        order = [axis for axis in range(ndim) if axis not in axes] + axes
        flat = x if order == sorted(order) else x.permute(order)
        if len(axes) > 1:
            flat = flat.reshape([*[shape[axis] for axis in order[: -len(axes)]], math.prod([shape[a] for a in axes])])
        value = func(x.value, dim, keepdim)
        result = routed(flat, -1, sign, value if not keepdim else value.reshape(flat.value.shape[:-1]), False)
        return result.reshape(tuple(value.shape)) if keepdim else result

    return extremum


def _max_or_min(sign: int) -> Function:
    def extremum(func: Function, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """torch.max and torch.min in their three forms: of all elements, along an axis with indices, of two tensors."""
        if isinstance(dim, torch.Tensor):  # the other tensor
            return (torch.maximum if sign > 0 else torch.minimum)(x, dim)
        if dim is None:
            value = func(x.value)
            return routed(x.reshape(-1), 0, sign, value, False)
        made = func(x.value, dim, keepdim)
        if not x.ndim:
            return type(made)((x.clone(), made.indices))
        indices = made.indices
        if is_watched():
            indices = places_beside(name_of(func), indices, func(x.residual, dim, keepdim).indices)
        return type(made)((routed(x, dim, sign, made.values, keepdim), indices))

    return extremum


@rule("clamp clip", traits=_PIECES, short=clamped)
def _clamp(func: Function, x: Any, min: Any = None, max: Any = None) -> Any:
    """clamp with plain bounds is pointwise; with decomposed bounds, a maximum and a minimum."""
    if not isinstance(min, DecomposedTensor) and not isinstance(max, DecomposedTensor):
        return law.TaggedRule.of("Pointwise")(func, (x, min, max), {})
    if min is not None:
        x = torch.maximum(x, min if isinstance(min, torch.Tensor) else torch.full_like(_plain(x), min))
    if max is not None:
        x = torch.minimum(x, max if isinstance(max, torch.Tensor) else torch.full_like(_plain(x), max))
    return x


@rule("clamp_min", traits=_PIECES, short=bounded)
def _clamp_min(func: Function, x: Any, min: Any) -> Any:
    return torch.clamp(x, min=min)


@rule("clamp_max", traits=_PIECES, short=_OF_ONE)
def _clamp_max(func: Function, x: Any, max: Any) -> Any:
    return torch.clamp(x, max=max)


def _plain(x: torch.Tensor) -> torch.Tensor:
    return x.value if isinstance(x, DecomposedTensor) else x


@rule("sort", short=in_order(0))
def _sort(func: Function, x: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    return _ordered(func, x, dim, lambda t: func(t, dim=dim, descending=descending, stable=stable))


@rule("topk", short=in_order(1))
def _topk(func: Function, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return _ordered(func, x, dim, lambda t: func(t, k, dim, largest, sorted))


@rule("kthvalue", short=in_order(1))
def _kthvalue(func: Function, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return _ordered(func, x, dim, lambda t: func(t, k, dim, keepdim))


@rule("mode", short=in_order(0))
def _mode(func: Function, x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    return _ordered(func, x, dim, lambda t: func(t, dim, keepdim))


@rule("median nanmedian", short=in_order(0, None))
def _median(func: Function, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Along an axis, with indices, or of all elements."""
    if dim is not None:
        return _ordered(func, x, dim, lambda t: func(t, dim, keepdim))
    if not x.ndim:
        return x.clone()
    flat = x.reshape(-1)
    _, index = func(flat.value, 0)
    found = flat[index]
    if is_watched():
        compare_choices(name_of(func), found.residual, func(x.residual))
    return found


def _ordered(func: Function, x: Any, dim: int, call: Callable[[torch.Tensor], Any]) -> Any:
    """The order along an axis is the values'; the parts follow it (residual included)."""
    made = call(x.value)
    if not x.ndim:
        return type(made)((x.clone(), made.indices))
    name = name_of(func)
    base = call(x.residual) if is_watched() else None
    keepdim = made.values.ndim == x.value.ndim
    index = made.indices if keepdim else made.indices.unsqueeze(dim)
    axis = dim % x.value.ndim
    if x.reverse:  # by itself, autograd would keep the components, which may be written to: in place, say
        residual = torch.gather(x.residual, axis, index)
        components = torch.gather(read_only(x.components), axis + 1, index.unsqueeze(0))
        moved: Any = DecomposedTensor(residual, residual, components, x.labels, True)
    else:
        moved = torch.gather(x, axis, index)
    moved = moved if keepdim else moved.squeeze(axis)
    indices = made.indices
    if base is not None:
        compare_choices(name, moved.residual, base.values)
        indices = places_beside(name, indices, base.indices)
    return type(made)((DecomposedTensor(made.values, moved.residual, handed_on(moved), x.labels, x.reverse), indices))


@rule("detach", *attributes("data"), traits=Trait.EACH | Trait.STRIDED, short=detached)
def _detach(func: Function, x: Any) -> Any:
    """Value and residual leave autograd's graph; in reverse mode that is not the graph of the components."""
    components = x.components if x.reverse or wants_graph() else handed_on(x)
    if not x.reverse and not wants_graph() and getattr(components, "requires_grad", False):
        components = x.components.detach()
    return DecomposedTensor(x.value.detach(), x.residual.detach(), components, x.labels, x.reverse)


_SCATTERED = law.TaggedRule.of("Linear", None, "Opaque", "Linear")
_SCATTERED.tags["src"] = "Linear"


@rule("scatter", traits=Trait.MOVE, short=scattered, tags=_SCATTERED.tags, indices=(2, "index"))
def _scatter(
    func: Function, x: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Any:
    """Elements put at places, added to what is there (linear), or multiplied with it."""
    src = given = value if src is None else src
    index = _plain(index)
    if not isinstance(src, torch.Tensor):
        src = torch.full(tuple(index.shape), src, dtype=x.dtype, device=x.device)
    elif not src.ndim:
        src = src.expand(index.shape)
    src = src[tuple([slice(0, n) for n in index.shape])]  # the rest is not used, and autograd refuses it
    if reduce == "multiply":
        if isinstance(src, DecomposedTensor):
            raise NotImplementedError("scatter: contributions do not pass through src with reduce='multiply'")
        factor = torch.scatter_reduce(torch.ones_like(x.value), dim, index, src, "prod")
        components = cast(DecomposedTensor, torch.mul(x, factor)).components
        with no_graph(x.reverse):
            found, residual = (func(t, dim, index, given, reduce=reduce) for t in (x.value, x.residual))
        return DecomposedTensor(found, residual, components, x.labels, x.reverse)
    return _SCATTERED(torch.scatter if reduce is None else torch.scatter_add, (x, dim, index, src), {})


@rule("scatter_add", traits=Trait.ADD_AT, short=added_at, reverse=put_at, tags=_SCATTERED.tags, indices=(2, "index"))
def _scatter_add(func: Function, x: Any, dim: int, index: Any, src: Any) -> Any:
    return _scatter(func, x, dim, index, src, reduce="add")


_FLOOR = partial(torch.div, rounding_mode="floor")


@rule("floor_divide", traits=_EACH, short=stepwise_instead((0, 1), of_quotient, _FLOOR))
def _floor_divide(func: Function, input: Any, other: Any) -> Any:
    return _divide(torch.div, input, other, rounding_mode="floor")  # floor_divide itself has no derivative


@rule("remainder", traits=_EACH, mean=of_rest, short=stepwise_instead((0,), of_rest, torch.remainder))
def _remainder(func: Function, input: Any, other: Any) -> Any:
    if not isinstance(input, torch.Tensor):  # of a number, remainder has no derivative
        input = torch.as_tensor(input, dtype=other.dtype, device=other.device)
    return law.TaggedRule.of("Stepwise", "Stepwise")(torch.remainder, (input, other), {})


_MAGNITUDE = law.TaggedRule.of("Pointwise")


@rule("abs absolute __abs__", traits=_PIECES, short=magnitude, reverse=reverse_complex.length, few_complex=length)
def _abs(func: Function, x: Any) -> Any:
    """The magnitude of complex numbers is the length of their two parts."""
    if not x.value.is_complex():
        return _MAGNITUDE(func, (x,), {})
    with no_graph(x.reverse):
        value, base = func(x.value), func(x.residual)
        start, step = (torch.view_as_real(t.resolve_conj()) for t in (x.residual, x.value - x.residual))
        mean = mean_direction(start, step)
    parts = torch.view_as_real(x.components.resolve_conj()).unbind(-1)
    components = combined(parts, mean.unbind(-1), step.unbind(-1), value - base)
    return DecomposedTensor(value, base, components, x.labels, x.reverse)


rule("amax", short=greatest(1, along=True), reverse=extremes_reverse.greatest)(_extremum_along(1))
rule("amin", short=greatest(-1, along=True), reverse=extremes_reverse.least)(_extremum_along(-1))
rule("max", short=greatest(1), reverse=partial(with_places, 1))(_max_or_min(1))
rule("min", short=greatest(-1), reverse=partial(with_places, -1))(_max_or_min(-1))
