"""The path integral in a graph of torch.compile, or under torch.vmap: a fixed number of nodes, watched when it runs.

There panels cannot be halved until the error is small enough. It takes four panels of eight nodes, which are exact to
rounding for functions that are smooth on the scale of a quarter of the path; what completeness then lacks, it measures
as the adaptive quadrature does, and warns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._impl import _util
from npdec._law.panels import path_step
from npdec.exceptions import DecompositionWarning

__all__ = ["integrate_traced"]

_PANELS = 4

Function = Callable[..., Any]


@torch.library.custom_op("npdec::watched", mutates_args=())
def _watched(part: torch.Tensor, missing: torch.Tensor, scale: torch.Tensor, name: str, bound: float) -> torch.Tensor:
    """The part itself. Warns if `missing`, its error of completeness, is larger than `bound` times the scale."""
    worst, most = float(missing), float(scale)
    error = worst / most if most else worst
    if not error <= bound:
        _util.warn(
            f"{name}: completeness holds only to {error:.1e} of the largest magnitude in compiled code and under "
            "torch.vmap, which cannot add nodes to a quadrature: call it without them",
            DecompositionWarning,
        )
    return part.clone()


@_watched.register_fake
def _(part: torch.Tensor, missing: torch.Tensor, scale: torch.Tensor, name: str, bound: float) -> torch.Tensor:
    return torch.empty_like(part)


def _backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    return grad, None, None, None, None


_watched.register_autograd(_backward)


@_watched.register_vmap
def _(
    info: Any,
    in_dims: tuple[int | None, ...],
    part: torch.Tensor,
    missing: torch.Tensor,
    scale: torch.Tensor,
    name: str,
    bound: float,
) -> tuple[torch.Tensor, int | None]:
    """The same of the row that lacks most."""
    error = torch.where(scale == 0, missing, missing / scale).amax()
    return _watched(part, error, torch.ones_like(error), name, bound), in_dims[0]


def integrate_traced(
    name: str,
    rate: Function,
    nodes: Sequence[tuple[float, float]],
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    components: Sequence[torch.Tensor],
    result: Sequence[torch.Tensor],
    base: Sequence[torch.Tensor],
    bound: float,
) -> list[torch.Tensor]:
    """The components of each output, as `npdec._law.quadrature.integrate` gives them.

    `rate(points, tangents)` is the tuple of the directional derivatives; `nodes` are those of a panel."""

    def at(t: torch.Tensor, *tangents: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made: tuple[torch.Tensor, ...] = rate(
            tuple(r + t.to(r.dtype) * d for r, d in zip(start, step, strict=True)), tangents
        )
        # A derivative that vanishes identically comes as a tensor without memory, but for what is added to it.
        return tuple([torch.zeros(r.shape, dtype=r.dtype, device=device) + r for r in made])

    # One axis for nodes and components: the derivative of a determinant is wrong under two torch.vmap.
    each = torch.vmap(at)
    count, device = len(components[0]), start[0].device
    weights = torch.tensor([weight / _PANELS for _, weight in nodes], dtype=torch.float64, device=device)
    sums: list[torch.Tensor] = []
    for panel in range(_PANELS):
        places = [(panel + node) / _PANELS for node, _ in nodes]
        times = torch.tensor(places, dtype=torch.float64, device=device).repeat_interleave(count)
        rates = each(times, *[c.repeat(len(places), *[1] * (c.ndim - 1)) for c in components])
        parts = [torch.tensordot(weights.to(r.dtype), r.reshape(len(places), count, *r.shape[1:]), 1) for r in rates]
        sums = parts if not sums else [s + part for s, part in zip(sums, parts, strict=True)]
    watched = []
    for part, out, r0 in zip(sums, result, base, strict=True):
        change = path_step(out, r0)
        missing = (change - part.sum(0)).detach().abs().amax() if part.numel() else part.new_zeros(())
        sizes = torch.maximum(out.detach().abs(), r0.detach().abs())
        largest = torch.where(sizes == torch.inf, 0, sizes).amax() if part.numel() else part.new_zeros(())
        watched.append(_watched(part, missing, largest, name, bound))
    return watched
