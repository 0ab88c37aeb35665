"""softmax and log_softmax in reverse mode by the shortest way, of rows of few numbers along the last axis: the mean
derivative is a matrix of each row (`npdec._native`), with which gradients go back without Python. The general way is
`npdec._rules.softmax`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import narrowed, row_by_row
from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary_reverse import is_ordinary, on_graph, on_graph_of
from npdec._law.quadrature import tolerance
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.reverse_forms import on_graph_with
from npdec._native import calls

__all__ = ["in_reverse", "log_sum", "mean_of_rows"]

Function = Callable[..., Any]
_LENGTH, _NODES = 64, 32  # numbers of a row (as npdec/_native/soft.c has it), and nodes
_SIZE = 2**16  # operations of all rows at a node
_FEW = 12  # nodes, by which torch finds the mean of other rows


def mean_of_rows(value: torch.Tensor, residual: torch.Tensor, digits_of: Callable[[float], float]) -> Any:
    """The mean of softmax along the path of rows, which are the last axis, where these are short, or need few nodes;
    None of others. `digits_of` says what a tolerance asks for."""
    if calls is None or not value.is_cpu or not value.numel():
        return None
    row = narrowed(residual, value.ndim - 1).contiguous()
    value = value.contiguous()
    if value.shape[-1] <= _LENGTH and value.numel() <= _SIZE:
        longest = calls.soft_length(value, row)
        nodes = 0 if longest is None else _nodes(longest, value.dtype, digits_of)
        means = torch.empty_like(value)
        return means if nodes and calls.soft_means(value, row, gauss_legendre(nodes), means) else None
    start = row - row.amax(-1, keepdim=True)
    step = (value - value.amax(-1, keepdim=True)).sub_(start)
    longest = float(step.amax(-1).sub_(step.amin(-1)).amax())
    nodes = _nodes(longest, value.dtype, digits_of)
    if not 0 < nodes <= _FEW:
        return None
    made: torch.Tensor | None = None
    for time, weight in gauss_legendre(nodes):
        p = torch.softmax(torch.add(start, step, alpha=time), -1)
        made = p.mul_(weight) if made is None else made.add_(p, alpha=weight)
    return made


def _nodes(longest: float, dtype: torch.dtype, digits_of: Callable[[float], float]) -> int:
    """How many nodes rows of no larger range need; zero where these are many."""
    if not longest < math.inf:
        return 0
    digits = digits_of(tolerance(dtype))
    needed = max(2, math.ceil(digits / math.asinh(2 * math.pi / longest))) if longest else 2
    return needed if needed <= _NODES else 0


def in_reverse(
    log: bool, digits_of: Callable[[float], float], func: Function, args: Sequence[Any], options: dict[str, Any]
) -> Any:
    """The form of an ordinary call; `digits_of` says what a tolerance asks for."""
    x, *rest = args
    if calls is None or not is_ordinary(x) or settings.get().frozen_attention:
        return NotImplemented
    dim, value, residual = rest[0] if rest else options.get("dim"), x.value, x.residual
    if type(dim) is not int or not value.ndim or not value.is_cpu or options.get("dtype") is not None:
        return NotImplemented
    last = dim in (value.ndim - 1, -1)
    if not last:
        value, residual = value.movedim(dim, -1), residual.movedim(dim, -1)
    n = value.shape[-1]
    if not log and not (0 < n <= _LENGTH and value.numel() * n <= _SIZE):
        return NotImplemented
    made = func(x.value, *rest, **options)
    if made.dtype is not value.dtype:
        return NotImplemented
    means = mean_of_rows(value, residual, digits_of) if log else _matrices(value, residual, digits_of)
    if means is None:
        return NotImplemented
    base = row_by_row(lambda u: func(u, *rest, **options), x.residual, dim % value.ndim)
    given = on_graph_of(x) if last else on_graph_of(x).movedim(dim, -1)
    if log:
        carrier = given - (given * means).sum(-1, keepdim=True)
    else:
        carrier = torch.matmul(means, given.unsqueeze(-1)).squeeze(-1)
    if not last:
        carrier = carrier.movedim(-1, dim)
    carrier.data = made
    return on_graph(made, base, carrier, x)


def _matrices(value: torch.Tensor, residual: torch.Tensor, digits_of: Callable[[float], float]) -> Any:
    """The mean derivative of softmax of each row, which C finds; None where it does not."""
    row, value = narrowed(residual, value.ndim - 1).contiguous(), value.contiguous()
    longest = calls.soft_length(value, row)
    nodes = 0 if longest is None else _nodes(longest, value.dtype, digits_of)
    means = value.new_empty((*value.shape, value.shape[-1]))
    return means if nodes and calls.soft_means(value, row, gauss_legendre(nodes), means) else None


def log_sum(
    digits_of: Callable[[float], float], func: Function, args: Sequence[Any], options: dict[str, Any] | None = None
) -> Any:
    """The form of logsumexp along one axis."""
    x, *rest = args
    dim: Any = rest[0] if rest else (options or {}).get("dim")
    dim = dim[0] if type(dim) in (tuple, list) and len(dim) == 1 else dim
    if type(dim) is not int or type(x) is not DecomposedTensor or not is_ordinary(x) or not x.value.ndim:
        return NotImplemented
    keepdim = rest[1] if len(rest) > 1 else (options or {}).get("keepdim", False)
    means = mean_of_rows(x.value.movedim(dim, -1), x.residual.movedim(dim, -1), digits_of)
    if means is None:
        return NotImplemented
    value = func(x.value, *rest, **(options or {}))
    base = row_by_row(lambda u: func(u, dim, True), x.residual, dim % x.value.ndim)
    carrier = (on_graph_of(x) * means.movedim(-1, dim)).sum(dim, keepdim=keepdim)
    return on_graph_with(x, value, base if keepdim else base.squeeze(dim), carrier)
