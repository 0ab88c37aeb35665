"""Sorting along one axis for every dtype, in NumPy's order: complex numbers by their parts, nan last."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from npdec._impl import _util


def complex_keys(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Real keys in whose order complex numbers are sorted, the weightiest last.

    Numbers without nan come first, then those with a nan imaginary part, a nan real part, and both; among equals in
    that, the real part decides, then the imaginary part.
    """
    re, im = torch.real(x), torch.imag(x)
    return im, re, 2 * torch.isnan(re).to(torch.uint8) + torch.isnan(im).to(torch.uint8)


def argsort_keys(keys: Sequence[torch.Tensor], axis: int) -> torch.Tensor:
    """The stable order by several keys, the last of which weighs most."""
    order = torch.argsort(keys[0], dim=axis, stable=True)
    for key in keys[1:]:
        order = torch.gather(order, axis, torch.argsort(torch.gather(key, axis, order), dim=axis, stable=True))
    return order


def argsort(x: torch.Tensor, axis: int) -> torch.Tensor:
    """The stable ascending order along an axis, nan last."""
    if x.dtype.is_complex:
        return argsort_keys(complex_keys(x), axis)
    return torch.argsort(_util.to_ordered(x), dim=axis, stable=True)


def sort(x: torch.Tensor, axis: int) -> torch.Tensor:
    """The elements along an axis in ascending order, nan last."""
    if x.dtype.is_complex:
        return torch.gather(x, axis, argsort(x.detach(), axis))
    return _util.from_ordered(torch.sort(_util.to_ordered(x), axis)[0], x.dtype)


def pick(x: torch.Tensor, index: torch.Tensor, axis: int) -> torch.Tensor:
    """Elements along an axis: the same of every slice for a 1-d index, else an index with slices of its own."""
    signed = _util.to_ordered(x)  # torch gathers no unsigned integers of 16 bits and more
    r = torch.index_select(signed, axis, index) if index.ndim == 1 else torch.gather(signed, axis, index)
    return _util.from_ordered(r, x.dtype)
