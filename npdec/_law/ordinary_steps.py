"""The law of ordinary calls of functions with jumps: of one argument, or of two that have shares of the change."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, cast

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import STEEP, has_few_digits, warn_of_digits
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._impl._quotient_of_numbers import divmod_in_numbers
from npdec._impl._util import rounding_to
from npdec._impl.quotients_impl import in_both_orders
from npdec._law.all_components import current as chunk
from npdec._law.all_components import need_all
from npdec._law.native_forms import in_c
from npdec._law.number_by_number import number_by_number
from npdec._law.numbers_in_c import jumps_of_numbers, stepped_beside
from npdec._law.numbers_without_end import divided_by_zero
from npdec._law.of_few import FEW, ROUNDINGS, all_listed, listed, multiplier, shares_of_few
from npdec._law.ordinary import Form, Number, built, carries_graph, is_ordinary, made_of, number_in, number_of, single
from npdec._law.ordinary_numbers import constant_beside, numbers_in_two, sum_of_two
from npdec._law.ordinary_pairs import Pair, of_one_shape, pair_of
from npdec._law.quotients_of_few import OF_FEW, ON_HOST, SHARES, quotient_of_number, quotients_of_few
from npdec._torch.tracing import name_of

__all__ = ["condition_of", "divided", "of_steps", "searched", "shared", "stepwise", "stepwise_instead"]

Function = Callable[..., Any]
_WHOLE = 2**53  # up to which integers are floats
_WITH_FEW_DIGITS = frozenset(filter(has_few_digits, (torch.float32, torch.float64)))


def of_steps(places: Collection[int], shares: Any) -> Form:
    """The form of such a function; of a few elements, of the first argument, C may know the shares."""

    def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        return stepwise(places, shares, func, args, options)

    return in_c("stepped")(form) if 0 in places else form


def stepwise(
    places: Collection[int], shares: Any, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None
) -> Any:
    """A function of one that moves across jumps, or of two, which have the `shares` of its change. Of several outputs
    each has its own."""
    here = settings.get()
    if here.rule != "affine":
        return NotImplemented
    if len(args) == 2 and not options:
        are_two = type(args[0]) is type(args[1]) is DecomposedTensor
        made = jumps_of_numbers(shares, func, *args)
        if made is None and shares is not in_both_orders:
            made = _over_zero(places, shares, func, args)
        if made is not None:
            return made
        if are_two:
            return _of_two(shares, func, args)
    call = single(places, 0, func, args, options)
    if call is None:
        return NotImplemented if options or len(args) != 2 else _of_number_beside_few(places, func, *args)
    f, x, others, _ = call
    if not is_ordinary(x):
        return NotImplemented
    if torch.is_grad_enabled() and (carries_graph(x) or any(other.requires_grad for other in others)):
        return NotImplemented
    value, number = f(x.value, *others), number_in(x)
    if type(value) is torch.Tensor:
        return _of_one(value, f(x.residual, *others), x, number, here.frozen_conditions)
    if type(value) is not tuple:
        return NotImplemented
    outputs = zip(value, f(x.residual, *others), strict=True)
    made = [_of_one(after, before, x, number, here.frozen_conditions) for after, before in outputs]
    return NotImplemented if any(part is NotImplemented for part in made) else tuple(made)


def _over_zero(places: Collection[int], shares: Any, func: Function, args: Sequence[Any]) -> Any:
    """What such a function gives over zero: of a number, or of each of a few of which one is zero at an end."""
    value, residual = getattr(args[1], "value", args[1]), getattr(args[1], "residual", args[1])
    if type(value) is not torch.Tensor or not value.ndim:
        return divided_by_zero(shares, func, *args)
    if not value.is_cpu or value.numel() > HANDFUL or (value.all() and residual.all()):
        return None
    made = number_by_number(partial(stepwise, places, shares), func, args)
    return None if made is NotImplemented else made


def _of_number_beside_few(places: Collection[int], func: Function, a: Any, b: Any) -> Any:
    """Of one number and a few constants: of as many numbers as these are."""
    place = 0 if type(a) is DecomposedTensor else 1
    x, other = (b, a) if place else (a, b)
    if place not in places or type(other) is not torch.Tensor or other.requires_grad or x.value.ndim:
        return NotImplemented
    if other.dtype is not x.value.dtype or not 0 < other.numel() <= HANDFUL or not other.is_cpu:
        return NotImplemented
    ends = [func(other, end) if place else func(end, other) for end in (x.value, x.residual)]
    outputs = list(zip(*ends, strict=True)) if type(ends[0]) is tuple else [ends]
    made = [stepped_beside(after, before, x) for after, before in outputs]
    if all(part is not None for part in made):
        return tuple(made) if type(ends[0]) is tuple else made[0]
    if number_in(x) is None:
        return NotImplemented
    components = x.components.reshape(len(x.labels), *[1] * other.ndim).expand(len(x.labels), *other.shape)
    like = built(x.value.expand(other.shape), x.residual.expand(other.shape), components, x.labels)
    made = [_of_one(after, before, like, None, settings.get().frozen_conditions) for after, before in outputs]
    if any(part is NotImplemented for part in made):
        return NotImplemented
    return tuple(made) if type(ends[0]) is tuple else made[0]


def divided(
    shares: Any, which: int | None, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None
) -> Any:
    """np.divmod, or one of its two results, as Python has it of numbers."""
    ordinary = len(args) == 2 and not options and settings.get().rule == "affine"
    made = jumps_of_numbers(shares, func, *args) if ordinary else NotImplemented
    if made is None:
        made = _divided_numbers(shares, which, func, *args)
    return stepwise((0, 1), shares, func, args, options) if made is NotImplemented else made


def _divided_numbers(shares: Any, which: int | None, func: Function, a: Any, b: Any) -> Any:
    x, y, beside = number_in(a), number_in(b), None
    known = y if x is None else x
    if known is None:
        return NotImplemented
    one = b if x is None else a
    dtype = one.value.dtype
    if x is None or y is None:
        beside = constant_beside(one.value, b if y is None else a)
        if beside is None or not abs(beside) <= _WHOLE:
            return NotImplemented
        constant = rounding_to(dtype)(beside), rounding_to(dtype)(beside), known[2]
        x, y = x or constant, y or constant
    elif b.value.dtype is not dtype:
        return NotImplemented
    (u, w, _), (v, z, _) = x, y
    after, before = divmod_in_numbers(u, v, dtype), divmod_in_numbers(w, z, dtype)
    if after is None or before is None:
        return NotImplemented
    made = []
    for i in (0, 1) if which is None else (which,):
        end, start = after[i], before[i]
        if beside is None:
            known_as, its = ((func, i), shares[i]) if which is None else (func, shares)
            part = _shared_number(its, known_as, a, b, (x, y), end, start, (end, start))
        else:
            part = _jumped(end, start, end - start, one, known, False)
        if part is None or part is NotImplemented:
            return NotImplemented
        made.append(part)
    return tuple(made) if which is None else made[0]


def _of_one(
    value: torch.Tensor, residual: torch.Tensor, x: DecomposedTensor, number: Number | None, frozen: bool
) -> Any:
    dtype = x.value.dtype
    boolean = value.dtype is torch.bool
    if value.shape != x.value.shape or (frozen if boolean else value.dtype is not dtype):
        return NotImplemented
    after, before = x.value, x.residual
    if number is not None:
        return _of_one_number(value, residual, x, number, boolean)
    few = all_listed((after, before, residual), (x.components,), value)
    if few is None:
        jump, step = value.to(dtype) - residual.to(dtype), after - before
        made = shared(jump, step, x.components, None if boolean else after.abs() + before.abs())
    else:
        a, b, its = few
        jumps, steps = list(map(operator.sub, listed(value), its)), list(map(operator.sub, a, b))
        sizes = None if boolean else [abs(u) + abs(w) for u, w in zip(a, b, strict=True)]
        made = shares_of_few(jumps, steps, x.components, value, sizes)
    if made is None:
        return NotImplemented
    return condition_of(value, residual, made, x.labels) if boolean else made_of(value, residual, made, x)


def _of_one_number(
    value: torch.Tensor, residual: torch.Tensor, x: DecomposedTensor, number: Number, boolean: bool
) -> Any:
    return _jumped(value, residual, value.item() - residual.item(), x, number, boolean)


def _jumped(value: Any, residual: Any, jump: float, x: DecomposedTensor, number: Number, boolean: bool) -> Any:
    (after, before, column), dtype = number, x.value.dtype
    if boolean and not jump:
        return number_of(value, residual, [0.0] * len(column), x.labels, dtype)
    found = multiplier(jump, after - before, column, dtype, None if boolean else abs(after) + abs(before))
    if found is None:
        return NotImplemented
    return number_of(value, residual, [c * found for c in column], x.labels, dtype)


def _of_two(shares: Any, func: Function, args: Sequence[Any]) -> Any:
    a, b = args
    numbers = None if a.value.ndim else numbers_in_two(a, b)
    if numbers is not None:
        made = _of_numbers(shares, func, a, b, numbers)
        if made is not None:
            return made
    pair = pair_of(args, apart=True)
    if pair is None:
        return NotImplemented
    (x, y), (r, s), (first, second) = pair.values, pair.residuals, pair.components
    assert first is not None and second is not None  # noqa: PT018
    if x.shape != y.shape:
        pair = of_one_shape(pair)
        if pair is None:
            return NotImplemented
        (x, y), (r, s), (first, second) = pair.values, pair.residuals, cast(Any, pair.components)
    graph = x.requires_grad or y.requires_grad or r.requires_grad or s.requires_grad
    if torch.is_grad_enabled() and (graph or first.requires_grad or second.requires_grad):
        return NotImplemented
    value, residual = func(x, y), func(r, s)
    if type(value) is torch.Tensor:
        return _made_of_two(shares, func, func, pair, value, residual)
    if type(value) is not tuple:
        return NotImplemented
    made = []
    for i, (its, after, before) in enumerate(zip(shares, value, residual, strict=True)):
        made.append(_made_of_two(its, lambda *ends, i=i: func(*ends)[i], (func, i), pair, after, before))
    return NotImplemented if any(part is NotImplemented for part in made) else tuple(made)


def _made_of_two(
    shares: Function, func: Function, known: Any, pair: Pair, value: torch.Tensor, residual: torch.Tensor
) -> Any:
    """Of one result of a function, which is `known` by itself or as one of several of another one."""
    (x, y), (r, s), (first, second) = pair.values, pair.residuals, pair.components
    if value.shape != x.shape or value.dtype is not x.dtype:
        return NotImplemented
    assert first is not None
    assert second is not None
    if value.numel() <= HANDFUL and (shares in OF_FEW or (shares is in_both_orders and known in ON_HOST)):
        made = _of_few(shares, known, pair, value, residual)
        if made is not None:
            return made
    by_x, by_y = shares(x, y, r, s, func, value, residual)
    of_x = shared(by_x, x - r, first, x.abs() + r.abs())
    of_y = None if of_x is None else shared(by_y, y - s, second, y.abs() + s.abs())
    if of_x is None or of_y is None:
        return NotImplemented
    components = pair.together(of_x, of_y)
    gross = by_x.abs() + by_y.abs()
    if value.dtype in _WITH_FEW_DIGITS or not torch.linalg.vector_norm(gross).item() <= STEEP:
        own = known[0] if type(known) is tuple else known
        warn_of_digits(name_of(own), gross, components, value, residual, reverse=False)
    return built(value, residual, components, pair.labels)


def _of_numbers(
    shares: Any, func: Function, a: DecomposedTensor, b: DecomposedTensor, numbers: tuple[Number, Number]
) -> Any:
    """Of two numbers; None where torch finds the shares."""
    value, residual = func(a.value, b.value), func(a.residual, b.residual)
    if type(value) is torch.Tensor:
        return _of_number(shares, func, a, b, numbers, value, residual)
    if type(value) is not tuple:
        return None
    made = []
    for i, (its, after, before) in enumerate(zip(shares, value, residual, strict=True)):
        part = _of_number(its, (func, i), a, b, numbers, after, before)
        if part is None:
            return None
        made.append(part)
    return tuple(made)


def _of_number(
    shares: Any,
    func: Any,
    a: DecomposedTensor,
    b: DecomposedTensor,
    numbers: tuple[Number, Number],
    value: torch.Tensor,
    residual: torch.Tensor,
) -> Any:
    dtype = a.value.dtype
    if value.dtype is not dtype or shares not in SHARES:
        return None
    return _shared_number(shares, func, a, b, numbers, value, residual, (value.item(), residual.item()))


def _shared_number(
    shares: Any, func: Any, a: Any, b: Any, numbers: tuple[Number, Number], value: Any, residual: Any, ends: Any
) -> Any:
    (x, r, first), (y, s, second) = numbers
    dtype = a.value.dtype
    found = quotient_of_number(shares, func, x, y, r, s, ends[0], ends[1], dtype)
    if found is None:
        return None
    of_a = multiplier(found[0], x - r, first, dtype, abs(x) + abs(r))
    of_b = None if of_a is None else multiplier(found[1], y - s, second, dtype, abs(y) + abs(s))
    if of_a is None or of_b is None:
        return None
    made = sum_of_two(value, residual, a, b, numbers, of_a, of_b)
    return None if made is NotImplemented else made


def _of_few(shares: Function, func: Any, pair: Pair, value: torch.Tensor, residual: torch.Tensor) -> Any:
    """The same of a handful of numbers on the host; None where torch finds the shares."""
    (x, y), (r, s), (first, second) = pair.values, pair.residuals, pair.components
    if not value.is_cpu or not x.shape == y.shape == r.shape == s.shape == residual.shape == value.shape:
        return None
    if first is None or second is None or not (0 < first.numel() <= FEW and 0 < second.numel() <= FEW):
        return None
    *ends, before = map(listed, (x, y, r, s, residual))
    found = quotients_of_few(shares, func, ends, listed(value), before, value.dtype)
    if found is None:
        return None
    made = []
    for jumps, a, b, components in zip(found, ends[:2], ends[2:], (first, second), strict=True):
        steps, sizes = list(map(operator.sub, a, b)), [abs(u) + abs(w) for u, w in zip(a, b, strict=True)]
        part = shares_of_few(jumps, steps, components, value, sizes)
        if part is None:
            return None
        made.append(part)
    return built(value, residual, pair.together(*made), pair.labels)


def searched(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """torch.searchsorted of a handful of numbers among plain bounds, each of them a step."""
    here, named = settings.get(), options or {}
    if len(args) != 2 or here.frozen_conditions or here.rule == "none" or named.get("sorter") is not None:
        return NotImplemented
    bounds, x = args
    if type(bounds) is not torch.Tensor or bounds.requires_grad or not is_ordinary(x):
        return NotImplemented
    few = all_listed((x.value, x.residual), (x.components,), x.value)
    if few is None:
        return NotImplemented
    value, residual = func(bounds, x.value, **named), func(bounds, x.residual.contiguous(), **named)
    jumps, steps = list(map(operator.sub, listed(value), listed(residual))), list(map(operator.sub, *few))
    made = shares_of_few(jumps, steps, x.components, value)
    return NotImplemented if made is None else condition_of(value, residual, made, x.labels)


def stepwise_instead(places: Collection[int], shares: Function, own: Function) -> Form:
    """The form of a function with jumps, by another that computes the same, and has a derivative."""
    return partial(_instead, places, shares, own)


def _instead(places: Collection[int], shares: Function, own: Function, func: Function, args: Sequence[Any]) -> Any:
    return stepwise(places, shares, own, args) if len(args) == 2 else NotImplemented


def shared(
    jump: torch.Tensor, step: torch.Tensor, components: torch.Tensor, size: torch.Tensor | None = None
) -> torch.Tensor | None:
    """What each component has of a jump, as `npdec._law.jumps` shares it, where the components add up to the step, and
    do not cancel; else None. `size` is given if the function moves beside its jumps as well."""
    if size is None and not jump.any():
        return components.new_zeros((components.shape[0], *jump.shape))
    if chunk.get() is not None:
        need_all()
    graph = components.requires_grad or jump.requires_grad or step.requires_grad
    count = components.shape[0] * jump.numel()
    if 0 < count <= FEW and jump.shape == step.shape and components.is_cpu and not graph:
        sizes = None if size is None else size.reshape(-1).tolist()
        return shares_of_few(jump.reshape(-1).tolist(), step.reshape(-1).tolist(), components, jump, sizes)
    given = components.detach()
    total, gross = given.sum(0), given.abs().sum(0)
    info, still = torch.finfo(jump.dtype), jump == 0
    eps = info.eps
    known = (step - total).abs() <= ROUNDINGS * eps * gross  # of what rounding alone has moved the general way knows
    known &= total.abs() > max(1 / STEEP, eps**0.5) * gross
    if size is not None and components.shape[0] == 1:
        known &= total.abs() > ROUNDINGS * eps * size
    if not bool((known | (still if size is None else still & (gross == 0))).all()):
        return None
    if step.requires_grad:  # which has the graph of what the components add up to
        total = step + (total - step).detach()
    multiplier = jump / torch.where(still, 1, total)
    if multiplier.numel():
        least, most = torch.aminmax(multiplier.detach().abs() + still)
        if not (float(least) >= info.tiny / eps and float(most) <= info.max * eps):  # out of the exponent range
            return None
    made = components * multiplier
    return made if math.isfinite(made.sum().item()) else None


def condition_of(value: torch.Tensor, residual: torch.Tensor, components: torch.Tensor, labels: Labels) -> Any:
    """A decomposed boolean."""
    made = built(value, residual, components, labels)
    made.discrete = True
    return made
