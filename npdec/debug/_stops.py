"""`np.debug.watch`: stop at the first operation that makes what is not wanted; tracebacks with all their frames."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import torch

from npdec._core import tracebacks
from npdec._core.base import ArrayBase
from npdec._decomposed.completeness import default_rtol, relative_error
from npdec._decomposed.tensor import DecomposedTensor
from npdec.debug._calls import Call
from npdec.debug._looking import looking_on
from npdec.debug._places import caller
from npdec.debug._steps import version_of
from npdec.debug._values import arrays_in, elements_of, shown
from npdec.exceptions import CompletenessError

__all__ = ["full_tracebacks", "watch"]

_UNWRITTEN = frozenset({"empty", "empty_like"})  # whose numbers are whatever was there before
Found = Callable[[torch.Tensor], torch.Tensor]


class _Watch:
    def __init__(self, looked_for: dict[str, Found], completeness: Callable[[torch.dtype], float] | None) -> None:
        self.looked_for, self.completeness = looked_for, completeness
        self.debugger = False

    def before(self, call: Call) -> None:
        given = [(array, version_of(array)) for array in arrays_in((call.args, call.kwargs))]
        had = {what: _places(find, call) for what, find in self.looked_for.items()}
        call.notes[self] = given, had, self.completeness is not None and any(_misses(array) for array, _ in given)

    def failed(self, call: Call) -> None:
        pass

    def after(self, call: Call, result: Any) -> None:
        given, had, incomplete = call.notes.pop(self)
        if call.attribute in _UNWRITTEN:
            return
        written = [array for array, version in given if version_of(array) != version]
        for array in [*arrays_in(result), *written]:
            numbers = elements_of(array)
            if numbers is None:
                continue
            for what, find in self.looked_for.items():
                found = _new(find(numbers), had[what])
                if found is not None:
                    text = f"{int(found.sum())} of {found.numel()} elements"
                    text = text if found.dim() else f"the result, {numbers.item():.6g}"
                    self.stop(call, FloatingPointError(f"{call.name} makes {what}: {text}; {_arguments(call)}"))
            if self.completeness is not None and not incomplete:
                error, allowed = _misses(array), self.completeness(numbers.dtype)
                if error > allowed:
                    text = f"{call.name} is incomplete by {error:.1e}, relative, more than {allowed:.1e}"
                    self.stop(call, CompletenessError(f"{text}; {_arguments(call)}"))

    def stop(self, call: Call, error: Exception) -> NoReturn:
        place = call.place
        made = type(error)(f"{error}\n  {place.file}:{place.line}, in {place.function}: {place.text}")
        if self.debugger:
            import pdb

            sys.stdout.write(f"{made}\n")
            debugger = pdb.Pdb(nosigint=True)
            debugger.reset()
            debugger.interaction(_frame_of(call), None)
        raise made


def _frame_of(call: Call) -> Any:
    """The frame of the program from which the call is made that is about to end."""
    frame = sys._getframe(1)
    while frame is not None and (caller(frame) is not frame or frame.f_lineno != call.place.line):
        assert frame.f_back is not None
        frame = frame.f_back
    return frame


def _arguments(call: Call) -> str:
    words = [shown(arg) for arg in call.args] + [f"{name}={shown(arg)}" for name, arg in call.kwargs.items()]
    return f"arguments: {', '.join(words) or 'none'}"


def _places(find: Found, call: Call) -> list[torch.Tensor]:
    """Where the arguments have it already, numbers of Python's included."""
    numbers = [elements_of(array) for array in arrays_in((call.args, call.kwargs))]
    alone = [*call.args, *call.kwargs.values()]
    for item in [*alone, *(one for more in alone if isinstance(more, (list, tuple)) for one in more)]:
        if isinstance(item, (float, complex)) and not isinstance(item, ArrayBase):
            numbers.append(elements_of(item))
    return [found for one in numbers if one is not None and (found := find(one)).any()]


def _new(found: torch.Tensor, had: list[torch.Tensor]) -> torch.Tensor | None:
    """Where an operation has made it: where no argument has it. Of an argument that cannot be laid beside the result it
    may be from anywhere. None for nowhere."""
    if not found.any():
        return None
    for before in had:
        try:
            found = found & ~before.broadcast_to(found.shape)
        except RuntimeError:
            return None
    return found if found.any() else None


def _misses(array: Any) -> float:
    """How incomplete an array is; 0 for one that carries nothing, or of which a graph alone knows the contributions."""
    tensor = array._t if isinstance(array, ArrayBase) else array
    if not isinstance(tensor, DecomposedTensor) or tensor.reverse:
        return 0.0
    return relative_error(tensor)[0]


@contextlib.contextmanager
def watch(
    *,
    nan: bool = True,
    inf: bool = True,
    above: float | None = None,
    completeness: bool | float | None = None,
    debugger: bool = False,
) -> Iterator[None]:
    """Context manager: stop at the first operation that makes what is not wanted.

    The error names the operation, the shapes and dtypes of its arguments, and the line; the traceback ends there. An
    operation makes a NaN where none of its arguments has one: what NaN in the data becomes is let through.

    Parameters
    ----------
    nan, inf : bool
        Stop at a NaN, at an infinity.
    above : float, optional
        Stop at a magnitude above this one.
    completeness : bool or float, optional
        Stop where contributions do not add up, relatively to the largest magnitude, within this tolerance; True: half
        of the digits of the dtype.
    debugger : bool
        Enter pdb at that line before the error is raised; leave it with ``q`` or ``c``.

    Raises
    ------
    FloatingPointError
        At the first operation that makes a NaN, an infinity, or a magnitude above the bound.
    CompletenessError
        At the first operation that is incomplete.

    >>> with np.debug.watch():
    ...     np.sqrt(np.array([1.0, -1.0]))
    Traceback (most recent call last):
    FloatingPointError: sqrt makes nan: 1 of 2 elements; arguments: float64 (2,)...
    """
    looked_for: dict[str, Found] = {}
    if nan:
        looked_for["nan"] = torch.isnan
    if inf:
        looked_for["an infinity"] = torch.isinf
    if above is not None:
        if math.isnan(above):
            raise ValueError("np.debug.watch: above is nan")
        looked_for[f"a magnitude above {above:g}"] = functools.partial(_larger, above)
    allowed: Callable[[torch.dtype], float] | None = None
    if completeness is True:
        allowed = _half_of_digits
    elif completeness is not None and completeness is not False:
        allowed = lambda dtype: float(completeness)  # noqa: E731
    watcher = _Watch(looked_for, allowed)
    watcher.debugger = debugger
    with looking_on(watcher):
        yield


def _larger(above: float, numbers: torch.Tensor) -> torch.Tensor:
    return numbers.abs() > above if numbers.dtype is not torch.bool else torch.zeros_like(numbers)


def _half_of_digits(dtype: torch.dtype) -> float:
    return default_rtol(dtype if dtype.is_floating_point or dtype.is_complex else torch.float64)


@contextlib.contextmanager
def full_tracebacks() -> Iterator[None]:
    """Context manager: tracebacks of npdec's errors have all frames within it.

    Elsewhere they end at the line of the program, the public function that it calls, and the line that raises: what
    lies between is of interest to those who work on npdec. It holds for this thread or task.

    >>> with np.debug.full_tracebacks():
    ...     np.std(np.ones(3), axis=1)
    Traceback (most recent call last):
    numpy.exceptions.AxisError: axis 1 is out of bounds for array of dimension 1
    """
    token = tracebacks.full.set(True)
    try:
        yield
    finally:
        tracebacks.full.reset(token)
