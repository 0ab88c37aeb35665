"""The components of a decomposed tensor that was put together of the leaves of a pytree."""

from __future__ import annotations

import torch

from npdec._torch.functorch import at_level_of

__all__ = ["FromLeaf", "with_axis_first"]


def with_axis_first(last: torch.Tensor, ndim: int) -> torch.Tensor:
    """Components (C, *S) of a leaf (*S, C, 1, ...), as torch's pytrees keep them (`npdec._decomposed.pytree`)."""
    return last.flatten(ndim).movedim(-1, 0)


class FromLeaf:
    """Components (C, *S) made of their leaf when first asked for: torch.func.grad says only after it has put its
    arguments together that it differentiates by this very tensor. `noted` is what has been made of it."""

    __slots__ = ("last", "ndim", "noted")

    def __init__(self, last: torch.Tensor, ndim: int) -> None:
        self.last, self.ndim = last, ndim
        self.noted: torch.Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components."""
        return (self.last.shape[self.ndim], *self.last.shape[: self.ndim])

    def dense(self) -> torch.Tensor:
        """The components (C, *S)."""
        with at_level_of(self.last), torch.enable_grad(), torch.autograd.forward_ad._set_fwd_grad_enabled(True):
            return with_axis_first(self.last, self.ndim)

    def note(self, components: torch.Tensor) -> FromLeaf:
        """Keep the leaf beside the components: the tensor taken apart again gives that very one."""
        self.noted = components
        return self
