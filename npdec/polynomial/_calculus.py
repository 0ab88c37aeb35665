"""Derivatives and integrals of series."""

from __future__ import annotations

from typing import Any

import npdec as np
from npdec.exceptions import AxisError
from npdec.polynomial._basis import Basis, series
from npdec.polynomial._series import banded
from npdec.polynomial._values import value
from npdec.polynomial.polyutils import as_inexact, as_int, constants

__all__ = ["derivative", "integral"]


def _axis_first(c: Any, axis: int) -> Any:
    if not -c.ndim <= axis < c.ndim:
        raise AxisError(axis, c.ndim)
    return np.moveaxis(c, axis, 0)


def _scaled(c: Any, scale: Any) -> Any:
    """The product in the dtype of `c`: written in place, as NumPy has it. Raises TypeError for a complex scale."""
    made = c.copy()
    made *= scale
    return made


def _sums_from(c: Any, stride: int) -> Any:
    """s_k = c_k + c_{k + stride} + c_{k + 2 stride} + ... along the first axis."""
    n = len(c)
    missing = np.zeros((-n % stride, *c.shape[1:]), dtype=c.dtype, device=c.device)
    backwards = np.concatenate([np.flip(c, 0), missing])
    sums = np.cumsum(backwards.reshape((-1, stride, *c.shape[1:])), axis=0)
    return np.flip(sums.reshape(backwards.shape)[:n], 0)


def _differentiated(basis: Basis, c: Any) -> Any:
    before, stride, after = basis.slope
    n = len(c)
    c = c[1:] * constants([before(j) for j in range(1, n)], c, c.ndim)
    if stride:
        c = _sums_from(c, stride)
    factors = [after(k) for k in range(n - 1)]
    return c * constants(factors, c, c.ndim) if any(factor != 1 for factor in factors) else c


@series("{p}der")
def derivative(basis: Basis, c: Any, m: Any = 1, scl: Any = 1, axis: Any = 0) -> Any:
    """The m-th derivative of {basis} series, whose coefficients lie along `axis`.

    Each derivative is multiplied by `scl`, which is for a linear change of the variable. Raises ValueError for a
    negative `m`, TypeError for `m` or `axis` that is no integer, AxisError for an axis that is not there.

    >>> C = {module}
    >>> h, c = 1e-3, [1, 2, 3]
    >>> np.allclose(C.{p}val(1, C.{p}der(c)), (C.{p}val(1 + h, c) - C.{p}val(1 - h, c)) / (2 * h))
    True
    """
    c = as_inexact(c)
    count, axis = as_int(m, "the order of derivation"), as_int(axis, "the axis")
    if count < 0:
        raise ValueError("The order of derivation must be non-negative")
    c = _axis_first(c, axis)
    if count >= len(c) and count:
        c = c[:1] * 0
    else:
        for _ in range(count):
            c = _differentiated(basis, _scaled(c, scl))
    return np.moveaxis(c, 0, axis).copy()


@series("{p}int")
def integral(
    basis: Basis, c: Any, m: Any = 1, k: Any = [], lbnd: Any = 0, scl: Any = 1, axis: Any = 0  # noqa: B006  (NumPy's)
) -> Any:  # fmt: skip
    """The m-th integral of {basis} series, whose coefficients lie along `axis`.

    The integrals have the values `k` (one number or a list of at most m, zeros after its end) at `lbnd`. Before each
    integration the series is multiplied by `scl`, which is for a linear change of the variable. Raises ValueError for a
    negative `m`, too many constants, or a bound or scale that is no scalar; TypeError for `m` or `axis` that is no
    integer.

    >>> C = {module}
    >>> np.allclose(C.{p}der(C.{p}int([1, 2, 3], k=5)), [1, 2, 3]), np.allclose(C.{p}val(0, C.{p}int([1], k=5)), 5)
    (True, True)
    """
    c = as_inexact(c)
    values = list(k) if hasattr(k, "__iter__") and np.ndim(k) else [k]
    count, axis = as_int(m, "the order of integration"), as_int(axis, "the axis")
    if count < 0:
        raise ValueError("The order of integration must be non-negative")
    if len(values) > count:
        raise ValueError("Too many integration constants")
    if np.ndim(lbnd) != 0:
        raise ValueError("lbnd must be a scalar.")
    if np.ndim(scl) != 0:
        raise ValueError("scl must be a scalar.")
    c = _axis_first(c, axis)
    values += [0] * (count - len(values))
    for constant in values:
        c = _scaled(c, scl)
        if len(c) == 1 and np.all(c[0] == 0):
            first, others = c[0] + constant, c[1:]
        else:
            c = banded(c, basis.integral)
            first, others = c[0] + (constant - value(basis, lbnd, c)), c[1:]
        # The constant takes the dtype of the coefficients.
        c = np.concatenate([np.asarray(first)[None].astype(c.dtype, copy=False), others])
    return np.moveaxis(c, 0, axis).copy()
