"""Joining and splitting arrays (NumPy: "Array manipulation routines": joining, splitting)."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Affine, Array, ArrayLike, ArrayLikeOrScalar, DTypeLike, OutArray, View, public
from npdec._impl import _host, _storage, _util, dtypes_impl, shape_impl
from npdec._impl._joining import at_once, join, with_scalars

# --- joining ----------------------------------------------------------------------------------------------------------


def _common(arrays: Sequence[torch.Tensor], dtype: torch.dtype | None, casting: str) -> list[torch.Tensor]:
    """The arrays in their common dtype, or in the given one if `casting` allows it. Raises TypeError, ValueError."""
    if dtype is None and casting == "same_kind" and len({a.dtype for a in arrays}) == 1:
        return list(arrays)
    wanted = dtypes_impl.result_type(*arrays) if dtype is None else dtype
    for a in arrays:
        if not dtypes_impl.can_cast(a.dtype, wanted, casting):
            source, target = (str(one).removeprefix("torch.") for one in (a.dtype, wanted))
            raise TypeError(
                f"Cannot cast array data from dtype('{source}') to dtype('{target}') according to the rule '{casting}'"
            )
    return [_util.cast(a, wanted) for a in arrays]


def _check_shapes(arrays: Sequence[torch.Tensor], axis: int) -> None:
    """Raise ValueError unless the arrays agree in all axes but one; torch would pass over empty vectors."""
    if len({a.shape for a in arrays}) == 1:
        return
    first = arrays[0]
    for position, a in enumerate(arrays):
        if a.ndim != first.ndim:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index 0 has "
                f"{first.ndim} dimension(s) and the array at index {position} has {a.ndim} dimension(s)"
            )
        for i, (n, m) in enumerate(zip(first.shape, a.shape)):
            if n != m and i != axis:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {i}, the array at index 0 has size {n} and the array at index {position} has size {m}"
                )


def _joined(arrays: list[torch.Tensor], axis: int = 0) -> torch.Tensor | None:
    """What torch makes of them, but of empty vectors, whose axes it does not look at."""
    return torch.cat(arrays, axis) if not axis or arrays[0].dim() != 1 else None


@public(aliases=("concat",), direct=Direct(_joined, given=("axis",), of_one_rank=True, linear=True))
def concatenate(
    arrays: Sequence[ArrayLikeOrScalar],
    /,
    axis: int | None = 0,
    out: OutArray | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Array:
    """The arrays joined along an axis that they have; with `axis=None` all their elements in one axis.

    The dtype is the common one unless given, Python scalars being weak; `casting` says which casts to it are allowed.
    Raises ValueError if the shapes differ in another axis or there is no array, TypeError for a cast that is not
    allowed.

    >>> np.concatenate([[1, 2], [3.5]])
    array([1. , 2. , 3.5])
    """
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    for a in arrays:
        if not isinstance(a, torch.Tensor):
            arrays = with_scalars(arrays)
            break
    joined = at_once(torch.cat, arrays, axis, dtype, casting)
    if joined is not None:
        return joined
    if axis is None:
        return torch.cat([shape_impl.ravel(a) for a in _common(arrays, dtype, casting)])
    if not arrays[0].ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = _util.normalize_axis(axis, arrays[0].ndim)
    _check_shapes(arrays, axis)
    return join(_common(arrays, dtype, casting), axis)


@public(direct=Direct(torch.stack, given=("axis",), linear=True))
def stack(
    arrays: Sequence[ArrayLike],
    axis: int = 0,
    out: OutArray | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Array:
    """The arrays, all of one shape, along a new axis.

    The dtype is the common one unless given; `casting` says which casts to it are allowed. Raises ValueError if the
    shapes differ or there is no array, AxisError for a position of the axis out of range.

    >>> np.stack([[1, 2], [3, 4]], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    if not arrays:
        raise ValueError("need at least one array to stack")
    joined = at_once(torch.stack, arrays, axis, dtype, casting)
    if joined is not None:
        return joined
    if len({a.shape for a in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = _util.normalize_axis(axis, arrays[0].ndim + 1)
    return join([a.unsqueeze(axis) for a in _common(arrays, dtype, casting)], axis)


@public(direct=Direct(torch.vstack))
def vstack(tup: Sequence[Affine[ArrayLike]], *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Array:
    """The arrays one below the other: along axis 0, vectors and numbers taken as rows.

    Raises ValueError if they differ in another axis, TypeError for a cast to `dtype` that `casting` forbids.

    >>> np.vstack([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    rows = [a if a.dim() > 1 else shape_impl.atleast_2d(a) for a in tup]
    return concatenate(rows, 0, dtype=dtype, casting=casting)


def _warned(arrays: list[torch.Tensor]) -> torch.Tensor:
    stacked = torch.vstack(arrays)
    _util.warn(_ROW_STACK, DeprecationWarning)
    return stacked


_ROW_STACK = "`row_stack` alias is deprecated. Use `np.vstack` directly."


@public(direct=Direct(_warned))
def row_stack(tup: Sequence[ArrayLike], *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Array:
    """The older name of `np.vstack`, deprecated in NumPy 2.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     np.row_stack([1, 2])
    array([[1],
           [2]])
    """
    _util.warn(_ROW_STACK, DeprecationWarning)
    return vstack(tup, dtype=dtype, casting=casting)


@public(direct=Direct(torch.hstack, of_one_rank=True))
def hstack(tup: Sequence[Affine[ArrayLike]], *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Array:
    """The arrays side by side: along axis 1, vectors and numbers along axis 0.

    Raises ValueError if they differ in another axis, TypeError for a cast to `dtype` that `casting` forbids.

    >>> np.hstack([[[1], [2]], [[3], [4]]])
    array([[1, 3],
           [2, 4]])
    """
    if tup and not any(a.dim() for a in tup) and (row := at_once(torch.stack, tup, 0, dtype, casting)) is not None:
        return row
    arrays = [a if a.dim() else shape_impl.atleast_1d(a) for a in tup]
    axis = 1 if arrays and arrays[0].ndim > 1 else 0
    return concatenate(arrays, axis, dtype=dtype, casting=casting)


@public(direct=Direct(torch.dstack))
def dstack(tup: Sequence[Affine[ArrayLike]]) -> Array:
    """The arrays one behind the other: along axis 2, those of fewer axes taken as by `np.atleast_3d`.

    Raises ValueError if they differ in another axis.

    >>> np.dstack([[1, 2], [3, 4]])
    array([[[1, 3],
            [2, 4]]])
    """
    return concatenate([a if a.dim() > 2 else shape_impl.atleast_3d(a) for a in tup], 2)


@public(direct=Direct(torch.column_stack))
def column_stack(tup: Sequence[Affine[ArrayLike]]) -> Array:
    """The arrays side by side, vectors and numbers taken as columns.

    Raises ValueError if they differ in another axis than the second.

    >>> np.column_stack([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    columns = [a if a.ndim > 1 else a.reshape(-1, 1) for a in tup]
    return concatenate(columns, 1)


# --- block ------------------------------------------------------------------------------------------------------------


def _place(path: tuple[int | None, ...]) -> str:
    return "arrays" + "".join(f"[{i}]" for i in path if i is not None)


def _measure(arrays: Any, path: tuple[int | None, ...] = ()) -> tuple[tuple[int | None, ...], int]:
    """(path to the first element, number of axes that the whole needs). Raises unless all are nested equally deep.

    A path into a list that is empty ends with None, and goes before all others.
    """
    if isinstance(arrays, tuple):
        raise TypeError(
            f"{_place(path)} is a tuple. Only lists can be used to arrange blocks, and np.block does not allow "
            "implicit conversion from tuple to ndarray."
        )
    if not isinstance(arrays, list):
        return path, _host.as_tensor(arrays).ndim
    if not arrays:
        return (*path, None), 0
    measured = [_measure(item, (*path, i)) for i, item in enumerate(arrays)]
    first = measured[0][0]
    for other, _ in measured[1:]:
        if len(other) != len(first):
            raise ValueError(
                f"List depths are mismatched. First element was at depth {len(first)}, but there is an element at "
                f"depth {len(other)} ({_place(other)})"
            )
        first = other if other[-1] is None else first
    return first, max(needed for _, needed in measured)


def _assemble(arrays: Any, depth: int, ndim: int, device: torch.device | None) -> torch.Tensor:
    if isinstance(arrays, list):
        return concatenate([_assemble(item, depth - 1, ndim, device) for item in arrays], -depth)
    tensor = _host.as_tensor(arrays, device=device)
    return tensor.reshape((1,) * (ndim - tensor.ndim) + tuple(tensor.shape))


@public
def block(arrays: Any) -> Array:
    """One array from blocks in nested lists: the innermost lists are joined along the last axis, and so outwards.

    Blocks of fewer axes get leading axes of length one. Raises ValueError if the lists are empty, not equally deep
    or hold blocks that do not fit, TypeError for a tuple in place of a list.

    >>> np.block([[np.eye(2, dtype=int), np.array([[5], [6]])], [np.array([7, 8, 9])]])
    array([[1, 0, 5],
           [0, 1, 6],
           [7, 8, 9]])
    """
    first, needed = _measure(arrays)
    depth = len(first)
    if depth and first[-1] is None:
        raise ValueError(f"List at {_place(first)} cannot be empty")
    result = _assemble(arrays, depth, max(depth, needed), _host.device_within(arrays))
    return result if depth else _storage.duplicate(result, "A")


# --- splitting --------------------------------------------------------------------------------------------------------


def _bounds(size: int, indices_or_sections: Any) -> list[slice]:
    """The slices that cut an axis at the given indices, or into that many parts."""
    if isinstance(indices_or_sections, torch.Tensor) and indices_or_sections.ndim:
        return _cuts(_util.integers(indices_or_sections))
    sections = int(indices_or_sections)
    if sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    each, longer = divmod(size, sections)
    starts = [i * each + min(i, longer) for i in range(sections + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(starts)]


def _cuts(indices: list[Any]) -> list[slice]:
    try:
        inner = list(map(operator.index, indices))
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None
    return [slice(start, stop) for start, stop in zip([0, *inner], [*inner, None])]


def _cut(ary: torch.Tensor, slices: list[slice], axis: int) -> list[torch.Tensor]:
    if not ary.ndim:
        raise IndexError("tuple index out of range")
    axis = _util.normalize_axis(axis, ary.ndim)
    return [ary[(slice(None),) * axis + (part,)] for part in slices]


def _length(ary: torch.Tensor, axis: int) -> int:
    if not -ary.ndim <= axis < ary.ndim:
        raise IndexError("tuple index out of range")
    return ary.shape[axis]


def _parts_of(axis: int | None, equal: bool = True, least: int = 1) -> Direct:
    """The common call of what cuts an array of at least so many axes into a number of parts, or at places in a list,
    which no device is asked for, along an axis that is given or has a place."""

    def parts(ary: torch.Tensor, count: Any, given: int = 0) -> list[torch.Tensor] | None:
        at = given if axis is None else axis
        if ary.dim() < least or not -ary.dim() <= at < ary.dim():
            return None
        if type(count) in (list, tuple) and count and all(type(place) is int for place in count):
            return _cut(ary, _cuts(count), at)
        if type(count) is not int or count < 1 or (equal and ary.shape[at] % count):
            return None
        return list(torch.tensor_split(ary, count, at))

    return Direct(parts, given=("indices_or_sections", "axis") if axis is None else ("indices_or_sections",))


@public(direct=_parts_of(None, equal=False))
def array_split(ary: ArrayLike, indices_or_sections: ArrayLikeOrScalar, axis: int = 0) -> list[View]:
    """The array cut along an axis: a list of views.

    A number asks for that many parts, of which the first are one longer if the length does not divide; a sequence of
    indices says where to cut. Raises ValueError for a number of parts below one.

    >>> np.array_split([1, 2, 3], 2)
    [array([1, 2]), array([3])]
    """
    return _cut(ary, _bounds(_length(ary, axis), indices_or_sections), axis)


@public(direct=_parts_of(None))
def split(ary: ArrayLike, indices_or_sections: ArrayLikeOrScalar, axis: int = 0) -> list[View]:
    """The array cut along an axis into equal parts, or at the given indices: a list of views.

    Raises ValueError if the length does not divide by the number of parts.

    >>> np.split([1, 2, 3, 4], [1, 3])
    [array([1]), array([2, 3]), array([4])]
    """
    size = _length(ary, axis)
    sections: Any = 1 if getattr(indices_or_sections, "ndim", 0) else indices_or_sections
    if isinstance(indices_or_sections, torch.Tensor):
        sections = int(sections) or 1  # no part at all is found below
    if size % sections:
        raise ValueError("array split does not result in an equal division")
    return _cut(ary, _bounds(size, indices_or_sections), axis)


@public(direct=_parts_of(1))
def hsplit(ary: ArrayLike, indices_or_sections: ArrayLikeOrScalar) -> list[View]:
    """The array cut along axis 1, a vector along axis 0: a list of views. See `np.split`.

    >>> np.hsplit([[1, 2]], 2)
    [array([[1]]), array([[2]])]
    """
    if not ary.ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@public(direct=_parts_of(0, least=2))
def vsplit(ary: ArrayLike, indices_or_sections: ArrayLikeOrScalar) -> list[View]:
    """The array, of at least two axes, cut along axis 0: a list of views. See `np.split`.

    >>> np.vsplit([[1], [2]], 2)
    [array([[1]]), array([[2]])]
    """
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@public(direct=_parts_of(2))
def dsplit(ary: ArrayLike, indices_or_sections: ArrayLikeOrScalar) -> list[View]:
    """The array, of at least three axes, cut along axis 2: a list of views. See `np.split`.

    >>> np.dsplit([[[1, 2]]], 2)
    [array([[[1]]]), array([[[2]]])]
    """
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@public
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[View, ...]:
    """The array taken apart along an axis, which the parts do not have: a tuple of views, or of a vector's scalars.

    Raises ValueError for an array without axes, AxisError for an axis out of range.

    >>> np.unstack([[1, 2], [3, 4]], axis=1)
    (array([1, 3]), array([2, 4]))
    """
    if not x.ndim:
        raise ValueError("Input array must be at least 1-d.")
    axis = _util.normalize_axis(axis, x.ndim, "source")
    if x.ndim == 1:
        return tuple(_host.as_array(x))
    return tuple(torch.select(x, axis, i) for i in range(x.shape[axis]))
