"""The law of ordinary calls that choose: the larger of two, comparisons, and selections by conditions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP, has_few_digits
from npdec._decomposed.tensor import DecomposedTensor, align, places_of, union
from npdec._law.of_few import (
    FEW,
    Numbers,
    all_listed,
    larger_of_few,
    larger_of_two,
    listed,
    repeated,
    shares_of_few,
    tensor_of,
)
from npdec._law.ordinary import Form, built, has_elements, is_moderate, is_ordinary, made_of
from npdec._law.ordinary_numbers import ends_of_two, weighted
from npdec._law.ordinary_pairs import Pair, is_constant, pair_of
from npdec._law.ordinary_steps import condition_of, shared

__all__ = ["chosen", "compared", "is_condition", "larger"]

Function = Callable[..., Any]
_WITH_FEW_DIGITS = frozenset(filter(has_few_digits, (torch.float32, torch.float64)))


def larger(sign: int) -> Form:
    """The form of the maximum (sign 1) or minimum (−1) of two: two lines, and the part of the path that each leads."""
    return partial(_larger, sign)


def _larger(sign: int, func: Function, args: Sequence[Any]) -> Any:
    made = _larger_number(sign, func, *args) if len(args) == 2 else NotImplemented
    if made is not NotImplemented:
        return made
    pair = pair_of(args, apart=True)
    if pair is None or not all(isinstance(value, torch.Tensor) for value in pair.values):
        return NotImplemented
    few = _ends_of_few(pair, pair.like.value)
    if few is not None:
        shares = larger_of_few(sign, few)
        if shares is None:
            return NotImplemented
        like = pair.like.value
        terms = [c * tensor_of(its, like) for c, its in zip(pair.components, shares, strict=True) if c is not None]
        return pair.made(func, terms[0] if len(terms) == 1 else pair.together(*terms))
    gap, before = (torch.sub(*ends) for ends in (pair.values, pair.residuals))
    if sign < 0:
        gap, before = gap.neg(), before.neg()
    first, second = gap.clamp_min(0) + before.clamp_min(0), gap.clamp_max(0) + before.clamp_max(0)
    path = first - second
    if not path.numel():
        return NotImplemented
    least, most = torch.aminmax(path.detach())
    if not most.item() < math.inf or least.item() != least.item():  # NaN or infinite
        return NotImplemented
    if least.item() == 0:  # equal lines share evenly
        tie = (path == 0).to(path.dtype)
        first, second, path = first + tie, second - tie, path + 2 * tie
    terms = [
        components * (share / path)
        for components, share in zip(pair.components, (first, second.neg()), strict=True)
        if components is not None
    ]
    return pair.made(func, terms[0] if len(terms) == 1 else pair.together(*terms))


def _larger_number(sign: int, func: Function, a: Any, b: Any) -> Any:
    """Of two numbers, or of one and a constant in a tensor."""
    if is_ordinary(a) and is_ordinary(b):
        ends = ends_of_two(a, b)
        shares = None if ends is None else larger_of_two(sign, *ends)
        return NotImplemented if shares is None else weighted(func, a, b, *shares, finite=False)
    swapped = type(b) is DecomposedTensor
    x, other = (b, a) if swapped else (a, b)
    if not is_ordinary(x) or type(other) is not torch.Tensor or other.ndim or x.value.ndim:
        return NotImplemented
    constant, value, residual = other, x.value, x.residual
    graph = value.requires_grad or residual.requires_grad or constant.requires_grad or x.components.requires_grad
    if graph or not value.is_cpu or not constant.is_cpu or constant.dtype is not value.dtype:
        return NotImplemented
    number = constant.item()
    shares = larger_of_two(sign, value.item(), number, residual.item(), number)
    if shares is None:
        return NotImplemented
    made = x.components * shares[0]
    if swapped:
        return built(func(constant, value), func(constant, residual), made, x.labels)
    return built(func(value, constant), func(residual, constant), made, x.labels)


def _ends_of_few(pair: Pair, value: torch.Tensor) -> list[Numbers] | None:
    """The numbers of both arguments at the value and at the residual, where there are few, and no graph."""
    alike = pair.like.value.shape == value.shape
    return all_listed((*pair.values, *pair.residuals), pair.components, value) if alike else None


def compared(func: Function, args: Sequence[Any]) -> Any:
    """A comparison: a step of the difference of the two sides, shared as `npdec._law.jumps` shares it."""
    here = settings.get()
    pair = None if here.frozen_conditions or here.rule == "none" else pair_of(args, apart=True)
    if pair is None:
        return NotImplemented
    value, residual = func(*pair.values), func(*pair.residuals)
    first, second = pair.components
    few = None
    before = repeated(residual, value) if 0 < value.numel() <= FEW and value.is_cpu else None
    if before is None:
        still = value.shape == residual.shape and torch.equal(value, residual)
    else:
        jumps = list(map(operator.sub, listed(value), before))
        still = not any(jumps)
        few = None if still else _ends_of_few(pair, value)
    if still:
        nothing = pair.like.components.new_zeros((len(pair.labels), *value.shape))
        return condition_of(value, residual, nothing, pair.labels)
    if first is None or second is None:
        components = second if first is None else first
    else:
        components = pair.together(first, -second)
    assert components is not None
    if few is not None:
        sign = -1 if first is None else 1
        steps = [sign * ((a - b) - (c - d)) for a, b, c, d in zip(*few, strict=True)]
        made = shares_of_few(jumps, steps, components, value)
    else:
        dtype = pair.like.value.dtype
        jump = value.to(dtype) - residual.to(dtype)
        step = (pair.values[0] - pair.values[1]) - (pair.residuals[0] - pair.residuals[1])
        made = shared(jump, -step if first is None else step, components)
    return NotImplemented if made is None else condition_of(value, residual, made, pair.labels)


def chosen(func: Function, args: Sequence[Any]) -> Any:
    """torch.where of a condition, which is decomposed or not, and two branches of which one is."""
    if len(args) != 3:
        return NotImplemented
    condition, a, b = args
    like = a if is_ordinary(a) else b
    if not is_ordinary(like) or not _is_branch(a, like) or not _is_branch(b, like):
        return NotImplemented
    at = before = condition
    if type(condition) is DecomposedTensor:
        here = settings.get()
        if not is_condition(condition) or here.frozen_conditions or here.rule == "none":
            return NotImplemented
        if condition.components.dtype is not like.value.dtype or condition.value.shape != like.value.shape:
            return NotImplemented
        at, before = condition.value, condition.residual
    elif type(condition) is not torch.Tensor or not has_elements(condition):
        return NotImplemented
    (x, r), (y, s) = _ends(a, like), _ends(b, like)
    value = torch.where(at, x, y)
    if value.shape != like.value.shape:
        return NotImplemented
    if at is not before and not value.ndim:
        made = _chosen_number(condition, a, b, value, (x, r, y, s))
        if made is not NotImplemented:
            return made
    parts = [part for part in args if type(part) is DecomposedTensor]
    if at is not before and _are_few(parts, x, y):
        return _chosen_of_few(args, value, (x, r), (y, s))
    labels, given = align(parts)
    if len(labels) >= size_limits.MANY:
        return NotImplemented
    its = iter(given)
    step = None if at is before else next(its)
    first, second = (next(its) if type(part) is DecomposedTensor else 0 for part in (a, b))
    if step is None:
        return made_of(value, torch.where(at, r, s), torch.where(at, first, second), like, labels)
    middle, other = torch.lerp(r, x, 0.5), torch.lerp(s, y, 0.5)
    if not is_moderate(middle) or not is_moderate(other):  # a branch that is not chosen may be anything
        return NotImplemented
    components = step * (torch.where(at | before, middle, 0) - torch.where(at & before, 0, other))
    share = (at.to(value.dtype) + before.to(value.dtype)) / 2
    if isinstance(first, torch.Tensor):
        components.addcmul_(first, share)
    if isinstance(second, torch.Tensor):
        components.addcmul_(second, 1 - share)
    return made_of(value, torch.where(before, r, s), components, like, labels)


def _chosen_number(
    condition: DecomposedTensor, a: Any, b: Any, value: torch.Tensor, ends: Sequence[torch.Tensor]
) -> Any:
    """`chosen` of numbers by a decomposed condition, under the same labels."""
    labels, components = condition.labels, condition.components
    for part in (condition, a, b):
        if type(part) is DecomposedTensor:
            graph = part.value.requires_grad or part.residual.requires_grad or part.components.requires_grad
            if part.labels is not labels or graph or not part.value.is_cpu:
                return NotImplemented
    if any(end.ndim or end.requires_grad for end in ends):
        return NotImplemented
    x, r, y, s = (end.item() for end in ends)
    at, before, first, second = condition.value.item(), condition.residual.item(), (x + r) / 2, (y + s) / 2
    if not (abs(first) <= STEEP and abs(second) <= STEEP):
        return NotImplemented
    gain, share = (first if at or before else 0.0) - (0.0 if at and before else second), (at + before) / 2
    made = torch.mul(components, gain)
    if type(a) is DecomposedTensor:
        made.add_(a.components, alpha=share)
    if type(b) is DecomposedTensor:
        made.add_(b.components, alpha=1 - share)
    return built(value, torch.where(condition.residual, ends[1], ends[3]), made, labels)


def _are_few(parts: Sequence[DecomposedTensor], x: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether the tensors have few components on the host, and there is no graph."""
    shape = parts[0].value.shape
    if not parts[0].value.is_cpu or x.shape != shape or y.shape != shape or not 0 < x.numel() <= FEW:
        return False
    for part in parts:
        if part.components.numel() > FEW or part.components.requires_grad:
            return False
        if part.value.requires_grad or part.residual.requires_grad:
            return False
    return not (x.requires_grad or y.requires_grad)


def _chosen_of_few(args: Sequence[Any], value: torch.Tensor, ends: Any, others: Any) -> Any:
    """`chosen` by a decomposed condition, element by element on the host."""
    condition, a, b = args
    at, before = listed(condition.value), listed(condition.residual)
    first = [(u + w) / 2 for u, w in zip(listed(ends[0]), listed(ends[1]), strict=True)]
    second = [(u + w) / 2 for u, w in zip(listed(others[0]), listed(others[1]), strict=True)]
    if not math.hypot(*first) <= STEEP or not math.hypot(*second) <= STEEP:
        return NotImplemented
    gains = [
        (u if now or then else 0.0) - (0.0 if now and then else w)
        for u, w, now, then in zip(first, second, at, before, strict=True)
    ]
    shares = [(now + then) / 2 for now, then in zip(at, before, strict=True)]
    labels = union([part for part in args if type(part) is DecomposedTensor])
    made: list[list[float]] = [[]] * len(labels)
    for part, weights in ((condition, gains), (a, shares), (b, [1 - share for share in shares])):
        if type(part) is not DecomposedTensor:
            continue
        rows = part.components if value.ndim == 1 else part.components.reshape(len(part.labels), -1)
        places = range(len(labels)) if part.labels is labels else places_of(part.labels, labels)
        for place, row in zip(places, rows.tolist(), strict=True):
            terms = map(operator.mul, weights, row)
            made[place] = list(map(operator.add, made[place], terms) if made[place] else terms)
    components = torch.tensor(made, dtype=value.dtype).reshape(len(labels), *value.shape)
    return built(value, torch.where(condition.residual, ends[1], others[1]), components, labels)


def _is_branch(x: Any, like: DecomposedTensor) -> bool:
    """Whether a branch is as the other one: its dtype and shape, or a constant."""
    if is_ordinary(x):
        return x.value.shape == like.value.shape and x.value.dtype is like.value.dtype
    return is_constant(x, like.value)


def is_condition(x: Any) -> bool:
    """Whether it is a decomposed condition with a few dense components in single or double precision."""
    if type(x) is not DecomposedTensor or x.value.dtype is not torch.bool or type(x.value) is not torch.Tensor:
        return False
    if x.reverse or x.kept is not None or len(x.labels) >= size_limits.MANY or x.value.is_meta:
        return False
    return x.components.dtype in (torch.float64, torch.float32)


def _ends(x: Any, like: DecomposedTensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A branch at the value and at the residual."""
    if type(x) is DecomposedTensor:
        return x.value, x.residual
    if not isinstance(x, torch.Tensor):
        x = like.value.new_tensor(x)
    return x, x
