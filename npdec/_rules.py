"""The named rules for pointwise functions, and the context in which one of them holds.

The default, `affine`, is the law itself. The others are the algorithms that PyDec offers (NJUNLP, PyDec 0.3.0,
"Decomposing activation functions"), without its replacement of undefined quotients by zero.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import torch

from npdec._gradients import no_graph
from npdec._secant import lead, narrowed, secant

__all__ = ["current_rule", "register_rule", "rule"]

PointwiseRule = Callable[..., tuple[torch.Tensor, torch.Tensor]]

_rules: dict[str, PointwiseRule] = {}
_current: ContextVar[tuple[str, dict[str, Any]]] = ContextVar("npdec.rule", default=("affine", {}))


def register_rule(name: str) -> Callable[[PointwiseRule], PointwiseRule]:
    """Register a rule for pointwise functions under a name for `np.rule`. Raises ValueError if the name is taken.

    The rule is called as `rule(f, value, residual, components, f_value, others, **options)`: `f(u, *others)` is the
    function on plain tensors, `value` and `residual` (shape S, which broadcasts to the result's) and `components`
    (C, *S) are the decomposed argument, `f_value` is the result's value. It returns (residual, components) of the
    result.

    >>> @np.register_rule("all_to_residual")
    ... def all_to_residual(f, value, residual, components, f_value, others):
    ...     return f_value, torch.zeros((len(components), *f_value.shape))
    >>> with np.rule("all_to_residual"):
    ...     y = np.exp(np.decompose(np.array([1.0, 2.0])))
    >>> y.c_sum() == y.residual
    array([ True,  True])
    """

    def register(function: PointwiseRule) -> PointwiseRule:
        if name in _rules:
            raise ValueError(f"a rule named {name!r} is registered already")
        _rules[name] = function
        return function

    return register


@contextlib.contextmanager
def rule(name: str, **options: Any) -> Iterator[None]:
    """Context manager and decorator: pointwise functions pass contributions on by the named rule.

    "affine" (default): components times the secant slope; the residual is f(baseline).
    "abs_affine": the change f(x) − f(r) shared in proportion to the components' magnitudes.
    "hybrid_affine" (`threshold=0.0`): as affine; where the sum of the components is smaller than `threshold` times the
    sum of their magnitudes, as abs_affine.
    "scaling": components and residual times f(x) / x; the residual is not f(baseline).
    "none": everything into the residual.
    Other names: `np.register_rule`. The state is local to the thread or task, and restored on leaving.

    Raises ValueError for an unknown name.

    >>> x = np.decompose(np.array([1.0, -1.0]))
    >>> with np.rule("none"):
    ...     np.exp(x).residual
    array([2.71828183, 0.36787944])
    """
    if name not in _rules:
        raise ValueError(f"unknown rule {name!r}: one of {', '.join(sorted(_rules))}, or register it")
    token = _current.set((name, options))
    try:
        yield
    finally:
        _current.reset(token)


def has_reverse_mode(name: str) -> bool:
    """Whether the components that the named rule gives are linear in those that it takes, as reverse mode needs."""
    return name not in ("abs_affine", "hybrid_affine")


def current_rule(reverse: bool) -> tuple[PointwiseRule, dict[str, Any]]:
    """The rule that holds here, and its options. Raises NotImplementedError if it cannot serve reverse mode."""
    name, options = _current.get()
    if reverse and not has_reverse_mode(name):
        raise NotImplementedError(
            f"the rule {name!r} is not linear in the components, so it has no reverse mode: decompose the input "
            "(np.decompose) and read the components of the result"
        )
    return _rules[name], options


def _reverse(value: torch.Tensor, components: torch.Tensor) -> bool:
    """Whether only the components are differentiated, so that the slope needs no graph."""
    return components.requires_grad and not value.requires_grad


@register_rule("affine")
def affine(
    f: Callable[..., torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    f_value: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, torch.Tensor]:
    """c_i · (f(x) − f(r)) / (x − r)."""
    with no_graph(_reverse(value, components)):
        if others:
            f_residual = f(residual, *others)
        else:  # equal rows need one of them
            f_residual = f(narrowed(residual, residual.ndim)).expand(f_value.shape)
        slope = secant(f, value, residual, f_value, f_residual, others)
    return f_residual, slope.apply(components)


def _magnitudes(components: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    weights = lead(components, change.ndim).abs()
    total = weights.sum(0)
    return weights * (change / torch.where(total == 0, torch.ones_like(total), total))


@register_rule("abs_affine")
def abs_affine(
    f: Callable[..., torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    f_value: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, torch.Tensor]:
    """|c_i| · (f(x) − f(r)) / Σ|c_j|."""
    f_residual = f(residual, *others)
    return f_residual, _magnitudes(components, f_value - f_residual)


@register_rule("hybrid_affine")
def hybrid_affine(
    f: Callable[..., torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    f_value: torch.Tensor,
    others: tuple[torch.Tensor, ...],
    threshold: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """affine, or abs_affine where |Σ c_j| < threshold · Σ|c_j|."""
    f_residual, straight = affine(f, value, residual, components, f_value, others)
    if not threshold:
        return f_residual, straight
    unstable = components.sum(0).abs() < threshold * components.abs().sum(0)
    return f_residual, torch.where(unstable, _magnitudes(components, f_value - f_residual), straight)


@register_rule("scaling")
def scaling(
    f: Callable[..., torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    f_value: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, torch.Tensor]:
    """c_i · f(x) / x and r · f(x) / x; where x = 0, all of f(0) is residual."""
    zero = value == 0
    factor = torch.where(zero, torch.zeros_like(f_value), f_value / torch.where(zero, torch.ones_like(value), value))
    return torch.where(zero, f_value, residual * factor), lead(components, factor.ndim) * factor


@register_rule("none")
def none(
    f: Callable[..., torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    f_value: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, torch.Tensor]:
    """All of f(x) into the residual."""
    return f_value, components.new_zeros((len(components), *f_value.shape), dtype=f_value.dtype)
