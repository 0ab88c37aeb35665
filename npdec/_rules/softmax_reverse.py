"""softmax and log_softmax in reverse mode by the shortest way: gradients go back by one node, which finds the mean
derivative of each row (`npdec._native`). The general way is `npdec._rules.softmax`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import again_and_again, row_by_row
from npdec._decomposed.reverse_graph import with_vjp
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import is_for_one_thread
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary_reverse import is_ordinary, on_graph, on_graph_of
from npdec._law.quadrature import tolerance
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._law.reverse_forms import on_graph_with
from npdec._native import calls

__all__ = ["in_reverse", "log_sum", "mean_of_rows", "nodes_of", "plan", "plan_of_sums", "rules_of", "table_of"]

Function = Callable[..., Any]
_NODES = 32
_DTYPES = {64: torch.float64, 32: torch.float32}
_LONG = 24.0  # the range of a row, over which single precision is not enough


def mean_of_rows(value: torch.Tensor, residual: torch.Tensor, digits_of: Callable[[float], float]) -> Any:
    """The mean of softmax along the path of rows, which are the last axis; None of others than C computes. `digits_of`
    says what a tolerance asks for."""
    found = nodes_of(value, residual, digits_of)
    if found is None:
        return None
    value, row, _ = found
    means = torch.empty_like(value)
    return means if calls.soft_back(value, row, None, table_of(value, digits_of), means) else None


def nodes_of(value: torch.Tensor, residual: torch.Tensor, digits_of: Callable[[float], float]) -> Any:
    """The rows of the value and the equal ones of the residual as they lie in memory, and the nodes that they need;
    None of others than C computes, or where these are many."""
    if calls is None or not value.is_cpu or not value.numel() or not value.ndim:
        return None
    if not is_for_one_thread(value.numel()):
        return None
    value, row = value.contiguous(), again_and_again(residual, value.ndim - 1)
    longest = calls.soft_length(value, row)
    if longest is None or (longest > _LONG and value.dtype is torch.float32):
        return None
    nodes = _nodes(longest, value.dtype, digits_of)
    return (value, row, gauss_legendre(nodes)) if nodes else None


def _nodes(longest: float, dtype: torch.dtype, digits_of: Callable[[float], float]) -> int:
    """How many nodes rows of no larger range need; zero where these are many."""
    if not longest < math.inf:
        return 0
    digits = digits_of(tolerance(dtype))
    needed = max(2, math.ceil(digits / math.asinh(2 * math.pi / longest))) if longest else 2
    return needed if needed <= _NODES else 0


@functools.cache
def rules_of(digits: float, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Nodes and weights by their number, (number, 2, nodes), and the ranges of rows up to which so many serve."""
    limits = [0.0, 0.0, *[2 * math.pi / math.sinh(digits / nodes) for nodes in range(2, _NODES + 1)]]
    if dtype is torch.float32:
        limits = [min(limit, _LONG) for limit in limits]
    made = torch.zeros((_NODES + 1, 2, _NODES), dtype=torch.float64, device="cpu")
    for nodes in range(2, _NODES + 1):
        made[nodes, :, :nodes] = torch.tensor(gauss_legendre(nodes), dtype=torch.float64, device="cpu").t()
    return made, torch.tensor(limits, dtype=torch.float64, device="cpu")


def table_of(value: torch.Tensor, digits_of: Callable[[float], float]) -> tuple[torch.Tensor, torch.Tensor]:
    """The same for rows of a dtype: each has as many nodes as its own path needs."""
    return rules_of(digits_of(tolerance(value.dtype)), value.dtype)


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
    found = nodes_of(value, residual, digits_of)
    if found is None:
        return NotImplemented
    made = func(x.value, *rest, **options)
    if made.dtype is not value.dtype:
        return NotImplemented
    base = row_by_row(lambda u: func(u, *rest, **options), x.residual, dim % value.ndim)
    back = plan(log, digits_of, value.dtype.itemsize * 8)[1]
    if last:
        carrier = with_vjp(made, on_graph_of(x), back, found[:2])
        return on_graph(carrier.detach(), base, carrier, x)
    seen = torch.empty_like(made.movedim(dim, -1))
    carrier = with_vjp(seen, on_graph_of(x).movedim(dim, -1), back, found[:2]).movedim(-1, dim)
    carrier.data = made
    return on_graph(made, base, carrier, x)


@functools.cache
def plan(log: bool, digits_of: Callable[[float], float], bits: int) -> tuple[float, _Back]:
    """For numbers of so many bits: up to which range of a row nodes are enough, and what takes gradients back."""
    table = rules_of(digits_of(tolerance(dtype := _DTYPES[bits])), dtype)
    return table[1][-1].item(), _Back(log, table)


@functools.cache
def plan_of_sums(digits_of: Callable[[float], float], bits: int) -> tuple[float, tuple[torch.Tensor, torch.Tensor]]:
    """For numbers of so many bits: up to which range of a row nodes are enough, and these."""
    table = rules_of(digits_of(tolerance(dtype := _DTYPES[bits])), dtype)
    return table[1][-1].item(), table


class _Back:
    """What takes gradients of softmax back, whose mean derivative is a symmetric matrix of each row; or those of
    log_softmax, from which the mean of softmax is taken as often as they are in all."""

    def __init__(self, log: bool, table: tuple[torch.Tensor, torch.Tensor]) -> None:
        self.log, self.table = log, table

    def __call__(self, grad: torch.Tensor, value: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        grad = grad.contiguous()
        made = torch.empty_like(grad)
        if not calls.soft_back(value, row, None if self.log else grad, self.table, made):
            made.zero_()  # where somebody looks on
            step = torch.where(value == row, 0, value - row)
            for time, weight in gauss_legendre(_NODES):
                p = torch.softmax(torch.add(row, step, alpha=time), -1)
                made += weight * p * (1 if self.log else grad - (p * grad).sum(-1, keepdim=True))
        return torch.addcmul(grad, made, grad.sum(-1, keepdim=True), value=-1) if self.log else made


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
