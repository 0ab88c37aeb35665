"""How many memories one loop goes along: a processor fetches ahead of a loop for a few of them only.

inductor fuses loops over the same elements as long as they have something in common. A recurrence along the rows of a
table becomes one loop that goes along all rows at once, and waits for memory at each of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

__all__ = ["MOST_STREAMS", "few_streams"]

MOST_STREAMS = 24  # that one loop goes along
_LONG = 1 << 14  # bytes of one of them: what is shorter lies in the cache as a whole
_NEAR = 512  # elements: neighbours come with each other


def few_streams(original: Callable[..., Any], applies: Callable[[], bool]) -> Callable[..., Any]:
    """`Scheduler.fusion_prevent_too_many_reads_and_writes` that counts places, where `applies()` says so."""

    @functools.wraps(original)
    def fusion_prevent_too_many_reads_and_writes(self: Any, node1: Any, node2: Any, threshold: int) -> bool:
        if not applies():
            return bool(original(self, node1, node2, threshold))
        sets = [one for node in (node1, node2) for one in (node.read_writes.reads, node.read_writes.writes)]
        if sum(map(len, sets)) <= threshold or not _is_long(node1, node2):
            return False
        fused = {node.get_name() for one in (node1, node2) for node in one.get_nodes()}
        within = {dep.name for dep in (*sets[1], *sets[3])}
        within = {name for name in within if self.can_buffer_be_removed_through_fusion(name, fused)}
        return len(set().union(*[_places(deps, within) for deps in sets])) > threshold

    return fusion_prevent_too_many_reads_and_writes


def _is_long(*nodes: Any) -> bool:
    sizes = [size for node in nodes for group in node.group[1] for size in [math.prod(group)]]
    return all(getattr(size, "is_number", True) for size in sizes) and max(sizes) * 8 >= _LONG


def _places(deps: Any, within: set[str]) -> set[Any]:
    """Where a loop begins to go along memories, of others than those that nobody else reads."""
    from torch._inductor.dependencies import MemoryDep

    found: set[Any] = set()
    for dep in deps:
        if dep.name in within or (isinstance(dep, MemoryDep) and not dep.index.free_symbols):
            continue  # one number
        place: Any = dep.get_offset() if isinstance(dep, MemoryDep) and not dep.is_indirect() else 0
        found.add((dep.name, int(place) // _NEAR if getattr(place, "is_number", True) else place))
    return found
