"""The law of ordinary calls of decomposed booleans and integers, of which there are a handful: their contributions are
those of the floating numbers that they are (`npdec._law.discrete`), where these do what booleans and integers do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.kept_components import dtype_of_steps
from npdec._decomposed.registry import Trait, rows
from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.of_few import FEW, listed
from npdec._law.ordinary import Number, built, condition_in, has_elements, is_number, is_ordinary, number_of
from npdec._native import calls

__all__ = ["FAR", "answer", "are_same", "as_few_numbers", "is_discrete", "number_in_discrete"]

Function = Callable[..., Any]
_REAL = (torch.float64, torch.float32)
_WHOLE = frozenset({torch.bool, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})
_NUMBERS = frozenset({float, int, bool, type(None)})
_ROUNDED, _HALF = 1e-6, 1e-3  # of what integers are, and what half precision makes of them
FAR = 2**20  # up to which squares and cubes of integers are in the range of 64 bits


def number_in_discrete(x: Any) -> Number | None:
    """What a decomposed boolean or integer without axes is made of, as numbers; None of others, and of large ones."""
    found: Any = None if calls is None else calls.discrete_in(x)
    if found is not None:
        return found[0] * 1.0, found[1] * 1.0, found[2]
    found = condition_in(x)
    if found is None:
        if not is_discrete(x) or x.value.ndim or not is_number(x):
            return None
        found = x.value.item(), x.residual.item(), x.components.tolist()
        if not -FAR <= found[0] <= FAR or not -FAR <= found[1] <= FAR:
            return None
    return float(found[0]), float(found[1]), found[2]


def is_discrete(x: Any) -> bool:
    """Whether it is a decomposed tensor of booleans or integers with a few dense components."""
    if type(x) is not DecomposedTensor or x.value.dtype not in _WHOLE or x.reverse or x.kept is not None:
        return False
    plain = type(x.value) is torch.Tensor and not x.value.is_meta
    return plain and x.components.dtype in _REAL


def as_few_numbers(x: DecomposedTensor) -> Any:
    """A few booleans or integers as floating numbers of the dtype of their components; None of others."""
    if not is_discrete(x):  # components that are not made yet stay so
        return None
    components = x.components
    number = None if x.value.ndim else number_in_discrete(x)
    if number is not None:
        return number_of(*number, x.labels, components.dtype)
    if not x.value.is_cpu or not 0 < components.numel() <= FEW or components.requires_grad:
        return None
    value, residual = x.value.to(components.dtype), x.residual.to(components.dtype)
    return built(value, residual, components, x.labels)


def answer(func: Function, args: Sequence[Any]) -> Any:
    """A call that has a form for floating numbers, of booleans and integers; NotImplemented where it is not ordinary.
    Nobody looks on."""
    row, here = rows.get(func), settings.get()
    if row is None or row.short is None:
        return NotImplemented
    rule = row.rule
    if rule.opaque or rule.passes or rule.delegates or rule.in_place or rule.writes:
        return NotImplemented
    if rule.discrete and not row.traits & Trait.ELEMENTWISE:
        return NotImplemented
    if here.frozen_conditions or here.rule != "affine":
        return NotImplemented
    tags = rule.tags or {}
    ends: list[tuple[Any, Any]] = []
    numbers: list[Any] = []
    dtype = None
    for place, x in enumerate(args):
        if type(x) is DecomposedTensor:
            given = as_few_numbers(x) if x.discrete else x
            if given is None or not is_ordinary(given) or (dtype or given.value.dtype) is not given.value.dtype:
                return NotImplemented
            dtype = given.value.dtype
            ends.append((x.value, x.residual))
            numbers.append(given)
        elif _is_plain(x) or (type(x) is torch.Tensor and tags.get(place, "Opaque") != "Opaque" and has_elements(x)):
            ends.append((x, x))
            numbers.append(x)
        else:
            return NotImplemented
    assert dtype is not None
    numbers = [x.to(dtype) if type(x) is torch.Tensor else x for x in numbers]
    value, residual = (func(*[pair[i] for pair in ends]) for i in (0, 1))
    if type(value) is not torch.Tensor or value.is_complex() or not 0 < value.numel() <= FEW:
        return NotImplemented
    if value._is_view() or any(value is pair[0] for pair in ends):  # which is to be linked
        return NotImplemented
    made = row.short(func, numbers)
    if type(made) is DecomposedTensor and value.dtype is torch.bool and not _are_same(made, value, residual):
        differs = rows[torch.ne].short  # "or" is the sum of booleans
        made = NotImplemented if differs is None else differs(torch.ne, (made, 0))
    if type(made) is not DecomposedTensor or not _are_same(made, value, residual):
        return NotImplemented
    numeric = value.dtype in _REAL
    wanted = value.dtype if numeric else dtype_of_steps(value.dtype, made.components.dtype)
    if not numeric and value.dtype not in _WHOLE:
        return NotImplemented
    made = built(value, residual, made.components.to(wanted), made.labels)
    made.discrete = not numeric
    return made


def _is_plain(x: Any) -> bool:
    return type(x) in _NUMBERS or (type(x) is tuple and all(type(item) is int for item in x))


def _are_same(made: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor) -> bool:
    """Whether numbers do what the booleans and integers do, which may overflow."""
    if made.value.shape != value.shape:
        return False
    own, others = [*listed(value), *listed(residual)], [*listed(made.value), *listed(made.residual)]
    return are_same(own, others, value.dtype)


def are_same(own: Sequence[float], others: Sequence[float], dtype: torch.dtype) -> bool:
    """Whether numbers do what booleans and integers do, of which a function gives its `own` in a dtype."""
    most = _HALF if dtype is torch.float16 else _ROUNDED
    return all(math.isfinite(a) and abs(a - b) <= most * abs(a) for a, b in zip(own, others, strict=True))
