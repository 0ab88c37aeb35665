"""Series of powers of x: the sum of c[k] x**k, coefficients of low powers first.

The functions are those of `npdec.polynomial._series`, `_values`, `_calculus` and `_fitting`, in this basis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import npdec as np
from npdec._core.tracebacks import ends
from npdec.polynomial._basis import POWER
from npdec.polynomial._class import Series
from npdec.polynomial._publish import publish
from npdec.polynomial._series import line
from npdec.polynomial.polyutils import as_argument, as_inexact, trimcoef

polydomain = np.array(POWER.domain)
polyzero = np.array([0])
polyone = np.array([1])
polyx = line(POWER, 0, 1)
polytrim = trimcoef

_functions = publish(globals(), POWER, "poly2poly", "polygauss", "polyweight")
globals().update(_functions)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions


__all__ = ["Polynomial", "polydomain", "polyone", "polytrim", "polyx", "polyvalfromroots", "polyzero", *_functions]  # noqa: PLE0604


@ends
def polyvalfromroots(x: Any, r: Any, tensor: bool = True) -> Any:
    """The values at `x` of the polynomial with the roots `r` and the leading coefficient 1, or of several.

    The roots of one polynomial lie along the first axis of `r`, of shape (n, *S). With `tensor` every polynomial is
    evaluated at every point: the result has shape (*S, *x.shape). Otherwise `x` is broadcast against S, and ValueError
    is raised if it has too many dimensions.

    >>> np.polynomial.polynomial.polyvalfromroots(np.array([0.0, 3.0]), [1, 2])
    array([2., 2.])
    """
    r, x = as_inexact(r), as_argument(x)
    if isinstance(x, np.ndarray):
        if tensor:
            r = r.reshape(r.shape + (1,) * x.ndim)
        elif x.ndim >= r.ndim:
            raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return np.prod(x - r, axis=0)


class Polynomial(Series, basis=POWER):
    """A series of powers of x, the sum of coef[k] X**k:
    X is x mapped from `domain` to `window`.

    Both are [-1, 1] unless given; `symbol` is the name of the variable in the text. Raises ValueError for
    coefficients that are no vector, for a domain or window of other than two numbers, and for a symbol that is no
    identifier.

    >>> p = np.polynomial.Polynomial([1, 2, 3])
    >>> print(p + 1)
    2.0 + 2.0·x + 3.0·x²
    """
