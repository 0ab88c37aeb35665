"""Sums, products, means, variances and cumulative sums (NumPy's reference: mathematical functions, statistics).

Each function meets the common call first (an axis that is an int or None, no other option), which goes straight to
torch; the rest is in `_reduce`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import has_torch_function

from npdec._core.direct import Direct
from npdec._core.tags import (
    ArrayLike,
    ArrayLikeOrScalar,
    AxisLike,
    CountedMask,
    DTypeLike,
    KeepDims,
    Mask,
    NoValue,
    OutArray,
    out_casting,
    public,
)
from npdec._impl import _few, _flags, _reduce, _util
from npdec._impl.dtypes_impl import real_dtype, result_type
from npdec.exceptions import AxisError

_SUMMED = _reduce.SUMMED
_INEXACT = _reduce.INEXACT
_AVERAGED = frozenset(_reduce.SUMMED | {torch.uint8})
_SQUARED = _INEXACT - _reduce.HALF  # torch's variance agrees with NumPy's, which in half precision rounds at every step


@public(
    method=True, errors="reduce", folds="add", direct=Direct(torch.sum, _SUMMED, ("axis",), total=True, linear=True)
)
@out_casting("unsafe")
def sum(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    initial: ArrayLikeOrScalar = NoValue,
    where: Mask = NoValue,
):
    """The sum of the elements over an axis, several axes, or all of them.

    Booleans and integers are summed in 64 bits, modulo 2**64; `dtype` chooses another accumulator. Elements where the
    mask `where` is False count as zero, and `initial` is added. Raises AxisError for an axis out of range.

    >>> np.sum(np.array([[1, 2], [3, 4]]), axis=0)
    array([4, 6])
    """
    if dtype is None and keepdims is NoValue and where is NoValue and initial is NoValue and a.dtype in _SUMMED:
        if axis is None:
            return torch.sum(a)
        if axis.__class__ is int:
            try:
                return torch.sum(a, axis)
            except IndexError:
                raise AxisError(axis, a.ndim) from None
    axes = _reduce.ufunc_axes(axis, a.ndim)
    return _reduce.total(torch.sum, torch.add, 0, a, axes, dtype, keepdims, initial, where)


@public(method=True, errors=_flags.REDUCE, folds="multiply", direct=Direct(torch.prod, _SUMMED, ("axis",), total=True))
@out_casting("unsafe")
def prod(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    initial: ArrayLikeOrScalar = NoValue,
    where: Mask = NoValue,
):
    """The product of the elements over an axis, several axes, or all of them; of no elements it is 1.

    Booleans and integers are multiplied in 64 bits, modulo 2**64; `dtype` chooses another accumulator. Elements where
    the mask `where` is False count as one, and `initial` is a factor. Raises AxisError for an axis out of range.

    >>> np.prod(np.array([2.0, 3.0, 4.0]))
    np.float64(24.0)
    """
    if dtype is None and keepdims is NoValue and where is NoValue and initial is NoValue and a.dtype in _SUMMED:
        if axis is None:
            return torch.prod(a)
        if axis.__class__ is int:
            try:
                return torch.prod(a, axis)
            except IndexError:
                raise AxisError(axis, a.ndim) from None
    axes = _reduce.ufunc_axes(axis, a.ndim)
    return _reduce.total(_reduce.fold_prod, torch.mul, 1, a, axes, dtype, keepdims, initial, where)


def _mean(a: torch.Tensor, *axis: int) -> torch.Tensor:
    """The mean along an axis, or of all elements. What has none is not for torch: ValueError."""
    if not a.numel() or not a.ndim:
        raise ValueError("there is nothing to average")
    return torch.mean(a, *axis) if a.dtype in _INEXACT else torch.mean(a, *axis, dtype=torch.float64)


@public(
    method=True,
    errors="reduce",
    direct=Direct(_mean, _AVERAGED, ("axis",), total=True, few=_few.mean_of_doubles, few_dtype=torch.float64),
)
@out_casting("unsafe")
def mean(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    *,
    where: CountedMask = NoValue,
):
    """The arithmetic mean over an axis, several axes, or all of them.

    Integers and booleans are averaged in float64, half precision in float32; `dtype` chooses what to compute in. Only
    elements where the mask `where` is True count. A mean of nothing is nan, with a RuntimeWarning.

    >>> np.mean(np.array([[1, 2], [3, 6]]), axis=1)
    array([1.5, 4.5])
    """
    if dtype is None and keepdims is NoValue and where is NoValue and a.dtype in _INEXACT and a.numel():
        if axis is None:
            return torch.mean(a)
        if axis.__class__ is int and a.ndim:
            try:
                return torch.mean(a, axis)
            except IndexError:
                raise AxisError(axis, a.ndim) from None
    axes = _reduce.mean_axes(axis, a.ndim, where)
    count = _reduce.count_items(a, axes, where, keepdims)
    if _reduce.lacks_items(count):
        _util.warn("Mean of empty slice")
    computed = _reduce.mean_dtype(a.dtype) if dtype is None else dtype
    mean = _reduce.divide(_reduce.sum_over(a, axes, computed, keepdims, where), count)
    return _util.cast(mean, a.dtype if dtype is None and a.dtype in _reduce.HALF else computed)


@public(method=True, errors=_flags.VARIANCE)
@out_casting("unsafe")
def var(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    ddof: ArrayLikeOrScalar = 0,
    keepdims: KeepDims = NoValue,
    *,
    where: CountedMask = NoValue,
    mean: ArrayLike = NoValue,
    correction: ArrayLikeOrScalar = NoValue,
):
    """The variance over an axis, several axes, or all of them: the mean of the squared distances from the mean.

    The divisor is the number of elements less `ddof` (or `correction`, another name for it; ValueError if both are
    given). `mean` is the mean if it is known, in a shape that broadcasts. Complex values have a real variance, of
    squared magnitudes. Integers are computed in float64. No degree of freedom left gives nan or inf, with a
    RuntimeWarning.

    >>> np.var(np.array([1, 2, 3, 4]), ddof=1)
    np.float64(1.6666666666666667)
    """
    if correction is not NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if isinstance(ddof, torch.Tensor) and not _util.carries(ddof):
        if ddof.numel() != 1:
            raise ValueError(f"var: ddof is one number, not an array of shape {tuple(ddof.shape)}")
        ddof = ddof.item()
    mean = NoValue if mean is None else mean
    if (
        dtype is None and where is NoValue and mean is NoValue and a.dtype in _SQUARED
        and not isinstance(ddof, torch.Tensor)
    ):  # fmt: skip
        if axis is None and keepdims is NoValue:
            if a.numel() > ddof:
                return torch.var(a, correction=ddof)
        elif axis.__class__ is int and keepdims is NoValue:
            if -a.ndim <= axis < a.ndim and a.shape[axis] > ddof and a.numel():
                return torch.var(a, axis, correction=ddof)
        elif a.numel() and a.ndim and keepdims:
            axes = _reduce.mean_axes(axis, a.ndim, where)
            if math.prod([a.shape[i] for i in axes]) > ddof and axes:
                return torch.var(a, axes, correction=ddof, keepdim=keepdims is not NoValue)
    axes = _reduce.mean_axes(axis, a.ndim, where)
    count = _reduce.count_items(a, axes, where, True)
    freedom = count - ddof
    if _reduce.lacks_items(freedom):
        _util.warn("Degrees of freedom <= 0 for slice")
    computed = dtype or (a.dtype if a.dtype in _INEXACT else torch.float64)
    if mean is NoValue:
        mean = _util.cast(_reduce.divide(_reduce.sum_over(a, axes, computed, True, where), count), computed)
    elif mean.ndim > a.ndim:
        raise ValueError(
            f"var: mean= of shape {tuple(mean.shape)} has more dimensions than the array, {tuple(a.shape)}"
        )
    square = _squared_distance(a, mean)
    if dtype is None:
        computed = result_type(real_dtype(computed), square)
    if isinstance(freedom, torch.Tensor):
        freedom = freedom.clamp(min=0)
        if freedom.ndim and not (keepdims is not NoValue and keepdims):
            freedom = freedom.squeeze(axes)
    else:
        freedom = freedom if freedom > 0 else 0
    variance = _reduce.divide(_reduce.sum_over(square, axes, computed, keepdims, where), freedom)
    return _util.cast(variance, computed)


def _squared_distance(a: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    """|a - mean|², real for complex `a`."""
    common = result_type(a, mean)
    _util.broadcast_shapes(a.shape, mean.shape)
    if common is torch.bool:
        raise TypeError("var: booleans cannot be subtracted; choose another dtype than bool")
    if common not in _INEXACT:  # the caller chose an integer dtype
        distance = _util.to_int64(a.to(common)) - _util.to_int64(mean.to(common))
        return _util.from_int64(distance * distance, common)
    distance = a.to(common) - mean.to(common)
    if not a.dtype.is_complex:
        return distance * distance
    re, im = torch.real(distance), torch.imag(distance)
    return re * re + im * im


@public(method=True, errors=_flags.VARIANCE)
def std(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    ddof: ArrayLikeOrScalar = 0,
    keepdims: KeepDims = NoValue,
    *,
    where: CountedMask = NoValue,
    mean: ArrayLike = NoValue,
    correction: ArrayLikeOrScalar = NoValue,
):
    """The standard deviation over an axis, several axes, or all of them: the square root of `var`, with its options.

    >>> np.std(np.array([[1.0, 3.0], [2.0, 6.0]]), axis=1)
    array([1., 2.])
    """
    variance = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    if not a.ndim and a.dtype in _SQUARED and mean is NoValue and not _util.carries(ddof) and has_torch_function((a,)):
        return variance  # of one number it is zero, or nan
    if variance.dtype in _INEXACT:
        return torch.sqrt(variance)
    if variance.ndim:
        raise TypeError(f"std: a standard deviation is not computed in {variance.dtype}; choose an inexact dtype")
    return _util.cast(torch.sqrt(variance.to(torch.float64)), variance.dtype)


# --- cumulative sums and products -------------------------------------------------------------------------------------

Scan = Callable[[torch.Tensor, int], torch.Tensor]


def _scan(function: Scan, a: torch.Tensor, axis: int | None, dtype: torch.dtype | None) -> torch.Tensor:
    """torch.cumsum or torch.cumprod over one axis, or all elements in a row; integers modulo 2**64."""
    if axis is None or not a.ndim:
        a = a.reshape(-1)
        axis = axis or 0
    axis = _util.normalize_axis(axis, a.ndim)
    target = _reduce.accumulator(a.dtype) if dtype is None else dtype
    x = _util.cast(a, target)
    if target in _INEXACT:
        return function(x, axis)
    return _util.from_int64(function(_util.to_int64(x), axis), target)


def _running(function: Scan, flat: bool, linear: bool = False) -> Direct:
    """The common call of running results; `flat` if they are those of all elements in a row without an axis."""

    def running(a: torch.Tensor, axis: int | None = None) -> torch.Tensor | None:
        if axis is None:
            return function(a if a.dim() == 1 else a.reshape(-1), 0) if flat or a.dim() == 1 else None
        return function(a, axis) if a.dim() else None

    return Direct(running, _SUMMED, ("axis",), linear=linear)


@public(method=True, errors="accumulate", direct=_running(torch.cumsum, flat=True, linear=True))
@out_casting("unsafe")
def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: OutArray | None = None):
    """The running sums along an axis, in the shape of `a`; without an axis, of all elements in a row, 1-d.

    Booleans and integers are summed in 64 bits, modulo 2**64; `dtype` chooses another accumulator.
    Raises AxisError for an axis out of range.

    >>> np.cumsum(np.array([[1, 2], [3, 4]]), axis=1)
    array([[1, 3],
           [3, 7]])
    """
    if dtype is None and axis.__class__ is int and a.ndim and a.dtype in _SUMMED:
        try:
            return torch.cumsum(a, axis)
        except IndexError:
            raise AxisError(axis, a.ndim) from None
    return _scan(torch.cumsum, a, axis, dtype)


@public(method=True, errors=_flags.ACCUMULATE, direct=_running(torch.cumprod, flat=True))
@out_casting("unsafe")
def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: OutArray | None = None):
    """The running products along an axis, in the shape of `a`; without an axis, of all elements in a row, 1-d.

    Booleans and integers are multiplied in 64 bits, modulo 2**64; `dtype` chooses another accumulator.
    Raises AxisError for an axis out of range.

    >>> np.cumprod(np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    if dtype is None and axis.__class__ is int and a.ndim and a.dtype in _SUMMED:
        try:
            return torch.cumprod(a, axis)
        except IndexError:
            raise AxisError(axis, a.ndim) from None
    if dtype is None and axis is None and not a.ndim and a.dtype in _SQUARED:
        return a.reshape(1).clone()
    return _scan(torch.cumprod, a, axis, dtype)


def _cumulative(
    function: Scan, first: int, x: torch.Tensor, axis: AxisLike | None, dtype: torch.dtype | None, include_initial: Any
) -> torch.Tensor:
    if isinstance(axis, tuple):  # as ufuncs accumulate
        if len(axis) != 1:
            raise ValueError("accumulate does not allow multiple axes")
        (axis,) = axis
    if x.ndim > 1 and axis is None:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    x = x.reshape(-1) if not x.ndim else x
    axis = _util.normalize_axis(0 if axis is None else axis, x.ndim)
    result = _scan(function, x, axis, dtype)
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return torch.cat([torch.full(shape, first, dtype=result.dtype, device=result.device), result], axis)


@public(errors="accumulate", direct=_running(torch.cumsum, flat=False, linear=True))
@out_casting("unsafe")
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    include_initial: bool = False,
):
    """The running sums along an axis, which must be given unless `x` is 1-d (ValueError).

    With `include_initial` a zero comes first, and the axis is longer by one. Dtypes as in `cumsum`.

    >>> np.cumulative_sum(np.array([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    return _cumulative(torch.cumsum, 0, x, axis, dtype, include_initial)


@public(errors=_flags.ACCUMULATE, direct=_running(torch.cumprod, flat=False))
@out_casting("unsafe")
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    include_initial: bool = False,
):
    """The running products along an axis, which must be given unless `x` is 1-d (ValueError).

    With `include_initial` a one comes first, and the axis is longer by one. Dtypes as in `cumprod`.

    >>> np.cumulative_prod(np.array([1.5, 2.0]), include_initial=True)
    array([1. , 1.5, 3. ])
    """
    return _cumulative(torch.cumprod, 1, x, axis, dtype, include_initial)
