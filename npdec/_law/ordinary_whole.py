"""The law of ordinary casts to booleans and integers of a handful of numbers: a number jumps where what is left of it
without its fraction does, and a boolean or integer is the number that it was."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from npdec._decomposed.kept_components import dtype_of_steps
from npdec._decomposed.settings import current as settings
from npdec._law.discrete_of_few import is_discrete
from npdec._law.of_few import FEW, all_listed, listed, multipliers, shares_of_few
from npdec._law.ordinary import condition_in, is_ordinary, number_in, number_of
from npdec._law.ordinary_steps import condition_of

__all__ = ["whole"]

_WHOLE = {dtype: torch.iinfo(dtype) for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)}
_MOST = 2**53  # up to which integers are floats


def whole(x: Any, dtype: Any) -> Any:
    """A decomposed tensor in a dtype of integers; NotImplemented of others."""
    here = settings.get()
    if dtype not in _WHOLE or here.frozen_conditions or here.rule != "affine":
        return NotImplemented
    if is_discrete(x):
        return _of_discrete(x, dtype)
    if not is_ordinary(x) or x.value.requires_grad or x.residual.requires_grad:
        return NotImplemented
    number = number_in(x)
    ends: Any = ([number[0]], [number[1]]) if number is not None else _listed(x)
    info = _WHOLE[dtype]
    digits = _MOST if x.value.dtype is torch.float64 else 2**24
    least, most = max(info.min, -digits), min(info.max, digits)
    if ends is None or not all(math.isfinite(u) and least <= math.trunc(u) <= most for end in ends for u in end):
        return NotImplemented
    jumps = list(map(operator.sub, *[list(map(math.trunc, end)) for end in ends]))
    steps = list(map(operator.sub, *ends))
    wide = dtype_of_steps(dtype, x.components.dtype)
    value, residual = x.value.to(dtype=dtype), x.residual.to(dtype=dtype)
    if number is None:
        made = shares_of_few(jumps, steps, x.components, x.value)
        return NotImplemented if made is None else condition_of(value, residual, made.to(wide), x.labels)
    weights = [0.0] if not jumps[0] else multipliers(jumps, steps, [number[2]], x.components.dtype, None)
    if weights is None:
        return NotImplemented
    made = number_of(value, residual, [c * weights[0] for c in number[2]], x.labels, wide)
    made.discrete = True
    return made


def _listed(x: Any) -> Any:
    return all_listed((x.value, x.residual), (x.components,), x.value)


def _of_discrete(x: Any, dtype: torch.dtype) -> Any:
    """Booleans or integers as others, which hold them."""
    wide = dtype_of_steps(dtype, x.components.dtype)
    known, value, residual = condition_in(x), x.value.to(dtype=dtype), x.residual.to(dtype=dtype)
    if known is not None:
        made = number_of(value, residual, known[2], x.labels, wide)
        made.discrete = True
        return made
    if not x.value.is_cpu or not 0 < x.value.numel() <= FEW or x.components.requires_grad:
        return NotImplemented
    if listed(value) != listed(x.value) or listed(residual) != listed(x.residual):
        return NotImplemented
    components = x.components.clone() if x.components.dtype is wide else x.components.to(wide)
    return condition_of(value, residual, components, x.labels)
