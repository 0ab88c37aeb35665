"""Operations whose results have as many elements as the numbers say: the sizes become conditions of the graph.

A graph has fixed shapes. So the sizes are asked for as Python asks for numbers to branch by, and the graph is for calls
in which they are the same. Numbers of ordinary data give other sizes in each call: nothing is compiled for the first
sizes that are seen, and only where they, and all else that Python asks for, come again there is a graph.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._torch.tracing import Refused

__all__ = ["Sizes", "Unsized"]

_aten = torch.ops.aten


class Unsized(Refused):
    """The shape of a result depends on numbers, and the recording is for all numbers."""


class Sizes:
    """The sizes of one recording: asked for, or refused."""

    def __init__(self, recorder: Any, asked: bool) -> None:
        self._recorder, self.asked = recorder, asked

    def made(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of an operation, by others that are told its size."""
        name = func.overloadpacket.__name__
        rule = _RULES.get(func)
        if rule is None:
            raise Refused(f"the shape of the result of {name} depends on numbers")
        if not self.asked:
            raise Unsized(f"the shape of the result of {name} depends on numbers")
        with self._recorder:
            return rule(self, *args, **kwargs)

    def places(self, mask: torch.Tensor) -> torch.Tensor:
        """The indices of the elements that are not zero, one row each."""
        size = int(torch.count_nonzero(mask))
        return _aten.nonzero_static.default(mask, size=size, fill_value=0)


def _index(sizes: Sizes, tensor: torch.Tensor, indices: Any) -> torch.Tensor:
    found: list[Any] = []
    for index in indices:
        is_mask = index is not None and index.dtype in (torch.bool, torch.uint8)
        found += sizes.places(index).unbind(1) if is_mask else [index]
    return _aten.index.Tensor(tensor, found)


def _masked(sizes: Sizes, tensor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    tensor, mask = torch.broadcast_tensors(tensor, mask)
    return _aten.index.Tensor(tensor, [*sizes.places(mask).unbind(1)])


def _counts(sizes: Sizes, given: torch.Tensor, weights: Any = None, minlength: int = 0) -> torch.Tensor:
    size = max(minlength, int(given.max()) + 1 if given.numel() else 0)
    each = torch.ones_like(given, dtype=torch.int64) if weights is None else weights
    each = each if weights is None or weights.dtype is torch.float32 else each.to(torch.float64)
    return torch.zeros(size, dtype=each.dtype, device=given.device).index_add(0, given.long(), each)


def _repeats(sizes: Sizes, repeats: torch.Tensor, *, output_size: int | None = None) -> torch.Tensor:
    """Each place as often as it says there: how many ends lie before."""
    size = int(repeats.sum()) if output_size is None else output_size
    ends = repeats.cumsum(0)
    return torch.searchsorted(ends, torch.arange(size, dtype=ends.dtype, device=ends.device), right=True)


_RULES: dict[Any, Any] = {
    _aten.nonzero.default: Sizes.places, _aten.index.Tensor: _index, _aten.masked_select.default: _masked,
    _aten.bincount.default: _counts, _aten.repeat_interleave.Tensor: _repeats,
}  # fmt: skip
