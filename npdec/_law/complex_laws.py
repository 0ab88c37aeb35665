"""The laws of a few complex numbers on the host, in Python's: what contributions are multiplied with.

The multipliers are those that the general way comes to: of a product the middle of the other's path, of a quotient
those of the product with the reciprocal, whose slope is −1 / (x r), of a holomorphic function the secant slope. Each
law answers with None where the general way has to look more closely, or something is to be said: numbers that are not
finite, slopes that are steep, differences that have lost digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch

from npdec._decomposed.registry import Trait
from npdec._decomposed.size_warnings import STEEP, STEEPEST, half_of_digits
from npdec._impl import slopes_impl
from npdec._law.all_components import current as chunk
from npdec._law.of_few import ROUNDINGS, listed
from npdec._law.powers_of_few import means_by_nodes, means_through_zero

__all__ = [
    "LAWS", "LESS", "MORE", "REAL_OF", "Law", "Numbers", "Sum", "compared", "each", "law_of_complex",
    "length", "power", "product", "quotient",
]  # fmt: skip

REAL_OF = {torch.complex128: torch.float64, torch.complex64: torch.float32}
_CPU = torch.device("cpu")


class Numbers(NamedTuple):
    """An operand: its value, its residual, and for each component its elements, one after the other; None of a
    constant."""

    x: Sequence[complex]
    r: Sequence[complex]
    components: Sequence[complex] | None


Multipliers = Sequence[Sequence[complex]]
Ends = tuple[torch.Tensor, torch.Tensor]
# Of the operands, the results at both ends, and the dtype of the operands, for each operand those of its elements. Of
# results that are real or conditions, the real part of the product is what is contributed.
Law = Callable[[Sequence[Numbers], Ends, torch.dtype], Multipliers | None]
_FEWER = 64  # how many times longer one end of a divisor is than the other, where no digit has to be looked at
_APART = 1e-3  # of the length of a path, how much longer the way past the origin is than the path
_KEPT = 16  # how many times larger a value is than a difference that has lost digits
MORE: Sequence[complex] = (1.0,)  # of a summand, whose contributions are not multiplied: they may be infinite
LESS: Sequence[complex] = (-1.0,)
_WHOLE = 100  # exponents below which a power is a product
_WANTED = 1e-12 / 8  # as the quadrature in double precision


def law_of_complex(
    tags: Mapping[int | str, str], traits: int, rates: Callable[..., object] | None = None
) -> Law | None:
    """The law of a function of complex numbers, by the tags of its arguments, its traits and the formula of its
    derivatives; None where it has none."""
    if traits & Trait.ARITHMETIC:
        return SUMS[2 if traits & Trait.SUBTRACT_FROM else bool(traits & Trait.SUBTRACT)]
    if traits & Trait.MULTIPLY:
        return product
    if traits & Trait.DIVIDE:
        return quotient
    if traits & Trait.POWER or rates is slopes_impl.rates_of_power:
        return power
    if set(tags.values()) == {"Linear"} and traits & Trait.EACH and traits & Trait.ELEMENTWISE:
        return each
    alone = sum(isinstance(key, int) for key in tags) == 1
    return _holomorphic if alone and traits & Trait.HOLOMORPHIC else None


class Sum:
    """The law of a sum or a difference."""

    def __init__(self, first: Sequence[complex], second: Sequence[complex]) -> None:
        self.signs = first, second

    def __call__(self, operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
        return self.signs

    def of(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """The sum of two numbers, part by part: to the last bit that of torch's parts, and of NumPy."""
        x, y = a.item(), b.item()
        made = y - x if self.signs[0] is LESS else x - y if self.signs[1] is LESS else x + y
        return torch.scalar_tensor(made, dtype=a.dtype, device=_CPU)


SUMS = (Sum(MORE, MORE), Sum(MORE, LESS), Sum(LESS, MORE))  # a + b, a - b, b - a


def product(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """Each times the middle of the other's path."""
    a, b = operands
    made = _middles(b), _middles(a)
    for other, middles in zip(operands, made, strict=True):
        if other.components is not None and not all(abs(middle) <= STEEP for middle in middles):
            return None
    return made


def _middles(x: Numbers) -> Sequence[complex]:
    return x.x if x.components is None else [(u + w) / 2 for u, w in zip(x.x, x.r, strict=True)]


def quotient(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """a times the middle of the path of the reciprocal of b, and −1 / (x r) of b times the middle of that of a."""
    a, b = operands
    steepest = STEEPEST.get(dtype, STEEP)
    middles, slopes = [], []
    for u, w, middle in zip(b.x, b.r, _middles(a), strict=True):
        least, most = sorted((abs(u), abs(w)))
        if not (1 / STEEP <= least and most <= min(STEEP, _FEWER * least) and abs(middle) <= STEEP):
            return None
        high, low = 1 / u, 1 / w
        if b.components is not None and least * most * steepest < 1:
            return None
        middles.append((high + low) / 2)
        slopes.append(-high * low * middle)
    return middles, slopes


def _holomorphic(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """The secant slope; nothing of what does not move."""
    slopes, a = [], operands[0]
    steepest, count = STEEPEST.get(dtype, STEEP), len(a.x)
    for i, (x, r, after, before) in enumerate(zip(a.x, a.r, *map(listed, ends), strict=True)):
        step, difference = x - r, after - before
        if not step:
            if difference or a.components is None or any(a.components[i::count]):
                return None
            slopes.append(0j)
            continue
        slope = _secant(step, after, before, steepest)
        if slope is None and (x != -r or difference):
            return None
        slopes.append(slope or 0j)  # between opposite ends of an even function
    return (slopes, slopes)


def _secant(step: complex, after: complex, before: complex, steepest: float) -> complex | None:
    """The slope between two ends, a step apart; None where it has lost digits, or is steep."""
    difference = after - before
    if not step or not _KEPT * abs(difference) > max(abs(after), abs(before)):  # or NaN
        return None
    slope = difference / step
    return slope if 1 / STEEP**4 <= abs(slope) <= steepest else None


def power(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """To a whole number: the slope of a small one is a polynomial."""
    a, b = operands
    n = b.x[0]
    if b.components is not None or any(other != n for other in b.x) or n.imag or not abs(n.real) < _WHOLE:
        return _any_power(a, b, ends, dtype)
    if not n.real.is_integer():
        return _any_power(a, b, ends, dtype)
    if n not in (2, 3, 4):
        return _holomorphic(operands, ends, dtype)
    slopes = []
    for x, r in zip(a.x, a.r, strict=True):
        slope = x + r if n == 2 else x * (x + r) + r * r if n == 3 else (x + r) * (x * x + r * r)
        if not abs(slope) <= STEEPEST.get(dtype, STEEP):
            return None
        slopes.append(slope)
    return slopes, slopes


def _any_power(a: Numbers, b: Numbers, ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """The secant slopes, and of two that move the mean gradients along the path, which meets no negative number."""
    both = a.components is not None and b.components is not None
    steepest, digits = STEEPEST.get(dtype, STEEP), half_of_digits(REAL_OF[dtype])
    eps, made = torch.finfo(dtype).eps, list[tuple[complex, complex]]()
    for x, r, y, s, fx, fr in zip(a.x, a.r, b.x, b.r, *map(listed, ends), strict=True):
        slope = None if both else _secant(y - s if a.components is None else x - r, fx, fr, steepest)
        if slope is not None:
            made.append((slope, slope))
            continue
        if a.components is None or _is_beside_negatives(x, r):
            means = means_by_nodes(x, r, y, s)
        else:
            means = means_through_zero(x, r, y, s)
        if means is None or any(
            its.components is not None and not abs(mean) <= steepest for its, mean in zip((a, b), means, strict=True)
        ):
            return None
        made.append(means)
        by_a, by_b = means[0] * (x - r), means[1] * (y - s)
        size, gross = abs(fx) + abs(fr), abs(by_a) + abs(by_b)
        if not abs(fx - fr - by_a - by_b) <= max(_WANTED, 10 * eps) * size + 16 * eps * gross:
            return None
        if not gross <= digits * size:
            return None
    return [first for first, _ in made], [second for _, second in made]


def _is_beside_negatives(x: complex, r: complex) -> bool:
    """Whether a segment meets neither zero nor a negative number, where logarithms jump."""
    if x.real > 0 and r.real > 0:
        return True
    if x.imag * r.imag > 0:
        return True
    rise = x.imag - r.imag
    return rise != 0 and (r.real * x.imag - x.real * r.imag) / rise > 0


def length(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """The magnitude: the mean direction along the path from r to x, in closed form. Along the path it is the change of
    the length, across it the distance of the origin times the mean of 1 / |u|, which is 2 artanh(|x − r| / (|x| + |r|))
    over |x − r|. The conjugates are given: of the product with them the real part is that along the direction."""
    made: list[complex] = []
    (a,) = operands
    for x, r in zip(a.x, a.r, strict=True):
        step, way = x - r, abs(x) + abs(r)
        path = abs(step)
        if not way < math.inf:
            return None
        if not path:
            made.append(x.conjugate() / abs(x) if x else 0j)
            continue
        if not way - path > _APART * path:
            if x and r and not _is_straight(x, r):
                return None
            made.append((abs(x) - abs(r)) / path * (step.conjugate() / path))
            continue
        unit = step / path
        along = (x * unit.conjugate()).real + (r * unit.conjugate()).real
        across = (r.conjugate() * x).imag / path  # the signed distance of the origin from the line, to the left
        mean = 2 * math.atanh(path / way) / path
        made.append((along / way * unit - across * mean * 1j * unit).conjugate())
    return (made,)


def _is_straight(x: complex, r: complex) -> bool:
    """Whether both ends lie on one line through the origin, to the last digit."""
    return (r.conjugate() * x).imag == 0


def compared(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """A step of the difference, shared as `npdec._law.jumps` shares it."""
    jumps = [float(after) - float(before) for after, before in zip(*map(listed, ends), strict=True)]
    count = len(jumps)
    if chunk.get() is not None:
        return None
    shares: list[complex] = []
    eps, tiny = torch.finfo(dtype).eps, torch.finfo(dtype).tiny
    a, b = operands
    for i, jump in enumerate(jumps):
        of_a = [] if a.components is None else a.components[i::count]
        of_b = [] if b.components is None else b.components[i::count]
        if of_a and of_b:
            of_a, of_b = [u - w for u, w in zip(of_a, of_b, strict=True)], []
        column = of_a or [-c for c in of_b]
        gross = sum(map(abs, column))
        if not gross < math.inf:
            return None
        if not jump:
            shares.append(0j)
            continue
        total, step = sum(column), (a.x[i] - b.x[i]) - (a.r[i] - b.r[i])
        known = abs(step - total) <= ROUNDINGS * eps * gross and abs(total) > max(1 / STEEP, eps**0.5) * gross
        if not known or not tiny / eps <= 1 / abs(total) <= STEEP**2:
            return None
        shares.append(jump / total)
    return shares, [-share for share in shares]


def each(operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
    """Stands for the law of linear functions of each element, which are called of the components."""
    return None


LAWS = (*SUMS, product, quotient, _holomorphic, power, length, compared)  # as `few_complex.h` numbers them
