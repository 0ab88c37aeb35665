"""Normalisation layers by the shortest way: a few numbers of each row are found (`npdec._native`), by which components
are passed on, or gradients are taken back. The general way is `npdec._rules.normalisation`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.axes import again_and_again, row_by_row
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import ordinary, ordinary_reverse
from npdec._law.native_forms import in_c
from npdec._law.on_demand import graph_on_demand
from npdec._law.ordinary import FACTORS, has_elements
from npdec._law.reverse_rows import ALONE
from npdec._native import calls
from npdec._rules.normalisation import deepest, flatness

__all__ = [
    "Rows", "back_of_layer", "back_of_mean_square", "back_through", "form", "of_groups", "of_instances", "of_shape",
]  # fmt: skip

Function = Callable[..., Any]
_NUMBERS = 11  # of a row, as npdec/_native/normal.c has them


class Rows(NamedTuple):
    """Which elements are normalised together: `length` of them, one after the other. The leading axes are looked at one
    by one; each number of a weight stands beside `step` elements."""

    length: int
    leading: int
    step: int
    eps: float
    centred: bool


def form(
    names: Sequence[str],
    rows_of: Callable[[torch.Tensor, dict[str, Any]], Rows | None],
    before: tuple[Function, Function, bool] | None = None,
) -> Function:
    """The form of ordinary calls of a layer whose arguments have these names; before it one in C may stand, which is
    told what takes gradients back, torch's function, and whether rows are without their means."""

    def short(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        named = {**dict(zip(names, args)), **(options or {})}
        x: Any = named.pop("input", None)
        reverse = ordinary_reverse.is_ordinary(x)
        if calls is None or not (reverse or ordinary.is_ordinary(x)) or settings.get().frozen_normalisation:
            return NotImplemented
        for name in ("weight", "bias"):
            constant: Any = named.get(name)
            if constant is None:
                continue
            if type(constant) not in FACTORS or constant.dtype is not x.value.dtype or not has_elements(constant):
                return NotImplemented
            if reverse and constant.is_inference():
                return NotImplemented
            named[name] = constant.detach() if reverse else constant
        weight = named.get("weight")
        rows = rows_of(x.value, named)
        if rows is None:
            return NotImplemented
        if not reverse:
            with torch.no_grad():
                components = _passed(x, rows, weight)
            if components is None:
                return NotImplemented
            if torch.is_grad_enabled() and any(map(_follows, (x.value, x.residual, x.components, weight))):
                components = graph_on_demand(func, args, options or {}, components)
            return ordinary.made_of(*_ends(func, x, rows, named), components, x)
        found = back_through(x, rows, weight)
        return NotImplemented if found is None else ordinary_reverse.derived(x, *_ends(func, x, rows, named), *found)

    if before is None:
        return short
    back, function, centred = before
    known = back, function, deepest(torch.float32), deepest(torch.float64), centred
    return in_c("normalised", known=known)(short)


def _follows(t: torch.Tensor | None) -> bool:
    return t is not None and t.requires_grad


def _ends(func: Function, x: DecomposedTensor, rows: Rows, named: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    return func(x.value, **named), row_by_row(lambda row: func(row, **named), x.residual, rows.leading)


def _numbers(
    x: DecomposedTensor, rows: Rows, size: int, flat: float, high: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """What is kept of each row, and the residual that it was found beside; None where a path passes through zero
    variance, or the elements lie otherwise, or are so many (`size`) that several threads are asked."""
    length, leading, _, eps, centred = rows
    if not length or not x.value.numel() or not is_for_one_thread(size, ALONE):
        return None
    residual = again_and_again(x.residual, leading)
    numbers = torch.empty((x.value.numel() // length, _NUMBERS), dtype=torch.float64)
    deep = deepest(x.value.dtype)
    found = calls.normal_rows(high, residual, numbers, length, length * eps, centred, deep, flat)
    return (numbers, residual) if found else None


def _passed(x: DecomposedTensor, rows: Rows, weight: torch.Tensor | None) -> torch.Tensor | None:
    """The components of the normalised elements, times the weight; None as for `_numbers`, and for rows of which
    rounding alone may be left."""
    components = x.components
    found = _numbers(x, rows, components.numel(), flatness(x.value.dtype) if rows.centred else 0.0, x.value)
    if found is None:
        return None
    made = torch.empty_like(components)
    if not calls.normal_back(x.value, found[1], found[0], components, None, 1, rows.centred, made):
        return None
    if weight is None:
        return made
    return made * (weight if rows.step == 1 else weight.reshape(-1, *(1,) * (x.value.ndim - 2)))


def back_through(
    x: DecomposedTensor, rows: Rows, weight: torch.Tensor | None
) -> tuple[Function, Sequence[torch.Tensor]] | None:
    """What takes gradients back, and the tensors that it takes beside them."""
    high = x.value.contiguous()
    found = _numbers(x, rows, x.value.numel(), 0.0, high)
    if found is None:
        return None
    numbers = found[0]
    scale = None if weight is None else weight.clone()  # it may be written to before gradients go back

    return _Back(numbers, scale, rows), (high, found[1])


class _Back:
    """What takes gradients of normalised rows back, by the numbers that are kept of each."""

    def __init__(self, numbers: torch.Tensor, scale: torch.Tensor | None, rows: Rows) -> None:
        self.numbers, self.scale, self.rows = numbers, scale, rows

    def __call__(self, grad: torch.Tensor, value: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        grad, rows = grad.contiguous(), self.rows
        made = torch.empty_like(grad)
        if calls.normal_back(value, residual, self.numbers, grad, self.scale, rows.step, rows.centred, made):
            return made
        return _by_torch(grad, value, residual, self.numbers, self.scale, rows)


def back_of_layer(numbers: torch.Tensor, scale: torch.Tensor | None, length: int) -> _Back:
    """That of layer_norm."""
    return _Back(numbers, scale, Rows(length, 0, 1, 0.0, True))


def back_of_mean_square(numbers: torch.Tensor, scale: torch.Tensor | None, length: int) -> _Back:
    """That of rms_norm."""
    return _Back(numbers, scale, Rows(length, 0, 1, 0.0, False))


def _by_torch(
    grad: torch.Tensor,
    value: torch.Tensor,
    residual: torch.Tensor,
    numbers: torch.Tensor,
    scale: torch.Tensor | None,
    rows: Rows,
) -> torch.Tensor:
    """The same, where somebody looks on."""
    diagonal, w00, w01, w11, of_low, of_moved, inverse, foot, rest, more, unit = numbers.split(1, -1)
    low, end, back = [t.reshape(-1, rows.length).double() for t in (residual, value, grad)]
    start = low.repeat(len(end) // len(low), 1)
    if scale is not None:
        wide = scale.double().repeat_interleave(rows.step)
        back = (back.reshape(-1, len(wide)) * wide).reshape(back.shape)
    moved = (end - start - of_moved) * inverse
    low = (start - of_low - foot * moved - rest - more * moved) * unit
    first, second = [(back * part).sum(-1, keepdim=True) for part in (low, moved)]
    if rows.centred:
        back = back - back.mean(-1, keepdim=True)
    made = diagonal * back - low * (w00 * first + w01 * second) - moved * (w01 * first + w11 * second)
    return made.to(grad.dtype).reshape(grad.shape)


def of_shape(centred: bool) -> Callable[[torch.Tensor, dict[str, Any]], Rows | None]:
    """The rows of layer_norm and rms_norm."""

    def rows_of(x: torch.Tensor, named: dict[str, Any]) -> Rows | None:
        shape: Any = named.get("normalized_shape")
        shape = (shape,) if type(shape) is int else shape
        if type(shape) not in (tuple, list, torch.Size) or tuple(shape) != tuple(x.shape[x.ndim - len(shape) :]):
            return None
        eps = named.get("eps", 1e-5 if centred else None)
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        return Rows(math.prod(shape), x.ndim - len(shape), 1, eps, centred)

    return rows_of


def of_groups(x: torch.Tensor, named: dict[str, Any]) -> Rows | None:
    """Those of group_norm."""
    groups: Any = named.get("num_groups")
    if type(groups) is not int or groups < 1 or x.ndim < 2 or x.shape[1] % groups:
        return None
    step = math.prod(x.shape[2:])
    return Rows(x.shape[1] // groups * step, 1, step, named.get("eps", 1e-5), True)


def of_instances(x: torch.Tensor, named: dict[str, Any]) -> Rows | None:
    """Those of instance_norm, of the input's own statistics alone."""
    if named.get("use_input_stats", True) is not True or x.ndim < 3:
        return None
    if named.get("running_mean") is not None or named.get("running_var") is not None:
        return None
    step = math.prod(x.shape[2:])
    return Rows(step, 1, step, named.get("eps", 1e-5), True)
