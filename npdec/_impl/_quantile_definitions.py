"""Where a quantile lies among sorted elements: NumPy's thirteen definitions.

A quantile lies at a virtual index between two elements, for which Hyndman and Fan, "Sample quantiles in statistical
packages" (The American Statistician 50, 1996), number nine definitions; with n elements, q the quantile and indices
from zero, the continuous ones are at n·q + (a + q·(1 - a - b)) - 1, with the constants a and b below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["DEFINITIONS", "WHOLE", "located"]

# A definition maps n (an int, or a tensor of how many numbers are in each row) and q to a virtual index.
Definition = Callable[[Any, torch.Tensor], torch.Tensor]


def _continuous(alpha: float, beta: float) -> Definition:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _step_up(index: torch.Tensor, stays: torch.Tensor) -> torch.Tensor:
    """The next index, but the one before where `stays`; none before the first."""
    before = torch.floor(index)
    return torch.where(stays, before, before + 1).clamp(min=0).to(torch.int64)


def _inverted_cdf(n: Any, q: torch.Tensor) -> torch.Tensor:
    index = n * q - 1.0
    return _step_up(index, index == torch.floor(index))


def _closest_observation(n: Any, q: torch.Tensor) -> torch.Tensor:
    index = n * q - 1.5
    floor = torch.floor(index)
    return _step_up(index, (index == floor) & (torch.remainder(floor, 2) == 1))


def _midpoint(n: Any, q: torch.Tensor) -> torch.Tensor:
    index = (n - 1) * q
    return 0.5 * (torch.floor(index) + torch.ceil(index))


DEFINITIONS: dict[str, Definition] = {
    "inverted_cdf": _inverted_cdf,
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "closest_observation": _closest_observation,
    "interpolated_inverted_cdf": _continuous(0, 1),
    "hazen": _continuous(0.5, 0.5),
    "weibull": _continuous(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _continuous(1 / 3, 1 / 3),
    "normal_unbiased": _continuous(3 / 8, 3 / 8),
    "lower": lambda n, q: torch.floor((n - 1) * q).to(torch.int64),
    "higher": lambda n, q: torch.ceil((n - 1) * q).to(torch.int64),
    "midpoint": _midpoint,
    "nearest": lambda n, q: torch.round((n - 1) * q).to(torch.int64),
}

# Definitions by which q = 0 or 1 has a whole index; it is interpolated (into a float if q is weak) all the same.
WHOLE = frozenset({"averaged_inverted_cdf", "interpolated_inverted_cdf", "weibull"})


def located(method: str, q: torch.Tensor, n: Any) -> Any:
    """The index of each quantile, or the indices of the elements before and after it and the part of the way between
    them. `n` broadcasts with `q`."""
    index = DEFINITIONS[method](n, q)
    if not index.is_floating_point():
        return index
    last = n - 1
    before = torch.floor(index)
    above, below = index >= last, index < 0
    left = torch.where(above, last, torch.where(below, 0, before)).to(torch.int64).clamp(min=0)
    right = torch.where(above, last, torch.where(below, 0, before + 1)).to(torch.int64).clamp(min=0)
    part = index - before
    if method == "averaged_inverted_cdf":
        part = torch.where(part == 0, 0.5, 1.0).to(index.dtype)
    return left, right, part
