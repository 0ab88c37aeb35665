"""Series of Legendre polynomials: the sum of c[k] P_k(x).

The polynomials are orthogonal for the weight 1 on [-1, 1].

The functions are those of `npdec.polynomial._series`, `_values`, `_calculus` and `_fitting`, in this basis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import npdec as np
from npdec.polynomial._basis import LEGENDRE
from npdec.polynomial._class import Series
from npdec.polynomial._publish import publish
from npdec.polynomial._series import line
from npdec.polynomial.polyutils import trimcoef

legdomain = np.array(LEGENDRE.domain)
legzero = np.array([0])
legone = np.array([1])
legx = line(LEGENDRE, 0, 1)
legtrim = trimcoef

_functions = publish(globals(), LEGENDRE)
globals().update(_functions)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions


__all__ = ["Legendre", "legdomain", "legone", "legtrim", "legx", "legzero", *_functions]  # noqa: PLE0604


class Legendre(Series, basis=LEGENDRE):
    """A series of Legendre polynomials, the sum of coef[k] P_k(X):
    X is x mapped from `domain` to `window`.

    Both are [-1, 1] unless given; `symbol` is the name of the variable in the text. Raises ValueError for
    coefficients that are no vector, for a domain or window of other than two numbers, and for a symbol that is no
    identifier.

    >>> p = np.polynomial.Legendre([1, 2, 3])
    >>> print(p + 1)
    2.0 + 2.0·P₁(x) + 3.0·P₂(x)
    """
