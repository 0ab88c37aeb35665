"""Indexing: `x[key]`, and the plan of a key (NumPy: "Indexing on ndarrays").

A key arrives as a tuple of ints, slices, None, Ellipsis, bools and tensors of integers or booleans. Slices, ints and
None are torch's own views. The rest is brought to one form that torch and NumPy agree on: a view of the array, whose
leading axes are those that arrays index, and one int64 tensor for each of them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
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
    twice, `masked` that the key is one boolean array of the array's own shape, and `leads` that
    arrays index the first axes, and that no slice runs backwards. `unchecked` are the index tensors, with the size and
    the number of the axis, whose bounds `check_bounds` has to look at.
    """

    __slots__ = ("axes", "basic", "distinct", "flips", "index", "leads", "masked", "position", "unchecked")

    def __init__(self, shape: tuple[int, ...], key: tuple[Any, ...]) -> None:
        items = full_key(shape, key)
        self.basic: list[Any] = []
        self.flips: list[int] = []
        self.axes: list[int] = []
        self.index: list[torch.Tensor] = []
        self.masked = len(items) == 1 and is_mask(items[0]) and tuple(items[0].shape) == tuple(shape)
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
        count = len(self.index)
        self.leads = bool(count) and not self.flips and self.basic[:count].count(_ALL) == count
        if len(self.index) > 1:
            self._broadcast()
        self.distinct = not unchecked
        self.unchecked = unchecked

    def check_bounds(self) -> None:
        """Raise IndexError where an array names what there is not."""
        if self.index and self.index[0].numel():
            check_all_bounds(self.unchecked)

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
        arrays index some axes, the first, and nothing the others."""
        if not self.index or len(self.basic) != x.ndim or not all(map(_is_whole, self.basic, x.shape)):
            x = x[tuple(self.basic)]
        if self.axes and self.axes != list(range(len(self.axes))):
            x = x.permute(*self.axes, *(i for i in range(x.ndim) if i not in self.axes))
        return x

    def flipped(self) -> list[int]:
        """The axes of `view` whose slices run backwards."""
        return [axis - sum(a < axis for a in self.axes) + len(self.axes) for axis in self.flips]


def _is_whole(item: Any, size: int) -> bool:
    """Whether an item of `basic` is of a whole axis."""
    return type(item) is slice and item in (_ALL, slice(0, size, 1))


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
    plan.check_bounds()
    if plan.leads and plan.index[0].ndim and are_in_order(plan.index) and _is_descending(x):
        its = iter(plan.index)
        made = x[tuple([next(its) if item is _ALL else item for item in plan.basic])]
        return made if made.is_contiguous() else made.contiguous()
    view = plan.view(x)
    flips = plan.flipped()
    strides = view.stride()
    if flips:
        view = _storage.moved(torch.flip, view, flips)
    if not plan.index:
        return view
    if plan.index[0].ndim:
        return picked(view, plan.index, plan.position, strides)
    # torch would take 0-d tensors for ints, and give a view
    return picked(view, [i.reshape(1) for i in plan.index], plan.position, strides).squeeze(plan.position)


def are_in_order(indices: Sequence[torch.Tensor]) -> bool:
    """Whether the elements of tensors follow each other in memory."""
    return all(index.is_contiguous() for index in indices)


def _is_descending(x: torch.Tensor) -> bool:
    """Whether the strides of no axis are longer than those of the one before."""
    strides = x.stride()
    return all(map(operator.ge, strides, strides[1:]))


def _in_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """The axes of operands, broadcast together, as NumPy lays out what it makes of them, the outermost first: of two
    axes the one with the longer strides. Where operands disagree, or none says (of axes of length one or of equal
    rows), the axes are in the order in which they come."""
    inner: list[int] = []  # the innermost first
    for axis in reversed(range(len(shape))):
        place = at = len(inner)
        while at:
            other = inner[at - 1]
            pairs = [(its[axis], its[other]) for its in strides if its[axis] and its[other]]
            if pairs and shape[axis] > 1 and shape[other] > 1:
                if any(a >= b for a, b in pairs):
                    break
                place = at - 1
            at -= 1
        inner.insert(place, axis)
    return inner[::-1]


def picked(
    view: torch.Tensor, index: Sequence[torch.Tensor], position: int, strides: Sequence[int] | None = None
) -> torch.Tensor:
    """What arrays index, of a view whose first axes they index, with their axes in the place that is given.

    In memory their axes come first, as in NumPy's result, by rows, and then the others in the order that they have in
    the view, or by its strides before it was reversed; where the others have one element, those of the arrays are in
    the order that these have.
    """
    count = len(index)
    rest = list(range(view.ndim - count))
    its: list[int] = []
    if not are_in_order(index):
        if len({i.shape for i in index}) > 1:
            index = torch.broadcast_tensors(*index)
        its = _in_order(index[0].shape, [i.stride() for i in index])
        if its == sorted(its):
            its = []
        elif any(size != 1 for size in view.shape[count:]):
            index, its = [i.contiguous() for i in index], []
        else:
            index = [i.permute(its) for i in index]
    if rest and (strides or not view.is_contiguous()):
        along = (strides or view.stride())[count:]
        rest.sort(key=lambda axis: -along[axis])
        if rest != sorted(rest):
            view = view.permute(*range(count), *[count + axis for axis in rest])
    made = view[tuple(index)]
    if not made.is_contiguous():
        made = made.contiguous()
    lead = made.ndim - len(rest)
    if not (position or its or rest != sorted(rest)):
        return made
    inner = [lead + rest.index(axis) for axis in range(len(rest))]
    outer = [its.index(axis) for axis in range(lead)] if its else list(range(lead))
    return made.permute(*inner[:position], *outer, *inner[position:])
