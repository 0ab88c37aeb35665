"""Decomposed booleans and integers: their value and residual are what they are, their components are real numbers, and
functions pass contributions on by the rules that they have for floating numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from npdec._core.containers import refilled
from npdec._decomposed.axes import once
from npdec._decomposed.call import Call
from npdec._decomposed.kept_components import dtype_of_steps, handed_on
from npdec._decomposed.registry import Rule
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl import _util
from npdec._law.named_rules import residuals_are_of_the_baseline
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing
from npdec.exceptions import DecompositionWarning

__all__ = [
    "OfNumbers",
    "as_numbers",
    "common_dtype",
    "dropped",
    "has_discrete",
    "magnitude",
    "of_numbers",
    "residual_of",
    "value_of",
    "warn_dropped",
    "where_same",
    "with_numbers",
]

Function = Callable[..., Any]


def value_of(x: Any) -> Any:
    """The value of a decomposed tensor, and anything else as it is."""
    return x.value if isinstance(x, DecomposedTensor) else x


def residual_of(x: Any) -> Any:
    """The residual of a decomposed tensor, and anything else as it is."""
    return x.residual if isinstance(x, DecomposedTensor) else x


def magnitude(*sides: Any) -> torch.Tensor:
    """The sum of the magnitudes of numbers, at both ends of the path where they are decomposed: of those whose rounding
    errors are in their difference."""
    return sum(abs(value_of(side)) + abs(residual_of(side)) for side in sides)


def with_numbers(value: Any, residual: Any, made: Any) -> Any:
    """The contributions of `made`, with another value and residual: a tensor, or sequences of them.

    Under a rule whose residuals are no function of the baseline (`np.rule("scaling")`), that of `made` stays.
    """
    if isinstance(value, torch.Tensor):
        if not isinstance(made, DecomposedTensor):
            return value
        numbers = carries(value.dtype)
        if numbers and not (tracing() or residuals_are_of_the_baseline()):
            residual = made.residual.reshape(value.shape)
        shape = (len(made.labels), *value.shape)
        given = made.value.dtype if carries(made.value.dtype) else made.components.dtype
        dtype = value.dtype if numbers else dtype_of_steps(value.dtype, given)
        if not value.numel():
            return DecomposedTensor(value, residual, value.new_zeros(shape, dtype=dtype), made.labels, made.reverse)
        wide: Any = made if given is dtype else made.to(dtype)
        components: Any = handed_on(wide)
        if components.shape[1:] != value.shape:
            components = made.components.reshape(shape).to(dtype)
        return DecomposedTensor(value, residual.to(value.dtype), components, made.labels, made.reverse)
    if isinstance(value, (tuple, list)):
        parts = [with_numbers(v, r, m) for v, r, m in zip(value, residual, made, strict=True)]
        return refilled(value, parts)
    return value


def has_discrete(args: Iterable[Any]) -> bool:
    """Whether one of the arguments, or an item of a sequence among them, is decomposed booleans or integers."""
    for arg in args:
        kind = type(arg)
        if kind is DecomposedTensor:
            if arg.discrete:
                return True
        elif (kind is tuple or kind is list) and has_discrete(arg):
            return True
    return False


def as_numbers(x: Any, dtype: torch.dtype | None = None) -> Any:
    """A decomposed tensor of booleans or integers as one of the floating dtype of its components, or of `dtype`; a
    plain one of them in `dtype`; anything else as it is."""
    if not isinstance(x, torch.Tensor):
        return x
    if not isinstance(x, DecomposedTensor):
        return x if dtype is None or carries(x.dtype) else x.to(dtype)
    if not x.discrete:
        return x
    given: Any = handed_on(x)
    wanted = given.dtype if dtype is None else dtype
    if wanted is not given.dtype:
        ends = (part.to(given.dtype) for part in (x.value, x.residual))
        wide: Any = DecomposedTensor(*ends, given, x.labels, x.reverse).to(wanted)
        given = handed_on(wide)
    residual = x.residual.to(wanted) if tracing() else once(x.residual, lambda row: row.to(wanted))
    return DecomposedTensor(x.value.to(wanted), residual, given, x.labels, x.reverse)


def common_dtype(tensors: Sequence[DecomposedTensor]) -> torch.dtype:
    """The floating dtype in which the components of the tensors meet."""
    dtype = handed_on(tensors[0]).dtype if tensors[0].discrete else tensors[0].value.dtype
    for t in tensors[1:]:
        dtype = torch.promote_types(dtype, handed_on(t).dtype if t.discrete else t.value.dtype)
    return dtype


def of_numbers(rule: Function, tags: Any, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of decomposed booleans or integers by the rule that it has for floating numbers; value and residual
    are computed by the function itself. `tags` are those of the arguments, if the rule goes by tags."""
    call = Call(func, tags, args, kwargs)
    args, kwargs = call.args, call.kwargs
    if not call.decomposed:  # what is decomposed was looked at only
        return func(*args, **kwargs)
    value, residual = call.ends()
    dtype = common_dtype(call.tensors)
    if isinstance(value, torch.Tensor) and not carries(value.dtype):
        dtype = dtype_of_steps(value.dtype, dtype)

    def number(key: Any, arg: Any) -> Any:
        if isinstance(arg, torch.dtype):
            return arg if carries(arg) else dtype
        if isinstance(arg, (tuple, list)) and not isinstance(arg, torch.Size):
            return type(arg)(number(key, item) for item in arg) if not hasattr(arg, "_fields") else arg
        if isinstance(arg, DecomposedTensor) or (tags and tags.get(key, "Opaque") != "Opaque"):
            return as_numbers(arg, dtype)
        return arg

    numbers, options = [number(i, a) for i, a in enumerate(args)], {k: number(k, a) for k, a in kwargs.items()}
    if getattr(rule, "elementwise", False) and _all_differ(func, numbers, options, value, residual):
        dropped(func, call)
        return value
    made = rule(func, numbers, options)
    if tracing() or is_same(value, residual, made):
        return with_numbers(value, residual, made)
    if isinstance(value, torch.Tensor) and value.dtype is torch.bool:  # "or" is the sum of booleans
        made = made != 0
    return where_same(func, call, value, _chosen(residual, made), made)


def _all_differ(func: Function, args: Sequence[Any], kwargs: dict[str, Any], value: Any, residual: Any) -> bool:
    """Whether an element by element function of numbers nowhere does what it does of integers, as it divides by zero:
    then nothing is to be found of its contributions. Of several results it does so in one element at least."""
    are_several = isinstance(value, (tuple, list))
    results, bases = (end if are_several else (end,) for end in (value, residual))
    if tracing() or mapped() or not all(map(_is_whole, results)):
        return False

    def numbers_at(end: Function) -> Any:
        made = func(*map(end, args), **{key: end(arg) for key, arg in kwargs.items()})
        return made if are_several else (made,)

    same = [_alike(*pair) for pair in zip(results, numbers_at(value_of), strict=True)]
    if any(bool(its.any()) for its in same):
        pairs = zip(same, bases, numbers_at(residual_of), strict=True)
        same = [its & _alike(base, number) for its, base, number in pairs]
    return not all(bool(its.all()) if are_several else bool(its.any()) for its in same)


def _is_whole(x: Any) -> bool:
    """Whether it is a tensor of some integers."""
    if not isinstance(x, torch.Tensor) or x.is_meta or not x.numel():
        return False
    return not (carries(x.dtype) or x.dtype is torch.bool)


def where_same(func: Function, call: Call, value: Any, residual: Any, made: Any) -> Any:
    """The contributions of numbers to booleans or integers, at the elements where the numbers do what these do: those
    of others, which overflow, are dropped with a warning."""
    if tracing() or is_same(value, residual, made):
        return with_numbers(value, residual, made)
    same = None
    if isinstance(value, torch.Tensor) and isinstance(made, DecomposedTensor) and value.shape == made.shape:
        same = _alike(value, made.value) & _alike(residual, made.residual)
    if same is None or not bool(same.any()):
        dropped(func, call)
        return value
    dropped(func, call, f"in {same.numel() - int(same.sum())} of {same.numel()} elements")
    return with_numbers(value, torch.where(same, residual, value), torch.where(same, made, 0))


class OfNumbers(Rule):
    """The rule for floating numbers, of decomposed booleans or integers."""

    def __init__(self, inner: Rule) -> None:
        self.inner = inner
        while inner.inner is not None:
            inner = inner.inner
        self.tags = inner.tags

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return of_numbers(self.inner, self.tags, func, args, kwargs)


def _chosen(residual: Any, made: Any) -> Any:
    """The residual of numbers, in the dtype of the one that the function itself has: that of a choice which is frozen
    at the value is another one."""
    if isinstance(made, DecomposedTensor):
        return made.residual.to(residual.dtype)
    if isinstance(residual, (tuple, list)):
        parts = [_chosen(r, m) for r, m in zip(residual, made, strict=True)]
        return refilled(residual, parts)
    return residual


def is_same(value: Any, residual: Any, made: Any) -> bool:
    """Whether numbers do what the integers do: these may overflow, and a sum of booleans is "or"."""
    if isinstance(value, torch.Tensor) and isinstance(made, DecomposedTensor) and not mapped():
        return _agree(value, made.value) and _agree(residual, made.residual)
    if isinstance(value, (tuple, list)):
        return all(is_same(v, r, m) for v, r, m in zip(value, residual, made, strict=True))
    return True


def _agree(found: torch.Tensor, number: torch.Tensor) -> bool:
    return found.shape == number.shape and (found.is_meta or bool(_alike(found, number).all()))


def _alike(found: torch.Tensor, number: torch.Tensor) -> torch.Tensor:
    number = number.to(torch.complex128 if number.is_complex() else torch.float64)
    return torch.isclose(found.to(number.dtype), number, rtol=1e-3, atol=1e-6, equal_nan=True)


def dropped(func: Function, call: Call, where: str = "") -> None:
    """Warn of a function of integers through which contributions do not pass, if there are any."""
    if any(bool((t.value != t.residual).any()) or bool(t.components.any()) for t in call.tensors):
        warn_dropped(name_of(func), where)


def warn_dropped(name: str, where: str = "") -> None:
    """Warn that contributions do not pass through a function."""
    _util.warn(
        f"{name}: contributions do not pass through it {f'{where} ' if where else ''}with integers or "
        "booleans: they are dropped. Convert with .astype(float) first",
        DecompositionWarning,
    )
