"""The named rules for pointwise functions, and `np.rule`, the context that chooses one and makes other choices.

The default, `affine`, is the law itself. The others are the algorithms that PyDec offers (NJUNLP, PyDec 0.3.0,
"Decomposing activation functions"), without its replacement of undefined quotients by zero.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from npdec._decomposed.axes import lead, narrowed
from npdec._decomposed.reverse_graph import by_vjp, guarded, no_graph, scaled, uses_vjp
from npdec._decomposed.settings import Settings, current, settings
from npdec._decomposed.size_warnings import change, has_finite_sum
from npdec._law.half_precision import secant_of_halves
from npdec._law.jumps import share_of_jump
from npdec._law.secant import derivative, secant
from npdec._law.slope import Slope
from npdec._law.steep_slopes import tempered, warn_if_infinite
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import holding, name_of, refuse_trace, tracing

__all__ = ["current_rule", "register_rule", "residuals_are_of_the_baseline", "rule"]

PointwiseRule = Callable[..., tuple[torch.Tensor, torch.Tensor]]

_rules: dict[str, PointwiseRule] = {}


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
def rule(
    name: str | None = None,
    *,
    rtol: float | None = None,
    normalisation: str | None = None,
    attention: str | None = None,
    conditions: str | None = None,
    **options: Any,
) -> Iterator[None]:
    """Context manager and decorator: how contributions pass on, where the default is not wanted.

    `name` is the rule of pointwise functions, `options` are its own.
    "affine" (default): components times the secant slope; the residual is f(baseline).
    "abs_affine": the change f(x) − f(r) shared in proportion to the components' magnitudes.
    "hybrid_affine" (`threshold=0.0`): as affine; where the sum of the components is smaller than `threshold` times the
    sum of their magnitudes, as abs_affine.
    "scaling": components and residual times f(x) / x; the residual is not f(baseline).
    "none": everything into the residual.
    Other names: `np.register_rule`.

    `normalisation="frozen"`: in layer_norm, rms_norm, group_norm, instance_norm and batch_norm the scale (the root of
    the variance or mean square) is the value's, a constant: component c contributes (c − mean(c)) / σ(x) · weight, and
    the residual is (r − mean(r)) / σ(x) · weight + bias, not f(baseline). So do Yang et al., "Local interpretation of
    Transformer based on linear decomposition" (ACL 2023), and Ali et al., "XAI for Transformers: better explanations
    through conservative propagation" (ICML 2022, the LN rule).
    `attention="frozen"`: the results of softmax are the value's, a constant without contributions: with weights p(x)
    and values v, attention gives Σ p(x) · c_v, and the residual Σ p(x) · v_r (Ali et al., the AH rule). Every softmax
    is meant, also one that ends a network: explain the numbers that it is given (the logits).
    `conditions="frozen"`: comparisons give plain booleans, those of the value, and what follows them (where, masks) is
    chosen as it is at the value: such choices contribute nothing, and where the baseline would choose otherwise the
    residual is not f(baseline). No `DecompositionWarning` says so then.
    "path", for all three, is the law again.

    `rtol` is the error of completeness, relative to the largest magnitude, that quadrature aims at; by default 1e-12 in
    double precision and 1e-5 in single.

    What is not given stays as it is around the context. The state is local to the thread or task, and restored on
    leaving. Raises ValueError for an unknown name or a tolerance that is not positive, TypeError for options without a
    name.

    >>> x = np.decompose(np.array([1.0, -1.0]))
    >>> with np.rule("none"):
    ...     np.exp(x).residual
    array([2.71828183, 0.36787944])
    >>> with np.rule(attention="frozen"):
    ...     torch.softmax(x.tensor, 0).components.any()
    tensor(False)
    """
    refuse_trace("np.rule", "enter it around a call of the function that is not compiled")
    set_before = current.get()
    if name is None:
        if options:
            raise TypeError(f"rule: {', '.join(options)}: options of a rule for pointwise functions need its name")
        name, options = set_before.rule, dict(set_before.options)
    elif name not in _rules:
        raise ValueError(f"unknown rule {name!r}: one of {', '.join(sorted(_rules))}, or register it")
    if rtol is not None and not rtol > 0:
        raise ValueError(f"rule: rtol must be positive, not {rtol}")
    made = Settings(
        name,
        options,
        set_before.rtol if rtol is None else rtol,
        _is_frozen("normalisation", normalisation, set_before.frozen_normalisation),
        _is_frozen("attention", attention, set_before.frozen_attention),
        _is_frozen("conditions", conditions, set_before.frozen_conditions),
    )
    with holding(current, made):
        yield


def _is_frozen(argument: str, choice: str | None, before: bool) -> bool:
    if choice not in ("frozen", "path", None):
        raise ValueError(f"rule: {argument} is 'frozen' or 'path', not {choice!r}")
    return before if choice is None else choice == "frozen"


def accepted(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that the named rule takes. Raises ValueError for an unknown name."""
    if name not in _rules:
        raise ValueError(f"unknown rule {name!r}: one of {', '.join(sorted(_rules))}, or register it")
    parameters = inspect.signature(_rules[name]).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(options)
    return {key: option for key, option in options.items() if key in parameters}


def has_reverse_mode(name: str) -> bool:
    """Whether the components that the named rule gives are linear in those that it takes, as reverse mode needs."""
    return name not in ("abs_affine", "hybrid_affine")


def is_linear() -> bool:
    """Whether the components that the rule of pointwise functions gives here are linear in those that it takes."""
    return has_reverse_mode(settings("a pointwise function").rule)


def residuals_are_of_the_baseline() -> bool:
    """Whether the residual of a result is, by the rules that hold here, the function of the arguments' residuals."""
    here = settings("a formula")
    kept = here.rule in ("affine", "abs_affine", "hybrid_affine")
    return kept and not here.frozen_normalisation and not here.frozen_attention


def current_rule(reverse: bool) -> tuple[PointwiseRule, Mapping[str, Any]]:
    """The rule that holds here, and its options. Raises NotImplementedError if it cannot serve reverse mode."""
    name, options, *_ = settings("a pointwise function")
    if reverse and not has_reverse_mode(name):
        raise NotImplementedError(
            f"the rule {name!r} is not linear in the components, so it has no reverse mode: decompose the input "
            "(np.decompose) and read the components of the result"
        )
    found = _rules[name]
    return affine_in_reverse if found is affine and uses_vjp(reverse) else found, options


def is_affine(reverse: bool) -> bool:
    """Whether the law itself holds here."""
    return current_rule(reverse)[0] in (affine, affine_in_reverse)


def _reverse(value: torch.Tensor, components: torch.Tensor) -> bool:
    """Whether only the components are differentiated, so that the slope needs no graph."""
    reverse = components.requires_grad and not value.requires_grad
    # Within torch.func the value may be of an outer transform, which no tensor says.
    return reverse and (tracing() or not is_transformed())


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
    if getattr(f, "stepwise", False):
        return _stepped(f, value, residual, components, f_value, others)
    f_residual, slope = _sloped(f, value, residual, components, f_value, others)
    if not slope.steep:
        return f_residual, slope.apply(components)
    name = name_of(getattr(f, "function", f))
    if _reverse(value, components):
        warn_if_infinite(name, value, residual, f_value, f_residual)
        return f_residual, slope.apply(components)
    at = lambda u: f(u, *others)  # noqa: E731
    return f_residual, tempered(name, at, value, residual, f_value, f_residual, components, slope)


def affine_in_reverse(
    f: Callable[..., torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    f_value: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same for the only component, which is known to be the whole change."""
    if getattr(f, "stepwise", False):
        return _stepped(f, value, residual, components, f_value, others)
    f_residual, slope = _sloped(f, value, residual, components, f_value, others)
    multiplier, difference = slope.multiplier, slope.difference
    if slope.steep:
        warn_if_infinite(name_of(getattr(f, "function", f)), value, residual, f_value, f_residual)
    if slope.shares_finite() or f_value.shape != value.shape:
        return f_residual, slope.apply(components)
    if f_value.dtype is not components.dtype:
        return f_residual, slope.apply(components)
    if f_value.is_complex():
        if slope.extreme is not None or slope.singular is not None or has_finite_sum(multiplier):
            return f_residual, slope.apply(components)
        return f_residual, guarded(components, multiplier)
    if slope.singular is not None:  # an infinite derivative of what does not move
        multiplier = torch.where(slope.singular, 0, multiplier)
        difference = change(f_value.detach(), f_residual.detach())
    elif slope.extreme is not None or multiplier.dtype is not f_value.dtype:
        difference = None
    return f_residual, by_vjp(f_value, f_residual, components, scaled(multiplier), difference)


def _stepped(
    f: Callable[..., torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    f_value: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The function of the residual, and what the components have of the change where the function has jumps."""
    with no_graph(_reverse(value, components)):
        f_residual = f(residual, *others)
        difference, step = change(f_value, f_residual), change(value, residual)
    made = share_of_jump(
        name_of(getattr(f, "function", f)),
        difference,
        step,
        value.abs() + residual.abs(),
        components,
        lambda: derivative(lambda u: f(u, *others), value),
    )
    return f_residual, made


def _sloped(
    f: Callable[..., torch.Tensor],
    value: torch.Tensor,
    residual: torch.Tensor,
    components: torch.Tensor,
    f_value: torch.Tensor,
    others: tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, Slope]:
    """The function of the residual, and its slope."""
    with no_graph(_reverse(value, components)):
        if others:
            f_residual = f(residual, *others)
        else:  # equal rows need one of them
            f_residual = f(narrowed(residual, residual.ndim)).expand(f_value.shape)
        slope = secant if tracing() or f_value.itemsize > 2 else secant_of_halves
        found = slope(f, value, residual, f_value, f_residual, others)
        found.dtype = f_value.dtype
        return f_residual, found


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
