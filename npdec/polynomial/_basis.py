"""The six bases of polynomials, a row of a table for each: all that tells one from another.

A basis p_0, p_1, ... starts with p_0 = 1 and goes on by a recurrence of three terms,

    p_{k+1}(x) = (A_k x + B_k) p_k(x) - C_k p_{k-1}(x),

and everything else that the functions of the package need follows from A, B and C: values, products, quotients,
conversions, Vandermonde and companion matrices, the nodes and weights of Gauss. Only derivatives and integrals are told
by rules of their own, which are exact for any degree.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import npdec as np
from npdec._core.door import hand_over
from npdec.exceptions import AbsentDTypeError

__all__ = ["CHEBYSHEV", "HERMITE", "HERMITE_E", "LAGUERRE", "LEGENDRE", "POWER", "Bands", "Basis", "series", "step"]

Rational = int | Fraction


class Step(NamedTuple):
    """One step of the recurrence: p_{k+1} = (scale x + shift) p_k - past p_{k-1}."""

    scale: Rational
    shift: Rational
    past: Rational


class Bands(NamedTuple):
    """Something linear done to p_k: up p_{k+1} + same p_k + down p_{k-1}."""

    up: Rational
    same: Rational = 0
    down: Rational = 0


class Slope(NamedTuple):
    """The derivative of a series: d_k = after(k) * (the sum of before(j) c_j over j = k + 1, k + 1 + stride, ...).

    A stride of 0 says that there is no sum, only its first term.
    """

    before: Callable[[int], Rational]
    stride: int = 0
    after: Callable[[int], Rational] = lambda k: 1


@dataclass(frozen=True, eq=False)
class Basis:
    """One row of the table.

    `prefix` begins the names of the functions, `symbol` stands for p in the text of a series (None for powers, which
    are written as powers of the variable), `recurrence` and `slope` and `integral` are as above, the integral up to a
    constant. `domain` is where the class of series lives, `weight` the weight function with the integral `mass`;
    `maxpower` is the default limit on exponents.
    """

    name: str
    prefix: str
    symbol: str | None
    recurrence: Callable[[int], Step]
    slope: Slope
    integral: Callable[[int], Bands]
    domain: tuple[float, float] = (-1.0, 1.0)
    weight: Callable[[Any], Any] | None = None
    mass: float = 1.0
    maxpower: int | None = 16

    @property
    def is_powers(self) -> bool:
        return self.symbol is None

    @property
    def module(self) -> str:
        """The module of its functions, below `np.polynomial`."""
        return {"power": "polynomial", "HermiteE": "hermite_e"}.get(self.name, self.name.lower())

    def times_x(self, k: int) -> Bands:
        """x p_k in the basis."""
        scale, shift, past = map(Fraction, self.recurrence(k))
        return Bands(1 / scale, -shift / scale, past / scale)

    def jacobi(self, k: int) -> tuple[float, float]:
        """Entries of the symmetric matrix that multiplies by x: (k, k), and (k, k + 1) up to its sign."""
        this, following = self.times_x(k), self.times_x(k + 1)
        return float(this.same), math.sqrt(this.up * following.down)


Generic = TypeVar("Generic", bound=Callable[..., Any])


class Declared(NamedTuple):
    """What a function of any basis is called and says of itself, with words to fill in."""

    name: str
    doc: str


def series(name: str) -> Callable[[Generic], Generic]:
    """Declare a function of any basis, its first parameter. `{p}` in the name, and `{p}`, `{basis}` and `{module}` in
    the docstring, stand for the prefix of a basis, its name, and the public module. Coefficients that torch cannot
    hold, fractions and other objects, are left to NumPy's function of that name."""

    def declare(function: Generic) -> Generic:
        @functools.wraps(function)
        def declared(basis: Basis, *args: Any, **kwargs: Any) -> Any:
            try:
                return function(basis, *args, **kwargs)
            except AbsentDTypeError as error:
                absent = error
            return hand_over(f"polynomial.{basis.module}.{name.format(p=basis.prefix)}", args, kwargs, absent)

        made: Any = declared
        doc = inspect.cleandoc(function.__doc__ or "")
        made.__series__ = Declared(name, doc)
        made.__doc__ = doc.partition("\n")[0]  # the examples are those of the public functions
        return made

    return declare


@functools.cache
def step(basis: Basis, k: int) -> tuple[float, float, float]:
    """One step of the recurrence in floats."""
    scale, shift, past = basis.recurrence(k)
    return float(scale), float(shift), float(past)


def _half(k: int) -> Rational:
    return Fraction(1, 2) if k == 0 else 1


def _chebyshev_integral(k: int) -> Bands:
    if k == 0:
        return Bands(1)
    return Bands(Fraction(1, 2 * (k + 1)), 0, Fraction(-1, 2 * (k - 1)) if k > 1 else 0)


def _legendre_integral(k: int) -> Bands:
    return Bands(Fraction(1, 2 * k + 1), 0, Fraction(-1, 2 * k + 1) if k else 0)


POWER = Basis(
    name="power",
    prefix="poly",
    symbol=None,
    recurrence=lambda k: Step(1, 0, 0),
    slope=Slope(lambda j: j),
    integral=lambda k: Bands(Fraction(1, k + 1)),
    maxpower=None,
)

CHEBYSHEV = Basis(
    name="Chebyshev",
    prefix="cheb",
    symbol="T",
    recurrence=lambda k: Step(2, 0, 1) if k else Step(1, 0, 0),
    slope=Slope(lambda j: 2 * j, stride=2, after=_half),
    integral=_chebyshev_integral,
    weight=lambda x: 1.0 / (np.sqrt(1.0 + x) * np.sqrt(1.0 - x)),
    mass=math.pi,
)

LEGENDRE = Basis(
    name="Legendre",
    prefix="leg",
    symbol="P",
    recurrence=lambda k: Step(Fraction(2 * k + 1, k + 1), 0, Fraction(k, k + 1)),
    slope=Slope(lambda j: 1, stride=2, after=lambda k: 2 * k + 1),
    integral=_legendre_integral,
    weight=lambda x: x * 0.0 + 1.0,
    mass=2.0,
)

HERMITE = Basis(
    name="Hermite",
    prefix="herm",
    symbol="H",
    recurrence=lambda k: Step(2, 0, 2 * k),
    slope=Slope(lambda j: 2 * j),
    integral=lambda k: Bands(Fraction(1, 2 * (k + 1))),
    weight=lambda x: np.exp(-(x**2)),
    mass=math.sqrt(math.pi),
)

HERMITE_E = Basis(
    name="HermiteE",
    prefix="herme",
    symbol="He",
    recurrence=lambda k: Step(1, 0, k),
    slope=Slope(lambda j: j),
    integral=lambda k: Bands(Fraction(1, k + 1)),
    weight=lambda x: np.exp(-0.5 * x**2),
    mass=math.sqrt(2 * math.pi),
)

LAGUERRE = Basis(
    name="Laguerre",
    prefix="lag",
    symbol="L",
    recurrence=lambda k: Step(Fraction(-1, k + 1), Fraction(2 * k + 1, k + 1), Fraction(k, k + 1)),
    slope=Slope(lambda j: -1, stride=1),
    integral=lambda k: Bands(-1, 1),
    domain=(0.0, 1.0),
    weight=lambda x: np.exp(-x),
)
