"""The law of ordinary calls of functions that give one number of a vector, or one for each of its elements: products,
running products and lengths of a handful of numbers, whose gradients along the path are found on the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.axes import axes_of
from npdec._decomposed.choices import is_watched, places_beside
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.of_few import listed, vector
from npdec._law.ordinary import Form, built, carries_graph, is_ordinary, number_in, number_of
from npdec._law.ordinary_choices import larger_of_pair
from npdec._law.ordinary_rows import is_complete, made_of_rows, soft_shares
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._torch.tracing import name_of

__all__ = [
    "direction", "greatest", "leading", "length_of_vector", "logarithm_of_sum", "product_of_vector", "running_products",
    "spread",
]  # fmt: skip

Function = Callable[..., Any]
Numbers = Sequence[float]
_FAR = 1e100  # up to which, and down to its reciprocal, squares are far from the ends of the exponent range
_MOST = 48  # elements of rows that are gone through
_OF_ALL = {"correction": 0}  # the options of a variance


def direction(x: Numbers, r: Numbers) -> list[float] | None:
    """The mean of u / |u| along the segment from r to x, by the forms of `npdec._impl.segments_impl`; None where it
    meets the origin, or is out of the range in which squares are found."""
    if not 1 / _FAR < max(*map(abs, x), *map(abs, r)) < _FAR:
        return None
    steps = [u - w for u, w in zip(x, r, strict=True)]
    length, start, end = math.hypot(*steps), math.hypot(*r), math.hypot(*x)
    if not length:
        return [u / end for u in x]
    along = [d / length for d in steps]
    foot = sum([w * e for w, e in zip(r, along, strict=True)])
    across = [w - foot * e for w, e in zip(r, along, strict=True)]
    more = sum([w * e for w, e in zip(across, along, strict=True)])  # what rounding has left along the path
    across, foot = [w - more * e for w, e in zip(across, along, strict=True)], foot + more
    last = foot + length
    if length < 0.9 * (start + end):
        potential = 2 * math.atanh(length / (start + end)) / length
    else:
        square = math.hypot(*across) ** 2
        outer, beyond = start + abs(foot), end + abs(last)
        gap = (outer if foot > 0 else square / outer) + (beyond if last < 0 else square / beyond)
        if not gap:
            return None
        potential = math.log((start + end + length) / gap) / length
    mean = (foot + last) / (start + end)
    return [w * potential + mean * e for w, e in zip(across, along, strict=True)]


def leading(x: Numbers, r: Numbers) -> list[float] | None:
    """The fraction of the path on which each of some lines is the highest (`npdec._impl.envelope_impl`): from the first
    that leads on, the next one is the steepest of those that cross it first. None if they are not finite."""
    if not math.isfinite(sum(map(abs, x)) + sum(map(abs, r))):
        return None
    height = max(r)
    goal = max([end for end, start in zip(x, r, strict=True) if start == height])
    fractions = [0.0] * len(x)
    now, left = 0.0, 1.0  # from the start and from the end of the path
    for _ in x:
        until, rest, following = 1.0, 0.0, (height, goal)
        for end, start in zip(x, r, strict=True):
            gain, gap = end - goal, height - start
            if gain > 0 and gap + gain > 0:
                crossing, ahead = max(gap, 0.0) / (gap + gain), min(gain / (gap + gain), 1.0)
                sooner = crossing < until if crossing < 0.5 else ahead > rest
                equal = crossing == until if crossing < 0.5 else ahead == rest
                if sooner or (equal and end - start > following[1] - following[0]):
                    until, rest, following = crossing, ahead, (start, end)
        until, rest = max(until, now), min(rest, left)
        same = [i for i, line in enumerate(zip(r, x, strict=True)) if line == (height, goal)]
        for i in same:
            fractions[i] = (until - now if now < 0.5 else left - rest) / len(same)
        if rest <= 0:
            break
        (height, goal), now, left = following, until, rest
    return fractions


def _products(x: Numbers, r: Numbers) -> list[float]:
    """For each factor the mean along the path of the product of all the others, a polynomial."""
    count = len(x)
    means = [0.0] * count
    for node, weight in gauss_legendre((count + 1) // 2):
        factors = [w + node * (u - w) for u, w in zip(x, r, strict=True)]
        behind, product = [weight] * count, weight
        for i in range(count - 1, 0, -1):
            product *= factors[i]
            behind[i - 1] = product
        product = 1.0
        for i, factor in enumerate(factors):
            means[i] += product * behind[i]
            product *= factor
    return means


def _vector(x: Any) -> tuple[Numbers, Numbers] | None:
    """The value and the residual of an ordinary vector of a handful of numbers that nobody differentiates."""
    if not is_ordinary(x) or not 0 < x.value.numel() <= HANDFUL or not x.value.is_cpu:
        return None
    if carries_graph(x):
        return None
    return listed(x.value), listed(x.residual)


def _made(x: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor, means: list[float]) -> Any:
    components = x.components if x.components.ndim == 2 else x.components.reshape(len(x.labels), -1)
    return built(value, residual, torch.mv(components, vector(means, value.dtype)), x.labels)


def _of_vector(find: Function, x: Any, func: Function, *rest: Any, **options: Any) -> Any:
    ends = _vector(x)
    if ends is None:
        return NotImplemented
    value, residual = func(x.value, *rest, **options), func(x.residual, *rest, **options)
    if type(value) is not torch.Tensor or value.ndim or value.dtype is not x.value.dtype:
        return NotImplemented
    try:
        means = find(*ends)
    except (ArithmeticError, ValueError):
        return NotImplemented
    fx, fr = value.item(), residual.item()
    if means is None or not is_complete(means, *ends, fx - fr, abs(fx) + abs(fr), value.dtype):
        return NotImplemented
    return _made(x, value, residual, means)


def _along(find: Function, x: Any, dim: Any, func: Function, /, *rest: Any, **options: Any) -> Any:
    """A function of rows along the axes that `dim` names, called with what is behind its first argument."""
    if type(x) is not DecomposedTensor or not is_ordinary(x) or x.value.numel() > _MOST:
        return NotImplemented
    axes = axes_of(dim, x.value.ndim)
    if axes is None:
        return NotImplemented
    value, residual = func(x.value, *rest, **options), func(x.residual, *rest, **options)
    return made_of_rows(find, x, axes, value, residual)


def logarithm_of_sum(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """torch.logsumexp along axes."""
    if len(args) < 2 or set(options or ()) > {"keepdim"} or settings.get().rule != "affine":
        return NotImplemented
    return _along(soft_shares, args[0], args[1], func, *args[1:], **(options or {}))


def product_of_vector(func: Function, args: Sequence[Any]) -> Any:
    """torch.prod of a vector, or of all elements."""
    x, *rest = args
    if not rest and type(x) is DecomposedTensor and not x.value.ndim and is_ordinary(x):
        return built(func(x.value), func(x.residual), x.components.clone(), x.labels)
    whole = not rest or (len(rest) == 1 and type(rest[0]) is int and type(x) is DecomposedTensor and x.value.ndim == 1)
    return _of_vector(_products, x, func, *rest) if whole else _along(_products, x, rest[0], func, *rest)


def greatest(sign: int, along: bool = False) -> Form:
    """The form of the greatest (sign 1) or the least (−1) of all elements; of one that takes axes, `along` a vector."""
    return partial(_extreme, sign, along)


def _extreme(sign: int, along: bool, func: Function, args: Sequence[Any]) -> Any:
    x, *rest = args
    if not along and len(rest) == 1 and isinstance(rest[0], torch.Tensor):  # the other of two
        return larger_of_pair(sign, func, args)
    if type(x) is not DecomposedTensor or not is_ordinary(x):
        return NotImplemented
    if rest and type(rest[0]) in (int, tuple, list) and x.value.ndim and rest[0] not in ((), []):
        if along and (len(rest) > 1 or x.value.ndim > 1):
            return _along(leading if sign > 0 else _lowest, x, rest[0], func, *rest)
        if not along:
            return _with_places(sign, func, x, *rest)
    if along and len(rest) == 2 and rest[0] in ((), []) and rest[1] is False:
        rest.pop()
    if len(rest) > 1 or (rest and not (rest[0] in ((), []) or (x.value.ndim == 1 and type(rest[0]) is int and along))):
        return NotImplemented
    if not x.value.ndim:
        return built(func(x.value), func(x.residual), x.components.clone(), x.labels) if not rest else NotImplemented
    find = leading if sign > 0 else _lowest
    return _of_vector(find, x, func, *rest)


def _with_places(sign: int, func: Function, x: DecomposedTensor, dim: Any, *rest: Any) -> Any:
    """torch.max and torch.min along an axis, which say where the greatest or the least stands."""
    axes = axes_of(dim, x.value.ndim) if type(dim) is int and x.value.numel() <= _MOST else None
    if axes is None:
        return NotImplemented
    found, before = func(x.value, dim, *rest), func(x.residual, dim, *rest)
    made = made_of_rows(leading if sign > 0 else _lowest, x, axes, found.values, before.values)
    if made is NotImplemented:
        return made
    indices = places_beside(name_of(func), found.indices, before.indices) if is_watched() else found.indices
    return type(found)((made, indices))


def _lowest(x: Numbers, r: Numbers) -> list[float] | None:
    return leading([-u for u in x], [-w for w in r])


def length_of_vector(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """torch.linalg.vector_norm of the order 2 of all elements."""
    named = options or {}
    order = args[1] if len(args) > 1 else named.get("ord", 2)
    if (type(order) is not int and type(order) is not float) or order != 2 or named.get("dtype") is not None:
        return NotImplemented
    dim = args[2] if len(args) > 2 else named.get("dim")
    if dim is not None and not (type(args[0]) is DecomposedTensor and args[0].value.ndim < 2):
        return _along(direction, args[0], dim, func, *args[1:], **named)
    return _of_vector(direction, args[0], func, *args[1:], **named)


def running_products(func: Function, args: Sequence[Any]) -> Any:
    """torch.cumprod of a vector."""
    if len(args) != 2 or type(args[1]) is not int or type(args[0]) is not DecomposedTensor:
        return NotImplemented
    x, dim = args
    ends = _vector(x) if x.value.ndim == 1 else None
    if ends is None:
        return NotImplemented
    value, residual = func(x.value, dim), func(x.residual, dim)
    after, before = listed(value), listed(residual)
    count = len(after)
    rows: list[list[float]] = []
    for i in range(1, count + 1):
        first = ends[0][:i], ends[1][:i]
        try:
            means = _products(*first)
        except ArithmeticError:
            return NotImplemented
        fx, fr = after[i - 1], before[i - 1]
        if not is_complete(means, *first, fx - fr, abs(fx) + abs(fr), value.dtype):
            return NotImplemented
        rows.append(means + [0.0] * (count - i))
    matrix = torch.tensor(rows, dtype=value.dtype)
    return built(value, residual, torch.mm(x.components, matrix.T), x.labels)


def spread(root: bool) -> Form:
    """The form of the variance of all elements, or of its `root`, the standard deviation."""
    return partial(_spread, root)


def _spread(root: bool, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    named = dict(options or {})
    if not args:  # it is named
        return NotImplemented
    found = _spread_of_number(args, named)
    if found is not None:
        return found
    x, *rest = args
    if rest and type(rest[0]) is bool:
        named["correction"] = int(rest.pop(0))
    dim = rest.pop(0) if rest else named.pop("dim", None)
    unbiased = named.pop("unbiased", True)
    freedom, keepdim = named.pop("correction", int(unbiased)), named.pop("keepdim", False)
    if rest or named or type(keepdim) is not bool or type(freedom) is not int or type(x) is not DecomposedTensor:
        return NotImplemented
    if dim is not None and (keepdim or x.value.ndim > 1):
        return _spread_of_rows(root, x, dim, freedom, keepdim)
    if keepdim:
        return NotImplemented
    if dim is not None and not (x.value.ndim == 1 and dim in (0, -1, (0,), [0])):
        return NotImplemented
    left = x.value.numel() - freedom
    if left <= 0:
        return NotImplemented
    function = torch.std if root else torch.var
    return _of_vector(partial(_deviation if root else _squares, left), x, function, correction=freedom)


def _spread_of_rows(root: bool, x: DecomposedTensor, dim: Any, freedom: int, keepdim: bool) -> Any:
    axes = axes_of(dim, x.value.ndim) if x.value.numel() <= _MOST else None
    left = 0 if axes is None else math.prod([x.value.shape[axis] for axis in axes]) - freedom
    if left <= 0:
        return NotImplemented
    find, function = partial(_deviation if root else _squares, left), torch.std if root else torch.var
    return _along(find, x, axes, function, axes, correction=freedom, keepdim=keepdim)


def _centred(numbers: Numbers) -> list[float]:
    mean = sum(numbers) / len(numbers)
    return [u - mean for u in numbers]


def _squares(left: int, x: Numbers, r: Numbers) -> list[float]:
    """The mean gradient of a variance, a quadratic."""
    return [(u + w) / left for u, w in zip(_centred(x), _centred(r), strict=True)]


def _deviation(left: int, x: Numbers, r: Numbers) -> list[float] | None:
    """That of its root: the gradient of equal numbers is that of their rounding, which does not add up to zero."""
    found = direction(_centred(x), _centred(r))
    return None if found is None else [u / math.sqrt(left) for u in _centred(found)]


def _spread_of_number(args: Sequence[Any], options: dict[str, Any]) -> Any:
    """The variance or standard deviation of one number, zero wherever that moves; None where it is not known."""
    number = number_in(args[0]) if len(args) == 1 and settings.get().rule == "affine" else None
    if number is None:
        return None
    x, finite = args[0], math.isfinite(number[0]) and math.isfinite(number[1])
    if not finite or options != _OF_ALL:  # or nothing may be left to divide by
        return None
    return number_of(0.0, 0.0, [0.0] * len(number[2]), x.labels, x.value.dtype)
