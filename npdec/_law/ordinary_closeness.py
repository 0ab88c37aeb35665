"""The law of ordinary calls of isclose of two numbers: |a − b| <= atol + rtol |b|, on the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._impl._util import rounding_to
from npdec._law.of_few import multipliers, vector
from npdec._law.ordinary import is_ordinary
from npdec._law.ordinary_numbers import constant_beside, ends_of_two, is_number, listed_sum
from npdec._law.ordinary_steps import condition_of

__all__ = ["close"]

Function = Callable[..., Any]
_DEFAULTS = (1e-5, 1e-8)
_CPU = torch.device("cpu")


def close(func: Function, args: Sequence[Any]) -> Any:
    """torch.isclose of finite numbers: near to each other, or equal."""
    here = settings.get()
    if not 2 <= len(args) <= 4 or here.frozen_conditions or here.rule != "affine":
        return NotImplemented
    a, b = args[:2]
    rtol, atol = args[2] if len(args) > 2 else 1e-5, args[3] if len(args) > 3 else 1e-8
    ends = _ends(a, b)
    if ends is None or type(rtol) is not float or type(atol) is not float or rtol < 0 or atol < 0:
        return NotImplemented
    x, y, r, s = ends
    dtype = (a if type(a) is DecomposedTensor else b).value.dtype
    if not math.isfinite(x - y + r - s):
        return NotImplemented
    to = rounding_to(dtype)
    near = [abs(to(u - w)) <= to(to(atol) + abs(to(to(rtol) * w))) for u, w in ((x, y), (r, s))]
    equal = [x == y, r == s]
    value, residual = (torch.scalar_tensor(flag, dtype=torch.bool, device=_CPU) for flag in near)  # as equal ones are
    distance = _slope(x - y, r - s)
    by_distance = _parts(a, b, distance, -distance - rtol * _slope(y, s))
    if by_distance is None:
        return NotImplemented
    step = (abs(x - y) - (atol + rtol * abs(y))) - (abs(r - s) - (atol + rtol * abs(s)))
    labels, first = by_distance[1], _moved(near, step, by_distance[0], dtype)
    if first is None:
        return NotImplemented
    if equal == [False, False]:
        return condition_of(value, residual, vector(first, dtype), labels)
    by_difference = _parts(a, b, 1.0, -1.0)
    second = None if by_difference is None else _moved(equal, (x - y) - (r - s), by_difference[0], dtype)
    if second is None:
        return NotImplemented
    share, other = 1 - sum(equal) / 2, 1 - sum(near) / 2  # of one of two, the other held at its middle
    made = [c * share + d * other for c, d in zip(first, second, strict=True)]
    return condition_of(value, residual, vector(made, dtype), labels)


def _moved(flags: Sequence[bool], step: float, parts: list[float], dtype: torch.dtype) -> list[float] | None:
    """What numbers that add up to a step have of the change of a condition."""
    jump = flags[0] - flags[1]
    if not jump:
        return [0.0] * len(parts)
    weights = multipliers((jump,), (step,), (parts,), dtype, None)
    return None if weights is None else [c * weights[0] for c in parts]


def _ends(a: Any, b: Any) -> tuple[float, float, float, float] | None:
    """Both at the value and at the residual, of which one may be a constant."""
    if type(a) is type(b) is DecomposedTensor:
        return ends_of_two(a, b) if is_ordinary(a) and is_ordinary(b) else None
    one, other = (a, b) if type(a) is DecomposedTensor else (b, a)
    number = constant_beside(one.value, other) if is_ordinary(one) and is_number(one) else None
    if number is None:
        return None
    x, r = one.value.item(), one.residual.item()
    return (x, number, r, number) if one is a else (number, x, number, r)


def _slope(x: float, r: float) -> float:
    """That of a magnitude."""
    return (abs(x) - abs(r)) / (x - r) if x != r else float((x > 0) - (x < 0))


def _parts(a: Any, b: Any, of_a: float, of_b: float) -> tuple[list[float], Labels] | None:
    if type(a) is type(b) is DecomposedTensor:
        return listed_sum(a, b, of_a, of_b)
    one, weight = (a, of_a) if type(a) is DecomposedTensor else (b, of_b)
    return [c * weight for c in one.components.tolist()], one.labels
