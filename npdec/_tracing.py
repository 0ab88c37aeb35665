"""What is different while torch.compile traces: no branch may depend on numbers, and no state of the moment be read.

A graph is made once and runs for all inputs. So where the law looks at numbers to choose a formula (the slope of a
pointwise function, the nodes of a quadrature), traced code computes both and selects, or takes a fixed number of nodes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch

__all__ = ["constant_when_traced", "count_contexts", "refuse_contexts", "tracing"]

tracing = torch.compiler.is_compiling

Function = TypeVar("Function", bound=Callable[..., Any])


def constant_when_traced(function: Function) -> Function:
    """Mark a function of constants: torch.compile calls it while it traces, and keeps the result.

    It is torch.compiler.assume_constant_result, which imports the whole compiler first.
    """

    @functools.wraps(function)
    def constant(*args: Any) -> Any:
        return function(*args)

    constant._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return cast(Function, constant)


# How many contexts that change the law or watch it (np.rule, np.check_completeness) are entered, in all threads. The
# contexts themselves are local to a thread; this number is for torch.compile alone, which cannot read a ContextVar but
# recompiles where a number that it read has changed.
_entered = 0
_lock = threading.Lock()


def count_contexts(more: int) -> None:
    """Say that a context is entered (1) or left (-1)."""
    global _entered  # noqa: PLW0603
    with _lock:
        _entered += more


def refuse_contexts(operation: str) -> None:
    """Raise NotImplementedError if a context is entered that a graph would not know of."""
    if _entered:
        raise NotImplementedError(
            f"{operation}: within np.rule or np.check_completeness torch.compile cannot trace decomposed tensors. "
            "Leave the context, or call the function without compiling it"
        )
