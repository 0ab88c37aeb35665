"""Polynomials as arrays of coefficients, that of the highest power first."""

from __future__ import annotations

from typing import Any

import torch

from npdec._core.tags import Array, ArrayLike, Coefficients, Inexact, public
from npdec._impl import _convolve, creation_matrices_impl, linalg_decompositions_impl, linalg_impl
from npdec._impl._gufunc import widened
from npdec._impl._util import warn
from npdec._impl.dtypes_impl import promote, real_dtype
from npdec._impl.products_impl import multiply
from npdec.exceptions import RankWarning


def _coefficients(name: str, p: torch.Tensor) -> torch.Tensor:
    """The coefficients as a vector; a scalar is a constant."""
    if p.ndim > 1:
        raise ValueError(f"{name}: Polynomial must be 1d only. Got an array of {p.ndim} dimensions.")
    return p.reshape(-1)


def _as_float(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(torch.float64)


def _descending(n: int, like: torch.Tensor) -> torch.Tensor:
    """n, n - 1, ..., 1"""
    return torch.arange(n, 0, -1, device=like.device) if n > 0 else torch.arange(0, device=like.device)


def _behind(zeros: int, p: torch.Tensor) -> torch.Tensor:
    """`p` with zeros in front."""
    return torch.cat([torch.zeros(zeros, dtype=p.dtype, device=p.device), p]) if zeros else p


# --- values, derivatives, integrals -----------------------------------------------------------------------------------


@public(errors="multiply")
def polyval(p: ArrayLike, x: Coefficients):
    """The values of a polynomial at `x`, by Horner's rule: the shape is that of `x`.

    Where `x` is a poly1d, the result is the composition, a poly1d. The functions below give poly1ds for poly1ds.

    >>> np.polyval([1, 0, -1], [0, 1, 2])
    array([-1,  0,  3])
    """
    if p.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    if not len(p):
        return torch.zeros_like(x)
    p, x = promote(p, x)

    def horner(p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        value = torch.zeros_like(x)
        for coefficient in torch.unbind(p):
            value = value * x + coefficient
        return value

    return widened(horner, p, x)


@public
def polyder(p: Coefficients, m: int = 1) -> Array:
    """The coefficients of the m-th derivative of a polynomial. Raises ValueError for a negative m.

    >>> np.polyder([1, 2, 3])
    array([2, 2])
    """
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    if p.ndim == 0:
        raise TypeError("polyder: the coefficients are a vector; a scalar has no length")
    p = _coefficients("polyder", p).clone()
    for _ in range(m):
        factors, highest = promote(_descending(len(p) - 1, p), p[:-1])
        p = multiply(factors, highest)
        if not len(p):
            break
    return p


@public
def polyint(p: Coefficients, m: int = 1, k: ArrayLike | None = None) -> Array:
    """The coefficients of the m-th antiderivative of a polynomial, with integration constants `k` (zero by default).

    `k` is one number for all, or a vector of at least m, in the order of integration. Raises ValueError for a negative
    m or too few constants.

    >>> np.polyint([3, 2, 1], k=5)
    array([1., 1., 1., 5.])
    """
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    if p.ndim == 0:
        raise TypeError("polyint: the coefficients are a vector; a scalar has no length")
    if k is None:
        k = torch.zeros(m, dtype=torch.float64, device=p.device)
    elif k.ndim > 1:
        raise ValueError(f"polyint: k must be a scalar or 1d only, not of {k.ndim} dimensions")
    elif k.ndim == 0 or (len(k) == 1 and m > 1):
        k = k.reshape(-1)[:1].expand(max(m, 1))
        k = _as_float(k) if m > 1 else k
    if k.ndim > 1 or len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = _coefficients("polyint", p).clone()
    for constant in torch.unbind(k)[:m]:
        numbers, divided = promote(_descending(len(p), p).to(torch.float64), p)
        p, constant = promote(divided / numbers, constant)
        p = torch.cat([p, constant.reshape(1)])
    return p


# --- roots ------------------------------------------------------------------------------------------------------------


@public
def poly(seq_of_zeros: ArrayLike):
    """The coefficients of the polynomial with the given roots and leading coefficient 1.

    Of a square matrix, its characteristic polynomial. They are real where all complex roots are paired with their
    conjugates. Raises ValueError for any other shape.

    >>> np.poly([1, -1])
    array([ 1.,  0., -1.])
    """
    zeros = seq_of_zeros
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and len(zeros):
        zeros = linalg_decompositions_impl.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not len(zeros):
        return 1.0
    zeros = (
        zeros if zeros.dtype in (torch.float32, torch.float64) or zeros.dtype.is_complex else zeros.to(torch.float64)
    )
    p = torch.ones_like(zeros[:1])
    for zero in torch.unbind(zeros):
        p = torch.cat([p[:1], p[1:] - zero * p[:-1], -zero * p[-1:]])
    if zeros.dtype.is_complex and _in_conjugate_pairs(zeros):
        p = torch.real(p)
    return p


def _in_conjugate_pairs(zeros: torch.Tensor) -> bool:
    """Whether each number comes as often as its conjugate: then their sorted lists are the same."""

    def ordered(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_real(x.detach().resolve_conj())
        pairs = pairs[torch.argsort(pairs[:, 1], stable=True)]
        return pairs[torch.argsort(pairs[:, 0], stable=True)]

    plain = zeros + 0
    return bool((ordered(plain) == ordered(torch.conj(plain))).all())


@public
def roots(p: Inexact[ArrayLike]) -> Array:
    """The roots of a polynomial: the eigenvalues of its companion matrix, and zeros for the powers that all terms have.

    They are complex unless all are real, and in no particular order. Raises ValueError unless `p` is a vector.

    >>> np.sort(np.roots([1, 0, -4]))
    array([-2.,  2.])
    """
    p = p.reshape(1) if p.ndim == 0 else p
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    places = torch.nonzero(p != 0).flatten().tolist()
    if not places:
        return torch.zeros(0, dtype=torch.float64, device=p.device)
    at_zero = len(p) - 1 - places[-1]
    p = p[places[0] : places[-1] + 1]
    n = len(p) - 1
    if n == 0:
        return torch.zeros(at_zero, dtype=torch.float64, device=p.device)
    first = (-p[1:] / p[0]).reshape(1, n)
    below = torch.eye(n, dtype=torch.float64, device=p.device).to(p.dtype)[: n - 1]
    found = linalg_decompositions_impl.eigvals(torch.cat([first, below]))
    return torch.cat([found, torch.zeros(at_zero, dtype=found.dtype, device=p.device)]) if at_zero else found


# --- arithmetic -------------------------------------------------------------------------------------------------------


def _same_length(name: str, a1: torch.Tensor, a2: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a1, a2 = _coefficients(name, a1), _coefficients(name, a2)
    n = max(len(a1), len(a2))
    return promote(_behind(n - len(a1), a1), _behind(n - len(a2), a2))


@public
def polyadd(a1: Coefficients, a2: Coefficients) -> Array:
    """The sum of two polynomials.

    >>> np.polyadd([1, 2], [9, 5, 4])
    array([9, 6, 6])
    """
    return widened(torch.add, *_same_length("polyadd", a1, a2))


@public
def polysub(a1: Coefficients, a2: Coefficients) -> Array:
    """The difference of two polynomials. Raises TypeError for bool, which has no differences.

    >>> np.polysub([9, 5, 4], [1, 2])
    array([9, 4, 2])
    """
    a1, a2 = _same_length("polysub", a1, a2)
    if a1.dtype is torch.bool:
        raise TypeError("polysub: bool has no differences; use the `^` operator, or convert the coefficients to int")
    return widened(torch.sub, a1, a2)


def _trimmed(name: str, p: torch.Tensor) -> torch.Tensor:
    """The coefficients without leading zeros, of which one stays if there is nothing else."""
    p = _coefficients(name, p)
    places = torch.nonzero(p != 0).flatten()
    if not len(places):
        return torch.zeros(1, dtype=p.dtype, device=p.device)
    return p[int(places[0]) :]


@public
def polymul(a1: Coefficients, a2: Coefficients) -> Array:
    """The product of two polynomials. Leading zeros are left out.

    >>> np.polymul([1, 1], [1, -1])
    array([ 1,  0, -1])
    """
    a, b = promote(_trimmed("polymul", a1), _trimmed("polymul", a2))
    return widened(_convolved, a, b)


_TABLE = 2**16  # products, beyond which they are added up in blocks


def _convolved(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Sums over the antidiagonals of the table of products: each row of the table moved one further to the right."""
    a, b = (b, a) if len(a) > len(b) else (a, b)
    rows, columns = len(a), len(b)
    if rows * columns > _TABLE:
        return _convolve.correlate(b, torch.flip(a, (0,)), "full")
    table = torch.outer(a, b)
    padded = torch.cat([table, torch.zeros(rows, rows, dtype=a.dtype, device=a.device)], 1).reshape(-1)
    return torch.sum(padded[: rows * (rows + columns - 1)].reshape(rows, rows + columns - 1), 0, dtype=a.dtype)


@public
def polydiv(u: Inexact[Coefficients], v: Inexact[Coefficients]):
    """Quotient and remainder of two polynomials: u = q v + r, with r of a lower degree than v.

    Leading coefficients of the remainder up to 1e-8 count as zero and are left out.

    >>> np.polydiv([1, 3, 5], [1, 1])
    (array([1., 2.]), array([3.]))
    """
    u, v = _coefficients("polydiv", u), _coefficients("polydiv", v)
    if not len(u) or not len(v):
        raise IndexError("polydiv: a polynomial has at least one coefficient")
    scale = 1.0 / v[0]  # in the precision of the divisor
    u, v = promote(u, v)
    steps, degree = len(u) - len(v) + 1, len(v) - 1
    quotient, remainder = [], [u[:0]]
    for _ in range(steps):
        factor = scale * u[0]
        quotient.append(factor)
        u = torch.cat([u[: degree + 1] - factor * v, u[degree + 1 :]])
        remainder.append(u[:1])
        u = u[1:]
    rest = torch.cat([*remainder, u])
    large = torch.nonzero(~(torch.abs(rest) <= 1e-8)).flatten()
    start = int(large[0]) if len(large) else len(rest) - 1
    return torch.stack(quotient) if quotient else torch.zeros_like(rest[:1]), rest[start:]


# --- fitting ----------------------------------------------------------------------------------------------------------


@public
def polyfit(
    x: Inexact[ArrayLike], y: Inexact[ArrayLike], deg: Any, rcond: float | None = None, full: bool = False,
    w: Inexact[ArrayLike] | None = None, cov: Any = False,
):  # fmt: skip
    """The polynomial of degree `deg` that fits the points (x, y) best: the sum of (w (p(x) - y))^2 is smallest.

    `y` is a vector, or a matrix with a set of values in each column. With `full` follow the sums of squared residuals,
    the rank and the singular values of the scaled Vandermonde matrix, and `rcond`; with `cov` follows the covariance
    matrix of the coefficients, scaled by the residuals unless it is "unscaled". Raises TypeError where shapes do not
    fit, ValueError for a negative degree; warns (RankWarning) if the fit is badly conditioned.

    >>> np.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(12)
    array([2., 1.])
    """
    order = int(deg) + 1
    _check_fit(x, y, w, order)
    threshold: Any = rcond
    if rcond is None:
        threshold = torch.tensor(len(x) * torch.finfo(x.dtype).eps, dtype=real_dtype(x.dtype))
    matrix = creation_matrices_impl.vander(x, order)
    values = y
    if w is not None:
        matrix, weights = promote(matrix, w.unsqueeze(1))
        matrix = matrix * weights
        values, weights = promote(y, w if y.ndim == 1 else w.unsqueeze(1))
        values = values * weights
    scale = torch.sqrt(torch.sum(matrix * matrix, 0))
    matrix = matrix / scale
    p, residuals, rank, singular = linalg_impl.lstsq(matrix, values, float(threshold))
    p = p / (scale if p.ndim == 1 else scale.unsqueeze(1))
    if full:
        return p, residuals, rank, singular, threshold
    if int(rank) != order:
        warn("Polyfit may be poorly conditioned", RankWarning)
    if not cov:
        return p
    base = linalg_impl.inv(torch.matmul(matrix.mT, matrix)) / torch.outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        factor = torch.ones((), dtype=base.dtype, device=base.device)
    elif len(x) <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        factor = residuals / (len(x) - order)
    return p, base * factor if y.ndim == 1 else base.unsqueeze(2) * factor


def _check_fit(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor | None, order: int) -> None:
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if not len(x):
        raise TypeError("expected non-empty vector for x")
    if not 1 <= y.ndim <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if len(x) != len(y):
        raise TypeError(f"expected x and y to have same length, not {len(x)} and {len(y)}")
    if w is not None and w.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if w is not None and len(w) != len(y):
        raise TypeError(f"expected w and y to have the same length, not {len(w)} and {len(y)}")
