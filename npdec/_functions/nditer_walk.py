"""How `np.nditer` walks: from the number of elements passed to coordinates, and which axes are walked by one stride."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

__all__ = ["Walk"]


class Walk:
    """A walk through all coordinates of a shape: `_index` counts the elements, `_order` has the axes as they are
    walked, the fastest last, `_backwards` those walked from their end; `_strides` has the strides of each operand, in
    elements."""

    _shape: tuple[int, ...]
    _order: list[int]
    _backwards: set[int]
    _index: int
    _range: tuple[int, int]
    _flags: set[str]
    _strides: list[list[int]]
    _buffer: int
    _copied: bool
    _operands: Sequence[Any]
    _closed: bool
    _delayed: bool
    _done: bool

    def _go(self, index: int) -> None:
        raise NotImplementedError

    def _check(self) -> None:
        raise NotImplementedError

    @property
    def nop(self) -> int:
        """The number of operands."""
        return len(self._operands)

    @property
    def _lengths(self) -> list[int]:
        return [self._shape[axis] for axis in self._order]

    def _place(self, count: int) -> tuple[int, ...]:
        """The coordinates of the current element along the first `count` axes that are walked."""
        rest, place = self._index, []
        for position in reversed(range(len(self._order))):
            length = self._shape[self._order[position]]
            rest, at = divmod(rest, max(length, 1))
            if position < count:
                place.append(length - 1 - at if self._order[position] in self._backwards else at)
        return tuple(reversed(place))

    def _index_at(self, multi_index: Sequence[int]) -> int:
        index = 0
        for axis in self._order:
            at = multi_index[axis]
            index = index * self._shape[axis] + (self._shape[axis] - 1 - at if axis in self._backwards else at)
        return index

    def _joined(self) -> list[int]:
        """How many axes that follow each other are walked by one stride in every operand, from the slowest."""
        if "multi_index" in self._flags:
            return [1] * len(self._order)
        strides = list(self._strides)
        if self._flags & {"c_index", "f_index"}:
            strides.append(self._index_weights())
        strides = [[-s[axis] if axis in self._backwards else s[axis] for axis in self._order] for s in strides]
        groups: list[int] = []
        last = None
        for position, axis in enumerate(self._order):
            length = self._shape[axis]
            if groups and (length == 1 or last is None):
                groups[-1] += 1
                last = last if length == 1 else position
                continue
            if last is not None and all(s[last] == s[position] * length for s in strides):
                groups[-1] += 1
            else:
                groups.append(1)
            last = None if length == 1 else position
        return groups

    def _index_weights(self) -> list[int]:
        """By how much the index that is tracked grows along each axis."""
        weights, weight = [0] * len(self._shape), 1
        axes = range(len(self._shape))
        for axis in axes if "f_index" in self._flags else reversed(axes):
            weights[axis] = weight
            weight *= self._shape[axis]
        return weights

    def _chunk(self) -> tuple[int, int]:
        """How many of the axes a value extends over, and how many elements it holds."""
        if "external_loop" not in self._flags:
            return 0, 1
        groups = self._joined()
        inner = groups[-1] if groups else 0
        size = math.prod(self._lengths[len(self._order) - inner :])
        if "buffered" not in self._flags:
            return inner, size
        left = self._range[1] - self._index
        if "grow_inner" in self._flags and not self._copied and size > self._buffer:
            return len(self._order), min(size, left)
        # Whole rows, as many as fit, and not beyond the end of the axis that counts them.
        core, lengths = 1, list(self._joined_lengths())
        while lengths and core * lengths[-1] <= self._buffer:
            core *= lengths.pop()
        end = core * lengths[-1] if lengths else core
        return len(self._order), min(core * (self._buffer // core), end - self._index % end, left)

    def _joined_lengths(self) -> tuple[int, ...]:
        """The lengths of the axes as they are walked, joined ones as one."""
        lengths = iter(self._lengths)
        return tuple(math.prod(itertools.islice(lengths, count)) for count in self._joined())

    @property
    def has_index(self) -> bool:
        """Whether an index is tracked."""
        return bool(self._flags & {"c_index", "f_index"})

    @property
    def has_multi_index(self) -> bool:
        """Whether a multi-index is tracked."""
        return "multi_index" in self._flags

    @property
    def iterationneedsapi(self) -> bool:
        """Whether elements are Python objects: never."""
        return False

    @property
    def ndim(self) -> int:
        """The number of axes that are walked; those that memory joins count once unless a multi-index is tracked."""
        return len(self._shape) if self.has_multi_index else max(len(self._joined()), min(len(self._shape), 1))

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes; without a multi-index those that are walked, the fastest first."""
        if self._closed or self._done:
            raise ValueError("Iterator is past the end")
        if self.has_multi_index:
            return self._shape
        return self._joined_lengths()[::-1]

    @property
    def itersize(self) -> int:
        """The number of elements."""
        return math.prod(self._shape)

    @property
    def has_delayed_bufalloc(self) -> bool:
        """Whether `reset()` must be called first."""
        return self._delayed

    # -- what is tracked -----------------------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether all values were visited."""
        return self._done

    @property
    def index(self) -> int:
        """The row-major ("c_index") or column-major ("f_index") number of the current element; it can be assigned."""
        if not self.has_index:
            raise ValueError("Iterator does not have an index")
        self._check()
        place = self._multi_index()
        return sum(weight * at for weight, at in zip(self._index_weights(), place, strict=True))

    @index.setter
    def index(self, index: int) -> None:
        if not self.has_index:
            raise ValueError("Iterator does not have an index")
        index = operator.index(index)
        if not 0 <= index < self.itersize:
            raise IndexError("Iterator GotoIndex called with an out-of-bounds index")
        shape = self._shape[::-1] if "f_index" in self._flags else self._shape
        place = []
        for length in reversed(shape):
            index, at = divmod(index, length)
            place.append(at)
        self._go(self._index_at(place if "f_index" in self._flags else place[::-1]))

    def _multi_index(self) -> tuple[int, ...]:
        place = self._place(len(self._order))
        return tuple(place[self._order.index(axis)] for axis in range(len(self._shape)))

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The coordinates of the current element; they can be assigned."""
        if not self.has_multi_index:
            raise ValueError("Iterator is not tracking a multi-index")
        self._check()
        return self._multi_index()

    @multi_index.setter
    def multi_index(self, multi_index: Sequence[int]) -> None:
        if not self.has_multi_index:
            raise ValueError("Iterator is not tracking a multi-index")
        if len(multi_index) != len(self._shape):
            raise ValueError("Wrong number of indices")
        place = [operator.index(at) for at in multi_index]
        if not all(0 <= at < length for at, length in zip(place, self._shape, strict=True)):
            raise IndexError("Iterator GotoMultiIndex called with an out-of-bounds multi-index")
        self._go(self._index_at(place))

    @property
    def iterindex(self) -> int:
        """The number of the current element in the order of the iteration; it can be assigned."""
        if self._closed or self._done:
            raise ValueError("Iterator is past the end")
        return self._index

    @iterindex.setter
    def iterindex(self, index: int) -> None:
        if "external_loop" in self._flags and "buffered" not in self._flags:
            raise ValueError("Cannot call GotoIterIndex on an iterator which has the flag EXTERNAL_LOOP")
        index = operator.index(index)
        if not self._range[0] <= index < self._range[1]:
            raise IndexError("Iterator GotoIterIndex called with an iterindex outside the iteration range.")
        self._go(index)

    @property
    def iterrange(self) -> tuple[int, int]:
        """The first number of the iteration, and the one after the last; assignable if "ranged"."""
        return self._range

    @iterrange.setter
    def iterrange(self, bounds: tuple[int, int]) -> None:
        if "ranged" not in self._flags:
            raise ValueError(
                "Cannot call ResetToIterIndexRange on an iterator without requesting ranged iteration support in the "
                "constructor"
            )
        start, stop = map(operator.index, bounds)
        if not 0 <= start <= stop <= self.itersize:
            raise ValueError(f"Out-of-bounds range [{start}, {stop}) passed to ResetToIterIndexRange")
        self._range = start, stop
        self._delayed = False
        self._go(start)

    def debug_print(self, /) -> None:
        """Print where the iterator is, for debugging."""
        lines = [f"{name}: {getattr(self, name)}" for name in ("ndim", "nop", "itersize", "iterindex", "iterrange")]
        print("\n".join(["nditer", *lines, f"flags: {sorted(self._flags)}"]))  # noqa: T201
