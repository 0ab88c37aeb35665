"""What a read finds in memory that has been written before: the tensor that was written, and no look at the memory.

A table that is filled cell by cell (`cost[i, j] = least + step`) is a chain of writes into one memory, and a compiler
that knows no memory copies the whole table for each cell. Here a read of what is known becomes a use of what was
written, so that nobody reads the table: the writes are dropped, or the table is put together once, at the end.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import torch

__all__ = ["Memories", "Parts", "Read"]

_aten = torch.ops.aten
_FEW_WRITES = 4  # of one memory: fewer are left to the compiler
_MOST_WRITES = 512  # of one memory, each of which a read may have to look at

_FILLS: dict[Any, Any] = {
    _aten.zeros.default: 0, _aten.zeros_like.default: 0, _aten.new_zeros.default: 0, _aten.ones.default: 1,
    _aten.ones_like.default: 1, _aten.full.default: None, _aten.full_like.default: None, _aten.new_full.default: None,
}  # fmt: skip


class _Box(NamedTuple):
    """Which elements of a memory of several axes a tensor looks at: for each axis the first, the step and the count."""

    axes: tuple[tuple[int, int, int], ...]
    order: tuple[int, ...]  # which axis of the memory each axis of the tensor with more than one element goes along


class _Write(NamedTuple):
    """A tensor with the shape and the dtype of what was written, or None if that is unknown."""

    box: _Box | None  # None: anywhere
    shape: torch.Size
    value: torch.Tensor | None
    epoch: int  # how often the memory of the value had been written


class Read(NamedTuple):
    """What a read finds: a number everywhere, or a part of a value that has the shape when it was written."""

    fill: Any = None
    value: torch.Tensor | None = None
    shape: torch.Size = torch.Size()  # that the value is expanded to
    parts: tuple[tuple[int, int, int], ...] = ()  # first, step and count along each of its axes


class Parts(NamedTuple):
    """What is found along an axis, one part after the other, each with its length."""

    axis: int
    parts: list[tuple[Any, int]]

    def number(self) -> int:
        """How many reads these are."""
        return sum(part.number() if isinstance(part, Parts) else 1 for part, _ in self.parts)


class _Memory:
    """One memory, as the first tensor sees it that looks at all of it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.shape, self.dtype = tensor.shape, tensor.dtype
        # Strides of axes with one element may be anything, 0 too, which nothing can be divided by.
        self.steps = [math.prod(tensor.shape[axis + 1 :]) for axis in range(tensor.dim())]
        self.writes: list[_Write] = []
        self.fill: Any = None
        self.whole = tensor
        self.first: _Write | None = None  # what was there before all writes
        self.is_read = False

    def box(self, tensor: torch.Tensor) -> _Box | None:
        """The elements of a tensor that looks at this memory, None if they are no box of it."""
        if tensor.dtype is not self.dtype or tensor.is_conj() or tensor.is_neg() or not tensor.numel():
            return None
        offset, first = tensor.storage_offset(), []
        for step in self.steps:
            first.append(offset // step)
            offset %= step
        axes = [(start, 1, 1) for start in first]
        order = []
        for size, stride in zip(tensor.shape, tensor.stride()):
            if size == 1:
                continue
            for axis, step in enumerate(self.steps):
                times = stride // step
                if stride % step or not times or axes[axis][2] != 1:
                    continue
                if axes[axis][0] + (size - 1) * times < self.shape[axis]:
                    axes[axis] = axes[axis][0], times, size
                    order.append(axis)
                    break
            else:
                return None
        return _Box(tuple(axes), tuple(order))


class Memories:
    """All memories of one recording."""

    def __init__(self) -> None:
        self._memories: dict[int, _Memory] = {}
        self._epochs: dict[int, int] = {}

    def made(self, func: Any, args: tuple[Any, ...], tensor: torch.Tensor) -> None:
        """Note a tensor that is seen for the first time, with memory of its own or not."""
        key = _key(tensor)
        if key in self._memories or tensor.storage_offset() or not tensor.numel() or not tensor.is_contiguous():
            return
        if tensor.numel() * tensor.dtype.itemsize != tensor.untyped_storage().nbytes() or not tensor.dim():
            return
        self._memories[key] = memory = _Memory(tensor)
        if func in _FILLS:
            fill = _FILLS[func]
            fill = args[-1] if fill is None else fill
            memory.fill = fill if type(fill) in (bool, int, float) else None

    def unwritten(self, target: torch.Tensor) -> torch.Tensor | None:
        """A tensor that looks at all of the target's memory, if that is written for the first time, and nobody knows
        what is there."""
        memory = self._memories.get(_key(target))
        if memory is None or memory.writes or memory.fill is not None or memory.box(target) is None:
            return None
        return memory.whole

    def begins(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        """Note a copy of what was there before the first write."""
        memory = self._memories[_key(tensor)]
        box = _Box(
            tuple((0, 1, size) for size in tensor.shape), tuple(i for i, size in enumerate(tensor.shape) if size > 1)
        )
        memory.first = _Write(box, tensor.shape, value, 0)

    def written(self, target: torch.Tensor, value: torch.Tensor | None) -> None:
        """Note that the value (None: something else) has been written where the target looks."""
        key = _key(target)
        self._epochs[key] = self._epochs.get(key, 0) + 1
        memory = self._memories.get(key)
        if memory is None:
            return
        box = memory.box(target)
        if len(memory.writes) >= _MOST_WRITES:
            box = None
        if box is None:
            memory.writes.clear()
            memory.fill = memory.first = None
            memory.writes.append(_Write(None, target.shape, None, 0))
            return
        if value is not None and (_key(value) == key or not _is_in_order(value)):
            value = None
        epoch = self._epochs.get(_key(value), 0) if value is not None else 0
        memory.writes.append(_Write(box, target.shape, value, epoch))

    def epoch(self, tensor: torch.Tensor) -> int:
        """How often the memory of a tensor has been written."""
        return self._epochs.get(_key(tensor), 0)

    def read(self, tensor: torch.Tensor) -> Read | None:
        """What the tensor sees, if it is known."""
        memory = self._memories.get(_key(tensor))
        if memory is None or (not memory.writes and memory.fill is None):
            return None
        box = memory.box(tensor) if _is_in_order(tensor) else None
        found = None if box is None else self._find(memory, box)
        if found is None and memory.writes:
            memory.is_read = True
        return found

    def is_read(self, tensor: torch.Tensor) -> bool:
        """Whether something reads the memory of a tensor after all: its writes are done then, and may be read."""
        memory = self._memories.get(_key(tensor))
        return memory is not None and memory.is_read

    def _find(self, memory: _Memory, box: _Box) -> Read | None:
        for write in itertools.chain(reversed(memory.writes), [memory.first] if memory.first else []):
            if write.box is None:
                return None
            if _are_apart(write.box, box):
                continue
            if write.value is None or self._epochs.get(_key(write.value), 0) != write.epoch:
                return None
            parts = _parts(write.box, write.shape, box)
            return None if parts is None else Read(None, write.value, write.shape, parts)
        return None if memory.fill is None else Read(memory.fill)

    def all_of(self, tensor: torch.Tensor) -> Parts | None:
        """What a tensor that looks at all of a memory sees, put together from many writes, if all of it is known."""
        memory = self._memories.get(_key(tensor))
        if memory is None or tensor.shape != memory.shape or tensor.dtype is not memory.dtype:
            return None
        if len(memory.writes) < _FEW_WRITES or any(write.box is None for write in memory.writes):
            return None
        found = self._together(memory, [(0, size) for size in memory.shape], 0)
        return found if isinstance(found, Parts) and found.number() <= _MOST_WRITES else None

    def _together(self, memory: _Memory, spans: list[tuple[int, int]], axis: int) -> Read | Parts | None:
        order = tuple(i for i, (start, stop) in enumerate(spans) if stop - start > 1)
        box = _Box(tuple((start, 1, stop - start) for start, stop in spans), order)
        if (read := self._find(memory, box)) is not None:
            return read
        if axis == len(spans):
            return None
        start, stop = spans[axis]
        cuts = {start, stop}
        for write in memory.writes:
            assert write.box is not None
            if _are_apart(write.box, box):
                continue
            first, step, count = write.box.axes[axis]
            if step > 1 and count > 1:
                return None
            cuts |= {cut for cut in (first, first + count) if start < cut < stop}
        if len(cuts) == 2:
            return self._together(memory, spans, axis + 1)
        parts = []
        for one in itertools.pairwise(sorted(cuts)):
            part = self._together(memory, [*spans[:axis], one, *spans[axis + 1 :]], axis)
            if part is None:
                return None
            parts.append((part, one[1] - one[0]))
        return Parts(axis, parts)


def _key(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _is_in_order(tensor: torch.Tensor) -> bool:
    """Whether the axes lie in memory as those of a new array: results of functions of it do so too."""
    steps = [step for size, step in zip(tensor.shape, tensor.stride()) if size > 1]
    return all(a > b for a, b in itertools.pairwise([*steps, 0])) and not tensor.is_conj() and not tensor.is_neg()


def _are_apart(a: _Box, b: _Box) -> bool:
    for (first, step, count), (other, its_step, its_count) in zip(a.axes, b.axes):
        if first + (count - 1) * step < other or other + (its_count - 1) * its_step < first:
            return True
        common = math.gcd(step if count > 1 else 0, its_step if its_count > 1 else 0)
        if common > 1 and (first - other) % common:
            return True
    return False


def _parts(whole: _Box, shape: torch.Size, part: _Box) -> tuple[tuple[int, int, int], ...] | None:
    """First, step and count of a part along each axis of a tensor of the shape that covers the whole, None if it is not
    all within."""
    found = dict.fromkeys(whole.order, (0, 1, 1))
    for axis, ((first, step, count), (other, its_step, its_count)) in enumerate(zip(whole.axes, part.axes)):
        start, left = divmod(other - first, step)
        times, rest = divmod(its_step, step) if its_count > 1 else (1, 0)
        if left or rest or start < 0 or start + (its_count - 1) * times >= count:
            return None
        if axis in found:
            found[axis] = start, times, its_count
    wanted = [axis for axis in whole.order if found[axis][2] > 1]
    if wanted != list(part.order):
        return None
    ways = iter(whole.order)
    return tuple((0, 1, 1) if size == 1 else found[next(ways)] for size in shape)
