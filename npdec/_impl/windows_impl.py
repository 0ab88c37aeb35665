"""Window functions (NumPy's reference: window functions): symmetric bumps of a given number of points."""

from __future__ import annotations

import math

import torch

from npdec._core.tags import Array, ArrayLike, Opaque, public
from npdec._impl import elementwise_math_impl
from npdec._impl._devices import as_device


def _points(M: torch.Tensor) -> float:
    """The number of points asked for, which need not be whole."""
    if M.ndim:
        raise ValueError(f"the number of points of a window must be a number, not an array of shape {tuple(M.shape)}")
    if M.dtype.is_complex:
        raise TypeError("the number of points of a window must be real, not complex")
    points = float(M)
    if math.isnan(points) or points == math.inf:
        raise ValueError(f"a window cannot have {points} points")
    return points


def _odd(M: float) -> torch.Tensor | None:
    """1 - M, 3 - M, ... up to M - 1: twice the distances from the middle. None for a window of one point."""
    if M == 1:
        return None
    return (1 - M) + 2 * torch.arange(math.ceil(M - 0.5) if M >= 1 else 0, dtype=torch.float64, device=as_device(None))


def _one() -> torch.Tensor:
    return torch.ones(1, dtype=torch.float64, device=as_device(None))


def _cosines(M: float, *weights: float) -> torch.Tensor:
    """The sum of weights[k] * cos(k * pi * n / (M - 1)) over the window."""
    n = _odd(M)
    if n is None:
        return _one()
    total = torch.full_like(n, weights[0])
    for k, weight in enumerate(weights[1:], 1):
        total = total + weight * torch.cos(k * math.pi * n / (M - 1))
    return total


@public
def bartlett(M: Opaque) -> Array:
    """The triangle from 0 up to 1 and back to 0 over M points, in float64; without points for M below 1.

    >>> np.bartlett(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    points = _points(M)
    n = _odd(points)
    return _one() if n is None else 1 - n.abs() / (points - 1)


@public
def blackman(M: Opaque) -> Array:
    """The sum of three cosines with weights 0.42, 0.5 and 0.08 over M points, in float64; without points for M below 1.

    >>> np.blackman(5).round(2)
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ])
    """
    return _cosines(_points(M), 0.42, 0.5, 0.08)


@public
def hamming(M: Opaque) -> Array:
    """The raised cosine 0.54 + 0.46 cos over M points, in float64; without points for M below 1.

    >>> np.hamming(5)
    array([0.08, 0.54, 1.  , 0.54, 0.08])
    """
    return _cosines(_points(M), 0.54, 0.46)


@public
def hanning(M: Opaque) -> Array:
    """The raised cosine 0.5 + 0.5 cos over M points, in float64; without points for M below 1.

    >>> np.hanning(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _cosines(_points(M), 0.5, 0.5)


@public
def kaiser(M: Opaque, beta: ArrayLike) -> Array:
    """The window of Bessel functions i0(beta * sqrt(1 - t**2)) / i0(beta), t from -1 to 1 in M points, in float64.

    A larger `beta` makes it narrower; 0 gives a rectangle. Without points for M below 1. TypeError for a complex beta.

    >>> np.kaiser(3, 2.0)
    array([0.43867628, 1.        , 0.43867628])
    """
    points = _points(M)
    if beta.ndim:
        raise ValueError(f"kaiser: beta must be a number, not an array of shape {tuple(beta.shape)}")
    if points == 1:
        return _one()
    n = torch.arange(max(math.ceil(points), 0), dtype=torch.float64, device=beta.device)
    middle = (points - 1) / 2
    root = torch.sqrt(1 - ((n - middle) / middle) ** 2)
    beta = beta if beta.dtype.is_complex else beta.to(torch.float64)
    return elementwise_math_impl.i0(beta * root) / elementwise_math_impl.i0(beta)
