"""Reverse mode through products: what a product passes back to its factors.

A product is derived by each factor at what the others are, and for two factors that both move, at their midpoints. The
usual products of torch are derived here; others by autograd, of the pass that computes the value where that can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.broadcast_residuals import of_the_residuals
from npdec._decomposed.call import Call
from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import by_vjp, carried, graft, no_graph, scaled, stand_in, uses_vjp
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl._storage import shares_memory

__all__ = ["of_one", "of_two", "with_constants"]

Pull = Callable[..., Any]


def with_constants(call: Call) -> torch.Tensor:
    """A product of decomposed tensors with constants; plain if its dtype carries no contributions."""
    if call.traits & Trait.HIDES_WRITES:
        call = call.keeping_constants()
    tensors = call.tensors
    first = tensors[0]
    found = _by_matrix(call) if uses_vjp(True) else None
    if found is not None:
        vjp, held = found
        with no_graph(True):
            value = call(first.value)
            residual = of_the_residuals(call, value)
        if value.dtype is first.components.dtype:
            made = by_vjp(value, residual, first.components, vjp, held=held)
            return DecomposedTensor(value, residual, made, first.labels, True)
    carrier: torch.Tensor = call(*[stand_in(t.value.detach(), t.components) for t in tensors])
    if not carries(carrier.dtype):
        return carrier
    value = carrier.detach()
    with no_graph(True):
        residual = of_the_residuals(call, value)
    return DecomposedTensor(value, residual, torch.sub(carrier, residual).unsqueeze(0), first.labels, True)


def of_one(call: Call) -> Any:
    """A linear function of one real tensor, differentiated by autograd of the pass that computes the value, where it
    gives a new one; None of another."""
    (x,) = call.tensors
    if x.value.is_complex() or x.value.is_meta:
        return None
    carrier: Any = call(stand_in(x.value.detach(), x.components))
    if not isinstance(carrier, torch.Tensor) or carrier.dtype is not x.value.dtype or shares_memory(carrier, x.value):
        return None
    value = carrier.detach()
    with no_graph(True):
        residual = of_the_residuals(call, value)
    return DecomposedTensor(value, residual, torch.sub(carrier, residual).unsqueeze(0), x.labels, True)


def of_two(
    call: Call,
    value: torch.Tensor,
    residual: torch.Tensor,
    components: Sequence[torch.Tensor],
    points: Sequence[torch.Tensor],
) -> DecomposedTensor:
    """A product of two decomposed tensors, whose midpoints are `points`."""
    labels = call.tensors[0].labels
    vjp = _by_each(call, *points)
    if vjp is not None:
        return DecomposedTensor(value, residual, by_vjp(value, residual, components, vjp), labels, True)
    carrier = call(*[carried(point, c) for point, c in zip(points, components, strict=True)])
    return DecomposedTensor(value, residual, graft(value, residual, carrier).unsqueeze(0), labels, True)


def _by_each(call: Call, a: torch.Tensor, b: torch.Tensor) -> Pull | None:
    """The gradients (1, *shape) by two factors; None for a product of another kind."""
    if len(call.args) > 2 or call.kwargs or any(leaf.place is not None for leaf in call.decomposed):
        return None
    if a.dtype is not b.dtype or a.is_complex() or a.ndim != b.ndim:
        return None
    if call.traits & Trait.MULTIPLY and a.shape == b.shape:
        by_a, by_b = scaled(b), scaled(a)
        return lambda grad: (by_a(grad), by_b(grad))
    if call.traits & Trait.MATMUL and a.ndim > 1 and a.shape[:-2] == b.shape[:-2]:
        return lambda grad: (torch.matmul(grad, b.mT), torch.matmul(a.mT, grad))
    return None


def _by_matrix(call: Call) -> tuple[Pull, Sequence[torch.Tensor]] | None:
    """The gradient (1, *shape) by the one factor of a product with a matrix, and the tensors that it takes beside that
    of the product; None for a product of another kind."""
    # Where the factor stands whose last axis meets a constant matrix, which is the argument after it.
    leaf, place = call.decomposed[0], 0 if call.traits & Trait.LAYER else 1
    if (
        not call.traits & (Trait.LAYER | Trait.ADDMM)
        or leaf.key != place
        or leaf.place is not None
        or len(call.decomposed) > 1
    ):
        return None
    if len(call.args) < place + 2 or call.kwargs:
        return None
    matrix, x = call.args[place + 1], leaf.tensor.value
    if not isinstance(matrix, torch.Tensor) or matrix.ndim != 2 or x.ndim < 2 or x.is_complex():
        return None
    if matrix.dtype is not x.dtype:
        return None
    if matrix.is_inference():  # autograd keeps none
        return lambda grad: torch.matmul(grad, matrix if place == 0 else matrix.mT), ()
    return lambda grad, matrix: torch.matmul(grad, matrix if place == 0 else matrix.mT), (matrix.detach(),)
