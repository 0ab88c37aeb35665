"""Histograms and counts (NumPy's reference: histograms). The edges of bins are in `_bins`.

What is in which bin depends on the data by its value alone; edges made from the data, and weights added up, pass their
contributions on.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch.overrides import handle_torch_function, has_torch_function

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, Opaque, public
from npdec._impl import _bins, _host, _order, _util
from npdec._impl._by_elements import by_elements
from npdec._impl.dtypes_impl import can_cast, kind, promote

# --- counting ---------------------------------------------------------------------------------------------------------


def counted(index: torch.Tensor, weights: Any, size: int) -> torch.Tensor:
    """How often each index below `size` occurs, or the sum of its weights, in float64 or complex128. Of places that
    carry contributions what has moved leaves one bin and comes to another."""
    if has_torch_function((index,)):
        return handle_torch_function(counted, (index,), index, weights, size)
    if weights is None:
        if type(index) is torch.Tensor:
            return torch.bincount(index, minlength=size)
        # The numbers are not known, and those of torch.bincount would say how many there are.
        return index.new_zeros(size).index_add(0, index, torch.ones_like(index))
    weights = weights.to(torch.complex128 if weights.is_complex() else torch.float64)
    return torch.zeros(size, dtype=weights.dtype, device=index.device).index_add(0, index, weights)


def _are_doubles(weights: Any, shape: torch.Size) -> bool:
    """Whether there are no weights, or numbers in double precision, as many as the shape says."""
    if weights is None:
        return True
    return weights.dtype is torch.float64 and weights.shape == shape and _util.are_numbers(weights)


def _occurrences(x: torch.Tensor) -> torch.Tensor | None:
    return torch.bincount(x) if x.dim() == 1 and x.shape[0] and _util.are_numbers(x) else None


@public(direct=Direct(_occurrences, frozenset({torch.int64})))
def bincount(x: Opaque, /, weights: ArrayLike | None = None, minlength: int = 0):
    """How often each number from 0 to the greatest occurs among the integers `x`, 1-d, in int64.

    With `weights`, of the length of `x`, the sum of the weights of each number, in float64. The result has at least
    `minlength` elements. Raises ValueError for a negative number, TypeError for other than integers.

    >>> np.bincount(np.array([0, 1, 1, 3]))
    array([1, 2, 0, 1])
    """
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if x.ndim != 1:
        raise ValueError(f"bincount: the numbers must be 1-d, not of shape {tuple(x.shape)}")
    if not len(x) and (x.dtype is torch.float64 or kind(x.dtype) in "bui"):  # as an empty list may be one of floats
        return torch.zeros(minlength, dtype=torch.int64, device=x.device)
    if x.dtype is torch.int64 and _util.are_numbers(x) and _are_doubles(weights, x.shape):
        try:
            return torch.bincount(x, weights, minlength)  # which adds the weights in the same order
        except RuntimeError:  # of a negative number
            pass
    if kind(x.dtype) not in "bui":
        raise TypeError(f"bincount counts integers, not {x.dtype}; cast them with astype")
    index = x.to(torch.int64)
    if _util.is_known_true(torch.any(index < 0)):
        raise ValueError("'list' argument must have no negative elements")
    if weights is not None:
        if weights.is_complex():
            raise TypeError("bincount: the weights must be real, not complex")
        if tuple(weights.shape) != tuple(x.shape):
            raise ValueError("The weights and list don't have the same length.")
    return counted(index, weights, max(int(torch.amax(index)) + 1, minlength))


_AXES = 64  # the most that an array of NumPy's has
_FEW_PAIRS = 2**10  # of points and edges
_FEW = 50  # edges that Python compares sooner than torch


@public
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False):
    """The index of the bin to which each element of `x` belongs, in int64, for `bins` that ascend or descend.

    Index i stands for bins[i - 1] <= x < bins[i], with `right` for bins[i - 1] < x <= bins[i]; for descending bins the
    inequalities are turned around. Raises ValueError for bins that are not monotonic, TypeError for complex `x`.

    >>> np.digitize(np.array([0.2, 6.4, 3.0]), np.array([0.0, 1.0, 2.5, 4.0]))
    array([1, 4, 3])
    """
    if x.is_complex() or bins.is_complex():
        raise TypeError("x may not be complex")
    if bins.ndim != 1:
        raise ValueError(f"digitize: the bins must be 1-d, not of shape {tuple(bins.shape)}")
    if bins.numel() <= _FEW and bins.dtype is torch.float64 and _util.are_numbers(bins):
        edges = bins.tolist()
        if edges and not math.isnan(edges[-1]) and all(low <= high for low, high in itertools.pairwise(edges)):
            return _order.search(bins, x, not right, without_nan=True)
    ordered = _util.to_ordered(_util.numbers(bins))
    falls = _util.is_known_true(torch.any(ordered[1:] < ordered[:-1]))
    if falls and _util.is_known_true(torch.any(ordered[1:] > ordered[:-1])):
        raise ValueError("bins must be monotonically increasing or decreasing")
    if falls:
        return len(bins) - _order.search(_order.flip(bins), x, not right)
    return _order.search(bins, x, not right)


def _cell_of(columns: Sequence[torch.Tensor], edges: Sequence[torch.Tensor]) -> torch.Tensor:
    """The cell of each point, of which `columns` are the coordinates: along each axis the bin, from 0, or the number of
    bins outside of all. The last bin includes its right edge."""
    sizes = [len(edge) for edge in edges]
    plain = all(type(edge) is torch.Tensor for edge in edges)

    def joined(points: Sequence[torch.Tensor], its: Sequence[torch.Tensor]) -> torch.Tensor:
        made = _bins.bin_of(points[0], its[0])
        for point, edge, size in zip(points[1:], its[1:], sizes[1:], strict=True):
            made = made * size + _bins.bin_of(point, edge)
        return made

    def cell(*parts: torch.Tensor) -> torch.Tensor:
        points, ends = parts[: len(columns)], list(parts[len(columns) :])
        return joined(points, edges if plain else [torch.stack([ends.pop(0) for _ in range(n)]) for n in sizes])

    if len(columns[0]) * sum(sizes) <= _FEW_PAIRS:  # which need not be divided, and edges one by one take longer
        return joined(columns, edges)
    return cast(torch.Tensor, by_elements(cell, *columns, *([] if plain else [e for edge in edges for e in edge])))


# --- one dimension ----------------------------------------------------------------------------------------------------


def _flat(a: torch.Tensor, weights: Any) -> tuple[torch.Tensor, Any]:
    if a.is_complex():
        raise TypeError("histogram: complex values have no order; take their real part or magnitude")
    if a.dtype is torch.bool:
        _util.warn("Converting input from bool to uint8 for compatibility.")
        a = a.to(torch.uint8)
    if weights is not None:
        if tuple(weights.shape) != tuple(a.shape):
            raise ValueError("weights should have the same shape as a.")
        weights = weights.reshape(-1)
    return a.reshape(-1), weights


@public
def histogram_bin_edges(a: ArrayLike, bins: object = 10, range: object = None, weights: Opaque | None = None):
    """The edges of the bins that `histogram` uses for the same arguments, in ascending order, 1-d.

    `bins` is the number of bins of equal width over `range` (or from the least to the greatest element), or the edges
    themselves, or the name of a rule that chooses their number from the data: "auto", "doane", "fd", "rice", "scott",
    "sqrt", "stone", "sturges". Raises ValueError for a range that is empty or not finite, or edges that do not ascend.

    >>> np.histogram_bin_edges(np.array([0.0, 1.0, 4.0]), bins=2)
    array([0., 2., 4.])
    """
    flat, weights = _flat(a, weights)
    return _bins.edges(flat, bins, range, weights is not None)


@public
def histogram(
    a: ArrayLike, bins: object = 10, range: object = None, density: bool | None = None, weights: ArrayLike | None = None
):
    """How many elements are in each bin, and the edges of the bins; for `bins` and `range` see `histogram_bin_edges`.

    A bin includes its left edge, the last one its right edge too. With `weights`, of the shape of `a`, their sums in
    the dtype of the weights. With `density` the values of a density, whose integral over the bins is 1.

    >>> np.histogram(np.array([1, 2, 1]), bins=[0, 1, 2, 3])
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    """
    flat, weights = _flat(a, weights)
    edges = _bins.edges(flat, bins, range, weights is not None)
    n = max(len(edges) - 1, 0)
    counts = counted(_cell_of([flat], [edges]), weights, n + 1)[:n]
    if weights is not None:
        counts = counts.to(weights.dtype)
    if density:
        total = torch.sum(counts)
        computed = torch.complex128 if counts.is_complex() else torch.float64
        counts = counts.to(computed) / _widths(edges) / total.to(computed)
    return counts, edges


def _widths(edges: torch.Tensor) -> torch.Tensor:
    if edges.dtype in _util.UNSIGNED:
        edges = edges.to(torch.float64)
    return (edges[1:] - edges[:-1]).to(torch.float64)


# --- several dimensions -----------------------------------------------------------------------------------------------


def _sample(sample: Any) -> torch.Tensor:
    """The points as rows: an array of shape (N, D), or a sequence of D arrays of the coordinates."""
    x = _host.as_tensor(sample)
    if isinstance(sample, (list, tuple)) or x.ndim != 2:
        x = x.reshape((1,) * (2 - x.ndim) + tuple(x.shape)).mT
    if x.ndim != 2:
        raise ValueError(f"histogramdd: the sample must have shape (N, D), not {tuple(x.shape)}")
    return x


def _count_few(columns: Sequence[torch.Tensor], bins: list[Any]) -> tuple[torch.Tensor, list[torch.Tensor]] | None:
    """What `histogramdd` gives of few points in float64 for numbers of bins, counted by Python; None for others."""
    if columns[0].dtype is not torch.float64 or not all(type(n) is int and 0 < n <= _FEW for n in bins):
        return None
    if math.prod(bins) > _FEW**2 or not _util.are_numbers(*columns):
        return None
    cells, all_edges = [0] * len(columns[0]), []
    for n, numbers in zip(bins, [column.tolist() for column in columns]):
        low, high = min(numbers), max(numbers)
        if not math.isfinite(sum(numbers)) or low == high:
            return None
        step = (high - low) / n
        edges = [i * step + low for i in range(n)]
        edges.append(high)
        if not all(before < after for before, after in itertools.pairwise(edges)):
            return None
        all_edges.append(edges)
        cells = [cell * (n + 1) + min(bisect.bisect_right(edges, x) - 1, n - 1) for cell, x in zip(cells, numbers)]
    shape = [n + 1 for n in bins]  # the memory of which is laid out as where there are points outside
    counts = [0.0] * math.prod(shape)
    for cell in cells:
        counts[cell] += 1.0
    made = [torch.tensor(numbers, dtype=torch.float64) for numbers in (counts, *all_edges)]
    grid = made[0].reshape(shape)
    for i, n in enumerate(bins):
        grid = grid.narrow(i, 0, n)
    return grid, made[1:]


@public
def histogramdd(
    sample: object,
    bins: object = 10,
    range: object = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
):
    """How many points are in each cell of a grid in D dimensions, in float64, and the list of the D arrays of edges.

    `sample` is an array of shape (N, D) or a sequence of D arrays of coordinates. `bins` is the number of bins, or a
    sequence with a number or the edges for each dimension; `range` a sequence of D pairs or None. `weights` are added
    up instead of counted; with `density` the values of a density.

    >>> np.histogramdd(np.array([[0.0, 0.0], [1.0, 3.0], [1.0, 2.0]]), bins=(2, 1))[0]
    array([[1.],
           [2.]])
    """
    columns = _sample(sample).unbind(1)
    if not columns:
        raise ValueError("histogramdd: points without coordinates are in no bin")
    return _in_grid(columns, bins, range, density, weights)


def _in_grid(
    columns: Sequence[torch.Tensor], bins: object, range: object, density: bool | None, weights: torch.Tensor | None
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The same of points by their coordinates along each axis, which need not lie in one array."""
    dims, count = len(columns), len(columns[0])
    if dims > _AXES:
        raise ValueError(
            f"histogramdd: the sample has {dims} columns, and the counts would have as many dimensions, of which an "
            f"array has {_AXES} at most; take few columns, or np.histogram of each"
        )
    if columns[0].is_complex():
        raise TypeError("histogramdd: complex values have no order; take their real part or magnitude")
    if not count:
        weights = None  # nor are they looked at where nothing is counted
    if weights is not None:
        if tuple(weights.shape) != (count,):
            raise ValueError("The weights and list don't have the same length.")
        if not can_cast(weights.dtype, torch.float64):
            raise TypeError(f"histogramdd: weights of {weights.dtype} cannot be cast to float64")
    try:
        per_axis = list(bins)  # type: ignore[call-overload]
    except TypeError:
        per_axis = [bins] * dims
    if len(per_axis) != dims:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * dims if range is None else list(range)  # type: ignore[call-overload]
    if len(ranges) != dims:
        raise ValueError("range argument must have one entry per dimension")
    simple = weights is None and not density and not any(limits is not None for limits in ranges)
    if simple and 0 < dims * count <= _FEW:
        few = _count_few(columns, per_axis)
        if few is not None:
            return few
    edges = [_bins.edges_of_axis(i, column, per_axis[i], ranges[i]) for i, column in enumerate(columns)]
    # One cell more along each axis for the points outside.
    shape = [len(edge) for edge in edges]
    counts = counted(_cell_of(columns, edges), weights, math.prod(shape)).to(torch.float64).reshape(shape)
    for i, edge in enumerate(edges):
        counts = counts.narrow(i, 0, len(edge) - 1)
    if density:
        total = torch.sum(counts)
        for i, edge in enumerate(edges):
            counts = counts / _widths(edge).reshape([-1 if dim == i else 1 for dim, _ in enumerate(edges)])
        counts = counts / total
    return counts, edges


@public
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: object = 10,
    range: object = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
):
    """How many of the points (x, y) are in each cell of a grid, in float64, and the edges along both axes.

    `bins` is the number of bins, the edges for both axes, or a pair of these. Other arguments as in `histogramdd`.
    Raises ValueError for `x` and `y` of different lengths.

    >>> np.histogram2d(np.array([0.0, 1.0, 1.0]), np.array([0.0, 3.0, 2.0]), bins=(2, 1))[0]
    array([[1.],
           [2.]])
    """
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    try:
        count = len(bins)  # type: ignore[arg-type]
    except TypeError:
        count = 1
    if count not in (1, 2):
        bins = [bins, bins]
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"histogram2d: x and y must be 1-d, not of shapes {tuple(x.shape)} and {tuple(y.shape)}")
    counts, edges = _in_grid(promote(x, y), bins, range, density, weights)
    return counts, edges[0], edges[1]
