"""Indexing: `x[key]` and `x[key] = value` (NumPy: "Indexing on ndarrays").

A key arrives as a tuple of ints, slices, None, Ellipsis, bools and tensors of integers or booleans. Slices, ints and
None are torch's own views. The rest is brought to one form that torch and NumPy agree on: a view of the array with the
axes that arrays index in front, and one int64 tensor for each of them.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._impl import _storage, _util

_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
    "valid indices"
)


def shape_text(shape: Any) -> str:
    """A shape as NumPy's messages write it: without blanks."""
    return str(tuple(shape)).replace(" ", "")


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
    if not index.numel():
        return
    low, high = torch.aminmax(index)
    if _util.is_known_true((low < -size) | (high >= size)):
        first = index[(index < -size) | (index >= size)].flatten()[0]
        raise IndexError(f"index {int(first)} is out of bounds for axis {axis} with size {size}")


def wrap_negative(index: torch.Tensor, size: int) -> torch.Tensor:
    """Indices counted from the front, for the functions of torch that do not count from the back."""
    return torch.where(index < 0, index + size, index)


# --- the plan of a key ------------------------------------------------------------------------------------------------


class _Plan:
    """A key, resolved against a shape.

    `basic` is the part that torch's views do; it leaves the axes which arrays index whole. `flips` are the axes of that
    view whose slices run backwards. `axes` are the axes of the view that arrays index, and `index` their int64 tensors.
    `position` is where in the result the axes of the broadcast index go. `distinct` says that no element is indexed
    twice, and `masked` that the key is one boolean array of the array's own dimensions.
    """

    __slots__ = ("axes", "basic", "distinct", "flips", "index", "masked", "position")

    def __init__(self, shape: tuple[int, ...], key: tuple[Any, ...]) -> None:
        items = full_key(shape, key)
        self.basic: list[Any] = []
        self.flips: list[int] = []
        self.axes: list[int] = []
        self.index: list[torch.Tensor] = []
        self.masked = len(items) == 1 and _is_mask(items[0]) and items[0].ndim == len(shape)
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
        if len(self.index) > 1:
            self._broadcast()
        self.distinct = not unchecked
        if self.index and self.index[0].numel():
            for index, size, at in unchecked:
                check_bounds(index, size, at)

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
            self.basic.append(slice(None))
            self.axes.append(view_axis)
            self.index.append(index)
            axis += 1
            view_axis += 1
        return axis, view_axis

    def _broadcast(self) -> None:
        try:
            self.index = list(torch.broadcast_tensors(*self.index))
        except RuntimeError:
            shapes = " ".join(shape_text(index.shape) for index in self.index)
            raise IndexError(
                f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes} "
            ) from None

    def view(self, x: torch.Tensor) -> torch.Tensor:
        """The part of `x` that slices, ints and None select, with the axes that arrays index in front."""
        x = x[tuple(self.basic)]
        if self.axes and self.axes != list(range(len(self.axes))):
            x = x.permute(*self.axes, *(i for i in range(x.ndim) if i not in self.axes))
        return x

    def flipped(self) -> list[int]:
        """The axes of `view` whose slices run backwards."""
        return [axis - sum(a < axis for a in self.axes) + len(self.axes) for axis in self.flips]


def _is_mask(item: Any) -> bool:
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
    plan = _Plan(tuple(x.shape), key)
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


# --- writing ----------------------------------------------------------------------------------------------------------


def fit_leading(value: torch.Tensor, ndim: int) -> torch.Tensor:
    """`value` without axes of length one in front that the destination does not have."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = value.squeeze(0)
    return value


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether the shape broadcasts to the wanted one."""
    if len(shape) > len(wanted):
        return False
    return all(size in (1, want) for size, want in zip(reversed(shape), reversed(wanted)))


def broadcast_input(value: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """`value` fit to be copied into memory of the shape. Raises ValueError in NumPy's words."""
    fitted = fit_leading(value, len(shape))
    if not _fits(tuple(fitted.shape), shape):
        raise ValueError(
            f"could not broadcast input array from shape {shape_text(value.shape)} into shape {shape_text(shape)}"
        )
    return fitted


def setitem(x: torch.Tensor, key: tuple[Any, ...], value: torch.Tensor) -> None:
    """Write `value`, broadcast and cast to the dtype of `x`, where the key says. An element named twice gets the last.

    `value` must not share memory with `x`. Raises IndexError and ValueError in NumPy's words, with nothing written.
    """
    value = _util.cast(value, x.dtype)
    if is_simple(key):
        try:
            view = x[key]
        except (IndexError, ValueError, TypeError, RuntimeError, OverflowError):
            pass
        else:
            if not view.ndim and value.ndim and Ellipsis not in key:
                if x.dtype.is_complex:
                    raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
                raise ValueError("setting an array element with a sequence.")
            view.copy_(broadcast_input(value, tuple(view.shape)))
            return
    if value.numel() == 1 and value.ndim < 2 and _is_mask_of(x, key):  # without counting the elements first
        mask = key[0].reshape(*key[0].shape, *[1] * (x.ndim - key[0].ndim))
        value = value.reshape(())
        if type(x) is torch.Tensor and type(value) is torch.Tensor:
            _storage.signed(x).masked_fill_(mask, _storage.signed(value))
        else:  # decomposed: torch.vmap, over the components, has torch.where but no masked_fill with a tensor
            x.copy_(torch.where(mask, value, x))
        return
    plan = _Plan(tuple(x.shape), key)
    view = plan.view(x)
    flips = plan.flipped()
    if not plan.index:
        value = broadcast_input(value, tuple(view.shape))
        view.copy_(_storage.moved(torch.flip, value.expand(view.shape), flips) if value.numel() != 1 else value)
        return
    _put(view, plan, value, flips)


def _is_mask_of(x: torch.Tensor, key: tuple[Any, ...]) -> bool:
    """Whether the key is one boolean tensor over the first axes of `x`."""
    if len(key) != 1 or not _is_mask(key[0]) or not key[0].ndim:
        return False
    return bool(key[0].shape == x.shape[: key[0].ndim])


def _put(view: torch.Tensor, plan: _Plan, value: torch.Tensor, flips: list[int]) -> None:
    """Write `value` through the arrays of a plan. `view` has the axes that they index in front."""
    count = len(plan.index)
    indexed = tuple(plan.index[0].shape)
    rest = tuple(view.shape[count:])
    result = rest[: plan.position] + indexed + rest[plan.position :]
    value = fit_indexed(value, result, plan.masked)
    # One plain number may be written twice to an element; anything that carries a graph must not.
    constant = value.numel() == 1 and type(value) is torch.Tensor and not value.requires_grad
    if constant or (value.numel() == 1 and plan.distinct):
        value = value.reshape(())
    else:
        value = value.expand(result)
        if plan.position:
            moved = tuple(range(len(indexed)))
            value = value.movedim(tuple(plan.position + i for i in moved), moved)
        if flips:
            value = _storage.moved(torch.flip, value, [axis - count + len(indexed) for axis in flips])
    index = [i if i.ndim else i.reshape(1) for i in plan.index]
    value = _storage.signed(value)
    if not (constant or plan.distinct):
        index, value = _last_wins(index, value, tuple(view.shape[:count]), rest)
    # Decomposed tensors are of float dtypes; for the unsigned ones torch has no index_put.
    _storage.signed(view)[tuple(index)] = value


def fit_indexed(value: torch.Tensor, shape: tuple[int, ...], masked: bool = False) -> torch.Tensor:
    """`value` fit to be assigned to what arrays index, of the shape. Raises ValueError, TypeError in NumPy's words."""
    if masked and value.ndim > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has "
            f"{value.ndim} dimensions"
        )
    fitted = fit_leading(value, len(shape))
    if _fits(tuple(fitted.shape), shape):
        return fitted
    last = value.shape[-len(shape) :] if shape else torch.Size()
    if not last.numel() and _fits(tuple(last), shape):  # of no elements NumPy minds no axes in front
        return value.reshape(last)
    if masked:
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {value.shape[0]} input values to the {shape[0]} "
            "output values where the mask is true"
        )
    raise ValueError(
        f"shape mismatch: value array of shape {shape_text(value.shape)} could not be broadcast to indexing result of "
        f"shape {shape_text(shape)}"
    )


def _last_wins(
    index: list[torch.Tensor], value: torch.Tensor, sizes: tuple[int, ...], rest: tuple[int, ...]
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The index, flat, with the value that each element is to get: torch leaves open which of several it would be."""
    count = index[0].numel()
    index = [i.reshape(-1) for i in index]
    value = value.reshape(count, *rest)
    if count < 2:
        return index, value
    flat = torch.zeros_like(index[0])
    total = 1
    for i, size in zip(index, sizes, strict=True):
        flat = flat * size + wrap_negative(i, size)
        total *= size
    order = torch.arange(count, device=flat.device)
    if total <= 8 * count:
        last = order.new_full((total,), -1).scatter_reduce(0, flat, order, "amax").gather(0, flat)
    else:
        ranked, place = torch.sort(flat, stable=True)
        ends = torch.cat([ranked[1:] != ranked[:-1], torch.ones_like(ranked[:1], dtype=torch.bool)])
        # The last of each run of equal indices: the nearest end at or after every rank.
        nearest = torch.where(ends, order, count).flip(0).cummin(0).values.flip(0)
        last = torch.empty_like(place).scatter(0, place, place[nearest])
    stays = (last == order).reshape(-1, *[1] * len(rest))
    # What is overwritten gets no gradient: only the last one of several writes its value with its graph.
    return index, torch.where(stays, value, value[last].detach())
