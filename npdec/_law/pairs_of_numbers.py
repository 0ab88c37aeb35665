"""The law of functions of two numbers on the host, without torch: what each passes on of its contributions.

Each form takes the function, or a tuple of it and the place of one of its results, its two operands, the numbers that
it gives at the value and at the residual, and the dtype of the contributions. It gives the components of the result and
their labels, and None where a general way knows more: infinite or steep slopes, contributions that cancel, changes that
the mean gradients miss. Which form a function has stands in its row (`npdec._decomposed.registry`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch

from npdec._decomposed.registry import Trait
from npdec._decomposed.size_warnings import STEEP
from npdec._decomposed.tensor import Labels
from npdec._impl.quotients_impl import in_both_orders
from npdec._law.means_of_few import has_means, means_of_number, slope_beside
from npdec._law.of_few import larger_of_two, multiplier
from npdec._law.ordinary_arithmetic import is_even_quotient
from npdec._law.ordinary_numbers import is_finite, listed_sum
from npdec._law.quotients_of_few import SHARES, quotient_of_number

__all__ = ["MAXIMUM", "MINIMUM", "Operand", "compared", "logic", "numbers_of", "quotients", "total"]

Function = Callable[..., Any]
Found = tuple[list[float], Labels]


class Operand(NamedTuple):
    """A number at the value and at the residual, and its components with their labels; of a constant there are none.
    Of a condition it is 0 or 1."""

    x: float
    r: float
    column: list[float]
    labels: Labels | None
    is_condition: bool = False


Ends = tuple[float, float]


def numbers_of(given: Mapping[int | str, str], traits: int, mean: Any, rates: Function | None) -> Any:
    """The form of a function whose two arguments carry the tags, or a tuple of one for each of several results; None if
    it has none."""
    tags = set(given.values())
    if tags == {"Linear"} and traits & Trait.ARITHMETIC:
        of_a, of_b = -1.0 if traits & Trait.SUBTRACT_FROM else 1.0, -1.0 if traits & Trait.SUBTRACT else 1.0
        return partial(_linear, of_a, of_b)
    if tags == {"Multilinear"} and traits & Trait.MULTIPLY:
        return _product
    if tags == {"Pointwise"} and has_means(mean or rates):
        return partial(_smooth, mean or rates)
    if tags == {"Stepwise"} and type(mean) is tuple:
        return tuple([partial(_stepped, form) for form in mean])
    if tags == {"Stepwise"} and len(given) > 1 and (mean or in_both_orders) in SHARES:
        return partial(_stepped, mean or in_both_orders)
    return None


def total(a: Operand, b: Operand, of_a: float, of_b: float) -> Found | None:
    """The components of both, each times its weight, added up."""
    if a.labels is None or b.labels is None:
        x, weight = (b, of_b) if a.labels is None else (a, of_a)
        return None if x.labels is None else ([c * weight for c in x.column], x.labels)
    return listed_sum(a.labels, b.labels, a.column, b.column, of_a, of_b)


def _linear(of_a: float, of_b: float, func: Any, a: Operand, b: Operand, ends: Ends, dtype: torch.dtype) -> Any:
    return total(a, b, of_a, of_b)


def _product(func: Any, a: Operand, b: Operand, ends: Ends, dtype: torch.dtype) -> Found | None:
    at_a, at_b = (a.x + a.r) / 2, (b.x + b.r) / 2
    return total(a, b, at_b, at_a) if abs(at_a) <= STEEP and abs(at_b) <= STEEP else None


def quotients(func: Any, a: Operand, b: Operand, ends: Ends, dtype: torch.dtype) -> Found | None:
    """a / b: linear in a; in b the product of a with the reciprocal of b, whose slope is −1 / (x r)."""
    if not b.x or not b.r:
        return None
    at, over, steep = (a.x + a.r) / 2, (1 / b.x + 1 / b.r) / 2, 1 / b.x / b.r
    if not (abs(at) <= STEEP and abs(over) <= STEEP and abs(steep) <= STEEP):
        return None
    if a.labels is not None and b.labels is not None and not is_even_quotient(over, steep, dtype):
        return None
    found = total(a, b, over, -at * steep)
    return found if found is not None and is_finite(found[0], dtype) else None


def _larger(sign: int, func: Any, a: Operand, b: Operand, ends: Ends, dtype: torch.dtype) -> Found | None:
    """The maximum (sign 1) or minimum (−1): the part of the path that each leads."""
    shares = larger_of_two(sign, a.x, b.x, a.r, b.r)
    return None if shares is None else total(a, b, *shares)


MAXIMUM, MINIMUM = partial(_larger, 1), partial(_larger, -1)


def compared(func: Any, a: Operand, b: Operand, ends: Ends, dtype: torch.dtype) -> Found | None:
    """A comparison: a step of the difference."""
    found, jump = total(a, b, 1.0, -1.0), ends[0] - ends[1]
    if found is None:
        return None
    components, labels = found
    if not jump:
        return [0.0] * len(components), labels
    weight = multiplier(jump, (a.x - b.x) - (a.r - b.r), components, dtype, None)
    return None if weight is None else ([c * weight for c in components], labels)


def _truth(a: Operand, dtype: torch.dtype) -> Operand | None:
    """Whether an operand is not zero: a condition as it is."""
    if a.is_condition:
        return a
    x, r = float(a.x != 0), float(a.r != 0)
    weight = multiplier(x - r, a.x - a.r, a.column, dtype, None) if x != r else 0.0
    return None if weight is None else Operand(x, r, [c * weight for c in a.column], a.labels, True)


def logic(
    share: Callable[[float], float], func: Any, a: Operand, b: Operand, ends: Ends, dtype: torch.dtype
) -> Found | None:
    """Logic of two conditions, or of whether two numbers are not zero, which is linear in each: it passes on the
    `share` that the middle of the other one's path leaves."""
    first, second = _truth(a, dtype), _truth(b, dtype)
    if first is None or second is None:
        return None
    return total(first, second, share((second.x + second.r) / 2), share((first.x + first.r) / 2))


def _smooth(key: Any, func: Any, a: Operand, b: Operand, ends: Ends, dtype: torch.dtype) -> Found | None:
    if a.labels is not None and b.labels is not None:
        means = means_of_number(key, a.x, b.x, a.r, b.r, *ends, dtype)
        return None if means is None else total(a, b, *means)
    swapped = a.labels is None
    x, other = (b, a) if swapped else (a, b)
    slope = slope_beside(key, x.x, x.r, other.x, swapped, *ends, dtype)
    return None if slope is None else total(a, b, slope, slope)


def _stepped(form: Any, func: Any, a: Operand, b: Operand, ends: Ends, dtype: torch.dtype) -> Found | None:
    if a.labels is not None and b.labels is not None:
        shares = quotient_of_number(form, func, a.x, b.x, a.r, b.r, *ends, dtype)
    else:
        change = operator.sub(*ends)
        shares = (0.0, change) if a.labels is None else (change, 0.0)
    if shares is None:
        return None
    weights: list[float] = []
    for share, x in zip(shares, (a, b), strict=True):
        found = 0.0 if x.labels is None else multiplier(share, x.x - x.r, x.column, dtype, abs(x.x) + abs(x.r))
        if found is None:
            return None
        weights.append(found)
    return total(a, b, weights[0], weights[1])
