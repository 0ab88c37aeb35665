"""Reductions of a few numbers in a list: what torch's would give, sooner than torch is asked.

None where torch has to say it: of nan, and where an extreme is zero, of which there are some of either sign.
"""

from __future__ import annotations

import math
from typing import Any

all_true, any_true = all, any


def greatest(numbers: list[Any]) -> Any:
    found = max(numbers)
    return found if _is_settled(found, numbers) else None


def least(numbers: list[Any]) -> Any:
    found = min(numbers)
    return found if _is_settled(found, numbers) else None


def first_greatest(numbers: list[Any]) -> Any:
    found = max(numbers)
    return numbers.index(found) if _is_settled(found, numbers, signed=False) else None


def first_least(numbers: list[Any]) -> Any:
    found = min(numbers)
    return numbers.index(found) if _is_settled(found, numbers, signed=False) else None


def _is_settled(found: Any, numbers: list[Any], signed: bool = True) -> bool:
    if type(found) is int:
        return True
    if math.isnan(sum(numbers)):
        return False
    return found != 0.0 or not signed or len({math.copysign(1.0, n) for n in numbers if n == 0.0}) == 1
