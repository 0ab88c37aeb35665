"""Components of which few are not zero at each element: which those are, and what they are.

With one component for each of a hundred thousand elements, components are a matrix of ten thousand million elements, of
which one in each column is not zero. Kept are, for each element, K pairs of a component and a number; where functions
take elements elsewhere they take the pairs, a function of each element alone scales them, and a sum joins the
pairs of what it sums. A pair that stands for nothing has the component 0, and the number zero; others count from 1, so
that what fills up with zeros fills up with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._core.slots import Slot
from npdec._decomposed.axes import lead, narrowed
from npdec._decomposed.components import Components, LinearCall, Sparse
from npdec._decomposed.pickling import Stored, safe
from npdec._decomposed.size_limits import check_pairs, has_many, is_large, zeros
from npdec._impl import _util

__all__ = ["Entries", "blocks_of", "linear_forms", "owner_dtype"]

_FEW = 8  # pairs of an element
_SEVERAL = 64  # pairs that are sorted by their components wherever they are added up
_PART = 2**10  # how many times larger the memory is of which no views are handed on
_ROW = 8  # elements of a component, from which on many are kept as blocks
_COLUMN = 2**14  # pairs that are sorted together
_TOGETHER = 2**14  # elements that are looked at together

linear_forms: Slot[Callable[[Entries, LinearCall], Any]] = Slot("linear functions of entries")
blocks_of: Slot[Callable[[Entries], Components | None]] = Slot("entries as blocks, if these are better")


def owner_dtype(count: int) -> torch.dtype:
    """The dtype of the owners of entries of so many components: the smaller one where it holds their numbers."""
    return torch.int32 if count < 2**31 else torch.int64


@safe
class Entries(Sparse):
    """Components (C, *S) by the `elements` (K, *S) that may be other than zero, and the components that these are of:
    `owners` (K, *S), from 1 on, 0 for none."""

    __slots__ = ("count", "elements", "owners")

    def __init__(self, elements: torch.Tensor, owners: torch.Tensor, count: int) -> None:
        super().__init__()
        self.elements, self.owners, self.count = elements, owners.to(owner_dtype(count)), count

    @classmethod
    def of(cls, components: torch.Tensor) -> Entries:
        """The same components, an entry of each at each element."""
        count = len(components)
        owners = torch.arange(1, count + 1, dtype=owner_dtype(count), device=components.device)
        owners = owners.reshape(-1, *[1] * (components.ndim - 1)).expand(components.shape)
        return cls(components, owners, count)

    def __len__(self) -> int:
        return self.count

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components."""
        return (self.count, *self.elements.shape[1:])

    @property
    def ndim(self) -> int:
        return self.elements.ndim

    @property
    def dtype(self) -> torch.dtype:
        return self.elements.dtype

    @property
    def requires_grad(self) -> bool:
        return self.elements.requires_grad

    @classmethod
    def joined(cls, parts: list[Any], axis: int, known: Sequence[Any]) -> Entries:
        count, width = len(parts[0]), max(len(part.elements) for part in parts)
        parts[:] = [part.wider(width) for part in parts]
        owners = [part.owners for part in parts]
        separate = [part.elements for part in parts]
        parts.clear()
        elements = torch.cat(separate, axis)
        separate.clear()
        for its in known:  # owners in common are known to be equal, too
            if its.count == count and its.owners.shape == elements.shape:
                lengths = [part.shape[axis] for part in owners]
                if all(map(torch.equal, owners, its.owners.split(lengths, axis))):
                    same = its.dtype is elements.dtype and torch.equal(its.elements, elements)
                    return cls(its.elements if same else elements, its.owners, count)
        return cls(elements, torch.cat(owners, axis), count)

    def best(self, components: torch.Tensor | None) -> Components | torch.Tensor:
        """Blocks, where these are better; few components that have none are made."""
        few, alone = not has_many(self.count), len(self.elements) == 1
        if not (few or (alone and self._has_whole_rows())):
            return self
        found = blocks_of.value(self) if alone else None
        if found is None:
            return (self.dense() if components is None else components) if few else self
        if components is not None:
            found.note(components)
        return found

    def _has_whole_rows(self) -> bool:
        """Whether each component has, so that blocks serve many of them better."""
        owners = narrowed(self.owners[0], self.ndim - 1)
        return _ROW * owners.numel() <= self.elements.numel() and owners.numel() == max(owners.shape, default=1)

    def handed_on(self) -> Entries:
        return self.like(self.elements)

    def numel(self) -> int:
        return self.elements.numel()

    def is_finite(self) -> bool:
        return bool(torch.isfinite(self.elements).all())

    def tensors(self) -> Sequence[torch.Tensor]:
        return [self.elements, self.owners]

    def of_tensors(self, tensors: Sequence[torch.Tensor]) -> Entries:
        elements, owners = tensors
        return Entries(elements, owners, self.count)

    def like(self, elements: torch.Tensor) -> Entries:
        """Other elements of the same components, which broadcast with these."""
        owners = self.owners
        if elements.shape != owners.shape:
            missing = elements.ndim - owners.ndim
            owners = owners.reshape(len(owners), *[1] * missing, *owners.shape[1:]).expand(elements.shape)
        elif _PART * owners.nbytes <= owners.untyped_storage().nbytes() and elements is not self.elements:
            owners = owners.clone()  # of one element they would keep those of all, which could not be written then
        return Entries(elements, owners, self.count)

    def each_row(self, function: Callable[..., Any], leading: int, *others: torch.Tensor | None) -> Any:
        """Of functions of each element alone: what has no entry is zero, and stays so."""
        if leading < self.ndim - 1:
            return super().each_row(function, leading, *others)
        elements = lead(self.elements, leading)
        shapes = {t.shape for t in others if t is not None} - {elements.shape[1:]}
        if shapes:
            size = math.prod(torch.broadcast_shapes(elements.shape[1:], *shapes))
            check_pairs(len(elements) * size, self.made() + size)
        return self.like(function(elements, *others))

    def each_column(self, function: Callable[..., Any], *others: torch.Tensor) -> Entries:
        """With others, which say what belongs to each element, of some elements after the other: the function may take
        a dozen tensors of their size."""
        together = not others or len(self.elements) > _FEW or any(t.shape != self.shape[1:] for t in others)
        if together or self.elements[0].numel() <= _TOGETHER:
            one = self.apart()
            return one.like(function(one.elements, *others))
        flat, elements = [t.reshape(-1) for t in others], None
        with _util.saying_once():
            for i in range(0, self.elements[0].numel(), _TOGETHER):
                here = slice(i, i + _TOGETHER)
                made = function(self.columns(i, _TOGETHER).apart().elements, *[t[here] for t in flat])
                if elements is None:
                    elements = made.new_empty(self.elements.shape)
                elements.flatten(1)[:, here] = made
        assert elements is not None
        return self.like(elements)

    def made(self) -> int:
        """How many pairs there are in memory: those of what broadcasts once."""
        return math.prod([n for n, stride in zip(self.elements.shape, self.elements.stride(), strict=True) if stride])

    def magnitude(self) -> torch.Tensor:
        """The sum of the magnitudes of the components, (*S)."""
        return self.apart().elements.abs().sum(0)

    def dense(self) -> torch.Tensor:
        """The components (C, *S)."""
        source = self.source
        if source is not None and ("components" in vars(source) or not is_large((self.count, *source.value.shape))):
            assert self.view is not None
            return self.view(source.components)
        with torch.inference_mode(self.elements.is_inference()), torch.set_grad_enabled(self.elements.requires_grad):
            made = zeros(self.elements, self.shape)
            if not self.count:
                return made
            rows, put = len(self.owners), made.scatter_ if len(self.owners) == 1 else made.scatter_add_
            some = max(1, rows if self.elements.numel() <= _TOGETHER else -(-rows // _FEW))
            for elements, owners in zip(self.elements.split(some), self.owners.split(some), strict=True):
                put(0, (owners.long() - 1).clamp_(min=0), torch.where(owners == 0, 0, elements))
            return made

    def sum(self) -> torch.Tensor:
        """The sum over the components, (*S), which is the elements themselves where there is one for each."""
        return self.elements.sum(0) if len(self.elements) != 1 else self.elements[0]

    def sizes(self) -> torch.Tensor:
        """The sum of the magnitudes of each component's elements, (C,)."""
        return self._by_owner(self.apart().elements.abs())

    def contracted(self, weights: torch.Tensor) -> torch.Tensor:
        """The sum over all elements of each component (C,), with weights of the value's shape: a weight of zero takes
        nothing, of an infinite number either."""
        parts = [t.unsqueeze(-1) for t in (self.elements, self.owners, weights[None])]
        axis = max(range(1, weights.ndim + 2), key=parts[2].shape.__getitem__)
        step = max(1, _TOGETHER * parts[2].shape[axis] // max(weights.numel(), 1))
        made = self.elements.new_zeros(self.count + 1, dtype=torch.result_type(self.elements, weights))
        for elements, owners, some in zip(*[part.split(step, axis) for part in parts], strict=True):
            made.index_add_(0, owners.reshape(-1), (elements * some).masked_fill_(some == 0, 0).reshape(-1))
        return made[1:]

    def part(self, chosen: torch.Tensor) -> torch.Tensor:
        """The sum (*S) of the chosen ones of the components."""
        own = self._of_owners(torch.cat([chosen.new_zeros(1), chosen]))
        return torch.where(own, self.elements, 0).sum(0)

    def _by_owner(self, elements: torch.Tensor) -> torch.Tensor:
        made = elements.new_zeros(self.count + 1)
        return made.index_add_(0, self.owners.reshape(-1), elements.reshape(-1))[1:]

    def _of_owners(self, items: torch.Tensor) -> torch.Tensor:
        """For each entry what belongs to its component: of none, the first of the items."""
        return items.index_select(0, self.owners.reshape(-1)).reshape(self.owners.shape)

    def merged(self, owners: Sequence[int], count: int) -> Entries:
        """The same of `count` components, of which each of these becomes one, or a part of one."""
        new = torch.zeros(self.count + 1, dtype=owner_dtype(count))
        new[1:] = torch.as_tensor(owners, dtype=new.dtype)
        new[1:] += 1
        return Entries(self.elements, self._of_owners(new.to(self.owners.device)), count)

    def apart(self) -> Entries:
        """The same, of which no component has two entries other than zero at an element."""
        if not 1 < len(self.owners) <= _FEW:
            return self.coalesced()
        made = self
        for i, row in enumerate(self.owners[1:], 1):
            for j, other in enumerate(self.owners[:i]):
                same = row == other
                if bool((same & (row != 0)).any()):
                    made = made.like(self.elements.clone()) if made is self else made
                    made.elements[j] += torch.where(same, made.elements[i], 0)
                    made.elements[i] = torch.where(same, 0, made.elements[i])
        return made

    def coalesced(self) -> Entries:
        """The same with no component twice at an element."""
        if len(self.elements) == 1:
            return self
        # Sorting takes memory for each pair.
        size, step = self.elements[0].numel(), max(1, _COLUMN // len(self.elements))
        if size <= step:
            return self._coalesced()
        pieces = [self.columns(i, step)._coalesced() for i in range(0, size, step)]
        width, shape = max(len(piece.elements) for piece in pieces), self.elements.shape[1:]
        pieces = [piece.wider(width) for piece in pieces]
        elements, owners = (
            torch.cat([getattr(piece, name) for piece in pieces], 1).reshape(width, *shape)
            for name in ("elements", "owners")
        )
        return Entries(elements, owners, self.count)

    def columns(self, start: int, length: int) -> Entries:
        """Those of some of the elements, in a row."""
        size = len(self.elements), self.elements[0].numel()
        elements, owners = (part.reshape(size)[:, start : start + length] for part in (self.elements, self.owners))
        return Entries(elements, owners, self.count)

    def _coalesced(self) -> Entries:
        owners, order = self.owners.sort(0)
        elements = self.elements.gather(0, order)
        rank = torch.zeros_like(owners, dtype=torch.int64)
        rank[1:] = (owners[1:] != owners[:-1]).cumsum(0)
        kept = int(rank[-1].amax()) + 1 if rank.numel() else 1
        made = elements.new_zeros((kept, *elements.shape[1:])).scatter_add_(0, rank, elements)
        return Entries(made, torch.zeros_like(owners[:kept]).scatter_(0, rank, owners), self.count)

    def reduced(self, axes: Sequence[int], keepdim: bool = False) -> Any:
        """The sums over axes of the value: entries, or dense components where these are no larger."""
        ndim = self.elements.ndim - 1
        axes = sorted({axis % ndim for axis in axes}) if ndim else []
        kept = [axis for axis in range(ndim) if axis not in axes]
        shape = [self.elements.shape[axis + 1] for axis in kept]
        order = (0, *[axis + 1 for axis in axes], *[axis + 1 for axis in kept])
        elements, owners = (t.permute(order).reshape(-1, *shape) for t in (self.elements, self.owners))
        if keepdim:
            shape = [1 if axis in axes else n for axis, n in enumerate(self.elements.shape[1:])]
            elements, owners = (t.reshape(len(t), *shape) for t in (elements, owners))
        return Entries(elements, owners, self.count).wider(max(1, len(elements))).trimmed()._narrowed().smallest()

    def weighted(self, weights: torch.Tensor, axes: Sequence[int], keepdim: bool = False) -> Any:
        """The sums over axes of the value, of each element times a weight. Where few weights are other than zero, as of
        a maximum, no other elements are looked at."""
        ndim = weights.ndim
        axes = sorted({axis % ndim for axis in axes}) if ndim else []
        kept = [axis for axis in range(ndim) if axis not in axes]
        rows = weights.permute((*axes, *kept)).flatten(0, len(axes) - 1) if axes else weights[None]
        used = rows != 0
        width = int(used.sum(0).amax()) if rows.numel() else 0
        if _FEW * width > len(rows) or not width:
            return self.times(weights).reduced(axes, keepdim)
        index = used.to(torch.uint8).topk(width, 0).indices
        order = (0, *[axis + 1 for axis in axes], *[axis + 1 for axis in kept])
        chosen = (t.permute(order).flatten(1, len(axes)) for t in (self.elements, self.owners))
        elements, owners = (t.gather(1, index.expand(len(t), *index.shape)) for t in chosen)
        made = Entries(elements * rows.gather(0, index), owners, self.count).reduced([0])
        shape = [1 if axis in axes else n for axis, n in enumerate(weights.shape)]
        return made.reshape((self.count, *shape)) if keepdim else made

    def trimmed(self) -> Entries:
        """The same without pairs that stand for nothing at all elements, if there are few to look at."""
        if not 1 < len(self.owners) <= _FEW:
            return self
        used = [i for i, row in enumerate(self.owners) if bool(row.any())] or [0]
        if len(used) == len(self.owners):
            return self
        return Entries(self.elements[used], self.owners[used], self.count)

    def reshape(self, shape: Sequence[int]) -> Entries:
        """The components in another shape (C, *S)."""
        size = (len(self.elements), *shape[1:])
        return Entries(self.elements.reshape(size), self.owners.reshape(size), self.count)

    def smallest(self) -> Any:
        """These, or dense components where they take no more memory."""
        return self.dense() if 2 * len(self.elements) >= self.count else self

    def wider(self, count: int) -> Entries:
        """The same with `count` pairs for each element, of which the last stand for nothing."""
        more = count - len(self.elements)
        if not more:
            return self
        around = [0, 0] * (self.elements.ndim - 1) + [0, more]
        return Entries(F.pad(self.elements, around), F.pad(self.owners, around), self.count)

    def entries(self) -> Entries:
        return self

    def linear(self, at: LinearCall) -> Any:
        return linear_forms.value(self, at)

    def plus(self, other: Components, negative: bool = False) -> Any:
        """The sum of both, of one shape; or the difference. None where the other has no entries."""
        given: Entries | None = other.entries()
        return None if given is None else self._plus(given, negative)

    def _plus(self, other: Entries, negative: bool) -> Any:
        mine, its = self.owners, other.owners
        if mine.shape == its.shape and (mine is its or torch.equal(mine, its)):
            return self.like(self.elements - other.elements if negative else self.elements + other.elements)
        pairs, each = (len(mine) + len(its)) * mine[0].numel(), mine[0].numel()
        check_pairs(pairs, self.made() + other.made() + each)
        if mine.shape[1:] == its.shape[1:] and len(mine) * len(its) <= _SEVERAL:
            made = self._with_rows_of(other, negative)
        else:
            dtype = torch.promote_types(self.dtype, other.dtype)
            second = -other.elements if negative else other.elements
            made = Entries(torch.cat([self.elements.to(dtype), second.to(dtype)]), torch.cat([mine, its]), self.count)
        return made._narrowed().smallest()

    def _narrowed(self) -> Entries:
        """The same with no component twice at an element, if there are several pairs and that makes them fewer: those
        of neighbours have some in common."""
        if not _FEW // 2 < len(self.elements) <= _SEVERAL:
            return self
        some = self.columns(0, _COLUMN // len(self.elements))
        if some.elements.numel() and len(some._coalesced().elements) == len(self.elements):
            return self
        made = self.coalesced()
        return made if len(made.elements) < len(self.elements) else self

    def _with_rows_of(self, other: Entries, negative: bool) -> Entries:
        """The sum, or difference, in which entries of the same components at all elements are one."""
        rows = list(self.owners)
        places = []
        for row in other.owners:
            at = next((i for i, known in enumerate(rows) if torch.equal(known, row)), len(rows))
            rows += [row] if at == len(rows) else []
            places.append(at)
        dtype = torch.promote_types(self.dtype, other.dtype)
        elements = self.elements.new_zeros((len(rows), *self.elements.shape[1:]), dtype=dtype)
        elements[: len(self.elements)] = self.elements
        for at, row in zip(places, other.elements, strict=True):
            elements[at].sub_(row) if negative else elements[at].add_(row)
        owners = self.owners if len(rows) == len(self.owners) else torch.stack(rows)
        return Entries(elements, owners, self.count)

    def __reduce__(self) -> tuple[Any, ...]:
        return Entries, (Stored(self.elements), Stored(self.owners), self.count)
