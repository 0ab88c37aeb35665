"""Secant slopes of many elements in one pass over memory (`npdec._native`): the slope, how large it is, and where it
has lost digits, which several calls of torch tell otherwise (`npdec._law.secant`)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.registry import Trait, close_of
from npdec._decomposed.size_warnings import STEEP, STEEPEST
from npdec._law.of_few import RANGE, vector
from npdec._law.rates_of_few import mean_rates
from npdec._law.secant_cancellation import (
    FEW_DIGITS,
    closed_where_close,
    elements,
    is_of_torch,
    mean_derivative,
    put_doubles,
)
from npdec._law.slope import Slope
from npdec._native import calls
from npdec._torch.interrupts import undisturbed

__all__ = ["LONG", "finished", "least_in_doubles", "secant_at_once"]

LONG = 2.0**40  # steps, over which a slope may leave the exponent range
_IN_PIECES, _COARSE = 1, 2  # as npdec/_native/slopes.c has them
_ALONE = 2**18  # elements, up to which one thread is enough
_SOME = 64  # elements without a slope that are gone through one by one
_MANY = 2**12  # those of a function of close numbers, of which the ones that did not move are sooner told apart
_OF_SINGLE = 2.0**-28  # a difference beside numbers of double precision that has 25 bits
_THREADS = 4  # with which torch's calls together take no less


def secant_at_once(
    f: Callable[..., torch.Tensor],
    function: object,
    traits: int,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    kept: float,
    derivative: Callable[..., torch.Tensor],
) -> Slope | None:
    """The slope of an elementwise function of one, of which no graph is made; None where it has to be looked at more
    closely, or does not lie in memory element by element. `kept` is fx fr over (fx − fr)², from which on digits are
    lost, and `derivative(f, u)` the function's."""
    size = fx.numel()
    if calls is None or (size > _ALONE and torch.get_num_threads() > _THREADS):
        return None
    pieces, coarse = traits & Trait.PIECEWISE_LINEAR, traits & Trait.COARSE
    slope = torch.empty_like(fx)
    found = calls.secants(x, r, fx, fr, slope, _IN_PIECES if pieces else _COARSE if coarse else 0, kept)
    return None if found is None else finished(f, function, traits, x, r, fx, fr, slope, found, derivative)


def finished(
    f: Callable[..., torch.Tensor],
    function: object,
    traits: int,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    slope: torch.Tensor,
    found: tuple[int, float, float, float, bool],
    derivative: Callable[..., torch.Tensor],
) -> Slope | None:
    """The slope that C has `found`, and what it says of it, with those between close numbers put in."""
    pieces, coarse = traits & Trait.PIECEWISE_LINEAR, traits & Trait.COARSE
    marked, most, least, longest, beyond = found
    if beyond or not most < math.inf or (pieces and not longest < LONG):
        return None
    if marked:
        chosen = torch.empty(marked, dtype=torch.int64)
        if not calls.places_of_nan(slope, chosen):
            return None
        close = None if pieces or coarse else close_of(function)
        if close is None and not pieces and marked > (_MANY if coarse else _SOME):
            chosen, ends = _put_derivatives(functools.partial(derivative, f), x, r, chosen, slope)
            most, least, marked = max(most, ends[0]), min(least, ends[1]), len(chosen)
            if not math.isfinite(most):
                return None
    if marked:
        if close is not None:
            sizes = calls.close_slopes(close, x, r, fx, fr, chosen, slope)
        else:
            sizes = _put_doubles(f, function, x, r, chosen, slope) if not pieces else None
        if sizes is None:
            flat, near = slope.view(-1), elements(x, chosen)
            at = functools.partial(derivative, f)
            few = marked <= _SOME and _among_few(f, function, traits, x, r, fx, fr, chosen, derivative)
            if few:
                made = vector(few, slope.dtype)
            else:
                made = undisturbed(at, near) if pieces else _beside(f, function, coarse, x, r, fx, fr, chosen, at)
            flat.index_copy_(0, chosen, made)
            size = made.abs().aminmax()
            sizes = float(size.max), float(size.min)
        most, least = max(most, sizes[0]), min(least, sizes[1])
        if not math.isfinite(sizes[0]):
            return None
    info = torch.finfo(slope.dtype)
    if pieces:
        return Slope(slope)
    if not (info.tiny / info.eps <= least and most <= info.max * info.eps):
        return None
    return Slope(slope, steep=most > STEEPEST.get(slope.dtype, STEEP))


def _put_derivatives(
    derivative: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    chosen: torch.Tensor,
    slope: torch.Tensor,
) -> tuple[torch.Tensor, tuple[float, float]]:
    """Put the derivatives where numbers are equal, which move nothing whatever they are. Returns the places that are
    left, and the largest and the least magnitude of these derivatives, beside those of zero."""
    near = elements(x, chosen)
    still = near == elements(r, chosen)
    if not bool(still.any()):
        return chosen, (0.0, math.inf)
    left = chosen[:0]
    places = chosen
    if not bool(still.all()):
        left, places, near = chosen[~still], chosen[still], near[still]
    made = undisturbed(derivative, near)
    slope.view(-1).index_copy_(0, places, made)
    size = made.abs()
    least = torch.where(size == 0, math.inf, size).amin()
    return left, (size.amax().item(), least.item())


def least_in_doubles(function: object) -> float | None:
    """How small a difference may be beside the numbers that it is of, in double precision, to give a slope in single
    precision: with twenty bits, or, where closed forms have more, with as many as that takes. None of a function that
    may be another one in double precision."""
    if not is_of_torch(function):
        return None
    return FEW_DIGITS if close_of(function) is None else _OF_SINGLE


def _put_doubles(
    f: Callable[..., torch.Tensor],
    function: object,
    x: torch.Tensor,
    r: torch.Tensor,
    chosen: torch.Tensor,
    slope: torch.Tensor,
) -> tuple[float, float] | None:
    """Put the slopes between close numbers in single precision, by the difference in double precision, and give the
    largest and the least of their magnitudes; None where that has lost too many digits, or is not known."""
    least = least_in_doubles(function) if slope.dtype is torch.float32 else None
    if least is None:
        return None
    ends = torch.empty((2, len(chosen)), dtype=torch.float64)
    if not calls.ends_at(x, r, chosen, ends):
        return None
    values = f(ends)
    if values.dtype is not torch.float64:
        return None
    found: tuple[float, float] | None = calls.put_secants(ends, values, chosen, slope, least)
    return found


def _among_few(
    f: Callable[..., torch.Tensor],
    function: object,
    traits: int,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    chosen: torch.Tensor,
    derivative: Callable[..., torch.Tensor],
) -> list[float] | None:
    """`_beside` of some places; None where there is a closed form, or they are not found one by one."""
    if close_of(function) is not None or fx.dtype not in RANGE or not fx.is_cpu:
        return None
    ends = list(zip(*[elements(t, chosen).tolist() for t in (x, r, fx, fr)], strict=True))
    return mean_rates(f, function, traits, fx.dtype, derivative, ends)


def _beside(
    f: Callable[..., torch.Tensor],
    function: object,
    coarse: int,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    chosen: torch.Tensor,
    derivative: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """The slopes between close numbers, which lie at the chosen places."""
    near, far, high, low = [elements(t, chosen) for t in (x, r, fx, fr)]
    difference, step = high - low, near - far
    rounded = (near * (high != 0)).abs() + (far * (low != 0)).abs() if coarse else high.abs() + low.abs()
    close: Any = close_of(function)
    if close is not None:
        return closed_where_close(close, near, far, rounded, difference, step, torch.ones_like(step, dtype=torch.bool))
    slope = difference / step
    if torch.finfo(slope.dtype).bits == 64 or not is_of_torch(function):
        return undisturbed(mean_derivative, derivative, near, far, rounded, slope)
    places = torch.arange(len(chosen))
    rest = put_doubles(f, near, far, slope, places, ())
    if len(rest):
        parts = [t.index_select(0, rest) for t in (near, far, rounded, slope)]
        slope.index_copy_(0, rest, undisturbed(mean_derivative, derivative, *parts))
    return slope
