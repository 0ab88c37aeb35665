"""The path integral of a derivative for which there is a formula, of few numbers: all nodes of two rules at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from npdec._law.differentiable import Differentiable, Stacked
from npdec._law.quadrature_nodes import gauss_legendre

__all__ = ["at_once", "stacked_rates"]

_NODES, _LESS = 16, 12  # of the rule, and of the one that tells whether these are enough
_MOST = 2**13  # numbers at all nodes


def stacked_rates(
    rates: Stacked,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    tangents: Sequence[torch.Tensor],
    nodes: torch.Tensor,
    batched: bool,
) -> list[torch.Tensor]:
    """The derivatives at all nodes by a formula: with the nodes along the first axis, the tangents along the second."""
    points = [
        (r + nodes.to(d.real.dtype).reshape(-1, *[1] * d.ndim) * d).unsqueeze(1)
        for r, d in zip(start, step, strict=True)
    ]
    made = rates(points, [c.unsqueeze(0) if batched else c[None, None] for c in tangents])
    made = [r.expand(len(nodes), *r.shape[1:]) for r in made]  # which are the same at all nodes of a linear function
    return made if batched else [r.squeeze(1) for r in made]


@functools.cache
def _rules() -> tuple[torch.Tensor, torch.Tensor]:
    """The nodes of both rules, and their weights, (2, N)."""
    more, less = gauss_legendre(_NODES), gauss_legendre(_LESS)
    with torch.inference_mode(False):
        nodes = torch.tensor([node for node, _ in (*more, *less)], dtype=torch.float64, device="cpu")
        weights = nodes.new_zeros((2, len(nodes)))
        weights[0, :_NODES] = nodes.new_tensor([weight for _, weight in more])
        weights[1, _NODES:] = nodes.new_tensor([weight for _, weight in less])
    return nodes, weights


def at_once(function: Differentiable, measured: Any, components: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """The components of each output, of which no graph is wanted; None where there is no formula, or the nodes are not
    enough: for the whole change, or for one of the components."""
    if function.stacked is None or not all(t.is_cpu for t in (*components, *measured.start, *measured.step)):
        return None
    base, outputs = measured.ends
    if sum(t.numel() for t in (*components, *outputs)) * (_NODES + _LESS) > _MOST:
        return None
    if any(bool(unknown.any()) for unknown in measured.unknown):
        return None
    nodes, weights = _rules()
    tangents = [torch.cat([c, d.unsqueeze(0)]) for c, d in zip(components, measured.step, strict=True)]
    try:
        rates = stacked_rates(function.stacked, measured.start, measured.step, tangents, nodes, True)
    except torch.linalg.LinAlgError:  # the path meets a singular matrix
        return None
    sums = [torch.tensordot(weights.to(r.dtype), r, 1).unbind(0) for r in rates]
    made, less = [more for more, _ in sums], [fewer for _, fewer in sums]
    if not measured.missed([part[-1] for part in made], base, outputs) <= measured.bound:
        return None
    for more, fewer, scale in zip(made, less, measured.scale, strict=True):
        size = max(scale, float(more.abs().amax())) if more.numel() else scale
        if more.numel() and not float((more - fewer).abs().amax()) <= measured.bound * size:
            return None
    return [part[:-1] for part in made]
