"""`np.lib.Arrayterator`: a large array in blocks of a bounded size."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

__all__ = ["Arrayterator"]


class Arrayterator:
    """An iterator over the blocks of an array, none of more than `buf_size` elements: `var` is read in slices only.

    A block is as long as fits in the last axes, and one element in the others. Indexing with slices (an integer counts
    as the slice of one) gives an iterator over that part, `flat` the elements one by one, `shape` the shape of what is
    iterated over; other attributes are those of the array. Raises ValueError for a part without elements.

    >>> x = np.arange(12).reshape(3, 4)
    >>> [block.tolist() for block in np.lib.Arrayterator(x, 8)]
    [[[0, 1, 2, 3], [4, 5, 6, 7]], [[8, 9, 10, 11]]]
    """

    __module__ = "npdec.lib"

    def __init__(self, var: Any, buf_size: int | None = None) -> None:
        self.var = var
        self.buf_size = buf_size
        self.start = [0] * var.ndim
        self.stop = list(var.shape)
        self.step = [1] * var.ndim

    def __getattr__(self, attr: str) -> Any:
        return getattr(self.var, attr)

    def __getitem__(self, index: Any) -> Arrayterator:
        ndim = self.var.ndim
        items = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in items:
            at = items.index(Ellipsis)
            items[at : at + 1] = [slice(None)] * (ndim - len(items) + 1)
        items += [slice(None)] * (ndim - len(items))
        part = type(self)(self.var, self.buf_size)
        for axis, item in enumerate(items):
            if not isinstance(item, slice):
                item = slice(operator.index(item), operator.index(item) + 1)
            start, stop, step = item.start or 0, item.stop or self.stop[axis] - self.start[axis], item.step or 1
            part.start[axis] = self.start[axis] + start
            part.step[axis] = self.step[axis] * step
            part.stop[axis] = min(self.start[axis] + stop, self.stop[axis])
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        part = self.var[tuple(map(slice, self.start, self.stop, self.step))]
        return part.__array__(dtype, copy)

    @property
    def flat(self) -> Iterator[Any]:
        """The elements, one by one."""
        for block in self:
            yield from block.flat

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is iterated over."""
        return tuple(
            (stop - start - 1) // step + 1 for start, stop, step in zip(self.start, self.stop, self.step, strict=True)
        )

    def __iter__(self) -> Iterator[Any]:
        shape = self.shape
        if 0 in shape:
            return
        left = self.buf_size or math.prod(shape)
        counts = [0] * len(shape)  # how many elements a block has along each axis: the last axes whole
        for axis in reversed(range(len(shape))):
            counts[axis] = max(1, min(left, shape[axis]))
            left = left // shape[axis] if counts[axis] == shape[axis] else 1
        yield from self._blocks(shape, counts, ())

    def _blocks(self, shape: tuple[int, ...], counts: list[int], key: tuple[slice, ...]) -> Iterator[Any]:
        axis = len(key)
        if axis == len(shape):
            yield self.var[key]
            return
        start, step = self.start[axis], self.step[axis]
        for first in range(0, shape[axis], counts[axis]):
            last = min(first + counts[axis], shape[axis])
            stop = min(start + last * step, self.stop[axis])
            yield from self._blocks(shape, counts, (*key, slice(start + first * step, stop, step)))
