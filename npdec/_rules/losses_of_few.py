"""Losses of few elements in reverse mode, whose slopes C finds all at once. Other calls are those of
`npdec._rules.losses_reverse`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from npdec._decomposed.registry import Trait
from npdec._law.native_forms import in_c

__all__ = ["either", "of_few"]

Function = Callable[..., Any]
Named = dict[str, Any]


def of_few(
    names: str, kind: str, form: Function, function: Function | None = None, traits: int | None = Trait.ELEMENTWISE
) -> Function:
    """The form, before which one in C stands that knows the kind of slopes, of a kernel that has these arguments: those
    of a function of torch, if there is one, which has traits where they are looked for."""
    known = names.split()
    parameter = len(known) - 1 if known[-1] != "reduction" else -1
    told = kind, parameter, known.index("reduction"), len(known), function, None if function is None else traits

    @in_c("lost", known=told)
    def shortly(func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
        return form(func, args, options)

    return shortly


def either(first: Function, second: Function) -> Function:
    """The one of two forms that is open."""

    def form(func: Function, args: Sequence[Any], options: Named | None = None) -> Any:
        made = first(func, args, options)
        return second(func, args, options) if made is NotImplemented else made

    return form
