"""Shapes and axes (NumPy: "Array manipulation routines": basic operations, shape, transpose-like, dimensions).

All of it is linear, and a view wherever torch can make one.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, AxisLike, Flat, Frozen, ShapeLike, View, public
from npdec._impl import _storage, _util, _views
from npdec._impl.creation_impl import check_shape
from npdec._impl.getitem_impl import shape_text
from npdec.exceptions import AxisError


@public
def ndim(a: ArrayLike) -> int:
    """The number of axes, an int.

    >>> np.ndim([[1, 2, 3]])
    2
    """
    return a.dim()


@public
def shape(a: ArrayLike) -> tuple[int, ...]:
    """The length along each axis, a tuple of ints.

    >>> np.shape([[1, 2, 3]])
    (1, 3)
    """
    return tuple(a.shape)


@public
def size(a: ArrayLike, axis: AxisLike | None = None) -> int:
    """The number of elements, or the length along an axis or the product of the lengths along several; an int.

    Raises AxisError for an axis out of range.

    >>> np.size([[1, 2, 3]]), np.size([[1, 2, 3]], 0)
    (3, 1)
    """
    if axis is None:
        return a.numel()
    return math.prod(a.shape[i] for i in _util.normalize_axes(axis, a.ndim))


# --- shape ------------------------------------------------------------------------------------------------------------


def complete_shape(count: int, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The wanted shape with its one negative size worked out for `count` elements. Raises ValueError."""
    unknown = [i for i, n in enumerate(wanted) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod(n for n in wanted if n >= 0)
    if unknown and known and count % known == 0:
        return tuple(count // known if n < 0 else n for n in wanted)
    if unknown or known != count:
        named = list(itertools.dropwhile(lambda n: n < 0, wanted))  # as NumPy: not the unknown ones in front
        text = ",".join("newaxis" if n < 0 else str(n) for n in named) + ("," if len(wanted) == 1 else "")
        raise ValueError(f"cannot reshape array of size {count} into shape ({text})")
    return wanted


@public(direct=Direct(_views.reshaped))
def reshape(a: ArrayLike, /, shape: ShapeLike, order: str = "C", *, copy: bool | None = None) -> View:
    """The same elements in another shape: a view where the memory allows it, else a copy.

    One size may be -1 and is worked out. `order` is how elements are counted, in the array and in the result: the last
    axis fastest ("C"), the first ("F"), or "A": the first if `a` is column major. `copy=True` always copies;
    `copy=False` raises ValueError where a copy is needed. Raises ValueError if the number of elements differs.

    >>> np.reshape([1, 2, 3, 4], (2, -1))
    array([[1, 2],
           [3, 4]])
    """
    if order == "C" and copy is None and min(shape, default=0) >= 0:
        try:
            return a.reshape(shape)
        except RuntimeError:
            pass  # another number of elements, which is said below
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    order = _storage.check_order("C" if order is None else order, "CFA", "order 'K' is not permitted for reshaping")
    wanted = complete_shape(a.numel(), shape)
    if order == "F" or (order == "A" and _storage.is_column_major(a) and not a.is_contiguous()):
        return _storage.reverse_axes(_reshape(_storage.reverse_axes(a), wanted[::-1], copy))
    return _reshape(a, wanted, copy)


def _reshape(a: torch.Tensor, wanted: tuple[int, ...], copy: bool | None) -> torch.Tensor:
    if copy is None:
        return a.reshape(wanted)
    if copy:
        return a.clone(memory_format=torch.contiguous_format).reshape(wanted)
    try:
        return a.view(wanted)
    except RuntimeError:
        raise ValueError("Unable to avoid creating a copy while reshaping.") from None


@public(method=True, direct=Direct(lambda a: a.ravel() if a.is_contiguous() else None))
def ravel(a: ArrayLike, order: str = "C") -> Flat:
    """The elements in one axis: a view if they lie in memory in that order without gaps, else a copy.

    `order` is how they are counted: the last axis fastest ("C"), the first ("F"), "A": the first if `a` is column
    major, or "K": as they lie in memory.

    >>> np.ravel([[1, 2], [3, 4]], order="F")
    array([1, 3, 2, 4])
    """
    if order == "C" and a.is_contiguous():
        return a.reshape(-1)
    order = _storage.check_order("C" if order is None else order)
    if order == "A":
        order = "F" if _storage.is_column_major(a) and not a.is_contiguous() else "C"
    if order == "F":
        a = _storage.reverse_axes(a)
    elif order == "K":
        a = a.permute(*_by_strides(a)) if a.ndim > 1 else a
    flat = a.reshape(-1)
    if not a.is_contiguous() and flat._is_view():  # torch gives a view of evenly spaced elements
        return flat.clone(memory_format=torch.contiguous_format)
    return flat


def _by_strides(a: torch.Tensor) -> list[int]:
    """The axes from the largest stride to the smallest. Where elements are repeated the stride is zero, and the axis
    keeps its place."""
    order: list[int] = []  # the smallest stride first
    strides = [a.stride(axis) if a.shape[axis] > 1 else 0 for axis in range(a.ndim)]
    for axis in reversed(range(a.ndim)):
        at = len(order)
        for before in reversed(range(len(order))):
            if strides[axis] and strides[order[before]]:
                if strides[order[before]] <= strides[axis]:
                    break
                at = before
        order.insert(at, axis)
    return order[::-1]


# --- transpose-like ---------------------------------------------------------------------------------------------------


@public(aliases=("permute_dims",), direct=Direct(_views.transposed))
def transpose(a: ArrayLike, axes: AxisLike | None = None) -> View:
    """A view with the axes in another order: `axes[i]` becomes axis i; without `axes` the order is reversed.

    Raises ValueError unless `axes` names every axis once, AxisError for one out of range.

    >>> np.transpose([[1, 2, 3]])
    array([[1],
           [2],
           [3]])
    """
    if axes is None:
        return _views.transposed(a)
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    if len(axes) != a.ndim:
        raise ValueError("axes don't match array")
    order = [_util.normalize_axis(axis, a.ndim) for axis in axes]
    if len(set(order)) != len(order):
        raise ValueError("repeated axis in transpose")
    return a.permute(order)


@public(direct=Direct(_views.of_matrices))
def matrix_transpose(x: ArrayLike, /) -> View:
    """A view with the last two axes exchanged. Raises ValueError for fewer than two axes.

    >>> np.matrix_transpose([[[1, 2]]])
    array([[[1],
            [2]]])
    """
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return torch.transpose(x, -2, -1)


@public(method=True, direct=Direct(_views.with_two_axes(torch.transpose)))
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> View:
    """A view with two axes exchanged. Raises AxisError for an axis out of range.

    >>> np.swapaxes([[1, 2, 3]], 0, 1).shape
    (3, 1)
    """
    axis1 = _util.normalize_axis(axis1, a.ndim, "axis1")
    axis2 = _util.normalize_axis(axis2, a.ndim, "axis2")
    return torch.transpose(a, axis1, axis2)


@public(direct=Direct(_views.with_two_axes(torch.movedim)))
def moveaxis(a: ArrayLike, source: AxisLike, destination: AxisLike) -> View:
    """A view with some axes moved to other positions; the rest stay in order.

    Raises AxisError for an axis out of range, ValueError for a repeated one or different numbers of them.

    >>> np.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    source = _util.normalize_axes(source, a.ndim, "source")
    destination = _util.normalize_axes(destination, a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    return torch.movedim(a, source, destination)


@public
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> View:
    """A view with one axis moved to lie before the one at position `start`; `np.moveaxis` says it more clearly.

    Raises AxisError for a position out of range.

    >>> np.rollaxis(np.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    axis = _util.normalize_axis(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise AxisError(f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {start} was passed in")
    start = start + a.ndim if start < 0 else start
    return torch.movedim(a, axis, start - 1 if axis < start else start)


# --- number of dimensions ---------------------------------------------------------------------------------------------


@public(direct=Direct(_views.with_axis))
def expand_dims(a: ArrayLike, axis: AxisLike) -> View:
    """A view with new axes of length one; `axis` says where they are in the result.

    Raises AxisError for a position out of range, ValueError for a repeated one.

    >>> np.expand_dims([1, 2], 0)
    array([[1, 2]])
    """
    if type(axis) is int and -a.dim() - 1 <= axis <= a.dim() < 64:
        return torch.unsqueeze(a, axis)
    count = 1 if isinstance(axis, int) else len(axis)
    new = _util.normalize_axes(axis, a.ndim + count)
    if a.ndim + count > 64:
        raise ValueError(f"maximum supported dimension for an ndarray is currently 64, found {a.ndim + count}")
    old = iter(a.shape)
    return a.reshape([1 if i in new else next(old) for i in range(a.ndim + count)]) if new else a.view(a.shape)


@public(method=True, direct=Direct(_views.squeezed))
def squeeze(a: ArrayLike, axis: AxisLike | None = None) -> View:
    """A view without the axes of length one, or without those of them that `axis` names.

    Raises ValueError if a named axis is longer, AxisError if it is out of range.

    >>> np.squeeze([[[1, 2]]]).shape
    (2,)
    """
    if axis is None:
        return torch.squeeze(a) if 1 in a.shape else a
    if not a.ndim and isinstance(axis, int) and axis in (0, -1):
        return a.view(())
    axes = _util.normalize_axes(axis, a.ndim, allow_duplicate=True)
    if not axes:
        return a
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return torch.squeeze(a, axes)


def _at_least(arys: Sequence[torch.Tensor], shape_of: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    wanted = [shape_of(tuple(a.shape)) for a in arys]
    results = tuple(a if shape == tuple(a.shape) else a.reshape(shape) for a, shape in zip(arys, wanted, strict=True))
    return results[0] if len(results) == 1 else results


@public
def atleast_1d(*arys: ArrayLike) -> View | tuple[View, ...]:
    """Each array, a number as an array of one axis; views. One array gives an array, several give a tuple.

    >>> np.atleast_1d(5)
    array([5])
    """
    return _at_least(arys, lambda shape: shape or (1,))


@public
def atleast_2d(*arys: ArrayLike) -> View | tuple[View, ...]:
    """Each array with at least two axes, those that it lacks as leading axes; views. Several arrays give a tuple.

    >>> np.atleast_2d([1, 2])
    array([[1, 2]])
    """
    return _at_least(arys, lambda shape: (1,) * (2 - len(shape)) + shape)


@public
def atleast_3d(*arys: ArrayLike) -> View | tuple[View, ...]:
    """Each array with at least three axes; views. Several arrays give a tuple.

    A vector of length n gets shape (1, n, 1), a matrix of shape (m, n) gets (m, n, 1).

    >>> np.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """

    def with_three(shape: tuple[int, ...]) -> tuple[int, ...]:
        return {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape)

    return _at_least(arys, with_three)


# --- broadcasting -----------------------------------------------------------------------------------------------------


@public(direct=Direct(_views.expanded))
def broadcast_to(array: ArrayLike, shape: ShapeLike, subok: bool = False) -> Frozen:
    """The array repeated along new axes and axes of length one to fill the shape: a read-only view.

    An array of a program's own class stays one under `subok`. Raises ValueError if the shapes do not fit.

    >>> np.broadcast_to([1, 2], (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    del subok  # arrays of subclasses are not seen here
    if any(n < 0 for n in shape):
        raise ValueError("all elements of broadcast shape must be non-negative")
    if not shape and array.ndim:
        raise ValueError("cannot broadcast a non-scalar to a scalar array")
    if array.ndim > len(shape):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    if any(n not in (1, m) for n, m in zip(reversed(array.shape), reversed(shape))):
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{shape_text(array.shape)}  and requested shape {shape_text(shape)}"
        )
    return array.expand(shape)


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all broadcast to. Raises ValueError that names the first two which do not go together."""
    result = [1] * max(map(len, shapes), default=0)
    owner = [0] * len(result)
    for position, one in enumerate(shapes):
        for back, n in enumerate(reversed(one), 1):
            if n != 1 and result[-back] == 1:
                result[-back], owner[-back] = n, position
            elif n not in (1, result[-back]):
                other = owner[-back]
                raise ValueError(
                    "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg "
                    f"{other} with shape {tuple(shapes[other])} and arg {position} with shape {tuple(one)}."
                )
    return tuple(result)


@public
def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[View, ...]:
    """All the arrays broadcast against each other: a tuple of views, whose elements share memory.

    An array of a program's own class stays one under `subok`. Raises ValueError if the shapes do not fit.

    >>> np.broadcast_arrays([1, 2], 3)
    (array([1, 2]), array([3, 3]))
    """
    del subok  # arrays of subclasses are not seen here
    shape = common_shape([tuple(a.shape) for a in args])
    return tuple(a if tuple(a.shape) == shape else a.expand(shape) for a in args)


@public
def broadcast_shapes(*args: Any):
    """The shape that arrays of the given shapes broadcast to, a tuple of ints. Raises ValueError if they do not fit.

    >>> np.broadcast_shapes((2, 1), 3)
    (2, 3)
    """
    return common_shape([check_shape(_of_ints(one)) for one in args])


def _of_ints(shape: Any) -> tuple[int, ...]:
    if hasattr(shape, "__iter__") and getattr(shape, "ndim", None) != 0:
        return tuple(map(operator.index, shape))
    try:
        return (operator.index(shape),)
    except TypeError:
        raise TypeError(f"expected a sequence of integers or a single integer, got '{shape!r}'") from None
