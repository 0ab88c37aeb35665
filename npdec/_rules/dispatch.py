"""What a torch function does when it meets a DecomposedTensor: its rule is found here.

In order: a rule (registered, or one of npdec's own); a function written in Python passes through its own body; an
in-place method computes out of place and writes; anything else goes by quadrature.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed import completeness, pytree
from npdec._decomposed.aliasing import link_results
from npdec._decomposed.call import Call
from npdec._decomposed.registry import Answer, Row, Rule, Trait, add, rows
from npdec._decomposed.tensor import DecomposedTensor, is_reverse
from npdec._law import complex_of_few, discrete_moved, discrete_of_few, law
from npdec._law.create_graph import wants_graph
from npdec._law.discrete import OfNumbers, has_discrete
from npdec._law.half_precision import warn_beyond_range
from npdec._law.native_forms import asked
from npdec._law.number_by_number import ELEMENTWISE, number_by_number
from npdec._law.ordinary import is_observed, of_the_value
from npdec._law.ordinary_forms import takes_options
from npdec._law.overrides_scope import Watcher, scope
from npdec._law.overrides_scope import current as watched
from npdec._law.reverse_writes import written_in_reverse
from npdec._law.vjp_calls import answer, has_many_components
from npdec._native import calls
from npdec._rules import autograd_function, choosing, collectives, graph_on_demand, inplace, table
from npdec._rules.argument_names import following, in_their_places, out_of_place
from npdec._torch.tracing import bound_by, constant_when_traced, name_of, registrations, tracing

__all__ = ["BY_QUADRATURE", "answer_ordinary", "default_rule", "dispatch", "rule_of"]

Function = Callable[..., Any]

_CONTROL_FLOW = {"associative_scan", "cond", "flex_attention", "map_impl", "scan", "while_loop"}


def _refuse_operator(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    raise NotImplementedError(
        f"{name_of(func)}: this operator, which takes functions, has no rule for decomposed tensors: choose by "
        "torch.where, write loops out, or register a rule (np.overrides.register_function)"
    )


def _refused(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    collectives.refuse(f"distributed.{name_of(func)}")


def rule_of(func: Function) -> Rule:
    """The rule of a function. What is found for one that has none registered is kept for the next call."""
    row = rows.get(func)
    if row is not None:
        return row.rule
    rule = default_rule(func)
    short = inplace.short(rule.in_place) if rule.in_place else table.short_of(func, rule)
    add([func], Row(rule, found=True, short=short, options=takes_options(short)))
    return rule


def default_rule(func: Function) -> Rule:
    """The rule of a function that has none registered."""
    name = name_of(func)
    operator = isinstance(func, (torch._ops.OpOverload, torch._ops.OpOverloadPacket))
    place = str(func).partition(".")[0] if operator else ""
    if place in collectives.LIBRARIES:
        return Answer(collectives.operator)
    if name.endswith("_") and not name.endswith("__"):
        return inplace.method(name)
    if isinstance(func, types.FunctionType):
        if not (func.__module__ or "").startswith("torch.distributed."):
            return table.body(func)
        # The sum over processes ends in a method of the process group, which knows decomposed tensors.
        return table.body(inspect.unwrap(func)) if name == "all_reduce" else Answer(_refused)
    if isinstance(func, torch._ops.HigherOrderOperator) and name in _CONTROL_FLOW:
        return Answer(_refuse_operator)
    if place not in ("", "aten", "prims"):  # torch's own, which torch.func knows to differentiate
        return autograd_function.operator_rule(func)
    return BY_QUADRATURE


class _Traced:
    """The rules of functions that torch.compile has met, as attributes: a graph depends on those that it uses, and not
    on the whole registry."""

    numbers: dict[Function, int] = {}


@constant_when_traced
def _attribute(func: Function, registrations: int) -> str:
    """The name of the attribute of `_Traced` that is the rule of the function."""
    method = bound_by(func)
    rule: Function
    if method:
        rule = lambda _, args, kwargs: functools.partial(_call_method, method, args[0])  # noqa: E731
    else:
        rule = rule_of(func)
        if isinstance(func, types.FunctionType) and rule.passes:
            rule = BY_QUADRATURE if _calls_builtins(func) else table.body(func, traced=True)
        same = getattr(torch, func.__name__, None)
        if func is vars(torch.Tensor).get(func.__name__) and isinstance(same, types.BuiltinFunctionType):
            rule = functools.partial(_instead, rule, same)
    name = f"rule{_Traced.numbers.setdefault(func, len(_Traced.numbers))}"
    setattr(_Traced, name, staticmethod(rule))
    return name


def _calls_builtins(func: Any) -> bool:
    """Whether the body of a function calls builtins of torch that torch.compile does not take for torch functions, so
    that it would compute with the values alone."""
    if func is F.multi_head_attention_forward:  # which calls one, `pad`, of masks
        return False
    known = {f for functions in torch.overrides.get_overridable_functions().values() for f in functions}
    found = [getattr(torch._C._nn, name, None) for name in func.__code__.co_names]
    return any(isinstance(f, types.BuiltinFunctionType) and f not in known for f in found)


def _instead(rule: Function, same: Function, _: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The rule with torch's builtin function of the same name, which torch.compile knows better."""
    return rule(same, args, kwargs)


def _call_method(function: Function, *args: Any, **kwargs: Any) -> Any:
    return DecomposedTensor.__torch_function__(function, (DecomposedTensor,), args, kwargs)


def _by_quadrature(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    call = Call(func, None, args, kwargs)
    return law.quadrature(call) if call.decomposed else func(*call.args, **call.kwargs)


BY_QUADRATURE = Answer(_by_quadrature)


def _in_autograd_function() -> bool:
    """Whether this is the forward of a torch.autograd.Function: it turns off gradients of both modes, of which
    torch.no_grad leaves the forward one. Its backward is of the value; contributions need a graph of their own."""
    return not tracing() and not torch._C._is_fwd_grad_enabled() and not torch.is_inference_mode_enabled()


def answer_ordinary(func: Function, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """An ordinary call, where nobody looks on, and no context changes the law; NotImplemented of all others."""
    row = rows.get(func)
    if row is None:
        return NotImplemented
    short = row.short
    if short is None:
        return NotImplemented
    if options and calls is not None and isinstance(func, types.FunctionType):
        made = calls.by_options(func, args, options)
        if made is not None:
            return made
    if options:
        args, options = following(func, args, options)
        if options and not row.options:
            return NotImplemented
    if is_observed() and not (short is of_the_value and watched.get() is None):  # which nobody else wants to know of
        return NotImplemented
    if calls is not None and not options:
        found = calls.answer(short, func, args)
        if found is not None:
            return found
    return short(func, args, options) if options else short(func, args)


def dispatch(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Answer a torch function called with at least one DecomposedTensor."""
    out = kwargs.get("out")
    if out is not None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        return inplace.write_outputs(func(*args, **kwargs), out, (*args, *kwargs.values()))
    if kwargs and out_of_place(args, kwargs):
        args, kwargs = in_their_places(func, args, kwargs)
    if not kwargs and not tracing() and has_discrete(args) and not is_observed():
        made = discrete_moved.moved(func, args)
        if made is NotImplemented:
            made = discrete_of_few.answer(func, args)
        if made is not NotImplemented:
            return made
    elif not kwargs and complex_of_few.is_given(args) and not tracing() and not is_observed():
        made = complex_of_few.answer(rows[func].few_complex if func in rows else None, func, args)
        if made is not NotImplemented:
            return made
    if not kwargs and not tracing() and not is_observed():
        made = _number_by_number(func, args)
        if made is not NotImplemented:
            return made
    if torch.is_grad_enabled() and not tracing() and not is_observed():
        made = graph_on_demand.answer(func, args, kwargs)
        if made is NotImplemented and kwargs.get("inplace") is True:
            made = written_in_reverse(func, args, {**kwargs, "inplace": False})
        if made is not NotImplemented:
            return made
    here = scope()
    rule = None if here is None else here.rules.get(func)
    if tracing():
        rule = getattr(_Traced, _attribute(func, registrations()))
    elif rule is None:
        rule = rule_of(func)
    if has_discrete(args) or (kwargs and has_discrete(kwargs.values())):
        args, kwargs = choosing.plain_indices(func, args, kwargs)
        rule = _for_discrete(rule)
    if here is not None and here.watcher is not None:
        rule = _LookedOn(rule, here.watcher)
    if has_many_components(args):
        result = answer(rule, func, args, kwargs)
    elif not torch.is_grad_enabled() and (is_reverse(args) or _in_autograd_function() or wants_graph()):
        with torch.enable_grad():  # a model's own no_grad is about its parameters
            result = rule(func, args, kwargs)
    else:
        result = rule(func, args, kwargs)
    if not tracing():
        link_results(result, args, kwargs)
        warn_beyond_range(func, args, result)
    if completeness.is_on(func):
        completeness.check(func, args, result, kwargs)
    return result


def _number_by_number(func: Function, args: Sequence[Any]) -> Any:
    """What is known of the numbers of a few, of a function that is called of each."""
    row = rows.get(func)
    if row is None or not (row.traits & Trait.ELEMENTWISE or ELEMENTWISE.issuperset((row.rule.tags or _ANY).values())):
        return NotImplemented
    if complex_of_few.is_given(args):
        return number_by_number(partial(complex_of_few.answer, row.few_complex), func, args)
    return NotImplemented if row.short is None else number_by_number(partial(asked, row.short), func, args)


_ANY = {0: "Opaque"}


class _LookedOn(Rule):
    """A rule, while somebody looks on."""

    def __init__(self, inner: Rule, watcher: Watcher) -> None:
        self.inner = inner
        self.elementwise = inner.elementwise
        self.watcher = watcher

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self.watcher.run(self.inner, func, args, kwargs)


def _for_discrete(rule: Rule) -> Rule:
    """The rule for calls with decomposed booleans or integers: it is of floating numbers, unless it knows of them or
    leaves the work to other functions."""
    if rule.discrete or rule.opaque or rule.passes or rule.delegates:
        return rule
    return OfNumbers(rule)


table.load()
pytree.register()
