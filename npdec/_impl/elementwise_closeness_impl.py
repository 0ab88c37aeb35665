"""Comparison within a tolerance, element by element and of whole arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, ArrayLikeOrScalar, public
from npdec._impl import dtypes_impl
from npdec._impl._promotion import kept_beside
from npdec._impl._util import are_numbers, broadcast_shapes, is_known_true, is_unwatched, warn
from npdec._impl.elementwise_logic_impl import equal

_DOUBLE = frozenset({torch.float64})


def _close(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    return torch.isclose(a, b, 1e-05, 1e-08) if a.shape == b.shape and are_numbers(a, b) else None


@public(direct=Direct(_close, _DOUBLE))
def isclose(
    a: ArrayLikeOrScalar,
    b: ArrayLikeOrScalar,
    rtol: ArrayLikeOrScalar = 1.0e-5,
    atol: ArrayLikeOrScalar = 1.0e-8,
    equal_nan: bool = False,
):
    """Whether |a - b| <= atol + rtol · |b|, with broadcasting; equal infinities are close, nan to nan if `equal_nan`.

    It is not symmetric: b is the reference. The tolerances may be arrays.

    >>> np.isclose(np.array([1.0, 1.1]), np.array([1.0 + 1e-9, 1.0]))
    array([ True, False])
    """
    if _are_doubles(a, b) and type(rtol) is float is type(atol) and 0 <= rtol < math.inf and 0 <= atol < math.inf:
        near = torch.abs(a - b) <= torch.abs(b) * rtol + atol
        close = (near & torch.isfinite(b)) | (a == b)
        return close | (torch.isnan(a) & torch.isnan(b)) if equal_nan else close
    numbers = _carried(a, b) if not equal_nan and type(rtol) is float is type(atol) else None
    if numbers is not None and 0 <= rtol < math.inf and 0 <= atol < math.inf:
        return torch.isclose(numbers[0], numbers[1], rtol, atol)
    reference = b.to(dtypes_impl.result_type(b, 1.0)) if isinstance(b, torch.Tensor) else b * 1.0
    a, b = _together(a, reference)
    broadcast_shapes(a.shape, b.shape)
    if not all(map(_is_tolerance, (rtol, atol))):
        warn(f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}", RuntimeWarning)
    # Python numbers stay weak to the end, and scalars with a dtype are not, which torch takes for weak.
    scaled = _joined(operator.mul, rtol, abs(reference))
    distance, bound = _together(torch.abs(torch.sub(a, b)), _joined(operator.add, atol, scaled))
    near = distance <= bound
    # A finite number may be infinite in the dtype of the others, where the distance and the bound are too.
    if isinstance(reference, torch.Tensor) or not abs(reference) < math.inf:
        near = near & torch.isfinite(b)
    close = near | (a == b)
    return close | (torch.isnan(a) & torch.isnan(b)) if equal_nan else close


def _are_doubles(a: Any, b: Any) -> bool:
    """Whether two arrays of float64 are of one shape, and nothing but numbers."""
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
        return False
    return a.dtype is b.dtype is torch.float64 and a.shape == b.shape and are_numbers(a, b)


def _carried(a: Any, b: Any) -> list[torch.Tensor] | None:
    """Two numbers of float64, or of float32, of which one is more than that, as tensors; None of others."""
    like = a if isinstance(a, torch.Tensor) else b
    dtype = like.dtype if isinstance(like, torch.Tensor) else None
    if dtype is not torch.float64 and dtype is not torch.float32:
        return None
    found, are_plain = [], True
    for x in (a, b):
        number = x if isinstance(x, torch.Tensor) else kept_beside(x, dtype)
        if number is None or number.dtype is not dtype or number.dim() or not number.is_cpu:
            return None
        are_plain = are_plain and type(number) is torch.Tensor
        found.append(number)
    return None if are_plain else found


def _is_tolerance(x: Any) -> bool:
    """Whether the tolerance is finite and not negative; of one that torch.func traces, nothing is known."""
    if not isinstance(x, torch.Tensor):
        return 0 <= x < math.inf
    return not is_known_true(~((x >= 0) & torch.isfinite(x)).all())


def _together(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Two operands as tensors of the dtype that they have in common."""
    dtype = dtypes_impl.result_type(x, y)
    device = next((item.device for item in (x, y) if isinstance(item, torch.Tensor)), None)
    made = [
        item.to(dtype) if isinstance(item, torch.Tensor) else dtypes_impl.scalar_tensor(item, dtype, device)
        for item in (x, y)
    ]
    return made[0], made[1]


def _joined(operation: Any, x: Any, y: Any) -> Any:
    """The sum or product: of Python numbers a Python number."""
    return (
        operation(*_together(x, y)) if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor) else operation(x, y)
    )


def _all_close(a: torch.Tensor, b: torch.Tensor) -> bool | None:
    return torch.allclose(a, b, 1e-05, 1e-08) if a.shape == b.shape and are_numbers(a, b) else None


@public(direct=Direct(_all_close, _DOUBLE))
def allclose(
    a: ArrayLikeOrScalar,
    b: ArrayLikeOrScalar,
    rtol: ArrayLikeOrScalar = 1.0e-5,
    atol: ArrayLikeOrScalar = 1.0e-8,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are close in the sense of `isclose`: a Python bool.

    >>> np.allclose(np.array([1e10, 1e-7]), np.array([1.00001e10, 1e-8]))
    False
    """
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


_COMPARED = frozenset({torch.bool, torch.uint8, torch.int32, torch.int64, torch.float32, torch.float64})


def _equal(a1: torch.Tensor, a2: torch.Tensor) -> bool | None:
    return torch.equal(a1, a2) if a1.is_cpu and a2.is_cpu and is_unwatched() else None


@public(direct=Direct(_equal, _COMPARED))
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and equal elements: a Python bool. nan equals nan if `equal_nan`.

    >>> np.array_equal([1, 2], [1, 2]), np.array_equal([1, 2], [[1, 2]])
    (True, False)
    """
    if a1.shape != a2.shape:
        return False
    if not equal_nan and a1.dtype is a2.dtype and a1.dtype in _COMPARED and are_numbers(a1, a2):
        return torch.equal(a1, a2)
    same = _equal_values(a1, a2)
    if equal_nan:
        same = same | (torch.isnan(a1) & torch.isnan(a2))
    return bool(same.all())


@public
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Whether two arrays broadcast against each other and then have equal elements: a Python bool.

    >>> np.array_equiv([1, 2], [[1, 2], [1, 2]])
    True
    """
    try:
        broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return bool(_equal_values(a1, a2).all())


def _equal_values(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    dtype = dtypes_impl.resolve_loop("compare", (x1, x2))
    return equal(x1, x2) if dtype is None else equal(x1.to(dtype), x2.to(dtype))
