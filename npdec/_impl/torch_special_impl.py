"""Special functions of torch that have values there but no derivative: Bessel functions with theirs, and orthogonal
polynomials by their recurrences, which torch differentiates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["BESSEL", "POLYNOMIALS", "spherical_j0"]

Function = Callable[..., torch.Tensor]
_S = torch.special


# -- Bessel functions (Abramowitz and Stegun, 9.1.28 and 9.6.27) -------------------------------------------------------


def _with_derivative(function: Function, derivative: Function) -> Function:
    class Differentiable(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grads[0] * derivative(x)

    def applied(x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = Differentiable.apply(x)
        return made

    return applied


def _over(y: torch.Tensor, x: torch.Tensor, limit: float) -> torch.Tensor:
    """y / x, which tends to `limit` at zero."""
    return torch.where(x == 0, limit, y / torch.where(x == 0, torch.ones_like(x), x))


bessel_j0: Function = _with_derivative(_S.bessel_j0, lambda x: -bessel_j1(x))
bessel_j1: Function = _with_derivative(_S.bessel_j1, lambda x: bessel_j0(x) - _over(bessel_j1(x), x, 0.5))
bessel_y0: Function = _with_derivative(_S.bessel_y0, lambda x: -bessel_y1(x))
bessel_y1: Function = _with_derivative(_S.bessel_y1, lambda x: bessel_y0(x) - bessel_y1(x) / x)
modified_i0: Function = _with_derivative(_S.modified_bessel_i0, lambda x: modified_i1(x))  # noqa: PLW0108
modified_i1: Function = _with_derivative(
    _S.modified_bessel_i1, lambda x: modified_i0(x) - _over(modified_i1(x), x, 0.5)
)
modified_k0: Function = _with_derivative(_S.modified_bessel_k0, lambda x: -modified_k1(x))
modified_k1: Function = _with_derivative(_S.modified_bessel_k1, lambda x: -modified_k0(x) - modified_k1(x) / x)
scaled_k0: Function = _with_derivative(_S.scaled_modified_bessel_k0, lambda x: scaled_k0(x) - scaled_k1(x))
scaled_k1: Function = _with_derivative(
    _S.scaled_modified_bessel_k1, lambda x: scaled_k1(x) - scaled_k0(x) - scaled_k1(x) / x
)


def spherical_j0(x: torch.Tensor) -> torch.Tensor:
    return torch.sinc(x / torch.pi)


BESSEL: dict[str, Function] = {
    "bessel_j0": bessel_j0,
    "bessel_j1": bessel_j1,
    "bessel_y0": bessel_y0,
    "bessel_y1": bessel_y1,
    "modified_bessel_i0": modified_i0,
    "modified_bessel_i1": modified_i1,
    "modified_bessel_k0": modified_k0,
    "modified_bessel_k1": modified_k1,
    "scaled_modified_bessel_k0": scaled_k0,
    "scaled_modified_bessel_k1": scaled_k1,
    "spherical_bessel_j0": spherical_j0,
}


# -- orthogonal polynomials --------------------------------------------------------------------------------------------


def _by_recurrence(first: Function, following: Callable[..., torch.Tensor]) -> Function:
    """P_0 = 1, P_1 = first(x), P_{k+1} = following(k, x, P_k, P_{k−1}); of negative degree, zero."""

    def polynomial(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        degree = torch.as_tensor(n, device=x.device).to(torch.int64)
        before, now = torch.ones_like(x), first(x)
        result = torch.where(degree == 0, before, torch.where(degree == 1, now, torch.zeros_like(x)))
        for k in range(1, int(degree.max()) if degree.numel() else 0):
            before, now = now, following(k, x, now, before)
            result = torch.where(degree == k + 1, now, result)
        return result

    return polynomial


def _twice(k: int, x: torch.Tensor, now: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    return 2 * x * now - before


def _shifted(polynomial: Function) -> Function:
    return lambda x, n: polynomial(2 * x - 1, n)


_CHEBYSHEV = {
    "t": _by_recurrence(lambda x: x, _twice),
    "u": _by_recurrence(lambda x: 2 * x, _twice),
    "v": _by_recurrence(lambda x: 2 * x - 1, _twice),
    "w": _by_recurrence(lambda x: 2 * x + 1, _twice),
}
POLYNOMIALS: dict[str, Function] = {
    **{f"chebyshev_polynomial_{kind}": f for kind, f in _CHEBYSHEV.items()},
    **{f"shifted_chebyshev_polynomial_{kind}": _shifted(f) for kind, f in _CHEBYSHEV.items()},
    "hermite_polynomial_h": _by_recurrence(lambda x: 2 * x, lambda k, x, now, before: 2 * (x * now - k * before)),
    "hermite_polynomial_he": _by_recurrence(lambda x: x, lambda k, x, now, before: x * now - k * before),
    "laguerre_polynomial_l": _by_recurrence(
        lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)
    ),
    "legendre_polynomial_p": _by_recurrence(
        lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)
    ),
}
