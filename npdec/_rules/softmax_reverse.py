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
from npdec._law.ordinary_reverse import is_ordinary, on_graph, on_graph_of
from npdec._law.quadrature import tolerance
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._native import calls

__all__ = ["in_reverse"]

Function = Callable[..., Any]
_LENGTH, _NODES = 64, 32  # numbers of a row (as npdec/_native/soft.c has it), and nodes
_SIZE = 2**16  # operations of all rows at a node


def in_reverse(
    log: bool, digits_of: Callable[[float], float], func: Function, args: Sequence[Any], options: dict[str, Any]
) -> Any:
    """The form of an ordinary call; `digits_of` says what a tolerance asks for."""
    x, *rest = args
    if calls is None or not is_ordinary(x) or settings.get().frozen_attention:
        return NotImplemented
    dim, value = rest[0] if rest else options.get("dim"), x.value
    last, n = value.ndim - 1, value.shape[-1] if value.ndim else 0
    if type(dim) is not int or dim not in (last, -1) or not 0 < n <= _LENGTH or not value.is_cpu:
        return NotImplemented
    if value.numel() * (1 if log else n) > _SIZE:
        return NotImplemented
    row = narrowed(x.residual, last).contiguous()
    longest = calls.soft_length(value, row)
    if longest is None:
        return NotImplemented
    digits = digits_of(tolerance(value.dtype))
    needed = max(2, math.ceil(digits / math.asinh(2 * math.pi / longest))) if longest else 2
    if needed > _NODES:
        return NotImplemented
    made = func(value, *rest, **options)
    means = torch.empty_like(value) if log else value.new_empty((*value.shape, n))
    if made.dtype is not value.dtype or not calls.soft_means(value, row, gauss_legendre(needed), means):
        return NotImplemented
    residual = row_by_row(lambda u: func(u, *rest, **options), x.residual, last)
    given = on_graph_of(x)
    if log:
        carrier = given - (given * means).sum(-1, keepdim=True)
    else:
        carrier = torch.matmul(means, given.unsqueeze(-1)).squeeze(-1)
    carrier.data = made
    return on_graph(made, residual, carrier, x)
