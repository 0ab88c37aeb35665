"""Floating-point errors: what NumPy does on division by zero, overflow, underflow and invalid operations.

torch reports none of them: they are found by looking at operands and results (`npdec._array.fp_errors`), which costs
passes over the elements. So the default is to ignore all four, which `geterr()` says, and only a state that asks for
them turns the checks on (`npdec._array.fp_state`).
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable
from contextvars import Token
from typing import Any

from npdec._array import fp_errors, fp_state
from npdec._array.fp_state import KINDS, STATE, Holder, State, current
from npdec._core.tracebacks import ends
from npdec._impl import _util

__all__ = ["errstate", "geterr", "geterrcall", "seterr", "seterrcall"]

_MODES = ("ignore", "warn", "raise", "call", "print", "log")


# --- the switch -------------------------------------------------------------------------------------------------------

_alive: set[weakref.ref[Holder]] = set()  # of states that check
_lock = threading.RLock()


def _turn() -> None:
    """Switch the checks on or off, as the states that contexts hold want it."""
    with _lock:
        while fp_state.watching is not bool(_alive):  # a holder may die meanwhile
            watching = fp_state.watching = not fp_state.watching
            for dtypes, open_for in fp_state.guarded_sets.items():
                if watching:
                    open_for.clear()
                else:
                    open_for.update(dtypes)
            for scope, name, function, checked in fp_state.functions:
                scope[name] = checked if watching else function
            _util.on_cast = fp_errors.check_cast if watching else None
            _util.on_number = fp_errors.check_number if watching else None


def _died(reference: weakref.ref[Holder]) -> None:
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
    return State(chosen, call)


def _held(state: State) -> Holder:
    """What a context is to hold the state by; the checks are on while it lives, if the state asks for them."""
    made = [Holder()]  # in no name: an error, or a debugger, may keep this frame
    try:
        made[0].state = state
        if state.kinds:
            _alive.add(weakref.ref(made[0], _died))
            _turn()
        return made.pop()
    finally:
        made.clear()


# --- the public functions ---------------------------------------------------------------------------------------------


def geterr() -> dict[str, str]:
    """What happens on division by zero, overflow, underflow and invalid operations: "ignore" unless it was changed.

    >>> np.geterr()
    {'divide': 'ignore', 'over': 'ignore', 'under': 'ignore', 'invalid': 'ignore'}
    """
    return dict(current().modes)


@ends
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
    STATE.set(_held(_state(state, modes, state.call)))
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
    STATE.set(_held(_state(state, {"all": None, **state.modes}, func)))
    return state.call


class _Unspecified:
    def __repr__(self) -> str:
        return "<unspecified>"


_unspecified = _Unspecified()


class errstate:
    """Choose what happens on floating-point errors within a `with` statement, or within a function that it decorates.

    The arguments are those of `seterr`, and `call` is that of `seterrcall`. As a context it serves once (TypeError).

    What is given holds for the installed NumPy too, if it has been imported: its own numbers (dates, long doubles) are
    computed by it alone, and libraries by which the statement goes on use it.

    >>> with np.errstate(invalid="raise"):
    ...     np.sqrt(np.array([-1.0]))
    Traceback (most recent call last):
    FloatingPointError: invalid value encountered in sqrt
    """

    __module__ = "npdec"
    __slots__ = ("_call", "_entered", "_modes", "_served", "_theirs", "_tokens")

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
        self._served = False
        self._tokens: list[Token[Holder]] = []
        self._entered: list[None] = []
        self._call = call
        self._modes = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}

    def _chosen(self) -> State:
        state = current()
        return _state(state, dict(self._modes), state.call if self._call is _unspecified else self._call)

    def _numpys(self) -> Any:
        """The same of NumPy's own state; None where nothing has imported it."""
        numpy: Any = sys.modules.get("numpy")
        if numpy is None:
            return None
        call = {} if self._call is _unspecified else {"call": self._call}
        return numpy.errstate(**self._modes, **call)

    def __enter__(self) -> None:
        if self._served:
            raise TypeError("Cannot enter `np.errstate` twice.")
        self._served = True
        try:
            chosen = self._chosen()
            self._tokens.extend(map(STATE.set, map(_held, (chosen,))))  # in one: an interrupt would lose the token
            self._theirs = self._numpys()
            if self._theirs is not None:
                self._entered.extend(map(type(self._theirs).__enter__, (self._theirs,)))
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exc_info: object) -> None:
        for _ in self._entered:
            self._theirs.__exit__(*exc_info)
        for token in self._tokens:
            STATE.reset(token)
            del token
        self._tokens.clear()  # they hold what held before

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with errstate(call=self._call, **self._modes):
                return func(*args, **kwargs)

        return inner
