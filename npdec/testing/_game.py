"""A function as a game of its features: what measures of attributions ask of it, and correlations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._array.decompose import split_input
from npdec._core.base import ArrayBase
from npdec._decomposed.tensor import DecomposedTensor

__all__ = ["Game", "correlation", "ranks"]

_CHUNK = 4096  # points in one call of a batched function


class Game:
    """f of subsets of the features: the others are at the baseline. `name` is the measure's, for messages."""

    def __init__(self, name: str, f: Callable[[Any], Any], x: Any, baseline: Any, batched: bool) -> None:
        self.name, self.f, self.batched = name, f, batched
        value, base = split_input(name, x, baseline)
        self.value, self.base = value.detach(), base.detach()
        self.as_torch = isinstance(x, torch.Tensor)
        if value.is_complex():
            raise TypeError(f"{name}: the features must be real")
        if not value.numel():
            raise ValueError(f"{name}: there are no features")

    def shares(self, attribution: Any) -> torch.Tensor:
        """An attribution to the features, flat, float64 on the host."""
        shares = as_tensor(getattr(attribution, "attribution", attribution))
        if isinstance(shares, DecomposedTensor):
            shares = shares.value
        if tuple(shares.shape) != tuple(self.value.shape):
            raise ValueError(
                f"{self.name}: an attribution of shape {tuple(shares.shape)} for an input of shape "
                f"{tuple(self.value.shape)}"
            )
        return shares.detach().reshape(-1).cpu().to(torch.float64)

    def __call__(self, present: torch.Tensor) -> torch.Tensor:
        """float64 on the host, shape (m,), of booleans (m, n)."""
        masks = (part.to(self.value.device).reshape(len(part), *self.value.shape) for part in present.split(_CHUNK))
        return torch.cat([self._at(torch.where(part, self.value, self.base)) for part in masks])

    def without(self, parts: torch.Tensor) -> torch.Tensor:
        """As a call, where a part (m, n) of the change of each feature is taken away: f(x − part · (x − baseline))."""
        parts = parts.to(self.value).reshape(len(parts), *self.value.shape)
        change = self.value - self.base
        return torch.cat([self._at(self.value - part * change) for part in parts.split(_CHUNK)])

    def _at(self, inputs: torch.Tensor) -> torch.Tensor:
        if self.batched:
            return self._numbers(self.f(self._as_given(inputs)), (len(inputs),))
        return torch.stack([self._numbers(self.f(self._as_given(one)), ()) for one in inputs])

    def _as_given(self, tensor: torch.Tensor) -> Any:
        return tensor if self.as_torch else wrap.wrap_array(tensor)

    def _numbers(self, result: Any, shape: tuple[int, ...]) -> torch.Tensor:
        tensor = result._t if isinstance(result, ArrayBase) else as_tensor(result)
        if isinstance(tensor, DecomposedTensor):
            tensor = tensor.value
        if tuple(tensor.shape) != shape or tensor.is_complex():
            wanted = f"real numbers of shape {shape}" if shape else "a real scalar"
            raise ValueError(
                f"{self.name}: f has to return {wanted} here, not shape {tuple(tensor.shape)}, dtype {tensor.dtype}"
            )
        return tensor.detach().cpu().to(torch.float64)


def ranks(numbers: torch.Tensor) -> torch.Tensor:
    """The ranks along the last axis, equal numbers sharing the mean of theirs."""
    ordered = numbers.sort(-1).values.contiguous()
    low = torch.searchsorted(ordered, numbers.contiguous(), side="left")
    high = torch.searchsorted(ordered, numbers.contiguous(), side="right")
    return (low + high - 1).to(torch.float64) / 2


def correlation(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Pearson's, along the last axis; NaN where one of them is constant."""
    a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))
