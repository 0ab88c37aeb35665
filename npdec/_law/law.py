"""The law: how value, residual and components pass through a function, by the tags of its arguments.

Every function here answers a call in which at least one argument is decomposed. The value is computed by the function
itself on the values, the residual by the function on the residuals, and the components by the closed form that the
tags allow (docs/explanations/1_law.py derives it); the general case is `npdec._law.quadrature`.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.signatures import LAW_TAGS, Parameter
from npdec._core.tags import spec_of
from npdec._decomposed import completeness
from npdec._decomposed.axes import lead
from npdec._decomposed.broadcast_residuals import materialised_residual
from npdec._decomposed.call import Call
from npdec._decomposed.choices import places_beside
from npdec._decomposed.components import Use, total
from npdec._decomposed.kept_components import stand_in
from npdec._decomposed.registry import Row, Rule, Trait, mean_of, rates_of, row_of, rows
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.size_limits import check
from npdec._decomposed.size_warnings import (
    STEEP,
    change,
    has_few_digits,
    has_finite_sum,
    is_large,
    warn_missing,
    warn_of_digits,
    warn_of_size,
)
from npdec._decomposed.tensor import DecomposedTensor, align, carries
from npdec._impl._linalg import OF_THE_BASELINE
from npdec._impl._util import is_half, single
from npdec._impl.quotients_impl import in_both_orders
from npdec._law.complex_directions import directions
from npdec._law.differentiable import Differentiable, OwnDerivative, Stacked
from npdec._law.discrete import of_numbers
from npdec._law.each_of_few import each_of_few
from npdec._law.frozen_choices import chosen_by
from npdec._law.half_precision import is_known_in_single, warn_beyond_range, widened
from npdec._law.jumps import share_of_jump, stepped
from npdec._law.mean_gradient import combined, mean_gradients
from npdec._law.multilinear import linear, multilinear
from npdec._law.named_rules import affine, current_rule
from npdec._law.number_by_number import ELEMENTWISE, of_few
from npdec._law.ordinary import Form, is_observed
from npdec._law.ordinary_forms import form_of, takes_options
from npdec._law.overrides_scope import scope
from npdec._law.pack import pack
from npdec._law.pointwise_call import OneOutput, PointwiseCall
from npdec._law.quadrature import integrate
from npdec._law.secant import derivative
from npdec._law.vjp_calls import answer, has_many_components
from npdec._torch.functorch import mapped
from npdec._torch.interrupts import undisturbed
from npdec._torch.tracing import name_of, tracing

__all__ = ["TaggedRule", "innermost", "law_of", "quadrature", "ruled"]

Function = Callable[..., Any]


# -- the closed forms --------------------------------------------------------------------------------------------------

_LAWS: dict[str, Callable[[Call], Any]] = {"Linear": linear, "Multilinear": multilinear}


def law_of(tag: str) -> Callable[[Function], Function]:
    """Let the function answer calls (`npdec._decomposed.call.Call`) of which all decomposed arguments carry the tag.
    Raises ValueError if there is no such tag, or if it has a law."""
    if tag not in LAW_TAGS or tag in _LAWS:
        raise ValueError(f"{tag!r} is no tag, or has a law: make another with npdec._core.tags.law_tag")

    def enter(law: Function) -> Function:
        _LAWS[tag] = law
        return law

    return enter


@law_of("Pointwise")
def pointwise(call: Call) -> Any:
    """One decomposed argument, element by element: the current rule (the secant slope, unless chosen otherwise).
    Several: their mean gradients."""
    return _of_one(call) if len(call.decomposed) == 1 else pointwise_in_all(call)


@law_of("Stepwise")
def stepwise(call: Call) -> Any:
    """As `pointwise`, with jumps; two arguments share them as the function's row says, or in both orders."""
    count = len(call.decomposed)
    return _of_one(call) if count == 1 else _of_two(call) if count == 2 else quadrature(call)


def _of_one(call: Call) -> Any:
    (tensor,) = call.tensors
    if (tensor.value.is_complex() or call.decomposed[0].place is not None) and not call.traits & Trait.HOLOMORPHIC:
        return quadrature(call) if (made := directions(call)) is None else made
    with no_graph(tensor.reverse):
        value = call(tensor.value)
    rule, options = current_rule(tensor.reverse)
    f = PointwiseCall(call)
    others = f.others

    def one(value: torch.Tensor, f: Function) -> torch.Tensor:
        if not carries(value.dtype):
            with no_graph(tensor.reverse):
                base = f(tensor.residual, *others)
            if call.decomposed[0].tag != "Stepwise" or conditions_are_frozen():
                return places_beside(name_of(call.func), value, base)
            return stepped(name_of(call.func), value, base, tensor, tensor.value.abs() + tensor.residual.abs())
        given = stand_in(tensor) if rule is affine and not tensor.reverse else None
        given = tensor.components if given is None else given
        residual, components = rule(f, tensor.value, tensor.residual, given, value, others, **options)
        return DecomposedTensor(value, residual, components, tensor.labels, tensor.reverse)

    if isinstance(value, torch.Tensor):
        return one(value, f)
    return type(value)(one(v, OneOutput(f, i)) for i, v in enumerate(value))


def _of_two(call: Call) -> Any:
    """Two decomposed arguments of a function with jumps, of which a derivative knows nothing."""
    a, b = call.tensors
    labels, (c_a, c_b) = align([a, b], None if call.reverse else Use.LAW)
    name, known = name_of(call.func), mean_of(call.func)
    with no_graph(call.reverse):
        value, residual = call(a.value, b.value), call(a.residual, b.residual)

    def share(t: DecomposedTensor, components: Any, difference: torch.Tensor, f: Function) -> Any:
        with no_graph(call.reverse):
            step = change(t.value, t.residual)
        sizes = t.value.abs() + t.residual.abs()
        parts = lead(components, difference.ndim) if isinstance(components, torch.Tensor) else components
        return share_of_jump(name, difference, step, sizes, parts, lambda: derivative(f, t.value.expand_as(difference)))

    def one(
        value: torch.Tensor,
        residual: torch.Tensor,
        shares: Function,
        chosen: Callable[[Any], torch.Tensor],
    ) -> Any:
        with no_graph(call.reverse):
            ends = a.value, b.value, a.residual, b.residual
            by_a, by_b = shares(*ends, lambda x, y: chosen(call(x, y)), value, residual)
        of_a = share(a, c_a, by_a, lambda u: chosen(call(u, b.value)))
        of_b = share(b, c_b, by_b, lambda u: chosen(call(a.value, u)))
        made = total([of_a, of_b])
        if not (tracing() or mapped()) and (has_few_digits(value.dtype) or is_large(by_a) or is_large(by_b)):
            warn_of_digits(name, by_a.detach().abs() + by_b.detach().abs(), made, value, residual, call.reverse)
        return pack(value, residual, made, labels, call.reverse)

    if isinstance(value, torch.Tensor):
        return one(value, residual, known or in_both_orders, lambda made: made)
    outputs = zip(value, residual, known or [in_both_orders] * len(value), strict=True)
    return type(value)(one(*output, operator.itemgetter(i)) for i, output in enumerate(outputs))


def pointwise_in_all(call: Call) -> Any:
    """Several decomposed arguments, element by element: the mean gradient along the path, one number for each element
    of each argument, in closed form or by quadrature."""
    tensors, func = call.tensors, call.func
    with no_graph(call.reverse):
        value = call(*[t.value for t in tensors])
        if not isinstance(value, torch.Tensor) or not carries(value.dtype) or tracing() or not _is_elementwise(call):
            return quadrature(call)
        residual = call(*[t.residual for t in tensors])
        path, fx, fr = call, value, residual
        if is_half(value) and is_known_in_single(func):
            path = call.widened()
            fx, fr = path(*[single(t.value) for t in tensors]), path(*[single(t.residual) for t in tensors])
        ends = [
            [torch.broadcast_to(part.to(fx.dtype), tuple(fx.shape)) for part in parts]
            for parts in ([t.value for t in tensors], [t.residual for t in tensors])
        ]
        means: Sequence[torch.Tensor]
        closed = mean_of(func)
        in_order = len(tensors) == 2 and call.decomposed[0].key == 0
        if closed is not None and in_order and not value.is_complex():
            means = closed(*ends[0], *ends[1], path, fx, fr)
            _look_for_jumps(name_of(func), means, ends, fx, fr)
        else:
            name = getattr(func, "__name__", str(func))
            rows = [[part.reshape(-1) for part in parts] for parts in (*ends, [fx, fr])]
            rates = rates_of(func) if in_order else None
            means = mean_gradients(name, path, rows[0], rows[1], rows[2][0], rows[2][1], rates=rates)
            means = [mean.reshape(value.shape) for mean in means]
    labels, components = align(tensors, None if call.reverse else Use.LAW)
    components = [lead(c, value.ndim) if isinstance(c, torch.Tensor) else c for c in components]
    dense = [c.numel() for c in components if isinstance(c, torch.Tensor)]
    if dense:
        check((len(labels), *value.shape), max(dense))
    steps = [x - r for x, r in zip(*ends, strict=True)]
    difference = fx - fr
    made = combined(components, means, steps, difference).to(value.dtype)
    known = has_finite_sum(difference)
    if not known or not all(bool(mean.detach().abs().amax() <= STEEP) for mean in means if mean.numel()):
        warn_of_size(name_of(func), [made], components, [value], [residual], call.reverse)
    with torch.no_grad():
        gross = sum((mean * step).abs() for mean, step in zip(means, steps, strict=True))
    warn_of_digits(name_of(func), gross, made, value, residual, call.reverse)
    return pack(value, residual, made, labels, call.reverse)


def _look_for_jumps(
    name: str, means: Sequence[torch.Tensor], ends: Sequence[Sequence[torch.Tensor]], fx: torch.Tensor, fr: torch.Tensor
) -> None:
    """Warn where a closed form leaves out a jump: that of an angle, of a zero that has changed its sign."""
    with torch.no_grad():
        missing = fx - fr
        for mean, x, r in zip(means, *ends, strict=True):
            missing = missing - mean * (x - r)
        size = missing.abs()
        if bool(((size > 1) & (size > 0.5 * (fx - fr).abs())).any()):
            warn_missing(name)


def _is_elementwise(call: Call) -> bool:
    """Whether the decomposed arguments are all that has a shape."""
    given = [*call.args, *call.kwargs.values()]
    plain = [arg for arg in given if isinstance(arg, torch.Tensor) and not isinstance(arg, DecomposedTensor)]
    return all(leaf.place is None for leaf in call.decomposed) and not any(arg.ndim for arg in plain)


def quadrature(
    call: Call,
    formula: Function | None = None,
    own: OwnDerivative | None = None,
    one_by_one: bool = False,
    stacked: Stacked | None = None,
) -> Any:
    """Any differentiable function: the path integral of its Jacobian-vector product.

    `formula` is the same function in a form that torch differentiates, where the function itself is not. `own` is its
    derivative, where torch.func cannot take it. `one_by_one` says that torch does not map it over points.
    `stacked` is the derivative at many points at once.
    """
    here = scope()
    if here is not None and here.watcher is not None:
        instead = here.watcher.quadrature(call)
        if instead is not None:
            return instead
    tensors = call.tensors
    reverse = call.reverse
    with no_graph(reverse):
        value = call(*[t.value for t in tensors])
    outputs = value if isinstance(value, (tuple, list)) else (value,)
    kept = [i for i, v in enumerate(outputs) if isinstance(v, torch.Tensor) and carries(v.dtype)]
    if not kept:
        return chosen_by(call)
    try:
        with no_graph(reverse):
            residual = call(*map(materialised_residual, tensors))
    except torch.linalg.LinAlgError as error:
        raise torch.linalg.LinAlgError(f"{error} {OF_THE_BASELINE}") from error
    bases = residual if isinstance(residual, (tuple, list)) else (residual,)
    labels, components = align(tensors)
    path = (call.keeping_constants() if reverse and not tracing() else call).of(formula or call.func)
    halves = not tracing() and is_known_in_single(path.func) and any(is_half(t.value) for t in tensors)
    path = path.widened() if halves else path

    def outputs_of(*points: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = path(*points)
        made = made if isinstance(made, (tuple, list)) else (made,)
        return tuple(made[i] for i in kept)

    function = Differentiable(outputs_of, own, one_by_one, stacked=stacked)
    name = getattr(call.func, "__name__", str(call.func))
    values, residuals = [t.value for t in tensors], [t.residual for t in tensors]
    high: Sequence[torch.Tensor] = [outputs[i] for i in kept]
    low: Sequence[torch.Tensor] = [bases[i] for i in kept]
    if halves:  # the nodes, and what completeness is measured by
        values, residuals, components = widened(values), widened(residuals), widened(components)
        with no_graph(reverse):
            high, low = outputs_of(*values), outputs_of(*residuals)
    try:
        parts = integrate(name, function, values, residuals, components, high, low, reverse)
    except RuntimeError as error:  # NotImplementedError is one
        if "derivative for" not in str(error):
            raise
        raise NotImplementedError(
            f"{name}: contributions pass through by derivatives that torch does not have for it. Compute it by other "
            "functions, or register a rule (np.overrides.register_function)"
        ) from error
    parts = [part.to(outputs[i].dtype) for part, i in zip(parts, kept, strict=True)]
    if isinstance(value, torch.Tensor):
        return pack(value, residual, parts[0], labels, reverse)
    found = dict(zip(kept, parts, strict=True))
    return pack(value, residual, [found.get(i) for i in range(len(outputs))], labels, reverse, name)


_MOST_ARGUMENTS = 64  # that a tag on *args reaches


class TaggedRule(Rule):
    """The rule of a function whose arguments carry tags, by position and by name."""

    discrete = True  # it sees to them itself

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.tags: dict[int | str, str] = {}
        # Arguments that may be left out, which is how a linear one is zero at no cost.
        self.optional: set[int | str] = set()
        for i, p in enumerate(parameters):
            if p.tag is None:
                continue
            if p.kind is inspect.Parameter.VAR_POSITIONAL:
                self.tags.update(dict.fromkeys(range(i, i + _MOST_ARGUMENTS), p.tag))
                continue
            if p.kind is not inspect.Parameter.KEYWORD_ONLY:
                self.tags[i] = p.tag
            self.tags[p.name] = p.tag
            if p.default is None:
                self.optional |= {i, p.name}
        tags = {tag for tag in self.tags.values() if tag in LAW_TAGS}  # torch.compile traces no `&` of keys
        self.elementwise = bool(tags) and tags <= {"Pointwise", "Stepwise"}

    @classmethod
    def of(cls, *tags: str | None) -> TaggedRule:
        """The rule of a function whose first arguments carry the tags."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = ("input", "other", "2", "3")
        return cls([Parameter(names[i], kind, kind, tag, None, False, False) for i, tag in enumerate(tags)])

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        call = Call(func, self.tags, args, kwargs, self.optional)
        if not call.decomposed:
            return func(*call.args, **call.kwargs)
        if any(leaf.tensor.discrete for leaf in call.decomposed):
            return of_numbers(self, self.tags, func, call.args, call.kwargs)
        tags = {leaf.tag for leaf in call.decomposed}
        if tags == {"Linear", "Multilinear"}:
            return multilinear(call)
        return (_LAWS.get(tags.pop(), quadrature) if len(tags) == 1 else quadrature)(call)


def ruled(kernel: Function, parameters: Sequence[Parameter]) -> Function:
    """The kernel, answering calls with decomposed tensors by the rule of its tags."""
    if any(p.tag == "Routed" for p in parameters):
        return kernel  # the torch functions that select have closed forms of their own
    rule = TaggedRule(parameters)
    tags = {key: tag for key, tag in rule.tags.items() if tag != "OutArray"}  # into which others write
    kinds = set(tags.values())

    @functools.cache  # what is known of torch's functions is read at the first decomposed call
    def short() -> Form | None:
        if kinds == {"Linear"} and len(parameters) == 1 and spec_of(kernel).loops is not None:
            return each_of_few  # of a ufunc
        if (own := rows.get(kernel)) is not None and own.short is not None:
            return own.short
        row = row_of(kernel) or Row(rule)
        usual = kinds in ({"Pointwise"}, {"Stepwise"})
        return form_of(tags, row.traits, row.slope, row.mean, None, row.rates) if usual else None

    def answered(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        here = scope()
        if here is not None and here.watcher is not None:
            result = here.watcher.run(rule, kernel, args, kwargs)
        elif has_many_components(args):
            result = answer(rule, kernel, args, kwargs)
        else:
            result = rule(kernel, args, kwargs)
        warn_beyond_range(kernel, args, result)
        if completeness.is_on(kernel):
            completeness.check(kernel, args, result, kwargs, tags)
        return result

    def apply(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            if type(arg) is DecomposedTensor:
                form: Any = None if tracing() or is_observed() else short()
                usual = form is not None and (not kwargs or takes_options(form))
                made = form(kernel, args, *([kwargs] if kwargs else [])) if usual else NotImplemented
                if made is NotImplemented and usual and kinds <= ELEMENTWISE:
                    made = of_few(kernel, form, rows.get(kernel), args)
                return undisturbed(answered, args, kwargs) if made is NotImplemented else made
        return kernel(*args, **kwargs)

    assert any(p.tag in LAW_TAGS for p in parameters)
    return apply


def innermost(rule: Any) -> Any:
    """The rule within those that handle an argument `inplace`, were registered, or look on."""
    while (within := rule.inner) is not None:
        rule = within
    return rule
