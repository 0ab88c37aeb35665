"""The law of ordinary calls, by the shortest way: sums, products, layers and pointwise functions of real tensors with a
few dense components under the same labels.

Each form answers a call by the closed form that the general way comes to, with the same calls of torch, and gives
NotImplemented where anything is not ordinary: other labels or shapes, half precision, blocks and entries, reverse mode,
factors or slopes so large that something has to be said of them. Then the general way is gone. Which form a function
has follows from its tags and traits; the registry keeps it in the function's row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from npdec._decomposed import completeness, lazy_products, size_limits
from npdec._decomposed.aliasing import link
from npdec._decomposed.axes import narrowed
from npdec._decomposed.batching_rules import is_basic, is_of_one_axis
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_warnings import STEEP
from npdec._decomposed.tensor import DecomposedTensor, Labels, merged, placed
from npdec._impl._storage import shares_memory
from npdec._law import ordinary_reverse
from npdec._law.create_graph import graph_wanted
from npdec._law.overrides_scope import current as watched
from npdec._law.secant import ordinary_slope
from npdec._torch.functorch import is_transformed

__all__ = [
    "FACTORS", "FEW", "Form", "each", "has_elements", "instead", "is_moderate", "is_observed", "is_ordinary", "joined",
    "kept_dtype", "layer", "made_of", "matmul", "of_one", "of_the_value", "pointwise", "rows_of", "single",
]  # fmt: skip

Function = Callable[..., Any]
Form = Callable[..., Any]  # of the function, its arguments, and options by name, if the row says that it takes them
FACTORS = (torch.Tensor, torch.nn.Parameter)
_NUMBERS = frozenset({float, int, bool, str, type(None)})
FEW = 2**12  # elements of a residual that are as well computed as they are seen to be equal
_as_subclass = torch.Tensor.as_subclass


def is_observed() -> bool:
    """Whether somebody looks on, or a context changes what calls are answered by."""
    return (
        watched.get() is not None
        or completeness.current.get() is not None
        or graph_wanted.get()
        or is_transformed()
        or not torch._C._is_fwd_grad_enabled()
    )


def is_ordinary(x: Any) -> bool:
    """Whether a tensor is a decomposed one of real numbers in single or double precision, with few dense components."""
    if type(x) is not DecomposedTensor or x.reverse or x.kept is not None or len(x.labels) >= size_limits.MANY:
        return False
    value = x.value
    return (
        type(value) is torch.Tensor
        and value.dtype in (torch.float64, torch.float32)
        and not value.is_meta
        and x.components.dtype is value.dtype
        and x.origin is None
    )


def made_of(
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    like: DecomposedTensor,
    labels: Labels | None = None,
) -> Any:
    """The decomposed tensor of parts that fit together, under the labels of `like` or others."""
    if not value.dtype is like.value.dtype is components.dtype:
        return NotImplemented
    made: Any = _as_subclass(value, DecomposedTensor)
    made.value, made.components = value, components
    made.labels = like.labels if labels is None else labels
    made.residual = residual if residual.shape == value.shape else residual.expand(value.shape)
    made.reverse = made.discrete = False
    made.origin = None
    return made


def rows_of(x: DecomposedTensor) -> torch.Tensor:
    """The residual, one of the rows that are equal."""
    return narrowed(x.residual, x.residual.ndim) if 0 in x.residual.stride() else x.residual


def has_elements(tensor: torch.Tensor) -> bool:
    """Whether a tensor lies in memory, element by element."""
    return tensor.layout is torch.strided and not tensor.is_meta


def is_moderate(factor: torch.Tensor) -> bool:
    """Whether no contribution becomes a million times as large, infinite or NaN by a factor."""
    factor = factor.detach() if factor.requires_grad else factor
    if factor.ndim:
        factor = torch.linalg.vector_norm(factor)
    return -STEEP <= factor.item() <= STEEP


def of_the_value(func: Function, args: Sequence[Any]) -> Any:
    """What looks at no number: shapes, dtypes, memory."""
    return func(args[0].value) if len(args) == 1 and type(args[0]) is DecomposedTensor else NotImplemented


def of_one(batch: Function, traits: int) -> Form:
    """The form of a linear function of one, which has a rule for one more leading axis."""
    return partial(_of_one, batch, traits)


def each(func: Function, args: Sequence[Any]) -> Any:
    """A linear function of each element."""
    x = args[0]
    if len(args) != 1 or not is_ordinary(x):
        return NotImplemented
    return _linked(made_of(func(x.value), func(rows_of(x)), func(x.components), x), x)


def kept_dtype(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A cast to the dtype that is there: the tensor itself, as torch gives it."""
    wanted = args[1:] if options is None else [*args[1:], options.get("dtype")]
    x = args[0]
    if type(x) is not DecomposedTensor or len(wanted) != 1 or (options and len(options) > 1):
        return NotImplemented
    return x if wanted[0] is x.value.dtype else NotImplemented


def joined(func: Function, args: Sequence[Any]) -> Any:
    """Tensors joined along an axis, decomposed ones and constants."""
    tensors, dim = args if len(args) == 2 else (args[0], 0)
    if type(dim) is not int or type(tensors) not in (list, tuple):
        return NotImplemented
    like = next((t for t in tensors if type(t) is DecomposedTensor), None)
    if like is None:  # an option is decomposed
        return NotImplemented
    dtype, ndim, labels = like.value.dtype, like.value.ndim, like.labels  # torch takes an empty vector beside others
    for t in tensors:
        if is_ordinary(t):
            if t.value.dtype is not dtype or t.value.ndim != ndim:
                return NotImplemented
            if t.labels is not labels:
                labels, _ = merged(labels, t.labels)
        elif type(t) not in FACTORS or t.dtype is not dtype or t.ndim != ndim or not has_elements(t):
            return NotImplemented
    if len(labels) >= size_limits.MANY:
        return NotImplemented
    values = [t.value if type(t) is DecomposedTensor else t for t in tensors]
    residuals = [t.residual if type(t) is DecomposedTensor else t for t in tensors]
    components = [_under(t, labels) for t in tensors]
    front = func(components, dim + 1 if dim >= 0 else dim)
    return made_of(func(values, dim), func(residuals, dim), front, like, labels)


def _under(t: Any, labels: Labels) -> torch.Tensor:
    """The components of a tensor under some labels, of which it may have a part, or none."""
    if type(t) is not DecomposedTensor:
        return t.new_zeros((len(labels), *t.shape))
    components: torch.Tensor = t.components
    if t.labels is labels or t.labels == labels:
        return components
    return placed(components, merged(labels, t.labels)[1], len(labels))


def _of_one(batch: Function, traits: int, func: Function, args: Sequence[Any]) -> Any:
    x, *rest = args
    reverse = not is_ordinary(x)
    if (reverse and not ordinary_reverse.is_ordinary(x)) or DecomposedTensor in map(type, rest):
        return NotImplemented
    if traits & Trait.INDEX and not (is_basic(rest[0]) if reverse else is_of_one_axis(rest[0])):
        return NotImplemented
    value = func(x.value, *rest)
    front = batch(func, x.value.ndim, rest, {}, value)
    if front is None:
        return NotImplemented
    if reverse:
        equal = not traits & Trait.STRIDED and 0 in x.residual.stride()
        return NotImplemented if equal else ordinary_reverse.of_one(func, x, rest, value, front)
    residual = _residual(func, x, rest, value, traits)
    if residual is None:
        return NotImplemented
    components = front(x.components)
    if type(value) is torch.Tensor:
        return _linked(made_of(value, residual, components, x), x)
    return tuple(_linked(made_of(*parts, x), x) for parts in zip(value, residual, components, strict=True))


def _residual(func: Function, x: DecomposedTensor, rest: Sequence[Any], value: Any, traits: int) -> Any:
    """The function of the residual, of which the elements that are one in memory remain so where that is simple; None
    where that would pay."""
    strides = x.residual.stride()
    if 0 not in strides:
        return func(x.residual, *rest)
    if traits & Trait.SELECT and not any(strides) and x.residual.numel() and not shares_memory(value, x.value):
        return x.residual.as_strided((), (), x.residual.storage_offset()).clone().expand(value.shape)
    if traits & Trait.RESHAPE and not traits & Trait.STRIDED:
        return x.residual.reshape(value.shape)  # torch makes no views of elements that are one in memory
    if traits & (Trait.STRIDED | Trait.MOVE):
        return func(x.residual, *rest)
    return func(materialised_residual(x), *rest) if x.residual.numel() <= FEW else None


def _linked(made: Any, x: DecomposedTensor) -> Any:
    """What was made of x, which may look at its memory."""
    if made is not NotImplemented:
        link(made, x)
    return made


def matmul(func: Function, args: Sequence[Any]) -> Any:
    """Of decomposed rows with a constant vector or matrix, or of one with a decomposed vector or matrix."""
    if len(args) != 2:
        return NotImplemented
    x, other = args
    behind = not is_ordinary(x)
    if behind:
        x, other = other, x
    if not is_ordinary(x) or type(other) not in FACTORS:
        return NotImplemented
    if (
        not has_elements(other)
        or not 1 <= other.ndim <= 2
        or x.value.ndim < 1
        or (x.value.ndim > 2 and (behind or other.numel() >= lazy_products.LARGE))
    ):
        return NotImplemented
    if other.dtype is not x.value.dtype or not is_moderate(other):
        return NotImplemented
    if behind:
        if x.value.ndim > 1 and 0 in x.residual.stride():  # of equal columns one is enough
            return NotImplemented
        value, residual = func(other, x.value), func(other, materialised_residual(x))
        if x.value.ndim > 1:
            components = torch.matmul(other, x.components)
        else:  # each component is a vector
            components = torch.matmul(x.components, other if other.ndim == 1 else other.mT)
        return made_of(value, residual, components, x)
    # Of products with a vector torch adds up fewer rows in another order.
    rows = narrowed(x.residual, x.value.ndim - 1) if other.ndim == 2 else materialised_residual(x)
    return made_of(func(x.value, other), func(rows.contiguous(), other), torch.matmul(x.components, other), x)


def layer(func: Function, args: Sequence[Any]) -> Any:
    """Of decomposed rows, with a constant weight and bias."""
    if not 2 <= len(args) <= 3:
        return NotImplemented
    x, weight, bias = args if len(args) == 3 else (*args, None)
    reverse = not is_ordinary(x)
    if reverse and not ordinary_reverse.is_ordinary(x):
        return NotImplemented
    if type(weight) not in FACTORS or not (bias is None or type(bias) in FACTORS):
        return NotImplemented
    if (x.value.ndim > 2 and weight.numel() >= lazy_products.LARGE) or weight.ndim != 2:
        return NotImplemented
    if not has_elements(weight) or weight.dtype is not x.value.dtype or not is_moderate(weight):
        return NotImplemented
    if reverse:
        return ordinary_reverse.layer(func, x, weight, bias)
    value, row = func(x.value, weight, bias), narrowed(x.residual, x.value.ndim - 1)  # equal rows need one of them
    return made_of(value, func(row, weight, bias), func(x.components, weight), x)


class Single(NamedTuple):
    """A call as a function of its only decomposed argument, an ordinary one, and of the constant tensors beside it."""

    f: Function
    x: DecomposedTensor
    others: tuple[torch.Tensor, ...]
    exponent: Any  # what is raised to, if it is a number


def single(
    places: Collection[int], traits: int, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None
) -> Single | None:
    """The call, if of its arguments one is decomposed, which has one of these places, and the others are constants."""
    if len(args) == 1 and options is None:
        return Single(func, args[0], (), None) if 0 in places else None
    place, plain = -1, []
    for i, arg in enumerate(args):
        if type(arg) is DecomposedTensor:
            if place >= 0 or i not in places:
                return None
            place = i
        elif type(arg) in FACTORS:
            plain.append(i)
        elif type(arg) not in _NUMBERS:
            return None
    if place < 0:
        return None
    x, named = args[place], options or {}
    like = x.value
    for i in plain:
        if args[i].dtype is not like.dtype or args[i].ndim > like.ndim or not has_elements(args[i]):
            return None
    for item in named.values():
        if type(item) not in _NUMBERS:
            return None
    if named.get("inplace"):
        return None
    given = list(args)

    def f(u: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        given[place] = u
        for i, other in zip(plain, others, strict=True):
            given[i] = other
        made: torch.Tensor = func(*given, **named)
        return made

    exponent = args[1] if traits & Trait.POWER and len(args) == 2 and not place else None
    return Single(f, x, tuple([args[i] for i in plain]), exponent)


def pointwise(
    slope: Function | None,
    traits: int,
    places: Collection[int],
    func: Function,
    args: Sequence[Any],
    options: dict[str, Any] | None = None,
) -> Any:
    """Of one, by the secant slope."""
    call = None if settings.get().rule != "affine" else single(places, traits, func, args, options)
    if call is None:
        return NotImplemented
    f, x, others, exponent = call
    if not is_ordinary(x):
        if not ordinary_reverse.is_ordinary(x):
            return NotImplemented
        return ordinary_reverse.pointwise(x, slope, traits, f, func, exponent, others)
    value, residual, components = x.value, x.residual, x.components
    if torch.is_grad_enabled() and (value.requires_grad or residual.requires_grad or components.requires_grad):
        return NotImplemented
    found = ordinary_slope(slope, traits, f, value, residual, func, exponent, others)
    if found is None:
        return NotImplemented
    fx, fr, multiplier, _ = found
    return made_of(fx, fr, components * multiplier, x)


def instead(own: Function) -> Form:
    """The form of a pointwise function of one, by another that computes the same, and has a derivative."""
    return partial(_instead, own)


def _instead(own: Function, func: Function, args: Sequence[Any]) -> Any:
    return pointwise(None, Trait.ELEMENTWISE, (0,), own, args)
