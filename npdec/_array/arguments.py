"""What many functions take, as NumPy reads it: sequences of arrays, masks, and flags that are counted as integers."""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection, Iterable
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_elements, as_tensor
from npdec._array.foreign_arrays import as_argument, check_asking
from npdec._array.together import as_beside, beside, brought
from npdec._core.base import ArrayBase
from npdec._impl import _util
from npdec.exceptions import AbsentDTypeError

__all__ = ["as_flag", "as_inexact", "as_mask", "as_sequence", "as_value"]

_MOST_ARRAYS = 2**31 - 1  # that one call joins, as for NumPy


def as_mask(where: Any, counted: bool = False, others: Iterable[Any] = ()) -> torch.Tensor:
    """The tensor of a boolean mask. Numbers and lists count by their truth, on the device of the others; an array of
    another dtype is refused (TypeError), and where its elements are `counted`, what is no number (AbsentDTypeError).

    >>> as_mask([1, 0])
    tensor([ True, False])
    """
    numpy = sys.modules.get("numpy")
    if isinstance(where, torch.Tensor) or type(where) is wrap.ARRAY or (numpy and isinstance(where, numpy.ndarray)):
        mask = as_tensor(where)
        if mask.dtype is not torch.bool:
            raise TypeError(
                f"Cannot cast array data from {wrap.dtype_repr(mask.dtype)} to dtype('bool') according to the rule "
                "'safe': where= needs a boolean mask, say (x != 0)"
            )
        return mask
    if counted:
        as_tensor(where)
    made = as_tensor(where, None if isinstance(where, ArrayBase) and where._d is torch.bool else torch.bool)
    return beside(made, where, others) if made.dim() else made


def as_value(value: Any, dtype: torch.dtype, device: torch.device | None = None) -> torch.Tensor:
    """The tensor of what is written into an array of a dtype, of numbers and lists on its device.

    Python's numbers, alone and in lists, become numbers of that dtype: OverflowError where they are out of its range,
    ValueError for nan as an integer, TypeError for a complex number as a real one. Arrays keep their own dtype.

    >>> as_value(300, torch.int8)
    Traceback (most recent call last):
    OverflowError: Python integer 300 out of bounds for int8
    """
    if isinstance(value, ArrayBase):
        return as_tensor(value)
    kind = type(value)
    if (kind is float and (dtype.is_floating_point or dtype.is_complex)) or kind is bool:
        made = as_tensor(value) if _util.on_number is None else as_tensor(value, dtype)
        return made if device is None else brought(made, value, device)
    numpy = sys.modules.get("numpy")
    if isinstance(value, torch.Tensor) or (numpy and isinstance(value, (numpy.ndarray, numpy.generic))):
        try:
            return as_elements(value)
        except AbsentDTypeError:  # cast, if that can be
            return as_elements(value, dtype)
    made = as_tensor(value, dtype)
    return made if device is None else brought(made, value, device)


def as_flag(flag: Any) -> bool:
    """A bool, or the truth of an integer. Raises TypeError for anything else.

    >>> as_flag(2)
    True
    """
    return flag if type(flag) is bool else operator.index(flag) != 0


def as_sequence(name: str, items: Any, others: tuple[Any, ...] = (), weak: frozenset[type] = frozenset()) -> list[Any]:
    """The tensors of a sequence of array-likes; an array counts as the sequence of its rows. Python scalars of types
    that are `weak` stay what they are. Numbers and lists go where the first array is, among them or the others."""
    if type(items) is list or type(items) is tuple:
        others = (items, *others)
        return [
            item._t if type(item) is wrap.ARRAY else item if type(item) in weak else as_beside(item, others)
            for item in items
        ]
    check_asking(items)
    if not hasattr(items, "__getitem__"):
        if name == "concatenate":
            raise TypeError("The first input argument needs to be a sequence")
        raise TypeError('arrays to stack must be passed as a "sequence" type such as list or tuple.')
    if isinstance(items, torch.Tensor) or not isinstance(items, Collection):
        items = as_tensor(items)
        if not items.ndim:
            raise TypeError(f"{name}: a sequence of arrays is needed, not a 0-d array")
        return list(torch.unbind(items))
    if len(items) > _MOST_ARRAYS:
        raise ValueError(f"{name}() only supports up to {_MOST_ARRAYS} arrays but got {len(items)}.")
    return [as_argument(item) for item in items]


def as_inexact(x: torch.Tensor) -> torch.Tensor:
    """A tensor that is no integer: of integers and booleans the one of float64."""
    return x if x.is_floating_point() or x.is_complex() else x.to(torch.float64)
