"""Rearranging elements (NumPy: "Array manipulation routines": tiling, adding and removing, rearranging).

Elements are moved, never computed with, so all of it is linear. Where NumPy views memory backwards (flip, rot90) the
result is a copy: torch has no negative strides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Affine, Array, ArrayLike, ArrayLikeOrScalar, AxisLike, Mirror, ShapeLike, public
from npdec._impl import _host, _storage, _util, dtypes_impl, joining_impl, shape_impl
from npdec._impl._reduce import SUMMED
from npdec._impl.creation_impl import check_shape
from npdec._impl.getitem_impl import check_bounds, shape_text, wrap_negative
from npdec._impl.setitem_impl import broadcast_input, fit_indexed

_FEW = 16  # copies that are joined

# --- tiling -----------------------------------------------------------------------------------------------------------


@public
def tile(A: Affine[ArrayLike], reps: ShapeLike) -> Array:
    """The array repeated as a whole, `reps[i]` times along axis i; missing axes and missing repeats count as one.

    Raises ValueError for a negative number.

    >>> np.tile([1, 2], (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    check_shape(reps)
    if A.ndim == len(reps) == 1 and 0 < reps[0] <= _FEW:
        return torch.cat([A] * reps[0])  # sooner than torch's own function
    missing = A.ndim - len(reps)
    return A.repeat((1,) * missing + reps)


def _repeated(a: torch.Tensor, repeats: Any, axis: int | None = None) -> torch.Tensor | None:
    if type(repeats) is not int or repeats < 0 or not a.dim():
        return None
    if axis is None:
        return torch.repeat_interleave(a if a.dim() == 1 else a.reshape(-1), repeats, 0)
    return torch.repeat_interleave(a, repeats, axis)


@public(method=True, direct=Direct(_repeated, SUMMED, ("repeats", "axis"), linear=True))
def repeat(a: Affine[ArrayLike], repeats: ArrayLikeOrScalar, axis: int | None = None) -> Array:
    """Each element (or slice along an axis) repeated in place: all as often, or each as an array of numbers says.

    Without an axis the elements are taken in one axis. Raises ValueError for negative numbers or an array of another
    length, TypeError for an array of numbers that are no integers.

    >>> np.repeat([1, 2], [3, 1])
    array([1, 1, 1, 2])
    """
    if axis is None or (not a.ndim and axis in (0, -1)):
        a, axis = a.reshape(-1), 0
    axis = _util.normalize_axis(axis, a.ndim)
    if isinstance(repeats, torch.Tensor):
        return _repeat_each(a, repeats, axis)
    return _repeat_all(a, int(repeats), axis)


def _repeat_all(a: torch.Tensor, repeats: int, axis: int) -> torch.Tensor:
    if repeats < 0:
        raise ValueError("negative dimensions are not allowed")
    return _storage.moved(torch.repeat_interleave, a, repeats, axis)


def _repeat_each(a: torch.Tensor, repeats: torch.Tensor, axis: int) -> torch.Tensor:
    if repeats.dtype.is_floating_point or repeats.dtype.is_complex or repeats.dtype is torch.uint64:
        name = str(repeats.dtype).removeprefix("torch.")
        raise TypeError(f"Cannot cast array data from dtype('{name}') to dtype('int64') according to the rule 'safe'")
    if repeats.ndim > 1:
        raise ValueError("object too deep for desired array")
    if repeats.numel() == 1:
        return _repeat_all(a, int(repeats), axis)
    if repeats.shape[0] != a.shape[axis]:
        raise ValueError(
            f"operands could not be broadcast together with shape ({a.shape[axis]},) {shape_text(repeats.shape)}"
        )
    repeats = repeats.to(torch.int64)
    if _util.is_known_true((repeats < 0).any()):
        raise ValueError("repeats may not contain negative values.")
    return _storage.moved(torch.repeat_interleave, a, repeats, axis)


@public
def resize(a: Affine[ArrayLike], new_shape: ShapeLike) -> Array:
    """An array of the new shape with the elements in row-major order, repeated from the start as often as needed.

    An array without elements gives zeros. Raises ValueError for a negative size. (The array method `resize` differs.)

    >>> np.resize([1, 2, 3], (2, 2))
    array([[1, 2],
           [3, 1]])
    """
    if any(n < 0 for n in new_shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    count = math.prod(new_shape)
    if not a.numel() or not count:
        return torch.zeros(new_shape, dtype=a.dtype, device=a.device)
    flat = a.reshape(-1).repeat(-(-count // a.numel()))
    return flat[:count].reshape(new_shape)


# --- rearranging ------------------------------------------------------------------------------------------------------


def _flipped(m: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    return _storage.moved(torch.flip, m, axes)


_AXES = [tuple(range(ndim)) for ndim in range(65)]


def _reversed(m: torch.Tensor) -> torch.Tensor | None:
    return torch.flip(m, _AXES[m.dim()]) if m.dim() else None


def _rows_reversed(m: torch.Tensor) -> torch.Tensor | None:
    return m.flip(0) if m.dim() else None


def _columns_reversed(m: torch.Tensor) -> torch.Tensor | None:
    return m.flip(1) if m.dim() > 1 else None


@public(direct=Direct(_reversed, SUMMED))
def flip(m: ArrayLike, axis: AxisLike | None = None) -> Mirror:
    """The elements in reverse order along the given axes, or along all. A copy, where NumPy gives a view.

    Raises AxisError for an axis out of range, ValueError for a repeated one.

    >>> np.flip([[1, 2], [3, 4]], 1)
    array([[2, 1],
           [4, 3]])
    """
    return _flipped(m, _util.normalize_axes(axis, m.ndim))


@public(direct=Direct(_columns_reversed, SUMMED))
def fliplr(m: ArrayLike) -> Mirror:
    """The columns in reverse order: flipped along axis 1. A copy, where NumPy gives a view.

    Raises ValueError for fewer than two axes.

    >>> np.fliplr([[1, 2], [3, 4]])
    array([[2, 1],
           [4, 3]])
    """
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return _flipped(m, (1,))


@public(direct=Direct(_rows_reversed, SUMMED))
def flipud(m: ArrayLike) -> Mirror:
    """The rows in reverse order: flipped along axis 0. A copy, where NumPy gives a view.

    Raises ValueError for a 0-d array.

    >>> np.flipud([[1, 2], [3, 4]])
    array([[3, 4],
           [1, 2]])
    """
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return _flipped(m, (0,))


def _turned(m: torch.Tensor) -> torch.Tensor | None:
    if m.dim() < 2:
        return None
    return torch.rot90(m) if m.is_contiguous() else m.transpose(0, 1).flip(0)  # which lies otherwise in memory


@public(direct=Direct(_turned, SUMMED))
def rot90(m: ArrayLike, k: int = 1, axes: AxisLike = (0, 1)) -> Mirror:
    """The array turned by 90 degrees k times, from the first of two axes towards the second.

    A copy, where NumPy gives a view. Raises ValueError unless `axes` are two different axes of the array.

    >>> np.rot90([[1, 2], [3, 4]])
    array([[2, 4],
           [1, 3]])
    """
    if not isinstance(axes, tuple):
        raise TypeError(f"rot90 turns from one axis to another: axes must be two, not {axes!r}")
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if not all(-m.ndim <= axis < m.ndim for axis in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    first, second = (axis % m.ndim for axis in axes)
    k %= 4
    if k == 0:
        return m.clone()
    if k == 2:
        return _flipped(m, (first, second))
    turned = torch.transpose(m, first, second)
    return _flipped(turned, (first,) if k == 1 else (second,))


def _rolled(a: torch.Tensor, shift: Any) -> torch.Tensor | None:
    n = a.numel()
    if type(shift) is not int or not n or not a.is_contiguous():
        return None
    return torch.roll(a, shift % n) if a.dim() == 1 else torch.roll(a.reshape(-1), shift % n).reshape(a.shape)


@public(direct=Direct(_rolled, SUMMED, linear=True))
def roll(a: Affine[ArrayLike], shift: ShapeLike, axis: AxisLike | None = None) -> Array:
    """The elements moved along axes, those that leave at the end coming back at the start.

    `shift` and `axis` are one number each or sequences of them, broadcast against each other; shifts along one axis
    add up. Without an axis the elements are counted in row-major order. Raises AxisError for an axis out of range.

    >>> np.roll([1, 2, 3, 4], 1)
    array([4, 1, 2, 3])
    """
    if axis is None:
        return _storage.moved(torch.roll, a.reshape(-1), sum(shift) % max(a.numel(), 1)).reshape(a.shape)
    axes, shifts = _util.normalize_axes(axis, a.ndim, allow_duplicate=True), dict[int, int]()
    count = shape_impl.common_shape([(len(shift),), (len(axes),)])[0]
    for one, at in zip(shift if len(shift) == count else shift * count, axes if len(axes) == count else axes * count):
        shifts[at] = (shifts.get(at, 0) + one) % max(a.shape[at], 1)  # within 64 bits
    rolled = _storage.moved(torch.roll, a, tuple(shifts.values()), tuple(shifts)) if shifts else a.clone()
    return _storage.laid_as(a, rolled)


# --- adding and removing ----------------------------------------------------------------------------------------------


@public
def append(arr: Affine[ArrayLike], values: Affine[ArrayLike], axis: int | None = None) -> Array:
    """The array with the values joined at its end; without an axis, the elements of both in one axis.

    Raises ValueError if the shapes do not fit.

    >>> np.append([[1, 2]], [3, 4])
    array([1, 2, 3, 4])
    """
    return joining_impl.concatenate([arr, values], axis)


def _along(arr: torch.Tensor, axis: int | None) -> tuple[torch.Tensor, int]:
    """The array and the axis counted from the front; without an axis the elements in one."""
    if axis is None:
        return arr.reshape(-1), 0
    return arr, _util.normalize_axis(axis, arr.ndim)


def _as_index(obj: Any, size: int) -> torch.Tensor:
    """The indices that an int, a slice or an array-like stands for; booleans stay booleans."""
    if isinstance(obj, slice):
        return torch.tensor(list(range(*obj.indices(size))), dtype=torch.int64)
    index = _host.as_tensor(obj)
    if not index.numel() and isinstance(obj, (list, tuple, range)):
        return index.to(torch.int64)
    if type(index) is not torch.Tensor and dtypes_impl.kind(index.dtype) in "iu":
        return torch.tensor(_util.integers(index), device=index.device)
    return index


@public
def insert(arr: ArrayLike, obj: Any, values: Any, axis: int | None = None) -> Array:
    """The array with values put in before the given indices of an axis, which count in the array as it was.

    `obj` is an int, a slice or a sequence of ints or booleans. Under an int, `values` are what goes in at that place,
    one slice or several; under several indices they are broadcast to one slice for each. Without an axis the elements
    are taken in one axis. The values are cast to the dtype of the array. Raises IndexError for an index out of range,
    OverflowError for a Python number out of the range of the dtype.

    >>> np.insert([1, 2, 3], 1, [8, 9])
    array([1, 8, 9, 2, 3])
    """
    arr, axis = _along(arr, axis)
    size = arr.shape[axis]
    index = _as_index(obj, size).to(arr.device)
    if index.dtype.is_floating_point or index.dtype.is_complex:
        if index.numel() == 1:
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if index.dtype is torch.bool:
        index = index.reshape(-1).nonzero().reshape(-1)
    elif index.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    index = _util.to_int64(index)
    values = _host.as_tensor(values, arr.dtype, device=arr.device)
    if index.numel() == 1:
        values = values.reshape((1,) * (arr.ndim - values.ndim) + tuple(values.shape))
        return _insert_at(arr, int(index), values if index.ndim else torch.movedim(values, 0, axis), axis)
    return _insert_each(arr, wrap_negative(index, size), values, axis)


def _insert_at(arr: torch.Tensor, at: int, values: torch.Tensor, axis: int) -> torch.Tensor:
    """One block of values in front of one index."""
    size = arr.shape[axis]
    if not -size <= at <= size:
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {size}")
    at = at + size if at < 0 else at
    shape = list(arr.shape)
    shape[axis] = values.shape[axis]
    values = broadcast_input(values, tuple(shape)).expand(shape)
    parts = [torch.narrow(arr, axis, 0, at), values, torch.narrow(arr, axis, at, size - at)]
    return _storage.in_columns_as(arr, torch.cat(parts, axis))


def _insert_each(arr: torch.Tensor, index: torch.Tensor, values: torch.Tensor, axis: int) -> torch.Tensor:
    """One slice of values in front of each index: where every slice of the result comes from, then one selection."""
    size, count = arr.shape[axis], index.numel()
    order = torch.argsort(index, stable=True)
    place = torch.empty_like(index).scatter(0, order, index[order] + torch.arange(count, device=index.device))
    check_bounds(place, size + count, axis)
    place = wrap_negative(place, size + count)
    shape = list(arr.shape)
    shape[axis] = count
    values = fit_indexed(values, tuple(shape)).expand(shape)
    new = torch.zeros(size + count, dtype=torch.int64, device=index.device).scatter(0, place, 1)
    source = torch.cumsum(1 - new, 0) - 1
    source = source.scatter(0, place, size + torch.arange(count, device=index.device))
    return _storage.in_columns_as(arr, _storage.moved(torch.index_select, torch.cat([arr, values], axis), axis, source))


@public
def delete(arr: Affine[ArrayLike], obj: Any, axis: int | None = None) -> Array:
    """The array without the elements (or slices along an axis) at the given indices.

    `obj` is an int, a slice, a sequence of ints, or of booleans of the axis' length. Without an axis the elements are
    taken in one axis. Raises IndexError for an index out of range, ValueError for booleans of another length.

    >>> np.delete([[1, 2, 3], [4, 5, 6]], 1, axis=1)
    array([[1, 3],
           [4, 6]])
    """
    arr, axis = _along(arr, axis)
    size = arr.shape[axis]
    if type(obj) is int and -size <= obj < size:
        obj = slice(obj % size, obj % size + 1)
    if isinstance(obj, slice):
        start, stop, step = obj.indices(size)
        if step == 1:  # what is before and what is behind
            stop = max(start, stop)
            parts = [torch.narrow(arr, axis, 0, start), torch.narrow(arr, axis, stop, size - stop)]
            return _storage.in_columns_as(arr, torch.cat(parts, axis))
        removed = set(range(*obj.indices(size)))
        kept = torch.tensor([i for i in range(size) if i not in removed], dtype=torch.int64, device=arr.device)
        return _storage.in_columns_as(arr, _storage.moved(torch.index_select, arr, axis, kept))
    index = _as_index(obj, size).to(arr.device)
    if index.dtype is torch.bool:
        if tuple(index.shape) != (size,):
            raise ValueError(
                f"boolean array argument obj to delete must be one dimensional and match the axis length of {size}"
            )
        keep = ~index
    else:
        if index.dtype.is_floating_point or index.dtype.is_complex:
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        index = _util.to_int64(index.reshape(-1))
        check_bounds(index, size, axis)
        keep = torch.ones(size, dtype=torch.bool, device=arr.device).scatter(0, wrap_negative(index, size), False)
    return _storage.in_columns_as(arr, _storage.moved(torch.index_select, arr, axis, keep.nonzero().reshape(-1)))


@public
def trim_zeros(filt: object, trim: str = "fb", axis: AxisLike | None = None):
    """`filt` without the slices of zeros at the front ("f") and back ("b") of the given axes, or of all.

    Of an array it is a view, of a list a list (which has one axis), and so on. Raises ValueError for other letters in
    `trim`.

    >>> np.trim_zeros(np.array([0, 1, 0, 2, 0])), np.trim_zeros([0, 1, 0, 2, 0])
    (array([1, 0, 2]), [1, 0, 2])
    """
    x = _host.as_tensor(filt)
    array = _host.as_array(x)
    source: Any = filt if isinstance(filt, Sequence) or type(filt) is type(array) else array
    letters = trim.lower()
    if letters not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = _util.normalize_axes(axis, x.ndim, "axis")
    if not axes:
        return source if hasattr(filt, "__setitem__") else filt
    key = [slice(None)] * x.ndim
    nonzero = x != 0
    for at in axes:
        others = [i for i in range(x.ndim) if i != at]
        found = (nonzero.any(others) if others else nonzero).nonzero().reshape(-1)
        start, stop = (int(found[0]), int(found[-1]) + 1) if len(found) else (x.shape[at], 0)
        key[at] = slice(start if "f" in letters else 0, stop if "b" in letters else x.shape[at])
    return source[tuple(key) if len(key) > 1 else key[0]]
