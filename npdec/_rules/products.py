"""Closed forms of the law for products of many factors: products, running products, determinants.

Each is linear in every factor (row), so a component contributes the sum over its factors of the mean, along the path,
of the product of the others. Along the path that is a polynomial of a degree below the number k of factors, for which
Gauss–Legendre quadrature with ⌈k/2⌉ nodes is exact. Products of others come from products of those before and after,
which no factor of zero disturbs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.kept_components import weighted
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.size_warnings import change, is_large, warn_of_factors
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import law, pack
from npdec._law.mean_gradient import gradients, mean_gradients
from npdec._law.ordinary_vectors import product_of_vector, running_products
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._rules import products_reverse
from npdec._rules.rule import rule
from npdec._torch.tracing import tracing

Function = Callable[..., Any]

_MOST_FACTORS = 64  # for exact quadrature always; and more where that is little work, else adaptive panels
_MOST_NODES = 512
_LARGEST = 2**21  # elements that are made together


def _powers(x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """Whole numbers e (as floats) for the factors along the last axis: after division by 2**e, the products of
    successive factors at their largest are about one."""
    size = torch.maximum(x.detach().abs(), r.detach().abs())
    most = _most(size) - 1  # 2**-e is finite, of subnormal numbers as well
    logs = torch.where((size > 0) & torch.isfinite(size), torch.log2(size), 0).clamp(-most, most)
    sums = torch.round(torch.cumsum(logs.to(torch.float64), -1)).to(logs.dtype)
    return torch.diff(sums, prepend=torch.zeros_like(sums[..., :1]))


def _before(factors: torch.Tensor) -> torch.Tensor:
    """For each factor along the last axis, the product of those before it."""
    first = torch.ones_like(factors[..., :1])
    return torch.cat([first, torch.cumprod(factors[..., :-1], -1)], -1)


def _others(factors: torch.Tensor) -> torch.Tensor:
    """For each factor along the last axis, the product of all the others."""
    return _before(factors) * _before(factors.flip(-1)).flip(-1)


def _mean(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, r: torch.Tensor, k: int) -> torch.Tensor:
    """The mean along the path of a polynomial function of degree k − 1."""
    step = x - r
    total: Any = 0
    for node, weight in gauss_legendre((k + 1) // 2):
        total = total + weight * function(r + node * step)
    return cast(torch.Tensor, total)


def _moving(x: DecomposedTensor, dim: int | None) -> DecomposedTensor:
    """The factors in the last axis."""
    if dim is None or not x.ndim:
        return cast(DecomposedTensor, x.reshape(-1))
    return cast(DecomposedTensor, x.movedim(dim, -1))


def _cast(x: DecomposedTensor, dtype: torch.dtype | None) -> Any:
    return x if dtype is None else x.to(dtype)


@rule("prod", short=product_of_vector, reverse=products_reverse.product)
def _prod(
    func: Function, input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Any:
    """prod: of all elements, or along an axis."""
    x = _cast(input, dtype)
    if not isinstance(x, DecomposedTensor):
        return torch.prod(x) if dim is None else torch.prod(x, dim, keepdim)
    factors = _moving(x, dim)
    k = factors.value.shape[-1]
    with no_graph(x.reverse):
        value, base = ((torch.prod(t) if dim is None else torch.prod(t, dim)) for t in (x.value, x.residual))
        powers = _powers(factors.value, factors.residual) if k else torch.zeros_like(factors.value.real)
        shrink, total = torch.exp2(-powers), powers.sum(-1)
        reach = float(powers.abs().amax() + total.abs().amax()) if k and total.numel() and not tracing() else 0.0
        del powers
        ends = factors.value * shrink, factors.residual * shrink
        little = k <= 2 * _MOST_NODES and k * factors.value.numel() <= 8 * _LARGEST
        if k <= _MOST_FACTORS or little or tracing():
            others = _mean(_others, *ends, max(k, 1))
        else:
            rows = [t.reshape(-1, k) for t in ends]
            at = [torch.prod(t, -1) for t in rows]
            del ends  # long rows are kept no longer than they are needed
            (mean,) = mean_gradients("prod", lambda u: torch.prod(u, -1), [rows.pop(0)], rows, *at)
            others = mean.reshape(factors.value.shape)
        half = torch.round(total / 2)
        grown = [torch.exp2(part.clamp(-_most(total), _most(total))) for part in (half, total - half)]
        plain = not tracing() and reach < _most(total)
        multiplier = others * shrink * (grown[0] * grown[1])[..., None] if plain else others
        if plain and not x.reverse and len(x.labels) > 1 and is_large(multiplier):
            steps = change(factors.value, factors.residual)
            sizes = (steps * multiplier).abs().sum(-1)
            warn_of_factors("prod", sizes, steps.abs().reshape(-1, k).sum(0), value, base)
    if plain:
        components = weighted(factors, multiplier, [-1])
    else:  # step by step, so that nothing leaves the range on the way
        components = ((factors.components * shrink) * multiplier).sum(-1) * grown[0] * grown[1]
    result = DecomposedTensor(value, base, components.reshape((len(x.labels), *value.shape)), x.labels, x.reverse)
    return result.unsqueeze(dim) if keepdim and dim is not None and input.ndim else result


def _most(like: torch.Tensor) -> float:
    return math.log2(torch.finfo(like.dtype).max) - 1


@rule("cumprod", short=running_products, reverse=products_reverse.running)
def _cumprod(func: Function, input: Any, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """cumprod: each result is a product of its own. One matrix for each row of factors says how they contribute."""
    x = _cast(input, dtype)
    if not isinstance(x, DecomposedTensor) or not x.ndim:
        return x.clone() if isinstance(x, DecomposedTensor) else torch.cumprod(x, dim)
    factors = _moving(x, dim)
    k = factors.value.shape[-1]
    if not k or factors.value.numel() * k > _LARGEST or k > 2 * _MOST_FACTORS:
        return law.quadrature(Call(torch.cumprod, None, (x, dim), {}))
    with no_graph(x.reverse):
        value, base = torch.cumprod(x.value, dim), torch.cumprod(x.residual, dim)
        powers = _powers(factors.value, factors.residual)
        shrink, sums = torch.exp2(-powers), torch.cumsum(powers, -1)
        later = torch.ones(k, k, dtype=torch.bool, device=x.device).tril(-1)

        def without(u: torch.Tensor) -> torch.Tensor:
            """The products up to m (rows) without factor j (columns)."""
            between = torch.cumprod(torch.where(later, u[..., :, None], 1), -2)
            return torch.tril(between * _before(u)[..., None, :])

        matrix = _mean(without, factors.value * shrink, factors.residual * shrink, k)
        grown = (sums[..., :, None] - powers[..., None, :]).clamp(-_most(sums), _most(sums))
        matrix = matrix * torch.exp2(grown)
    components = torch.matmul(matrix, factors.components[..., None]).squeeze(-1).movedim(-1, 1 + dim % x.ndim)
    return DecomposedTensor(value, base, components, x.labels, x.reverse)


# -- determinants ------------------------------------------------------------------------------------------------------


@rule("det")
def _det(func: Function, x: Any) -> Any:
    """det: the derivatives by the elements are the cofactors, polynomials of degree n − 1 along the path."""
    n = x.value.shape[-1]
    if tracing() or not n:
        return law.quadrature(Call(func, None, (x,), {}))
    with no_graph(x.reverse):
        value, base = func(x.value), func(x.residual)
        if n <= _MOST_FACTORS:
            graph = torch.is_grad_enabled() and (x.value.requires_grad or x.residual.requires_grad)
            cofactors = _mean(lambda a: gradients(torch.linalg.det, [a], graph)[0], x.value, x.residual, n)
        else:
            rows = [t.reshape(-1, n, n) for t in (x.value, x.residual)]
            (mean,) = mean_gradients("det", torch.linalg.det, rows[:1], rows[1:], value.reshape(-1), base.reshape(-1))
            cofactors = mean.reshape(x.value.shape)
    components = weighted(x, cofactors, (-2, -1))
    return DecomposedTensor(value, base, components, x.labels, x.reverse)


@rule("slogdet")
def _slogdet(func: Function, x: Any) -> Any:
    """slogdet of real matrices whose determinants keep their signs: the gradient is the inverse, transposed."""
    with no_graph(x.reverse):
        value, base = func(x.value), func(x.residual)
    if tracing() or x.value.is_complex() or not bool((value[0] == base[0]).all()):
        return law.quadrature(Call(func, None, (x,), {}))
    with no_graph(x.reverse):
        n = x.value.shape[-1]
        rows = [t.reshape(-1, n, n) for t in (x.value, x.residual)]
        ends = [t[1].reshape(-1) for t in (value, base)]
        (mean,) = mean_gradients("slogdet", lambda a: torch.linalg.slogdet(a)[1], rows[:1], rows[1:], *ends)
    components = (x.components * mean.reshape(x.value.shape)).sum((-2, -1))
    return pack.pack(value, base, [torch.zeros_like(components), components], x.labels, x.reverse)


@rule("logdet")
def _logdet(func: Function, x: Any) -> Any:
    """logdet of real matrices whose determinants stay positive; NaN otherwise."""
    if x.is_complex():  # the logarithm of a determinant, which has a phase
        return law.quadrature(Call(func, None, (x,), {}))
    made = torch.linalg.slogdet(x)
    result: Any = made[1]
    with no_graph(result.reverse):
        value, base = func(x.value), func(x.residual)
    return DecomposedTensor(value, base, result.components, result.labels, result.reverse)
