"""The slope of a pointwise function between residual and value, to full precision.

The secant (f(x) − f(r)) / (x − r) is DeepLIFT's Rescale multiplier (Shrikumar, Greenside and Kundaje, "Learning
important features through propagating activation differences", 2017). Where f(x) and f(r) agree in their leading digits
the difference has lost those digits; the slope is then the mean of the derivative along the segment, which is the same
number, by Gauss–Legendre quadrature.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.registry import Trait, close_of, slope_name, slope_of, traits_of
from npdec._decomposed.size_warnings import STEEP, STEEPEST, has_finite_sum
from npdec._impl import slopes_impl
from npdec._impl.slopes_impl import power
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.secant_at_once import LONG, secant_at_once
from npdec._law.secant_cancellation import (
    MANY,
    NODES,
    SMOOTH,
    closed_where_close,
    elements,
    is_of_torch,
    mean_derivative,
    put_doubles,
    with_doubles,
)
from npdec._law.slope import Slope
from npdec._torch.functorch import is_transformed, mapped
from npdec._torch.interrupts import undisturbed
from npdec._torch.tracing import tracing

__all__ = ["KEPT", "at_once", "derivative", "quick_slope", "secant"]

_CANCELLED = 1 / 16  # four bits of the difference are gone
KEPT = (1 / _CANCELLED - 1) / _CANCELLED  # fx fr over (fx − fr)², from which on they are


def derivative(f: Callable[[torch.Tensor], torch.Tensor], u: torch.Tensor) -> torch.Tensor:
    create = torch.is_grad_enabled() and u.requires_grad
    with torch.enable_grad():
        if is_transformed():  # within torch.func.grad and its kin, by torch.func alone
            made: tuple[Any, ...] = torch.func.vjp(f, u)
            found: tuple[torch.Tensor] = made[1](torch.ones_like(made[0]))
            return found[0].conj() if u.is_complex() else found[0]
        if not u.requires_grad:
            u = u.detach().requires_grad_()
        y = f(u)
        if not y.requires_grad:
            return torch.zeros_like(u)
        slopes: Sequence[torch.Tensor | None] = torch.autograd.grad(
            y, u, torch.ones_like(y), create_graph=create, allow_unused=True
        )
    slope = slopes[0]
    if slope is None:
        return torch.zeros_like(u)
    return slope.conj() if slope.is_complex() else slope  # torch's complex gradient is the conjugate


def secant(
    f: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    others: tuple[torch.Tensor, ...] = (),
) -> Slope:
    """The slope of `f(·, *others)` between r and x, in the shape of fx. All tensors broadcast against each other.

    `f.function`, if there is one, is the torch function that f calls, which may have a closed form; `f.exponent` is the
    number that it raises to.
    """
    step = x - r
    function = getattr(f, "function", None)
    if tracing() or mapped():
        return _traced(f, function, x, r, fx, fr, others)
    closed = None if x.is_complex() else slope_of(function)
    if closed is not None:
        slope = closed(step, fx, fr)
        info = torch.finfo(slope.dtype)
        if not slope.numel() or bool(slope.amin() > info.tiny / info.eps):  # neither NaN (no step) nor out of range
            return Slope(slope)
        quick = quick_slope(f, function, traits_of(function), x, r, fx, fr, step, slope, others)
        if quick is not None:
            return quick
        slope = closed(_apart(x, r, step), fx, fr)
        return _patched(f, x, r, slope, fx - fr, step.expand(slope.shape), others)
    polynomial = power(getattr(f, "exponent", None), x, r)
    if polynomial is not None and bool(torch.isfinite(polynomial).all()):
        return Slope(polynomial.expand(fx.shape))
    quick = quick_slope(f, function, traits_of(function), x, r, fx, fr, step, None, others)
    if quick is not None:
        return quick
    difference = fx - fr
    if step.shape != difference.shape:
        step = step.expand(difference.shape)
    slope = difference / step
    if traits_of(function) & Trait.PIECEWISE_LINEAR:
        if not slope.numel() or (bool(step.all()) and _is_short(step)):
            return Slope(slope)
        return _patched(f, x, r, difference / _apart(x, r, step), difference, step, others)
    info = torch.finfo(slope.dtype)
    zero = torch.broadcast_to(x == r, step.shape)  # where both are the same infinity, the step is NaN
    close = zero | _is_cancelled(function, x, r, fx, fr)
    if not bool(close.any()):
        return _ranged(f, x, r, Slope(slope), difference, step, others)
    close &= zero | torch.isfinite(difference)
    if not bool(close.any()):  # where an end is infinite
        return _ranged(f, x, r, Slope(slope), difference, step, others)
    rounding = 16 * info.eps * _rounded(traits_of(function) & Trait.COARSE, x, r, fx, fr) / step.abs()
    slope = difference / torch.where(zero, 1, step)
    result = Slope(_fill_close(f, x, r, slope, close, zero, rounding, others))
    infinite = zero & ~torch.isfinite(result.multiplier)
    if bool(infinite.any()):
        result.singular = infinite
    return _ranged(f, x, r, result, difference, step, others)


def at_once(
    f: Callable[..., torch.Tensor],
    function: object,
    traits: int,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> Slope | None:
    """`secant_at_once`, where no graph is wanted."""
    if torch.is_grad_enabled() and (x.requires_grad or r.requires_grad or fx.requires_grad or fr.requires_grad):
        return None
    return secant_at_once(f, function, traits, x, r, fx, fr, KEPT, derivative)


def quick_slope(
    f: Callable[..., torch.Tensor],
    function: object,
    traits: int,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    step: torch.Tensor,
    closed: torch.Tensor | None,
    others: tuple[torch.Tensor, ...],
) -> Slope | None:
    """The slope where all is finite and without a graph, in few passes over memory: sums and extrema, which take a
    fraction of the time of comparisons, and the chosen elements by their places. `closed` is the slope, NaN without a
    step, if there is a formula for it. None says that it has to be looked at more closely."""
    if not fx.numel() or not fx.is_floating_point() or fx.shape != step.shape or fx.is_meta:
        return None
    if torch.is_grad_enabled() and (x.requires_grad or r.requires_grad or fx.requires_grad or fr.requires_grad):
        return None
    if others and torch.is_grad_enabled() and any(o.requires_grad for o in others):
        return None
    difference, pieces, coarse = fx - fr, bool(traits & Trait.PIECEWISE_LINEAR), traits & Trait.COARSE
    if pieces and not bool(torch.linalg.vector_norm(step) < LONG):  # no step is longer, or NaN
        return None
    if pieces and step.dtype is difference.dtype:
        slope = torch.div(difference, step, out=step)  # which saves memory, and may take half of the time
        if has_finite_sum(slope):  # NaN without a step
            return Slope(slope, difference)
        slope = slope.clone()
        torch.sub(x, r, out=step)
    else:
        slope = difference / step if closed is None else closed
    info = torch.finfo(slope.dtype)
    chosen: torch.Tensor | None = None
    size: torch.Tensor | None = None  # memory that may be used again
    in_doubles = False
    if pieces or closed is not None:
        chosen = (step == 0).reshape(-1).nonzero().squeeze(1)
    else:
        # Digits are lost where (fx − fr)² is small beside fx fr; what is too small for squares counts as well.
        excess = torch.mul(fx, fr).add_(info.tiny).addcmul_(difference, difference, value=-KEPT)
        if coarse:
            torch.maximum(excess, torch.mul(x, r).addcmul_(step, step, value=-KEPT), out=excess)
        most, size = float(excess.amax()), excess
        if not most < math.inf:
            return None
        close = None if others or not most > 0 or info.bits < 32 or fx.numel() >= MANY else close_of(function)
        if close is not None:
            rounded = _rounded(coarse, x, r, fx, fr)
            slope = closed_where_close(close, x, r, rounded, difference, step, excess > 0)
        elif most > 0 and info.bits < 64 and fx.numel() < MANY and is_of_torch(function):
            slope, chosen = with_doubles(f, x, r, slope, excess > 0, others)
            in_doubles = True
        elif most > 0:
            chosen = excess.reshape(-1).clamp_min_(0).to(torch.bool).nonzero().squeeze(1)
    if chosen is not None and len(chosen):
        flat = slope.reshape(-1)
        simple = pieces or closed is not None
        others = tuple([o.expand(fx.shape) if o.ndim else o for o in others])
        if not simple and not in_doubles and info.bits < 64 and is_of_torch(function):
            chosen = put_doubles(f, x, r, flat, chosen, others)
        if len(chosen):
            rest = [elements(o, chosen) if o.ndim else o for o in others]
            slopes, near = functools.partial(derivative, lambda u: f(u, *rest)), elements(x, chosen)
            if simple:
                made = undisturbed(slopes, near)
            else:
                far, high, low, secants = [elements(t, chosen) for t in (r, fx, fr, flat)]
                rounded = _rounded(coarse, near, far, high, low)
                made = undisturbed(mean_derivative, slopes, near, far, rounded, secants)
            flat.index_copy_(0, chosen, made)
        slope = flat.reshape(fx.shape)
    if pieces and has_finite_sum(slope):
        return Slope(slope, difference)
    size = slope.abs() if size is None or size.dtype is not slope.dtype else torch.abs(slope, out=size)
    most = float(size.amax())
    if not most <= info.max * info.eps:
        return None
    found = Slope(slope, difference, steep=most > STEEPEST.get(slope.dtype, STEEP))
    return found if bool(size.amin() >= info.tiny / info.eps) else _ranged(f, x, r, found, difference, step, others)


def _is_cancelled(
    function: object, x: torch.Tensor, r: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor
) -> torch.Tensor:
    """Where the difference of the function has lost digits."""
    close = (fx - fr).abs() <= _CANCELLED * torch.maximum(fx.abs(), fr.abs())
    return (
        close | ((x - r).abs() <= _CANCELLED * torch.maximum(x.abs(), r.abs()))
        if traits_of(function) & Trait.COARSE
        else close
    )


def _rounded(coarse: int, x: torch.Tensor, r: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> torch.Tensor:
    """The size of the numbers whose rounding errors are in the difference of the function."""
    if coarse:  # but of those that have become zero
        return (x * (fx != 0)).abs() + (r * (fr != 0)).abs()
    return fx.abs() + fr.abs()


def _apart(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """The step, one where there is none: the quotient by it is not chosen there, and its gradient must be finite."""
    return torch.where(x == r, 1, step)


def _ranged(
    f: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    slope: Slope,
    difference: torch.Tensor,
    step: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> Slope:
    """The slope, with a note of where it leaves the exponent range though the difference does not, or is not finite."""
    info, size = torch.finfo(slope.multiplier.dtype), slope.multiplier.abs()
    slope.steep = not bool((size <= STEEPEST.get(slope.multiplier.dtype, STEEP)).all())
    slope.steep |= bool(((step == 0) & (difference != 0)).any())  # the sign of a zero
    inside = (size >= info.tiny / info.eps) & (size <= info.max * info.eps)
    # A step that is infinite or NaN is shared where the function makes a number of it (nan_to_num does).
    extreme = (step != 0) & ((difference != 0) | ~torch.isfinite(step)) & ~inside & ~torch.isnan(difference)
    if not bool(extreme.any()):
        return slope
    slope.difference, slope.step, slope.extreme = difference, step, extreme
    endless = ~torch.isfinite(step)
    if bool(endless.any()):
        rest = tuple(o.expand(step.shape)[endless] if o.ndim else o for o in others)
        ends = torch.where(torch.isfinite(x), r, x).expand(step.shape)[endless]
        rates = derivative(lambda u: f(u, *rest), ends)
        slope.limit = torch.zeros_like(slope.multiplier).masked_scatter(
            endless, torch.where(torch.isfinite(rates), rates, 0)
        )
    return slope


def _is_short(step: torch.Tensor) -> bool:
    """Whether no step is so long (or NaN) that a slope over it leaves the exponent range."""
    least, most = torch.aminmax(step)
    return bool(least > -LONG) and bool(most < LONG)


def _patched(
    f: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    slope: torch.Tensor,
    difference: torch.Tensor,
    step: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> Slope:
    """The slope with the derivative where there is no step, and a note of where it leaves the exponent range."""
    zero = torch.broadcast_to(x == r, slope.shape)  # where both are the same infinity, the step is NaN
    return _ranged(f, x, r, Slope(_fill_zero(f, x, r, slope, zero, others)), difference, step, others)


def _fill_zero(
    f: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    slope: torch.Tensor,
    zero: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> torch.Tensor:
    """The slope with the derivative where there is no step."""
    rest = tuple(o.expand(slope.shape)[zero] if o.ndim else o for o in others)
    at = _middle(x.expand(slope.shape)[zero], r.expand(slope.shape)[zero])
    return slope.masked_scatter(zero, derivative(lambda u: f(u, *rest), at))


def _middle(x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """Points that both are; what is differentiated by them comes to each with a half, as a slope between them does."""
    return x / 2 + r / 2 if torch.is_grad_enabled() and (x.requires_grad or r.requires_grad) else x


def _fill_close(
    f: Callable[..., torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    slope: torch.Tensor,
    close: torch.Tensor,
    zero: torch.Tensor,
    rounding: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> torch.Tensor:
    """The slope with the close pairs replaced by the mean derivative, where that is smooth between them, and agrees
    with the secant to what rounding can do to the latter (it does not where the function turns in between)."""
    near, far, fixed = x.expand(slope.shape)[close], r.expand(slope.shape)[close], zero[close]
    rest = tuple(o.expand(slope.shape)[close] if o.ndim else o for o in others)

    def at(u: torch.Tensor) -> torch.Tensor:
        return f(u, *rest)

    first, last = derivative(at, far), derivative(at, near)
    change = (last - first).abs() <= SMOOTH * torch.maximum(first.abs(), last.abs())
    mean = torch.zeros_like(first)
    for node, weight in gauss_legendre(NODES):
        mean = mean + weight * derivative(at, far + node * (near - far))
    change &= (mean - slope[close]).abs() <= rounding[close]
    still = derivative(at, _middle(near, far)) if near.requires_grad or far.requires_grad else last
    chosen = torch.where(fixed, still, torch.where(change, mean, slope[close]))
    return slope.masked_scatter(close, chosen)


def _traced(
    f: Callable[..., torch.Tensor],
    function: object,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> Slope:
    """The same slope, with every formula computed everywhere and selected from. What leaves the exponent range stays
    there."""
    polynomial = power(getattr(f, "exponent", None), x, r)
    if polynomial is not None:
        return Slope(polynomial.expand(fx.shape))
    zero = (x == r).expand(fx.shape)
    step, difference = (x - r).expand(fx.shape), fx - fr
    divisor = torch.where(zero, torch.ones_like(step), step)
    name = "" if x.is_complex() else slope_name(function)
    closed = getattr(slopes_impl, name) if name else None
    few = closed is not None or bool(traits_of(function) & Trait.PIECEWISE_LINEAR)
    slope = difference / divisor if closed is None else closed(divisor, fx, fr)
    far, near = r.expand(fx.shape), x.expand(fx.shape)
    places = (near,) if few else (near, far, *[far + node * (near - far) for node, _ in gauss_legendre(NODES)])

    def at(u: torch.Tensor) -> torch.Tensor:
        return f(u, *others)

    points = torch.stack(places)
    slopes = torch.func.jvp(at, (points,), (torch.ones_like(points),))[1]
    if few:
        return Slope(torch.where(zero, slopes[0], slope))
    last, first = slopes[0], slopes[1]
    mean = sum(weight * slopes[2 + i] for i, (_, weight) in enumerate(gauss_legendre(NODES)))
    coarse = traits_of(function) & Trait.COARSE
    rounding = 16 * torch.finfo(slope.dtype).eps * _rounded(coarse, x, r, fx, fr) / divisor.abs()
    smooth = (last - first).abs() <= SMOOTH * torch.maximum(first.abs(), last.abs())
    good = _is_cancelled(function, x, r, fx, fr) & smooth & ((mean - slope).abs() <= rounding)
    chosen = torch.where(zero, last, torch.where(good, mean, slope))
    return Slope(chosen, singular=zero & ~torch.isfinite(last))
