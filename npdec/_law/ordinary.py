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
from itertools import chain
from typing import Any, NamedTuple

import torch

from npdec._decomposed import completeness, lazy_products, size_limits
from npdec._decomposed.axes import narrowed, once
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._decomposed.registry import Trait, rows
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import STEEP
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._impl import slopes_impl
from npdec._law import ordinary_reverse
from npdec._law.create_graph import graph_wanted
from npdec._law.native_forms import in_c
from npdec._law.of_few import vector
from npdec._law.on_demand import graph_on_demand
from npdec._law.ordinary_slopes import ordinary_slope, slope_at_number, without_slope
from npdec._law.overrides_scope import current as watched
from npdec._native import calls
from npdec._torch.functorch import is_transformed

__all__ = [
    "FACTORS", "FEW", "Condition", "Form", "Number", "built", "by_slopes", "carries_graph", "condition_in",
    "has_elements", "is_condition", "is_moderate", "is_number", "is_observed", "is_ordinary", "layer", "made_of",
    "matmul", "number_in", "number_of", "of_a_summand", "of_the_value", "pointwise", "rows_of", "single",
]  # fmt: skip

Function = Callable[..., Any]
Form = Callable[..., Any]  # of the function, its arguments, and options by name, if the row says that it takes them
FACTORS = (torch.Tensor, torch.nn.Parameter)
_NUMBERS = frozenset({float, int, bool, str, type(None)})
FEW = 2**12  # elements of a residual that are as well computed as they are seen to be equal
# The value, the residual and the components of a number, as Python's; and of a condition.
Number = tuple[float, float, list[float]]
Condition = tuple[bool, bool, list[float]]
# Looked up once: these names are read in every call.
_Tensor, _as_subclass, _detach = torch.Tensor, torch.Tensor.as_subclass, torch.Tensor.detach
_REAL = (torch.float64, torch.float32)
_CPU = torch.device("cpu")
_IN_C = {None: "pointwise", slopes_impl.sigmoid: "sigmoid", slopes_impl.tanh: "tanh"}  # closed forms of slopes
_follows_forward_mode, _is_inference = torch._C._is_fwd_grad_enabled, torch.is_inference_mode_enabled


def is_observed() -> bool:
    """Whether somebody looks on, or a context changes what calls are answered by."""
    return (
        watched.get() is not None
        or completeness.current.get() is not None
        or graph_wanted.get()
        or is_transformed()
        or not (_follows_forward_mode() or _is_inference())  # else a torch.autograd.Function's own code
    )


def is_ordinary(x: Any) -> bool:
    """Whether a tensor is a decomposed one of real numbers in single or double precision, with few dense components."""
    if type(x) is not DecomposedTensor or x.reverse or x.kept is not None:
        return False
    value, origin = x.value, x.origin
    if origin is not None and origin.is_near:
        return False
    dtype = value.dtype
    return (
        dtype in _REAL
        and x.components.dtype is dtype
        and type(value) is _Tensor
        and len(x.labels) < size_limits.MANY
        and not value.is_meta
    )


def is_condition(x: Any) -> bool:
    """Whether it is a decomposed condition with a few dense components in single or double precision."""
    if type(x) is not DecomposedTensor or x.value.dtype is not torch.bool or type(x.value) is not _Tensor:
        return False
    if x.reverse or x.kept is not None or len(x.labels) >= size_limits.MANY or x.value.is_meta:
        return False
    return x.components.dtype in _REAL


def built(value: torch.Tensor, residual: torch.Tensor, components: torch.Tensor, labels: Labels) -> Any:
    """The decomposed tensor of parts that are known to be of one dtype. The residual has as many axes as the value, and
    may be one of rows that are equal."""
    if value.requires_grad or value._is_view():
        made: Any = _as_subclass(value, DecomposedTensor)
    else:  # the same, sooner
        made = _detach(value)
        made.__class__ = DecomposedTensor
    made.value, made.components, made.labels = value, components, labels
    made.residual = residual if residual.numel() == value.numel() > 0 else residual.expand(value.shape)
    made.reverse = made.discrete = False  # torch.compile finds none of them on the class
    made.origin = None
    return made


def carries_graph(x: DecomposedTensor) -> bool:
    """Whether a part of an ordinary tensor requires gradients."""
    return x.value.requires_grad or x.residual.requires_grad or x.components.requires_grad


def is_number(x: DecomposedTensor) -> bool:
    """Whether a tensor is a number on the host that nobody differentiates, with a handful of components."""
    value = x.value
    if value.ndim or not value.is_cpu or value.requires_grad or not 0 < len(x.labels) <= HANDFUL:
        return False
    return not (x.residual.requires_grad or x.components.requires_grad)


def number_in(x: Any) -> Number | None:
    """What an ordinary number is made of, if nobody differentiates it; None of anything else."""
    found: Number | None = None if calls is None else calls.number_in(x)
    if found is not None:
        return found
    if type(x) is not DecomposedTensor or x.value.ndim or not is_ordinary(x) or not is_number(x):
        return None
    return x.value.item(), x.residual.item(), x.components.tolist()


def condition_in(x: Any) -> Condition | None:
    """The same of a condition."""
    found: Condition | None = None if calls is None else calls.condition_in(x)
    if found is not None:
        return found
    if type(x) is not DecomposedTensor or x.value.ndim or not is_condition(x) or not is_number(x):
        return None
    return bool(x.value), bool(x.residual), x.components.tolist()


def number_of(
    value: torch.Tensor | float,
    residual: torch.Tensor | float,
    components: list[float],
    labels: Labels,
    dtype: torch.dtype,
) -> Any:
    """The decomposed number, condition or integer, of components of the dtype; the value and the residual are tensors
    without axes, floats for numbers of the dtype, booleans, or ints for 64-bit integers."""
    made = None if calls is None else calls.number_of(value, residual, components, labels, dtype)
    if made is not None:
        return made
    value, residual = _as_tensor(value, dtype), _as_tensor(residual, dtype)
    made = built(value, residual, vector(components, dtype), labels)
    made.discrete = not value.is_floating_point()
    return made


def _as_tensor(number: torch.Tensor | float, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(number, torch.Tensor):
        return number
    own = {bool: torch.bool, int: torch.int64}.get(type(number), dtype)
    return torch.scalar_tensor(number, dtype=own, device=_CPU)


def made_of(
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    like: DecomposedTensor,
    labels: Labels | None = None,
) -> Any:
    """The decomposed tensor of parts that fit together, under the labels of `like` or others (`built`)."""
    dtype = value.dtype
    if dtype is not components.dtype or dtype is not like.value.dtype:
        return NotImplemented
    return built(value, residual, components, like.labels if labels is None else labels)


def of_a_summand(traits: int, first: Any, second: Any) -> Any:
    """The components of a sum or difference of which one argument alone has some."""
    if first is None:
        return second.neg() if traits & Trait.SUBTRACT else second.clone()
    return first.neg() if traits & Trait.SUBTRACT_FROM else first.clone()


def rows_of(x: DecomposedTensor) -> torch.Tensor:
    """The residual, one of the rows that are equal."""
    residual = x.residual
    strides = residual.stride()
    return residual[tuple([slice(None) if stride else slice(1) for stride in strides])] if 0 in strides else residual


def has_elements(tensor: torch.Tensor) -> bool:
    """Whether a tensor lies in memory, element by element."""
    return tensor.layout is torch.strided and not tensor.is_meta


def is_moderate(factor: torch.Tensor) -> bool:
    """Whether no contribution becomes a million times as large, infinite or NaN by a factor."""
    if not factor.ndim:
        return -STEEP <= factor.item() <= STEEP
    if factor.ndim <= 2 and factor.numel() <= HANDFUL and factor.is_cpu:
        numbers = factor.tolist()
        return math.hypot(*(numbers if factor.ndim == 1 else chain.from_iterable(numbers))) <= STEEP
    factor = factor.detach() if factor.requires_grad else factor
    return torch.linalg.vector_norm(factor).item() <= STEEP


def of_the_value(func: Function, args: Sequence[Any]) -> Any:
    """What looks at no number: shapes, dtypes, memory."""
    return func(args[0].value) if len(args) == 1 and type(args[0]) is DecomposedTensor else NotImplemented


def matmul(func: Function, args: Sequence[Any]) -> Any:
    """Of decomposed rows with a constant vector or matrix, or of one with a decomposed vector or matrix."""
    if len(args) != 2:
        return NotImplemented
    x, other = args
    behind = type(x) is not DecomposedTensor
    if behind:
        x, other = other, x
    if type(other) not in FACTORS or not is_ordinary(x):
        return NotImplemented
    axes, its = x.value.ndim, other.ndim
    if not axes or not 1 <= its <= 2 or not has_elements(other):
        return NotImplemented
    if axes > 2 and (behind or other.numel() >= lazy_products.LARGE):
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
    rows = narrowed(x.residual, axes - 1) if its == 2 else materialised_residual(x)
    rows = x.residual if x.residual.stride() == x.value.stride() else rows.contiguous()
    value, residual = func(x.value, other), func(rows, other)
    return built(value, residual, torch.matmul(x.components, other), x.labels)


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
    many = not reverse and x.value.ndim > 2 and weight.numel() >= lazy_products.LARGE
    if many or weight.ndim != 2:
        return NotImplemented
    if not has_elements(weight) or weight.dtype is not x.value.dtype:
        return NotImplemented
    if reverse:  # where contributions are looked at in the end, and not here
        return ordinary_reverse.layer(func, x, weight, bias)
    if not is_moderate(weight):
        return NotImplemented
    row = narrowed(x.residual, x.value.ndim - 1)  # equal rows need one of them
    value, residual = func(x.value, weight, bias), func(row, weight, bias)
    return made_of(value, residual, func(x.components, weight), x)


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
    if options is None and len(args) == 1:
        return Single(func, args[0], (), None) if 0 in places else None
    if options is None and len(args) == 2 and type(args[0]) is DecomposedTensor and type(args[1]) in _NUMBERS:
        x, number = args
        exponent = number if traits & Trait.POWER else None
        return Single(lambda u: func(u, number), x, (), exponent) if 0 in places else None
    if options is None and len(args) == 2:
        made = _beside_number(places, traits, func, *args)
        if made is not None:
            return made
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
    if type(exponent) is torch.Tensor and not exponent.ndim and exponent.is_cpu and not exponent.requires_grad:
        exponent = exponent.item()
    return Single(f, x, tuple([args[i] for i in plain]), exponent)


def _beside_number(places: Collection[int], traits: int, func: Function, a: Any, b: Any) -> Single | None:
    """`single` of one beside a constant number in a tensor."""
    place = 0 if type(a) is DecomposedTensor else 1
    x, other = (b, a) if place else (a, b)
    if type(x) is not DecomposedTensor or type(other) is not _Tensor or other.ndim or place not in places:
        return None
    if other.dtype is not x.value.dtype or not has_elements(other):
        return None
    if place:
        return Single(lambda u, o: func(o, u), x, (other,), None)
    known = traits & Trait.POWER and other.is_cpu and not other.requires_grad
    return Single(func, x, (other,), other.item() if known else None)


def by_slopes(slope: Function | None, traits: int, places: Collection[int]) -> Form:
    """The form of a pointwise function; of a few elements, of the first argument, C may know the slopes."""

    def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        return pointwise(slope, traits, places, func, args, options)

    named = _IN_C.get(slope) if 0 in places and not traits & Trait.POWER else None
    return form if named is None else in_c(named, traits)(form)


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
    number = None if others or exponent is not None else number_in(x)
    if number is not None:
        u, w, given = number
        fx, fr = f(x.value), f(x.residual)
        multiplier = slope_at_number(slope, traits, u, w, fx, fr, x.value.dtype, func)
        if multiplier is not None:
            return number_of(fx, fr, [c * multiplier for c in given], x.labels, fx.dtype)
        made = None if slope is not None else without_slope(u, w, given, fx, fr, func)
        if made is not None:
            return number_of(fx, fr, made, x.labels, fx.dtype)
    if not is_ordinary(x):
        if not ordinary_reverse.is_ordinary(x):
            return NotImplemented
        return ordinary_reverse.pointwise(x, slope, traits, f, func, exponent, others)
    value, residual, components = x.value, x.residual, x.components
    graph = value.requires_grad or residual.requires_grad or components.requires_grad
    graph = graph and torch.is_grad_enabled()
    if graph and (others or func not in rows):
        return NotImplemented
    ends = (value.detach(), residual.detach()) if graph else (value, residual)
    found = ordinary_slope(slope, traits, f, *ends, func, exponent, others)
    if found is None:
        return NotImplemented
    fx, fr, slopes, _ = found
    if graph:
        passed = graph_on_demand(func, args, options or {}, components.detach() * slopes)
        return built(f(value), once(residual, f), passed, x.labels)
    return built(fx, fr, components * slopes, x.labels)
