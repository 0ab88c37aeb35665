"""How results take the class of an argument: kept from where they come, wrapped as a ufunc's are, or plain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from npdec._array import memory, wrap
from npdec._core.base import ArrayBase, SubclassBase
from npdec._core.containers import refilled
from npdec._subclasses.arguments import Plain
from npdec._subclasses.array import adopt, base_of, plain_view
from npdec._subclasses.wrapping import dominant, wrapped, wrapper_among

__all__ = [
    "Call", "Give", "drop", "each", "joined", "keep", "kept", "of", "parts", "when", "wraps", "wraps_arrays",
]  # fmt: skip


class Call(NamedTuple):
    """What was called: the arguments as they were given, those that take part in the result by their class, and what
    plain arrays stood for."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: tuple[Any, ...]
    plain: Plain

    @property
    def first(self) -> Any:
        return self.inputs[0] if self.inputs else None

    def option(self, place: int, name: str, default: Any) -> Any:
        """An argument by its place or its name."""
        return self.args[place] if len(self.args) > place else self.kwargs.get(name, default)


Give = Callable[[Any, Call], Any]


def _within(result: Any, give: Callable[[Any], Any]) -> Any:
    if isinstance(result, (tuple, list)):
        items = [give(item) for item in result]
        return refilled(result, items)
    return result


def drop(result: Any, call: Call) -> Any:
    """Plain arrays; never the very one that an array of a subclass stands before."""
    if type(result) is wrap.ARRAY:
        origin = call.plain.origin(result)
        return result if origin is None else plain_view(origin)
    return _within(result, lambda item: drop(item, call))


def keep(result: Any, call: Call) -> Any:
    """Arrays of the class of the first argument, told that they come from it. Scalars stay scalars."""
    if type(result) is wrap.ARRAY:
        given = call.args[0] if call.args else None
        if isinstance(given, (list, tuple)) and given and given[0] is call.first:  # an array of several has no class
            return drop(result, call)
        return kept(result, call.first, call)
    return _within(result, lambda item: keep(item, call))


def kept(array: Any, source: Any, call: Call) -> Any:
    """One array of the class of the source, if it is one of a subclass."""
    if not isinstance(source, SubclassBase):
        return drop(array, call)
    if array is source._p:
        return source
    base = base_of(source, type(source)) if memory.shares_storage(array._t, source._p._t) else None
    return adopt(type(source), array, source, base)


def each(result: Any, call: Call) -> Any:
    """Of a tuple each array of the class of the argument in its place."""
    if not isinstance(result, (tuple, list)):  # of the one argument; a list of arrays has no class
        return kept(result, call.args[0], call)
    return type(result)([kept(item, x, call) for item, x in zip(result, call.args, strict=True)])


def wraps(result: Any, call: Call) -> Any:
    """Arrays and scalars as the argument of the highest priority wraps them."""
    source = wrapper_among(call.inputs)
    return drop(result, call) if source is None else _all_wrapped(result, source, call)


def wraps_arrays(result: Any, call: Call) -> Any:
    """The same, where scalars stay scalars."""
    if type(result) is wrap.ARRAY:
        return wraps(result, call)
    return _within(result, lambda item: wraps_arrays(item, call))


def _all_wrapped(result: Any, source: Any, call: Call) -> Any:
    if isinstance(result, ArrayBase):
        if type(result) is wrap.ARRAY and call.plain.origin(result) is source:
            return source
        return wrapped(source, result, None, type(result) is not wrap.ARRAY)
    return _within(result, lambda item: _all_wrapped(item, source, call))


def joined(result: Any, call: Call) -> Any:
    """Arrays of the class whose priority is above that of all others, told that they come from nothing."""
    source = dominant(call.inputs)
    if source is None or type(result) is not wrap.ARRAY:
        return drop(result, call)
    return adopt(type(source), result, None)


def of(place: int, name: str, give: Give = keep) -> Give:
    """The same, of the one argument at a place or of a name."""

    def picked(result: Any, call: Call) -> Any:
        return give(result, call._replace(inputs=(call.option(place, name, None),)))

    return picked


def parts(*gives: Give) -> Give:
    """Of a tuple of results each by itself; of a single one as of the first."""

    def give(result: Any, call: Call) -> Any:
        if not isinstance(result, tuple):
            return gives[0](result, call)
        items = [one(item, call) for one, item in zip(gives, result, strict=False)]
        return refilled(result, items)

    return give


def when(condition: Callable[[Any, Call], Any], give: Give, otherwise: Give) -> Give:
    """One way or the other, by the result and the call."""
    return lambda result, call: give(result, call) if condition(result, call) else otherwise(result, call)
