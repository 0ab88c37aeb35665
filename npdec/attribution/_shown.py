"""How an attribution shows itself: what its tables and plots are made of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, overload

import torch

from npdec._array.convert import as_tensor
from npdec._show.parts import Parts, on_host

__all__ = ["parts_of"]


class _Places(Sequence[str]):
    """The names of the elements of arrays: how each is reached, as `[0]['weight'][1, 2]`."""

    def __init__(self, arrays: Sequence[tuple[str, tuple[int, ...]]]) -> None:
        self.arrays = arrays

    def __len__(self) -> int:
        return sum(math.prod(shape) for _, shape in self.arrays)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        rest = range(len(self))[i]
        for path, shape in self.arrays:
            size = math.prod(shape)
            if rest < size:
                index: list[int] = []
                for length in reversed(shape):
                    rest, place = divmod(rest, length)
                    index.insert(0, place)
                return f"{path}[{', '.join(map(str, index))}]" if shape else path or "input"
            rest -= size
        raise AssertionError("a place before the last")


def parts_of(found: Any, name: str) -> Parts:
    """The parts of an attribution: its outputs (*O) and the shares of all components (C, *O)."""
    value = on_host(as_tensor(found.value))
    residual = None if found.residual is None else on_host(as_tensor(found.residual))
    lead = value.dim()
    arrays = [(path, on_host(as_tensor(leaf))) for path, leaf in _leaves(found.attribution, "")]
    if not arrays:
        raise ValueError(f"{name}: the attribution has no inputs")
    shares = torch.cat([array.reshape(*value.shape, -1) for _, array in arrays], -1)
    labels, grid = _labels(found.labels, arrays, lead)
    amounts = shares.movedim(-1, 0)
    if found.around is not None:
        around = on_host(as_tensor(found.around))
        if around.shape != value.shape:
            raise ValueError(
                f"{name}: the attributions to several layers are several sums: attribute to one, to show it"
            )
        labels = _of_paths(found.labels, arrays[0][1].shape[lead:]) or labels
        amounts, labels, grid = torch.cat([amounts, around[None]]), [*labels, "around the layer"], None
    return Parts("attribution", value, residual, amounts, labels, grid)


def _labels(
    labels: Sequence[Hashable] | None, arrays: Sequence[tuple[str, torch.Tensor]], lead: int
) -> tuple[Sequence[Hashable], tuple[int, ...] | None]:
    shapes = [tuple(array.shape[lead:]) for _, array in arrays]
    if labels is not None and shapes == [(len(labels),)]:
        return labels, None
    if labels is not None and shapes == [(len(labels),) * 2]:
        return [a if a == b else f"{a} × {b}" for a in labels for b in labels], None
    places = _Places([(path, shape) for (path, _), shape in zip(arrays, shapes, strict=True)])
    return places, shapes[0] if len(shapes) == 1 else None


def _of_paths(labels: Any, shape: Sequence[int]) -> list[str]:
    """Paths by their labels, from the inputs on; none where an axis has no labels."""
    if (
        labels is None
        or len(shape) < 2
        or len(labels) != len(shape)
        or not all(isinstance(axis, tuple) for axis in labels)
    ):
        return []
    *layers, inputs = labels
    return [" → ".join(map(str, (way[-1], *way[:-1]))) for way in itertools.product(*layers, inputs)]


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, item in tree.items():
            yield from _leaves(item, f"{path}[{key!r}]")
    elif isinstance(tree, (list, tuple)):
        for i, item in enumerate(tree):
            yield from _leaves(item, f"{path}[{i}]")
    elif tree is not None:
        yield path, tree
