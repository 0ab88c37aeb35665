"""Numbers and lists beside arrays: they have no device of their own, and go where the arrays are."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.foreign_arrays import as_argument, as_operand
from npdec._core.base import ArrayBase
from npdec._impl.dtypes_impl import on_device

__all__ = ["as_beside", "as_operand_beside", "beside", "brought"]


def as_beside(obj: Any, others: Iterable[Any]) -> torch.Tensor:
    """The tensor of a function's argument; of numbers and lists on the device of the first array among the others.

    >>> as_beside([0, 1], (torch.empty(2, device="meta"),)).device
    device(type='meta')
    """
    made = as_argument(obj)
    return made if isinstance(obj, ArrayBase) else beside(made, obj, others)


def as_operand_beside(obj: Any, others: Iterable[Any]) -> torch.Tensor:
    """The same of a ufunc's operand."""
    made = as_operand(obj)
    return made if isinstance(obj, ArrayBase) else beside(made, obj, others)


def beside(made: torch.Tensor, obj: Any, others: Iterable[Any]) -> torch.Tensor:
    """The tensor that was made of an argument, where the first array among the others is."""
    for other in others:
        for item in other if type(other) is list or type(other) is tuple else (other,):
            tensor = wrap.lent(item) if isinstance(item, ArrayBase) else item
            if isinstance(tensor, torch.Tensor):
                return brought(made, obj, tensor.device)
    return made


def brought(made: torch.Tensor, obj: Any, device: torch.device) -> torch.Tensor:
    """The tensor that was made of an argument, on another device. What came with a device stays on its own: torch says
    then that the two do not meet."""
    if made.device == device or _has_device(obj):
        return made
    return on_device(made, device)


def _has_device(obj: Any) -> bool:
    numpy = sys.modules.get("numpy")
    if isinstance(obj, (ArrayBase, torch.Tensor)) or (numpy is not None and isinstance(obj, numpy.ndarray)):
        return True
    return not isinstance(obj, (bool, int, float, complex, list, tuple, range)) and hasattr(type(obj), "__dlpack__")
