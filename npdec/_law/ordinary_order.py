"""The law of ordinary calls that put elements in order, or take one by its place in it: sort, topk, kthvalue, mode and
median along an axis. The order is the value's, and the parts follow it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.choices import compare_choices, is_watched, places_beside
from npdec._law.ordinary import FEW, Form, built, carries_graph, is_ordinary
from npdec._torch.tracing import name_of

__all__ = ["in_order"]

_NUMBERS = frozenset({int, bool, type(None)})


def in_order(place: int, usual: int | None = -1) -> Form:
    """The form of a function that takes its axis at this place behind the tensor, or by name; `usual` is the one that
    it has otherwise, None for all elements."""
    return partial(_in_order, place, usual)


def _in_order(
    place: int, usual: int | None, func: Callable[..., Any], args: Sequence[Any], options: dict[str, Any] | None = None
) -> Any:
    x, *rest = args
    named = options or {}
    if not is_ordinary(x) or carries_graph(x) or not x.value.ndim or not 0 < x.components.numel() <= FEW:
        return NotImplemented
    if not all(type(item) in _NUMBERS for item in (*rest, *named.values())):
        return NotImplemented
    dim = rest[place] if len(rest) > place else named.get("dim", usual)
    if type(dim) is not int:
        return NotImplemented
    made = func(x.value, *rest, **named)
    keeps = made.values.ndim == x.value.ndim
    axis, index = dim % x.value.ndim, made.indices if keeps else made.indices.unsqueeze(dim)
    residual = torch.gather(x.residual, axis, index)
    components = torch.gather(x.components, axis + 1, index.expand(len(x.labels), *index.shape))
    if not keeps:
        residual, components = residual.squeeze(axis), components.squeeze(axis + 1)
    indices = made.indices
    if is_watched():
        base, name = func(x.residual, *rest, **named), name_of(func)
        compare_choices(name, residual, base.values)
        indices = places_beside(name, indices, base.indices)
    return type(made)((built(made.values, residual, components, x.labels), indices))
