"""Steps that reductions share: axes, masks, initial values, accumulators, the number of items in a slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._core.tags import NoValue
from npdec._impl import _util
from npdec._impl.dtypes_impl import fits, kind, real_dtype

HALF = frozenset({torch.float16, torch.bfloat16})
FLOATS = HALF | {torch.float64, torch.float32}
INEXACT = FLOATS | {torch.complex64, torch.complex128}
_SIGNED = frozenset({torch.int64, torch.int32, torch.int16, torch.int8})
SUMMED = INEXACT | _SIGNED | {torch.bool}  # torch's sums and products have NumPy's results and dtypes
ORDERED = FLOATS | _SIGNED | {torch.uint8}  # torch has extremes, and where they are

Fold = Callable[[torch.Tensor, tuple[int, ...], bool], torch.Tensor]


def has_initial(initial: Any) -> bool:
    return initial is not NoValue and initial is not None


def has_mask(where: Any) -> bool:
    return where is not NoValue and where is not None and where is not True


def ufunc_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes of a reduction by a ufunc, for which axis 0 of a 0-d array is allowed and means none."""
    if not ndim and axis.__class__ is int and axis in (0, -1):
        return ()
    return _util.normalize_axes(axis, ndim)


def mean_axes(axis: Any, ndim: int, where: Any) -> tuple[int, ...]:
    """The axes of a mean, for which a 0-d array has no axis 0, unless a mask is given."""
    return ufunc_axes(axis, ndim) if has_mask(where) else _util.normalize_axes(axis, ndim)


def mask_for(where: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The mask of `where=`, which must broadcast to the shape of the array."""
    where = where if where.dtype is torch.bool else where != 0
    if where.ndim > len(shape):
        raise ValueError(f"where= of shape {tuple(where.shape)} has more dimensions than the array, {tuple(shape)}")
    try:
        broadcast = _util.broadcast_shapes(where.shape, shape) == shape
    except ValueError:
        broadcast = False
    if not broadcast:
        raise ValueError(f"where= of shape {tuple(where.shape)} does not broadcast to the array's shape {tuple(shape)}")
    return where


def initial_value(initial: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """The tensor of `initial=` in the dtype of the reduction, cast as Python's int() and float() do."""
    if isinstance(initial, torch.Tensor):
        if initial.ndim:
            raise ValueError(f"initial= must be a scalar, not an array of shape {tuple(initial.shape)}")
        return initial.to(dtype)
    if isinstance(initial, complex) and kind(dtype) in "uif":
        raise TypeError(f"initial={initial!r} is complex, but the reduction is computed in {dtype}")
    if kind(dtype) in "ui":
        initial = int(initial)
        if not fits(initial, dtype):
            raise OverflowError(f"Python integer {initial} out of bounds for {str(dtype).removeprefix('torch.')}")
    elif type(initial) is int and dtype is not torch.bool:
        initial = float(initial)  # torch takes integers of 64 bits only
    return torch.full((), bool(initial) if dtype is torch.bool else initial, dtype=dtype, device=device)


def fold_prod(x: torch.Tensor, axes: tuple[int, ...], keepdims: bool) -> torch.Tensor:
    """torch.prod over several axes, which torch itself takes over one."""
    if len(axes) == 1:
        return torch.prod(x, axes[0], keepdims)
    r = torch.prod(_util.move_axes_last(x, axes), -1)
    return _util.restore_axes(r, axes) if keepdims else r


def accumulator(dtype: torch.dtype) -> torch.dtype:
    """The dtype of sums and products: integers and booleans in 64 bits."""
    if dtype in INEXACT:
        return dtype
    return torch.uint64 if dtype in _util.UNSIGNED else torch.int64


def total(
    fold: Fold,
    combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    identity: int,
    a: torch.Tensor,
    axes: tuple[int, ...],
    dtype: torch.dtype | None = None,
    keepdims: Any = False,
    initial: Any = NoValue,
    where: Any = NoValue,
) -> torch.Tensor:
    """A sum or product with all options. Integers go through int64, whose arithmetic is modulo 2**64 as NumPy's."""
    target = accumulator(a.dtype) if dtype is None else dtype
    x = _util.cast(a, target)
    exact = target not in INEXACT
    if exact:
        x = _util.to_int64(x)
    if has_mask(where):
        x = torch.where(mask_for(where, a.shape), x, identity)
    x = fold(x, axes, keepdims is not NoValue and bool(keepdims)) if axes else x.clone()
    if has_initial(initial):
        start = initial_value(initial, target, x.device)
        if combine is torch.add and x.is_complex():
            made = _util.on_parts(combine, x, start)
        else:
            made = combine(x, _util.to_int64(start) if exact else start)
        if not exact and combine is torch.add and type(a) is torch.Tensor:
            made = _with_negative_zeros(made, start, _util.cast(a, target), axes, keepdims, where)
        x = made
    return _util.from_int64(x, target) if exact else x


def _with_negative_zeros(
    made: torch.Tensor, start: torch.Tensor, x: torch.Tensor, axes: tuple[int, ...], keepdims: Any, where: Any
) -> torch.Tensor:
    """Sums that begin with `start`, negative zeros where that and all the numbers are: torch begins with a zero."""
    if made.is_complex():
        real = _with_negative_zeros(made.real, start.real, x.real, axes, keepdims, where)
        return torch.complex(real, _with_negative_zeros(made.imag, start.imag, x.imag, axes, keepdims, where))
    if not _util.is_known_true((start == 0) & torch.signbit(start)):
        return made
    alone = (x == 0) & torch.signbit(x)
    if has_mask(where):
        alone = alone | ~mask_for(where, x.shape)
    for axis in sorted(axes, reverse=True):
        alone = alone.all(axis, keepdim=keepdims is not NoValue and bool(keepdims))
    return torch.where(alone, start, made)


def sum_over(
    a: torch.Tensor,
    axes: tuple[int, ...],
    dtype: torch.dtype | None = None,
    keepdims: Any = False,
    where: Any = NoValue,
) -> torch.Tensor:
    return total(torch.sum, torch.add, 0, a, axes, dtype, keepdims, NoValue, where)


def count_items(a: torch.Tensor, axes: tuple[int, ...], where: Any, keepdims: Any) -> Any:
    """How many items each slice has: an int, or a tensor of int64 where a mask selects them."""
    if has_mask(where):
        mask = mask_for(where, a.shape).expand(a.shape)
        return torch.sum(mask, axes, keepdims is not NoValue and bool(keepdims)) if axes else mask.to(torch.int64)
    count = 1
    for axis in axes:
        count *= a.shape[axis]
    return count


def lacks_items(count: Any) -> bool:
    """Whether any of the slices counted has no item (or no degree of freedom)."""
    if isinstance(count, torch.Tensor):
        return _util.is_known_true(torch.any(count <= 0))
    return bool(count <= 0)


def divide(x: torch.Tensor, count: Any) -> torch.Tensor:
    """`x / count`, for integers in float64; division by zero gives nan or inf."""
    if x.dtype not in INEXACT:
        x = x.to(torch.float64)
    if isinstance(count, torch.Tensor):
        count = count.to(real_dtype(x.dtype))
    return x / count


def mean_dtype(dtype: torch.dtype) -> torch.dtype:
    """What means and variances are computed in: integers in float64, half precision in float32."""
    if dtype in HALF:
        return torch.float32
    return dtype if dtype in INEXACT else torch.float64


def weights_for(weights: torch.Tensor, a: torch.Tensor, axis: Any) -> torch.Tensor:
    """Weights in the shape of the array, from that shape or the shape of the axes. Raises TypeError, ValueError."""
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = _util.normalize_axes(axis, a.ndim, "axis")
    if tuple(weights.shape) != tuple(a.shape[axis] for axis in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    weights = weights.permute(sorted(range(len(axes)), key=axes.__getitem__))
    return weights.reshape([size if axis in axes else 1 for axis, size in enumerate(a.shape)]).expand(a.shape)
