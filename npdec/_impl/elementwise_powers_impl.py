"""Elementwise powers and reciprocals."""

from __future__ import annotations

import torch

from npdec._core.tags import Pointwise, ufunc
from npdec._impl import _flags, dtypes_impl
from npdec._impl._util import are_numbers, from_int64, is_known_true, to_int64
from npdec._impl.dtypes_impl import WIDE_UNSIGNED
from npdec._impl.elementwise_impl import are_positive, of_integers, wrapping


@ufunc(torch.square, loops="arithmetic", flags=_flags.SQUARE)
def square(x: Pointwise):
    """x · x. Integers wrap around.

    >>> np.square(np.array([1.5, -2.0]))
    array([2.25, 4.  ])
    """
    return wrapping(torch.square, x)


@ufunc(torch.reciprocal, loops="arithmetic", flags=_flags.RECIPROCAL)
def reciprocal(x: Pointwise):
    """1 / x in the dtype of x: of integers only 1 and -1 have one, others give 0.

    >>> np.reciprocal(np.array([2.0, -4.0])), np.reciprocal(np.array([1, 2, -1]))
    (array([ 0.5 , -0.25]), array([ 1,  0, -1]))
    """
    if x.is_floating_point() or x.is_complex():
        return torch.reciprocal(x)
    if dtypes_impl.kind(x.dtype) == "u":
        return (x == 1).to(x.dtype)
    inverse = torch.where((x == 1) | (x == -1), x, torch.zeros_like(x))
    if x.dtype in (torch.int32, torch.int64):  # what C makes of an infinite quotient
        inverse = torch.where(x == 0, torch.full_like(x, torch.iinfo(x.dtype).min), inverse)
    return inverse


@ufunc(
    torch.pow,
    loops="power",
    operator="pow",
    aliases=("pow",),
    flags=_flags.POWER,
    integers=of_integers(torch.pow, 0),
    spare=1,
)
def power(x1: Pointwise, x2: Pointwise):
    """x1 to the power of x2, with broadcasting. Integer powers of integers stay integers and wrap around.

    Negative numbers to a fractional power give nan (complex ones do not). Raises ValueError for integers to a negative
    integer power.

    >>> np.power(np.array([1, 2, 3]), 2), np.power(2.0, np.array([-1, 0.5]))
    (array([1, 4, 9]), array([0.5       , 1.41421356]))
    """
    if x1.is_floating_point():
        return torch.pow(x1, x2)
    if x1.is_complex():
        return _complex_power(x1, x2)
    signed = dtypes_impl.kind(x2.dtype) == "i" and x1.numel()
    if signed and not are_positive(x2, 0) and is_known_true((x2 < 0).any()):
        raise ValueError("Integers to negative integer powers are not allowed.")
    if x2.dtype is torch.uint64:
        # An exponent of 2**63 or more does not fit int64. Modulo 2**64 the powers of odd numbers have period 2**62, and
        # those of even ones have long become zero.
        bits = to_int64(x2)
        exponent = torch.where(bits < 0, (bits & (2**62 - 1)) | 2**62, bits)
        return from_int64(torch.pow(to_int64(x1), exponent), torch.uint64)
    if x1.dtype in WIDE_UNSIGNED:
        return from_int64(torch.pow(to_int64(x1), to_int64(x2)), x1.dtype)
    return torch.pow(x1, x2)


@ufunc(loops="double", flags=_flags.POWER)
def float_power(x1: Pointwise, x2: Pointwise):
    """x1 to the power of x2 in float64, or complex128 where one of them is complex.

    >>> np.float_power(np.array([2, 4]), -1)
    array([0.5 , 0.25])
    """
    return _complex_power(x1, x2) if x1.is_complex() else torch.pow(x1, x2)


def _complex_power(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """Small integer exponents by multiplication, so that i² is -1; the others by torch, which NumPy agrees with but for
    the base zero: 1 for the exponent 0, 0 for one of positive real part, else nan."""
    number = _constant(x2)
    if number is not None and _is_whole(number):
        return _repeated_product(x1, int(number.real))
    if number is not None and type(x1) is torch.Tensor and _constant(x1):  # a number that is not zero
        return torch.pow(x1, x2)
    one, exponent = torch.ones_like(x1), torch.real(x2)
    zero = x1 == 0
    base = torch.where(zero, one, x1)
    if number is not None:
        return torch.pow(base, x2).masked_fill(zero, 0.0 if number.real > 0 else complex(torch.nan, torch.nan))
    whole = (torch.imag(x2) == 0) & (exponent == torch.round(exponent)) & (exponent.abs() < 100)
    seen = are_numbers(x1, x2)
    if seen and whole.all():
        powers = _whole_power(base, exponent)
    elif seen and not whole.any():
        powers = torch.pow(base, x2)
    else:
        powers = torch.where(whole, _whole_power(base, torch.where(whole, exponent, 0.0)), torch.pow(base, x2))
    if seen and not zero.any():
        return powers
    nothing = torch.zeros_like(exponent)
    part = torch.where(exponent > 0, nothing, torch.full_like(exponent, torch.nan))
    of_zero = torch.where(x2 == 0, torch.complex(nothing + 1, nothing), torch.complex(part, part))
    return torch.where(zero, of_zero, powers)


def _constant(exponent: torch.Tensor) -> complex | None:
    """An exponent that is one for all bases, as in z**2. None for others, and where it may not be looked at: under
    torch.compile and torch.vmap, and where a derivative by it is asked for."""
    if exponent.dim() or exponent.requires_grad or torch.compiler.is_compiling():
        return None
    if torch.autograd.forward_ad.unpack_dual(exponent).tangent is not None:
        return None
    try:
        return complex(exponent)
    except RuntimeError:
        return None


def _is_whole(number: complex) -> bool:
    return not number.imag and abs(number.real) < 100 and number.real.is_integer()


def _repeated_product(base: torch.Tensor, count: int) -> torch.Tensor:
    """One power for all elements, by the products of `_whole_power`."""
    if count in (0, 1):
        return base.clone() if count else torch.ones_like(base)
    result, bits = None, abs(count)
    while True:
        if bits & 1:
            result = base if result is None else result * base
        bits >>= 1
        if not bits:
            break
        base = base * base
    assert result is not None
    return 1 / result if count < 0 else result


def _whole_power(base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """Powers with whole exponents below 128, by repeated squaring; nothing is squared that is not needed."""
    one = torch.ones_like(base)
    count = exponent.detach().abs().to(torch.int64)
    result, started = one, torch.zeros_like(count, dtype=torch.bool)
    seen = are_numbers(base, exponent) and count.numel()
    for _ in range(max(1, int(count.max()).bit_length()) if seen else 7):
        odd = (count & 1) == 1
        result = torch.where(odd, torch.where(started, result * base, base), result)  # 1 * inf has a nan part
        started = started | odd
        count = count >> 1
        base = torch.where(count > 0, base, one)
        base = base * base
    if seen and not (exponent < 0).any():
        return result
    return torch.where(exponent < 0, 1 / result, result)
