"""Rolls in a graph: all of one array look at one copy of it, which goes on beyond its ends.

inductor makes an index of a roll, with a remainder in it. Along the last axis that is no piece of memory any more: each
element is loaded by itself, and the formula of the array is computed again for every roll. In a copy that begins and
ends with what comes from the other end, a roll is a slice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

__all__ = ["Rolls"]

_aten = torch.ops.aten


class _Roll(NamedTuple):
    node: torch.fx.Node
    sources: dict[torch.fx.Node, Any]  # what it may look at, and which numbers are there
    shape: torch.Size
    shifts: dict[int, int]  # by axes

    def start(self) -> int:
        """Where along the last axis it begins, at most half of the axis away from the array's own beginning."""
        count = self.shape[-1]
        back = self.shifts.get(len(self.shape) - 1, 0) % count
        return -back if 2 * back <= count else count - back


class Rolls:
    """All rolls of one recording."""

    def __init__(self) -> None:
        self._rolls: list[_Roll] = []

    def made(self, node: torch.fx.Node, args: Any, sources: dict[torch.fx.Node, Any]) -> None:
        """Note a roll, its arguments, and by the nodes of what it may look at which numbers are there."""
        tensor, shifts = args[:2]
        dims = args[2] if len(args) > 2 else ()
        if not dims and tensor.dim() == 1:
            dims = (0,)
        if not dims or not tensor.numel() or not tensor.is_contiguous():
            return
        found: dict[int, int] = {}
        for axis, shift in zip(dims, shifts, strict=True):
            axis %= tensor.dim()
            found[axis] = found.get(axis, 0) + shift
        self._rolls.append(_Roll(node, sources, tensor.shape, found))

    def sliced(self, graph: torch.fx.Graph) -> None:
        """Put slices of copies in the place of rolls along the last axis."""
        groups: dict[Any, list[_Roll]] = {}
        for roll in self._rolls:
            source: Any = roll.node.args[0]
            groups.setdefault((roll.sources[source], roll.shape), []).append(roll)
        for rolls in groups.values():
            starts = [roll.start() for roll in rolls]
            if any(starts):
                _slice(graph, rolls, starts)


def _slice(graph: torch.fx.Graph, rolls: list[_Roll], starts: list[int]) -> None:
    source = rolls[0].node.args[0]  # in the place of another roll by now, perhaps
    axis, count = len(rolls[0].shape) - 1, rolls[0].shape[-1]
    call = graph.call_function
    cut = lambda node, start, stop: call(_aten.slice.Tensor, (node, axis, start, stop))  # noqa: E731
    first, stop = min(starts), max(starts) + count
    with graph.inserting_before(rolls[0].node):
        parts = [cut(source, first + count, min(stop + count, count))] if first < 0 else []
        if first < count and stop > 0:
            parts.append(cut(source, max(first, 0), min(stop, count)))
        if stop > count:
            parts.append(cut(source, 0, stop - count))
        copy = call(_aten.cat.default, (parts, axis))
    for roll, start in zip(rolls, starts):
        across = {one: shift for one, shift in roll.shifts.items() if one != axis and shift % roll.shape[one]}
        with graph.inserting_before(roll.node):
            made = copy
            if across:
                made = call(_aten.roll.default, (made, [*across.values()], [*across]))
            made = cut(made, start - first, start - first + count)
            made = call(_aten.clone.default, (made,), {"memory_format": torch.contiguous_format})
        made.meta.update(roll.node.meta)
        roll.node.replace_all_uses_with(made)
        graph.erase_node(roll.node)
