"""How tensors are pickled: by their own elements, each in memory of its own when it is read again.

torch pickles a tensor as a view of its storage. Of two arrays over one storage neither would know of the other when
they are read (NumPy's are two). And multiprocessing hands a storage over as an open file, which both sides write to and
which the sender has to keep: a process started by `spawn` finds the files of parts that were made for the pickle
closed, or other ones in their place. So tensors are written as bytes, from protocol 5 on in buffers that may go out of
band. Protocols below 3, which have no bytes, get copies that are torch's tensors: `torch.save` writes protocol 2, and
its `map_location` and `mmap` are about storages.

https://github.com/pytorch/pytorch/blob/v2.13.0/torch/multiprocessing/reductions.py
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from npdec._core.installed_numpy import numpy_or_none
from npdec._impl import _storage
from npdec._torch.functorch import is_wrapped

__all__ = ["Stored", "has_bytes", "memory_of", "safe", "tensor_of"]


Made = TypeVar("Made", bound=Callable[..., Any])


def safe(made: Made) -> Made:
    """Let torch.load(weights_only=True) call this, which does nothing but hold what it is given."""
    torch.serialization.add_safe_globals([made])
    return made


class Stored:
    """Stands for a tensor in a pickle, and is the tensor when it is read."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        tensor = self.tensor
        if type(tensor) is torch.nn.Parameter:
            return torch.nn.Parameter, (Stored(tensor.detach()), tensor.requires_grad)
        if not has_bytes(tensor):
            return seen_as, (tensor, tensor.dtype)
        if protocol < 3:  # torch cannot load uint16, uint32 and uint64, so their bits go as signed
            copied = tensor.detach().clone().requires_grad_(tensor.requires_grad)
            return seen_as, (_storage.signed(copied), tensor.dtype)
        memory, about = memory_of(tensor)
        return tensor_of, (bytes(memory), *about)


def has_bytes(tensor: torch.Tensor) -> bool:
    """Whether the tensor is nothing but elements in memory: a parameter is more, one within torch.func less."""
    return (
        type(tensor) is torch.Tensor
        and tensor.layout is torch.strided
        and not (tensor.is_meta or tensor.is_quantized or is_wrapped(tensor))
    )


def memory_of(tensor: torch.Tensor) -> tuple[Any, tuple[Any, ...]]:
    """The bytes of the elements, in the tensor's own memory if that is on the host and without gaps; and what else
    `tensor_of` has to be told.

    No memoryview: a `pickle.PickleBuffer` over one crashes the interpreter where both are collected as a cycle
    (https://github.com/python/cpython/issues/77894, mended in Python 3.12.7). And no memory of ctypes alone, where
    NumPy is installed: it gives no strides, which Ray reads all the same, and crashes
    (https://github.com/ray-project/ray/blob/0227f4ed52fb/python/ray/includes/serialization.pxi).
    """
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    strides = plain.stride()
    axes = sorted(range(plain.dim()), key=lambda i: -strides[i])
    dense = plain.permute(axes).contiguous()
    inverse = tuple(sorted(range(plain.dim()), key=axes.__getitem__))
    about = tensor.dtype, tuple(dense.shape), inverse, str(tensor.device), tensor.requires_grad, sys.byteorder
    if not dense.numel():
        return bytearray(), about
    memory: Any = (ctypes.c_ubyte * (dense.numel() * dense.element_size())).from_address(dense.data_ptr())
    memory.owner = dense
    numpy = numpy_or_none()
    return memory if numpy is None else numpy.frombuffer(memory, numpy.uint8), about


def tensor_of(
    buffer: Any,
    dtype: torch.dtype,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    device: str = "cpu",
    requires_grad: bool = False,
    byteorder: str = sys.byteorder,
) -> torch.Tensor:
    """The tensor whose bytes these are: over that memory, unless it cannot be written."""
    memory = memoryview(buffer)
    if not memory.nbytes:
        dense = torch.empty(0, dtype=dtype)
    else:
        dense = torch.frombuffer(bytearray(memory) if memory.readonly else memory, dtype=dtype)
    if byteorder != sys.byteorder:  # written on a machine with another one
        size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        dense = dense.view(torch.uint8).reshape(-1, size).flip(1).reshape(-1).view(dtype)
    return dense.reshape(shape).permute(axes).to(device).requires_grad_(requires_grad)


@safe
def seen_as(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor, its bits seen as elements of the dtype."""
    return _storage.seen_as(tensor, dtype)
