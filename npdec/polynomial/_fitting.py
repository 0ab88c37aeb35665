"""Fits, roots, and the rules of Gauss."""

from __future__ import annotations

import math
from typing import Any

import npdec as np
from npdec._impl._util import warn
from npdec.exceptions import RankWarning
from npdec.polynomial._basis import Basis, series
from npdec.polynomial._values import vander
from npdec.polynomial.polyutils import as_computed, as_int, coefficients

__all__ = ["companion", "fit", "gauss", "roots", "weight"]


def _degrees(deg: Any) -> tuple[int, Any]:
    """The highest degree, and which ones a fit has: None for all, or a sorted array."""
    deg = np.asarray(deg)
    if deg.ndim > 1 or deg.dtype.kind not in "iu" or not deg.size:
        raise TypeError("deg must be an int or non-empty 1-D array of int")
    if deg.min() < 0:
        raise ValueError("expected deg >= 0")
    return int(deg.max()), None if deg.ndim == 0 else np.sort(deg)


def _checked(x: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
    x, y = as_computed(x), as_computed(y)
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if not x.size:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if len(x) != len(y):
        raise TypeError("expected x and y to have same length")
    if w is not None:
        w = as_computed(w)
        if w.ndim != 1:
            raise TypeError("expected 1D vector for w")
        if len(x) != len(w):
            raise TypeError("expected x and w to have same length")
    return x, y, w


@series("{p}fit")
def fit(basis: Basis, x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None) -> Any:
    """The {basis} series that fits the points (x, y) best: the sum of (w (p(x) - y))**2 is smallest.

    `x` is a vector of n points, `y` has shape (n,) or (n, m), for m fits at once. `deg` is the highest degree, or a
    list of the degrees that the series has. Singular values up to `rcond` times the largest are left out, by default n
    times the precision of x. With `full` the result is (c, [squared residuals, rank, singular values, rcond]).

    Raises TypeError where shapes do not fit or a degree is no integer, ValueError for a negative one. Without `full` it
    warns (RankWarning) if the fit is badly conditioned.

    >>> C = {module}
    >>> c = C.{p}fit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1)
    >>> np.allclose(C.{p}val(np.array([0.0, 1.0, 5.0]), c), [1.0, 3.0, 11.0])
    True
    """
    highest, chosen = _degrees(deg)
    x, y, w = _checked(x, y, w)
    matrix = vander(basis, x, highest)
    if chosen is not None:
        matrix = matrix[:, chosen]
    if w is not None:
        matrix = matrix * w[:, None]
        y = y * (w if y.ndim == 1 else w[:, None])
    if rcond is None:
        rcond = len(x) * np.finfo(x.dtype).eps
    squares = matrix.real**2 + matrix.imag**2 if np.iscomplexobj(matrix) else matrix**2
    scale = np.sqrt(squares.sum(0))
    scale = np.where(scale == 0, np.ones_like(scale), scale)
    c, residuals, rank, singular = np.linalg.lstsq(matrix / scale, y, rcond)
    c = c / (scale if c.ndim == 1 else scale[:, None])
    if chosen is not None:
        c = _spread(c, chosen, highest)
    if full:
        return c, [residuals, rank, singular, rcond]
    if int(rank) != matrix.shape[1]:
        warn("The fit may be poorly conditioned", RankWarning)
    return c


def _spread(c: Any, degrees: Any, highest: int) -> Any:
    """The coefficients at their degrees, zeros at the others; of a degree that is there twice, the last one."""
    made = np.zeros((highest + 1, *c.shape[1:]), dtype=c.dtype, device=c.device)
    made[degrees] = c
    return made


# --- roots ------------------------------------------------------------------------------------------------------------


@series("{p}companion")
def companion(basis: Basis, c: Any) -> Any:
    """The matrix whose eigenvalues are the roots of the {basis} series, of shape (n, n) for a series of degree n.

    It is the multiplication by x, modulo the series. Each p_k is scaled so that the matrix is symmetric where the basis
    is orthogonal and the series is one p_n. Raises ValueError for a series of degree 0.

    >>> {module}.{p}companion([1, 2, 3]).shape
    (2, 2)
    """
    (c,) = coefficients([c])
    n = len(c) - 1
    if n < 1:
        raise ValueError("Series must have maximum degree of at least 1.")
    bands = [basis.times_x(k) for k in range(n)]
    scale = [1.0]  # how much each p_k is longer than p_{n-1}
    rows = [[0.0] * n for _ in range(n)]
    for k in range(n - 1, -1, -1):
        rows[k][k] = float(bands[k].same)
        if k:
            up, down = bands[k - 1].up, bands[k].down
            both = math.copysign(math.sqrt(up * down), up) if down else 0.0
            rows[k][k - 1], rows[k - 1][k] = both or float(up), both
            scale.append(scale[-1] * (math.sqrt(up / down) if down else 1.0))
    matrix = np.asarray(rows, dtype=c.dtype, device=c.device)
    weights = np.asarray([s * float(bands[-1].up) for s in reversed(scale)], dtype=c.real.dtype, device=c.device)
    column = c[:-1] / c[-1] * weights
    return np.concatenate([matrix[:, :-1], (matrix[:, -1] - column)[:, None]], axis=1)


@series("{p}roots")
def roots(basis: Basis, c: Any) -> Any:
    """The roots of the {basis} series, sorted, complex unless all are real: the eigenvalues of its companion matrix.

    Raises ValueError for coefficients that are no vector.

    >>> C = {module}
    >>> np.allclose(C.{p}roots(C.{p}fromroots([1, 2, 4])), [1, 2, 4])
    True
    """
    (c,) = coefficients([c])
    if len(c) < 2:
        return np.zeros(0, dtype=c.dtype, device=c.device)
    matrix = companion(basis, c)
    if len(c) == 2:
        return matrix[0]
    # The symmetric part turned around keeps more digits in the eigenvalue routine; powers have none.
    return np.sort(np.linalg.eigvals(matrix if basis.is_powers else np.flip(matrix)))


# --- quadrature -------------------------------------------------------------------------------------------------------


def positive_degree(deg: Any) -> int:
    degree = as_int(deg, "deg")
    if degree <= 0:
        raise ValueError("deg must be a positive integer")
    return degree


@series("{p}gauss")
def gauss(basis: Basis, deg: Any) -> tuple[Any, Any]:
    """The nodes and weights of the quadrature rule of Gauss for the {basis} weight function, two vectors of length deg.

    The sum of weights times f(nodes) is the integral of f times `{p}weight`, exactly for polynomials up to the degree
    2 deg - 1. Raises ValueError unless `deg` is positive, TypeError unless it is an integer.

    >>> C = {module}
    >>> x, w = C.{p}gauss(5)
    >>> np.allclose((w * C.{p}val(x, [0, 0, 3]) * C.{p}val(x, [0, 1])).sum(), 0.0)
    True
    """
    n = positive_degree(deg)
    entries = [basis.jacobi(k) for k in range(n)]
    diagonal, beside = [entry[0] for entry in entries], [entry[1] for entry in entries]
    matrix = np.diag(np.array(diagonal)) + np.diag(np.array(beside[:-1]), 1) + np.diag(np.array(beside[:-1]), -1)
    x = np.linalg.eigvalsh(matrix)
    for polish in (True, False):
        # The orthonormal polynomials at the nodes, and the sum of their squares, whose inverse is the weight.
        before, p, squares = np.zeros_like(x), np.ones_like(x), np.ones_like(x)
        for k in range(n):
            before, p = p, ((x - diagonal[k]) * p - (beside[k - 1] * before if k else 0.0)) / beside[k]
            if k < n - 1:
                squares = squares + p**2
        if polish:  # a step of Newton's, with the derivative that Christoffel and Darboux's sum gives
            x = x - p * (beside[-1] * before / squares)
    w = 1.0 / squares
    if not any(diagonal):  # the rule is symmetric, to the last digit
        x, w = (x - np.flip(x)) / 2, (w + np.flip(w)) / 2
    return x, w * (basis.mass / w.sum())


@series("{p}weight")
def weight(basis: Basis, x: Any) -> Any:
    """The weight function at `x`, an array or a number, for which the {basis} polynomials are orthogonal.

    >>> {module}.{p}weight(np.array([0.0, 0.5])).shape
    (2,)
    """
    return basis.weight(x)  # type: ignore[misc]
