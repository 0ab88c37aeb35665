"""Writes that are whole or did not happen, and settings that are restored, whatever interrupts them.

A write of decomposed numbers changes several memories, and what tensors are. What is to be written is computed first;
then comes one call, of a loop in C over functions in C, between which Python runs no code of its own: the handlers of
signals, which raise KeyboardInterrupt, wait until it returns.
"""

from __future__ import annotations

import contextlib
import operator
from collections import deque
from collections.abc import Callable, Sequence
from itertools import starmap
from types import TracebackType
from typing import Any, TypeVar

import torch
from torch.autograd import forward_ad

from npdec._torch.functorch import depth, leave
from npdec._torch.tracing import tracing

__all__ = ["Step", "commit", "each", "undisturbed"]

Step = tuple[Any, ...]  # a function and its arguments
T = TypeVar("T")


def commit(steps: Sequence[Step], part: torch.Tensor | None = None) -> None:
    """Call the functions with their arguments, as one.

    The first writes into `part`, if that is given, and raises where torch does not allow it; nothing is done then. The
    others are of such a kind that they do not raise. One may all the same, in a mode of torch, which runs Python code
    in every function, or for want of memory: then what is left is done before the exception goes on. (If that fails as
    well, or if a second interrupt comes before it, the write is not whole.)
    """
    if tracing():
        for function, *args in steps:
            function(*args)
        return
    rest, version = iter(steps), None if part is None or part.is_inference() else part._version
    try:
        deque(starmap(operator.call, rest), 0)
    except BaseException:
        at = len(steps) - operator.length_hint(rest) - 1  # which was called last
        if at == 0 and version is not None and part is not None and part._version != version:
            at = 1
        if at > 0:
            for item in (item for _, *args in steps[at:] for item in args if isinstance(item, torch.Tensor)):
                _ = item.requires_grad and item.grad_fn  # or torch takes a view that failed half-way for a leaf
            deque(starmap(operator.call, steps[at:]), 0)
        raise


def each(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What a function that writes returns for each of the arguments. All of these are one write: where an exception
    comes in between, the calls that are left are made before it goes on."""
    made: list[Any] = []
    try:
        made.extend(starmap(function, calls))
    except BaseException:
        for args in calls[len(made) :]:
            function(*args)
        raise
    return made


def undisturbed(function: Callable[..., T], *args: Any) -> T:
    """What the function returns. If it raises, gradients are on or off as they were, and no transform of torch.func
    goes on: torch's contexts are Python code, which may be interrupted before it restores them."""
    if tracing():
        return function(*args)
    before = torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled(), forward_ad._current_level, depth()
    try:
        return function(*args)
    except BaseException as error:
        _close_generators(error.__traceback__)
        gradients, forward, level, transforms = before
        torch._C._set_grad_enabled(gradients)
        torch._C._set_fwd_grad_enabled(forward)
        while forward_ad._current_level > level:
            forward_ad.exit_dual_level()
        if depth() > transforms:
            leave(transforms)
        raise


_AT_THE_EDGE = frozenset(
    {contextlib._GeneratorContextManager.__enter__.__code__, contextlib._GeneratorContextManager.__exit__.__code__}
)


def _close_generators(traceback: TracebackType | None) -> None:
    """End the contexts that were interrupted as they began or ended: those that are generators would do so by
    themselves later, when nobody keeps the error any more."""
    while traceback is not None:
        if traceback.tb_frame.f_code in _AT_THE_EDGE:
            traceback.tb_frame.f_locals["self"].gen.close()
        traceback = traceback.tb_next
