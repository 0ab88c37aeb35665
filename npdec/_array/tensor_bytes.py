"""The memory of tensors as bytes, and as elements of another dtype."""

from __future__ import annotations

import ctypes

import torch

from npdec._torch.tracing import recording

__all__ = ["bytes_of", "reinterpreted", "seen"]


def bytes_of(tensor: torch.Tensor) -> bytes:
    """The bytes of the elements of a tensor in row-major order."""
    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size()) if flat.numel() else b""


def seen(
    tensor: torch.Tensor, dtype: torch.dtype, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The memory from byte `offset` after the tensor's begin on, as elements of a dtype; strides are in bytes.

    Where torch cannot alias it there it is a copy, and the second is a view of the bytes, those of an element along the
    last axis.
    """
    tensor = tensor.detach()
    start, size = tensor.storage_offset() * tensor.element_size() + offset, dtype.itemsize
    storage = tensor.untyped_storage()
    if start % size == 0 and all(stride % size == 0 for stride in strides):
        seen = torch.empty(0, dtype=dtype, device=tensor.device)
        return seen.set_(storage, start // size, shape, tuple(stride // size for stride in strides)), None
    raw = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    raw = raw.set_(storage, start, (*shape, size), (*strides, 1))
    return raw.clone(memory_format=torch.contiguous_format).view(dtype).reshape(shape), raw


def reinterpreted(tensor: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The tensor's memory as another dtype; where the sizes differ, the last axis shrinks or grows. See `seen`."""
    old, new = tensor.element_size(), dtype.itemsize
    if old == new:
        return tensor.view(dtype), None
    if not tensor.dim():
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    shape, strides = tuple(tensor.shape), tuple(stride * old for stride in tensor.stride())
    if shape[-1] != 1 and tensor.numel() and strides[-1] != old:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    if shape[-1] * old % new:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis "
            "of the array."
        )
    places = (tensor.storage_offset() * old, *strides[:-1])
    if recording.get() is not None and not any(place % new for place in places):  # stand-ins have no bytes
        return tensor.view(dtype), None
    return seen(tensor, dtype, 0, (*shape[:-1], shape[-1] * old // new), (*strides[:-1], new))
