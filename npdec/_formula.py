"""Rules by formula: a torch function whose contributions are those of the same function, written with others.

The formula is made of functions that have rules; the numbers are the function's own, bit for bit, of the values and of
the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec import _law
from npdec._call import Call
from npdec._decomposed import DecomposedTensor, carries
from npdec._gradients import no_graph
from npdec._rules import residuals_are_of_the_baseline
from npdec._tracing import tracing
from npdec._windows import handed_on

__all__ = ["by_formula", "own_numbers", "pointwise", "residual_of", "same_draws", "value_of", "with_numbers"]

Function = Callable[..., Any]


def by_formula(formula: Function) -> Function:
    """The rule of a function that computes what `formula` does, which takes the same arguments."""

    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return own_numbers(func, args, kwargs, formula(*args, **kwargs))

    rule.formula = formula  # type: ignore[attr-defined]
    return rule


def own_numbers(func: Function, args: Sequence[Any], kwargs: dict[str, Any], made: Any) -> Any:
    """The contributions of `made`, with the value and the residual that the function itself computes."""
    call = Call(func, None, args, kwargs)
    with no_graph(call.whole):
        value, residual = call(*[t.value for t in call.tensors]), call(*[t.residual for t in call.tensors])
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
    with no_graph(call.whole):
        value = call(*[t.value for t in call.tensors])
        source.set_state(state)
        residual = call(*[t.residual for t in call.tensors])
        source.set_state(state)
    return value, residual


def with_numbers(value: Any, residual: Any, made: Any) -> Any:
    """The contributions of `made`, with another value and residual: a tensor, or sequences of them.

    Under a rule whose residuals are no function of the baseline (`np.rule("scaling")`), that of `made` stays.
    """
    if isinstance(value, torch.Tensor):
        if not isinstance(made, DecomposedTensor) or not carries(value.dtype):
            return value
        if not (tracing() or residuals_are_of_the_baseline()):
            residual = made.residual.reshape(value.shape)
        if not value.numel():
            empty = value.new_zeros((len(made.labels), *value.shape))
            return DecomposedTensor(value, residual, empty, made.labels, made.whole)
        components = handed_on(made)
        if components.dtype is not value.dtype or components.shape[1:] != value.shape:
            components = made.components.to(value.dtype).reshape((len(made.labels), *value.shape))
        return DecomposedTensor(value, residual.to(value.dtype), components, made.labels, made.whole)
    if isinstance(value, (tuple, list)):
        parts = [with_numbers(v, r, m) for v, r, m in zip(value, residual, made, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def pointwise(f: Function, x: Any, *rest: Any) -> Any:
    """`f(x, *rest)`, which acts element by element on x; the rest is plain, and broadcasts."""
    if not isinstance(x, DecomposedTensor):
        return f(x, *rest)
    return _law.TaggedRule.of("Pointwise")(f, (x, *rest), {})


def value_of(x: Any) -> Any:
    """The value of a decomposed tensor, and anything else as it is."""
    return x.value if isinstance(x, DecomposedTensor) else x


def residual_of(x: Any) -> Any:
    """The residual of a decomposed tensor, and anything else as it is."""
    return x.residual if isinstance(x, DecomposedTensor) else x
