"""Linear algebra: products, diagonals and traces, as the array API standard defines them.

The functions of these names outside `numpy.linalg` accept more, or mean other axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLike, DTypeLike, Frozen, OutArray, View, out_casting, public
from npdec._impl import _flags, _views, dtypes_impl, indexing_impl, products_impl, products_stacked_impl, reduction_impl
from npdec._impl._gufunc import widened
from npdec._impl._linalg import check_2d


@public(errors=_flags.CROSS)
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Vector product of (stacks of) vectors with three elements along an axis.

    Raises ValueError if there are not three.

    >>> np.linalg.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    lengths = [x.shape[axis] if -x.ndim <= axis < x.ndim else None for x in (x1, x2)]
    if None not in lengths and lengths != [3, 3]:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {lengths[0]} and {lengths[1]} dimensional instead."
        )
    return products_impl.cross(x1, x2, axis=axis)


@public(errors="multiply", direct=products_impl.OUTER)
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The matrix of all products of an element of one vector (its row) with an element of the other (its column).

    Raises ValueError unless both have one dimension.

    >>> np.linalg.outer([1, 2], [10, 20, 30])
    array([[10, 20, 30],
           [20, 40, 60]])
    """
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} and x2.ndim={x2.ndim}.")
    return products_impl.outer(x1, x2)


@public(direct=products_stacked_impl.MATMUL)
def matmul(x1: ArrayLike, x2: ArrayLike, /):
    """Matrix product of two arrays or stacks of matrices: `np.matmul` without options.

    >>> np.linalg.matmul([[1, 2], [3, 4]], [1, 1])
    array([3, 7])
    """
    return products_stacked_impl.matmul(x1, x2)


@public(direct=products_stacked_impl.VECDOT)
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1):
    """Dot products of vectors along an axis, those of `x1` conjugated; the other axes broadcast.

    >>> np.linalg.vecdot([[1, 2], [3, 4]], [[1, 1], [1, 1]], axis=0)
    array([4, 6])
    """
    return products_stacked_impl.vecdot(x1, x2) if axis == -1 else products_stacked_impl.vecdot(x1, x2, axis=axis)


@public(errors="dot", direct=products_impl.TENSORDOT)
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2) -> Array:
    """Sum of products over several pairs of axes: `np.tensordot`.

    >>> np.linalg.tensordot(np.ones((2, 3)), np.ones((3, 2)), axes=1)
    array([[3., 3.],
           [3., 3.]])
    """
    return products_impl.tensordot(x1, x2, axes)


@public(
    errors="dot",
    direct=Direct(lambda arrays: torch.linalg.multi_dot(arrays) if len(arrays) > 2 else None, products_impl.DIRECT),
)
@out_casting("same")
def multi_dot(arrays: Sequence[ArrayLike], *, out: OutArray | None = None):
    """The matrix product of two or more arrays, in the order of multiplications that costs least.

    The first and the last array may be vectors: a row and a column. Raises ValueError for fewer than two arrays or
    where neighbours do not fit, LinAlgError if an array has the wrong number of dimensions.

    >>> np.linalg.multi_dot([np.ones((10, 1)), np.ones((1, 10)), np.ones((10, 2))]).shape
    (10, 2)
    """
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    tensors = dtypes_impl.promote(*arrays)
    if len(tensors) == 2:
        return products_impl.dot(*tensors)
    check_2d(*(x for i, x in enumerate(tensors) if x.ndim != 1 or 0 < i < len(tensors) - 1))
    for a, b in itertools.pairwise(tensors):
        if a.shape[-1] != b.shape[0]:
            raise products_impl.not_aligned(a, b, a.ndim - 1, 0)
    return widened(_chain, *tensors)


def _chain(*matrices: torch.Tensor) -> torch.Tensor:
    first = matrices[0]
    if first.device.type == "cpu" or first.dtype.is_floating_point or first.dtype.is_complex:
        return torch.linalg.multi_dot(matrices)
    for matrix in matrices[1:]:
        first = products_stacked_impl.matmul(first, matrix)
    return first


def _check_matrix(x: torch.Tensor) -> None:
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")


@public(direct=Direct(torch.linalg.diagonal))
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Frozen:
    """A view of the diagonals of matrices (the last two axes), or of those `offset` columns to the right.

    >>> np.linalg.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    _check_matrix(x)
    offset = max(-x.shape[-2], min(offset, x.shape[-1]))
    return torch.diagonal(x, offset, -2, -1)


@public(errors="reduce", direct=indexing_impl.TRACE)
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None):
    """The sums of the diagonals of matrices (the last two axes), or of those `offset` columns to the right.

    Booleans and integers are summed in 64 bits; `dtype` chooses another accumulator.

    >>> np.linalg.trace([[1, 2], [3, 4]])
    np.int64(5)
    """
    return reduction_impl.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


@public(direct=Direct(_views.of_matrices))
def matrix_transpose(x: ArrayLike, /) -> View:
    """A view with the last two axes swapped. Raises ValueError if there are not two.

    >>> np.linalg.matrix_transpose(np.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return torch.transpose(x, -2, -1)
