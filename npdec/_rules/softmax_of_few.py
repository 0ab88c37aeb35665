"""softmax and log_softmax of ordinary calls (`npdec._law.ordinary`) of a few numbers: the nodes of
`npdec._rules.softmax`, in as few calls of torch as there can be."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.native_forms import in_c
from npdec._law.ordinary import Form, built, is_ordinary
from npdec._law.quadrature import tolerance
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._rules.softmax_reverse import in_reverse, plan
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = ["digits_of", "few_nodes", "in_blocks", "of_rows", "passed"]

Function = Callable[..., Any]
_FEW = 8  # nodes that all rows may have
_HANDFUL = 64  # numbers
_SHORT, _BLOCK = 2**8, 2**17  # elements of a row, and of a block of rows
_NEAR = 16.0  # from zero, where numbers keep their digits though nothing is subtracted from them


def digits_of(wanted: float) -> float:
    """How many nodes a tolerance asks for, by log ρ (`npdec._rules.softmax`)."""
    return math.log(max(40 / wanted, 2.0)) / 2


def few_nodes(longest: float, wanted: float) -> int:
    """How many nodes rows of no larger range need for a tolerance, if these are few; else 0."""
    digits = digits_of(wanted)
    if not longest <= 2 * math.pi / math.sinh(digits / _FEW):
        return 0
    return max(2, math.ceil(digits / math.asinh(2 * math.pi / longest))) if longest else 2


@functools.cache
def _rule(n: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Times and weights of so many nodes, (N, 1)."""
    with torch.inference_mode(False):
        times, weights = torch.tensor(gauss_legendre(n), dtype=dtype, device="cpu").unsqueeze(-1).unbind(1)
    return times, weights


def of_rows(log: bool) -> Form:
    """The form of softmax, or of log_softmax."""

    def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        if not args:  # it is named
            return NotImplemented
        x = args[0]
        if type(x) is DecomposedTensor and x.reverse:
            return in_reverse(log, digits_of, func, args, options or {})
        dim = _axis(x, args, options or {}) if is_ordinary(x) else None
        if dim is None:
            return NotImplemented
        axes = x.value.ndim
        value, residual, components = [_rows_of(t, axes, dim) for t in (x.value, x.residual, x.components)]
        graph = value.requires_grad or residual.requires_grad or components.requires_grad
        if settings.get().frozen_attention or (graph and torch.is_grad_enabled()):
            return NotImplemented
        longest = 0.0
        for ends, starts in zip(_numbers(value), _numbers(residual), strict=True):
            if not all(-_NEAR <= u <= _NEAR for u in ends) or not all(-_NEAR <= u <= _NEAR for u in starts):
                return NotImplemented
            moves = [u - r for u, r in zip(ends, starts, strict=True)]
            longest = max(longest, max(moves) - min(moves))
        count = few_nodes(longest, tolerance(value.dtype))
        if not count:
            return NotImplemented
        made = [func(t, *args[1:], **options) if options else func(t, *args[1:]) for t in (x.value, x.residual)]
        times, weights = _rule(count, value.dtype)
        p = torch.softmax(torch.addcmul(residual.unsqueeze(-2), times, (value - residual).unsqueeze(-2)), -1)
        weighted = p * weights
        mean = weighted.sum(-2)
        # What is the same for a whole row vanishes exactly.
        if value.ndim == 1:
            numbers = mean.tolist()
            top = numbers.index(max(numbers))
            components = components - components[:, top : top + 1]
        else:
            place = mean.argmax(-1, keepdim=True)
            components = components - components.gather(-1, place.expand(components.shape[0], *place.shape))
        if log:
            passed = components - (components * mean).sum(-1, keepdim=True)
        elif value.ndim == 1:
            passed = torch.addmm(components * mean, components, torch.mm(p.t(), weighted), alpha=-1)
        else:
            across = torch.bmm(components.transpose(0, 1), torch.bmm(p.mT, weighted))
            passed = components * mean - across.transpose(0, 1)
        return built(made[0], made[1], _from_rows(passed, x.components, axes, dim), x.labels)

    known = (functools.partial(plan, log, digits_of), torch.log_softmax if log else torch.softmax)
    return in_c("softened", known=known)(form)


def _rows_of(t: torch.Tensor, axes: int, dim: int) -> torch.Tensor:
    """A tensor of so many axes, or its components, with `dim`, counted from the end, as the last axis, and the others
    as one before it."""
    if axes == 1 or (axes == 2 and dim == -1):
        return t
    moved = t.movedim(dim, -1)
    return moved.reshape((*t.shape[: t.ndim - axes], -1, moved.shape[-1]))


def _from_rows(rows: torch.Tensor, like: torch.Tensor, axes: int, dim: int) -> torch.Tensor:
    """The same back, in the shape of another one."""
    if axes == 1 or (axes == 2 and dim == -1):
        return rows
    return rows.reshape(like.movedim(dim, -1).shape).movedim(-1, dim).contiguous()


def _numbers(x: torch.Tensor) -> list[list[float]]:
    numbers: Any = x.tolist()
    return [numbers] if x.ndim == 1 else numbers


def _axis(x: Any, args: Sequence[Any], options: dict[str, Any]) -> int | None:
    """The axis of a call with a few numbers on the host, in their dtype, counted from the end; else None."""
    value = x.value
    axes, dim = value.ndim, args[1] if len(args) == 2 else options.get("dim")
    if not axes or not 0 < value.numel() <= _HANDFUL or not value.is_cpu:
        return None
    if len(args) > 2 or type(dim) is not int or not -axes <= dim < axes or options.get("dtype") is not None:
        return None
    return dim - axes if dim >= 0 else dim


def in_blocks(
    r: torch.Tensor,
    d: torch.Tensor,
    empty: torch.Tensor | None,
    pieces: Sequence[tuple[torch.Tensor | None, torch.Tensor, torch.Tensor]],
    components: torch.Tensor,
) -> torch.Tensor | None:
    """∫ p (c − p·c) dt for the only component (1, R, n) of all rows, which have the same nodes (N,), by sums: of short
    rows they take less time than products of a batch do. Blocks of rows stay where the processor finds them again.
    None of other rows, or where a graph is wanted."""
    rows, times, weights = pieces[0]
    if len(pieces) > 1 or rows is not None or weights.ndim > 1 or len(components) > 1 or not 0 < r.shape[1] <= _SHORT:
        return None
    if r.dtype is not components.dtype or tracing() or is_transformed():
        return None
    if torch.is_grad_enabled() and (components.requires_grad or r.requires_grad or d.requires_grad):
        return None
    made, nodes = torch.empty_like(components), list(zip(times.tolist(), weights.tolist(), strict=True))
    step = max(1, _BLOCK // r.shape[1])
    for i in range(0, len(r), step):
        block = slice(i, i + step)
        passed(r[block], d[block], components[0, block], nodes, made[0, block], None if empty is None else empty[block])
    return made


def passed(
    r: torch.Tensor,
    d: torch.Tensor,
    c: torch.Tensor,
    nodes: Sequence[tuple[float, float]],
    out: torch.Tensor,
    empty: torch.Tensor | None = None,
) -> torch.Tensor:
    """∫ p (c − p·c) dt of rows (R, n), node by node, put where it is told."""
    place = torch.add(r, d, alpha=0.5).argmax(-1, keepdim=True)
    c = c - c.gather(-1, place)  # what is the same for a whole row vanishes exactly
    total = across = None
    for time, weight in nodes:
        p = torch.softmax(torch.add(r, d, alpha=time), -1)
        if empty is not None:
            p.masked_fill_(empty, 0)
        product = p * c
        share = product.sum(-1, keepdim=True).mul_(weight)
        if total is None or across is None:
            total, across = product.mul_(weight), p.mul_(share)
        else:
            total.add_(product, alpha=weight)
            across.addcmul_(p, share)
    assert total is not None
    assert across is not None
    return torch.sub(total, across, out=out)
