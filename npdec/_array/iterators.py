"""Iterating over arrays element by element: `x.flat`, `np.ndenumerate`, `np.ndindex`, `np.broadcast`."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any

import torch

from npdec._array import memory, wrap
from npdec._array.arguments import as_value
from npdec._array.convert import as_elements, as_tensor
from npdec._array.element_memory import taken_by
from npdec._array.indexing import normalize_key
from npdec._core.base import ArrayBase, plain_of
from npdec._core.door import hand_over
from npdec._core.tracebacks import ended
from npdec._impl import _util
from npdec._native import calls
from npdec._torch.tracing import tracing
from npdec.exceptions import AbsentDTypeError

__all__ = ["flatiter", "iterable", "ndenumerate", "ndindex"]

_INVALID = "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"
_NO_INDEX = (
    "Invalid non-array indices for iterator objects are deprecated and will be removed in a future version. "
    "(Deprecated NumPy 2.4)"
)


class flatiter(ArrayBase):
    """The elements of an array in row-major order, as `x.flat` gives them: an iterator that can be indexed.

    An index gives a scalar or a copy; assigning to one writes into the array, and repeats the values as often as they
    are needed. Either starts the iteration anew, but for assigning by an array of integers: it goes on at the last of
    them. `base` is the array, `index` and `coords` say where the iteration is.

    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> x.flat[1:3]
    array([2., 3.])
    >>> x.flat[::3] = 0.0
    >>> [float(element) for element in x.flat]
    [0.0, 2.0, 3.0, 0.0]
    """

    __module__ = "npdec"
    __slots__ = ("_array", "_at", "_base")

    _array: Any
    _base: Any
    _at: int

    def __new__(cls) -> flatiter:
        raise TypeError("cannot create 'npdec.flatiter' instances: take x.flat")

    # -- what it is: a 1-d array-like, whose tensor is a view where it can be ------------------------------------------

    @property
    def _t(self) -> torch.Tensor:  # type: ignore[override]
        return self._array._t.reshape(-1)

    @property
    def _d(self) -> torch.dtype:  # type: ignore[override]
        return self._array._d

    @property
    def base(self) -> Any:
        """The array that is iterated over."""
        return self._base

    @property
    def index(self) -> int:
        """The row-major number of the next element."""
        return self._at

    @property
    def coords(self) -> tuple[int, ...]:
        """The coordinates of the next element."""
        return self._place(self._at)

    def copy(self, /) -> Any:
        """The elements as a new 1-d array."""
        return self._as_base(self._array.flatten())

    def __array__(self, /, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self._array.reshape(-1)
        result = array.__array__(dtype, copy)
        if getattr(array, "_ro", None) is not None or not memory.shares_storage(array._t, self._array._t):
            result.flags.writeable = False  # what is written would not arrive
        return result

    def __len__(self) -> int:
        return self._array.size

    # -- iterating -----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        scalar = None if calls is None or tracing() else calls.few_element_at(self._array, self._at)
        if scalar is None:
            if self._at >= self._array.size:
                raise StopIteration
            scalar = self._element(self._at)
        self._at += 1
        return scalar

    def _place(self, index: int) -> tuple[int, ...]:
        """The coordinates of an element of the array, given its row-major number."""
        shape, place = self._array.shape, []
        for length in reversed(shape[1:]):
            index, last = divmod(index, max(length, 1))
            place.append(last)
        return (index, *reversed(place)) if shape else ()

    def _element(self, index: int) -> Any:
        return self._array[self._place(index)]

    # -- indexing ------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        try:
            self._at = 0
            if type(key) is not int or not 0 <= key < self._array.size:
                key = self._key(key)
            if type(key) is int:
                return self._element(key)
            return self._as_base(self._array.reshape(-1)[key].copy())
        except Exception as error:
            raise ended(error)  # noqa: B904

    def _as_base(self, array: Any) -> Any:
        """An array of elements, in the class of the array that is iterated over."""
        own = self._base is self._array or type(array) is not wrap.ARRAY
        return array if own else self._base.__array_wrap__(array)

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            if getattr(self._array, "_ro", None) is not None:
                raise ValueError(f"underlying array is read-only: {self._array._ro}")
            self._at = 0
            if self._written_in_rows(key, value):
                return
            if isinstance(key, tuple) and (not key or (len(key) == 1 and key[0] is Ellipsis)):
                raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
            if type(key) is not int or not 0 <= key < self._array.size:
                key = self._key(key)
            value = plain_of(value)
            if isinstance(key, int):
                try:
                    if type(value) is float or type(value) in taken_by(self._array._d):  # a number on the host
                        self._array[self._place(key)] = value
                        return
                    source = as_value(value, self._array._d, self._array._t.device)
                except (OverflowError, TypeError, ValueError) as error:
                    raise ValueError("Error setting single item of array.") from error
                if source.dim() or (source.dtype.is_complex and not self._array._d.is_complex):
                    raise ValueError("Error setting single item of array.")
                self._array[self._place(key)] = wrap.wrap_scalar(source)
                return
            source = as_elements(value, self._array._d)
            if not source.numel():
                return
            positions, at = torch.arange(self._array.size), 0
            chosen = positions if key is Ellipsis else as_tensor(wrap.wrap_array(positions)[key])
            count = chosen.numel()
            if source.dim():  # the values are repeated as often as they are needed
                source = source.reshape(-1).repeat(-(-count // source.numel()))[:count]
            if key is Ellipsis:
                self._array[...] = wrap.wrap_array(source.expand(count).reshape(self._array.shape))
            elif count:
                if type(key) is wrap.ARRAY and key._d is not torch.bool:  # where NumPy leaves the iterator
                    at = int(chosen.reshape(-1)[-1])
                last = (
                    source if self._array.ndim or not source.dim() else source[-1]
                )  # of several values for one element
                self._array[self._coordinates(chosen.reshape(-1))] = wrap.wrap_array(last)
                self._at = at
        except Exception as error:
            raise ended(error)  # noqa: B904

    def _written_in_rows(self, key: Any, value: Any) -> bool:
        """Whether a slice or a list of ints is written, of elements that follow each other in memory."""
        if type(key) is list and key and all(type(item) is int for item in key):
            at = key[-1]
        elif type(key) is slice:
            at = 0
        else:
            return False
        if not self._array.ndim or not self._array.flags.c_contiguous:
            return False
        try:
            self._array.reshape(-1)[key] = value
        except (IndexError, TypeError, ValueError):  # values are repeated, or NumPy has other words for what is wrong
            return False
        self._at = at % self._array.size if self._array.size else 0
        return True

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def _coordinates(self, positions: torch.Tensor) -> Any:
        """The key of elements of the array, given their row-major numbers; one element's is a tuple of ints."""
        coordinates = torch.unravel_index(positions, self._array.shape) if self._array.ndim else ()
        if not positions.dim():
            return tuple(map(int, coordinates))
        return tuple(map(wrap.wrap_array, coordinates)) if coordinates else ...

    def _key(self, key: Any) -> Any:
        """The key as an int that is in range, a slice, `...`, or an array of integers or booleans."""
        if isinstance(key, tuple):
            if len(key) > 1:
                raise _too_many(len(key))
            key = key[0] if key else ...
        if isinstance(key, bool):
            _util.warn(
                "Indexing flat iterators with a 0-dimensional boolean index is deprecated and may be removed in a "
                "future version. (Deprecated NumPy 2.4)",
                DeprecationWarning,
            )
            return 0 if key else slice(0, 0)
        if isinstance(key, float) or (isinstance(key, ArrayBase) and not key._t.dim() and key._d.is_floating_point):
            _util.warn(_NO_INDEX, DeprecationWarning)
            key = int(key)  # type: ignore[arg-type]
        if key is None or isinstance(key, (str, bytes)):
            raise IndexError(_INVALID)
        if isinstance(key, list) and (numbers := as_tensor(key)).is_floating_point() and numbers.numel():
            _util.warn(_NO_INDEX, DeprecationWarning)
            key = wrap.wrap_array(numbers.to(torch.int64))
        (item,) = normalize_key(key)
        if isinstance(item, torch.Tensor):
            if item.dtype is torch.bool:
                if isinstance(key, list):
                    raise IndexError(
                        "boolean indices for iterators are not supported because of previous behavior that was "
                        "confusing (valid boolean indices are expected to work in the future)"
                    )
                if item.dim() > 1:
                    raise _too_many(item.dim())
                if item.dim() and len(item) != self._array.size:
                    raise IndexError(
                        "boolean index did not match indexed flat iterator along axis 0; size of axis is "
                        f"{self._array.size} but size of corresponding boolean axis is {len(item)}"
                    )
            return wrap.wrap_array(item)
        if not isinstance(item, int):
            return item
        size = self._array.size
        if not -size <= item < size:
            raise IndexError(f"index {item} is out of bounds for size {size}")
        return item % size

    # -- comparing: as the array of its elements -----------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        return self.copy() == other

    def __ne__(self, other: object) -> Any:
        return self.copy() != other

    def __lt__(self, other: Any) -> Any:
        return self.copy() < other

    def __le__(self, other: Any) -> Any:
        return self.copy() <= other

    def __gt__(self, other: Any) -> Any:
        return self.copy() > other

    def __ge__(self, other: Any) -> Any:
        return self.copy() >= other

    __hash__ = None  # type: ignore[assignment]


def _too_many(count: int) -> IndexError:
    return IndexError(f"too many indices for flat iterator: flat iterator is 1-dimensional, but {count} were indexed")


def flat(array: Any, base: Any = None) -> flatiter:
    """The iterator `array.flat`; of an array broadcast to another shape, `base` is what it says to iterate over."""
    made = object.__new__(flatiter)
    if type(array) is not wrap.ARRAY:  # a scalar, which nothing writes to
        array = wrap.wrap_array(as_tensor(array).clone())
    made._array, made._at = array_of(array), 0
    made._base = made._array if base is None else base
    return made


class ndenumerate:
    """An iterator over pairs (coordinates, element) of an array, in row-major order. Elements are scalars.

    >>> [(place, float(element)) for place, element in np.ndenumerate([[1.0], [2.0]])]
    [((0, 0), 1.0), ((1, 0), 2.0)]
    """

    __module__ = "npdec"

    iter: Any
    _places: Iterator[tuple[int, ...]]
    _next: int

    def __new__(cls, arr: Any) -> Any:
        self = object.__new__(cls)
        try:
            self.iter = flat(arr)
            self._places, self._next = _coordinates(self.iter._array.shape), 0
        except AbsentDTypeError as error:
            absent = error
        else:
            return self
        return hand_over("ndenumerate", (arr,), {}, absent)

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        at = self.iter._at
        if at != self._next:  # somebody has gone on with it
            return self.iter.coords, next(self.iter)
        element = next(self.iter)
        self._next += 1
        return next(self._places), element

    def __iter__(self) -> ndenumerate:
        return self


class ndindex:
    """An iterator over the coordinates of all elements of an array of a shape, in row-major order.

    `ndindex(3, 2)` or `ndindex((3, 2))`. Raises ValueError for a negative length, TypeError for what is no integer.

    >>> list(np.ndindex(2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """

    __module__ = "npdec"

    def __init__(self, *shape: Any) -> None:
        if len(shape) == 1 and isinstance(shape[0], tuple):
            (shape,) = shape
        lengths = tuple(map(operator.index, shape))
        if any(length < 0 for length in lengths):
            raise ValueError("negative dimensions are not allowed")
        self._iter = _coordinates(lengths)

    def __iter__(self) -> ndindex:
        return self

    def __next__(self) -> tuple[int, ...]:
        return next(self._iter)


def _coordinates(lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, lengths))


def array_of(obj: Any) -> Any:
    return obj if type(obj) is wrap.ARRAY else wrap.wrap_array(as_tensor(plain_of(obj)))


def expanded(array: Any, shape: tuple[int, ...]) -> Any:
    if array.shape == shape:
        return array
    return wrap.NAMESPACE.value.broadcast_to(array, shape)


def iterable(y: Any) -> bool:
    """Whether an object can be iterated over; a 0-d array cannot.

    >>> np.iterable([1, 2]), np.iterable(2)
    (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True
