"""The directions of complex numbers, z / |z|: the mean derivative along a straight path is elementary, as that of unit
vectors is. A path through zero jumps there, or from there: what the components have of the jump is in proportion to
what they are along the path."""

from __future__ import annotations

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.size_warnings import warn_of_size
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl.segments_impl import mean_jacobian, of_sums
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing

__all__ = ["directions"]

_ROUNDINGS = 16  # of the larger end of a path, by which one through zero may miss it


def directions(call: Call) -> DecomposedTensor | None:
    """The directions of complex numbers, by their real and imaginary parts; None of other functions, where a path is
    not finite, and where there are no elements."""
    (x,) = call.tensors
    if not (call.traits & Trait.DIRECTION and x.value.is_complex() and call.decomposed[0].place is None):
        return None
    if not x.value.numel():
        return None
    with no_graph(x.reverse):
        value, residual = call(x.value), call(x.residual)
        end, start, change = map(_pairs, (x.value, x.residual, value - residual))
        unit = torch.cat([end, start], -1).abs().amax(-1, keepdim=True)
        if not (tracing() or mapped()) and not bool(torch.isfinite(unit).all()):
            return None
        unit = torch.where(unit == 0, 1, unit)
        end, start = end / unit, start / unit
        near = _ROUNDINGS * torch.finfo(x.value.dtype).eps
    given = torch.view_as_real(x.components.resolve_conj())
    parts = given.reshape(len(given), len(unit), 2).double() / unit
    made = _turned(end, start, change, parts, near, x.reverse)
    components = torch.view_as_complex(made.reshape(given.shape).to(given.dtype))
    if not x.reverse:
        warn_of_size(name_of(call.func), [components], [x.components], [value], [residual], reverse=False)
    return DecomposedTensor(value, residual, components, x.labels, x.reverse)


def _pairs(z: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(z.resolve_conj()).reshape(-1, 2).double()


def _turned(
    x: torch.Tensor, r: torch.Tensor, change: torch.Tensor, components: torch.Tensor, near: float, reverse: bool
) -> torch.Tensor:
    """The components (C, R, 2) of rows over their length, which change so much from r to x. Nearer to the origin than
    `near` a path goes through it."""
    with no_graph(reverse):
        d = x - r
        length = torch.linalg.vector_norm(d, dim=-1, keepdim=True)
        before, after = _dot(r, d) >= 0, _dot(x, d) <= 0  # the end that is nearest to the origin
        across = (r[:, :1] * x[:, 1:] - r[:, 1:] * x[:, :1]).abs() / torch.where(length > 0, length, 1)
        ends = [torch.linalg.vector_norm(t, dim=-1, keepdim=True) for t in (r, x)]
        jumps = torch.where(before, ends[0], torch.where(after, ends[1], across)) <= near
        r, ahead = torch.where(jumps, 1, r), torch.where(jumps, 0, d)
        numbers = None
        if not (tracing() or mapped()):
            numbers = of_sums(_dot(r, r), _dot(r, ahead), _dot(ahead, ahead))
        share = torch.where(jumps & (length > 0), change / torch.where(length > 0, length, 1) ** 2, 0)
        if numbers is None:
            diagonal, basis, matrix, _ = mean_jacobian(torch.stack([r, ahead], -2), 0.0)
    if numbers is None:
        shares = torch.matmul(matrix, torch.bmm(basis, components.permute(1, 2, 0)))
        made = components * diagonal - torch.bmm(shares.mT, basis).transpose(0, 1)
    else:
        diagonal, w00, w01, w11 = numbers
        along_r, along_d = _dot(components, r), _dot(components, ahead)
        made = components * diagonal - r * (w00 * along_r + w01 * along_d) - ahead * (w01 * along_r + w11 * along_d)
    return torch.where(jumps, share * _dot(components, d), made)


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum(-1, keepdim=True)
