"""Elementwise angles: trigonometric and hyperbolic functions."""

from __future__ import annotations

import math

import torch

from npdec._core.tags import ArrayLike, Linear, Pointwise, public, ufunc
from npdec._impl import _flags, dtypes_impl


@ufunc(torch.sin, loops="inexact")
def sin(x: Pointwise):
    """The sine of an angle in radians.

    >>> np.sin(np.array([0.0, np.pi / 2]))
    array([0., 1.])
    """
    return torch.sin(x)


@ufunc(torch.cos, loops="inexact")
def cos(x: Pointwise):
    """The cosine of an angle in radians.

    >>> np.cos(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    return torch.cos(x)


@ufunc(torch.tan, loops="inexact")
def tan(x: Pointwise):
    """The tangent of an angle in radians.

    >>> np.tan(np.array([0.0, 1.0]))
    array([0.        , 1.55740772])
    """
    return torch.tan(x)


@ufunc(torch.asin, loops="inexact", aliases=("asin",))
def arcsin(x: Pointwise):
    """The angle in [-π/2, π/2] whose sine is x; nan for real x outside [-1, 1].

    >>> np.arcsin(np.array([0.0, 1.0, 2.0]))
    array([0.        , 1.57079633,        nan])
    """
    return torch.asin(x)


@ufunc(torch.acos, loops="inexact_real", aliases=("acos",))
def arccos(x: Pointwise):
    """The angle in [0, π] whose cosine is x; nan for real x outside [-1, 1].

    >>> np.arccos(np.array([1.0, -1.0]))
    array([0.        , 3.14159265])
    """
    if not x.is_complex():
        return torch.acos(x)
    # torch's own loses the digits of small real parts and the sign of an imaginary part that is zero.
    side = 1 - 2 * torch.signbit(torch.imag(x)).to(dtypes_impl.real_dtype(x.dtype))
    y = torch.acosh(x)
    return torch.complex(torch.imag(y) * side, torch.real(y) * -side)


@ufunc(torch.atan, loops="inexact", aliases=("atan",), flags=_flags.ARCTAN)
def arctan(x: Pointwise):
    """The angle in [-π/2, π/2] whose tangent is x.

    >>> np.arctan(np.array([0.0, np.inf]))
    array([0.        , 1.57079633])
    """
    return torch.atan(x)


@ufunc(torch.atan2, loops="float", aliases=("atan2",))
def arctan2(x1: Pointwise, x2: Pointwise):
    """The angle in [-π, π] of the point with ordinate x1 and abscissa x2, with broadcasting. TypeError for complex.

    >>> np.arctan2(np.array([1.0, -1.0]), -1.0)
    array([ 2.35619449, -2.35619449])
    """
    return torch.atan2(x1, x2)


@ufunc(torch.hypot, loops="float", identity=0)
def hypot(x1: Pointwise, x2: Pointwise):
    """sqrt(x1² + x2²) without overflow, with broadcasting: the length of the hypotenuse. TypeError for complex.

    >>> np.hypot(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
    array([ 5., 13.])
    """
    return torch.hypot(x1, x2)


@ufunc(torch.rad2deg, loops="float", flags=_flags.SCALED)
def degrees(x: Linear):
    """An angle in radians, in degrees. TypeError for complex numbers.

    >>> np.degrees(np.array([np.pi, np.pi / 2]))
    array([180.,  90.])
    """
    return torch.rad2deg(x)


@ufunc(torch.rad2deg, loops="float", flags=_flags.SCALED)
def rad2deg(x: Linear):
    """An angle in radians, in degrees. TypeError for complex numbers.

    >>> np.rad2deg(np.array([np.pi, np.pi / 2]))
    array([180.,  90.])
    """
    return torch.rad2deg(x)


@ufunc(torch.deg2rad, loops="float", flags=_flags.SCALED)
def radians(x: Linear):
    """An angle in degrees, in radians. TypeError for complex numbers.

    >>> np.radians(np.array([180.0, 90.0]))
    array([3.14159265, 1.57079633])
    """
    return torch.deg2rad(x)


@ufunc(torch.deg2rad, loops="float", flags=_flags.SCALED)
def deg2rad(x: Linear):
    """An angle in degrees, in radians. TypeError for complex numbers.

    >>> np.deg2rad(np.array([180.0, 90.0]))
    array([3.14159265, 1.57079633])
    """
    return torch.deg2rad(x)


@public
def angle(z: ArrayLike, deg: bool = False):
    """The angle of complex numbers with the positive real axis, in (-π, π], or in degrees if `deg`.

    Of real numbers 0, or π for negative ones (-0.0 included), in the float that `arctan2` gives for their dtype.

    >>> np.angle(np.array([1.0, 1j, -1.0])), np.angle(1 + 1j, deg=True)
    (array([0.        , 1.57079633, 3.14159265]), np.float64(45.0))
    """
    if z.is_complex():
        result = torch.atan2(torch.imag(z), torch.real(z))
    else:
        if z.dtype is not torch.float64 and z.dtype is not torch.float32:
            z = z.to(dtypes_impl.resolve_loop("float", (0, z)))
        result = torch.atan2(torch.zeros_like(z), z)
    return result * (180 / math.pi) if deg else result


# --- hyperbolic functions ---------------------------------------------------------------------------------------------


@ufunc(torch.sinh, loops="inexact")
def sinh(x: Pointwise):
    """The hyperbolic sine, (exp(x) - exp(-x)) / 2.

    >>> np.sinh(np.array([0.0, 1.0]))
    array([0.        , 1.17520119])
    """
    return torch.sinh(x)


@ufunc(torch.cosh, loops="inexact")
def cosh(x: Pointwise):
    """The hyperbolic cosine, (exp(x) + exp(-x)) / 2.

    >>> np.cosh(np.array([0.0, 1.0]))
    array([1.        , 1.54308063])
    """
    return torch.cosh(x)


@ufunc(torch.tanh, loops="inexact")
def tanh(x: Pointwise):
    """The hyperbolic tangent, sinh(x) / cosh(x).

    >>> np.tanh(np.array([0.0, 1.0]))
    array([0.        , 0.76159416])
    """
    return torch.tanh(x)


@ufunc(torch.asinh, loops="inexact", aliases=("asinh",))
def arcsinh(x: Pointwise):
    """The number whose hyperbolic sine is x.

    >>> np.arcsinh(np.array([0.0, 1.0]))
    array([0.        , 0.88137359])
    """
    return torch.asinh(x)


@ufunc(torch.acosh, loops="inexact", aliases=("acosh",))
def arccosh(x: Pointwise):
    """The number, 0 or more, whose hyperbolic cosine is x; nan for real x below 1.

    >>> np.arccosh(np.array([1.0, 2.0]))
    array([0.        , 1.3169579])
    """
    return torch.acosh(x)


@ufunc(torch.atanh, loops="inexact", aliases=("atanh",), flags=_flags.ARCTANH)
def arctanh(x: Pointwise):
    """The number whose hyperbolic tangent is x; nan for real x outside [-1, 1].

    >>> np.arctanh(np.array([0.0, 0.5]))
    array([0.        , 0.54930614])
    """
    return torch.atanh(x)
