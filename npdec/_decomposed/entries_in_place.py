"""Entries that are written where they are: those that nobody holds but the tensors over one memory.

Entries are handed on as they are: a function of each element alone gives new elements under the same owners, and what
goes back through a graph keeps them. Such ones are made anew for a write, which takes as long as the array is large.
But where one element after the other is written they are nobody else's after the first write, and each write takes as
long as what it writes. That is found by counting who holds them, as for the windows to single elements.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.entries import Entries
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import has_overlap
from npdec._torch.interrupts import Step

__all__ = ["are_alone", "steps_of", "unmade"]


def unmade(tensor: DecomposedTensor) -> Entries | None:
    """The entries that stand for the components of a tensor, if these have not been made."""
    kept, made = tensor.kept, "components" in vars(tensor)
    return kept if type(kept) is Entries and not made else None


def are_alone(tensor: DecomposedTensor) -> bool:
    """Whether the components of all tensors over the memory of this one are entries that lie there as the values do,
    and nobody else holds these: what is written into them is seen by those alone that see it in the values."""
    views = tensor.views
    if views is not None and (views.loose or views.due or views.others):
        return False
    if has_overlap(tensor.value) or not _are_equal_strides(tensor.residual.stride(), tensor.value):
        return False
    parts = []
    for member in [tensor] if views is None else views.living():
        if unmade(member) is None or member.labels is not tensor.labels or _references(vars(member)) != _ALONE:
            return False
        parts.append(_parts_of(member))
    if not all(_lies_as(part, value) for value, *its in parts for part in its):
        return False
    if len({(value.dtype, _place(elements, value), _place(owners, value)) for value, elements, owners in parts}) > 1:
        return False
    return all(_are_all_holders([its[i] for its in parts]) for i in (1, 2))


def _parts_of(tensor: DecomposedTensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    kept = unmade(tensor)
    assert kept is not None
    return tensor.value, kept.elements, kept.owners


def _references(attributes: dict[str, Any]) -> tuple[int, ...]:
    """How often the entries and their tensors are held."""
    kept = attributes["kept"]
    return sys.getrefcount(kept), sys.getrefcount(kept.elements), sys.getrefcount(kept.owners)


def _sample() -> dict[str, Any]:
    return {"kept": Entries(torch.zeros((1, 1)), torch.zeros((1, 1), dtype=torch.int32), 1)}


_ALONE = _references(_sample())


def _lies_as(part: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether entries (K, *S) lie in memory, each of the K, as the value does, and can be written there."""
    if part.requires_grad or part.is_inference() or part.is_conj() or part.is_neg() or has_overlap(part):
        return False
    if value.is_conj() or value.is_neg():
        return False
    return _are_equal_strides(part.stride()[1:], value)


def _are_equal_strides(strides: Sequence[int], value: torch.Tensor) -> bool:
    return all(n < 2 or its == its_own for n, its, its_own in zip(value.shape, strides, value.stride(), strict=True))


def _place(part: torch.Tensor, value: torch.Tensor) -> tuple[Any, ...]:
    """Where in memory the entries of an element are, as seen from where this is in the value's."""
    rows = (1, 0) if len(part) == 1 else (len(part), part.stride(0))
    return (part.untyped_storage()._cdata, part.storage_offset() - value.storage_offset(), *rows)


def _are_all_holders(parts: Sequence[Any]) -> bool:
    """Whether nothing but these tensors, and what they are views of, holds their one memory; nor a graph them."""
    bases = [base._cdata for part in parts if (base := part._base) is not None]
    if any(part._use_count() != 1 + bases.count(part._cdata) for part in parts):
        return False
    storage = parts[0].untyped_storage()
    return torch._C._storage_Use_Count(storage._cdata) - 1 == len({*bases, *(part._cdata for part in parts)})


def steps_of(kept: Entries, given: Entries | None, writing: Callable[..., Step]) -> list[Step] | None:
    """What is to be committed to write these entries, or none, into those that are kept; None if these have no room."""
    if given is None:
        return [writing(kept.elements, None), writing(kept.owners, None)]
    given = given if len(given.elements) <= len(kept.elements) else given.trimmed()
    if len(given.elements) > len(kept.elements) or given.requires_grad:
        return None
    given = given.wider(len(kept.elements))
    pairs = [(kept.elements, given.elements.to(kept.dtype)), (kept.owners, given.owners)]
    return [writing(part, _apart(its, part)) for part, its in pairs]


def _apart(its: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
    """What is to be written, which may be a view of what it is written into."""
    same = its.untyped_storage()._cdata == part.untyped_storage()._cdata
    return its.clone() if same else its
