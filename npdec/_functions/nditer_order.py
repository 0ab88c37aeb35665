"""In which order `np.nditer` walks the axes of its operands: by their strides, or as it is told."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence

import torch

from npdec._array.ndarray import Composition
from npdec._native import calls
from npdec._torch.tracing import tracing

__all__ = ["Place", "iteration_order", "strides_along", "strides_of_rows"]

# For each axis of the iteration: which axis of the operand it is, or None where the operand is repeated along it.
Place = list["int | None"]


def strides_of(array: Composition) -> tuple[int, ...]:
    """The strides of an array in elements, negative where it is, or views, a copy that stands for a reversed view."""
    if calls is not None and not tracing():
        lazy: tuple[int, ...] | None = calls.few_strides(array)
        if lazy is not None:
            return lazy
    strides = tuple(array._t.stride())
    origin = getattr(getattr(array, "_m", None), "origin", None)
    copy = None if origin is None else origin()
    if copy is None or not array.size:
        return strides
    source, again = copy._src
    if again is None or source._d is not copy._d:
        return strides
    base, shape = strides_of(source), source._t.shape
    places = torch.stack(torch.unravel_index(torch.arange(source.size), shape), -1)
    shown = again((places * torch.tensor(base)).sum(-1).reshape(shape)).reshape(-1)
    # Which element of the copy lies where in its memory, and where that element lies in the memory of the source.
    held = torch.arange(shown.numel()).reshape(copy._t.shape)
    lies = {int(at): int(to) for at, to in zip(_offsets(held, copy._t.stride()), shown, strict=True)}
    start = int(array._t.storage_offset() - copy._t.storage_offset())
    if start not in lies:
        return strides
    found = [lies.get(start + stride, 0) - lies[start] for stride in strides]
    return tuple(0 if length == 1 else stride for stride, length in zip(found, array.shape, strict=True))


def _offsets(like: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """Where each element lies in memory, in row-major order."""
    places = torch.stack(torch.unravel_index(like.reshape(-1), like.shape), -1) if like.dim() else like.reshape(1, 0)
    return (places * torch.tensor(list(strides), dtype=torch.int64)).sum(-1)


def strides_of_rows(shape: tuple[int, ...]) -> list[int]:
    """The strides of an array that lies row by row."""
    ends = [*itertools.accumulate(shape[:0:-1], operator.mul, initial=1)]
    return [0 if length == 1 else end for length, end in zip(shape, reversed(ends), strict=True)]


def strides_along(array: Composition, place: Place) -> list[int]:
    """The strides of an operand along the axes of the iteration; 0 where it is repeated."""
    own = strides_of(array)
    return [0 if axis is None or array.shape[axis] == 1 else own[axis] for axis in place]


def iteration_order(
    operands: Sequence[Composition], places: list[Place], shape: tuple[int, ...], order: str
) -> tuple[list[int], set[int]]:
    """The axes, the fastest last, and those that are walked backwards."""
    axes = list(range(len(shape)))
    if order == "A":
        order = "F" if all(array.flags.f_contiguous for array in operands) else "C"
    if order == "C":
        return axes, set()
    if order == "F":
        return axes[::-1], set()
    strides = [strides_along(array, place) for array, place in zip(operands, places, strict=True)]
    backwards = {axis for axis in axes if any(s[axis] < 0 for s in strides) and all(s[axis] <= 0 for s in strides)}
    return _by_memory(strides, axes), backwards


def _by_memory(strides: list[list[int]], axes: list[int]) -> list[int]:
    """The axes from the one of the largest strides to the one of the smallest; where operands disagree, as they come.

    Axes are inserted one by one, from the last to the first, among those that are already placed.
    """
    placed: list[int] = []  # the fastest first
    for axis in reversed(axes):
        at = len(placed)
        for position in reversed(range(len(placed))):
            verdict = _is_faster(strides, axis, placed[position])
            if verdict is None:
                continue
            if not verdict:
                break
            at = position
        placed.insert(at, axis)
    return placed[::-1]


def _is_faster(strides: list[list[int]], axis: int, other: int) -> bool | None:
    """Whether the strides along an axis are smaller than along a later one in all operands; None if nothing tells."""
    verdict = None
    for s in strides:
        if s[axis] and s[other]:
            if abs(s[other]) <= abs(s[axis]):
                return False
            verdict = True
    return verdict
