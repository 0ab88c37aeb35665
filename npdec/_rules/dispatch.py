"""What a torch function does when it meets a DecomposedTensor: its rule is found here.

In order: a rule (registered, or one of npdec's own); a function written in Python passes through its own body; an
in-place method computes out of place and writes; anything else goes by quadrature.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch._jit_internal import boolean_dispatched

from npdec._core.signatures import read_parameters
from npdec._decomposed import completeness, overwriting, pytree
from npdec._decomposed.aliasing import link_results
from npdec._decomposed.call import Call
from npdec._decomposed.tensor import DecomposedTensor, is_reverse
from npdec._decomposed.tensor import dispatch as dispatched
from npdec._impl import torch_linear_impl, torch_opaque_impl, torch_pointwise_impl
from npdec._law import frozen_choices, law
from npdec._law.create_graph import wants_graph
from npdec._law.discrete import has_discrete, of_numbers
from npdec._law.half_precision import warn_beyond_range
from npdec._law.overrides_scope import scope
from npdec._law.vjp_calls import answer, has_many_components
from npdec._rules import (
    attention,
    autograd_function,
    casts_and_special,
    choosing,
    conditions,
    elementary,
    factorisations,
    inplace,
    inplace_views,
    normalisation_layers,
    norms,
    pooling,
    products,
    rms_norm_pattern,
    softmax,
    table,
)
from npdec._rules.argument_names import in_their_places, out_of_place
from npdec._torch.patch_dynamo import patch_dynamo
from npdec._torch.tracing import bound_by, constant_when_traced, name_of, registrations, tracing

__all__ = ["default_rule", "dispatch"]

Function = Callable[..., Any]
_OWNERS = (torch, torch.Tensor, F, torch.special, torch.fft, torch.linalg, torch._C._nn)


def _everywhere(name: str) -> list[Function]:
    found = [getattr(owner, name, None) for owner in _OWNERS]
    return [f for f in found if callable(f)]


def _opaque(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return func(*[_value(a) for a in args], **{k: _value(v) for k, v in kwargs.items()})


_opaque.opaque = True  # type: ignore[attr-defined]


def _value(arg: Any) -> Any:
    if isinstance(arg, DecomposedTensor):
        return arg.value
    if isinstance(arg, (tuple, list)) and any(isinstance(a, DecomposedTensor) for a in arg):
        return type(arg)(_value(a) for a in arg)
    return arg


def _look_for_compiler(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Tensor._is_view, which the compiler asks of each of its inputs."""
    patch_dynamo()
    return _opaque(func, args, kwargs)


def _refuse_numpy(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    raise TypeError(
        f"{func.__name__}: a NumPy array cannot carry the contributions of a decomposed tensor: take .value, .residual "
        "or .components first"
    )


_CONTROL_FLOW = {"associative_scan", "cond", "flex_attention", "map_impl", "scan", "while_loop"}


def _refuse_operator(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    raise NotImplementedError(
        f"{name_of(func)}: this operator, which takes functions, has no rule for decomposed tensors: choose by "
        "torch.where, write loops out, or register a rule (np.overrides.register_function)"
    )


def _load_rules() -> None:
    """Fill the registry with npdec's own rules. Signatures come before names, so that they win, and both before the
    tags of ufuncs, which are there already."""
    rules = law.rules
    of_ufuncs = dict(rules)
    rules.clear()
    rule: Function
    rules.update({**conditions.RULES, **choosing.RULES})
    rules.update({**attention.RULES, **normalisation_layers.RULES, **norms.RULES, **softmax.RULES})
    rules.update({**elementary.MAGNITUDES, **factorisations.RULES})
    for function, rule in table.RULES.items():
        rules.setdefault(function, rule)
    closed = (elementary, pooling, products)
    for name, form in (item for module in closed for item in module.CLOSED_FORMS.items()):
        for function in _everywhere(name):
            rules.setdefault(function, form)
    for module in (torch_linear_impl, torch_pointwise_impl):
        for signature in vars(module).values():
            functions = getattr(signature, "__torch_functions__", ())
            if functions:
                rule = law.TaggedRule(read_parameters(signature))
                for function in functions:
                    rules.setdefault(function, rule)
    first_linear: Function = law.TaggedRule.of("Linear")
    first_pointwise: Function = law.TaggedRule.of("Pointwise")
    first_stepwise: Function = law.TaggedRule.of("Stepwise")
    for names, rule in (
        (torch_linear_impl.LINEAR, first_linear),
        (torch_pointwise_impl.POINTWISE, first_pointwise),
        (torch_pointwise_impl.STEPWISE, first_stepwise),
        (torch_opaque_impl.OPAQUE, _opaque),
        (torch_opaque_impl.FROZEN, frozen_choices.frozen),
        (torch_opaque_impl.DRAWN, frozen_choices.drawn),
    ):
        for name in names:
            for function in _everywhere(name):
                rules.setdefault(function, rule)
    for names, rule in (
        (torch_linear_impl.LINEAR_ATTRIBUTES, first_linear),
        (torch_opaque_impl.OPAQUE_ATTRIBUTES, _opaque),
    ):
        for name in names:
            getter = getattr(getattr(torch.Tensor, name, None), "__get__", None)
            if getter is not None:
                rules.setdefault(getter, rule)
    for function, rule in of_ufuncs.items():
        rules.setdefault(function, rule)
    for function in vars(F).values():
        if isinstance(function, types.FunctionType) and "inplace" in function.__code__.co_varnames:
            position = list(inspect.signature(function).parameters).index("inplace")
            rules[function] = inplace.flagged(position, rules.get(function) or _body(function))
    data: Any = torch.Tensor.data
    rules[data.__get__] = elementary.CLOSED_FORMS["detach"]
    rules[torch.Tensor.numpy] = rules[torch.Tensor.__array__] = _refuse_numpy
    for function, rule in {**inplace.RULES, **inplace_views.RULES}.items():
        rules[function] = rule
    rules[torch.Tensor._is_view] = _look_for_compiler
    rules.update(rms_norm_pattern.recognising(rules))
    rules.update(overwriting.watching(rules))


def _body(func: types.FunctionType, traced: bool = False) -> Function:
    """A function of torch that is written in Python, without its own test for overrides: the calls in its body meet the
    decomposed tensors instead. For torch.compile it is given as code of this file, as it traces through few of torch's.
    """
    made = _without_tests(func, traced)

    def through(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return made(*args, **kwargs)

    through.passes = through.delegates = True  # type: ignore[attr-defined]
    return through


def _without_tests(func: types.FunctionType, traced: bool) -> types.FunctionType:
    scope = dict(func.__globals__)
    for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        if name in scope:
            scope[name] = _never
    closure = func.__closure__
    if func in boolean_dispatched:  # it chooses between two functions that test themselves
        cells = [cell.cell_contents for cell in closure or ()]
        functions = [isinstance(c, types.FunctionType) for c in cells]
        cells = [_without_tests(c, traced) if is_one else c for c, is_one in zip(cells, functions, strict=True)]
        closure = tuple([types.CellType(c) for c in cells])
    code = func.__code__.replace(co_filename=__file__) if traced else func.__code__
    made = types.FunctionType(code, scope, func.__name__, func.__defaults__, closure)
    made.__kwdefaults__ = func.__kwdefaults__
    return made


def _never(*_: Any) -> bool:
    return False


def _find(func: Function) -> Function:
    """The rule of a function that has none registered; it is kept for the next call."""
    rule = default_rule(func)
    law.defaults.add(func)
    law.rules[func] = rule
    return rule


def default_rule(func: Function) -> Function:
    """The rule of a function that has none registered."""
    name = name_of(func)
    if name.endswith("_") and not name.endswith("__"):
        return inplace.method(name)
    if isinstance(func, types.FunctionType):
        return _body(func)
    if isinstance(func, torch._ops.HigherOrderOperator) and name in _CONTROL_FLOW:
        return _refuse_operator
    if isinstance(func, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)) and not _is_torchs(func):
        return autograd_function.operator_rule(func)
    return _by_quadrature


def _is_torchs(operator: Any) -> bool:
    """Whether an operator is one of torch's own, which torch.func knows to differentiate."""
    return str(operator).partition(".")[0] in ("aten", "prims")


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
        rule = law.rules.get(func) or _find(func)
        if isinstance(func, types.FunctionType) and getattr(rule, "passes", False):
            rule = _by_quadrature if _calls_builtins(func) else _body(func, traced=True)
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
    return law.quadrature(call) if call.leaves else func(*call.args, **call.kwargs)


def _in_autograd_function() -> bool:
    """Whether this is the forward of a torch.autograd.Function: it turns off gradients of both modes, of which
    torch.no_grad leaves the forward one. Its backward is of the value; contributions need a graph of their own."""
    return not tracing() and not torch._C._is_fwd_grad_enabled() and not torch.is_inference_mode_enabled()


def dispatch(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Answer a torch function called with at least one DecomposedTensor."""
    out = kwargs.get("out")
    if out is not None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        return inplace.write_outputs(func(*args, **kwargs), out, (*args, *kwargs.values()))
    if kwargs and out_of_place(args, kwargs):
        args, kwargs = in_their_places(func, args, kwargs)
    here = scope()
    rule = None if here is None else here.rules.get(func)
    if tracing():
        rule = getattr(_Traced, _attribute(func, registrations()))
    elif rule is None:
        rule = law.rules.get(func)
        if rule is None:
            rule = _find(func)
    if has_discrete(args) or (kwargs and has_discrete(kwargs.values())):
        args, kwargs = choosing.plain_indices(func, args, kwargs)
        rule = _for_discrete(rule)
    if here is not None and here.watcher is not None:
        watched, watcher = rule, here.watcher
        rule = lambda func, args, kwargs: watcher.run(watched, func, args, kwargs)  # noqa: E731
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
        completeness.check(func, args, result)
    return result


def _for_discrete(rule: Function) -> Function:
    """The rule for calls with decomposed booleans or integers: it is of floating numbers, unless it knows of them or
    leaves the work to other functions."""
    if (
        rule in _OF_DISCRETE
        or isinstance(rule, law.TaggedRule)
        or any(getattr(rule, trait, False) for trait in ("opaque", "passes", "delegates"))
    ):
        return rule
    return functools.partial(of_numbers, rule, getattr(law.innermost(rule), "by_key", None))


_load_rules()
_OF_DISCRETE = frozenset(
    rule
    for known in (conditions.RULES, choosing.RULES, inplace.RULES, casts_and_special.CASTS)
    for rule in known.values()
)
pytree.register()
dispatched.append(dispatch)
