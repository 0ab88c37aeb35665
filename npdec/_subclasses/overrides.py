"""NumPy's protocols by which a class computes ufuncs and functions itself: `__array_ufunc__`, `__array_function__`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from npdec._array.ndarray import Composition
from npdec._core.base import UfuncBase
from npdec._core.tags import NoValue
from npdec._subclasses.array import Subclassed

__all__ = ["asks_itself", "by_function", "by_ufunc", "leaves", "normalized", "operands", "sees_steps"]


def _overriding(items: Iterable[Any], protocol: str) -> list[Any]:
    """The arguments whose class has the protocol for itself, one of each class: in their order, but those of a class
    before those of its bases."""
    own = getattr(Composition, protocol)
    numpy = sys.modules.get("numpy")
    theirs = () if numpy is None else (numpy.ndarray, numpy.generic)
    found: list[Any] = []
    kinds: set[type] = set()
    for x in items:
        kind = type(x)
        method = getattr(kind, protocol, own)
        if kind in kinds or method is own or isinstance(x, (type, *theirs)):
            continue
        kinds.add(kind)
        place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(place, x)
    return found


# --- ufuncs -----------------------------------------------------------------------------------------------------------


def asks_itself(*items: Any) -> bool:
    """Whether a class among those of the operands computes ufuncs itself."""
    return bool(_overriding(items, "__array_ufunc__"))


def sees_steps(items: Iterable[Any]) -> bool:
    """Whether a class among those of arrays computes ufuncs itself, or wraps what they give."""
    own = Composition.__array_ufunc__, Subclassed.__array_wrap__
    return any((type(x).__array_ufunc__, type(x).__array_wrap__) != own for x in items)


def operands(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All that takes part in a call of a ufunc: `out` and `where` too."""
    out = kwargs.get("out")
    return (*args, *(out if isinstance(out, tuple) else (out,)), kwargs.get("where"))


def by_ufunc(function: UfuncBase, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the operands' classes give for a call of a ufunc or its method; NoValue if none asks for it. Raises
    TypeError where all refuse, or one takes part in no ufunc."""
    asked = _overriding(operands(args, kwargs), "__array_ufunc__")
    if not asked:
        return NoValue
    for x in asked:
        if type(x).__array_ufunc__ is None:
            raise TypeError(f"operand '{type(x).__name__}' does not support ufuncs (__array_ufunc__=None)")
    inputs, options = normalized(function, method, args, kwargs)
    for x in asked:
        made = type(x).__array_ufunc__(x, function, method, *inputs, **options)
        if made is not NotImplemented:
            return made
    said = [repr(x) for x in inputs] + [f"{name}={value!r}" for name, value in options.items()]
    kinds = ", ".join(repr(type(x).__name__) for x in (*inputs, *options.get("out", ())))
    raise TypeError(
        f"operand type(s) all returned NotImplemented from __array_ufunc__({function!r}, {method!r}, {', '.join(said)})"
        f": {kinds}"
    )


# The arguments of methods behind the operands, which the protocol passes on by name.
_NAMES = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
    "reduceat": ("axis", "dtype", "out"),
}


def normalized(
    function: UfuncBase, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands and options as the protocol passes them on: `out` is a tuple, or it is left out."""
    options = dict(kwargs)
    inputs = args
    if method == "__call__":
        inputs = args[: function.nin]
        if len(args) > function.nin:
            outs = args[function.nin :]
            options["out"] = (*outs, *(None,) * (function.nout - len(outs)))
    elif method in _NAMES:
        count = 2 if method == "reduceat" else 1
        inputs = args[:count]
        given = dict(zip(_NAMES[method], args[count:], strict=False))
        options = given | options
        if method == "reduceat" and "indices" in options:
            inputs = (*inputs, options.pop("indices"))
    if options.get("out") is Ellipsis:  # an array in any case, of which no class is told
        del options["out"]
    elif "out" in options:
        out = options["out"] if isinstance(options["out"], tuple) else (options["out"],)
        if len(out) != function.nout:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        options["out"] = out
        if all(one is None or one is NoValue for one in out):
            del options["out"]
    if "sig" in options:
        if "signature" in options:
            raise TypeError("cannot specify both 'sig' and 'signature'")
        options["signature"] = options.pop("sig")
    return inputs, {name: x for name, x in options.items() if x is not NoValue}


# --- functions --------------------------------------------------------------------------------------------------------


def leaves(args: Iterable[Any], deep: bool = False) -> Iterator[Any]:
    """The arguments, and what is in lists; `deep`: in lists of lists too."""
    for x in args:
        if isinstance(x, (list, tuple)):
            yield from leaves(x, True) if deep else x
        else:
            yield x


def by_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the arguments' classes give for a call of a public function; NoValue if none asks for it. Raises TypeError
    where all refuse."""
    items = tuple(leaves((*args, *kwargs.values()), function.__name__ == "block"))
    asked = [x for x in _overriding(items, "__array_function__") if type(x).__array_function__ is not None]
    if not asked:
        return NoValue
    asked += [x for x in items if type(x) is Composition][:1]  # plain arrays take part, and are asked last
    kinds = tuple(type(x) for x in asked)
    for x in asked:
        if type(x) is Composition:  # which knows of nothing but arrays
            if all(issubclass(kind, Composition) for kind in kinds):
                return NoValue
            continue
        made = type(x).__array_function__(x, function, kinds, args, kwargs)
        if made is not NotImplemented:
            return made
    raise TypeError(
        f"no implementation found for 'numpy.{function.__name__}' on types that implement __array_function__: "
        f"{list(kinds)}"
    )
