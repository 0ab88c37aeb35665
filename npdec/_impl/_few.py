"""Reductions of small arrays on the host to a number: what torch's would give, sooner than torch is asked, or by its
quickest function.

None where torch has to say it: of nan, and where an extreme is zero, of which there are some of either sign.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch

from npdec._impl._by_numpy import MANY

_FEW = 16  # elements that Python goes through sooner
_SMALL = 1024  # elements of which it costs little to ask twice


def _of_list(
    find: Callable[[list[Any]], Any], otherwise: Callable[[torch.Tensor, int], Any]
) -> Callable[[torch.Tensor], Any]:
    """The number that is found in a list of few numbers, `otherwise` in the array of so many elements."""

    def found(a: torch.Tensor) -> Any:
        count = a.numel()
        if 0 < count <= _FEW:
            rank = a.dim()
            if rank == 1:
                return find(a.tolist())
            if rank == 2:
                return find(list(itertools.chain.from_iterable(a.tolist())))
        return otherwise(a, count)

    return found


def _extreme(find: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor, int], Any]:
    def found(a: torch.Tensor, count: int) -> Any:
        if not 0 < count <= _SMALL:
            return None
        number = find(a).item()
        return number if type(number) is int or (number and not math.isnan(number)) else None

    return found


def _test(find: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor, int], Any]:
    return lambda a, count: find(a).item() if count <= _SMALL else None


def _greatest(numbers: list[Any]) -> Any:
    found = max(numbers)
    return found if type(found) is int or _is_settled(found, numbers) else None


def _least(numbers: list[Any]) -> Any:
    found = min(numbers)
    return found if type(found) is int or _is_settled(found, numbers) else None


def _first_greatest(numbers: list[Any]) -> Any:
    found = max(numbers)
    return numbers.index(found) if type(found) is int or _has_no_nan(numbers) else None


def _first_least(numbers: list[Any]) -> Any:
    found = min(numbers)
    return numbers.index(found) if type(found) is int or _has_no_nan(numbers) else None


def _has_no_nan(numbers: list[Any]) -> bool:
    return not math.isnan(sum(numbers))  # neither are there infinities of both signs


def _is_settled(found: Any, numbers: list[Any]) -> bool:
    if math.isnan(sum(numbers)):
        return False
    if found or numbers.count(0.0) == 1:
        return True
    return len({math.copysign(1.0, n) for n in numbers if n == 0.0}) == 1


def _not_zero(numbers: list[Any]) -> int:
    return len(numbers) - numbers.count(0)


greatest, least = _of_list(_greatest, _extreme(torch.Tensor.max)), _of_list(_least, _extreme(torch.Tensor.min))
first_greatest = _of_list(_first_greatest, lambda a, count: a.argmax().item() if count < MANY else None)
first_least = _of_list(_first_least, lambda a, count: a.argmin().item() if count < MANY else None)
not_zero = _of_list(_not_zero, _test(torch.Tensor.count_nonzero))
all_true, any_true = _of_list(all, _test(torch.Tensor.all)), _of_list(any, _test(torch.Tensor.any))


_ROUNDED = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128})


def mean_of_doubles(a: torch.Tensor) -> float | None:
    """The mean of what is averaged in double precision, without another call of torch that divides."""
    count = a.numel()
    if a.dtype in _ROUNDED or not count or not a.dim():
        return None
    return float(torch.sum(a, dtype=torch.float64).item()) / count
