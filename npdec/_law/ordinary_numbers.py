"""Ordinary calls of two decomposed numbers: what each of them is multiplied with is sooner found by Python than by
torch, and so are the components."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor, Labels, merged
from npdec._law.ordinary import built

__all__ = ["ends_of_two", "row", "sum_of_two", "weighted"]

Function = Callable[..., Any]
_CPU = torch.device("cpu")
_MOST = {dtype: torch.finfo(dtype).max for dtype in (torch.float32, torch.float64)}


def ends_of_two(a: DecomposedTensor, b: DecomposedTensor) -> tuple[float, float, float, float] | None:
    """The values and the residuals of two ordinary numbers of one dtype that nobody differentiates, as Python's."""
    x, y, r, t, first, second = a.value, b.value, a.residual, b.residual, a.components, b.components
    if x.ndim or y.ndim or x.dtype is not y.dtype or not x.is_cpu:
        return None
    if x.requires_grad or y.requires_grad or r.requires_grad or t.requires_grad:
        return None
    if first.requires_grad or second.requires_grad or max(first.numel(), second.numel()) > HANDFUL:
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
    if a.labels is b.labels and not finite:
        return torch.add(torch.mul(a.components, of_a), b.components, alpha=of_b), a.labels
    left, right = [c * of_a for c in a.components.tolist()], [c * of_b for c in b.components.tolist()]
    labels = a.labels
    if labels is b.labels:
        made = list(map(operator.add, left, right))
    else:
        labels, places = merged(labels, b.labels)
        made = left + [0.0] * (len(labels) - len(left))
        for place, number in zip(places, right, strict=True):
            made[place] += number
    components = row(made, a.value, finite) if len(labels) < size_limits.MANY else None
    return None if components is None else (components, labels)


def row(made: list[float], like: torch.Tensor, finite: bool = True) -> torch.Tensor | None:
    """The components of a number of the dtype; None if they are to be `finite`, and are not."""
    if finite and not sum(map(abs, made)) <= _MOST[like.dtype]:
        return None
    return torch.tensor(made, dtype=like.dtype, device=_CPU)
