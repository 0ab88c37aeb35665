"""The state of floating-point errors: what to do on each kind, whether anybody looks for them, how they are reported.

The state is a ContextVar: one thread, or one task, knows nothing of another's. Nothing is asked on the fast path of a
call. That path is open for the dtypes in a set; while any state that checks is alive, wherever it is, the sets are
empty, and every call goes the long way, on which the caller's own state decides. `npdec._array.errstate` switches.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import torch

from npdec._impl import _util

__all__ = ["KINDS", "State", "current", "guarded", "ignored", "of_numpy", "report"]

# The kinds in the order in which they are reported: NumPy's words, and the bit that a callback is given.
KINDS = {
    "divide": ("divide by zero", 1),
    "over": ("overflow", 2),
    "under": ("underflow", 4),
    "invalid": ("invalid value", 8),
}


class State:
    """What to do on each kind of error, and the function or log to call. It never changes."""

    __slots__ = ("call", "kinds", "modes")

    def __init__(self, modes: dict[str, str], call: Any) -> None:
        self.modes = modes
        self.call = call
        watched = {kind for kind, mode in modes.items() if mode != "ignore"}
        # A callback is told of every error that occurred, those included that are ignored.
        self.kinds = frozenset(KINDS) if "call" in modes.values() else frozenset(watched)


class Holder:
    """What a context holds a state by. Nothing else holds it, so that it lives while the state may be a caller's: the
    state itself is also held by the frames of an exception that somebody keeps."""

    __slots__ = ("__weakref__", "state")

    state: State


STATE: ContextVar[Holder] = ContextVar("npdec floating-point errors")
_DEFAULT = Holder()
_DEFAULT.state = State(dict.fromkeys(KINDS, "ignore"), None)


def current() -> State:
    """The state of this thread or task."""
    return STATE.get(_DEFAULT).state


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Whatever happens within is not reported."""
    token = STATE.set(_DEFAULT)
    try:
        yield
    finally:
        STATE.reset(token)
        del token  # it holds what held before, and an exception this frame


def of_numpy(numpy: Any) -> Any:
    """NumPy's own state, while it computes for npdec: what npdec's says."""
    state = current()
    return numpy.errstate(**state.modes, call=state.call)


watching = False  # whether a state that checks is alive anywhere
guarded_sets: dict[frozenset[torch.dtype], set[torch.dtype]] = {}
functions: list[tuple[dict[str, Any], str, Any, Any]] = []  # where a function stands, itself, and it checked


def guarded(dtypes: Iterable[torch.dtype]) -> set[torch.dtype]:
    """The set of these dtypes, which is empty while errors are watched."""
    key = frozenset(dtypes)
    return guarded_sets.setdefault(key, set(() if watching else key))


def report(found: Iterable[str], where: str | dict[str, str]) -> None:
    """Do what the state says on the kinds of errors that occurred; `where` names the operation, as NumPy does."""
    found = frozenset(found)
    if not found:
        return
    state = current()
    flags = sum(bit for kind, (_, bit) in KINDS.items() if kind in found)
    for kind, (words, _) in KINDS.items():
        if kind not in found or state.modes[kind] == "ignore":
            continue
        mode, place = state.modes[kind], where if isinstance(where, str) else where[kind]
        message = f"{words} encountered in {place}"
        if mode == "warn":
            _util.warn(message, RuntimeWarning)
        elif mode == "raise":
            raise FloatingPointError(message)
        elif mode == "print":
            sys.stderr.write(f"Warning: {message}\n")
        elif mode == "call":
            if not callable(state.call):
                raise NameError(f"python callback specified for {words} (in  {place}) but no function found.")
            state.call(words, flags)
        else:
            if not hasattr(state.call, "write"):
                raise NameError(f"log specified for {words} (in {place}) but no object with write method found.")
            state.call.write(f"Warning: {message}\n")
