"""Reductions that pass over nan (NumPy's reference: statistics, sums and products). Medians are in `quantile_impl`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import (
    ArrayLike,
    ArrayLikeOrScalar,
    AxisLike,
    DTypeLike,
    KeepDims,
    Mask,
    NoValue,
    OutArray,
    out_casting,
    public,
)
from npdec._impl import _flags, _reduce, _util, extremes_impl, reduction_impl
from npdec._impl.dtypes_impl import kind

_INEXACT = _reduce.INEXACT


def _without_nan(a: torch.Tensor, fill: float) -> torch.Tensor:
    # The copy that is made is summed in its own order.
    if a.dtype not in _INEXACT or (a.is_contiguous() and _util.are_without_nan(a)) or _util.is_finite_number(a):
        return a
    # Of what is decomposed nan_to_num looks at value and residual each; isnan looks at the value alone.
    return torch.where(torch.isnan(a), fill, a) if a.is_complex() else torch.nan_to_num(a, fill, math.inf, -math.inf)


def _counted(a: torch.Tensor, where: Any) -> torch.Tensor:
    """The mask of the elements that count: no nan, and selected by `where`."""
    mask = ~torch.isnan(a)
    return mask & _reduce.mask_for(where, a.shape) if _reduce.has_mask(where) else mask


def _require_inexact(dtype: torch.dtype | None) -> None:
    if dtype is not None and kind(dtype) not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")


def _if_without_nan(function: Callable[[torch.Tensor], torch.Tensor | None]) -> Direct:
    """The common call of a function that passes over nan: as `function`, of numbers among which is none."""

    def computed(a: torch.Tensor) -> torch.Tensor | None:
        return function(a) if a.is_contiguous() and _util.are_without_nan(a) else None

    return Direct(computed, _PLAIN, total=True)


def _total(a: torch.Tensor) -> torch.Tensor | None:
    return torch.nansum(a) if a.is_contiguous() else None


def _mean(a: torch.Tensor) -> torch.Tensor | None:
    if not a.is_contiguous() or not 0 < a.numel() <= _FEW or not _util.are_numbers(a):
        return None
    flat = a if a.dim() == 1 else a.view(-1)
    count = a.numel() - sum(map(math.isnan, flat.tolist()))
    return torch.nansum(a) / count if count else None


_FEW = 50  # elements that Python counts sooner than torch
_PLAIN = frozenset({torch.float32, torch.float64})


# --- sums, products, means --------------------------------------------------------------------------------------------


@public(errors="reduce", direct=Direct(_total, _PLAIN, total=True))
@out_casting("unsafe")
def nansum(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    initial: ArrayLikeOrScalar = NoValue,
    where: Mask = NoValue,
):
    """The sum over an axis, several axes, or all, with nan counting as zero. Options as in `sum`.

    >>> np.nansum(np.array([1.0, np.nan, 2.0]))
    np.float64(3.0)
    """
    return reduction_impl.sum(_without_nan(a, 0), axis, dtype, None, keepdims, initial, where)


@public(errors=_flags.REDUCE, direct=_if_without_nan(torch.prod))
@out_casting("unsafe")
def nanprod(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    initial: ArrayLikeOrScalar = NoValue,
    where: Mask = NoValue,
):
    """The product over an axis, several axes, or all, with nan counting as one. Options as in `prod`.

    >>> np.nanprod(np.array([2.0, np.nan, 3.0]))
    np.float64(6.0)
    """
    return reduction_impl.prod(_without_nan(a, 1), axis, dtype, None, keepdims, initial, where)


@public(errors="accumulate")
@out_casting("unsafe")
def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: OutArray | None = None):
    """The running sums along an axis, or of all elements in a row, with nan counting as zero.

    >>> np.nancumsum(np.array([1.0, np.nan, 2.0]))
    array([1., 1., 3.])
    """
    return reduction_impl.cumsum(_without_nan(a, 0), axis, dtype)


@public(errors=_flags.ACCUMULATE)
@out_casting("unsafe")
def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: OutArray | None = None):
    """The running products along an axis, or of all elements in a row, with nan counting as one.

    >>> np.nancumprod(np.array([2.0, np.nan, 3.0]))
    array([2., 2., 6.])
    """
    return reduction_impl.cumprod(_without_nan(a, 1), axis, dtype)


@public(errors=_flags.NAN_MEAN, direct=Direct(_mean, _PLAIN, total=True))
def nanmean(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    *,
    where: Mask = NoValue,
):
    """The mean of the elements that are not nan, over an axis, several axes, or all. Options as in `mean`.

    Where nothing but nan is to be averaged the mean is nan, with a RuntimeWarning. For inexact `a` the `dtype` must be
    inexact (TypeError).

    >>> np.nanmean(np.array([[1.0, np.nan], [3.0, 5.0]]), axis=0)
    array([2., 5.])
    """
    if a.dtype not in _INEXACT:
        return reduction_impl.mean(a, axis, dtype, None, keepdims, where=where)
    _require_inexact(dtype)
    if where is NoValue and axis is dtype is None and _util.is_finite_number(a):
        return a.clone()
    axes = _reduce.ufunc_axes(axis, a.ndim)
    count = _reduce.count_items(a, axes, _counted(a, where), keepdims)
    if _reduce.lacks_items(count):
        _util.warn("Mean of empty slice")
    total = _reduce.sum_over(_without_nan(a, 0), axes, dtype, keepdims, where)
    return _reduce.divide(total, count)


@public(errors=_flags.NAN_VARIANCE)
def nanvar(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    ddof: float = 0,
    keepdims: KeepDims = NoValue,
    *,
    where: Mask = NoValue,
    mean: ArrayLike = NoValue,
    correction: float = NoValue,
):
    """The variance of the elements that are not nan, over an axis, several axes, or all. Options as in `var`.

    A slice with `ddof` elements or fewer has the variance nan, with a RuntimeWarning. For inexact `a` the `dtype` must
    be inexact (TypeError).

    >>> np.nanvar(np.array([1.0, np.nan, 3.0]))
    np.float64(1.0)
    """
    if a.dtype not in _INEXACT:
        return reduction_impl.var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    _require_inexact(dtype)
    mean = NoValue if mean is None else mean
    if where is mean is correction is NoValue and ddof == 0 and _util.is_finite_number(a):
        return reduction_impl.var(a, axis, dtype, None, 0, keepdims)
    if correction is not NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    axes = _reduce.ufunc_axes(axis, a.ndim)
    counted = _counted(a, where)
    count = _reduce.count_items(a, axes, counted, True)
    if mean is NoValue:
        mean = _reduce.divide(_reduce.sum_over(_without_nan(a, 0), axes, dtype, True, where), count)
    elif mean.ndim > a.ndim:
        raise ValueError(f"nanvar: mean= has more dimensions, {tuple(mean.shape)}, than the array, {tuple(a.shape)}")
    _util.broadcast_shapes(a.shape, mean.shape)
    distance = torch.where(counted, _util.cast(a - mean, a.dtype), 0)
    if a.dtype.is_complex:
        re, im = torch.real(distance), torch.imag(distance)
        square = re * re + im * im
    else:
        square = distance * distance
    total = _reduce.sum_over(square, axes, dtype, keepdims, NoValue)
    freedom = count - (int(ddof) if isinstance(ddof, bool) else ddof)
    if not (keepdims is not NoValue and keepdims):
        freedom = freedom.squeeze(axes)
    none = freedom <= 0
    if _util.is_known_true(torch.any(_util.numbers(none))):
        _util.warn("Degrees of freedom <= 0 for slice.")
    return torch.where(none, math.nan, _reduce.divide(total, freedom))


@public(errors=_flags.NAN_VARIANCE)
def nanstd(
    a: ArrayLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: OutArray | None = None,
    ddof: float = 0,
    keepdims: KeepDims = NoValue,
    *,
    where: Mask = NoValue,
    mean: ArrayLike = NoValue,
    correction: float = NoValue,
):
    """The standard deviation of the elements that are not nan: the square root of `nanvar`, with its options.

    >>> np.nanstd(np.array([1.0, np.nan, 3.0]))
    np.float64(1.0)
    """
    if a.dtype not in _INEXACT:
        return reduction_impl.std(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    if where is mean is correction is NoValue and ddof == 0 and _util.is_finite_number(a):
        return reduction_impl.std(a, axis, dtype, None, 0, keepdims)
    return torch.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


# --- extremes ---------------------------------------------------------------------------------------------------------


@public
@out_casting("unsafe")
def nanmax(
    a: ArrayLike,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    initial: ArrayLikeOrScalar = NoValue,
    where: Mask = NoValue,
):
    """The greatest of the elements that are not nan, over an axis, several axes, or all. Options as in `max`.

    Where all are nan the result is nan, with a RuntimeWarning. Of no elements there is no maximum (ValueError).

    >>> np.nanmax(np.array([1.0, np.nan, 3.0]))
    np.float64(3.0)
    """
    return _nan_extreme("fmax", -math.inf, a, axis, keepdims, initial, where)


@public
@out_casting("unsafe")
def nanmin(
    a: ArrayLike,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    initial: ArrayLikeOrScalar = NoValue,
    where: Mask = NoValue,
):
    """The least of the elements that are not nan, over an axis, several axes, or all. Options as in `min`.

    Where all are nan the result is nan, with a RuntimeWarning. Of no elements there is no minimum (ValueError).

    >>> np.nanmin(np.array([1.0, np.nan, 3.0]))
    np.float64(1.0)
    """
    return _nan_extreme("fmin", math.inf, a, axis, keepdims, initial, where)


def _nan_extreme(
    name: str, worst: float, a: torch.Tensor, axis: Any, keepdims: Any, initial: Any, where: Any
) -> torch.Tensor:
    if a.dtype not in _INEXACT:
        return extremes_impl.extreme(name, a, axis, keepdims, initial, where)
    if _util.is_finite_number(a) and not (_reduce.has_mask(where) or _reduce.has_initial(initial)):
        return (extremes_impl.max if worst < 0 else extremes_impl.min)(a, axis, None, keepdims)
    if a.is_floating_point() and _util.are_numbers(a) and not (_reduce.has_mask(where) or _reduce.has_initial(initial)):
        found = extremes_impl.extreme(name, a, axis, keepdims, initial, where)
        if not bool(torch.isnan(found).any()):
            return found
    fill = complex(worst, worst) if a.dtype.is_complex else worst
    absent = torch.isnan(a) if not _reduce.has_mask(where) else ~_counted(a, where)
    if _reduce.has_initial(initial):
        start = _reduce.initial_value(initial, a.dtype, a.device)
        initial = torch.where(torch.isnan(start), fill, start)
    r = extremes_impl.extreme(name, torch.where(torch.isnan(a), fill, a), axis, keepdims, initial, where)
    nothing = extremes_impl.all(absent, axis, None, keepdims)
    if _reduce.has_initial(initial):
        nothing = nothing & torch.isnan(start)
    if _util.is_known_true(torch.any(nothing)):
        _util.warn("All-NaN slice encountered")
    return torch.where(nothing, math.nan, r)


@public
@out_casting("back")
def nanargmax(a: ArrayLike, axis: int | None = None, out: OutArray | None = None, *, keepdims: bool = NoValue):
    """The index of the greatest element that is not nan, along an axis or in the array read row by row.

    Raises ValueError where all are nan, or there is no element.

    >>> np.nanargmax(np.array([np.nan, 2.0, 3.0]))
    np.int64(2)
    """
    return extremes_impl.argmax(_numbers_only(a, -math.inf, axis), axis, keepdims=keepdims)


@public
@out_casting("back")
def nanargmin(a: ArrayLike, axis: int | None = None, out: OutArray | None = None, *, keepdims: bool = NoValue):
    """The index of the least element that is not nan, along an axis or in the array read row by row.

    Raises ValueError where all are nan, or there is no element.

    >>> np.nanargmin(np.array([np.nan, 2.0, 3.0]))
    np.int64(1)
    """
    return extremes_impl.argmin(_numbers_only(a, math.inf, axis), axis, keepdims=keepdims)


def _numbers_only(a: torch.Tensor, worst: float, axis: int | None) -> torch.Tensor:
    if a.dtype not in _INEXACT:
        return a
    nan = torch.isnan(a)
    if a.numel() and _util.is_known_true(torch.any(extremes_impl.all(nan, axis))):
        raise ValueError("All-NaN slice encountered")
    return torch.where(nan, worst, a)
