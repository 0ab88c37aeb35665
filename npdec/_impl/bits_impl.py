"""Bits packed into bytes and back (NumPy's reference: binary operations, bit packing)."""

from __future__ import annotations

import torch

from npdec._core.tags import Array, Opaque, public
from npdec._impl import _util, dtypes_impl
from npdec._impl._by_numpy import by_numpy


def _check_order(bitorder: str) -> None:
    if not isinstance(bitorder, str):
        raise TypeError(f"bitorder must be str, not {type(bitorder).__name__}")
    if bitorder[:1] not in ("b", "l"):
        raise ValueError("'order' must be either 'little' or 'big'")


def _weights(bitorder: str, device: torch.device) -> torch.Tensor:
    """How far each of eight bits is shifted, the first one first."""
    shifts = torch.arange(8, dtype=torch.uint8, device=device)
    return shifts if bitorder[0] == "l" else shifts.flip(0)


def _along(a: torch.Tensor, axis: int | None) -> tuple[torch.Tensor, int]:
    """`a` with the axis last, and where that came from; None stands for the only axis of the flattened array."""
    if axis is None or not a.ndim:
        a, axis = a.reshape(-1), 0 if axis is None else axis
    axis = _util.normalize_axis(axis, a.ndim)
    return a.movedim(axis, -1), axis


@public
def packbits(a: Opaque, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight elements along an axis (or of the flattened array) packed into one uint8: nonzero ones set its bits.

    Zeros fill up the last byte. In "big" `bitorder` the first element is the highest bit, in "little" the lowest.
    TypeError unless the elements are booleans or integers.

    >>> np.packbits([1, 0, 0, 0, 0, 0, 1, 1, 1])
    array([131, 128], dtype=uint8)
    """
    if dtypes_impl.kind(a.dtype) not in "bui":
        raise TypeError("Expected an input array of integer or boolean data type")
    _check_order(bitorder)
    if bitorder not in ("big", "little"):
        raise ValueError(f"packbits: bitorder must be 'little' or 'big', not {bitorder!r}")
    packed = by_numpy("packbits", a, axis=axis, bitorder=bitorder)
    if packed is not None:
        return packed
    shifts = _weights(bitorder, a.device)
    a, axis = _along(a, axis)
    bits = (a if a.dtype is torch.bool else _util.to_int64(a) != 0).to(torch.float32)
    bits = torch.nn.functional.pad(bits, (0, -bits.shape[-1] % 8))
    groups = bits.reshape(*bits.shape[:-1], bits.shape[-1] // 8, 8)
    # As a product, in which the bytes are exact: torch sums short rows of integers one by one.
    packed = torch.matmul(groups, torch.exp2(shifts.to(torch.float32))).to(torch.uint8)
    return packed.movedim(-1, axis).contiguous()


@public
def unpackbits(a: Opaque, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The eight bits of every uint8 along an axis (or of the flattened array), as uint8 of 0 and 1.

    Only `count` of them along the axis: further ones than there are bits are zeros, a negative count leaves out as many
    at the end (ValueError where there are fewer). TypeError for another dtype than uint8.

    >>> np.unpackbits(np.array([131], dtype=np.uint8), count=-1)
    array([1, 0, 0, 0, 0, 0, 1], dtype=uint8)
    """
    if a.dtype is not torch.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    _check_order(bitorder)
    # Of no bytes NumPy leaves as many bits as `count` says what they were.
    unpacked = by_numpy("unpackbits", a, axis=axis, count=count, bitorder=bitorder) if a.numel() else None
    if unpacked is not None:
        return unpacked
    shifts = _weights(bitorder, a.device)
    a, axis = _along(a, axis)
    bits = (a[..., None] >> shifts).bitwise_and_(1).reshape(*a.shape[:-1], 8 * a.shape[-1])
    if count is not None:
        length = bits.shape[-1]
        wanted = count if count >= 0 else length + count
        if wanted < 0:
            raise ValueError("-count larger than number of elements")
        bits = torch.nn.functional.pad(bits, (0, wanted - length))
    return bits.movedim(-1, axis).contiguous()
