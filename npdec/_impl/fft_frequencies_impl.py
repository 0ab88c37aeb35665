"""Discrete Fourier transforms: frequencies, and spectra in another order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLike, ArrayLikeOrScalar, AxisLike, DTypeLike, public
from npdec._impl import _devices, dtypes_impl
from npdec._impl._gufunc import shape_text
from npdec._impl._util import broadcast_shapes, normalize_axes
from npdec._impl.creation_impl import as_device


def _frequencies(numbers: torch.Tensor, n: int, d: Any) -> torch.Tensor:
    if not isinstance(d, torch.Tensor):
        return numbers * (1.0 / (n * d))
    try:
        broadcast_shapes(numbers.shape, d.shape)
    except ValueError:
        raise ValueError(
            f"operands could not be broadcast together with shapes {shape_text(numbers.shape)} {shape_text(d.shape)}"
        ) from None
    numbers, spacing = dtypes_impl.promote(numbers, d)
    return numbers * (1.0 / (n * spacing))


def _in_floats(frequencies: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    if dtype is None:
        return frequencies
    if not dtype.is_floating_point:
        raise TypeError(f"frequencies are real: dtype must be one of floats, not {dtypes_impl.name_of(dtype)}")
    return frequencies.to(dtype)


def _count(n: Any) -> int:
    try:
        n = operator.index(n)
    except TypeError:
        raise ValueError("n should be an integer") from None
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    if n == 0:
        raise ZeroDivisionError("float division by zero")
    return n


def _by(make: Callable[..., torch.Tensor]) -> Direct:
    """The common call, of a count and a spacing that are numbers of Python's."""

    def made(n: Any, d: Any) -> torch.Tensor | None:
        if type(n) is not int or n < 1 or type(d) is not float or not d or _devices.used:
            return None
        return make(n, d, dtype=torch.float64)

    return Direct(made, given=("d",))


@public(direct=_by(torch.fft.fftfreq))
def fftfreq(n: Any, d: ArrayLikeOrScalar = 1.0, device: Any = None, *, dtype: DTypeLike | None = None) -> Array:
    """The frequencies of the n terms of `fft`, for samples at a distance of `d`: 0, 1, ..., -2, -1, divided by n d.

    `device` is a torch device; `dtype`, of the array API standard, is that of floats, float64 by default. Raises
    ValueError unless n is an integer, TypeError for a dtype of other numbers.

    >>> np.fft.fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    n = _count(n)
    numbers = torch.arange(n, dtype=torch.float64, device=as_device(device))
    numbers.narrow(0, (n + 1) // 2, n // 2).sub_(n)
    return _in_floats(_frequencies(numbers, n, d), dtype)


@public(direct=_by(torch.fft.rfftfreq))
def rfftfreq(n: Any, d: ArrayLikeOrScalar = 1.0, device: Any = None, *, dtype: DTypeLike | None = None) -> Array:
    """The frequencies of the n // 2 + 1 terms of `rfft`, for samples at a distance of `d`: 0, 1, ..., divided by n d.

    `device` is a torch device; `dtype`, of the array API standard, is that of floats, float64 by default. Raises
    ValueError unless n is an integer, TypeError for a dtype of other numbers.

    >>> np.fft.rfftfreq(4)
    array([0.  , 0.25, 0.5 ])
    """
    n = _count(n)
    numbers = torch.arange(n // 2 + 1, dtype=torch.float64, device=as_device(device))
    return _in_floats(_frequencies(numbers, n, d), dtype)


def _rolled(x: torch.Tensor, axes: Any, shift: Callable[[int], int]) -> torch.Tensor:
    axes = normalize_axes(axes, x.ndim, allow_duplicate=True)
    return torch.roll(x, [shift(x.shape[axis]) for axis in axes], axes) if axes else x.clone()


@public(direct=Direct(lambda x: torch.fft.fftshift(x) if x.dim() else None, linear=True))
def fftshift(x: ArrayLike, axes: AxisLike | None = None) -> Array:
    """The halves of the axes (all by default) swapped, so that the frequency zero is in the middle.

    >>> np.fft.fftshift([0, 1, 2, -2, -1])
    array([-2, -1,  0,  1,  2])
    """
    return _rolled(x, axes, lambda n: n // 2)


@public(direct=Direct(lambda x: torch.fft.ifftshift(x) if x.dim() else None, linear=True))
def ifftshift(x: ArrayLike, axes: AxisLike | None = None) -> Array:
    """The inverse of `fftshift`, from which it differs for odd lengths.

    >>> np.fft.ifftshift([-2, -1, 0, 1, 2])
    array([ 0,  1,  2, -2, -1])
    """
    return _rolled(x, axes, lambda n: -(n // 2))
