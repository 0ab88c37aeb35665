"""The same program a second time, operation by operation beside the first: in float32, or on another device.

Each operation is called again with what the second program has in the place of its arguments, so that both go one way,
and what differs has grown from the rounding (or the other device's kernels) of the operations before. What is written
by other means (an iterator, a generator that shuffles) the second program takes over from the first: torch's counters
of writes, which views share, tell. They do not count what is written into memory that NumPy or others have been
given, of which a copy is kept.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

import npdec as np
from npdec._core.base import ArrayBase, NDArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec.debug._calls import Call
from npdec.debug._differences import Difference, departure, difference_of, in_words
from npdec.debug._steps import version_of
from npdec.debug._values import Unknown, arrays_in, is_array, name_of_dtype, rebuilt, shown, value_of

__all__ = ["Follower", "on_device", "to_single"]

# Results that are not all said: memory that is not written, the order within the parts, which NumPy takes from the
# processor's vector code.
UNSPECIFIED = frozenset({"empty", "empty_like", "partition", "argpartition"})
# What hands out the memory of an array: to NumPy and others, which write into it.
_GIVING = frozenset(
    {"__array__", "__array_interface__", "__array_struct__", "__buffer__", "__dlpack__", "ctypes", "data"}
)
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
        # By the memory of arrays of the first program: how often it had been written when both were alike.
        self._writes: dict[int, int] = {}
        self._given: dict[int, torch.Tensor] = {}  # to NumPy: memories as they were
        self._apart: set[int] = set()  # memories of which the second program's views are none

    # -- which array stands for which ----------------------------------------------------------------------------------

    def other(self, array: Any) -> Any:
        """What stands for an array in the second program."""
        found = self._known.get(id(array))
        if found is not None and found[1].shape == array.shape and self.is_as_it_was(array):
            return found[1]
        made = self.convert(array)
        if found is not None and _written_over(found[1], made):
            self.saw(array)
            return found[1]
        if found is not None:
            self.part(array)
        self.keep(array, made)
        return made

    def part(self, array: Any) -> None:
        """Note that what is a view of an array in the first program may be none in the second."""
        memory, _ = _writes_of(array)
        if memory is not None:
            self._apart.add(memory)

    def is_as_it_was(self, array: Any) -> bool:
        """Whether nobody else has written into an array of the first program."""
        memory, writes = _writes_of(array)
        if memory is None:
            return True
        if memory in self._given and not torch.equal(self._given[memory], _bytes_of(array)):
            return False
        return memory not in self._apart and self._writes.get(memory) == writes

    def saw(self, array: Any) -> None:
        """Note that an array has in the second program what was written into it in the first."""
        memory, writes = _writes_of(array)
        if memory is not None:
            self._writes[memory] = writes
            if memory in self._given:
                self._given[memory] = _bytes_of(array).clone()

    def keep(self, array: Any, made: Any) -> None:
        self.saw(array)
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
        for array in written:
            self.saw(array)
        if call.attribute in _GIVING:
            memory, _ = _writes_of(call.args[0])
            if memory is not None:
                self._given.setdefault(memory, _bytes_of(call.args[0]).clone())
            return
        if _reads_bytes(call, result):
            self.part(result)
            return
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
            if is_array(result) and is_array(made) and tuple(result.shape) != tuple(made.shape):
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


def _writes_of(array: Any) -> tuple[int | None, int]:
    """The memory of an array, and how often it was written; None where nobody counts."""
    if isinstance(array, ArrayBase) and not isinstance(array, NDArrayBase):
        return None, 0  # a scalar
    tensor = array._t if isinstance(array, ArrayBase) else array
    if isinstance(tensor, DecomposedTensor):
        tensor = tensor.value
    if not isinstance(tensor, torch.Tensor) or tensor.is_inference() or tensor.layout is not torch.strided:
        return None, 0
    return tensor.untyped_storage()._cdata, tensor._version


def _bytes_of(array: Any) -> torch.Tensor:
    """The whole memory of an array."""
    tensor = value_of(array)
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _written_over(array: Any, values: Any) -> bool:
    """Whether values could be written into an array, of which others may be views."""
    if isinstance(array, np.generic) or tuple(array.shape) != tuple(values.shape):
        return False
    try:
        with torch.no_grad():
            array[...] = values
    except (ValueError, RuntimeError):  # it is read-only
        return False
    return True


def _reads_bytes(call: Call, result: Any) -> bool:
    """Whether an operation takes the bytes of numbers for others, which are others in float32."""
    return call.attribute == "view" and is_array(result) and name_of_dtype(result) != name_of_dtype(call.args[0])
