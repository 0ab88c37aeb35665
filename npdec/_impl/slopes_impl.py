"""Slopes of pointwise functions between two points, in closed forms that keep their digits.

A slope takes (step, fx, fr), with step = x − r, and gives (f(x) − f(r)) / (x − r), which is positive, NaN at step = 0.
The forms follow from the addition theorem tanh x − tanh r = tanh(step) (1 − tanh x tanh r).

Between close numbers a slope takes (x, r, step), with a step that is not zero, in forms that lose no digits of a
difference: nothing close is subtracted.

Of functions of two arguments the mean of the gradient along the path takes (a, b, a_r, b_r, f, fx, fr), for the
function f itself and its numbers at the ends, and gives a multiplier for each argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from npdec._impl.segments_impl import mean_direction

Slope = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def tanh(step: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> torch.Tensor:
    return torch.tanh(step) / step * (1 - fx * fr)


def sigmoid(step: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> torch.Tensor:
    """The sigmoid is (1 + tanh(x / 2)) / 2."""
    return torch.tanh(step / 2) / step * (fx * (1 - fr) + fr * (1 - fx))


def power(exponent: object, x: torch.Tensor, r: torch.Tensor) -> torch.Tensor | None:
    """The slope of a small whole power, a polynomial that loses no digits: x + r, x² + x r + r², (x + r) (x² + r²)."""
    if not isinstance(exponent, (int, float)):
        return None
    if exponent == 2:
        return x + r
    if exponent == 3:
        return x * (x + r) + r * r
    if exponent == 4:
        return (x + r) * (x * x + r * r)
    return None


# -- between close numbers ---------------------------------------------------------------------------------------------


def exp(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    length = step.abs()  # from the end that is higher, where nothing overflows
    return torch.exp(torch.maximum(x, r)) * -torch.expm1(-length) / length


def exp2(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    length = step.abs()
    return torch.exp2(torch.maximum(x, r)) * -torch.expm1(length * -_LOG_2) / length


def log(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return torch.log1p(step / r) / step


def log1p(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return torch.log1p(step / (1 + r)) / step


def log2(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return log(x, r, step) / _LOG_2


def log10(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return log(x, r, step) / _LOG_10


def sqrt(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return 1 / (torch.sqrt(x) + torch.sqrt(r))


def cbrt(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    a, b = (torch.copysign(torch.abs(t) ** (1 / 3), t) for t in (x, r))
    return 1 / (a * a + a * b + b * b)


def rsqrt(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    a, b = torch.sqrt(x), torch.sqrt(r)
    return -1 / (a * b * (a + b))


def reciprocal(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return -1 / (x * r)


def square(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return x + r


def sin(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    half = step / 2
    return torch.cos(r + half) * (torch.sin(half) / half)


def cos(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    half = step / 2
    return -torch.sin(r + half) * (torch.sin(half) / half)


def sinh(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    half = step / 2
    return torch.cosh(r + half) * (torch.sinh(half) / half)


def cosh(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    half = step / 2
    return torch.sinh(r + half) * (torch.sinh(half) / half)


def tan(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return torch.tan(step) / step * (1 + torch.tan(x) * torch.tan(r))


def atan(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return torch.atan(step / (1 + x * r)) / step


def atanh(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return torch.atanh(step / (1 - x * r)) / step


def asinh(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    one, turned = torch.ones_like(r), torch.where(r < 0, -step, step)
    return _logarithm(x.abs(), r.abs(), turned, torch.hypot(x, one), torch.hypot(r, one)) / turned


def acosh(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return _logarithm(x, r, step, torch.sqrt((x - 1) * (x + 1)), torch.sqrt((r - 1) * (r + 1))) / step


def asin(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    """The angle between the points of the circle at the heights x and r."""
    a, b = torch.sqrt((1 - x) * (1 + x)), torch.sqrt((1 - r) * (1 + r))
    slope = torch.atan2(step * (b + r * (x + r) / (a + b)), a * b + x * r) / step
    return torch.where(a + b == 0, torch.inf, slope)


def acos(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return -asin(x, r, step)


def _logarithm(x: torch.Tensor, r: torch.Tensor, step: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """log((x + a) / (r + b)) of positive numbers, of which a² − b² is x² − r²."""
    return torch.log1p(step * (1 + (x + r) / (a + b)) / (r + b))


_LOG_2, _LOG_10 = math.log(2), math.log(10)


# -- of two arguments --------------------------------------------------------------------------------------------------

Function = Callable[..., torch.Tensor]
Means = Callable[..., tuple[torch.Tensor, torch.Tensor]]


def _mean_sigmoid(x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """The mean of the sigmoid from r to x: the change of log(1 + exp) over the step, in forms without cancellation."""
    low, high = torch.minimum(x, r), torch.maximum(x, r)
    step = high - low
    still, endless = high == low, torch.isinf(step)
    short = ~still & (step <= 1)
    near = torch.where(short, step, 1)
    first = torch.log1p(torch.sigmoid(low) * torch.expm1(near)) / near
    far = torch.where(still | short | endless, 1, step)
    beyond = (far + F.softplus(-high, threshold=math.inf) - F.softplus(-low, threshold=math.inf)) / far
    before = (torch.logaddexp(high, torch.zeros_like(high)) - torch.logaddexp(low, torch.zeros_like(low))) / far
    mean = torch.where(short, first, torch.where(low > 0, beyond, before))
    mean = torch.where(endless, torch.isinf(high).to(mean.dtype) - torch.isinf(low).to(mean.dtype) / 2, mean)
    return torch.where(still, torch.sigmoid(high), mean.clamp(min=0))


def mean_logaddexp(
    a: torch.Tensor,
    b: torch.Tensor,
    a_r: torch.Tensor,
    b_r: torch.Tensor,
    f: Function,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """log(exp a + exp b): the derivative by a is the sigmoid of a − b."""
    ahead, ahead_r = (torch.where((u == v) & torch.isinf(u), 0, u - v) for u, v in ((a, b), (a_r, b_r)))
    return _mean_sigmoid(ahead, ahead_r), _mean_sigmoid(-ahead, -ahead_r)


def mean_atan2(
    y: torch.Tensor,
    x: torch.Tensor,
    y_r: torch.Tensor,
    x_r: torch.Tensor,
    f: Function,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The angle is the imaginary part of log z for z = x + iy; the mean of 1 / z is (log z_x − log z_r) / (z_x − z_r).

    Where the path crosses the negative x axis, y does, and has the jump there to itself. A path through the origin has
    no derivative there: the change is shared by the two orders in which the arguments can move. If only one of them
    does, it is that one's, though the other be a zero that changes its sign.
    """
    dy, dx = y - y_r, x - x_r
    unit = torch.maximum(torch.maximum(x.abs(), y.abs()), torch.maximum(x_r.abs(), y_r.abs()))
    known = (unit > 0) & torch.isfinite(unit)
    unit = torch.where(known, unit, 1).detach()
    y, x, y_r, x_r, dy, dx = (t / unit for t in (y, x, y_r, x_r, dy, dx))
    # The cross product of the end and the start, or of the step and the start, by which of the two loses fewer digits.
    whole = (x_r * y).abs() + (y_r * x).abs() < (x_r * dy).abs() + (y_r * dx).abs()
    cross = torch.where(whole, x_r * y - y_r * x, x_r * dy - y_r * dx)
    dot = x_r * x + y_r * y
    origin = ((x == 0) & (y == 0)) | ((x_r == 0) & (y_r == 0)) | ((cross == 0) & (dot < 0)) | ~known
    length = torch.hypot(dx, dy)
    still = length == 0
    regular = ~(origin | still)
    e_x, e_y = (torch.where(regular, d, 1) / torch.where(regular, length, 1) for d in (dx, dy))
    start = torch.where(regular, x_r * x_r + y_r * y_r, 1)
    turn = torch.atan2(torch.where(regular, cross, 0), torch.where(regular, dot, 1))
    growth = _log_ratio(start, torch.where(regular, dx * (x + x_r) + dy * (y + y_r), 0), regular, x, y)
    turn, growth = (t / torch.where(regular, length, 1) for t in (turn, growth))
    by_y, by_x = growth * e_x + turn * e_y, turn * e_x - growth * e_y
    square = torch.where(still & ~origin, x * x + y * y, 1)
    by_y, by_x = torch.where(still, x / square, by_y) / unit, torch.where(still, -y / square, by_x) / unit
    jump = torch.where(regular, (fx - fr) - turn * length, 0).detach()
    jumps = (jump.abs() > 1) & (dy != 0)
    by_y = by_y + torch.where(jumps, jump, 0) / torch.where(jumps, dy * unit, 1)
    lone_y, lone_x = f(y, x_r), f(y_r, x)
    first = torch.where(dx == 0, fx - fr, (lone_y - fr + fx - lone_x) / 2) / torch.where(dy == 0, 1, dy * unit)
    second = torch.where(dy == 0, fx - fr, (lone_x - fr + fx - lone_y) / 2) / torch.where(dx == 0, 1, dx * unit)
    return torch.where(origin, first.detach(), by_y), torch.where(origin, second.detach(), by_x)


def _log_ratio(
    start: torch.Tensor, change: torch.Tensor, regular: torch.Tensor, x: torch.Tensor, y: torch.Tensor
) -> torch.Tensor:
    """log(|z_x| / |z_r|), from |z_r|² and its change to |z_x|², or from the two magnitudes where that is large."""
    relative = change / start
    near = relative.abs() < 0.5
    end = torch.where(regular, x * x + y * y, 1)
    return torch.where(near, torch.log1p(torch.where(near, relative, 0)), torch.log(end / start)) / 2


def mean_hypot(
    a: torch.Tensor,
    b: torch.Tensor,
    a_r: torch.Tensor,
    b_r: torch.Tensor,
    f: Function,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The length of a vector of two."""
    mean = mean_direction(torch.stack([a_r, b_r], -1), torch.stack([a - a_r, b - b_r], -1))
    return mean[..., 0], mean[..., 1]


def mean_logaddexp2(
    a: torch.Tensor,
    b: torch.Tensor,
    a_r: torch.Tensor,
    b_r: torch.Tensor,
    f: Function,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """log2(2^a + 2^b): that of log(exp a + exp b), in other units."""
    return mean_logaddexp(a * _LOG_2, b * _LOG_2, a_r * _LOG_2, b_r * _LOG_2, f, fx, fr)


def mean_nextafter(
    a: torch.Tensor,
    b: torch.Tensor,
    a_r: torch.Tensor,
    b_r: torch.Tensor,
    f: Function,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The float beside a: it goes with a."""
    return torch.ones_like(fx), torch.zeros_like(fx)


# -- derivatives of functions of two arguments, where there is no closed form of their means ---------------------------


def rates_of_power(base: torch.Tensor, exponent: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As torch's: a power that is constant has no slope, and zero none by its exponent."""
    whole, none = torch.pow(base, exponent), (base == 0) & (exponent.real >= 0)
    by_base = torch.where(exponent == 0, 0, exponent * torch.pow(base, exponent - 1))
    return by_base, torch.where(none, 0, whole * torch.log(base))


def rates_of_xlogy(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.where((x == 0) & (y <= 0), 0, torch.log(y)), x / y


def rates_of_xlog1py(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.where((x == 0) & (y <= -1), 0, torch.log1p(y)), x / (1 + y)
