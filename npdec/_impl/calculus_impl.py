"""Differences, integrals, convolutions and interpolation (NumPy's reference: mathematical functions)."""

from __future__ import annotations

import math
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Affine, Array, ArrayLike, ArrayLikeOrScalar, AxisLike, NoValue, gives_back, public
from npdec._impl import _convolve, _host, _interpolate, _order, _reduce, _util
from npdec._impl._by_elements import by_elements
from npdec._impl._differences import slopes, steps_along
from npdec._impl.dtypes_impl import can_cast, kind, promote, result_type, scalar_tensor

_INEXACT = _reduce.INEXACT


# --- differences ------------------------------------------------------------------------------------------------------


def _slice(a: torch.Tensor, axis: int, start: int, stop: int) -> torch.Tensor:
    """The part of an axis from start to stop; a negative stop counts from the end. Empty if nothing is between."""
    size = a.shape[axis]
    stop = stop + size if stop < 0 else min(stop, size)
    start = min(start, size)
    return a.narrow(axis, start, max(stop - start, 0))


def _differences(a: torch.Tensor, axis: int = -1) -> torch.Tensor | None:
    return steps_along(a, axis) if a.dim() else None


_SUBTRACTED = _reduce.SUMMED - {torch.bool}


@public(errors="subtract", direct=Direct(_differences, _SUBTRACTED, ("axis",), linear=True))
@gives_back("n", 0)
def diff(a: Affine[ArrayLike], n: int = 1, axis: int = -1, prepend: ArrayLike = NoValue, append: ArrayLike = NoValue):
    """The n-th differences along an axis: each element less the one before, n times over.

    The axis gets shorter by n; for n = 0 the result is `a` itself. `prepend` and `append` are joined to `a` first; a
    scalar counts as one slice. For booleans the difference is "not equal". Raises ValueError for negative n or a 0-d
    array.

    >>> np.diff(np.array([1, 2, 4, 7]))
    array([1, 2, 3])
    """
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if not a.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = _util.normalize_axis(axis, a.ndim)
    parts = [part for part in (prepend, a, append) if part is not NoValue]
    if len(parts) > 1:
        slice_shape = [1 if dim == axis else size for dim, size in enumerate(a.shape)]
        parts = [part if part.ndim else part.expand(slice_shape) for part in promote(*parts)]
        if len({part.ndim for part in parts}) > 1:
            raise ValueError(f"diff: {[tuple(part.shape) for part in parts]} have not the same number of dimensions")
        try:
            a = torch.cat(parts, axis)
        except RuntimeError:
            shapes = ", ".join(str(tuple(part.shape)) for part in parts)
            raise ValueError(f"diff: arrays of shapes {shapes} cannot be joined along axis {axis}") from None
    for _ in range(n):
        a = steps_along(a, axis)
    return a


@public(errors="remainder")
def unwrap(
    p: ArrayLike, discont: ArrayLikeOrScalar | None = None, axis: int = -1, *, period: ArrayLikeOrScalar = 2 * math.pi
) -> Array:
    """Angles, or other numbers that count in a circle, continued without jumps along an axis.

    Where consecutive elements differ by more than `discont` (by default, and at least, half a `period`), all that
    follow are shifted by whole periods. Integers stay integers where the period is one. ValueError for a 0-d array,
    TypeError for complex numbers.

    >>> np.unwrap(np.array([1, 2, 3, 0, 1]), period=4)
    array([1, 2, 3, 4, 5])
    """
    steps = diff(p, 1, axis)
    dtype = result_type(steps, period)
    if dtype.is_complex:
        raise TypeError("unwrap: complex numbers have no order to tell a jump by; unwrap np.angle of them")
    if not isinstance(period, torch.Tensor):
        period = scalar_tensor(period, dtype, p.device)
    # Whole periods to go back, or forward, until a step is at most half a period long; one of exactly half stays.
    if dtype.is_floating_point:
        if type(discont) in (int, float):
            discont = scalar_tensor(discont, dtype, p.device)
        bounds = [] if discont is None else [discont]
        shift = by_elements(_whole_periods, steps.to(dtype), period.to(dtype), *bounds)
    else:
        steps, whole = _util.to_int64(steps), _util.to_int64(period)
        period = torch.where(whole == 0, 1, whole)
        half = torch.div(period, 2, rounding_mode="floor")
        back, forward = (torch.div(n, period, rounding_mode="floor") for n in (half - steps, steps + half))
        shift = -(torch.clamp(-back, min=0) + torch.clamp(forward, max=0)) * period
        shift = torch.where(whole == 0, -steps, shift)  # in a circle without length all numbers are one
        if discont is not None:
            # Numbers that int64 does not hold are bounds as well.
            bound = discont if type(discont) is not int or -(2**63) <= discont < 2**63 else float(discont)
            lengths = steps.abs().to(torch.float64) if type(bound) is float else steps.abs()
            shift = torch.where(lengths < bound, torch.zeros_like(shift), shift)
    del steps
    axis = _util.normalize_axis(axis, p.ndim)
    start = torch.zeros_like(p.narrow(axis, 0, min(p.shape[axis], 1)), dtype=shift.dtype)
    shift = torch.cumsum(shift, axis)
    shift = torch.cat([start, shift], axis)
    if dtype.is_floating_point:
        return p.to(dtype) + shift
    return _util.from_int64(_util.to_int64(p) + shift, dtype)


def _whole_periods(steps: torch.Tensor, period: torch.Tensor, discont: torch.Tensor | None = None) -> torch.Tensor:
    """What makes each step at most half a period long, where it is not shorter than `discont`, or than that."""
    back, forward = torch.ceil((steps - period / 2) / period), torch.floor((steps + period / 2) / period)
    shift = -(torch.clamp(back, min=0) + torch.clamp(forward, max=0)) * period
    bound = period / 2 if discont is None else discont
    return torch.where(steps.abs() < bound, torch.zeros_like(shift), shift)


@public(errors="subtract", direct=Direct(lambda a: steps_along(a, 0) if a.dim() == 1 else None, _SUBTRACTED))
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None):
    """The differences of consecutive elements of the array read row by row, with elements put before and after them.

    The result is 1-d in the dtype of `ary`, to which the others must cast within their kind (TypeError).

    >>> np.ediff1d(np.array([1, 2, 4, 7]), to_begin=-9)
    array([-9,  1,  2,  3])
    """
    flat = ary.reshape(-1)
    if ary.dtype is torch.bool:
        raise TypeError("ediff1d: booleans cannot be subtracted; convert them to integers")
    parts = [steps_along(flat, 0)]
    for name, extra, place in (("to_begin", to_begin, 0), ("to_end", to_end, len(parts) + 1)):
        if extra is None:
            continue
        if not can_cast(extra.dtype, ary.dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        parts.insert(place, extra.reshape(-1).to(ary.dtype))
    return torch.cat(parts) if len(parts) > 1 else parts[0]


def _spacings(f: torch.Tensor, axes: tuple[int, ...], distances: tuple[Any, ...]) -> list[Any]:
    """For each axis the distance of neighbours: a number, a 0-d tensor, or a 1-d tensor where it varies."""
    spacings = [d if type(d) in (int, float, complex) else _host.as_tensor(d, device=f.device) for d in distances]
    if not spacings:
        return [1.0] * len(axes)
    if len(spacings) == 1 and not getattr(spacings[0], "ndim", 0):
        return spacings * len(axes)
    if len(spacings) != len(axes):
        raise TypeError(f"gradient: {len(spacings)} distances are given for {len(axes)} axes")
    for i, positions in enumerate(spacings):
        if not getattr(positions, "ndim", 0):
            continue
        if positions.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if len(positions) != f.shape[axes[i]]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        if kind(positions.dtype) in "ui":
            positions = positions.to(torch.float64)
        steps = steps_along(positions, 0)
        numbers = _util.numbers(steps)  # whether one number will do is no matter of contributions
        spacings[i] = steps[0] if _util.is_known_true(torch.all(numbers == numbers[0])) else steps
    return spacings


def _combine(f: torch.Tensor, axis: int, starts: Any, length: int, weights: Any) -> torch.Tensor:
    """A weighted sum of slices of one length."""
    return _weighted([f.narrow(axis, start, length) for start in starts], weights)


def _weighted(parts: Any, weights: Any) -> torch.Tensor:
    total: Any = None
    for weight, part in zip(weights, parts):
        weight, part = _together(weight, part)
        total = weight * part if total is None else total + weight * part
    return total


def _inner(p: Any, q: Any, *parts: torch.Tensor) -> torch.Tensor:
    """The derivative at elements that have steps p and q before and after them, of three neighbours each."""
    return _weighted(parts, (-q / (p * (p + q)), (q - p) / (p * q), p / (q * (p + q))))


def _together(a: Any, b: torch.Tensor) -> tuple[Any, torch.Tensor]:
    """Two factors in their common dtype, in which a 0-d tensor counts, as it does not for torch."""
    return promote(a, b) if isinstance(a, torch.Tensor) else (a, b)  # type: ignore[return-value]


def _divide(a: torch.Tensor, h: Any) -> torch.Tensor:
    h, a = _together(h, a)
    return a / h


@public(errors="subtract", direct=Direct(slopes, frozenset({torch.float32, torch.float64})))
def gradient(f: ArrayLike, *varargs: object, axis: AxisLike | None = None, edge_order: int = 1):
    """The derivative along each axis (or those given), by second-order differences, one-sided at the ends.

    `varargs` are the distances of neighbours: one number for all axes, or for each axis a number or the 1-d positions
    of the elements. `edge_order` is the order of accuracy at the ends, 1 or 2. Returns an array of the shape of `f` for
    one axis, else a tuple; integers are differentiated in float64. The weights for positions are those of Fornberg,
    "Generation of finite difference formulas on arbitrarily spaced grids" (Math. Comp. 51, 1988).

    >>> np.gradient(np.array([1.0, 2.0, 4.0, 7.0]))
    array([1. , 1.5, 2.5, 3. ])
    """
    axes = _util.normalize_axes(axis, f.ndim)
    spacings = _spacings(f, axes, varargs)
    if edge_order > 2:
        raise ValueError(f"'edge_order' must be 1 or 2, not {edge_order}")
    if axes and f.dtype is torch.bool:
        raise TypeError("gradient: booleans cannot be subtracted; convert them to numbers")
    if f.dtype not in _INEXACT:
        f = f.to(torch.float64)
    results = tuple([_derivative(f, axis, spacings.pop(0), edge_order) for axis in axes])
    return results[0] if len(results) == 1 else results


def _derivative(f: torch.Tensor, axis: int, h: Any, edge_order: int) -> torch.Tensor:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            f"gradient: axis {axis} of size {n} is too short for a derivative, which needs edge_order + 1 = "
            f"{edge_order + 1} elements"
        )
    dtype = f.dtype
    varies = bool(getattr(h, "ndim", 0))
    if varies:
        first, last = h[0], h[-1]
    else:
        first = last = h
    if edge_order == 1:
        start = _divide(f.narrow(axis, 1, 1) - f.narrow(axis, 0, 1), first)
        end = _divide(f.narrow(axis, n - 1, 1) - f.narrow(axis, n - 2, 1), last)
    elif varies:
        p, q = h[0], h[1]
        weights = (-(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q)))
        start = _combine(f, axis, (0, 1, 2), 1, weights)
        p, q = h[-2], h[-1]
        weights = (q / (p * (p + q)), -(q + p) / (p * q), (2.0 * q + p) / (q * (p + q)))
        end = _combine(f, axis, (n - 3, n - 2, n - 1), 1, weights)
    else:
        start = _combine(f, axis, (0, 1, 2), 1, (-1.5 / h, 2.0 / h, -0.5 / h))
        end = _combine(f, axis, (n - 3, n - 2, n - 1), 1, (0.5 / h, -2.0 / h, 1.5 / h))
    if varies:
        wide = [-1 if dim == axis else 1 for dim in range(f.ndim)]
        steps = h[:-1].reshape(wide), h[1:].reshape(wide)
        inner = by_elements(_inner, *steps, *[f.narrow(axis, start, n - 2) for start in range(3)])
        del h, first, last, steps  # of arrays of many components all that is kept is large
    else:
        middle = max(n - 2, 0)
        inner = _divide(f.narrow(axis, n - middle, middle) - f.narrow(axis, 0, middle), 2.0 * h)
    return torch.cat([_util.cast(part, dtype) for part in (start, inner, end)], axis)


# --- integrals --------------------------------------------------------------------------------------------------------


def _trapezoids(y: torch.Tensor) -> torch.Tensor | None:
    n = y.shape[-1]
    pairs = y[:-1] + y[1:] if y.dim() == 1 and n else y.narrow(-1, 0, n - 1) + y.narrow(-1, 1, n - 1)
    return torch.sum(pairs / 2.0, -1)


@public(errors="add", direct=Direct(_trapezoids, frozenset({torch.float32, torch.float64})))
def trapezoid(y: Affine[ArrayLike], x: ArrayLike | None = None, dx: ArrayLikeOrScalar = 1.0, axis: int = -1):
    """The integral along an axis by the trapezoidal rule.

    The samples are at the positions `x`, 1-d or of the shape of `y`, or `dx` apart.

    >>> np.trapezoid(np.array([1.0, 2.0, 4.0]), dx=2.0)
    np.float64(9.0)
    """
    given, axis = axis, _util.normalize_axis(axis, y.ndim)
    if x is None:
        d = dx
    elif x.ndim == 1:
        d = steps_along(x, 0).reshape([-1 if dim == axis else 1 for dim in range(y.ndim)])
    else:
        d = steps_along(x, _util.normalize_axis(given, x.ndim))
    earlier, later = _slice(y, axis, 0, -1), _slice(y, axis, 1, y.shape[axis])
    if y.dtype in _INEXACT:
        pairs = earlier + later
    else:
        pairs = _util.from_int64(_util.to_int64(earlier) + _util.to_int64(later), y.dtype)
    common = result_type(d, pairs)
    if not isinstance(d, torch.Tensor):
        d = scalar_tensor(d, common, pairs.device)
    _util.broadcast_shapes(d.shape, pairs.shape)
    if common in _INEXACT:
        areas = d.to(common) * pairs.to(common)
        del d, pairs  # of arrays of many components all that is kept is large
        areas = areas / 2.0
    else:  # integers are multiplied as such, and may wrap around
        products = _util.to_int64(d.to(common)) * _util.to_int64(pairs.to(common))
        areas = _util.from_int64(products, common).to(torch.float64) / 2.0
    return torch.sum(areas, given)


# --- convolutions -----------------------------------------------------------------------------------------------------


def _check_sequences(name: str, a: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    a, v = promote(a, v)
    for label, x in (("a", a), ("v", v)):
        if x.ndim != 1:
            raise ValueError(f"{name}: {label} must be 1-d, not of shape {tuple(x.shape)}")
        if not len(x):
            raise ValueError(f"{label} cannot be empty")
    return a, v


@public
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full"):
    """The discrete convolution of two sequences: sum over k of a[k] * v[n - k].

    Mode "full" gives every overlap (length M + N - 1), "same" the middle max(M, N) of them, "valid" those where the
    sequences overlap completely. Raises ValueError for empty or not 1-d sequences, or an unknown mode.

    >>> np.convolve(np.array([1, 2, 3]), np.array([0, 1, 2]))
    array([0, 1, 4, 7, 6])
    """
    a, v = _check_sequences("convolve", *(x.reshape(1) if not x.ndim else x for x in (a, v)))
    if len(v) > len(a):
        a, v = v, a
    return _convolve.correlate(a, _order.flip(v), mode)


@public
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid"):
    """The cross-correlation of two sequences: sum over n of a[n + k] * conj(v[n]), for each shift k.

    The modes are those of `convolve`. Raises ValueError for empty or not 1-d sequences, or an unknown mode.

    >>> np.correlate(np.array([1, 2, 3]), np.array([0, 1, 2]), "full")
    array([2, 5, 8, 3, 0])
    """
    a, v = _check_sequences("correlate", a, v)
    if len(v) <= len(a):
        return _convolve.correlate(a, torch.conj(v) if v.is_complex() else v, mode)
    swapped = _convolve.correlate(v, torch.conj(a) if a.is_complex() else a, mode)
    return _order.flip(torch.conj(swapped) if swapped.is_complex() else swapped)


# --- interpolation ----------------------------------------------------------------------------------------------------


@public
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLikeOrScalar | None = None,
    right: ArrayLikeOrScalar | None = None,
    period: ArrayLikeOrScalar | None = None,
):
    """Piecewise linear interpolation at `x` of the points (xp, fp), in float64, or complex128 if `fp` is complex.

    `xp` must be increasing, unless there is a `period`. Beyond the points the value is `left` and `right`, by default
    that of the nearest point; x is nan where it is nan. Raises ValueError for points that are not 1-d or not as many.

    >>> np.interp(np.array([0.5, 2.5]), [1.0, 2.0, 3.0], [3.0, 2.0, 0.0])
    array([3., 1.])
    """
    if x.is_complex() or xp.is_complex():
        raise TypeError("interp: x and xp must be real")
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    if not len(xp):
        raise ValueError("array of sample points is empty")
    for side in (left, right) if period is None else ():
        if isinstance(side, torch.Tensor) and side.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars: left and right are numbers")
        if not fp.is_complex() and (side.is_complex() if isinstance(side, torch.Tensor) else type(side) is complex):
            raise TypeError("interp: left and right must be real numbers, not complex: fp is real")
    x, xp = x.to(torch.float64), xp.to(torch.float64)
    fp = fp.to(torch.complex128 if fp.is_complex() else torch.float64)
    if period is not None:
        if isinstance(period, torch.Tensor):
            if period.numel() != 1:
                raise ValueError(f"interp: period is one number, not an array of shape {tuple(period.shape)}")
            period = period if period.is_floating_point() else period.to(torch.float64)
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = torch.remainder(x, period), torch.remainder(xp, period)
        order = _order.argsort(xp, 0)
        xp, fp = torch.index_select(xp, 0, order), torch.index_select(fp, 0, order)
        xp = torch.cat([xp[-1:] - period, xp, xp[:1] + period])
        fp = torch.cat([fp[-1:], fp, fp[:1]])
    return _interpolate.lines(x, (xp, fp, left, right))
