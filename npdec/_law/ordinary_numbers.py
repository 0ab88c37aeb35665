"""Ordinary calls of two decomposed numbers: what each of them is multiplied with is sooner found by Python than by
torch, and so are the components."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.tensor import DecomposedTensor, Labels, merged
from npdec._law.numbers_in_c import weighted
from npdec._law.ordinary import Number, number_in, number_of

__all__ = [
    "constant_beside", "is_finite", "listed_sum", "listed_total", "numbers_in_two", "on_host", "sum_of_two",
]  # fmt: skip

Function = Callable[..., Any]
_MOST = {dtype: torch.finfo(dtype).max for dtype in (torch.float32, torch.float64)}


def numbers_in_two(a: Any, b: Any) -> tuple[Number, Number] | None:
    """What two ordinary numbers of one dtype are made of, if nobody differentiates them (`number_in`)."""
    first = number_in(a)
    second = None if first is None else number_in(b)
    return None if first is None or second is None or a.value.dtype is not b.value.dtype else (first, second)


def on_host(number: float, func: Function, *ends: Any) -> Any:
    """What was computed, where that is what torch computes; of what is not finite torch has other bits."""
    return number if math.isfinite(number) else func(*ends)


def sum_of_two(
    value: torch.Tensor | float,
    residual: torch.Tensor | float,
    a: DecomposedTensor,
    b: DecomposedTensor,
    numbers: tuple[Number, Number],
    of_a: float,
    of_b: float,
    finite: bool = False,
) -> Any:
    """The number that has of the components of two each its weight, added up; NotImplemented if they are many, or not
    `finite` where they are to be."""
    found = None if finite else weighted(value, residual, a, b, of_a, of_b)
    if found is not None:
        return found
    (*_, first), (*_, second) = numbers
    made = listed_sum(a.labels, b.labels, first, second, of_a, of_b)
    dtype = a.components.dtype
    if made is None or (finite and not is_finite(made[0], dtype)):
        return NotImplemented
    return number_of(value, residual, *made, dtype)


def listed_sum(
    labels: Labels, others: Labels, first: list[float], second: list[float], of_a: float, of_b: float
) -> tuple[list[float], Labels] | None:
    """The components of two each times its weight, added up, and their labels; None if they are many."""
    if labels is others or _are_same(labels, others):
        return [c * of_a + d * of_b for c, d in zip(first, second, strict=True)], labels
    count = len(labels)
    labels, places = merged(labels, others)
    made = [c * of_a for c in first]
    right = [d * of_b for d in second]
    if type(places) is range:  # behind all others
        made += right
    else:
        made += [0.0] * (len(labels) - count)
        for place, number in zip(places, right, strict=True):
            made[place] += number
    return (made, labels) if len(labels) < size_limits.MANY else None


def listed_total(parts: Sequence[tuple[Labels, list[float], float]]) -> tuple[list[float], Labels] | None:
    """The same of any number of them, each with its weight; of none that is zero there is anything."""
    (labels, first, weight), *rest = parts
    made = [c * weight for c in first] if weight else [0.0] * len(labels)
    for others, column, weight in rest:
        if others is labels or _are_same(others, labels):
            places: Sequence[int] = range(len(labels))
        else:
            labels, places = merged(labels, others)
            made += [0.0] * (len(labels) - len(made))
        if weight:
            for place, number in zip(places, column, strict=True):
                made[place] += number * weight
    return (made, labels) if len(labels) < size_limits.MANY else None


def _are_same(labels: Labels, others: Labels) -> bool:
    """Whether two tuples have the same labels in the same order, if that is soon seen: labels that have been handed on
    are the same objects."""
    return type(labels) is tuple is type(others) and labels[0] is others[0] and labels == others


def is_finite(components: list[float], dtype: torch.dtype) -> bool:
    """Whether components are finite in the dtype."""
    return sum(map(abs, components)) <= _MOST[dtype]


def constant_beside(x: torch.Tensor, other: Any) -> float | None:
    """A constant number beside such a one, as Python's; None of anything else."""
    if type(other) is float or type(other) is int:
        return other
    if type(other) is not torch.Tensor or other.ndim or other.dtype is not x.dtype:
        return None
    return None if other.requires_grad or not other.is_cpu else other.item()
