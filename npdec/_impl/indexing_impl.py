"""Indexing routines (NumPy: "Indexing routines": indexing-like operations, and selection along axes)."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Affine, Array, ArrayLike, DTypeLike, Frozen, Opaque, OutArray, out_casting, public
from npdec._impl import _host, _storage, _util, reduction_impl
from npdec._impl._reduce import SUMMED
from npdec._impl.getitem_impl import check_bounds, shape_text, wrap_negative
from npdec._impl.setitem_impl import broadcast_input

_MODES = ("clip", "wrap", "raise")  # by their numbers


def as_integers(index: torch.Tensor, casting: str) -> torch.Tensor:
    """An index in int64; booleans count as 0 and 1. Raises TypeError for floats, but not for an empty list, which is an
    array of float64 here."""
    if index.dtype.is_floating_point or index.dtype.is_complex:
        if index.numel() or index.dtype is not torch.float64:
            name = str(index.dtype).removeprefix("torch.")
            raise TypeError(
                f"Cannot cast array data from dtype('{name}') to dtype('int64') according to the rule '{casting}'"
            )
        return torch.zeros_like(index, dtype=torch.int64)
    return _util.to_int64(index)


def read_mode(mode: Any) -> str:
    """The mode for indices out of range that a word, a number from 0 to 2 or None ("raise") names. Raises ValueError
    for another word or number, TypeError for anything else."""
    if type(mode) is str and mode in _MODES:
        return mode
    if mode is None:
        return "raise"
    if isinstance(mode, str):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if isinstance(mode, bool) or not hasattr(mode, "__index__"):
        raise TypeError(f"clipmode not understood: it is 'clip', 'raise' or 'wrap', not {mode!r}")
    number = operator.index(mode)
    if not 0 <= number < len(_MODES):
        raise ValueError(f"integer clipmode must be 0 ('clip'), 1 ('wrap') or 2 ('raise'), not {mode!r}")
    return _MODES[number]


def apply_mode(index: torch.Tensor, size: int, axis: int, mode: str) -> torch.Tensor:
    """Indices from 0 to size - 1: an index out of range raises, wraps around, or is clipped to the range."""
    if mode == "wrap":
        return torch.remainder(index, size)
    if mode == "clip":
        return index.clamp(0, size - 1)
    check_bounds(index, size, axis)
    return wrap_negative(index, size)


def _taken(a: torch.Tensor, index: torch.Tensor) -> torch.Tensor | None:
    if a.dim() != 1 or index.dim() != 1 or index.dtype is not torch.int64 or not a.is_cpu:
        return None
    return torch.index_select(a, 0, index)


@public(method=True, direct=Direct(_taken, linear=True))
@out_casting("back")
def take(
    a: Affine[ArrayLike], indices: Opaque, axis: int | None = None, out: OutArray | None = None, mode: str = "raise"
):
    """The elements (or slices along an axis) at the given indices, in an array of the indices' shape.

    Without an axis the elements are counted in row-major order. `mode` says what an index out of range does: "raise"
    an IndexError, "wrap" around, or be "clip"ped to the range, without negative indices.

    >>> np.take([10, 20, 30], [[0, 2]])
    array([[10, 30]])
    """
    if axis is None or (not a.ndim and axis in (0, -1)):
        a, axis = a if a.ndim == 1 else a.reshape(-1), 0
    axis = _util.normalize_axis(axis, a.ndim)
    if mode == "raise" and indices.dtype is torch.int64 and indices.dim() == 1 and _util.are_numbers(a, indices):
        try:
            return _storage.moved(torch.index_select, a, axis, indices)
        except (IndexError, RuntimeError):  # an index from the back, or out of bounds
            pass
    index = as_integers(indices, "same_kind")
    size = a.shape[axis]
    mode = read_mode(mode)
    if 0 in a.shape[:axis]:  # nothing is looked at
        return a.new_empty((*a.shape[:axis], *index.shape, *a.shape[axis + 1 :]))
    if not size and index.numel():
        raise IndexError("cannot do a non-empty take from an empty axes.")
    index = apply_mode(index, size, axis, mode) if index.numel() else index
    taken = _storage.moved(torch.index_select, a, axis, index.reshape(-1))
    return taken if index.ndim == 1 else taken.reshape((*a.shape[:axis], *index.shape, *a.shape[axis + 1 :]))


def along_index(arr: torch.Tensor, indices: torch.Tensor, axis: int | None) -> tuple[torch.Tensor, int]:
    """Indices along an axis in int64, and the axis counted from the front. Raises IndexError, ValueError."""
    if axis is not None:
        axis = _util.normalize_axis(axis, arr.ndim)
    elif indices.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype is torch.bool:
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        return _util.to_int64(indices), 0
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return _util.to_int64(indices), axis


def along_shape(shape: tuple[int, ...], indices: torch.Tensor, axis: int) -> tuple[int, ...]:
    """The shape of what indices along an axis select: the other axes broadcast. Raises IndexError."""
    result = []
    for i, (n, m) in enumerate(zip(shape, indices.shape)):
        if i != axis and n != m and 1 not in (n, m):
            one = (1,) * len(shape)
            shapes = [(*one[:j], n, *one[j + 1 :]) for j, n in enumerate(shape)]
            shapes[axis] = tuple(indices.shape)
            raise IndexError(
                "shape mismatch: indexing arrays could not be broadcast together with shapes "
                + "".join(f"{shape_text(s)} " for s in shapes)
            )
        result.append(m if i == axis or n == 1 else n)
    return tuple(result)


def is_alike(arr: torch.Tensor, indices: torch.Tensor, axis: int) -> bool:
    """Whether the shapes are equal but for an axis."""
    ours, theirs = tuple(arr.shape), tuple(indices.shape)
    return ours[:axis] == theirs[:axis] and ours[axis + 1 :] == theirs[axis + 1 :]


def _gathered(arr: torch.Tensor, index: torch.Tensor, axis: int = -1) -> torch.Tensor | None:
    if index.dtype is not torch.int64 or not arr.is_cpu:
        return None
    ours, theirs = tuple(arr.shape), tuple(index.shape)
    rank = len(ours)
    if len(theirs) != rank or not -rank <= axis < rank:
        return None
    axis %= rank
    alike = ours[:axis] == theirs[:axis] and ours[axis + 1 :] == theirs[axis + 1 :]
    return torch.gather(arr, axis, index) if alike else None


@public(direct=Direct(_gathered, given=("axis",)))
def take_along_axis(arr: Affine[ArrayLike], indices: Opaque, axis: int | None = -1) -> Array:
    """From every vector along an axis the elements at its own indices, as `np.argsort` and `np.argmax` give them.

    `indices` has the dimensions of `arr` and broadcasts against it along the other axes; without an axis both are
    one-dimensional. Raises IndexError for an index out of range, ValueError for other dimensions.

    >>> np.take_along_axis([[10, 30, 20]], [[0, 2, 1]], axis=1)
    array([[10, 20, 30]])
    """
    index, axis_index = along_index(arr, indices, axis)
    arr = arr.reshape(-1) if axis is None else arr
    if is_alike(arr, index, axis_index) and _util.are_numbers(arr, index):
        try:
            return _storage.moved(torch.gather, arr, axis_index, index)
        except RuntimeError:  # an index from the back, or out of bounds
            pass
    size = arr.shape[axis_index]
    shape = along_shape(tuple(arr.shape), index, axis_index)
    if not math.prod(shape):
        return torch.empty(shape, dtype=arr.dtype, device=arr.device)
    index = apply_mode(index, size, axis_index, "raise").expand(shape)
    arr = arr.expand(*shape[:axis_index], size, *shape[axis_index + 1 :])
    return _storage.moved(torch.gather, arr, axis_index, index)


@public
@out_casting("back")
def compress(condition: Opaque, a: Affine[ArrayLike], axis: int | None = None, out: OutArray | None = None) -> Array:
    """The elements (or slices along an axis) where a vector of conditions holds; missing conditions are false.

    Without an axis the elements are counted in row-major order. Raises ValueError unless the condition has one axis,
    IndexError if it holds beyond the end.

    >>> np.compress([True, False, True], [[1, 2, 3]], axis=1)
    array([[1, 3]])
    """
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    mask = condition if condition.dtype is torch.bool else condition != 0
    return take(a, mask.nonzero().reshape(-1), axis)


@public(method=True, direct=Direct(torch.diagonal))
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Frozen:
    """A view of the diagonals in the planes of two axes, along a new last axis.

    `offset` says which one: above the main diagonal for a positive number, below it for a negative one.
    Raises ValueError for fewer than two axes or the same axis twice, AxisError for one out of range.

    >>> np.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    if (offset, axis1, axis2) == (0, 0, 1):
        return torch.diagonal(a)
    axis1 = _util.normalize_axis(axis1, a.ndim, "axis1")
    axis2 = _util.normalize_axis(axis2, a.ndim, "axis2")
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = max(-a.shape[axis1], min(offset, a.shape[axis2]))
    return torch.diagonal(a, offset, axis1, axis2)


def _traced(a: torch.Tensor) -> torch.Tensor | None:
    shape = a.shape
    if len(shape) != 2:
        return None
    n, m = shape
    if (n < _IN_A_ROW or m < _IN_A_ROW) and a.dtype is torch.float64:
        return a.trace()
    return torch.sum(torch.diagonal(a), -1)


def _traced_few(a: torch.Tensor) -> float | None:
    """The same number, of few elements: Python adds them as torch.trace does."""
    if not 0 < a.numel() <= _FEW or a.dtype is not torch.float64 or a.dim() != 2:
        return None
    total, place = 0.0, 0
    for row in a.tolist():
        if place == len(row):
            break
        total += row[place]
        place += 1  # noqa: SIM113  (sooner than enumerate)
    return total


_FEW = 32  # elements that Python goes through sooner
_IN_A_ROW = 8  # fewer elements NumPy adds one after the other, as torch.trace does
TRACE = Direct(_traced, SUMMED, total=True, linear=True, few=_traced_few)


@public(method=True, errors="reduce", direct=TRACE)
@out_casting("unsafe")
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
):
    """The sum over the diagonals in the planes of two axes; see `np.diagonal` for the arguments.

    Integers are summed in int64 or uint64 unless a dtype is given.

    >>> np.trace([[1, 2], [3, 4]])
    np.int64(5)
    """
    if not offset and (axis1, axis2) == (0, 1) and dtype is None and a.dtype in SUMMED:
        traced = _traced(a)
        if traced is not None:
            return traced
    return reduction_impl.sum(diagonal(a, offset, axis1, axis2), -1, dtype)


@public
def apply_over_axes(func: Any, a: ArrayLike, axes: Opaque) -> Array:
    """`func(a, axis)` applied over one axis after the other, each time to the result of the time before.

    A result with one axis fewer gets it back with length one. Raises ValueError for any other number of axes.

    >>> np.apply_over_axes(np.sum, [[1, 2], [3, 4]], [0, 1])
    array([[10]])
    """
    ndim = a.ndim
    # As in NumPy the function itself finds out whether there is such an axis: a number has its first and its last.
    for axis in _util.integers(axes.reshape(-1)):
        axis = axis + ndim if axis < 0 else axis
        result = _host.as_tensor(func(_host.as_array(a), axis))
        if result.ndim == a.ndim - 1:
            result = result.unsqueeze(_util.normalize_axis(axis, a.ndim))
        if result.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = result
    return a


@public
def apply_along_axis(func1d: Any, axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Array:
    """`func1d(vector, *args, **kwargs)` for every vector along an axis; its results take the place of the axis.

    All results have the shape of the first, and are cast to its dtype. The function is called in a Python loop: where
    it can be told its axis, that is faster by far. Raises ValueError if there is no vector.

    >>> np.apply_along_axis(np.sort, 1, [[3, 1], [2, 4]])
    array([[1, 3],
           [2, 4]])
    """
    axis = _util.normalize_axis(axis, arr.ndim)
    lines = torch.movedim(arr, axis, -1)
    results: list[torch.Tensor] = []
    for place in itertools.product(*map(range, lines.shape[:-1])):
        result = _host.as_tensor(func1d(_host.as_array(lines[place]), *args, **kwargs))
        if results:
            result = broadcast_input(_util.cast(result, results[0].dtype), tuple(results[0].shape))
            result = result.expand(results[0].shape)
        results.append(result)
    if not results:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    each = tuple(results[0].shape)
    stacked = torch.stack(results).reshape(tuple(lines.shape[:-1]) + each)
    new = tuple(range(arr.ndim - 1, arr.ndim - 1 + len(each)))
    return torch.movedim(stacked, new, tuple(axis + i for i in range(len(each)))) if each else stacked
