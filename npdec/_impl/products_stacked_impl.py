"""Products of stacks of vectors and matrices: generalised ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, DTypeLike, KeepDims, NoValue, OutArray, public
from npdec._impl._gufunc import Options, Signature, call
from npdec._impl.products_impl import DIRECT, conjugate, matrix_product

_MATMUL = Signature("matmul", "(n?,k),(k,m?)->(n?,m?)")
_VECDOT = Signature("vecdot", "(n),(n)->()")
_MATVEC = Signature("matvec", "(m,n),(n)->(m)")
_VECMAT = Signature("vecmat", "(n),(n,m)->(m)")
_DEFAULTS = Options(NoValue, NoValue, False, "same_kind", "K", None, True, None)


def _generalized(
    signature: Signature,
    product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    x1: torch.Tensor,
    x2: torch.Tensor,
    options: Options,
) -> torch.Tensor:
    """The plain call goes straight to torch; shapes that do not fit take the general way, which says what is wrong."""
    if x1.dtype is x2.dtype and x1.dtype in DIRECT and options == _DEFAULTS and signature.fits(x1.ndim, x2.ndim):
        try:
            return product(x1, x2)
        except RuntimeError:
            pass
    return call(signature, product, (x1, x2), options)


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    return a.matmul(b) if a.dim() and b.dim() else None


MATMUL = Direct(_product, DIRECT)


@public(signature=_MATMUL.text, errors="matmul", direct=MATMUL)
def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: OutArray | None = None,
    *,
    axes: Any = NoValue,
    axis: Any = NoValue,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike | None = None,
    subok: Any = True,
    signature: Any = None,
):
    """Matrix product of two arrays, or of stacks of matrices, which broadcast: the operator `@`.

    A vector on the left is a row, on the right a column, and its axis is missing from the result; two vectors give a
    scalar. `axes` lists where the matrices are: one tuple of two axes for each operand and for the result. Booleans
    combine by "and" and "or". Raises ValueError for a scalar, or if the summed axes differ in length.

    >>> np.matmul([[1, 2], [3, 4]], [[0, 1], [1, 0]])
    array([[2, 1],
           [4, 3]])
    """
    # Whether all options are what they are unless given is asked by the shortest way.
    plain = axes is axis is NoValue and keepdims is False and casting == "same_kind" and order == "K" and subok is True
    if plain and dtype is signature is None and x1.dtype is x2.dtype and x1.dtype in DIRECT and x1.dim() and x2.dim():
        try:
            return torch.matmul(x1, x2)
        except RuntimeError:
            pass
    options = Options(axes, axis, keepdims, casting, order, dtype, subok, signature)
    return _generalized(_MATMUL, matrix_product, x1, x2, options)


def _stacked_dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    if a.dim() == 2 == b.dim():
        return torch.bmm(a.unsqueeze(1), b.unsqueeze(2)).ravel()  # sooner than by view
    if a.shape != b.shape or not a.dim():
        return None
    return torch.matmul(a.unsqueeze(-2), b.unsqueeze(-1)).squeeze((-2, -1))


VECDOT = Direct(_stacked_dot, DIRECT - {torch.complex64, torch.complex128})


@public(signature=_VECDOT.text, errors="vecdot", direct=VECDOT)
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: OutArray | None = None,
    *,
    axes: Any = NoValue,
    axis: Any = NoValue,
    keepdims: KeepDims = False,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike | None = None,
    subok: Any = True,
    signature: Any = None,
):
    """Dot products of stacks of vectors, which broadcast; the vectors of `x1` are conjugated.

    The vectors lie along the last axis, or along `axis`. Raises ValueError for a scalar, or if the vectors differ in
    length.

    >>> np.vecdot([[1, 2], [3, 4]], [1, 10])
    array([21, 43])
    """

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return matrix_product(conjugate(a).unsqueeze(-2), b.unsqueeze(-1)).squeeze(-1).squeeze(-1)

    options = Options(axes, axis, keepdims, casting, order, dtype, subok, signature)
    return _generalized(_VECDOT, product, x1, x2, options)


@public(signature=_MATVEC.text, errors="matvec")
def matvec(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: OutArray | None = None,
    *,
    axes: Any = NoValue,
    axis: Any = NoValue,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike | None = None,
    subok: Any = True,
    signature: Any = None,
):
    """Products of stacks of matrices with stacks of vectors, which broadcast.

    `x1` has shape (..., m, n) and `x2` shape (..., n); the result has shape (..., m). Raises ValueError if the lengths
    differ.

    >>> np.matvec([[1, 2], [3, 4]], [[1, 0], [1, 1]])
    array([[1, 3],
           [3, 7]])
    """

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return matrix_product(a, b.unsqueeze(-1)).squeeze(-1)

    options = Options(axes, axis, keepdims, casting, order, dtype, subok, signature)
    return _generalized(_MATVEC, product, x1, x2, options)


@public(signature=_VECMAT.text, errors="vecmat")
def vecmat(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: OutArray | None = None,
    *,
    axes: Any = NoValue,
    axis: Any = NoValue,
    keepdims: bool = False,
    casting: str = "same_kind",
    order: str = "K",
    dtype: DTypeLike | None = None,
    subok: Any = True,
    signature: Any = None,
):
    """Products of stacks of vectors, which are conjugated, with stacks of matrices; both broadcast.

    `x1` has shape (..., n) and `x2` shape (..., n, m); the result has shape (..., m). Raises ValueError if the lengths
    differ.

    >>> np.vecmat([1, 10], [[1, 2], [3, 4]])
    array([31, 42])
    """

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return matrix_product(conjugate(a).unsqueeze(-2), b).squeeze(-2)

    options = Options(axes, axis, keepdims, casting, order, dtype, subok, signature)
    return _generalized(_VECMAT, product, x1, x2, options)
