"""Components that are zero outside windows of one axis, kept without their zeros.

The components that np.decompose makes are zero but where an element is its component's own: of a sequence decomposed by
tokens each component has one token, of an image decomposed by patches a few rows of pixels. Functions that look at each
row alone, products and convolutions keep this so, and need not compute the zeros. A `DecomposedTensor` may hold such
windows in place of its components, which are made of them when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from npdec._secant import narrowed
from npdec._tracing import tracing

if TYPE_CHECKING:
    from npdec._decomposed import DecomposedTensor

__all__ = ["Layout", "Windows", "known", "mark"]

_LEAST = 4  # components, from which on windows pay
_WORTH = 0.75  # windows as a part of the axis, up to which they pay


class Layout:
    """Windows of an axis of length n: the positions `places` (W, L) that each looks at, different ones, and to which of
    the `count` components each belongs. `starts` are the first positions, on the host, where all are contiguous."""

    __slots__ = ("count", "covers", "direct", "n", "owners", "places", "starts")

    def __init__(self, count: int, n: int, places: torch.Tensor, owners: list[int], starts: list[int] | None) -> None:
        self.count, self.n, self.places, self.owners, self.starts = count, n, places, owners, starts
        self.direct = owners == list(range(count))
        width = places.shape[1]
        self.covers = starts is not None and starts == list(range(0, n, width)) and not n % width

    @classmethod
    def contiguous(cls, n: int, width: int, starts: list[int], like: Layout) -> Layout:
        """Windows of `width` positions from each of the starts on, of the same components."""
        first = torch.tensor(starts, device=like.places.device)
        places = first[:, None] + torch.arange(width, device=first.device)
        return cls(like.count, n, places, like.owners, starts)

    @property
    def width(self) -> int:
        return self.places.shape[1]

    def seen(self, tensor: torch.Tensor, axis: int) -> torch.Tensor:
        """What each window sees of a tensor: (*S) gives (W, *S) with the width in place of n along the axis."""
        if self.covers:
            return tensor.unflatten(axis, self.places.shape).movedim(axis, 0)
        taken = tensor.index_select(axis, self.places.reshape(-1))
        return taken.unflatten(axis, self.places.shape).movedim(axis, 0)

    def add(self, dense: torch.Tensor, parts: torch.Tensor, axis: int, empty: bool = False) -> torch.Tensor:
        """The parts added in place to components (C, *S); `empty` says that those are zero."""
        target, source = dense.movedim(axis + 1, 1), parts.movedim(axis + 1, 1)
        rows = torch.tensor(self.owners, device=dense.device)[:, None]
        target.index_put_((rows, self.places), source, accumulate=not (empty and self.direct))
        return dense


class Windows:
    """Components that are zero outside windows of one axis of their tensor: `parts` (W, *S), with the windows' width in
    place of the length along `axis`.

    They are true of a tensor as long as nobody has written to its components: `noted` is what these were and had for
    a version when they were made. `made` says that they were made of the windows. Those of a view stand for components
    that are a view of its source's: `view` makes them so.
    """

    __slots__ = ("axis", "layout", "made", "noted", "parts", "source", "version", "view")

    def __init__(self, parts: torch.Tensor, axis: int, layout: Layout) -> None:
        self.parts, self.axis, self.layout = parts, axis, layout
        self.noted: torch.Tensor | None = None
        self.version, self.made = 0, False
        self.source: DecomposedTensor | None = None
        self.view: Callable[[torch.Tensor], torch.Tensor] | None = None

    def __len__(self) -> int:
        return self.layout.count

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components that they are windows of."""
        shape = list(self.parts.shape[1:])
        shape[self.axis] = self.layout.n
        return (len(self), *shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.parts.dtype

    @property
    def requires_grad(self) -> bool:
        return self.parts.requires_grad

    def note(self, components: torch.Tensor, made: bool) -> None:
        self.noted, self.version, self.made = components, components._version, made

    def like(self, parts: torch.Tensor) -> Windows:
        """Other parts in the same windows."""
        return Windows(parts, self.axis, self.layout)

    def times(self, factor: torch.Tensor) -> Windows:
        """Each element times a number of its own; the factor has the shape of the value."""
        return self.like(self.parts * self.layout.seen(factor, self.axis))

    def dense(self) -> torch.Tensor:
        """The components (C, *S)."""
        if self.source is not None:
            assert self.view is not None
            return self.view(self.source.components)
        with torch.inference_mode(self.parts.is_inference()), torch.set_grad_enabled(self.parts.requires_grad):
            return self.layout.add(self.parts.new_zeros(self.shape), self.parts, self.axis, empty=True)

    def added_to(self, components: torch.Tensor) -> torch.Tensor:
        """The sum with other components, which stay as they are."""
        return self.layout.add(components.clone(), self.parts, self.axis)


class Marked:
    """Which component each element belongs to (−1: none), of components that are dense yet."""

    __slots__ = ("components", "member", "version")

    def __init__(self, components: torch.Tensor, member: torch.Tensor) -> None:
        self.components, self.member, self.version = components, member, components._version

    def windows(self) -> Windows | None:
        """The windows, along the axis on which they are narrowest; None if that is not worth it."""
        member = narrowed(self.member, self.member.ndim)
        count, best = len(self.components), (_WORTH, 0, torch.empty(0))
        for axis, n in enumerate(member.shape):
            if n == 1:
                continue
            taken = torch.zeros(count + 1, n, dtype=torch.bool, device=member.device)
            place = torch.arange(n, device=member.device).reshape([-1 if i == axis else 1 for i in range(member.ndim)])
            taken[member, place.expand(member.shape)] = True  # −1 is the last row
            taken = taken[:-1]
            share = int(taken.sum(1).amax()) / n
            if 0 < share < best[0]:
                best = share, axis, taken
        _, axis, taken = best
        if not taken.numel():
            return None
        layout, kept = _layout(taken)
        rows = torch.tensor(layout.owners, device=member.device)[:, None]
        parts = self.components.movedim(axis + 1, 1)[rows, layout.places]
        if kept is not None:
            parts = torch.where(kept.reshape(*kept.shape, *[1] * (parts.ndim - 2)), parts, 0)
        return Windows(parts.movedim(1, axis + 1), axis, layout)


def _layout(taken: torch.Tensor) -> tuple[Layout, torch.Tensor | None]:
    """Windows of the positions that components (rows) take; and, where windows of one component overlap, which of their
    positions are to count."""
    count, n = taken.shape
    width = int(taken.sum(1).amax())
    owners = list(range(count))
    before = torch.nn.functional.pad(taken, (1, 0))[:, :-1]
    runs = (taken & ~before).nonzero()
    ends = (taken & ~torch.nn.functional.pad(taken, (0, 1))[:, 1:]).nonzero()[:, 1] + 1
    longest = int((ends - runs[:, 1]).amax())
    if len(runs) * longest > 1.5 * count * width:  # scattered: any positions without them fill the windows up
        places = torch.argsort((~taken).to(torch.int8), dim=1, stable=True)[:, :width]
        return Layout(count, n, places, owners, None), None
    owners = runs[:, 0].tolist()
    first = runs[:, 1].clamp(max=n - longest)
    places = first[:, None] + torch.arange(longest, device=taken.device)
    kept = (places >= runs[:, 1:]) & (places < ends[:, None])
    return Layout(count, n, places, owners, first.tolist()), kept if len(set(owners)) < len(owners) else None


def mark(tensor: DecomposedTensor, member: torch.Tensor) -> None:
    """Note that component c of the tensor is zero where `member`, integers in the tensor's shape, is not c."""
    components = tensor.components
    if (
        member.numel()
        and member.ndim
        and len(components) >= _LEAST
        and not (tracing() or components.is_inference() or components.is_meta)
        and not torch._C._functorch.is_functorch_wrapped_tensor(components)
    ):
        tensor.windows = Marked(components, member)


def known(tensor: DecomposedTensor) -> Windows | None:
    """The windows of the tensor's components, if they have any that are true yet."""
    windows = tensor.windows
    if windows is None or tracing():
        return None
    components: torch.Tensor | None = tensor.__dict__.get("components")
    if isinstance(windows, Marked):
        assert components is not None
        # A leaf of autograd wants the gradient of its zeros, too.
        leaf = components.requires_grad and components.is_leaf
        fresh = components is windows.components and components._version == windows.version and not leaf
        found = windows.windows() if fresh else None
        if found is not None:
            found.note(components, made=False)
        tensor.windows = found
        return found
    if components is not None:
        # Who has seen components on a graph may ask for gradients by them.
        shown = components.requires_grad and (windows.made or components.is_leaf)
        if components is not windows.noted or components._version != windows.version or shown:
            tensor.windows = None
            return None
    if windows.source is not None and known(windows.source) is None:
        return None
    return windows


class Components:
    """The attribute `components` of a decomposed tensor that holds windows: made of them once. (Where there are
    components, the instance has an attribute of its own, which comes first.)"""

    def __get__(self, tensor: Any, owner: type) -> Any:
        windows = None if tensor is None else tensor.windows
        if not isinstance(windows, Windows):
            raise AttributeError("components")
        components = windows.dense()
        tensor.components = components
        if components.is_inference():
            tensor.windows = None
        else:
            windows.note(components, made=True)
        return components
