"""Components that are computed backwards, when somebody reads them.

Propagation is linear in the components, so that those of any result are a linear function of the components that it
was computed from. Where they would be as large as all inputs times all outputs, this function is kept in their place:
reverse mode's graph, from the sum of the components of each argument to that of the result. A row of its derivative,
for each element that is read, gives the contributions to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch

from npdec._decomposed.components import Components, Source, Use
from npdec._decomposed.size_limits import check, zeros

__all__ = ["FromVJP"]


class FromVJP(Components):
    """Components (C, *S) by their sum (*S), on a graph that begins at those of the `sources`."""

    __slots__ = ("count", "sources", "total")

    uses = Use.SUMS
    looked_at = 8  # each is a run backwards

    def __init__(self, total: torch.Tensor, sources: Sequence[Source], count: int) -> None:
        self.total, self.sources, self.count = total, sources, count

    def __len__(self) -> int:
        return self.count

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components."""
        return (self.count, *self.total.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.total.dtype

    @classmethod
    def of(cls, components: torch.Tensor) -> FromVJP:
        """The same components, with which nothing has been done yet."""
        total = components.sum(0).requires_grad_()
        return cls(total, [Source(total, components)], len(components))

    def on_graph(self, places: torch.Tensor | None = None) -> tuple[torch.Tensor, list[Source]]:
        return self.total, [source.moved(places) for source in self.sources]

    def tensors(self) -> Sequence[torch.Tensor]:
        return [self.total[None]]

    def of_tensors(self, tensors: Sequence[torch.Tensor]) -> FromVJP:
        return FromVJP(tensors[0].squeeze(0), self.sources, self.count)

    def sum(self) -> torch.Tensor:
        """The sum over the components, (*S)."""
        return self.total.detach()

    def dense(self) -> torch.Tensor:
        """The components (C, *S)."""
        check(self.shape)
        slopes = self._slopes() if 0 < self.count < self.total.numel() and self.total.requires_grad else None
        if slopes is not None:
            return torch.stack(list(self._columns(*slopes)))
        made = zeros(self.total.detach(), self.shape)
        for column, row in zip(made.reshape(self.count, -1).T, self._rows(), strict=True):
            column.copy_(row)
        return made

    def magnitude(self) -> torch.Tensor:
        """The sum of the magnitudes of the components, (*S)."""
        rows = [row.abs().sum() for row in self._rows()]
        return torch.stack(rows).reshape(self.total.shape) if rows else self.total.real.detach()

    def magnitude_at(self, places: torch.Tensor) -> torch.Tensor:
        """The same at some `places` (N,) of the flat elements, at most `looked_at` of them."""
        return torch.stack([row.abs().sum() for row in self._rows(places.tolist())])

    def sizes(self) -> torch.Tensor:
        """The sum of the magnitudes of each component's elements, (C,)."""
        made = self.total.detach().real.new_zeros(self.count)
        for row in self._rows():
            made += row.abs()
        return made

    def merged(self, owners: Sequence[int], count: int) -> FromVJP:
        """The same of `count` components, of which each of these becomes one, or a part of one."""
        places = torch.as_tensor(owners, dtype=torch.int64, device=self.total.device)
        return FromVJP(*self.on_graph(places), count)

    def _rows(self, places: Iterable[int] | None = None) -> Iterator[torch.Tensor]:
        """The components (C,) of each element, or of those at these places."""
        with torch.inference_mode(False), torch.enable_grad():
            flat = self.total.reshape(-1)
        for i in range(len(flat)) if places is None else places:
            with torch.inference_mode(False), torch.enable_grad():
                number = flat[i]
                if number.is_complex():
                    row = torch.complex(self._row(number.real), self._row(number.imag))
                else:
                    row = self._row(number)
            yield row

    def _slopes(self) -> tuple[torch.Tensor, list[Source], list[torch.Tensor]] | None:
        """Weights for the elements, and the gradients of their weighted sum by the sources, as functions of the
        weights; None if those are not all on the graph."""
        sums = [source.sum for source in self.sources]
        with torch.inference_mode(False), torch.enable_grad():
            real = torch.view_as_real(self.total) if self.total.is_complex() else self.total
            weights = torch.linspace(0.5, 1.5, real.numel(), dtype=real.dtype, device=real.device)
            weights = weights.reshape(real.shape).requires_grad_()
            found: Sequence[torch.Tensor | None] = torch.autograd.grad(
                real, sums, weights, create_graph=True, allow_unused=True
            )
        reached = [(source, slope) for source, slope in zip(self.sources, found, strict=True) if slope is not None]
        if any(not slope.requires_grad and bool(slope.any()) for _, slope in reached):
            return None
        reached = [(source, slope) for source, slope in reached if slope.requires_grad]
        return weights, [source for source, _ in reached], [slope for _, slope in reached]

    def _columns(
        self, weights: torch.Tensor, sources: Sequence[Source], slopes: Sequence[torch.Tensor]
    ) -> Iterator[torch.Tensor]:
        """Each component (*S): the derivative forwards, which is that of the one backwards by what it is applied to."""
        for i in range(self.count):
            made = torch.zeros_like(weights)
            if slopes:
                parts = [source.part(i).to(slope.dtype) for source, slope in zip(sources, slopes, strict=True)]
                (made,) = torch.autograd.grad(slopes, weights, parts, retain_graph=True, materialize_grads=True)
            yield torch.view_as_complex(made.contiguous()) if self.total.is_complex() else made

    def _row(self, number: torch.Tensor) -> torch.Tensor:
        if not number.requires_grad:
            return number.detach().new_zeros(self.count)
        sums = [source.sum for source in self.sources]
        found: Sequence[torch.Tensor | None] = torch.autograd.grad(number, sums, retain_graph=True, allow_unused=True)
        made = None
        with torch.no_grad():
            for source, slope in zip(self.sources, found, strict=True):
                if slope is None:
                    continue
                given = source.contracted(slope).to(number.dtype)
                if source.places is None and made is None:
                    made = given
                    continue
                made = given.new_zeros(self.count) if made is None else made
                _ = made.add_(given) if source.places is None else made.index_add_(0, source.places, given)
        return number.detach().new_zeros(self.count) if made is None else made
