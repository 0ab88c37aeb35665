"""Looking on while a program runs: each operation that it calls, before and after.

The interpreter tells of each call and return of a Python function in this thread (`sys.setprofile`), while somebody
looks on and at no other time: operations have no part in it, and cost nothing more. An operation is a function of npdec
that code outside npdec has called; those that it calls itself are not told of. For functions of torch, which are
written in C, torch tells (`TorchFunctionMode`).
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple, Protocol

import torch

from npdec._torch.tracing import refuse_trace
from npdec.debug._calls import Call, read, read_torch
from npdec.debug._places import caller, is_own, is_watching

__all__ = ["Observer", "looking_on"]


class Observer(Protocol):
    """Who looks on."""

    def before(self, call: Call) -> None:
        """An operation is about to run."""

    def after(self, call: Call, result: Any) -> None:
        """It has given a result. What this raises the operation raises."""

    def failed(self, call: Call) -> None:
        """It has raised."""


class _Hook:
    """What the interpreter tells of calls and returns."""

    def __init__(self) -> None:
        self.open: dict[FrameType, Call] = {}
        self.resumed: dict[FrameType, int] = {}

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            if not is_own(frame) or (frame.f_back is not None and is_own(frame.f_back)):
                return
            state, user = _state.get(), caller(frame.f_back)
            if state is None or user is None or is_watching(frame):
                return
            call = read(frame, user, self.resumed.get(frame, 0))
            if call is not None:
                self.open[frame] = call
                _tell(state, call)
        elif event == "return" and frame in self.open:
            call = self.open.pop(frame)
            how = _left(frame) if arg is None else "returned"
            if frame.f_code.co_flags & inspect.CO_GENERATOR:
                if arg is None:  # it has ended, or is closed before: `zip` leaves off with the shortest
                    self.resumed.pop(frame, None)
                    return
                self.resumed[frame] = self.resumed.get(frame, 0) + 1
            state = _state.get()
            if state is not None:
                error = _told_of_result(state, call, arg, how == "raised")
                if error is not None:
                    raise error from None


def _left(frame: FrameType) -> str:
    """How a frame is left: what raises is told of as what returns None."""
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return "returned" if name.startswith("RETURN") else "raised"


class _Mode(torch.overrides.TorchFunctionMode):
    """What torch tells of its functions."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        state, user = _state.get(), caller(sys._getframe(1))
        call = None if state is None or user is None else read_torch(func, args, kwargs, user)
        if call is None or state is None:
            return func(*args, **(kwargs or {}))
        _tell(state, call)
        try:
            result = func(*args, **(kwargs or {}))
        except Exception:
            _told_of_result(state, call, None, True)
            raise
        error = _told_of_result(state, call, result, False)
        if error is not None:
            raise error from None
        return result


class _State(NamedTuple):
    hook: _Hook
    observers: tuple[Observer, ...]


_state: ContextVar[_State | None] = ContextVar("npdec.debug", default=None)


def _tell(state: _State, call: Call) -> None:
    for observer in state.observers:
        observer.before(call)


def _told_of_result(state: _State, call: Call, result: Any, raised: bool) -> Exception | None:
    """What an observer raises, without its traceback: from 3.12 on the interpreter leaves the operation's frame in it,
    so that one of npdec's more is all that may stand behind the line of the program."""
    for observer in state.observers:
        if raised:
            observer.failed(call)
            continue
        try:
            observer.after(call, result)
        except Exception as error:
            return error.with_traceback(None)
    return None


@contextlib.contextmanager
def looking_on(observer: Observer, *, torch_too: bool = True) -> Iterator[None]:
    """Within the context the observer is told of the operations that this thread or task calls.

    Raises RuntimeError where another tool has the interpreter's only place for a profiler.
    """
    refuse_trace("np.debug", "enter it around a call of the function that is not compiled")
    outer, profiler = _state.get(), sys.getprofile()
    if profiler is not None and not isinstance(profiler, _Hook):
        raise RuntimeError(
            f"np.debug: a profiler is running ({type(profiler).__name__}), and Python has a place for one only: leave "
            "it before (cProfile: disable(); sys.setprofile(None))"
        )
    hook = profiler if isinstance(profiler, _Hook) else _Hook()
    token = _state.set(_State(hook, (*(outer.observers if outer else ()), observer)))
    with contextlib.ExitStack() as stack:
        if torch_too and (outer is None or not _has_mode()):
            stack.enter_context(_Mode())
        try:
            sys.setprofile(hook)
            yield
        finally:
            _state.reset(token)
            sys.setprofile(profiler)  # also where an error of an observer has taken the hook away


def _has_mode() -> bool:
    return any(isinstance(mode, _Mode) for mode in torch.overrides._get_current_function_mode_stack())
