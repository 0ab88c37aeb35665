"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLike, OutArray, out_casting, public
from npdec._impl import _flags, dtypes_impl
from npdec._impl._gufunc import shape_text, widened
from npdec._impl._util import are_numbers, broadcast_shapes, normalize_axes, normalize_axis, warn

DIRECT = frozenset({torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bfloat16})


# --- the two primitives -----------------------------------------------------------------------------------------------


def matrix_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of stacks of matrices, vectors standing for a row or a column."""
    if a.dtype in DIRECT or a.device.type == "cpu":
        return torch.matmul(a, b)
    # torch has no integer products on accelerators: multiply every row with every column, and sum.
    rows = a if a.ndim > 1 else a.unsqueeze(0)
    columns = b.mT if b.ndim > 1 else b.unsqueeze(0)
    product = torch.sum(rows.unsqueeze(-2) * columns.unsqueeze(-3), -1, dtype=a.dtype)
    product = product if b.ndim > 1 else product.squeeze(-1)
    return product if a.ndim > 1 else product.squeeze(-1 if b.ndim == 1 else -2)


def _promoted(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (a, b) if a.dtype is b.dtype else dtypes_impl.promote(a, b)


def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The elementwise product of tensors of one dtype, in that dtype."""
    return widened(torch.mul, a, b)


def contract(a: torch.Tensor, b: torch.Tensor, axes_a: tuple[int, ...], axes_b: tuple[int, ...]) -> torch.Tensor:
    """The sum of products over pairs of axes, as one matrix product; the other axes of `a` come before those of `b`."""
    free_a = tuple(axis for axis in range(a.ndim) if axis not in axes_a)
    free_b = tuple(axis for axis in range(b.ndim) if axis not in axes_b)
    shape_a, shape_b = [a.shape[axis] for axis in free_a], [b.shape[axis] for axis in free_b]
    summed = math.prod(a.shape[axis] for axis in axes_a)
    left = a.permute(free_a + axes_a).reshape(math.prod(shape_a), summed)
    right = b.permute(axes_b + free_b).reshape(summed, math.prod(shape_b))
    return widened(matrix_product, left, right).reshape(shape_a + shape_b)


def conjugate(x: torch.Tensor) -> torch.Tensor:
    return torch.conj(x) if x.dtype.is_complex else x


def not_aligned(a: torch.Tensor, b: torch.Tensor, axis_a: int, axis_b: int) -> ValueError:
    return ValueError(
        f"shapes {shape_text(a.shape)} and {shape_text(b.shape)} not aligned: {a.shape[axis_a]} (dim {axis_a}) != "
        f"{b.shape[axis_b]} (dim {axis_b})"
    )


# --- dot and its relatives --------------------------------------------------------------------------------------------


def _of_vectors(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    return a.dot(b) if a.dim() == 1 == b.dim() else None


def _of_matrices(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    of_vectors = a.dim() == 1 == b.dim()
    return a.dot(b) if of_vectors else a.matmul(b) if 0 < a.dim() <= 2 and 0 < b.dim() <= 2 else None


def _table(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    return a.unsqueeze(1) * b if a.dim() == 1 == b.dim() else None


_REAL = frozenset({torch.float32, torch.float64, torch.bfloat16})
OUTER = Direct(_table, DIRECT)


@public(method=True, errors="dot", direct=Direct(_of_matrices, DIRECT, linear=True))
@out_casting("same")
def dot(a: ArrayLike, b: ArrayLike, out: OutArray | None = None):
    """Dot product: the sum over the last axis of `a` and the second to last axis of `b` (the only one of a vector).

    Of two vectors it is a scalar, of two matrices the matrix product; with a scalar it multiplies. Stacks of matrices
    are combined each with each; `matmul` pairs them. Raises ValueError if the two axes differ in length.

    >>> np.dot([[1, 2], [3, 4]], [10, 100])
    array([210, 430])
    """
    a, b = _promoted(a, b)
    if a.dtype in DIRECT and a.dim() == 1 == b.dim() and a.shape == b.shape:
        return torch.matmul(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    axis_a, axis_b = a.ndim - 1, max(b.ndim - 2, 0)
    if a.shape[axis_a] != b.shape[axis_b]:
        raise not_aligned(a, b, axis_a, axis_b)
    if a.ndim <= 2 and b.ndim <= 2:
        return torch.matmul(a, b) if a.dtype in DIRECT else widened(matrix_product, a, b)
    return contract(a, b, (axis_a,), (axis_b,))


@public(direct=Direct(_of_vectors, _REAL, total=True))
def vdot(a: ArrayLike, b: ArrayLike, /):
    """Dot product of all elements of two arrays of equal size, in their order; `a` is conjugated.

    Raises ValueError if the sizes differ.

    >>> np.vdot([1 + 2j, 3], [1j, 2])
    np.complex128(8+1j)
    """
    a, b = _promoted(a, b)
    if a.numel() != b.numel():
        raise ValueError(f"cannot reshape array of size {b.numel()} into shape {shape_text([a.numel()])}")
    return widened(matrix_product, conjugate(a).reshape(-1), b.reshape(-1))


@public(errors="dot")
def inner(a: ArrayLike, b: ArrayLike, /):
    """Sum of products over the last axes of both arrays; with a scalar it multiplies.

    The result has the other axes of `a` and then those of `b`. Raises ValueError if the last axes differ in length.

    >>> np.inner([[1, 2], [3, 4]], [[1, 0], [0, 1], [1, 1]])
    array([[1, 2, 3],
           [3, 4, 7]])
    """
    a, b = _promoted(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise not_aligned(a, b, a.ndim - 1, b.ndim - 1)
    if a.dtype in DIRECT and a.dim() == 1 == b.dim() and type(a) is torch.Tensor is type(b):
        return torch.mm(a.unsqueeze(0), b.unsqueeze(1)).reshape(())
    return contract(a, b, (a.ndim - 1,), (b.ndim - 1,))


@public(errors="multiply", direct=OUTER)
def outer(a: ArrayLike, b: ArrayLike, out: OutArray | None = None) -> Array:
    """The matrix of all products of an element of `a` (its row) with an element of `b` (its column).

    Arrays of any shape are read flat.

    >>> np.outer([1, 2], [10, 20, 30])
    array([[10, 20, 30],
           [20, 40, 60]])
    """
    a, b = _promoted(a, b)
    if a.dim() == 1 == b.dim():
        return multiply(a.unsqueeze(1), b)
    return multiply(a.reshape(a.numel(), 1), b.reshape(1, b.numel()))


def _paired(a: torch.Tensor, b: torch.Tensor, axes: Any) -> torch.Tensor | None:
    """The last axes of one with the first ones of the other, in their order: of rows and columns that lie there."""
    if type(axes) is not int or axes < 1:
        return None
    rows, columns = a.shape, b.shape
    if axes > len(columns) or rows[-axes:] != columns[:axes]:
        return None
    summed = math.prod(columns[:axes])
    left = a.reshape(math.prod(rows[:-axes]), summed)
    right = b.reshape(summed, math.prod(columns[axes:]))
    return torch.mm(left, right).reshape(rows[:-axes] + columns[axes:])


TENSORDOT = Direct(_paired, DIRECT, ("axes",))


@public(errors="dot", direct=TENSORDOT)
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Array:
    """Sum of products over several pairs of axes.

    `axes` is a number n (the last n axes of `a` with the first n of `b`, in their order), or a pair of axes or of
    lists of axes that belong together. Raises ValueError if paired axes differ in length or an axis is repeated,
    AxisError if there is no such axis.

    >>> np.tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), axes=([2, 1], [0, 1]))
    array([12., 12.])
    """
    a, b = _promoted(a, b)
    axes_a, axes_b = _axes_of_pairs(axes, a.ndim, b.ndim)
    if len(axes_a) != len(axes_b):
        raise ValueError(f"shape-mismatch for sum: {len(axes_a)} axes of `a` but {len(axes_b)} of `b`")
    for i, j in zip(axes_a, axes_b):
        if a.shape[i] != b.shape[j]:
            raise ValueError(
                f"shape-mismatch for sum: axis {i} of shape {shape_text(a.shape)} with axis {j} of shape "
                f"{shape_text(b.shape)}"
            )
    return contract(a, b, axes_a, axes_b)


def _axes_of_pairs(axes: Any, ndim_a: int, ndim_b: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if getattr(axes, "ndim", 0):
        axes = list(axes)
    if not isinstance(axes, (tuple, list)):
        count = operator.index(axes)
        axes = (range(-count, 0), range(count))
    first, second = (tuple(item) if isinstance(item, Iterable) else (operator.index(item),) for item in axes)
    pair = normalize_axes(first, ndim_a, allow_duplicate=True), normalize_axes(second, ndim_b, allow_duplicate=True)
    if any(len(set(item)) < len(item) for item in pair):
        raise ValueError("duplicate axes are not allowed in tensordot")
    return pair


@public(errors="multiply", direct=Direct(torch.kron, _REAL))
def kron(a: ArrayLike, b: ArrayLike):
    """Kronecker product: every element of `a` replaced by itself times the whole of `b`.

    The array with fewer dimensions gets leading axes of length one; each axis of the result is as long as the product
    of the two.

    >>> np.kron([1, 10], [[1, 2], [3, 4]])
    array([[ 1,  2, 10, 20],
           [ 3,  4, 30, 40]])
    """
    a, b = _promoted(a, b)
    ndim = max(a.ndim, b.ndim)
    shape_a = (1,) * (ndim - a.ndim) + tuple(a.shape)
    shape_b = (1,) * (ndim - b.ndim) + tuple(b.shape)
    blocks = a.reshape([size for n in shape_a for size in (n, 1)])
    inside = b.reshape([size for n in shape_b for size in (1, n)])
    return multiply(blocks, inside).reshape([m * n for m, n in zip(shape_a, shape_b)])


@public(errors=_flags.CROSS)
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """Vector product of (stacks of) vectors with three elements.

    `axisa`, `axisb` and `axisc` say where the vectors are in `a`, in `b` and in the result; `axis` stands for all
    three. Vectors with two elements (deprecated) have a third that is zero; of two such only the third element of the
    result is returned. Raises ValueError for other lengths, TypeError for bool.

    >>> np.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _promoted(a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("At least one array has zero dimension")
    a, b = _vectors_last(a, axisa, "axisa"), _vectors_last(b, axisb, "axisb")
    sizes = (a.shape[-1], b.shape[-1])
    if not {*sizes} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if a.dtype is torch.bool:
        raise TypeError("cross: the elements of a vector product are differences, which bool does not have; use int8")
    if 2 in sizes:
        warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead.",
            DeprecationWarning,
        )
    try:
        stack = broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise ValueError(
            "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg 0 with shape "
            f"{shape_text(a.shape[:-1])} and arg 1 with shape {shape_text(b.shape[:-1])}."
        ) from None
    if sizes == (2, 2):
        return widened(_cross_third, a, b)
    axisc = normalize_axis(axisc, len(stack) + 1, "axisc")
    if sizes == (3, 3) and axisc == len(stack) and a.dtype in DIRECT and not a.is_complex() and are_numbers(a, b):
        return _cross_of_three(a, b)
    return torch.movedim(widened(_cross, a, b), -1, axisc)


def _vectors_last(x: torch.Tensor, axis: int, name: str) -> torch.Tensor:
    axis = normalize_axis(axis, x.ndim, name)
    return x if axis == x.ndim - 1 else torch.movedim(x, axis, -1)


_MANY = 1000  # elements, from which on views of every third are read sooner than copies are made of them
_NEXT, _LAST = torch.tensor([1, 2, 0]), torch.tensor([2, 0, 1])


def _cross_of_three(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """All elements of products of vectors with three elements at once."""
    if a.numel() >= _MANY:
        a0, a1, a2, b0, b1, b2 = (*a.unbind(-1), *b.unbind(-1))
        return torch.stack((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0), -1)
    axis_a, axis_b = a.ndim - 1, b.ndim - 1
    ahead = torch.index_select(a, axis_a, _NEXT) * torch.index_select(b, axis_b, _LAST)
    return ahead - torch.index_select(a, axis_a, _LAST) * torch.index_select(b, axis_b, _NEXT)


def _cross_third(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _cross(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    # In fewer steps, of which each takes longer; torch rounds complex products by where they lie in memory, and those
    # that carry contributions are to have the same digits.
    if a.shape[-1] == b.shape[-1] == 3 and (a.is_complex() or not are_numbers(a, b)):
        (a_1, a_2), (b_1, b_2) = ([torch.roll(x, -i, -1) for i in (1, 2)] for x in (a, b))
        return a_1 * b_2 - a_2 * b_1
    third = _cross_third(a, b)
    if a.shape[-1] == 2:
        first, second = a[..., 1] * b[..., 2], -(a[..., 0] * b[..., 2])
    elif b.shape[-1] == 2:
        first, second = -(a[..., 2] * b[..., 1]), a[..., 2] * b[..., 0]
    else:
        first = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
        second = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    return torch.stack([first, second, third], -1)
