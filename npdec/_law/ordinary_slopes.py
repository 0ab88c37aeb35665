"""The slope of a pointwise function in an ordinary call (`npdec._law.ordinary`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from npdec._decomposed.axes import narrowed
from npdec._decomposed.registry import close_of
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import has_finite_sum, warn_infinite
from npdec._impl.slopes_impl import power
from npdec._law.close_of_few import CLOSE, power_between
from npdec._law.of_few import CLOSED, POLYNOMIALS, RANGE, listed, power_of_few, slope_of_number, slopes_of_few
from npdec._law.rates_of_few import mean_rates
from npdec._law.secant import KEPT, at_once, derivative, quick_slope
from npdec._torch.tracing import name_of

__all__ = ["ordinary_slope", "slope_at_number", "without_slope"]


def slope_at_number(
    closed: Any, traits: int, x: float, r: float, fx: Any, fr: torch.Tensor, dtype: torch.dtype, function: Any
) -> float | None:
    """`ordinary_slope` of one number of the dtype on the host, by itself; None where it is not to be found so."""
    if type(fx) is not torch.Tensor or fx.dtype is not dtype or fx.ndim or fx.requires_grad or fr.requires_grad:
        return None
    if closed is not None and closed not in CLOSED:
        return None
    form = None if closed is None else CLOSED[closed]
    close = CLOSE.get(close_of(function))
    return slope_of_number(form, close, traits, KEPT, x, r, fx.item(), fr.item(), dtype)


def without_slope(x: float, r: float, components: list[float], fx: Any, fr: Any, function: Any) -> list[float] | None:
    """What components make of a number that has no slope: nothing of what does not move; NaN, which is said, where one
    end is NaN; and infinite shares of what moves, where one is infinite. None where that is not known."""
    if type(fx) is not torch.Tensor or fx.ndim or fx.dtype not in RANGE or fx.requires_grad or fr.requires_grad:
        return None
    after, before = fx.item(), fr.item()
    if x == r:
        return None if any(components) or after != before else [0.0] * len(components)
    if math.isfinite(after) == math.isfinite(before) and not (math.isnan(after) or math.isnan(before)):
        return None
    if not (math.isfinite(x) and math.isfinite(r)) or not sum(map(abs, components)) < math.inf:
        return None
    slope = (after - before) / (x - r)
    undefined = math.isnan(slope)
    if undefined or any(components):
        warn_infinite(name_of(function), fx, fr)
    return [math.nan] * len(components) if undefined else [slope * c if c else 0.0 for c in components]


def ordinary_slope(
    closed: Callable[..., torch.Tensor] | None,
    traits: int,
    f: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    function: Any,
    exponent: Any = None,
    others: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None] | None:
    """A pointwise function of torch of x and of r, its finite slope, for which there may be a closed form,
    and its change, if that is known by the way; None where the slope has to be looked at more closely, or something be
    said of it. `f(·, *others)` calls the function, which raises to the `exponent` if there is one."""
    fx = f(x, *others)
    if type(fx) is not torch.Tensor or fx.dtype is not x.dtype or fx.shape != x.shape or not fx.numel():
        return None
    if others or 0 not in r.stride():
        fr = f(r, *others)
    else:
        fr = f(narrowed(r, r.ndim)).expand(x.shape)
    handful = fx.numel() <= HANDFUL
    raises = type(exponent) is int or type(exponent) is float
    if raises and exponent in POLYNOMIALS:
        on_host = handful and fx.is_cpu
        polynomial = power_of_few(exponent, x, r) if on_host else power(exponent, x, r)
        if polynomial is not None and (on_host or has_finite_sum(polynomial) or bool(torch.isfinite(polynomial).all())):
            return fx, fr, polynomial, None
    if handful and (exponent is None or raises) and (closed is None or others or closed in CLOSED):
        close: Any = partial(power_between, exponent) if raises else None if others else CLOSE.get(close_of(function))
        means: Any = None
        if close is None and closed is None and not others:
            means = partial(mean_rates, f, function, traits, x.dtype, derivative)
        few = slopes_of_few(None if others else closed, close, traits, KEPT, x, r, fx, fr, means)
        if few is not None:
            return fx, fr, few, None
    if closed is None and not others:
        once = at_once(f, function, traits, x, r, fx, fr)
        if once is not None:
            return None if once.steep else (fx, fr, once.multiplier, None)
    step = x - r
    if closed is not None and not others:
        multiplier = closed(step, fx, fr)
        info = torch.finfo(multiplier.dtype)
        if handful and multiplier.is_cpu:
            numbers = listed(multiplier)
            inside = all(info.tiny / info.eps < number < math.inf for number in numbers)
        else:
            least, most = float(multiplier.amin()), float(multiplier.amax())
            inside = least > info.tiny / info.eps and most < math.inf  # NaN: no step
        return (fx, fr, multiplier, None) if inside else None
    found = quick_slope(f, function, traits, x, r, fx, fr, step, None, others)
    if found is None or found.steep or found.extreme is not None or found.singular is not None:
        return None
    return fx, fr, found.multiplier, found.difference
