"""The law of ordinary calls of two in reverse mode (`npdec._law.ordinary_reverse`): sums, products, quotients by
constants, and products of matrices. What is beside a decomposed tensor is another one, or a constant of its dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.broadcast_residuals import narrowed_product, of_rows
from npdec._decomposed.reverse_graph import with_vjp
from npdec._decomposed.size_warnings import has_finite_sum
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import reverse_complex
from npdec._law.ordinary import of_a_summand
from npdec._law.ordinary_reverse import FEW_BESIDE, is_ordinary, made_of, on_graph, on_graph_of
from npdec._law.reverse_beside import beside
from npdec._law.reverse_forms import product_beside, product_with

__all__ = ["added", "matmul", "product", "quotient"]

Function = Callable[..., Any]
_CONSTANTS = (torch.Tensor, torch.nn.Parameter)


class _Pair(NamedTuple):
    """The two arguments, decomposed tensors or None; of a constant the value is the residual."""

    values: Sequence[Any]
    residuals: Sequence[Any]
    tensors: Sequence[DecomposedTensor | None]
    like: DecomposedTensor

    def constant(self) -> Any:
        """The one that is a constant; None if both are decomposed."""
        return next((v for v, t in zip(self.values, self.tensors, strict=True) if t is None), None)

    def at_rows(self, func: Function, shape: Sequence[int]) -> torch.Tensor:
        """A function of each element at the residuals, of equal rows once."""
        return of_rows(func, self.residuals, [t is not None for t in self.tensors], shape)

    def on_graph(self) -> list[Any]:
        """The values on the graphs of their components; a constant as it is."""
        return [v if t is None else on_graph_of(t) for v, t in zip(self.values, self.tensors, strict=True)]


def _pair_of(args: Sequence[Any]) -> _Pair | None:
    """The arguments of an ordinary call; None if it is none."""
    if len(args) != 2:
        return None
    like = args[0] if type(args[0]) is DecomposedTensor else args[1]
    if not is_ordinary(like):
        return None
    parts: list[tuple[Any, Any, Any]] = []
    for x in args:
        if type(x) is DecomposedTensor:
            if x is not like and not (is_ordinary(x) and x.labels == like.labels and x.dtype is like.dtype):
                return None
            parts.append((x.value, x.residual, x))
        elif type(x) is float or type(x) is int:
            parts.append((x, x, None))
        elif type(x) in _CONSTANTS and x.dtype is like.dtype and x.layout is torch.strided and not x.is_meta:
            if x.is_inference():
                return None
            x = x.detach()
            parts.append((x, x, None))
        else:
            return None
    values, residuals, tensors = zip(*parts, strict=True)
    return _Pair(values, residuals, tensors, like)


def _ends(func: Function, pair: _Pair) -> tuple[torch.Tensor, torch.Tensor] | None:
    """A function of each element at the values and at the residuals, of equal rows once; None if what is decomposed
    does not have the shape of the result."""
    value = func(*pair.values)
    shape, moving = value.shape, [v for v, t in zip(pair.values, pair.tensors, strict=True) if t is not None]
    if value.dtype is not pair.like.value.dtype or any(part.shape != shape for part in moving):
        return None
    return value, pair.at_rows(func, shape)


def added(traits: int, func: Function, args: Sequence[Any]) -> Any:
    """a + b, a − b, b − a. The contributions are those of the terms, which may be small beside the rounding of the
    result."""
    pair = _pair_of(args)
    ends = None if pair is None else _ends(func, pair)
    if pair is None:
        return reverse_complex.added(func, args)
    if ends is None:  # of shapes that broadcast
        carrier = func(*pair.on_graph())
        if carrier.dtype is not pair.like.value.dtype:
            return NotImplemented
        return on_graph(carrier.detach(), pair.at_rows(func, carrier.shape), carrier, pair.like)
    first, second = [None if t is None else t.components for t in pair.tensors]
    if first is None or second is None:
        made = of_a_summand(traits, first, second)
    else:
        made = func(first, second)
    return made_of(*ends, made, pair.like)


def product(func: Function, args: Sequence[Any]) -> Any:
    """a b: each times the other's midpoint."""
    pair = _pair_of(args)
    if pair is None:
        return reverse_complex.product(func, args)
    constant = pair.constant()
    if constant is not None:
        made = _scaled(func, pair, constant)
        return product_beside(func, args) if made is NotImplemented else made
    if max(v.numel() for v in pair.values) <= FEW_BESIDE:
        return product_beside(func, args)
    value = func(*pair.values)
    if value.dtype is not pair.like.value.dtype:
        return NotImplemented
    ends = list(zip(pair.values, pair.residuals, strict=True))
    return beside(False, pair.like, ends, pair.on_graph(), value, pair.at_rows(func, value.shape))


def quotient(func: Function, args: Sequence[Any]) -> Any:
    """a / b, for a constant b."""
    pair = _pair_of(args)
    if pair is None or pair.tensors[1] is not None:
        return NotImplemented
    divisor = pair.values[1]
    return _scaled(func, pair, divisor) if isinstance(divisor, torch.Tensor) or divisor else NotImplemented


def _scaled(func: Function, pair: _Pair, factor: Any) -> Any:
    """A product with a finite constant, or a quotient by one."""
    if not isinstance(factor, torch.Tensor) and not math.isfinite(factor):
        return NotImplemented
    ends = _ends(func, pair)
    if ends is None or (isinstance(factor, torch.Tensor) and not has_finite_sum(ends[0])):
        return NotImplemented
    parts = zip(pair.values, pair.tensors, strict=True)
    return made_of(*ends, func(*[v if t is None else t.components for v, t in parts]), pair.like)


def _middles(pair: _Pair) -> list[torch.Tensor]:
    """The middles of the paths."""
    ends = zip(pair.values, pair.residuals, strict=True)
    return [torch.add(value / 2, residual, alpha=0.5) for value, residual in ends]


def matmul(func: Function, args: Sequence[Any]) -> Any:
    """A product of two matrices, or of batches of these: each times the other's midpoint."""
    pair = _pair_of(args)
    if pair is None or pair.constant() is not None:
        return product_with(func, args)
    a, b = pair.values
    if not a.ndim == b.ndim > 1 or a.shape[:-2] != b.shape[:-2]:
        return NotImplemented
    value, residual = func(a, b), narrowed_product(func, *pair.residuals)
    residual = func(*pair.residuals) if residual is None else residual.expand(value.shape)
    if value.dtype is not a.dtype:
        return NotImplemented
    at_a, at_b = _middles(pair)

    def vjp(grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.matmul(grad, at_b.mT), torch.matmul(at_a.mT, grad)

    carrier = with_vjp(value, pair.on_graph(), vjp)
    return on_graph(carrier.detach(), residual, carrier, pair.like)
