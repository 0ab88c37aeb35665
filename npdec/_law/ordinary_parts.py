"""The law of ordinary calls that take a number apart, or move its exponent: modf, frexp and ldexp, of one number on the
host, where Python computes what they give to the bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.of_few import multipliers, slope_of_number, vector
from npdec._law.ordinary import built, is_ordinary
from npdec._law.ordinary_numbers import is_number
from npdec._law.ordinary_steps import condition_of
from npdec._law.secant import KEPT

__all__ = ["fraction_and_whole", "mantissa_and_exponent", "moved_exponent"]

Function = Callable[..., Any]
_MOST = 2**12  # exponents that Python takes


def _number_of(args: Sequence[Any], count: int) -> DecomposedTensor | None:
    """The first argument of so many, if it is an ordinary number that is finite at both ends; else None."""
    x: Any = args[0] if len(args) == count else None
    if not is_ordinary(x) or not is_number(x) or settings.get().rule != "affine":
        return None
    return x if math.isfinite(x.value.item()) and math.isfinite(x.residual.item()) else None


def _by_secant(x: DecomposedTensor, after: float, before: float, slope: float) -> Any:
    """What has moved between two numbers, by the secant; `slope` is the one on the piece on which both ends lie, NaN
    where they do not."""
    dtype = x.value.dtype
    ends = x.value.item(), x.residual.item(), after, before
    found = slope_of_number(None, lambda x, r, step: slope, 0, KEPT, *ends, dtype)
    if found is None:
        return NotImplemented
    value, residual = (torch.scalar_tensor(end, dtype=dtype) for end in (after, before))
    return built(value, residual, vector([c * found for c in x.components.tolist()], dtype), x.labels)


def fraction_and_whole(func: Function, args: Sequence[Any]) -> Any:
    """np.modf."""
    x = _number_of(args, 1)
    if x is None:
        return NotImplemented
    (fraction, whole), (part, before) = math.modf(x.value.item()), math.modf(x.residual.item())
    same = whole == before
    made = _by_secant(x, fraction, part, 1.0 if same else math.nan), _by_secant(x, whole, before, 0.0)
    return NotImplemented if any(part is NotImplemented for part in made) else made


def mantissa_and_exponent(func: Function, args: Sequence[Any]) -> Any:
    """np.frexp."""
    x = _number_of(args, 1)
    if x is None or settings.get().frozen_conditions:
        return NotImplemented
    at, start = x.value.item(), x.residual.item()
    (mantissa, exponent), (part, before) = math.frexp(at), math.frexp(start)
    same = exponent == before and at and start
    first = _by_secant(x, mantissa, part, math.ldexp(1.0, -exponent) if same and abs(exponent) < 1000 else math.nan)
    dtype, column = x.value.dtype, x.components.tolist()
    shares = multipliers((exponent - before,), (at - start,), (column,), dtype, (abs(at) + abs(start),))
    if first is NotImplemented or shares is None:
        return NotImplemented
    value, residual = (torch.scalar_tensor(end, dtype=torch.int32) for end in (exponent, before))
    return first, condition_of(value, residual, vector([c * shares[0] for c in column], dtype), x.labels)


def moved_exponent(func: Function, args: Sequence[Any]) -> Any:
    """np.ldexp, by a plain exponent; where it leaves the range of normal numbers, something may have to be said."""
    x, moves = _number_of(args, 2), args[-1]
    if x is None:
        return NotImplemented
    if type(moves) is not int:
        if type(moves) is not torch.Tensor or moves.ndim or moves.is_complex() or not moves.is_cpu:
            return NotImplemented
        moves = moves.item()
    if not -_MOST <= moves <= _MOST or moves != int(moves):
        return NotImplemented
    number, info = int(moves), torch.finfo(x.value.dtype)
    try:
        after, before = (math.ldexp(end.item(), number) for end in (x.value, x.residual))
        made = [math.ldexp(c, number) for c in x.components.tolist()]
    except OverflowError:
        return NotImplemented
    given = x.value.item(), x.residual.item(), *x.components.tolist()
    moved = after, before, *made
    if not all(info.tiny <= abs(b) <= info.max if a else not b for a, b in zip(given, moved, strict=True)):
        return NotImplemented
    value, residual = (torch.scalar_tensor(end, dtype=x.value.dtype) for end in (after, before))
    return built(value, residual, vector(made, x.value.dtype), x.labels)
