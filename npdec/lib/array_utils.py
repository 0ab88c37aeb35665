"""Helpers for functions of arrays: `np.lib.array_utils`."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from npdec._array.convert import as_tensor
from npdec._core.tracebacks import ends
from npdec._core.unbound import unbound_of
from npdec._impl import _util

__all__ = ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]


@ends
def byte_bounds(a: Any) -> tuple[int, int]:
    """The address of an array's first byte, and the one after its last.

    >>> low, high = np.lib.array_utils.byte_bounds(np.ones((2, 3)))
    >>> high - low
    48
    """
    tensor = as_tensor(a)
    tensor = getattr(tensor, "value", tensor)
    low = tensor.data_ptr()
    if not tensor.numel():
        return low, low
    reach = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return low, low + (reach + 1) * tensor.element_size()


@unbound_of("npdec.lib.array_utils")
@ends
def normalize_axis_index(_: Any, axis: int, ndim: int, msg_prefix: str | None = None) -> int:
    """An axis counted from the front. AxisError if the array of `ndim` axes has none such.

    >>> np.lib.array_utils.normalize_axis_index(-1, 3)
    2
    """
    return _util.normalize_axis(axis, ndim, msg_prefix)


@ends
def normalize_axis_tuple(
    axis: int | Iterable[int], ndim: int, argname: str | None = None, allow_duplicate: bool = False
) -> tuple[int, ...]:
    """A tuple of axes counted from the front, of an axis or several. `argname` stands in messages.

    AxisError for an axis that is not there, ValueError for one that comes twice unless that is allowed.

    >>> np.lib.array_utils.normalize_axis_tuple((0, -1), 3)
    (0, 2)
    """
    if not isinstance(axis, (tuple, list)):
        try:
            axis = (operator.index(axis),)  # type: ignore[arg-type]
        except TypeError:
            axis = tuple(axis)  # type: ignore[arg-type]
    return _util.normalize_axes(tuple(axis), ndim, argname, allow_duplicate)
