"""Sorting along one axis for every dtype, in NumPy's order: complex numbers by their parts, nan last."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch

from npdec._impl import _util
from npdec._impl._by_numpy import are_many, by_numpy, by_numpy_elementwise, compared
from npdec._impl.dtypes_impl import promote


def complex_keys(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Real keys in whose order complex numbers are sorted, the weightiest last.

    Numbers without nan come first, then those with a nan imaginary part, a nan real part, and both; among equals in
    that, the real part decides, then the imaginary part.
    """
    re, im = torch.real(x), torch.imag(x)
    return im, re, 2 * torch.isnan(re).to(torch.uint8) + torch.isnan(im).to(torch.uint8)


def argsort_keys(keys: Sequence[torch.Tensor], axis: int, descending: bool = False) -> torch.Tensor:
    """The stable order by several keys, the last of which weighs most."""
    order = torch.argsort(keys[0], dim=axis, descending=descending, stable=True)
    for key in keys[1:]:
        key = torch.gather(key, axis, order)
        order = torch.gather(order, axis, torch.argsort(key, dim=axis, descending=descending, stable=True))
    return order


def argsort(x: torch.Tensor, axis: int, descending: bool = False) -> torch.Tensor:
    """The stable order along an axis: ascending, nan last, or descending, nan first."""
    if not descending and _is_sooner(x, _ARGSORTED):
        order = by_numpy("argsort", x, axis=axis, kind="stable")
        if order is not None:
            return order
    if x.dtype.is_complex:
        return argsort_keys(complex_keys(x), axis, descending)
    return torch.argsort(_util.to_ordered(x), dim=axis, descending=descending, stable=True)


def sort(x: torch.Tensor, axis: int, descending: bool = False) -> torch.Tensor:
    """The elements along an axis in ascending order, nan last, or in descending order, nan first."""
    if descending:
        return pick(x, argsort(x.detach(), axis, True), axis) if x.ndim else x.clone()
    if _is_sooner(x, _SORTED):
        placed = _sorted(x, axis)
        if placed is not None:
            return placed
    if x.dtype.is_complex:
        return torch.gather(x, axis, argsort(x.detach(), axis))
    return _util.from_ordered(torch.sort(_util.to_ordered(x), dim=axis, stable=True)[0], x.dtype)


def _is_sooner(x: torch.Tensor, known: dict[torch.dtype, range]) -> bool:
    """Whether NumPy sorts so many numbers sooner."""
    sizes = known.get(x.dtype)
    if sizes is None or type(x) is not torch.Tensor or x.numel() not in sizes:
        return False
    return x.dim() > 0 and x.is_contiguous() and not _is_compiling()


def _sorted(x: torch.Tensor, axis: int) -> torch.Tensor | None:
    """The same of plain numbers by NumPy, whose quickest way is not stable: where that shows, of zeros of both signs
    and of nan, by its stable one."""
    if not x.dtype.is_floating_point or x.numel() < MANY:
        return by_numpy("sort", x, axis=axis, kind="stable")
    placed = by_numpy("sort", x, axis=axis)
    if placed is None or (torch.equal(placed, placed) and _has_one_zero(placed)):
        return placed
    return by_numpy("sort", x, axis=axis, kind="stable")


def _has_one_zero(placed: torch.Tensor) -> bool:
    """Whether all zeros have one sign."""
    zeros = placed[compared("eq", placed, 0)]
    if not zeros.numel():
        return True
    signs = torch.signbit(zeros)
    return bool(signs.all()) or not bool(signs.any())


# From how many elements to how many NumPy sorts them sooner than torch: the fewest torch sorts as soon, where it has
# kernels for the dtype, and many integers, which it then sorts by their digits. So does NumPy those of few bits.
_ALL, _BUT_FEW = range(2**62), range(64, 2**62)
_DIGITS = {torch.int8: _BUT_FEW, torch.uint8: _BUT_FEW, torch.int16: _BUT_FEW, torch.bool: _ALL, torch.uint16: _ALL}
_COMPLEX = {torch.complex64: _ALL, torch.complex128: _ALL}


def _up_to(most: int) -> dict[torch.dtype, range]:
    signed, unsigned = (torch.int32, torch.int64), (torch.uint32, torch.uint64)
    return {**dict.fromkeys(signed, range(64, most)), **dict.fromkeys(unsigned, range(most))}


_FLOATS = (torch.float16, torch.float32, torch.float64)
_SORTED = {**_DIGITS, **_COMPLEX, **_up_to(20_000), **dict.fromkeys(_FLOATS, _BUT_FEW)}
_ARGSORTED = {**_DIGITS, **_COMPLEX, **_up_to(1000), **dict.fromkeys(_FLOATS, range(64, 1000))}
_COUNTED = frozenset({torch.int32, torch.int64, torch.float32, torch.float64})
_is_compiling = torch.compiler.is_dynamo_compiling

MANY = 2**10  # elements, from which on two places are found sooner than all are put in order
_SELECTED = frozenset({torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})


def neighbours(rows: torch.Tensor, place: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
    """The elements of each row (..., n) at a place in ascending order and at the next one, or the last; and the last of
    all, which is nan if one is. None where sorting is as good, or somebody follows what is done with the rows."""
    n = rows.shape[-1]
    if rows.numel() < MANY or rows.dtype not in _SELECTED or not _util.are_numbers(rows):
        return None
    places = [place, min(place + 1, n - 1), n - 1]
    placed = partitioned(rows, places)
    if placed is not None:
        low, high, last = (placed.select(-1, at) for at in places)
        return low, high, last
    last = rows.amax(-1)
    # The median of torch is the lower one of two.
    middle = place == (n - 1) // 2
    low = rows.median(-1).values if middle else torch.kthvalue(rows, place + 1, -1).values
    beyond = rows > low.unsqueeze(-1)
    further = torch.where(beyond, rows, last.unsqueeze(-1)).amin(-1)
    return low, torch.where(n - beyond.sum(-1) > place + 1, low, further), last


def partitioned(rows: torch.Tensor, places: list[int]) -> torch.Tensor | None:
    """Rows in which the elements at some places are those that sorting puts there, by NumPy; None where one of them is
    nan, or a zero, of which the sign is known when all are sorted."""
    placed = by_numpy("partition", rows, kth=sorted(set(places)), axis=-1) if rows.is_contiguous() else None
    if placed is None or (rows.dtype.is_floating_point and not bool((placed[..., places].abs() > 0).all())):
        return None
    return placed


def pick(x: torch.Tensor, index: torch.Tensor, axis: int) -> torch.Tensor:
    """Elements along an axis: the same of every slice for a 1-d index, else an index with slices of its own."""
    signed = _util.to_ordered(x)  # torch gathers no unsigned integers of 16 bits and more
    r = torch.index_select(signed, axis, index) if index.ndim == 1 else torch.gather(signed, axis, index)
    return _util.from_ordered(r, x.dtype)


def flip(x: torch.Tensor) -> torch.Tensor:
    """A 1-d tensor from last to first."""
    return _util.from_ordered(torch.flip(_util.to_ordered(x), (0,)), x.dtype)


# --- keys: integers in the order of values ----------------------------------------------------------------------------

_BITS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}


def keys(x: torch.Tensor) -> torch.Tensor:
    """Integers in the order of real values: equal for equal values, and greatest, and equal, for nan."""
    if x.dtype not in _BITS:
        return _util.to_ordered(x)
    bits = (x + 0.0).view(_BITS[x.dtype])  # -0.0 becomes 0.0
    info = torch.iinfo(bits.dtype)
    ordered = torch.where(bits < 0, bits ^ info.max, bits)  # the magnitude of negative numbers grows downwards
    return torch.where(torch.isnan(x), info.max, ordered)


def ranks(x: torch.Tensor) -> torch.Tensor:
    """Integers in the order of the values of a 1-d tensor, complex or real: as `keys`."""
    if not x.dtype.is_complex:
        return keys(x)
    parts = [keys(part) for part in complex_keys(x)]
    order = argsort_keys(parts, 0)
    rises = torch.zeros_like(order)
    for part in parts:
        placed = part[order]
        rises[1:] |= placed[1:] != placed[:-1]
    return torch.empty_like(order).scatter_(0, order, torch.cumsum(rises, 0))


def _ends_with_nan(a: torch.Tensor) -> bool:
    count = a.numel()
    if count and _util.are_numbers(a):
        return math.isnan(a.tolist()[-1] if count <= _FEW else a[-1].item())
    return bool(count) and _util.is_known_true(torch.isnan(a[-1]))


_FEW = 64  # elements, with each of which many values are compared sooner than they are looked for, and all are read


def _counted(a: torch.Tensor, v: torch.Tensor, right: bool) -> torch.Tensor | None:
    """The same of many numbers among few, by comparing them with each of these, nan coming last; None for others."""
    if not 0 < a.numel() <= _FEW or a.dtype not in _COUNTED or not are_many(v) or not _util.are_numbers(a, v):
        return None
    places = a.tolist()
    if not all(before <= after for before, after in itertools.pairwise(places)) or places[-1] != places[-1]:
        return None
    counts = torch.full(v.shape, len(places), dtype=torch.uint8)
    for place in places:
        before = by_numpy_elementwise("less" if right else "less_equal", v, place)
        if before is None:
            return None
        counts.sub_(before.view(torch.uint8))
    return counts.to(torch.int64)


def search(a: torch.Tensor, v: torch.Tensor, right: bool, without_nan: bool = False) -> torch.Tensor:
    """Where values of any shape belong in a sorted 1-d tensor, before (or after) its equal elements. That none of these
    is nan need not be asked where it is known."""
    if a.dtype is not v.dtype:
        a, v = promote(a, v)
    counted = _counted(a, v, right)
    if counted is not None:
        return counted
    whole = v.dim() == 1 or not (v.dim() or a.dtype.is_complex)
    flat = v if whole else v.reshape(-1)
    if a.dtype.is_complex:
        both = ranks(torch.cat([a, flat]))
        a, flat = both[: len(a)], both[len(a) :]
    elif a.dtype not in _BITS:
        a, flat = _util.to_ordered(a), _util.to_ordered(flat)
    elif not without_nan and _ends_with_nan(a):  # torch takes a nan for less than everything
        a, flat = keys(a), keys(flat)
    found = torch.searchsorted(a.contiguous(), flat.contiguous(), right=right)
    return found if whole else found.reshape(v.shape)
