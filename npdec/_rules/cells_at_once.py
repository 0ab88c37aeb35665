"""Cells of recurrent networks in reverse mode, on the processor: a cell is one node of the graph, whose multipliers are
found in one pass over its gates, and so are the gradients (`npdec/_native/gates.c`). Without it, and where a multiplier
is no finite number, cells go step by step (`npdec._rules.cells_reverse`).

The numbers are those of torch's cells, by the functions of torch that these are made of: gates of values and residuals
lie in one memory, those of residuals behind the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.reverse_graph import several_with_vjp, with_vjp
from npdec._native import calls

__all__ = ["at_once"]

Function = Callable[..., Any]
Pair = tuple[torch.Tensor, torch.Tensor]


class Cell(NamedTuple):
    """What a cell gives: values and residuals, and values on the graph."""

    values: Sequence[torch.Tensor]
    residuals: Sequence[torch.Tensor]
    on_graph: Sequence[torch.Tensor]


def at_once(kind: str, parts: Sequence[Any], weights: Sequence[Any]) -> Cell | None:
    """What the cell makes of the input and its states, `Part`s of two axes; None where it is another kind of cell, or a
    tensor lies elsewhere or otherwise."""
    function = _KINDS.get(kind)
    into, own, *biases = weights
    if calls is None or function is None or len(biases) not in (0, 2) or not (into.is_cpu and own.is_cpu):
        return None
    rows, n = parts[0].value.shape[0], own.shape[1]
    if not rows or not n:
        return None
    for place, part in enumerate(parts):
        value, residual = part.value, part.residual
        if value.shape[0] != rows or residual.shape[0] not in (1, rows) or not value.is_cpu:
            return None
        if place and not (value.shape[1] == n and value.is_contiguous() and residual.is_contiguous()):
            return None
    found: Cell | None = function(parts, into, own, biases or [None, None])
    return found


def _linear(part: Any, weight: torch.Tensor, bias: torch.Tensor | None, lows: int) -> torch.Tensor:
    """What a part has in the gates: at its values, and behind these at its residuals, `lows` rows."""
    rows, turned = part.value.shape[0], weight.t()
    made = part.value.new_empty((rows + lows, weight.shape[0]))
    residual = part.residual
    if residual.shape[0] < lows:  # equal rows
        residual = residual.expand(lows, -1)
    if bias is None:
        torch.mm(part.value, turned, out=made[:rows])
        torch.mm(residual, turned, out=made[rows:])
    else:
        torch.addmm(bias, part.value, turned, out=made[:rows])
        torch.addmm(bias, residual, turned, out=made[rows:])
    return made


def _lows(parts: Sequence[Any]) -> int:
    return max([part.residual.shape[0] for part in parts])


def _carriers(parts: Sequence[Any]) -> list[torch.Tensor]:
    return [part.on_graph for part in parts if part.on_graph is not None]


def _lstm(parts: Sequence[Any], into: torch.Tensor, own: torch.Tensor, biases: Sequence[Any]) -> Cell | None:
    x, hidden, state = parts
    rows, n = state.value.shape
    lows = _lows((x, hidden))
    gates = _linear(hidden, own, biases[1], lows).add_(_linear(x, into, biases[0], lows))
    opened = torch.empty_like(gates)
    for k, (before, after) in enumerate(zip(gates.chunk(4, 1), opened.chunk(4, 1), strict=True)):
        (torch.tanh if k == 2 else torch.sigmoid)(before, out=after)
    ends: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    for its, cell in ((opened[:rows], state.value), (opened[rows:], state.residual)):
        i, f, g, o = its.chunk(4, 1)
        after = (f * cell).add_(i * g)
        seen = torch.tanh(after)
        ends.append((o * seen, after, seen))
    (out, after, seen), (out_r, after_r, seen_r) = ends
    by = gates.new_empty((rows, 6, n))
    if not calls.lstm_cell(gates, opened, state.value, state.residual, after, after_r, seen, seen_r, by):
        return None
    moves = [part.on_graph is not None for part in parts]

    def vjp(grads: Sequence[torch.Tensor | None], *held: torch.Tensor) -> list[torch.Tensor]:
        into, own, by = held
        ahead = [None if g is None else g.contiguous() for g in grads]
        of_gates, of_cell = by.new_empty((rows, 4 * n)), by.new_empty((rows, n))
        if not calls.lstm_cell_back(*ahead, by, of_gates, of_cell):
            _lstm_back(ahead, by, of_gates, of_cell)
        made = [torch.mm(of_gates, w) if its else None for w, its in zip((into, own), moves, strict=False)]
        return [g for g, its in zip((*made, of_cell), moves, strict=True) if its and g is not None]

    made = several_with_vjp((out, after), _carriers(parts), vjp, (into, own, by))
    return Cell([t.detach() for t in made], (out_r, after_r), made)


def _lstm_back(
    ahead: Sequence[torch.Tensor | None], by: torch.Tensor, of_gates: torch.Tensor, of_cell: torch.Tensor
) -> None:
    """The same gradients, where somebody looks on."""
    hidden, cell = [torch.zeros_like(of_cell) if g is None else g for g in ahead]
    moved = cell + hidden * by[:, 5]
    its = of_gates.unflatten(1, (4, -1))
    its[:, :3] = moved.unsqueeze(1) * by[:, :3]
    its[:, 3] = hidden * by[:, 3]
    of_cell.copy_(moved * by[:, 4])


def _gru(parts: Sequence[Any], into: torch.Tensor, own: torch.Tensor, biases: Sequence[Any]) -> Cell | None:
    x, hidden = parts
    rows, n = hidden.value.shape
    lows = _lows(parts)
    entered, kept = _linear(x, into, biases[0], lows), _linear(hidden, own, biases[1], lows)
    sums = kept[:, : 2 * n] + entered[:, : 2 * n]
    opened = torch.empty_like(sums)
    for before, after in zip(sums.chunk(2, 1), opened.chunk(2, 1), strict=True):
        torch.sigmoid(before, out=after)
    ends: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    for part, state in ((slice(0, rows), hidden.value), (slice(rows, None), hidden.residual)):
        reset, update = opened[part].chunk(2, 1)
        last = entered[part, 2 * n :] + kept[part, 2 * n :] * reset
        bent = torch.tanh(last)
        ends.append(((state - bent).mul_(update).add_(bent), last, bent))
    (out, last, bent), (out_r, last_r, bent_r) = ends
    by = sums.new_empty((rows, 5, n))
    if not calls.gru_cell(sums, opened, kept, last, last_r, bent, bent_r, hidden.value, hidden.residual, by):
        return None
    moves = [part.on_graph is not None for part in parts]

    def vjp(grad: torch.Tensor, *held: torch.Tensor) -> tuple[torch.Tensor, ...]:
        into, own, by = held
        grad = grad.contiguous()
        of_x, of_state = by.new_empty((2, rows, 3 * n)).unbind(0)
        of_hidden = by.new_empty((rows, n))
        if not calls.gru_cell_back(grad, by, of_x, of_state, of_hidden):
            its = grad.unsqueeze(1) * by  # where somebody looks on
            of_x.copy_(its[:, :3].flatten(1))
            of_state.copy_(its[:, [0, 1, 3]].flatten(1))
            of_hidden.copy_(its[:, 4])
        made = [torch.mm(of_x, into)] if moves[0] else []
        return (*made, of_hidden.addmm_(of_state, own)) if moves[1] else tuple(made)

    carrier = with_vjp(out, _carriers(parts), vjp, (into, own, by))
    return Cell([carrier.detach()], (out_r,), [carrier])


def _plain(parts: Sequence[Any], into: torch.Tensor, own: torch.Tensor, biases: Sequence[Any]) -> Cell | None:
    x, hidden = parts
    rows, lows = x.value.shape[0], _lows(parts)
    gates = _linear(hidden, own, biases[1], lows).add_(_linear(x, into, biases[0], lows))
    out, out_r = torch.tanh(gates[:rows]), torch.tanh(gates[rows:])
    slopes = torch.empty_like(out)
    if not calls.gate_slopes(False, gates[:rows], gates[rows:], out, out_r, slopes):
        return None
    moves = [part.on_graph is not None for part in parts]

    def vjp(grad: torch.Tensor, *held: torch.Tensor) -> tuple[torch.Tensor, ...]:
        *weights, slopes = held
        through = grad * slopes
        return tuple([torch.mm(through, w) for w, its in zip(weights, moves, strict=True) if its])

    carrier = with_vjp(out, _carriers(parts), vjp, (into, own, slopes))
    return Cell([carrier.detach()], (out_r,), [carrier])


_KINDS: dict[str, Function] = {"lstm": _lstm, "gru": _gru, "rnn_tanh": _plain}
