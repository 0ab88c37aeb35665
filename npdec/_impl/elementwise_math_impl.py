"""Elementwise mathematics: exponentials, logarithms, roots and special functions.

Booleans and integers compute in the float that is wide enough for them: 8 bits in float16, 16 bits in float32, more in
float64. Floats and complex numbers stay in their dtype. Outside the domain the result is nan.
"""

from __future__ import annotations

import math

import torch

from npdec._core.tags import Array, Inexact, Pointwise, public, ufunc
from npdec._impl import _flags
from npdec._impl._util import are_numbers, rounding_to, tensor_of

# --- exponentials and logarithms --------------------------------------------------------------------------------------


@ufunc(torch.exp, loops="inexact", flags=_flags.EXP)
def exp(x: Pointwise):
    """e to the power of x.

    >>> np.exp(np.array([0.0, 1.0]))
    array([1.        , 2.71828183])
    """
    return torch.exp(x)


@ufunc(torch.exp2, loops="inexact", flags=_flags.EXP2)
def exp2(x: Pointwise):
    """2 to the power of x.

    >>> np.exp2(np.array([3.0, -1.0]))
    array([8. , 0.5])
    """
    return torch.exp2(x)


@ufunc(torch.expm1, loops="inexact_real")
def expm1(x: Pointwise):
    """exp(x) - 1, precise for small x too.

    For infinite and nan parts of complex numbers it is what exp(x) - 1 is, and a real part of zero is positive, as the
    array API standard has it.

    >>> np.expm1(np.array([1e-10, 1.0]))
    array([1.00000000e-10, 1.71828183e+00])
    """
    y = torch.expm1(x)
    if not x.is_complex():
        return y
    finite = torch.isfinite(x)
    power = torch.exp(torch.where(finite, 0, x))
    return torch.complex(
        torch.where(finite, torch.real(y) + 0.0, torch.real(power) - 1),
        torch.where(finite, torch.imag(y), torch.imag(power)),
    )


@ufunc(torch.log, loops="inexact", flags=_flags.LOG)
def log(x: Pointwise):
    """The natural logarithm; -inf for 0, nan for negative real numbers.

    >>> np.log(np.array([1.0, 10.0, 0.0]))
    array([0.        , 2.30258509,       -inf])
    """
    return torch.log(x)


@ufunc(torch.log2, loops="inexact_real", flags=_flags.LOG)
def log2(x: Pointwise):
    """The logarithm to base 2; -inf for 0, nan for negative real numbers.

    >>> np.log2(np.array([1.0, 8.0]))
    array([0., 3.])
    """
    if not x.is_complex():
        return torch.log2(x)
    # Without vector instructions torch divides by log(2) + 0j, so that log2(0j) is -inf + nanj:
    # https://github.com/pytorch/pytorch/blob/v2.13.0/c10/util/complex_math.h
    natural = torch.log(x)
    return torch.complex(torch.real(natural) * (1 / math.log(2)), torch.imag(natural) * (1 / math.log(2)))


@ufunc(torch.log10, loops="inexact", flags=_flags.LOG)
def log10(x: Pointwise):
    """The logarithm to base 10; -inf for 0, nan for negative real numbers.

    >>> np.log10(np.array([0.01, 1000.0]))
    array([-2.,  3.])
    """
    return torch.log10(x)


@ufunc(torch.log1p, loops="inexact_real", flags=_flags.LOG1P)
def log1p(x: Pointwise):
    """log(1 + x), precise for small x too.

    >>> np.log1p(np.array([1e-10, 1.0]))
    array([1.00000000e-10, 6.93147181e-01])
    """
    y = torch.log1p(x)
    if not x.is_complex():
        return y
    # torch has nan where its own steps leave the exponent range, and beside an infinite part; -0.0 + 0.0 is 0.0.
    real, imag = torch.real(x), torch.imag(x)
    log, angle = torch.real(y), torch.imag(y)
    log = torch.where(torch.isnan(log), torch.log1p(real * (2 + real) + imag * imag) / 2, log) + 0.0
    angle = torch.where(torch.isnan(angle), torch.atan2(imag, 1 + real), angle)
    return torch.complex(torch.where(torch.isinf(real) | torch.isinf(imag), torch.inf, log), angle)


@ufunc(torch.logaddexp, loops="float", identity=-math.inf)
def logaddexp(x1: Pointwise, x2: Pointwise):
    """log(exp(x1) + exp(x2)) without overflow, with broadcasting: the sum of probabilities given by logarithms.

    >>> np.logaddexp(np.array([1000.0, -np.inf]), 1000.0)
    array([1000.69314718, 1000.        ])
    """
    return torch.logaddexp(x1, x2)


@ufunc(loops="float", identity=-math.inf)
def logaddexp2(x1: Pointwise, x2: Pointwise):
    """log2(2**x1 + 2**x2) without overflow, with broadcasting.

    >>> np.logaddexp2(np.array([3.0, 0.0]), 3.0)
    array([4.       , 3.169925])
    """
    if x1.dtype in (torch.float16, torch.bfloat16):
        return logaddexp2(x1.float(), x2.float()).to(x1.dtype)
    # torch's own loses digits where the result is near zero. Equal operands (infinities too) differ by nothing.
    if are_numbers(x1, x2):
        alone = not x1.dim() and not x2.dim() and x1.dtype is x2.dtype
        if alone and (number := _logaddexp2_of_numbers(x1, x2)) is not None:
            return number
        terms = torch.sub(x1, x2).abs_()
        if torch.equal(terms, terms):
            return terms.neg_().exp2_().log1p_().mul_(1 / math.log(2)).add_(torch.maximum(x1, x2))
    equal = x1 == x2
    distance = torch.where(equal, torch.zeros_like(x1 + x2), torch.abs(x1 - x2))
    return torch.maximum(x1, x2) + torch.log1p(torch.exp2(-distance)) * (1 / math.log(2))


def _logaddexp2_of_numbers(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor | None:
    """The same of two numbers, where torch computes what it rounds in its own way; None if the result is nan, or both
    are infinite."""
    a, b, to = x1.item(), x2.item(), rounding_to(x1.dtype)
    distance = to(abs(a - b))
    if math.isnan(distance):
        return None
    more = tensor_of(-distance, x1.dtype).exp2_().log1p_().item()
    return tensor_of(to(more * to(1 / math.log(2))) + max(a, b), x1.dtype)


# --- roots ------------------------------------------------------------------------------------------------------------


@ufunc(torch.sqrt, loops="inexact")
def sqrt(x: Pointwise):
    """The square root; nan for negative real numbers, the principal root of complex ones.

    >>> np.sqrt(np.array([4.0, 2.0])), np.sqrt(-1 + 0j)
    (array([2.        , 1.41421356]), np.complex128(1j))
    """
    return torch.sqrt(x)


@ufunc(loops="float")
def cbrt(x: Pointwise):
    """The real cube root, of negative numbers too. TypeError for complex numbers.

    >>> np.cbrt(np.array([27.0, -8.0]))
    array([ 3., -2.])
    """
    # torch has no cube root: a power, and one step of Newton's method for its last digits.
    if x.dtype in (torch.float32, torch.float64) and are_numbers(x):
        if not x.dim():
            return _cbrt_of_number(x)
        root = torch.abs(x).pow_(1 / 3).copysign_(x)
        step = torch.mul(root, root)
        root -= torch.sub(root, torch.div(x, step, out=step), out=step).div_(3)
        if torch.equal(root, root):  # none of them is zero or infinite
            return root
        return torch.where(torch.isnan(root), x, root)
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    regular = torch.isfinite(wide) & (wide != 0)
    radicand = torch.where(regular, wide, torch.ones_like(wide))
    root = torch.sgn(radicand) * torch.abs(radicand) ** (1 / 3)
    root = root - (root - radicand / (root * root)) / 3
    return torch.where(regular, root, wide).to(x.dtype)


def _cbrt_of_number(x: torch.Tensor) -> torch.Tensor:
    """The same step in Python's numbers, which are of this precision."""
    number = x.item()
    root = (x if number > 0 else torch.abs(x)).pow(1 / 3).item()
    if not 0 < root < math.inf:
        return x.clone()  # zero, infinite or nan
    to = rounding_to(x.dtype)
    root = math.copysign(root, number)
    step = to(to(root - to(number / to(root * root))) / 3)
    return tensor_of(root - step, x.dtype)


# --- special functions ------------------------------------------------------------------------------------------------


@public(errors="sin")
def sinc(x: Inexact[Pointwise]):
    """sin(πx) / (πx), and 1 for 0. Integers and booleans give float64.

    >>> np.sinc(np.array([0.0, 0.5, 1.5]))
    array([ 1.        ,  0.63661977, -0.21220659])
    """
    return torch.sinc(x)


@public(errors="exp")
def i0(x: Inexact[Pointwise]) -> Array:
    """The modified Bessel function of the first kind and order 0. Integers and booleans give float64.

    Always an array, 0-d for a number. TypeError for complex numbers.

    >>> np.i0(np.array([0.0, 1.0]))
    array([1.        , 1.26606588])
    """
    if x.is_complex():
        raise TypeError("i0 not supported for complex values")
    return torch.special.i0(x)
