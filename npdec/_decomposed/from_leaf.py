"""The components of a decomposed tensor that was put together of the leaves of a pytree."""

from __future__ import annotations

import torch

from npdec._decomposed.components import Components
from npdec._torch.functorch import at_level_of

__all__ = ["FromLeaf", "with_axis_first"]


def with_axis_first(last: torch.Tensor, ndim: int) -> torch.Tensor:
    """Components (C, *S) of a leaf (*S, C, 1, ...), as torch's pytrees keep them (`npdec._decomposed.pytree`)."""
    return last.flatten(ndim).movedim(-1, 0)


class FromLeaf(Components):
    """Components (C, *S) made of their leaf when first asked for: torch.func.grad says only after it has put its
    arguments together that it differentiates by this very tensor. `noted` is what has been made of it."""

    __slots__ = ("axes", "last", "noted")

    def __init__(self, last: torch.Tensor, ndim: int) -> None:
        self.last, self.axes = last, ndim
        self.noted: torch.Tensor | None = None

    @classmethod
    def of(cls, components: torch.Tensor) -> FromLeaf:
        ones = [1] * (components.ndim - 1)
        return cls(components.movedim(0, -1).unflatten(-1, (len(components), *ones)), components.ndim - 1)

    @property
    def dtype(self) -> torch.dtype:
        return self.last.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components."""
        return (self.last.shape[self.axes], *self.last.shape[: self.axes])

    def dense(self) -> torch.Tensor:
        """The components (C, *S)."""
        with at_level_of(self.last), torch.enable_grad(), torch.autograd.forward_ad._set_fwd_grad_enabled(True):
            return with_axis_first(self.last, self.axes)

    def note(self, components: torch.Tensor) -> FromLeaf:
        """Keep the leaf beside the components: the tensor taken apart again gives that very one."""
        self.noted = components
        return self
