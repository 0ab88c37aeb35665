"""The order in which the elements of an array lie in memory, and its bytes."""

from __future__ import annotations

from typing import Any

import torch

from npdec._core.base import NDArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _storage


def is_regular(at: torch.Tensor) -> bool:
    """Whether the places are at constant strides along each axis."""
    strides = [at.diff(dim=axis) for axis in range(at.dim())]
    return all(bool((stride == stride.reshape(-1)[:1]).all()) for stride in strides if stride.numel())


def stands_for(obj: Any) -> Any:
    """The copy over whose memory the array lies, if it stands for a reversed view."""
    origin = getattr(getattr(obj, "_m", None), "origin", None)
    copy = None if origin is None else origin()
    return None if copy is None or copy._src[1] is None or copy._d is not obj._d or not is_aligned(obj) else copy


def places(array: NDArrayBase) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor over the memory that an array is of in the end, and where each element of the array lies there."""
    tensor, copy = plain(array), stands_for(array)
    if copy is None and (whole := _whole_of(array)) is not None:
        held, at = places(whole)
        memory, start = plain(whole), tensor.storage_offset()
        shown = torch.empty_strided(memory.shape, memory.stride(), dtype=torch.int64).copy_(at)
        strides = [stride // 2 for stride in tensor.stride()]
        shown = shown.as_strided(tensor.shape, strides, start // 2 - memory.storage_offset())
        return torch.view_as_real(held), 2 * shown + int(start) % 2
    if copy is None:
        at = torch.full((), int(tensor.storage_offset()))
        for axis, (n, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            at = at + (torch.arange(n) * stride).reshape([-1 if i == axis else 1 for i in range(tensor.dim())])
        return tensor, at
    (source, again), memory = copy._src, plain(copy)
    held, at = places(source)
    shown = torch.empty_strided(memory.shape, memory.stride(), dtype=torch.int64).copy_(again(at).reshape(memory.shape))
    return held, shown.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset() - memory.storage_offset())


def _whole_of(array: Any) -> Any:
    """The copy that stands for a reversed view of complex numbers, if the array is of real or imaginary parts of it."""
    origin = getattr(getattr(array, "_m", None), "origin", None)
    copy = None if origin is None else origin()
    if copy is None or copy._src[1] is None or not copy._d.is_complex or copy._d.to_real() is not array._d:
        return None
    return copy if is_aligned(array) and all(stride % 2 == 0 for stride in array._t.stride()) else None


def follow_each_other(array: Any, order: str = "C") -> bool:
    """Whether the elements of an array, in an order in which they do so in its tensor, follow each other in the memory
    that they are of in the end: those of a copy that stands for a reversed view do not."""
    if stands_for(array) is None or array.size < 2:
        return True
    at = places(array)[1]
    return bool(((_storage.reverse_axes(at) if order == "F" else at).reshape(-1).diff() == 1).all())


def counted(array: Any, order: Any) -> Any:
    """Order "A", in which the first axis is fastest where it is so in memory: not in that of an array that a copy
    stands for. Other orders are as they are."""
    return order if order not in ("A", "a") or follow_each_other(array, "F") else "C"


def plain(array: NDArrayBase) -> torch.Tensor:
    """The tensor of an array, that of the value if it is decomposed."""
    tensor = array._t
    return tensor.value if isinstance(tensor, DecomposedTensor) else tensor


class Bytes:
    """How a copy is made that stands for a view of bytes, and where these are."""

    def __call__(self, source: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def bytes_of(self, source: torch.Tensor) -> torch.Tensor:
        """The bytes where they are in the source."""
        raise NotImplementedError


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of the bytes of the elements, or a view of them, along a last axis."""
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8).reshape(*tensor.shape, tensor.element_size())


def swapped(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of the tensor with the bytes of every number (of both parts, if it is complex) in reverse order."""
    fresh = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    size = fresh.element_size() // (2 if fresh.is_complex() else 1)
    flat = fresh.reshape(-1).view(torch.uint8).reshape(-1, size)
    return flat.flip(-1).reshape(-1).view(tensor.dtype).reshape(tensor.shape)


def bytes_in(memory: torch.Tensor, view: torch.Tensor) -> torch.Tensor:
    """For each element of a view those of `memory`, one for each byte of its storage, that are the element's."""
    size = view.element_size()
    strides = (*(stride * size for stride in view.stride()), 1)
    return memory.as_strided((*view.shape, size), strides, view.storage_offset() * size)


def is_aligned(array: Any) -> bool:
    """Whether the elements lie at multiples of their size: not those of a view of bytes that torch cannot make."""
    origin = getattr(getattr(array, "_m", None), "origin", None)
    copy = None if origin is None else origin()
    return copy is None or not isinstance(copy._src[1], Bytes)
