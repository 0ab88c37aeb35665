"""The functions of Python's `math` in a recording: of numbers that the graph computes they are its operations."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import torch

from npdec._jit.later import Later, as_float, given, made, refusal

__all__ = ["FUNCTIONS", "module"]

_SAME = (
    "sqrt exp expm1 log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh hypot atan2 copysign "
    "erf erfc"
).split()
_ASKED = ("isnan", "isinf", "isfinite")
_CALLS: dict[str, Callable[..., torch.Tensor]] = {
    **{name: getattr(torch, name) for name in (*_SAME, *_ASKED)},
    "pow": torch.pow, "fabs": torch.abs, "radians": torch.deg2rad, "degrees": torch.rad2deg,
    "log": lambda x, base=None: torch.log(x) if base is None else torch.log(x) / torch.log(base),
}  # fmt: skip


def _recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        numbers = [x if type(x) in (bool, int, float) else as_float(x) for x in args]
        if not any(type(x) is Later for x in numbers):
            return function(*args)
        tensors = [given(x) for x in numbers]
        found = _CALLS[name](*tensors)
        if found.dtype is torch.bool:
            return bool(found)
        check(found, tensors)
        return made(found)

    return call


def check(found: torch.Tensor, given: list[torch.Tensor]) -> None:
    """Refuse results for which Python raises: NaN of none, and what is infinite of finite numbers."""
    missing, finite = given[0].isnan(), given[0].isfinite()
    for tensor in given[1:]:
        missing, finite = missing | tensor.isnan(), finite & tensor.isfinite()
    if (found.isnan() & ~missing) | (found.isinf() & finite):
        raise refusal()


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(math, name): _recorded(name, getattr(math, name)) for name in _CALLS
}


def module() -> types.ModuleType:
    """The module math with these functions."""
    found = types.ModuleType("math")
    vars(found).update(vars(math), **{name: FUNCTIONS[getattr(math, name)] for name in _CALLS})
    return found
