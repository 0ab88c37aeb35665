"""Elementwise functions of arrays of a few numbers, where more is known of each number than of all together: over zero,
at jumps, through the ends of a domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.registry import Row
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.complex_laws import REAL_OF
from npdec._law.complex_of_few import answer, are_few, is_given
from npdec._law.native_forms import asked
from npdec._law.ordinary import built
from npdec._native import calls

__all__ = ["ELEMENTWISE", "number_by_number", "of_few"]

Function = Callable[..., Any]
ELEMENTWISE = frozenset({"Pointwise", "Stepwise"})  # tags that say that a function is called of each element
_KINDS = frozenset({*REAL_OF, *REAL_OF.values()})
_NUMBERS = frozenset({bool, int, float, complex})


def of_few(func: Function, form: Function, row: Row | None, args: Sequence[Any]) -> Any:
    """What an elementwise function that is none of torch's gives of a few numbers, of which its form has given nothing:
    of complex ones together, or else of each."""
    if not is_given(args):
        return number_by_number(partial(asked, form), func, args)
    law = None if row is None else row.few_complex
    made = answer(law, func, args)
    return number_by_number(partial(answer, law), func, args) if made is NotImplemented else made


def number_by_number(one: Function, func: Function, args: Sequence[Any]) -> Any:
    """What `one` answers of a function and its arguments, of each number; the value and the residual are those of the
    function of all. NotImplemented where it does not answer one of them, and of other arrays."""
    shape = _shape_of(args)
    if shape is None:
        return NotImplemented
    made = []
    for numbers in zip(*[_elements(x, shape) for x in args], strict=True):
        found = one(func, numbers)
        if found is NotImplemented:
            return NotImplemented
        made.append(found)
    value = func(*[x.value if type(x) is DecomposedTensor else x for x in args])
    residual = func(*[x.residual if type(x) is DecomposedTensor else x for x in args])
    if type(made[0]) is not tuple:
        return _together(made, value, residual, shape)
    outputs = [_together(*its, shape) for its in zip(zip(*made, strict=True), value, residual, strict=True)]
    return NotImplemented if any(output is NotImplemented for output in outputs) else tuple(outputs)


def _shape_of(args: Sequence[Any]) -> torch.Size | None:
    """The shape to which all arrays broadcast; None of others than a few numbers on the host, and of numbers alone."""
    shapes = []
    for x in args:
        if type(x) in _NUMBERS:
            continue
        if type(x) is not DecomposedTensor and type(x) is not torch.Tensor:
            return None
        value = x.value if type(x) is DecomposedTensor else x
        if value.dtype not in _KINDS or value.layout is not torch.strided or not value.is_cpu or not are_few(x):
            return None
        shapes.append(value.shape)
    shape = shapes[0] if all(shape == shapes[0] for shape in shapes) else _broadcast(shapes)
    return shape if shape and 0 < shape.numel() <= HANDFUL else None


def _broadcast(shapes: Sequence[torch.Size]) -> torch.Size | None:
    try:
        return torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return None


def _elements(x: Any, shape: torch.Size) -> Sequence[Any]:
    if type(x) in _NUMBERS or not x.ndim:
        return [x] * shape.numel()
    if type(x) is torch.Tensor:
        return x.expand(shape).reshape(-1).unbind()
    if calls is not None and x.value.shape == shape:
        found: tuple[Any, ...] | None = calls.few_numbers(x)
        if found is not None:
            return found
    value, residual, components = x.value, x.residual, x.components
    if value.shape != shape:
        components = components.reshape(len(x.labels), *[1] * (len(shape) - value.ndim), *value.shape)
        components = components.expand(-1, *shape)
    parts = value.expand(shape).reshape(-1), residual.expand(shape).reshape(-1), components.reshape(len(x.labels), -1)
    columns = zip(*[part.unbind(-1) for part in parts], strict=True)
    return [built(value, residual, column, x.labels) for value, residual, column in columns]


def _together(made: Sequence[Any], value: torch.Tensor, residual: torch.Tensor, shape: torch.Size) -> Any:
    labels = made[0].labels
    if value.dtype not in _KINDS or value.shape != shape or any(its.labels != labels for its in made):
        return NotImplemented
    components = torch.stack([its.components for its in made], -1)
    if components.dtype is not value.dtype:
        return NotImplemented
    return built(value, residual, components.reshape(len(labels), *shape), labels)
