"""Medians, quantiles and percentiles (NumPy's reference: order statistics).

The elements of each slice are sorted and the wanted ones taken, by their order at the value. A quantile lies at a
virtual index between two of them, of which the definitions are in `_quantile_definitions`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from npdec._core.tags import (
    ArrayLike,
    ArrayLikeOrScalar,
    AxisLike,
    NoValue,
    OutArray,
    out_casting,
    public,
)
from npdec._impl import _flags, _order, _reduce, _util, dtypes_impl, nan_impl, reduction_impl
from npdec._impl._by_elements import by_elements
from npdec._impl._quantile_definitions import DEFINITIONS, WHOLE, located
from npdec._impl.dtypes_impl import result_type

_INEXACT = _reduce.INEXACT
_ALONE = frozenset({torch.float32, torch.float64})
_REAL = _reduce.ORDERED | _util.UNSIGNED


# --- slices -----------------------------------------------------------------------------------------------------------


def _rows(a: torch.Tensor, axis: Any) -> tuple[torch.Tensor, tuple[int, ...]]:
    """The slices of the array as rows of a last axis, and the axes that they were taken over."""
    axes = _util.normalize_axes(axis, a.ndim)
    if a.ndim == 1 and axes:
        return a, axes
    if len(axes) == 1:
        return a.movedim(axes[0], -1), axes
    return (_util.move_axes_last(a, axes) if axes else a.reshape(*a.shape, 1)), axes


def _restore(r: torch.Tensor, a: torch.Tensor, axes: tuple[int, ...], keepdims: Any) -> torch.Tensor:
    """With keepdims, the result with axes of length one in place of those reduced; axes of `q` lead."""
    if keepdims is NoValue or not keepdims:
        return r
    front = tuple(r.shape[: r.ndim - a.ndim + len(axes)])
    return r.reshape(front + tuple(1 if axis in axes else size for axis, size in enumerate(a.shape)))


# --- medians ----------------------------------------------------------------------------------------------------------


@public(errors="reduce")
@out_casting("unsafe")
def median(
    a: ArrayLike,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
):
    """The median over an axis, several axes, or all: the middle element in order, or the mean of the two middle ones.

    Integers and booleans give float64. A slice with a nan has the median nan, an empty one too, with a RuntimeWarning.
    The input is never overwritten. Raises AxisError for an axis out of range.

    >>> np.median(np.array([[10, 7, 4], [3, 2, 1]]), axis=1)
    array([7., 2.])
    """
    if axis is None and not a.ndim and a.dtype in _ALONE and _util.is_finite_number(a):
        return torch.mean(a)
    rows, axes = _rows(a, axis)
    n = rows.shape[-1]
    if not n:
        return _restore(reduction_impl.mean(rows, -1), a, axes, keepdims)
    found = _order.neighbours(rows, (n - 1) // 2)
    if found is None:
        rows = _order.sort(rows, -1)
        middles, last = rows.narrow(-1, (n - 1) // 2, 2 - n % 2), rows.select(-1, n - 1)
    else:
        middles, last = torch.stack(found[: 2 - n % 2], -1), found[2]
    middle = reduction_impl.mean(middles, -1)
    if a.dtype in _INEXACT:
        middle = torch.where(torch.isnan(last), last, middle)
    return _restore(middle, a, axes, keepdims)


@public(errors=_flags.NAN_MEAN)
@out_casting("unsafe", broadcasts=True)
def nanmedian(
    a: ArrayLike,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    overwrite_input: bool = False,
    keepdims: bool = NoValue,
):
    """The median of the elements that are not nan, over an axis, several axes, or all.

    A slice of nan alone has the median nan, with a RuntimeWarning. The input is never overwritten.

    >>> np.nanmedian(np.array([[10.0, np.nan, 4.0], [3.0, 2.0, 1.0]]), axis=1)
    array([7., 2.])
    """
    if not a.numel():
        return nan_impl.nanmean(a, axis, None, None, keepdims)
    if (
        a.dtype not in _INEXACT
        or (_util.are_numbers(a) and not bool(torch.isnan(a).any()))
        or (_util.is_finite_number(a))
    ):
        return median(a, axis, None, overwrite_input, keepdims)
    rows, axes = _rows(a, axis)
    rows, count = _sorted_numbers(rows)
    last = count.unsqueeze(-1) - 1
    index = torch.cat([torch.div(last, 2, rounding_mode="floor"), torch.div(last + 1, 2, rounding_mode="floor")], -1)
    middle = reduction_impl.mean(torch.gather(rows, -1, index.clamp(min=0)), -1)
    return _restore(middle, a, axes, keepdims)


def _sorted_numbers(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows in ascending order, nan last, and how many numbers are in each; with a warning if there are none."""
    nan = torch.isnan(rows)
    count = rows.shape[-1] - torch.sum(nan, -1)
    nothing = count == 0
    if _util.is_known_true(torch.any(nothing)):
        for _ in range(int(torch.sum(nothing))):  # NumPy warns of each
            _util.warn("All-NaN slice encountered")
    return _order.sort(rows, -1), count


# --- quantiles of sorted rows -----------------------------------------------------------------------------------------


def _quantiles(given: list[torch.Tensor], n: Any, method: str, weak: bool) -> torch.Tensor:
    """Of sorted rows and q (1-d) the quantiles, along a new last axis; n is an int, or has one entry for each row.

    The rows and q are taken out of their list, so that they are kept no longer than they are needed."""
    rows, q = given
    given.clear()
    if method not in DEFINITIONS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join(map(repr, DEFINITIONS))}")
    if not q.is_floating_point() and method != "linear" and method not in WHOLE:
        q = q.to(torch.float64)
    last = n.unsqueeze(-1) - 1 if isinstance(n, torch.Tensor) else n - 1
    counts = [last + 1] if isinstance(last, torch.Tensor) else []
    places = by_elements(lambda q, *counts: located(method, q, counts[0] if counts else n), q, *counts)
    whole = not isinstance(places, tuple)
    if rows.dtype is torch.bool and (not whole or method in WHOLE):
        raise TypeError(f"quantiles of booleans need a method that picks an element, such as 'lower', not {method!r}")
    if whole:
        r = _order.pick(rows, torch.minimum(places, torch.as_tensor(last, device=places.device)).clamp(min=0), -1)
        return r.to(result_type(rows, 1.0 if weak else places)) if method in WHOLE else r
    left, right, part = places
    computed = result_type(rows, 1.0 if weak else part)
    if rows.dtype not in _INEXACT:
        rows = rows.to(computed)  # whose differences may exceed their own dtype
    low, high = _order.pick(rows, left, -1), _order.pick(rows, right, -1)
    del rows, q, left, right, places  # of arrays of many components all that is kept is large
    return by_elements(_interpolated, low, high, part.to(computed))


def _interpolated(low: torch.Tensor, high: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
    step = (high - low).to(part.dtype)  # rounded to the dtype of the rows, as NumPy's is
    # From the nearer end, so that the interpolation is monotonic and exact at both.
    return torch.where(part >= 0.5, high - step * (1 - part), low + step * part)


def _weighted(rows: torch.Tensor, weights: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """The quantiles of rows by the inverse of their weighted distribution function, along a new last axis."""
    order = _order.argsort(rows.detach(), -1)
    rows = _order.pick(rows, order, -1)
    weights = torch.gather(weights.to(torch.float64).expand(rows.shape), -1, order)
    share = torch.cumsum(weights, -1)
    share = share / share[..., -1:]
    if _util.is_known_true(torch.any(torch.isnan(_util.numbers(share)[..., -1]))):
        raise ValueError("Weights included NaN, inf or were all zero.")
    if q.is_floating_point():
        share = share.to(q.dtype)
    share = torch.where(share == 0, -1, share)  # an element without weight is no quantile
    index = torch.searchsorted(share.contiguous(), q.to(share.dtype).expand(*share.shape[:-1], -1).contiguous())
    return _order.pick(rows, index.clamp(max=rows.shape[-1] - 1), -1)


# --- the functions ----------------------------------------------------------------------------------------------------


def _check(a: torch.Tensor, q: Any, axis: Any, method: str, weights: Any, percent: bool) -> tuple[Any, torch.Tensor]:
    """`q` as a tensor of fractions, and the weights in the shape of the array; raises what NumPy raises."""
    if a.dtype.is_complex:
        raise TypeError("a must be an array of real numbers")
    if not isinstance(q, torch.Tensor):
        if isinstance(q, complex):
            raise TypeError(f"the fractions of a distribution are real numbers, not {q}")
        if isinstance(q, float) or percent:
            q = torch.full((), float(q), dtype=torch.float64, device=a.device)
        else:  # as far out of range where int64 does not hold it
            q = torch.full((), min(max(q, -1), 2), dtype=torch.int64, device=a.device)
    if percent:
        q = (q if q.is_floating_point() else q.to(torch.float64)) / 100
    elif not q.is_floating_point():
        q = q.to(torch.int64)
    if _util.is_known_true(torch.any(~((q >= 0) & (q <= 1)))):
        kind, limit = ("Percentiles", 100) if percent else ("Quantiles", 1)
        raise ValueError(f"{kind} must be in the range [0, {limit}]")
    if q.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        weights = _reduce.weights_for(weights, a, axis)
        if dtypes_impl.kind(weights.dtype) != "u" and _util.is_known_true(torch.any(_util.numbers(weights) < 0)):
            raise ValueError("Weights must be non-negative.")
    return q, weights


def _linear(a: torch.Tensor, q: float, axis: Any, keepdims: Any) -> torch.Tensor:
    """One quantile by the default definition, of slices that are not empty: what `_quantile` gives, sooner."""
    rows, axes = _rows(a, axis)
    n = rows.shape[-1]
    before = min(int((n - 1) * q), n - 1)
    part = (n - 1) * q - before
    found = _order.neighbours(rows, before)
    if found is None:
        ordered = _order.sort(rows, -1)
        low, high, last = (ordered.select(-1, place) for place in (before, min(before + 1, n - 1), n - 1))
    else:
        low, high, last = found
    if a.dtype not in _INEXACT:
        low, high = low.to(torch.float64), high.to(torch.float64)
    step = high - low
    r = high - step * (1 - part) if part >= 0.5 else low + step * part
    if a.dtype in _INEXACT:
        r = torch.where(torch.isnan(last), last, r)
    return _restore(r, a, axes, keepdims)


def _partly_sorted(rows: torch.Tensor, q: torch.Tensor) -> torch.Tensor | None:
    """Rows in which what the default definition reads is where sorting puts it, for few fractions; None for others."""
    if not 0 < q.numel() <= _FEW or not q.is_floating_point():
        return None
    if rows.numel() < _order.MANY or not _util.are_numbers(rows, q):
        return None
    last = rows.shape[-1] - 1
    before = torch.floor(last * q).clamp_(0, last).to(torch.int64).tolist()
    return _order.partitioned(rows, [last, *before, *[min(place + 1, last) for place in before]])


_FEW = 16  # fractions, for which not all rows are sorted


def _quantile(
    a: torch.Tensor, q: Any, axis: Any, method: str, keepdims: Any, weights: Any, percent: bool, skip_nan: bool
) -> torch.Tensor:
    weak = type(q) in (int, float)
    if weak and method == "linear" and weights is None and a.dtype in _REAL:
        fraction, counted = q / 100 if percent else q, a
        if skip_nan and axis is None and keepdims is NoValue and a.dtype is torch.float64 and _util.are_numbers(a):
            counted, skip_nan = a[~torch.isnan(a)], False
        if not skip_nan and type(fraction) is float and 0 <= fraction <= 1 and counted.numel():
            return _linear(counted, fraction, axis, keepdims)
        skip_nan = skip_nan or counted is not a
    q, weights = _check(a, q, axis, method, weights, percent)
    if skip_nan and not a.numel():
        return nan_impl.nanmean(a, axis, None, None, keepdims)
    skip_nan = skip_nan and a.dtype in _INEXACT
    rows, axes = _rows(a, axis)
    if not rows.shape[-1]:
        raise IndexError(f"quantiles need at least one element along the axis; the shape is {tuple(a.shape)}")
    flat, shape = q.reshape(-1), tuple(q.shape)
    n: Any
    missing: Any
    if skip_nan:
        ordered, n = _sorted_numbers(rows)
        missing = n == 0
    else:
        n = rows.shape[-1]
        partly = None if weights is not None or method != "linear" else _partly_sorted(rows, flat)
        ordered = _order.sort(rows, -1) if partly is None else partly
        missing = torch.isnan(ordered[..., -1]) if a.dtype in _INEXACT else None
    if skip_nan and _util.is_known_true(torch.all(missing)):
        r = ordered[..., :1].expand(*ordered.shape[:-1], flat.numel())  # of no numbers, by whatever method
    elif weights is None:
        held = [ordered, flat]
        del ordered, rows, q, flat
        r = _quantiles(held, n, method, weak)
    else:
        weights = _rows(weights, axis)[0]
        if skip_nan:
            weights = torch.where(torch.isnan(rows), 0, weights)
            weights = torch.where(missing.unsqueeze(-1), 1, weights)
        r = _weighted(rows, weights, flat)
    if missing is not None:
        r = torch.where(missing.unsqueeze(-1), math.nan, r)
    r = r.movedim(-1, 0).contiguous().reshape(shape + tuple(r.shape[:-1]))
    return _restore(r, a, axes, keepdims)


@public(errors="subtract")
@out_casting("same_kind", broadcasts=True)
def quantile(
    a: ArrayLike,
    q: ArrayLikeOrScalar,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
):
    """The q-th quantiles, q from 0 to 1, over an axis, several axes, or all; the axes of `q` come first.

    `method` is one of NumPy's thirteen definitions. With `weights` (for method "inverted_cdf"), which have the shape of
    `a` or of the axes, elements count by weight. A slice with a nan has the quantile nan. The input is never
    overwritten. Raises ValueError for q out of range, an unknown method, negative weights.

    >>> np.quantile(np.array([1.0, 2.0, 4.0, 8.0]), [0.25, 0.5])
    array([1.75, 3.  ])
    """
    return _quantile(a, q, axis, method, keepdims, weights, percent=False, skip_nan=False)


@public(errors="subtract")
@out_casting("same_kind", broadcasts=True)
def percentile(
    a: ArrayLike,
    q: ArrayLikeOrScalar,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
):
    """The q-th percentiles, q from 0 to 100: `quantile` of q / 100, with its options.

    >>> np.percentile(np.array([1.0, 2.0, 4.0, 8.0]), 50)
    np.float64(3.0)
    """
    return _quantile(a, q, axis, method, keepdims, weights, percent=True, skip_nan=False)


@public(errors=_flags.NAN_QUANTILE)
@out_casting("unsafe", broadcasts=True)
def nanquantile(
    a: ArrayLike,
    q: ArrayLikeOrScalar,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = NoValue,
    *,
    weights: ArrayLike | None = None,
):
    """The q-th quantiles of the elements that are not nan. Options as in `quantile`.

    A slice of nan alone has the quantile nan, with a RuntimeWarning.

    >>> np.nanquantile(np.array([1.0, np.nan, 2.0, 4.0]), 0.5)
    np.float64(2.0)
    """
    return _quantile(a, q, axis, method, keepdims, weights, percent=False, skip_nan=True)


@public(errors=_flags.NAN_QUANTILE)
@out_casting("unsafe", broadcasts=True)
def nanpercentile(
    a: ArrayLike,
    q: ArrayLikeOrScalar,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = NoValue,
    *,
    weights: ArrayLike | None = None,
):
    """The q-th percentiles of the elements that are not nan, q from 0 to 100. Options as in `quantile`.

    >>> np.nanpercentile(np.array([1.0, np.nan, 2.0, 4.0]), 50)
    np.float64(2.0)
    """
    return _quantile(a, q, axis, method, keepdims, weights, percent=True, skip_nan=True)
