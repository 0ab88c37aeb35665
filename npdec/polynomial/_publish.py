"""From a function of any basis to the six public ones.

A generic function has the basis for its first parameter and is declared with `npdec.polynomial._basis.series`, which
says what it is called. `publish` compiles the function of one basis under NumPy's name, with the signature that is left
and the docstring in the words of the basis.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from npdec._core.tracebacks import ended, ending
from npdec.polynomial import _calculus, _fitting, _series, _values
from npdec.polynomial._basis import Basis

__all__ = ["publish"]

CHAPTERS = (_series, _values, _calculus, _fitting)


def publish(namespace: dict[str, Any], basis: Basis, *without: str) -> dict[str, Callable[..., Any]]:
    """The functions of the basis by their public names, for a module of which this is the namespace; `without` some.

    The functions' globals are the module's, so that their examples are found there.
    """
    functions = {}
    words = {"p": basis.prefix, "basis": basis.name, "module": namespace["__name__"].replace("npdec.", "np.", 1)}
    generics = [item for chapter in CHAPTERS for item in vars(chapter).values() if hasattr(item, "__series__")]
    for generic in dict.fromkeys(generics):
        name = generic.__series__.name.format(**words)
        if name not in without:
            functions[name] = _compile(name, generic, basis, namespace)
            functions[name].__doc__ = generic.__series__.doc.format(**words)
    return functions


def _compile(name: str, generic: Callable[..., Any], basis: Basis, namespace: dict[str, Any]) -> Callable[..., Any]:
    parameters = list(inspect.signature(generic).parameters.values())[1:]
    made: dict[str, Any] = {"_generic": generic, "_basis": basis, "_ended": ended}
    words = []
    for p in parameters:
        default = p.default
        if p.name == "maxpower":  # the one default that depends on the basis
            default = basis.maxpower
        made[f"_default_{p.name}"] = default
        words.append(p.name if default is p.empty else f"{p.name}=_default_{p.name}")
    called = ", ".join(["_basis", *[p.name for p in parameters]])
    public = ending(f"def {name}({', '.join(words)}):\n    return _generic({called})")
    text = f"def make({', '.join(made)}):\n{textwrap.indent(public, '    ')}    return {name}\n"
    scope: dict[str, Any] = {}
    exec(compile(text, f"<{namespace['__name__']}.{name}>", "exec"), namespace, scope)
    function: Callable[..., Any] = scope["make"](**made)
    function.__qualname__ = name
    return function
