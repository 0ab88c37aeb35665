"""Components that are zero outside blocks of one axis, kept without their zeros.

The components that np.decompose makes are zero but where an element is its component's own: of a sequence decomposed by
tokens each component has one token, of an image decomposed by patches a few rows of pixels. Functions that look at each
row alone, products and convolutions keep this so, and need not compute the zeros. A `DecomposedTensor` may hold such
blocks in place of its components, which are made of them when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.slots import Slot
from npdec._decomposed.axes import narrowed
from npdec._decomposed.components import LinearCall, Sparse
from npdec._decomposed.entries import Entries, blocks_of, owner_dtype
from npdec._decomposed.pickling import Stored, safe
from npdec._decomposed.size_limits import has_many, zeros
from npdec._torch.functorch import is_wrapped, mapped
from npdec._torch.tracing import tracing

__all__ = ["BlockLayout", "BlockSparse", "linear_forms", "pooled_forms", "is_worth", "marked", "scattered"]

_LEAST = 4  # components, from which on blocks pay
_SMALL = 2**12  # elements in components that are as well computed with their zeros
_WORTH = 0.75  # blocks as a part of the axis, up to which they pay
pooled_forms: Slot[Callable[..., Any]] = Slot("pools of components by blocks")
linear_forms: Slot[Callable[[BlockSparse, LinearCall], Any]] = Slot("linear functions of components by blocks")
_FEW = 2**22  # pairs of components and positions that are sooner listed than sorted


@safe
class BlockLayout:
    """Blocks of an axis of length n: the positions `places` (W, L) that each looks at, and to which of the `count`
    components each belongs. `starts` are the first positions, on the host, where all are contiguous. If not `distinct`,
    a block may look at a position twice, at one of them for nothing."""

    __slots__ = ("count", "covers", "direct", "distinct", "n", "owner", "owners", "places", "starts")

    def __init__(
        self,
        count: int,
        n: int,
        places: torch.Tensor,
        owners: list[int],
        starts: list[int] | None,
        distinct: bool = True,
    ) -> None:
        self.count, self.n, self.places, self.owners, self.starts = count, n, places, owners, starts
        self.owner = torch.tensor(owners, device=places.device)
        self.direct, self.distinct = owners == list(range(count)), distinct
        width = places.shape[1]
        self.covers = starts is not None and starts == list(range(0, n, width)) and not n % width

    @classmethod
    def contiguous(cls, n: int, width: int, starts: list[int], like: BlockLayout) -> BlockLayout:
        """Blocks of `width` positions from each of the starts on, of the same components."""
        first = torch.tensor(starts, device=like.places.device)
        places = first[:, None] + torch.arange(width, device=first.device)
        return cls(like.count, n, places, like.owners, starts)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockLayout, (self.count, self.n, Stored(self.places), self.owners, self.starts, self.distinct)

    @property
    def width(self) -> int:
        return self.places.shape[1]

    def seen(self, tensor: torch.Tensor, axis: int) -> torch.Tensor:
        """What each block sees of a tensor: (*S) gives (W, *S) with the width in place of n along the axis."""
        if self.covers:
            return tensor.unflatten(axis, self.places.shape).movedim(axis, 0)
        taken = tensor.index_select(axis, self.places.reshape(-1))
        return taken.unflatten(axis, self.places.shape).movedim(axis, 0)

    def add(self, dense: torch.Tensor, parts: torch.Tensor, axis: int, empty: bool = False) -> torch.Tensor:
        """The parts added in place to components (C, *S); `empty` says that those are zero."""
        target, source = dense.movedim(axis + 1, 1), parts.movedim(axis + 1, 1)
        target.index_put_(
            (self.owner[:, None], self.places), source, accumulate=not (empty and self.direct and self.distinct)
        )
        return dense


@safe
class BlockSparse(Sparse):
    """Components that are zero outside blocks of one axis of their tensor: `parts` (W, *S), with the blocks' width in
    place of the length along `axis`."""

    __slots__ = ("axis", "layout", "parts")

    def __init__(self, parts: torch.Tensor, axis: int, layout: BlockLayout) -> None:
        super().__init__()
        self.parts, self.axis, self.layout = parts, axis, layout

    @classmethod
    def of(cls, components: torch.Tensor) -> BlockSparse:
        """The same components, each in one block, of the last axis as a whole."""
        count, n = len(components), components.shape[-1]
        places = torch.arange(n, device=components.device).expand(count, n)
        return cls(components, components.ndim - 2, BlockLayout(count, n, places, list(range(count)), [0] * count))

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockSparse, (Stored(self.parts), self.axis, self.layout)

    def __len__(self) -> int:
        return self.layout.count

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components that they are blocks of."""
        shape = list(self.parts.shape[1:])
        shape[self.axis] = self.layout.n
        return (len(self), *shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.parts.dtype

    @property
    def ndim(self) -> int:
        return self.parts.ndim

    @property
    def requires_grad(self) -> bool:
        return self.parts.requires_grad

    def like(self, parts: torch.Tensor) -> BlockSparse:
        """Other parts in the same blocks."""
        return BlockSparse(parts, self.axis, self.layout)

    def handed_on(self) -> BlockSparse:
        return self.like(self.parts)

    def numel(self) -> int:
        return self.parts.numel()

    def is_finite(self) -> bool:
        return bool(torch.isfinite(self.parts).all())

    def each_row(self, function: Callable[..., Any], leading: int, *others: torch.Tensor | None) -> Any:
        """Of the blocks alone, where no row goes through them and nothing broadcasts."""
        shape = torch.Size(self.shape[1:])
        alone = leading >= len(shape)
        fits = not alone or all(t is None or t.shape == shape or _is_within(t.shape, shape) for t in others)
        if self.axis >= leading or not fits:
            given = self.entries() if has_many(len(self)) and alone else None
            return super().each_row(function, leading, *others) if given is None else given.each(function, *others)
        wide = [t.expand(shape) if alone and t is not None and t.shape != shape else t for t in others]
        seen = [None if t is None else self.layout.seen(t, self.axis) for t in wide]
        return self.like(function(self.parts[None], *seen).squeeze(0))  # each block is one more row

    def weighted(self, weights: torch.Tensor, axes: Sequence[int], keepdim: bool = False) -> Any:
        given = self.entries() if has_many(len(self)) else None
        return None if given is None else given.weighted(weights, axes, keepdim)

    def pooled(self, *pool: Any) -> Any:
        return pooled_forms.value(self, *pool)

    def linear(self, at: LinearCall) -> Any:
        return linear_forms.value(self, at)

    def plus(self, other: Any) -> Any:
        if type(other) is not BlockSparse:
            return None
        if other.layout is self.layout and other.axis == self.axis:
            return self.like(self.parts + other.parts)
        dense = self.dense() if self.source is None else self.dense().clone()  # a view of what is the source's
        return other.layout.add(dense, other.parts.to(dense.dtype), other.axis)

    def magnitude(self) -> torch.Tensor:
        """The sum of the magnitudes of the components, (*S)."""
        return self.like(self.parts.abs()).sum() if self.layout.direct else self.entries().magnitude()

    def dense(self) -> torch.Tensor:
        """The components (C, *S)."""
        if self.source is not None:
            assert self.view is not None
            return self.view(self.source.components)
        with torch.inference_mode(self.parts.is_inference()), torch.set_grad_enabled(self.parts.requires_grad):
            return self.layout.add(zeros(self.parts, self.shape), self.parts, self.axis, empty=True)

    def entries(self) -> Entries:
        """The same as entries, as many for each position as blocks look there."""
        layout, parts = self.layout, self.parts.movedim(self.axis + 1, 1).flatten(0, 1)
        places = layout.places.reshape(-1)
        order = torch.argsort(places, stable=True)
        each = torch.bincount(places, minlength=layout.n)
        rank = torch.empty_like(places)
        rank[order] = torch.arange(len(places), device=places.device) - (each.cumsum(0) - each)[places[order]]
        width = int(each.amax()) if len(places) else 1
        elements = parts.new_zeros((width, layout.n, *parts.shape[1:])).index_put((rank, places), parts)
        owners = places.new_zeros((width, layout.n), dtype=owner_dtype(layout.count))
        owners[rank, places] = (layout.owner + 1).to(owners.dtype).repeat_interleave(layout.width)
        elements = elements.movedim(1, self.axis + 1)
        shape = [layout.n if i == self.axis else 1 for i in range(self.ndim - 1)]
        made = Entries(elements, owners.reshape(width, *shape).expand(elements.shape), layout.count)
        made.source, made.view = self.source, self.view
        return made

    def part(self, chosen: torch.Tensor) -> torch.Tensor:
        """The sum (*S) of the chosen ones of the components."""
        own = chosen[self.layout.owner].reshape(-1, *[1] * (self.ndim - 1))
        return self.like(torch.where(own, self.parts, 0)).sum()

    def contracted(self, weights: torch.Tensor) -> torch.Tensor:
        """The sum over all elements of each component (C,), with weights of the value's shape: a weight of zero takes
        nothing, of an infinite number either."""
        seen = self.layout.seen(weights, self.axis)
        each = torch.where(seen == 0, 0, self.parts * seen).flatten(1).sum(1)
        return each.new_zeros(len(self)).index_add(0, self.layout.owner, each)

    def sum(self) -> torch.Tensor:
        """The sum over the components, (*S)."""
        made = self.parts.new_zeros(self.shape[1:])
        made.movedim(self.axis, 0).index_put_(
            (self.layout.places,), self.parts.movedim(self.axis + 1, 1), accumulate=True
        )
        return made

    def merged(self, owners: Sequence[int], count: int) -> BlockSparse:
        """The same of `count` components, of which each of these becomes one, or a part of one."""
        layout = self.layout
        merged = [owners[i] for i in layout.owners]
        return BlockSparse(
            self.parts,
            self.axis,
            BlockLayout(count, layout.n, layout.places, merged, layout.starts, layout.distinct),
        )

    def sizes(self) -> torch.Tensor:
        """The sum of the magnitudes of each component's elements, (C,)."""
        each = self.parts.abs().flatten(1).sum(1)
        return each.new_zeros(len(self)).index_add(0, self.layout.owner, each)

    def added_to(self, components: torch.Tensor) -> torch.Tensor:
        """The sum with other components, which stay as they are."""
        return self.layout.add(components.clone(), self.parts, self.axis)


def _is_within(shape: Sequence[int], other: torch.Size) -> bool:
    """Whether what has the one shape broadcasts to the other."""
    return torch.broadcast_shapes(shape, other) == other


def _as_blocks(entries: Entries) -> BlockSparse | None:
    """Entries of one component for each element as blocks, of the axis on which these are narrowest; None if they are
    not worth it."""
    change, member, count = entries.elements[0], entries.owners[0].long() - 1, len(entries)
    small = narrowed(member, member.ndim)
    best, axis, found = _WORTH, 0, None
    for i, n in enumerate(small.shape):
        if n == 1:
            continue
        taken = _taken(small, i, count)
        share = int(torch.bincount(taken[0]).amax()) / n if len(taken[0]) else 0.0
        if 0 < share < best:
            best, axis, found = share, i, taken
    if found is None:
        return None
    layout, kept = _layout(count, member.shape[axis], *found)
    with torch.inference_mode(change.is_inference()), torch.set_grad_enabled(change.requires_grad):
        parts, seen = layout.seen(change, axis), layout.seen(member, axis)
        own = layout.owner.reshape(-1, *[1] * member.ndim) == seen
        own &= kept.reshape(len(kept), *[-1 if i == axis else 1 for i in range(member.ndim)])
        return BlockSparse(torch.where(own, parts, 0), axis, layout)


blocks_of.fill(_as_blocks)


def marked(change: torch.Tensor, member: torch.Tensor, count: int) -> Entries:
    """The components of a decomposed input: its change from the baseline, and which component each element of that
    belongs to (−1: none; its change is zero)."""
    owners = (narrowed(member, member.ndim) + 1).to(owner_dtype(count)).expand(member.shape)
    return Entries(change[None], owners[None], count)


def scattered(change: torch.Tensor, member: torch.Tensor, count: int) -> torch.Tensor:
    """Components (C, *S) of the change of an input: each element is its component's alone."""
    if not count:
        return change.new_zeros((0, *change.shape))
    scatter = torch.scatter if mapped() else torch.Tensor.scatter_  # torch.vmap has the first only
    return scatter(zeros(change, (count, *change.shape)), 0, member[None].contiguous(), change[None])


def _taken(member: torch.Tensor, axis: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs of a component and a position along the axis at which it has elements, in order."""
    n = member.shape[axis]
    place = torch.arange(n, device=member.device).reshape([-1 if i == axis else 1 for i in range(member.ndim)])
    keys = (member * n + place)[member >= 0]
    if count * n <= _FEW:
        pairs = torch.zeros(count * n, dtype=torch.bool, device=member.device)
        pairs[keys] = True
        keys = pairs.nonzero().squeeze(1)
    else:
        keys = torch.unique(keys)
    return keys // n, keys % n


def _layout(count: int, n: int, owner: torch.Tensor, place: torch.Tensor) -> tuple[BlockLayout, torch.Tensor]:
    """Blocks of the positions that components have elements at, and which positions of each are to count: for the
    others, which fill it up, another block of the component may stand."""
    each = torch.bincount(owner, minlength=count)
    width = int(each.amax())
    new = torch.ones_like(owner, dtype=torch.bool)
    new[1:] = (owner[1:] != owner[:-1]) | (place[1:] != place[:-1] + 1)
    first = new.nonzero().squeeze(1)
    lengths = torch.diff(first, append=first.new_tensor([len(owner)]))
    longest = int(lengths.amax())
    if len(first) * longest > 1.5 * count * width:  # scattered
        which = torch.arange(width, device=owner.device)
        index = (torch.cumsum(each, 0) - each)[:, None] + which
        kept = which < each[:, None]
        return BlockLayout(
            count, n, place[torch.where(kept, index, 0)], list(range(count)), None, bool(kept.all())
        ), kept
    start = place[first]
    fitting = start.clamp(max=n - longest)
    places = fitting[:, None] + torch.arange(longest, device=owner.device)
    kept = (places >= start[:, None]) & (places < (start + lengths)[:, None])
    return BlockLayout(count, n, places, owner[first].tolist(), fitting.tolist()), kept


def is_worth(change: torch.Tensor, member: torch.Tensor, count: int) -> bool:
    """Whether an input of many components is to be computed with by blocks: small ones are not."""
    return (
        count >= _LEAST
        and member.ndim > 0
        and count * change.numel() >= _SMALL
        and not (tracing() or is_wrapped(change))
    )
