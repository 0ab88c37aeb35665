"""Arrays, or slices of them, folded by a ufunc along their first axis.

An associative ufunc is folded by halves, in about log2(n) steps; any other from first to last.
"""

from __future__ import annotations

import torch

from npdec._core.base import UfuncBase
from npdec._impl import _storage

__all__ = ["fold", "fold_slices", "in_any_order"]

# Besides those that have an identity. NumPy takes several axes of these at once, of no others.
_ASSOCIATIVE = frozenset({"maximum", "minimum", "fmax", "fmin"})
_FEW_SIZES = 4  # of slices: those of one size are sooner folded by themselves


def in_any_order(function: UfuncBase) -> bool:
    return function.identity is not None or function.__name__ in _ASSOCIATIVE


def fold(
    function: UfuncBase,
    a: torch.Tensor,
    found: set[str] | None,
    start: torch.Tensor | None = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """`a` folded along its first axis, which is not empty, from `start` on; in fresh memory.

    A mask says which elements take part, one after the other.
    """
    if start is None and a.shape[0] == 1:
        return a[0].clone()
    if mask is None and in_any_order(function):
        a = a if start is None else torch.cat([start.unsqueeze(0), a])
        while a.shape[0] > 1:
            half = a.shape[0] // 2
            folded = function.compute((a[:half], a[half : 2 * half]), found=found)
            a = torch.cat([folded, a[2 * half :]]) if a.shape[0] % 2 else folded
        return a[0]
    rows, masks = list(torch.unbind(a)), [] if mask is None else list(torch.unbind(mask))
    result = rows.pop(0) if start is None else start
    for i, row in enumerate(rows):
        step = function.compute((result, row), found=found)
        result = torch.where(masks[i], step, result) if masks else step
    return result


def fold_slices(
    function: UfuncBase, a: torch.Tensor, first: torch.Tensor, size: torch.Tensor, found: set[str] | None
) -> torch.Tensor | None:
    """Slices of numbers along the first axis, from these places on and of these sizes, each folded. None if that is as
    soon done for each by itself."""
    sizes = len(size.unique())
    if sizes > _FEW_SIZES and in_any_order(function):
        return _fold_together(function, a, first, size, found)
    return _fold_alike(function, a, first, size, found) if sizes < len(first) else None


def _fold_together(
    function: UfuncBase, a: torch.Tensor, first: torch.Tensor, size: torch.Tensor, found: set[str] | None
) -> torch.Tensor:
    """The slices from the first places on folded along the first axis, as `fold` does it, each step in all of them."""
    numbers = _storage.signed(a)
    while True:
        half, odd = size // 2, (size % 2 == 1).nonzero().squeeze(1)
        count = int(half.sum())
        if not count:
            return _storage.seen_as(numbers[first], a.dtype)
        of = torch.repeat_interleave(half)
        at = torch.arange(count) - (half.cumsum(0) - half)[of]
        left = first[of] + at
        pair = [_storage.seen_as(numbers[places], a.dtype) for places in (left, left + half[of])]
        folded = _storage.signed(function.compute((pair[0], pair[1]), found=found))
        rest, size = numbers[first[odd] + 2 * half[odd]], half + size % 2
        first = size.cumsum(0) - size
        numbers = folded.new_empty((len(folded) + len(rest), *folded.shape[1:]))
        numbers[first[of] + at] = folded
        numbers[first[odd] + half[odd]] = rest


def _fold_alike(
    function: UfuncBase, a: torch.Tensor, first: torch.Tensor, size: torch.Tensor, found: set[str] | None
) -> torch.Tensor:
    """The slices from the first places on folded along the first axis: those of one size together."""
    signed = _storage.signed(a)
    result = torch.empty((len(first), *a.shape[1:]), dtype=signed.dtype)
    for n in size.unique().tolist():
        chosen = (size == n).nonzero().reshape(-1)
        at = torch.arange(n).unsqueeze(1) + first[chosen]
        folded = fold(function, _storage.seen_as(signed[at], a.dtype), found)
        result[chosen] = _storage.signed(folded)
    return _storage.seen_as(result, a.dtype)
