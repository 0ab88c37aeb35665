"""A long graph in pieces: what stands before its loop, one round of it, and what stands behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch

from npdec._jit import loops
from npdec._jit.loops import is_look, loop_of, nodes_of
from npdec._jit.operations import computes, copied_as, merged, parted
from npdec._jit.rounds import Given, Key, Piece, Round, Window
from npdec._torch.tracing import Refused

__all__ = ["rolled"]

Backend = Callable[[torch.fx.GraphModule, list[torch.Tensor]], Callable[..., Any]]
Node = torch.fx.Node


def rolled(module: torch.fx.GraphModule, tensors: list[torch.Tensor], backend: Backend) -> Callable[..., Any]:
    """The graph compiled in pieces of at most MOST_OPERATIONS. Raises Refused where it has no loops that make it so."""
    if sum(map(computes, module.graph.nodes)) <= loops.MOST_OPERATIONS:
        return backend(module, tensors)
    loop = loop_of(module)
    if loop is None:
        raise Refused(f"it does more than {loops.MOST_OPERATIONS} operations, which are no loop of one body")
    round_ = Round(module, loop)
    behind = Piece(module)
    for node in loop.nodes[loop.stop :]:
        behind.copy(node)
    (output,) = module.graph.find_nodes(op="output")
    behind.graph.output(tuple(behind.value(node) for node in output.args[0]))
    made_before = round_.needs() | {node for node in behind.inputs if loop.places.get(node, loop.start) < loop.start}
    before = Piece(module, loop.givens)
    for node in loop.nodes[: loop.start]:
        before.copy(node)
    first = [node for node in loop.nodes[: loop.start] if node in made_before]
    before.graph.output(tuple(before.value(node) for node in first))
    kept: dict[int, list[Node]] = {}  # by round, what stands behind looks at
    for node in behind.inputs:
        place = loop.places.get(node, -1)
        if place >= loop.start:
            round_.gives(loop.start + (place - loop.start) % loop.period)
            kept.setdefault((place - loop.start) // loop.period, []).append(node)
    compiled = partial(rolled, backend=backend)
    return _Run(
        round_,
        compiled(before.module(), tensors),
        first,
        compiled(round_.piece_module(), [_like(round_.made[key]) for key in round_.inputs]),
        kept,
        compiled(behind.module(), [_like(node) for node in behind.inputs]),
        behind.inputs,
    )


def _like(node: Node) -> torch.Tensor:
    """A tensor such as a node stands for."""
    strides, meta = _strides(node), node.meta
    return torch.empty_strided(meta["shape"], strides, dtype=meta["dtype"], device=meta["device"])


def _strides(node: Node) -> tuple[int, ...]:
    if "stride" not in node.meta:
        raise Refused(f"a loop of its graph goes on with the result of {node.target}")
    strides: tuple[int, ...] = node.meta["stride"]
    return strides


# -- running the pieces ------------------------------------------------------------------------------------------------


class _Laid:
    """A piece, the results of which lie in memory of their own, with the strides that others were compiled for."""

    def __init__(self, compiled: Callable[..., Any], likes: list[Node]) -> None:
        self.compiled, self.strides = compiled, [_strides(like) for like in likes]
        self.merged: list[int] | None = None  # results that the compiler has put into one memory

    def __call__(self, *given: torch.Tensor) -> list[torch.Tensor]:
        made = self.compiled(*given)
        if self.merged is None:
            self.merged = merged(made, given)
        if self.merged:
            made = parted(made, self.merged)
        return [one if one.stride() == strides else copied_as(one, strides) for one, strides in zip(made, self.strides)]


class _Run:
    """The pieces, one after the other."""

    def __init__(
        self,
        round_: Round,
        before: Any,
        first: list[Node],
        body: Any,
        kept: dict[int, list[Node]],
        behind: Any,
        asked: list[Node],
    ) -> None:
        self.round, self.behind = round_, behind
        self.before = _Laid(before, first)
        self.body = _Laid(body, [round_.template(place) for place in round_.outputs])
        self.first, self.kept, self.asked = first, kept, asked
        loop = round_.loop
        self.position = {place: i for i, place in enumerate(round_.outputs)}
        origins = [origin for key in round_.inputs for origin in round_.origins(key) if isinstance(origin, int)]
        self.depth = max((-((origin - loop.start) // loop.period) for origin in origins), default=0)
        # What changes from round to round, by input: to a result of the round before in most cases.
        self.results: list[tuple[int, int]] = []
        self.others: list[int] = []
        for i, key in enumerate(round_.inputs):
            if isinstance(key, int) and loop.start - key <= loop.period:
                self.results.append((i, self.position[round_.first(key)]))
            elif not isinstance(key, Node):
                self.others.append(i)

    def __call__(self, *given: torch.Tensor) -> Any:
        loop, inputs = self.round.loop, self.round.inputs
        known: dict[Any, torch.Tensor] = dict(zip(loop.givens, given))
        for node, made in zip(self.first, self.before(*given)):
            known[node] = made
        values = _Values(self, given, known)
        args = [values.of(key, 0) for key in inputs]
        results: list[torch.Tensor] = []
        for turn in range(loop.rounds):
            if turn:
                for i, position in self.results:
                    args[i] = results[position]
                for i in self.others:
                    args[i] = values.of(inputs[i], turn)
            results = self.body(*args)
            values.made[turn] = results
            values.made.pop(turn - self.depth, None)
            for node in self.kept.get(turn, ()):
                known[node] = results[self.position[self.round.first(loop.places[node])]]
        return self.behind(*[known[node] for node in self.asked])


class _Values:
    """What keys stand for in the rounds of one call."""

    def __init__(self, run: _Run, given: tuple[torch.Tensor, ...], known: dict[Any, torch.Tensor]) -> None:
        self.run, self.given, self.known = run, given, known
        self.made: dict[int, list[torch.Tensor]] = {}  # by rounds, of the last ones

    def of(self, key: Key, turn: int) -> torch.Tensor:
        round_ = self.run.round
        loop = round_.loop
        if isinstance(key, Given):
            return self.given[key.place + turn * key.step]
        if isinstance(key, Window):
            low, top = round_.parts[key]
            return self.of(key.of, turn).narrow(key.axis, low + turn * key.step, top - low)
        if isinstance(key, Node):
            if key in self.known:
                return self.known[key]
            return _looked(key, [self.of(leaf, turn) for leaf in nodes_of(key)])
        if round_.moves(key):
            window, start, stop = round_.part(key)
            return _looked(
                round_.template(key),
                [self.of(window.of, turn)],
                round_.ends(key, start + turn * window.step, stop + turn * window.step),
            )
        if is_look(round_.template(key)):
            return _looked(round_.template(key), [self.of(one, turn) for one in round_.keys(key)])
        back, offset = divmod(key + turn * loop.period - loop.start, loop.period)
        if back < 0:
            return self.known[loop.nodes[key + turn * loop.period]]
        return self.made[back][self.run.position[loop.start + offset]]


def _looked(node: Node, values: Iterable[torch.Tensor], ends: tuple[Any, ...] = ()) -> torch.Tensor:
    """A view, of other tensors, and from there to there."""
    found = iter(values)
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda _: next(found))
    return node.target(*(args[:2] if ends else args), *ends, **kwargs)  # type: ignore[operator]
