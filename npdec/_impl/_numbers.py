"""What functions of torch give of numbers on the host, found by Python: the same to the last bit, and sooner.

These are the functions that are rounded correctly, or not at all: in float64, and those of `ROUNDED`, rounded once
more, in float32. Ufuncs whose body is no function of torch are here by their names. None, or an exception of
arithmetic, stands for what torch has to say: of nan, where zeros of either sign are equal, and where Python refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """A function that gives an integer, as a float: its zero has the sign of the number."""
    return lambda x: math.copysign(float(function(x)), x)


def _sign(x: float) -> float | None:
    return 1.0 if x > 0 else -1.0 if x < 0 else None


def _power(x: int, y: int) -> int | None:
    return x**y if 0 <= y <= _MOST_DIGITS or (y > 0 and -2 < x < 2) else None


_MOST_DIGITS = 64  # powers of greater exponents leave the range of integers


def _square(x: float) -> float:
    return float.__mul__(x, x)


def _reciprocal(x: float) -> float:
    return float.__rtruediv__(x, 1.0)


def _greater(x: float, y: float) -> float | None:
    return float(x) if x > y or x == y != 0 else float(y) if y > x else None


def _lesser(x: float, y: float) -> float | None:
    return float(x) if x < y or x == y != 0 else float(y) if y < x else None


def _roots_are_rounded_correctly() -> bool:
    """torch's square roots are MKL's, which on some processors (AMD's) are off by one in the last bit: of one number
    in a hundred, in float64."""
    numbers = torch.arange(1, 1001, dtype=torch.float64, device="cpu").mul_(0.1)
    return torch.sqrt(numbers).tolist() == [math.sqrt(x) for x in numbers.tolist()]


_LOGIC: dict[Any, Callable[..., bool]] = {
    torch.logical_and: lambda x, y: bool(x) and bool(y),
    torch.logical_or: lambda x, y: bool(x) or bool(y),
    torch.logical_xor: lambda x, y: bool(x) is not bool(y),
    torch.logical_not: lambda x: not x,
}
OF_NUMBERS: dict[Any, Callable[..., float | bool | None]] = {
    torch.abs: math.fabs,
    torch.floor: _whole(math.floor),
    torch.ceil: _whole(math.ceil),
    torch.trunc: _whole(math.trunc),
    torch.round: _whole(round),
    torch.square: _square,
    torch.reciprocal: _reciprocal,
    torch.isnan: math.isnan,
    torch.isinf: math.isinf,
    torch.signbit: lambda x: math.copysign(1.0, x) < 0,
    torch.copysign: math.copysign,
    torch.maximum: _greater,
    torch.minimum: _lesser,
    torch.fmax: _greater,
    torch.fmin: _lesser,
    "isfinite": math.isfinite,
    "sign": _sign,
    "fmod": math.fmod,
    **_LOGIC,
}
# Those of them whose results are rounded.
ROUNDED = frozenset({torch.square, torch.reciprocal, torch.sqrt})
if _roots_are_rounded_correctly():
    OF_NUMBERS[torch.sqrt] = math.sqrt

# Those of integers and booleans; what is out of range is torch's to say.
OF_INTEGERS: dict[Any, Callable[..., int | bool | None]] = {
    torch.maximum: max,
    torch.minimum: min,
    torch.fmax: max,
    torch.fmin: min,
    torch.pow: _power,
    torch.square: lambda x: x * x,
    torch.floor: lambda x: x,
    torch.ceil: lambda x: x,
    torch.trunc: lambda x: x,
    torch.isnan: lambda x: False,
    torch.isinf: lambda x: False,
    "isfinite": lambda x: True,
    "sign": lambda x: (x > 0) - (x < 0),
    "conjugate": lambda x: x,
    "gcd": math.gcd,
    "lcm": math.lcm,
    "bitwise_count": int.bit_count,
    **_LOGIC,
}
