"""Components that are computed without a graph, which is made when somebody asks for gradients."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.registry import Rule, rows
from npdec._decomposed.tensor import DecomposedTensor, Labels

__all__ = ["graph_on_demand"]

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
        saved = _saved(ctx)
        asked = [i for i, wanted in enumerate(ctx.needs_input_grad[2:]) if wanted]
        # One tensor may have been made of another: gradients are to end at each of them.
        with torch.enable_grad():
            tensors = [t.view_as(t) if follows else t.detach() for t in saved]
            inputs = [tensors[i] if follows else tensors[i].requires_grad_() for i in asked]
            made = ctx.again(tensors)
        found: list[Any] = [None] * len(tensors)
        if made.requires_grad:
            back = torch.autograd.grad(made, inputs, grads, create_graph=follows, allow_unused=True)
            for i, grad in zip(asked, back, strict=True):
                found[i] = grad
        return None, None, *found


def _saved(ctx: Any) -> Sequence[torch.Tensor]:
    """What was kept of a call. Raises RuntimeError where it was written since, and says what to do."""
    try:
        saved: Sequence[torch.Tensor] = ctx.saved_tensors
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        name = getattr(ctx.again.func, "__name__", "a function")
        raise RuntimeError(
            f"{name}: gradients of its contributions want its arguments as they were at the call, and one of them was "
            f"written since; make a new tensor instead (h = h * 2 for h.mul_(2)), or give {name} a clone"
        ) from error
    return saved


def graph_on_demand(
    func: Function, args: Sequence[Any], options: dict[str, Any], computed: torch.Tensor
) -> torch.Tensor:
    """The components that a call gives, which were computed without a graph: the rule of the function makes it from the
    parts of the decomposed tensors among the arguments, and from the other tensors."""
    places = [i for i, x in enumerate(args) if isinstance(x, DecomposedTensor)]
    given: list[DecomposedTensor] = [args[i] for i in places]
    rest: dict[int | str, Any] = {i: x for i, x in enumerate(args) if i not in places}
    rest.update(options)
    others = {key: x for key, x in rest.items() if isinstance(x, torch.Tensor) and x.requires_grad}
    tensors = [part for x in given for part in (x.value, x.residual, x.components)] + list(others.values())
    labels, context = [x.labels for x in given], contextvars.copy_context()
    again = _Again(rows[func].rule, func, args, options, places, list(others), labels, context)
    components: torch.Tensor = _Components.apply(again, [computed], *tensors)
    return components
