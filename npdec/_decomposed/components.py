"""What stands for components that are not a tensor: the methods that all kinds of them share.

A kind of components is a class in a file of its own. It has to say its shape and dtype, and to make the tensor; all
that rules ask of it beside this is computed of that tensor here, until the kind does it by a method of its own, without
making the tensor. `uses` says for what the kind is handed out: for anything else the tensor is made, once.

Dense components have no class here: they are the tensor itself, of which torch's own arithmetic is the interface. Most
components are dense, and a class around them would be one more object, and one more call, for each of their operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import torch

from npdec._decomposed.axes import lead

__all__ = ["Components", "LinearCall", "Source", "Sparse", "Use", "total"]

Function = Callable[..., Any]


class Use:
    """What a rule does with components that it asks for."""

    LINEAR: Final = 1 << 0  # gives them to linear functions (npdec._decomposed.batching)
    LAW: Final = 1 << 1  # scales, adds and looks at them, as the methods below
    FILES: Final = 1 << 2  # puts them into pickles and deep copies: the kind has __reduce__, and is `pickling.safe`
    SUMS: Final = 1 << 3  # adds them up, measures, merges or hands them on


@dataclass(slots=True)
class LinearCall:
    """A linear function of components, and what it makes of the values.

    `components` are those of the decomposed arguments at `places`, the others are `held`. `endless` says
    that a factor is infinite, of which zero takes nothing. `stacked` applies it to tensors: it is called with the call,
    the function, the tensors (each with one more leading axis), the value, places and held.
    """

    call: Any  # npdec._decomposed.call.Call
    function: Function
    components: Sequence[Any]
    value: Any
    places: Sequence[int]
    held: Sequence[Any]
    endless: bool
    stacked: Function


class Source(NamedTuple):
    """What a result was computed from: the sum (*S) of its components, where the graph begins; the components, a tensor
    (C, *S) or what stands for it; and which component of the result each of them is a part of, (C,), or None where each
    is one of the result."""

    sum: torch.Tensor
    components: Any
    places: torch.Tensor | None = None

    def moved(self, places: torch.Tensor | None) -> Source:
        """The same in a result of which each component of this one is a part of the one that `places` says."""
        if places is None:
            return self
        return self._replace(places=places if self.places is None else places[self.places])

    def contracted(self, weights: torch.Tensor) -> torch.Tensor:
        """The sum over all elements of each component (C,), with the gradient of a real number as weights."""
        weights = weights.conj()  # the gradient by u + iv is du + i dv, and the share the real product
        given = self.components
        if isinstance(given, torch.Tensor):
            flat = given.reshape(len(given), -1)
            if not bool(torch.isfinite(self.sum).all()):  # what is not reached contributes nothing, be it infinite
                flat = torch.where(weights.reshape(-1) == 0, 0, flat)
            made: torch.Tensor = flat @ weights.reshape(-1).to(flat.dtype)
        else:
            made = given.contracted(weights)
        return made.real if made.is_complex() else made

    def part(self, i: int) -> torch.Tensor:
        """Component i of the result, of what it was computed from: shape (*S)."""
        given, dense = self.components, isinstance(self.components, torch.Tensor)
        if self.places is None and dense:
            return given[i]
        own = i == (torch.arange(len(given), device=self.sum.device) if self.places is None else self.places)
        made: torch.Tensor = given[own].sum(0) if dense else given.part(own)
        return made


class Components:
    """Components (C, *S) of a decomposed tensor in another form than a tensor."""

    __slots__ = ()

    uses = 0
    looked_at = math.inf  # of so many elements the magnitudes are looked at
    source: Any = None  # the decomposed tensor of whose components they are a view

    # -- what each kind says -------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components."""
        raise NotImplementedError

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the components."""
        raise NotImplementedError

    @property
    def requires_grad(self) -> bool:
        """Whether they are on a graph that began before them."""
        return False

    def dense(self) -> torch.Tensor:
        """The components (C, *S)."""
        raise NotImplementedError

    @classmethod
    def of(cls, components: torch.Tensor) -> Components:
        """The same components in this form."""
        raise NotImplementedError

    # -- in a tensor's place -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """The number of axes of the components."""
        return len(self.shape)

    def numel(self) -> int:
        """How many elements are looked at where all are."""
        return math.prod(self.shape)

    def note(self, components: torch.Tensor) -> Components | None:
        """What these components, made by `dense`, are known to be from then on."""
        return None

    def is_true(self, components: torch.Tensor | None) -> bool:
        """Whether they stand for the components yet, which may have been made, and written to."""
        return components is None

    def best(self, components: torch.Tensor | None) -> Components | torch.Tensor:
        """The same in the form that is best to compute with; `components` if they have been made."""
        return self

    def handed_on(self) -> Components:
        """The same for a tensor of another value and residual."""
        return self

    # -- elements ------------------------------------------------------------------------------------------------------

    def sum(self) -> torch.Tensor:
        """The sum over the components, (*S)."""
        return self.dense().sum(0)

    def magnitude(self) -> torch.Tensor:
        """The sum of the magnitudes of the components, (*S)."""
        return self.dense().abs().sum(0)

    def magnitude_at(self, places: torch.Tensor) -> torch.Tensor:
        """The same at some `places` (N,) of the flat elements, at most `looked_at` of them."""
        return self.magnitude().flatten()[places]

    def sizes(self) -> torch.Tensor:
        """The sum of the magnitudes of each component's elements, (C,)."""
        return self.dense().abs().flatten(1).sum(1)

    def part(self, chosen: torch.Tensor) -> torch.Tensor:
        """The sum (*S) of the chosen ones of the components."""
        return self.dense()[chosen].sum(0)

    def contracted(self, weights: torch.Tensor) -> torch.Tensor:
        """The sum over all elements of each component (C,), with weights of the value's shape: a weight of zero takes
        nothing, of an infinite number either."""
        return torch.where(weights == 0, 0, self.dense() * weights).flatten(1).sum(1)

    def is_finite(self) -> bool:
        """Whether all elements that are there are finite; of what is still to be made nobody knows."""
        return True

    def on_graph(self, places: torch.Tensor | None = None) -> tuple[torch.Tensor, list[Source]]:
        """The sum (*S) with a graph, and what that begins at; `places` (C,) says what each component is a part of, if
        not each is a component."""
        total = self.sum().detach().requires_grad_()
        return total, [Source(total, self, places)]

    # -- the same with other elements ----------------------------------------------------------------------------------

    def merged(self, owners: Sequence[int], count: int) -> Any:
        """The components of `count` labels, of which each of these becomes one, or a part of one."""
        made = self.dense()
        index = torch.tensor(owners, dtype=torch.int64, device=made.device)
        return made.new_zeros((count, *made.shape[1:])).index_add(0, index, made)

    def times(self, factor: torch.Tensor) -> Any:
        """Each element times a number of its own; the factor broadcasts with the value."""
        return self.each(torch.mul, factor)

    def to(self, dtype: torch.dtype) -> Any:
        """The same in another dtype."""
        return self.each(lambda elements: elements.to(dtype))

    def negative(self) -> Any:
        """The same with the other sign."""
        return self.each(torch.neg)

    def each(self, function: Function, *others: torch.Tensor | None) -> Any:
        """What a function of each element alone, with zero at zero, makes of them: `function(elements, *others)`. The
        others broadcast with the value."""
        return self.each_row(function, max([self.ndim - 1, *[t.ndim for t in others if t is not None]]), *others)

    def each_row(self, function: Function, leading: int, *others: torch.Tensor | None) -> Any:
        """The same of a linear function that looks at each row alone, of the axes of the value from `leading` on. The
        others have the value's axes before those."""
        return function(lead(self.dense(), leading), *others)

    def each_column(self, function: Function, *others: torch.Tensor) -> Any:
        """What a function makes of the elements (K, *S), with their sum at each element at hand; where that needs the
        tensor, None. The others have the value's shape."""
        return None

    def weighted(self, weights: torch.Tensor, axes: Sequence[int], keepdim: bool = False) -> Any:
        """The sums over axes of the value, of each element times a weight; None where that needs the tensor."""
        return None

    def pooled(self, value: torch.Tensor, places: Any, settings: Any, share: Function, fractions: torch.Tensor) -> Any:
        """What a pool over the last axes makes of them, of which each place that a window has contributes a fraction;
        None where that needs the tensor. `share(components, places, fractions)` is that of tensors."""
        return None

    def added_to(self, components: torch.Tensor) -> torch.Tensor:
        """The sum with other components, which stay as they are."""
        return components + self.dense()

    def entries(self) -> Any:
        """The same as entries (npdec._decomposed.entries); None if it has no fewer of them than the tensor has."""
        return None

    def plus(self, other: Components) -> Any:
        """The sum with another kind of components; None where the tensor of one has to be made."""
        return None

    def linear(self, at: LinearCall) -> Any:
        """What a linear function makes of components of which these are one argument's; None where it needs the
        tensor."""
        return None

    # -- memory --------------------------------------------------------------------------------------------------------

    def tensors(self) -> Sequence[torch.Tensor] | None:
        """The tensors (K, *S) that hold them, where a view of the value is the same view of these; None of others."""
        return None

    def of_tensors(self, tensors: Sequence[torch.Tensor]) -> Components:
        """The same of other tensors, as `tensors` gives them."""
        raise NotImplementedError

    @classmethod
    def joined(cls, parts: list[Any], axis: int, known: Sequence[Any]) -> Components:
        """Several that have such tensors, side by side along an axis of the components; the list is emptied. What they
        have in common with one of the known ones takes no memory."""
        raise NotImplementedError


class Sparse(Components):
    """Components that are known without their zeros.

    They are true of a tensor as long as nobody has written to its components: `noted` is what these were and had for a
    version when they were made. Those of a view stand for components that are a view of its source's: `view` makes
    them so.
    """

    __slots__ = ("noted", "source", "version", "view")

    uses = Use.LINEAR | Use.LAW | Use.FILES | Use.SUMS

    def __init__(self) -> None:
        self.noted: torch.Tensor | None = None
        self.version = 0
        self.source: Any = None
        self.view: Callable[[torch.Tensor], torch.Tensor] | None = None

    def numel(self) -> int:
        """How many elements are looked at where all are."""
        return math.prod(self.shape)

    def note(self, components: torch.Tensor) -> Components:
        self.noted, self.version = components, components._version
        return self

    def is_true(self, components: torch.Tensor | None) -> bool:
        if components is None:
            return True
        # Who has seen components on a graph may ask for gradients by them.
        return components is self.noted and components._version == self.version and not components.requires_grad


def total(terms: Sequence[Any]) -> Any:
    """The sum of components, of which some may be no tensors; of lists of them, item by item."""
    first, *rest = terms
    if isinstance(first, list):
        return [total(items) for items in zip(*terms, strict=True)]
    for term in rest:
        first = _sum(first, term)
    return first


def _sum(first: Any, term: Any) -> Any:
    if isinstance(first, torch.Tensor):
        return first + term if isinstance(term, torch.Tensor) else term.added_to(first)
    if isinstance(term, torch.Tensor):
        return first.added_to(term)
    made = first.plus(term)
    made = term.plus(first) if made is None else made
    return term.added_to(first.dense()) if made is None else made
