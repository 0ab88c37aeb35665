"""Derivatives of pointwise functions at points, as torch differentiates them with the usual options.

Where a function turns, its rate is the one that torch's backward gives.
"""

from __future__ import annotations

import math

import torch

__all__ = [
    "digamma", "elu", "entr", "erf", "erfc", "erfcx", "erfinv", "gelu", "i0", "i0e", "lgamma", "logit", "logsigmoid",
    "ndtr", "ndtri", "relu", "silu", "softplus", "softsign", "spacing", "tanhshrink",
]  # fmt: skip

_ERF, _NORMAL = 2 / math.sqrt(math.pi), 1 / math.sqrt(2 * math.pi)
_LINEAR_FROM = 20  # softplus is its argument beyond


def relu(u: torch.Tensor) -> torch.Tensor:
    return (u > 0).to(u.dtype)


def elu(u: torch.Tensor) -> torch.Tensor:
    return torch.exp(u.clamp(max=0))


def gelu(u: torch.Tensor) -> torch.Tensor:
    return torch.special.ndtr(u) + u * ndtr(u)


def silu(u: torch.Tensor) -> torch.Tensor:
    s = torch.sigmoid(u)
    return s * (1 + u * (1 - s))


def softplus(u: torch.Tensor) -> torch.Tensor:
    return torch.where(u > _LINEAR_FROM, 1, torch.sigmoid(u))


def softsign(u: torch.Tensor) -> torch.Tensor:
    return (1 + u.abs()).square_().reciprocal_()


def logsigmoid(u: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(-u)


def tanhshrink(u: torch.Tensor) -> torch.Tensor:
    return torch.tanh(u).square_()


def erf(u: torch.Tensor) -> torch.Tensor:
    return torch.exp(-u * u) * _ERF


def erfc(u: torch.Tensor) -> torch.Tensor:
    return torch.exp(-u * u) * -_ERF


def erfcx(u: torch.Tensor) -> torch.Tensor:
    return 2 * u * torch.special.erfcx(u) - _ERF


def erfinv(u: torch.Tensor) -> torch.Tensor:
    return torch.exp(torch.erfinv(u).square_()) / _ERF


def ndtr(u: torch.Tensor) -> torch.Tensor:
    return torch.exp(u * u / -2) * _NORMAL


def ndtri(u: torch.Tensor) -> torch.Tensor:
    return torch.exp(torch.special.ndtri(u).square_() / 2) / _NORMAL


def logit(u: torch.Tensor) -> torch.Tensor:
    return 1 / (u * (1 - u))


def entr(u: torch.Tensor) -> torch.Tensor:
    return -1 - torch.log(u)


def lgamma(u: torch.Tensor) -> torch.Tensor:
    return torch.digamma(u)


def digamma(u: torch.Tensor) -> torch.Tensor:
    return torch.polygamma(1, u)


def i0(u: torch.Tensor) -> torch.Tensor:
    return torch.special.i1(u)


def i0e(u: torch.Tensor) -> torch.Tensor:
    return torch.special.i1e(u) - torch.sgn(u) * torch.special.i0e(u)


def spacing(u: torch.Tensor) -> torch.Tensor:
    """It is constant between powers of two."""
    return torch.zeros_like(u)
