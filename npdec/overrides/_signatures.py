"""The signature of a function that may be written in C, and what another one differs in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

__all__ = ["Original", "check", "originals", "title"]

Function = Callable[..., Any]
_EMPTY = inspect.Parameter.empty
_ANYTHING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_FIRST = {"self", "input", "tensor"}  # what torch calls the tensor itself, here and there


class Original:
    """The parameters of a function, as far as they are known: where they are not `exact`, only names and order."""

    __slots__ = ("exact", "parameters")

    def __init__(self, parameters: Sequence[inspect.Parameter], exact: bool) -> None:
        self.parameters = [p for p in parameters if p.name != "out"]  # which is written before a rule is asked
        self.exact = exact


def title(target: Any) -> str:
    """The full name of a function, method or module class: torch.nn.functional.relu."""
    if isinstance(target, type):
        return f"{target.__module__}.{target.__qualname__}"
    if hasattr(target, "__npdec__"):  # a kernel: the function of npdec that it is
        return f"npdec.{target.__npdec__.name}"
    owner = getattr(target, "__self__", None)
    if getattr(target, "__name__", "") == "__get__" and owner is not None:  # the getter of an attribute
        return f"torch.Tensor.{getattr(owner, '__name__', None) or owner.fget.__name__}"
    name = torch.overrides.resolve_name(target)
    if name:
        return str(name)
    module, own = getattr(target, "__module__", None), getattr(target, "__qualname__", None) or repr(target)
    return f"{module}.{own}" if module and module not in ("builtins", "__main__") else str(own)


def originals(target: Any) -> list[Original]:
    """The signatures that a function has, a module's forward, or an autograd Function; none where nothing is known.

    Functions written in C do not say theirs. They have torch's stand-ins for tests of overrides, and the schemas of the
    operators of their name.
    """
    if isinstance(target, type):
        forward = getattr(target, "forward")  # noqa: B009  (a module's, or that of an autograd Function)
        if issubclass(target, torch.autograd.Function):
            older = target.setup_context is torch.autograd.Function.setup_context  # its forward begins with ctx
            return [Original(list(inspect.signature(forward).parameters.values())[older:], True)]
        target = forward
    if getattr(target, "__name__", "") == "__get__":
        return [Original([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)], False)]
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if any(p.kind not in _ANYTHING for p in parameters):
        return [Original(parameters, True)]
    operator = (
        target if hasattr(target, "overloads") else getattr(torch.ops.aten, getattr(target, "__name__", ""), None)
    )
    found = []
    if operator is not None:
        schemas = [getattr(operator, name)._schema for name in operator.overloads()]
        schemas = [s for s in schemas if not any(a.is_out or "Dimname" in str(a.type) for a in s.arguments)]
        found = [Original([_argument(a) for a in s.arguments], False) for s in schemas]
    stand_in = torch.overrides.get_testing_overrides().get(target)
    if stand_in is not None:
        found.append(Original(list(inspect.signature(stand_in).parameters.values()), False))
    return found


def _argument(argument: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else _EMPTY
    return inspect.Parameter("input" if argument.name == "self" else argument.name, kind, default=default)


def check(target: Any, given: Function) -> None:
    """Raise TypeError, naming the first difference, if `given` has no signature of the target.

    The last parameters may be left to *args and **kwargs. The first one of a method may be called self or input.
    """
    known = originals(target)
    differences = [_difference(one, given) for one in known]
    if known and None not in differences:
        nearest = max(range(len(known)), key=lambda i: _agreement(known[i], given))
        shown = ", ".join(_shown(p, known[nearest].exact) for p in known[nearest].parameters)
        raise TypeError(f"{title(target)}: the registered signature {differences[nearest]}; the original is ({shown})")


def _agreement(known: Original, given: Function) -> tuple[int, int]:
    """How much two signatures have in common."""
    names = {p.name for p in known.parameters}
    others = set(inspect.signature(given).parameters)
    return len(names & others), -len(names ^ others)


def _difference(known: Original, given: Function) -> str | None:
    """What the given signature differs in first, or None."""
    wanted = known.parameters
    found = [p for p in inspect.signature(given).parameters.values() if p.name != "out"]
    positional = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in found)
    keyword = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found)
    found = [p for p in found if p.kind not in _ANYTHING]
    for i, p in enumerate(found):
        if i >= len(wanted) or wanted[i].kind in _ANYTHING:
            if any(w.kind is inspect.Parameter.VAR_POSITIONAL for w in wanted):
                continue
            return f"has a parameter {p.name!r} more"
        w = wanted[i]
        if p.name != w.name and (i or not {p.name, w.name} <= _FIRST):
            if p.name in {other.name for other in wanted[i:]}:
                return f"lacks the parameter {w.name!r} before {p.name!r}"
            return f"has {p.name!r} in place of {w.name!r}"
        if not known.exact:
            continue
        if (p.kind is inspect.Parameter.KEYWORD_ONLY) is not (w.kind is inspect.Parameter.KEYWORD_ONLY):
            return f"has {p.name!r} {'as' if p.kind is inspect.Parameter.KEYWORD_ONLY else 'not as'} keyword only"
        if not _same_default(p.default, w.default):
            return f"has {_default(p)} for {p.name!r} in place of {_default(w)}"
    for w in wanted[len(found) :]:
        if w.kind not in _ANYTHING and not (keyword and (positional or w.kind is inspect.Parameter.KEYWORD_ONLY)):
            return f"lacks the parameter {w.name!r}"
    return None


def _shown(p: inspect.Parameter, exact: bool) -> str:
    stars = "*" * (_ANYTHING.index(p.kind) + 1 if p.kind in _ANYTHING else 0)
    return stars + p.name + (f"={p.default!r}" if exact and p.default is not _EMPTY else "")


def _default(p: inspect.Parameter) -> str:
    return "no default" if p.default is _EMPTY else f"the default {p.default!r}"


def _same_default(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(a == b))
