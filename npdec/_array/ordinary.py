"""Reading of plain arrays by ordinary keys: slices, ints, and arrays of indices, of which torch says the same as NumPy.
Whatever else there may be, and whatever torch refuses, is left to `npdec._array.indexing`. Writing by such keys:
`npdec._array.ordinary_writes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import ref

import torch
from torch.autograd import forward_ad

from npdec._array import memory, transforms, wrap
from npdec._array.backwards import Backwards, forwards, reverse
from npdec._array.convert import MAX_NDIM, as_tensor
from npdec._array.family import family_of
from npdec._core.tags import NoValue
from npdec._impl._by_numpy import places
from npdec._impl.dtypes_impl import WIDE_UNSIGNED
from npdec._impl.getitem_impl import are_in_order, picked
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = [
    "REFUSALS", "arrays_of", "axes_of", "backwards", "indices_of", "is_free", "items_of", "read", "reversed_rows",
    "rows", "spread", "stand_backwards",
]  # fmt: skip

_new, _Tensor = object.__new__, torch.Tensor
_transform, _is_transformed = transforms.current.get, is_transformed
_INDICES = frozenset({torch.int64, torch.int32})  # uint8 is a mask to torch
REFUSALS = (IndexError, ValueError, TypeError, RuntimeError, OverflowError)


def is_free(array: Any) -> bool:
    """Whether a write into the array's own tensor is all that a write into the array is: nothing stands for it, it may
    be written, and no transform or tangent goes through what is written."""
    reason = getattr(array, "_ro", NoValue)  # an exception that is caught takes twice as long
    if reason is not None:
        if reason is not NoValue:
            return False
        array._ro = None  # found sooner the next time
    family = array._m
    if family is not None and (family.mirrors or family.origin is not None or family.mixed):
        return False
    return forward_ad._current_level < 0 and not _is_transformed() and _transform() is None


def indices_of(item: Any, shape: tuple[int, ...], axis: int = 0) -> Any:
    """The indices along one of the axes that an array, or a list, holds or as a vector of booleans stands for;
    None if it is neither, or carries anything."""
    if type(item) is list:
        kind = type(item[0]) if item else None
        if (kind is not int and kind is not bool) or any(type(one) is not kind for one in item):
            return None
        index = as_tensor(item)
    else:
        index = item._t
        if item._d in _INDICES:
            return index if type(index) is _Tensor and index.dim() else None
    if index.dtype in _INDICES:
        return index if type(index) is _Tensor and index.dim() else None
    if (
        index.dtype is not torch.bool
        or type(index) is not _Tensor
        or index.dim() != 1
        or index.shape != shape[axis : axis + 1]
    ):
        return None
    return places(index)[0]


def arrays_of(key: tuple[Any, ...]) -> tuple[torch.Tensor, ...] | None:
    """The tensors of a key that is of plain arrays of indices and nothing else; None for all other keys."""
    found = []
    for item in key:
        if type(item) is not wrap.ARRAY or item._d not in _INDICES:
            return None
        index = item._t
        if type(index) is not _Tensor or not index.dim():
            return None
        found.append(index)
    return tuple(found)


def axes_of(items: tuple[Any, ...], ndim: int) -> int:
    """How many axes the view has that a key of ints, slices and None gives; for other keys, and for one that does not
    fit, more than there can be."""
    made, named = ndim, 0
    for item in items:
        if type(item) is int:
            made -= 1
            named += 1
        elif type(item) is slice:
            named += 1
        elif item is None:
            made += 1
        elif item is not Ellipsis:
            return 2 * MAX_NDIM
    return made if named <= ndim else 2 * MAX_NDIM


def items_of(key: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[list[Any] | None, bool, bool]:
    """The items of a key for torch, whether arrays are among them, and whether an Ellipsis is; None for a key that
    torch may read otherwise. Where ints and arrays stand in one group, torch puts their axes where NumPy does."""
    items: list[Any] = []
    arrays = dots = False
    groups = axis = 0
    within = False
    for item in key:
        kind = type(item)
        if kind is slice:
            step = item.step
            if step is not None and (type(step) is not int or step < 1):
                return None, False, False
            within = False
        elif kind is int:
            groups += not within
            within = True
        elif kind is wrap.ARRAY or kind is list:
            item = indices_of(item, shape, axis)
            if item is None:
                return None, False, False
            arrays = True
            groups += not within
            within = True
        elif kind in wrap.INTEGERS:
            item = item._n
            groups += not within
            within = True
        elif item is Ellipsis:
            if dots:
                return None, False, False
            dots = True
            within = False
            room = len(shape) - len(key) + sum(one is None for one in key)  # and one for the Ellipsis itself
            if room < -1:
                return None, False, False
            axis += room
        elif item is None:
            within = False
            axis -= 1
        else:
            return None, False, False
        items.append(item)
        axis += 1
    if axis > len(shape) or (arrays and groups > 1):
        return None, False, False
    return items, arrays, dots


def read(array: Any, key: Any) -> Any:
    """What an ordinary key of arrays, or one that is for all elements, says of a plain array, or NoValue."""
    tensor = array._t
    if type(tensor) is not _Tensor:
        return NoValue
    kind = type(key)
    if not tensor.numel() and (kind is tuple or kind is list or kind is wrap.ARRAY):
        return NoValue  # of nothing torch takes any index
    try:
        if kind is tuple:
            made = _columns(tensor, key) if len(key) == 2 and type(key[0]) is slice else None
            if made is not None:
                return wrap.array_of(made, array._d)
            found = arrays_of(key)
            if found and tensor.is_cpu and len(found) + tensor.dim() <= MAX_NDIM:
                in_order = tensor.is_contiguous() and are_in_order(found)
                return wrap.array_of(tensor[found] if in_order else picked(tensor, found, 0), array._d)
            items, arrays, _ = items_of(key, tensor.shape)
            if items is None or not arrays or len(items) + tensor.dim() > MAX_NDIM:
                return NoValue
            # An accelerator ends the process over an index that is out of bounds.
            return wrap.array_of(_by_arrays(tensor, items), array._d) if tensor.is_cpu else NoValue
        if kind is wrap.ARRAY or kind is list:
            index = indices_of(key, tensor.shape)
            return NoValue if index is None or not tensor.is_cpu else wrap.array_of(_selected(tensor, index), array._d)
        if key is None or key is Ellipsis:
            return memory.seen(array, tensor[key])
    except REFUSALS:
        pass  # NumPy's words are found on the long way
    return NoValue


def _columns(tensor: torch.Tensor, key: tuple[Any, Any]) -> torch.Tensor | None:
    """`tensor[rows, index]` of a matrix, rows that a slice names and a vector of indices, as `_by_arrays`; None for all
    else."""
    rows, columns = key
    if type(columns) is not wrap.ARRAY or columns._d is not torch.int64:
        return None
    index = columns._t
    if type(index) is not _Tensor or index.dim() != 1 or tensor.dim() != 2 or rows.step is not None:
        return None
    if not tensor.is_cpu or tensor.requires_grad or tracing():
        return None
    return _columns_of(tensor if rows.start is None is rows.stop else tensor[rows], index)


def _columns_of(tensor: torch.Tensor, index: torch.Tensor) -> torch.Tensor | None:
    """`tensor[:, index]` of a matrix on the CPU, in memory one column after the other, as NumPy's result."""
    height = tensor.shape[0]
    try:
        made = tensor.new_empty_strided((height, index.numel()), (1, height or 1))
        return torch.index_select(tensor, 1, index, out=made)
    except (IndexError, RuntimeError):  # which it counts from the back, or cannot choose of the dtype
        return None


def _by_arrays(tensor: torch.Tensor, items: list[Any]) -> torch.Tensor:
    """`tensor[items]`, of which some are arrays, side by side."""
    kinds = [type(item) for item in items]
    at = kinds.index(_Tensor)
    arrays = [item for item in items if type(item) is _Tensor]
    is_first = at + len(arrays) == len(items) and kinds[:at].count(int) == at  # behind ints at most
    if is_first and tensor.is_contiguous() and are_in_order(arrays):
        return tensor[tuple(items)]
    if type(Ellipsis) in kinds:
        items = spread(items, tensor.dim())
        kinds = [type(item) for item in items]
    around = [_ALL if type(item) is _Tensor else item for item in items]
    view = tensor if around.count(_ALL) == len(around) else tensor[tuple(around)]
    at = sum(kind is not int for kind in kinds[: kinds.index(_Tensor)])
    if at == 1 and len(arrays) == 1 and arrays[0].dim() == 1 and view.dim() == 2:
        made = None if view.requires_grad or tracing() else _columns_of(view, arrays[0])
        return _selected(view.mT, arrays[0], True).mT if made is None else made
    count = len(arrays)
    if at:
        view = view.movedim(tuple(range(at, at + count)), tuple(range(count)))
    return picked(view, arrays, at)


_ALL = slice(None)


def spread(items: list[Any], ndim: int) -> list[Any]:
    """The items with slices of all for the Ellipsis among them."""
    dots = next(i for i, item in enumerate(items) if item is Ellipsis)
    named = sum(item is not None for item in items) - 1
    return [*items[:dots], *[_ALL] * (ndim - named), *items[dots + 1 :]]


_MANY = 500  # indices, which are worth two views


def _selected(tensor: torch.Tensor, index: torch.Tensor, in_order: bool = False) -> torch.Tensor:
    """`tensor[index]`: by another function of torch, which is faster, but counts nothing from the back, and gives what
    lies transposed in order, which it does only if that is asked for."""
    rank = index.dim()
    if (
        (rank == 1 or (rank and index.numel() >= _MANY and index.is_contiguous()))
        and tensor.dim()
        and (in_order or tensor.dim() == rank + 1 == 2 or tensor.is_contiguous())
        and not tensor.requires_grad
        and tensor.dtype not in WIDE_UNSIGNED
    ):
        try:
            if rank == 1:
                return torch.index_select(tensor, 0, index)
            return torch.index_select(tensor, 0, index.view(-1)).view(*index.shape, *tensor.shape[1:])
        except (IndexError, RuntimeError):
            pass
    return tensor[index] if tensor.is_contiguous() and index.is_contiguous() else picked(tensor, (index,), 0)


def backwards(array: Any, key: tuple[Any, ...]) -> Any:
    """What a key of ints and slices, some of which run backwards, says of a plain array, or None. torch has no negative
    strides: it is a copy that stands for a view."""
    tensor = array._t
    if type(tensor) is not _Tensor:
        return None
    try:
        found = forwards(key, tensor.shape)
        if found is None:
            return None
        items, axes = found
        made = wrap.array_of(reverse(tensor[items] if items else tensor, axes), array._d)
    except REFUSALS:
        return None  # NumPy's words are found on the general way
    memory.mirror(array, made, Backwards(items, axes))
    return made


def stand_backwards(source: Any, copy: Any, axes: list[int]) -> None:
    """Make a copy of an array with some axes reversed stand for a view of it; a read-only one stays so."""
    memory.mirror(source, copy, Backwards((), axes))
    reason = getattr(copy, "_ro", None)
    if reason is not None:
        memory.freeze(copy, reason)


def reversed_rows(array: Any) -> Any:
    """`array[::-1]`, as `backwards`."""
    tensor = array._t
    if type(tensor) is not _Tensor or not tensor.dim() or array._d in WIDE_UNSIGNED:
        return None
    made = wrap.array_of(tensor.flip(0), array._d)
    memory.mirror(array, made, Backwards((), [0]))
    return made


def rows(array: Any) -> Iterator[Any]:
    """The views along the first axis of an array of several, one after the other."""
    cls = wrap.ARRAY
    for i in range(len(array)):
        tensor = array._t
        if type(tensor) is not _Tensor:
            yield array[i]
            continue
        row = _new(cls)  # `memory.seen_part`, written out
        row._t, row._d = tensor[i], array._d
        family = row._m = family_of(array) if array._m is None else array._m
        family.append(ref(row))
        if len(family) > family.limit:
            memory.settle(array, row)
        yield row
