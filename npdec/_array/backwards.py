"""Parts of arrays that run backwards: torch has no negative strides, so they are copies that stand for views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._impl import _storage
from npdec._impl.dtypes_impl import WIDE_UNSIGNED

__all__ = ["Backwards", "forwards", "reverse"]

_ALL = slice(None)


class Backwards:
    """What selects a part of which some axes are reversed: that part by slices that run forwards, and the axes."""

    __slots__ = ("axes", "items")

    def __init__(self, items: tuple[Any, ...], axes: list[int]) -> None:
        self.items, self.axes = items, axes

    def __call__(self, source: torch.Tensor) -> torch.Tensor:
        return reverse(self.forwards(source), self.axes)

    def forwards(self, source: torch.Tensor) -> torch.Tensor:
        """A view of the part, whose axes all run forwards."""
        return source[self.items] if self.items else source

    def is_view(self, source: torch.Tensor, copy: torch.Tensor) -> bool:
        """Whether the copy can be written back as it is: where neither carries anything."""
        return all(type(tensor) is torch.Tensor and not tensor.requires_grad for tensor in (source, copy))

    def write(self, source: torch.Tensor, copy: torch.Tensor) -> None:
        """Write the copy back into what it is of; its shape may have been set since."""
        part = self.forwards(source)
        part.copy_(reverse(copy.reshape(part.shape), self.axes))


def forwards(key: tuple[Any, ...], shape: Sequence[int]) -> tuple[tuple[Any, ...], list[int]] | None:
    """A key of ints and slices, some of which run backwards, as one whose slices all run forwards (empty, if it names
    all), and the axes of what that names which are reversed then; None for other keys."""
    if len(key) > len(shape):
        return None
    items: list[Any] = []
    axes = []
    ints = 0
    whole = True
    for axis, item in enumerate(key):
        if type(item) is slice:
            step = item.step
            if type(step) is int and step < 0:
                axes.append(axis - ints)
                if step == -1 and item.start is None is item.stop:
                    items.append(_ALL)
                    continue
                start, stop, step = item.indices(shape[axis])
                count = len(range(start, stop, step))
                item = slice(start + (count - 1) * step, start + 1, -step) if count else slice(0, 0)
            elif item.start is item.stop is step is None:
                items.append(item)
                continue
        elif type(item) is int:
            ints += 1
        else:
            return None
        whole = False
        items.append(item)
    return () if whole else tuple(items), axes


def reverse(tensor: torch.Tensor, axes: list[int]) -> torch.Tensor:
    """`torch.flip`, of every dtype."""
    return _storage.moved(torch.flip, tensor, axes) if tensor.dtype in WIDE_UNSIGNED else torch.flip(tensor, axes)
