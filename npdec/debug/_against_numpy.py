"""Each operation of npdec beside NumPy's function of that name, on the same numbers.

The arguments are handed to NumPy as they lie in memory: copies of whole memories, of which the arrays that share one
are views as before. So aliases are NumPy's too, and what an operation writes is compared in all of them.
"""

from __future__ import annotations

import copy
import types
import warnings
from typing import Any

import torch

import npdec as np
from npdec._array.iterators import flatiter
from npdec._core.base import ArrayBase, NDArrayBase, UfuncBase
from npdec._core.tags import NoValue
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._random.generator import Generator
from npdec._random.legacy import RandomState
from npdec._random.streams import TorchStream
from npdec.debug._calls import Call
from npdec.debug._differences import Difference, departure, difference_of, in_words, unlike
from npdec.debug._followed import UNSPECIFIED
from npdec.debug._values import Unknown, arrays_in, is_array, rebuilt, shown, value_of

__all__ = ["NumPyBeside", "numpy_of"]

_OWN = frozenset(
    {"decompose", "attribute", "completeness", "ndarray.tensor", "ndarray.contributions", "ndarray.to_device"}
)
_WITHOUT_MEMORY = frozenset({"ndarray.real", "ndarray.imag", "ndarray.__iter__", "ndarray.flat"})
# Vectors that are determined up to a factor of magnitude one, of which only magnitudes are compared; and a set, whose
# order NumPy leaves open.
_UP_TO_SIGN = frozenset({"linalg.eig", "linalg.eigh", "linalg.svd", "linalg.qr"})
_IN_ANY_ORDER = frozenset({"unique_values"})
# Sorting leaves the order of equals open, unless it is asked to be stable.
_OPEN_AMONG_EQUALS = frozenset({"argsort", "ndarray.argsort"})
# Counts and steps that rounding on the way may move; those of other functions are decided by the numbers as they are.
_COUNTS_OF_ROUNDED = ("linalg.", "histogram", "isclose", "allclose")
_STEPS = frozenset("floor ceil trunc rint round around fix sign floor_divide __floordiv__ heaviside modf".split())
# Where IEEE 754 says which sign a zero has.
_SIGNED = frozenset(
    """
    add subtract multiply divide true_divide negative positive sqrt copysign floor ceil trunc rint where
    __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__ __itruediv__
    __neg__ __pos__ __abs__ absolute abs fabs __getitem__ __setitem__ copy reshape astype
""".split()
)
_DRAWING = ("Generator.", "RandomState.")
_SMALL_CHANGES = 4  # of the arguments, to see what rounding makes of an operation
_ALLOWED_OF_ROUNDING = 64.0


class _Absent(Exception):
    """NumPy has nothing of this name."""


def numpy_of(value: Any) -> Any:
    """NumPy's function, class, dtype or module of this name; other values as they are. Unknown if it has none."""
    import numpy

    if isinstance(value, dtype_class):
        return numpy.dtype(str(value))
    if isinstance(value, torch.dtype):
        return numpy.dtype(str(value).removeprefix("torch."))
    if isinstance(value, UfuncBase):
        found = getattr(numpy, value.__name__, None)
        if found is None:
            raise Unknown(value.__name__)
        return found
    module = getattr(value, "__module__", None)
    if isinstance(module, str) and module.partition(".")[0] == "npdec" and hasattr(value, "__name__"):
        for place in (module.partition(".")[2], ""):
            found = _at(numpy, f"{place}.{value.__name__}".strip("."))
            if found is not None:
                return found
        raise Unknown(value.__name__)
    return value


def _at(thing: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        thing = getattr(thing, name, None)
    return thing


class _Memories:
    """Copies of memories as NumPy's arrays."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self.pairs: list[tuple[Any, Any]] = []  # each array, and NumPy's

    def array(self, given: Any) -> Any:
        made = self._array(given)
        self.pairs.append((given, made))
        return made

    def _array(self, given: Any) -> Any:
        import numpy

        if not isinstance(given, (ArrayBase, torch.Tensor)):
            return given.copy()
        tensor = value_of(given)
        if tensor.layout is not torch.strided or tensor.dtype is torch.bfloat16 or tensor.is_meta:
            raise Unknown(str(tensor.dtype))
        if isinstance(given, ArrayBase) and not isinstance(given, NDArrayBase):
            return numpy.asarray(tensor.cpu().numpy())[()]
        if getattr(given, "_src", None) is not None or tensor.is_conj() or tensor.is_neg() or not tensor.is_cpu:
            return numpy.array(tensor.cpu().resolve_conj().resolve_neg().numpy())
        storage = tensor.untyped_storage()
        key = storage.data_ptr() if storage.nbytes() else id(given)
        if key not in self.made:
            self.made[key] = torch.empty(0, dtype=torch.uint8).set_(storage.clone())
        memory = self.made[key].untyped_storage()
        there = torch.empty(0, dtype=tensor.dtype).set_(memory, tensor.storage_offset(), tensor.shape, tensor.stride())
        made = there.numpy()
        flags = getattr(given, "flags", None)
        if flags is not None and not flags.writeable:
            made.flags.writeable = False
        return made


class NumPyBeside:
    """NumPy's functions beside those of the program."""

    def __init__(self, rtol: float | None) -> None:
        self.rtol = rtol
        self.difference: Difference | None = None
        self.count = 0

    def before(self, call: Call) -> None:
        if self.difference is not None or call.kind == "torch" or call.name in _OWN:
            return
        try:
            memories = _Memories()
            function = self.function(call)
            given, before = _first(call.args, memories)
            args, kwargs = rebuilt((given, _on_host(call.kwargs)), memories.array, _atom)
            args = (*before, *args)
        except (Unknown, _Absent):
            return
        call.notes[self] = function, args, kwargs, memories

    def function(self, call: Call) -> Any:
        import numpy

        if call.name.startswith(_DRAWING):
            return call.attribute
        if call.name.startswith(("numpy.", "random.")):
            raise _Absent
        if call.kind in ("method", "attribute", "assignment"):
            if not call.name.startswith("ndarray.") or not hasattr(numpy.ndarray, call.attribute):
                raise _Absent
            return call.attribute
        if call.name == "ndarray.__iter__":
            return call.function
        found = _at(numpy, call.name)
        if found is None:
            raise _Absent
        return found

    def failed(self, call: Call) -> None:
        if self not in call.notes:
            return
        function, args, kwargs, _ = call.notes.pop(self)
        try:
            made = self.run(call, function, args, kwargs)
        except Exception:
            return  # the program's own fault
        self.difference = difference_of(call, "raises", "npdec raises", f"NumPy gives {_described(made)}")

    def run(self, call: Call, function: Any, args: Any, kwargs: Any) -> Any:
        import numpy

        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if call.kind == "attribute":
                return getattr(args[0], function)
            if call.kind == "assignment":
                return setattr(args[0], function, args[1])
            if call.kind == "method":
                return getattr(args[0], function)(*args[1:], **kwargs)
            return function(*args, **kwargs)

    def after(self, call: Call, result: Any) -> None:
        if self not in call.notes:
            return
        import numpy

        function, args, kwargs, memories = call.notes.pop(self)
        try:
            made: Any = self.run(call, function, args, kwargs)
        except Exception as error:
            theirs = f"NumPy raises {type(error).__name__}: {error}".splitlines()[0]
            self.difference = difference_of(call, "raises", _described(result), theirs)
            return
        self.count += 1
        if made is NotImplemented or result is NotImplemented:
            return
        for given, copied in memories.pairs:
            if isinstance(given, NDArrayBase) and self.difference is None:
                self.look(call, given, copied, "written", None)
        again: Any = (function, args, kwargs, memories)
        if call.name in _UP_TO_SIGN:
            result, made, again = _magnitudes(np, result), _magnitudes(numpy, made), None
        elif call.name in _IN_ANY_ORDER:
            result, made, again = np.sort(result), numpy.sort(made), None
        elif call.name in _OPEN_AMONG_EQUALS and not _is_stable(args, kwargs):
            (result, made), again = _sorted_by(np.array(args[0]), args, kwargs, result, made), None
        elif call.name.startswith(_DRAWING):  # the next numbers are others
            again = None
        self.look(call, result, made, "values", again)
        if self.difference is None:
            self.look_at_memory(call, result, made, memories)

    # -- what is compared ----------------------------------------------------------------------------------------------

    def look(self, call: Call, ours: Any, theirs: Any, kind: str, again: Any) -> None:
        if self.difference is not None:
            return
        if isinstance(ours, dtype_class) and str(ours) != str(numpy_of(theirs)):
            self.difference = difference_of(call, "dtype", str(ours), f"{theirs} in NumPy")
        elif isinstance(ours, str) and isinstance(theirs, str) and ours != theirs:
            self.difference = difference_of(call, "values", repr(ours), f"{theirs!r} in NumPy")
        elif isinstance(ours, (tuple, list)) and isinstance(theirs, (tuple, list)):
            if len(ours) != len(theirs):
                self.difference = difference_of(call, "shape", f"{len(ours)} results", f"{len(theirs)} in NumPy")
            for one, other in zip(ours, theirs):
                self.look(call, one, other, kind, None)
        if isinstance(ours, (tuple, list)):
            return
        if not is_array(ours) or not is_array(theirs):
            if type(ours) is type(theirs) and isinstance(ours, (bool, int)) and ours != theirs:
                self.difference = difference_of(call, kind, repr(ours), f"{theirs!r} in NumPy")
            if isinstance(ours, NDArrayBase) and len(ours._t.shape) and isinstance(theirs, (int, float, complex)):
                self.difference = difference_of(call, "shape", shown(ours), f"{type(theirs).__name__} in NumPy")
            if not isinstance(ours, float) or not isinstance(theirs, float):
                return
        elif str(getattr(ours, "dtype", "")).removeprefix("torch.") != str(theirs.dtype):
            self.difference = difference_of(call, "dtype", shown(ours), f"{shown(theirs)} in NumPy")
            return
        elif tuple(ours.shape) != tuple(theirs.shape):
            self.difference = difference_of(call, "shape", shown(ours), f"{shown(theirs)} in NumPy")
            return
        elif not isinstance(theirs, ArrayBase) and isinstance(ours, NDArrayBase) is not _is_array_of_numpy(theirs):
            words = ("a scalar", "an array")
            ours_is = isinstance(ours, NDArrayBase)
            self.difference = difference_of(call, "type", words[ours_is], f"{words[not ours_is]} in NumPy")
            return
        if kind == "values" and _may_be_written(ours) and not theirs.flags.writeable:
            self.difference = difference_of(call, "memory", "an array that may be written", "read-only in NumPy")
            return
        found = None if call.attribute in UNSPECIFIED else unlike(ours, theirs, self.rtol, call.attribute in _SIGNED)
        if found is None or (again is not None and 0 < found[0] <= self.of_rounding(call, theirs, *again)):
            return
        absolute, relative, index = found
        self.difference = difference_of(
            call, kind, in_words(ours, index), f"{in_words(theirs, index)} in NumPy",
            absolute=absolute, relative=relative, index=index,
        )  # fmt: skip

    def of_rounding(self, call: Call, made: Any, function: Any, args: Any, kwargs: Any, memories: _Memories) -> float:
        """What rounding may have made of the result, if the operation is badly conditioned: how much NumPy's own result
        changes with the last digits of the arguments."""
        import numpy

        if call.attribute in _STEPS or (_is_counted(made) and not call.name.startswith(_COUNTS_OF_ROUNDED)):
            return 0.0
        if isinstance(function, str) and function.startswith("__i") and function not in ("__invert__", "__iter__"):
            return 0.0
        moved = 0.0
        random = numpy.random.default_rng(0)

        def as_computed(array: Any) -> Any:
            return changed(array.astype(float) if array.dtype.kind in "iu" and _is_inexact(made) else array)

        def changed(array: Any) -> Any:
            if array.dtype.kind not in "fc":
                return array
            eps = numpy.finfo(array.dtype).eps
            return array * (1 + eps * random.choice([-1, 0, 1], size=array.shape)).astype(array.dtype)

        for change in (as_computed, changed) * _SMALL_CHANGES:
            try:
                again = self.run(call, function, *rebuilt((args, kwargs), change))
            except Exception:
                if change is as_computed:
                    continue  # integers are places, or counts
                return 0.0
            found = departure(made, again)
            moved = max(moved, found[0] if found is not None else 0.0)
        return _ALLOWED_OF_ROUNDING * moved

    def look_at_memory(self, call: Call, result: Any, made: Any, memories: _Memories) -> None:
        """Whether the result looks at the memory of the same arguments as NumPy's."""
        import numpy

        if isinstance(result, (tuple, list)) and isinstance(made, (tuple, list)):
            for one, other in zip(result, made):
                self.look_at_memory(call, one, other, memories)
            return
        if self.difference is not None or call.name in _WITHOUT_MEMORY:
            return
        if not isinstance(result, NDArrayBase) or not isinstance(made, numpy.ndarray):
            return
        for given, copied in memories.pairs:
            if not isinstance(given, NDArrayBase) or not isinstance(copied, numpy.ndarray):
                continue
            ours, theirs = bool(np.may_share_memory(result, given)), numpy.may_share_memory(made, copied)
            if ours != theirs:
                words = ("a copy", "a view of its argument")
                self.difference = difference_of(call, "memory", words[ours], f"{words[theirs]} in NumPy")
                return


def _first(args: tuple[Any, ...], memories: _Memories) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments, and NumPy's own in the place of a first one that is no array: the iterator of an array's elements,
    a generator of random numbers in the state that it is in."""
    import numpy

    if args and isinstance(args[0], flatiter):
        return args[1:], (memories.array(args[0].base).flat,)
    if args and isinstance(args[0], (Generator, RandomState)):
        stream = args[0]._stream
        if isinstance(stream, TorchStream):
            raise _Absent
        if not isinstance(stream.source, types.ModuleType):
            return args[1:], (copy.deepcopy(stream.source),)
        shared = numpy.random.RandomState()
        shared.set_state(stream.source.get_state())
        return args[1:], (shared,)
    return args, ()


def _is_stable(args: Any, kwargs: Any) -> bool:
    kind = kwargs.get("kind", args[2] if len(args) > 2 else None)
    return bool(kwargs.get("stable")) or str(kind)[:1] in "sm"


def _sorted_by(array: Any, args: Any, kwargs: Any, ours: Any, theirs: Any) -> tuple[Any, Any]:
    """What two orders make of an array, if they are orders of its elements."""
    import numpy

    if str(ours.dtype) != str(theirs.dtype) or tuple(ours.shape) != theirs.shape:
        return ours, theirs
    axis = kwargs.get("axis", args[1] if len(args) > 1 else -1)
    return np.take_along_axis(array, ours, axis), numpy.take_along_axis(numpy.asarray(array), theirs, axis)


def _is_array_of_numpy(value: Any) -> bool:
    import numpy

    return isinstance(value, numpy.ndarray)


def _may_be_written(value: Any) -> bool:
    flags: Any = getattr(value, "flags", None) if isinstance(value, NDArrayBase) else None
    return flags is not None and bool(flags.writeable)


def _is_inexact(made: Any) -> bool:
    return getattr(made, "dtype", None) is not None and made.dtype.kind in "fc"


def _is_counted(made: Any) -> bool:
    return getattr(made, "dtype", None) is not None and made.dtype.kind in "biu"


def _atom(value: Any) -> Any:
    if value is NoValue:
        import numpy

        return numpy._NoValue
    return numpy_of(value)


def _on_host(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments for NumPy, whose arrays are on the host. Unknown where another device is asked for."""
    device = kwargs.get("device")
    if device is not None and torch.device(device).type != "cpu":
        raise Unknown(str(device))
    return {name: value for name, value in kwargs.items() if name != "device"}


def _magnitudes(library: Any, tree: Any) -> Any:
    return tuple(map(library.abs, tree)) if isinstance(tree, (tuple, list)) else library.abs(tree)


def _described(value: Any) -> str:
    found = list(arrays_in(value))
    return shown(value) if found else type(value).__name__
