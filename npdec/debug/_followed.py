"""The same program a second time, operation by operation beside the first: in float32, or on another device.

Each operation is called again with what the second program has in the place of its arguments, so that both go one way,
and what differs has grown from the rounding (or the other device's kernels) of the operations before.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

import npdec as np
from npdec._core.base import ArrayBase
from npdec.debug._calls import Call
from npdec.debug._differences import Difference, departure, difference_of, in_words
from npdec.debug._steps import version_of
from npdec.debug._values import Unknown, arrays_in, is_array, rebuilt, shown

__all__ = ["Follower", "on_device", "to_single"]

# Results that are not all said: memory that is not written, the order within the parts, which NumPy takes from the
# processor's vector code.
UNSPECIFIED = frozenset({"empty", "empty_like", "partition", "argpartition"})
_NARROW = {torch.float64: torch.float32, torch.complex128: torch.complex64}
_RANDOM = ("Generator", "RandomState", "random.")


def to_single(array: Any) -> Any:
    """The array with half of the digits, if it has those of float64; in any case a copy."""
    if isinstance(array, ArrayBase):
        numbers: Any = array
        dtype = _NARROW.get(numbers._d)
        if dtype is not None:
            return numbers.astype(np.dtype(dtype))
        return numbers.copy() if type(array) is np.ndarray else numbers
    if isinstance(array, torch.Tensor):
        return array.detach().clone().to(_NARROW.get(array.dtype, array.dtype))
    return array.astype({"float64": "float32", "complex128": "complex64"}.get(array.dtype.name, array.dtype))


def on_device(device: str) -> Callable[[Any], Any]:
    """What copies arrays to a device."""

    def copied(array: Any) -> Any:
        if isinstance(array, ArrayBase):
            return np.asarray(array._t.detach().to(device, copy=True))
        if isinstance(array, torch.Tensor):
            return array.detach().to(device, copy=True)
        return np.asarray(array, device=device)

    return copied


class Follower:
    """The second program. `convert` makes its arrays of those of the first; `settle` says whether a result is as
    arrays of it are, or has to be converted (an array that was made anew)."""

    def __init__(self, convert: Callable[[Any], Any], settled: Callable[[Any], bool], rtol: float) -> None:
        self.convert, self.settled, self.rtol = convert, settled, rtol
        self.difference: Difference | None = None
        self.worst: tuple[float, Call] | None = None
        self.count = 0
        # By the id of an array: a weak reference to it, or itself, so that no other gets the id; and the other's.
        self._known: dict[int, tuple[Any, Any]] = {}

    # -- which array stands for which ----------------------------------------------------------------------------------

    def other(self, array: Any) -> Any:
        """What stands for an array in the second program."""
        found = self._known.get(id(array))
        if found is not None:
            return found[1]
        made = self.convert(array)
        self.keep(array, made)
        return made

    def keep(self, array: Any, made: Any) -> None:
        key = id(array)
        try:
            held: Any = weakref.ref(array, lambda _: self._known.pop(key, None))
        except TypeError:
            held = array  # a scalar
        self._known[key] = held, made

    # -- operations ----------------------------------------------------------------------------------------------------

    def before(self, call: Call) -> None:
        if self.difference is not None or call.name.startswith(_RANDOM):
            return
        try:
            args, kwargs = rebuilt((call.args, call.kwargs), self.other)
        except Unknown:
            return
        given = [(array, version_of(array)) for array in arrays_in((call.args, call.kwargs))]
        call.notes[self] = args, kwargs, given, max((self.error(array) for array, _ in given), default=0.0)

    def failed(self, call: Call) -> None:
        call.notes.pop(self, None)

    def error(self, array: Any) -> float:
        """How far the second program has departed in an array."""
        found = departure(array, self.other(array))
        return 0.0 if found is None else found[1]

    def after(self, call: Call, result: Any) -> None:
        if self not in call.notes:
            return
        args, kwargs, given, before = call.notes.pop(self)
        self.count += 1
        try:
            with np.errstate(all="ignore"):
                made = call.function(*args, **kwargs)
        except Exception as error:
            theirs = f"{type(error).__name__}: {error}".splitlines()[0]
            self.difference = difference_of(call, "raises", shown(result), theirs, before=before)
            return
        written = [array for array, version in given if version_of(array) != version]
        if call.attribute in UNSPECIFIED:
            self.pair(result, self.convert(result))
            return
        self.pair(result, made)
        for array in written:
            self.look(call, array, self.other(array), before)
        self.look(call, result, made, before)

    def pair(self, result: Any, made: Any) -> None:
        """Note what stands for the results."""
        if is_array(result) and is_array(made):
            if id(result) not in self._known:
                self.keep(result, made if self.settled(made) else self.convert(made))
        elif isinstance(result, (tuple, list)) and isinstance(made, (tuple, list)):
            for one, other in zip(result, made):
                self.pair(one, other)

    def look(self, call: Call, result: Any, made: Any, before: float) -> None:
        """Whether a result departs by more than is allowed."""
        if self.difference is not None:
            return
        if isinstance(result, (tuple, list)) and isinstance(made, (tuple, list)):
            for one, other in zip(result, made):
                self.look(call, one, other, before)
            return
        found = departure(result, made)
        if found is None:
            if is_array(result) and is_array(made):
                self.difference = difference_of(call, "shape", shown(result), shown(made), before=before)
            elif isinstance(result, (bool, int)) and result != made:
                self.difference = difference_of(call, "values", repr(result), repr(made), before=before)
            return
        absolute, relative, index = found
        if self.worst is None or relative > self.worst[0]:
            self.worst = relative, call
        if relative > self.rtol:
            self.difference = difference_of(
                call, "values", in_words(result, index), in_words(made, index),
                absolute=absolute, relative=relative, index=index, before=before,
            )  # fmt: skip
