"""The slope of a pointwise function, and what it makes of components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from npdec._decomposed.axes import lead

__all__ = ["Slope"]


@dataclass(slots=True)
class Slope:
    """A multiplier for components. Where it does not fit the exponent range (`extreme`), the difference of the function
    is shared out instead; where it is infinite (`singular`), a component of zero contributes zero.

    An infinite step, or a NaN, is shared by the components that are; the others, whose share of it is nothing,
    contribute by the derivative at that end (`limit`) where there is a finite one.

    `dtype` is that of the function's numbers, to which the contributions are rounded, once.
    """

    multiplier: torch.Tensor
    difference: torch.Tensor | None = None
    step: torch.Tensor | None = None
    extreme: torch.Tensor | None = None
    singular: torch.Tensor | None = None
    limit: torch.Tensor | None = None
    steep: bool = False  # beyond STEEP or STEEPEST of its dtype somewhere, or not finite
    dtype: torch.dtype | None = None

    def shares_finite(self) -> bool:
        """Whether a finite difference, or one over an infinite step, is shared out in place of a slope."""
        if self.extreme is None:
            return False
        assert self.difference is not None
        assert self.step is not None
        return bool((self.extreme & (torch.isfinite(self.difference) | ~torch.isfinite(self.step))).any())

    def apply(self, components: Any) -> Any:
        """The components, in whatever form, times the multiplier."""
        if not isinstance(components, torch.Tensor):
            if self.extreme is None:
                return components.each(
                    lambda numbers, *parts: Slope(parts[0], singular=parts[1], dtype=self.dtype).apply(numbers),
                    self.multiplier,
                    self.singular,
                )
            made = components.each_column(self.apply)
            if made is not None:
                return made
            components = components.dense()
        made = self._applied(lead(components, self.multiplier.ndim))
        return made if self.dtype is None else made.to(self.dtype)

    def _applied(self, components: torch.Tensor) -> torch.Tensor:
        if components.dtype is not self.multiplier.dtype:  # a multiplier without axes would not make a wider product
            components = components.to(torch.promote_types(components.dtype, self.multiplier.dtype))
        if self.singular is not None:
            finite = torch.where(self.singular, 0, self.multiplier)
            moved = (components * self.multiplier).detach()  # the gradient of an infinite slope is nowhere defined
            return torch.where(self.singular & (components != 0), moved, self._times(components, finite))
        return self._times(components, self.multiplier)

    def _times(self, components: torch.Tensor, multiplier: torch.Tensor) -> torch.Tensor:
        if self.extreme is None:
            return components * multiplier
        assert self.difference is not None
        assert self.step is not None
        # What is not chosen is finite, for the sake of gradients.
        result = components * torch.where(self.extreme, 0, multiplier)
        endless = self.extreme & ~torch.isfinite(self.step)
        share = components / torch.where(self.extreme & ~endless, self.step, 1)
        moved = torch.where(self.extreme, self.difference, 0) * torch.where(
            endless, _share_of_infinity(components), share
        )
        moved = torch.where(components == 0, 0, moved)  # nothing of an infinite change
        if self.limit is not None:
            moved = torch.where(endless & torch.isfinite(components), components * self.limit, moved)
        return torch.where(self.extreme, moved, result)


def _share_of_infinity(components: torch.Tensor) -> torch.Tensor:
    infinite = (~torch.isfinite(components)).to(components.real.dtype)
    return infinite / infinite.sum(0).clamp(min=1)
