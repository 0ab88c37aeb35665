"""Components of all elements in one memory, too many to be made: what writes into tensors over it change.

As parts in common lie in memory as the values do (`npdec._decomposed.shared_storage`), so do the entries of these;
where what is written has no entries, the sums of the components do, on the graph that these are found by. They are made
anew for each write, as others hold what was there before, and are changed before it: nobody sees them until it comes.

Where some look at complex numbers and some at their parts, the memory is one of real numbers: an entry of a complex
number is one of its real part and one of its imaginary part, which may be of other components.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.components import Components, Source
from npdec._decomposed.entries import Entries, owner_dtype
from npdec._decomposed.kept_components import stand_in
from npdec._decomposed.reverse_stand_ins import in_reverse, may_use_vjp
from npdec._decomposed.size_limits import is_large
from npdec._decomposed.tensor import DecomposedTensor, Labels, carries, places_of
from npdec._decomposed.vjp_components import FromVJP
from npdec._torch.tracing import tracing

__all__ = ["Shared", "entries_under", "gathered", "is_same"]

_FEW = 16  # components that are as well entries

Place = tuple[slice, ...]


class Shared:
    """The components of the elements (L,) of a memory: entries, or what finds them. `changes` are the values of tensors
    over it, and the attributes that these get with the write."""

    __slots__ = ("changes", "kept", "labels")

    def __init__(self, kept: Components, labels: Labels) -> None:
        self.kept, self.labels = kept, labels
        self.changes: list[tuple[torch.Tensor, dict[str, Any]]] = []

    def seen(self, value: torch.Tensor) -> Components:
        """Those of a tensor over the memory."""
        entries = self.kept.entries()
        if entries is not None and _is_halved(entries, value):
            return _joined(_like(entries.elements, value), _owners_like(entries, value), entries.count)
        with torch.inference_mode(False), torch.enable_grad():
            return self.kept.of_tensors([_like(flat, value) for flat in self.kept.tensors() or ()])

    def write(self, held: DecomposedTensor, its: DecomposedTensor | None, writing: Callable[..., Any]) -> None:
        """What `writing` writes of components into components, of a tensor into `held`; nothing, as zeros, if None."""
        kept, given = self.kept.entries(), None if its is None else entries_under(its, self.labels)
        if kept is not None and (its is None or given is not None):
            if given is not None:
                given = given if len(given.elements) <= len(kept.elements) else given.trimmed()
                width = max(len(kept.elements), len(given.elements))
                kept, given = kept.wider(width), given.wider(width)
            _do(writing(_like(kept.elements, held.value), None if given is None else given.elements))
            for owners in _owners_like(kept, held.value):
                _do(writing(owners, None if given is None else given.owners))
            self.kept = _closed_up(kept) if _is_halved(kept, held.value) else kept.of_tensors(kept.tensors())
        else:
            total, sources = self.kept.on_graph()
            with torch.inference_mode(False), torch.enable_grad():
                total = total.clone()
                row = None
                if its is not None:
                    one, more = in_reverse(its, self.labels)
                    row, sources = one.components, [*sources, *more]
                _do(writing(_like(total[None], held.value), row))
            self.kept = FromVJP(total, list({id(s.sum): s for s in sources}.values()), len(self.labels))
        held.kept = self.seen(held.value)
        for value, attributes in self.changes:
            attributes["kept"] = self.seen(value)

    def agrees(self, tensor: DecomposedTensor) -> bool:
        """Whether a tensor over the memory has these components, also of elements that are one there."""
        here = self.seen(tensor.value)
        seen = here.entries()
        if seen is None:
            return is_same(here.sum(), in_reverse(tensor, self.labels)[0].components.detach().squeeze(0))
        given = entries_under(tensor, self.labels)
        if given is None:
            return False
        width = max(len(seen.elements), len(given.elements))
        seen, given = seen.wider(width), given.wider(width)
        return torch.equal(seen.owners, given.owners) and is_same(seen.elements, given.elements)


def is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same elements, be they NaN."""
    return bool(((a == b) | (torch.isnan(a) & torch.isnan(b))).all())


def _do(step: tuple[Any, ...]) -> None:
    function, *args = step
    function(*args)


def _like(flat: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """The view of `flat` (K, L) that a value is of its memory."""
    carrying = carries(flat.dtype)
    if carrying and value.is_complex() and not flat.is_complex():
        flat = torch.view_as_complex(flat.unflatten(1, (-1, 2)))
    stride = flat.stride(1)
    size, strides = (len(flat), *value.shape), (flat.stride(0), *[stride * its for its in value.stride()])
    made = flat.as_strided(size, strides, flat.storage_offset() + stride * value.storage_offset())
    if not carrying:
        return made
    made = made.conj() if value.is_conj() else made
    return torch._neg_view(made) if value.is_neg() else made


def _is_halved(kept: Entries, value: torch.Tensor) -> bool:
    return value.is_complex() and not kept.elements.is_complex()


def _owners_like(kept: Entries, value: torch.Tensor) -> list[torch.Tensor]:
    """The views of the owners that a value is of its memory: two, if it is complex and they are of real numbers."""
    halves = kept.owners.unflatten(1, (-1, 2)).unbind(2) if _is_halved(kept, value) else (kept.owners,)
    return [_like(half, value) for half in halves]


def _joined(elements: torch.Tensor, owners: Sequence[torch.Tensor], count: int) -> Entries:
    """Entries of elements, the parts of which may have owners of their own."""
    if len(owners) == 1 or torch.equal(*owners):
        return Entries(elements, owners[0], count)
    elements = elements.resolve_conj()
    nothing = torch.zeros_like(elements.real)
    parts = [torch.complex(elements.real, nothing), torch.complex(nothing, elements.imag)]
    return Entries(torch.cat(parts), torch.cat(list(owners)), count)


def _closed_up(kept: Entries) -> Entries:
    """The same with what stands for nothing behind, and no more pairs than that leaves: of an entry of one part, that
    of the other part is nothing."""
    stands = kept.elements != 0
    width = max(1, int(stands.sum(0).amax())) if stands.numel() else 1
    order = torch.sort(stands.to(torch.uint8), dim=0, descending=True, stable=True).indices[:width]
    owners = torch.where(stands, kept.owners, 0)
    return Entries(kept.elements.gather(0, order), owners.gather(0, order), kept.count)


def entries_under(tensor: DecomposedTensor, labels: Labels) -> Entries | None:
    """The components of a tensor as entries, under these labels, if they are that or few."""
    given = stand_in(tensor)
    found: Entries | None = None if given is None else given.entries()
    if found is None and len(tensor.labels) <= _FEW:
        found = Entries.of(tensor.components)
    if found is None or tensor.labels == labels:
        return found
    return found.merged(places_of(tensor.labels, labels), len(labels))


def gathered(
    members: Sequence[torch.Tensor],
    values: Sequence[torch.Tensor],
    labels: Labels,
    like: DecomposedTensor,
    length: int,
    dtype: torch.dtype,
    each_once: Callable[[torch.Tensor], Place],
) -> Shared | None:
    """The components of all elements in the memory that these tensors are over; None if they are to be made."""
    if tracing() or like.reverse or not is_large((len(labels), length)):
        return None
    decomposed = sorted(
        [member for member in members if isinstance(member, DecomposedTensor)], key=lambda t: t.value.numel()
    )
    if not all(map(may_use_vjp, [*decomposed, like])):
        return None
    if len({value.dtype for value in values}) > 1:
        if not dtype.is_complex or {value.dtype for value in values} != {dtype, dtype.to_real()}:
            return None
        length, dtype = 2 * length, dtype.to_real()
    device = values[0].device
    found = [entries_under(member, labels) for member in decomposed]
    if all(its is not None for its in found):
        width = max([len(its.elements) for its in found if its is not None], default=1)
        elements = torch.zeros((width, length), dtype=dtype, device=device)
        owners = torch.zeros((width, length), dtype=owner_dtype(len(labels)), device=device)
        made = Entries(elements, owners, len(labels))
        for member, its in zip(decomposed, found, strict=True):
            assert its is not None
            place, wide = (slice(None), *each_once(member.value)), its.wider(width)
            _like(elements, member.value)[place].copy_(wide.elements[place])
            for owners in _owners_like(made, member.value):
                owners[place].copy_(wide.owners[place])
        halved = any(_is_halved(made, member.value) for member in decomposed)
        return Shared(_closed_up(made) if halved else made, labels)
    sources: dict[int, Source] = {}
    with torch.inference_mode(False), torch.enable_grad():
        total = torch.zeros((1, length), dtype=dtype, device=device)
        for member in decomposed:
            one, its_sources = in_reverse(member, labels)
            sources.update((id(source.sum), source) for source in its_sources)
            place = (slice(None), *each_once(member.value))
            _like(total, member.value)[place].copy_(one.components[place])
        return Shared(FromVJP(total.squeeze(0), list(sources.values()), len(labels)), labels)
