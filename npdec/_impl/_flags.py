"""What operands and results say of floating-point errors, for the ufuncs that declare it: `ufunc(flags=PRODUCT)`.

An infinite result of finite operands is an overflow, and nan of operands without nan is invalid; that needs no word
here. A ufunc declares where an infinity is a division by zero, where a result below the normal numbers was rounded
(underflow), and what integers do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

import torch

__all__ = [
    "ABSOLUTE", "ACCUMULATE", "ARCTAN", "ARCTANH", "CROSS", "DIFFERENCE", "EXP", "EXP2", "FLOOR", "LDEXP",
    "LINSPACE", "LOG", "LOG1P", "NAN_MEAN", "NAN_QUANTILE", "NAN_VARIANCE", "NEGATIVE", "NEIGHBOUR", "POWER",
    "PRODUCT", "QUOTIENT", "RECIPROCAL", "REDUCE", "REMAINDER", "SCALED", "SPACING", "SQUARE", "SUM", "VARIANCE",
    "Flags",
]  # fmt: skip

Test = Callable[..., torch.Tensor]


class Flags(NamedTuple):
    """`pole`, of the operands: where an infinite result is a division by zero; of integers, where one divides by zero.
    `tiny`, of the operands and a result below the normal numbers: where it was rounded; `complex_tiny`, of complex
    operands: where a step of the computation was. `extra`, of the operands: where there is an error that the results
    do not show, or that NumPy's own steps make. `whole`: the operation on Python ints, by which the overflow of
    integer scalars is seen. `silent`: nothing else is an error.
    """

    pole: Test | None = None
    tiny: Test | None = None
    complex_tiny: Test | None = None
    extra: Callable[..., dict[str, torch.Tensor]] | None = None
    whole: Callable[..., int] | None = None
    silent: bool = False


# --- rounded results --------------------------------------------------------------------------------------------------


def _split(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two halves of a mantissa, whose products are exact (Veltkamp)."""
    factor = x * (2.0**27 + 1)
    high = factor - (factor - x)
    return high, x - high


def _differs(product: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Whether `product` is not exactly a · b, for real numbers of one dtype whose product is small."""
    if product.dtype is not torch.float64:
        return a.double() * b.double() != product.double()
    (ma, ea), (mb, eb) = torch.frexp(a), torch.frexp(b)
    rounded = ma * mb
    (ah, al), (bh, bl) = _split(ma), _split(mb)
    error = ((ah * bh - rounded) + ah * bl + al * bh) + al * bl
    up = -(ea + eb)  # may be more than one factor can hold
    back = torch.ldexp(torch.ldexp(product, up // 2), up - up // 2)
    return (error != 0) | (back != rounded)


def _product(x1: torch.Tensor, x2: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    return _differs(r, x1, x2)


def _quotient(x1: torch.Tensor, x2: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    return torch.isfinite(x2) & torch.where(r == 0, x1 != 0, _differs(x1, r, x2))


def _power(x1: torch.Tensor, x2: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    whole = (torch.frexp(x1)[0].abs() == 0.5) & (x2 == torch.round(x2))  # a power of two
    exact = (r != 0) & (whole | (x2 == 1))
    return torch.isfinite(x1) & torch.isfinite(x2) & (x1 != 0) & ~exact


def _ldexp(x1: torch.Tensor, x2: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    up = torch.clamp(-x2, -4000, 4000).to(torch.int32)
    return torch.ldexp(torch.ldexp(r, up // 2), up - up // 2) != x1


# --- complex numbers: any of the real steps may be rounded ------------------------------------------------------------


def _rounds_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Where the product of two real numbers falls below the normal numbers and is rounded."""
    product = a * b
    return (product.abs() < torch.finfo(product.dtype).tiny) & _differs(product, a, b)


def _rounds_quotient(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    quotient = a / b
    return (quotient.abs() < torch.finfo(quotient.dtype).tiny) & _quotient(a, b, quotient)


def _complex_product(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    a, b, c, d = torch.real(x1), torch.imag(x1), torch.real(x2), torch.imag(x2)
    return _rounds_product(a, c) | _rounds_product(b, d) | _rounds_product(a, d) | _rounds_product(b, c)


def _complex_quotient(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """Of Smith's division (doi:10.1145/368637.368661), by which NumPy divides."""
    a, b = torch.real(x1), torch.imag(x1)
    steps, swap, ratio, divisor = _smith(x2)
    scale = 1 / divisor
    steps = steps | _rounds_quotient(torch.ones_like(divisor), divisor)
    steps = steps | _rounds_product(a, ratio) | _rounds_product(b, ratio)
    first, second = torch.where(swap, a * ratio + b, a + b * ratio), torch.where(swap, b * ratio - a, b - a * ratio)
    return (x2 != 0) & (steps | _rounds_product(first, scale) | _rounds_product(second, scale))


def _complex_reciprocal(x: torch.Tensor) -> torch.Tensor:
    steps, _, ratio, divisor = _smith(x)
    return (x != 0) & (steps | _rounds_quotient(torch.ones_like(divisor), divisor) | _rounds_quotient(ratio, divisor))


def _smith(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of a complex divisor: which of its steps round, whether its imaginary part is the larger, the ratio of the
    smaller part to the larger, and what is then divided by."""
    real, imag = torch.real(x), torch.imag(x)
    swap = real.abs() < imag.abs()
    high, low = torch.where(swap, imag, real), torch.where(swap, real, imag)
    ratio = low / high
    return _rounds_quotient(low, high) | _rounds_product(low, ratio), swap, ratio, high + low * ratio


# --- what ufuncs declare ----------------------------------------------------------------------------------------------


def _by_zero(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    return (x2 == 0) & (torch.isfinite(x1) | x1.is_complex())


def _floor(x1: torch.Tensor, x2: torch.Tensor) -> dict[str, torch.Tensor]:
    """The lowest integer by -1. Floats whose quotient overflows: NumPy subtracts it from itself, but in float16."""
    if x1.is_floating_point():
        if x1.dtype is torch.float16:
            return {}
        return {"invalid": torch.isinf(x1 / x2) & torch.isfinite(x1) & (x2 != 0)}
    return {"over": (x1 == torch.iinfo(x1.dtype).min) & (x2 == -1)} if x1.dtype.is_signed else {}


def _beyond(x1: torch.Tensor, x2: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"over": torch.isfinite(x1) & torch.isinf(torch.nextafter(x1, x2))}


def _spacing(x: torch.Tensor) -> dict[str, torch.Tensor]:
    highest = torch.finfo(x.dtype).max
    if x.dtype is torch.float16:
        return {"over": x == highest, "invalid": ~torch.isfinite(x)}
    return {"over": x.abs() == highest}


def _whole_reciprocal(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """1 / 0 as a float, which is no integer."""
    return {} if x.is_floating_point() or x.is_complex() else {"invalid": x == 0}


def _on_imaginary_one(x: torch.Tensor) -> torch.Tensor:
    return (torch.real(x) == 0) & (torch.imag(x).abs() == 1) if x.is_complex() else torch.isnan(x)


SUM = Flags(whole=operator.add)
DIFFERENCE = Flags(whole=operator.sub)
NEGATIVE = Flags(whole=operator.neg)
ABSOLUTE = Flags(whole=abs)
PRODUCT = Flags(tiny=_product, complex_tiny=_complex_product, whole=operator.mul)
SQUARE = Flags(tiny=lambda x, r: _differs(r, x, x), complex_tiny=lambda x: _complex_product(x, x))
QUOTIENT = Flags(pole=_by_zero, tiny=_quotient, complex_tiny=_complex_quotient)
FLOOR = Flags(pole=_by_zero, extra=_floor)
REMAINDER = Flags(pole=_by_zero)
RECIPROCAL = Flags(
    pole=lambda x: x == 0,
    tiny=lambda x, r: _quotient(torch.ones_like(x), x, r),
    complex_tiny=_complex_reciprocal,
    extra=_whole_reciprocal,
)
POWER = Flags(pole=lambda x1, x2: (x1 == 0) & (torch.real(x2) < 0), tiny=_power)
EXP = Flags(tiny=lambda x, r: torch.isfinite(x))
EXP2 = Flags(tiny=lambda x, r: torch.isfinite(x) & ((r == 0) | (x != torch.round(x))))
LOG = Flags(pole=lambda x: x == 0)
LOG1P = Flags(pole=lambda x: x == -1)
ARCTAN = Flags(pole=_on_imaginary_one)
ARCTANH = Flags(pole=lambda x: x.abs() == 1)
LDEXP = Flags(tiny=_ldexp)
SCALED = Flags(tiny=lambda x, r: x != 0)  # by an irrational factor
NEIGHBOUR = Flags(tiny=lambda x1, x2, r: x1 != x2, extra=_beyond)
SPACING = Flags(silent=True, extra=_spacing)

# --- what other functions declare: the step of theirs that NumPy's warning names --------------------------------------

REDUCE = dict.fromkeys(("over", "under", "invalid"), "reduce")
ACCUMULATE = dict.fromkeys(("over", "under", "invalid"), "accumulate")
VARIANCE = {"over": "square", "invalid": "subtract"}
NAN_MEAN = {"over": "reduce", "invalid": "reduce", "silent if empty": "yes"}
NAN_QUANTILE = {"over": "subtract", "invalid": "subtract", "silent if empty": "yes"}
NAN_VARIANCE = {"over": "multiply", "invalid": "subtract", "silent if empty": "yes"}
CROSS = {"over": "multiply", "invalid": "subtract"}
LINSPACE = {"over": "subtract", "invalid": "multiply"}
