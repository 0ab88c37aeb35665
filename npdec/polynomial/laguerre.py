"""Series of Laguerre polynomials: the sum of c[k] L_k(x).

The polynomials are orthogonal for the weight exp(-x) on [0, inf).

The functions are those of `npdec.polynomial._series`, `_values`, `_calculus` and `_fitting`, in this basis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import npdec as np
from npdec.polynomial._basis import LAGUERRE
from npdec.polynomial._class import Series
from npdec.polynomial._publish import publish
from npdec.polynomial._series import line
from npdec.polynomial.polyutils import trimcoef

lagdomain = np.array(LAGUERRE.domain)
lagzero = np.array([0])
lagone = np.array([1])
lagx = line(LAGUERRE, 0, 1)
lagtrim = trimcoef

_functions = publish(globals(), LAGUERRE)
globals().update(_functions)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions


__all__ = ["Laguerre", "lagdomain", "lagone", "lagtrim", "lagx", "lagzero", *_functions]  # noqa: PLE0604


class Laguerre(Series, basis=LAGUERRE):
    """A series of Laguerre polynomials, the sum of coef[k] L_k(X):
    X is x mapped from `domain` to `window`.

    Both are [0, 1] unless given; `symbol` is the name of the variable in the text. Raises ValueError for
    coefficients that are no vector, for a domain or window of other than two numbers, and for a symbol that is no
    identifier.

    >>> p = np.polynomial.Laguerre([1, 2, 3])
    >>> print(p + 1)
    2.0 + 2.0·L₁(x) + 3.0·L₂(x)
    """
