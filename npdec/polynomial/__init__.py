"""Series of polynomials in six bases: `np.polynomial`. A module of functions and a class for each of them."""

from npdec.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial, polyutils
from npdec.polynomial._text import set_default_printstyle
from npdec.polynomial.chebyshev import Chebyshev
from npdec.polynomial.hermite import Hermite
from npdec.polynomial.hermite_e import HermiteE
from npdec.polynomial.laguerre import Laguerre
from npdec.polynomial.legendre import Legendre
from npdec.polynomial.polynomial import Polynomial

__all__ = [
    "Chebyshev",
    "Hermite",
    "HermiteE",
    "Laguerre",
    "Legendre",
    "Polynomial",
    "chebyshev",
    "hermite",
    "hermite_e",
    "laguerre",
    "legendre",
    "polynomial",
    "polyutils",
    "set_default_printstyle",
]
