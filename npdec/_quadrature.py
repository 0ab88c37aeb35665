"""The law for any differentiable function: the path integral of its Jacobian-vector product, by Gauss–Legendre panels.

On a panel [a, b] of the path the integral of the derivative along the whole difference x − r must equal the change of
the function: completeness itself measures the error of the quadrature, panel by panel, at no cost. Panels that miss
the tolerance are halved.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec.exceptions import DecompositionWarning

__all__ = ["gauss_legendre", "integrate"]

Function = Callable[..., Any]
_NODES = 8
_MAX_PANELS = 256
_MAX_DEPTH = 50


@functools.cache
def gauss_legendre(n: int) -> tuple[tuple[float, float], ...]:
    """(node, weight) pairs on [0, 1], exact for polynomials of degree 2n − 1.

    Golub and Welsch, "Calculation of Gauss quadrature rules" (1969): the nodes are the eigenvalues of the Jacobi matrix,
    the weights the squared first components of its eigenvectors.
    """
    k = torch.arange(1, n, dtype=torch.float64, device="cpu")
    off = k / torch.sqrt(4 * k * k - 1)
    jacobi = torch.diag(off, 1) + torch.diag(off, -1)
    nodes, vectors = torch.linalg.eigh(jacobi)
    return tuple(zip(((nodes + 1) / 2).tolist(), vectors[0].square().tolist(), strict=True))


def tolerance(dtype: torch.dtype) -> float:
    """How far completeness may miss, relative to the largest magnitude of the result."""
    return 4096 * torch.finfo(dtype).eps


@functools.cache
def _load_jvp() -> None:
    """torch.func.jvp compiles some formulas with the deprecated torch.jit.script when it is first used, and warns of it:
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_functorch/eager_transforms.py (lazy_load_decompositions)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.func.jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))


def _jvp(function: Function, points: tuple[torch.Tensor, ...], tangents: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
    """The directional derivatives of the outputs, as a tuple."""
    with torch.enable_grad():  # torch.func.jvp differentiates nothing under no_grad
        try:
            return torch.func.jvp(function, points, tangents)[1]
        except NotImplementedError:  # no forward-mode formula: differentiate the transposed product, which is linear
            outputs, vjp = torch.func.vjp(function, *points)
            _, transposed = torch.func.vjp(vjp, tuple(torch.zeros_like(out) for out in outputs))
            return transposed(tangents)[0]


def _at(start: Sequence[torch.Tensor], step: Sequence[torch.Tensor], t: float) -> tuple[torch.Tensor, ...]:
    return tuple(r if t == 0.0 else r + t * d for r, d in zip(start, step, strict=True))


def _panel(
    function: Function,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    tangents: tuple[torch.Tensor, ...],
    a: float,
    b: float,
    batched: bool,
) -> list[torch.Tensor]:
    total: list[torch.Tensor] = []
    for node, weight in gauss_legendre(_NODES):
        points = _at(start, step, a + (b - a) * node)
        if batched:
            rates = torch.vmap(lambda *c, points=points: _jvp(function, points, c))(*tangents)
        else:
            rates = _jvp(function, points, tangents)
        weight *= b - a
        total = [r * weight for r in rates] if not total else [s + r * weight for s, r in zip(total, rates, strict=True)]
    return total


def integrate(
    name: str,
    function: Function,
    values: Sequence[torch.Tensor],
    residuals: Sequence[torch.Tensor],
    components: Sequence[torch.Tensor],
    result: Sequence[torch.Tensor],
    base: Sequence[torch.Tensor],
    rtol: float | None = None,
) -> list[torch.Tensor]:
    """The components of each output of `function`, a tuple-valued function of the tensors.

    `result` and `base` are its outputs at the values and at the residuals. Warns (DecompositionWarning, naming the
    operation and the error) if completeness stays above `rtol` times the largest magnitude of an output.
    """
    count = len(components[0])
    if not count or not any(out.numel() for out in result):
        return [out.new_zeros((count, *out.shape)) for out in result]
    step = tuple(x - r for x, r in zip(values, residuals, strict=True))
    detached_start, detached_step = [r.detach() for r in residuals], tuple(d.detach() for d in step)
    _load_jvp()
    scale = [float(torch.maximum(out.detach().abs().max(), r0.detach().abs().max())) if out.numel() else 0.0
             for out, r0 in zip(result, base, strict=True)]  # fmt: skip
    bound = [(rtol or tolerance(out.dtype)) * s for out, s in zip(result, scale, strict=True)]
    pending: list[tuple[float, float, Sequence[torch.Tensor], Sequence[torch.Tensor], int]] = [
        (0.0, 1.0, [b.detach() for b in base], [v.detach() for v in result], 0)
    ]
    accepted: list[tuple[float, float]] = []
    worst = 0.0
    while pending:
        a, b, low, high, depth = pending.pop()
        total = _panel(function, detached_start, detached_step, detached_step, a, b, batched=False)
        errors = [
            float((h - lo - s.detach()).abs().max()) if s.numel() else 0.0
            for h, lo, s in zip(high, low, total, strict=True)
        ]
        if all(e <= t for e, t in zip(errors, bound, strict=True)):
            accepted.append((a, b))
        elif depth >= _MAX_DEPTH or len(accepted) + len(pending) >= _MAX_PANELS:
            accepted.append((a, b))
            worst = max(worst, *(e / s if s else e for e, s in zip(errors, scale, strict=True)))
        else:
            middle = (a + b) / 2
            with torch.no_grad():
                between = function(*_at(detached_start, detached_step, middle))
            pending += [(middle, b, between, high, depth + 1), (a, middle, low, between, depth + 1)]
    if worst or worst != worst:
        warnings.warn(
            f"{name}: completeness holds only to {worst:.1e} of the largest magnitude: the path from the baseline to the "
            "value passes close to a singularity",
            DecompositionWarning,
            stacklevel=4,
        )
    sums: list[torch.Tensor] = []
    for a, b in sorted(accepted):
        part = _panel(function, residuals, step, tuple(components), a, b, batched=True)
        sums = part if not sums else [s + p for s, p in zip(sums, part, strict=True)]
    return sums
