"""Elementwise rounding and floating point routines: digits, parts and neighbours of floats, infinities and nan."""

from __future__ import annotations

import math
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import (
    ArrayLike,
    ArrayLikeOrScalar,
    Linear,
    Opaque,
    OutArray,
    Pointwise,
    Stepwise,
    View,
    out_casting,
    public,
    ufunc,
    writes_back,
)
from npdec._impl import _flags, dtypes_impl
from npdec._impl._by_numpy import are_many, by_numpy_elementwise
from npdec._impl._util import are_numbers, are_without_nan

# --- rounding ---------------------------------------------------------------------------------------------------------


def _apply_to_parts(function: Any, x: torch.Tensor) -> torch.Tensor:
    """A function of floats, on the real and on the imaginary part."""
    return torch.complex(function(torch.real(x)), function(torch.imag(x)))


@ufunc(torch.floor, loops="real")
def floor(x: Stepwise):
    """The largest integer not above x, in the dtype of x. TypeError for complex numbers.

    >>> np.floor(np.array([1.7, -1.2]))
    array([ 1., -2.])
    """
    return torch.floor(x) if x.is_floating_point() else torch.clone(x)


@ufunc(torch.ceil, loops="real")
def ceil(x: Stepwise):
    """The smallest integer not below x, in the dtype of x. TypeError for complex numbers.

    >>> np.ceil(np.array([1.2, -1.7]))
    array([ 2., -1.])
    """
    return torch.ceil(x) if x.is_floating_point() else torch.clone(x)


@ufunc(torch.trunc, loops="real")
def trunc(x: Stepwise):
    """The integer next to x in the direction of 0, in the dtype of x. TypeError for complex numbers.

    >>> np.trunc(np.array([1.7, -1.7]))
    array([ 1., -1.])
    """
    return torch.trunc(x) if x.is_floating_point() else torch.clone(x)


_FLOATS = frozenset({torch.float32, torch.float64})


@public(direct=Direct(torch.trunc, _FLOATS))
@out_casting("same_kind", broadcasts=True)
def fix(x: Stepwise, out: OutArray | None = None):
    """The integer next to x in the direction of 0, as `trunc` gives it. TypeError for complex numbers.

    >>> np.fix(np.array([2.9, -2.9]))
    array([ 2., -2.])
    """
    del out
    dtypes_impl.resolve_loop("real", (x,), name="trunc")
    return trunc(x)


@ufunc(torch.round, loops="inexact_real")
def rint(x: ArrayLike):
    """The integer nearest to x, the even one of two; of a complex number part by part. Integers give floats.

    >>> np.rint(np.array([0.5, 1.5, -1.7]))
    array([ 0.,  2., -2.])
    """
    return _apply_to_parts(torch.round, x) if x.is_complex() else torch.round(x)


_EXACT = 10  # powers of ten that all of these hold, with which torch scales as is done below


def _rounded(a: torch.Tensor, decimals: int = 0) -> torch.Tensor:
    return _round_float(a, decimals)


ROUND = Direct(_rounded, _FLOATS, ("decimals",))


@public(method=True, errors="multiply", direct=ROUND)
def round(a: ArrayLike, decimals: int = 0, out: OutArray | None = None):
    """The nearest number with this many decimals, the even digit of two, in the dtype of a.

    Negative `decimals` round places before the point. A complex number is rounded part by part. As in NumPy a float is
    scaled by a power of ten, rounded to an integer and scaled back; a boolean gives float16.

    >>> np.round(np.array([1.25, 2.675, 15.5]), 1), np.round(np.array([15, 25]), -1)
    (array([ 1.2,  2.7, 15.5]), array([20, 20]))
    """
    del out
    if a.is_complex():
        return _apply_to_parts(lambda part: _round_float(part, decimals), a)
    if a.is_floating_point():
        return _round_float(a, decimals)
    if a.dtype is torch.bool:
        if decimals:
            raise TypeError("round: booleans have no decimals; cast them to a number first")
        return a.to(torch.float16)
    if decimals >= 0:
        return torch.clone(a)
    rounded = _round_float(a.to(torch.float64), decimals)
    if a.dtype is torch.uint64:
        return rounded.to(torch.uint64)
    return rounded.to(torch.int64).to(a.dtype)  # by way of int64, so that what is too large wraps around


@public(direct=ROUND)
def around(a: ArrayLike, decimals: int = 0, out: OutArray | None = None):
    """The nearest number with this many decimals: another name of `round`.

    >>> np.around(np.array([0.5, 1.5, 2.5]))
    array([0., 2., 2.])
    """
    del out
    return round(a, decimals)


def _round_float(x: torch.Tensor, decimals: int) -> torch.Tensor:
    if decimals == 0:
        return torch.round(x)
    if x.dtype in _FLOATS and abs(decimals) <= _EXACT:
        return torch.round(x, decimals=decimals)
    try:
        power = 10.0 ** abs(decimals)
    except OverflowError:
        power = math.inf
    scale = torch.tensor(power, dtype=x.dtype, device=x.device)
    return torch.round(x * scale) / scale if decimals > 0 else torch.round(x / scale) * scale


# --- parts of floats --------------------------------------------------------------------------------------------------


@ufunc(loops="modf")
def modf(x: Pointwise):
    """The fractional and the integral part, both with the sign of x. TypeError for complex numbers.

    >>> np.modf(np.array([1.5, -2.25]))
    (array([ 0.5 , -0.25]), array([ 1., -2.]))
    """
    parts = by_numpy_elementwise("modf", x)
    if parts is not None:
        return parts
    whole = torch.trunc(x)
    nothing = torch.where(torch.signbit(x), -0.0, 0.0).to(x.dtype)
    return torch.where(torch.isinf(x) | (x == whole), nothing, x - whole), whole


@ufunc(loops="frexp")
def frexp(x: Stepwise):
    """Mantissa m and exponent e (int32) with x = m · 2**e and 1/2 <= |m| < 1; (x, 0) for 0, infinities and nan.

    TypeError for complex numbers.

    >>> np.frexp(np.array([8.0, -0.3]))
    (array([ 0.5, -0.6]), array([ 4, -1], dtype=int32))
    """
    if are_many(x) and (parts := by_numpy_elementwise("frexp", x)) is not None:
        return parts
    mantissa, exponent = torch.frexp(x)
    return mantissa, exponent


@ufunc(loops="ldexp", flags=_flags.LDEXP)
def ldexp(x1: Linear, x2: Opaque):
    """x1 · 2**x2 for integers x2, rounded once, with broadcasting. TypeError for complex x1 and for x2 not an integer.

    >>> np.ldexp(np.array([0.5, -0.6]), np.array([4, -1]))
    array([ 8. , -0.3])
    """
    # The power itself may overflow where the product does not, and a denormal must not be rounded twice: first the
    # nearest exponent of a normal number, then the rest, which is zero but for denormals and overflow.
    info = torch.finfo(x1.dtype)
    bottom, top = int(math.log2(info.tiny)), int(math.log2(info.max * 0.75)) + 1
    limit = 2 * (top - bottom) + 100
    moves = torch.clamp(x2, -limit, limit).to(torch.int32)
    scaled = by_numpy_elementwise("ldexp", x1, moves)
    if scaled is not None:
        return scaled
    mantissa, exponent = torch.frexp(x1)
    total = exponent + moves
    normal = torch.clamp(total, bottom + 1, top)
    rest = torch.clamp(total - normal, bottom, 2)
    return (mantissa * 2) * torch.exp2((normal - 1).to(x1.dtype)) * torch.exp2(rest.to(x1.dtype))


# --- signs and neighbours ---------------------------------------------------------------------------------------------


@ufunc(torch.copysign, loops="float")
def copysign(x1: Stepwise, x2: Stepwise):
    """|x1| with the sign of x2, with broadcasting; the signs of zeros and nan count. TypeError for complex numbers.

    >>> np.copysign(np.array([1.0, -2.0]), np.array([-0.0, 3.0]))
    array([-1.,  2.])
    """
    return torch.copysign(x1, x2)


@ufunc(torch.nextafter, loops="float", flags=_flags.NEIGHBOUR)
def nextafter(x1: Pointwise, x2: Pointwise):
    """The float next to x1 in the direction of x2, with broadcasting. TypeError for complex numbers.

    >>> np.nextafter(1.0, 2.0) - 1.0 == np.finfo(np.float64).eps
    np.True_
    """
    return torch.nextafter(x1, x2)


@ufunc(loops="float", flags=_flags.SPACING)
def spacing(x: Pointwise):
    """The distance from x to the next float away from zero, with the sign of x; nan for infinities and nan.

    For float16 NumPy takes the next float above instead, and so does this. TypeError for complex numbers.

    >>> np.spacing(np.array([1.0, -1e16]))
    array([ 2.22044605e-16, -2.00000000e+00])
    """
    distances = by_numpy_elementwise("spacing", x)
    if distances is not None:
        return distances
    away = torch.full_like(x, torch.inf)
    if x.dtype is torch.float16:
        away = torch.where(x == -torch.inf, -away, away)
    else:
        away = torch.where(x < 0, -away, away)
    return torch.nextafter(x, away) - x


@ufunc(loops="float")
def heaviside(x1: Stepwise, x2: Stepwise):
    """0 where x1 is negative, 1 where it is positive, x2 where it is zero, nan where it is nan, with broadcasting.

    >>> np.heaviside(np.array([-1.5, 0.0, 2.0]), 0.5)
    array([0. , 0.5, 1. ])
    """
    if are_without_nan(x1) and type(x2) is torch.Tensor and not x2.requires_grad:
        return torch.heaviside(x1, x2)
    step = torch.where(x1 == 0, x2, (x1 > 0).to(x1.dtype))  # torch.heaviside has no derivative, and no nan
    return torch.where(torch.isnan(x1), x1, step)


# --- infinities and nan -----------------------------------------------------------------------------------------------


@public(direct=Direct(torch.nan_to_num, _FLOATS))
@writes_back("copy")
def nan_to_num(
    x: Pointwise,
    copy: bool = True,
    nan: ArrayLikeOrScalar = 0.0,
    posinf: ArrayLikeOrScalar | None = None,
    neginf: ArrayLikeOrScalar | None = None,
):
    """x with nan replaced by `nan`, infinities by `posinf` and `neginf`: the largest and lowest finite number if None.

    Complex numbers part by part; integers are copied. With `copy=False` an array is changed in place, and given back.

    >>> np.nan_to_num(np.array([1.0, np.nan, -np.inf]), neginf=-1.0)
    array([ 1.,  0., -1.])
    """
    if x.is_complex():
        return _apply_to_parts(lambda part: nan_to_num(part, True, nan, posinf, neginf), x)
    if not x.is_floating_point():
        return torch.clone(x) if copy else x
    largest = torch.finfo(x.dtype).max
    if posinf is None and neginf is None and type(nan) is float and nan == 0.0 and are_numbers(x):
        return torch.nan_to_num(x)
    # All three are found before any is replaced, perhaps by another of them.
    is_nan, is_posinf, is_neginf = torch.isnan(x), x == torch.inf, x == -torch.inf
    x = torch.where(is_nan, _like(x, nan), x)
    x = torch.where(is_posinf, _like(x, largest if posinf is None else posinf), x)
    return torch.where(is_neginf, _like(x, -largest if neginf is None else neginf), x)


def _like(x: torch.Tensor, value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        try:
            return value.to(x.dtype).expand(x.shape)
        except RuntimeError:
            raise ValueError(
                f"could not broadcast input array from shape {tuple(value.shape)} into shape {tuple(x.shape)}"
            ) from None
    return torch.tensor(value, dtype=x.dtype, device=x.device)


@public
def real_if_close(a: ArrayLike, tol: float = 100) -> View:
    """The real part of a, if every imaginary part is small; otherwise a itself. Always an array.

    Small is below `tol` times the machine epsilon of the dtype, or below `tol` itself if that is at most 1.

    >>> np.real_if_close(np.array([2.1 + 4e-14j, 5.2 + 3e-15j]), tol=1000)
    array([2.1, 5.2])
    """
    if not a.is_complex():
        return a
    if tol > 1:
        tol = torch.finfo(a.dtype).eps * tol
    return torch.real(a) if bool((torch.imag(a).abs() < tol).all()) else a
