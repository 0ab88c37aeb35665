"""Sorting, searching and counting (NumPy's reference: sorting, searching, and counting).

All orders are stable, and ascending with nan last unless asked otherwise. Values are taken by their order at the value
of the array.
"""

from __future__ import annotations

import bisect
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, Opaque, public
from npdec._impl import _order, _util
from npdec._impl._by_numpy import by_numpy_together, places
from npdec._impl._reduce import ORDERED, SUMMED
from npdec._impl.dtypes_impl import kind as dtype_kind

_COMPLEX64 = frozenset({torch.int8, torch.uint8, torch.int16, torch.uint16, torch.complex64})
_KINDS = ("q", "h", "m", "s")  # quick, heap, merge, stable: NumPy reads the first letter alone


def _check_kind(kind: str | bytes | None, order: object, stable: object = None) -> None:
    """Every kind names an algorithm whose result a stable sort gives too; what is no kind raises ValueError."""
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is not None:
        if stable is not None:
            raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
        if not isinstance(kind, (str, bytes)):
            raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
        text = kind if isinstance(kind, str) else kind.decode("latin-1")
        if not text.lower().startswith(_KINDS):
            raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")


# --- sorting ----------------------------------------------------------------------------------------------------------


@public
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: object = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
):
    """A sorted copy along an axis; without an axis, of all elements in a row, 1-d.

    Complex numbers are ordered by the real part, then the imaginary part; nan comes last. The sort is stable whatever
    `kind` and `stable` ask for. `descending` is the array API standard's: the largest first, and nan before it. Raises
    AxisError for an axis out of range, ValueError for an unknown kind.

    >>> np.sort(np.array([[3, 1], [2, 5]]), axis=0)
    array([[2, 1],
           [3, 5]])
    """
    _check_kind(kind, order, stable)
    if axis is None:
        return _order.sort(a.reshape(-1), 0, descending)
    return _order.sort(a, _util.normalize_axis(axis, a.ndim), descending)


@public(method=True)
def argsort(
    a: Opaque,
    axis: int | None = -1,
    kind: str | None = None,
    order: object = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
):
    """The indices that sort along an axis, in int64; without an axis, those that sort all elements in a row.

    The order is that of `sort`, and stable: in descending order too, equal elements stay in the order they had.

    >>> np.argsort(np.array([30, 10, 20]))
    array([1, 2, 0])
    """
    _check_kind(kind, order, stable)
    if axis is None or not a.ndim:
        a, axis = a.reshape(-1), axis or 0
    return _order.argsort(a, _util.normalize_axis(axis, a.ndim), descending)


@public
def sort_complex(a: ArrayLike):
    """A copy sorted along the last axis, in complex numbers: complex64 for integers of 8 and 16 bits, else complex128.

    >>> np.sort_complex(np.array([5, 3, 6]))
    array([3.+0.j, 5.+0.j, 6.+0.j])
    """
    return sort(a.to(torch.complex64 if a.dtype in _COMPLEX64 else torch.complex128))


@public
def lexsort(keys: Sequence[Opaque], axis: int = -1):
    """The indices that sort by several keys of one shape, the last of which weighs most.

    The rows of an array are its keys. Raises TypeError without a key, ValueError for keys of different shapes.

    >>> surnames, names = np.array([2, 1, 2]), np.array([1, 9, 0])
    >>> np.lexsort((names, surnames))
    array([1, 2, 0])
    """
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(key.shape != keys[0].shape for key in keys):
        raise ValueError("all keys need to be the same shape")
    if not keys[0].ndim and axis in (0, -1):
        return torch.zeros((), dtype=torch.int64, device=keys[0].device)
    axis = _util.normalize_axis(axis, keys[0].ndim)
    order = by_numpy_together("lexsort", keys, axis=axis)
    if order is not None:
        return order
    parts: list[torch.Tensor] = []
    for key in keys:
        parts += _order.complex_keys(key) if key.dtype.is_complex else [_util.to_ordered(key)]
    return _order.argsort_keys(parts, axis)


def _check_kth(kth: torch.Tensor, a: torch.Tensor, axis: int, kind: str, order: object) -> None:
    if not isinstance(kind, (str, bytes)):
        raise TypeError(f"select kind must be str, not {type(kind).__name__}")
    if kind not in ("introselect", b"introselect"):
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    _check_kind(None, order)
    if kth.dtype is torch.bool:
        raise ValueError("Booleans unacceptable as partition index")
    if dtype_kind(kth.dtype) not in "ui":
        raise TypeError("Partition index must be integer")
    if kth.ndim > 1:
        raise ValueError("the partition indices must be an integer or 1-d")
    size = a.shape[axis]
    for k in _util.integers(kth.reshape(-1)) if a.numel() else ():
        if not -size <= k < size:
            raise ValueError(f"kth(={k if k >= 0 else k + size}) out of bounds ({size})")


def _partitioned(sort: Callable[[torch.Tensor, int], torch.Tensor]) -> Direct:
    def partitioned(a: torch.Tensor, kth: Any) -> torch.Tensor | None:
        if type(kth) is not int or not a.dim() or not -a.shape[-1] <= kth < a.shape[-1]:
            return None
        return sort(a, a.dim() - 1)

    return Direct(partitioned, ORDERED, ("kth",))


@public(direct=_partitioned(_order.sort))
def partition(a: ArrayLike, kth: Opaque, axis: int | None = -1, kind: str = "introselect", order: object = None):
    """A copy in which the element `kth` along an axis is where sorting puts it, with none greater before it and none
    less after it; `kth` may be several indices. Without an axis, all elements in a row.

    The copy is sorted completely, which is a partition for every `kth`. Raises ValueError for an index out of bounds.

    >>> np.partition(np.array([7, 1, 5, 3]), 1)[1]
    np.int64(3)
    """
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = _util.normalize_axis(axis, a.ndim)
    _check_kth(kth, a, axis, kind, order)
    return _order.sort(a, axis)


@public(method=True, direct=_partitioned(_order.argsort))
def argpartition(a: Opaque, kth: Opaque, axis: int | None = -1, kind: str = "introselect", order: object = None):
    """The indices that partition along an axis as `partition` does, in int64.

    >>> np.argpartition(np.array([7, 1, 5, 3]), 1)[1]
    np.int64(3)
    """
    if axis is None or not a.ndim:
        a, axis = a.reshape(-1), axis or 0
    axis = _util.normalize_axis(axis, a.ndim)
    _check_kth(kth, a, axis, kind, order)
    return _order.argsort(a, axis)


# --- searching --------------------------------------------------------------------------------------------------------


_FEW_ON_HOST = 16  # elements that Python goes through sooner


def _place(a: torch.Tensor, v: Any) -> torch.Tensor | int | None:
    if type(v) is float and not math.isnan(v) and a.dim() == 1 and a.shape[0] <= _FEW_ON_HOST and _util.are_numbers(a):
        return bisect.bisect_left(a.tolist(), v)  # nan is after all others, as it is less than none
    if type(v) is not float or a.dim() != 1 or not a.is_contiguous() or math.isnan(a.select(0, -1).item()):
        return None
    return torch.searchsorted(a, v)


@public(method=True, direct=Direct(_place, frozenset({torch.float64}), ("v",), total=True))
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: Opaque | None = None):
    """Where the values `v` belong in the sorted 1-d array `a`: the index before which to insert each, in int64.

    Among equals `side` "left" gives the first such index, "right" the last. `sorter` holds the indices that sort `a`.
    Raises ValueError for an unknown side or an `a` that is not 1-d, TypeError for a `sorter` that is not of integers.

    >>> np.searchsorted(np.array([1, 3, 5]), np.array([0, 3, 9]))
    array([0, 1, 3])
    """
    if not isinstance(side, str):
        raise TypeError(f"search side must be str, not {type(side).__name__}")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if a.ndim != 1:
        raise ValueError(f"searchsorted: the array to search must be 1-d, not of shape {tuple(a.shape)}")
    if sorter is not None:
        if dtype_kind(sorter.dtype) not in "ui":
            raise TypeError("sorter must only contain integers")
        if tuple(sorter.shape) != tuple(a.shape):
            raise ValueError("sorter.size must equal a.size")
        order = _util.to_int64(sorter)
        if _util.is_known_true(torch.any((order < 0) | (order >= a.numel()))):
            raise ValueError("Sorter index out of range.")
        a = _order.pick(a, order, 0)
    return _order.search(a, v, side == "right")


@public(method=True, direct=Direct(lambda a: places(as_truth(a)) if a.dim() else None, SUMMED))
def nonzero(a: ArrayLike):
    """The indices of the elements that are not zero: for each axis a 1-d array of int64, in the order of the array.

    Raises ValueError for a 0-d array.

    >>> np.nonzero(np.array([[3, 0], [0, 5]]))
    (array([0, 1]), array([0, 1]))
    """
    if not a.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return places(as_truth(a))


def as_truth(a: torch.Tensor) -> torch.Tensor:
    """What `torch.nonzero` takes: of plain numbers the numbers themselves, where it knows them and no other thread can
    change them.

    torch counts first and writes the indices then, past the end of the result where there are more by then:
    https://github.com/pytorch/pytorch/blob/v2.13.0/aten/src/ATen/native/TensorAdvancedIndexing.cpp
    """
    known = a.dtype is torch.bool or (a.dtype in SUMMED and type(a) is torch.Tensor)
    if known and (torch.compiler.is_compiling() or threading.active_count() == 1):
        return a
    return a.clone() if a.dtype is torch.bool else a != 0


@public
def flatnonzero(a: ArrayLike):
    """The indices of the elements that are not zero, in the array read row by row.

    >>> np.flatnonzero(np.array([[3, 0], [0, 5]]))
    array([0, 3])
    """
    return places(as_truth(a).reshape(-1))[0]


@public
def argwhere(a: ArrayLike):
    """The indices of the elements that are not zero, one row for each element.

    >>> np.argwhere(np.array([[3, 0], [0, 5]]))
    array([[0, 0],
           [1, 1]])
    """
    truth = as_truth(a)
    return places(truth)[0].unsqueeze(1) if a.ndim == 1 else torch.nonzero(truth)
