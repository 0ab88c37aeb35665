"""Elementwise logic: comparisons, logical operations, tests of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, OutArray, public, ufunc
from npdec._impl._by_numpy import by_numpy_elementwise
from npdec._impl._util import UNSIGNED, are_numbers, to_int64, to_ordered

_HIGHEST = torch.iinfo(torch.int64).max
_WIDE_UNSIGNED = UNSIGNED - {torch.uint8}
# torch compares these one by one.
_COMPARED = frozenset({torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64})

# --- comparisons ------------------------------------------------------------------------------------------------------


def complex_less(x1: torch.Tensor, x2: torch.Tensor, or_equal: bool = False) -> torch.Tensor:
    """x1 < x2 for complex numbers, or x1 <= x2: by real part, where those are equal by imaginary part; never where a
    part is nan."""
    if has_torch_function((x1, x2)):
        return handle_torch_function(complex_less, (x1, x2), x1, x2, or_equal)
    return composed_less(x1, x2, or_equal)


def composed_less(x1: torch.Tensor, x2: torch.Tensor, or_equal: bool) -> torch.Tensor:
    """The same of comparisons of the parts, of which each carries contributions by itself."""
    real1, real2, imag1, imag2 = torch.real(x1), torch.real(x2), torch.imag(x1), torch.imag(x2)
    ordered = ~(torch.isnan(imag1) | torch.isnan(imag2))
    below = imag1 <= imag2 if or_equal else imag1 < imag2
    return ((real1 < real2) & ordered) | ((real1 == real2) & below)


def _halves(x: Any, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """(h, l) with x = h · 2**63 + l and 0 <= l < 2**63, for an integer tensor or a Python int of any size.

    Beyond 65 bits h is cut off to ±2, which no tensor reaches.
    """
    if isinstance(x, int):
        return torch.tensor(min(max(x >> 63, -2), 2), device=device), torch.tensor(x & _HIGHEST, device=device)
    bits = to_int64(x)
    high = bits >> 63
    return -high if x.dtype is torch.uint64 else high, bits & _HIGHEST


def _compare(
    x1: Any,
    x2: Any,
    name: str,
    function: Callable[..., torch.Tensor],
    on_complex: Callable[..., torch.Tensor],
    on_halves: Callable[..., torch.Tensor],
) -> torch.Tensor:
    """A comparison of tensors of one dtype, or of integers that have no common one (see `dtypes_impl`)."""
    if isinstance(x1, int) and isinstance(x2, int):
        return torch.tensor(function(x1, x2))
    if isinstance(x1, int) or isinstance(x2, int) or x1.dtype is not x2.dtype:
        device = x2.device if isinstance(x1, int) else x1.device
        return on_halves(*_halves(x1, device), *_halves(x2, device))
    dtype = x1.dtype
    if dtype.is_complex:
        return on_complex(x1, x2)
    if dtype in _WIDE_UNSIGNED:
        found = by_numpy_elementwise(name, x1, x2)
        if found is not None:
            return found
        if dtype is not torch.uint64:
            return function(x1.to(torch.int64), x2.to(torch.int64))
        return function(to_ordered(x1), to_ordered(x2))
    return function(x1, x2)


@ufunc(torch.lt, loops="compare", operator="lt", by_numpy=_COMPARED)
def less(x1: ArrayLike, x2: ArrayLike):
    """Whether x1 < x2, with broadcasting. Integers of any dtypes compare by their exact values; complex by real part.

    >>> np.less(np.array([1, 2, 3]), 2)
    array([ True, False, False])
    """
    return _compare(
        x1, x2, "less", lambda a, b: a < b, complex_less, lambda h1, l1, h2, l2: (h1 < h2) | ((h1 == h2) & (l1 < l2))
    )


@ufunc(torch.le, loops="compare", operator="le", by_numpy=_COMPARED)
def less_equal(x1: ArrayLike, x2: ArrayLike):
    """Whether x1 <= x2, with broadcasting. Integers of any dtypes compare by their exact values; complex by real part.

    >>> np.less_equal(np.array([1, 2, 3]), 2)
    array([ True,  True, False])
    """
    return _compare(
        x1,
        x2,
        "less_equal",
        lambda a, b: a <= b,
        lambda a, b: complex_less(a, b, or_equal=True),
        lambda h1, l1, h2, l2: (h1 < h2) | ((h1 == h2) & (l1 <= l2)),
    )


@ufunc(torch.gt, loops="compare", operator="gt", by_numpy=_COMPARED)
def greater(x1: ArrayLike, x2: ArrayLike):
    """Whether x1 > x2, with broadcasting. Integers of any dtypes compare by their exact values; complex by real part.

    >>> np.greater(np.array([1, 2, 3]), 2)
    array([False, False,  True])
    """
    return less(x2, x1)


@ufunc(torch.ge, loops="compare", operator="ge", by_numpy=_COMPARED)
def greater_equal(x1: ArrayLike, x2: ArrayLike):
    """Whether x1 >= x2, with broadcasting. Integers of any dtypes compare by their exact values; complex by real part.

    >>> np.greater_equal(np.array([1, 2, 3]), 2)
    array([False,  True,  True])
    """
    return less_equal(x2, x1)


@ufunc(torch.eq, loops="compare", operator="eq", by_numpy=_COMPARED | _WIDE_UNSIGNED)
def equal(x1: ArrayLike, x2: ArrayLike):
    """Whether x1 == x2, with broadcasting; nan equals nothing. Integers of any dtypes compare by their exact values.

    >>> np.equal(np.array([1, 2, 3]), np.array([1.0, 2.5, 3.0]))
    array([ True, False,  True])
    """
    return _compare(x1, x2, "equal", lambda a, b: a == b, torch.eq, lambda h1, l1, h2, l2: (h1 == h2) & (l1 == l2))


@ufunc(torch.ne, loops="compare", operator="ne", by_numpy=_COMPARED | _WIDE_UNSIGNED)
def not_equal(x1: ArrayLike, x2: ArrayLike):
    """Whether x1 != x2, with broadcasting; nan differs from everything. Integers compare by their exact values.

    >>> np.not_equal(np.array([1, 2, 3]), np.array([1.0, 2.5, 3.0]))
    array([False,  True, False])
    """
    return _compare(x1, x2, "not_equal", lambda a, b: a != b, torch.ne, lambda h1, l1, h2, l2: (h1 != h2) | (l1 != l2))


# --- logic ------------------------------------------------------------------------------------------------------------


def _truth(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype is torch.bool else x != 0


@ufunc(torch.logical_and, loops="logical", identity=True)
def logical_and(x1: ArrayLike, x2: ArrayLike):
    """Whether both are true, with broadcasting: every number but zero is.

    >>> np.logical_and(np.array([0, 1, 2.5]), np.array([True, True, False]))
    array([False,  True, False])
    """
    return _truth(x1) & _truth(x2)


@ufunc(torch.logical_or, loops="logical", identity=False)
def logical_or(x1: ArrayLike, x2: ArrayLike):
    """Whether one of them is true, with broadcasting: every number but zero is.

    >>> np.logical_or(np.array([0, 1, 2.5]), False)
    array([False,  True,  True])
    """
    return _truth(x1) | _truth(x2)


@ufunc(torch.logical_xor, loops="logical", identity=False)
def logical_xor(x1: ArrayLike, x2: ArrayLike):
    """Whether exactly one of them is true, with broadcasting: every number but zero is.

    >>> np.logical_xor(np.array([0, 1, 2.5]), True)
    array([ True, False, False])
    """
    return _truth(x1) ^ _truth(x2)


@ufunc(torch.logical_not, loops="test")
def logical_not(x: ArrayLike):
    """Whether x is false, that is zero.

    >>> np.logical_not(np.array([0.0, 1.5]))
    array([ True, False])
    """
    return x == 0


# --- tests of values --------------------------------------------------------------------------------------------------


_FLOATS = frozenset({torch.float32, torch.float64})


@ufunc(torch.isnan, loops="test", by_numpy=_FLOATS)
def isnan(x: ArrayLike):
    """Whether x is nan; of a complex number, whether one of its parts is.

    >>> np.isnan(np.array([1.0, np.nan]))
    array([False,  True])
    """
    return torch.isnan(x)


@ufunc(torch.isinf, loops="test", by_numpy=_FLOATS)
def isinf(x: ArrayLike):
    """Whether x is infinite; of a complex number, whether one of its parts is.

    >>> np.isinf(np.array([1.0, -np.inf]))
    array([False,  True])
    """
    return torch.isinf(x)


_ZEROS = {dtype: torch.zeros((), dtype=dtype, device="cpu") for dtype in (torch.float32, torch.float64)}


def _finite(x: torch.Tensor) -> torch.Tensor:
    """torch.isfinite; of floats that are nothing but numbers by what is left of an infinity or nan less itself, which
    goes through them fewer times."""
    zero = _ZEROS.get(x.dtype)
    if zero is None or not are_numbers(x):
        return torch.isfinite(x)
    return torch.eq(torch.sub(x, x), zero)


@ufunc(_finite, loops="test", by_numpy=_FLOATS)
def isfinite(x: ArrayLike):
    """Whether x is neither infinite nor nan; of a complex number, whether both parts are so.

    >>> np.isfinite(np.array([1.0, np.inf, np.nan]))
    array([ True, False, False])
    """
    return _finite(x)


@ufunc(loops="datetime")
def isnat(x: ArrayLike):
    """Raises TypeError: it asks for a missing date, and there are no dates here.

    >>> np.isnat(np.array([1.0]))
    Traceback (most recent call last):
    TypeError: ufunc 'isnat' is only defined for np.datetime64 and np.timedelta64.
    """
    del x
    raise TypeError("ufunc 'isnat' is only defined for np.datetime64 and np.timedelta64.")


@ufunc(torch.signbit, loops="signbit", by_numpy=_FLOATS)
def signbit(x: ArrayLike):
    """Whether the sign bit is set: of negative numbers, and of -0.0. TypeError for complex numbers.

    >>> np.signbit(np.array([-1.5, -0.0, 0.0]))
    array([ True,  True, False])
    """
    return torch.signbit(x)


def _refuse_complex(x: torch.Tensor) -> None:
    if x.is_complex():
        name = str(x.dtype).removeprefix("torch.")
        raise TypeError(f"This operation is not supported for {name} values because it would be ambiguous.")


@public(direct=Direct(torch.isposinf, _FLOATS))
def isposinf(x: ArrayLike, out: OutArray | None = None):
    """Whether x is positive infinity. TypeError for complex numbers.

    >>> np.isposinf(np.array([np.inf, -np.inf, 1.0]))
    array([ True, False, False])
    """
    del out
    _refuse_complex(x)
    return x == torch.inf if x.is_floating_point() else torch.zeros_like(x, dtype=torch.bool)


@public(direct=Direct(torch.isneginf, _FLOATS))
def isneginf(x: ArrayLike, out: OutArray | None = None):
    """Whether x is negative infinity. TypeError for complex numbers.

    >>> np.isneginf(np.array([np.inf, -np.inf, 1.0]))
    array([False,  True, False])
    """
    del out
    _refuse_complex(x)
    return x == -torch.inf if x.is_floating_point() else torch.zeros_like(x, dtype=torch.bool)


@public
def isreal(x: ArrayLike):
    """Whether the imaginary part is zero, element by element.

    >>> np.isreal(np.array([1 + 1j, 1 + 0j]))
    array([False,  True])
    """
    return torch.imag(x) == 0 if x.is_complex() else torch.ones_like(x, dtype=torch.bool)


@public
def iscomplex(x: ArrayLike):
    """Whether the imaginary part is not zero, element by element.

    >>> np.iscomplex(np.array([1 + 1j, 1 + 0j]))
    array([ True, False])
    """
    return torch.imag(x) != 0 if x.is_complex() else torch.zeros_like(x, dtype=torch.bool)
