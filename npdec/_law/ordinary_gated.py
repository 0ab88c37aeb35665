"""The law of ordinary calls of glu, a σ(b) of the halves a and b of a handful of numbers: the means along the path of
σ(b) and of a σ'(b), which are the derivatives by a and by b."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP
from npdec._law.means_of_few import mean_sigmoid
from npdec._law.of_few import FEW, RANGE, listed, tensor_of
from npdec._law.ordinary import built, carries_graph, is_ordinary
from npdec._law.quadrature_nodes import gauss_legendre

__all__ = ["gated"]

_SHORT, _NODES = 1.0, gauss_legendre(10)  # a step of b, on which so many nodes have all digits


def gated(func: Callable[..., Any], args: Sequence[Any]) -> Any:
    """torch.nn.functional.glu."""
    x, dim = args if len(args) == 2 else (args[0], -1)
    if not is_ordinary(x) or carries_graph(x) or settings.get().rule != "affine" or type(dim) is not int:
        return NotImplemented
    value = x.value
    if value.dtype not in RANGE or not value.is_cpu or not 0 < value.numel() <= FEW or not value.ndim:
        return NotImplemented
    made, base = func(value, dim), func(x.residual.contiguous(), dim)
    axis = dim % value.ndim
    ends = [listed(part) for end in (value, x.residual) for part in end.chunk(2, axis)]
    by_a: list[float] = []
    by_b: list[float] = []
    for a, b, low, start, fx, fr in zip(*ends, listed(made), listed(base), strict=True):
        if not (abs(a) + abs(b) + abs(low) + abs(start) <= STEEP):  # or NaN
            return NotImplemented
        mean, step = mean_sigmoid(b, start), b - start
        by_a.append(mean)
        by_b.append(((fx - fr) - (a - low) * mean) / step if abs(step) > _SHORT else _mean_rate(a, b, low, start))
    first, second = x.components.chunk(2, axis + 1)
    return built(made, base, first * tensor_of(by_a, made) + second * tensor_of(by_b, made), x.labels)


def _mean_rate(a: float, b: float, low: float, start: float) -> float:
    """The mean of a σ'(b) over a short way."""
    found = 0.0
    for node, weight in _NODES:
        p = math.exp(-abs(start + node * (b - start)))
        found += weight * (low + node * (a - low)) * (p / (1 + p) / (1 + p))
    return found
