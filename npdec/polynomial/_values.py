"""Values of series at points, at pairs and triples of points, and on grids; the matrices that give them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import npdec as np
from npdec._core import door
from npdec._core.tags import NoValue
from npdec.polynomial._basis import Basis, series, step
from npdec.polynomial._series import clenshaw
from npdec.polynomial.polyutils import as_argument, as_computed, as_inexact, as_int, refuse_objects

__all__ = ["grid2d", "grid3d", "value", "value2d", "value3d", "vander", "vander2d", "vander3d"]


@series("{p}val")
def value(basis: Basis, x: Any, c: Any, tensor: bool = True) -> Any:
    """The values of a {basis} series, or of several, at `x`.

    The coefficients of one series lie along the first axis of `c`, of shape (n, *S). With `tensor` every series is
    evaluated at every point: the result has shape (*S, *x.shape). Otherwise `x` is broadcast against S. `x` may also be
    a polynomial, which is put in place of the variable.

    >>> {module}.{p}val(np.array([0.0, 1.0]), [[1, 2], [0, 0]])
    array([[1., 1.],
           [2., 2.]])
    """
    x = as_argument(x)
    refuse_objects(x)
    c = as_inexact(c)
    if tensor and isinstance(x, np.ndarray):
        c = c.reshape(c.shape + (1,) * x.ndim)

    def times(y: Any, k: int) -> Any:
        scale, shift, _ = step(basis, k)
        factor = x if scale == 1 else x * scale
        return y * (factor + shift) if shift else y * factor

    # A single coefficient is spread over x. NumPy spreads that of the highest power too, which shows at infinity.
    last = c[-1] + x * 0 if basis.is_powers or len(c) == 1 else c[-1]
    return clenshaw(basis, c, last, times)


def _asked(basis: Basis, name: str, *args: Any) -> Any:
    """What a class among those of the arguments gives that computes NumPy's functions itself, else NoValue. Of series
    NumPy asks these two functions of powers alone."""
    if not basis.is_powers:
        return NoValue
    return door.subclasses.value().overridden(getattr(np.polynomial.polynomial, name), args, {})


def _points(basis: Basis, c: Any, points: Sequence[Any]) -> Any:
    """Values at points that are given by their coordinates."""
    points = [np.asarray(x) for x in points]
    if any(x.shape != points[0].shape for x in points):
        raise ValueError(f"{', '.join('xyz'[: len(points)])} are incompatible")
    first, *others = points
    return functools.reduce(lambda c, x: value(basis, x, c, tensor=False), others, value(basis, first, c))


@series("{p}val2d")
def value2d(basis: Basis, x: Any, y: Any, c: Any) -> Any:
    """The values of the {basis} series in two variables at the points (x, y), the sum of c_ij p_i(x) p_j(y).

    `x` and `y` have one shape and `c` is (n, m, *S): the result is (*S, *x.shape). Raises ValueError for two shapes.

    >>> {module}.{p}val2d([0.0, 1.0], [1.0, 2.0], [[3]])
    array([3., 3.])
    """
    made = _asked(basis, "polyval2d", x, y, c)
    return _points(basis, c, (x, y)) if made is NoValue else made


@series("{p}val3d")
def value3d(basis: Basis, x: Any, y: Any, z: Any, c: Any) -> Any:
    """The values of the {basis} series in three variables at (x, y, z), the sum of c_ijk p_i(x) p_j(y) p_k(z).

    `x`, `y` and `z` have one shape and `c` is (l, n, m, *S): the result is (*S, *x.shape). Raises ValueError if they
    do not.

    >>> {module}.{p}val3d(0.0, 1.0, 2.0, [[[3]]])
    np.float64(3.0)
    """
    return _points(basis, c, (x, y, z))


@series("{p}grid2d")
def grid2d(basis: Basis, x: Any, y: Any, c: Any) -> Any:
    """The values of the {basis} series in two variables at all pairs of an x and a y, the sum of c_ij p_i(x) p_j(y).

    `c` is (n, m, *S): the result is (*S, *x.shape, *y.shape).

    >>> {module}.{p}grid2d([0.0, 1.0], [0.0, 1.0, 2.0], [[3]])
    array([[3., 3., 3.],
           [3., 3., 3.]])
    """
    made = _asked(basis, "polygrid2d", x, y, c)
    return functools.reduce(lambda c, x: value(basis, x, c), (x, y), c) if made is NoValue else made


@series("{p}grid3d")
def grid3d(basis: Basis, x: Any, y: Any, z: Any, c: Any) -> Any:
    """The values of the {basis} series in three variables at all triples of an x, a y and a z.

    `c` is (l, n, m, *S): the result is (*S, *x.shape, *y.shape, *z.shape).

    >>> {module}.{p}grid3d([0.0, 1.0], [2.0], [0.0, 1.0], [[[3]]])
    array([[[3., 3.]],
           [[3., 3.]]])
    """
    return functools.reduce(lambda c, x: value(basis, x, c), (x, y, z), c)


# --- matrices ---------------------------------------------------------------------------------------------------------


@series("{p}vander")
def vander(basis: Basis, x: Any, deg: Any) -> Any:
    """The {basis} polynomials of degree 0 to `deg` at `x`, along a new last axis: times coefficients it gives values.

    Raises ValueError for a negative degree, TypeError for one that is no integer.

    >>> {module}.{p}vander([0.0, 2.0], 0)
    array([[1.],
           [1.]])
    """
    degree = as_int(deg, "deg")
    if degree < 0:
        raise ValueError("deg must be non-negative")
    x = np.atleast_1d(as_computed(x))
    columns = [x * 0 + 1]
    for k in range(degree):
        scale, shift, past = step(basis, k)
        factor = x if scale == 1 else x * scale
        following = (factor + shift if shift else factor) * columns[-1]
        columns.append(following - columns[-2] * past if past and k else following)
    return np.stack(columns, axis=-1)


def _vander_of(basis: Basis, points: Sequence[Any], deg: Sequence[Any]) -> Any:
    """The products of the polynomials of each coordinate, flattened as coefficients of shape deg + 1 would be."""
    if len(deg) != len(points):
        raise ValueError(f"Expected {len(points)} dimensions of degrees, got {len(deg)}")
    together = as_computed(list(points))

    def joined(left: Any, right: Any) -> Any:
        products = left[..., :, None] * right[..., None, :]
        return products.reshape((*products.shape[:-2], -1))

    matrices = [vander(basis, x, degree) for x, degree in zip(together, deg)]
    return functools.reduce(joined, matrices)


@series("{p}vander2d")
def vander2d(basis: Basis, x: Any, y: Any, deg: Sequence[Any]) -> Any:
    """The products of {basis} polynomials p_i(x) p_j(y) for i, j up to the two degrees, along a new last axis.

    Times the flattened coefficients of shape (deg[0] + 1, deg[1] + 1) it gives the values at (x, y). Raises ValueError
    if the points do not have one shape, or for other than two degrees.

    >>> {module}.{p}vander2d([0.0, 2.0], [1.0, 3.0], [0, 0])
    array([[1.],
           [1.]])
    """
    return _vander_of(basis, (x, y), deg)


@series("{p}vander3d")
def vander3d(basis: Basis, x: Any, y: Any, z: Any, deg: Sequence[Any]) -> Any:
    """The products of {basis} polynomials p_i(x) p_j(y) p_k(z) up to the three degrees, along a new last axis.

    Times the flattened coefficients of shape (deg[0] + 1, deg[1] + 1, deg[2] + 1) it gives the values at (x, y, z).
    Raises ValueError if the points do not have one shape, or for other than three degrees.

    >>> {module}.{p}vander3d([0.0], [1.0], [2.0], [0, 0, 0])
    array([[1.]])
    """
    return _vander_of(basis, (x, y, z), deg)
