"""How large components may become before they are left unmade, and what is said where there is no memory for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import ContextVar

import torch

__all__ = [
    "HANDFUL",
    "MANY",
    "TooLarge",
    "check",
    "check_pairs",
    "has_many",
    "in_rule",
    "is_for_one_thread",
    "is_large",
    "zeros",
]

HANDFUL = 16  # elements that are sooner gone through one by one, in Python, than told apart
MANY = 2**12  # components, from which on they may be too large
_LARGE = 2**19  # elements, from which on components are

# Whether a rule is running that need not make large components, as another way is open to it
# (npdec._decomposed.vjp_components).
in_rule: ContextVar[bool] = ContextVar("npdec.in_rule", default=False)


class TooLarge(MemoryError):
    """A rule asks for components that are as large as all inputs times all outputs."""


def is_for_one_thread(count: int, most: int = 2**18) -> bool:
    """Whether one thread is enough for so many elements, or there are no more."""
    return count <= most or torch.get_num_threads() == 1


def has_many(count: int) -> bool:
    """Whether components are so many that they may be too large."""
    return count >= MANY


def is_large(shape: Sequence[int]) -> bool:
    """Whether components of the shape (C, *S) are made only where somebody reads them."""
    return shape[0] >= MANY and len(shape) > 1 and math.prod(shape) > _LARGE


def check(shape: Sequence[int], there: int = 0) -> None:
    """Raise TooLarge if components of the shape need not be made, and are twice the elements that are there."""
    if is_large(shape) and math.prod(shape) > 2 * there and in_rule.get():
        raise TooLarge(message(shape))


def check_pairs(pairs: int, there: int) -> None:
    """Raise TooLarge if entries need not be made, and are many times the elements that are there: elements broadcast
    that are sums of many."""
    if pairs > _LARGE and pairs > 4 * there and in_rule.get():
        raise TooLarge(f"{pairs:,} entries of {there:,} elements")


def zeros(like: torch.Tensor, shape: Sequence[int], dtype: torch.dtype | None = None) -> torch.Tensor:
    """Components of zero, of the tensor's dtype if no other is given; MemoryError says what else there is to do."""
    check(shape)
    try:
        return like.new_zeros(tuple(shape), dtype=dtype)
    except RuntimeError as error:
        if "allocate" not in str(error):  # torch has no class of its own for the host's memory
            raise
        raise MemoryError(message(shape, (dtype or like.dtype).itemsize)) from error


def message(shape: Sequence[int], itemsize: int = 8) -> str:
    """What is too large, and what to do."""
    count, *rest = shape
    return (
        f"the components of an array of shape {tuple(rest)} with {count} labels are {math.prod(shape):,} numbers, "
        f"{math.prod(shape) * itemsize / 2**30:,.1f} GiB: read those of a selection or a reduction of it, merge labels "
        "before (groups= of np.decompose, .groupby()), or use np.attribute, in reverse mode or with max_memory="
    )
