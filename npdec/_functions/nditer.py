"""`np.nditer` over arrays: along which axes, in which order, one element or one chunk at a time.

Every operand is laid over the shape of the iteration as a view, its axes in the order in which they are walked, so that
one number says where the iteration is. Values are views of the operands; what cannot be one, as a buffer of another
dtype, is put back before the iteration goes on. Where such a loop is slow, an expression over whole arrays is not.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

from npdec._array import memory, wrap
from npdec._array.ndarray import Composition
from npdec._core.tracebacks import ends
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._functions import nditer_options, nditer_writing
from npdec._functions.nditer_options import EXTERNAL_LOOP, Options, as_array, converted, targets
from npdec._functions.nditer_order import iteration_order, strides_along, strides_of_rows
from npdec._functions.nditer_walk import Walk
from npdec._functions.nditer_writing import Handed
from npdec._impl import _devices
from npdec._native import calls
from npdec._torch.tracing import tracing
from npdec.exceptions import AbsentDTypeError

__all__ = ["nditer"]

_LARGEST = 2**63 - 1
_BUFFER = 8192  # NumPy's default, in elements
_IN_PIECES = frozenset({"external_loop", "buffered"})
_READ_ONLY = 'np.nditer reads this operand: write with op_flags=["readwrite"]'


class nditer(Walk):
    """An iterator over one or several arrays that broadcast together; its values are 0-d arrays, views of theirs.

    `flags` may ask for "multi_index", "c_index" or "f_index" to be tracked, for chunks instead of elements
    ("external_loop", and with "buffered" in pieces of `buffersize`), a "common_dtype", and other things of NumPy's.
    `op_flags`, `op_dtypes` and `op_axes` say for each operand how it is read or written; `order` is "C", "F", or "K" as
    the arrays lie in memory. None as an operand is an array to allocate and write. Raises ValueError for flags that
    contradict each other and for written arrays that are read-only or too small, TypeError for dtypes that cannot be
    cast, AbsentDTypeError for "writemasked" and "virtual".

    >>> x = np.array([[1, 2], [3, 4]])
    >>> [int(element) for element in np.nditer(x, order="F")]
    [1, 3, 2, 4]
    >>> it = np.nditer(x, flags=["multi_index"])
    >>> [it.multi_index for _ in it]
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    >>> with np.nditer([x, None]) as it:
    ...     for element, square in it:
    ...         square[...] = element * element
    ...     it.operands[1]
    array([[ 1,  4],
           [ 9, 16]])
    """

    __module__ = "npdec"

    @ends
    def __new__(
        cls,
        op: Any,
        flags: Sequence[str] | None = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: str = "K",
        casting: str = "safe",
        op_axes: Any = None,
        itershape: Any = None,
        buffersize: int = 0,
    ) -> Any:
        self, given = object.__new__(cls), (flags, op_flags, op_dtypes, order, casting, op_axes, itershape, buffersize)
        try:
            self._begin(op, *given)
        except AbsentDTypeError as error:
            absent = error
        else:
            return self
        return nditer_options.by_numpy(absent, op, *given)

    def _begin(
        self, op: Any, flags: Any, op_flags: Any, op_dtypes: Any, order: Any, casting: Any, op_axes: Any, *sizes: Any
    ) -> None:
        itershape, buffersize = sizes
        options = Options(op, flags, op_flags, order, casting)
        self._flags, self._wishes = options.flags, options.of_operands
        if not buffersize and op_dtypes is op_axes is itershape is None and self._begin_in_rows(options):
            return self._begun()
        found = [None if item is None else as_array(item) for item in options.operands]
        self._buffer = operator.index(buffersize) or _BUFFER
        self._shape, places = nditer_options.broadcast_operands(found, options, op_axes, itershape)
        if math.prod(self._shape) > _LARGEST:
            raise ValueError("iterator is too large")
        if not math.prod(self._shape) and "zerosize_ok" not in self._flags:
            raise ValueError("Iteration of zero-sized operands is not enabled")
        known = [(array, place) for array, place in zip(found, places, strict=True) if array is not None]
        self._order, self._backwards = iteration_order(
            [array for array, _ in known], [place for _, place in known], self._shape, options.order
        )
        if len(known) < len(found):  # a new operand is walked forwards, and all others with it
            self._backwards = set()
        wanted = targets(found, options, op_dtypes)
        nditer_writing.check(found, options, places, self._shape)
        device = known[0][0].device if known else _devices.current_device()
        given = [
            nditer_writing.allocated(place, self._shape, self._order, dtype, device) if array is None else array
            for array, place, dtype in zip(found, places, wanted, strict=True)
        ]
        self._operands = nditer_writing.apart(converted(given, options, wanted, casting), options)
        self._own = nditer_writing.of_classes(self._operands, options)
        self._written = {number: wanted[number] or given[number]._d for number in options.written}
        self._temporary = [
            (given[number], self._operands[number])
            for number in sorted(options.written)
            if self._operands[number] is not given[number]
        ]
        self._copied = any(
            a is not b or self._written.get(number, b._d) is not b._d
            for number, (a, b) in enumerate(zip(given, self._operands, strict=True))
        )
        self._strides = [strides_along(array, place) for array, place in zip(given, places, strict=True)]
        self._views = [
            nditer_options.laid_out(array, [place[axis] for axis in self._order], self._lengths)
            for array, place in zip(self._operands, places, strict=True)
        ]
        self._places = places
        for strides, wishes in zip(self._strides, options.of_operands, strict=True):
            innermost = strides[self._order[-1]] if strides else 1
            if "contig" in wishes and "buffered" not in self._flags and abs(innermost) != 1:
                raise TypeError(
                    "Iterator operand required buffering, to be contiguous as requested, but buffering is not enabled"
                )
        self._begun()

    def _begin_in_rows(self, options: Options) -> bool:
        """Whether the operands are arrays of one shape that lie row by row, of which no more is to be asked."""
        shape = nditer_options.shape_of_rows(options)
        if shape is None:
            return False
        self._shape, self._order, self._backwards = shape, list(range(len(shape))), set()
        self._places = [list(self._order)] * len(options.operands)
        nditer_writing.check(options.operands, options, self._places, shape)
        self._operands = self._views = nditer_writing.with_rows(options, shape)
        self._own, self._temporary, self._copied, self._buffer = {}, [], False, _BUFFER
        self._written = {number: self._operands[number]._d for number in options.written}
        self._strides = [strides_of_rows(shape)] * len(self._operands)
        return True

    def _begun(self) -> None:
        self._handed: dict[int, Handed] = {}
        self._outer: tuple[nditer, ...] = ()  # of nested iteration: their axes come first in the views,
        self._inner: tuple[nditer, ...] = ()  # and theirs last
        self._delayed = {"buffered", "delay_bufalloc"} <= self._flags
        self._closed = False
        self._range = (0, self.itersize)
        self._go(0)

    # -- where it is ---------------------------------------------------------------------------------------------------

    def _put_back(self) -> None:
        """Write what was handed out to be written and is no view."""
        for handed in self._handed.values():
            handed.put_back()
        self._handed.clear()

    def _go(self, index: int) -> None:
        self._put_back()
        self._index = index
        self._started = False
        self._done = index >= self._range[1]
        for other in self._inner:
            other._go(other._range[0])

    def _check(self) -> None:
        """Raise ValueError unless there is a current element."""
        if self._closed or self._done:
            raise ValueError("Iterator is past the end")
        if self._delayed:
            raise ValueError("Iterator construction used delayed buffer allocation, and no reset has been done yet")

    # -- values --------------------------------------------------------------------------------------------------------

    def _value(self, number: int) -> Composition:
        if number in self._handed:
            return self._handed[number].value
        view = self._views[number]
        if not (self._flags & _IN_PIECES or self._outer or self._inner or self._backwards):
            value = self._element(view, number)
            if value is not None:
                return value
        inner, size = self._chunk()
        walked = len(self._order) - inner
        key: tuple[Any, ...] = ()
        for outer in self._outer:
            key += outer._place(len(outer._order))
        key += self._place(walked)
        first = (0,) * sum(len(other._order) for other in self._inner)
        tensor = view._t[(*key, *(slice(None),) * inner, *first)] if key or first else view._t
        shown, piece = tensor, None
        flips: list[int] = []
        if "external_loop" in self._flags:
            flips = [p for p, axis in enumerate(self._order[walked:]) if axis in self._backwards]
            piece = slice(self._index, self._index + size) if "buffered" in self._flags else None
            shown = nditer_writing.chunk(tensor, flips)
            shown = shown if piece is None else shown[piece]
        if "buffered" in self._flags and "contig" in self._wishes[number]:
            shown = shown.contiguous()
        if number in self._written:
            region, dtype = memory.view(view, tensor), self._written[number]
            if shown is tensor and dtype is view._d:
                return region
            self._handed[number] = handed = Handed(region, shown, flips, piece, dtype)
            return handed.value
        tensor = shown
        if memory.shares_storage(tensor, view._t):
            value = memory.view(view, tensor)
        else:
            value = wrap.wrap_array(tensor)
        value._ro = _READ_ONLY
        return value

    def _element(self, view: Composition, number: int) -> Composition | None:
        """The current element of an operand as a view, where it is one without more ado."""
        is_written = number in self._written
        if calls is None or tracing() or (is_written and self._written[number] is not view._d):
            return None
        value: Composition | None = calls.few_view_at(view, self._index)
        if value is not None and not is_written:
            value._ro = _READ_ONLY
        return value

    @property
    def value(self) -> Any:
        """The current value, a tuple of them if there are several operands."""
        self._check()
        count = len(self._operands)
        return self._value(0) if count == 1 else tuple([self._value(number) for number in range(count)])

    def __getitem__(self, key: Any) -> Any:
        self._check()
        if isinstance(key, slice):
            return tuple(self._value(number) for number in range(*key.indices(self.nop)))
        number = operator.index(key)
        if not -self.nop <= number < self.nop:
            raise IndexError(f"Iterator operand index {number} is out of bounds")
        return self._value(number % self.nop)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check()
        if isinstance(key, slice):
            numbers = range(*key.indices(self.nop))
            if len(value) != len(numbers):
                raise ValueError("Wrong length to assign to iterator slice")
            for number, item in zip(numbers, value, strict=True):
                self[number] = item
            return
        number = operator.index(key)
        if not -self.nop <= number < self.nop:
            raise IndexError(f"Iterator operand index {number} is out of bounds")
        if number % self.nop not in self._written:
            raise RuntimeError(f"Iterator operand {key} is not writeable")
        self._value(number % self.nop)[...] = value

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def __len__(self) -> int:
        return self.nop

    # -- iterating -----------------------------------------------------------------------------------------------------

    def __iter__(self) -> nditer:
        return self

    def __next__(self) -> Any:
        if self._closed or self._done or (self._started and not self.iternext()):
            raise StopIteration
        value = self.value
        self._started = True
        return value

    def iternext(self, /) -> bool:
        """Go on to the next value; whether there is one."""
        if self._closed or self._done:
            return False
        if self._handed:
            self._put_back()
        self._index += self._chunk()[1] if "external_loop" in self._flags else 1
        self._done = self._index >= self._range[1]
        for other in self._inner:
            other._go(other._range[0])
        return not self._done

    def reset(self, /) -> None:
        """Start anew."""
        if self._closed:
            raise ValueError("Iterator is invalid")
        self._delayed = False
        self._go(self._range[0])

    def copy(self, /) -> nditer:
        """Another iterator at the same place."""
        made = object.__new__(nditer)
        made.__dict__.update(self.__dict__)
        made._flags, made._handed, made._temporary = set(self._flags), {}, []
        return made

    __copy__ = copy

    def close(self, /) -> None:
        """Say that the iterator is no longer needed: what it holds of operands that are written is put back."""
        self._put_back()
        temporary, self._temporary = self._temporary, []
        for array, copy in temporary:
            array[...] = copy
        self._closed = True

    def __del__(self) -> None:
        unwritten = vars(self).get("_temporary")
        if unwritten or vars(self).get("_handed"):
            self.close()
        if unwritten:
            warnings.warn(nditer_writing.UNWRITTEN, RuntimeWarning, stacklevel=2)

    def __enter__(self) -> nditer:
        if self._closed:
            raise RuntimeError("operation on non-initialized iterator")
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # -- what it is ----------------------------------------------------------------------------------------------------

    @property
    def operands(self) -> tuple[Composition, ...]:
        """The arrays, in the dtypes that are iterated over."""
        if self._closed:
            raise ValueError("Iterator is invalid")
        return tuple(self._own.get(number, array) for number, array in enumerate(self._operands))

    @property
    def dtypes(self) -> tuple[dtype_class, ...]:
        """The dtypes of the values."""
        return tuple(dtype_class(self._written.get(number, array._d)) for number, array in enumerate(self._operands))

    @property
    def itviews(self) -> tuple[Composition, ...]:
        """The operands as views with the axes in the order in which they are walked, joined ones as one."""
        if "buffered" in self._flags:
            raise ValueError("Cannot provide an iterator view when buffering is enabled")
        flips = [position for position, axis in enumerate(self._order) if axis in self._backwards]
        views = []
        for number, view in enumerate(self._views):
            if flips:  # which is a copy, as torch has no negative strides
                made = wrap.wrap_array(view._t.flip(flips).reshape(self._joined_lengths()))
            else:
                made = memory.view(view, view._t.reshape(self._joined_lengths()))
            if flips or number not in self._written:
                made._ro = _READ_ONLY
            views.append(made)
        return tuple(views)

    # -- changing it ---------------------------------------------------------------------------------------------------

    def enable_external_loop(self, /) -> None:
        """Go on with chunks instead of elements, from the start."""
        if self.has_index or self.has_multi_index:
            raise ValueError(EXTERNAL_LOOP)
        self._flags.add("external_loop")
        self._go(self._range[0])

    def remove_multi_index(self, /) -> None:
        """Track the multi-index no longer, and start anew; axes that memory joins are then walked as one."""
        self._flags.discard("multi_index")
        self._go(self._range[0])

    def remove_axis(self, i: int, /) -> None:
        """Walk no longer along an axis, of which the first element is taken; a multi-index must be tracked."""
        if not self.has_multi_index:
            raise RuntimeError("Iterator RemoveAxis may only be called if a multi-index is being tracked")
        if not 0 <= (i := operator.index(i)) < len(self._shape):
            raise ValueError("axis out of bounds in iterator RemoveAxis")
        position = self._order.index(i)
        self._views = [memory.view(view, view._t.select(position, 0)) for view in self._views]
        self._shape = self._shape[:i] + self._shape[i + 1 :]
        self._strides = [strides[:i] + strides[i + 1 :] for strides in self._strides]
        self._order = [axis - (axis > i) for axis in self._order if axis != i]
        self._backwards = {axis - (axis > i) for axis in self._backwards if axis != i}
        self._range = (0, self.itersize)
        self._go(0)
