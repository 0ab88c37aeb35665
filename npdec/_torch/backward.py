"""The gradient of a number by one tensor, by the call that `torch.autograd.grad` ends in: what that looks at before
takes longer than a small network does. The names are those of torch 2.13:
https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/__init__.py
"""

from __future__ import annotations

import torch

__all__ = ["gradient_of_number"]

_engine = torch.autograd.Variable._execution_engine


def gradient_of_number(number: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor | None:
    """The gradient of a tensor of no axes, whose graph is let go; None where it does not depend on the leaf."""
    if not (number.is_cpu and leaf.is_cpu):  # threads of devices are told the context of the call
        found: torch.Tensor | None = torch.autograd.grad(number, leaf, allow_unused=True)[0]
        return found
    ones = (torch.ones_like(number),)
    (found,) = _engine.run_backward(
        (number,), ones, False, False, (leaf,), allow_unreachable=True, accumulate_grad=False
    )
    return found
