"""Products along an axis, and running products, in reverse mode by the shortest way: what gradients come to is found in
one pass over the rows (`npdec._native`). The general way is `npdec._rules.products`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import narrowed, row_by_row
from npdec._decomposed.reverse_graph import with_vjp
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._law.ordinary_reverse import is_ordinary, on_graph, on_graph_of
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.reverse_rows import ALONE, gradient_along, reduced
from npdec._native import calls

__all__ = ["product", "running"]

Function = Callable[..., Any]
Options = dict[str, Any] | None
_EXACT = 64  # factors, of which as many nodes as are exact are no more than twice as many as are enough
_MORE = (8, 16, 32, 64)  # nodes for the others, until twice as many find the same


@functools.cache
def _rules(count: int) -> tuple[Any, ...]:
    """Nodes and weights for a product of so many factors."""
    return tuple(map(gauss_legendre, [(count + 1) // 2] if count <= _EXACT else _MORE))


def product(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """The form of torch.prod, along an axis or of all elements."""
    named = {**dict(zip(("input", "dim", "keepdim"), args)), **(options or {})}
    x: Any = named.get("input")
    dim, keepdim = named.get("dim"), named.get("keepdim", False)
    if calls is None or not is_ordinary(x) or not x.value.ndim or len(args) > 3 or named.get("dtype") is not None:
        return NotImplemented
    if dim is not None and (type(dim) is not int or not -x.value.ndim <= dim < x.value.ndim):
        return NotImplemented
    axes = tuple(range(x.value.ndim)) if dim is None else (dim % x.value.ndim,)
    count = x.value.numel() if dim is None else x.value.shape[dim]
    if not count:
        return NotImplemented
    gradient = gradient_along(x.value, x.residual, axes, _filled)
    if gradient is None:
        return NotImplemented

    def call(t: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = func(t) if dim is None else func(t, dim, keepdim)
        return made

    return reduced(x, call(x.value), row_by_row(call, x.residual, axes[0]), gradient, axes, keepdim)


def _filled(rows: torch.Tensor, start: torch.Tensor, made: torch.Tensor) -> bool:
    done: bool = calls.products_back(rows, start, _rules(rows.shape[-1]), None, made)
    return done


def running(func: Function, args: Sequence[Any], options: Options = None) -> Any:
    """The form of torch.cumprod of rows that are not long."""
    named = {**dict(zip(("input", "dim"), args)), **(options or {})}
    x: Any = named.get("input")
    dim: Any = named.get("dim")
    if calls is None or not is_ordinary(x) or not x.value.ndim or type(dim) is not int or len(named) > 2:
        return NotImplemented
    value, residual = x.value.movedim(dim, -1).contiguous(), x.residual.movedim(dim, -1)
    if not value.is_cpu or not value.numel() or value.shape[-1] > _EXACT:
        return NotImplemented
    if not is_for_one_thread(value.numel(), ALONE):
        return NotImplemented
    row = narrowed(residual, residual.ndim - 1).contiguous()
    if not calls.products_back(value, row, _rules(value.shape[-1]), value, torch.empty_like(value)):
        return NotImplemented  # which leaves the range
    made, base = func(x.value, dim), row_by_row(lambda u: func(u, dim), x.residual, dim % x.value.ndim)
    carrier = with_vjp(made, on_graph_of(x), _Back(dim), (value, row))
    return on_graph(carrier.detach(), base, carrier, x)


class _Back:
    """What takes gradients of running products back."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def __call__(self, grad: torch.Tensor, value: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        grad = grad.movedim(self.dim, -1).contiguous()
        made, rules = torch.empty_like(grad), _rules(value.shape[-1])
        if not calls.products_back(value, row, rules, grad, made):  # where somebody looks on
            made.zero_()
            for time, weight in rules[0]:
                with torch.enable_grad():
                    point = torch.lerp(row.expand(value.shape), value, time).requires_grad_()
                    ends = torch.cumprod(point, -1)
                made += weight * torch.autograd.grad(ends, point, grad)[0]
        return made.movedim(-1, self.dim)
