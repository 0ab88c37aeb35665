"""Series of Hermite polynomials of probabilists: the sum of c[k] He_k(x).

The polynomials are orthogonal for the weight exp(-x**2/2) on the real line.

The functions are those of `npdec.polynomial._series`, `_values`, `_calculus` and `_fitting`, in this basis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import npdec as np
from npdec.polynomial._basis import HERMITE_E
from npdec.polynomial._class import Series
from npdec.polynomial._publish import publish
from npdec.polynomial._series import line
from npdec.polynomial.polyutils import trimcoef

hermedomain = np.array(HERMITE_E.domain)
hermezero = np.array([0])
hermeone = np.array([1])
hermex = line(HERMITE_E, 0, 1)
hermetrim = trimcoef

_functions = publish(globals(), HERMITE_E)
globals().update(_functions)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions


__all__ = ["HermiteE", "hermedomain", "hermeone", "hermetrim", "hermex", "hermezero", *_functions]  # noqa: PLE0604


class HermiteE(Series, basis=HERMITE_E):
    """A series of Hermite polynomials of probabilists, the sum of coef[k] He_k(X):
    X is x mapped from `domain` to `window`.

    Both are [-1, 1] unless given; `symbol` is the name of the variable in the text. Raises ValueError for
    coefficients that are no vector, for a domain or window of other than two numbers, and for a symbol that is no
    identifier.

    >>> p = np.polynomial.HermiteE([1, 2, 3])
    >>> print(p + 1)
    2.0 + 2.0·He₁(x) + 3.0·He₂(x)
    """
