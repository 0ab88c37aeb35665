"""Tensors as bytes: to move them, and to tell whether two are the same to the last bit."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch

__all__ = ["Layout", "digest", "joined", "layout_of", "parted"]


class Layout(NamedTuple):
    """What is to be known of a tensor beside its bytes."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def nbytes(self) -> int:
        return torch.Size(self.shape).numel() * self.dtype.itemsize


def layout_of(tensor: torch.Tensor) -> Layout:
    return Layout(tuple(tensor.shape), tensor.dtype)


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    # A copy: one element counts as contiguous with any stride, and is no view of bytes then.
    copied = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    return copied.reshape(-1).view(torch.uint8)


def joined(tensors: Sequence[torch.Tensor], device: torch.device) -> torch.Tensor:
    """The bytes of some tensors, one after the other."""
    rows = [_raw(tensor).to(device) for tensor in tensors]
    return torch.cat(rows) if rows else torch.empty(0, dtype=torch.uint8, device=device)


def parted(raw: torch.Tensor, layouts: Sequence[Layout], device: torch.device) -> list[torch.Tensor]:
    """The tensors of which `joined` made these bytes, each in memory of its own."""
    parts = raw.split([layout.nbytes for layout in layouts])
    return [
        part.clone().view(layout.dtype).reshape(layout.shape).to(device)
        for part, layout in zip(parts, layouts, strict=True)
    ]


def digest(tensors: Iterable[torch.Tensor]) -> str:
    """Hexadecimal digits that are the same for tensors of the same shapes, dtypes and bits only."""
    made = hashlib.sha256()
    for tensor in tensors:
        raw = _raw(tensor).cpu()
        made.update(repr(layout_of(tensor)).encode())
        made.update((ctypes.c_char * len(raw)).from_address(raw.data_ptr()))  # NumPy, which would lend it, is optional
    return made.hexdigest()
