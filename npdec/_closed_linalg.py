"""The law for factorisations of which torch has no derivative, by formulas that it can differentiate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec import _law
from npdec._call import Call
from npdec._closed import read

__all__ = ["RULES"]

Function = Callable[..., Any]


def _reflections(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Q, square, and R of the matrices, by Householder reflections with LAPACK's signs (its zlarfg)."""
    rows, columns = a.shape[-2:]
    q = torch.eye(rows, dtype=a.dtype, device=a.device).expand(*a.shape[:-2], rows, rows)
    r = a
    for k in range(min(rows, columns)):
        column = r[..., k:, k]
        head, tail = column[..., :1], column[..., 1:]
        done = (tail == 0).all(-1, keepdim=True) & (head.imag == 0 if head.is_complex() else True)
        norm = torch.linalg.vector_norm(torch.where(done, torch.ones_like(column), column), dim=-1, keepdim=True)
        beta = torch.where(head.real < 0, norm, -norm).to(a.dtype)
        scale = torch.where(done, torch.ones_like(head), head - beta)
        tau = torch.where(done, torch.zeros_like(head), (beta - head) / beta)
        v = torch.cat([torch.zeros_like(r[..., :k, k]), torch.ones_like(head), tail / scale], -1).unsqueeze(-1)
        tau = tau.unsqueeze(-1)
        r = r - tau.conj() * v @ (v.mH @ r)
        q = q - (q @ v) @ (tau * v.mH)
    return q, torch.triu(r)


def _qr(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """qr: of the columns that complete a basis torch has no derivative, and the reflections have."""
    x, mode = read(args or (kwargs["A"],), kwargs, mode="reduced")
    call = Call(func, None, (x, mode), {})
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        return _law.quadrature(call, lambda a, mode: _reflections(a))
    return _law.quadrature(call)


RULES: dict[Function, Function] = {torch.linalg.qr: _qr}
