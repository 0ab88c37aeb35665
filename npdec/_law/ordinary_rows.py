"""The law of ordinary calls of functions that give one number of each row of a handful of numbers: their mean gradients
along the path are found on the host, row by row."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import axes_of
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import STEEP
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.of_few import FEW, listed, vector
from npdec._law.ordinary import built, carries_graph, is_ordinary
from npdec._law.quadrature_nodes import gauss_legendre

__all__ = [
    "is_complete", "made_of_rows", "rows_along", "rows_of_few", "soft_shares", "unit_vectors",
]  # fmt: skip

Numbers = Sequence[float]
Function = Callable[..., Any]
_APART = 1 / 64  # of the lengths at both ends: so far a path has to be from the origin, and so long
Find = Callable[[Numbers, Numbers], "list[float] | None"]
_ROUNDINGS = 32  # between the change of a function and what its gradient makes of the steps
_EPS = {dtype: torch.finfo(dtype).eps for dtype in (torch.float32, torch.float64)}
# Nodes of a quadrature, and the range of steps up to which they find all digits; and how far from zero numbers may be,
# which are not shifted.
_NODES = ((0.5, 6), (1.5, 8), (5.0, 16))
_NEAR = 64.0
_MOST = 48  # elements of all rows


def is_complete(means: Numbers, x: Numbers, r: Numbers, change: float, size: float, dtype: torch.dtype) -> bool:
    """Whether means make of the steps what the function changes by, and are so moderate that nothing is to be said."""
    if not size < math.inf:  # or NaN
        return False
    terms = [mean * (u - w) for mean, u, w in zip(means, x, r, strict=True)]
    missing = abs(change - sum(terms))
    return missing <= _ROUNDINGS * _EPS[dtype] * (size + sum(map(abs, terms))) and max(map(abs, means)) <= STEEP


def rows_of_few(x: Any, axes: tuple[int, ...]) -> tuple[list[list[float]], list[list[float]]] | None:
    """The elements along some axes of an ordinary tensor of a handful of rows, at the value and at the residual."""
    if not is_ordinary(x) or not 0 < x.value.numel() <= _MOST or not x.value.is_cpu or len(x.labels) > HANDFUL:
        return None
    return None if carries_graph(x) else (rows_along(x.value, axes).tolist(), rows_along(x.residual, axes).tolist())


def rows_along(t: torch.Tensor, axes: tuple[int, ...], leading: int = 0) -> torch.Tensor:
    """The elements along the axes in rows, behind so many leading axes."""
    ndim, count = t.ndim, len(axes)
    last = range(ndim - count, ndim)
    places = [axis + leading for axis in axes]
    if places != list(last):
        t = t.movedim(places, list(last))
    if ndim == leading + 2 and count == 1:
        return t
    sizes = [math.prod(part) for part in (t.shape[leading : t.ndim - count], t.shape[t.ndim - count :])]
    return t.reshape(*t.shape[:leading], *sizes)


def made_of_rows(
    find: Find, x: DecomposedTensor, axes: tuple[int, ...], value: torch.Tensor, residual: torch.Tensor
) -> Any:
    """The results of a function of rows whose mean gradient `find` gives, and NotImplemented if one of these misses the
    change of its row."""
    ends = rows_of_few(x, axes)
    if ends is None or type(value) is not torch.Tensor or value.dtype is not x.value.dtype:
        return NotImplemented
    after, before, means = listed(value), listed(residual), []
    if len(after) != len(ends[0]):
        return NotImplemented
    for row, start, fx, fr in zip(*ends, after, before, strict=True):
        try:
            mean = find(row, start)
        except (ArithmeticError, ValueError):
            return NotImplemented
        if mean is None or not is_complete(mean, row, start, fx - fr, abs(fx) + abs(fr), value.dtype):
            return NotImplemented
        means += mean
    weights = vector(means, value.dtype).reshape(len(after), -1)
    components = (rows_along(x.components, axes, 1) * weights).sum(-1)
    return built(value, residual, components.reshape(len(x.labels), *value.shape), x.labels)


def soft_shares(x: Numbers, r: Numbers) -> list[float] | None:
    """The mean of the softmax along the path, the gradient of logsumexp."""
    steps = [u - w for u, w in zip(x, r, strict=True)]
    longest = max(steps) - min(steps)
    count = next((count for most, count in _NODES if longest <= most), 0)
    if not count or not max(*map(abs, x), *map(abs, r)) <= _NEAR:  # or NaN
        return None
    shares = [0.0] * len(x)
    for node, weight in gauss_legendre(count):
        here = [w + node * step for w, step in zip(r, steps, strict=True)]
        highest = max(here)
        powers = [math.exp(u - highest) for u in here]
        scale = weight / sum(powers)
        shares = [share + power * scale for share, power in zip(shares, powers, strict=True)]
    return shares


def unit_vectors(func: Function, x: Any, p: Any = 2.0, dim: Any = 1, eps: Any = 1e-12, out: Any = None) -> Any:
    """torch.nn.functional.normalize of rows whose path stays away from the origin: the mean of the derivative
    (1 − û ûᵀ) / |u|, in closed form."""
    if p != 2 or type(eps) is not float or out is not None or settings.get().rule != "affine":
        return NotImplemented
    axes = axes_of(dim, x.value.ndim) if type(x) is DecomposedTensor and type(dim) is int else None
    ends = None if axes is None or x.components.numel() > FEW else rows_of_few(x, axes)
    if axes is None or ends is None:
        return NotImplemented
    (axis,), shape = axes, list(x.value.shape)
    columns = rows_along(x.components, axes, 1).permute(1, 0, 2).tolist()
    made = []
    for row, start, given in zip(*ends, columns, strict=True):
        found = _turned(row, start, given, max(eps, 1 / STEEP))
        if found is None:
            return NotImplemented
        made.append(found)
    value, residual = func(x.value, p, dim, eps), func(x.residual, p, dim, eps)
    flat = vector([n for row in zip(*made, strict=True) for part in row for n in part], value.dtype)
    size = shape.pop(axis)
    components = flat.reshape(len(x.labels), *shape, size).movedim(-1, axis + 1).contiguous()
    return built(value, residual, components, x.labels)


def _turned(x: Numbers, r: Numbers, given: Sequence[Numbers], least: float) -> list[list[float]] | None:
    """What some components of a vector are of its direction. None where the path is short of digits, or comes near the
    origin."""
    steps = [u - w for u, w in zip(x, r, strict=True)]
    length, start, end = math.hypot(*steps), math.hypot(*r), math.hypot(*x)
    if not (least < start < 1 / least and least < end < 1 / least):
        return None
    if not length:
        unit = [u / end for u in x]
        dots = [sum(map(operator.mul, unit, c)) for c in given]
        return [[(n - dot * u) / end for n, u in zip(c, unit, strict=True)] for c, dot in zip(given, dots, strict=True)]
    along = [d / length for d in steps]
    foot = sum(map(operator.mul, r, along))
    across = [w - foot * e for w, e in zip(r, along, strict=True)]
    apart, last = math.hypot(*across), foot + length
    if not (apart > _APART * (start + end) and length > _APART * (start + end)):
        return None
    across = [w / apart for w in across]
    potential = math.asinh(last / apart) - math.asinh(foot / apart)
    turn, fall = last / end - foot / start, apart * (1 / start - 1 / end)
    made = []
    for c in given:
        by_path, by_rest = sum(map(operator.mul, along, c)), sum(map(operator.mul, across, c))
        of_path = (turn - potential) * by_path - fall * by_rest
        of_rest = -turn * by_rest - fall * by_path
        made.append(
            [(potential * n + of_path * e + of_rest * a) / length for n, e, a in zip(c, along, across, strict=True)]
        )
    return made
