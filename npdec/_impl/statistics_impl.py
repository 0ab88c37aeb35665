"""Weighted means and covariances (NumPy's reference: averages and variances, correlating)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLike, AxisLike, DTypeLike, KeepDims, NoValue, Opaque, public
from npdec._impl import _reduce, _util, reduction_impl
from npdec._impl.dtypes_impl import kind, result_type


@public(errors="reduce")
def average(
    a: ArrayLike,
    axis: AxisLike | None = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: KeepDims = NoValue,
):
    """The weighted mean over an axis, several axes, or all: sum(a * weights) / sum(weights).

    `weights` have the shape of `a` or of the axes (TypeError, ValueError). With `returned` the sum of the weights comes
    too, in the shape of the mean. Raises ZeroDivisionError if the weights of a slice sum to zero.

    >>> np.average(np.array([1.0, 2.0, 4.0]), weights=np.array([1, 1, 2]))
    np.float64(2.75)
    """
    axes = _util.normalize_axes(axis, a.ndim, "axis")
    if weights is None:
        mean = reduction_impl.mean(a, axes, keepdims=keepdims)
        if not mean.numel():
            raise ZeroDivisionError("average: there is no slice to take the mean of")
        scale = torch.full((), a.numel() / mean.numel() if mean.numel() else 0, dtype=mean.dtype, device=mean.device)
    else:
        weights = _reduce.weights_for(weights, a, axis)
        extra = () if a.dtype in _reduce.INEXACT else (torch.float64,)
        computed = result_type(a, weights, *extra)
        a, weights = a.to(computed), weights.to(computed)
        scale = _reduce.sum_over(weights, axes, None, keepdims)
        if _util.is_known_true(torch.any(_util.numbers(scale) == 0)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        mean = _reduce.sum_over(a * weights, axes, None, keepdims) / scale
    return (mean, scale.expand(mean.shape).clone()) if returned else mean


def _matrix(x: torch.Tensor, rowvar: Any, dtype: torch.dtype, is_first: bool) -> torch.Tensor:
    """Observations as a matrix with one row for each variable."""
    ndim = x.ndim
    x = _util.cast(x, dtype).reshape((1,) * (2 - ndim) + tuple(x.shape))
    if rowvar or (ndim == 1 if is_first else x.shape[0] == 1):
        return x
    return x.mT


def _check_weights(name: str, weights: torch.Tensor, n: int) -> torch.Tensor:
    weights = weights.to(torch.float64)
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != n:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if _util.is_known_true(torch.any(_util.numbers(weights) < 0)):
        raise ValueError(f"{name} cannot be negative")
    return weights


def _covariance(m: torch.Tensor) -> torch.Tensor | None:
    if not 0 < m.dim() < 3 or m.shape[-1] < 2 or not m.numel():
        return None
    count = m.shape[-1]
    m = m if m.numel() > count else m.reshape(1, count)  # strides of one row decide on bits
    centred = m - torch.sum(m, 1, True) / count
    return (torch.matmul(centred, centred.mT) * (1 / (count - 1))).squeeze()


@public(errors="divide", direct=Direct(_covariance, frozenset({torch.float64})))
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Opaque | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """The covariance matrix of the variables in the rows of `m` (columns, if not `rowvar`), and in `y` besides.

    The divisor is the number of observations less `ddof`, which is 1, or 0 with `bias`. `fweights` say how often each
    observation counts (whole numbers, TypeError), `aweights` how much. Computed at least in float64 unless `dtype` says
    otherwise. No degree of freedom left gives inf or nan, with a RuntimeWarning.

    >>> np.cov(np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    x = _together(variables(m, y, rowvar, dtype))
    if not x.shape[0]:
        return torch.zeros(0, 0, dtype=torch.float64, device=x.device)
    if ddof is None:
        ddof = 0 if bias else 1
    w = None
    if fweights is not None:
        counts = _util.cast(fweights, torch.float64)
        if _util.is_known_true(torch.any(counts != torch.round(counts))):
            raise TypeError("fweights must be integer")
        w = _check_weights("fweights", fweights, x.shape[1])
    if aweights is not None:
        aweights = _check_weights("aweights", aweights, x.shape[1])
        w = aweights if w is None else w * aweights
    if x.dtype not in _reduce.INEXACT:
        raise TypeError(f"cov: deviations from a mean are no numbers of {str(x.dtype)[6:]}; give an inexact dtype")
    (mean, w_sum), count = average(x, 1, w, True), x.shape[1]
    centred = x - mean.unsqueeze(1)
    del x, mean  # of variables of many components all that is kept is large
    c = gram(centred) if w is None else torch.matmul(centred, (centred * w).mT.conj())
    del centred
    return (c * _inverse(_freedom(count, ddof, w, w_sum[0], aweights), c)).squeeze()


def variables(
    m: torch.Tensor, y: torch.Tensor | None, rowvar: Any, dtype: torch.dtype | None
) -> tuple[torch.Tensor, ...]:
    """Matrices with one row for each variable in m, and in y, one column for each observation."""
    for name, array in (("m", m), ("y", y)):
        if array is not None and array.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is None:
        dtype = result_type(m, torch.float64) if y is None else result_type(m, y, torch.float64)
    x = _matrix(m, rowvar, dtype, is_first=True)
    if y is None or not x.shape[0]:
        return (x,)
    y = _matrix(y, rowvar, dtype, is_first=False)
    if y.shape[1] != x.shape[1]:
        raise ValueError(f"cov: m has {x.shape[1]} observations of each variable, y has {y.shape[1]}")
    return x, y


def _together(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def gram(x: torch.Tensor) -> torch.Tensor:
    """The inner products of the rows of a matrix. What is decomposed has a rule of its own, to which both factors are
    one."""
    if has_torch_function((x,)):
        return handle_torch_function(gram, (x,), x)
    return torch.matmul(x, x.mT.conj())


def _freedom(n: int, ddof: int, w: Any, w_sum: torch.Tensor, aweights: Any) -> Any:
    """The divisor of a covariance; with weights of importance, ddof counts for the effective number of observations."""
    if w is None:
        return n - ddof
    if not ddof:
        return w_sum
    if aweights is None:
        return w_sum - ddof
    return w_sum - ddof * torch.sum(w * aweights) / w_sum


def _inverse(freedom: Any, like: torch.Tensor) -> Any:
    if isinstance(freedom, torch.Tensor):
        if freedom.is_complex():
            freedom = torch.real(freedom)
        none = freedom <= 0
        if _util.is_known_true(none):
            _util.warn("Degrees of freedom <= 0 for slice")
        return (1 / torch.where(none, 0, freedom)).to(like.dtype)
    if freedom <= 0:
        _util.warn("Degrees of freedom <= 0 for slice")
        return math.inf
    return 1 / freedom


@public(errors="divide")
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None):
    """The matrix of Pearson's correlation coefficients of the variables in the rows of `x` (columns, if not `rowvar`),
    and in `y` besides: `cov` divided by the standard deviations, within [-1, 1]. A constant variable gives nan.

    >>> np.corrcoef(np.array([0.0, 1.0, 2.0]), np.array([2.0, 1.0, 0.0]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return correlations(x, y, rowvar, dtype)


def correlations(m: torch.Tensor, y: torch.Tensor | None, rowvar: Any, dtype: torch.dtype | None) -> torch.Tensor:
    """The correlation coefficients of variables, by their covariances. What is decomposed has a rule of its own:
    contributions to a covariance are rounded to the digits of the larger one of the value and the residual, and a
    quotient by a small deviation would leave none of them."""
    if has_torch_function((m, y)):
        return handle_torch_function(correlations, (m, y), m, y, rowvar, dtype)
    x = _together(variables(m, y, rowvar, dtype))
    c = cov(x, dtype=x.dtype)
    if not c.ndim:
        return c / c
    variance = torch.diagonal(c)
    deviation = torch.sqrt(torch.real(variance) if kind(c.dtype) == "c" else variance)
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if not c.is_complex():
        return torch.clamp(c, -1, 1)
    return torch.complex(torch.clamp(torch.real(c), -1, 1), torch.clamp(torch.imag(c), -1, 1))
