"""Options that many functions take, read as NumPy reads them: masks, and flags that are counted as integers."""

from __future__ import annotations

import operator
import sys
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._core.base import ArrayBase

__all__ = ["as_flag", "as_mask", "as_value"]


def as_mask(where: Any) -> torch.Tensor:
    """The tensor of a boolean mask. Numbers and lists count by their truth; an array of another dtype is refused
    (TypeError).

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
    return as_tensor(where, None if isinstance(where, ArrayBase) and where._d is torch.bool else torch.bool)


def as_value(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """The tensor of what is written into an array of a dtype.

    Python's numbers, alone and in lists, become numbers of that dtype: OverflowError where they are out of its range,
    ValueError for nan as an integer, TypeError for a complex number as a real one. Arrays keep their own dtype.

    >>> as_value(300, torch.int8)
    Traceback (most recent call last):
    OverflowError: Python integer 300 out of bounds for int8
    """
    if isinstance(value, ArrayBase):
        return value._t
    kind = type(value)
    if (kind is float and (dtype.is_floating_point or dtype.is_complex)) or kind is bool:
        return as_tensor(value)
    numpy = sys.modules.get("numpy")
    if isinstance(value, torch.Tensor) or (numpy and isinstance(value, (numpy.ndarray, numpy.generic))):
        return as_tensor(value)
    return as_tensor(value, dtype)


def as_flag(flag: Any) -> bool:
    """A bool, or the truth of an integer. Raises TypeError for anything else.

    >>> as_flag(2)
    True
    """
    return flag if type(flag) is bool else operator.index(flag) != 0
