"""Generating index arrays (NumPy: "Indexing routines", generating index arrays)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.tags import Array, ArrayLike, Opaque, ShapeLike, View, public
from npdec._impl import _host, _util
from npdec._impl._by_numpy import by_numpy, by_numpy_together
from npdec._impl._devices import as_device
from npdec._impl._storage import check_order
from npdec._impl.creation_matrices_impl import lower_mask
from npdec._impl.getitem_impl import shape_text
from npdec._impl.indexing_impl import read_mode

_INT64_MAX = torch.iinfo(torch.int64).max


def coordinates(index: torch.Tensor, shape: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    """The index along each axis of elements that are counted in row-major order; `index` is in range."""
    result = []
    for n in reversed(shape):
        result.append(torch.remainder(index, max(n, 1)))
        index = torch.div(index, max(n, 1), rounding_mode="floor")
    return tuple(reversed(result))


@public
def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of length n: a tuple of one vector per axis.

    >>> np.diag_indices(2)
    (array([0, 1]), array([0, 1]))
    """
    return (torch.arange(max(n, 0), device=as_device(None)),) * ndim


@public
def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array: a tuple of one vector per axis.

    Raises ValueError unless it has at least two axes, all of one length.

    >>> np.diag_indices_from([[1, 2], [3, 4]])
    (array([0, 1]), array([0, 1]))
    """
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return (torch.arange(arr.shape[0], device=arr.device),) * arr.ndim


@public
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The indices of the elements on and below the k-th diagonal of an n-by-m matrix: a tuple of two vectors.

    >>> np.tril_indices(2)
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return tuple(lower_mask(n, n if m is None else m, k).nonzero(as_tuple=True))


@public
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """The indices of the elements on and above the k-th diagonal of an n-by-m matrix: a tuple of two vectors.

    >>> np.triu_indices(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return tuple((~lower_mask(n, n if m is None else m, k - 1)).nonzero(as_tuple=True))


def _matrix_shape(arr: torch.Tensor) -> tuple[int, int]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape[0], arr.shape[1]


@public
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """The indices of the elements on and below the k-th diagonal of a matrix: a tuple of two vectors.

    Raises ValueError unless it has two axes.

    >>> np.tril_indices_from([[1, 2], [3, 4]])
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    rows, columns = _matrix_shape(arr)
    return tuple(lower_mask(rows, columns, k, arr.device).nonzero(as_tuple=True))


@public
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """The indices of the elements on and above the k-th diagonal of a matrix: a tuple of two vectors.

    Raises ValueError unless it has two axes.

    >>> np.triu_indices_from([[1, 2], [3, 4]])
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    rows, columns = _matrix_shape(arr)
    return tuple((~lower_mask(rows, columns, k - 1, arr.device)).nonzero(as_tuple=True))


@public
def mask_indices(n: int, mask_func: Callable, k: Any = 0) -> tuple[Array, ...]:
    """The indices of the elements of an n-by-n matrix that `mask_func(matrix, k)`, say `np.triu`, leaves nonzero.

    >>> np.mask_indices(2, np.triu)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    masked = mask_func(_host.as_array(torch.ones((n, n), dtype=torch.int64, device=as_device(None))), k)
    return tuple((_host.as_tensor(masked) != 0).nonzero(as_tuple=True))


@public
def ix_(*args: ArrayLike) -> tuple[View, ...]:
    """The vectors, each along an axis of its own, so that together they index the grid that they span.

    Booleans stand for the indices where they are true. A tuple. Raises ValueError unless each has one axis.

    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> x[np.ix_([0, 1], [True, False, True])]
    array([[1, 3],
           [4, 6]])
    """
    result = []
    for axis, index in enumerate(args):
        if index.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if not index.numel() and index.dtype is torch.float64:  # of an empty list
            index = index.to(torch.int64)
        if index.dtype is torch.bool:
            index = index.nonzero().reshape(-1)
        result.append(torch.reshape(index, [-1 if i == axis else 1 for i in range(len(args))]))
    return tuple(result)


# --- flat indices and coordinates -------------------------------------------------------------------------------------


def _check_integers(indices: torch.Tensor) -> torch.Tensor:
    if indices.dtype.is_floating_point or indices.dtype.is_complex:
        if not indices.numel():
            raise TypeError(
                "only int indices permitted; indices must be integral: the provided empty sequence was inferred as "
                "float. Wrap it with 'np.array(indices, dtype=np.intp)'"
            )
        raise TypeError("only int indices permitted")
    return _util.to_int64(indices)


def _check_order(order: Any) -> bool:
    """Whether the order is column major."""
    return check_order(order, "CF") == "F"


@public
def unravel_index(indices: Opaque, shape: ShapeLike, order: str = "C"):
    """The index along each axis of elements of an array of the shape, from their row-major ("C") or column-major ("F")
    number: a tuple of one result per axis.

    Raises ValueError for a number out of range, TypeError for numbers that are no integers.

    >>> np.unravel_index([0, 5], (2, 3))
    (array([0, 1]), array([0, 2]))
    """
    column_major = _check_order(order)
    size = math.prod(shape)
    if size > _INT64_MAX:
        raise ValueError(
            "dimensions are too large; arrays and shapes with a total size greater than 'intp' are not supported."
        )
    index = _check_integers(indices)
    if index.is_contiguous():
        found = by_numpy("unravel_index", index, shape=tuple(shape), order="F" if column_major else "C")
        if found is not None:
            return found
    if index.numel():
        low, high = torch.aminmax(index)
        if _util.is_known_true((low < 0) | (high >= size)):
            first = int(index[(index < 0) | (index >= size)].flatten()[0])
            raise ValueError(f"index {first} is out of bounds for array with size {size}")
    if not shape and index.ndim:
        raise ValueError("multiple indices are not supported for 0d arrays")
    if column_major:
        return coordinates(index, shape[::-1])[::-1]
    return coordinates(index, shape)


@public
def ravel_multi_index(multi_index: Sequence[Opaque], dims: ShapeLike, mode: Any = "raise", order: str = "C"):
    """The row-major ("C") or column-major ("F") numbers of elements, from their index along each axis of the shape.

    `mode` (one, or a tuple of one per axis) says what an index out of range does: "raise" a ValueError, "wrap" around,
    or be "clip"ped. Raises TypeError for indices that are no integers.

    >>> np.ravel_multi_index(([0, 1], [0, 2]), (2, 3))
    array([0, 5])
    """
    column_major = _check_order(order)
    modes = tuple(mode) if isinstance(mode, (tuple, list)) else (mode,) * len(dims)
    if len(modes) != len(dims):
        raise ValueError(f"list of clipmodes has wrong length ({len(modes)} instead of {len(dims)})")
    modes = tuple(map(read_mode, modes))
    if len(multi_index) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    if math.prod(dims) > _INT64_MAX:
        raise ValueError("invalid dims: array size defined by dims is larger than the maximum possible size.")
    found = by_numpy_together(
        "ravel_multi_index", multi_index, dims=tuple(dims), mode=mode, order="F" if column_major else "C"
    )
    if found is not None:
        return found
    flat = torch.zeros((), dtype=torch.int64)
    axes = list(zip(multi_index, dims, modes, strict=True))
    try:
        _util.broadcast_shapes(*(index.shape for index in multi_index))
    except ValueError:
        shapes = " ".join(shape_text(index.shape) for index in multi_index)
        raise ValueError(f"operands could not be broadcast together with shapes {shapes} ") from None
    if 0 in dims:
        if any(index.numel() for index in multi_index):
            raise ValueError("cannot unravel if shape has zero entries (is empty).")
        return torch.zeros(_util.broadcast_shapes(*(index.shape for index in multi_index)), dtype=torch.int64)
    for index, n, one in axes[::-1] if column_major else axes:
        flat = flat.to(index.device) * n + _in_range(_check_integers(index), n, one)
    return flat


def _in_range(index: torch.Tensor, size: int, mode: str) -> torch.Tensor:
    if mode == "wrap":
        return torch.remainder(index, size)
    if mode == "clip":
        return index.clamp(0, size - 1)
    if _util.is_known_true(((index < 0) | (index >= size)).any()):
        raise ValueError("invalid entry in coordinates array")
    return index
