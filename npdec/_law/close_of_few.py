"""The slopes of pointwise functions between close numbers, and where a number does not move, on the host: the closed
forms of `npdec._impl.slopes_impl` for one number, and those of powers.

Each takes x, r and the step x − r, or a tiny one where there is none, and raises an ArithmeticError or a ValueError
where it has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from npdec._impl import slopes_impl

__all__ = ["CLOSE", "Close", "exponential_between", "power_between"]

Close = Callable[[float, float, float], float]
_LOG_2, _LOG_10 = math.log(2), math.log(10)


def _exp(x: float, r: float, step: float) -> float:
    length = abs(step)
    return math.exp(max(x, r)) * -math.expm1(-length) / length


def _exp2(x: float, r: float, step: float) -> float:
    length = abs(step)
    return 2.0 ** max(x, r) * -math.expm1(length * -_LOG_2) / length


def _log(x: float, r: float, step: float) -> float:
    return math.log1p(step / r) / step


def _sqrt(x: float, r: float, step: float) -> float:
    return 1 / (math.sqrt(x) + math.sqrt(r))


def _cbrt(x: float, r: float, step: float) -> float:
    a, b = math.cbrt(x), math.cbrt(r)
    return 1 / (a * a + a * b + b * b)


def _rsqrt(x: float, r: float, step: float) -> float:
    a, b = math.sqrt(x), math.sqrt(r)
    return -1 / (a * b * (a + b))


def _atan(x: float, r: float, step: float) -> float:
    return math.atan(step / (1 + x * r)) / step


def _asinh(x: float, r: float, step: float) -> float:
    if r < 0:
        x, r, step = -x, -r, -step
    a, b = math.hypot(1, x), math.hypot(1, r)
    return math.log1p(step * (1 + (x + r) / (a + b)) / (r + b)) / step


def _acosh(x: float, r: float, step: float) -> float:
    a, b = math.sqrt((x - 1) * (x + 1)), math.sqrt((r - 1) * (r + 1))
    return math.log1p(step * (1 + (x + r) / (a + b)) / (r + b)) / step


def _asin(x: float, r: float, step: float) -> float:
    a, b = math.sqrt((1 - x) * (1 + x)), math.sqrt((1 - r) * (1 + r))
    return math.atan2(step * (b + r * (x + r) / (a + b)), a * b + x * r) / step


CLOSE: dict[Any, Close] = {
    slopes_impl.exp: _exp,
    slopes_impl.exp2: _exp2,
    slopes_impl.log: _log,
    slopes_impl.log1p: lambda x, r, step: math.log1p(step / (1 + r)) / step,
    slopes_impl.log2: lambda x, r, step: _log(x, r, step) / _LOG_2,
    slopes_impl.log10: lambda x, r, step: _log(x, r, step) / _LOG_10,
    slopes_impl.sqrt: _sqrt,
    slopes_impl.cbrt: _cbrt,
    slopes_impl.rsqrt: _rsqrt,
    slopes_impl.reciprocal: lambda x, r, step: -1 / (x * r),
    slopes_impl.square: lambda x, r, step: x + r,
    slopes_impl.sin: lambda x, r, step: math.cos(r + step / 2) * (math.sin(step / 2) / (step / 2)),
    slopes_impl.cos: lambda x, r, step: -math.sin(r + step / 2) * (math.sin(step / 2) / (step / 2)),
    slopes_impl.sinh: lambda x, r, step: math.cosh(r + step / 2) * (math.sinh(step / 2) / (step / 2)),
    slopes_impl.cosh: lambda x, r, step: math.sinh(r + step / 2) * (math.sinh(step / 2) / (step / 2)),
    slopes_impl.tan: lambda x, r, step: math.tan(step) / step * (1 + math.tan(x) * math.tan(r)),
    slopes_impl.atan: _atan,
    slopes_impl.atanh: lambda x, r, step: math.atanh(step / (1 - x * r)) / step,
    slopes_impl.asinh: _asinh,
    slopes_impl.acosh: _acosh,
    slopes_impl.asin: _asin,
    slopes_impl.acos: lambda x, r, step: -_asin(x, r, step),
}


def power_between(exponent: float, x: float, r: float, step: float) -> float:
    """That of a number raised to the exponent."""
    return math.pow(r, exponent) * math.expm1(exponent * math.log1p(step / r)) / step


def exponential_between(base: float, x: float, r: float, step: float) -> float:
    """That of a base raised to a number."""
    return math.pow(base, r) * math.expm1(step * math.log(base)) / step
