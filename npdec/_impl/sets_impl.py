"""Sets of numbers (NumPy's reference: set routines).

The elements are ordered by integer keys, equal for equal values; the values themselves are taken from the array once.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import torch

from npdec._core.direct import Direct
from npdec._core.tags import Array, ArrayLike, ArrayLikeOrScalar, Opaque, public
from npdec._impl import _order, _util
from npdec._impl._by_numpy import by_numpy
from npdec._impl._reduce import ORDERED
from npdec._impl.dtypes_impl import kind as dtype_kind
from npdec._impl.dtypes_impl import promote


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: torch.Tensor
    indices: torch.Tensor
    inverse_indices: torch.Tensor
    counts: torch.Tensor


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: torch.Tensor
    counts: torch.Tensor


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: torch.Tensor
    inverse_indices: torch.Tensor


class _Groups(NamedTuple):
    """The items of a 1-d sequence in order: where each stood, and which begin a group of equals."""

    order: torch.Tensor
    begins: torch.Tensor

    @property
    def first(self) -> torch.Tensor:
        """The index of the first item of each group."""
        return self.order[self.begins]

    @property
    def inverse(self) -> torch.Tensor:
        """The group of each item."""
        group = torch.cumsum(self.begins, 0) - 1
        return torch.empty_like(self.order).scatter_(0, self.order, group)

    @property
    def counts(self) -> torch.Tensor:
        """The number of items in each group."""
        starts = torch.nonzero(self.begins).squeeze(-1)
        return torch.diff(starts, append=starts.new_full((1,), len(self.order)))


def _group(ranks: torch.Tensor, distinct: torch.Tensor | None = None) -> _Groups:
    """Groups of equal ranks, but each item that is marked `distinct` is a group of its own."""
    order = torch.argsort(ranks, stable=True)
    placed = ranks[order]
    begins = torch.ones(len(order), dtype=torch.bool, device=ranks.device)
    begins[1:] = placed[1:] != placed[:-1]
    if distinct is not None:
        begins |= distinct[order]
    return _Groups(order, begins)


def _group_values(flat: torch.Tensor, equal_nan: bool) -> _Groups:
    if not (flat.is_floating_point() or flat.is_complex()):
        return _group(_util.to_ordered(flat))
    nan = torch.isnan(flat)
    ranks = _order.ranks(flat)
    if flat.is_complex() and equal_nan:  # all are the same then, whatever their parts
        ranks = torch.where(nan, torch.iinfo(torch.int64).max, ranks)
        order = _order.argsort(flat, 0)  # the one that stands for them comes first in order
        return _Groups(order, _group(ranks[order]).begins)
    return _group(ranks, None if equal_nan else nan)


def _group_rows(rows: torch.Tensor) -> _Groups:
    """Groups of equal rows of a 2-d tensor, in lexicographic order; a row with a nan equals no other."""
    if not rows.shape[1]:
        return _group(torch.zeros(len(rows), dtype=torch.int64, device=rows.device))
    inexact = rows.is_floating_point() or rows.is_complex()
    distinct = torch.any(torch.isnan(rows), 1) if inexact else None
    if rows.is_complex():
        keys = torch.stack([_order.keys(torch.real(rows)), _order.keys(torch.imag(rows))], -1).flatten(1)
    else:
        keys = _order.keys(rows)
    return _group(torch.unique(keys, dim=0, return_inverse=True)[1] if len(rows) else keys[:, 0], distinct)


def _of_exact(name: str, *arrays: torch.Tensor, **options: Any) -> Any:
    """What NumPy's function gives for integers or booleans in one dtype, of which equal ones are the same."""
    for x in arrays:
        if x.dtype is not arrays[0].dtype or x.dtype.is_floating_point or x.dtype.is_complex:
            return None
    return by_numpy(name, *arrays, **options)


# --- unique -----------------------------------------------------------------------------------------------------------


def _distinct(ar: torch.Tensor) -> torch.Tensor | None:
    """The first of equals stands for them, as zeros of both signs are."""
    if not ar.numel() or not _util.are_numbers(ar) or (ar.is_floating_point() and not torch.equal(ar, ar)):
        return None
    return torch.unique_consecutive(torch.sort(ar if ar.dim() == 1 else ar.reshape(-1), stable=True)[0])


@public(direct=Direct(_distinct, ORDERED))
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Array | tuple[Array, ...]:
    """The distinct elements in ascending order, 1-d; along an axis, the distinct slices in lexicographic order.

    On request a tuple: the values, the index of the first occurrence of each, for every element the index of its value
    (in the shape of `ar`, or 1-d along an axis), how often each occurs. nan counts as equal to nan if `equal_nan`,
    except within slices. The values are sorted even if `sorted` is False.

    >>> np.unique(np.array([3, 1, 3, 2]), return_counts=True)
    (array([1, 2, 3]), array([1, 1, 2]))
    """
    if isinstance(axis, float):
        raise TypeError("integer argument expected, got float")
    axis = None if axis is None else operator.index(axis)
    if axis is not None and _util.normalize_axis(axis, ar.ndim) == 0 and ar.ndim == 1:
        axis = None
    if axis is None:
        asked = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
        found = _of_exact("unique", ar, **asked)
        if found is not None:
            return found
        rows, shape = ar.reshape(-1), tuple(ar.shape)
        groups = _group_values(rows, equal_nan)
    else:
        axis = _util.normalize_axis(axis, ar.ndim)
        rows, shape = ar.movedim(axis, 0), (ar.shape[axis],)
        size = rows.numel() // len(rows) if len(rows) else 0
        groups = _group_rows(rows.reshape(len(rows), size))
    values = _order.pick(rows, groups.first, 0)
    results = [values if axis is None else values.movedim(0, axis)]
    if return_index:
        results.append(groups.first)
    if return_inverse:
        results.append(groups.inverse.reshape(shape))
    if return_counts:
        results.append(groups.counts)
    return results[0] if len(results) == 1 else tuple(results)


@public
def unique_all(x: ArrayLike) -> tuple[Array, ...]:
    """The distinct elements, the index of the first occurrence of each, the inverse indices and the counts.

    As `unique` with all of its results, as a named tuple; every nan is distinct.

    >>> np.unique_all(np.array([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@public
def unique_counts(x: ArrayLike):
    """The distinct elements and how often each occurs, as a named tuple; every nan is distinct.

    >>> np.unique_counts(np.array([3, 1, 3])).counts
    array([1, 2])
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@public
def unique_inverse(x: ArrayLike) -> tuple[Array, ...]:
    """The distinct elements and for every element the index of its value, as a named tuple; every nan is distinct.

    >>> np.unique_inverse(np.array([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@public
def unique_values(x: ArrayLike):
    """The distinct elements, in ascending order; every nan is distinct.

    >>> np.unique_values(np.array([3, 1, 3]))
    array([1, 3])
    """
    return unique(x, equal_nan=False)


# --- membership and set algebra ---------------------------------------------------------------------------------------


def _members(element: torch.Tensor, tests: torch.Tensor) -> torch.Tensor:
    """Which of the elements are among the tests; nan is not."""
    element, tests = promote(element, tests.reshape(-1))
    if element.is_complex():
        ranks = _order.ranks(torch.cat([element.reshape(-1), tests]))
        a, b = ranks[: element.numel()].reshape(element.shape), ranks[element.numel() :]
        return torch.isin(a, b) & ~torch.isnan(element)
    return torch.isin(_util.to_ordered(element), _util.to_ordered(tests))


@public
def isin(
    element: Opaque,
    test_elements: Opaque,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Array:
    """For each element, whether it is among the test elements (with `invert`, whether it is not).

    nan equals nothing. `kind` chooses an algorithm in NumPy, here it is checked only. Raises ValueError for an unknown
    kind, and for "table" with other than integers or booleans, RuntimeError where their range is too wide for a table.

    >>> np.isin(np.array([[1, 2], [3, 4]]), [2, 4])
    array([[False,  True],
           [False,  True]])
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    if kind == "table" and not all(dtype_kind(x.dtype) in "bui" for x in (element, test_elements)):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for kind."
        )
    if kind == "table" and not _fits_a_table(test_elements):
        raise RuntimeError(
            "You have specified kind='table', but the range of values in `ar2` or `ar1` exceed the maximum integer of "
            "the datatype. Please set `kind` to None or 'sort'."
        )
    found = _members(element, test_elements)
    return ~found if invert else found


def _fits_a_table(x: torch.Tensor) -> bool:
    """Whether the distance from the least to the greatest element is a number of their dtype."""
    if not x.numel() or x.dtype is torch.bool:
        return True
    values = _util.to_ordered(x)
    return int(values.max()) - int(values.min()) <= torch.iinfo(x.dtype).max


@public
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False):
    """The distinct elements that both arrays have, in ascending order, 1-d; the values are those of `ar1`.

    With `return_indices` also the indices of their first occurrences in both. `assume_unique` says that no array has
    an element twice.

    >>> np.intersect1d(np.array([1, 3, 4, 3]), np.array([3, 1, 2, 1]))
    array([1, 3])
    """
    ar1, ar2 = (x.reshape(-1) for x in promote(ar1, ar2))
    found = _of_exact("intersect1d", ar1, ar2, assume_unique=assume_unique, return_indices=return_indices)
    if found is not None:
        return found
    first1, first2 = (_all_indices(x) if assume_unique else _group_values(x, True).first for x in (ar1, ar2))
    both = torch.cat([ar1, ar2])
    index = torch.cat([first1, first2 + len(ar1)])
    ranks = _order.ranks(both)[index]
    order = torch.argsort(ranks, stable=True)
    placed = ranks[order]
    index = index[order]
    twice = placed[1:] == placed[:-1]
    if both.is_floating_point() or both.is_complex():
        twice = twice & ~torch.isnan(both)[index[1:]]
    index1, index2 = index[:-1][twice], index[1:][twice] - len(ar1)
    values = _order.pick(ar1 if not assume_unique else both, index1, 0)
    return (values, index1, index2) if return_indices else values


def _all_indices(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(len(x), device=x.device)


@public
def setdiff1d(ar1: ArrayLike, ar2: Opaque, assume_unique: bool = False):
    """The distinct elements of `ar1` that `ar2` has not, in ascending order, 1-d.

    With `assume_unique`, all elements of `ar1` that `ar2` has not, in their order.

    >>> np.setdiff1d(np.array([1, 2, 3, 2, 4, 1]), np.array([3, 4, 5]))
    array([1, 2])
    """
    found = _of_exact("setdiff1d", ar1, ar2, assume_unique=assume_unique)
    if found is not None:
        return found
    flat = ar1.reshape(-1)
    index = _all_indices(flat) if assume_unique else _group_values(flat, True).first
    missing = ~_members(flat, ar2)[index]
    return _order.pick(flat, index[missing], 0)


@public
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False):
    """The distinct elements that one of the arrays has but not both, in ascending order, 1-d.

    >>> np.setxor1d(np.array([1, 2, 3]), np.array([2, 3, 5]))
    array([1, 5])
    """
    ar1, ar2 = (x.reshape(-1) for x in promote(ar1, ar2))
    found = _of_exact("setxor1d", ar1, ar2, assume_unique=assume_unique)
    if found is not None:
        return found
    first1, first2 = (_all_indices(x) if assume_unique else _group_values(x, True).first for x in (ar1, ar2))
    both = torch.cat([ar1, ar2])
    index = torch.cat([first1, first2 + len(ar1)])
    inexact = both.is_floating_point() or both.is_complex()
    groups = _group(_order.ranks(both)[index], torch.isnan(both)[index] if inexact else None)
    return _order.pick(both, index[groups.first[groups.counts == 1]], 0)


@public
def union1d(ar1: ArrayLikeOrScalar, ar2: ArrayLikeOrScalar):
    """The distinct elements of both arrays together, in ascending order, 1-d.

    >>> np.union1d(np.array([-1, 0, 1]), np.array([-2, 0, 2]))
    array([-2, -1,  0,  1,  2])
    """
    ar1, ar2 = promote(ar1, ar2)
    found = _of_exact("union1d", ar1, ar2)
    if found is not None:
        return found
    return unique(torch.cat([ar1.reshape(-1), ar2.reshape(-1)]))
