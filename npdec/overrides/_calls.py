"""How calls that torch does not dispatch reach their rule: those of modules, of autograd Functions and of scripts.

torch calls `__torch_function__` for functions and methods, but not for a module, for `torch.autograd.Function.apply`,
or for what torch.jit has compiled.

A module class that is registered, and no other, is opened while a registration of it lasts: it gets the attribute
through which torch.nn.Module.__call__ asks each module for another way of being called (torch.nn.Module.compile sets
the same one on an instance). Modules of other classes decompose through the functions in them and need none of this.

An autograd Function hands its arguments to code that may be anything, and would lose their contributions without a
word. So for all of them `apply` looks whether an argument is decomposed; others go on as ever. So does the call of a
scripted function, which has no rule and raises.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed import completeness
from npdec._decomposed.aliasing import link_results
from npdec._decomposed.registry import Answer, Rule, rows
from npdec._decomposed.tensor import CARRIERS, DecomposedTensor, is_reverse, ordinary
from npdec._decomposed.tensor import dispatch as dispatched
from npdec._law.overrides_scope import scope
from npdec._rules import autograd_function, direct, dispatch
from npdec._torch.patches import patch
from npdec._torch.tracing import tracing
from npdec.overrides._processes import held, shard, watch_processes

__all__ = ["close_class", "default", "open_class", "rule_of"]

Function = Callable[..., Any]
_SLOT = "_compiled_call_impl"  # https://github.com/pytorch/pytorch/blob/v2.13.0/torch/nn/modules/module.py
_opened: dict[type, tuple[int, Any]] = {}  # how many registrations last, and what the class had in the place before
_lock = threading.Lock()
_ABSENT = object()


def rule_of(cls: type) -> Rule | None:
    """The rule of a class, or of the nearest base from which it has its forward."""
    here = scope()
    own = getattr(cls, "forward", None)
    for base in cls.__mro__:
        if getattr(base, "forward", None) is not own:
            return None
        rule = None if here is None else here.rules.get(base)
        if rule is None and base in rows:
            rule = rows[base].rule
        if rule is not None:
            return rule
    return None


# -- modules -----------------------------------------------------------------------------------------------------------


def open_class(cls: type) -> None:
    """Let modules of the class be answered by its rule until it is closed as often as it was opened."""
    if not issubclass(cls, torch.nn.Module):
        return
    with _lock:
        count, before = _opened.get(cls, (0, _ABSENT))
        if not count:
            before = vars(cls).get(_SLOT, _ABSENT)
            setattr(cls, _SLOT, _called)
        _opened[cls] = count + 1, before


def close_class(cls: type) -> None:
    if not issubclass(cls, torch.nn.Module):
        return
    with _lock:
        count, before = _opened.pop(cls)
        if count > 1:
            _opened[cls] = count - 1, before
        elif before is _ABSENT:
            delattr(cls, _SLOT)
        else:
            setattr(cls, _SLOT, before)


def _called(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The call of a module whose class is open."""
    rule = rule_of(type(self)) if held(args) or held(kwargs.values()) else None
    if rule is None:
        return self._call_impl(*args, **kwargs)
    for key, hook in self._forward_pre_hooks.items():
        if key in self._forward_pre_hooks_with_kwargs:
            changed: Any = hook(self, args, kwargs)
            args, kwargs = (args, kwargs) if changed is None else changed
        else:
            changed = hook(self, args)
            args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
    if rule.delegates:
        result = _answered(rule, type(self), (self, *args), kwargs)
    else:
        result = _answered(rule, _forward(self), args, kwargs)
    for key, hook in self._forward_hooks.items():
        if key in self._forward_hooks_with_kwargs:
            changed = hook(self, args, kwargs, result)
        else:
            changed = hook(self, args, result)
        result = result if changed is None else changed
    return result


def _forward(module: torch.nn.Module) -> Function:
    """The module as a function of its arguments, under the name of its class."""

    return autograd_function.StandsFor(module.forward, type(module).__name__, type(module))


# -- autograd Functions ------------------------------------------------------------------------------------------------

_Applied: Any = torch.autograd.Function.apply
_plain_apply = _Applied.__func__


@functools.wraps(_plain_apply)
def _apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    for arg in args:
        if type(arg) in CARRIERS:
            break
    else:
        if not kwargs or not held(kwargs.values()):
            return _plain_apply(cls, *args, **kwargs)
    if cls.__module__.startswith("torch.distributed.tensor."):
        return shard(cls, functools.partial(_plain_apply, cls), args)
    rule: Any = rule_of(cls)
    if rule is None:
        rule = None if _is_a_frame(cls, args) else _own_derivative(cls, args)
    if rule is None:
        return _plain_apply(cls, *args, **kwargs)
    return _answered(rule, cls if rule.delegates else _application(cls), args, kwargs)


def _application(cls: Any) -> Function:
    """A Function as a function of its arguments, under its name."""

    def applied(*args: Any, **kwargs: Any) -> Any:
        return cls.apply(*args, **kwargs)

    return autograd_function.StandsFor(applied, cls.__name__, cls)


def _is_a_frame(cls: Any, args: Sequence[Any]) -> bool:
    """Whether a Function only puts a frame around other functions, which have rules themselves: torch's own (for
    checkpoints and hooks), and what is given a function to call. So does one that has no derivative."""
    own = cls.__module__.partition(".")[0] == "torch"
    return own or any(callable(arg) for arg in args) or not (_has_own(cls, "backward") or _has_own(cls, "jvp"))


def _own_derivative(cls: Any, args: Sequence[Any]) -> Function:
    if any(type(arg) is not DecomposedTensor and type(arg) in CARRIERS for arg in args):
        raise NotImplementedError(
            f"{cls.__name__}: an autograd Function sees of a decomposed DTensor its values alone: give it the part of "
            "this process (.to_local()), or register a rule for it (np.overrides.register_function)"
        )
    return autograd_function.rule_of(cls)


def _has_own(cls: Any, name: str) -> bool:
    return getattr(cls, name, None) is not getattr(torch.autograd.Function, name)


_Scripted: Any = torch.jit.ScriptFunction
_plain_script = _Scripted.__call__


def _script(self: Any, *args: Any, **kwargs: Any) -> Any:
    if held(args) or held(kwargs.values()):
        raise TypeError(
            f"{self.name}: a function that torch.jit has compiled sees no contributions, and would lose them. Call the "
            "function that it was made of"
        )
    return _plain_script(self, *args, **kwargs)


patch("torch.jit.ScriptFunction.__call__", lambda own: _script)
patch("torch.autograd.Function.apply", lambda own: classmethod(_apply))
watch_processes()
# Last of all: who decomposes looks whether this is filled, and imports what is missing (`tensor.first_use`).
ordinary.fill(dispatch.answer_ordinary)
direct.install()
dispatched.fill(dispatch.dispatch)


# -- both --------------------------------------------------------------------------------------------------------------


def _answered(rule: Any, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The rule's answer, as the dispatch of torch functions gets it."""
    here = scope()
    watcher = None if here is None else here.watcher

    def run() -> Any:
        return rule(func, args, kwargs) if watcher is None else watcher.run(rule, func, args, kwargs)

    if not torch.is_grad_enabled() and is_reverse([*args, *kwargs.values()]):
        with torch.enable_grad():
            result = run()
    else:
        result = run()
    if not tracing():
        link_results(result, args, kwargs)
    if completeness.is_on(func):
        completeness.check(func, args, result, kwargs)
    return result


def default(target: Any) -> Rule:
    """The rule of what has none registered."""
    if isinstance(target, type):
        return _PLAINLY if issubclass(target, torch.nn.Module) else _THROUGH
    return dispatch.default_rule(target)


def _plainly(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A module's own forward: the functions in it are answered one by one."""
    return args[0].forward(*args[1:], **kwargs)


def _through(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """An autograd Function's own forward, whose functions are answered one by one."""
    return _plain_apply(func, *args, **kwargs)


_PLAINLY, _THROUGH = Answer(_plainly, delegates=True), Answer(_through, delegates=True)
