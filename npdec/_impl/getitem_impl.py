"""Indexing: `x[key]`, and the plan of a key (NumPy: "Indexing on ndarrays").

A key arrives as a tuple of ints, slices, None, Ellipsis, bools and tensors of integers or booleans. Slices, ints and
None are torch's own views. The rest is brought to one form that torch and NumPy agree on: a view of the array, whose
leading axes are those that arrays index, and one int64 tensor for each of them.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._impl import _storage, _util
from npdec._impl.dtypes_impl import WIDE_UNSIGNED

_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
    "valid indices"
)


def shape_text(shape: Any) -> str:
    """A shape as NumPy's messages write it: without blanks."""
    return str(tuple(shape)).replace(" ", "")


_ALL = slice(None)  # an axis that an array indexes


def is_simple(key: tuple[Any, ...]) -> bool:
    """Whether torch reads the key as NumPy does: ints, forward slices, None and one Ellipsis."""
    dots = 0
    for item in key:
        kind = type(item)
        if kind is int or item is None:
            continue
        if kind is slice:
            if item.step is None or item.step > 0:
                continue
            return False
        if item is Ellipsis and not dots:
            dots = 1
            continue
        return False
    return True


def has_negative_step(key: tuple[Any, ...]) -> bool:
    """Whether a slice of the key runs backwards: torch has no negative strides, so what it gives is a copy."""
    return any(type(item) is slice and item.step is not None and item.step < 0 for item in key)


# --- bounds -----------------------------------------------------------------------------------------------------------


def check_bounds(index: torch.Tensor, size: int, axis: int) -> None:
    """Raise IndexError if an index lies outside of -size to size - 1. On an accelerator torch would only abort."""
    if not index.numel() or _util.is_capturing(index):
        return
    low, high = torch.aminmax(index)
    if _may_be_read(index):
        # An accelerator is waited for once.
        least, most = (low.item(), high.item()) if index.is_cpu else torch.stack((low, high)).tolist()
        if least >= -size and most < size:
            return
    if _util.is_known_true((low < -size) | (high >= size)):
        first = index[(index < -size) | (index >= size)].flatten()[0]
        raise IndexError(f"index {int(first)} is out of bounds for axis {axis} with size {size}")


def _may_be_read(index: torch.Tensor) -> bool:
    return not (_util.carries(index) or index.is_meta) and _util.is_unwatched()


def check_all_bounds(indices: list[tuple[torch.Tensor, int, int]]) -> None:
    """The same of several: an index, the size and the axis each. An accelerator is waited for once."""
    tensors = [index for index, _, _ in indices]
    one_device = len(tensors) > 1 and len({index.device for index in tensors}) == 1 and not tensors[0].is_cpu
    if one_device and not _util.is_capturing(tensors[0]) and all(x.numel() and _may_be_read(x) for x in tensors):
        ends = torch.stack([end for index in tensors for end in torch.aminmax(index)]).tolist()
        if all(low >= -size and high < size for low, high, (_, size, _) in zip(ends[::2], ends[1::2], indices)):
            return
    for index, size, axis in indices:
        check_bounds(index, size, axis)


def wrap_negative(index: torch.Tensor, size: int) -> torch.Tensor:
    """Indices counted from the front, for the functions of torch that do not count from the back."""
    return torch.where(index < 0, index + size, index)


# --- the plan of a key ------------------------------------------------------------------------------------------------


class Plan:
    """A key, resolved against a shape.

    `basic` is the part that torch's views do; it leaves the axes which arrays index whole. `flips` are the axes of that
    view whose slices run backwards. `axes` are the axes of the view that arrays index, and `index` their int64 tensors.
    `position` is where in the result the axes of the broadcast index go. `distinct` says that no element is indexed
    twice, `masked` that the key is one boolean array of the array's own dimensions, and `together` that arrays that
    have axes stand side by side, and neither ints nor slices that run backwards.
    """

    __slots__ = ("axes", "basic", "distinct", "flips", "index", "masked", "position", "together")

    def __init__(self, shape: tuple[int, ...], key: tuple[Any, ...]) -> None:
        items = full_key(shape, key)
        self.basic: list[Any] = []
        self.flips: list[int] = []
        self.axes: list[int] = []
        self.index: list[torch.Tensor] = []
        self.masked = len(items) == 1 and is_mask(items[0]) and items[0].ndim == len(shape)
        has_arrays = any(isinstance(item, torch.Tensor) for item in items)
        groups = 0  # of neighbouring arrays (and ints, where there are arrays)
        in_group = False
        first = 0  # how many axes of the result come before the first array
        axis = 0  # of the indexed array
        view_axis = 0
        unchecked: list[tuple[torch.Tensor, int, int]] = []
        for item in items:
            is_array = isinstance(item, torch.Tensor)
            grouped = is_array or (has_arrays and isinstance(item, int))
            if grouped and not in_group:
                first = first if groups else view_axis
                groups += 1
            in_group = grouped
            if is_array:
                axis, view_axis = self._add_array(item, shape, axis, view_axis, unchecked)
            elif isinstance(item, int):
                self.basic.append(_check_int(item, shape, axis))
                axis += 1
            elif item is None:
                self.basic.append(None)
                view_axis += 1
            elif item is not Ellipsis:
                self._add_slice(item, shape[axis], view_axis)
                axis += 1
                view_axis += 1
        self.position = first if groups == 1 else 0
        of_axes = bool(self.index) and self.basic.count(_ALL) == len(self.index)
        self.together = groups == 1 and of_axes and not self.flips and int not in map(type, self.basic)
        if len(self.index) > 1:
            self._broadcast()
        self.distinct = not unchecked
        if self.index and self.index[0].numel():
            check_all_bounds(unchecked)

    def _add_slice(self, item: slice, size: int, view_axis: int) -> None:
        start, stop, step = item.indices(size)
        if step < 0:
            count = len(range(start, stop, step))
            start, stop, step = start + (count - 1) * step, start + 1, -step
            start, stop = (start, stop) if count else (0, 0)
            self.flips.append(view_axis)
        self.basic.append(slice(start, stop, step))

    def _add_array(
        self,
        item: torch.Tensor,
        shape: tuple[int, ...],
        axis: int,
        view_axis: int,
        unchecked: list[tuple[torch.Tensor, int, int]],
    ) -> tuple[int, int]:
        if item.dtype is torch.bool:
            if not item.ndim:  # an axis of its own: of length one if True, zero if False
                self.basic.append(None)
                self.axes.append(view_axis)
                self.index.append(item.reshape(1).nonzero().reshape(-1))
                return axis, view_axis + 1
            for i, size in enumerate(item.shape):
                if size not in (0, shape[axis + i]):  # an axis of no booleans fits every axis, and selects nothing
                    raise IndexError(
                        f"boolean index did not match indexed array along axis {axis + i}; size of axis is "
                        f"{shape[axis + i]} but size of corresponding boolean axis is {size}"
                    )
            indices = list(item.nonzero(as_tuple=True))
        else:
            indices = [_util.to_int64(item)]
            unchecked.append((indices[0], shape[axis], axis))
        for index in indices:
            self.basic.append(_ALL)
            self.axes.append(view_axis)
            self.index.append(index)
            axis += 1
            view_axis += 1
        return axis, view_axis

    def _broadcast(self) -> None:
        try:
            self.index = list(torch.broadcast_tensors(*self.index))
        except RuntimeError:
            try:
                shape = _util.broadcast_shapes(*(index.shape for index in self.index))
            except ValueError:
                shapes = " ".join(shape_text(index.shape) for index in self.index)
                raise IndexError(
                    f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes} "
                ) from None
            raise ValueError(f"array is too big: the indices choose elements in an array of shape {shape}") from None

    def view(self, x: torch.Tensor) -> torch.Tensor:
        """The part of `x` that slices, ints and None select, in which the axes that arrays index lead; `x` itself, if
        arrays index them all."""
        if self.index and len(self.index) == len(self.basic) == x.ndim and self.basic.count(_ALL) == x.ndim:
            return x
        x = x[tuple(self.basic)]
        if self.axes and self.axes != list(range(len(self.axes))):
            x = x.permute(*self.axes, *(i for i in range(x.ndim) if i not in self.axes))
        return x

    def flipped(self) -> list[int]:
        """The axes of `view` whose slices run backwards."""
        return [axis - sum(a < axis for a in self.axes) + len(self.axes) for axis in self.flips]


def is_mask(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and item.dtype is torch.bool


def full_key(shape: tuple[int, ...], key: tuple[Any, ...]) -> list[Any]:
    """The key with as many slices for its Ellipsis as there are axes left. Raises IndexError if it does not fit."""
    used, dots = 0, None
    full: list[Any] = []
    for item in key:
        if type(item) is bool:
            item = torch.tensor(item)
        if item is Ellipsis:
            if dots is not None:
                raise IndexError("an index can only have a single ellipsis ('...')")
            dots = len(full)
        elif isinstance(item, torch.Tensor):
            if item.dtype.is_floating_point or item.dtype.is_complex:
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            used += item.ndim if item.dtype is torch.bool else 1
        elif isinstance(item, (int, slice)):
            used += 1
        elif item is not None:
            raise IndexError(_INVALID)
        full.append(item)
    ndim = len(shape)
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    rest = [slice(None)] * (ndim - used)
    if dots is None:
        return full + rest
    return full[: dots + 1] + rest + full[dots + 1 :]


def _check_int(item: int, shape: tuple[int, ...], axis: int) -> int:
    size = shape[axis]
    if not -size <= item < size:
        if not -(2**63) <= item < 2**63:
            raise IndexError("cannot fit 'int' into an index-sized integer")
        raise IndexError(f"index {item} is out of bounds for axis {axis} with size {size}")
    return item


# --- reading ----------------------------------------------------------------------------------------------------------


def getitem(x: torch.Tensor, key: tuple[Any, ...]) -> torch.Tensor:
    """What NumPy's `x[key]` holds: a view of `x` for ints, forward slices, None and Ellipsis, else a copy.

    Raises IndexError in NumPy's words.
    """
    if is_simple(key):
        try:
            return x[key]
        except (IndexError, ValueError, TypeError, RuntimeError, OverflowError):
            pass  # what follows says it in NumPy's words, or knows better
    if x.dtype in WIDE_UNSIGNED and not x.is_cpu:  # of which no accelerator reads elements by arrays
        return _storage.seen_as(getitem(_storage.signed(x), key), x.dtype)
    plan = Plan(tuple(x.shape), key)
    if plan.together and plan.index[0].ndim:  # torch puts the axes of neighbouring arrays where NumPy does
        its = iter(plan.index)
        return x[tuple([next(its) if item is _ALL else item for item in plan.basic])]
    view = plan.view(x)
    flips = plan.flipped()
    if flips:
        view = _storage.moved(torch.flip, view, flips)
    if not plan.index:
        return view
    index = plan.index
    scalar = not index[0].ndim
    if scalar:  # torch would take 0-d tensors for ints, and give a view
        index = [i.reshape(1) for i in index]
    result = view[tuple(index)]
    if scalar:
        return result.squeeze(0)
    if plan.position:
        lead = tuple(range(index[0].ndim))
        result = result.movedim(lead, tuple(plan.position + i for i in lead))
    return result
