"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, AxisLike, KeepDims, public
from npdec._impl import _util
from npdec._impl._linalg import failing_with, in_double


def _length(x: torch.Tensor, axis: int | None = None) -> torch.Tensor | None:
    if axis is not None:
        return torch.linalg.vector_norm(x, 2.0, axis) if x.dim() else None  # torch gives a number one axis
    return torch.linalg.vector_norm(x if x.dim() == 1 else x.reshape(-1))


def _length_of_vector(x: torch.Tensor, axis: int | None = None) -> torch.Tensor | None:
    return _length(x, axis) if axis is not None or x.dim() == 1 else None


def _length_of_matrix(x: torch.Tensor) -> torch.Tensor | None:
    if x.dim() == 2:
        return torch.linalg.vector_norm(x)
    return torch.linalg.vector_norm(x, 2.0, (-2, -1)) if x.dim() > 2 else None


_COMPUTED = frozenset({torch.float32, torch.float64, torch.complex64, torch.complex128})


@public(errors="dot", direct=Direct(_length, _COMPUTED, ("axis",)))
def norm(x: ArrayLike, ord: Any = None, axis: AxisLike | None = None, keepdims: KeepDims = False):
    """Norm of vectors or matrices; without `ord`, the root of the sum of the squared magnitudes of all elements.

    `axis` is an int for vectors, two ints for matrices; without it the array itself is the vector or the matrix. For
    vectors `ord` is any number p, for sum(|x|^p)^(1/p), where inf and -inf stand for the largest and the smallest
    magnitude and 0 counts what is not zero. For matrices: "fro" (the default), "nuc" (sum of the singular values),
    2 and -2 (largest, smallest singular value), 1 and -1 (of the sums of the columns), inf and -inf (of the rows).

    >>> np.linalg.norm([3.0, 4.0])
    np.float64(5.0)
    >>> np.linalg.norm([[1.0, -2.0], [3.0, 4.0]], ord=1, axis=(0, 1))
    np.float64(6.0)
    """
    order = as_order(ord)
    if axis is None:
        if order is None or (order == "fro" and x.ndim == 2) or (order == 2 and x.ndim == 1):
            result = _vector_norm(x.reshape(-1), 2.0, (0,), False)
            return result.reshape((1,) * x.ndim) if keepdims else result
        axes = tuple(range(x.ndim))
    else:
        axes = _util.normalize_axes(axis, x.ndim, allow_duplicate=True)
    if len(axes) == 1:
        if isinstance(order, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return _vector_norm(x, 2.0 if order is None else order, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    return matrix_norm_of(x, order, axes[0], axes[1], keepdims)


@public(direct=Direct(_length_of_vector, _COMPUTED, ("axis",)))
def vector_norm(x: ArrayLike, /, *, axis: AxisLike | None = None, keepdims: bool = False, ord: Any = 2):
    """Norm of vectors that lie along one axis, or spread over several, or over all: `norm` for vectors.

    `ord` is any number p, for sum(|x|^p)^(1/p); see `norm` for inf, -inf and 0.

    >>> np.linalg.vector_norm([[3.0, 0.0], [0.0, 4.0]])
    np.float64(5.0)
    """
    order = as_order(ord)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    return _vector_norm(x, 2.0 if order is None else order, _util.normalize_axes(axis, x.ndim), bool(keepdims))


@public(direct=Direct(_length_of_matrix, _COMPUTED))
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro"):
    """Norm of the matrices in the last two axes: `norm` for matrices, with the same values of `ord`.

    >>> np.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]], ord="nuc")
    np.float64(7.0)
    """
    rows, columns = _util.normalize_axes((-2, -1), x.ndim)
    return matrix_norm_of(x, as_order(ord), rows, columns, bool(keepdims))


def as_order(ord: Any) -> float | str | None:
    """The order as a float, None, or a string: "fro" for the Frobenius norm, another one as it is."""
    if ord is None or isinstance(ord, str):
        return "fro" if ord == "f" else ord
    try:
        return float(ord)
    except (TypeError, ValueError):
        return repr(ord)


def _in_floats(x: torch.Tensor) -> torch.Tensor:
    """`x` in the dtype that its norm is computed in; integers are float64, half precision is summed in float32."""
    if x.dtype in (torch.float16, torch.bfloat16):
        return x.to(torch.float32)
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(torch.float64)


def _in_dtype_of(x: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    return result.to(x.dtype) if x.dtype in (torch.float16, torch.bfloat16) else result


def _vector_norm(x: torch.Tensor, p: float, axes: tuple[int, ...], keepdims: bool) -> torch.Tensor:
    if not axes:  # every element is a vector
        return _vector_norm(x.unsqueeze(0), p, (0,), False)
    if p in (math.inf, -math.inf):
        return extreme(torch.abs(_in_dtype_of(x, _in_floats(x))), axes, p > 0, keepdims)
    floats = _in_floats(x)
    if p < 0 and not all(x.shape[axis] for axis in axes):  # the sum of nothing is 0, and 0 ** (1 / p) is inf
        return _in_dtype_of(x, torch.full_like(torch.linalg.vector_norm(floats, 2.0, axes, keepdims), math.inf))
    return _in_dtype_of(x, torch.linalg.vector_norm(floats, p, axes, keepdims))


def extreme(x: torch.Tensor, axes: tuple[int, ...], largest: bool, keepdims: bool) -> torch.Tensor:
    if all(x.shape[axis] for axis in axes):
        return (torch.amax if largest else torch.amin)(x, axes, keepdims)
    if not largest:
        raise ValueError("zero-size array to reduction operation minimum which has no identity")
    return torch.sum(x, axes, keepdims)


def matrix_norm_of(x: torch.Tensor, ord: float | str | None, rows: int, columns: int, keepdims: bool) -> torch.Tensor:
    if ord in (None, "fro"):
        return _vector_norm(x, 2.0, (rows, columns), keepdims)
    if ord in (2, -2, "nuc"):
        matrices = torch.movedim(x, (rows, columns), (-2, -1))
        with failing_with("SVD did not converge"):
            values = in_double(torch.linalg.svdvals, matrices)
        result = torch.sum(values, -1) if ord == "nuc" else extreme(values, (-1,), ord == 2, False)
    elif ord in (1, -1, math.inf, -math.inf):
        summed, compared = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = _vector_norm(x, 1.0, (summed,), True)
        result = extreme(sums, (compared,), ord in (1, math.inf), True).squeeze((rows, columns))
    else:
        raise ValueError("Invalid norm order for matrices.")
    return _util.restore_axes(result, (rows, columns)) if keepdims else result
