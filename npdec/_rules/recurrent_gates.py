"""Steps of recurrent networks in reverse mode: multipliers of all steps at once, of the inputs and of the states that
they start from, and the way back by each step. Step by step go the cells of an LSTM; each gate's gradient is a multiple
of that of the state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.size_warnings import has_finite_sum
from npdec._native import calls
from npdec._rules.recurrent_multipliers import Unfit, slope_of_step, walk

__all__ = ["KINDS", "Back", "Ends", "Layout", "Weights"]

Function = Callable[..., Any]
Tensors = tuple[torch.Tensor, ...]


class Layout:
    """Where values and residuals lie: of padded sequences (T, B, n), those of a step beside each other, where the
    residual may be that of one sequence for all; of packed ones, the elements of each step after those of the step
    before, in pairs (N, 2, n)."""

    def __init__(self, steps: int, batch: int, sizes: list[int] | None) -> None:
        self.batch, self.packed = batch, sizes is not None
        self.sizes = [batch] * steps if sizes is None else sizes

    def together(self, value: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        if self.packed:
            return torch.stack([value, residual], 1)
        return torch.cat([value, residual], -2)

    def apart(self, both: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.packed:
            return both[:, 0], both[:, 1]
        return both[..., : self.batch, :], both[..., self.batch :, :]

    def steps(self, t: torch.Tensor) -> Tensors:
        return t.split(self.sizes) if self.packed else t.unbind(0)

    def before(self, after: torch.Tensor, first: torch.Tensor, backward: bool) -> torch.Tensor:
        """The states that the steps start from, of those after each, and of the first one."""
        if not self.packed:
            return torch.cat([after[1:], first[None]] if backward else [first[None], after[:-1]])
        parts, sizes = self.steps(after), self.sizes
        if not backward:
            return torch.cat([first[: sizes[0]], *[parts[t][:size] for t, size in enumerate(sizes[1:])]])
        pieces: list[torch.Tensor] = []
        for t, size in enumerate(sizes):
            ahead = parts[t + 1] if t + 1 < len(sizes) else first[:0]
            pieces += [ahead, first[len(ahead) : size]]
        return torch.cat(pieces)

    def cells(self, added: torch.Tensor, kept: torch.Tensor, first: torch.Tensor, backward: bool) -> torch.Tensor:
        """What each step makes of the cells: it keeps a part, and adds to it."""
        parts, factors = self.steps(added), self.steps(kept)
        if self.packed:
            made, _ = walk(lambda t, s: (torch.addcmul(parts[t], factors[t], s[0]),), self.sizes, (first,), backward)
            return torch.cat(made)
        after, now = torch.empty_like(added), first
        places = list(zip(parts, factors, after.unbind(0), strict=True))
        for part, factor, place in reversed(places) if backward else places:
            now = torch.addcmul(part, factor, now, out=place)
        return after


class Ends(NamedTuple):
    """What a direction of a layer takes and makes, values and residuals together."""

    inputs: torch.Tensor
    before: torch.Tensor  # the state that each step starts from
    after: torch.Tensor
    cell: torch.Tensor | None  # the first one


class Weights(NamedTuple):
    into: torch.Tensor
    own: torch.Tensor
    biases: Sequence[torch.Tensor]
    projection: torch.Tensor | None

    @classmethod
    def of(cls, params: Sequence[torch.Tensor], has_biases: bool) -> Weights:
        into, own, *rest = params
        biases, rest = (rest[:2], rest[2:]) if has_biases else ([], rest)
        return cls(into, own, biases, rest[0] if rest else None)


def _linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    rows = x.reshape(-1, x.shape[-1])
    made = torch.mm(rows, weight.t()) if bias is None else torch.addmm(bias, rows, weight.t())
    return made.view(*x.shape[:-1], len(weight))


def _gates(ends: Ends, weights: Weights) -> torch.Tensor:
    """What goes into the gates, of the input and of the state."""
    made = _linear(ends.inputs, weights.into, weights.biases[0] + weights.biases[1] if weights.biases else None)
    rows = made.view(-1, made.shape[-1])
    rows.addmm_(ends.before.reshape(len(rows), -1), weights.own.t())
    return made


def _middle(layout: Layout, both: torch.Tensor) -> torch.Tensor:
    """The other factor of a product, at the middle of the path."""
    return torch.lerp(*layout.apart(both), 0.5)


def _slopes(x: torch.Tensor, r: torch.Tensor, k: Any) -> torch.Tensor:
    """tanh(k d / 2) / (k d) for steps d = x − r: for k = 1 the slope of the sigmoid but for a (1 − b) + b (1 − a),
    where a and b are what it makes of x and r, and for k = 2 that of tanh but for 2 (1 − a b)."""
    step = torch.sub(x, r)
    if not has_finite_sum(step):
        raise Unfit
    step = step.abs_().mul_(k).clamp_(min=math.sqrt(torch.finfo(step.dtype).tiny)).neg_()
    change = torch.expm1(step)
    return torch.div(change, step.mul_(change + 2), out=change)


def _opened(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a (1 − b) + b (1 − a)."""
    return torch.lerp(a, 1 - a, b)


# -- the kinds: multipliers of all steps, and the way back by each -----------------------------------------------------


class Back(NamedTuple):
    """Where the gradients of a direction of a layer are made: `by` and `grads` (..., k, n) of all steps, each step's of
    one; `own` is the weight of the state."""

    layout: Layout
    by: torch.Tensor
    grads: torch.Tensor
    own: torch.Tensor

    def steps(self, first: int, last: int, flat: bool = False) -> Tensors:
        """The gradients of the gates from the first to the last, step by step."""
        part = self.grads[..., first:last, :]
        return self.layout.steps(part.flatten(-2) if flat or last - first == 1 else part)

    def steps_by(self, first: int, last: int) -> Tensors:
        part = self.by[..., first:last, :]
        return self.layout.steps(part.flatten(-2) if last - first == 1 else part)


# What a step does with the gradient of the state (B, n), and its view (B, 1, n): it puts that of the state before where
# it is told, and adds what is given, if anything is.
_StepBack = Callable[[int, torch.Tensor, torch.Tensor, "torch.Tensor | None", torch.Tensor], None]


class _Kind(NamedTuple):
    """`multipliers` gives those of all steps, (..., k, n), `back` what takes gradients through one, with the gradient
    of the cells for an LSTM. The weight of the input meets those of `input`, in the order of the gates `order`."""

    multipliers: Callable[[Layout, Ends, Weights, bool], torch.Tensor]
    back: Callable[[Back, torch.Tensor | None], _StepBack]
    input: slice
    order: Sequence[int] | None = None


def _put(added: torch.Tensor | None, grads: torch.Tensor, own: torch.Tensor, out: torch.Tensor) -> None:
    if added is None:
        torch.mm(grads, own, out=out)
    else:
        torch.addmm(added, grads, own, out=out)


def _plain(f: Function) -> _Kind:
    def multipliers(layout: Layout, ends: Ends, weights: Weights, backward: bool) -> torch.Tensor:
        gates = _gates(ends, weights)
        (x, r), (fx, fr) = layout.apart(gates), layout.apart(f(gates))
        if f is torch.tanh:
            made = _slopes(x, r, 2).mul_(torch.mul(fx, fr).neg_().add_(1)).mul_(2)
        else:
            made = slope_of_step(f, x, r, fx, fr)
        return made.unsqueeze(-2)

    def back(of: Back, cell: torch.Tensor | None) -> _StepBack:
        by, grads, own = of.steps_by(0, 1), of.steps(0, 1), of.own

        def step(
            t: int, hidden: torch.Tensor, wide: torch.Tensor, added: torch.Tensor | None, out: torch.Tensor
        ) -> None:
            torch.mul(by[t], hidden, out=grads[t])
            _put(added, grads[t], own, out)

        return step

    return _Kind(multipliers, back, slice(0, 1))


def _lstm_multipliers(layout: Layout, ends: Ends, weights: Weights, backward: bool) -> torch.Tensor:
    """Of the cell before, the gates, and of the state beside the cell: (..., 6, n)."""
    assert ends.cell is not None
    gates = _gates(ends, weights)
    n = gates.shape[-1] // 4
    opened = torch.sigmoid(gates)
    torch.tanh(gates[..., 2 * n : 3 * n], out=opened[..., 2 * n : 3 * n])
    i, f, g, o = opened.chunk(4, -1)
    after = layout.cells(i * g, f, ends.cell, backward)
    before, seen = layout.before(after, ends.cell, backward), torch.tanh(after)
    (x, r), (fx, fr) = layout.apart(gates), layout.apart(opened)
    by = x.new_empty((*x.shape[:-1], 6, n))
    if (
        calls is not None
        and not layout.packed
        and calls.lstm_steps(layout.batch, gates, opened, before, after, seen, by)
    ):
        return by
    gates_by = by[..., 1:5, :]
    doubled = x.new_ones(4, 1)
    doubled[2] = 2
    slopes = _slopes(x, r, doubled.expand(4, n).flatten()).unflatten(-1, (4, n))
    fx, fr = fx.unflatten(-1, (4, n)), fr.unflatten(-1, (4, n))
    middles = torch.lerp(fx, fr, 0.5)
    gates_by[..., :2, :] = _opened(fx[..., :2, :], fr[..., :2, :])
    torch.mul(fx[..., 2, :], fr[..., 2, :], out=gates_by[..., 2, :]).neg_().add_(1).mul_(2)
    gates_by[..., 3, :] = _opened(fx[..., 3, :], fr[..., 3, :])
    gates_by.mul_(slopes)
    i, f, g, o = middles.unbind(-2)
    for place, factor in enumerate((g, _middle(layout, before), i, _middle(layout, seen)), 1):
        by[..., place, :].mul_(factor)
    by[..., 0, :] = f
    shown = _slopes(*layout.apart(after), 2).mul_(o).mul_(2)
    a, b = layout.apart(seen)
    torch.mul(a, b, out=by[..., 5, :]).neg_().add_(1).mul_(shown)
    return by


def _lstm_back(of: Back, cell: torch.Tensor | None) -> _StepBack:
    assert cell is not None
    kept, opened, gates, own = of.steps(0, 1), of.steps(4, 5), of.steps(1, 5, True), of.own
    of_cell, of_hidden, shown, grads = of.steps_by(0, 4), of.steps_by(4, 5), of.steps_by(5, 6), of.steps(0, 4)
    now, rows = [cell], [cell]

    def step(t: int, hidden: torch.Tensor, wide: torch.Tensor, added: torch.Tensor | None, out: torch.Tensor) -> None:
        ahead = now[0]
        if rows[0] is not wide:  # other sequences go on
            rows[0], size = wide, hidden.shape[0]
            if ahead is not cell:
                cell[: ahead.shape[0]] = ahead
            ahead = cell[:size]
        torch.mul(of_hidden[t], hidden, out=opened[t])
        torch.mul(of_cell[t], torch.addcmul(ahead, shown[t], hidden).unsqueeze(1), out=grads[t])
        now[0] = kept[t]
        _put(added, gates[t], own, out)

    return step


def _gru_multipliers(layout: Layout, ends: Ends, weights: Weights, backward: bool) -> torch.Tensor:
    """Of the candidate, the gates of reset and update, what the state adds to the candidate, and of the state before:
    (..., 5, n)."""
    biases = weights.biases or (None, None)
    enter, own = _linear(ends.inputs, weights.into, biases[0]), _linear(ends.before, weights.own, biases[1])
    n = own.shape[-1] // 3
    own_n = own[..., 2 * n :]
    before = enter[..., : 2 * n].add_(own[..., : 2 * n])
    opened = torch.sigmoid(before)
    inner = torch.addcmul(enter[..., 2 * n :], opened[..., :n], own_n)
    candidate = torch.tanh(inner)
    (fx, fr), (a, b) = layout.apart(opened), layout.apart(candidate)
    slopes = _slopes(*layout.apart(before), 1).mul_(_opened(fx, fr))
    r, z = torch.lerp(fx, fr, 0.5).chunk(2, -1)
    by = r.new_empty((*r.shape[:-1], 5, n))
    moved = by[..., 0, :]
    torch.mul(_slopes(*layout.apart(inner), 2).mul_(2 - 2 * z), torch.mul(a, b).neg_().add_(1), out=moved)
    torch.mul(slopes[..., :n], _middle(layout, own_n), out=by[..., 1, :]).mul_(moved)
    torch.mul(slopes[..., n:], _middle(layout, torch.sub(ends.before, candidate)), out=by[..., 2, :])
    torch.mul(moved, r, out=by[..., 3, :])
    by[..., 4, :] = z
    return by


def _gru_back(of: Back, cell: torch.Tensor | None) -> _StepBack:
    by, grads, kept = of.layout.steps(of.by), of.layout.steps(of.grads), of.steps(4, 5)
    gates, own = of.steps(1, 4, True), of.own

    def step(t: int, hidden: torch.Tensor, wide: torch.Tensor, added: torch.Tensor | None, out: torch.Tensor) -> None:
        torch.mul(by[t], wide, out=grads[t])
        torch.addmm(kept[t], gates[t], own, out=out)
        if added is not None:
            out.add_(added)

    return step


KINDS: dict[str, _Kind] = {
    "rnn_tanh": _plain(torch.tanh),
    "rnn_relu": _plain(torch.relu),
    "lstm": _Kind(_lstm_multipliers, _lstm_back, slice(1, 5)),
    "gru": _Kind(_gru_multipliers, _gru_back, slice(0, 3), (2, 0, 1)),
}
