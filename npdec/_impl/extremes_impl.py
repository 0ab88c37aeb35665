"""Extremes and where they are, tests over axes, counts (NumPy's reference: mathematical functions, logic, searching).

Plain calls go straight to torch. Complex values are ordered by the real part, then the imaginary part; a nan wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function

from npdec._core.direct import Direct
from npdec._core.tags import (
    ArrayLike,
    ArrayLikeOrScalar,
    AxisLike,
    KeepDims,
    Mask,
    NoValue,
    OutArray,
    out_casting,
    public,
)
from npdec._impl import _few, _reduce, _util, dtypes_impl
from npdec._impl._by_numpy import MANY, are_many, by_numpy

_ORDERED = _reduce.ORDERED
_TRUE = _reduce.SUMMED  # of uint8, torch makes uint8
_EXTREMES: dict[str, Callable[..., torch.Tensor]] = {
    "maximum": torch.amax,
    "minimum": torch.amin,
    "fmax": torch.amax,
    "fmin": torch.amin,
}
_POSITIONS: dict[str, Callable[..., torch.Tensor]] = {"maximum": torch.argmax, "minimum": torch.argmin}


# --- maximum and minimum ----------------------------------------------------------------------------------------------


@public(
    method=True,
    aliases=("amax",),
    folds="maximum",
    direct=Direct(torch.amax, _ORDERED, ("axis",), total=True, few=_few.greatest),
)
@out_casting("unsafe")
def max(
    a: ArrayLike,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    initial: ArrayLikeOrScalar = NoValue,
    where: Mask = NoValue,
):
    """The greatest element over an axis, several axes, or all of them; nan if there is a nan.

    `initial` takes part as one more element, and is needed where the mask `where` selects the elements. Of no elements
    there is no maximum (ValueError) but `initial`. Raises AxisError for an axis out of range.

    >>> np.max(np.array([[1, 7], [5, 2]]), axis=1)
    array([7, 5])
    """
    if keepdims is NoValue and where is NoValue and initial is NoValue and a.dtype in _ORDERED:
        try:
            if axis is None:
                return torch.amax(a)
            if axis.__class__ is int:
                return torch.amax(a, axis)
        except (IndexError, RuntimeError):
            pass  # no element, or no such axis: the general way says which
    return extreme("maximum", a, axis, keepdims, initial, where)


@public(
    method=True,
    aliases=("amin",),
    folds="minimum",
    direct=Direct(torch.amin, _ORDERED, ("axis",), total=True, few=_few.least),
)
@out_casting("unsafe")
def min(
    a: ArrayLike,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    initial: ArrayLikeOrScalar = NoValue,
    where: Mask = NoValue,
):
    """The least element over an axis, several axes, or all of them; nan if there is a nan.

    `initial` takes part as one more element, and is needed where the mask `where` selects the elements. Of no elements
    there is no minimum (ValueError) but `initial`. Raises AxisError for an axis out of range.

    >>> np.min(np.array([[1, 7], [5, 2]]), axis=1)
    array([1, 2])
    """
    if keepdims is NoValue and where is NoValue and initial is NoValue and a.dtype in _ORDERED:
        try:
            if axis is None:
                return torch.amin(a)
            if axis.__class__ is int:
                return torch.amin(a, axis)
        except (IndexError, RuntimeError):
            pass  # no element, or no such axis: the general way says which
    return extreme("minimum", a, axis, keepdims, initial, where)


def extreme(name: str, a: torch.Tensor, axis: Any, keepdims: Any, initial: Any, where: Any) -> torch.Tensor:
    """A maximum or minimum with all options. `initial` joins the elements as one more slice."""
    axes = _reduce.ufunc_axes(axis, a.ndim)
    if not _reduce.has_initial(initial):
        if _reduce.has_mask(where):
            raise ValueError(
                f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify "
                "'initial'"
            )
        if not _reduce.count_items(a, axes, NoValue, False):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    else:
        start = _reduce.initial_value(initial, a.dtype, a.device)
        if _reduce.has_mask(where):
            a = torch.where(_reduce.mask_for(where, a.shape), a, start)
        if not axes:  # each element is a slice of its own
            return extreme(name, torch.stack([a, start.expand(a.shape)]), 0, False, NoValue, NoValue)
        shape = [1 if axis == axes[0] else a.shape[axis] for axis in range(a.ndim)]
        a = torch.cat([a, start.expand(shape)], axes[0])
        if any_empty := [axis for axis in axes[1:] if not a.shape[axis]]:
            shape = [1 if axis in any_empty else a.shape[axis] for axis in range(a.ndim)]
            a = start.expand(shape)
    if not axes:
        return a.clone()
    keep = keepdims is not NoValue and bool(keepdims)
    if a.dtype.is_complex:
        r = complex_extreme_of_rows(_util.move_axes_last(a, axes), _EXTREMES[name] is torch.amax)
        return _util.restore_axes(r, axes) if keep else r
    r = _EXTREMES[name](_util.to_ordered(a), axes, keep)
    return _util.from_ordered(r, a.dtype)


def complex_extreme_of_rows(rows: torch.Tensor, greatest: bool) -> torch.Tensor:
    """The greatest or the least of complex values along the last axis, the first nan if there is one."""
    if has_torch_function((rows,)):
        return handle_torch_function(complex_extreme_of_rows, (rows,), rows, greatest)
    return at_place(rows, greatest)


def at_place(rows: torch.Tensor, greatest: bool) -> torch.Tensor:
    """The same by its place, at which it is taken from the rows."""
    index = complex_position("maximum" if greatest else "minimum", rows.detach(), -1)
    return torch.gather(rows, -1, index.unsqueeze(-1)).squeeze(-1)


def complex_position(name: str, a: torch.Tensor, axis: int) -> torch.Tensor:
    """Where the extreme of complex values is first: by real part, then imaginary part; or the first nan."""
    best_of = _EXTREMES[name]
    worst, worst_of = (-torch.inf, torch.amin) if best_of is torch.amax else (torch.inf, torch.amax)
    re, im = torch.real(a), torch.imag(a)
    nan = torch.isnan(re) | torch.isnan(im)
    re, im = torch.where(nan, worst, re), torch.where(nan, worst, im)
    leads = re == best_of(re, axis, True)
    best = best_of(torch.where(leads, im, worst_of(im, axis, True)), axis, True)
    found = torch.where(torch.any(nan, axis, True), nan, leads & (im == best))
    return torch.argmax(found.to(torch.uint8), axis)


@public(errors="subtract")
def ptp(a: ArrayLike, axis: AxisLike | None = None, out: OutArray | None = None, keepdims: KeepDims = NoValue):
    """Peak to peak: the greatest element less the least, over an axis, several axes, or all of them.

    Integers keep their dtype, so that the difference may wrap around. Booleans cannot be subtracted (TypeError);
    of no elements there is no extreme (ValueError).

    >>> np.ptp(np.array([[4, 9, 2], [6, 6, 7]]), axis=1)
    array([7, 1])
    """
    if axis is None and not a.ndim and a.dtype in _reduce.INEXACT:
        return a - a
    high, low = max(a, axis, None, keepdims), min(a, axis, None, keepdims)
    if a.dtype is torch.bool:
        raise TypeError(
            "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or "
            "the logical_xor function instead."
        )
    if a.dtype in _reduce.INEXACT:
        return high - low
    return _util.from_int64(_util.to_int64(high) - _util.to_int64(low), a.dtype)


# --- positions --------------------------------------------------------------------------------------------------------


def _place(name: str, function: Callable[..., torch.Tensor], a: torch.Tensor, axis: tuple[int, ...]) -> torch.Tensor:
    if are_many(a) and a.dtype not in _reduce.HALF:
        found = by_numpy(name, a, axis=axis[0] if axis else None)
        if found is not None:
            return found
    return function(a, *axis)


def _argmax(a: torch.Tensor, *axis: int) -> torch.Tensor:
    return _place("argmax", torch.argmax, a, axis)


def _argmin(a: torch.Tensor, *axis: int) -> torch.Tensor:
    return _place("argmin", torch.argmin, a, axis)


@public(
    method=True,
    direct=Direct(_argmax, _ORDERED, ("axis",), total=True, few=_few.first_greatest, few_dtype=torch.int64),
)
@out_casting("back")
def argmax(a: ArrayLike, axis: int | None = None, out: OutArray | None = None, *, keepdims: bool = NoValue):
    """The index of the greatest element along an axis, or in the array read row by row; of several, the first.

    A nan counts as the greatest. The result is of int64, without the axis, or with `keepdims` of length one there.
    Raises ValueError if there is no element, AxisError for an axis out of range.

    >>> np.argmax(np.array([[1, 7], [5, 2]]), axis=1)
    array([1, 0])
    """
    if keepdims is NoValue and a.dtype in _ORDERED:
        try:
            if axis is None:
                return _argmax(a)
            return _argmax(a, axis)
        except (IndexError, RuntimeError):
            pass  # no element, or no such axis: the general way says which
    return _position("maximum", "argmax", a, axis, keepdims)


@public(
    method=True,
    direct=Direct(_argmin, _ORDERED, ("axis",), total=True, few=_few.first_least, few_dtype=torch.int64),
)
@out_casting("back")
def argmin(a: ArrayLike, axis: int | None = None, out: OutArray | None = None, *, keepdims: bool = NoValue):
    """The index of the least element along an axis, or in the array read row by row; of several, the first.

    A nan counts as the least. The result is of int64, without the axis, or with `keepdims` of length one there.
    Raises ValueError if there is no element, AxisError for an axis out of range.

    >>> np.argmin(np.array([[1, 7], [5, 2]]))
    np.int64(0)
    """
    if keepdims is NoValue and a.dtype in _ORDERED:
        try:
            if axis is None:
                return _argmin(a)
            return _argmin(a, axis)
        except (IndexError, RuntimeError):
            pass  # no element, or no such axis: the general way says which
    return _position("minimum", "argmin", a, axis, keepdims)


def _position(name: str, function: str, a: torch.Tensor, axis: int | None, keepdims: Any) -> torch.Tensor:
    rows = a.reshape(-1) if axis is None or not a.ndim else a
    dim = _util.normalize_axis(0 if axis is None else axis, rows.ndim)
    if not rows.shape[dim]:
        raise ValueError(f"attempt to get {function} of an empty sequence")
    if a.dtype.is_complex and rows.shape[dim] == 1:  # the only one
        r = torch.zeros(rows.shape[:dim] + rows.shape[dim + 1 :], dtype=torch.int64, device=a.device)
    elif a.dtype.is_complex:
        r = complex_position(name, rows, dim)
    else:
        r = _POSITIONS[name](_util.to_ordered(rows), dim)
    if keepdims is not NoValue and keepdims:
        return r.reshape((1,) * a.ndim) if axis is None or not a.ndim else r.unsqueeze(dim)
    return r


# --- tests and counts -------------------------------------------------------------------------------------------------

_MANY = 4096  # elements, from which on it is worth two views to have them tested as vectors


def _truth(a: torch.Tensor) -> torch.Tensor:
    """What torch.any and torch.all take: of uint8 they make uint8, and of wider ones accelerators make nothing."""
    return a != 0 if a.dtype is torch.uint8 or (a.dtype in dtypes_impl.WIDE_UNSIGNED and not a.is_cpu) else a


def _tested(test: Any, truth: torch.Tensor, *args: Any) -> torch.Tensor:
    """torch.any or torch.all, which go through booleans one by one, but not through bytes."""
    if args and truth.dtype is torch.bool and are_many(truth):
        made = by_numpy(test.__name__, truth, axis=args[0], keepdims=args[1:] == (True,))
        if made is not None:
            return made
    if truth.dtype is torch.bool and truth.numel() >= _MANY and _util.are_numbers(truth):
        return test(truth.view(torch.uint8), *args).view(torch.bool)
    return test(truth, *args)


def _all(a: torch.Tensor, *axis: int) -> torch.Tensor:
    return _tested(torch.all, a, *axis)


def _any(a: torch.Tensor, *axis: int) -> torch.Tensor:
    return _tested(torch.any, a, *axis)


@public(
    method=True,
    folds="logical_and",
    direct=Direct(_all, _TRUE, ("axis",), total=True, few=_few.all_true, few_dtype=torch.bool),
)
def all(
    a: ArrayLike,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    *,
    where: Mask = NoValue,
):
    """Whether all elements over an axis, several axes, or all of them are true, that is not zero. nan is true.

    Elements where the mask `where` is False are passed over. Of no elements, True.

    >>> np.all(np.array([[True, False], [True, True]]), axis=0)
    array([ True, False])
    """
    truth = _truth(a)
    if keepdims is NoValue and where is NoValue and axis is None:
        return _all(truth)
    axes = _reduce.ufunc_axes(axis, a.ndim)
    if _reduce.has_mask(where):
        truth = (truth != 0) | ~_reduce.mask_for(where, a.shape)
    return _tested(torch.all, truth, axes, keepdims is not NoValue and bool(keepdims)) if axes else truth != 0


@public(
    method=True,
    folds="logical_or",
    direct=Direct(_any, _TRUE, ("axis",), total=True, few=_few.any_true, few_dtype=torch.bool),
)
def any(
    a: ArrayLike,
    axis: AxisLike | None = None,
    out: OutArray | None = None,
    keepdims: KeepDims = NoValue,
    *,
    where: Mask = NoValue,
):
    """Whether any element over an axis, several axes, or all of them is true, that is not zero. nan is true.

    Elements where the mask `where` is False are passed over. Of no elements, False.

    >>> np.any(np.array([[0.0, 0.0], [0.5, 0.0]]), axis=1)
    array([False,  True])
    """
    truth = _truth(a)
    if keepdims is NoValue and where is NoValue and axis is None:
        return _any(truth)
    axes = _reduce.ufunc_axes(axis, a.ndim)
    if _reduce.has_mask(where):
        truth = (truth != 0) & _reduce.mask_for(where, a.shape)
    return _tested(torch.any, truth, axes, keepdims is not NoValue and bool(keepdims)) if axes else truth != 0


def _count_nonzero(a: torch.Tensor, *axis: int) -> torch.Tensor:
    if a.dtype is torch.bool and a.numel() >= MANY and are_many(a):
        found = by_numpy("count_nonzero", a, axis=axis or None)
        if found is not None:
            return found
    return torch.count_nonzero(a, *axis)


@public(direct=Direct(_count_nonzero, _reduce.SUMMED, ("axis",), total=True, few=_few.not_zero, few_dtype=torch.int64))
def count_nonzero(a: ArrayLike, axis: AxisLike | None = None, *, keepdims: KeepDims = False):
    """How many elements are not zero over an axis, several axes, or all of them, in int64.

    >>> np.count_nonzero(np.array([[3, 0], [0, 5], [1, 1]]), axis=0)
    array([2, 2])
    """
    if axis is None and keepdims is False and a.dtype in _reduce.SUMMED:
        return _count_nonzero(a)
    axes = _reduce.ufunc_axes(axis, a.ndim)
    truth = a if a.dtype is torch.bool else a != 0
    return torch.sum(truth, axes, bool(keepdims)) if axes else truth.to(torch.int64)
