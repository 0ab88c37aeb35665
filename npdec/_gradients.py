"""What reverse mode needs of autograd: graphs where contributions flow, none elsewhere."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["graft", "no_graph", "stand_in"]


class no_graph:
    """Reverse mode differentiates components alone: values and residuals need no graph of the parameters. (This is
    torch.no_grad, which takes longer to make than a small operation to run.)"""

    __slots__ = ("before",)

    def __init__(self, whole: bool) -> None:
        self.before = torch.is_grad_enabled() if whole else None

    def __enter__(self) -> None:
        if self.before:
            torch._C._set_grad_enabled(False)

    def __exit__(self, *exception: object) -> None:
        if self.before:
            torch._C._set_grad_enabled(True)


class _Graft(torch.autograd.Function):
    """The difference of two tensors of known value, on the graph of a third one of their shape."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, base: torch.Tensor, carrier: torch.Tensor) -> torch.Tensor:
        return value - base

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, grads[0]


def graft(value: torch.Tensor, base: torch.Tensor, carrier: torch.Tensor) -> torch.Tensor:
    """`value - base`, through which gradients flow as through `carrier`."""
    return _Graft.apply(value, base, carrier)


def stand_in(value: torch.Tensor, components: torch.Tensor) -> torch.Tensor:
    """`value` on the graph of the only component: an argument for a function that only reads it."""
    carrier = components.squeeze(0)
    carrier.data = value
    return carrier
