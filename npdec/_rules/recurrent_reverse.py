"""Recurrent networks in reverse mode.

The numbers are those of torch's kernel, a layer at a time. Its outputs are the states that the steps start from, by
which the multipliers follow for all steps at once (`npdec._rules.recurrent_gates`); the gradients go step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.reverse_graph import no_graph, several_by_vjp, uses_vjp
from npdec._decomposed.tensor import DecomposedTensor, align
from npdec._law.discrete import residual_of, value_of
from npdec._rules.recurrent_gates import KINDS, Back, Ends, Layout, Weights
from npdec._rules.recurrent_multipliers import Unfit, steps_are_ordinary

__all__ = ["network"]

Function = Callable[..., Any]
Tensors = tuple[torch.Tensor, ...]


def _serves(data: Any, hx: Sequence[Any], params: Sequence[Any], kind: str) -> bool:
    """Whether values, residuals and weights are plain tensors of one dtype, on the processor, where the kernel makes of
    one layer after the other what it makes of all."""
    given = [t for t in (data, *hx) if isinstance(t, DecomposedTensor)]
    if not given or not uses_vjp(given[0].reverse) or not steps_are_ordinary(data, tuple(hx), params, True):
        return False
    ends = [end for t in (data, *hx) for end in (value_of(t), residual_of(t))]
    dtype = ends[0].dtype
    if dtype not in (torch.float32, torch.float64) or not data.numel():
        return False
    if any(type(t) not in (torch.Tensor, torch.nn.Parameter) or t.is_inference() for t in (*ends, *params)):
        return False
    return all(t.dtype is dtype and t.is_cpu for t in (*ends, *params))


def _is_one(t: torch.Tensor) -> bool:
    """Whether all sequences, along the second axis, have the same numbers."""
    return not t.stride(1) or torch.equal(t, t[:, :1].expand_as(t))


class _Network:
    """A call: of padded sequences (T, B, n), or of packed ones (N, n) with the sizes of the steps."""

    def __init__(self, kind: str, func: Function, sizes: torch.Tensor | None, settings: dict[str, Any]) -> None:
        self.kind, self.func, self.sizes = kind, func, sizes
        self.biases, self.train = bool(settings["has_biases"]), bool(settings["train"])
        self.directions = 2 if settings["bidirectional"] else 1
        self.by: list[torch.Tensor] = []

    def numbers(self, data: torch.Tensor, hx: Sequence[torch.Tensor], params: Sequence[torch.Tensor]) -> Tensors:
        """One layer, by the kernel."""
        state: Any = tuple(hx) if self.kind == "lstm" else hx[0]
        options = (self.biases, 1, 0.0, self.train, self.directions == 2)
        if self.sizes is not None:
            found: Tensors = self.func(data, self.sizes, state, tuple(params), *options)
        else:
            found = self.func(data, state, tuple(params), *options, False)
        return found

    def run(self, ends: Sequence[Sequence[torch.Tensor]], params: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
        """The outputs and last states of (data, states), of values and of residuals; the multipliers are kept."""
        (data, *hx), kind = ends[0], KINDS[self.kind]
        sizes = None if self.sizes is None else self.sizes.tolist()
        self.layout = layout = Layout(len(data), hx[0].shape[1], sizes)
        layers = len(hx[0]) // self.directions
        self.count = count = len(params) // len(hx[0])
        inputs = [data, ends[1][0]]
        last: list[list[Tensors]] = [[], []]
        for layer in range(layers):
            rows = slice(layer * self.directions, (layer + 1) * self.directions)
            of_layer = params[rows.start * count : rows.stop * count]
            found = [self.numbers(x, [h[rows] for h in end[1:]], of_layer) for x, end in zip(inputs, ends, strict=True)]
            both = layout.together(*inputs)
            width = hx[0].shape[-1]
            for direction in range(self.directions):
                weights = Weights.of(of_layer[direction * count : (direction + 1) * count], self.biases)
                own = slice(direction * width, (direction + 1) * width)
                after = layout.together(*[f[0][..., own] for f in found])
                first, *cell = [
                    layout.together(*[e[rows][direction] for e in h])
                    for h in zip(*[end[1:] for end in ends], strict=True)
                ]
                made = Ends(both, layout.before(after, first, direction == 1), after, cell[0] if cell else None)
                self.by.append(kind.multipliers(layout, made, weights, direction == 1))
            inputs = [f[0] for f in found]
            for kept, f in zip(last, found, strict=True):
                kept.append(f[1:])
        return [
            [output, *[torch.cat(parts) for parts in zip(*kept, strict=True)]]
            for output, kept in zip(inputs, last, strict=True)
        ]

    def vjp(
        self,
        output: torch.Tensor | None,
        last: Sequence[torch.Tensor | None],
        params: Sequence[torch.Tensor],
        input: bool,
    ) -> list[torch.Tensor | None]:
        """Gradients of outputs (T, B, n) and of last states, to those of the data and the first states."""
        directions, kind, places = self.directions, KINDS[self.kind], len(self.by)
        firsts: list[Tensors] = [()] * places
        grad = output
        for layer in reversed(range(places // directions)):
            made: torch.Tensor | None = None
            for direction in range(directions):
                place = layer * directions + direction
                weights = Weights.of(params[place * self.count : (place + 1) * self.count], self.biases)
                by = self.by[place]
                state = tuple([h[place] if h is not None else None for h in last])
                grads, firsts[place] = self._back(by, grad, direction, state, weights)
                if layer or input:
                    into = weights.into
                    if kind.order is not None:
                        into = into.unflatten(0, (len(kind.order), -1))[list(kind.order)].flatten(0, 1)
                    rows = grads[..., kind.input, :].flatten(-2).flatten(0, -2)
                    part = torch.mm(rows, into).view(*by.shape[:-2], -1)
                    made = part if made is None else made.add_(part)
            grad = made
        return [grad, *[torch.stack(parts) for parts in zip(*firsts, strict=True)]]

    def _back(
        self, by: torch.Tensor, output: torch.Tensor | None, direction: int, last: Any, weights: Weights
    ) -> tuple[torch.Tensor, Tensors]:
        """The gradients of all gates, and of the first states. Those of a state are written over by those of the state
        before; of sequences that have not begun, or have ended, they wait there."""
        layout, backward, projection = self.layout, direction == 1, weights.projection
        n = by.shape[-1]
        width = n if projection is None else len(projection)
        sizes, grads = layout.sizes, torch.empty_like(by)
        outputs = None if output is None else layout.steps(output[..., direction * width : (direction + 1) * width])
        state = [
            by.new_zeros((layout.batch, size)) if h is None else h.clone(memory_format=torch.contiguous_format)
            for h, size in zip(last, (width, n)[: len(last)], strict=True)
        ]
        back = KINDS[self.kind].back(Back(layout, by, grads, weights.own), state[1] if len(state) > 1 else None)
        order = list(range(len(sizes)))
        order, size, joined = order if backward else order[::-1], -1, False
        hidden = wide = state[0]
        for t, after in zip(order, [*order[1:], None], strict=True):
            if sizes[t] != size:
                size = sizes[t]
                hidden = state[0][:size]
                wide = hidden.unsqueeze(1)
            if outputs is not None and not joined:
                hidden.add_(outputs[t])
            joined = outputs is not None and after is not None and sizes[after] == size and projection is None
            added = outputs[after] if joined else None  # type: ignore[index]
            if projection is None:
                back(t, hidden, wide, added, hidden)
            else:
                grad = torch.mm(hidden, projection)
                back(t, grad, grad.unsqueeze(1), added, hidden)
        if len(state) > 1:
            state[1][: sizes[t]] = layout.steps(grads)[t][..., 0, :]
        return grads, tuple(state)


def network(
    kind: str, func: Function, data: Any, sizes: Any, hx: Sequence[Any], params: Sequence[Any], settings: dict[str, Any]
) -> tuple[Any, ...] | None:
    """What the function gives, with contributions; None where the steps have to be taken another way."""
    if not _serves(data, hx, params, kind):
        return None
    given = (data, *hx)
    swap = sizes is None and settings["batch_first"]
    with no_graph(True):
        values, residuals = ([t.detach() for t in map(of, given)] for of in (value_of, residual_of))
        if swap:
            values[0], residuals[0] = values[0].transpose(0, 1), residuals[0].transpose(0, 1)
        if sizes is None and all(map(_is_one, residuals)):
            residuals = [t[:, :1].contiguous() for t in residuals]
        made = _Network(kind, func, None if sizes is None else value_of(sizes), settings)
        params = [p.detach() for p in params]
        try:
            found, base = made.run((values, residuals), params)
        except Unfit:
            return None
        base = [r.expand_as(x) for x, r in zip(found, base, strict=True)]
        if swap:
            found[0], base[0] = found[0].transpose(0, 1), base[0].transpose(0, 1)
    labels, aligned = align([t for t in given if isinstance(t, DecomposedTensor)])

    def vjp(grads: Sequence[torch.Tensor | None], *params: torch.Tensor) -> list[torch.Tensor]:
        output, *last = [None if g is None else g.squeeze(0) for g in grads]
        if swap and output is not None:
            output = output.transpose(0, 1)
        back = made.vjp(output, last, params, isinstance(data, DecomposedTensor))
        if swap and back[0] is not None:
            back[0] = back[0].transpose(0, 1)
        return [
            g.unsqueeze(0)
            for g, t in zip(back, given, strict=True)
            if isinstance(t, DecomposedTensor) and g is not None
        ]

    moved = several_by_vjp(found, base, aligned, vjp, params)
    return tuple([DecomposedTensor(x, r, c, labels, True) for x, r, c in zip(found, base, moved, strict=True)])
