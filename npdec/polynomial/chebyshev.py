"""Series of Chebyshev polynomials of the first kind: the sum of c[k] T_k(x).

The polynomials are orthogonal for the weight 1/sqrt(1 - x**2) on [-1, 1].

The functions are those of `npdec.polynomial._series`, `_values`, `_calculus` and `_fitting`, in this basis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import npdec as np
from npdec._core.tracebacks import ends
from npdec.polynomial._basis import CHEBYSHEV
from npdec.polynomial._class import Series
from npdec.polynomial._fitting import positive_degree
from npdec.polynomial._publish import publish
from npdec.polynomial._series import line
from npdec.polynomial._values import vander
from npdec.polynomial.polyutils import constants, mapdomain, trimcoef

chebdomain = np.array(CHEBYSHEV.domain)
chebzero = np.array([0])
chebone = np.array([1])
chebx = line(CHEBYSHEV, 0, 1)
chebtrim = trimcoef

_functions = publish(globals(), CHEBYSHEV, "chebgauss")
globals().update(_functions)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions


__all__ = [  # noqa: PLE0604
    "Chebyshev",
    "chebdomain",
    "chebgauss",
    "chebinterpolate",
    "chebone",
    "chebpts1",
    "chebpts2",
    "chebtrim",
    "chebx",
    "chebzero",
    *_functions,
]


@ends
def chebgauss(deg: Any) -> tuple[Any, Any]:
    """The nodes, from the largest down, and weights of the quadrature rule of Gauss and Chebyshev.

    The sum of weights times f(nodes) is the integral of f(x) / sqrt(1 - x**2) from -1 to 1, exactly for polynomials up
    to the degree 2 deg - 1. Raises ValueError unless `deg` is positive, TypeError unless it is an integer.

    >>> x, w = np.polynomial.chebyshev.chebgauss(3)
    >>> np.allclose((w * x**2).sum(), np.pi / 2)
    True
    """
    n = positive_degree(deg)
    return np.cos(np.pi * np.arange(1, 2 * n, 2) / (2.0 * n)), np.full(n, np.pi / n)


def _whole(npts: Any, least: int) -> int:
    count = int(npts)
    if count != npts:
        raise ValueError("npts must be integer")
    if count < least:
        raise ValueError(f"npts must be >= {least}")
    return count


@ends
def chebpts1(npts: Any) -> Any:
    """The Chebyshev points of the first kind: the `npts` roots of T_npts, ascending.

    Raises ValueError unless `npts` is a positive integer.

    >>> np.polynomial.chebyshev.chebpts1(2)
    array([-0.70710678,  0.70710678])
    """
    n = _whole(npts, 1)
    return np.sin(0.5 * np.pi / n * np.arange(1 - n, n + 1, 2))


@ends
def chebpts2(npts: Any) -> Any:
    """The Chebyshev points of the second kind: where |T_n| is 1 for n = npts - 1, both ends included, ascending.

    Raises ValueError unless `npts` is an integer from 2 on.

    >>> np.polynomial.chebyshev.chebpts2(2)
    array([-1.,  1.])
    """
    n = _whole(npts, 2)
    return np.cos(np.linspace(-np.pi, 0, n))


@ends
def chebinterpolate(func: Callable[..., Any], deg: Any, args: Sequence[Any] = ()) -> Any:
    """The Chebyshev series of degree `deg` that agrees with func(x, *args) at the Chebyshev points of the first kind.

    Raises TypeError for a degree that is no integer, ValueError for a negative one.

    >>> np.polynomial.chebyshev.chebinterpolate(lambda x: x**2, 2).round(12) + 0.0
    array([0.5, 0. , 0.5])
    """
    degree: Any = np.asarray(deg)
    if degree.ndim > 0 or degree.dtype.kind not in "iu" or degree.size == 0:
        raise TypeError("deg must be an int")
    if degree < 0:
        raise ValueError("expected deg >= 0")
    n = int(degree) + 1
    x = chebpts1(n)
    # The points are orthogonal for the polynomials below degree n.
    series = np.dot(vander(CHEBYSHEV, x, n - 1).T, func(x, *args))
    return series / constants([n, *[0.5 * n] * (n - 1)], series, series.ndim)


class Chebyshev(Series, basis=CHEBYSHEV):
    """A series of Chebyshev polynomials of the first kind, the sum of coef[k] T_k(X):
    X is x mapped from `domain` to `window`.

    Both are [-1, 1] unless given; `symbol` is the name of the variable in the text. Raises ValueError for
    coefficients that are no vector, for a domain or window of other than two numbers, and for a symbol that is no
    identifier.

    >>> p = np.polynomial.Chebyshev([1, 2, 3])
    >>> print(p + 1)
    2.0 + 2.0·T₁(x) + 3.0·T₂(x)
    """

    @classmethod
    @ends
    def interpolate(cls, func: Callable[..., Any], deg: Any, domain: Any = None, args: Sequence[Any] = ()) -> Any:
        """The series of degree `deg` that agrees with func(x, *args) at the Chebyshev points of the domain.

        >>> np.polynomial.Chebyshev.interpolate(np.exp, 12, domain=[0, 1])(0.5) - np.exp(0.5) < 1e-12
        np.True_
        """
        if domain is None:
            domain = cls.domain
        coef = chebinterpolate(lambda x: func(mapdomain(x, cls.window, domain), *args), deg)
        return cls(coef, domain=domain)
