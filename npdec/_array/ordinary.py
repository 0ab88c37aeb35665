"""Reading and writing of plain arrays by ordinary keys: slices, ints, and arrays of indices, of which torch says the
same as NumPy. Whatever else there may be, and whatever torch refuses, is left to `npdec._array.indexing`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from npdec._array import fp_state, memory, transforms, wrap
from npdec._array.convert import MAX_NDIM, as_tensor
from npdec._core.tags import NoValue
from npdec._dtypes.dtype import SCALARS
from npdec._impl import _storage
from npdec._impl.dtypes_impl import RANGES, WHOLE, WIDE_UNSIGNED, kept
from npdec._torch.functorch import is_transformed

__all__ = ["backwards", "is_free", "read", "write"]

_Tensor = torch.Tensor
_transform, _is_transformed = transforms.current.get, is_transformed
_INDICES = frozenset({torch.int64, torch.int32})  # uint8 is a mask to torch
# What fill_ takes of Python's numbers as NumPy does: floats are rounded once, integers fit.
_FILLED = frozenset({torch.float64, torch.float32})
_KEPT = frozenset({torch.float64, torch.int64})
# Scalars on the host of these dtypes are written as their numbers are.
_FROM_SCALARS = frozenset({torch.bool, torch.float64, torch.float32, *RANGES})
_REFUSALS = (IndexError, ValueError, TypeError, RuntimeError, OverflowError)
_FEW = 256  # indices that are looked at one by one, to find whether two name one element


def is_free(array: Any) -> bool:
    """Whether a write into the array's own tensor is all that a write into the array is: nothing stands for it, it may
    be written, and no transform or tangent goes through what is written."""
    try:
        if array._ro is not None:
            return False
    except AttributeError:
        array._ro = None  # found sooner the next time
    family = array._m
    if family is not None and (family.mirrors or family.origin is not None or family.mixed):
        return False
    return forward_ad._current_level < 0 and not _is_transformed() and _transform() is None


def _indices(item: Any, shape: tuple[int, ...]) -> Any:
    """The indices along the first of some axes that an array, or a list, holds or as a vector of booleans stands for;
    None if it is neither, or carries anything."""
    if type(item) is list:
        kind = type(item[0]) if item else None
        if (kind is not int and kind is not bool) or any(type(one) is not kind for one in item):
            return None
        index = as_tensor(item)
    else:
        index = item._t
    if index.dtype in _INDICES:
        return index if type(index) is _Tensor and index.dim() else None
    if index.dtype is not torch.bool or type(index) is not _Tensor or index.dim() != 1 or index.shape != shape[:1]:
        return None
    return index.nonzero().view(-1)


def _items(key: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[list[Any] | None, bool, bool]:
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
            item = _indices(item, shape[axis:])
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
            axis += len(shape) - len(key) + sum(one is None for one in key)
        elif item is None:
            within = False
            axis -= 1
        else:
            return None, False, False
        items.append(item)
        axis += 1
    if arrays and groups > 1:
        return None, False, False
    return items, arrays, dots


def read(array: Any, key: Any) -> Any:
    """What an ordinary key of arrays, or one that is for all elements, says of a plain array, or NoValue."""
    tensor = array._t
    if type(tensor) is not _Tensor:
        return NoValue
    kind = type(key)
    try:
        if kind is tuple:
            made = _columns(tensor, key) if len(key) == 2 else None
            if made is not None:
                return wrap.wrap_array(made)
            items, arrays, _ = _items(key, tensor.shape)
            if items is None or not arrays or len(items) + tensor.dim() > MAX_NDIM:
                return NoValue
            # An accelerator ends the process over an index that is out of bounds.
            made = _by_arrays(tensor, items) if tensor.is_cpu else None
            return NoValue if made is None else wrap.wrap_array(made)
        if kind is wrap.ARRAY or kind is list:
            index = _indices(key, tensor.shape)
            return NoValue if index is None or not tensor.is_cpu else wrap.wrap_array(_selected(tensor, index))
        if key is None or key is Ellipsis:
            return memory.seen(array, tensor[key])
    except _REFUSALS:
        pass  # NumPy's words are found on the long way
    return NoValue


def _columns(tensor: torch.Tensor, key: tuple[Any, Any]) -> torch.Tensor | None:
    """`tensor[rows, index]` of a matrix, a slice and a vector of indices, as `_by_arrays`; None for all else."""
    rows, columns = key
    if type(rows) is not slice or type(columns) is not wrap.ARRAY or columns._d is not torch.int64:
        return None
    index = columns._t
    if type(index) is not _Tensor or index.dim() != 1 or tensor.dim() != 2 or rows.step is not None:
        return None
    if not tensor.is_cpu:
        return None
    return _selected((tensor if rows == _ALL else tensor[rows]).mT, index, True).mT


def _by_arrays(tensor: torch.Tensor, items: list[Any]) -> torch.Tensor | None:
    """`tensor[items]`, of which some are arrays. Behind slices their axes lead while elements are chosen, and
    go back: so NumPy's result lies in memory. None for keys with ints or new axes among the slices."""
    kinds = [type(item) for item in items]
    at = kinds.index(_Tensor)
    if not at or all(kind is int for kind in kinds[:at]):
        return tensor[tuple(items)]
    arrays = [item for item in items if type(item) is _Tensor]
    if type(Ellipsis) in kinds:
        items = _spread(items, tensor.dim())
        kinds = [type(item) for item in items]
        at = kinds.index(_Tensor)
        if not at:  # it stood for no axes
            return tensor[tuple(items)]
    if any(kind is not slice and kind is not _Tensor for kind in kinds):
        return None
    around = [item if type(item) is slice else _ALL for item in items]
    view = tensor if around.count(_ALL) == len(around) else tensor[tuple(around)]
    count, axes = len(arrays), arrays[0].dim()
    if axes == 1 and view.dim() == 2:  # of more axes torch's function does not keep the order in which the rest lies
        return _selected(view.mT, arrays[0], True).mT
    if any(array.dim() != axes for array in arrays):
        return None
    found = view.movedim(tuple(range(at, at + count)), tuple(range(count)))[tuple(arrays)]
    return found.movedim(tuple(range(axes)), tuple(range(at, at + axes)))


_ALL = slice(None)


def _spread(items: list[Any], ndim: int) -> list[Any]:
    """The items with slices of all for the Ellipsis among them."""
    dots = next(i for i, item in enumerate(items) if item is Ellipsis)
    return [*items[:dots], *[_ALL] * (ndim - len(items) + 1), *items[dots + 1 :]]


def _selected(tensor: torch.Tensor, index: torch.Tensor, in_order: bool = False) -> torch.Tensor:
    """`tensor[index]`: by another function of torch, which is faster, but counts nothing from the back, and gives what
    lies transposed in order, which it does only if that is asked for."""
    if (
        index.dim() == 1
        and tensor.dim()
        and (in_order or tensor.is_contiguous())
        and not tensor.requires_grad
        and tensor.dtype not in WIDE_UNSIGNED
    ):
        try:
            return torch.index_select(tensor, 0, index)
        except (IndexError, RuntimeError):
            pass
    return tensor[index]


def backwards(array: Any) -> Any:
    """`array[::-1]` of a plain array, or None."""
    tensor = array._t
    if type(tensor) is not _Tensor or not tensor.dim():
        return None
    made = wrap.wrap_array(_reversed(tensor))
    memory.mirror(array, made, _reversed)
    return made


def _reversed(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype in WIDE_UNSIGNED:
        return _storage.moved(torch.flip, tensor, (0,))
    return torch.flip(tensor, (0,))


def write(array: Any, key: Any, value: Any) -> bool:
    """Whether a plain number or array was written into a plain array, where an ordinary key says."""
    tensor, dtype = array._t, array._d
    if type(tensor) is not _Tensor or tensor.requires_grad or not is_free(array):
        return False
    kind = type(value)
    if kind is SCALARS.get(dtype) and dtype in _FROM_SCALARS:
        value = value._n
        kind = type(value)
    if kind is wrap.ARRAY:
        given = value._t
        if value._d is not dtype or type(given) is not _Tensor or given.requires_grad:
            return False
    elif kind is float:
        if dtype not in _FILLED or fp_state.watching:
            return False
        given = None
    elif kind is int:
        limits = RANGES.get(dtype)
        low, high = limits if limits is not None else (-WHOLE, WHOLE) if dtype in _FILLED else (1, 0)
        if not low <= value <= high:
            return False
        given = None
    elif kind is bool and dtype is torch.bool:
        given = None
    elif kind is not list:
        return False
    try:
        if kind is list:
            given = as_tensor(value)
            if given.dtype is torch.int64 and tensor.dtype is torch.float64:
                given = given.to(torch.float64)
            if type(given) is not _Tensor or given.requires_grad or given.dtype is not tensor.dtype:
                return False
        if type(key) is slice:
            if key.step is not None and (type(key.step) is not int or key.step < 1):
                return False
            return _put(tensor, key, value, given)
        if type(key) is wrap.ARRAY or type(key) is list:
            if type(key) is wrap.ARRAY and key._d is torch.bool:
                return _put_where(tensor, key._t, value, given)
            index = _indices(key, tensor.shape)
            return index is not None and _put_at(tensor, [index], value, given)
        if type(key) is tuple:
            items, arrays, dots = _items(key, tensor.shape)
            if items is None:
                return False
            if arrays:
                return _put_at(tensor, _spread(items, tensor.dim()) if dots else items, value, given)
            return _put(tensor, tuple(items), value, given, dots or slice in map(type, items))
        if key is Ellipsis:
            return _put(tensor, key, value, given)
        return type(key) is int and _put(tensor, key, value, given, False)
    except _REFUSALS:
        return False  # nothing was written: torch looks at shapes and indices first


def _put(tensor: torch.Tensor, key: Any, number: Any, given: Any, is_part: bool = True) -> bool:
    """`tensor[key] = given`, or the number if nothing is given; `is_part` says that the key names no single element,
    to which no sequence is given."""
    if given is None:
        if key is Ellipsis:
            tensor.fill_(number)
        elif tensor.dtype in _KEPT and tensor.is_cpu:
            tensor[key] = kept(number, tensor.dtype)
        else:
            tensor[key].fill_(number)
        return True
    if not is_part and given.dim() and tensor.dim() <= (1 if type(key) is int else len(key)):
        return False
    if _storage.shares_memory(given, tensor):
        if _is_same(given, tensor[key]):
            return True  # x[key] += y, which has written the view
        given = given.clone()
    if key is Ellipsis:
        tensor.copy_(given)
    else:
        tensor[key] = given
    return True


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors over one storage have the same elements."""
    return a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride()


def _put_where(tensor: torch.Tensor, mask: torch.Tensor, number: Any, given: Any) -> bool:
    if type(mask) is not _Tensor or not mask.dim() or mask.shape != tensor.shape[: mask.dim()]:
        return False
    if tensor.dtype in WIDE_UNSIGNED or memory.shares_storage(mask, tensor):
        return False
    if given is None:
        rest = tensor.dim() - mask.dim()
        tensor.masked_fill_(mask.view(*mask.shape, *[1] * rest) if rest else mask, number)
    elif given.dim() == 1 or mask.dim() < tensor.dim():
        tensor[mask] = given.clone() if memory.shares_storage(given, tensor) else given
    else:
        return False
    return True


def _put_at(tensor: torch.Tensor, items: list[Any], number: Any, given: Any) -> bool:
    """Write at indices, which are all looked at first: torch would write what comes before one that is out of bounds,
    and leave open which of several values an element gets that is named more than once."""
    if not tensor.is_cpu or tensor.dtype in WIDE_UNSIGNED:
        return False
    several = given is not None and given.dim() > 0
    if several and given.dim() > 1 and tensor.dim() == 1:
        return False  # which a mask refuses, and indices take if the other axes have length one
    named: list[list[int]] = []
    for size, item in zip(tensor.shape, items):
        if type(item) is _Tensor:
            count = item.numel()
            if _storage.shares_memory(item, tensor) or (several and (item.dim() != 1 or count > _FEW)):
                return False
            if count > _FEW:
                low, high = (bound.item() for bound in torch.aminmax(item))
            elif count:
                places = item.tolist() if item.dim() == 1 else item.view(-1).tolist()
                low, high = min(places), max(places)
                if several:
                    named.append([place % size for place in places] if low < 0 else places)
            if count and (low < -size or high >= size):
                return False
        elif item is None or item is Ellipsis:
            return False
    if several and named:
        places = named[0] if len(named) == 1 else list(zip(*named, strict=True))
        if len(set(places)) < len(places):
            return False
    if given is not None and memory.shares_storage(given, tensor):
        given = given.clone()
    if given is None:
        given = kept(number, tensor.dtype) if tensor.dtype in _KEPT else number
    tensor[tuple(items)] = given
    return True
