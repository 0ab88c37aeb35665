"""Array creation from a shape or a value (NumPy: "Array creation routines", from shape or value)."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Affine, Array, ArrayLike, ArrayLikeOrScalar, DTypeLike, Like, ShapeLike, public
from npdec._impl import _devices, _promotion, _storage, _util, dtypes_impl
from npdec._impl._devices import as_device
from npdec._impl.setitem_impl import broadcast_input
from npdec.exceptions import AbsentDTypeError


def check_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, if it is one. Raises ValueError."""
    if any(size < 0 for size in shape):
        raise ValueError("negative dimensions are not allowed")
    if any(size > 2**63 - 1 for size in shape):
        raise ValueError("Maximum allowed dimension exceeded")
    if math.prod(size for size in shape if size) > 2**63 - 1:
        raise ValueError("array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.")
    return shape


def allocate(
    shape: tuple[int, ...], dtype: torch.dtype | None, order: str, device: Any, prototype: torch.Tensor | None = None
) -> torch.Tensor:
    """Uninitialised memory: row major for "C", column major for "F", else its axes ordered as the prototype's."""
    check_shape(shape)
    options: dict[str, Any] = {"dtype": torch.float64 if dtype is None else dtype, "device": as_device(device)}
    axes = list(range(len(shape)))
    if order == "F":
        axes.reverse()
    elif order == "K" and prototype is not None and prototype.ndim == len(shape):
        strides = prototype.stride()
        axes.sort(key=lambda axis: -strides[axis])
    if axes == sorted(axes):
        return torch.empty(shape, **options)
    base = torch.empty([shape[axis] for axis in axes], **options)
    return base.permute(sorted(range(len(axes)), key=axes.__getitem__))


def _simple(
    make: Any, shape: tuple[int, ...], dtype: torch.dtype | None, order: Any, device: Any
) -> torch.Tensor | None:
    """What `make` gives where nothing but shape and dtype is asked for; None if there is more to look at."""
    if order != "C" or device is not None:
        return None
    dtype = torch.float64 if dtype is None else dtype
    try:
        return make(shape, dtype=dtype, device=_devices.default_device()) if _devices.used else make(shape, dtype=dtype)
    except (RuntimeError, TypeError):  # a shape that cannot be: NumPy's words for it are found on the long way
        return None


def _made_by(make: Any) -> Direct:
    """The common call of what makes an array of a shape."""

    def made(shape: Any, dtype: torch.dtype | None) -> torch.Tensor | None:
        if _devices.used:
            return None
        lengths = shape if type(shape) is tuple and len(shape) > 1 else (shape,)  # sooner taken one by one
        return make(*lengths, dtype=torch.float64 if dtype is None else dtype)

    return Direct(made, given=("dtype",))


def _made_like(make: Any) -> Direct:
    """The common call of what makes an array like another."""
    return Direct(lambda a: make(a) if a.is_contiguous() else None)


def _allocate_like(
    prototype: torch.Tensor, dtype: torch.dtype | None, order: str, shape: tuple[int, ...] | None, device: Any
) -> torch.Tensor:
    order = _storage.check_order(order)
    if order == "A":
        order = "F" if _storage.is_column_major(prototype) and not prototype.is_contiguous() else "C"
    return allocate(
        tuple(prototype.shape) if shape is None else shape,
        prototype.dtype if dtype is None else dtype,
        order,
        prototype.device if device is None else device,
        prototype,
    )


@public(direct=_made_by(torch.empty), unbound=True)
def empty(
    shape: ShapeLike, dtype: DTypeLike | None = None, order: str = "C", *, device: Any = None, like: Like = None
) -> Array:
    """An array of the shape whose elements are whatever the memory held: fill it before you read it.

    `dtype` is float64 unless given; `order` is "C" (row major) or "F" (column major); `device` is one of torch's.
    Raises ValueError for a negative size.

    >>> np.empty((2, 3)).shape
    (2, 3)
    """
    made = _simple(torch.empty, shape, dtype, order, device)
    if made is not None:
        return made
    return allocate(shape, dtype, _storage.check_order(order, "CF"), device)


@public(direct=_made_by(torch.zeros), unbound=True)
def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Like = None,
) -> Array:
    """An array of the shape filled with zeros, False for booleans.

    `dtype` is float64 unless given; `order` is "C" (row major) or "F" (column major); `device` is one of torch's.
    Raises ValueError for a negative size.

    >>> np.zeros(2)
    array([0., 0.])
    """
    made = _simple(torch.zeros, shape, dtype, order, device)
    if made is not None:
        return made
    return allocate(shape, dtype, _storage.check_order(order, "CF"), device).zero_()


def _is_plain(a: torch.Tensor, order: str, shape: Any, device: Any) -> bool:
    """Whether memory like that of `a` is asked for in the order in which `a` itself has it."""
    return order == "K" and shape is None and device is None and a.is_contiguous()


@public(direct=_made_by(torch.ones))
def ones(
    shape: ShapeLike, dtype: DTypeLike | None = None, order: str = "C", *, device: Any = None, like: Like = None
) -> Array:
    """An array of the shape filled with ones, True for booleans.

    `dtype` is float64 unless given; `order` is "C" (row major) or "F" (column major); `device` is one of torch's.
    Raises ValueError for a negative size.

    >>> np.ones((1, 2), dtype=int)
    array([[1, 1]])
    """
    made = _simple(torch.ones, shape, dtype, order, device)
    if made is not None:
        return made
    return allocate(shape, dtype, _storage.check_order(order, "CF"), device).fill_(1)


def _fill_tensor(fill_value: Any, dtype: torch.dtype | None, device: Any) -> torch.Tensor:
    """The fill value as a tensor of the dtype that the result has."""
    device = as_device(device)
    if isinstance(fill_value, torch.Tensor):
        filled = fill_value if dtype is None else _util.cast(fill_value, dtype)
        return filled if device is None else filled.to(device)
    if dtype is None:
        big = isinstance(fill_value, int) and fill_value > torch.iinfo(torch.int64).max
        if isinstance(fill_value, int) and not -(2**63) <= fill_value < 2**64:
            raise AbsentDTypeError(f"full: torch holds no integer as large as {fill_value}")
        dtype = torch.uint64 if big else dtypes_impl.result_type(fill_value)
    elif not _promotion.converts(fill_value, dtype):  # a cast of 1.5 or of 1j to an integer is the array's
        return _util.cast(dtypes_impl.scalar_tensor(fill_value, dtypes_impl.result_type(fill_value), device), dtype)
    if dtype is torch.bool:
        dtypes_impl.check_truth(fill_value)
    return dtypes_impl.scalar_tensor(fill_value, dtype, device)


def _filled(memory: torch.Tensor, fill: torch.Tensor) -> torch.Tensor:
    """`fill` broadcast to the shape and layout of `memory`, which is not needed after that."""
    shape = tuple(memory.shape)
    expanded = broadcast_input(fill, shape).expand(shape)
    if memory.is_contiguous():
        return expanded.clone(memory_format=torch.contiguous_format)
    if type(fill) is torch.Tensor and not fill.requires_grad:
        return memory.copy_(expanded)
    strides = memory.stride()
    axes = sorted(range(memory.ndim), key=lambda axis: -strides[axis])
    inverse = sorted(range(memory.ndim), key=axes.__getitem__)
    return expanded.permute(axes).clone(memory_format=torch.contiguous_format).permute(inverse)


# The dtypes in which torch takes a Python number as NumPy does.
_FILLED = {
    float: frozenset({torch.float64, torch.float32}),
    int: frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.float64}),
    bool: frozenset({torch.bool}),
}


def _full(shape: tuple[int, ...], value: Any, dtype: torch.dtype | None) -> torch.Tensor | None:
    """An array of one Python number on the CPU; None if it is no ordinary one."""
    kind = type(value)
    if kind not in _FILLED or _devices.used or _util.on_cast is not None:
        return None
    if dtype is None:
        dtype = torch.bool if kind is bool else _promotion.WEAK[kind]
    elif dtype not in _FILLED[kind] or (dtype is torch.uint8 and value < 0):  # which torch wraps around
        return None
    try:
        return torch.full(shape, value, dtype=dtype)
    except (RuntimeError, TypeError, OverflowError):  # NumPy's words are found on the long way
        return None


@public
def full(
    shape: ShapeLike,
    fill_value: Affine[ArrayLikeOrScalar],
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Like = None,
) -> Array:
    """An array of the shape filled with a value, or with an array broadcast to the shape.

    The dtype is the value's unless given. Contributions and gradients of the value flow into every element.
    Raises ValueError if the value does not broadcast, OverflowError for a Python int outside the dtype's range.

    >>> np.full((2, 2), [1, 2])
    array([[1, 2],
           [1, 2]])
    """
    made = _full(shape, fill_value, dtype) if order == "C" and device is None else None
    if made is not None:
        return made
    fill = _fill_tensor(fill_value, dtype, device)
    return _filled(allocate(shape, fill.dtype, _storage.check_order(order, "CF"), fill.device), fill)


@public(direct=_made_like(torch.empty_like))
def empty_like(
    prototype: ArrayLike,
    /,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: Any = None,
) -> Array:
    """An uninitialised array with the prototype's shape, dtype, device and memory order, each unless given.

    `order` is "K" (axes ordered in memory as the prototype's), "A" ("F" if the prototype is column major), "C" or "F".
    An array of a program's own class stays one under `subok`.

    >>> np.empty_like([[1, 2, 3]]).dtype
    dtype('int64')
    """
    del subok  # arrays of subclasses are not seen here
    return _allocate_like(prototype, dtype, order, shape, device)


@public(direct=_made_like(torch.zeros_like))
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: Any = None,
) -> Array:
    """An array of zeros with the shape, dtype, device and memory order of `a`, each unless given.

    `order` is "K" (axes ordered in memory as those of `a`), "A" ("F" if `a` is column major), "C" or "F".
    An array of a program's own class stays one under `subok`. The result of a decomposed `a` is an ordinary array.

    >>> np.zeros_like([1.5, 2.5])
    array([0., 0.])
    """
    del subok  # arrays of subclasses are not seen here
    if _is_plain(a, order, shape, device):
        return torch.zeros(a.shape, dtype=a.dtype if dtype is None else dtype, device=a.device)
    return _allocate_like(a, dtype, order, shape, device).zero_()


@public(direct=_made_like(torch.ones_like))
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: Any = None,
) -> Array:
    """An array of ones with the shape, dtype, device and memory order of `a`, each unless given.

    `order` is "K" (axes ordered in memory as those of `a`), "A" ("F" if `a` is column major), "C" or "F".
    An array of a program's own class stays one under `subok`. The result of a decomposed `a` is an ordinary array.

    >>> np.ones_like([1.5, 2.5], dtype=int, shape=3)
    array([1, 1, 1])
    """
    del subok  # arrays of subclasses are not seen here
    if _is_plain(a, order, shape, device):
        return torch.ones(a.shape, dtype=a.dtype if dtype is None else dtype, device=a.device)
    return _allocate_like(a, dtype, order, shape, device).fill_(1)


def _filled_like(a: torch.Tensor, value: Any) -> torch.Tensor | None:
    if type(value) is not float and (type(value) is not int or not -dtypes_impl.WHOLE <= value <= dtypes_impl.WHOLE):
        return None
    return torch.full_like(a, value) if a.is_contiguous() else None


@public(direct=Direct(_filled_like, frozenset({torch.float64}), ("fill_value",)))
def full_like(
    a: ArrayLike,
    fill_value: ArrayLikeOrScalar,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: Any = None,
) -> Array:
    """An array filled with a value, with the shape, dtype, device and memory order of `a`, each unless given.

    The value is broadcast to the shape and cast to the dtype of `a`. `order` is "K", "A", "C" or "F" as in
    `np.zeros_like`, and `subok` is that of it.
    Raises ValueError if the value does not broadcast, OverflowError for a Python int outside the dtype's range.

    >>> np.full_like([1, 2, 3], 7)
    array([7, 7, 7])
    """
    del subok  # arrays of subclasses are not seen here
    if _is_plain(a, order, shape, device) and a.is_cpu:
        made = _full(tuple(a.shape), fill_value, a.dtype if dtype is None else dtype)
        if made is not None:
            return made
    memory = _allocate_like(a, dtype, order, shape, device)
    return _filled(memory, _fill_tensor(fill_value, memory.dtype, memory.device))


@public(direct=_made_like(torch.clone))
def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> Array:
    """A copy of the array in memory of its own; contributions and gradients are copied with it.

    `order` is "K" (axes ordered in memory as those of `a`), "A" ("F" if `a` is column major), "C" or "F".
    An array of a program's own class stays one under `subok`.

    >>> x = np.array([1, 2]); y = np.copy(x); y[0] = 5; x
    array([1, 2])
    """
    del subok  # arrays of subclasses are not seen here
    return _storage.duplicate(a, _storage.check_order(order))


def _along(x: torch.Tensor, axis: int, ndim: int) -> torch.Tensor:
    sizes = [1] * ndim
    sizes[axis] = -1
    return torch.reshape(x, sizes)


@public
def indices(dimensions: Any, dtype: DTypeLike | None = int, sparse: bool = False) -> Array | tuple[Array, ...]:
    """The index of every element of an array of the shape: axis 0 of the result says which of the coordinates.

    With `sparse=True` a tuple of arrays instead, each with length one along all axes but its own.

    >>> np.indices((2, 2))
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    if dtype is int or dtype is None:
        dtype = torch.int64 if dtype is int or sparse else torch.float64
    dimensions = tuple(map(operator.index, dimensions))  # of any iterable, unlike other shapes
    dimensions = tuple(max(n, 0) for n in dimensions) if sparse else check_shape(dimensions)
    ndim = len(dimensions)
    if dtype is torch.bool and max(dimensions, default=0) > 2:
        raise TypeError("indices: a bool cannot count an axis longer than 2; use an integer dtype")
    coordinates = [
        _along(torch.arange(size, device=as_device(None)).to(dtype=dtype), axis, ndim)
        for axis, size in enumerate(dimensions)
    ]
    if sparse:
        return tuple(coordinates)
    if not ndim:
        return torch.empty((0,), dtype=dtype, device=as_device(None))
    return torch.stack([torch.broadcast_to(coordinate, dimensions) for coordinate in coordinates])
