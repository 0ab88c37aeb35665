"""Closed forms of the law for functions that the tags do not describe: quotients, maxima, selections by order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from npdec._decomposed.axes import lead
from npdec._decomposed.block_sparse_rules import total
from npdec._decomposed.choices import compare_choices, is_watched, places_beside
from npdec._decomposed.entries import Entries
from npdec._decomposed.kept_components import entries, handed_on, weighted
from npdec._decomposed.registry import Answer, Trait, attributes
from npdec._decomposed.reverse_graph import guarded, no_graph, read_only
from npdec._decomposed.size_limits import check, check_pairs
from npdec._decomposed.size_warnings import STEEP, warn_infinite, warn_of_size
from npdec._decomposed.tensor import DecomposedTensor, align, carries
from npdec._impl.envelope_impl import leading_fractions
from npdec._impl.segments_impl import mean_direction
from npdec._law import law
from npdec._law.create_graph import wants_graph
from npdec._law.mean_gradient import combined
from npdec._law.ordinary import quotient
from npdec._rules.rule import rule
from npdec._torch.tracing import mapped, name_of, tracing

__all__ = ["by_position", "read", "routed"]

Function = Callable[..., Any]


def _divide(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """x / y: linear in x; in y, and in both, the product of x with the reciprocal of y, whose slope is −1 / (x y)."""
    rounding = kwargs.get("rounding_mode")
    x, y = read(args, kwargs, other=None)
    if rounding is not None:
        return law.TaggedRule.of("Stepwise", "Stepwise")(torch.div, (x, y), {"rounding_mode": rounding})
    if not isinstance(y, DecomposedTensor):
        made = law.TaggedRule.of("Multilinear", "Multilinear")(torch.div, (x, y), {})
        if not tracing() and not mapped() and _is_small(y):
            if bool((y == 0).any()) if isinstance(y, torch.Tensor) else y == 0:
                _without_still(x, made)
            elif not made.whole and len(made.labels) > 1:
                warn_of_size("divide", [handed_on(made)], [handed_on(x)], [made.value], [made.residual], whole=False)
        return made
    inverse = cast(DecomposedTensor, torch.reciprocal(y))
    product = cast(DecomposedTensor, torch.mul(x, inverse))
    # The value is the quotient itself, not the product with a rounded reciprocal.
    x_value = x.value if isinstance(x, DecomposedTensor) else x
    x_residual = x.residual if isinstance(x, DecomposedTensor) else x
    with no_graph(product.whole):
        value, residual = torch.div(x_value, y.value), torch.div(x_residual, y.residual)
        # Where a quotient is infinite the multipliers are, and what does not move contributes nothing all the same.
        safe = tracing() or mapped() or (bool(torch.isfinite(value).all()) and bool(torch.isfinite(residual).all()))
    components = handed_on(product) if safe else _parted(x, inverse, product)
    return DecomposedTensor(value, residual, components, product.labels, product.whole)


def _is_small(divisor: Any) -> bool:
    """Whether a quotient may be a million times as large as what is divided."""
    if not isinstance(divisor, torch.Tensor):
        return bool(abs(divisor) < 1 / STEEP)
    if not carries(divisor.dtype):
        return bool((divisor == 0).any())
    least = float(torch.linalg.vector_norm(divisor.detach(), -math.inf)) if divisor.numel() else 1.0
    return not least >= 1 / STEEP  # NaN may hide a zero


def _without_still(x: DecomposedTensor, made: DecomposedTensor) -> None:
    """Nothing comes of what does not move, though it be divided by zero."""
    given, found = entries(x), entries(made)
    if isinstance(given, Entries) and isinstance(found, Entries) and len(given.numbers) == len(found.numbers):
        numbers = torch.where(lead(given.numbers, made.value.ndim) == 0, 0, found.numbers)
        made.windows = found.like(numbers)
    else:
        numbers = torch.where(lead(x.components, made.value.ndim) == 0, 0, made.components)
        made.components = numbers
    if not bool(torch.isfinite(numbers).all()):
        warn_infinite("divide", made.value, made.residual)


def _parted(x: Any, inverse: DecomposedTensor, product: DecomposedTensor) -> Any:
    """The components of x · (1 / y), each zero where those of x and of 1 / y are."""
    with no_graph(product.whole):
        half_y = (x.value + x.residual) / 2 if isinstance(x, DecomposedTensor) else x
        halves = ((x, (inverse.value + inverse.residual) / 2), (inverse, half_y))
    parts = [(part, half) for part, half in halves if isinstance(part, DecomposedTensor)]
    ndim = product.value.ndim
    _, components = align([part for part, _ in parts], None if product.whole else entries)
    terms: list[Any] = []
    for c, (_, half) in zip(components, parts, strict=True):
        if isinstance(c, Entries):
            numbers = lead(c.numbers, ndim)
            check_pairs(len(numbers) * product.value.numel(), c.made() + product.value.numel())
            terms.append(c.like(torch.where(numbers == 0, 0, numbers * half)))
        else:
            moved = lead(c, ndim)
            check((len(moved), *product.value.shape), moved.numel())
            made = _apart(moved, half) if product.whole else torch.where(moved == 0, 0, moved * half)
            terms.append(made.expand(len(made), *product.value.shape))
    return total(terms)


def _apart(component: torch.Tensor, half: Any) -> torch.Tensor:
    return guarded(component, half if isinstance(half, torch.Tensor) else component.new_tensor(half))


def routed(values: DecomposedTensor, dim: int, sign: int, value: torch.Tensor, keepdim: bool) -> DecomposedTensor:
    """The maximum (sign 1) or minimum (−1) along an axis, each element passing on what it has for the part it leads."""
    x, r = values.value, values.residual
    base = r.amax(dim, keepdim) if sign > 0 else r.amin(dim, keepdim)
    fractions = leading_fractions(sign * x, sign * r, dim % x.ndim)
    components = weighted(values, fractions, [dim], keepdim)
    return DecomposedTensor(value, base, components, values.labels, values.whole)


def _extremum_along(sign: int) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """amax, amin: over one axis, several, or all."""
        x, dim, keepdim = read(args, kwargs, dim=(), keepdim=False)
        if not x.ndim:
            return x.clone()
        if dim is None or isinstance(dim, (tuple, list)):
            axes = tuple(dim) if dim else tuple(range(x.value.ndim))
            axes = tuple(a % x.value.ndim for a in axes)
            kept = [a for a in range(x.value.ndim) if a not in axes]
            shape = [x.value.shape[a] for a in kept]
            flat = x.permute((*kept, *axes)).reshape([*shape, math.prod([x.value.shape[a] for a in axes])])
        else:
            flat = x.movedim(dim, -1)
        value = func(x.value, *args[1:], **kwargs)
        result = routed(flat, -1, sign, value if not keepdim else value.reshape(flat.value.shape[:-1]), False)
        return result.reshape(tuple(value.shape)) if keepdim else result

    return rule


def _max_or_min(sign: int) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """torch.max and torch.min in their three forms: of all elements, along an axis with indices, of two tensors."""
        x, dim, keepdim = read(args, kwargs, dim=None, keepdim=False)
        other = kwargs.get("other", dim)
        if isinstance(other, torch.Tensor) or (isinstance(x, torch.Tensor) and not isinstance(x, DecomposedTensor)):
            return (torch.maximum if sign > 0 else torch.minimum)(x, other)
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

    return rule


def _pairwise(sign: int) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """maximum, minimum, fmax, fmin: two lines, and the part of the path on which each one leads."""
        a, b = read(args, kwargs, other=None)
        plain = [t.value if isinstance(t, DecomposedTensor) else t for t in (a, b)]
        with no_graph(_whole(a, b)):
            value = func(*plain)
            base = func(*[t.residual if isinstance(t, DecomposedTensor) else t for t in (a, b)])
        pair = cast(DecomposedTensor, torch.stack([_spread(a, value), _spread(b, value)]))
        result = routed(pair, 0, sign, value, False)
        result.residual = base
        return result

    return rule


def _whole(*tensors: Any) -> bool:
    return any(isinstance(t, DecomposedTensor) and t.whole for t in tensors)


def _spread(t: Any, like: torch.Tensor) -> torch.Tensor:
    t = t if isinstance(t, torch.Tensor) else torch.as_tensor(t, dtype=like.dtype, device=like.device)
    return torch.broadcast_to(t.to(like.dtype), tuple(like.shape))


def _clamp(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """clamp with plain bounds is pointwise; with decomposed bounds, a maximum and a minimum."""
    x, low, high = read(args, kwargs, min=None, max=None)
    if not isinstance(low, DecomposedTensor) and not isinstance(high, DecomposedTensor):
        return law.TaggedRule.of("Pointwise")(func, args, kwargs)
    if low is not None:
        x = torch.maximum(x, low if isinstance(low, torch.Tensor) else torch.full_like(_plain(x), low))
    if high is not None:
        x = torch.minimum(x, high if isinstance(high, torch.Tensor) else torch.full_like(_plain(x), high))
    return x


def _plain(x: torch.Tensor) -> torch.Tensor:
    return x.value if isinstance(x, DecomposedTensor) else x


def _ordered(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """sort, topk, kthvalue, median, mode: the order is the values'; the parts follow it (residual included)."""
    x = args[0]
    made = func(x.value, *args[1:], **kwargs)
    if not x.ndim:
        return x.clone() if isinstance(made, torch.Tensor) else type(made)((x.clone(), made.indices))
    name = func.__name__
    base = func(x.residual, *args[1:], **kwargs) if is_watched() else None
    if isinstance(made, torch.Tensor) and name != "msort":  # median of all elements
        flat = x.reshape(-1)
        _, index = func(flat.value, 0)
        found = flat[index]
        compare_choices(name, found.residual, found.residual if base is None else base)
        return found
    position = {"sort": 0, "msort": 0, "median": 0, "nanmedian": 0, "topk": 1, "kthvalue": 1, "mode": 0}[name]
    dim = kwargs.get("dim", args[position + 1] if len(args) > position + 1 else -1)
    keepdim = made.values.ndim == x.value.ndim
    index = made.indices if keepdim else made.indices.unsqueeze(dim)
    axis = dim % x.value.ndim
    if x.whole:  # by itself, autograd would keep the components, which may be written to: in place, say
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
    return type(made)((DecomposedTensor(made.values, moved.residual, handed_on(moved), x.labels, x.whole), indices))


def read(args: Sequence[Any], kwargs: dict[str, Any], **names: Any) -> list[Any]:
    """The first argument and the named ones after it, wherever they stand."""
    found = [args[0]]
    for i, (name, default) in enumerate(names.items(), 1):
        found.append(args[i] if len(args) > i else kwargs.get(name, default))
    return found


def _detach(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Value and residual leave autograd's graph; in reverse mode that is not the graph of the components."""
    x = args[0]
    components = x.components if x.whole or wants_graph() else handed_on(x)
    if not x.whole and not wants_graph() and getattr(components, "requires_grad", False):
        components = x.components.detach()
    return DecomposedTensor(x.value.detach(), x.residual.detach(), components, x.labels, x.whole)


def _scatter(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Numbers put at places, added to what is there (linear), or multiplied with it."""
    x, dim, index, src, reduce = read(args, kwargs, dim=None, index=None, src=kwargs.get("value"), reduce=None)
    index = index.value if isinstance(index, DecomposedTensor) else index
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
        with no_graph(x.whole):
            value, residual = func(x.value, *args[1:], **kwargs), func(x.residual, *args[1:], **kwargs)
        return DecomposedTensor(value, residual, components, x.labels, x.whole)
    function = torch.scatter if reduce is None and not name_of(func).startswith("scatter_add") else torch.scatter_add
    return _SCATTERED(function, (x, dim, index, src), {})


_SCATTERED = law.TaggedRule.of("Linear", None, "Opaque", "Linear")
_SCATTERED.tags["src"] = "Linear"


def _floor_divide(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return _divide(torch.div, args, {**kwargs, "rounding_mode": "floor"})  # floor_divide itself has no derivative


def _remainder(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x, y = read(args, kwargs, other=None)
    if not isinstance(x, torch.Tensor):
        x = torch.as_tensor(x, dtype=y.dtype, device=y.device)  # of a number, remainder has no derivative
    return law.TaggedRule.of("Stepwise", "Stepwise")(torch.remainder, (x, y), {})


def _clamp_one(name: str) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """clamp_min, clamp_max."""
        x, bound = read(args, kwargs, **{name: None})
        return torch.clamp(x, **{name: bound})

    return rule


def _abs(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The magnitude of complex numbers is the length of their two parts."""
    x = args[0]
    if not x.value.is_complex():
        return _MAGNITUDE(func, args, kwargs)
    with no_graph(x.whole):
        value, base = func(x.value, *args[1:]), func(x.residual, *args[1:])
        start, step = (torch.view_as_real(t.resolve_conj()) for t in (x.residual, x.value - x.residual))
        mean = mean_direction(start, step)
    parts = torch.view_as_real(x.components.resolve_conj()).unbind(-1)
    components = combined(parts, mean.unbind(-1), step.unbind(-1), value - base)
    return DecomposedTensor(value, base, components, x.labels, x.whole)


_MAGNITUDE = law.TaggedRule.of("Pointwise")


def by_position(rule: Function) -> Function:
    """The rule, with the first argument always the first."""

    def applied(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if not args:
            kwargs = dict(kwargs)
            args = (kwargs.pop("input"),)
        return rule(func, args, kwargs)

    return applied


_EACH = Trait.ELEMENTWISE
rule("div divide true_divide", traits=_EACH | Trait.DIVIDE, short=quotient)(Answer(by_position(_divide)))
rule("amax")(Answer(by_position(_extremum_along(1))))
rule("amin")(Answer(by_position(_extremum_along(-1))))
rule("max")(Answer(by_position(_max_or_min(1))))
rule("min")(Answer(by_position(_max_or_min(-1))))
rule("maximum fmax", traits=_EACH)(Answer(by_position(_pairwise(1))))
rule("minimum fmin", traits=_EACH)(Answer(by_position(_pairwise(-1))))
rule("clamp clip", traits=_EACH | Trait.PIECEWISE_LINEAR)(Answer(by_position(_clamp)))
rule("clamp_min", traits=_EACH | Trait.PIECEWISE_LINEAR)(Answer(by_position(_clamp_one("min"))))
rule("clamp_max", traits=_EACH | Trait.PIECEWISE_LINEAR)(Answer(by_position(_clamp_one("max"))))
rule("abs absolute __abs__", traits=_EACH | Trait.PIECEWISE_LINEAR)(Answer(by_position(_abs)))
rule("floor_divide", traits=_EACH)(Answer(by_position(_floor_divide)))
rule("remainder", traits=_EACH)(Answer(by_position(_remainder)))
rule("sort topk kthvalue median nanmedian mode")(Answer(by_position(_ordered)))
rule("detach", *attributes("data"), traits=Trait.EACH | Trait.STRIDED)(Answer(by_position(_detach)))
rule("scatter", traits=Trait.MOVE)(Answer(by_position(_scatter), tags=_SCATTERED.tags))
rule("scatter_add", traits=Trait.ADD_AT)(Answer(by_position(_scatter), tags=_SCATTERED.tags))
