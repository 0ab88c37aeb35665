"""The law of linear and multilinear arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._decomposed import batching
from npdec._decomposed.axes import lead
from npdec._decomposed.broadcast_residuals import of_the_residuals
from npdec._decomposed.call import Call
from npdec._decomposed.components import Use, total
from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import guarded, no_graph, uses_vjp
from npdec._decomposed.size_warnings import has_finite_sum, is_large, warn_infinite, warn_of_size, watch_factors
from npdec._decomposed.tensor import DecomposedTensor, align, carries
from npdec._impl import _storage, _util
from npdec._law import reverse_products
from npdec._law.pack import pack
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing
from npdec.exceptions import DecompositionWarning

__all__ = ["linear", "multilinear"]


def linear(call: Call) -> Any:
    """All decomposed arguments enter linearly: the function itself, on each component."""
    tensors = call.tensors
    product = call.reverse and call.decomposed[0].tag == "Multilinear" and not tracing()
    if product and not call.traits & Trait.ELEMENTWISE:
        made: Any = reverse_products.with_constants(call)
        if not isinstance(made, DecomposedTensor):
            _warn_dropped(call, made)
        return made
    if not call.traits and len(tensors) == 1 and uses_vjp(call.reverse):
        made = reverse_products.of_one(call)
        if made is not None:
            return made
    with no_graph(call.reverse):
        value = call(*[t.value for t in tensors])
        if isinstance(value, torch.Tensor) and not carries(value.dtype):
            _warn_dropped(call, value)
            return value
        if isinstance(value, torch.Tensor) and value.dtype is not tensors[0].value.dtype and not tracing():
            value = _storage.of_its_base(value)
        residual = of_the_residuals(call, value)
    labels, components = align(tensors, None if call.reverse else Use.LINEAR)
    alone = product and len(tensors) == 1 and isinstance(value, torch.Tensor) and uses_vjp(True)
    doubtful = alone and (call.has_tensor_factor() or call.has_infinite_factor())
    if doubtful and not has_finite_sum(value):
        if call.has_infinite_factor():
            warn_infinite(name_of(call.func))
        with no_graph(True):
            multiplier = call.linear_part(torch.ones_like(tensors[0].value))
        return pack(value, residual, guarded(lead(components[0], value.ndim), multiplier), labels, True)
    made = batching.apply(call, call.linear_part, components, value, range(len(tensors)), tensors)
    if not call.reverse and len(labels) > 1 and isinstance(value, torch.Tensor) and call.has_large_factor():
        warn_of_size(name_of(call.func), [made], components, [value], [residual], reverse=False)
    if isinstance(value, (tuple, list)):  # plain integers beside what is decomposed come back plain
        made = [part if carries(v.dtype) else None for v, part in zip(value, made, strict=True)]
    return pack(value, residual, made, labels, call.reverse)


def _warn_dropped(call: Call, value: torch.Tensor) -> None:
    if value.dtype is not torch.bool:
        _util.warn(
            f"{getattr(call.func, '__name__', call.func)}: a result of dtype {value.dtype} cannot carry contributions: "
            "they are dropped",
            DecompositionWarning,
        )


def multilinear(call: Call) -> Any:
    """k arguments that enter linearly each for the others held fixed, and perhaps some jointly linear ones.

    For two, the other one's midpoint; for k, Gauss–Legendre with ⌈k/2⌉ nodes, exact for the polynomial of degree k − 1
    that the integrand is along the path.
    """
    tensors = call.tensors
    factors = [i for i, leaf in enumerate(call.decomposed) if leaf.tag == "Multilinear"]
    if not factors or len(tensors) == 1:
        return linear(call)
    with no_graph(call.reverse):
        value = call(*[t.value for t in tensors])
        residual = of_the_residuals(call, value)
    labels, components = align(tensors, None if call.reverse else Use.LAW)
    if len(factors) == len(tensors) == 2 and isinstance(value, torch.Tensor) and uses_vjp(call.reverse):
        with no_graph(True):
            points = [_between(t, 0.5) for t in tensors]
        return reverse_products.of_two(call, value, residual, components, points)

    def moving(i: int, held: Sequence[torch.Tensor]) -> Any:
        """The function of components of argument i, the other arguments held."""
        return batching.apply(
            call, lambda c: call.linear_part(*held[:i], c, *held[i + 1 :]), [components[i]], value, [i], held
        )

    terms: list[Any] = []
    nothing: list[torch.Tensor] = []
    if len(factors) < len(tensors):
        nothing = [torch.zeros_like(t.value) for t in tensors]
        terms = [moving(i, nothing) for i in range(len(tensors)) if i not in factors]
    nodes = [
        ([_between(t, node) if i in factors else nothing[i] for i, t in enumerate(tensors)], weight)
        for node, weight in gauss_legendre((len(factors) + 1) // 2)
    ]
    for points, weight in nodes:
        terms += [_scaled(moving(i, points), weight) for i in factors]
    made = total(terms)
    seen = not (call.reverse or tracing() or mapped()) and len(labels) > 1 and isinstance(value, torch.Tensor)
    if seen and any(is_large(point) for points, _ in nodes for point in points):
        warn_of_size(name_of(call.func), [made], components, [value], [residual], reverse=False)
        watch_factors(call, factors, nodes, made, value, residual)
    return pack(value, residual, made, labels, call.reverse)


def _between(t: DecomposedTensor, node: float) -> torch.Tensor:
    if node == 0.5:
        return torch.add(t.value / 2, t.residual, alpha=0.5)
    return t.residual + node * (t.value - t.residual)


def _scaled(term: Any, weight: float) -> Any:
    if weight == 1.0:
        return term
    if isinstance(term, list):
        return [_scaled(t, weight) for t in term]
    return term * weight if isinstance(term, torch.Tensor) else term.each(lambda elements: elements * weight)
