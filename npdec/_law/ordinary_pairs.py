"""The law of ordinary calls with two arguments: how they are brought together, and products of matrices.

Each argument is an ordinary decomposed tensor (`npdec._law.ordinary`), a plain tensor of its dtype, or a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any, NamedTuple

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.axes import narrowed
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._decomposed.tensor import DecomposedTensor, Labels, merged, placed
from npdec._law import ordinary, reverse_pairs
from npdec._law.native_forms import in_c
from npdec._law.of_few import with_axes
from npdec._law.ordinary import (
    FACTORS,
    FEW,
    has_elements,
    is_moderate,
    is_ordinary,
    made_of,
    rows_of,
)

__all__ = [
    "Pair", "aligned", "einsum", "is_constant", "layer", "matmul", "middles", "midpoint", "of_one_shape", "pair_of",
]  # fmt: skip

Function = Callable[..., Any]
_EQUATION = re.compile("([a-zA-Z]*),([a-zA-Z]*)->([a-zA-Z]*)")
_LARGE = 2**16  # elements of components, from which on products are made for one after the other


class Pair(NamedTuple):
    """Two arguments; of those that are not decomposed the components are None, and the value is the residual. The
    components are under the same labels, or `apart`: then the labels are those of the first and of the second."""

    values: Sequence[Any]
    residuals: Sequence[Any]
    components: Sequence[torch.Tensor | None]
    labels: Labels
    like: DecomposedTensor
    apart: bool = False

    def together(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """The components of a sum of two, of which these are the arguments' own."""
        return torch.cat((first, second)) if self.apart else first + second

    def made(self, func: Function, components: torch.Tensor) -> Any:
        """The result of a function, to whose shape the components broadcast."""
        value = func(*self.values)
        if value.shape != components.shape[1:]:
            components = components.expand(components.shape[0], *value.shape).clone()
        return made_of(value, func(*self.residuals), components, self.like, self.labels)


def pair_of(args: Sequence[Any], apart: bool = False) -> Pair | None:
    """The two arguments of an ordinary call; None if it is none. Without a label in common they may be `apart`."""
    if len(args) != 2:
        return None
    a, b = args
    if not is_ordinary(a):
        if not is_ordinary(b) or not _is_beside(a, b.value):
            return None
        return Pair((a, b.value), (a, rows_of(b)), (None, _raised(b, a)), b.labels, b)
    if not is_ordinary(b):
        if not _is_beside(b, a.value):
            return None
        return Pair((a.value, b), (rows_of(a), b), (_raised(a, b), None), a.labels, a)
    if a.value.dtype is not b.value.dtype:
        return None
    if a.value.shape != b.value.shape:
        return _broadcast(a, b)
    alike = a.residual.stride() == b.residual.stride()  # rows that are equal in both are so in the result
    residuals: tuple[Any, Any] = (rows_of(a), rows_of(b)) if alike else (a.residual, b.residual)
    labels, parts = aligned(a, b, apart)
    if parts is None:
        return None
    return Pair(
        (a.value, b.value), residuals, parts, labels, a, parts[0] is a.components and parts[0].shape[0] < len(labels)
    )


def _broadcast(a: DecomposedTensor, b: DecomposedTensor) -> Pair | None:
    """Two decomposed tensors of other shapes, the components with as many axes as the result has."""
    shape, other = a.value.shape, b.value.shape
    if not _fit(shape, other):
        return None
    if any(0 in t.residual.stride() and t.residual.numel() > FEW for t in (a, b)):  # of equal rows one is enough
        return None
    labels, parts = aligned(a, b)
    if parts is None:
        return None
    axes = max(len(shape), len(other))
    return Pair((a.value, b.value), (a.residual, b.residual), [with_axes(p, axes) for p in parts], labels, a)


def _fit(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes broadcast against each other."""
    return all(m in (n, 1) or n == 1 for m, n in zip(reversed(shape), reversed(other)))


def _raised(x: DecomposedTensor, other: Any) -> torch.Tensor:
    """The components, with as many axes as the result with another, plain argument has."""
    return with_axes(x.components, other.ndim) if isinstance(other, torch.Tensor) else x.components


def _is_beside(b: Any, like: torch.Tensor) -> bool:
    """Whether b is a number, or a plain tensor of the dtype that broadcasts against another."""
    if type(b) is float or type(b) is int:
        return True
    return type(b) in FACTORS and b.dtype is like.dtype and _fit(b.shape, like.shape) and has_elements(b)


def aligned(
    a: DecomposedTensor, b: DecomposedTensor, apart: bool = False
) -> tuple[Labels, tuple[torch.Tensor, torch.Tensor] | None]:
    """The labels of two tensors, and their components under these; None if these are many. If no label is in common,
    they may be left `apart`."""
    if a.labels is b.labels or a.labels == b.labels:
        return a.labels, (a.components, b.components)
    labels, places = merged(a.labels, b.labels)
    count = len(labels)
    if count >= size_limits.MANY:
        return labels, None
    if apart and count == len(a.labels) + len(b.labels):
        return labels, (a.components, b.components)
    first = a.components if labels is a.labels else placed(a.components, range(len(a.labels)), count)
    return labels, (first, placed(b.components, places, count))


def is_constant(b: Any, like: torch.Tensor) -> bool:
    """Whether b is a number, or a plain tensor of the dtype that broadcasts to the shape."""
    if type(b) is float or type(b) is int:
        return True
    return type(b) in FACTORS and b.dtype is like.dtype and b.ndim <= like.ndim and has_elements(b)


@in_c("matmul")
def matmul(func: Function, args: Sequence[Any]) -> Any:
    """A product of two vectors, matrices, or batches of these: each times the other's midpoint."""
    if len(args) != 2 or type(args[0]) is not type(args[1]) or not (is_ordinary(args[0]) and is_ordinary(args[1])):
        made = ordinary.matmul(func, args)
        return reverse_pairs.matmul(func, args) if made is NotImplemented else made
    a, b = args
    first, second = a.value.ndim, b.value.ndim
    if not first or not second or (max(first, second) > 2 and a.value.shape[:-2] != b.value.shape[:-2]):
        return NotImplemented
    found = middles(a, b)
    labels, parts = aligned(a, b) if found is not None else (a.labels, None)
    if found is None or parts is None:
        return NotImplemented
    if first == second > 1:  # equal rows and columns need one of them
        rows, columns = narrowed(a.residual, first - 1), narrowed(b.residual.mT, first - 1).mT
    else:  # BLAS adds up elements that are one in memory in another order
        rows, columns = materialised_residual(a), materialised_residual(b)
    # A vector's components are as many rows, or columns.
    ahead = torch.matmul(parts[0].unsqueeze(-2) if first == 1 < second else parts[0], found[1])
    behind = torch.matmul(found[0], parts[1].unsqueeze(-1) if second == 1 else parts[1])
    shape = (len(labels), *a.value.shape[:-1], *(b.value.shape[-1:] if second > 1 else ()))
    components = ahead.reshape(shape) + behind.reshape(shape)
    return made_of(func(a.value, b.value), func(rows, columns), components, a, labels)


def einsum(func: Function, args: Sequence[Any]) -> Any:
    """An Einstein sum of two: each times the other's midpoint, or times a constant."""
    if len(args) != 3 or type(args[0]) is not str:
        return NotImplemented
    equation, a, b = args
    terms = _EQUATION.fullmatch(equation)
    spare = None if terms is None else next((letter for letter in ascii_letters if letter not in equation), None)
    if terms is None or spare is None:
        return NotImplemented
    first, second, out = terms.groups()
    in_first, in_second = f"{spare}{first},{second}->{spare}{out}", f"{first},{spare}{second}->{spare}{out}"
    if type(a) in FACTORS or type(b) in FACTORS:
        x, factor, rows = (b, a, in_second) if type(a) in FACTORS else (a, b, in_first)
        if not is_ordinary(x) or factor.dtype is not x.value.dtype or not has_elements(factor):
            return NotImplemented
        if x.components.numel() > _LARGE or not is_moderate(factor):
            return NotImplemented
        operands = [(part, factor) if x is a else (factor, part) for part in (x.value, materialised_residual(x))]
        components = func(rows, *((x.components, factor) if x is a else (factor, x.components)))
        return made_of(func(equation, *operands[0]), func(equation, *operands[1]), components, x)
    if not (is_ordinary(a) and is_ordinary(b)):
        return NotImplemented
    found = middles(a, b)
    labels, parts = aligned(a, b) if found is not None else (a.labels, None)
    if found is None or parts is None:
        return NotImplemented
    value = func(equation, a.value, b.value)
    residual = func(equation, materialised_residual(a), materialised_residual(b))
    components = func(in_first, parts[0], found[1]) + func(in_second, found[0], parts[1])
    return made_of(value, residual, components, a, labels)


@in_c("layer")
def layer(func: Function, args: Sequence[Any]) -> Any:
    """Rows times a decomposed weight, each times the other's midpoint, and a bias."""
    if not 2 <= len(args) <= 3 or type(args[1]) in FACTORS or not (is_ordinary(args[0]) and is_ordinary(args[1])):
        return ordinary.layer(func, args)
    x, weight = args[:2]
    bias: Any = args[2] if len(args) == 3 else None
    carried = is_ordinary(bias)
    if (
        x.value.ndim != 2
        or weight.value.ndim != 2
        or x.labels != weight.labels
        or (carried and (bias.value.ndim != 1 or bias.labels != x.labels))
    ):
        return NotImplemented
    if not (carried or bias is None or (type(bias) in FACTORS and has_elements(bias))):
        return NotImplemented
    found = middles(x, weight)
    if found is None:
        return NotImplemented
    components = torch.matmul(x.components, found[1].mT) + torch.matmul(found[0], weight.components.mT)
    if carried:
        components = components + bias.components.unsqueeze(1)
    ends = (bias.value, materialised_residual(bias)) if carried else (bias, bias)
    value = func(x.value, weight.value, ends[0])
    return made_of(value, func(materialised_residual(x), materialised_residual(weight), ends[1]), components, x)


def middles(a: DecomposedTensor, b: DecomposedTensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The middles of the paths of two factors; None where these are large, or not alike."""
    if a.value.dtype is not b.value.dtype:
        return None
    if max(a.components.numel(), b.components.numel()) > _LARGE:
        return None
    middle_a, middle_b = [torch.add(t.value / 2, t.residual, alpha=0.5) for t in (a, b)]
    return (middle_a, middle_b) if is_moderate(middle_a) and is_moderate(middle_b) else None


def midpoint(pair: Pair, i: int) -> torch.Tensor:
    """The middle of the path of one of the arguments."""
    return torch.lerp(pair.residuals[i], pair.values[i], 0.5)


def of_one_shape(pair: Pair) -> Pair | None:
    """The same pair, the arguments in the shape of the result; None if that is large."""
    shape = torch.broadcast_shapes(*[t.shape for t in pair.values])
    if shape.numel() > size_limits.HANDFUL:
        return None
    values, residuals = ([t.expand(shape) for t in ends] for ends in (pair.values, pair.residuals))
    components = [None if c is None else c.expand(c.shape[0], *shape) for c in pair.components]
    return pair._replace(values=values, residuals=residuals, components=components)
