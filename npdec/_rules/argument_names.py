"""The arguments of torch's functions by name: in their places, and by torch's names where NumPy's are given.

torch takes `input=` for the first argument, and `axis`, `keepdims`, `x`, `a`, `x1` and `x2` of NumPy for `dim`,
`keepdim`, `input` and `other`, wherever its own parser reads the arguments. Rules know torch's names alone, and tensors
by their places.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._torch.tracing import constant_when_traced

__all__ = ["follow", "following", "in_their_places", "out_of_place"]

_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
_OTHER_NAMES = _NUMPY_NAMES | {"self": "input"}  # as torch calls a number in the place of the first tensor
_PARSED = (types.BuiltinFunctionType, types.MethodDescriptorType)


def out_of_place(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether tensors may be given by name, or arguments by NumPy's names."""
    if not args:
        return True
    return any(isinstance(item, torch.Tensor) or name in _OTHER_NAMES for name, item in kwargs.items())


def in_their_places(
    func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of a call, those that have a place there, as far as none before them is left out."""
    if not isinstance(func, _PARSED):
        return args, kwargs
    moved, named = _plan(func, len(args), tuple(kwargs))
    return [*args, *[kwargs[name] for name in moved]], {new: kwargs[name] for name, new in named}


def following(
    func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of a call, all of them in their places where those that are given by name follow the others."""
    known = isinstance(func, _PARSED) and follow(func, len(args), tuple(kwargs))
    return ((*args, *kwargs.values()), {}) if known else (args, kwargs)


@functools.lru_cache(2**12)
def follow(func: Callable[..., Any], count: int, names: tuple[str, ...]) -> bool:
    """Whether arguments that are given by these names have the places behind the first `count`, in this order."""
    if isinstance(func, types.FunctionType):
        code, last = func.__code__, count + len(names)
        return last <= code.co_argcount and code.co_varnames[count:last] == names
    return isinstance(func, _PARSED) and _plan(func, count, names) == (names, ())


@constant_when_traced
def _plan(
    func: Callable[..., Any], count: int, given: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """For a call with `count` arguments by position and these by name: which names follow by position, and the others
    with the names that torch has for them."""
    overloads = _overloads(func)
    known = {name for _, names in overloads for name in names}
    torchs: dict[str, str] = {}
    for name in given:
        other = _OTHER_NAMES.get(name)
        torchs[other if other in known and name not in known else name] = name
    for places, names in overloads:
        if count <= len(places) and names.issuperset(torchs) and torchs.keys().isdisjoint(places[:count]):
            moved = []
            for name in places[count:]:
                if name not in torchs:
                    break
                moved.append(torchs.pop(name))
            return tuple(moved), tuple([(name, new) for new, name in torchs.items()])
    return (), tuple([(name, new) for new, name in torchs.items()])


@functools.cache
def _overloads(func: Callable[..., Any]) -> list[tuple[tuple[str, ...], frozenset[str]]]:
    """For each overload of a function, the names of the parameters that have a place, in order, and of all."""
    found = []
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{getattr(func, '__name__', '')}"):
        parameters = [("input" if a.name == "self" else a.name, a) for a in schema.arguments]
        if any("Tensor" in str(a.type) for _, a in parameters):
            places = tuple([name for name, a in parameters if not a.kwarg_only])
            found.append((places, frozenset([name for name, _ in parameters])))
    return found
