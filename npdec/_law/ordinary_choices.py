"""The law of ordinary calls that choose: the larger of two, comparisons, and selections by conditions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP, has_few_digits
from npdec._decomposed.tensor import DecomposedTensor, Labels, align, places_of, union
from npdec._impl._util import rounding_to
from npdec._law import numbers_in_c
from npdec._law.native_forms import in_c
from npdec._law.of_few import (
    FEW,
    Numbers,
    all_listed,
    larger_of_few,
    larger_of_two,
    listed,
    multiplier,
    repeated,
    shares_of_few,
    tensor_of,
    vector,
)
from npdec._law.ordinary import (
    Form,
    built,
    condition_in,
    has_elements,
    is_condition,
    is_moderate,
    is_ordinary,
    made_of,
    number_in,
    number_of,
)
from npdec._law.ordinary_numbers import constant_beside, listed_sum, listed_total, numbers_in_two, sum_of_two
from npdec._law.ordinary_pairs import Pair, is_constant, pair_of
from npdec._law.ordinary_steps import condition_of, shared

__all__ = ["chosen", "comparison", "larger", "larger_of_pair", "number_at_ends"]

Function = Callable[..., Any]
_REAL = (torch.float64, torch.float32)
_WHOLE = 2**53  # up to which integers are floats
_WITH_FEW_DIGITS = frozenset(filter(has_few_digits, (torch.float32, torch.float64)))


def larger(sign: int) -> Form:
    """The form of the maximum (sign 1) or minimum (−1) of two: two lines, and the part of the path that each leads."""
    return partial(larger_of_pair, sign)


def larger_of_pair(sign: int, func: Function, args: Sequence[Any]) -> Any:
    made = numbers_in_c.larger(sign, func, *args) if len(args) == 2 else NotImplemented
    if made is None:
        made = _larger_number(sign, func, *args)
    if made is not NotImplemented:
        return made
    pair = pair_of(args, apart=True)
    if pair is None or not all(isinstance(value, torch.Tensor) for value in pair.values):
        return NotImplemented
    like = next((end for end in pair.values if end.ndim), pair.values[0])  # beside it one may be a number
    few = _ends_of_few(pair, like)
    if few is not None:
        shares = larger_of_few(sign, few)
        if shares is None:
            return NotImplemented
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
    if type(a) is type(b):
        numbers = numbers_in_two(a, b)
        if numbers is None:
            return NotImplemented
        (x, r, _), (y, s, _) = numbers
        shares = larger_of_two(sign, x, y, r, s)
        if shares is None:
            return NotImplemented
        value, residual = _leader(sign, x, y, func, a.value, b.value), _leader(sign, r, s, func, a.residual, b.residual)
        return sum_of_two(value, residual, a, b, numbers, *shares)
    swapped = type(b) is DecomposedTensor
    one, other = (b, a) if swapped else (a, b)
    known = number_in(one) if isinstance(other, torch.Tensor) else None
    number = None if known is None else constant_beside(one.value, other)
    if known is None or number is None:
        return NotImplemented
    x, r, components = known
    shares = larger_of_two(sign, x, number, r, number)
    if shares is None:
        return NotImplemented
    after, before = (other, one.value), (other, one.residual)
    if not swapped:
        after, before = after[::-1], before[::-1]
    value, residual = _leader(sign, x, number, func, *after), _leader(sign, r, number, func, *before)
    return number_of(value, residual, [c * shares[0] for c in components], one.labels, one.value.dtype)


def _leader(sign: int, x: float, y: float, func: Function, *ends: torch.Tensor) -> Any:
    """The larger of two numbers (`larger`), which of zeros torch knows."""
    return (x if (x > y) is (sign > 0) else y) if x or y else func(*ends)


def _ends_of_few(pair: Pair, value: torch.Tensor) -> list[Numbers] | None:
    """The numbers of both arguments at the value and at the residual, where there are few, and no graph. Each has the
    shape of the value, or is one number."""
    alike = all(not isinstance(end, torch.Tensor) or end.shape == value.shape or not end.ndim for end in pair.values)
    return all_listed((*pair.values, *pair.residuals), pair.components, value) if alike else None


def comparison(compare: Function) -> Form:
    """The form of a comparison, which of numbers is one of Python's."""

    @in_c("compared")
    def form(func: Function, args: Sequence[Any]) -> Any:
        return _compared(compare, func, args)

    return form


def _compared(compare: Function, func: Function, args: Sequence[Any]) -> Any:
    """A comparison: a step of the difference of the two sides, shared as `npdec._law.jumps` shares it."""
    here = settings.get()
    if here.frozen_conditions or here.rule == "none" or len(args) != 2:
        return NotImplemented
    made = numbers_in_c.compared_numbers(compare, *args)
    if made is None:
        made = _compared_numbers(compare, *args)
    if made is not NotImplemented:
        return made
    pair = pair_of(args, apart=True)
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


def _compared_numbers(compare: Function, a: Any, b: Any) -> Any:
    """Of two numbers, or of one and a constant."""
    labels: Labels
    if type(a) is type(b) is DecomposedTensor:
        numbers = numbers_in_two(a, b)
        if numbers is None:
            return NotImplemented
        (x, r, first), (y, s, second) = numbers
        found = listed_sum(a.labels, b.labels, first, second, 1.0, -1.0)
        if found is None:
            return NotImplemented
        (made, labels), step, like = found, (x - y) - (r - s), a.value
    else:
        swapped = type(b) is DecomposedTensor
        one, other = (b, a) if swapped else (a, b)
        known = number_in(one)
        number = None if known is None else constant_beside(one.value, other)
        if known is None or number is None or (type(number) is int and abs(number) > _WHOLE):
            return NotImplemented
        x, r, made = known
        labels, step, like = one.labels, (x - number) - (r - number), one.value
        number = rounding_to(like.dtype)(number)  # as torch does
        x, y, r, s = (number, x, number, r) if swapped else (x, number, r, number)
    value, residual = compare(x, y), compare(r, s)
    jump = value - residual
    if not jump:
        return number_of(value, residual, [0.0] * len(made), labels, like.dtype)
    weight = multiplier(jump, step, made, like.dtype, None)
    if weight is None:
        return NotImplemented
    return number_of(value, residual, [c * weight for c in made], labels, like.dtype)


def chosen(func: Function, args: Sequence[Any]) -> Any:
    """torch.where of a condition, which is decomposed or not, and two branches."""
    if len(args) != 3:
        return NotImplemented
    condition, a, b = args
    made = numbers_in_c.chosen(torch.where, condition, a, b)
    if made is None:
        made = _chosen_number(condition, a, b)
    if made is NotImplemented and type(condition) is DecomposedTensor:
        made = _chosen_of_few(condition, a, b)
    if made is not NotImplemented:
        return made
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
    labels, given = align([part for part in args if type(part) is DecomposedTensor])
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


def _chosen_number(condition: Any, a: Any, b: Any) -> Any:
    """`chosen` of numbers, whatever their labels; each may be a constant."""
    like = a if isinstance(a, torch.Tensor) else b
    if not isinstance(like, torch.Tensor) or isinstance(condition, (bool, int)):
        return NotImplemented
    dtype = like.value.dtype if type(like) is DecomposedTensor else like.dtype
    high, low = number_at_ends(a, dtype), number_at_ends(b, dtype)
    if high is None or low is None:
        return NotImplemented
    (x, r, its), (y, s, others) = high, low
    first, second = (x + r) / 2, (y + s) / 2
    parts: list[tuple[Labels, list[float], float]] = []
    if type(condition) is DecomposedTensor:
        here, known = settings.get(), condition_in(condition)
        if known is None or here.frozen_conditions or here.rule == "none":
            return NotImplemented
        at, before, step = known
        if not (abs(first) <= STEEP and abs(second) <= STEEP):  # or NaN
            return NotImplemented
        gain = (first if at or before else 0.0) - (0.0 if at and before else second)
        parts.append((condition.labels, step, gain))
    elif type(condition) is torch.Tensor and not condition.ndim and condition.is_cpu:
        at = before = bool(condition.item())
    else:
        return NotImplemented
    share = (at + before) / 2
    if its is not None:
        parts.append((a.labels, its, share))
    if others is not None:
        parts.append((b.labels, others, 1 - share))
    made = listed_total(parts)
    if made is None:
        return NotImplemented
    return number_of(float(x if at else y), float(r if before else s), *made, dtype)


def number_at_ends(x: Any, dtype: torch.dtype) -> tuple[float, float, list[float] | None] | None:
    """A branch that is an ordinary number of the dtype, or a constant one, at the value and at the residual, and its
    components."""
    if type(x) is DecomposedTensor:
        return number_in(x) if x.value.dtype is dtype else None
    if type(x) is torch.Tensor:
        if x.ndim or x.dtype is not dtype or x.dtype not in _REAL or not x.is_cpu or x.requires_grad:
            return None
        number = x.item()
        return number, number, None
    return (x, x, None) if type(x) is float or type(x) is int else None


def _chosen_of_few(condition: DecomposedTensor, a: Any, b: Any) -> Any:
    """`chosen` by a decomposed condition, element by element on the host; each branch may be a constant."""
    here, shape = settings.get(), condition.value.shape
    if not is_condition(condition) or here.frozen_conditions or here.rule == "none":
        return NotImplemented
    if not 0 < condition.value.numel() <= FEW or not condition.value.is_cpu:
        return NotImplemented
    if condition.components.numel() > FEW or condition.components.requires_grad:
        return NotImplemented
    tensor = a if isinstance(a, torch.Tensor) else b
    if not isinstance(tensor, torch.Tensor):
        return NotImplemented
    dtype = tensor.value.dtype if type(tensor) is DecomposedTensor else tensor.dtype
    high, low = _few_at_ends(a, condition.value, dtype), _few_at_ends(b, condition.value, dtype)
    if high is None or low is None:
        return NotImplemented
    (x, r, first), (y, s, second) = high, low
    at, before = listed(condition.value), listed(condition.residual)
    if not math.hypot(*first) <= STEEP or not math.hypot(*second) <= STEEP:
        return NotImplemented
    value = torch.where(condition.value, x, y)
    if value.shape != shape:
        return NotImplemented
    gains = [
        (u if now or then else 0.0) - (0.0 if now and then else w)
        for u, w, now, then in zip(first, second, at, before, strict=True)
    ]
    shares = [(now + then) / 2 for now, then in zip(at, before, strict=True)]
    labels = union([part for part in (condition, a, b) if type(part) is DecomposedTensor])
    made: list[list[float]] = [[]] * len(labels)
    for part, weights in ((condition, gains), (a, shares), (b, [1 - share for share in shares])):
        if type(part) is not DecomposedTensor:
            continue
        rows = part.components if len(shape) == 1 else part.components.reshape(len(part.labels), -1)
        places = range(len(labels)) if part.labels is labels else places_of(part.labels, labels)
        for place, row in zip(places, rows.tolist(), strict=True):
            terms = map(operator.mul, weights, row)
            made[place] = list(map(operator.add, made[place], terms) if made[place] else terms)
    components = vector(list(chain.from_iterable(made)), dtype).reshape(len(labels), *shape)
    return built(value, torch.where(condition.residual, r, s), components, labels)


def _few_at_ends(x: Any, like: torch.Tensor, dtype: torch.dtype) -> tuple[Any, Any, list[float]] | None:
    """A branch, an ordinary one of the shape and dtype or a constant, at the value and at the residual, and the numbers
    in the middle; None of another one, and where there is a graph."""
    if type(x) is DecomposedTensor:
        if not is_ordinary(x) or x.value.dtype is not dtype or x.value.shape != like.shape:
            return None
        if x.components.numel() > FEW or x.components.requires_grad:
            return None
        after, before = repeated(x.value, like), repeated(x.residual, like)
        if after is None or before is None:
            return None
        return x.value, x.residual, [(u + w) / 2 for u, w in zip(after, before, strict=True)]
    if isinstance(x, torch.Tensor):
        numbers = repeated(x, like) if type(x) is torch.Tensor and x.dtype is dtype and dtype in _REAL else None
        return None if numbers is None else (x, x, list(numbers))
    return (x, x, [float(x)] * like.numel()) if type(x) is float or type(x) is int else None


def _is_branch(x: Any, like: DecomposedTensor) -> bool:
    """Whether a branch is as the other one: its dtype and shape, or a constant."""
    if is_ordinary(x):
        return x.value.shape == like.value.shape and x.value.dtype is like.value.dtype
    return is_constant(x, like.value)


def _ends(x: Any, like: DecomposedTensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A branch at the value and at the residual."""
    if type(x) is DecomposedTensor:
        return x.value, x.residual
    if not isinstance(x, torch.Tensor):
        x = like.value.new_tensor(x)
    return x, x
