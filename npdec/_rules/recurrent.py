"""Rules of recurrent networks: RNN, LSTM and GRU, their cells, and packed sequences, step by step.

The numbers are those of torch's own kernels; contributions pass through each step's linear maps, products and
nonlinear functions by their rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.registry import Answer
from npdec._rules.by_formula import by_formula, own_numbers, same_draws, value_of, with_numbers
from npdec._rules.cells_reverse import cell
from npdec._rules.recurrent_multipliers import in_closed_form, walk
from npdec._rules.recurrent_reverse import network as in_reverse
from npdec._rules.rule import rule

Function = Callable[..., Any]
State = tuple[Any, ...]
Step = Callable[[Any, State, Sequence[Any]], State]


# -- one step of each kind, of what the input contributes to it (all gates), the state, and the weights of the state ---


def _plain_step(activation: Function) -> Step:
    def step(gates: Any, state: State, weights: Sequence[Any]) -> State:
        return (activation(gates + F.linear(state[0], *weights)),)

    return step


def _lstm_step(gates: Any, state: State, weights: Sequence[Any]) -> State:
    """The gates are those of input, forgetting, candidates and output; a third weight projects the state."""
    hidden, cell = state
    i, f, g, o = (gates + F.linear(hidden, *weights[:2])).chunk(4, -1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    hidden = torch.sigmoid(o) * torch.tanh(cell)
    return (F.linear(hidden, weights[2]) if len(weights) > 2 else hidden), cell


def _gru_step(gates: Any, state: State, weights: Sequence[Any]) -> State:
    (hidden,) = state
    r, z, n = gates.chunk(3, -1)
    own_r, own_z, own_n = F.linear(hidden, *weights).chunk(3, -1)
    update = torch.sigmoid(z + own_z)
    candidate = torch.tanh(n + torch.sigmoid(r + own_r) * own_n)
    return (candidate + update * (hidden - candidate),)


_STEPS: dict[str, Step] = {
    "rnn_tanh": _plain_step(torch.tanh),
    "rnn_relu": _plain_step(torch.relu),
    "lstm": _lstm_step,
    "gru": _gru_step,
}


# -- layers ------------------------------------------------------------------------------------------------------------


def _one_direction(
    kind: str, data: Any, sizes: list[int], state: State, weights: Sequence[Any], backward: bool
) -> tuple[Any, State]:
    """The states after each step, one after the other as in `data`, and the last one of each sequence.

    At step t the first `sizes[t]` sequences are still going on; `data` holds their elements, step by step.
    """
    into, *rest = weights
    biases = rest[1:3] if len(rest) > 2 else []
    own = [rest[0], biases[1] if biases else None, *rest[3 if biases else 1 :]]
    enter = (into, biases[0] if biases else None)
    made = in_closed_form(kind, data, enter, sizes, state, own, backward)
    if made is None:
        parts, step = F.linear(data, *enter).split(sizes), _STEPS[kind]
        outputs, last = walk(lambda t, now: step(parts[t], now, own), sizes, state, backward)
        made = torch.cat(outputs), last
    return made


def _layers(
    kind: str,
    data: Any,
    sizes: list[int],
    hx: Sequence[Any],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    masks: Iterator[torch.Tensor] | None,
    bidirectional: bool,
) -> tuple[Any, State]:
    directions = 2 if bidirectional else 1
    projected = kind == "lstm" and hx[0].shape[-1] != hx[1].shape[-1]
    count = 2 + 2 * has_biases + projected
    finals: list[State] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            weights = params[place * count : (place + 1) * count]
            state = tuple(h[place] for h in hx)
            made, last = _one_direction(kind, data, sizes, state, weights, direction == 1)
            outputs.append(made)
            finals.append(last)
        data = torch.cat(outputs, -1) if bidirectional else outputs[0]
        if masks is not None and layer < num_layers - 1:
            data = data * next(masks)
    return data, tuple(torch.stack(parts) for parts in zip(*finals, strict=True))


# -- torch's functions -------------------------------------------------------------------------------------------------


def _masks(dropout: float, data: torch.Tensor, sizes: list[int], width: int) -> Iterator[torch.Tensor]:
    """What the kernel draws after each layer but the last, in the same order."""
    while True:
        yield F.dropout(data.new_ones((*sizes, width)), dropout).flatten(0, -2)


def _network(kind: str) -> Function:
    states = 2 if kind == "lstm" else 1

    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Of padded sequences (input, hx, params, ...) or of packed ones (data, batch_sizes, hx, params, ...)."""
        names = ["has_biases", "num_layers", "dropout", "train", "bidirectional"]
        packed = isinstance(args[3] if len(args) > 3 else None, (tuple, list))
        if packed:
            data, batch_sizes, hx, params, *options = args
            batch_first = False
            sizes = value_of(batch_sizes).tolist()
        else:
            data, hx, params, *options = args
            names.append("batch_first")
        settings = dict(zip(names, options, strict=False)) | kwargs
        hidden = (hx,) if isinstance(hx, torch.Tensor) else tuple(hx)
        dropping = bool(settings["dropout"]) and settings["train"] and settings["num_layers"] > 1
        made = (
            None
            if dropping
            else in_reverse(kind, func, data, batch_sizes if packed else None, hidden, params, settings)
        )
        if made is not None:
            return made
        if not packed:
            batch_first = settings["batch_first"]
            x = data.transpose(0, 1) if batch_first else data
            steps, batch = x.shape[:2]
            sizes = [batch] * steps
            data = x.flatten(0, 1)
        width = hidden[0].shape[-1] * (2 if settings["bidirectional"] else 1)
        shape = [len(data)] if packed else [steps, batch]
        device = value_of(data).device
        numbers = same_draws(func, args, kwargs, device) if dropping else None
        masks = _masks(settings["dropout"], value_of(data), shape, width) if dropping else None
        made, last = _layers(
            kind, data, sizes, hidden, params, settings["has_biases"], settings["num_layers"], masks,
            settings["bidirectional"],
        )  # fmt: skip
        if not packed:
            made = made.unflatten(0, (steps, batch))
            made = made.transpose(0, 1) if batch_first else made
        result = (made, *last[:states])
        if dropping:  # on other devices the kernel draws as nothing else does: the numbers are the formula's
            return result if numbers is None else with_numbers(*numbers, result)
        return own_numbers(func, args, kwargs, result)

    return rule


def _cell(kind: str) -> Function:
    def formula(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        state = (hx,) if isinstance(hx, torch.Tensor) else tuple(hx)
        made = _STEPS[kind](F.linear(input, w_ih, b_ih), state, [w_hh, b_hh])
        return made if kind == "lstm" else made[0]

    return by_formula(formula)


rule("rnn_tanh")(Answer(_network("rnn_tanh")))
rule("rnn_relu")(Answer(_network("rnn_relu")))
rule("lstm")(Answer(_network("lstm")))
rule("gru")(Answer(_network("gru")))
rule("rnn_tanh_cell", reverse=cell("rnn_tanh"))(_cell("rnn_tanh"))
rule("rnn_relu_cell", reverse=cell("rnn_relu"))(_cell("rnn_relu"))
rule("lstm_cell", reverse=cell("lstm"))(_cell("lstm"))
rule("gru_cell", reverse=cell("gru"))(_cell("gru"))
