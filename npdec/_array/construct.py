"""Arrays over memory that exists already: the constructor of `np.ndarray`, and `frombuffer`."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from npdec._array import memory as _memory
from npdec._array import wrap
from npdec._array.buffers import alias
from npdec._array.convert import as_dtype
from npdec._array.shapes import as_shape
from npdec._array.tensor_bytes import seen
from npdec._core.base import ArrayBase, NDArrayBase
from npdec._core.tracebacks import cuts
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._devices import as_device
from npdec._impl._storage import duplicate

__all__ = ["construct", "over_buffer"]

_READ_ONLY = "it was made from a read-only buffer"
_INCOMPATIBLE = "strides is incompatible with shape of requested array and size of buffer"


def _contiguous(shape: tuple[int, ...], size: int, order: str | None) -> tuple[int, ...]:
    """The strides in bytes of a contiguous array, in row-major or column-major order."""
    strides, stride = [], size
    for length in shape if order == "F" else reversed(shape):
        strides.append(stride)
        stride *= max(length, 1)
    return tuple(strides if order == "F" else reversed(strides))


def _checked(shape: tuple[int, ...], size: int, strides: Any, room: int, offset: int) -> tuple[int, ...]:
    """Strides in bytes that stay within the room. Raises ValueError for others."""
    strides = as_shape(strides)
    if len(strides) != len(shape):
        raise ValueError("strides, if given, must be the same length as shape")
    spans = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    if 0 not in shape and (sum(s for s in spans if s < 0) < -offset or sum(s for s in spans if s > 0) > room - size):
        raise ValueError(_INCOMPATIBLE)
    if any(stride % size for n, stride in zip(shape, strides, strict=True) if n > 1):
        raise ValueError(f"ndarray: torch has no elements of {size} bytes at strides of {strides} bytes")
    return strides


@cuts
def construct(shape: Any, dtype: Any, buffer: Any, offset: int, strides: Any, order: Any) -> Any:
    """An array of a shape: of new memory, or of that of a buffer from byte `offset` on."""
    size, target, offset = as_shape(shape), as_dtype(dtype), operator.index(offset)
    source = None if buffer is None else _memory_of(buffer)
    if size == (-1,) and source is not None and strides is None:
        size = (max(source.nbytes - offset, 0) // target.itemsize,)
    if any(n < 0 for n in size):
        raise ValueError("negative dimensions are not allowed")
    if order not in (None, "C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    wanted = math.prod(size) * target.itemsize
    if source is None:
        if strides is None:
            return wrap.wrap_array(
                duplicate(torch.empty(size, dtype=target, device=as_device(None)), "F" if order == "F" else "C")
            )
        strides = _checked(size, target.itemsize, strides, wanted, 0)
        flat = torch.empty(math.prod(size), dtype=target, device=as_device(None))
        return wrap.wrap_array(flat.as_strided(size, tuple(stride // target.itemsize for stride in strides)))
    room = source.nbytes - offset
    if offset < 0:
        raise ValueError(f"ndarray: offset must be non-negative, not {offset}")
    if room < (wanted if strides is None else 0):
        raise TypeError("buffer is too small for requested array")
    if strides is None:
        strides = _contiguous(size, target.itemsize, order)
    else:
        strides = _checked(size, target.itemsize, strides, room, offset)
    # torch has no negative strides: the array begins at its lowest address, and is then reversed.
    lowest = offset + sum((n - 1) * stride for n, stride in zip(size, strides, strict=True) if n > 1 and stride < 0)
    forward = tuple(map(abs, strides))
    if isinstance(buffer, ArrayBase):
        made = alias(buffer, lambda tensor: seen(tensor, target, lowest, size, forward))
    else:
        reach = sum((n - 1) * stride for n, stride in zip(size, forward, strict=True)) + target.itemsize
        flat = _flat(source, target, lowest, reach // target.itemsize if wanted else 0)
        made = wrap.wrap_array(flat.as_strided(size, tuple(stride // target.itemsize for stride in forward)))
        _own(made, source, buffer)
    if forward != strides:
        made = made[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in strides)]
    return made


def _memory_of(buffer: Any) -> Any:
    """The buffer, contiguous: an array, or a view of bytes."""
    try:
        source = buffer if isinstance(buffer, ArrayBase) else memoryview(buffer)
    except TypeError:
        raise TypeError(f"a bytes-like object is required, not {type(buffer).__name__!r}") from None
    if isinstance(source, memoryview) and source.suboffsets:
        raise BufferError("memory that is reached by pointers (suboffsets) is no buffer of elements; copy it")
    if isinstance(source, ArrayBase) and isinstance(source._t, DecomposedTensor):
        raise BufferError("buffer: the memory of a decomposed array holds its value only; use .value")
    contiguous = source._t.is_contiguous() if isinstance(source, ArrayBase) else source.c_contiguous
    if not contiguous:
        raise ValueError("ndarray is not C-contiguous")
    return source


def _flat(memory: memoryview, dtype: torch.dtype, offset: int, count: int) -> torch.Tensor:
    """Elements over the memory; over a copy of it, if it may not be written."""
    if not count:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(bytearray(memory) if memory.readonly else memory, dtype=dtype, count=count, offset=offset)


def _own(array: NDArrayBase, memory: memoryview, exporter: Any) -> None:
    array._exporter = exporter
    if memory.readonly:
        _memory.freeze(array, _READ_ONLY)


def over_buffer(buffer: Any, dtype: torch.dtype, count: int, offset: int) -> Any:
    """A 1-d array over the elements of a buffer from byte `offset` on; see `np.frombuffer`."""
    if type(buffer) is bytes and not offset and count < 0 and buffer and not len(buffer) % dtype.itemsize:
        made = wrap.array_of(torch.frombuffer(bytearray(buffer), dtype=dtype), dtype)
        made._exporter = buffer
        _memory.freeze(made, _READ_ONLY)
        return made
    memory = _memory_of(buffer)
    if offset < 0 or offset > memory.nbytes:
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({memory.nbytes})")
    length = memory.nbytes - offset
    if count < 0 and length % dtype.itemsize:
        raise ValueError("buffer size must be a multiple of element size")
    if count >= 0 and count * dtype.itemsize > length:
        raise ValueError("buffer is smaller than requested size")
    count = length // dtype.itemsize if count < 0 else count
    if isinstance(buffer, ArrayBase):
        return alias(buffer, lambda tensor: seen(tensor, dtype, offset, (count,), (dtype.itemsize,)))
    made = wrap.wrap_array(_flat(memory, dtype, offset, count))
    _own(made, memory, buffer if isinstance(buffer, bytes) else memory)
    return made
