"""Slopes of pointwise functions between two points, in closed forms that keep their digits.

A slope takes (step, fx, fr), with step = x − r, and gives (f(x) − f(r)) / (x − r), which is positive, NaN at step = 0.
The forms follow from the addition theorem tanh x − tanh r = tanh(step) (1 − tanh x tanh r).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

Slope = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def tanh(step: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> torch.Tensor:
    return torch.tanh(step) / step * (1 - fx * fr)


def sigmoid(step: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> torch.Tensor:
    """The sigmoid is (1 + tanh(x / 2)) / 2."""
    return torch.tanh(step / 2) / step * (fx * (1 - fr) + fr * (1 - fx))


SLOPES: dict[Callable[..., torch.Tensor], Slope] = {
    torch.tanh: tanh,
    torch.Tensor.tanh: tanh,
    F.tanh: tanh,
    torch.sigmoid: sigmoid,
    torch.Tensor.sigmoid: sigmoid,
    F.sigmoid: sigmoid,
    torch.special.expit: sigmoid,
}

# Between two points of one straight piece the secant is the slope, exactly; only a step of zero needs the derivative.
PIECEWISE_LINEAR: frozenset[Callable[..., torch.Tensor]] = frozenset(
    function
    for name in (
        "relu relu6 leaky_relu hardtanh hardsigmoid threshold clamp clip clamp_min clamp_max abs absolute".split()
    )
    for owner in (torch, torch.Tensor, F)
    if (function := getattr(owner, name, None)) is not None
)
