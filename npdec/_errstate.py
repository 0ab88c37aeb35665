"""Floating-point errors: what NumPy does on division by zero, overflow, underflow and invalid operations.

torch reports none of them: they are found by looking at operands and results (`npdec._fp_errors`), which costs passes
over the numbers. So the default is to ignore all four, which `geterr()` says, and only a state that asks for them turns
the checks on. The state is a ContextVar: one thread, or one task, knows nothing of another's.

Nothing is asked on the fast path of a call. That path is open for the dtypes in a set; while any state that checks is
alive, wherever it is, the sets are empty, and every call goes the long way, on which the caller's own state decides.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from contextvars import ContextVar, Token
from typing import Any

import torch

from npdec._impl import _util

__all__ = ["errstate", "geterr", "geterrcall", "seterr", "seterrcall"]

# The kinds in the order in which they are reported: NumPy's words, and the bit that a callback is given.
KINDS = {
    "divide": ("divide by zero", 1),
    "over": ("overflow", 2),
    "under": ("underflow", 4),
    "invalid": ("invalid value", 8),
}
_MODES = ("ignore", "warn", "raise", "call", "print", "log")


class State:
    """What to do on each kind of error, and the function or log to call. It never changes."""

    __slots__ = ("__weakref__", "call", "kinds", "modes")

    def __init__(self, modes: dict[str, str], call: Any) -> None:
        self.modes = modes
        self.call = call
        watched = {kind for kind, mode in modes.items() if mode != "ignore"}
        # A callback is told of every error that occurred, those included that are ignored.
        self.kinds = frozenset(KINDS) if "call" in modes.values() else frozenset(watched)


_STATE: ContextVar[State] = ContextVar("npdec floating-point errors")
_DEFAULT = State(dict.fromkeys(KINDS, "ignore"), None)


def current() -> State:
    """The state of this thread or task."""
    return _STATE.get(_DEFAULT)


# --- the switch -------------------------------------------------------------------------------------------------------

watching = False  # whether a state that checks is alive anywhere
_alive: set[weakref.ref[State]] = set()
_lock = threading.RLock()
_guarded: dict[frozenset[torch.dtype], set[torch.dtype]] = {}
_functions: list[tuple[dict[str, Any], str, Any, Any]] = []  # where a function stands, itself, and it checked


def guarded(dtypes: Iterable[torch.dtype]) -> set[torch.dtype]:
    """The set of these dtypes, which is empty while errors are watched."""
    key = frozenset(dtypes)
    return _guarded.setdefault(key, set(() if watching else key))


def watch(scope: dict[str, Any], name: str, errors: Any) -> None:
    """Have the function of this name in a scope checked while errors are watched, and report them as `errors` says."""
    function = scope[name]

    def checked(*args: Any, **kwargs: Any) -> Any:
        from npdec import _fp_errors

        return _fp_errors.run(function, errors, args, kwargs)

    _functions.append((scope, name, function, checked))
    if watching:
        scope[name] = checked


def _check_cast(source: torch.Tensor, result: torch.Tensor) -> None:
    from npdec import _fp_errors

    _fp_errors.check_cast(source, result)


def _turn() -> None:
    """Switch the checks on or off, as living states want it."""
    global watching  # noqa: PLW0603
    with _lock:
        while watching is not bool(_alive):  # a state may die meanwhile
            watching = not watching
            for dtypes, open_for in _guarded.items():
                if watching:
                    open_for.clear()
                else:
                    open_for.update(dtypes)
            for scope, name, function, checked in _functions:
                scope[name] = checked if watching else function
            _util.on_cast = _check_cast if watching else None


def _died(reference: weakref.ref[State]) -> None:
    _alive.discard(reference)
    _turn()


def _state(previous: State, modes: dict[str, str | None], call: Any) -> State:
    for mode in modes.values():
        if mode is not None and mode not in _MODES:
            raise ValueError(f"invalid error mode {mode!r}")
    if call is not None and not callable(call) and not callable(getattr(call, "write", None)):
        raise TypeError("python object must be callable or have a callable write method")
    every = modes.pop("all")
    chosen = {kind: modes[kind] or every or previous.modes[kind] for kind in KINDS}
    state = State(chosen, call)
    if state.kinds:
        _alive.add(weakref.ref(state, _died))
        _turn()
    return state


# --- the public functions ---------------------------------------------------------------------------------------------


def geterr() -> dict[str, str]:
    """What happens on division by zero, overflow, underflow and invalid operations: "ignore" unless it was changed.

    >>> np.geterr()
    {'divide': 'ignore', 'over': 'ignore', 'under': 'ignore', 'invalid': 'ignore'}
    """
    return dict(current().modes)


def seterr(
    all: str | None = None,
    divide: str | None = None,
    over: str | None = None,
    under: str | None = None,
    invalid: str | None = None,
) -> dict[str, str]:
    """Choose what happens on floating-point errors from here on, in this thread or task; gives what held before.

    Modes: "ignore" (the default: errors are not even looked for, since that takes time and waits for the device),
    "warn" (RuntimeWarning), "raise" (FloatingPointError), "print", and "call" and "log" (see `seterrcall`). `all` is
    for the kinds that are not given. Errors are found by looking at operands and results; underflow in products,
    quotients, powers and exponentials of real numbers. Nothing is checked inside `torch.compile` and `torch.vmap`.
    Raises ValueError for another mode.

    >>> before = np.seterr(divide="raise")
    >>> np.array([1.0, 2.0]) / 0
    Traceback (most recent call last):
    FloatingPointError: divide by zero encountered in divide
    >>> np.seterr(**before)["divide"]
    'raise'
    """
    state = current()
    modes = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
    _STATE.set(_state(state, modes, state.call))
    return dict(state.modes)


def geterrcall() -> Any:
    """The function or log of `seterrcall`; None if there is none.

    >>> np.geterrcall() is None
    True
    """
    return current().call


def seterrcall(func: Any) -> Any:
    """Give the function for the mode "call", or the object with a method `write` for "log"; gives the former one.

    The function is called with the kind of error ("overflow") and with a sum of 1 (division by zero), 2 (overflow),
    4 (underflow) and 8 (invalid value), for all that occurred. Raises TypeError for what can be neither.

    >>> former = np.seterrcall(lambda kind, flags: print(kind, flags))
    >>> with np.errstate(over="call"):
    ...     x = np.exp(np.array([1000.0]))
    overflow 2
    >>> former = np.seterrcall(former)
    """
    state = current()
    _STATE.set(_state(state, {"all": None, **state.modes}, func))
    return state.call


class _Unspecified:
    def __repr__(self) -> str:
        return "<unspecified>"


_unspecified = _Unspecified()


class errstate:
    """Choose what happens on floating-point errors within a `with` statement, or within a function that it decorates.

    The arguments are those of `seterr`, and `call` is that of `seterrcall`. As a context it serves once (TypeError).

    >>> with np.errstate(invalid="raise"):
    ...     np.sqrt(np.array([-1.0]))
    Traceback (most recent call last):
    FloatingPointError: invalid value encountered in sqrt
    """

    __module__ = "npdec"
    __slots__ = ("_call", "_modes", "_tokens")

    def __init__(
        self,
        *,
        call: Any = _unspecified,
        all: str | None = None,
        divide: str | None = None,
        over: str | None = None,
        under: str | None = None,
        invalid: str | None = None,
    ) -> None:
        self._tokens: list[Token[State]] = []
        self._call = call
        self._modes = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}

    def _chosen(self) -> State:
        state = current()
        return _state(state, dict(self._modes), state.call if self._call is _unspecified else self._call)

    def __enter__(self) -> None:
        if self._tokens:
            raise TypeError("Cannot enter `np.errstate` twice.")
        try:
            self._tokens.extend(map(_STATE.set, (self._chosen(),)))  # in one: an interrupt would lose the token
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exc_info: object) -> None:
        for token in self._tokens:
            _STATE.reset(token)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with errstate(call=self._call, **self._modes):
                return func(*args, **kwargs)

        return inner


# --- reports ----------------------------------------------------------------------------------------------------------


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
