"""The law of ordinary calls that are linear in one argument: value, residual and components by the function itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.aliasing import link_ordinary
from npdec._decomposed.axes import axes_named, row_by_row
from npdec._decomposed.batching_rules import is_basic, is_plain
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._decomposed.registry import Trait
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import shares_memory
from npdec._law import ordinary_reverse
from npdec._law.native_forms import in_c
from npdec._law.ordinary import (
    FEW,
    Form,
    built,
    carries_graph,
    condition_in,
    is_condition,
    is_ordinary,
    made_of,
    number_in,
    number_of,
    rows_of,
)
from npdec._law.ordinary_whole import whole
from npdec._law.reverse_forms import affine

__all__ = [
    "cast",
    "cast_to",
    "clone",
    "condition_as_numbers",
    "contiguous",
    "detached",
    "each",
    "element",
    "itself",
    "like_another",
    "of_each",
    "of_equal_rows",
    "of_one",
    "to_host",
    "unless_training",
]

Function = Callable[..., Any]
_MOST = torch.finfo(torch.float32).max
_COMPLEX = frozenset({torch.complex128, torch.complex64})


def of_each(traits: int) -> Form:
    """The form of a linear function of each element. One whose results are new ones keeps the dtype."""
    fresh = bool(traits & Trait.FRESH)

    @in_c("each", traits)
    def form(func: Function, args: Sequence[Any]) -> Any:
        x = args[0]
        if len(args) != 1 or not is_ordinary(x):
            return NotImplemented
        value, residual = func(x.value), func(rows_of(x))
        if fresh:
            return built(value, residual, func(x.components), x.labels)
        return _linked(made_of(value, residual, func(x.components), x), x)

    return form


each = of_each(0)


@in_c("itself")
def itself(func: Function, args: Sequence[Any]) -> Any:
    """What torch gives back as it was given."""
    return args[0] if len(args) == 1 and is_ordinary(args[0]) else NotImplemented


@in_c("unless training")
def unless_training(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """Dropout of a share, which drops nothing where a model does not train."""
    if options or len(args) not in (3, 4) or args[2] is not False or (len(args) == 4 and args[3] is not False):
        return NotImplemented
    x, share = args[:2]
    return x if type(x) is DecomposedTensor and type(share) is float and 0 <= share <= 1 else NotImplemented


@in_c("clone")
def clone(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """A copy, of which the value lies in memory as is asked for."""
    x = args[0]
    if len(args) != 1 or not is_ordinary(x):
        return NotImplemented
    return built(func(x.value, **(options or {})), func(rows_of(x)), func(x.components), x.labels)


@in_c("detached")
def detached(func: Function, args: Sequence[Any]) -> Any:
    """Value and residual without autograd's graph, and the components, of which there is none."""
    x = args[0]
    if len(args) != 1 or not is_ordinary(x) or x.components.requires_grad:
        return NotImplemented
    residual = x.residual.detach() if x.residual.requires_grad else x.residual
    return _linked(built(x.value.detach(), residual, x.components, x.labels), x)


def cast(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    """The methods `to`, `type` and `type_as`, of a dtype, a device, or those of another tensor."""
    if not args:
        return NotImplemented
    both = _device_and_dtype(args, options) if len(args) + len(options or ()) == 3 else None
    if both is not None:
        same = type(args[0]) is DecomposedTensor and torch.device(both[0]) == args[0].value.device
        return _cast(args[0], both[1]) if same else NotImplemented
    if len(args) + len(options or ()) != 2:
        return NotImplemented
    (name, wanted), *_ = (options or {"": args[-1]}).items()
    if name not in ("", "dtype", "device"):
        return NotImplemented
    if isinstance(wanted, torch.dtype):
        return _cast(args[0], wanted)
    x, kind = args[0], type(wanted)
    if type(x) is not DecomposedTensor:
        return NotImplemented
    if kind is torch.Tensor or kind is DecomposedTensor:
        wanted = wanted if kind is torch.Tensor else wanted.value
        return _cast(x, wanted.dtype) if wanted.device == x.value.device else NotImplemented
    if (kind is str or kind is torch.device) and func is torch.Tensor.to and torch.device(wanted) == x.value.device:
        return x
    return NotImplemented


def _device_and_dtype(args: Sequence[Any], options: dict[str, Any] | None) -> tuple[Any, torch.dtype] | None:
    """Both, where a call of `to` gives these two beside the tensor."""
    named = {**dict(zip(("", "device", "dtype"), args)), **(options or {})}
    device, dtype = named.get("device"), named.get("dtype")
    return (device, dtype) if isinstance(device, (str, torch.device)) and isinstance(dtype, torch.dtype) else None


def to_host(func: Function, args: Sequence[Any]) -> Any:
    """The method `cpu`, of a tensor that is on the host."""
    x = args[0] if len(args) == 1 else None
    return x if type(x) is DecomposedTensor and x.value.is_cpu else NotImplemented


def cast_to(dtype: torch.dtype) -> Form:
    """The form of a method that casts to a dtype."""

    def form(func: Function, args: Sequence[Any]) -> Any:
        return _cast(args[0], dtype) if len(args) == 1 else NotImplemented

    return form


def _cast(x: Any, dtype: Any) -> Any:
    """x in another dtype, a real one in a complex one too; itself, as torch gives it, where it is of that already."""
    if type(x) is DecomposedTensor and x.value.dtype is dtype:
        return x
    if dtype in _COMPLEX and is_ordinary(x) and not carries_graph(x):
        return built(x.value.to(dtype=dtype), rows_of(x).to(dtype=dtype), x.components.to(dtype=dtype), x.labels)
    if not (dtype is torch.float64 or dtype is torch.float32):
        return whole(x, dtype)
    number = number_in(x)
    if number is not None and abs(number[0]) <= _MOST and abs(number[1]) <= _MOST:  # in single precision, too
        return number_of(*number, x.labels, dtype)
    if not is_ordinary(x):
        return condition_as_numbers(x, dtype)
    return built(x.value.to(dtype=dtype), rows_of(x).to(dtype=dtype), x.components.to(dtype=dtype), x.labels)


def condition_as_numbers(x: Any, dtype: torch.dtype) -> Any:
    """A decomposed condition as the numbers 0 and 1 of a real dtype."""
    if not (dtype is torch.float64 or dtype is torch.float32) or not is_condition(x):
        return NotImplemented
    known = condition_in(x)
    if known is not None:
        return number_of(float(known[0]), float(known[1]), known[2], x.labels, dtype)
    components = x.components.clone() if x.components.dtype is dtype else x.components.to(dtype=dtype)
    return built(x.value.to(dtype=dtype), rows_of(x).to(dtype=dtype), components, x.labels)


def element(x: DecomposedTensor, key: tuple[int, ...]) -> Any:
    """The element of an ordinary tensor that has as many axes, in memory of its own."""
    components = x.components[(slice(None), *key)]
    return built(x.value[key].clone(), x.residual[key].clone(), components.clone(), x.labels)


@in_c("contiguous")
def contiguous(func: Function, args: Sequence[Any]) -> Any:
    """What lies in memory by rows is the tensor itself, as torch gives it."""
    x = args[0]
    if len(args) == 1 and is_ordinary(x) and all(t.is_contiguous() for t in (x.value, x.residual, x.components)):
        return x
    made = each(func, args)
    if made is NotImplemented and type(x) is DecomposedTensor and not x.value.is_contiguous():
        return affine(0, func, args)
    return made


def like_another(function: Function, batch: Function, traits: int) -> Form:
    """The form of a function that takes the shape of its second argument, by the one that takes the shape."""
    form = of_one(batch, traits)

    @in_c("like another", traits, form, (function,))
    def of_shape(func: Function, args: Sequence[Any]) -> Any:
        if len(args) != 2 or not isinstance(args[1], torch.Tensor):
            return NotImplemented
        return form(function, (args[0], tuple(args[1].shape)))

    return of_shape


def of_one(batch: Function, traits: int, reverse: Function | None = None) -> Form:
    """The form of a linear function of one, which has a rule for one more leading axis. `reverse` answers what is left
    in reverse mode."""
    indexes, fresh = traits & Trait.INDEX, bool(traits & Trait.FRESH)

    @in_c("of_one", traits, batch)
    def form(func: Function, args: Sequence[Any]) -> Any:
        x, *rest = args
        if not is_ordinary(x):
            made = _of_reverse(batch, traits, func, x, rest)
            return reverse(func, args) if made is NotImplemented and reverse is not None else made
        for item in rest:
            if type(item) is DecomposedTensor:
                return NotImplemented
        if indexes and not is_plain(rest[0]):
            return NotImplemented
        value = func(x.value, *rest)
        front = batch(func, x.value.ndim, rest, _NONE, value)
        if front is None:
            return NotImplemented
        equal = 0 in x.residual.stride()
        residual = of_equal_rows(func, x, rest, value, traits) if equal else func(x.residual, *rest)
        if residual is None:
            return NotImplemented
        components = front(x.components)
        if type(value) is not torch.Tensor:
            parts = zip(value, residual, components, strict=True)
            return tuple([_linked(made_of(*its, x), x) for its in parts])
        made = made_of(value, residual, components, x)
        if not fresh and made is not NotImplemented:
            link_ordinary(made, x)
        return made

    return form


_NONE: dict[str, Any] = {}


def _of_reverse(batch: Function, traits: int, func: Function, x: Any, rest: Sequence[Any]) -> Any:
    if not ordinary_reverse.is_ordinary(x) or DecomposedTensor in map(type, rest):
        return NotImplemented
    if traits & Trait.INDEX and not is_basic(rest[0]):
        return NotImplemented
    value = func(x.value, *rest)
    front = batch(func, x.value.ndim, rest, _NONE, value)
    if front is None:
        return NotImplemented
    if traits & (Trait.SUM | Trait.MEAN) and rest and x.residual.ndim:  # which leaves the axes before them as they are
        before = min(axes_named(x.residual, rest[0]), default=0)
        residual = row_by_row(lambda row: func(row, *rest), x.residual, before)
        return ordinary_reverse.of_one(x, value, residual, front)
    if traits & Trait.STRIDED or 0 not in x.residual.stride():
        return ordinary_reverse.of_one(x, value, func(x.residual, *rest), front)
    if not traits & Trait.RESHAPE or type(value) is not torch.Tensor:
        return NotImplemented
    # torch makes no views of elements that are one in memory.
    return ordinary_reverse.of_one(x, value, x.residual.reshape(value.shape), front)


def of_equal_rows(func: Function, x: DecomposedTensor, rest: Sequence[Any], value: Any, traits: int) -> Any:
    """The function of a residual of which elements are one in memory: they remain so where that is simple; None where
    that would pay."""
    equal = traits & Trait.SELECT and not any(x.residual.stride()) and x.residual.numel()
    if equal and not shares_memory(value, x.value):
        return x.residual.as_strided((), (), x.residual.storage_offset()).clone().expand(value.shape)
    if traits & Trait.RESHAPE and not traits & Trait.STRIDED:
        return x.residual.reshape(value.shape)  # torch makes no views of elements that are one in memory
    if traits & (Trait.STRIDED | Trait.MOVE):
        return func(x.residual, *rest)
    return func(materialised_residual(x), *rest) if x.residual.numel() <= FEW else None


def _linked(made: Any, x: DecomposedTensor) -> Any:
    """What was made of x, which may look at its memory."""
    if made is not NotImplemented:
        link_ordinary(made, x)
    return made
