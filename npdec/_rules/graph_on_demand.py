"""Ordinary calls whose parts carry a graph: of weights that require gradients, in most models.

Forms (`npdec._law.ordinary`) of functions that are not linear make no graph of the components, and what does takes
several times as long. So the components are computed by the form, and what makes their graph is called when somebody
asks for gradients. Value and residual have torch's own graph.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.registry import Rule, rows
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._law.ordinary import built, is_ordinary, of_the_value
from npdec._rules.argument_names import following

__all__ = ["answer"]

Function = Callable[..., Any]


class _Again(NamedTuple):
    """A call that makes the graph of its components: `places` are those of its arguments that are decomposed tensors,
    whose parts are given anew, three of each, and then the tensors in other places or under names."""

    rule: Rule
    func: Function
    args: Sequence[Any]
    options: dict[str, Any]
    places: Sequence[int]
    others: Sequence[int | str]
    labels: Sequence[Labels]
    context: contextvars.Context

    def __call__(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        given, options = list(self.args), dict(self.options)
        for number, (place, labels) in enumerate(zip(self.places, self.labels, strict=True)):
            value, residual, components = tensors[3 * number : 3 * number + 3]
            given[place] = DecomposedTensor(value, residual, components, labels)
        for key, tensor in zip(self.others, tensors[3 * len(self.places) :], strict=True):
            if isinstance(key, str):
                options[key] = tensor
            else:
                given[key] = tensor
        made: DecomposedTensor = self.context.copy().run(self.rule, self.func, given, options)
        return made.components


class _Components(torch.autograd.Function):
    """Components that were computed without a graph, which is made when gradients go back."""

    @staticmethod
    def forward(ctx: Any, again: _Again, computed: list[torch.Tensor], *tensors: torch.Tensor) -> torch.Tensor:
        ctx.again = again
        ctx.save_for_backward(*tensors)
        return computed.pop()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        follows = torch.is_grad_enabled()  # gradients of gradients are wanted
        asked = [i for i, wanted in enumerate(ctx.needs_input_grad[2:]) if wanted]
        # One tensor may have been made of another: gradients are to end at each of them.
        with torch.enable_grad():
            tensors = [t.view_as(t) if follows else t.detach() for t in ctx.saved_tensors]
            inputs = [tensors[i] if follows else tensors[i].requires_grad_() for i in asked]
            made = ctx.again(tensors)
        found: list[Any] = [None] * len(tensors)
        if made.requires_grad:
            back = torch.autograd.grad(made, inputs, grads, create_graph=follows, allow_unused=True)
            for i, grad in zip(asked, back, strict=True):
                found[i] = grad
        return None, None, *found


def _carries_graph(x: DecomposedTensor) -> bool:
    return x.value.requires_grad or x.residual.requires_grad or x.components.requires_grad


def _without(x: DecomposedTensor) -> Any:
    return built(x.value.detach(), x.residual.detach(), x.components.detach(), x.labels)


def answer(func: Function, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """What a call gives that a form answers but for the graph; NotImplemented of all others. Nobody looks on."""
    row = rows.get(func)
    if row is None or row.short is None or row.short is of_the_value:
        return NotImplemented
    if options:
        args, options = following(func, args, options)
        if options and (not row.options or any(isinstance(x, DecomposedTensor) for x in options.values())):
            return NotImplemented
    places = [i for i, x in enumerate(args) if isinstance(x, DecomposedTensor)]
    given: list[DecomposedTensor] = [args[i] for i in places]
    if not all(map(is_ordinary, given)) or not any(map(_carries_graph, given)):
        return NotImplemented  # components of others may be made when they are read
    plain = list(args)
    for place, x in zip(places, given, strict=True):
        plain[place] = _without(x)
    with torch.no_grad():
        made = row.short(func, plain, options) if options else row.short(func, plain)
    if type(made) is not DecomposedTensor or made.discrete or made.reverse or made.kept is not None:
        return NotImplemented
    ends = []
    for part in ("value", "residual"):
        for place, x in zip(places, given, strict=True):
            plain[place] = getattr(x, part)
        ends.append(func(*plain, **options))
    value, residual = ends
    if not torch.equal(residual, made.residual):  # of some functions it is something else
        return NotImplemented
    rest: dict[int | str, Any] = {i: x for i, x in enumerate(args) if i not in places}
    rest.update(options)
    others = {place: x for place, x in rest.items() if isinstance(x, torch.Tensor) and x.requires_grad}
    tensors = [part for x in given for part in (x.value, x.residual, x.components)] + list(others.values())
    again = _Again(
        row.rule, func, args, options, places, list(others), [x.labels for x in given], contextvars.copy_context()
    )
    components: Any = _Components.apply(again, [made.components], *tensors)
    return built(value, residual, components, made.labels)
