"""The law of ordinary calls that join tensors along an axis (`npdec._law.ordinary`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.tensor import DecomposedTensor, Labels, merged, placed
from npdec._law.native_forms import in_c
from npdec._law.of_few import vector
from npdec._law.ordinary import FACTORS, FEW, built, has_elements, is_ordinary

__all__ = ["joined"]

Function = Callable[..., Any]


@in_c("joined")
def joined(func: Function, args: Sequence[Any]) -> Any:
    """Tensors joined along an axis, decomposed ones and constants."""
    tensors, dim = args if len(args) == 2 else (args[0], 0)
    if type(dim) is not int or type(tensors) not in (list, tuple):
        return NotImplemented
    like = next((t for t in tensors if type(t) is DecomposedTensor), None)
    if like is None:  # an option is decomposed
        return NotImplemented
    dtype, ndim, labels = like.value.dtype, like.value.ndim, like.labels  # torch takes an empty vector beside others
    for t in tensors:
        if is_ordinary(t):
            if t.value.dtype is not dtype or t.value.ndim != ndim:
                return NotImplemented
            if t.labels is not labels:
                labels, _ = merged(labels, t.labels)
        elif type(t) not in FACTORS or t.dtype is not dtype or t.ndim != ndim or not has_elements(t):
            return NotImplemented
    if len(labels) >= size_limits.MANY:
        return NotImplemented
    values = [t.value if type(t) is DecomposedTensor else t for t in tensors]
    residuals = [t.residual if type(t) is DecomposedTensor else t for t in tensors]
    front = None if ndim or labels is like.labels else _of_numbers(tensors, labels)
    if front is None:
        components = [_under(t, labels) for t in tensors]
        front = func(components, dim + 1 if dim >= 0 else dim)
    return built(func(values, dim), func(residuals, dim), front, labels)


def _of_numbers(tensors: Sequence[Any], labels: Labels) -> torch.Tensor | None:
    """The components of numbers in a row, under some labels; None of those that are many, or have a graph."""
    count, known = len(tensors), {id(label): i for i, label in enumerate(labels)}
    if count * len(labels) > FEW:
        return None
    made = [0.0] * (count * len(labels))
    for j, t in enumerate(tensors):
        if type(t) is DecomposedTensor:
            if t.components.requires_grad or not t.components.is_cpu:
                return None
            for label, number in zip(t.labels, t.components.tolist(), strict=True):
                place = known.get(id(label))
                if place is None:  # a label that is equal to another one
                    return None
                made[place * count + j] = number
    return vector(made, tensors[0].dtype).reshape(len(labels), count)


def _under(t: Any, labels: Labels) -> torch.Tensor:
    """The components of a tensor under some labels, of which it may have a part, or none."""
    if type(t) is not DecomposedTensor:
        return t.new_zeros((len(labels), *t.shape))
    components: torch.Tensor = t.components
    if t.labels is labels or t.labels == labels:
        return components
    return placed(components, merged(labels, t.labels)[1], len(labels))
