"""Operands that `np.nditer` writes: which may be written, those that it allocates, and values that are put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import memory, wrap
from npdec._array.ndarray import Composition
from npdec._core.base import SubclassBase
from npdec._core.door import subclasses
from npdec._functions.nditer_options import Options, Place, targets
from npdec._functions.shares_memory import shares_memory
from npdec._impl import _util
from npdec._impl._storage import innermost
from npdec.exceptions import AbsentDTypeError, TooHardError

__all__ = ["UNWRITTEN", "Handed", "allocated", "apart", "check", "chunk", "of_classes", "with_rows"]

UNWRITTEN = (
    "Temporary data had not been written back to one of the operands before the iterator was deleted: use nditer as a "
    "context manager, or call its close() before the operands are read"
)


def check(
    operands: Sequence[Composition | None], options: Options, places: Sequence[Place], shape: tuple[int, ...]
) -> None:
    """Raise unless the operands that are to be written can be, and are not repeated where that is not asked for."""
    for number in sorted(options.written):
        array, place, wishes = operands[number], places[number], options.of_operands[number]
        if array is not None:
            if options.operands[number] is not array:
                raise TypeError(
                    "Iterator operand is flagged as writeable, but is an object which cannot be written back to via "
                    "WRITEBACKIFCOPY"
                )
            if not array.flags.writeable:
                raise ValueError("operand array with iterator write flag set is read-only")
            if "copy" in wishes:
                raise ValueError("If an iterator operand is writeable, must use the flag UPDATEIFCOPY instead of COPY")
        elif "readwrite" in wishes and "buffered" in options.flags and "delay_bufalloc" not in options.flags:
            raise ValueError(
                "Automatic allocation was requested for an iterator operand, and it was flagged as readable, but "
                "buffering without delayed allocation was enabled"
            )
        repeated = [
            axis
            for axis, own in enumerate(place)
            if shape[axis] != 1 and (own is None or (array is not None and array.shape[own] == 1))
        ]
        if not repeated:
            continue
        if "reduce_ok" not in options.flags:
            raise ValueError(
                f"output operand requires a reduction along dimension {len(shape) - 1 - repeated[-1]}, but the "
                "reduction is not enabled. The dimension size of 1 does not match the expected output shape."
            )
        if "writeonly" in wishes:
            raise ValueError("output operand requires a reduction, but is flagged as write-only, not read-write")
        if "external_loop" in options.flags:
            raise AbsentDTypeError(
                f"nditer: operand {number} of shape {() if array is None else array.shape} is reduced over chunks "
                '("external_loop"), which torch cannot write: go element by element, or use the reduction of the whole '
                "array"
            )


def allocated(
    place: Place, shape: tuple[int, ...], order: Sequence[int], dtype: torch.dtype | None, device: torch.device
) -> Composition:
    """A new operand of the lengths that the iteration has along its axes, which lies in memory as it is walked."""
    walked = [axis for axis in order if place[axis] is not None]
    owns = [place[axis] for axis in walked]
    if sorted(own for own in owns if own is not None) != list(range(len(owns))):
        raise ValueError("automatically allocated output array specified with an inconsistent axis mapping")
    tensor = torch.empty([shape[axis] for axis in walked], dtype=dtype, device=device)
    axes = [owns.index(own) for own in range(len(owns))]
    return wrap.wrap_array(tensor if axes == sorted(axes) else tensor.permute(axes))


def with_rows(options: Options, shape: tuple[int, ...]) -> list[Composition]:
    """The operands, with new ones that lie row by row."""
    if all(array is not None for array in options.operands):
        return options.operands
    dtypes = targets(options.operands, options, None)
    device = next(array.device for array in options.operands if array is not None)
    order, place = range(len(shape)), [*range(len(shape))]
    return [
        allocated(place, shape, order, dtype, device) if array is None else array
        for array, dtype in zip(options.operands, dtypes, strict=True)
    ]


def of_classes(operands: Sequence[Composition], options: Options) -> dict[int, Any]:
    """The operands that are of a program's own classes, by their number: those that were given, and with these what is
    allocated, which takes the class of the highest priority."""
    if not any(isinstance(item, SubclassBase) for item in options.given):
        return {}
    found: dict[int, Any] = {}
    for number, (item, array) in enumerate(zip(options.given, operands, strict=True)):
        if item is None and "no_subtype" not in options.of_operands[number]:
            found[number] = subclasses.value().allocated(array, options.given)
        elif isinstance(item, SubclassBase) and item._p is array:
            found[number] = item
    return found


def apart(operands: list[Composition], options: Options) -> list[Composition]:
    """With "copy_if_overlap": the operands, with copies of those that are written and share memory with one that is
    read; of two that are both, the first is copied."""
    if "copy_if_overlap" not in options.flags:
        return operands
    result = list(operands)
    for number in sorted(options.written):
        array, wishes = operands[number], options.of_operands[number]
        for other, second in enumerate(result):
            others = options.of_operands[other]
            if other == number or "writeonly" in others or not _overlap(array, second):
                continue
            if not ("overlap_assume_elementwise" in wishes & others and _same_elements(array._t, second._t)):
                result[number] = wrap.wrap_array(array._t.clone())
                break
    return result


def _overlap(a: Composition, b: Composition) -> bool:
    try:
        return bool(shares_memory(a, b, max_work=1))
    except TooHardError:
        return True


def _same_elements(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same elements in the same places."""
    a, b = innermost(a), innermost(b)
    return (a.data_ptr(), a.shape, a.stride(), a.dtype) == (b.data_ptr(), b.shape, b.stride(), b.dtype)


def chunk(tensor: torch.Tensor, flips: list[int]) -> torch.Tensor:
    """A region as a vector, the axes in `flips` from their ends."""
    return (tensor.flip(flips) if flips else tensor).reshape(-1)


class Handed:
    """A value that is handed out to be written: a view of the region of its operand, or a copy that is put back.

    `shown` is what the region is seen as: itself, or as the `chunk` of it, of which a buffered one is a `piece`.
    """

    def __init__(
        self,
        region: Composition,
        shown: torch.Tensor,
        flips: list[int],
        piece: slice | None,
        dtype: torch.dtype,
    ) -> None:
        self._region, self._flips, self._piece = region, flips, piece
        if dtype is region._d and memory.shares_storage(shown, region._t):
            self.value = memory.view(region, shown)  # a copy after all where axes merge of which one runs backwards
        else:
            self.value = wrap.wrap_array(_util.cast(shown, dtype))
        self._copied = not memory.shares_storage(self.value._t, region._t)

    def put_back(self) -> None:
        """Write the value where it came from, unless it is a view."""
        if not self._copied:
            return
        value = self.value
        if self._piece is not None:
            whole = wrap.wrap_array(chunk(self._region._t, self._flips).clone())
            whole[self._piece] = value
            value = whole
        tensor = value._t.reshape(self._region.shape)
        self._region[...] = wrap.wrap_array(tensor.flip(self._flips) if self._flips else tensor)
