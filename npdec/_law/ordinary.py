"""The law of ordinary calls, by the shortest way: sums, products, layers and pointwise functions of real tensors with a
few dense components under the same labels.

Each form answers a call by the closed form that the general way comes to, with the same calls of torch, and gives
NotImplemented where anything is not ordinary: other labels or shapes, half precision, blocks and entries, reverse mode,
factors or slopes so large that something has to be said of them. Then the general way is gone. Which form a function
has follows from its tags and traits; the registry keeps it in the function's row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed import lazy_products, size_limits
from npdec._decomposed.aliasing import link
from npdec._decomposed.axes import narrowed
from npdec._decomposed.batching_rules import is_basic
from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.secant import quick_slope
from npdec._torch.interrupts import undisturbed

__all__ = ["form_of", "joined", "of_one", "quotient"]

Function = Callable[..., Any]
Form = Callable[[Function, Sequence[Any]], Any]
_MATRICES = (torch.Tensor, torch.nn.Parameter)
_as_subclass = torch.Tensor.as_subclass


def form_of(tags: Collection[str], traits: int, slope: Function | None, batch: Function | None) -> Form | None:
    """The form of a function whose arguments carry the tags; None if it has none."""
    if traits & Trait.BLIND:
        return _of_the_value
    if tags == {"Linear"}:
        if traits & Trait.ARITHMETIC:
            return _sum
        if batch is None:
            return _each if traits & Trait.ELEMENTWISE and traits & Trait.EACH else None
        return of_one(batch, traits)
    if tags == {"Multilinear"} and traits & Trait.MULTIPLY:
        return _product
    if tags == {"Multilinear"} and traits & Trait.MATMUL:
        return _matmul
    if traits & Trait.LAYER:
        return _layer
    if tags == {"Pointwise"} and not traits & Trait.POWER:
        return partial(_pointwise, slope, traits)
    return None


def _is_ordinary(x: Any) -> bool:
    """Whether a tensor is a decomposed one of real numbers in single or double precision, with few dense components."""
    if type(x) is not DecomposedTensor or x.whole or x.windows is not None or len(x.labels) >= size_limits.MANY:
        return False
    value = x.value
    return (
        type(value) is torch.Tensor
        and value.dtype in (torch.float64, torch.float32)
        and not value.is_meta
        and x.components.dtype is value.dtype
        and x.origin is None
    )


def _made(value: torch.Tensor, residual: torch.Tensor, components: torch.Tensor, like: DecomposedTensor) -> Any:
    """The decomposed tensor of parts that fit together."""
    if not value.dtype is like.value.dtype is components.dtype:
        return NotImplemented
    made: Any = _as_subclass(value, DecomposedTensor)
    made.value, made.components, made.labels = value, components, like.labels
    made.residual = residual if residual.shape == value.shape else residual.expand(value.shape)
    made.whole = made.discrete = False
    made.origin = None
    return made


def _rows(x: DecomposedTensor) -> torch.Tensor:
    """The residual, one of the rows that are equal."""
    return narrowed(x.residual, x.residual.ndim) if 0 in x.residual.stride() else x.residual


def _is_moderate(factor: torch.Tensor) -> bool:
    """Whether no contribution becomes a million times as large, infinite or NaN by a factor."""
    factor = factor.detach() if factor.requires_grad else factor
    return torch.linalg.vector_norm(factor).item() <= STEEP


def _of_the_value(func: Function, args: Sequence[Any]) -> Any:
    """What looks at no number: shapes, dtypes, memory."""
    return func(args[0].value) if len(args) == 1 and type(args[0]) is DecomposedTensor else NotImplemented


def _sum(func: Function, args: Sequence[Any]) -> Any:
    """Of two, or of one and a number."""
    if len(args) != 2 or not _is_ordinary(args[0]):
        return NotImplemented
    a, b = args
    if type(b) is float or type(b) is int:
        return _made(func(a.value, b), func(_rows(a), b), func(a.components, type(b)(0)), a)
    if not _is_ordinary(b) or a.labels != b.labels or a.components.shape != b.components.shape:
        return NotImplemented
    residual = _of_both(func, a, b)
    if residual is None:
        return NotImplemented
    return _made(func(a.value, b.value), residual, func(a.components, b.components), a)


def _of_both(func: Function, a: DecomposedTensor, b: DecomposedTensor) -> torch.Tensor | None:
    """The function of two residuals; None if rows of one alone are equal."""
    if a.residual.stride() != b.residual.stride() and 0 in (*a.residual.stride(), *b.residual.stride()):
        return None
    made: torch.Tensor = func(_rows(a), _rows(b))
    return made


def _product(func: Function, args: Sequence[Any]) -> Any:
    """Of two, each times the other's midpoint, or of one and a number."""
    if len(args) != 2 or not _is_ordinary(args[0]):
        return NotImplemented
    a, b = args
    if type(b) is float or type(b) is int:
        if not abs(b) <= STEEP:
            return NotImplemented
        return _made(func(a.value, b), func(_rows(a), b), func(a.components, b), a)
    if not _is_ordinary(b) or a.labels != b.labels or a.components.shape != b.components.shape:
        return NotImplemented
    residual = _of_both(func, a, b)
    if residual is None:
        return NotImplemented
    middle_a = torch.add(a.value / 2, a.residual, alpha=0.5)
    middle_b = middle_a if b is a else torch.add(b.value / 2, b.residual, alpha=0.5)
    if not _is_moderate(middle_a) or not (b is a or _is_moderate(middle_b)):
        return NotImplemented
    components = func(a.components, middle_b) + func(middle_a, b.components)
    return _made(func(a.value, b.value), residual, components, a)


def quotient(func: Function, args: Sequence[Any]) -> Any:
    """Of one, by a number that is neither so small that something has to be said, nor infinite."""
    if len(args) != 2 or not _is_ordinary(args[0]):
        return NotImplemented
    x, divisor = args
    if (type(divisor) is not float and type(divisor) is not int) or not 1 / STEEP <= abs(divisor) < math.inf:
        return NotImplemented
    return _made(func(x.value, divisor), func(_rows(x), divisor), func(x.components, divisor), x)


def of_one(batch: Function, traits: int) -> Form:
    """The form of a linear function of one, which has a rule for one more leading axis."""
    return partial(_of_one, batch, traits)


def _each(func: Function, args: Sequence[Any]) -> Any:
    """A linear function of each element."""
    x = args[0]
    if len(args) != 1 or not _is_ordinary(x):
        return NotImplemented
    return _linked(_made(func(x.value), func(_rows(x)), func(x.components), x), x)


def joined(func: Function, args: Sequence[Any]) -> Any:
    """Tensors joined along an axis."""
    tensors, dim = args if len(args) == 2 else (args[0], 0)
    if type(dim) is not int or type(tensors) not in (list, tuple) or not tensors or not all(map(_is_ordinary, tensors)):
        return NotImplemented
    first = tensors[0]
    ndim = first.value.ndim  # torch takes an empty vector beside others
    if any(t.labels != first.labels or t.value.dtype is not first.value.dtype or t.value.ndim != ndim for t in tensors):
        return NotImplemented
    value, residual = func([t.value for t in tensors], dim), func([t.residual for t in tensors], dim)
    return _made(value, residual, func([t.components for t in tensors], dim + 1 if dim >= 0 else dim), first)


def _of_one(batch: Function, traits: int, func: Function, args: Sequence[Any]) -> Any:
    x = args[0]
    if not _is_ordinary(x) or (0 in x.residual.stride() and not traits & Trait.STRIDED):
        return NotImplemented
    if traits & Trait.INDEX and not is_basic(args[1]):
        return NotImplemented
    value = func(x.value, *args[1:])
    front = batch(func, x.value.ndim, args[1:], {}, value)
    if front is None:
        return NotImplemented
    residual, components = func(x.residual, *args[1:]), front(x.components)
    if type(value) is torch.Tensor:
        return _linked(_made(value, residual, components, x), x)
    return tuple(_linked(_made(*parts, x), x) for parts in zip(value, residual, components, strict=True))


def _linked(made: Any, x: DecomposedTensor) -> Any:
    """What was made of x, which may look at its memory."""
    if made is not NotImplemented:
        link(made, x)
    return made


def _matmul(func: Function, args: Sequence[Any]) -> Any:
    """Of decomposed rows with a constant vector or matrix."""
    if len(args) != 2 or not _is_ordinary(args[0]) or type(args[1]) not in _MATRICES:
        return NotImplemented
    x, other = args
    if (
        other.layout is not torch.strided
        or not 1 <= other.ndim <= 2
        or x.value.ndim < 1
        or (x.value.ndim > 2 and other.numel() >= lazy_products.LARGE)
    ):
        return NotImplemented
    if 0 in x.residual.stride() or other.dtype is not x.value.dtype or not _is_moderate(other):
        return NotImplemented
    return _made(func(x.value, other), func(x.residual, other), torch.matmul(x.components, other), x)


def _layer(func: Function, args: Sequence[Any]) -> Any:
    """Of decomposed rows, with a constant weight and bias."""
    if not 2 <= len(args) <= 3:
        return NotImplemented
    x, weight, bias = args if len(args) == 3 else (*args, None)
    if not _is_ordinary(x) or type(weight) not in _MATRICES or not (bias is None or type(bias) in _MATRICES):
        return NotImplemented
    if (x.value.ndim > 2 and weight.numel() >= lazy_products.LARGE) or weight.ndim != 2:
        return NotImplemented
    if weight.layout is not torch.strided or weight.dtype is not x.value.dtype or not _is_moderate(weight):
        return NotImplemented
    value, row = func(x.value, weight, bias), narrowed(x.residual, x.value.ndim - 1)  # equal rows need one of them
    return _made(value, func(row, weight, bias), func(x.components, weight), x)


def _pointwise(slope: Function | None, traits: int, func: Function, args: Sequence[Any]) -> Any:
    """Of one, by the secant slope."""
    x = args[0]
    if len(args) != 1 or not _is_ordinary(x) or settings.get().rule != "affine":
        return NotImplemented
    value, residual, components = x.value, x.residual, x.components
    if torch.is_grad_enabled() and (value.requires_grad or residual.requires_grad or components.requires_grad):
        return NotImplemented
    fx, fr = func(value), func(_rows(x)).expand(value.shape)
    if fx.dtype is not value.dtype or not fx.numel():
        return NotImplemented
    step = value - residual
    if slope is not None:
        multiplier = slope(step, fx, fr)
        info = torch.finfo(multiplier.dtype)
        if not float(multiplier.amin()) > info.tiny / info.eps:  # NaN without a step
            return NotImplemented
    else:
        found = undisturbed(quick_slope, func, func, traits, value, residual, fx, fr, step, None, ())
        if found is None or found.steep or found.extreme is not None or found.singular is not None:
            return NotImplemented
        multiplier = found.multiplier
    if not math.isfinite(float(multiplier.amax())):
        return NotImplemented
    return _made(fx, fr, components * multiplier, x)
