"""Choosing by conditions that carry contributions: where, masked_fill, masked assignment, indexing.

m a + (1 − m) b is linear in the condition m for branches held fixed, and in the branches for a condition held fixed:
the components are those of a product of two, and the residual is what the condition chooses at the baseline. A branch
that is not chosen need not be finite: where it is chosen at one end of the path only, and not finite at the other, it
stays on the path what it is where it is chosen, and the condition accounts for the whole difference.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.axes import lead
from npdec._decomposed.batching_rules import indexed
from npdec._decomposed.choices import chosen
from npdec._decomposed.components import Use, total
from npdec._decomposed.kept_components import handed_on
from npdec._decomposed.registry import Trait, indices_of
from npdec._decomposed.reverse_graph import guarded, no_graph
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.size_limits import check
from npdec._decomposed.size_warnings import has_finite_sum
from npdec._decomposed.tensor import DecomposedTensor, align, carries
from npdec._law import law, ordinary_choices, ordinary_places
from npdec._law.discrete import residual_of, value_of
from npdec._law.ordinary_linear import of_one
from npdec._law.reverse_elements import chosen as chosen_in_reverse
from npdec._law.reverse_forms import filled, taken
from npdec._rules.rule import rule
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import name_of, tracing

__all__ = ["chosen_by", "masked", "plain_index", "plain_indices"]

Function = Callable[..., Any]

_LINEAR = law.TaggedRule.of("Opaque", "Linear", "Linear")


def chosen_by(condition: Any, a: Any, b: Any) -> Any:
    """torch.where of a condition, which is decomposed or not, and two tensors or numbers."""
    if not isinstance(condition, DecomposedTensor) or conditions_are_frozen():
        return _LINEAR(torch.where, (value_of(condition), a, b), {})
    with no_graph(condition.reverse):
        value = torch.where(condition.value, value_of(a), value_of(b))
        residual = torch.where(condition.residual, residual_of(a), residual_of(b))
        dtype = value.dtype if carries(value.dtype) else handed_on(condition).dtype
        high, low = (_ends(x, value, dtype) for x in (a, b))
        at, before = (torch.broadcast_to(m, value.shape) for m in (condition.value, condition.residual))
        moved_a, fixed_a = _path(high, at, before)
        moved_b, fixed_b = _path(low, ~at, ~before)
        real = value.abs().dtype if value.is_complex() else dtype
        share = (at.to(real) + before.to(real)) / 2
        rise = torch.where(at | before, moved_a, 0) - torch.where(at & before, 0, moved_b)
        weights = [
            torch.where((at == before) & ~torch.isfinite(rise), 0, rise),  # of what has not moved there is nothing
            torch.where(fixed_a, 0, share),
            torch.where(fixed_b, 0, 1 - share),
        ]
    parts = [condition, a, b]
    moving = [(part, weight) for part, weight in zip(parts, weights, strict=True) if isinstance(part, DecomposedTensor)]
    labels, given = align([part for part, _ in moving], None if condition.reverse else Use.LAW)
    terms = [_times(part, c, weight, value, dtype) for (part, weight), c in zip(moving, given, strict=True)]
    made = total(terms)
    if isinstance(made, torch.Tensor) and made.shape[1:] != value.shape:
        made = made.expand(len(made), *value.shape)
    return DecomposedTensor(value, residual, made, labels, condition.reverse)


def _ends(x: Any, like: torch.Tensor, dtype: torch.dtype) -> list[torch.Tensor]:
    """Value and residual of a branch, in the dtype and the shape of the result."""
    ends = [value_of(x), residual_of(x)]
    found = [e if isinstance(e, torch.Tensor) else torch.as_tensor(e, device=like.device) for e in ends]
    return [torch.broadcast_to(e.to(dtype), like.shape) for e in found]


def _path(ends: list[torch.Tensor], at: torch.Tensor, before: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The middle of a branch, and where it stays what it is where it is chosen, or is not chosen at all."""
    x, r = ends
    out_x, out_r = ~at & ~torch.isfinite(x), ~before & ~torch.isfinite(r)
    x, r = torch.where(out_x, r, x), torch.where(out_r, x, r)
    return torch.where(at | before, x / 2 + r / 2, 0), out_x | out_r | ~(at | before)


def _times(
    part: DecomposedTensor, components: Any, weight: torch.Tensor, value: torch.Tensor, dtype: torch.dtype
) -> Any:
    """Components times a weight; nothing where that is zero, whatever they are."""
    if not isinstance(components, torch.Tensor):
        if part.value.shape == value.shape and components.dtype is dtype:
            made = components.times(weight)
            if has_finite_sum(made.sum()):
                return made
        components = components.dense()
    components = lead(components, value.ndim)
    check((len(components), *value.shape), components.numel())
    components = components if components.is_complex() or not dtype.is_complex else components.to(dtype)
    if part.reverse and not (tracing() or is_transformed()):
        return guarded(components, weight).to(dtype)
    return torch.where(weight == 0, 0, components * weight).to(dtype)


@rule(
    torch.where,
    traits=Trait.ELEMENTWISE | Trait.MOVE,
    short=ordinary_choices.chosen,
    reverse=chosen_in_reverse,
    discrete=True,
)
def _where(func: Function, condition: Any, input: Any = None, other: Any = None) -> Any:
    if input is None:  # of the condition alone: where it is true
        return torch.nonzero(condition, as_tuple=True)
    return chosen_by(condition, input, other)


@rule(torch.Tensor.where, traits=Trait.ELEMENTWISE | Trait.MOVE, discrete=True)
def _where_method(func: Function, input: Any, condition: Any, other: Any) -> Any:
    return chosen_by(condition, input, other)


@rule("masked_fill", traits=Trait.ELEMENTWISE | Trait.MOVE, short=ordinary_places.filled, reverse=filled, discrete=True)
def _masked_fill(func: Function, x: Any, mask: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.ndim:
        return func(*map(value_of, (x, mask, value)))  # raises
    if not isinstance(mask, DecomposedTensor):
        if isinstance(value, DecomposedTensor):
            return _LINEAR(torch.where, (mask, value.to(x.dtype), x), {})
        return _FILLED(func, (x, mask, value), {})
    filling = value if isinstance(value, torch.Tensor) else torch.full_like(value_of(x), value)
    return chosen_by(mask, filling.to(x.dtype), x)


_FILLED = law.TaggedRule.of("Linear", "Opaque", "Linear")


def plain_index(name: str, index: Any) -> Any:
    """An index, or a tuple of indices, by its values: which elements are meant is a choice that is frozen there."""
    if isinstance(index, DecomposedTensor):
        return chosen(name, index)
    if isinstance(index, (tuple, list)) and any(isinstance(i, (DecomposedTensor, tuple, list)) for i in index):
        return type(index)(plain_index(name, i) for i in index)
    return index


def masked(
    target: torch.Tensor, index: Any, source: Any, select: Function = operator.getitem
) -> tuple[DecomposedTensor, tuple[Any, ...], Any] | None:
    """Of an assignment `target[index] = source` with one decomposed mask among slices and integers: the mask, the place
    without it (all of the target, if that is empty), and the source, of which the first and the last broadcast against
    `target[place]`. None if that is not what it is, or if the source has an element of its own for each of those that
    the mask chooses, as many as at the value. `select` takes what a plain key says."""
    items = index if isinstance(index, tuple) else (index,)
    at = [i for i, item in enumerate(items) if isinstance(item, DecomposedTensor)]
    if len(at) != 1 or conditions_are_frozen() or not all(i in at or _is_basic(item) for i, item in enumerate(items)):
        return None
    mask = items[at[0]]
    if mask.value.dtype is not torch.bool:
        return None
    before, behind = items[: at[0]], items[at[0] + 1 :]
    axes = mask.value.ndim
    whole = not before and not behind and axes == value_of(target).ndim  # of which no view has to be made
    place = () if whole else (*before, *[slice(None)] * axes, *behind)
    seen = select(value_of(target), place) if place else value_of(target)
    if any(item is Ellipsis for item in before):
        trailing = sum(type(item) is not int for item in behind)
    else:
        trailing = seen.ndim - axes - sum(type(item) is not int for item in before)
    if trailing < 0 or seen.shape[seen.ndim - trailing - axes : seen.ndim - trailing] != mask.value.shape:
        return None
    if isinstance(source, torch.Tensor):
        shape = _over_mask(tuple(source.shape), axes, trailing)
        if shape is None:
            return None
        source = source.reshape(shape)
    return mask.reshape((*mask.value.shape, *[1] * trailing)) if trailing else mask, place, source


def _is_basic(item: Any) -> bool:
    return item is None or item is Ellipsis or type(item) in (int, slice)


def _over_mask(shape: tuple[int, ...], axes: int, trailing: int) -> tuple[int, ...] | None:
    """The shape in which a source, whose axis of what a mask chooses stands before `trailing` others, broadcasts where
    the mask has its axes; None if that axis is longer than one."""
    while len(shape) > trailing + 1 and shape[0] == 1:
        shape = shape[1:]
    if len(shape) <= trailing:
        return shape
    count = len(shape) - trailing - 1
    return shape[:count] + (1,) * axes + shape[count + 1 :] if shape[count] == 1 else None


def plain_indices(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments, those that are indices by their values."""
    places = indices_of(func)
    if not places:
        return args, kwargs
    name = name_of(func)
    args = [chosen(name, arg) if i in places else arg for i, arg in enumerate(args)]
    return args, {key: chosen(name, arg) if key in places else arg for key, arg in kwargs.items()}


_KEY = Trait.INDEX | Trait.MOVE | Trait.SELECT | Trait.STRIDED


@rule("__getitem__", traits=_KEY, batch=indexed, short=of_one(indexed, _KEY, taken), discrete=True)
def _getitem(func: Function, x: Any, index: Any) -> Any:
    index = plain_index("__getitem__", index)
    return _SELECTED(func, (x, index), {}) if isinstance(x, DecomposedTensor) else func(x, index)


_SELECTED = law.TaggedRule.of("Linear")
