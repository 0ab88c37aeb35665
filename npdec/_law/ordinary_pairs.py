"""The law of ordinary calls with two arguments: sums, products, quotients.

Each argument is an ordinary decomposed tensor (`npdec._law.ordinary`), a plain tensor of its dtype, or a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.axes import narrowed
from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP, has_few_digits, keeps_digits
from npdec._decomposed.tensor import DecomposedTensor, Labels, align
from npdec._law import ordinary
from npdec._law.ordinary import FACTORS, has_numbers, is_moderate, is_ordinary, made_of, rows_of

__all__ = ["added", "is_constant", "matmul", "midpoint", "pair_of", "product", "quotient"]

Function = Callable[..., Any]
_LARGE = 2**16  # elements of components, from which on products are made for one after the other


class Pair(NamedTuple):
    """Two arguments; of those that are not decomposed the components are None, and the value is the residual."""

    values: Sequence[Any]
    residuals: Sequence[Any]
    components: Sequence[torch.Tensor | None]
    labels: Labels
    like: DecomposedTensor

    def made(self, func: Function, components: torch.Tensor) -> Any:
        """The result of a function, if it has the shape of the components."""
        value = func(*self.values)
        if value.shape != components.shape[1:]:
            return NotImplemented
        return made_of(value, func(*self.residuals), components, self.like, self.labels)


def pair_of(args: Sequence[Any]) -> Pair | None:
    """The two arguments of an ordinary call; None if it is none."""
    if len(args) != 2:
        return None
    a, b = args
    if not is_ordinary(a):
        if not is_ordinary(b) or not is_constant(a, b.value):
            return None
        return Pair((a, b.value), (a, rows_of(b)), (None, b.components), b.labels, b)
    if not is_ordinary(b):
        if not is_constant(b, a.value):
            return None
        return Pair((a.value, b), (rows_of(a), b), (a.components, None), a.labels, a)
    if a.value.shape != b.value.shape or a.value.dtype is not b.value.dtype:
        return None
    alike = a.residual.stride() == b.residual.stride()  # rows that are equal in both are so in the result
    residuals: tuple[Any, Any] = (rows_of(a), rows_of(b)) if alike else (a.residual, b.residual)
    if a.labels is b.labels or a.labels == b.labels:
        return Pair((a.value, b.value), residuals, (a.components, b.components), a.labels, a)
    labels, components = align((a, b))
    if len(labels) >= size_limits.MANY:
        return None
    return Pair((a.value, b.value), residuals, components, labels, a)


def is_constant(b: Any, like: torch.Tensor) -> bool:
    """Whether b is a number, or a plain tensor of the dtype that broadcasts to the shape."""
    if type(b) is float or type(b) is int:
        return True
    return type(b) in FACTORS and b.dtype is like.dtype and b.ndim <= like.ndim and has_numbers(b)


def _is_tame(factor: Any) -> bool:
    """Whether a factor makes no contribution a million times as large."""
    return is_moderate(factor) if isinstance(factor, torch.Tensor) else abs(factor) <= STEEP


def added(traits: int, func: Function, args: Sequence[Any]) -> Any:
    """a + b, a − b, b − a."""
    pair = pair_of(args)
    if pair is None:
        return NotImplemented
    first, second = pair.components
    if first is None:
        assert second is not None
        components = second.neg() if traits & Trait.SUBTRACT else second.clone()
    else:
        components = func(first, 0 if second is None else second)
    return pair.made(func, components)


def product(func: Function, args: Sequence[Any]) -> Any:
    """a b: each times the other's midpoint."""
    pair = pair_of(args)
    if pair is None:
        return NotImplemented
    first, second = pair.components
    if first is None or second is None:
        factor = pair.values[0 if first is None else 1]
        if not _is_tame(factor):
            return NotImplemented
        return pair.made(func, func(second if first is None else first, factor))
    middle_a = midpoint(pair, 0)
    middle_b = middle_a if args[1] is args[0] else midpoint(pair, 1)
    if not is_moderate(middle_a) or not (middle_b is middle_a or is_moderate(middle_b)):
        return NotImplemented
    return pair.made(func, func(first, middle_b) + func(middle_a, second))


def matmul(func: Function, args: Sequence[Any]) -> Any:
    """A product of two matrices, or batches of them: each times the other's midpoint."""
    if len(args) != 2 or not (is_ordinary(args[0]) and is_ordinary(args[1])):
        return ordinary.matmul(func, args)
    a, b = args
    ndim = a.value.ndim
    if ndim < 2 or b.value.ndim != ndim or a.value.shape[:-2] != b.value.shape[:-2] or a.labels != b.labels:
        return NotImplemented
    if b.value.dtype is not a.value.dtype or max(a.components.numel(), b.components.numel()) > _LARGE:
        return NotImplemented
    middle_a, middle_b = [torch.add(t.value / 2, t.residual, alpha=0.5) for t in args]
    if not is_moderate(middle_a) or not is_moderate(middle_b):
        return NotImplemented
    rows, columns = narrowed(a.residual, ndim - 1), narrowed(b.residual.mT, ndim - 1).mT
    components = torch.matmul(a.components, middle_b) + torch.matmul(middle_a, b.components)
    return made_of(func(a.value, b.value), torch.matmul(rows, columns), components, a)


def midpoint(pair: Pair, i: int) -> torch.Tensor:
    """The middle of the path of one of the arguments."""
    return torch.lerp(pair.residuals[i], pair.values[i], 0.5)


def quotient(func: Function, args: Sequence[Any]) -> Any:
    """a / b: linear in a; in b the product of a with the reciprocal of b, whose slope is −1 / (x r)."""
    pair = pair_of(args)
    if pair is None:
        return NotImplemented
    first, second = pair.components
    if second is None:
        divisor = pair.values[1]
        if not _divides(divisor):
            return NotImplemented
        return pair.made(func, func(first, divisor))
    if settings.get().rule != "affine":
        return NotImplemented
    after, before = torch.reciprocal(pair.values[1]), torch.reciprocal(pair.residuals[1])
    slope = torch.mul(after, before).neg_()
    if first is not None and has_few_digits(slope.dtype) and not keeps_digits(pair.values[1], before):
        return NotImplemented
    if first is None:
        through = slope * pair.values[0]
        if not _is_tame(pair.values[0]) or not is_moderate(slope):
            return NotImplemented
        return pair.made(func, torch.mul(second, through))
    middle, inverse = midpoint(pair, 0), torch.lerp(before, after, 0.5)
    if not is_moderate(middle) or not is_moderate(inverse) or not is_moderate(slope):
        return NotImplemented
    return pair.made(func, torch.mul(first, inverse).addcmul_(middle, torch.mul(second, slope)))


def _divides(divisor: Any) -> bool:
    """Whether a divisor is neither so small that something has to be said, nor infinite."""
    if not isinstance(divisor, torch.Tensor):
        return 1 / STEEP <= abs(divisor) < math.inf
    if not divisor.numel():
        return False
    least, most = torch.aminmax(divisor.detach().abs())
    return 1 / STEEP <= least.item() and most.item() < math.inf
