"""The law of ordinary calls that others answer: functions whose contributions are those of a formula of others, each of
which goes its own short way, and tensors that are made to have one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.of_few import FEW
from npdec._law.ordinary import FACTORS, built, carries_graph, has_elements, is_ordinary

__all__ = ["by_body", "by_formula", "of_one_shape"]

Function = Callable[..., Any]
_PLAIN = frozenset({float, int, bool, str, type(None)})


def by_formula(formula: Function, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A function that computes what a formula of other functions does, of a handful of numbers: the numbers are its
    own."""
    named = options or {}
    if settings.get().rule != "affine" or not all(type(item) in _PLAIN for item in named.values()):
        return NotImplemented
    dtype = None
    for x in args:
        if type(x) is DecomposedTensor:
            if not is_ordinary(x) or carries_graph(x) or (dtype or x.value.dtype) is not x.value.dtype:
                return NotImplemented
            if x.components.numel() > FEW:  # of more the way to the formula is no large part
                return NotImplemented
            dtype = x.value.dtype
        elif type(x) in FACTORS:
            if x.requires_grad or not has_elements(x):
                return NotImplemented
        elif type(x) not in _PLAIN and not (type(x) in (tuple, list) and all(type(item) is int for item in x)):
            return NotImplemented
    ends = [[getattr(x, part) if type(x) is DecomposedTensor else x for x in args] for part in ("value", "residual")]
    value, residual = (func(*given, **named) for given in ends)
    if type(value) is not torch.Tensor or value.dtype is not dtype or not value.numel() or value._is_view():
        return NotImplemented
    made = formula(*args, **named)
    if not is_ordinary(made) or made.value.shape != value.shape or made.value.dtype is not dtype:
        return NotImplemented
    return built(value, residual, made.components, made.labels)


def of_one_shape(func: Function, args: Sequence[Any]) -> Any:
    """torch.broadcast_tensors."""
    tensors = args[0] if len(args) == 1 and type(args[0]) in (tuple, list) else args
    if not all(is_ordinary(x) or (type(x) in FACTORS and has_elements(x)) for x in tensors):
        return NotImplemented
    shape = torch.broadcast_shapes(*[x.shape for x in tensors])
    return tuple([x.expand(shape) for x in tensors])


def by_body(body: Function, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A function of torch that is written in Python, by its body."""
    given = [x for x in args if type(x) is DecomposedTensor]
    if not given or not all(is_ordinary(x) and not carries_graph(x) for x in given):
        return NotImplemented
    return body(*args, **(options or {}))
