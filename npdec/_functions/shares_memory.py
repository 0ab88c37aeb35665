"""Whether arrays share memory: by the spans of addresses, or exactly."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import torch

from npdec._array.element_order import is_aligned, places, stands_for
from npdec._array.foreign_arrays import as_argument
from npdec._array.memory import shares_storage
from npdec._core.door import open_to_guests
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._storage import innermost
from npdec._torch.tracing import recording
from npdec.exceptions import TooHardError

__all__ = ["may_share_memory", "shares_memory"]


def _address(tensor: torch.Tensor) -> int:
    return innermost(tensor).data_ptr()


def _offset(tensor: torch.Tensor) -> int:
    """In the memory of the tensor."""
    return int(tensor.storage_offset()) * tensor.element_size()


def _span(tensor: torch.Tensor, start_of: Callable[[torch.Tensor], int]) -> tuple[int, int]:
    """The first address of the elements, and the one after the last."""
    if not tensor.numel():
        return 0, 0
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    start = start_of(tensor)
    return start, start + (reach + 1) * tensor.element_size()


def _tensor(obj: Any) -> torch.Tensor:
    """The tensor of an array, or for a copy that stands for a reversed view, and views of it, a tensor of the elements
    stood for, in an order that torch can express."""
    tensor = _plain(obj)
    if not tensor.numel():
        return tensor
    if not is_aligned(obj):  # all the bytes that the copy stands for, of which this may be a part
        source, again = obj._m.origin()._src
        return again.bytes_of(_plain(source))
    if stands_for(obj) is None:
        origin = getattr(getattr(obj, "_m", None), "origin", None)
        return tensor if origin is None else _tensor(origin())  # parts of complex numbers: of the whole ones
    held, at = places(obj)
    first, strides = int(at[(0,) * at.dim()]), []
    for axis, n in enumerate(at.shape):
        second = [0] * at.dim()
        second[axis] = min(1, n - 1)
        strides.append(int(at[tuple(second)]) - first)
    first += sum((n - 1) * stride for n, stride in zip(at.shape, strides, strict=True) if stride < 0)
    return held.as_strided(at.shape, [abs(stride) for stride in strides], first)


def _plain(obj: Any) -> torch.Tensor:
    tensor = as_argument(obj)
    return tensor.value if isinstance(tensor, DecomposedTensor) else tensor


@open_to_guests
def may_share_memory(a: Any, b: Any, /, max_work: int = 0) -> bool:
    """Whether the spans of memory of two arrays overlap. With `max_work`, see `shares_memory`; what it cannot answer
    counts as yes.

    >>> x = np.zeros(4)
    >>> np.may_share_memory(x[:2], x[2:]), np.may_share_memory(x[::2], x[1::2])
    (False, True)
    """
    try:
        return _overlap(a, b, max_work, 0)
    except TooHardError:
        return True


@open_to_guests
def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Whether two arrays have an element in common.

    The answer is exact. `max_work` bounds the work for it, unless it is -1: what would take more raises
    `np.exceptions.TooHardError`, for 0 whenever the spans of addresses overlap.

    >>> x = np.zeros(4)
    >>> np.shares_memory(x[::2], x[1::2])
    False
    """
    return _overlap(a, b, max_work, -1)


def _overlap(first: Any, second: Any, max_work: Any, default: int) -> bool:
    a, b = _tensor(first), _tensor(second)
    if max_work is None:
        max_work = default
    if not isinstance(max_work, int):  # NumPy's scalars and arrays are none either
        raise ValueError("max_work must be an integer")
    if not -sys.maxsize - 1 <= max_work <= sys.maxsize:
        raise OverflowError("Python int too large to convert to C ssize_t")
    if max_work < -2:
        raise ValueError("Invalid value for max_work")
    if a.device != b.device:
        return False
    if recording.get() is not None:  # of what np.jit records there are no addresses
        if not shares_storage(a, b):
            return False
        start_of = _offset
    else:
        start_of = _address
    (a_first, a_end), (b_first, b_end) = _span(a, start_of), _span(b, start_of)
    if not (a_first < b_end and b_first < a_end):
        return False
    if max_work == 0:
        raise TooHardError("Exceeded max_work")
    if a.is_contiguous() and b.is_contiguous():
        return True
    # A byte of a and one of b are the same: sum(a.stride * i) + k = distance + sum(b.stride * j) + m. With j
    # counted from the other end, all coefficients are positive.
    terms: dict[int, int] = {}
    for tensor in (a, b):
        size = tensor.element_size()
        pairs = [(n - 1, s * size) for n, s in zip(tensor.shape, tensor.stride(), strict=True)]
        for most, stride in [*pairs, (size - 1, 1)]:
            if most and stride:
                terms[stride] = terms.get(stride, 0) + most
    strides = sorted(terms, reverse=True)
    return _solvable(strides, [terms[stride] for stride in strides], b_end - 1 - a_first, max_work)


def _solvable(strides: list[int], most: list[int], total: int, max_work: int) -> bool:
    """Whether sum(stride * x) = total for some 0 <= x <= most, the strides in decreasing order: by trying, the largest
    strides first, within what the others can reach and only where they can divide the rest."""
    reach, divisor = [0], [0]
    for stride, n in zip(reversed(strides), reversed(most), strict=True):
        reach.append(reach[-1] + stride * n)
        divisor.append(math.gcd(divisor[-1], stride))
    reach.reverse()
    divisor.reverse()
    work = 0
    seen: set[tuple[int, int]] = set()
    stack = [(0, total)]
    while stack:
        at, rest = stack.pop()
        if rest == 0:
            return True
        if at == len(strides) or not 0 < rest <= reach[at] or rest % divisor[at] or (at, rest) in seen:
            continue
        seen.add((at, rest))
        stride = strides[at]
        low, high = max(0, -(-(rest - reach[at + 1]) // stride)), min(most[at], rest // stride)
        work += high - low + 1
        if 0 < max_work < work:
            raise TooHardError("Exceeded max_work")
        stack += [(at + 1, rest - stride * x) for x in range(low, high + 1)]
    return False
