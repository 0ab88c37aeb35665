"""Elementwise extrema: the greater and the lesser of two, and clipping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, ArrayLikeOrScalar, NoValue, OutArray, public, ufunc
from npdec._impl import dtypes_impl
from npdec._impl._promotion import kept_beside
from npdec._impl._util import UNSIGNED, broadcast_shapes, from_ordered, to_ordered
from npdec._impl.elementwise_logic_impl import complex_less


def _select(function: Callable[..., torch.Tensor], x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    dtype = x1.dtype
    if dtype in UNSIGNED:
        return from_ordered(function(to_ordered(x1), to_ordered(x2)), dtype)
    return function(x1, x2)


def complex_extreme(x1: torch.Tensor, x2: torch.Tensor, greater: bool, keep_nan: bool) -> torch.Tensor:
    """The greater or the lesser of complex numbers, by real part, where those are equal by imaginary part; of equal
    ones x1. A nan wins over numbers if `keep_nan`, and loses against them otherwise."""
    if has_torch_function((x1, x2)):
        return handle_torch_function(complex_extreme, (x1, x2), x1, x2, greater, keep_nan)
    return torch.where(leads(x1, x2, greater, keep_nan), x1, x2)


def leads(x1: torch.Tensor, x2: torch.Tensor, greater: bool, keep_nan: bool) -> torch.Tensor:
    """Where it is x1."""
    first = ~(complex_less(x1, x2) if greater else complex_less(x2, x1))
    if keep_nan:
        return torch.isnan(x1) | (first & ~torch.isnan(x2))
    return torch.isnan(x2) | (first & ~torch.isnan(x1))


@ufunc(torch.maximum, loops="ordered")
def maximum(x1: ArrayLike, x2: ArrayLike):
    """The greater of x1 and x2, with broadcasting; nan where one of them is nan. Complex numbers by real part first.

    >>> np.maximum(np.array([1.0, 5.0, np.nan]), 3)
    array([ 3.,  5., nan])
    """
    if x1.is_complex():
        return complex_extreme(x1, x2, greater=True, keep_nan=True)
    return _select(torch.maximum, x1, x2)


@ufunc(torch.minimum, loops="ordered")
def minimum(x1: ArrayLike, x2: ArrayLike):
    """The lesser of x1 and x2, with broadcasting; nan where one of them is nan. Complex numbers by real part first.

    >>> np.minimum(np.array([1.0, 5.0, np.nan]), 3)
    array([ 1.,  3., nan])
    """
    if x1.is_complex():
        return complex_extreme(x1, x2, greater=False, keep_nan=True)
    return _select(torch.minimum, x1, x2)


@ufunc(torch.fmax, loops="ordered")
def fmax(x1: ArrayLike, x2: ArrayLike):
    """The greater of x1 and x2, with broadcasting; a nan counts as missing, and only two of them give nan.

    >>> np.fmax(np.array([1.0, 5.0, np.nan]), 3)
    array([3., 5., 3.])
    """
    if x1.is_complex():
        return complex_extreme(x1, x2, greater=True, keep_nan=False)
    return _select(torch.fmax, x1, x2)


@ufunc(torch.fmin, loops="ordered")
def fmin(x1: ArrayLike, x2: ArrayLike):
    """The lesser of x1 and x2, with broadcasting; a nan counts as missing, and only two of them give nan.

    >>> np.fmin(np.array([1.0, 5.0, np.nan]), 3)
    array([1., 3., 3.])
    """
    if x1.is_complex():
        return complex_extreme(x1, x2, greater=False, keep_nan=False)
    return _select(torch.fmin, x1, x2)


def _clamped(a: torch.Tensor, low: Any, high: Any) -> torch.Tensor | None:
    """The elements between two plain numbers; None where torch does not take these, or not in the dtype."""
    if _bounds_plainly(low) and _bounds_plainly(high):
        try:
            return torch.clamp(a, low, high)
        except RuntimeError:
            pass
    return None


_CLAMPED = frozenset({torch.float32, torch.float64})


@public(direct=Direct(_clamped, _CLAMPED, ("a_min", "a_max")))
def clip(
    a: ArrayLike,
    a_min: ArrayLikeOrScalar | None = NoValue,
    a_max: ArrayLikeOrScalar | None = NoValue,
    out: OutArray | None = None,
    *,
    min: ArrayLikeOrScalar | None = NoValue,
    max: ArrayLikeOrScalar | None = NoValue,
    **kwargs: Any,
):
    """The elements of a, with those below the lower bound replaced by it, and those above the upper one likewise.

    The bounds broadcast against a; one that is None or missing does not bound; where they cross, the upper one holds.
    They can be given by position or as `min=` and `max=`; ValueError if one is given twice. Of the keywords of ufuncs
    `casting=`, by which the result is written into `out`, is understood; TypeError for others.

    >>> np.clip(np.array([-1, 2, 7]), 0, 5)
    array([0, 2, 5])
    """
    del out
    plain = min is max is NoValue and not kwargs and a.dtype in _CLAMPED
    made = _clamped(a, a_min, a_max) if plain and not a_min is a_max is None else None
    if made is not None:
        return made
    if not kwargs.keys() <= {"casting"}:
        raise TypeError(
            f"clip: unsupported keyword arguments {', '.join(sorted(kwargs))}; use minimum and maximum for them"
        )
    if (a_min is NoValue) is not (a_max is NoValue):
        missing = "a_max" if a_max is NoValue else "a_min"
        raise TypeError(f"clip() missing 1 required positional argument: {missing!r}")
    if (a_min is not NoValue and min is not NoValue) or (a_max is not NoValue and max is not NoValue):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    low, high = (_bound(first, second) for first, second in ((a_min, min), (a_max, max)))
    if dtypes_impl.kind(a.dtype) in "ui":
        # A Python int beyond the far end of the dtype bounds nothing.
        lowest, highest = torch.iinfo(a.dtype).min, torch.iinfo(a.dtype).max
        low = None if type(low) is int and low <= lowest else low
        high = None if type(high) is int and high >= highest else high
    bounds = [bound for bound in (low, high) if bound is not None]
    made = _clamped(a, low, high) if bounds and a.dtype in _CLAMPED else None
    if made is not None:
        return made
    numbers = [_number_beside(bound, a) for bound in bounds]
    if any(number is None for number in numbers):
        a, *bounds = dtypes_impl.promote(a, *bounds)
        broadcast_shapes(*[x.shape for x in (a, *bounds)])
    else:
        bounds = numbers
    if not bounds:
        return torch.clone(a)
    is_clamped = len(bounds) > 1 and has_torch_function(tuple(bounds)) and not a.is_complex()
    if is_clamped and not any(x.ndim for x in (a, *bounds)):
        return torch.clamp(a, *bounds)
    if low is not None:
        a = maximum(a, bounds.pop(0))
    return minimum(a, bounds[0]) if bounds else a


def _number_beside(x: Any, a: torch.Tensor) -> torch.Tensor | None:
    """A bound without axes in the dtype of an array of single or double precision on the host; None if it is none."""
    if a.dtype not in _CLAMPED or not a.is_cpu:
        return None
    if isinstance(x, torch.Tensor):
        return x if x.dtype is a.dtype and not x.dim() and x.is_cpu else None
    return kept_beside(x, a.dtype)


def _bounds_plainly(x: Any) -> bool:
    return x is None or _is_plain_number(x)


def _is_plain_number(x: Any) -> bool:
    return (type(x) is float and not math.isnan(x)) or (type(x) is int and -dtypes_impl.WHOLE <= x <= dtypes_impl.WHOLE)


def _bound(first: Any, second: Any) -> Any:
    bound = second if first is NoValue else first
    return None if bound is NoValue else bound
