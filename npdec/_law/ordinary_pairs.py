"""The law of ordinary calls with two arguments: sums, products, quotients, the larger of two, comparisons.

Each argument is an ordinary decomposed tensor (`npdec._law.ordinary`), a plain tensor of its dtype, or a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP
from npdec._decomposed.tensor import DecomposedTensor, Labels, align
from npdec._law.ordinary import FACTORS, Form, is_moderate, is_ordinary, made_of, rows_of

__all__ = ["added", "compared", "larger", "product", "quotient"]

Function = Callable[..., Any]
_ROUNDINGS = 32  # between a step and the sum of its components (npdec._law.jumps)


class _Pair(NamedTuple):
    """Two arguments; of those that are not decomposed the components are None, and the value is the residual."""

    values: Sequence[Any]
    residuals: Sequence[Any]
    components: Sequence[torch.Tensor | None]
    labels: Labels
    like: DecomposedTensor

    def made(self, func: Function, components: torch.Tensor) -> Any:
        """The result of a function, if it has the shape of the components."""
        value = func(*self.values)
        if value.shape != components.shape[1:]:
            return NotImplemented
        return made_of(value, func(*self.residuals), components, self.like, self.labels)


def _pair(args: Sequence[Any]) -> _Pair | None:
    """The two arguments of an ordinary call; None if it is none."""
    if len(args) != 2:
        return None
    a, b = args
    if not is_ordinary(a):
        if not is_ordinary(b) or not _is_constant(a, b.value):
            return None
        return _Pair((a, b.value), (a, rows_of(b)), (None, b.components), b.labels, b)
    if not is_ordinary(b):
        if not _is_constant(b, a.value):
            return None
        return _Pair((a.value, b), (rows_of(a), b), (a.components, None), a.labels, a)
    if a.value.shape != b.value.shape or a.value.dtype is not b.value.dtype:
        return None
    steps, other = a.residual.stride(), b.residual.stride()
    residuals: tuple[Any, Any] = (rows_of(a), rows_of(b)) if steps == other else (a.residual, b.residual)
    if steps != other and 0 in (*steps, *other):  # rows of one alone are equal
        return None
    if a.labels is b.labels or a.labels == b.labels:
        return _Pair((a.value, b.value), residuals, (a.components, b.components), a.labels, a)
    labels, components = align((a, b))
    if len(labels) >= size_limits.MANY:
        return None
    return _Pair((a.value, b.value), residuals, components, labels, a)


def _is_constant(b: Any, like: torch.Tensor) -> bool:
    """Whether b is a number, or a plain tensor of the dtype that broadcasts to the shape."""
    if type(b) is float or type(b) is int:
        return True
    return type(b) in FACTORS and b.dtype is like.dtype and b.ndim <= like.ndim and b.layout is torch.strided


def _is_tame(factor: Any) -> bool:
    """Whether a factor makes no contribution a million times as large."""
    return is_moderate(factor) if isinstance(factor, torch.Tensor) else abs(factor) <= STEEP


def added(traits: int, func: Function, args: Sequence[Any]) -> Any:
    """a + b, a − b, b − a."""
    pair = _pair(args)
    if pair is None:
        return NotImplemented
    first, second = pair.components
    if first is None:
        assert second is not None
        components = second.neg() if traits & Trait.SUBTRACT else second.clone()
    else:
        components = func(first, 0 if second is None else second)
    return pair.made(func, components)


def product(func: Function, args: Sequence[Any]) -> Any:
    """a b: each times the other's midpoint."""
    pair = _pair(args)
    if pair is None:
        return NotImplemented
    first, second = pair.components
    if first is None or second is None:
        factor = pair.values[0 if first is None else 1]
        if not _is_tame(factor):
            return NotImplemented
        return pair.made(func, func(second if first is None else first, factor))
    middle_a = _middle(pair, 0)
    middle_b = middle_a if args[1] is args[0] else _middle(pair, 1)
    if not is_moderate(middle_a) or not (middle_b is middle_a or is_moderate(middle_b)):
        return NotImplemented
    return pair.made(func, func(first, middle_b) + func(middle_a, second))


def _middle(pair: _Pair, i: int) -> torch.Tensor:
    return torch.add(pair.values[i] / 2, pair.residuals[i], alpha=0.5)


def quotient(func: Function, args: Sequence[Any]) -> Any:
    """a / b: linear in a; in b the product of a with the reciprocal of b, whose slope is −1 / (x r)."""
    pair = _pair(args)
    if pair is None:
        return NotImplemented
    first, second = pair.components
    if second is None:
        divisor = pair.values[1]
        if not _divides(divisor):
            return NotImplemented
        return pair.made(func, func(first, divisor))
    if settings.get().rule != "affine":
        return NotImplemented
    after, before = torch.reciprocal(pair.values[1]), torch.reciprocal(pair.residuals[1])
    slope = torch.mul(after, before).neg_()
    if first is None:
        through = slope * pair.values[0]
        if not _is_tame(pair.values[0]) or not is_moderate(slope):
            return NotImplemented
        return pair.made(func, torch.mul(second, through))
    middle, inverse = _middle(pair, 0), torch.add(after / 2, before, alpha=0.5)
    if not is_moderate(middle) or not is_moderate(inverse) or not is_moderate(slope):
        return NotImplemented
    return pair.made(func, torch.mul(first, inverse).addcmul_(middle, torch.mul(second, slope)))


def _divides(divisor: Any) -> bool:
    """Whether a divisor is neither so small that something has to be said, nor infinite."""
    if not isinstance(divisor, torch.Tensor):
        return 1 / STEEP <= abs(divisor) < math.inf
    if not divisor.numel():
        return False
    least, most = torch.aminmax(divisor.detach().abs())
    return 1 / STEEP <= least.item() and most.item() < math.inf


def larger(sign: int) -> Form:
    """The form of the maximum (sign 1) or minimum (−1) of two: two lines, and the part of the path that each leads."""
    return partial(_larger, sign)


def _larger(sign: int, func: Function, args: Sequence[Any]) -> Any:
    pair = _pair(args)
    if pair is None or not all(isinstance(value, torch.Tensor) for value in pair.values):
        return NotImplemented
    gap, before = (torch.sub(*ends, alpha=1).detach() for ends in (pair.values, pair.residuals))
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
    pair = None if conditions_are_frozen() else _pair(args)
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
    info = torch.finfo(jump.dtype)
    given = components.detach()
    total, gross = given.sum(0), given.abs().sum(0)
    if first is None:
        total = -total
    step = (pair.values[0] - pair.values[1]) - (pair.residuals[0] - pair.residuals[1])
    size = sum(abs(end) for end in (*pair.values, *pair.residuals))
    known = (step.detach() - total).abs() <= _ROUNDINGS * info.eps * (size.detach() + gross)
    known &= (total.abs() > max(1 / STEEP, info.eps**0.5) * gross) & (gross < info.max * info.eps)
    multiplier = jump / torch.where(jump == 0, 1, total)
    known &= multiplier.abs() <= info.max * info.eps
    if not bool((known | (jump == 0)).all()) or not bool(torch.isfinite(gross.sum())):
        return NotImplemented
    made = components * (-multiplier if first is None else multiplier)
    return DecomposedTensor(value, residual.expand(value.shape), made, pair.labels)
