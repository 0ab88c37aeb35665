"""Linear algebra: determinants and other numbers, equations and inverses. Matrices are the last two axes of a stack."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLike, NoValue, Opaque, Smooth, public
from npdec._impl import _util, products_stacked_impl
from npdec._impl._gufunc import Signature, shape_text
from npdec._impl._linalg import check_2d, check_matrices, check_square, failing_with, in_double, inexact
from npdec._impl.dtypes_impl import real_dtype
from npdec._impl.linalg_decompositions_impl import hermitian as hermitian_matrix
from npdec._impl.linalg_norms_impl import as_order, extreme, matrix_norm_of
from npdec.exceptions import LinAlgError

_DOUBLE = frozenset({torch.float64})
_SOLVE = Signature("solve", "(m,m),(m,n)->(m,n)")
_SOLVE1 = Signature("solve1", "(m,m),(m)->(m)")


class SlogdetResult(NamedTuple):
    """The sign (or phase) of a determinant, and the logarithm of its magnitude."""

    sign: Any
    logabsdet: Any


# --- other numbers ----------------------------------------------------------------------------------------------------


@public(errors="det", direct=Direct(torch.linalg.det, _DOUBLE))
def det(a: ArrayLike):
    """Determinants of square matrices. Raises LinAlgError if they are not square.

    >>> np.linalg.det([[1.0, 2.0], [0.0, 3.0]])
    np.float64(3.0)
    """
    check_square(a)
    return in_double(torch.linalg.det, a)


@public(direct=Direct(lambda a: SlogdetResult(*torch.linalg.slogdet(a)), _DOUBLE))
def slogdet(a: ArrayLike):
    """Signs of determinants (phases, of complex ones) and the logarithms of their magnitudes, as a SlogdetResult.

    A singular matrix has sign 0 and logarithm -inf. Raises LinAlgError if the matrices are not square.

    >>> np.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]]).sign
    np.float64(-1.0)
    """
    check_square(a)
    return SlogdetResult(*in_double(torch.linalg.slogdet, a))


@public
def matrix_rank(A: Opaque, tol: Opaque | None = None, hermitian: bool = False, *, rtol: Opaque | None = None):
    """Number of singular values of matrices above a tolerance: `tol`, or `rtol` times the largest of them.

    Without either, `rtol` is the larger side of a matrix times the precision of its dtype. `hermitian` says that the
    matrices are, which is faster. An array without matrices has rank 0 if it is all zero, otherwise 1.

    >>> np.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    np.int64(1)
    """
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if A.ndim < 2:
        return int((A != 0).any())
    values = _singular_values(A, hermitian)
    if tol is not None:
        threshold = tol.unsqueeze(-1)
    else:
        precision = max(A.shape[-2:]) * torch.finfo(values.dtype).eps
        threshold = extreme(values, (-1,), True, True) * (precision if rtol is None else rtol.unsqueeze(-1))
    return torch.sum(values > threshold, -1)


def _singular_values(a: torch.Tensor, hermitian: bool = False) -> torch.Tensor:
    with failing_with("SVD did not converge"):
        if not hermitian:
            return in_double(torch.linalg.svdvals, a)
        check_square(a)
        values = in_double(lambda a: torch.linalg.eigvalsh(hermitian_matrix(a)), a)
        return torch.sort(torch.abs(values), -1, descending=True)[0]


@public
def cond(x: Smooth, p: Any = None):
    """Condition numbers of matrices in a norm of `norm`: the norm of a matrix times that of its inverse.

    Without `p`, the ratio of the largest to the smallest singular value; -2 is its inverse. inf for singular matrices.
    Raises LinAlgError for empty matrices, and where the norm needs an inverse for matrices that are not square.

    >>> np.linalg.cond([[4.0, 0.0], [0.0, 2.0]])
    np.float64(2.0)
    """
    if not all(x.shape[-2:]):
        raise LinAlgError("cond is not defined on empty arrays")
    order = 2.0 if p is None else as_order(p)
    if order in (2, -2):
        check_matrices(x)
        values = _singular_values(x)
        largest, smallest = values.select(-1, 0), values.select(-1, -1)
        result = largest / smallest if order == 2 else smallest / largest
        if not result.dim() and _util.are_numbers(result) and not math.isnan(result):
            return result
        singular = torch.zeros_like(result, dtype=torch.bool)
    else:
        check_square(x)
        (a,) = inexact(x)
        inverse, failed = in_double(torch.linalg.inv_ex, a)
        singular = failed != 0
        result = matrix_norm_of(a, order, a.ndim - 2, a.ndim - 1, False)
        result = result * matrix_norm_of(inverse, order, a.ndim - 2, a.ndim - 1, False)
    unknown = torch.isnan(x).any(-1).any(-1)
    return torch.where((singular | torch.isnan(result)) & ~unknown, math.inf, result)


# --- equations and inverses -------------------------------------------------------------------------------------------


def _solved(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    return torch.linalg.solve(a, b).contiguous() if a.dim() == 2 and 0 < b.dim() < 3 else None


@public(direct=Direct(_solved, _DOUBLE))
def solve(a: ArrayLike, b: ArrayLike):
    """The solution x of a x = b for square matrices `a`.

    `b` is one vector if it has one dimension, otherwise a stack of matrices of shape (..., m, k); stacks broadcast.
    Raises LinAlgError if a matrix is singular or not square, ValueError if `b` does not fit.

    >>> np.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    array([1. , 0.5])
    """
    check_square(a)
    a, b = inexact(a, b)
    signature = _SOLVE1 if b.ndim == 1 else _SOLVE
    operands = (a, b)
    core = signature.core(operands)
    if b.ndim == 1:
        b = b.unsqueeze(-1)
    if b.ndim < a.ndim:  # with as many axes as `a` has, torch cannot take a stack of columns for a stack of vectors
        b = b.expand(a.shape[: a.ndim - b.ndim] + b.shape)
    try:
        with failing_with("Singular matrix"):
            x = in_double(torch.linalg.solve, a, b)
    except RuntimeError:  # shapes that do not fit, most likely
        signature.check_sizes(core, list(operands))
        raise
    return x.squeeze(-1) if signature is _SOLVE1 else x


@public(direct=Direct(lambda a: torch.linalg.inv(a).contiguous(), _DOUBLE))
def inv(a: ArrayLike) -> Array:
    """Inverses of square matrices. Raises LinAlgError if one is singular or not square.

    >>> np.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    check_square(a)
    with failing_with("Singular matrix"):
        return in_double(torch.linalg.inv, a)


def _inverted(a: torch.Tensor) -> torch.Tensor | None:
    return torch.linalg.pinv(a, rtol=_RTOL).contiguous() if a.dim() == 2 and a.numel() else None


_RTOL = 1e-15  # of a pseudo-inverse, unless another is given


@public(direct=Direct(_inverted, _DOUBLE))
def pinv(a: ArrayLike, rcond: Opaque | None = None, hermitian: bool = False, *, rtol: Opaque | None = NoValue) -> Array:
    """Moore-Penrose pseudo-inverses of matrices, from their singular value decompositions.

    Singular values up to `rcond` (also called `rtol`; 1e-15) times the largest count as zero; `rtol=None` is the larger
    side of a matrix times the precision of its dtype. `hermitian` says that the matrices are, which is faster.

    >>> np.linalg.pinv([[1.0], [1.0]])
    array([[0.5, 0.5]])
    """
    if rtol is not NoValue:
        if rcond is not None:
            raise ValueError("`rtol` and `rcond` can't be both set.")
        rcond = rtol
    check_matrices(a)
    if not all(a.shape[-2:]):
        return torch.empty(a.mT.shape, dtype=a.dtype, device=a.device)
    if hermitian:
        check_square(a)
    (a,) = inexact(a)
    real = real_dtype(a.dtype)
    if rcond is not None:
        threshold = rcond.to(real)
    else:
        size = _RTOL if rtol is NoValue else max(a.shape[-2:]) * torch.finfo(real).eps
        threshold = torch.tensor(size, dtype=real, device=a.device)
    if threshold.ndim > a.ndim - 2:
        raise ValueError(
            f"pinv: rcond of shape {shape_text(threshold.shape)} does not fit matrices of shape {shape_text(a.shape)}"
        )
    with failing_with("SVD did not converge"):
        return in_double(functools.partial(_pinv, threshold=threshold, hermitian=bool(hermitian)), a)


def _pinv(a: torch.Tensor, threshold: torch.Tensor, hermitian: bool) -> torch.Tensor:
    threshold = threshold.to(real_dtype(a.dtype))
    return torch.linalg.pinv(hermitian_matrix(a) if hermitian else a, rtol=threshold, hermitian=hermitian)


@public
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None):
    """The x of smallest norm that minimises the norm of b - a x, for one matrix `a`; b is a vector or a matrix.

    Returns x, the sums of squared residuals of the columns of b (empty unless `a` has full rank and more rows than
    columns), the rank of `a` and its singular values. Those up to `rcond` times the largest count as zero: without it
    the larger side of `a` times the precision of float64, and half that precision unless `rcond` is between 0 and 1.
    Raises LinAlgError if the rows of `a` and `b` differ in number.

    >>> x, residuals, rank, s = np.linalg.lstsq([[1.0], [1.0]], [1.0, 3.0])
    >>> x, residuals, rank
    (array([2.]), array([2.]), np.int32(1))
    """
    columns = b.unsqueeze(-1) if b.ndim == 1 else b
    check_2d(a, columns)
    rows, unknowns = a.shape
    if rows != columns.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    with failing_with("SVD did not converge in Linear Least Squares"):
        x, values, rank, residuals = in_double(functools.partial(_least_squares, rcond=rcond), a, columns)
    if rows <= unknowns or int(rank) != unknowns:
        residuals = values[:0]
    return x.squeeze(-1) if b.ndim == 1 else x, residuals, rank, values


def _least_squares(a: torch.Tensor, b: torch.Tensor, rcond: float | None) -> tuple[torch.Tensor, ...]:
    """The solution, the singular values, the rank and the sums of squared residuals."""
    values = torch.linalg.svdvals(a)
    eps = torch.finfo(values.dtype).eps
    threshold = max(a.shape) * eps if rcond is None else float(rcond) if 0 < rcond < 1 else eps / 2
    cutoff = torch.tensor(threshold, dtype=values.dtype, device=a.device)
    x = products_stacked_impl.matmul(torch.linalg.pinv(a, rtol=cutoff), b)
    rank = torch.sum(values > cutoff * values[:1], dtype=torch.int32)
    return x, values, rank, torch.sum(torch.square(torch.abs(b - products_stacked_impl.matmul(a, x))), 0)


@public(errors="matmul")
def matrix_power(a: ArrayLike, n: Any) -> Array:
    """Square matrices multiplied n times with themselves; n = 0 gives the identity, negative n powers of the inverse.

    Raises LinAlgError if the matrices are not square, or singular for a negative n; TypeError if n is no integer.

    >>> np.linalg.matrix_power([[1, 1], [0, 1]], 5)
    array([[1, 5],
           [0, 1]])
    """
    check_square(a)
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError("exponent must be an integer") from None
    if n == 0:
        # torch.eye does not know the unsigned dtypes.
        return torch.eye(a.shape[-1], dtype=torch.int64, device=a.device).to(a.dtype).expand(a.shape).clone()
    if n < 0:
        a, n = inv(a), -n
    while n % 2 == 0:
        a, n = products_stacked_impl.matmul(a, a), n // 2
    power = a.clone()
    while n := n // 2:
        a = products_stacked_impl.matmul(a, a)
        if n % 2:
            power = products_stacked_impl.matmul(power, a)
    return power


def _tensor_solved(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    shape, count = a.shape[b.dim() :], b.numel()
    if not shape or not count or math.prod(shape) != count:
        return None
    return torch.linalg.solve(a.reshape(count, count), b.reshape(count)).reshape(shape)


@public(direct=Direct(_tensor_solved, _DOUBLE))
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Any = None) -> Array:
    """The x with `tensordot(a, x, x.ndim) == b`: a system of equations whose unknowns and results are arrays.

    The first axes of `a` are those of `b`, the others those of x; `axes` are moved to the end of `a` before. Raises
    LinAlgError if there are not as many unknowns as equations, or the system is singular.

    >>> np.linalg.tensorsolve(np.eye(4).reshape(2, 2, 2, 2), np.ones((2, 2)))
    array([[1., 1.],
           [1., 1.]])
    """
    if axes is not None:
        moved = _util.normalize_axes(axes, a.ndim)
        a = a.permute([axis for axis in range(a.ndim) if axis not in moved] + list(moved))
    shape = tuple(a.shape[b.ndim - a.ndim :])  # all of it where none are left, as for NumPy
    equations, unknowns = math.prod(a.shape[: b.ndim]), math.prod(shape)
    if a.numel() != unknowns**2:
        raise LinAlgError(
            f"Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim]): {unknowns} "
            f"unknowns of shape {shape_text(shape)}, {equations} equations of shape {shape_text(a.shape[: b.ndim])}"
        )
    return solve(a.reshape(unknowns, unknowns), b.reshape(-1)).reshape(shape)


@public
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of `a` for `tensordot` over its first `ind` axes, which become the last ones of the result.

    Raises LinAlgError if the first axes do not hold as many elements as the others, or the inverse does not exist,
    ValueError unless `ind` is positive.

    >>> np.linalg.tensorinv(np.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    results, unknowns = tuple(a.shape[:ind]), tuple(a.shape[ind:])
    return inv(a.reshape(math.prod(results), math.prod(unknowns))).reshape(unknowns + results)
