"""Pieces of a long graph: what stands before or behind a loop, and one round of it.

Values that only look at memory (views) are made again where they are used, so that no two inputs of a piece lie in one
memory, and what a piece writes it sees wherever it looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from npdec._jit.loops import Loop, are_alike, is_look, leaves, nodes_of
from npdec._jit.operations import written
from npdec._torch.tracing import Refused

__all__ = ["Given", "Key", "Piece", "Round", "Window"]

Node = torch.fx.Node
_select = torch.ops.aten.select.int


class Window(NamedTuple):
    """A part of an array that moves from round to round."""

    of: Any  # the key of the array
    axis: int
    step: int


class Given(NamedTuple):
    """A placeholder, each round another one."""

    place: int
    step: int


# What a round looks at: a node before the loop, or the place of a node that another round makes, or this one if it is
# a view of what the round is given.
Key = Node | int | Window | Given


class _Copy:
    """A graph of nodes of another one, given what it looks at."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        self.root, self.graph = module, torch.fx.Graph()
        self.inputs: list[Any] = []  # keys, in order
        self.made: dict[Any, Node] = {}
        self._last: Any = None

    def given(self, key: Any, like: Node) -> Node:
        """The placeholder for what lies outside."""
        with self.graph.inserting_after(self._last if self._last is not None else self.graph._root):
            self._last = self.graph.placeholder(f"given{len(self.inputs)}")
        self._last.meta.update(like.meta)
        self.inputs.append(key)
        self.made[key] = self._last
        return self._last

    def call(self, key: Any, node: Node, values: Iterable[Node]) -> Node:
        """A node again, with other nodes in the place of those that it looks at, one for one."""
        found = iter(values)
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda _: next(found))
        made = self.graph.create_node(node.op, node.target, args, kwargs)
        made.meta.update(node.meta)
        self.made[key] = made
        return made

    def module(self) -> torch.fx.GraphModule:
        return torch.fx.GraphModule(self.root, self.graph)


class Piece(_Copy):
    """What stands before the loop or behind it. Keys are nodes."""

    def __init__(self, module: torch.fx.GraphModule, givens: Iterable[Node] = ()) -> None:
        super().__init__(module)
        for node in givens:
            self.given(node, node)

    def copy(self, node: Node) -> None:
        self.call(node, node, [self.value(leaf) for leaf in nodes_of(node)])

    def value(self, node: Node) -> Node:
        if node not in self.made:
            if is_look(node):
                self.copy(node)
            else:
                self.given(node, node)
        return self.made[node]


class Round(_Copy):
    """One round of the loop. Keys say which round something comes from."""

    def __init__(self, module: torch.fx.GraphModule, loop: Loop) -> None:
        super().__init__(module)
        self.loop = loop
        self.outputs: list[int] = []  # places of the first round that other rounds or what stands behind look at
        self.parts: dict[Window, tuple[int, int]] = {}  # where windows begin and end in the first round
        self._of: dict[Any, Key] = {}  # by what they look at, one key for arrays
        self._writes: list[Key] = []
        for place in range(loop.start, loop.start + loop.period):
            for key in self.keys(place):
                self._widen(key)
        for place in range(loop.start, loop.start + loop.period):
            if not self.moves(place):
                self._write(place)
                self._again(place)
        for key in [*self.inputs]:
            for origin in self.origins(key):
                if isinstance(origin, int):
                    self.gives(self.first(origin))
        self._check_apart()

    def first(self, place: int) -> int:
        """The place in the first round of what is at a place of any."""
        return self.loop.start + (place - self.loop.start) % self.loop.period

    def template(self, place: int) -> Node:
        """The node of the first round that is as what is at a place."""
        return self.loop.nodes[self.first(place)]

    def _grows(self, place: int) -> dict[int, int]:
        return dict(self.loop.steps[self.first(place) - self.loop.start])

    def moves(self, key: Key) -> bool:
        """Whether a key is a place at which a window stands."""
        return isinstance(key, int) and is_look(self.template(key)) and bool(self._grows(key))

    def keys(self, place: int) -> list[Key]:
        """What the node at a place looks at."""
        first = self.first(place)
        node, after = self.loop.nodes[first], self.loop.nodes[first + self.loop.period]
        grows = self._grows(place)
        found: list[Key] = []
        for leaf, (one, other) in enumerate(zip(leaves(node), leaves(after))):
            if not isinstance(one, Node):
                continue
            if leaf in grows:
                step = grows[leaf]
                found.append(Given(self.loop.givens[one] + step * ((place - first) // self.loop.period), step))
            elif one is other:
                found.append(one)
            else:
                found.append(self.loop.places[one] + place - first)
        return found

    # -- windows -------------------------------------------------------------------------------------------------------

    def _widen(self, key: Key) -> None:
        """Let windows be as wide as what the round looks at through them."""
        if self.moves(key):
            window, start, stop = self.part(key)  # type: ignore[arg-type]
            low, top = self.parts.get(window, (start, stop))
            self.parts[window] = min(low, start), max(top, stop)
        elif isinstance(key, int) and (key < self.loop.start and is_look(self.template(key))):
            for one in self.keys(key):
                self._widen(one)

    def part(self, place: int) -> tuple[Window, int, int]:
        """The window of what is at a place, and where it begins and ends, were the first round at hand."""
        node: Any = self.template(place)
        (key,) = self.keys(place)
        whole = self._like(key).meta["shape"]
        axis, start = node.args[1] % len(whole), node.args[2] % whole[node.args[1]]
        step = self._grows(place)[3]
        start += step * ((place - self.first(place)) // self.loop.period)
        by = node.args[4] if len(node.args) > 4 else 1
        length = 1 if node.target is _select else (node.meta["shape"][axis] - 1) * by + 1
        key = self._of.setdefault(self._identity(key), key)
        return Window(key, axis, step), start, start + length

    def _identity(self, key: Key) -> Any:
        """The same for keys that look at one array in one way."""
        if isinstance(key, Node):
            if not is_look(key):
                return key
            node, grown = key, 0
            keys: list[Key] = [*nodes_of(key)]
        elif isinstance(key, int) and is_look(self.template(key)):
            node, keys = self.template(key), self.keys(key)
            grown = (key - self.first(key)) // self.loop.period if self.moves(key) else 0
        else:
            return key
        rest = tuple(repr(leaf) for leaf in leaves(node) if not isinstance(leaf, Node))
        return node.target, rest, grown, tuple(map(self._identity, keys))

    def ends(self, place: int, start: int, stop: int) -> tuple[Any, ...]:
        """The arguments of what is at a place that say where it begins and ends."""
        node = self.template(place)
        return (start,) if node.target is _select else (start, stop, *node.args[4:])

    def _through(self, place: int) -> Node:
        """What is at a place, through its window."""
        window, start, stop = self.part(place)
        low, top = self.parts[window]
        if window not in self.made:
            like = self._like(window.of)
            given = self.given(window, like)
            shape, stride = [*like.meta["shape"]], like.meta["stride"]
            shape[window.axis] = top - low
            whole = torch.empty_strided(shape, stride, device="meta")
            given.meta.update(shape=whole.shape, contiguous=whole.is_contiguous())
        node, ends = self.template(place), self.ends(place, start - low, stop - low)
        made = self.graph.call_function(node.target, (self.made[window], window.axis, *ends))  # type: ignore[arg-type]
        made.meta.update(node.meta)
        self.made[place] = made
        return made

    # -- the graph -----------------------------------------------------------------------------------------------------

    def _like(self, key: Key) -> Node:
        if isinstance(key, Node):
            return key
        return self.template(key) if isinstance(key, int) else [*self.loop.givens][key[0]]

    def value(self, key: Key) -> Node:
        if key in self.made:
            return self.made[key]
        if isinstance(key, int) and is_look(self.template(key)):
            return self._through(key) if self.moves(key) else self._again(key)
        if isinstance(key, Node) and is_look(key):
            return self.call(key, key, [self.value(leaf) for leaf in nodes_of(key)])
        return self.given(key, self._like(key))

    def _again(self, place: int) -> Node:
        return self.call(place, self.template(place), [self.value(key) for key in self.keys(place)])

    def gives(self, place: int) -> None:
        """Let a node of the first round be a result of every one."""
        if place not in self.outputs:
            self.outputs.append(place)

    def piece_module(self) -> torch.fx.GraphModule:
        self.graph.output(tuple(self.made[place] for place in self.outputs))
        return self.module()

    def origins(self, key: Key) -> list[Key]:
        """What lies outside the round that a key is, or that it is a view of."""
        if isinstance(key, Window):
            return self.origins(key.of)
        if isinstance(key, Node):
            if is_look(key):
                return [origin for leaf in nodes_of(key) for origin in self.origins(leaf)]
        elif isinstance(key, int):
            if is_look(self.template(key)):
                return [origin for one in self.keys(key) for origin in self.origins(one)]
            if key >= self.loop.start:
                raise Refused("a loop of its graph looks at another part of what it makes in each round")
        return [key]

    def needs(self) -> set[Node]:
        """What the rounds look at of what stands before the loop."""
        found: set[Node] = set()
        for key in self.inputs:
            for origin in self.origins(key):
                found.update(self._before(origin))
        return found

    def _before(self, origin: Key) -> list[Node]:
        """The nodes before the loop that a round finds at a key."""
        loop = self.loop
        if isinstance(origin, int):
            found = [loop.nodes[place] for place in range(origin, loop.start, loop.period)]
            if not all(are_alike(node, self.template(origin)) for node in found):
                raise Refused("a loop of its graph begins with another kind of array than it goes on with")
            return found
        if isinstance(origin, Node):
            return [origin]
        assert isinstance(origin, Given)
        return [*loop.givens][origin.place :: origin.step or 1][: loop.rounds]

    # -- what is written -----------------------------------------------------------------------------------------------

    def _write(self, place: int) -> None:
        node = self.template(place)
        if not isinstance(node.target, torch._ops.OpOverload):
            return
        for target in written(node.target, node.args, node.kwargs, Node):
            position = nodes_of(node).index(target)
            self._writes.append(self.keys(place)[position])

    def _bases(self, key: Key) -> list[Any]:
        """Whose memory a key looks at: what the round makes itself is None."""
        if isinstance(key, int) and key >= self.loop.start:
            if not is_look(self.template(key)):
                return [None]
            return [base for one in self.keys(key) for base in self._bases(one)]
        return [node for origin in self.origins(key) for node in self._before(origin)]

    def _check_apart(self) -> None:
        """Refuse a loop that writes into memory at which a round looks in two ways."""
        seen = [base for key in self.inputs for base in self._bases(key)]
        for key in self._writes:
            if any(base is not None and seen.count(base) > 1 for base in self._bases(key)):
                raise Refused("a loop of its graph writes into an array, and looks at another part of it in each round")
