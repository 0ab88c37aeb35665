"""How much memory the tensors of a piece of work take at once, on any device."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["Meter"]


class Meter(TorchDispatchMode):
    """Context manager: the bytes of all storages that torch's operations made meanwhile and that lived at one time.

    `peak` is the most there were, `live` what is left. What an operation takes inside itself is not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self._known: dict[Any, int] = {}

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        before = {id(t.untyped_storage()) for t in _tensors((args, kwargs))}
        for tensor in _tensors(result):
            storage = tensor.untyped_storage()
            if id(storage) not in before:
                self._add(storage)
        return result

    def _add(self, storage: Any) -> None:
        key: Any = weakref.ref(storage, self._gone)
        if key in self._known:
            return
        size = storage.nbytes()
        self._known[key] = size
        self.live += size
        self.peak = max(self.peak, self.live)

    def _gone(self, key: Any) -> None:
        self.live -= self._known.pop(key, 0)


def _tensors(tree: Any) -> list[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, (list, tuple)):
        return [tensor for item in tree for tensor in _tensors(item)]
    if isinstance(tree, dict):
        return [tensor for item in tree.values() for tensor in _tensors(item)]
    return []
