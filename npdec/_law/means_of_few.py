"""The mean gradients of smooth functions of two arguments along the path, of a handful of numbers on the host.

They are what the closed forms of `npdec._impl.slopes_impl` and the quadrature of `npdec._law.mean_gradient` give, to
rounding. Completeness is looked at here as well: where the means miss the change of the function, or something has to
be said of them, these find them, and say it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.registry import Trait
from npdec._decomposed.size_warnings import STEEP, half_of_digits
from npdec._impl import slopes_impl
from npdec._law.close_of_few import Close, exponential_between, power_between
from npdec._law.of_few import POLYNOMIALS, RANGE, polynomial_slope, slope_of_number
from npdec._law.powers_of_few import mean_power
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.secant import KEPT

__all__ = [
    "LIMITS",
    "NUMBERED",
    "has_means",
    "is_undefined",
    "mean_sigmoid",
    "means_of_few",
    "means_of_number",
    "slope_beside",
    "slopes_beside",
]

Function = Callable[..., Any]
_PART = 1 / 16  # of a path
Means = tuple[float, float]
Numbers = Sequence[float]
_WANTED = 1e-12 / 8  # as the quadrature in double precision
_FAR = 1e100  # up to which, and down to its reciprocal, squares are far from the ends of the exponent range
_LOG_2 = math.log(2)
LIMITS = {
    dtype: (max(_WANTED, 84 * torch.finfo(dtype).eps / 8 if dtype is torch.float32 else 0.0),
            16 * torch.finfo(dtype).eps, half_of_digits(dtype))
    for dtype in (torch.float32, torch.float64)
}  # fmt: skip


def _hypot(x: float, y: float, r: float, s: float) -> Means | None:
    """The mean of u / |u| along a segment (`npdec._impl.segments_impl`), in the plane."""
    if not 1 / _FAR < max(abs(x), abs(y), abs(r), abs(s)) < _FAR:
        return None
    dx, dy = x - r, y - s
    length, ends = _length(dx, dy), _length(x, y) + _length(r, s)
    if not length:
        return 2 * x / ends, 2 * y / ends
    along_x, along_y = dx / length, dy / length
    mean = ((x + r) * along_x + (y + s) * along_y) / ends
    foot, apart = r * along_x + s * along_y, r * along_y - s * along_x
    if not apart:  # on a line through the origin
        return mean * along_x, mean * along_y
    if length < 0.9 * ends:
        potential = 2 * math.atanh(length / ends) / length
    else:
        last, square = foot + length, apart * apart
        outer, beyond = _length(r, s) + abs(foot), _length(x, y) + abs(last)
        gap = (outer if foot > 0 else square / outer) + (beyond if last < 0 else square / beyond)
        potential = math.log((ends + length) / gap) / length
    across = apart * potential
    return mean * along_x + across * along_y, mean * along_y - across * along_x


def _length(x: float, y: float) -> float:
    """Of a vector of two, as C computes it."""
    return abs(complex(x, y))


def _atan2(y: float, x: float, s: float, r: float, fx: float = math.nan, fr: float = math.nan) -> Means | None:
    """The mean of 1 / z for z = x + iy: the angle changes by its real part with y, by its imaginary part with x
    (`slopes_impl.mean_atan2`), where the path does not meet the negative axis. If it meets the origin, the two orders
    share the change."""
    unit = max(abs(x), abs(y), abs(r), abs(s))
    if not 1 / _FAR < unit < _FAR:
        return None
    x, y, r, s = x / unit, y / unit, r / unit, s / unit
    dx, dy = x - r, y - s
    length, start, end = _length(dx, dy), r * r + s * s, x * x + y * y
    if not length:
        return x / end / unit, -y / end / unit
    whole = abs(r * y) + abs(s * x) < abs(r * dy) + abs(s * dx)
    cross, dot = r * y - s * x if whole else r * dy - s * dx, r * x + s * y
    if not start or not end or (cross == 0 and dot < 0):
        lone_y, lone_x = math.atan2(y, r), math.atan2(s, x)
        first = (fx - fr if not dx else (lone_y - fr + fx - lone_x) / 2) / (dy * unit if dy else 1.0)
        second = (fx - fr if not dy else (lone_x - fr + fx - lone_y) / 2) / (dx * unit if dx else 1.0)
        return first, second
    change = (dx * (x + r) + dy * (y + s)) / start
    growth = (math.log1p(change) if abs(change) < 0.5 else math.log(end / start)) / 2 / length
    turn = math.atan2(cross, dot) / length
    along_x, along_y = dx / length, dy / length
    return (growth * along_x + turn * along_y) / unit, (turn * along_x - growth * along_y) / unit


def mean_sigmoid(x: float, r: float) -> float:
    """The mean of the sigmoid from r to x (`slopes_impl._mean_sigmoid`)."""
    low, high = min(x, r), max(x, r)
    step = high - low
    if step <= 1:
        start = 1 / (1 + math.exp(-low)) if low > 0 else math.exp(low) / (1 + math.exp(low))
        return math.log1p(start * math.expm1(step)) / step if step else start
    if low > 0:
        return (step + math.log1p(math.exp(-high)) - math.log1p(math.exp(-low))) / step
    return (max(high, 0.0) + math.log1p(math.exp(-abs(high))) - math.log1p(math.exp(low))) / step


def _logaddexp(x: float, y: float, r: float, s: float) -> Means | None:
    ahead, before = x - y, r - s
    return mean_sigmoid(ahead, before), mean_sigmoid(-ahead, -before)


def _logaddexp2(x: float, y: float, r: float, s: float) -> Means | None:
    ahead, before = (x - y) * _LOG_2, (r - s) * _LOG_2
    return mean_sigmoid(ahead, before), mean_sigmoid(-ahead, -before)


def _xlogy(x: float, y: float, r: float, s: float) -> Means | None:
    """The means of log y and of x / y along the segment, from a positive y to another."""
    if not (0 < s < math.inf and 0 < y < math.inf):
        return None
    dx, dy, ratio = x - r, y - s, y / s
    if 0.25 < ratio < 4:  # where differences of logarithms lose digits, and a quadrature has all of them
        first = second = 0.0
        for node, weight in gauss_legendre(16):
            here = s + node * dy
            first, second = first + weight * math.log(here), second + weight * (r + node * dx) / here
        return first, second
    return (y * math.log(y) - s * math.log(s)) / dy - 1, (dx + (r - s * (dx / dy)) * math.log(ratio)) / dy


def _xlog1py(x: float, y: float, r: float, s: float) -> Means | None:
    """The means of log1p y and of x / (1 + y)."""
    if -0.5 < y < 1 and -0.5 < s < 1:  # where 1 + y has lost digits of y
        first = second = 0.0
        for node, weight in gauss_legendre(16):
            here = s + node * (y - s)
            first, second = first + weight * math.log1p(here), second + weight * (r + node * (x - r)) / (1 + here)
        return first, second
    return _xlogy(x, 1 + y, r, 1 + s)


_MEANS: dict[Any, Callable[[float, float, float, float], Means | None]] = {
    slopes_impl.mean_hypot: _hypot,
    slopes_impl.mean_atan2: _atan2,
    slopes_impl.mean_logaddexp: _logaddexp,
    slopes_impl.mean_logaddexp2: _logaddexp2,
    slopes_impl.mean_nextafter: lambda x, y, r, s: (1.0, 0.0),
    slopes_impl.rates_of_power: mean_power,
    slopes_impl.rates_of_xlogy: _xlogy,
    slopes_impl.rates_of_xlog1py: _xlog1py,
}


NUMBERED = {form: which for which, form in enumerate(_MEANS)}  # as `npdec/_native/means.h`


def has_means(form: Any) -> bool:
    """Whether there are mean gradients here of the functions that have the form."""
    return form in _MEANS


def means_of_number(
    form: Any, x: float, y: float, r: float, s: float, fx: float, fr: float, dtype: torch.dtype
) -> Means | None:
    """The mean gradient of the function with the closed form, or the formula of its derivatives, that is `form`; None
    where it has none here, where these means are not known to be complete, or something has to be said of them."""
    find = _MEANS.get(form)
    try:
        if find is _atan2:
            means = _atan2(x, y, r, s, fx, fr)
        else:
            means = None if find is None else find(x, y, r, s)
    except (ArithmeticError, ValueError):
        return None
    if means is None:
        return None
    first, second = means
    by_x, by_y = first * (x - r), second * (y - s)
    wanted, rounding, digits = LIMITS[dtype]
    gross, a, b = abs(by_x) + abs(by_y), abs(fx), abs(fr)
    complete = abs(fx - fr - by_x - by_y) <= max(wanted * max(a, b), rounding * gross)  # neither with NaN
    moderate = abs(first) <= STEEP and abs(second) <= STEEP and gross <= digits * (a + b)
    return means if complete and moderate else None


def slope_beside(
    form: Any, x: float, r: float, other: float, swapped: bool, fx: float, fr: float, dtype: torch.dtype
) -> float | None:
    """The slope of the function of x, which was r, beside a constant, which is the first of the two if they are
    `swapped`: by the secant, and between close numbers by the form, or that of powers (`slope_of_number`)."""
    if form is slopes_impl.rates_of_power:
        if not swapped and other in POLYNOMIALS:
            return polynomial_slope(other, x, r, dtype)
        if not (swapped or other):
            return 0.0 if fx == fr == 1 and math.isfinite(x - r) else None
        close: Close = partial(exponential_between if swapped else power_between, other)
    else:
        find = _MEANS.get(form)
        if find is None:
            return None

        close = partial(_between, find, other, swapped)

    traits = Trait.PIECEWISE_LINEAR if form is slopes_impl.mean_nextafter else 0
    return slope_of_number(None, close, traits, KEPT, x, r, fx, fr, dtype)


def slopes_beside(
    form: Any, ends: Sequence[Numbers], swapped: bool, dtype: torch.dtype, undefined: bool = False
) -> list[float] | None:
    """The same of each of a few: of x, r, the constant, and the function's numbers at both; NaN, if asked for, where it
    is NaN at one."""
    tiny, least, most, _ = RANGE[dtype]
    powers = form is slopes_impl.rates_of_power and not swapped
    made: list[float] = []
    for x, r, other, fx, fr in zip(*ends, strict=True):
        step, difference = x - r, fx - fr
        if step and tiny + fx * fr <= KEPT * difference * difference and not (powers and other in POLYNOMIALS):
            slope: float | None = difference / step
            if not least <= abs(difference / step) <= most:
                return None
        else:
            slope = slope_beside(form, x, r, other, swapped, fx, fr, dtype)
            if slope is None and step and undefined and math.isnan(difference):
                slope = math.nan
        if slope is None:
            return None
        made.append(slope)
    return made


def _between(find: Function, other: float, swapped: bool, x: float, r: float, step: float) -> float:
    """The slope beside a constant by the mean gradient; NaN where that is not known."""
    means = find(other, x, other, r) if swapped else find(x, other, r, other)
    return math.nan if means is None else means[swapped]


def is_undefined(x: float, r: float, y: float, s: float, fx: float, fr: float) -> bool:
    """Whether a power of finite numbers is NaN at an end, as it is along the part of the path where the base is
    negative."""
    least = min(x, r)
    seen = least < 0 and -least > _PART * abs(x - r)  # by some node of a quadrature
    return seen and (math.isnan(fx) or math.isnan(fr)) and all(map(math.isfinite, (x, r, y, s)))


def means_of_few(
    form: Any, ends: Sequence[Numbers], value: Numbers, base: Numbers, dtype: torch.dtype, undefined: bool = False
) -> tuple[list[float], list[float]] | None:
    """The same of each of a few, whose arguments are those at the value and at the residual; NaN, if asked for, of
    powers that are NaN along a part of the path."""
    found: tuple[list[float], list[float]] = [], []
    for x, y, r, s, fx, fr in zip(*ends, value, base, strict=True):
        means = means_of_number(form, x, y, r, s, fx, fr, dtype)
        if means is None and undefined and is_undefined(x, r, y, s, fx, fr):
            means = math.nan, math.nan
        if means is None:
            return None
        found[0].append(means[0])
        found[1].append(means[1])
    return found
