"""A graph without what compilers take long to find out: copies of what nobody writes, writes that nobody reads.

Python reads an element as a number, which is a copy; compilers pass over a graph many times, and over its views and
copies as slowly as over what computes something.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import torch

from npdec._jit.loops import is_look
from npdec._jit.operations import written

__all__ = ["simplify"]

_aten = torch.ops.aten
_LOOKS = {_aten.select.int, _aten.slice.Tensor, _aten.transpose.int, _aten.t.default, _aten.unsqueeze.default}

Node = torch.fx.Node


def simplify(graph: torch.fx.Graph, kept: Container[Node]) -> None:
    """Leave out what results do not depend on, but for nodes that are to be kept."""
    _drop_writes(graph, _memories(graph))
    graph.eliminate_dead_code(lambda node: node in kept or node.is_impure())
    (output,) = graph.find_nodes(op="output")
    memories = _memories(graph)
    given_out = {memories[node] for node in output.all_input_nodes}
    _drop_copies(graph, memories, given_out, kept)
    _join_views(graph, memories, given_out, kept)


def _memories(graph: torch.fx.Graph) -> dict[Node, Node]:
    """For each node the one that made the memory which it looks at."""
    found: dict[Node, Node] = {}
    for node in graph.nodes:
        sources = node.all_input_nodes if is_look(node) else _written(node)
        found[node] = found[sources[0]] if sources else node
    return found


def _written(node: Node) -> list[Node]:
    """The nodes whose memory a node writes into."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return []
    return written(node.target, node.args, node.kwargs, Node)


def _drop_writes(graph: torch.fx.Graph, memories: dict[Node, Node]) -> None:
    """Leave out what is written into memories that only writes look at."""
    read: set[Node] = set()
    writes: list[Node] = []
    for node in graph.nodes:
        targets = _written(node)
        if is_look(node):
            continue
        if node.target is _aten.copy_.default and memories[targets[0]].op == "call_function":
            writes.append(node)
            read.update(memories[one] for one in node.all_input_nodes if one is not node.args[0])
        else:
            read.update(memories[one] for one in node.all_input_nodes)
    for node in reversed(writes):
        if memories[node] not in read and not node.users:
            graph.erase_node(node)


def _drop_copies(
    graph: torch.fx.Graph, memories: dict[Node, Node], given_out: set[Node], kept: Container[Node]
) -> None:
    """Look at what was copied instead, where neither it nor the copy is written after that."""
    places = {node: place for place, node in enumerate(graph.nodes)}
    last: dict[Node, int] = {}  # writes into memories
    for node in graph.nodes:
        for one in _written(node):
            last[memories[one]] = places[node]
    for node in graph.find_nodes(op="call_function", target=_aten.clone.default):
        source: Any = node.args[0]
        while memories[memory := memories[source]] is not memory:  # of a copy that was left out
            memories[source] = memories[memory]
        if node in given_out or node in kept or node in last or last.get(memory, -1) > places[node]:
            continue
        if source.op == "get_attr" or source.meta.get("stride") != node.meta.get("stride", ()):
            continue
        node.replace_all_uses_with(source)
        graph.erase_node(node)
        memories[node] = memories[source]


def _join_views(graph: torch.fx.Graph, memories: dict[Node, Node], given_out: set[Node], kept: Container[Node]) -> None:
    """Make each view of what stays inside once."""
    made: dict[Any, Node] = {}
    for node in list(graph.nodes):
        if node.target not in _LOOKS or memories[node] in given_out or node in kept:
            continue
        known = made.setdefault((node.target, node.args), node)
        if known is not node:
            node.replace_all_uses_with(known)
            graph.erase_node(node)
