"""`np.broadcast`: an iterator over the elements of arrays that are broadcast against each other."""

from __future__ import annotations

import inspect
import itertools
import math
from typing import Any

from npdec._array.iterators import array_of, expanded, flat, flatiter
from npdec._array.shapes import as_shape
from npdec._core.tracebacks import ends

__all__ = ["broadcast"]


_MAX_ARRAYS = 64


class broadcast:
    """What arrays broadcast together are like: an iterator over the tuples of their elements, in row-major order.

    `shape`, `nd` (`ndim`) and `size` are those of the result, `numiter` counts the arrays, `iters` holds an iterator
    over each, and `index` says where the iteration is; `reset()` starts it anew. Raises ValueError if the shapes do not
    fit together.

    >>> b = np.broadcast([1, 2, 3], [[10], [20]])
    >>> b.shape, b.size
    ((2, 3), 6)
    >>> [int(x + y) for x, y in b]
    [11, 12, 13, 21, 22, 23]
    """

    __module__ = "npdec"

    __signature__ = inspect.Signature([inspect.Parameter("arrays", inspect.Parameter.VAR_POSITIONAL)])

    @ends
    def __init__(self, *arrays: Any, **options: Any) -> None:
        if options:  # which NumPy refuses with this kind of error
            raise ValueError(f"broadcast() takes no keyword arguments, not {', '.join(options)}")
        given: list[Any] = []
        for array in arrays:
            given += list(array._arrays) if isinstance(array, broadcast) else [array_of(array)]
        if len(given) > _MAX_ARRAYS:
            raise ValueError(f"Need at least 0 and at most {_MAX_ARRAYS} array objects.")
        self._arrays: list[Any] = given
        self._shape = _together([array.shape for array in given])
        self._iters = tuple(flat(expanded(array, self._shape), array) for array in given)
        self._at = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self._shape

    @property
    def nd(self) -> int:
        """The number of axes."""
        return len(self._shape)

    ndim = nd

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._shape)

    @property
    def numiter(self) -> int:
        """The number of arrays."""
        return len(self._iters)

    @property
    def index(self) -> int:
        """The row-major number of the next elements."""
        return self._at

    @property
    def iters(self) -> tuple[flatiter, ...]:
        """One iterator for each array, in the shape of the result."""
        return self._iters

    def reset(self, /) -> None:
        """Start the iteration anew."""
        self._at = 0
        for one in self._iters:
            one._at = 0

    def __iter__(self) -> broadcast:
        return self

    def __next__(self) -> tuple[Any, ...]:
        if self._at >= self.size:
            raise StopIteration
        self._at += 1
        return tuple(next(one) for one in self._iters)


def _together(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of arrays broadcast together, or NumPy's complaint about the first two that do not fit."""
    result: tuple[int, ...] = ()
    sources: list[int] = []  # which array the length of each axis of the result comes from, counted from the last
    for number, shape in enumerate(shapes):
        pairs = itertools.zip_longest(reversed(result), reversed(shape), fillvalue=1)
        merged = []
        for axis, (old, new) in enumerate(pairs):
            if old != new and 1 not in (old, new):
                first = sources[axis]
                raise ValueError(
                    "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg "
                    f"{first} with shape {shapes[first]} and arg {number} with shape {shape}."
                )
            merged.append(new if old == 1 else old)
            if axis >= len(sources):
                sources.append(number)
            elif old == 1 and new != 1:
                sources[axis] = number
        result = tuple(reversed(merged))
    return as_shape(result)
