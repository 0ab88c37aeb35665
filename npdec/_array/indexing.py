"""`x[key]` and `x[key] = value`: the key as the kernels want it, views, and the write itself."""

from __future__ import annotations

import operator
from typing import Any

import torch

from npdec._array import memory, ordinary, wrap
from npdec._array.arguments import as_value
from npdec._array.convert import SIGNED, as_elements, check_scalar
from npdec._array.output import check_writeable, prepare, write
from npdec._core.base import ArrayBase, NDArrayBase
from npdec._core.tags import NoValue
from npdec._decomposed.choices import chosen
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _storage, getitem_impl, setitem_impl
from npdec._impl.dtypes_impl import RANGES
from npdec._torch.tracing import recording
from npdec.exceptions import AbsentDTypeError

_ARGUMENTS = 63  # NumPy's limit, one of its 64 operands being the indexed array
_AXES = 64  # the most that an array of NumPy's has
_BASIC = (int, slice, type(None), type(Ellipsis))
_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)


def _index(bound: Any) -> int | None:
    if bound is None:
        return None
    if hasattr(bound, "__index__"):
        return operator.index(bound)
    raise TypeError("slice indices must be integers or None or have an __index__ method")


def _item(item: Any) -> Any:
    """One item of a key: an int, a slice of ints, None, Ellipsis, or a tensor of integers or booleans."""
    kind = type(item)
    if kind is int or item is None or item is Ellipsis:
        return item
    if kind is slice:
        return slice(_index(item.start), _index(item.stop), _index(item.step))
    if kind is bool:
        return torch.tensor(item)
    if isinstance(item, ArrayBase):
        tensor = chosen("an index", item._t)
    elif isinstance(item, (torch.Tensor, list, tuple, range)) or hasattr(item, "__array__"):
        try:
            tensor = as_elements(item)
        except AbsentDTypeError:  # objects, text
            raise IndexError("arrays used as indices must be of integer (or boolean) type") from None
        if not tensor.numel() and isinstance(item, (list, tuple, range)):
            tensor = tensor.to(torch.int64)  # an empty list selects nothing
    elif isinstance(item, str) or not hasattr(item, "__index__"):
        raise IndexError(_INVALID)
    else:
        return operator.index(item)
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        raise IndexError("arrays used as indices must be of integer (or boolean) type" if tensor.dim() else _INVALID)
    if not tensor.dim() and tensor.dtype is not torch.bool:
        return int(tensor)
    return tensor


def _is_array(item: Any) -> bool:
    return not isinstance(item, _BASIC) and hasattr(item, "ndim") and hasattr(item, "__setitem__")


def normalize_key(key: Any) -> tuple[Any, ...]:
    """The key as a tuple of what `_item` gives."""
    if not isinstance(key, tuple):
        return (_item(key),)
    if len(key) > _ARGUMENTS and sum(item is not None and type(item) not in (int, slice) for item in key) > _ARGUMENTS:
        raise IndexError(f"too many advanced indices: at most {_ARGUMENTS} arrays can index together")
    # Bounds of slices after the rest: an index of the wrong type is the first thing that NumPy notices.
    items = [item if type(item) is slice else _item(item) for item in key]
    return tuple(_item(item) if type(item) is slice else item for item in items)


def _read_element(tensor: DecomposedTensor, key: Any) -> Any:
    """The element of a decomposed array that as many ints as there are axes name; None for other keys, also for one out
    of bounds, of which NumPy's words are found on the general way."""
    key = key if type(key) is tuple else (key,)
    if len(key) != tensor.ndim or not key:
        return None
    for item in key:
        if type(item) is not int:
            return None
    try:
        return wrap.wrap_scalar(tensor._element(key))
    except (IndexError, ValueError, TypeError, RuntimeError):
        return None


def getitem(array: NDArrayBase, key: Any) -> Any:
    """The view, copy or scalar that NumPy's rules give for the key."""
    found = ordinary.read(array, key)
    if found is not NoValue:
        return found
    if type(array._t) is DecomposedTensor and (found := _read_element(array._t, key)) is not None:
        return found
    items = normalize_key(key)
    recorder = recording.get()
    if recorder is not None and (found := recorder.masks.chosen(array, items)) is not None:
        return found
    tensor = getitem_impl.getitem(array._t, items)
    if len(items) > 1 and tensor.dim() > _AXES:
        raise IndexError(f"number of dimensions must be within [0, {_AXES}], indexing result would have {tensor.dim()}")
    if any(type(item) not in _BASIC for item in items):
        return wrap.wrap(tensor)
    if not tensor.dim() and Ellipsis not in items:
        return wrap.wrap_scalar(tensor.clone())
    if any(_is_array(item) for item in (key if type(key) is tuple else (key,))):
        return wrap.wrap_array(
            _storage.duplicate(tensor)
        )  # an integer in a 0-d array counts as an array: the result is a copy
    if getitem_impl.has_negative_step(items):
        result = wrap.wrap_array(tensor)
        memory.mirror(array, result, lambda source: getitem_impl.getitem(source, items))
        return result
    return memory.view(array, tensor)


def _has_decomposed(key: Any) -> bool:
    if type(key) is tuple:
        return any(isinstance(item, ArrayBase) and type(item._t) is DecomposedTensor for item in key)
    return isinstance(key, ArrayBase) and type(key._t) is DecomposedTensor


def _set_masked(array: NDArrayBase, key: Any, value: Any) -> bool:
    """Assign where a decomposed mask says: a choice between the value and what is there. False if that is not it."""
    from npdec._rules.choosing import masked

    items = tuple(
        item._t if isinstance(item, ArrayBase) and type(item._t) is DecomposedTensor else item
        for item in (key if type(key) is tuple else (key,))
    )
    found = masked(array._t, items, as_value(value, array._d, array._t.device), getitem_impl.getitem)
    if found is None:
        return False
    mask, place, fitted = found
    if type(fitted) is not DecomposedTensor:
        del found  # a view of what is written, or of a copy that stands for it, would miss contributions
        fitted = fitted.clone()
    seen = getitem(array, place) if place else array
    write("setitem", seen, fitted, mask=mask)
    return True


def _element(value: Any, dtype: torch.dtype) -> Any:
    """What of a sequence is written into one element: a boolean of it, or for integers TypeError, in Python's words."""
    if dtype is torch.bool:
        return bool(value)
    return int(value) if dtype in RANGES else value


def _is_there(tensor: torch.Tensor, target: torch.Tensor, items: Any) -> bool:
    """Whether a tensor looks at those elements of the target, in the same storage, that slices and integers choose."""
    if tensor.dtype is not target.dtype or tensor.is_conj() != target.is_conj() or tensor.is_neg() != target.is_neg():
        return False
    if not all(type(item) in _BASIC and (type(item) is not slice or (item.step or 1) > 0) for item in items):
        return False
    part = target[items]
    alike = part.shape == tensor.shape and part.stride() == tensor.stride()
    return alike and part.storage_offset() == tensor.storage_offset()


def setitem(array: NDArrayBase, key: Any, value: Any) -> None:
    """Write the value where the key says, broadcast and cast to the array's dtype; in the ordinary cases
    `ordinary_writes.write` has done so."""
    check_writeable("setitem", array)
    if _has_decomposed(key) and _set_masked(array, key, value):
        return
    items = normalize_key(key)
    recorder = recording.get()
    if recorder is not None:
        value = recorder.numbers.as_value(value)
        if recorder.masks.put(array, items, value):
            return
    has_truth = array._d is torch.bool and bool(getattr(value, "ndim", 0))  # one element of an array has one
    several = has_truth or type(value) in (list, tuple)
    if several and len(items) == array._t.dim() and all(type(item) is int for item in items):
        value = _element(value, array._d)
    tensor = value._t if type(value) is type(array) else as_value(value, array._d, array._t.device)
    if type(value) in (list, tuple) and tensor.dim() > (most := ordinary.axes_of(items, array._t.dim())):
        getitem_impl.getitem(array._t, items)  # IndexError goes first
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the maximum number of "
            f"dimension of {most}."
        )
    if array._d in SIGNED and not tensor.dim() and all(type(item) in _BASIC for item in items):
        check_scalar(value, array._d)
    target = prepare("setitem", array, tensor, (tensor, *items))
    if type(target) is not DecomposedTensor and type(tensor) is DecomposedTensor:
        tensor = tensor.value
    if (tensor.dim() or isinstance(value, (type(array), torch.Tensor))) and memory.shares_storage(tensor, target):
        if recorder is not None and ordinary.is_free(array) and _is_there(tensor, target, items):
            return  # x[key] += y, which has written the view
        tensor = tensor.clone()
    items = tuple(
        item.clone() if type(item) is torch.Tensor and memory.shares_storage(item, target) else item for item in items
    )
    try:
        setitem_impl.setitem(target, items, tensor)
        memory.written(array)
    except BaseException:  # an interrupt, or a key or shape that does not fit
        memory.written(array, failed=True)
        raise
