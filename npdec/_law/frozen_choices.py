"""The rules of torch functions whose result carries nothing: what they choose is frozen at the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from npdec._decomposed.call import Call
from npdec._decomposed.choices import are_equal, chosen, compare_choices, is_watched
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor
from npdec._torch.tracing import name_of

__all__ = ["chosen_by", "drawn", "frozen", "unmoved"]

Function = Callable[..., Any]


def frozen(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function whose result carries nothing."""
    call = Call(func, None, args, kwargs)
    return chosen_by(call) if call.decomposed else func(*call.args, **call.kwargs)


def unmoved(func: Function, args: Sequence[Any]) -> Any:
    """The short way of a function of one tensor."""
    x = args[0]
    if len(args) != 1 or type(x) is not DecomposedTensor or x.reverse:
        return NotImplemented
    value = func(x.value)
    if is_watched():
        try:
            base = func(x.residual)
        except (ArithmeticError, ValueError, RuntimeError):
            return NotImplemented
        if not are_equal(value, base):
            compare_choices(name_of(func), value, base)
    return value


def chosen_by(call: Call, check: Function | None = None) -> Any:
    """What a function chooses at the value, which is frozen there; `check` may refuse it."""
    with no_graph(call.reverse):
        value = call(*[t.value for t in call.tensors])
        if check is not None:
            check(value)
        if is_watched():
            compare_choices(name_of(call.func), value, _at_the_baseline(call))
    return value


def _at_the_baseline(call: Call) -> Any:
    """What is chosen there; nothing where the function refuses: int() of an infinity, a singular matrix."""
    try:
        return call(*[t.residual for t in call.tensors])
    except (ArithmeticError, ValueError, RuntimeError):
        return ()


def drawn(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Random numbers whose distribution depends on the arguments: what is drawn carries nothing."""
    call = Call(func, None, args, kwargs)
    for tensor in call.tensors:
        chosen(name_of(func), tensor)
    return call(*[t.value for t in call.tensors])
