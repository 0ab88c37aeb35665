"""What is different while torch.compile traces: no branch may depend on numbers, and no state of the moment be read.

A graph is made once and runs for all inputs. So where the law looks at numbers to choose a formula (the slope of a
pointwise function, the nodes of a quadrature), traced code computes both and selects, or takes a fixed number of nodes.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from typing import Any, TypeVar, cast

import torch

__all__ = [
    "Nested",
    "bound_by",
    "carrier",
    "constant_when_traced",
    "count_registration",
    "direct",
    "holding",
    "imported",
    "name_of",
    "note_context",
    "number_of",
    "Refused",
    "recording",
    "refuse_recording",
    "refuse_contexts",
    "refuse_trace",
    "registrations",
    "restart_trace",
    "tracing",
]

# Within traced code alone: what the compiler itself calls meanwhile is not traced.
tracing = torch.compiler.is_dynamo_compiling

# The methods and properties of decomposed tensors that stand before torch's of the same names (`npdec._rules.direct`).
direct: set[str] = set()

# What np.jit records the function into that runs.
recording: ContextVar[Any] = ContextVar("npdec_recording", default=None)


class Refused(BaseException):
    """The function cannot become a graph; the message says why. No function's own `except Exception` catches it."""


def refuse_recording(reason: str) -> None:
    """Raise Refused where np.jit records what has no place in a graph."""
    if recording.get() is not None:
        raise Refused(reason)


def number_of(tensor: torch.Tensor) -> Any:
    """The element of a tensor that has one; of what np.jit records, what stands for it."""
    recorder = recording.get()
    return tensor.item() if recorder is None else recorder.numbers.item(tensor)


def imported(name: str) -> types.ModuleType:
    """Import a module of npdec's, if it is not. The arrays that it makes then stay, and are of no recording."""
    if recording.get() is None or name in sys.modules:
        return importlib.import_module(name)
    token = recording.set(None)
    try:
        with torch.utils._python_dispatch._disable_current_modes():
            return importlib.import_module(name)
    finally:
        recording.reset(token)


Function = TypeVar("Function", bound=Callable[..., Any])
T = TypeVar("T")


def constant_when_traced(function: Function) -> Function:
    """Mark a function of constants: torch.compile calls it while it traces, and keeps the result.

    It is torch.compiler.assume_constant_result, which imports the whole compiler first.
    """

    @functools.wraps(function)
    def constant(*args: Any) -> Any:
        return function(*args)

    marked: Any = constant
    marked._dynamo_marked_constant = True
    return cast(Function, constant)


@constant_when_traced
def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, which a traced string method can read."""
    return getattr(function, "__name__", str(function))


def bound_by(getter: Any) -> Any:
    """The method that `getter` binds, if that is written in Python, or None. Python calls the function of such methods;
    torch.compile takes them for attributes."""
    function = getattr(getter, "__self__", None)
    return function if isinstance(function, types.FunctionType) else None


def carrier(value: torch.Tensor) -> torch.Tensor:
    """The tensor that becomes a decomposed tensor of the value: it looks at the same memory. In place of one that can
    be of no subclass, as are those with which torch.export looks at code, something without numbers."""
    if tracing():  # torch.compile knows no subclass of one of its inputs, but of a view
        return value.view_as(value)
    kind: Any = type(value)
    if kind is torch.Tensor or kind.__torch_dispatch__ is torch._C._disabled_torch_dispatch_impl:
        return value
    with torch._C._DisableTorchDispatch():
        return torch.empty(0, dtype=value.dtype, device="meta")


# The contexts that change the law or watch it (np.rule, np.check_completeness) and are entered, in all threads. Each
# holds in its own thread alone; this is for torch.compile, which cannot read a ContextVar but recompiles where what it
# read has changed.
_contexts: dict[int, object] = {}
# How often rules were registered: likewise.
_registrations = 0
_lock = threading.Lock()


def note_context(context: object, entered: bool) -> None:
    """Say that a context is entered or left, once or twice."""
    if entered:
        _contexts[id(context)] = context
    else:
        _contexts.pop(id(context), None)


@contextlib.contextmanager
def holding(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Within the context the variable has the value, of which a graph would not know."""
    tokens: list[Token[T]] = []
    try:
        tokens.extend(map(variable.set, (value,)))  # in one: an interrupt between two lines would lose the token
        note_context(tokens, True)
        yield
    finally:
        for token in tokens:
            variable.reset(token)
        note_context(tokens, False)


def count_registration() -> None:
    """Say that a rule is registered."""
    global _registrations  # noqa: PLW0603
    with _lock:
        _registrations += 1


def registrations() -> int:
    """How many rules were registered."""
    return _registrations


def refuse_contexts(operation: str) -> None:
    """Raise NotImplementedError if a context is entered that a graph would not know of."""
    if _contexts:
        raise NotImplementedError(
            f"{operation}: within np.rule or np.check_completeness torch.compile cannot trace decomposed tensors. "
            "Leave the context, or call the function without compiling it"
        )


def restart_trace(reason: str) -> None:
    """Let torch.compile begin the trace again, in which something has changed that it has looked at."""
    from torch._dynamo.exc import RestartAnalysis
    from torch._dynamo.symbolic_convert import InstructionTranslator

    InstructionTranslator.current_tx().speculation_log.clear()  # the trace may go another way
    raise RestartAnalysis(restart_reason=reason)


def refuse_trace(operation: str, instead: str) -> None:
    """Raise NotImplementedError where torch.compile traces what has no place in a graph."""
    if tracing():
        raise NotImplementedError(f"{operation} has no place in code that torch.compile traces: {instead}")


class Nested(torch.overrides.TorchFunctionMode):
    """Within a rule that is traced, torch functions of decomposed tensors have their rules as well.

    They have in Python, but torch.compile turns `__torch_function__` of subclasses off within itself; a mode, which
    enters itself again, it leaves on:
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_dynamo/variables/torch_function.py (call_torch_function)
    """

    def __init__(self, subclass: type[torch.Tensor], dispatch: Callable[..., Any]) -> None:
        super().__init__()
        self.subclass = subclass
        self.dispatch = dispatch

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        for t in types:
            if t is self.subclass:
                with self:
                    return self.dispatch(func, args, kwargs or {})
        if func is torch.Tensor.unflatten:
            func = torch.unflatten  # the method calls super(), which torch.compile cannot follow here
        return func(*args, **(kwargs or {}))
