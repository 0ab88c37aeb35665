"""Recurrent steps in closed form: contributions by multipliers that are made for all steps at once.

The law is linear in the components. So the values and residuals of a sequence come first, then, for all of its steps
together, the slopes of the gates and the midpoints of the products; what is left for each step is one matrix product
with the components, and a few products of arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from npdec._decomposed.registry import rows
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor, align
from npdec._law.named_rules import is_affine
from npdec._law.overrides_scope import scope
from npdec._law.pointwise_call import Known
from npdec._law.secant import secant
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing

__all__ = ["Unfit", "in_closed_form", "slope_of_step", "steps_are_ordinary", "walk"]

Function = Callable[..., Any]
State = tuple[Any, ...]
Tensors = tuple[torch.Tensor, ...]
_AT_ONCE = 2**18  # elements


def walk(
    step: Callable[[int, State], State], sizes: list[int], state: State, backward: bool
) -> tuple[list[Any], State]:
    """The first part of the state after each step, in the order of the steps, and the last state of each sequence.

    At step t the first `sizes[t]` rows of the states, the sequences, are still going on; `step(t, state)` moves them.
    """
    outputs: list[Any] = [None] * len(sizes)
    start, finished = state, []
    state = tuple(s[: sizes[-1 if backward else 0]] for s in state)
    order = range(len(sizes))
    for t in reversed(order) if backward else order:
        now, size = len(state[0]), sizes[t]
        if size < now:
            finished.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        elif size > now:  # backwards, the shorter sequences begin later
            state = tuple(torch.cat([s, s0[now:size]]) for s, s0 in zip(state, start, strict=True))
        state = step(t, state)
        outputs[t] = state[0]
    if not finished:
        return outputs, state
    # The sequences in their order: those that went on longest come first.
    return outputs, tuple(torch.cat(parts) for parts in zip(state, *reversed(finished), strict=True))


class _Form(NamedTuple):
    """A kind of step, in three parts. What is kept of `ends` is made for values and residuals, which stand along the
    second axis; `multipliers` takes that of all steps, (rows, 2, ...), and gives arrays (rows, 1, ...); `move` takes
    those of one step, with the contributions of the input to the gates and of the state, (rows, C, ...)."""

    ends: Callable[[torch.Tensor, Tensors, Sequence[Any]], tuple[Tensors, Tensors]]
    multipliers: Callable[..., Tensors]
    move: Callable[[torch.Tensor, Tensors, Sequence[Any], Tensors], Tensors]


class Unfit(Exception):
    """A slope is not a number that components are multiplied with."""


def _middle(both: torch.Tensor) -> torch.Tensor:
    """The other factor of a product, at the middle of the path."""
    return (both[:, :1] + both[:, 1:]) / 2


def _slope(f: Function, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    return slope_of_step(f, before[:, :1], before[:, 1:], after[:, :1], after[:, 1:])


def slope_of_step(f: Function, x: torch.Tensor, r: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> torch.Tensor:
    found = secant(Known(f), x, r, fx, fr)
    if found.extreme is not None or found.singular is not None:
        raise Unfit
    return found.multiplier


def _through(rows: torch.Tensor, weight: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
    """Components (rows, C, n) times the weight, and more contributions to the same."""
    flat = more.reshape(-1, more.shape[-1])
    return torch.addmm(flat, rows.reshape(-1, rows.shape[-1]), weight.t()).reshape(more.shape)


# -- the kinds ---------------------------------------------------------------------------------------------------------


def _plain(f: Function) -> _Form:
    def ends(gates: torch.Tensor, state: Tensors, weights: Sequence[Any]) -> tuple[Tensors, Tensors]:
        before = gates + F.linear(state[0], *weights)
        after = f(before)
        return (after,), (before, after)

    def multipliers(before: torch.Tensor, after: torch.Tensor) -> Tensors:
        return (_slope(f, before, after),)

    def move(gates: torch.Tensor, state: Tensors, weights: Sequence[Any], by: Tensors) -> Tensors:
        return (_through(state[0], weights[0], gates) * by[0],)

    return _Form(ends, multipliers, move)


def _lstm_ends(gates: torch.Tensor, state: Tensors, weights: Sequence[Any]) -> tuple[Tensors, Tensors]:
    hidden, cell = state
    before = gates + F.linear(hidden, *weights[:2])
    i, f, g, o = before.chunk(4, -1)
    opened, candidate = torch.sigmoid(torch.cat([i, f, o], -1)), torch.tanh(g)
    i, f, o = opened.chunk(3, -1)
    after = f * cell + i * candidate
    seen = torch.tanh(after)
    made = o * seen
    return (F.linear(made, weights[2]) if len(weights) > 2 else made, after), (
        before, opened, candidate, cell, after, seen,
    )  # fmt: skip


def _lstm_multipliers(
    before: torch.Tensor,
    opened: torch.Tensor,
    candidate: torch.Tensor,
    cell: torch.Tensor,
    after: torch.Tensor,
    seen: torch.Tensor,
) -> Tensors:
    i, f, g, o = before.chunk(4, -1)
    slope_i, slope_f, slope_o = _slope(torch.sigmoid, torch.cat([i, f, o], -1), opened).chunk(3, -1)
    i, f, o = (_middle(part) for part in opened.chunk(3, -1))
    slope_g = _slope(torch.tanh, g, candidate)
    of_gates = [slope_i * _middle(candidate), slope_f * _middle(cell), slope_g * i, slope_o * _middle(seen)]
    return torch.cat(of_gates, -1), f, o * _slope(torch.tanh, after, seen)


def _lstm_move(gates: torch.Tensor, state: Tensors, weights: Sequence[Any], by: Tensors) -> Tensors:
    hidden, cell = state
    of_gates, kept, shown = by
    i, f, g, o = (_through(hidden, weights[0], gates) * of_gates).chunk(4, -1)
    cell = torch.addcmul(i + g, cell, kept) + f
    hidden = torch.addcmul(o, cell, shown)
    return (F.linear(hidden, weights[2]) if len(weights) > 2 else hidden), cell


def _gru_ends(gates: torch.Tensor, state: Tensors, weights: Sequence[Any]) -> tuple[Tensors, Tensors]:
    (hidden,) = state
    width = hidden.shape[-1]
    own = F.linear(hidden, *weights)
    before = gates[..., : 2 * width] + own[..., : 2 * width]
    opened, own_n = torch.sigmoid(before), own[..., 2 * width :]
    r, z = opened.chunk(2, -1)
    inner = gates[..., 2 * width :] + r * own_n
    candidate = torch.tanh(inner)
    change = hidden - candidate
    return (candidate + z * change,), (before, opened, own_n, inner, candidate, change)


def _gru_multipliers(
    before: torch.Tensor,
    opened: torch.Tensor,
    own_n: torch.Tensor,
    inner: torch.Tensor,
    candidate: torch.Tensor,
    change: torch.Tensor,
) -> Tensors:
    slopes = _slope(torch.sigmoid, before, opened)
    r, z = (_middle(part) for part in opened.chunk(2, -1))
    # What the gates of reset and update contribute to the candidate and to the next state.
    slopes = slopes * torch.cat([_middle(own_n), _middle(change)], -1)
    return slopes, r, z, _slope(torch.tanh, inner, candidate)


def _gru_move(gates: torch.Tensor, state: Tensors, weights: Sequence[Any], by: Tensors) -> Tensors:
    (hidden,) = state
    width = hidden.shape[-1]
    slopes, r, z, slope_n = by
    own = F.linear(hidden, weights[0])
    from_r, from_z = ((gates[..., : 2 * width] + own[..., : 2 * width]) * slopes).chunk(2, -1)
    candidate = torch.addcmul(gates[..., 2 * width :] + from_r, own[..., 2 * width :], r) * slope_n
    return (torch.addcmul(candidate + from_z, hidden - candidate, z),)


_FORMS: dict[str, _Form] = {
    "rnn_tanh": _plain(torch.tanh),
    "rnn_relu": _plain(torch.relu),
    "lstm": _Form(_lstm_ends, _lstm_multipliers, _lstm_move),
    "gru": _Form(_gru_ends, _gru_multipliers, _gru_move),
}

# -- a sequence --------------------------------------------------------------------------------------------------------


def steps_are_ordinary(data: Any, state: State, weights: Sequence[Any], reverse: bool) -> bool:
    """Whether the steps are those of the law itself: no weight is decomposed, no other rule chosen or registered."""
    if tracing() or mapped() or scope() is not None or not len(data):
        return False
    if any(isinstance(weight, DecomposedTensor) for weight in weights):
        return False
    if any(part.dtype != data.dtype or part.is_complex() for part in state):
        return False
    if any(hasattr(rows[f].rule, "description") for f in (F.linear, torch.sigmoid, torch.tanh, torch.relu)):
        return False  # a rule that a user has registered describes itself
    return is_affine(reverse)


def in_closed_form(
    kind: str,
    data: Any,
    into: tuple[torch.Tensor, torch.Tensor | None],
    sizes: list[int],
    state: State,
    weights: Sequence[Any],
    backward: bool,
) -> tuple[Any, State] | None:
    """What the steps make of the data, one row (n,) for each step and sequence, and of the first state: the states
    after each step, row by row, and the last ones. None where the steps have to be taken one by one.

    `into` is the weight and bias by which data go into the gates, `weights` those by which the state does."""
    given = [t for t in (data, *state) if isinstance(t, DecomposedTensor)]
    if not given or not steps_are_ordinary(data, state, (*into, *weights), given[0].reverse):
        return None
    form, reverse = _FORMS[kind], given[0].reverse
    with no_graph(reverse):
        ends = [_ends(t) for t in (data, *state)]
        gates = F.linear(ends[0], *into).split(sizes)
        found = _multipliers(form, gates, sizes, tuple(ends[1:]), weights, backward)
    if found is None:
        return None
    (outputs, last), multipliers = found
    labels, aligned = align(given)
    moving = iter(aligned)
    # Rows first: what a step takes, and the sequences that are going on, then lie together.
    rows, *parts = [
        next(moving).transpose(0, 1) if isinstance(t, DecomposedTensor)
        else t.new_zeros(()).expand(len(t), len(labels), t.shape[-1])
        for t in (data, *state)
    ]  # fmt: skip
    gates = _Gates(rows, into[0], sizes)
    by = list(zip(*(m.split(sizes) for m in multipliers), strict=True))
    moved, ended = walk(lambda t, s: form.move(gates[t], s, weights, by[t]), sizes, tuple(parts), backward)

    def made(ends: torch.Tensor, components: torch.Tensor) -> DecomposedTensor:
        return DecomposedTensor(ends[:, 0], ends[:, 1], components.transpose(0, 1), labels, reverse)

    return made(outputs, torch.cat(moved)), tuple(made(e, c) for e, c in zip(last, ended, strict=True))


class _Gates:
    """What the components of the data, (rows, C, n), contribute to the gates of each step: made for as many steps at
    once as leave the elements where the processor finds them again."""

    def __init__(self, rows: torch.Tensor, weight: torch.Tensor, sizes: list[int]) -> None:
        together = max(1, _AT_ONCE // max(1, rows.shape[1] * weight.shape[0] * max(sizes)))
        self.rows, self.weight, self.sizes, self.together = rows, weight, sizes, together
        self.first = -1
        self.made: Tensors = ()
        self.starts = [0, *itertools.accumulate(sizes)]

    def __getitem__(self, t: int) -> torch.Tensor:
        first = t - t % self.together
        if first != self.first:
            sizes = self.sizes[first : first + self.together]
            rows = self.rows[self.starts[first] : self.starts[first + len(sizes)]]
            self.first, self.made = first, F.linear(rows.contiguous(), self.weight).split(sizes)
        return self.made[t - first]


def _ends(t: Any) -> torch.Tensor:
    """Value and residual along the second axis."""
    if isinstance(t, DecomposedTensor):
        return torch.stack([t.value, t.residual], 1)
    return t.unsqueeze(1).expand(len(t), 2, *t.shape[1:])


def _multipliers(
    form: _Form, gates: Tensors, sizes: list[int], state: Tensors, weights: Sequence[Any], backward: bool
) -> tuple[tuple[torch.Tensor, Tensors], Tensors] | None:
    """The values and residuals after each step, the last ones, and the multipliers of all steps."""
    kept: list[Any] = [None] * len(sizes)

    def step(t: int, state: State) -> State:
        state, kept[t] = form.ends(gates[t], state, weights)
        return state

    outputs, last = walk(step, sizes, state, backward)
    try:
        made = form.multipliers(*[torch.cat(parts) for parts in zip(*kept, strict=True)])
    except Unfit:
        return None
    return (torch.cat(outputs), last), made
