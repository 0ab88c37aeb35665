"""What functions of torch give of numbers in float64, found by Python: the same to the last bit, and sooner.

These are the functions that are rounded correctly, or not at all. None, or an exception of arithmetic, stands for what
torch has to say: of nan, where zeros of either sign are equal, and where Python refuses.
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


OF_NUMBERS: dict[Any, Callable[..., float | bool | None]] = {
    torch.abs: math.fabs,
    torch.floor: _whole(math.floor),
    torch.ceil: _whole(math.ceil),
    torch.trunc: _whole(math.trunc),
    torch.round: _whole(round),
    torch.neg: float.__neg__,
    torch.square: _square,
    torch.reciprocal: _reciprocal,
    torch.isnan: math.isnan,
    torch.isinf: math.isinf,
    torch.isfinite: math.isfinite,
    torch.signbit: lambda x: math.copysign(1.0, x) < 0,
    torch.add: float.__add__,
    torch.sub: float.__sub__,
    torch.mul: float.__mul__,
    torch.div: float.__truediv__,
    torch.copysign: math.copysign,
    torch.maximum: _greater,
    torch.minimum: _lesser,
    torch.fmax: _greater,
    torch.fmin: _lesser,
    torch.lt: float.__lt__,
    torch.le: float.__le__,
    torch.gt: float.__gt__,
    torch.ge: float.__ge__,
    torch.eq: float.__eq__,
    torch.ne: float.__ne__,
}
if _roots_are_rounded_correctly():
    OF_NUMBERS[torch.sqrt] = math.sqrt

# Those of two integers in one dtype that give one of them, or say how they compare.
OF_INTEGERS: dict[Any, Callable[[int, int], int | bool]] = {
    torch.maximum: max,
    torch.minimum: min,
    torch.fmax: max,
    torch.fmin: min,
    torch.lt: int.__lt__,
    torch.le: int.__le__,
    torch.gt: int.__gt__,
    torch.ge: int.__ge__,
    torch.eq: int.__eq__,
    torch.ne: int.__ne__,
}
