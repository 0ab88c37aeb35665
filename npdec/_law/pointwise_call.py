"""A call as a function of its one decomposed argument, for the rules of pointwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Trait

__all__ = ["Known", "OneOutput", "PointwiseCall"]

Function = Callable[..., Any]

# What torch's functions take beside floating numbers, and their derivatives do not: those of logaddexp and pow subtract
# from booleans, and that of atan2 negates bytes.
_UNSIGNED = frozenset({torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64})


class Known:
    """A function of one tensor, which others may follow, with what is known of it: `function` is the one of torch that
    it calls, which may have closed forms, `exponent` what it raises to; `stepwise` says that it has jumps."""

    function: Any = None
    exponent: Any = None
    stepwise = False

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, u: torch.Tensor, *others: torch.Tensor) -> Any:
        return self.function(u, *others)


class PointwiseCall(Known):
    """A call as a function of its one decomposed argument, and of the other tensors among its arguments."""

    def __init__(self, call: Call) -> None:
        leaf = call.decomposed[0]
        self.function = call.func
        self.args, self.kwargs = list(call.args), dict(call.kwargs)
        self.key = leaf.key
        self.places: list[int | str] = []
        self.others: tuple[torch.Tensor, ...] = ()
        given: list[tuple[int | str, Any]] = [*enumerate(self.args), *self.kwargs.items()]
        for key, item in given:
            if isinstance(item, torch.Tensor) and key != leaf.key:
                self.places.append(key)
                number = item.dtype in _UNSIGNED and call.tags is not None and call.tags.get(key) == leaf.tag
                self.others = (*self.others, item.to(torch.int64) if number else item)
        self.stepwise = leaf.tag == "Stepwise"
        if call.traits & Trait.POWER and leaf.key in (0, "input", "self"):
            self.exponent = self.args[1] if len(self.args) > 1 else self.kwargs.get("exponent")

    def __call__(self, u: torch.Tensor, *others: torch.Tensor) -> Any:
        args, kwargs = self.args, self.kwargs
        for key, item in zip((*self.places, self.key), (*others, u), strict=True):
            if isinstance(key, int):
                args[key] = item
            else:
                kwargs[key] = item
        return self.function(*args, **kwargs)


class OneOutput(Known):
    """One of the results of such a function."""

    def __init__(self, f: Known, i: int) -> None:
        self.f, self.i = f, i
        self.stepwise = f.stepwise

    def __call__(self, u: torch.Tensor, *others: torch.Tensor) -> Any:
        return self.f(u, *others)[self.i]
