"""Each operation of npdec beside NumPy's function of that name, on the same numbers.

The arguments are handed to NumPy as they lie in memory: copies of whole memories, of which the arrays that share one
are views as before. So aliases are NumPy's too, and what an operation writes is compared in all of them.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

import npdec as np
from npdec._core.base import ArrayBase, NDArrayBase, UfuncBase
from npdec._core.tags import NoValue
from npdec._dtypes.dtype import dtype as dtype_class
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
            args, kwargs = rebuilt((call.args, _on_host(call.kwargs)), memories.array, _atom)
        except (Unknown, _Absent):
            return
        call.notes[self] = function, args, kwargs, memories

    def function(self, call: Call) -> Any:
        import numpy

        if call.name.startswith(("numpy.", "random.", "Generator", "RandomState")):
            raise _Absent
        if call.kind in ("method", "attribute"):
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
            if call.kind == "method":
                return getattr(args[0], function)(*args[1:], **kwargs)
            return function(*args, **kwargs)

    def after(self, call: Call, result: Any) -> None:
        if self not in call.notes:
            return
        import numpy

        function, args, kwargs, memories = call.notes.pop(self)
        try:
            made = self.run(call, function, args, kwargs)
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
        if call.name in _UP_TO_SIGN:
            result, made = _magnitudes(np, result), _magnitudes(numpy, made)
        elif call.name in _IN_ANY_ORDER:
            result, made = np.sort(result), numpy.sort(made)
        self.look(call, result, made, "values", (function, args, kwargs, memories))
        if self.difference is None:
            self.look_at_memory(call, result, made, memories)

    # -- what is compared ----------------------------------------------------------------------------------------------

    def look(self, call: Call, ours: Any, theirs: Any, kind: str, again: Any) -> None:
        if self.difference is not None:
            return
        if isinstance(ours, (tuple, list)) and isinstance(theirs, (tuple, list)):
            if len(ours) != len(theirs):
                self.difference = difference_of(call, "shape", f"{len(ours)} results", f"{len(theirs)} in NumPy")
            for one, other in zip(ours, theirs):
                self.look(call, one, other, kind, None)
            return
        if not is_array(ours) or not is_array(theirs):
            if type(ours) is type(theirs) and isinstance(ours, (bool, int)) and ours != theirs:
                self.difference = difference_of(call, kind, repr(ours), f"{theirs!r} in NumPy")
            if not isinstance(ours, float) or not isinstance(theirs, float):
                return
        elif str(getattr(ours, "dtype", "")).removeprefix("torch.") != str(theirs.dtype):
            self.difference = difference_of(call, "dtype", shown(ours), f"{shown(theirs)} in NumPy")
            return
        elif tuple(ours.shape) != tuple(theirs.shape):
            self.difference = difference_of(call, "shape", shown(ours), f"{shown(theirs)} in NumPy")
            return
        found = None if call.attribute in UNSPECIFIED else unlike(ours, theirs, self.rtol)
        if found is None or (again is not None and found[0] <= self.of_rounding(call, theirs, *again)):
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

        if isinstance(function, str) and function.startswith("__i") and function not in ("__invert__", "__iter__"):
            return 0.0
        moved = 0.0
        random = numpy.random.default_rng(0)

        def changed(array: Any) -> Any:
            if array.dtype.kind not in "fc":
                return array
            eps = numpy.finfo(array.dtype).eps
            return array * (1 + eps * random.choice([-1, 0, 1], size=array.shape)).astype(array.dtype)

        for _ in range(_SMALL_CHANGES):
            try:
                again = self.run(call, function, *rebuilt((args, kwargs), changed))
            except Exception:
                return 0.0
            found = departure(made, again)
            moved = max(moved, found[0] if found is not None else 0.0)
        return _ALLOWED_OF_ROUNDING * moved

    def look_at_memory(self, call: Call, result: Any, made: Any, memories: _Memories) -> None:
        """Whether the result looks at the memory of the same arguments as NumPy's."""
        import numpy

        if call.name in _WITHOUT_MEMORY or not isinstance(result, NDArrayBase) or not isinstance(made, numpy.ndarray):
            return
        for given, copied in memories.pairs:
            if not isinstance(given, NDArrayBase) or not isinstance(copied, numpy.ndarray):
                continue
            ours, theirs = bool(np.may_share_memory(result, given)), numpy.may_share_memory(made, copied)
            if ours != theirs:
                words = ("a copy", "a view of its argument")
                self.difference = difference_of(call, "memory", words[ours], f"{words[theirs]} in NumPy")
                return


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
