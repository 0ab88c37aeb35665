"""The quotient of two numbers on the host, rounded down, and the rest: by the steps of torch, in one."""

from __future__ import annotations

import math
from typing import Any

import torch

from npdec._impl._util import are_numbers, rounding_to, tensor_of

__all__ = ["divmod_in_numbers", "divmod_of_numbers"]

_REAL = frozenset({torch.float64, torch.float32})
_FEW = 2.0**20  # times that a divisor goes into a number: then the quotient has all its digits


def divmod_of_numbers(x1: torch.Tensor, x2: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """np.divmod of two numbers in single or double precision, zeros with their signs; None of others, where one is not
    finite, or the quotient is long."""
    dtype = x1.dtype
    if dtype not in _REAL or x1.dim() or type(x2) is not torch.Tensor or x2.dtype is not dtype or x2.dim():
        return None
    made = divmod_in_numbers(x1.item(), x2.item(), dtype) if are_numbers(x1, x2) else None
    return None if made is None else (tensor_of(made[0], dtype), tensor_of(made[1], dtype))


def divmod_in_numbers(a: float, b: float, dtype: torch.dtype) -> tuple[float, float] | None:
    """The same of Python's numbers, which are of the dtype."""
    to = rounding_to(dtype)
    if not b or not abs(a) < _FEW * abs(b) < math.inf:
        return None
    rest = math.fmod(a, b)
    quotient = to(to(a - rest) / b)
    if rest and (rest < 0) is not (b < 0):
        rest, quotient = to(rest + b), to(quotient - 1)
    whole = float(math.floor(quotient))
    whole += quotient - whole > 0.5
    if not quotient:
        whole = math.copysign(0.0, a) * math.copysign(1.0, b)
    return whole, rest or math.copysign(0.0, b)
