"""Registering rules for functions, methods, module classes and autograd Functions, for good or within a context."""

from __future__ import annotations

import contextlib
import inspect
import re
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.nn.modules._functions import BackwardHookFunction

from npdec._core.base import ArrayBase
from npdec._core.signatures import LAW_TAGS, Parameter, is_bodyless, read_parameters
from npdec._core.tracebacks import ends
from npdec._decomposed.registry import Answer, Row, Rule, add, rows
from npdec._decomposed.tensor import DecomposedTensor, is_reverse
from npdec._law import law
from npdec._law.overrides_scope import enter, scope
from npdec._rules import autograd_function, inplace
from npdec._torch.tracing import count_registration, tracing
from npdec.overrides import _calls
from npdec.overrides._signatures import check, title

__all__ = [
    "Registered",
    "is_registered",
    "register_autograd",
    "register_function",
    "register_method",
    "register_module",
    "registered",
]

Function = Callable[..., Any]


class Registered(Rule):
    """A rule that a user has registered: the tags of a signature, or a function of his own."""

    def __init__(self, rule: Function, description: str, delegates: bool) -> None:
        self.inner = rule
        self.description = description
        self.delegates = delegates  # the functions that it calls are answered each by its own rule

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self.inner(func, args, kwargs)


# -- what is registered ------------------------------------------------------------------------------------------------


@ends
def register_function(*functions: Function) -> Callable[[Function], Function]:
    """Give torch functions a rule. Decorator; the last registration wins.

    What is decorated has the signature of the original (`out` aside; the last parameters may be left to *args and
    **kwargs), and is one of two things. A signature without a body states a tag of this module for each argument that
    can be decomposed:

    >>> @np.overrides.register_function(torch.nn.functional.softplus)
    ... def softplus(input: np.overrides.Pointwise, beta: float = 1, threshold: float = 20): ...

    A function with a body answers the call itself. It receives the arguments as they are, the decomposed ones as
    `np.DecomposedTensor`, and returns what the function is to return. Within it the function has the rule that it had
    before.

    >>> def relu(input, inplace=False):
    ...     gate = (input.value > 0).to(input.dtype)  # passes contributions on where the value is positive
    ...     return gate * input
    >>> with np.overrides.registered(torch.nn.functional.relu, relu):
    ...     torch.nn.functional.relu(np.decompose(torch.tensor([1.0, -1.0]), baseline=-1.0)).residual
    tensor([-1., -0.])

    torch.relu, torch.Tensor.relu and torch.nn.functional.relu are three functions: name each one that is meant.
    Raises TypeError for a signature that differs (it names the difference), for unknown tags, and for what is no
    function.
    """
    return _register([_function(f, "register_function") for f in functions])


def register_method(*methods: Any) -> Callable[[Function], Function]:
    """Give methods or attributes of torch.Tensor a rule, as `register_function` does.

    >>> @np.overrides.register_method(torch.Tensor.renorm)
    ... def renorm(self: np.overrides.Smooth, p: float, dim: int, maxnorm: float): ...
    """
    targets = []
    for method in methods:
        name: str = getattr(getattr(method, "fget", method), "__name__", "")
        if getattr(torch.Tensor, name, None) is not method:
            raise TypeError(f"register_method: {method!r} is no method of torch.Tensor; use register_function")
        targets.append(_function(method, "register_method"))
    return _register(targets)


def register_module(*classes: type[torch.nn.Module]) -> Callable[[Function], Function]:
    """Give classes of modules a rule: a module called with a decomposed tensor answers by it, as a whole.

    What is decorated has the signature of the class's `forward`, `self` included: tags without a body, or a function
    that computes the answer (within it `self(...)` has the rule that it had before). Subclasses with a `forward` of
    their own are not meant. Forward hooks of the module see the decomposed tensors.

    >>> class Gate(torch.nn.Module):
    ...     def forward(self, input):
    ...         return input * torch.sigmoid(input)
    >>> @np.overrides.register_module(Gate)
    ... def gate(self, input: np.overrides.Pointwise): ...
    >>> Gate()(np.decompose(torch.tensor([2.0]))).components
    tensor([[1.7616]])
    """
    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, torch.nn.Module)):
            raise TypeError(f"register_module: {cls!r} is no class of torch.nn.Module")
    return _register(list(classes))


def register_autograd(cls: type[torch.autograd.Function]) -> type[torch.autograd.Function]:
    """Declare that a torch.autograd.Function decomposes by its own derivative: its `jvp`, or else its `backward`.

    Class decorator. An autograd Function does so in any case, whether its forward computes with torch, with NumPy or
    in C++: the value and the residual are those of its forward, and contributions are the quadrature of its derivative
    along the path. `strict` accepts it only if it is declared. The exceptions are Functions of torch itself, those that
    are given a function to call (checkpoints) and those without a derivative, whose operations are decomposed one by
    one. `registered` and `register_function` give a Function another rule, with the signature of its forward (without
    `ctx`); in the body of one, `apply` decomposes its operations one by one.

    Raises TypeError for what is no autograd Function.

    >>> @np.overrides.register_autograd
    ... class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return torch.from_numpy(x.detach().numpy() ** 3)
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * grad
    >>> with np.overrides.strict():
    ...     Cube.apply(np.decompose(torch.tensor([2.0]))).components
    tensor([[8.0000]])
    """
    if not (isinstance(cls, type) and issubclass(cls, torch.autograd.Function)):
        raise TypeError(f"register_autograd: {cls!r} is no class of torch.autograd.Function")
    _enter(cls, _own_derivative(cls))
    count_registration()
    return cls


@contextlib.contextmanager
def registered(target: Any, rule: Function | None = None) -> Iterator[None]:
    """Context manager and decorator: within it, the function, method or module class `target` has the rule `rule`
    (a bodyless tagged signature, or a function that answers), before all that is registered for good. For an autograd
    Function, no rule means its own derivative. The state is local to the thread or task.

    >>> def scaled(input, inplace=False):
    ...     return np.DecomposedTensor(input.value.relu(), input.residual * 0, input.components, input.labels)
    >>> with np.overrides.registered(torch.nn.functional.relu, scaled):
    ...     np.overrides.is_registered(torch.nn.functional.relu)
    True
    """
    is_class = isinstance(target, type) and issubclass(target, (torch.nn.Module, torch.autograd.Function))
    key = target if is_class else _function(target, "registered")
    if rule is None and not (is_class and issubclass(target, torch.autograd.Function)):
        raise TypeError("registered: which rule? A tagged signature without a body, or a function that answers")
    made = _own_derivative(target) if rule is None else _rule(key, rule)
    if isinstance(key, type):
        _calls.open_class(key)
    try:
        with enter({key: made}):
            yield
    finally:
        if isinstance(key, type):
            _calls.close_class(key)


def is_registered(target: Any) -> bool:
    """Whether a function, a method, a class of modules (or a module), or an autograd Function has a rule of its own.

    Others pass contributions on by the functions that they are made of, or by quadrature.

    >>> np.overrides.is_registered(torch.tanh), np.overrides.is_registered(torch.linalg.matrix_exp)
    (True, False)
    """
    if isinstance(target, torch.nn.Module):
        return _calls.rule_of(type(target)) is not None
    if isinstance(target, type):
        return _calls.rule_of(target) is not None
    key = _key(target)
    here = scope()
    return (here is not None and key in here.rules) or (key in rows and not rows[key].found)


def _register(targets: list[Any]) -> Callable[[Function], Function]:
    if not targets:
        raise TypeError("register: which function?")

    def register(rule: Function) -> Function:
        made = [_rule(target, rule) for target in targets]  # all are checked before one is registered
        for target, one in zip(targets, made, strict=True):
            _enter(target, one)
            if isinstance(target, type):
                _calls.open_class(target)
        count_registration()
        return rule

    return register


def _enter(target: Any, one: Rule) -> None:
    """Give the target the rule for good; what else is known of it stays."""
    row = rows.get(target)
    add([target], Row(one) if row is None else replace(row, rule=one, short=None, found=False), replaces=True)


def _key(target: Any) -> Any:
    """What torch hands to __torch_function__: for an attribute of tensors, its getter."""
    if isinstance(target, (types.GetSetDescriptorType, property)):
        return target.__get__
    return target


def _function(target: Any, name: str) -> Any:
    target = _key(target)
    if isinstance(target, type) and issubclass(target, torch.autograd.Function):
        return target
    if isinstance(target, type) or not callable(target) or isinstance(target, torch.nn.Module):
        other = "; use register_module" if isinstance(target, torch.nn.Module) else ""
        if isinstance(target, type):
            other = "; use register_module" if issubclass(target, torch.nn.Module) else other
        raise TypeError(f"{name}: {target!r} is no function{other}")
    return target


# -- rules -------------------------------------------------------------------------------------------------------------


def _rule(target: Any, given: Function) -> Registered:
    """The rule that a tagged signature or a function states. Raises TypeError if it does not fit the target."""
    if not callable(given):
        raise TypeError(f"{title(target)}: a rule is a tagged signature or a function, not {given!r}")
    check(target, given)
    made = _tagged(target, given) if is_bodyless(given) else _written(target, given)
    names = list(inspect.signature(given).parameters)
    if "inplace" in names and not isinstance(target, type):
        made.inner = inplace.flagged(names.index("inplace"), made.inner)
    return made


def _tagged(target: Any, signature: Function) -> Registered:
    is_module = isinstance(target, type) and issubclass(target, torch.nn.Module)
    parameters: Sequence[Parameter] = _tags(signature, skip=is_module)
    tags = {p.tag for p in parameters if p.tag is not None}
    unknown = tags - LAW_TAGS - {"Opaque"}
    if unknown or "Routed" in tags:
        raise TypeError(
            f"{title(target)}: a rule knows the tags {', '.join(sorted(LAW_TAGS - {'Routed'}))} and Opaque, not "
            f"{', '.join(sorted(unknown | (tags & {'Routed'})))}"
        )
    if not tags:
        raise TypeError(f"{title(target)}: no parameter has a tag; a rule with a body returns its answer")
    described = ", ".join(f"{p.name}: {p.tag}" for p in parameters if p.tag)
    return Registered(law.TaggedRule(parameters), described, delegates=False)


def _tags(signature: Function, skip: bool) -> Sequence[Parameter]:
    """The parameters; that of the module itself, which needs no tag, left out."""
    shape = inspect.signature(signature)
    parameters = list(shape.parameters.values())[1 if skip else 0 :]

    def nameless() -> None: ...

    named: Any = nameless

    # Where annotations are text, a tag may be written with the module that it is taken from.
    bare = [
        p.replace(annotation=re.sub(r"[\w.]+\.(\w+)", r"\1", p.annotation)) if isinstance(p.annotation, str) else p
        for p in parameters
    ]
    named.__signature__ = shape.replace(parameters=bare)
    named.__module__, named.__qualname__ = signature.__module__, signature.__qualname__
    return read_parameters(named)


def _written(target: Any, function: Function) -> Registered:
    here = scope()
    before = None if here is None else here.rules.get(target)
    if before is None:
        before = None if target not in rows else rows[target].rule

    within: list[bool] = []
    name = title(target)

    def traced(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """As torch.compile sees it, which knows no contexts."""
        if within:
            raise NotImplementedError(
                f"{name}: its rule calls it again, with decomposed tensors, which torch.compile cannot trace"
            )
        within.append(True)
        try:
            return function(*args, **kwargs)
        finally:
            within.pop()

    def answer(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if tracing():
            return _marked(traced(args, kwargs), is_reverse([*args, *kwargs.values()]))
        with enter({target: before or _calls.default(target)}):
            result = function(*args, **kwargs)
        return _marked(result, is_reverse([*args, *kwargs.values()]))

    return Registered(Answer(answer, delegates=True), f"{function.__module__}.{function.__qualname__}", delegates=True)


def _marked(result: Any, reverse: bool) -> Any:
    """The tensor of a result; in reverse mode, marked as such."""
    if isinstance(result, ArrayBase):
        result = result._t
    if type(result) is DecomposedTensor:
        result.reverse = result.reverse or reverse
    elif type(result) in (tuple, list):
        return type(result)(_marked(item, reverse) for item in result)
    return result


def _own_derivative(cls: type[torch.autograd.Function]) -> Registered:
    kind = "jvp" if autograd_function.has_own(cls, "jvp") else "backward"
    return Registered(autograd_function.rule_of(cls), f"its own {kind}", delegates=False)


def _hooked(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The Function by which full backward hooks get at the gradients of a module, those of the value: the identity."""
    made = func(*[a.value if type(a) is DecomposedTensor else a for a in args], **kwargs)
    return tuple(
        DecomposedTensor(value, a.residual, a.components, a.labels, a.reverse) if type(a) is DecomposedTensor else value
        for value, a in zip(made, args, strict=True)
    )


_enter(BackwardHookFunction, Answer(_hooked))
