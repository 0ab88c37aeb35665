"""The law of ordinary calls of smooth functions of two, by their mean gradients: of numbers and of arrays, beside each
other and beside constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import warn_infinite, warn_of_digits
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl.slopes_impl import rates_of_power
from npdec._law import complex_laws, complex_of_few, ordinary
from npdec._law.means_of_few import NUMBERED, has_means, means_of_few, means_of_number, slope_beside, slopes_beside
from npdec._law.numbers_in_c import ends_of_two, smooth_numbers, weighted_arrays
from npdec._law.numbers_without_end import undefined_power
from npdec._law.of_few import listed, repeated, tensor_of, with_axes
from npdec._law.ordinary import Number, built, is_moderate, is_ordinary, made_of, number_in, number_of
from npdec._law.ordinary_numbers import constant_beside, numbers_in_two, sum_of_two
from npdec._law.ordinary_pairs import Pair, pair_of
from npdec._law.ordinary_slopes import without_slope
from npdec._native import calls
from npdec._torch.tracing import name_of

__all__ = ["by_means"]

Function = Callable[..., Any]
_JUMP = 0.5  # no jump of an angle is smaller


def by_means(mean: Function | None, rates: Function | None, of_one: ordinary.Form) -> ordinary.Form:
    """The form of a function of two that is smooth along each path, by the closed form of its mean gradients or a
    formula of its derivatives, or by that of one beside a constant."""
    key = mean or rates
    return partial(_by_means, mean, key, has_means(key), of_one)


def _by_means(
    mean: Function | None, key: Any, beside: bool, of_one: ordinary.Form, func: Function, args: Sequence[Any]
) -> Any:
    x = args[0] if type(args[0]) is DecomposedTensor else args[-1]
    is_number = len(args) == 2 and type(x) is DecomposedTensor and not x.value.ndim
    if is_number and (found := smooth_numbers(key, func, *args)) is not None:
        return found
    if len(args) != 2 or not type(args[0]) is type(args[1]) is DecomposedTensor:
        if len(args) != 2 or type(x) is not DecomposedTensor:
            return of_one(func, args)
        found = calls.smooth_beside(NUMBERED[key], func, *args) if calls is not None and beside else None
        if found is not None:
            return found
        made: Any = NotImplemented if x.value.ndim else _beside_constant(key, func, *args)
        if made is NotImplemented and beside:
            made = _few_beside_constants(key, func, *args)
        return of_one(func, args) if made is NotImplemented else made
    here = settings.get()
    if here.rule != "affine":
        return NotImplemented
    a, b = args
    numbers = None if a.value.ndim or here.rtol is not None else numbers_in_two(a, b)
    if numbers is not None:
        return _of_numbers(key, func, a, b, numbers)
    ends = None if here.rtol is not None else ends_of_two(a, b)
    if ends is not None and (made := _of_arrays(key, func, a, b, ends)) is not None:
        return made
    pair = pair_of(args, apart=True)
    if pair is None or not all(isinstance(x, torch.Tensor) for x in pair.values):
        return complex_of_few.answer(complex_laws.power if key is rates_of_power else None, func, args)
    first, second = pair.components
    if first is None or second is None:
        return NotImplemented
    value = func(*pair.values)
    if not value.numel() or _has_graph(pair) or value.dtype is not a.value.dtype:
        return NotImplemented
    residual = func(*pair.residuals).expand(value.shape)
    starts = [r.expand(value.shape) for r in pair.residuals]
    if here.rtol is None and value.numel() <= HANDFUL and value.is_cpu:
        few = [listed(x.expand(value.shape)) for x in pair.values] + [listed(r) for r in starts]
        found = means_of_few(key, few, listed(value), listed(residual), value.dtype)
        if found is None and key is rates_of_power:
            found = means_of_few(key, few, listed(value), listed(residual), value.dtype, undefined=True)
            if found is not None:
                warn_infinite(name_of(func), value, residual)
                means = [tensor_of(numbers, value) for numbers in found]
                first = torch.where(first == 0, 0, first * means[0])
                second = torch.where(second == 0, 0, second * means[1])
                return made_of(value, residual, pair.together(first, second), pair.like, pair.labels)
        if found is not None:
            means = [tensor_of(numbers, value) for numbers in found]
            return made_of(value, residual, pair.together(first * means[0], second * means[1]), pair.like, pair.labels)
    if mean is None:
        return NotImplemented
    means = mean(*pair.values, *starts, func, value, residual)
    if not all(map(is_moderate, means)):
        return NotImplemented
    shares = [m * (x - r) for m, x, r in zip(means, pair.values, starts, strict=True)]
    if not bool((value - residual - shares[0] - shares[1]).abs().amax() < _JUMP):
        return NotImplemented
    made = pair.together(first * means[0], second * means[1])
    warn_of_digits(name_of(func), shares[0].abs() + shares[1].abs(), made, value, residual, reverse=False)
    return made_of(value, residual, made, pair.like, pair.labels)


def _of_arrays(key: Any, func: Function, a: Any, b: Any, ends: Sequence[Any]) -> Any:
    """Of two arrays of few elements, which C looks at; None where the means are not known."""
    value, residual = func(a.value, b.value), func(a.residual, b.residual)
    if value.dtype is not a.value.dtype:
        return None
    found = means_of_few(key, ends, listed(value), listed(residual), value.dtype)
    return None if found is None else weighted_arrays(value, residual, a, b, *found)


def _of_numbers(
    key: Any, func: Function, a: DecomposedTensor, b: DecomposedTensor, numbers: tuple[Number, Number]
) -> Any:
    value, residual = func(a.value, b.value), func(a.residual, b.residual)
    if value.dtype is not a.value.dtype:
        return NotImplemented
    (x, r, _), (y, s, others) = numbers
    fx, fr, dtype = value.item(), residual.item(), value.dtype
    if y == s and key is rates_of_power and not any(others):  # which may be of a negative base
        slope = slope_beside(key, x, r, y, False, fx, fr, dtype)
        means = None if slope is None else (slope, 0.0)
    else:
        means = means_of_number(key, x, y, r, s, fx, fr, dtype)
        if means is None and key is rates_of_power:
            made = undefined_power(func, a, b, value, residual)
            return NotImplemented if made is None else made
    return NotImplemented if means is None else sum_of_two(value, residual, a, b, numbers, *means)


def _beside_constant(key: Any, func: Function, a: Any, b: Any) -> Any:
    """Of an ordinary number and a constant one, that nobody differentiates: the secant, or the mean gradient between
    close numbers."""
    swapped = type(b) is DecomposedTensor
    x, other = (b, a) if swapped else (a, b)
    known = number_in(x) if settings.get().rule == "affine" else None
    value, residual = x.value, x.residual
    number = None if known is None else constant_beside(value, other)
    if known is None or number is None:
        return NotImplemented
    after, before = (func(a, value), func(a, residual)) if swapped else (func(value, b), func(residual, b))
    dtype = value.dtype
    if after.dtype is not dtype:
        return NotImplemented
    u, w, components = known
    slope = slope_beside(key, u, w, number, swapped, after.item(), before.item(), dtype)
    made = without_slope(u, w, components, after, before, func) if slope is None else [c * slope for c in components]
    return NotImplemented if made is None else number_of(after, before, made, x.labels, dtype)


def _few_beside_constants(key: Any, func: Function, a: Any, b: Any) -> Any:
    """The same of a few numbers beside as many constants, or one, or of one beside a few."""
    swapped = type(b) is DecomposedTensor
    x, other = (b, a) if swapped else (a, b)
    if not is_ordinary(x) or settings.get().rule != "affine":
        return NotImplemented
    value, residual = x.value, x.residual
    if not 0 < value.numel() <= HANDFUL or not value.is_cpu or value.requires_grad or residual.requires_grad:
        return NotImplemented
    beside = type(other) is float or type(other) is int or (type(other) is torch.Tensor and other.dtype is value.dtype)
    like = other if beside and isinstance(other, torch.Tensor) and not value.ndim else value
    numbers = repeated(other, like) if beside and not x.components.requires_grad else None
    if numbers is None or not 0 < like.numel() <= HANDFUL:
        return NotImplemented
    after, before = (func(a, value), func(a, residual)) if swapped else (func(value, b), func(residual, b))
    if after.dtype is not value.dtype or after.shape != like.shape:
        return NotImplemented
    starts = [listed(end) if like is value else [end.item()] * like.numel() for end in (value, residual)]
    slopes = slopes_beside(key, (*starts, numbers, listed(after), listed(before)), swapped, value.dtype)
    if slopes is None:
        slopes = slopes_beside(
            key, (*starts, numbers, listed(after), listed(before)), swapped, value.dtype, undefined=True
        )
        if slopes is None or not math.isfinite(sum(map(sum, (*starts, numbers, listed(x.components))))):
            return NotImplemented
        warn_infinite(name_of(func), after, before)
    return built(after, before, with_axes(x.components, like.ndim) * tensor_of(slopes, like), x.labels)


def _has_graph(pair: Pair) -> bool:
    given = (*pair.values, *pair.residuals, *pair.components)
    return torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in given)
