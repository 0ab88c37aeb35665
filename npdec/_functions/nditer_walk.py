"""How `np.nditer` walks: from the number of elements passed to coordinates, and which axes are walked by one stride."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

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
