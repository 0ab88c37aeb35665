"""Cells of recurrent networks in reverse mode by the shortest way: the gates are on the graph of input and state, and
what follows is linear in them, by the slopes and midpoints of the step. The general way is `npdec._rules.recurrent`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import narrowed
from npdec._decomposed.registry import Trait, slope_of
from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary_reverse import is_ordinary, on_graph, on_graph_of
from npdec._law.ordinary_slopes import ordinary_slope
from npdec._law.reverse_forms import constant, on_graph_with
from npdec._rules.cells_at_once import at_once

__all__ = ["cell"]

Function = Callable[..., Any]
Pair = tuple[torch.Tensor, torch.Tensor]


class Part(NamedTuple):
    """An input or a state: the value, the residual (of equal rows one), and what is on the graph, if it moves."""

    value: torch.Tensor
    residual: torch.Tensor
    on_graph: torch.Tensor | None

    def middle(self) -> torch.Tensor:
        return torch.add(self.value / 2, self.residual, alpha=0.5)


class Bent(NamedTuple):
    """A function of each element: its ends, and its slope."""

    value: torch.Tensor
    residual: torch.Tensor
    slope: torch.Tensor

    def middle(self) -> torch.Tensor:
        return torch.add(self.value / 2, self.residual, alpha=0.5)


def cell(kind: str) -> Function:
    """The form of the cell of a kind: "lstm", "gru", "rnn_tanh" or "rnn_relu"."""
    return partial(_cell, kind)


def _cell(kind: str, func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    if options or not 4 <= len(args) <= 6 or settings.get().rule != "affine":
        return NotImplemented
    x, hx, *weights = args
    states = list(hx) if isinstance(hx, (tuple, list)) else [hx]
    like = next((t for t in (x, *states) if type(t) is DecomposedTensor), None)
    if like is None or not is_ordinary(like) or len(states) != (2 if kind == "lstm" else 1):
        return NotImplemented
    kept = [w if w is None else constant(w, like.value) for w in weights]
    if any(w is not None and k is None for w, k in zip(weights, kept, strict=True)):
        return NotImplemented
    parts = [_part(t, like) for t in (x, *states)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or any(part.value.ndim != 2 for part in known):
        return NotImplemented
    once = at_once(kind, known, kept)
    if once is not None:
        parts_of_each = zip(once.values, once.residuals, once.on_graph, strict=True)
        given = [on_graph(v, r.expand(v.shape), carrier, like) for v, r, carrier in parts_of_each]
        return tuple(given) if kind == "lstm" else given[0]
    made = _STEPS[kind](known, kept)
    if made is None:
        return NotImplemented
    ends: list[Any] = []
    for end in ("value", "residual"):
        given, *state = [getattr(part, end) for part in known]
        rows = max(len(t) for t in (given, *state))
        given, *state = [t.expand(rows, -1) for t in (given, *state)]
        found = func(given, tuple(state) if kind == "lstm" else state[0], *kept)
        ends.append(found if isinstance(found, tuple) else (found,))
    results = [
        on_graph_with(like, value, residual.expand(value.shape), carrier)
        for value, residual, carrier in zip(*ends, made, strict=True)
    ]
    return tuple(results) if kind == "lstm" else results[0]


def _part(t: Any, like: DecomposedTensor) -> Part | None:
    if type(t) is DecomposedTensor:
        if not is_ordinary(t) or t.value.dtype is not like.value.dtype or t.labels != like.labels or not t.value.ndim:
            return None
        return Part(t.value, narrowed(t.residual, 1), on_graph_of(t))
    kept = constant(t, like.value)
    if kept is None or not kept.ndim:
        return None
    first = kept[:1]
    row = first if len(kept) > 1 and not bool(kept.any()) else kept  # the zeros that a network starts from
    return Part(kept, row, None)


def _entered(part: Part, weight: Any, bias: Any) -> Part:
    """What a part has in the gates."""
    value = F.linear(part.value if part.on_graph is None else part.on_graph, weight, bias)
    carrier = None if part.on_graph is None else value
    return Part(value.detach(), F.linear(part.residual, weight, bias), carrier)


def _sum(a: torch.Tensor | None, b: torch.Tensor | None) -> torch.Tensor | None:
    return b if a is None else a if b is None else a + b


def _together(a: Part, b: Part) -> Part:
    return Part(a.value + b.value, a.residual + b.residual, _sum(a.on_graph, b.on_graph))


def _bent(function: Function, value: torch.Tensor, residual: torch.Tensor) -> Bent | None:
    pieces = Trait.PIECEWISE_LINEAR if function is torch.relu else 0
    found = ordinary_slope(
        slope_of(function), Trait.ELEMENTWISE | pieces, function, value, residual.expand(value.shape), function
    )
    return None if found is None else Bent(*found[:3])


def _times(carrier: torch.Tensor | None, factor: torch.Tensor) -> torch.Tensor | None:
    return None if carrier is None else carrier * factor


def _lstm(parts: Sequence[Part], weights: Sequence[Any]) -> list[torch.Tensor] | None:
    x, hidden, state = parts
    into, own, *biases = weights
    bias, more = biases if len(biases) == 2 else (None, None)
    gates = _together(_entered(hidden, own, more), _entered(x, into, bias))
    assert gates.on_graph is not None or state.on_graph is not None
    values, rows = gates.value.chunk(4, 1), gates.residual.chunk(4, 1)
    i, f, o = (_bent(torch.sigmoid, values[k], rows[k]) for k in (0, 1, 3))
    g = _bent(torch.tanh, values[2], rows[2])
    if i is None or f is None or g is None or o is None:
        return None
    after = (f.value * state.value).add_(i.value * g.value)
    before = (f.residual * state.residual) + i.residual * g.residual
    bent = _bent(torch.tanh, after, before)
    if bent is None:
        return None
    moved = _times(state.on_graph, f.middle())
    out: torch.Tensor | None = None
    if gates.on_graph is not None:
        by = torch.stack([i.slope * g.middle(), f.slope * state.middle(), g.slope * i.middle()], 1)
        its = gates.on_graph.unflatten(1, (4, -1))
        moved = _sum(moved, (its[:, :3] * by).sum(1))
        out = its[:, 3] * (o.slope * bent.middle())
    if moved is None:
        return None
    hidden_out = _sum(moved * (bent.slope * o.middle()), out)
    return None if hidden_out is None else [hidden_out, moved]


def _gru(parts: Sequence[Part], weights: Sequence[Any]) -> list[torch.Tensor] | None:
    x, hidden = parts
    into, own, *biases = weights
    bias, more = biases if len(biases) == 2 else (None, None)
    entered, own_part = _entered(x, into, bias), _entered(hidden, own, more)
    width = hidden.value.shape[1]
    ends = [[t[:, : 2 * width] for t in (part.value, part.residual)] for part in (entered, own_part)]
    both = _bent(torch.sigmoid, ends[0][0] + ends[1][0], ends[0][1] + ends[1][1])
    if both is None:
        return None
    reset, update = (Bent(*[t[:, k : k + width] for t in both]) for k in (0, width))
    (last, first), (its, start) = ([t[:, 2 * width :] for t in part[:2]] for part in (entered, own_part))
    bent = _bent(torch.tanh, last + reset.value * its, first + reset.residual * start)
    if bent is None:
        return None
    near = torch.add(its / 2, start, alpha=0.5)
    of_n = bent.slope * (1 - update.middle())
    of_r = of_n * near * reset.slope
    gap, before = hidden.value - bent.value, hidden.residual - bent.residual
    of_z = torch.add(gap / 2, before, alpha=0.5) * update.slope
    made = _times(hidden.on_graph, update.middle())
    for part, of_last in ((entered, of_n), (own_part, of_n * reset.middle())):
        if part.on_graph is not None:
            by = torch.stack([of_r, of_z, of_last], 1)
            made = _sum(made, (part.on_graph.unflatten(1, (3, -1)) * by).sum(1))
    return None if made is None else [made]


def _plain(function: Function, parts: Sequence[Part], weights: Sequence[Any]) -> list[torch.Tensor] | None:
    x, hidden = parts
    into, own, *biases = weights
    bias, more = biases if len(biases) == 2 else (None, None)
    gates = _together(_entered(x, into, bias), _entered(hidden, own, more))
    bent = _bent(function, gates.value, gates.residual)
    if bent is None or gates.on_graph is None:
        return None
    return [gates.on_graph * bent.slope]


_STEPS: dict[str, Function] = {
    "lstm": _lstm, "gru": _gru, "rnn_tanh": partial(_plain, torch.tanh), "rnn_relu": partial(_plain, torch.relu),
}  # fmt: skip
