"""Arithmetic of series in any basis, and what is made of it: conversions, lines, series from their roots.

Sums of p_k applied to something, be it numbers (`_values.py`), the multiplication by x in the same basis (products) or
in another one (conversions), are all one algorithm, Clenshaw's, given what "x times" means there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import npdec as np
from npdec.polynomial._basis import POWER, Bands, Basis, series, step
from npdec.polynomial.polyutils import coefficients, constants, trimseq

__all__ = ["add", "banded", "clenshaw", "divide", "fromroots", "line", "multiply", "power", "subtract", "times_x"]


def clenshaw(basis: Basis, c: Sequence[Any], last: Any, times: Callable[[Any, int], Any]) -> Any:
    """The sum of c_k p_k(X), by Clenshaw's recurrence from the highest term down; `last` is what it begins with.

    `times(y, k)` is (A_k X + B_k) y, with A and B as in the recurrence of the basis.
    """
    y, before = last, None
    for k in range(len(c) - 2, -1, -1):
        following = c[k] + times(y, k)
        if before is not None and (past := step(basis, k + 1)[2]):
            following = following - before * past
        y, before = following, y
    return y


def banded(c: Any, bands: Callable[[int], Bands]) -> Any:
    """The coefficients, one more of them, after something linear was done to each p_k; along the first axis."""
    n = len(c)
    rows = [bands(k) for k in range(n)]

    def weighed(numbers: list[Any], part: Any) -> Any:
        """Products by fractions, rounded once where the denominators are 1 or the numerators are."""
        tops, bottoms = [number.numerator for number in numbers], [number.denominator for number in numbers]
        if any(number != 1 for number in tops):
            part = part * constants(tops, c, c.ndim)
        return part / constants(bottoms, c, c.ndim) if any(number != 1 for number in bottoms) else part

    nothing = np.zeros_like(c[:1])
    made = np.concatenate([nothing, weighed([row.up for row in rows], c)])
    if any(row.same for row in rows):
        made = made + np.concatenate([weighed([row.same for row in rows], c), nothing])
    if any(row.down for row in rows[1:]):
        down = weighed([row.down for row in rows[1:]], c[1:])
        made = made + np.concatenate([down, nothing, nothing])
    return made


def _times(basis: Basis, k: int, y: Any, other: Basis) -> Any:
    """(A_k X + B_k) y for a series y in another basis, of fixed length: its last coefficient is known to be zero."""
    scale, shift, _ = basis.recurrence(k)

    def bands(j: int) -> Bands:
        up, same, down = other.times_x(j)
        return Bands(scale * up, scale * same + shift, scale * down)

    return banded(y, bands)[:-1]


def _substituted(c: Any, basis: Basis, start: Any, other: Basis) -> Any:
    """The sum of c_k p_k(X) applied to the series `start` in another basis, where X is the multiplication by x."""
    room = np.concatenate([start, np.zeros(len(c) - 1, dtype=start.dtype, device=start.device)])
    made = clenshaw(basis, [number * room for number in c], c[-1] * room, lambda y, k: _times(basis, k, y, other))
    return trimseq(made)


# --- sums and products ------------------------------------------------------------------------------------------------


def _aligned(c1: Any, c2: Any) -> list[Any]:
    """Two series with zeros at the end of the shorter one."""
    c1, c2 = coefficients([c1, c2])
    n = max(len(c1), len(c2))
    return [np.concatenate([c, np.zeros_like(c1[:1].repeat(n - len(c)))]) if len(c) < n else c for c in (c1, c2)]


@series("{p}add")
def add(basis: Basis, c1: Any, c2: Any) -> Any:
    """The sum of two {basis} series, without zeros at the end.

    Raises ValueError for coefficients that are no vectors.

    >>> {module}.{p}add([1, 2, 3], [3, 2])
    array([4., 4., 3.])
    """
    del basis
    c1, c2 = _aligned(c1, c2)
    return trimseq(c1 + c2)


@series("{p}sub")
def subtract(basis: Basis, c1: Any, c2: Any) -> Any:
    """The difference of two {basis} series, without zeros at the end.

    Raises ValueError for coefficients that are no vectors.

    >>> {module}.{p}sub([1, 2, 3], [3, 2])
    array([-2.,  0.,  3.])
    """
    del basis
    c1, c2 = _aligned(c1, c2)
    return trimseq(c1 - c2)


@series("{p}mulx")
def times_x(basis: Basis, c: Any) -> Any:
    """The {basis} series times x.

    >>> C = {module}
    >>> np.allclose(C.{p}val(0.5, C.{p}mulx([1, 2, 3])), 0.5 * C.{p}val(0.5, [1, 2, 3]))
    True
    """
    (c,) = coefficients([c])
    if len(c) == 1 and c[0] == 0:
        return c
    return banded(c, basis.times_x)


@series("{p}mul")
def multiply(basis: Basis, c1: Any, c2: Any) -> Any:
    """The product of two {basis} series, as a series in the same basis.

    >>> C = {module}
    >>> product = C.{p}mul([1, 2, 3], [3, 2])
    >>> np.allclose(C.{p}val(0.5, product), C.{p}val(0.5, [1, 2, 3]) * C.{p}val(0.5, [3, 2]))
    True
    """
    c1, c2 = coefficients([c1, c2])
    return trimseq(_product(basis, c1, c2))


def _product(basis: Basis, c1: Any, c2: Any) -> Any:
    if basis.is_powers:
        return np.convolve(c1, c2)
    if basis.symbol == "T":  # T_i T_j = (T_{i+j} + T_{|i-j|}) / 2
        sums, differences = np.convolve(c1, c2), np.convolve(c1, np.flip(c2))
        zero = len(c2) - 1  # where the difference is zero
        before, after = np.flip(differences[:zero]), differences[zero:]
        pad = [np.zeros_like(c1[:1].repeat(len(sums) - n)) for n in (len(before) + 1, len(after))]
        return (sums + np.concatenate([after, pad[1]]) + np.concatenate([c1[:1] * 0, before, pad[0]])) / 2
    short, long = (c1, c2) if len(c1) < len(c2) else (c2, c1)
    return _substituted(short, basis, long if len(short) > 1 else _double(long), basis)


def _double(c: Any) -> Any:
    """In double precision, as NumPy has products with a constant, and what comes from powers."""
    return c.astype(np.result_type(c.dtype, np.float64), copy=False)


@series("{p}div")
def divide(basis: Basis, c1: Any, c2: Any) -> Any:
    """Quotient and remainder of two {basis} series: c1 = quotient c2 + remainder, the remainder of a lower degree.

    Raises ZeroDivisionError if `c2` is zero.

    >>> C = {module}
    >>> quotient, remainder = C.{p}div([1, 2, 3], [3, 2])
    >>> np.allclose(C.{p}add(C.{p}mul(quotient, [3, 2]), remainder), [1, 2, 3])
    True
    """
    c1, c2 = coefficients([c1, c2])
    if c2[-1] == 0:
        raise ZeroDivisionError
    steps = len(c1) - len(c2) + 1
    if steps < 1:
        return c1[:1] * 0, c1
    if len(c2) == 1:
        return c1 / c2[-1], c1[:1] * 0
    multiples = [c2]  # p_k c2
    for k in range(steps - 1):
        following = _times(basis, k, np.concatenate([multiples[-1], c2[:1] * 0]), basis)
        past = step(basis, k)[2]
        if past and k:
            following = following - np.concatenate([multiples[-2] * past, c2[:1] * 0, c2[:1] * 0])
        multiples.append(following)
    quotient, rest = [], c1
    for multiple in reversed(multiples):
        if multiple is c2 and basis.symbol not in (None, "T"):
            multiple = _double(c2)
        factor = rest[-1] / multiple[-1]
        quotient.append(factor.astype(c1.dtype))
        rest = rest[:-1] - factor * multiple[:-1]
    return np.stack(quotient[::-1]), trimseq(rest)


@series("{p}pow")
def power(basis: Basis, c: Any, pow: Any, maxpower: int | None = None) -> Any:
    """The {basis} series to a power, by repeated products.

    Raises ValueError for a power that is no whole number, is negative, or above `maxpower` (unless that is None).

    >>> C = {module}
    >>> np.allclose(C.{p}pow([1, 2], 3), C.{p}mul([1, 2], C.{p}mul([1, 2], [1, 2])))
    True
    """
    (c,) = coefficients([c])
    exponent = int(pow)
    if exponent != pow or exponent < 0:
        raise ValueError("Power must be a non-negative integer.")
    if maxpower is not None and exponent > maxpower:
        raise ValueError("Power is too large")
    if exponent == 0:
        return np.ones_like(c[:1])
    product = c
    for _ in range(exponent - 1):
        product = _product(basis, product, c)
    return product


# --- conversions ------------------------------------------------------------------------------------------------------


@series("{p}2poly")
def to_powers(basis: Basis, c: Any) -> Any:
    """The same polynomial in powers of x, from its {basis} series; coefficients of low powers come first.

    >>> C = {module}
    >>> np.allclose(np.polynomial.polynomial.polyval(0.5, C.{p}2poly([1, 2, 3])), C.{p}val(0.5, [1, 2, 3]))
    True
    """
    (c,) = coefficients([c])
    return _substituted(c, basis, np.ones_like(c[:1]), POWER)


@series("poly2{p}")
def from_powers(basis: Basis, pol: Any) -> Any:
    """The {basis} series of a polynomial that is given in powers of x, coefficients of low powers first.

    >>> C = {module}
    >>> np.allclose(C.{p}val(0.5, C.poly2{p}([1, 2, 3])), 1 + 2 * 0.5 + 3 * 0.5**2)
    True
    """
    (pol,) = coefficients([pol])
    return _substituted(pol, POWER, _double(np.ones_like(pol[:1])), basis)


# --- lines and roots --------------------------------------------------------------------------------------------------


@series("{p}line")
def line(basis: Basis, off: Any, scl: Any) -> Any:
    """The {basis} series of the line off + scl x; a constant, of one coefficient, if `scl` is zero.

    >>> C = {module}
    >>> np.allclose(C.{p}val(2.0, C.{p}line(3, 4)), 11.0)
    True
    """
    if scl == 0:
        return np.array([off])
    up, same, _ = basis.times_x(0)  # 1, 1/2 or -1, and 0 or 1
    constant = off + scl if same else off
    slope = scl / up.denominator if up.denominator > 1 else -scl if up < 0 else scl
    return np.array([constant, slope])


@series("{p}fromroots")
def fromroots(basis: Basis, roots: Any) -> Any:
    """The {basis} series of the polynomial with these roots, whose highest power of x has the coefficient 1.

    Raises ValueError for roots that are no vector.

    >>> C = {module}
    >>> np.allclose(C.{p}val(np.array([1, 2, 3]), C.{p}fromroots([1, 2, 3])), 0.0)
    True
    """
    if not len(roots):
        return np.ones(1)
    (roots,) = coefficients([roots], trim=False)
    factors = [line(basis, -root, 1) for root in np.sort(roots)]
    while len(factors) > 1:  # small roots go together with large ones: the partial products stay of one size
        half = len(factors) // 2
        pairs = zip(factors[:half], factors[half : 2 * half])
        factors = [multiply(basis, low, high) for low, high in pairs] + factors[2 * half :]
    return factors[0]
