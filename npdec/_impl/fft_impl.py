"""Discrete Fourier transforms.

All are linear. They compute in complex64 for float32 (and half precision), otherwise in complex128. A length of the
transform crops the input or pads it with zeros; the transforms over several axes go through them from the last to the
first, so that an axis may be named twice.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Array, AxisLike, Linear, OutArray, out_casting, public
from npdec._impl import dtypes_impl
from npdec._impl._storage import in_order_of
from npdec._impl._util import normalize_axes, normalize_axis, warn

Transform = Callable[..., torch.Tensor]

_NORMS = (None, "backward", "ortho", "forward")


# --- steps that the transforms share ----------------------------------------------------------------------------------


def _check_norm(norm: str | None) -> None:
    if norm not in _NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')


def _check_length(n: int) -> int:
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


def _as_float(x: torch.Tensor) -> torch.Tensor:
    """The float or complex tensor that is transformed; half precision, which torch transforms on some devices only."""
    if x.dtype in (torch.float16, torch.bfloat16):
        return x.to(torch.float32)
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(dtype=torch.float64)


def _as_real(name: str, x: torch.Tensor) -> torch.Tensor:
    if x.dtype.is_complex:
        raise TypeError(
            f"{name}: the input must be real, not {str(x.dtype).removeprefix('torch.')}; take its real part, or use "
            f"{'ifft' if name == 'ihfft' else 'fft' + name[4:]}"
        )
    return _as_float(x)


def _as_complex(x: torch.Tensor) -> torch.Tensor:
    x = _as_float(x)
    return x.to(dtype=dtypes_impl.complex_dtype(x.dtype))


def _as_half(x: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Real results of half precision are rounded to it."""
    return result.to(x.dtype) if x.dtype in (torch.float16, torch.bfloat16) else result


def _along(transform: Transform, x: torch.Tensor, n: int | None, axis: int, norm: str | None) -> torch.Tensor:
    """One transform along one axis. For the transforms to real numbers `n` is the length of the result."""
    if n is not None:
        _check_length(n)
    _check_norm(norm)
    axis = normalize_axis(axis, x.ndim)
    if n is None:
        n = x.shape[axis]
        n = _check_length(2 * (n - 1) if transform in (torch.fft.irfft, torch.fft.hfft) else n)
    return in_order_of(x, transform(x, n, axis, norm)) if x.numel() else _of_nothing(transform, x, n, axis)


def _of_nothing(transform: Transform, x: torch.Tensor, n: int, axis: int) -> torch.Tensor:
    """The transform of an array without elements, which torch's library for the CPU refuses: zeros, if anything."""
    shape, dtype = list(x.shape), dtypes_impl.complex_dtype(x.dtype)
    shape[axis] = n // 2 + 1 if transform in (torch.fft.rfft, torch.fft.ihfft) else n
    if transform in (torch.fft.irfft, torch.fft.hfft):
        dtype = dtypes_impl.real_dtype(dtype)
    return torch.zeros(shape, dtype=dtype, device=x.device)


def _lengths(
    x: torch.Tensor, s: Sequence[Any] | None, axes: tuple[int, ...] | None, to_real: bool = False
) -> tuple[list[int], tuple[int, ...]]:
    """The length of the transform for each of the axes, and the axes, counted from the front."""
    if s is None:
        axes = normalize_axes(axes, x.ndim, allow_duplicate=True)
        lengths = [x.shape[axis] for axis in axes]
        if to_real and axes:
            lengths[-1] = 2 * (lengths[-1] - 1)
        return lengths, axes
    s = tuple(s)
    if axes is None:
        warn(
            "`axes` should not be `None` if `s` is not `None`: name the axes, which are the last ones now.",
            DeprecationWarning,
        )
        axes = tuple(range(-len(s), 0))
    if None in s:
        warn(
            "Passing an array containing `None` values to `s` is deprecated: -1 stands for the length of the axis.",
            DeprecationWarning,
        )
    axes = normalize_axes(axes, x.ndim, allow_duplicate=True)
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    lengths = [x.shape[a] if n is None or operator.index(n) == -1 else operator.index(n) for n, a in zip(s, axes)]
    if to_real and s and s[-1] is None:
        lengths[-1] = 2 * (x.shape[axes[-1]] - 1)
    return lengths, axes


def _through(
    transform: Transform, x: torch.Tensor, lengths: Sequence[int], axes: Sequence[int], norm: str | None
) -> torch.Tensor:
    """Complex transforms along several axes: at once where the axes differ, otherwise one by one from the last."""
    _check_norm(norm)
    for n in lengths:
        _check_length(n)
    if axes and len(set(axes)) == len(axes) and x.numel():
        at_once = torch.fft.fftn if transform is torch.fft.fft else torch.fft.ifftn
        return in_order_of(x, at_once(x, tuple(lengths), tuple(axes), norm))
    for n, axis in zip(reversed(lengths), reversed(axes)):
        x = _along(transform, x, n, axis, norm)
    return x


def _as_axes(axes: Any) -> Any:
    """None or a tuple; NumPy takes no single int here."""
    if isinstance(axes, int):
        raise TypeError("'int' object is not iterable: give the axes as a sequence")
    return axes


# --- common calls: of numbers in single or double precision, along all axes or the last ones ------

_REAL = frozenset({torch.float32, torch.float64})
_COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128}
_COMPUTED = _REAL | set(_COMPLEX.values())


def _of_complex(transform: Transform) -> Direct:
    def transformed(a: torch.Tensor) -> torch.Tensor | None:
        if not a.numel() or not a.dim():
            return None
        wide = _COMPLEX.get(a.dtype)
        a = a if wide is None else a.to(dtype=wide)
        return in_order_of(a, transform(a))

    return Direct(transformed, _COMPUTED)


def _of_real(transform: Transform) -> Direct:
    return Direct(lambda a: in_order_of(a, transform(a)) if a.numel() else None, _REAL)


def _half_inverse(a: torch.Tensor) -> torch.Tensor:
    return torch.resolve_conj(torch.fft.ihfft(a))


def _from_real(a: torch.Tensor) -> torch.Tensor | None:
    if a.dim() != 2 or not a.numel():
        return None
    return in_order_of(a, torch.fft.fft(in_order_of(a, torch.fft.rfft(a)), None, -2))


def _to_real(a: torch.Tensor) -> torch.Tensor | None:
    if a.dim() != 2 or not a.numel():
        return None
    wide = _COMPLEX.get(a.dtype)
    a = a if wide is None else a.to(dtype=wide)
    return in_order_of(a, torch.fft.irfft(in_order_of(a, torch.fft.ifft(a, None, -2))))  # the layout decides on bits


_FROM_REAL, _TO_REAL = Direct(_from_real, _REAL), Direct(_to_real, _COMPUTED)

# --- one axis ---------------------------------------------------------------------------------------------------------


@public(errors="fft", direct=_of_complex(torch.fft.fft))
def fft(a: Linear, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutArray | None = None) -> Array:
    """Discrete Fourier transform along an axis: X[k] = sum of x[j] exp(-2 pi i j k / n) over j.

    `n` crops the axis or pads it with zeros. `norm` "backward" (the default) leaves the sum as it is, "ortho" divides
    it by sqrt(n), "forward" by n. Raises ValueError for a length below 1 or another norm.

    >>> np.fft.fft([1.0, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _along(torch.fft.fft, _as_complex(a), n, axis, norm)


@public(errors="ifft", direct=_of_complex(torch.fft.ifft))
def ifft(
    a: Linear, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """The inverse of `fft`: x[j] = sum of X[k] exp(2 pi i j k / n) over k, divided by n.

    The division is that of `norm` "backward" (the default); "ortho" divides by sqrt(n), "forward" not at all.

    >>> np.fft.ifft([4.0, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _along(torch.fft.ifft, _as_complex(a), n, axis, norm)


@public(direct=_of_real(torch.fft.rfft))
def rfft(
    a: Linear, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """`fft` of real numbers: the first n // 2 + 1 terms, of which the others are the conjugates.

    Raises TypeError for complex input.

    >>> np.fft.rfft([1.0, 2.0, 1.0])
    array([ 4. +0.j       , -0.5-0.8660254j])
    """
    return _along(torch.fft.rfft, _as_real("rfft", a), n, axis, norm)


@public(direct=_of_complex(torch.fft.irfft))
def irfft(
    a: Linear, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """The inverse of `rfft`: n real numbers from the first n // 2 + 1 terms of their transform.

    `n` is 2 (m - 1) for m terms unless it is given, so an odd length has to be given.

    >>> np.fft.irfft([4.0, 0.0, 0.0])
    array([1., 1., 1., 1.])
    """
    return _as_half(a, _along(torch.fft.irfft, _as_complex(a), n, axis, norm))


@public(direct=_of_complex(torch.fft.hfft))
@out_casting("unsafe")
def hfft(
    a: Linear, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """`fft` of a signal that is Hermitian in time, of which the first n // 2 + 1 values are given: n real numbers.

    `n` is 2 (m - 1) for m values unless it is given.

    >>> np.fft.hfft([1.0, 1.0, 1.0])
    array([4., 0., 0., 0.])
    """
    return _as_half(a, _along(torch.fft.hfft, _as_complex(a), n, axis, norm))


@public(direct=_of_real(_half_inverse))
def ihfft(
    a: Linear, n: int | None = None, axis: int = -1, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """The inverse of `hfft`: the first n // 2 + 1 values of a Hermitian signal from its real spectrum.

    Raises TypeError for complex input.

    >>> np.fft.ihfft([4.0, 0.0, 0.0, 0.0])
    array([1.-0.j, 1.-0.j, 1.-0.j])
    """
    return torch.resolve_conj(_along(torch.fft.ihfft, _as_real("ihfft", a), n, axis, norm))


# --- several axes -----------------------------------------------------------------------------------------------------


@public(direct=_of_complex(torch.fft.fftn))
def fftn(
    a: Linear, s: Any = None, axes: AxisLike | None = None, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """`fft` along several axes, all of them by default.

    `s` gives the length of the transform along each of the axes; -1 is the length of the axis.

    >>> np.fft.fftn(np.ones((2, 2)))
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    lengths, axes = _lengths(a, s, _as_axes(axes))
    return _through(torch.fft.fft, _as_complex(a), lengths, axes, norm) if axes else a.clone()


@public(direct=_of_complex(torch.fft.ifftn))
def ifftn(
    a: Linear, s: Any = None, axes: AxisLike | None = None, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """The inverse of `fftn`: `ifft` along several axes, all of them by default.

    >>> np.fft.ifftn(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    lengths, axes = _lengths(a, s, _as_axes(axes))
    return _through(torch.fft.ifft, _as_complex(a), lengths, axes, norm) if axes else a.clone()


@public(direct=_of_complex(torch.fft.fft2))
def fft2(
    a: Linear, s: Any = None, axes: AxisLike | None = (-2, -1), norm: str | None = None, out: OutArray | None = None
) -> Array:
    """`fft` along two axes, the last ones by default: `fftn` with other axes.

    >>> np.fft.fft2(np.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return fftn(a, s, axes, norm)


@public(direct=_of_complex(torch.fft.ifft2))
@out_casting("unsafe")
def ifft2(
    a: Linear, s: Any = None, axes: AxisLike | None = (-2, -1), norm: str | None = None, out: OutArray | None = None
) -> Array:
    """The inverse of `fft2`: `ifft` along two axes, the last ones by default.

    >>> np.fft.ifft2(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return ifftn(a, s, axes, norm)


@public(direct=_FROM_REAL)
def rfftn(
    a: Linear, s: Any = None, axes: AxisLike | None = None, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """`rfft` along the last of several axes, then `fft` along the others; all axes by default.

    Raises TypeError for complex input.

    >>> np.fft.rfftn(np.ones((2, 4))).shape
    (2, 3)
    """
    lengths, axes = _lengths(a, s, _as_axes(axes))
    if not axes:
        raise IndexError("rfftn: at least one axis must be transformed")
    last = _along(torch.fft.rfft, _as_real("rfftn", a), lengths[-1], axes[-1], norm)
    return _through(torch.fft.fft, last, lengths[:-1], axes[:-1], norm)


@public(direct=_TO_REAL)
def irfftn(
    a: Linear, s: Any = None, axes: AxisLike | None = None, norm: str | None = None, out: OutArray | None = None
) -> Array:
    """The inverse of `rfftn`: `ifft` along all but the last of several axes, then `irfft` along that one.

    The length along the last axis is 2 (m - 1) for m terms unless `s` gives it.

    >>> np.fft.irfftn(np.fft.rfftn(np.ones((2, 4)))).shape
    (2, 4)
    """
    lengths, axes = _lengths(a, s, _as_axes(axes), to_real=True)
    if not axes:
        raise IndexError("irfftn: at least one axis must be transformed")
    _check_length(lengths[-1])
    others = _through(torch.fft.ifft, _as_complex(a), lengths[:-1], axes[:-1], norm) if axes[1:] else a
    return irfft(others, lengths[-1], axes[-1], norm)


@public(direct=_FROM_REAL)
def rfft2(
    a: Linear, s: Any = None, axes: AxisLike | None = (-2, -1), norm: str | None = None, out: OutArray | None = None
) -> Array:
    """`rfftn` along two axes, the last ones by default.

    >>> np.fft.rfft2(np.ones((3, 2, 4))).shape
    (3, 2, 3)
    """
    return rfftn(a, s, axes, norm)


@public(direct=_TO_REAL)
@out_casting("unsafe")
def irfft2(
    a: Linear, s: Any = None, axes: AxisLike | None = (-2, -1), norm: str | None = None, out: OutArray | None = None
) -> Array:
    """The inverse of `rfft2`: `irfftn` along two axes, the last ones by default.

    >>> np.fft.irfft2(np.fft.rfft2(np.ones((3, 2, 4)))).shape
    (3, 2, 4)
    """
    return irfftn(a, s, axes, norm)
