"""A call as a function of its one decomposed argument, for the rules of pointwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Trait

__all__ = ["as_function", "output"]

Function = Callable[..., Any]


def as_function(call: Call) -> tuple[tuple[torch.Tensor, ...], Function]:
    """The plain tensors among the arguments, and the function of the decomposed one and of them."""
    leaf = call.leaves[0]
    args, kwargs = list(call.args), dict(call.kwargs)
    places: list[tuple[Any, Any]] = []
    others: list[torch.Tensor] = []
    containers: tuple[tuple[Any, Any], ...] = ((args, range(len(args))), (kwargs, list(kwargs)))
    for container, keys in containers:
        for key in keys:
            item = container[key]
            if isinstance(item, torch.Tensor) and key != leaf.key:
                places.append((container, key))
                others.append(item)

    own: Any = args if isinstance(leaf.key, int) else kwargs

    def f(u: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        for (container, key), item in zip(places, rest, strict=True):
            container[key] = item
        own[leaf.key] = u
        return call.func(*args, **kwargs)

    f.function = call.func  # type: ignore[attr-defined]
    f.stepwise = leaf.tag == "Stepwise"  # type: ignore[attr-defined]
    if call.traits & Trait.POWER and leaf.key in (0, "input", "self"):
        f.exponent = args[1] if len(args) > 1 else kwargs.get("exponent")  # type: ignore[attr-defined]
    return tuple(others), f


def output(f: Function, i: int) -> Function:
    """One of the results of such a function."""

    def one(*args: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = f(*args)[i]
        return found

    one.stepwise = f.stepwise  # type: ignore[attr-defined]
    return one
