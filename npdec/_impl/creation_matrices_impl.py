"""Building matrices and coordinate grids (NumPy: "Array creation routines", building matrices, and grids)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLike, DTypeLike, Frozen, Like, View, public
from npdec._impl import _devices, _storage, dtypes_impl
from npdec._impl._devices import as_device
from npdec._impl._reduce import SUMMED
from npdec._impl._util import are_numbers
from npdec._impl.creation_impl import allocate, check_shape


def _identity(n: Any) -> torch.Tensor | None:
    return None if _devices.used else torch.eye(n, dtype=torch.float64)


IDENTITY = Direct(_identity)
_DOUBLE = frozenset({torch.float64})


@public(direct=IDENTITY)
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = float,
    order: str = "C",
    *,
    device: Any = None,
    like: Like = None,
) -> Array:
    """An N-by-M matrix (N-by-N unless M is given) with ones on one diagonal and zeros elsewhere.

    The diagonal is the main one for k = 0, above it for positive k, below it for negative k.
    Raises ValueError for a negative size.

    >>> np.eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    M = N if M is None else M
    dtype = torch.float64 if dtype is float else dtype
    k = operator.index(k)
    if not k and order == "C" and device is None and not _devices.used and dtype is torch.float64 and min(N, M) >= 0:
        return torch.eye(N, M, dtype=dtype)
    matrix = allocate((N, M), dtype, _storage.check_order(order, "CF"), device).zero_()
    if -N < k < M:
        torch.diagonal(matrix, k).fill_(1)
    return matrix


@public(direct=IDENTITY)
def identity(n: int, dtype: DTypeLike | None = None, *, like: Like = None) -> Array:
    """The n-by-n matrix with ones on the main diagonal; float64 unless a dtype is given.

    Raises ValueError if n is negative.

    >>> np.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=torch.float64 if dtype is None else dtype)


def lower_mask(rows: int, columns: int, k: int, device: Any = None) -> torch.Tensor:
    """The boolean matrix that is True on and below the k-th diagonal."""
    device = as_device(device)
    i = torch.arange(max(rows, 0), device=device).unsqueeze(1)
    j = torch.arange(max(columns, 0), device=device)
    return j <= i + min(max(k, -max(rows, 1)), max(columns, 1))


def _triangle_of_ones(N: Any) -> torch.Tensor | None:
    return torch.ones((N, N), dtype=torch.float64).tril() if type(N) is int and not _devices.used else None


@public(direct=Direct(_triangle_of_ones))
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float, *, like: Like = None) -> Array:
    """An N-by-M matrix (N-by-N unless M is given) with ones on and below the k-th diagonal, and zeros above it.

    >>> np.tri(2, 3, dtype=int)
    array([[1, 0, 0],
           [1, 1, 0]])
    """
    return lower_mask(N, N if M is None else M, k).to(torch.float64 if dtype is float else dtype)


@public
def diag(v: ArrayLike, k: int = 0) -> Frozen:
    """The k-th diagonal of a matrix (a read-only view), or for a vector the matrix that has it as its k-th diagonal.

    Raises ValueError unless v has one or two dimensions.

    >>> np.diag([1, 2])
    array([[1, 0],
           [0, 2]])
    """
    if v.ndim == 1:
        return torch.diag_embed(v, k)
    if v.ndim != 2:
        raise ValueError("Input must be 1- or 2-d.")
    return torch.diagonal(v, _clip_offset(k, v.shape[0], v.shape[1]))


def _clip_offset(k: int, rows: int, columns: int) -> int:
    return max(-rows, min(k, columns))


@public
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """The matrix that has the elements of v, in row-major order, as its k-th diagonal, and zeros elsewhere.

    >>> np.diagflat([[1], [2]], 1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    return torch.diag_embed(v.reshape(-1), k)


def _triangle(m: torch.Tensor, k: int, part: Callable[..., torch.Tensor]) -> torch.Tensor:
    if m.ndim == 0:
        raise TypeError("tril and triu need an array of at least one dimension, not a scalar")
    if m.ndim == 1:
        m = m.expand(m.shape[0], m.shape[0])
    k = max(-m.shape[-2] - 1, min(k, m.shape[-1] + 1))
    return _storage.seen_as(part(_storage.signed(m), k), m.dtype)


@public(direct=Direct(torch.tril, SUMMED, linear=True))
def tril(m: ArrayLike, k: int = 0) -> Array:
    """A copy of each matrix in the last two axes with the elements above the k-th diagonal set to zero.

    A vector is taken for every row of a square matrix.

    >>> np.tril([[1, 2], [3, 4]])
    array([[1, 0],
           [3, 4]])
    """
    return _triangle(m, k, torch.tril)


@public(direct=Direct(torch.triu, SUMMED, linear=True))
def triu(m: ArrayLike, k: int = 0) -> Array:
    """A copy of each matrix in the last two axes with the elements below the k-th diagonal set to zero.

    A vector is taken for every row of a square matrix.

    >>> np.triu([[1, 2], [3, 4]], 1)
    array([[0, 2],
           [0, 0]])
    """
    return _triangle(m, k, torch.triu)


def _powers(x: torch.Tensor) -> torch.Tensor | None:
    """torch.vander multiplies in place, so that it has no gradient (torch 2.13)."""
    return torch.vander(x) if x.dim() == 1 and are_numbers(x) else None


@public(errors="accumulate", direct=Direct(_powers, _DOUBLE))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The matrix whose columns are powers of a vector: x**(N-1), …, x, 1, or in reverse with `increasing=True`.

    N is the number of columns, len(x) unless given. Integers smaller than int64 are widened to it.
    Raises ValueError unless x has one dimension.

    >>> np.vander([2, 3], 3)
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = x.shape[0] if N is None else N
    dtype = dtypes_impl.promote_types(x.dtype, torch.int64)
    check_shape((x.shape[0], columns))
    powers = [torch.ones(x.shape, dtype=dtype, device=x.device)]
    x = x.to(dtype)
    for _ in range(columns - 1):
        powers.append(powers[-1] * x)
    if not columns:
        return powers[0].new_empty((x.shape[0], 0))
    return torch.stack(powers if increasing else powers[::-1], 1)


@public
def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[View, ...]:
    """One coordinate array for each vector, which together run over the grid that the vectors span.

    A tuple. With `indexing="ij"` the i-th vector runs along axis i; with "xy" the first two axes are exchanged.
    With `sparse=True` every array has length one along the axes of the others; with `copy=False` they are views,
    elements of which share memory. Raises ValueError for another `indexing`.

    >>> np.meshgrid([1, 2], [5], sparse=True)
    (array([[1, 2]]), array([[5]]))
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = [1, 0]
    grids = [
        torch.reshape(x, [-1 if i == axis else 1 for i in range(len(xi))]) for axis, x in zip(axes, xi, strict=True)
    ]
    if not sparse:
        shape = [1] * len(xi)
        for axis, x in zip(axes, xi):
            shape[axis] = x.numel()
        grids = [torch.broadcast_to(grid, shape) for grid in grids]
    return tuple([_copied(grid) if copy else grid for grid in grids])


def _copied(grid: torch.Tensor) -> torch.Tensor:
    return grid.clone() if grid.is_contiguous() else grid.contiguous()
