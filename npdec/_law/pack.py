"""A result of the law, made of its parts."""

from __future__ import annotations

from typing import Any

import torch

from npdec._core.containers import refilled
from npdec._decomposed.choices import places_beside
from npdec._decomposed.tensor import DecomposedTensor, Labels, carries

__all__ = ["pack"]


def pack(value: Any, residual: Any, components: Any, labels: Labels, reverse: bool, name: str = "") -> Any:
    """The decomposed result; for several outputs, a tuple (of the type that the function of that name returns)."""
    if isinstance(value, torch.Tensor):
        if components is None:
            return places_beside(name, value, residual) if isinstance(residual, torch.Tensor) else value
        # A tensor without axes is weak in promotion, and its components, which have one, are not.
        if components.dtype is not value.dtype and isinstance(components, torch.Tensor) and carries(value.dtype):
            components = components.to(value.dtype)
        return DecomposedTensor(value, residual, components, labels, reverse)
    if isinstance(value, (tuple, list)):
        parts = [pack(v, r, c, labels, reverse, name) for v, r, c in zip(value, residual, components, strict=True)]
        if isinstance(value, list):
            return parts
        return refilled(value, parts)
    return value
