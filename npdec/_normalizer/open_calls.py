"""Calls that are open to guests: where one meets what torch cannot hold, it goes on at the door to NumPy."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from npdec._core import door
from npdec._core.signatures import Parameter
from npdec.exceptions import AbsentDTypeError

__all__ = ["NAMES", "open_body"]

_Kind = inspect.Parameter

# What an open body uses.
NAMES = {
    "_Absent": AbsentDTypeError,
    "_hand_over": door.hand_over,
    "_hand_over_method": door.hand_over_method,
    "_hand_over_ufunc": door.hand_over_ufunc,
}


def open_body(lines: list[str], parameters: Sequence[Parameter], name: str, method: bool, is_ufunc: bool) -> list[str]:
    """The body of a compiled function, and behind it the way to NumPy: with what the caller gave, or what that was
    converted to. `name` is dotted, below npdec; of a method, its own."""
    positional, words, before = [], [], "True"
    for p in parameters:
        value = f"_array_{p.name}" if p.tag == "InPlace" else p.name
        if p.kind is _Kind.VAR_POSITIONAL:
            positional.append(f"*{value}")
        elif p.kind is _Kind.VAR_KEYWORD:
            words.append(f"**{value}")
        elif p.default is _Kind.empty and p.kind is not _Kind.KEYWORD_ONLY:
            positional.append(value)
        elif p.kind is _Kind.POSITIONAL_ONLY:
            positional.append(f"*(() if {value} is _default_{p.name} else ({value},))")
        elif before and p.is_array and p.kind is _Kind.POSITIONAL_OR_KEYWORD:  # arrays have no names, if that can be
            given = f"{before} and {value} is not _default_{p.name}"
            positional.append(f"*(({value},) if {given} else ())")
            words.append(f"**({{{p.name!r}: {value}}} if {value} is not _default_{p.name} and not ({given}) else {{}})")
            before = given
        else:
            before = ""
            words.append(f"**({{}} if {value} is _default_{p.name} else {{{p.name!r}: {value}}})")
    if method:
        call = f"_hand_over_method({name!r}, self, ({_listed(positional[1:])}), {{{', '.join(words)}}}, _absent)"
    elif is_ufunc:
        call = f"_hand_over_ufunc(_self, '__call__', ({_listed(positional)}), {{{', '.join(words)}}}, _absent)"
    else:
        call = f"_hand_over({name!r}, ({_listed(positional)}), {{{', '.join(words)}}}, _absent)"
    written = [p.name for p in parameters if p.tag == "InPlace"]
    kept = [f"_array_{name} = {'self' if method and name == parameters[0].name else name}" for name in written]
    trying = ["try:", *(f"    {line}" for line in lines), "except _Absent as _error: _absent = _error"]
    return [*kept, *trying, f"return {call}"]


def _listed(items: list[str]) -> str:
    return "".join(f"{item}, " for item in items)
