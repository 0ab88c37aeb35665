"""Where a long graph repeats itself: the loop of a program, which Python has unrolled."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes

from npdec._jit.operations import computes, is_view
from npdec._torch.tracing import Refused

__all__ = ["MOST_OPERATIONS", "Loop", "are_alike", "bound_beyond", "is_look", "leaves", "loop_of", "nodes_of"]

_aten = torch.ops.aten
# Views of a place that moves from round to round, and the leaves of their arguments that grow then.
_WINDOWS: dict[Any, Any] = {
    _aten.select.int: lambda step: [(3, step)],
    _aten.slice.Tensor: lambda step: [(3, step), (4, step)],
}
MOST_OPERATIONS = 4000  # of a graph, views not counted; more than that take compilers minutes
_MOST_RECORDED = 100_000  # operations of a loop; to record more takes minutes
_LONGEST = 8192  # nodes of a round
# Operations of what is compiled, several rounds if one has fewer: where they are on numbers, a call takes longer.
_OF_ARRAYS, _OF_NUMBERS = 96, 1024
_FEW = 32  # operations on numbers: to run them one by one takes no longer than to call what is compiled, or little
_LEAST = 3  # rounds


class Loop(NamedTuple):
    """Nodes that are the same in each round. All but the first round are known to go on where the one before ended."""

    nodes: list[torch.fx.Node]  # of the graph, without placeholders and output
    places: dict[torch.fx.Node, int]  # of these
    givens: dict[torch.fx.Node, int]  # the placeholders, in order
    start: int
    period: int
    rounds: int
    steps: list[Any]  # by node of the first round: what grows from round to round, by leaf of its arguments

    @property
    def stop(self) -> int:
        """The place of the first node behind the loop."""
        return self.start + self.period * self.rounds


def leaves(node: torch.fx.Node) -> list[Any]:
    """The arguments of a node, with the lengths of what holds them."""
    found: list[Any] = []
    _add(node.args, found)
    if node.kwargs:
        found.append(tuple(node.kwargs))
        _add(tuple(node.kwargs.values()), found)
    return found


def _add(tree: Any, found: list[Any]) -> None:
    found.append(len(tree))
    for item in tree:
        if isinstance(item, (tuple, list)):
            _add(item, found)
        else:
            found.append(item)


def nodes_of(node: torch.fx.Node) -> list[torch.fx.Node]:
    """The nodes among the arguments of a node, each as often as it stands there."""
    return [leaf for leaf in leaves(node) if isinstance(leaf, torch.fx.Node)]


def is_look(node: torch.fx.Node) -> bool:
    """Whether a node only looks at the memory of another, or at a constant: it can be made again anywhere."""
    if node.op != "call_function":
        return node.op == "get_attr"
    if node.target is operator.getitem:
        return is_look(node.args[0])  # type: ignore[arg-type]
    return is_view(node.target)


def _periods(nodes: Sequence[torch.fx.Node]) -> Iterator[tuple[int, int]]:
    """The distances, the smallest first, at which a good part of these nodes does the same again, and where it ends."""
    known: dict[Any, int] = {}
    names = ["" if node.op == "get_attr" else node.target for node in nodes]
    codes = torch.tensor([known.setdefault(name, len(known)) for name in names], dtype=torch.int16, device="cpu")
    count = len(codes)
    for period in range(1, min(count // _LEAST, _LONGEST) + 1):
        differ = torch.nonzero(codes[period:] != codes[:-period])[:, 0]
        if len(differ) < count - period:
            ends = torch.cat([differ.new_tensor([-1]), differ, differ.new_tensor([count - period])])
            lengths = ends[1:] - ends[:-1]
            longest = int(lengths.argmax())
            if int(lengths[longest]) > max(count // 8, (_LEAST - 1) * period):
                yield period, int(ends[longest + 1]) + period


def bound_beyond(computing: int, nodes: Sequence[torch.fx.Node]) -> int:
    """How many operations may be recorded, where these nodes are as many as one graph may have. Raises Refused if there
    is no loop in them, a round of which is worth the call of what is compiled: of few numbers it is not."""
    nodes = nodes[-_LEAST * _LONGEST :]
    few: list[int] = []
    with _disable_current_modes():
        for period, stop in _periods(nodes) if computing < _MOST_RECORDED else ():
            round_ = [node for node in nodes[stop - period : stop] if computes(node)]
            if not any(period % shorter == 0 for shorter in few):
                if len(round_) >= _FEW or not _is_of_numbers(round_):
                    return computing + MOST_OPERATIONS
                few.append(period)
    raise Refused(f"it does more than {MOST_OPERATIONS} operations, loops being unrolled: compile the body of the loop")


def _is_of_numbers(nodes: Sequence[torch.fx.Node]) -> bool:
    return all(math.prod(node.meta.get("shape", ())) == 1 for node in nodes)


def loop_of(module: torch.fx.GraphModule) -> Loop | None:
    """The loop of a graph, if a good part of it is one."""
    nodes = [node for node in module.graph.nodes if node.op in ("call_function", "get_attr")]
    places = {node: place for place, node in enumerate(nodes)}
    givens = {node: place for place, node in enumerate(module.graph.find_nodes(op="placeholder"))}
    held = [leaves(node) for node in nodes]
    for period, _ in _periods(nodes):
        steps: list[Any] = [None] * period
        for place in range(period, len(nodes)):
            node, before = nodes[place], nodes[place - period]
            if node.op == before.op and node.target == before.target:
                steps.append(_step(node, before, held, places, givens))
            elif node.op == before.op == "get_attr" and _is_same(module, node, before):
                steps.append((-1, ()))
            else:
                steps.append(None)
        start, stop = _longest(steps, period)
        while start < stop and nodes[start].target is operator.getitem:
            start += 1
        rounds = (stop - start) // period
        if rounds >= _LEAST - 1 and period * rounds > len(nodes) // 8:
            grown = [step for _, step in steps[start + period : start + 2 * period]]
            return _by_several(Loop(nodes, places, givens, start, period, rounds, grown))
    return None


def _by_several(loop: Loop) -> Loop:
    """The loop with several rounds in one."""
    round_ = [node for node in loop.nodes[loop.start : loop.start + loop.period] if computes(node)]
    most = min(_OF_NUMBERS if _is_of_numbers(round_) else _OF_ARRAYS, MOST_OPERATIONS // 2)
    most = min(most // max(len(round_), 1), loop.rounds // 2)
    if most < 2:
        return loop
    several = min(range(most, most // 2, -1), key=lambda count: loop.rounds % count)
    grown = [tuple((leaf, several * step) for leaf, step in steps) for steps in loop.steps]
    return loop._replace(period=several * loop.period, rounds=loop.rounds // several, steps=several * grown)


def are_alike(node: torch.fx.Node, other: torch.fx.Node) -> bool:
    """Whether two nodes stand for tensors of one kind."""
    return all(node.meta.get(name) == other.meta.get(name) for name in ("shape", "stride", "dtype", "device"))


def _step(node: torch.fx.Node, before: torch.fx.Node, held: Any, places: Any, givens: Any) -> Any:
    """What a node has as one a round before it: the place of the last node that both look at, and by leaf what has
    grown. None if the two are not the same."""
    period = places[node] - places[before]
    news, olds = held[places[node]], held[places[before]]
    if len(news) != len(olds) or not are_alike(node, before):
        return None
    last, grown = -1, []
    for leaf, (new, old) in enumerate(zip(news, olds)):
        if isinstance(new, torch.fx.Node):
            if new is old:
                last = max(last, places.get(new, -1))
            elif not isinstance(old, torch.fx.Node):
                return None
            elif new in givens and old in givens and are_alike(new, old):
                grown.append((leaf, givens[new] - givens[old]))
            elif places.get(new, -1) - period != places.get(old, -2 - period):
                return None
        elif type(new) is not type(old):
            return None
        elif new != old or isinstance(new, (float, complex)):
            if type(new) is int and is_look(node) and (new < 0) is (old < 0):
                grown.append((leaf, new - old))
            elif repr(new) != repr(old):
                return None
    if grown and is_look(node) and (node.target not in _WINDOWS or grown != _WINDOWS[node.target](grown[0][1])):
        return None
    return last, tuple(grown)


def _is_same(module: torch.fx.GraphModule, node: torch.fx.Node, before: torch.fx.Node) -> bool:
    """Whether two constants are the same numbers."""
    one, other = (getattr(module, str(each.target)) for each in (node, before))
    if one.dtype is not other.dtype or one.shape != other.shape or one.stride() != other.stride():
        return False
    if one.device != other.device or one.is_conj() != other.is_conj() or one.is_neg() != other.is_neg():
        return False
    bits = [each.resolve_conj().resolve_neg().reshape(-1).contiguous().view(torch.uint8) for each in (one, other)]
    return bool(torch.equal(*bits))


def _longest(steps: list[Any], period: int) -> tuple[int, int]:
    """The longest stretch in which all nodes go on as those a round before them."""
    best = (0, 0)
    start = 0
    for place, step in enumerate([*steps, None]):
        if step is None:
            best = max(best, (start, place), key=lambda ends: ends[1] - ends[0])
            start = place + 1
        elif step[0] >= start or (place - period >= start and steps[place - period][1] != step[1]):
            best = max(best, (start, place), key=lambda ends: ends[1] - ends[0])
            # A node of the stretch that later rounds look at, too, lies before it; what grows grows evenly.
            start = max(step[0] + 1, place - period + 1)
    return best
