"""Rules by formula: a torch function whose contributions are those of the same function, written with others.

The formula is made of functions that have rules; the numbers are the function's own, bit for bit, of the values and of
the residuals.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Rule, Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import law, ordinary_together
from npdec._law.discrete import residual_of, value_of, with_numbers
from npdec._law.half_precision import widened
from npdec._law.ordinary import is_observed
from npdec._law.ordinary import pointwise as ordinary_pointwise
from npdec._torch.tracing import tracing

__all__ = ["by_formula", "own_numbers", "pointwise", "residual_of", "same_draws", "value_of", "with_numbers"]

Function = Callable[..., Any]


class Formula(Rule):
    """The rule of a function that computes what `formula` does, which takes the same arguments. `tags` are those of the
    arguments that integers beside decomposed ones are numbers in, and no indices."""

    def __init__(self, formula: Function, tags: dict[int | str, str] | None) -> None:
        self.formula = formula
        self.tags = tags
        self.short = partial(ordinary_together.by_formula, formula)

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        value, residual = Call(func, None, args, kwargs).ends()  # first: torch says what is wrong with the arguments
        return with_numbers(value, residual, self.formula(*widened(tuple(args)), **widened(kwargs)))


def by_formula(formula: Function, *numbers: str) -> Formula:
    """The rule of a function that computes what `formula` does, which takes the same arguments. Of numbers of half
    precision the formula is computed in single precision. `numbers` are the parameters that integers beside decomposed
    ones are numbers in, and no indices."""
    if not numbers:
        return Formula(formula, None)
    places = {name: place for place, name in enumerate(inspect.signature(formula).parameters)}
    return Formula(formula, {key: "Smooth" for name in numbers for key in (name, places[name])})


def own_numbers(func: Function, args: Sequence[Any], kwargs: dict[str, Any], made: Any) -> Any:
    """The contributions of `made`, with the value and the residual that the function itself computes."""
    call = Call(func, None, args, kwargs)
    value, residual = call.ends()
    return with_numbers(value, residual, made)


def same_draws(
    func: Function, args: Sequence[Any], kwargs: dict[str, Any], device: torch.device
) -> tuple[Any, Any] | None:
    """The function of the values and of the residuals with the same random numbers, which are there to be drawn once
    more; None where a kernel keeps how it draws to itself."""
    if device.type != "cpu":
        return None
    call = Call(func, None, args, kwargs)
    source = kwargs.get("generator") or torch.default_generator
    state = source.get_state()
    with no_graph(call.reverse):
        value = call(*[t.value for t in call.tensors])
        source.set_state(state)
        residual = call(*[t.residual for t in call.tensors])
        source.set_state(state)
    return value, residual


def pointwise(f: Function, x: Any, *rest: Any) -> Any:
    """`f(x, *rest)`, which acts element by element on x; the rest is plain, and broadcasts."""
    if not isinstance(x, DecomposedTensor):
        return f(x, *rest)
    alike = not any(isinstance(item, torch.Tensor) and item.ndim for item in rest)  # of more numbers at once, too
    if alike and not tracing() and not is_observed():
        call = partial(_of_first, f, rest) if rest else f
        made = ordinary_pointwise(None, Trait.ELEMENTWISE, (0,), call, (x,))
        if made is not NotImplemented:
            return made
    return law.TaggedRule.of("Pointwise")(f, (x, *rest), {})


def _of_first(f: Function, rest: Sequence[Any], x: torch.Tensor) -> Any:
    return f(x, *rest)
