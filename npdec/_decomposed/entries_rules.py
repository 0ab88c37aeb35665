"""Linear functions of components known by their entries: those that take elements elsewhere, scale or sum them."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch

from npdec._decomposed.axes import lead
from npdec._decomposed.block_sparse_rules import given_beside, linked, reduced_axes
from npdec._decomposed.call import Call
from npdec._decomposed.components import LinearCall
from npdec._decomposed.entries import Entries, linear_forms
from npdec._decomposed.registry import Trait
from npdec._decomposed.size_limits import check_pairs, has_many, is_large

__all__: list[str] = []

_SEVERAL = 64  # elements that come to one place


def _linear_forms(entries: Entries, at: LinearCall) -> Any:
    """What a linear function makes of components of which some are known by entries; None if it knows no way. What is a
    view has components that are views."""
    if not has_many(len(entries)) or at.endless:
        return None
    given = [None if isinstance(c, torch.Tensor) else c.entries() for c in at.components]
    made = None if any(c is None for c in given) else _moved(at, given)
    return linked(at.call, at.places[0], made, at.value) if len(at.places) == 1 else made


def _moved(at: LinearCall, given: Sequence[Any]) -> Any:
    call, function, value, places, held, dense = at.call, at.function, at.value, at.places, at.held, at.stacked
    traits, ndim = call.traits, getattr(value, "ndim", 0)
    first = given[0]
    if traits & Trait.ADD_AT:
        return _added_up(call, given, value, places, held)
    if traits & Trait.MOVE and not _accumulates(call):
        width = max(len(c.elements) for c in given)
        given = [c.wider(width) for c in given]
        elements = dense(call, function, [c.elements for c in given], value, places, held)
        integers = _of_integers(call, first.owners.dtype)
        owners = dense(integers, integers.linear_part, [c.owners for c in given], value, places, held)
        if isinstance(elements, torch.Tensor):
            return Entries(elements, owners, len(first)).smallest()
        return [Entries(n, o, len(first)).smallest() for n, o in zip(elements, owners, strict=True)]
    if len(given) == 1:
        if traits & Trait.EACH and value.device == first.elements.device:
            return first.like(dense(call, function, [first.elements], value, places, held))
        if traits & (Trait.SCALE | Trait.ARITHMETIC) and isinstance(value, torch.Tensor):
            check_pairs(len(first.elements) * value.numel(), first.made() + value.numel())
            return first.like(dense(call, function, [first.elements], value, places, held))
        if traits & Trait.REDUCTION:
            return _summed(call, first)
        if traits & Trait.PRODUCT:
            return _product(call, places[0], first, held)
        return None
    if traits & Trait.ARITHMETIC and isinstance(value, torch.Tensor) and len(given) == 2:
        plain = not call.kwargs and not traits & Trait.SUBTRACT_FROM
        plain = plain and all(c.elements.dtype is value.dtype for c in given)
        terms = []
        for i, c in enumerate(given):
            elements = lead(c.elements, ndim)
            none = elements.new_zeros(())
            made = elements if plain else function(*((elements, none) if i == 0 else (none, elements)))
            terms.append(c.like(made.expand(len(made), *value.shape)))
        return terms[0].plus(terms[1], negative=plain and bool(traits & Trait.SUBTRACT))
    return None


def _added_up(
    call: Call, given: Sequence[Entries], value: torch.Tensor, places: Sequence[int], held: Sequence[Any]
) -> Any:
    """index_add, scatter_add of vectors: what comes to one place, beside each other."""
    terms = []
    for i, c in zip(places, given, strict=True):
        others = given_beside(call, i, held)
        if others is None or value.ndim != 1 or {"alpha", 4} & set(others):
            return None
        index = others.get(2, others.get("index"))
        if call.decomposed[i].key in (0, "input", "self"):
            terms.append(c)
            continue
        if not isinstance(index, torch.Tensor) or index.ndim != 1 or index.shape != c.elements.shape[1:]:
            return None
        made = _gathered_up(c, index, value.shape[0])
        if made is None:
            return None
        terms.append(made)
    return terms[0] if len(terms) == 1 else terms[0].plus(terms[1])


def _gathered_up(entries: Entries, index: torch.Tensor, size: int) -> Entries | None:
    """The sums of a vector's elements at each of `size` places, of which `index` names one for each: those of one
    place beside each other. None if there are places of so many that they are sooner found backwards."""
    places = index.expand(entries.elements.shape).reshape(-1)
    each = torch.bincount(places, minlength=size)
    width = max(1, int(each.amax())) if len(each) else 1
    if width > _SEVERAL or width * size > 4 * (len(places) + size):
        return None
    order = torch.argsort(places)
    places = places[order]
    rank = torch.arange(len(places), device=places.device) - (each.cumsum(0) - each)[places]
    elements, owners = (
        part.new_zeros((width, size)).index_put_((rank, places), part.reshape(-1)[order])
        for part in (entries.elements, entries.owners)
    )
    return Entries(elements, owners, len(entries))


def _accumulates(call: Call) -> bool:
    """Whether what is put at a place is added to what is there."""
    return bool(call.traits & Trait.PUT) and bool(call.kwargs.get("accumulate", len(call.args) > 3 and call.args[3]))


def _of_integers(call: Call, dtype: torch.dtype) -> Call:
    """The same call with zeros of the owners' dtype for the constants, to take owners along."""
    made = copy.copy(call)
    made.args = [_integers(arg, dtype) for arg in call.args]
    made.kwargs = {key: _integers(arg, dtype) for key, arg in call.kwargs.items()}
    return made


def _integers(arg: Any, dtype: torch.dtype) -> Any:
    if type(arg) is float or type(arg) is complex:
        return 0
    if type(arg) in (torch.Tensor, torch.nn.Parameter) and (arg.is_floating_point() or arg.is_complex()):
        return torch.zeros((), dtype=dtype, device=arg.device).expand(arg.shape)
    if type(arg) is list or type(arg) is tuple:
        return type(arg)([_integers(item, dtype) for item in arg])
    return arg


def _summed(call: Call, entries: Entries) -> Any:
    """A sum or mean over axes."""
    others: dict[int | str, Any] = dict(enumerate(call.args))
    others.update(call.kwargs)
    ndim = entries.ndim - 1
    found = reduced_axes(others, ndim)
    if found is None:
        return None
    axes, keep = found
    if call.traits & Trait.MEAN:
        count = math.prod([entries.shape[1 + axis] for axis in axes])
        entries = entries.like(entries.elements / count)
    return entries.reduced(axes, keep)


def _product(call: Call, at: int, entries: Entries, held: Sequence[Any]) -> Any:
    """Products with a vector, and of a vector or few rows with a matrix: each number times what it meets, summed up."""
    others = given_beside(call, at, held)
    key = call.decomposed[at].key
    left = key in (0, "input", "self")
    names = (1, "other", "mat2", "tensor2", "weight", "vec") if left else (0, "input", "self")
    if others is None or others.get(2) is not None or others.get("bias") is not None:
        return None
    other = next((others[name] for name in names if name in others), None)
    if not isinstance(other, torch.Tensor) or not 0 < other.ndim <= 2 or entries.ndim < 2:
        return None
    matrix = other.mT if other.ndim == 2 and (call.traits & Trait.LAYER or not left) else other
    if not left and entries.ndim > 2:
        if entries.ndim > 3 or other.ndim == 2:
            return None
        return entries.times(other[:, None]).reduced([0])
    if matrix.ndim == 1:
        return entries.times(matrix).reduced([-1])
    if is_large((len(entries), entries.elements[..., 0].numel() * matrix.numel() // matrix.shape[0])) and (
        entries.elements.numel() * matrix.shape[1] > 4 * (entries.elements.numel() + matrix.numel())
    ):
        return None
    wide = Entries(entries.elements.unsqueeze(-1), entries.owners.unsqueeze(-1), entries.count)
    return wide.like(wide.elements * matrix).reduced([-2])


linear_forms.fill(_linear_forms)
