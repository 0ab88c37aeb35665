"""Elementwise arithmetic: sums, products and signs, quotients and remainders.

Integer arithmetic wraps around; integer division by zero gives zero, as in NumPy. torch lacks most kernels of uint16,
uint32 and uint64: sums and products are computed on signed integers of the same bits, others on int64 (see `_util`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._core.tags import ArrayLike, Linear, Multilinear, Pointwise, Stepwise, ufunc
from npdec._impl import _flags, _util, dtypes_impl
from npdec._impl._by_numpy import are_many, by_numpy_elementwise
from npdec._impl._quotient_of_numbers import divmod_of_numbers
from npdec._impl._storage import signed
from npdec._impl._util import are_numbers, are_without_nan, carries, from_int64, is_known_true, is_unwatched, to_int64
from npdec._impl.dtypes_impl import RANGES, WIDE_UNSIGNED

_SIGNED = frozenset(RANGES) - WIDE_UNSIGNED - {torch.uint8}
_INT64 = frozenset({torch.int64})  # of which torch takes multiples before it adds them
_HIGHEST = torch.iinfo(torch.int64).max


def wrapping(function: Callable[..., torch.Tensor], *operands: torch.Tensor) -> torch.Tensor:
    """A function whose bits are the same for signed integers and for unsigned ones of their width."""
    dtype = operands[0].dtype
    if dtype in WIDE_UNSIGNED and are_many(operands[0]):
        made = by_numpy_elementwise(_NUMPYS.get(function) or function.__name__, *operands)
        if made is not None:
            return made
    few = function in _OF_FEW and operands[0].numel() < _FEW > operands[-1].numel()
    if dtype in WIDE_UNSIGNED and not (few and operands[0].is_cpu):
        return function(*map(signed, operands)).view(dtype)
    return function(*operands)


_NUMPYS: dict[Any, str] = {torch.sub: "subtract", torch.mul: "multiply", torch.neg: "negative"}  # of which torch cuts
# torch has kernels of these for unsigned integers on the host, which are slow, but for few numbers not as slow as to
# see them as signed.
_OF_FEW = frozenset({torch.mul, torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor})
_FEW = 500
_FEW_ON_HOST = 50  # of which Python finds the least sooner than torch


# --- sums, products, signs --------------------------------------------------------------------------------------------


def _on_parts(function: Callable[..., torch.Tensor], *operands: torch.Tensor) -> torch.Tensor:
    if operands[0].shape != operands[-1].shape and any(map(are_many, operands)) and are_numbers(*operands):
        # Beside a last axis of two, torch adds what it broadcasts one by one.
        operands = tuple(x.contiguous() for x in torch.broadcast_tensors(*operands))
    return _util.on_parts(function, *operands)


@ufunc(torch.add, loops="add", operator="add", identity=0, flags=_flags.SUM, by_numpy=_INT64)
def add(x1: Linear, x2: Linear):
    """The sum x1 + x2, with broadcasting. Two booleans are joined by `or`; integers wrap around.

    >>> np.add(np.array([1, 2]), 0.5)
    array([1.5, 2.5])
    """
    if x1.is_complex():
        return _on_parts(torch.add, x1, x2)
    return wrapping(torch.add, x1, x2)


@ufunc(torch.sub, loops="subtract", operator="sub", reflected=torch.rsub, flags=_flags.DIFFERENCE, by_numpy=_INT64)
def subtract(x1: Linear, x2: Linear):
    """The difference x1 - x2, with broadcasting. Integers wrap around. TypeError for two booleans.

    >>> np.subtract(np.array([[3], [4]]), np.array([1, 2]))
    array([[2, 1],
           [3, 2]])
    """
    if x1.is_complex():
        return _on_parts(torch.sub, x1, x2)
    return wrapping(torch.sub, x1, x2)


@ufunc(torch.mul, loops="any", operator="mul", identity=1, flags=_flags.PRODUCT, by_numpy=_INT64)
def multiply(x1: Multilinear, x2: Multilinear):
    """The product x1 · x2, with broadcasting. Two booleans are joined by `and`; integers wrap around.

    >>> np.multiply(np.array([1, 2, 3]), np.array([4, 5, 6]))
    array([ 4, 10, 18])
    """
    return wrapping(torch.mul, x1, x2)


@ufunc(torch.div, loops="divide", operator="truediv", aliases=("true_divide",), flags=_flags.QUOTIENT)
def divide(x1: ArrayLike, x2: ArrayLike):
    """The quotient x1 / x2, with broadcasting. Integers and booleans give float64; division by zero inf or nan.

    >>> np.divide(np.array([1, 2, 3]), 2)
    array([0.5, 1. , 1.5])
    """
    return torch.div(x1, x2)


@ufunc(torch.neg, loops="negative", operator="neg", flags=_flags.NEGATIVE)
def negative(x: Linear):
    """The number of opposite sign; an unsigned integer n gives 2**bits - n. TypeError for booleans.

    >>> np.negative(np.array([1.5, -2.0]))
    array([-1.5,  2. ])
    """
    if x.is_complex() and x.dim():  # torch gives the zeros of long arrays no sign
        return torch.complex(torch.neg(torch.real(x)), torch.neg(torch.imag(x)))
    return wrapping(torch.neg, x)


@ufunc(loops="number", operator="pos")
def positive(x: Linear):
    """A copy of x. TypeError for booleans.

    >>> np.positive(np.array([1, -2]))
    array([ 1, -2])
    """
    return torch.clone(x)


@ufunc(torch.abs, loops="absolute", operator="abs", aliases=("abs",), flags=_flags.ABSOLUTE)
def absolute(x: Pointwise):
    """The absolute value; of complex numbers the modulus, a float. The lowest signed integer has none and stays.

    >>> np.absolute(np.array([-1.5, 3.0])), np.absolute(3 + 4j)
    (array([1.5, 3. ]), np.float64(5.0))
    """
    if x.dtype is torch.bool or x.dtype in WIDE_UNSIGNED:
        return x.clone()
    return torch.abs(x)


@ufunc(torch.abs, loops="float")
def fabs(x: Pointwise):
    """The absolute value of real numbers, as floats. TypeError for complex ones.

    >>> np.fabs(np.array([-1, 2]))
    array([1., 2.])
    """
    return torch.abs(x)


@ufunc(loops="number")
def sign(x: Stepwise):
    """-1, 0 or 1 by the sign of x, nan for nan; for complex x the number x / |x| on the unit circle, 0 for 0.

    >>> np.sign(np.array([-2.5, 0.0, 4.0])), np.sign(3 + 4j)
    (array([-1.,  0.,  1.]), np.complex128(0.6+0.8j))
    """
    if x.dtype in WIDE_UNSIGNED:
        return (x != 0).to(x.dtype)
    if x.is_complex():
        return _complex_sign(x)
    signs = torch.sgn(x)
    if are_without_nan(x):
        return signs
    return torch.where(torch.isnan(x), x, signs) if x.is_floating_point() else signs  # torch has sgn(nan) = 0


def _complex_sign(x: torch.Tensor) -> torch.Tensor:
    """x / |x| without overflow. An infinite part counts alone; two of them have no direction."""
    real, imag = torch.real(x), torch.imag(x)
    zero, nan = torch.zeros_like(real), torch.full_like(real, torch.nan)
    size = torch.maximum(real.abs(), imag.abs()).detach()
    size = torch.where((size > 0) & torch.isfinite(size), size, torch.ones_like(size))
    power = torch.exp2((torch.frexp(size)[1] - 1).to(size.dtype))  # a power of two, to scale by without rounding
    across, up = torch.where(x == 0, torch.ones_like(real), real) / power, imag / power
    modulus = torch.hypot(across, up)
    signs = torch.where(x == 0, torch.zeros_like(x), torch.complex(across / modulus, up / modulus))
    signs = torch.where(torch.isinf(real), torch.complex(torch.sgn(real), zero), signs)
    signs = torch.where(torch.isinf(imag), torch.complex(zero, torch.sgn(imag)), signs)
    infinite = torch.isinf(real).to(torch.int8) + torch.isinf(imag).to(torch.int8)
    undefined = torch.where(infinite == 0, torch.isnan(real) | torch.isnan(imag), infinite == 2)
    return torch.where(undefined, torch.complex(nan, nan), signs)


@ufunc(loops="arithmetic", aliases=("conj",))
def conjugate(x: Linear):
    """The complex conjugate: the sign of the imaginary part changed. A copy of real numbers.

    >>> np.conjugate(np.array([1 + 2j, 3.0]))
    array([1.-2.j, 3.-0.j])
    """
    if not x.is_complex():
        return torch.clone(x)
    if are_numbers(x):
        return torch.conj_physical(x)
    return torch.complex(torch.real(x), -torch.imag(x))


# --- quotients and remainders -----------------------------------------------------------------------------------------


def are_positive(x: torch.Tensor, least: int = 1) -> bool:
    """Whether integers are all known to be at least so great."""
    if are_numbers(x) and (count := x.numel()):
        if count <= _FEW_ON_HOST and x.dim() == 1:
            return min(x.tolist()) >= least
        return (x.min() if x.dim() else x).item() >= least
    return x.is_cpu and is_known_true((x >= least).all())  # elsewhere it takes longer to ask


def _are_few_by_positive(x1: torch.Tensor, x2: torch.Tensor) -> bool:
    """Whether torch divides integers sooner than NumPy: few of them, by numbers that are all positive."""
    return x1.dtype not in WIDE_UNSIGNED and not (are_many(x1) or are_many(x2)) and are_positive(x2)


def _divisor(x2: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Integers to divide by, with 1 in place of 0 and -1, and where that is; None if all are known to be positive.

    torch raises on a zero divisor, and the lowest integer by -1 overflows. A remainder by 1 is 0, which is NumPy's too.
    """
    if are_positive(x2):
        return x2, None
    replaced = x2 == 0
    if dtypes_impl.kind(x2.dtype) == "i":
        replaced = replaced | (x2 == -1)
    return torch.where(replaced, torch.ones_like(x2), x2), replaced


def unsigned_divmod(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quotient and remainder of uint64 numbers given by their bits in int64; (0, 0) where the divisor is 0."""
    zero = b == 0
    b = torch.where(zero, torch.ones_like(b), b)
    if a.is_cpu and is_known_true((a >= 0).all() & (b > 0).all()):
        quotient = torch.div(a, b, rounding_mode="trunc")
        nothing = torch.zeros_like(quotient)
        return torch.where(zero, nothing, quotient), torch.where(zero, nothing, a - quotient * b)
    large = b < 0  # 2**63 or more: goes into anything at most once
    halved = torch.where(large, torch.ones_like(b), b)
    quotient = torch.div((a >> 1) & _HIGHEST, halved, rounding_mode="trunc") << 1
    quotient = torch.where(large, torch.zeros_like(quotient), quotient)
    rest = a - quotient * b
    lowest = torch.iinfo(torch.int64).min
    once_more = (rest ^ lowest) >= (b ^ lowest)
    quotient = quotient + once_more.to(torch.int64)
    rest = torch.where(once_more, rest - b, rest)
    nothing = torch.zeros_like(rest)
    return torch.where(zero, nothing, quotient), torch.where(zero, nothing, rest)


def float_floor_divide(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    return torch.div(x1, x2, rounding_mode="floor")  # torch.floor_divide, but with a derivative


def of_integers(function: Callable[..., torch.Tensor], least: int) -> Callable[..., torch.Tensor | None]:
    """A function of plain integers, the second of which are all known to be at least so great."""

    def computed(x1: torch.Tensor, x2: torch.Tensor | int) -> torch.Tensor | None:
        fits = are_positive(x2, least) if isinstance(x2, torch.Tensor) else x2 >= least
        return function(x1, x2) if fits and type(x1) is torch.Tensor else None

    return computed


@ufunc(
    float_floor_divide,
    loops="real_arithmetic",
    operator="floordiv",
    flags=_flags.FLOOR,
    in_place=torch.Tensor.floor_divide_,
    integers=of_integers(torch.floor_divide, 1),
    by_numpy=_SIGNED,
)
def floor_divide(x1: Stepwise, x2: Stepwise):
    """The largest integer not above x1 / x2, with broadcasting; an integer by zero gives 0. TypeError for complex.

    >>> np.floor_divide(np.array([7, -7]), 2), np.floor_divide(7.5, 2)
    (array([ 3, -4]), np.float64(3.0))
    """
    if x1.is_floating_point():
        return float_floor_divide(x1, x2)
    if _are_few_by_positive(x1, x2):
        return torch.floor_divide(x1, x2)
    quotient = by_numpy_elementwise("floor_divide", x1, x2)
    if quotient is not None:
        return quotient
    if x1.dtype is torch.uint64:
        return from_int64(unsigned_divmod(to_int64(x1), to_int64(x2))[0], torch.uint64)
    if x1.dtype in WIDE_UNSIGNED:
        return floor_divide(to_int64(x1), to_int64(x2)).to(x1.dtype)
    divisor, replaced = _divisor(x2)
    quotient = torch.floor_divide(x1, divisor)
    return quotient if replaced is None else torch.where(replaced, x1 * x2, quotient)


def float_fmod(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    rest = x1.fmod(x2)
    if are_without_nan(rest) or not x1.is_cpu or not is_known_true(torch.isnan(rest).any()):
        return rest
    return _far_fmod(x1, x2, rest)


def float_remainder(x1: torch.Tensor, x2: Any) -> torch.Tensor:
    rest = x1.remainder(x2)
    if not rest.dim() and are_numbers(rest) and abs(rest.item()) > 0:
        return rest  # which has the sign of x2, unless it is zero
    if are_without_nan(rest) and not getattr(x2, "requires_grad", False):
        return rest.copysign_(x2)
    if not rest.is_cpu and not carries(rest) and is_unwatched():
        return rest.copysign_(x2)
    if not isinstance(x2, torch.Tensor):
        x2 = torch.tensor(x2, dtype=x1.dtype, device=x1.device)
    if x1.is_cpu and is_known_true(torch.isnan(rest).any()):
        rest = _far_fmod(x1, x2, rest)
        rest = torch.where((rest != 0) & ((rest < 0) != (x2 < 0)), rest + x2, rest)
    sign = torch.where(torch.signbit(x2), -1.0, 1.0).to(x1.dtype)
    return sign * (sign * rest + 0.0)  # a zero too has the sign of x2


def _remainder_into(x1: torch.Tensor, x2: Any) -> None:
    rest = x1.remainder(x2)
    if rest.shape != x1.shape or not are_without_nan(rest):
        raise RuntimeError("the general way computes it")
    torch.copysign(rest, x2, out=x1)


def _far_fmod(x1: torch.Tensor, x2: torch.Tensor, rest: torch.Tensor) -> torch.Tensor:
    """`rest`, with x1 fmod x2 where the quotient overflows, for which torch's vectorised code on the CPU gives nan.

    A multiple of the divisor first brings the number nearer; if the multiple overflows, it does nothing.
    """
    far = torch.isnan(rest) & torch.isfinite(x1) & (x2 != 0) & ~torch.isnan(x2)
    step = 2.0 ** (540 if x1.dtype is torch.float64 else 80)
    nearer = torch.fmod(torch.fmod(x1, x2 * step * step), x2 * step)
    return torch.where(far, torch.fmod(nearer, x2), rest)


@ufunc(
    float_remainder,
    loops="real_arithmetic",
    operator="mod",
    aliases=("mod",),
    flags=_flags.REMAINDER,
    in_place=_remainder_into,
    integers=of_integers(torch.remainder, 1),
    by_numpy=_SIGNED,
)
def remainder(x1: Stepwise, x2: Stepwise):
    """x1 - floor(x1 / x2) · x2, which has the sign of x2; an integer by zero gives 0. TypeError for complex.

    >>> np.remainder(np.array([7, -7]), 3), np.remainder(-0.5, 2.0)
    (array([1, 2]), np.float64(1.5))
    """
    if x1.is_floating_point():
        return float_remainder(x1, x2)
    if _are_few_by_positive(x1, x2):
        return torch.remainder(x1, x2)
    rest = by_numpy_elementwise("remainder", x1, x2)
    if rest is not None:
        return rest
    if x1.dtype is torch.uint64:
        return from_int64(unsigned_divmod(to_int64(x1), to_int64(x2))[1], torch.uint64)
    if x1.dtype in WIDE_UNSIGNED:
        return remainder(to_int64(x1), to_int64(x2)).to(x1.dtype)
    return torch.remainder(x1, _divisor(x2)[0])


@ufunc(loops="divmod", operator="divmod", flags=_flags.FLOOR)
def divmod(x1: Stepwise, x2: Stepwise):
    """The pair (floor_divide(x1, x2), remainder(x1, x2)).

    >>> np.divmod(np.array([7, -7]), 3)
    (array([ 2, -3]), array([1, 2]))
    """
    if x1.dtype in RANGES:
        if _are_few_by_positive(x1, x2):
            return torch.floor_divide(x1, x2), torch.remainder(x1, x2)
        both = by_numpy_elementwise("divmod", x1, x2)
        if both is not None:
            return both
        if x1.dtype not in WIDE_UNSIGNED and are_positive(x2):
            return torch.floor_divide(x1, x2), torch.remainder(x1, x2)
    both = divmod_of_numbers(x1, x2)
    return (floor_divide(x1, x2), remainder(x1, x2)) if both is None else both


@ufunc(float_fmod, loops="real_arithmetic", flags=_flags.REMAINDER)
def fmod(x1: Stepwise, x2: Stepwise):
    """x1 - trunc(x1 / x2) · x2, which has the sign of x1; an integer by zero gives 0. TypeError for complex.

    >>> np.fmod(np.array([7, -7]), 3), np.remainder(-7, 3)
    (array([ 1, -1]), np.int64(2))
    """
    if x1.is_floating_point():
        return float_fmod(x1, x2)
    if _are_few_by_positive(x1, x2):
        return torch.fmod(x1, x2)
    rest = by_numpy_elementwise("fmod", x1, x2)
    if rest is not None:
        return rest
    if x1.dtype in WIDE_UNSIGNED:
        return remainder(x1, x2)
    return torch.fmod(x1, _divisor(x2)[0])
