"""The edges of the bins of histograms, and the rules that choose how many there are.

The rules are those of Sturges (1926), Doane (1976), Scott (1979), Freedman and Diaconis (1981), Stone (1984), and the
square root and Rice University rules; "auto" is the narrower bin of Sturges and Freedman–Diaconis, the latter no
narrower than half that of the square root rule.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from npdec._impl import _host, _order, _util
from npdec._impl._by_numpy import compared
from npdec._impl.dtypes_impl import kind, result_type
from npdec._impl.quantile_impl import percentile
from npdec._impl.reduction_impl import std

_float64 = torch.float64
_MANY = 2**12  # elements, from which on edges are asked whether they are evenly spaced


# --- outer edges ------------------------------------------------------------------------------------------------------


def _limit(x: Any) -> Any:
    """A given limit: a Python number (weak in promotion), or a 0-d tensor."""
    if type(x) in (int, float):
        return float(x)
    return _host.as_tensor(x)


def _outer(a: torch.Tensor, given: Any) -> tuple[torch.Tensor, torch.Tensor, torch.dtype]:
    """The first and the last edge as 0-d tensors of a float dtype, and the dtype that the edges get."""
    origin = "autodetected"
    if given is not None:
        low, high = map(_limit, given)
        origin = "supplied"
    elif not a.numel():
        low, high = 0.0, 1.0
    else:
        ordered = _util.to_ordered(a)
        low, high = (_util.from_ordered(x, a.dtype) for x in (torch.amin(ordered), torch.amax(ordered)))
    edge_dtype = result_type(low, high, a)
    computed = result_type(low, high, 1.0)
    low, high = (
        x.to(computed) if isinstance(x, torch.Tensor) else torch.full((), x, dtype=computed, device=a.device)
        for x in (low, high)
    )
    least, most = _util.numbers(low), _util.numbers(high)
    if _util.is_known_true(least > most):
        raise ValueError("max must be larger than min in range parameter.")
    if not _util.is_known_true(torch.isfinite(least) & torch.isfinite(most)):
        raise ValueError(f"{origin} range of [{float(low)}, {float(high)}] is not finite")
    point = low == high
    low, high = torch.where(point, low - 0.5, low), torch.where(point, high + 0.5, high)
    return low, high, edge_dtype if kind(edge_dtype) == "f" else _float64


def _even(low: torch.Tensor, high: torch.Tensor, n: int, dtype: torch.dtype) -> torch.Tensor:
    """n + 1 edges from low to high, evenly spaced."""
    inner = torch.arange(n, dtype=low.dtype, device=low.device) * ((high - low) / n) + low
    return torch.cat([inner, high.reshape(1)]).to(dtype)


def _given_edges(bins: torch.Tensor, message: str) -> torch.Tensor:
    ordered = _util.to_ordered(_util.numbers(bins))
    if _util.is_known_true(torch.any(ordered[:-1] > ordered[1:])):
        raise ValueError(message)
    return bins


def edges(a: torch.Tensor, bins: Any, limits: Any, weighted: bool) -> torch.Tensor:
    """The edges for 1-d data."""
    if isinstance(bins, str):
        return _ruled_edges(a, bins, limits, weighted)
    if not isinstance(bins, int):
        bins = _host.as_tensor(bins, device=a.device)
        if bins.ndim == 1:
            return _given_edges(bins, "`bins` must increase monotonically, when an array")
        if bins.ndim:
            raise ValueError("`bins` must be 1d, when an array")
        if kind(bins.dtype) not in "ui":
            raise TypeError("`bins` must be an integer, a string, or an array")
    n = int(bins)
    if n < 1:
        raise ValueError("`bins` must be positive, when an integer")
    low, high, dtype = _outer(a, limits)
    return _checked(_even(low, high, n, dtype))


def _checked(made: torch.Tensor) -> torch.Tensor:
    numbers = _util.numbers(made)
    if _util.is_known_true(torch.any(numbers[:-1] >= numbers[1:])):
        raise ValueError(f"Too many bins for data range. Cannot create {len(made) - 1} finite-sized bins.")
    return made


def bin_of(x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """The bin of each element, from 0, or the number of bins outside of all. The last bin includes its right edge.

    The outer edges decide nothing but what is outside: the greatest element is often the last edge itself, and a step
    between the two is as steep as steps can be.
    """
    n = max(len(edges) - 1, 0)
    place = _place_among_even(x, edges) if n > 1 else None
    if place is not None:
        return torch.where(compared("ge", x, edges[0]) & compared("le", x, edges[-1]), place, n)
    if not _util.are_numbers(x, edges) and n and not _util.is_known_true(torch.isnan(_util.numbers(edges)).any()):
        inside = (x >= edges[0]) & (x <= edges[-1])  # in two steps, where a search takes many
    else:
        inside = (_order.search(edges[:1], x, right=True) > 0) & (_order.search(edges[-1:], x, right=False) == 0)
    if n < 2:  # no edge lies between the outer ones
        return torch.where(inside, 0, n)
    return torch.where(inside, _order.search(edges[1:-1], x, right=True), n)


def _place_among_even(x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor | None:
    """The same of many elements by one division, which errs by one bin at most, if the edges are evenly spaced; None of
    others."""
    n = len(edges) - 1
    if x.numel() < _MANY or x.dtype is not _float64 or edges.dtype is not _float64 or not _util.are_numbers(x, edges):
        return None
    width = (edges[-1] - edges[0]) / n
    even = torch.arange(n + 1, dtype=_float64) * width + edges[0]
    if not (bool(width > 0) and bool(((edges - even).abs() <= width / 4).all())):
        return None
    place = ((x - edges[0]) / width).to(torch.int64).clamp_(0, n - 1)
    place.sub_(compared("lt", x, torch.index_select(edges, 0, place)).view(torch.uint8))
    return place.add_(compared("ge", x, torch.index_select(edges, 0, place + 1))).clamp_(0, n - 1)


def edges_of_axis(i: int, a: torch.Tensor, bins: Any, limits: Any) -> torch.Tensor:
    """The edges along axis i of a histogram in several dimensions."""
    if not isinstance(bins, int):
        bins = _host.as_tensor(bins, device=a.device)
        if bins.ndim == 1:
            return _given_edges(bins, f"`bins[{i}]` must be monotonically increasing, when an array")
        if bins.ndim:
            raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
        if bins < 1:
            raise ValueError(f"`bins[{i}]` must be positive, when an integer")
        if kind(bins.dtype) not in "ui":
            raise TypeError(f"`bins[{i}]` must be an integer, when a scalar")
    n = operator.index(bins)
    if n < 1:
        raise ValueError(f"`bins[{i}]` must be positive, when an integer")
    low, high, _ = _outer(a, limits)
    return _even(low, high, n, low.dtype)


# --- rules ------------------------------------------------------------------------------------------------------------

# A rule maps the data, their spread, and the limits to the width of a bin, a 0-d tensor. As in NumPy, some compute in
# the dtype of the data and others in float64, which can decide how many bins there are.
Rule = Callable[[torch.Tensor, torch.Tensor, Any], torch.Tensor]


def _square_root(x: torch.Tensor, spread: torch.Tensor, _: Any) -> torch.Tensor:
    return spread.to(_float64) / math.sqrt(len(x))


def _sturges(x: torch.Tensor, spread: torch.Tensor, _: Any) -> torch.Tensor:
    return spread.to(_float64) / (math.log2(len(x)) + 1.0)


def _rice(x: torch.Tensor, spread: torch.Tensor, _: Any) -> torch.Tensor:
    return spread / (2.0 * len(x) ** (1.0 / 3))


def _scott(x: torch.Tensor, spread: torch.Tensor, _: Any) -> torch.Tensor:
    del spread
    return (24.0 * math.pi**0.5 / len(x)) ** (1.0 / 3.0) * std(x)


def _doane(x: torch.Tensor, spread: torch.Tensor, _: Any) -> torch.Tensor:
    n = len(x)
    if n <= 2:
        return torch.zeros((), dtype=_float64, device=x.device)
    sigma_of_skewness = math.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    values = x if x.is_floating_point() else x.to(_float64)
    sigma = std(values)
    skewness = torch.mean(((values - torch.mean(values)) / torch.where(sigma > 0, sigma, 1)) ** 3)
    width = spread.to(_float64) / (
        1.0 + math.log2(n) + torch.log2(1.0 + torch.abs(skewness).to(_float64) / sigma_of_skewness)
    )
    return torch.where(sigma > 0, width, 0)


def _freedman_diaconis(x: torch.Tensor, spread: torch.Tensor, _: Any) -> torch.Tensor:
    del spread
    quartiles = percentile(x, torch.tensor([75.0, 25.0], dtype=_float64, device=x.device))
    return 2.0 * (quartiles[0] - quartiles[1]) * len(x) ** (-1.0 / 3.0)


def _auto(x: torch.Tensor, spread: torch.Tensor, limits: Any) -> torch.Tensor:
    narrow = torch.maximum(_freedman_diaconis(x, spread, limits), _square_root(x, spread, limits) / 2)
    return torch.minimum(narrow, _sturges(x, spread, limits))


def _stone(x: torch.Tensor, spread: torch.Tensor, limits: Any) -> torch.Tensor:
    """The number of bins that minimises an estimate of the squared error of the histogram as a density."""
    n = len(x)
    if n <= 1 or _util.is_known_true(spread == 0):
        return torch.zeros((), dtype=spread.dtype, device=x.device)
    most = max(100, math.isqrt(n))
    best, fewest_errors = 1, math.inf
    for bins in range(1, most + 1):
        edge = edges(x, bins, limits, False)
        share = torch.bincount(bin_of(x, edge), minlength=bins + 1)[:bins].to(_float64) / n
        errors = float((2 - (n + 1) * torch.dot(share, share)) / (spread / bins))
        if errors < fewest_errors:
            best, fewest_errors = bins, errors
    if best == most:
        _util.warn("The number of bins estimated may be suboptimal.")
    return spread / best


_RULES: dict[str, Rule] = {
    "stone": _stone,
    "auto": _auto,
    "doane": _doane,
    "fd": _freedman_diaconis,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _square_root,
    "sturges": _sturges,
}


def _ruled_edges(a: torch.Tensor, name: str, limits: Any, weighted: bool) -> torch.Tensor:
    if name not in _RULES:
        raise ValueError(f"{name!r} is not a valid estimator for `bins`")
    if weighted:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    low, high, dtype = _outer(a, limits)
    n = _estimate(a, name, limits, low, high)
    return _checked(_even(low, high, n, dtype))


def _estimate(a: torch.Tensor, name: str, limits: Any, low: torch.Tensor, high: torch.Tensor) -> int:
    """The number of bins by a rule."""
    if limits is not None:
        wide = a.to(result_type(a, low))
        a = a[(wide >= low) & (wide <= high)]
    if not a.numel():
        return 1
    ordered = _util.to_ordered(a)
    greatest, least = (_util.from_ordered(x, a.dtype) for x in (torch.amax(ordered), torch.amin(ordered)))
    whole = kind(a.dtype) in "ui"
    if whole:
        spread = torch.full((), float(int(greatest) - int(least)), dtype=_float64, device=a.device)
    else:
        spread = greatest - least
    width = _RULES[name](a, spread, (low, high))
    if whole:
        width = torch.where((width > 0) & (width < 1), 1, width)
    return int(torch.ceil((high - low) / width)) if float(width) else 1
