"""The law of ordinary calls that choose: the larger of two, comparisons, and selections by conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.size_warnings import STEEP, has_finite_sum
from npdec._decomposed.tensor import DecomposedTensor, align
from npdec._law.ordinary import Form, has_numbers, is_moderate, is_ordinary, made_of
from npdec._law.ordinary_pairs import is_constant, pair_of

__all__ = ["chosen", "compared", "larger"]

Function = Callable[..., Any]
_ROUNDINGS = 32  # between a step and the sum of its components (npdec._law.jumps)


def larger(sign: int) -> Form:
    """The form of the maximum (sign 1) or minimum (−1) of two: two lines, and the part of the path that each leads."""
    return partial(_larger, sign)


def _larger(sign: int, func: Function, args: Sequence[Any]) -> Any:
    pair = pair_of(args)
    if pair is None or not all(isinstance(value, torch.Tensor) for value in pair.values):
        return NotImplemented
    gap, before = (torch.sub(*ends).detach() for ends in (pair.values, pair.residuals))
    if sign < 0:
        gap, before = gap.neg_(), before.neg_()
    first, second = gap.clamp_min(0) + before.clamp_min(0), gap.clamp_max_(0) + before.clamp_max_(0)
    path = first - second
    if not path.numel():
        return NotImplemented
    least, most = torch.aminmax(path)
    if not most.item() < math.inf or least.item() != least.item():  # NaN or infinite
        return NotImplemented
    if least.item() == 0:  # equal lines share evenly
        tie = (path == 0).to(path.dtype)
        first, second, path = first + tie, second - tie, path + 2 * tie
    terms = [
        components * (share / path)
        for components, share in zip(pair.components, (first, second.neg_()), strict=True)
        if components is not None
    ]
    return pair.made(func, terms[0] if len(terms) == 1 else terms[0].add_(terms[1]))


def compared(func: Function, args: Sequence[Any]) -> Any:
    """A comparison: a step of the difference of the two sides, shared as `npdec._law.jumps` shares it."""
    pair = None if conditions_are_frozen() else pair_of(args)
    if pair is None:
        return NotImplemented
    value, residual = func(*pair.values), func(*pair.residuals)
    if value.shape != pair.like.value.shape:
        return NotImplemented
    first, second = pair.components
    jump = value.to(pair.like.value.dtype) - residual.to(pair.like.value.dtype)
    components = first if second is None else second if first is None else first - second
    assert components is not None
    if not jump.any():
        return DecomposedTensor(value, residual.expand(value.shape), torch.zeros_like(components), pair.labels)
    given = components.detach()
    total, gross = given.sum(0), given.abs().sum(0)
    step = (pair.values[0] - pair.values[1]) - (pair.residuals[0] - pair.residuals[1])
    if first is None:
        step = -step
    eps, still = torch.finfo(jump.dtype).eps, jump == 0
    known = (step - total).abs() <= _ROUNDINGS * eps * gross  # of what rounding alone has moved the general way knows
    known &= total.abs() > max(1 / STEEP, eps**0.5) * gross
    if not bool((known | still).all()):
        return NotImplemented
    made = components * (jump / torch.where(still, 1, total))
    if not has_finite_sum(made):
        return NotImplemented
    return DecomposedTensor(value, residual.expand(value.shape), made, pair.labels)


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
        if not _is_condition(condition, like) or conditions_are_frozen():
            return NotImplemented
        at, before = condition.value, condition.residual
    elif type(condition) is not torch.Tensor or not has_numbers(condition):
        return NotImplemented
    (x, r), (y, s) = _ends(a, like), _ends(b, like)
    value = torch.where(at, x, y)
    if value.shape != like.value.shape:
        return NotImplemented
    labels, given = align([part for part in args if type(part) is DecomposedTensor])
    if len(labels) >= size_limits.MANY:
        return NotImplemented
    parts = iter(given)
    step = None if at is before else next(parts)
    first, second = (next(parts) if type(part) is DecomposedTensor else 0 for part in (a, b))
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


def _is_branch(x: Any, like: DecomposedTensor) -> bool:
    """Whether a branch is as the other one: its dtype and shape, or a constant."""
    if is_ordinary(x):
        return x.value.shape == like.value.shape and x.value.dtype is like.value.dtype
    return is_constant(x, like.value)


def _is_condition(x: DecomposedTensor, like: DecomposedTensor) -> bool:
    """Whether a decomposed condition has a few dense components, of the branches' dtype."""
    return (
        x.value.dtype is torch.bool
        and not x.reverse
        and x.kept is None
        and len(x.labels) < size_limits.MANY
        and x.components.dtype is like.value.dtype
        and x.value.shape == like.value.shape
    )


def _ends(x: Any, like: DecomposedTensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A branch at the value and at the residual."""
    if type(x) is DecomposedTensor:
        return x.value, x.residual
    if not isinstance(x, torch.Tensor):
        x = like.value.new_tensor(x)
    return x, x
