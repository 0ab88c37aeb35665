"""What `np.nditer` is asked for: its flags, how its operands broadcast, and in which order their axes are walked."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import memory, wrap
from npdec._array.convert import as_dtype, as_tensor
from npdec._array.ndarray import Composition
from npdec._core.base import ArrayBase, SubclassBase
from npdec._core.door import hand_over
from npdec._functions.nditer_order import Place
from npdec._impl import _util, dtypes_impl
from npdec._native import calls
from npdec._torch.tracing import tracing
from npdec.exceptions import AbsentDTypeError

__all__ = [
    "EXTERNAL_LOOP", "Options", "as_array", "broadcast_operands", "converted", "laid_out",
    "shape_of_rows", "targets",
]  # fmt: skip

_GLOBAL = frozenset(
    """buffered c_index common_dtype copy_if_overlap delay_bufalloc external_loop f_index grow_inner multi_index ranged
    reduce_ok refs_ok zerosize_ok""".split()
)
_MODES = frozenset({"readonly", "readwrite", "writeonly"})
_ABSENT = frozenset({"writemasked", "virtual"})
_OF_OPERAND = (
    _MODES
    | _ABSENT
    | frozenset(
        """aligned allocate arraymask contig copy nbo no_broadcast no_subtype overlap_assume_elementwise
        updateifcopy""".split()
    )
)
_TRACKING = frozenset({"c_index", "f_index", "multi_index"})
EXTERNAL_LOOP = "Iterator flag EXTERNAL_LOOP cannot be used if an index or multi-index is being tracked"


def by_numpy(absent: Exception, op: Any, flags: Any, op_flags: Any, *options: Any) -> Any:
    """NumPy's iterator, where an operand or a dtype is a guest. Raises the error if it would write into an array of
    npdec's."""
    operands = op if isinstance(op, (list, tuple)) else (op,)
    writes = "write" in str(op_flags) or any(operand is None for operand in operands)
    if writes and any(isinstance(operand, ArrayBase) for operand in operands):
        raise absent.with_traceback(None) from None
    names = ("flags", "op_flags", "op_dtypes", "order", "casting", "op_axes", "itershape", "buffersize")
    named = {name: x for name, x in zip(names, (flags, op_flags, *options), strict=True) if x is not None}
    return hand_over("nditer", (op,), named, absent)


class Options:
    """The operands and the flags, checked: ValueError for what contradicts itself, AbsentDTypeError for writing through
    a mask."""

    def __init__(self, op: Any, flags: Any, op_flags: Any, order: str, casting: str) -> None:
        self.given = list(op) if isinstance(op, (list, tuple)) else [op]
        self.operands = [item._p if isinstance(item, SubclassBase) else item for item in self.given]
        if not self.operands:
            raise ValueError("Must provide at least one operand")
        if isinstance(flags, str) or (flags is not None and not all(isinstance(flag, str) for flag in flags)):
            raise ValueError("Iterator global flags must be a list or tuple of strings")
        self.flags = {"grow_inner" if flag == "growinner" else flag for flag in flags or ()}
        for flag in self.flags - _GLOBAL:
            raise ValueError(f'Unexpected iterator global flag "{flag}"')
        if {"c_index", "f_index"} <= self.flags:
            raise ValueError("Iterator flags C_INDEX and F_INDEX cannot both be specified")
        if "external_loop" in self.flags and self.flags & _TRACKING:
            raise ValueError(EXTERNAL_LOOP)
        if {"ranged", "external_loop"} <= self.flags and "buffered" not in self.flags:
            raise ValueError(
                "Iterator flag RANGED cannot be used with the flag EXTERNAL_LOOP unless BUFFERED is also enabled"
            )
        if order not in ("C", "F", "A", "K"):
            raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
        if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
            raise ValueError(
                f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' (got {casting!r})"
            )
        self.order = order
        self.of_operands = _operand_flags(op_flags, self.operands)
        self.written = {number for number, wishes in enumerate(self.of_operands) if "readonly" not in wishes}
        for item, wishes in zip(self.operands, self.of_operands, strict=True):
            if item is None and "allocate" not in wishes:
                raise ValueError(
                    "Iterator operand was NULL, but neither the ALLOCATE nor the VIRTUAL flag was specified"
                )
            if item is None and "readonly" in wishes:
                raise ValueError(
                    "Automatic allocation was requested for an iterator operand, but it wasn't flagged for writing"
                )


_NEW = frozenset({"writeonly", "allocate"})
_OF_ROWS = _TRACKING | {"external_loop", "zerosize_ok", "refs_ok", "ranged"}


def _lies_in_rows(array: Composition) -> bool:
    if calls is not None and not tracing():
        laid = calls.few_array(array, None, "C")
        if laid is not None:
            return laid is array
    return array._t.is_contiguous() and getattr(array._m, "origin", None) is None


def shape_of_rows(options: Options) -> tuple[int, ...] | None:
    """The shape of operands that are arrays of one shape, lie row by row, or are to be allocated, and of which nothing
    more is asked; None for others."""
    shape = None
    if options.order == "F" or not options.flags <= _OF_ROWS:
        return None
    for array, given, wishes in zip(options.operands, options.given, options.of_operands, strict=True):
        if array is None and wishes == _NEW:
            continue
        if type(array) is not Composition or array is not given or not wishes <= _MODES:
            return None
        if shape is not None and array.shape != shape:
            return None
        shape = array.shape
        if not shape or not array.size or not _lies_in_rows(array):
            return None
    return shape


def _operand_flags(op_flags: Any, operands: Sequence[Any]) -> list[frozenset[str]]:
    complaint, count = "op_flags must be a tuple or array of per-op flag-tuples", len(operands)
    if op_flags is None:
        return [_NEW if item is None else frozenset({"readonly"}) for item in operands]
    if not isinstance(op_flags, (list, tuple)):
        raise ValueError(complaint)
    if all(isinstance(flag, str) for flag in op_flags):
        listed = [tuple(op_flags)] * count
    else:
        listed = list(op_flags)
        if len(listed) != count or any(isinstance(item, str) for item in listed):
            raise ValueError(complaint)
    result = []
    for number, item in enumerate(listed):
        flags = frozenset(item)
        for flag in flags - _OF_OPERAND:
            raise ValueError(f'Unexpected per-op iterator flag "{flag}"')
        modes = flags & _MODES
        if not modes:
            raise ValueError(
                "None of the iterator flags READWRITE, READONLY, or WRITEONLY were specified for an operand"
            )
        if len(modes) > 1:
            raise ValueError(
                "Only one of the iterator flags READWRITE, READONLY, and WRITEONLY may be specified for an operand"
            )
        for flag in sorted(flags & _ABSENT):
            raise AbsentDTypeError(
                f'nditer: operand {number} is "{flag}", which np.nditer does not do here: write into the array itself, '
                "x[it.multi_index] = value, or compute with whole arrays"
            )
        if "arraymask" in flags:
            raise ValueError(
                "An iterator operand was flagged as the ARRAYMASK, but no WRITEMASKED operands were given to use the "
                "mask"
            )
        result.append(flags)
    return result


def targets(given: Sequence[Composition | None], options: Options, op_dtypes: Any) -> list[torch.dtype | None]:
    """The dtypes that are asked for; None where an operand keeps its own. A new operand has one always."""
    found: list[torch.dtype | None] = [None] * len(given)
    if op_dtypes is not None:
        listed = list(op_dtypes) if isinstance(op_dtypes, (list, tuple)) else [op_dtypes] * len(given)
        if len(listed) != len(given):
            if len(given) == 1:
                as_dtype(op_dtypes)  # the fields of a record, which it refuses
            raise ValueError("op_dtypes must be a tuple/list matching the number of ops")
        found = [None if item is None else as_dtype(item) for item in listed]
    read = [
        target or array._d
        for number, (array, target) in enumerate(zip(given, found, strict=True))
        if array is not None and ("common_dtype" in options.flags or "writeonly" not in options.of_operands[number])
    ]
    common = dtypes_impl.result_type(*read) if read else None
    if op_dtypes is None and "common_dtype" in options.flags:
        found = [common] * len(given)
    for number, array in enumerate(given):
        if array is None and found[number] is None:
            if common is None:
                raise TypeError("no arrays or types available to calculate result type")
            found[number] = common
    return found


def converted(
    given: Sequence[Composition], options: Options, wanted: Sequence[torch.dtype | None], casting: str
) -> list[Composition]:
    """The operands in the dtypes that are asked for, but for those that are written through buffers: their values are
    converted."""
    result = []
    for number, (array, target) in enumerate(zip(given, wanted, strict=True)):
        wishes = options.of_operands[number]
        aligned = "aligned" not in wishes or array.flags.aligned
        target = array._d if target is None else target
        if target is array._d and aligned:
            result.append(array)
            continue
        if "writeonly" not in wishes and not dtypes_impl.can_cast(array._d, target, casting):
            raise TypeError(
                f"Iterator operand {number} dtype could not be cast from {wrap.dtype_repr(array._d)} to "
                f"{wrap.dtype_repr(target)} according to the rule '{casting}'"
            )
        if number in options.written and not dtypes_impl.can_cast(target, array._d, casting):
            raise TypeError(
                f"Iterator requested dtype could not be cast from {wrap.dtype_repr(target)} to "
                f"{wrap.dtype_repr(array._d)}, the operand {number} dtype, according to the rule '{casting}'"
            )
        copies = wishes & {"copy", "updateifcopy"}
        if (array.ndim or number in options.written) and not ("buffered" in options.flags or copies):
            raise TypeError(
                "Iterator operand required copying or buffering, but neither copying nor buffering was enabled"
            )
        in_buffer = number in options.written and "buffered" in options.flags
        if in_buffer:
            result.append(array)
        else:
            result.append(wrap.wrap_array(_util.cast(array._t, target) if aligned else array._t.to(target, copy=True)))
    return result


def laid_out(array: Composition, place: Place, lengths: Sequence[int]) -> Composition:
    """The operand as a view with axes of the given lengths, each one of its own or None to repeat it; of its other axes
    the first element is taken."""
    kept = [axis for axis in place if axis is not None]
    if len(kept) == len(place) == array.ndim and [array.shape[axis] for axis in kept] == list(lengths):
        return array if kept == list(range(array.ndim)) else array.transpose(kept)
    if calls is not None and not tracing():
        lazy: Composition | None = calls.few_along(array, place, lengths)
        if lazy is not None:
            return lazy
    tensor = array._t
    for axis in sorted(set(range(array.ndim)).difference(kept), reverse=True):
        tensor = tensor.select(axis, 0)
    tensor = tensor.permute([sorted(kept).index(axis) for axis in kept])
    tensor = tensor[tuple(None if axis is None else slice(None) for axis in place)]
    return memory.view(array, tensor.expand(list(lengths)))


# -- broadcasting ------------------------------------------------------------------------------------------------------


def _axes_given(op_axes: Any, operands: Sequence[Composition | None]) -> list[Place | None]:
    """The axes of each operand that it is iterated along; None where they are its own."""
    if not isinstance(op_axes, (list, tuple)) or len(op_axes) != len(operands):
        raise ValueError("op_axes must be a tuple/list matching the number of ops")
    result: list[Place | None] = []
    length = None
    for number, (axes, array) in enumerate(zip(op_axes, operands, strict=True)):
        if axes is None:
            result.append(None)
            continue
        if length is not None and len(axes) != length:
            raise ValueError("Each entry of op_axes must have the same size")
        length = len(axes)
        place: Place = []
        for position, axis in enumerate(axes):
            axis = -1 if axis is None else operator.index(axis)
            if array is not None and not -1 <= axis < array.ndim:
                raise ValueError(
                    f"Iterator input op_axes[{number}][{position}] (=={axis}) is not a valid axis of op[{number}], "
                    f"which has {array.ndim} dimensions "
                )
            if axis >= 0 and axis in place:
                raise ValueError(
                    f"The 'op_axes' provided to the iterator constructor for operand {number} contained duplicate "
                    f"value {axis}"
                )
            place.append(None if axis == -1 else axis)
        result.append(place)
    return result


def broadcast_operands(
    operands: Sequence[Composition | None], options: Options, op_axes: Any, itershape: Any
) -> tuple[tuple[int, ...], list[Place]]:
    """The shape of the iteration, and which axis of each operand lies along each of its axes; None is one to allocate,
    which has all of them."""
    given = [None] * len(operands) if op_axes is None else _axes_given(op_axes, operands)
    wanted = [-1] * 0 if itershape is None else [operator.index(n) for n in itershape]
    ndim = max([len(wanted), *(array.ndim for array in operands if array is not None)])
    ndim = next((len(axes) for axes in given if axes is not None), ndim)
    if itershape is not None and len(wanted) != ndim:
        if op_axes is None:
            raise ValueError("input operand has more dimensions than allowed by the axis remapping")
        raise ValueError("'op_axes' and 'itershape' must have the same number of entries equal to the iterator ndim")
    places: list[Place] = []
    for number, (axes, array) in enumerate(zip(given, operands, strict=True)):
        if array is None:
            places.append(list(range(ndim)) if axes is None else axes)
            continue
        if axes is None and array.ndim > ndim:
            raise ValueError(
                f"input operand has more dimensions than allowed by the axis remapping (operand {number}, "
                f"{array.ndim} dimensions)"
            )
        places.append([None] * (ndim - array.ndim) + list(range(array.ndim)) if axes is None else axes)
    shape = [1 if n < 0 else n for n in wanted] or [1] * ndim
    for place, array in zip(places, operands, strict=True):
        for axis, own in enumerate(place):
            length = 1 if own is None or array is None else array.shape[own]
            if shape[axis] == 1 and (length == 1 or not (wanted and wanted[axis] == 1)):
                shape[axis] = length
            elif length not in (1, shape[axis]):
                raise ValueError(_mismatch(operands, places, wanted, op_axes is not None))
    for place, array, flags in zip(places, operands, options.of_operands, strict=True):
        if array is None:
            continue
        own_shape = [1 if own is None else array.shape[own] for own in place]
        if "no_broadcast" in flags and (own_shape != shape or (op_axes is None and array.ndim < ndim)):
            raise ValueError(
                f"non-broadcastable operand with shape {_text(array.shape)} doesn't match the broadcast shape "
                f"{_text(shape)}"
            )
    return tuple(shape), places


def _text(shape: Sequence[Any]) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _mismatch(operands: Sequence[Composition | None], places: list[Place], wanted: list[int], remapped: bool) -> str:
    if remapped:
        pairs = [
            f"{_text(array.shape)}->{_text(['newaxis' if own is None else array.shape[own] for own in place])} "
            for array, place in zip(operands, places, strict=True)
            if array is not None
        ]
        text = "operands could not be broadcast together with remapped shapes [original->remapped]: " + "".join(pairs)
    else:
        shapes = "".join(f"{_text(array.shape)} " for array in operands if array is not None)
        text = f"operands could not be broadcast together with shapes {shapes}"
    return f"{text} and requested shape {_text(wanted)}" if wanted else text


def as_array(obj: Any) -> Composition:
    return obj if type(obj) is Composition else wrap.wrap_array(as_tensor(obj))
