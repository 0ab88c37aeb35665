"""Ordinary calls of two decomposed numbers: what each of them is multiplied with is sooner found by Python than by
torch, and so are the components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor, Labels, merged
from npdec._law.of_few import vector
from npdec._law.ordinary import built

__all__ = ["constant_beside", "ends_of_two", "is_number", "listed_sum", "listed_total", "row", "sum_of_two", "weighted"]

Function = Callable[..., Any]
_MOST = {dtype: torch.finfo(dtype).max for dtype in (torch.float32, torch.float64)}


def ends_of_two(a: DecomposedTensor, b: DecomposedTensor) -> tuple[float, float, float, float] | None:
    """The values and the residuals of two ordinary numbers of one dtype that nobody differentiates, as Python's."""
    x, y = a.value, b.value
    if x.ndim or y.ndim or x.dtype is not y.dtype or not x.is_cpu or x.requires_grad or y.requires_grad:
        return None
    r, t, first, second = a.residual, b.residual, a.components, b.components
    if r.requires_grad or t.requires_grad or first.requires_grad or second.requires_grad:
        return None
    if not (0 < len(a.labels) <= HANDFUL and 0 < len(b.labels) <= HANDFUL):
        return None
    return x.item(), y.item(), r.item(), t.item()


def weighted(func: Function, a: DecomposedTensor, b: DecomposedTensor, of_a: float, of_b: float, finite: bool) -> Any:
    """The function of two such numbers, of which the components of each have this weight (`sum_of_two`)."""
    made = sum_of_two(a, b, of_a, of_b, finite)
    return NotImplemented if made is None else built(func(a.value, b.value), func(a.residual, b.residual), *made)


def sum_of_two(
    a: DecomposedTensor, b: DecomposedTensor, of_a: float, of_b: float, finite: bool = False
) -> tuple[torch.Tensor, Labels] | None:
    """The components of each times its weight, added up, and their labels; None if they are many, or not `finite`
    where they are to be."""
    found = listed_sum(a, b, of_a, of_b)
    components = None if found is None else row(found[0], a.components.dtype, finite)
    return None if found is None or components is None else (components, found[1])


def listed_sum(a: DecomposedTensor, b: DecomposedTensor, of_a: float, of_b: float) -> tuple[list[float], Labels] | None:
    """The same as numbers."""
    labels, others = a.labels, b.labels
    first, second = a.components.tolist(), b.components.tolist()
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


def listed_total(parts: Sequence[tuple[DecomposedTensor, float]]) -> tuple[list[float], Labels] | None:
    """The same of any number of them, each with its weight; of none that is zero there is anything."""
    (first, weight), *rest = parts
    labels = first.labels
    made = [c * weight for c in first.components.tolist()] if weight else [0.0] * len(labels)
    for x, weight in rest:
        if x.labels is labels or _are_same(x.labels, labels):
            places: Sequence[int] = range(len(labels))
        else:
            labels, places = merged(labels, x.labels)
            made += [0.0] * (len(labels) - len(made))
        if weight:
            for place, number in zip(places, x.components.tolist(), strict=True):
                made[place] += number * weight
    return (made, labels) if len(labels) < size_limits.MANY else None


def _are_same(labels: Labels, others: Labels) -> bool:
    """Whether two tuples have the same labels in the same order, if that is soon seen: labels that have been handed on
    are the same objects."""
    return type(labels) is tuple is type(others) and labels[0] is others[0] and labels == others


def row(made: list[float], dtype: torch.dtype, finite: bool = True) -> torch.Tensor | None:
    """The components of a number of the dtype; None if they are to be `finite`, and are not."""
    if finite and not sum(map(abs, made)) <= _MOST[dtype]:
        return None
    return vector(made, dtype)


def is_number(x: DecomposedTensor) -> bool:
    """Whether a tensor is a number on the host that nobody differentiates, with a handful of components."""
    value = x.value
    if value.ndim or not value.is_cpu or value.requires_grad or not 0 < len(x.labels) <= HANDFUL:
        return False
    return not (x.residual.requires_grad or x.components.requires_grad)


def constant_beside(x: torch.Tensor, other: Any) -> float | None:
    """A constant number beside such a one, as Python's; None of anything else."""
    if type(other) is float or type(other) is int:
        return other
    if type(other) is not torch.Tensor or other.ndim or other.dtype is not x.dtype:
        return None
    return None if other.requires_grad or not other.is_cpu else other.item()
