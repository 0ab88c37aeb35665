"""The laws of the order of a few complex numbers on the host, in Python's: comparisons, and the larger of two.

They say of finite numbers what `npdec._rules.complex_order` says, and answer with None where there is more to be said.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch

from npdec._decomposed.size_warnings import STEEP
from npdec._law.all_components import current as chunk
from npdec._law.complex_laws import Ends, Multipliers, Numbers
from npdec._law.of_few import ROUNDINGS, listed

__all__ = ["ORDER", "ORDERS", "Extreme", "Order"]

_CPU = torch.device("cpu")


def _is_less(a: complex, b: complex) -> bool:
    return (a.imag < b.imag) if a.real == b.real else a.real < b.real


def _is_less_or_equal(a: complex, b: complex) -> bool:
    return (a.imag <= b.imag) if a.real == b.real else a.real < b.real


class _Gap(NamedTuple):
    """The difference of two numbers at the value and at the residual, its components, and whether its imaginary part
    is the one that decides."""

    at: complex
    before: complex
    components: list[complex]
    alone: bool

    def ends(self) -> tuple[float, float]:
        """The part that decides."""
        return (self.at.imag, self.before.imag) if self.alone else (self.at.real, self.before.real)

    def multiplier(self, jump: float, alone: bool, dtype: torch.dtype) -> float | None:
        """What the components of a part, the imaginary one if it is that `alone`, have of a jump between its ends; None
        where they cancel (`npdec._law.jumps`)."""
        if not jump:
            return 0.0
        column = [c.imag if alone else c.real for c in self.components]
        step = self.at.imag - self.before.imag if alone else self.at.real - self.before.real
        total, gross = sum(column), sum(map(abs, column))
        info = torch.finfo(dtype)
        if not (abs(step - total) <= ROUNDINGS * info.eps * gross):
            return None
        if not abs(total) > max(1 / STEEP, info.eps**0.5) * gross:
            return None
        found = jump / total
        return found if info.tiny / info.eps <= abs(found) <= STEEP**2 else None


def _gaps(operands: Sequence[Numbers], count: int) -> list[_Gap] | None:
    """The difference at each element; None where something is not finite, or not all components are there."""
    if chunk.get() is not None:
        return None
    a, b = operands
    made: list[_Gap] = []
    for i in range(count):
        at, before = a.x[i] - b.x[i], a.r[i] - b.r[i]
        first = [] if a.components is None else a.components[i::count]
        second = [] if b.components is None else b.components[i::count]
        if first and second:
            components = [u - w for u, w in zip(first, second, strict=True)]
        else:
            components = [*first] or [-c for c in second]
        if not all(map(cmath.isfinite, (at, before, *first, *second))):
            return None
        made.append(_Gap(at, before, components, not at.real and not before.real))
    return made


class Order:
    """The law of a comparison: a step of the real parts, or of the imaginary ones where those are equal all along."""

    def __init__(self, compare: Callable[[complex, complex], bool]) -> None:
        self.compare = compare

    def __call__(self, operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
        shares: list[complex] = []
        after, before = map(listed, ends)
        for gap, *both in zip(_gaps(operands, len(after)) or (), after, before, strict=False):
            weight = gap.multiplier(operator.sub(*map(float, both)), gap.alone, dtype)
            if weight is None:
                return None
            shares.append(complex(0.0, -weight) if gap.alone else complex(weight, 0.0))
        return (shares, [-share for share in shares]) if shares else None

    def of(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """The comparison of two numbers."""
        return torch.scalar_tensor(self.compare(a.item(), b.item()), dtype=torch.bool, device=_CPU)


class Extreme:
    """The law of the larger (sign 1) or the smaller (−1) of two: each has the part of the path on which it leads. What
    the imaginary parts jump by where the real ones cross is the imaginary part of the first one's multipliers: the
    components of the crossing are multiplied with it."""

    def __init__(self, sign: int) -> None:
        self.sign = sign

    def __call__(self, operands: Sequence[Numbers], ends: Ends, dtype: torch.dtype) -> Multipliers | None:
        first: list[complex] = []
        second: list[complex] = []
        a, b = operands
        for i, gap in enumerate(_gaps(operands, len(a.x)) or ()):
            at, before = self.leads(a.x[i], b.x[i]), self.leads(a.r[i], b.r[i])
            late, early = map(abs, gap.ends())
            path = late + early
            if not path < math.inf:
                return None
            weight: float | None = 0.0
            if not path:  # both are equal, and have each a half
                share = other = 0.5
            elif at == before:
                share, other = float(at), float(not at)
            else:
                share, other = (early / path, late / path) if before else (late / path, early / path)
                if not gap.alone:
                    leap = gap.at.imag * (early / path) + gap.before.imag * (late / path)
                    weight = gap.multiplier(leap if at else -leap, False, dtype)
            if weight is None:
                return None
            first.append(complex(share, weight))
            second.append(complex(other, 0.0))
        return (first, second) if first else None

    def leads(self, a: complex, b: complex) -> bool:
        """Whether it is a, which it is of equal ones."""
        return not (_is_less(a, b) if self.sign > 0 else _is_less(b, a))

    def of(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """That of two numbers."""
        return (a if self.leads(a.item(), b.item()) else b).clone()

    def crossed(self, operands: Sequence[Numbers], weights: Multipliers, made: Iterable[complex]) -> list[complex]:
        """The contributions, with what the components of the crossing have of the leaps."""
        leaps, (a, b), count = [w.imag for w in weights[0]], operands, len(weights[0])
        found = [*made]
        for at, leap in enumerate(leaps * (len(found) // count)):
            if leap:
                crossing = -b.components[at] if a.components is None else a.components[at]  # type: ignore[index]
                if a.components is not None and b.components is not None:
                    crossing -= b.components[at]
                found[at] = complex(found[at].real, found[at].imag + leap * crossing.real)
        return found


_LESS, _LESS_EQUAL, _MAXIMUM, _MINIMUM = ORDERS = (  # as `few_complex.h` numbers them, behind the other laws
    Order(_is_less),
    Order(_is_less_or_equal),
    Extreme(1),
    Extreme(-1),
)
# The laws of ufuncs, by name, and whether their operands change places.
ORDER: dict[str, tuple[Order | Extreme, bool]] = {
    "less": (_LESS, False),
    "less_equal": (_LESS_EQUAL, False),
    "greater": (_LESS, True),
    "greater_equal": (_LESS_EQUAL, True),
    "maximum": (_MAXIMUM, False),
    "minimum": (_MINIMUM, False),
    "fmax": (_MAXIMUM, False),  # of numbers that are finite
    "fmin": (_MINIMUM, False),
}
