"""Maxima and minima along axes in reverse mode by the shortest way: the parts of the path that elements lead are found
in one pass over each row (`npdec._native`). The general ways are `npdec._rules.elementary` and `.pooling`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.axes import again_and_again, narrowed, row_by_row
from npdec._decomposed.choices import places_beside
from npdec._decomposed.registry import row_of
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.native_forms import asked, in_c
from npdec._law.ordinary_reverse import is_ordinary, on_graph_of
from npdec._law.reverse_forms import on_graph_with
from npdec._law.reverse_rows import ALONE, axes_or_all, gradient_along, reduced
from npdec._native import calls
from npdec._torch.tracing import name_of

__all__ = ["adaptive_pool", "along", "greatest", "least", "with_places"]

Function = Callable[..., Any]
Options = dict[str, Any] | None


def _shares(x: DecomposedTensor, axes: Sequence[int], sign: int) -> torch.Tensor | None:
    """The parts of the path that elements lead, along axes."""
    return _shares_of(x.value, x.residual, axes, sign)


def _shares_of(value: torch.Tensor, residual: torch.Tensor, axes: Sequence[int], sign: int) -> torch.Tensor | None:
    if calls is None:
        return None
    is_middle = len(axes) == axes[-1] - axes[0] + 1 < value.ndim - axes[0]
    if is_middle and value.is_contiguous() and value.is_cpu and is_for_one_thread(value.numel(), ALONE):
        # Rows that lie beside each other are looked at as they lie.
        row, made = narrowed(residual, axes[0]).contiguous(), torch.empty_like(value)
        n, by = math.prod(value.shape[axes[0] : axes[-1] + 1]), math.prod(value.shape[axes[-1] + 1 :])
        equal = next((axis for axis, length in enumerate(row.shape) if length > 1), value.ndim)
        fits = row.shape[equal:] == value.shape[equal:]  # behind the axes on which all are one
        return made if fits and calls.leading_shares(value, row, float(sign), made, n, by) else None

    def fill(rows: torch.Tensor, start: torch.Tensor, made: torch.Tensor) -> bool:
        return bool(calls.leading_shares(rows, start, float(sign), made, rows.shape[-1], 1))

    return gradient_along(value, residual, axes, fill)


def along(sign: int, func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """amax (sign 1) and amin (−1), along axes; and max and min of all elements."""
    named = {**dict(zip(("input", "dim", "keepdim"), args)), **(options or {})}
    x, keepdim = named.get("input"), named.get("keepdim", False)
    if type(x) is not DecomposedTensor or not is_ordinary(x) or not x.value.ndim:
        return NotImplemented
    dim = named.get("dim", ())
    axes = axes_or_all(dim, x.value.ndim)
    shares = None if axes is None else _shares(x, axes, sign)
    if axes is None or shares is None:
        return NotImplemented
    call = func if "dim" not in named else partial(func, dim=dim, keepdim=keepdim)
    value, residual = call(x.value), row_by_row(call, x.residual, axes[0])
    return reduced(x, value, residual, shares, axes, keepdim)


@in_c("led", known=(1.0,))
def greatest(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """amax."""
    return along(1, func, args, options)


@in_c("led", known=(-1.0,))
def least(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """amin."""
    return along(-1, func, args, options)


def with_places(sign: int, func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """max and min: of all elements, or along an axis, with the places."""
    if len(args) == 2 and not options and all(isinstance(t, torch.Tensor) for t in args):
        row = row_of(torch.maximum if sign > 0 else torch.minimum)
        return NotImplemented if row is None or row.short is None else asked(row.short, func, args)
    named = {**dict(zip(("input", "dim", "keepdim"), args)), **(options or {})}
    if "dim" not in named:
        return along(sign, func, args, options)
    x, dim, keepdim = named.get("input"), named["dim"], named.get("keepdim", False)
    if type(dim) is not int or type(x) is not DecomposedTensor or not is_ordinary(x) or not x.value.ndim:
        return NotImplemented
    axes = axes_or_all(dim, x.value.ndim)
    shares = None if axes is None else _shares(x, axes, sign)
    if axes is None or shares is None:
        return NotImplemented
    made, lead = func(x.value, dim, keepdim), x.residual.shape[: axes[0]]
    base = func(again_and_again(x.residual, axes[0]), dim, keepdim)
    values, indices = (part.expand(*lead, *part.shape[axes[0] :]) for part in base)
    places = places_beside(name_of(func), made.indices, indices)
    return type(made)((reduced(x, made.values, values, shares, axes, keepdim), places))


def adaptive_pool(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """adaptive_max_pool without indices, of windows that are as large as each other."""
    named = {**dict(zip(("input", "output_size", "return_indices"), args)), **(options or {})}
    x, size = named.get("input"), named.get("output_size")
    name = name_of(func)
    if type(x) is not DecomposedTensor or not is_ordinary(x) or named.get("return_indices", False) is not False:
        return NotImplemented
    if not name.startswith("adaptive_max_pool") or not name.endswith("d"):
        return NotImplemented
    count = int(name[-2])
    outputs: Any = [size] * count if type(size) is int else size
    if x.value.ndim <= count or type(outputs) not in (tuple, list) or len(outputs) != count:
        return NotImplemented
    lead = x.value.ndim - count
    lengths = [n if out is None else out for n, out in zip(x.value.shape[lead:], outputs, strict=True)]
    rooms = list(zip(x.value.shape[lead:], lengths, strict=True))
    if any(type(out) is not int or out < 1 or n % out for n, out in rooms):
        return NotImplemented
    cut = [*x.value.shape[:lead], *[part for n, out in rooms for part in (out, n // out)]]
    axes = range(lead + 1, lead + 2 * count, 2)
    shares = _shares_of(x.value.reshape(cut), _cut(x.residual, lead, rooms), axes, 1)
    if shares is None:
        return NotImplemented
    value = func(x.value, size)
    if type(value) is not torch.Tensor:
        return NotImplemented
    carrier = (on_graph_of(x).reshape(cut) * shares).sum(list(axes))
    return on_graph_with(x, value, row_by_row(lambda u: func(u, size), x.residual, lead), carrier)


def _cut(residual: torch.Tensor, lead: int, rooms: Sequence[tuple[int, int]]) -> torch.Tensor:
    """The residual in windows, of which the leading axes that are one in memory stay so."""
    made = residual
    for axis, (_, out) in reversed(list(enumerate(rooms, lead))):
        made = made.unflatten(axis, (out, -1))
    return made
