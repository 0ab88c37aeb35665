"""Linear algebra: decompositions and eigenvalues. All of them take stacks of matrices."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLike, public
from npdec._impl import _util
from npdec._impl._linalg import adjoint, check_matrices, check_square, failing_with, in_double
from npdec.exceptions import LinAlgError


class EigResult(NamedTuple):
    """Eigenvalues, and the eigenvectors in the columns of a matrix."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and the orthonormal eigenvectors in the columns of a matrix."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """A matrix with orthonormal columns, and an upper triangular one."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Left singular vectors in columns, singular values in descending order, right singular vectors in rows."""

    U: Any
    S: Any
    Vh: Any


def hermitian(a: torch.Tensor, upper: bool = False) -> torch.Tensor:
    """The Hermitian matrices of which one triangle of `a` is given; the other one is not read."""
    if upper:
        return torch.triu(a) + adjoint(torch.triu(a, 1))
    return torch.tril(a) + adjoint(torch.tril(a, -1))


def _lower(a: torch.Tensor, upper: bool) -> torch.Tensor:
    """Matrices with the lower triangle of `hermitian`, for functions that read no other. Of real numbers without a
    derivative these are the matrices themselves, but for the sign of zeros."""
    return hermitian(a, upper) if upper or a.is_complex() or not _util.are_numbers(a) else a + 0.0


_DOUBLE = frozenset({torch.float64})
_ZERO = torch.zeros((), dtype=torch.float64)


def _of_lower(function: Callable[[torch.Tensor], Any]) -> Direct:
    """The common call of a function that reads the lower triangles of square matrices, and refuses all others."""

    def computed(a: torch.Tensor) -> Any:
        if not _util.are_numbers(a):
            return None
        without = a.numel() <= _FEW and a.dim() == 2 and 0.0 not in itertools.chain.from_iterable(a.tolist())
        return function(a if without else a + _ZERO)

    return Direct(computed, _DOUBLE)


def _factor(a: torch.Tensor) -> torch.Tensor | None:
    """The factor of one matrix; None if there is none, which is asked sooner than it is raised."""
    factor, failed = torch.linalg.cholesky_ex(a)
    return None if failed.dim() or failed.item() else factor.contiguous()


@public(direct=_of_lower(_factor))
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Array:
    """The triangular factor L of positive definite matrices `a` = L L*, or with `upper` the factor U of U* U.

    Only the triangle of `a` on the side of the factor is read. Raises LinAlgError if a matrix is not square or not
    positive definite.

    >>> np.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    array([[2., 0.],
           [1., 2.]])
    """
    check_square(a)
    with failing_with("Matrix is not positive definite"):
        factor = in_double(lambda a: torch.linalg.cholesky(_lower(a, upper)), a)
    return torch.resolve_conj(adjoint(factor)) if upper else factor


def _orthogonalized(a: torch.Tensor) -> QRResult:
    q, r = torch.linalg.qr(a)
    return QRResult(q.contiguous(), r.contiguous())


@public(direct=Direct(_orthogonalized, _DOUBLE))
def qr(a: ArrayLike, mode: str = "reduced"):
    """Matrices `a` = Q R with orthonormal columns in Q and an upper triangular R, as a QRResult.

    For matrices of m rows and n columns and k = min(m, n), "reduced" gives Q of shape (m, k), "complete" of shape
    (m, m); "r" gives R alone, and "raw" LAPACK's reflectors, transposed, with their scale factors.

    >>> q, r = np.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> np.allclose(q @ r, [[3, 1], [4, 2]]), np.allclose(q.T @ q, np.eye(2))
    (True, True)
    """
    if mode in ("full", "f", "economic", "e"):
        _util.warn(
            f"The '{mode}' option is deprecated in favor of '{'reduced' if mode[0] == 'f' else 'r'}'.",
            DeprecationWarning,
        )
        if mode[0] == "e":
            check_matrices(a)
            return torch.transpose(in_double(_reflectors, a)[0], -2, -1)
        mode = "reduced"
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    check_matrices(a)
    if mode == "raw":
        return in_double(_reflectors, a)
    q, r = in_double(functools.partial(torch.linalg.qr, mode="complete" if mode == "complete" else "reduced"), a)
    return r if mode == "r" else QRResult(q, r)


def _reflectors(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    h, tau = torch.geqrf(a)
    return torch.transpose(h, -2, -1), tau


def _decomposed(a: torch.Tensor, full_matrices: Any) -> SVDResult | None:
    if type(full_matrices) is not bool:
        return None
    u, s, vh = torch.linalg.svd(a, full_matrices)
    return SVDResult(u.contiguous(), s.contiguous(), vh.contiguous())


@public(direct=Direct(_decomposed, _DOUBLE, ("full_matrices",)))
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False):
    """Singular value decomposition `a` = (U * S) Vh, as an SVDResult; the singular values alone without `compute_uv`.

    For matrices of m rows and n columns and k = min(m, n), U and Vh are square with `full_matrices`; otherwise they
    have k columns, or rows. `hermitian` says that the matrices are, which is faster. Raises LinAlgError if the
    computation does not converge (nan in a matrix).

    >>> np.linalg.svd([[3.0, 0.0], [0.0, -2.0]], compute_uv=False)
    array([3., 2.])
    """
    check_matrices(a)
    if hermitian:
        check_square(a)
        result = in_double(functools.partial(_svd_hermitian, compute_uv=compute_uv), a)
        return SVDResult(*result) if compute_uv else result
    with failing_with("SVD did not converge"):
        if not compute_uv:
            return in_double(torch.linalg.svdvals, a)
        return SVDResult(*in_double(functools.partial(torch.linalg.svd, full_matrices=bool(full_matrices)), a))


def _svd_hermitian(a: torch.Tensor, compute_uv: bool) -> Any:
    """From the eigenvalues w: the singular values are |w|, and the signs of w (1 for 0) go into the right vectors."""
    if not compute_uv:
        return torch.sort(torch.abs(_eigvalsh(a, False)), -1, descending=True)[0]
    values, vectors = _eigh(a, False)
    magnitudes = torch.abs(values)
    order = torch.argsort(magnitudes, dim=-1, stable=True).flip(-1)  # of equal ones the last comes first, as in NumPy
    values = torch.take_along_dim(values, order, -1)
    vectors = torch.take_along_dim(vectors, order.unsqueeze(-2), -1)
    signed = vectors * torch.where(values < 0, -1, 1).to(values.dtype).unsqueeze(-2)
    return vectors, torch.take_along_dim(magnitudes, order, -1), torch.resolve_conj(adjoint(signed))


@public(direct=Direct(torch.linalg.svdvals, _DOUBLE))
def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices, in descending order. Raises LinAlgError if the computation does not converge.

    >>> np.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]])
    array([2., 1.])
    """
    check_matrices(x)
    with failing_with("SVD did not converge"):
        return in_double(torch.linalg.svdvals, x)


# --- eigenvalues ------------------------------------------------------------------------------------------------------


def _check_finite(a: torch.Tensor) -> None:
    if _util.are_numbers(a) and not a.is_complex():
        few = a.numel() <= _FEW and a.dim() == 2
        if math.isfinite(sum(itertools.chain.from_iterable(a.tolist())) if few else torch.sum(a).item()):
            return
    if not torch.isfinite(a).all():
        raise LinAlgError("Array must not contain infs or NaNs")


def _all_real(a: torch.Tensor, values: torch.Tensor) -> bool:
    """Whether the eigenvalues of a real matrix are real, which decides the dtype of the result."""
    if a.dtype.is_complex:
        return False
    if values.dim() == 1 and values.shape[0] <= _FEW and _util.are_numbers(values):
        return not any(number.imag for number in values.tolist())
    return bool((torch.imag(values) == 0).all())


_FEW = 20  # elements that Python looks at sooner than torch


@public
def eig(a: ArrayLike):
    """Eigenvalues of square matrices and their normalised right eigenvectors, as an EigResult.

    They are complex unless all eigenvalues of a real input are real, and in no particular order. Raises LinAlgError if
    a matrix is not square, contains inf or nan, or the computation does not converge.

    >>> np.linalg.eig([[2.0, 0.0], [0.0, 3.0]]).eigenvalues
    array([2., 3.])
    """
    check_square(a)
    _check_finite(a)
    with failing_with("Eigenvalues did not converge"):
        values, vectors = in_double(torch.linalg.eig, a)
    if _all_real(a, values):
        values, vectors = torch.real(values), torch.real(vectors)
    return EigResult(values, vectors)


@public
def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of square matrices, in no particular order; real if all eigenvalues of a real input are.

    Raises LinAlgError if a matrix is not square, contains inf or nan, or the computation does not converge.

    >>> np.linalg.eigvals([[0.0, -1.0], [1.0, 0.0]])
    array([0.+1.j, 0.-1.j])
    """
    check_square(a)
    _check_finite(a)
    with failing_with("Eigenvalues did not converge"):
        values = in_double(torch.linalg.eigvals, a)
    return torch.real(values) if _all_real(a, values) else values


def _upper(UPLO: str) -> bool:
    side = UPLO.upper()
    if side not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return side == "U"


def _eigh(a: torch.Tensor, upper: bool) -> tuple[torch.Tensor, torch.Tensor]:
    with failing_with("Eigenvalues did not converge"):
        return torch.linalg.eigh(_lower(a, upper))


def _eigvalsh(a: torch.Tensor, upper: bool) -> torch.Tensor:
    with failing_with("Eigenvalues did not converge"):
        return torch.linalg.eigvalsh(_lower(a, upper))


def _eigen(a: torch.Tensor) -> EighResult:
    values, vectors = torch.linalg.eigh(a)
    return EighResult(values, vectors.contiguous())


@public(direct=_of_lower(_eigen))
def eigh(a: ArrayLike, UPLO: str = "L"):
    """Eigenvalues, ascending, and orthonormal eigenvectors of Hermitian (real: symmetric) matrices, as an EighResult.

    Only the lower ("L") or upper ("U") triangle is read. Raises LinAlgError if a matrix is not square or the
    computation does not converge.

    >>> np.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues
    array([1., 3.])
    """
    upper = _upper(UPLO)
    check_square(a)
    return EighResult(*in_double(functools.partial(_eigh, upper=upper), a))


@public(direct=_of_lower(torch.linalg.eigvalsh))
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Array:
    """Eigenvalues, ascending, of Hermitian (real: symmetric) matrices, of which one triangle ("L" or "U") is read.

    Raises LinAlgError if a matrix is not square or the computation does not converge.

    >>> np.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
    array([1., 3.])
    """
    upper = _upper(UPLO)
    check_square(a)
    return in_double(functools.partial(_eigvalsh, upper=upper), a)
