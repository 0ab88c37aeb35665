"""Padding (NumPy: "Padding arrays").

An array is padded one axis after the other, each with what the axes before it have been padded to already.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from npdec._core.tags import Array, ArrayLike, public
from npdec._impl import (
    _host,
    _storage,
    _util,
    creation_ranges_impl,
    dtypes_impl,
    extremes_impl,
    quantile_impl,
    reduction_impl,
    shape_impl,
)

# The keyword argument that each mode takes, and what it is unless given.
_MODES: dict[str, tuple[str, Any] | None] = {
    "constant": ("constant_values", 0),
    "edge": None,
    "empty": None,
    "linear_ramp": ("end_values", 0),
    "maximum": ("stat_length", None),
    "mean": ("stat_length", None),
    "median": ("stat_length", None),
    "minimum": ("stat_length", None),
    "reflect": ("reflect_type", "even"),
    "symmetric": ("reflect_type", "even"),
    "wrap": None,
}
_WEAK: dict[str, Any] = {"b": torch.bool, "u": int, "i": int, "f": float, "c": complex}
_STATISTICS: dict[str, Callable[..., torch.Tensor]] = {
    "maximum": extremes_impl.max,
    "mean": reduction_impl.mean,
    "median": quantile_impl.median,
    "minimum": extremes_impl.min,
}


def _pairs(x: torch.Tensor, ndim: int) -> torch.Tensor:
    """One value before and one after each axis: one number, one pair, or one pair (or number) for each axis."""
    if x.ndim < 3 and x.numel() == 2 and tuple(x.shape) != (2, 1):
        x = x.reshape(2)
    elif x.ndim < 3 and x.numel() == 1:
        x = x.reshape(1)
    return shape_impl.broadcast_to(x, (ndim, 2))


def _counts(x: torch.Tensor, ndim: int) -> list[tuple[int, int]]:
    if bool(torch.any(x < 0)):
        raise ValueError("index can't contain negative values")
    pairs = [(before, after) for before, after in _util.integers(_pairs(x, ndim))]
    return pairs


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """How many elements go before and after each axis. Raises TypeError, ValueError."""
    if type(pad_width) is int and pad_width >= 0:
        return [(pad_width, pad_width)] * ndim
    if type(pad_width) is tuple and 0 < len(pad_width) == ndim and all(map(_is_pair, pad_width)):
        return list(pad_width)
    if isinstance(pad_width, dict):
        widths: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            widths[axis] = (width, width) if isinstance(width, int) else tuple(width)
        pad_width = widths
    try:
        width = _host.as_tensor(pad_width)
    except TypeError:
        raise TypeError("`pad_width` must be of integral type.") from None
    if width.dtype.is_floating_point or width.dtype.is_complex or width.dtype is torch.bool:
        raise TypeError("`pad_width` must be of integral type.")
    return _counts(width, ndim)


def _is_pair(width: Any) -> bool:
    """Whether these are two of Python's integers, none of them negative."""
    return type(width) is tuple and len(width) == 2 and all(type(n) is int and n >= 0 for n in width)


@public
def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """The array with elements added before and after along its axes.

    `pad_width` is one number, one pair (before, after), one pair for each axis, or a dict from axes to those. `mode`
    says what is added: "constant" (`constant_values=0`); "edge"; "linear_ramp" to `end_values=0`; "maximum",
    "minimum", "mean" or "median" of the `stat_length` outermost elements; "reflect" and "symmetric" about the edge,
    without and with it (`reflect_type="odd"` mirrors the values too); "wrap"; "empty" (undefined); or a function that
    fills each padded vector in place, called as `mode(vector, (before, after), axis, kwargs)`.
    Raises ValueError for an unknown mode or a keyword that it does not take, and where there is nothing to repeat.

    >>> np.pad([1, 2, 3], (1, 2), "reflect")
    array([2, 1, 2, 3, 2, 1])
    """
    widths = _widths(pad_width, array.ndim)
    if callable(mode):
        return _fill_by(mode, array, widths, kwargs)
    if mode not in _MODES:
        raise ValueError(f"mode '{mode}' is not supported")
    keyword = _MODES[mode]
    unsupported = set(kwargs) - ({keyword[0]} if keyword else set())
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    option = kwargs.get(*keyword) if keyword else None
    if mode not in ("constant", "empty"):
        for axis, width in enumerate(widths):
            if not array.shape[axis] and any(width):
                raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    if mode == "constant" and array.is_contiguous() and (made := _with_number(array, widths, option)) is not None:
        return made
    order = "C" if array.is_contiguous() or not _storage.is_column_major(array) else "F"
    padded = _padder(mode, option, array, widths)
    for axis, (before, after) in enumerate(widths):
        if before or after:
            array = padded(array, axis, before, after)
    return _storage.duplicate(array, order) if order == "F" or not any(map(any, widths)) else array


def _with_number(array: torch.Tensor, widths: list[tuple[int, int]], number: Any) -> torch.Tensor | None:
    """An array of numbers with one of Python's around it, by one call of torch; None for all others."""
    taken = _TAKEN.get(array.dtype)
    if taken is None or type(number) not in taken or not _util.are_numbers(array) or not any(map(any, widths)):
        return None
    if type(number) is int and not -dtypes_impl.WHOLE <= number <= dtypes_impl.WHOLE:
        return None
    return torch.constant_pad_nd(array, [n for pair in reversed(widths) for n in pair], number)


# The numbers that arrays take as they are.
_TAKEN = {torch.float64: (int, float), torch.int64: (int,)}

_Padder = Callable[[torch.Tensor, int, int, int], torch.Tensor]


def _padder(mode: str, option: Any, array: torch.Tensor, widths: list[tuple[int, int]]) -> _Padder:
    """The function (array, axis, before, after) that pads one axis in this mode."""
    if mode in _STATISTICS:
        return _statistic(mode, option, array.ndim)
    if mode in ("constant", "linear_ramp"):
        given = _host.as_tensor(option).to(array.device)
        values = _pairs(given, array.ndim)
        is_table = given.numel() > 2 or tuple(given.shape) == (2, 1)  # of which NumPy makes Python's numbers
        if mode == "constant":
            _check_fit(given, array.dtype, is_table)
            return _constant(values)
        if is_table:  # weak
            weak = _WEAK[dtypes_impl.kind(given.dtype)]
            values = values.to(dtypes_impl.common_dtype(array.dtype, weak))
        return _ramp(values)
    if mode in ("reflect", "symmetric"):
        if option not in ("even", "odd"):
            raise ValueError(f"reflect_type must be 'even' or 'odd', not {option!r}")
        if option == "odd":
            lengths = tuple(array.shape)
            return lambda x, axis, before, after: _reflect_odd(x, axis, before, after, lengths[axis], mode)
    if mode == "empty":
        zero = torch.zeros((), dtype=array.dtype, device=array.device)
        return lambda x, axis, before, after: _join(x, axis, _slab(zero, x, axis, before), _slab(zero, x, axis, after))
    return lambda x, axis, before, after: _select(mode, x, axis, before, after)


def _join(x: torch.Tensor, axis: int, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    return torch.cat([_util.cast(before, x.dtype), x, _util.cast(after, x.dtype)], axis)


def _slab(value: torch.Tensor, x: torch.Tensor, axis: int, width: int) -> torch.Tensor:
    """`value`, a number or a slice of `x` of length one, repeated along the axis."""
    shape = list(x.shape)
    shape[axis] = width
    return value.expand(shape)


def _check_fit(given: torch.Tensor, dtype: torch.dtype, are_pythons: bool) -> None:
    """Raise where a number does not become an element of integers: OverflowError out of their range, ValueError for
    nan. Of scalars only signed integers are read as Python's; unsigned ones wrap around."""
    if dtype not in (dtypes_impl.RANGES if are_pythons else _SIGNED) or dtypes_impl.can_cast(given.dtype, dtype):
        return
    if _util.are_numbers(given):
        for number in _util.numbers(given).reshape(-1).tolist():
            dtypes_impl.check_fits(int(number.real), dtype)


_SIGNED = frozenset({torch.int8, torch.int16, torch.int32, torch.int64})


def _constant(values: torch.Tensor) -> _Padder:
    def padded(x: torch.Tensor, axis: int, before: int, after: int) -> torch.Tensor:
        first, last = (_slab(values[axis, i], x, axis, n) for i, n in enumerate((before, after)))
        return _join(x, axis, first, last)

    return padded


def _ramp(ends: torch.Tensor) -> _Padder:
    def padded(x: torch.Tensor, axis: int, before: int, after: int) -> torch.Tensor:
        def ramp(end: torch.Tensor, edge: torch.Tensor, width: int) -> torch.Tensor:
            return creation_ranges_impl.linspace(end, edge, width, endpoint=False, dtype=x.dtype, axis=axis)

        first = ramp(ends[axis, 0], torch.select(x, axis, 0), before)
        last = ramp(ends[axis, 1], torch.select(x, axis, -1), after)
        return _join(x, axis, first, _storage.moved(torch.flip, last, (axis,)))

    return padded


def _statistic(mode: str, stat_length: Any, ndim: int) -> _Padder:
    lengths = None
    if stat_length is not None:
        given = _host.as_tensor(stat_length)
        given = torch.round(given).to(torch.int64) if given.dtype.is_floating_point else given
        lengths = _counts(given, ndim)
        if mode in ("maximum", "minimum") and any(n == 0 for pair in lengths for n in pair):
            raise ValueError("stat_length of 0 yields no value for padding")

    def padded(x: torch.Tensor, axis: int, before: int, after: int) -> torch.Tensor:
        size = x.shape[axis]
        left, right = (min(n, size) for n in lengths[axis]) if lengths else (size, size)

        def statistic(start: int, length: int) -> torch.Tensor:
            value = _STATISTICS[mode](torch.narrow(x, axis, start, length), axis=axis, keepdims=True)
            integers = not (x.dtype.is_floating_point or x.dtype.is_complex or x.dtype is torch.bool)
            return torch.round(value) if integers and value.dtype.is_floating_point else value

        first = statistic(0, left)
        last = first if left == right == size else statistic(size - right, right)
        return _join(x, axis, _slab(first, x, axis, before), _slab(last, x, axis, after))

    return padded


def _select(mode: str, x: torch.Tensor, axis: int, before: int, after: int) -> torch.Tensor:
    """The modes that repeat elements of the axis in some order."""
    size = x.shape[axis]
    place = torch.arange(-before, size + after, device=x.device)
    if mode == "wrap":
        place = torch.remainder(place, size)
    elif mode == "edge" or size == 1:
        place = place.clamp(0, size - 1)
    else:  # there and back again
        period = 2 * size if mode == "symmetric" else 2 * size - 2
        place = torch.remainder(place, period)
        place = torch.minimum(place, (period - 1 if mode == "symmetric" else period) - place)
    return _storage.moved(torch.index_select, x, axis, place)


def _reflect_odd(x: torch.Tensor, axis: int, before: int, after: int, size: int, mode: str) -> torch.Tensor:
    """Reflect the values about the edge's value as well, over as many whole periods at a time as there are."""
    if size == 1:
        return _select("edge", x, axis, before, after)
    dtype = x.dtype
    edge = 0 if mode == "symmetric" else 1  # how many elements of the edge are not repeated
    period = size - edge
    x = _storage.signed(x)  # sums and differences modulo 2**n are those of the signed integers
    while before or after:
        whole = (x.shape[axis] - edge) // period * period
        left, right = min(before, whole), min(after, whole)
        first = torch.narrow(x, axis, edge, left)
        last = torch.narrow(x, axis, x.shape[axis] - edge - right, right)
        first = _mirrored(torch.flip(first, (axis,)), torch.narrow(x, axis, 0, 1))
        last = _mirrored(torch.flip(last, (axis,)), torch.narrow(x, axis, x.shape[axis] - 1, 1))
        x = torch.cat([first, x, last], axis)
        before, after = before - left, after - right
    return _storage.seen_as(x, dtype)


def _mirrored(chunk: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
    if chunk.dtype is torch.bool:
        return 2 * edge.to(torch.int8) != chunk.to(torch.int8)
    return 2 * edge - chunk


def _fill_by(
    function: Callable[..., Any], array: torch.Tensor, widths: list[tuple[int, int]], kwargs: dict[str, Any]
) -> torch.Tensor:
    """Padding by a function of the caller, which gets every vector along every axis in turn and changes it."""
    zero = torch.zeros((), dtype=array.dtype, device=array.device)
    padded = array.clone()
    for axis, (before, after) in enumerate(widths):
        padded = _join(padded, axis, _slab(zero, padded, axis, before), _slab(zero, padded, axis, after))
    for axis, width in enumerate(widths):
        lines = torch.movedim(padded, axis, -1)
        for place in itertools.product(*map(range, lines.shape[:-1])):
            function(_host.as_array(lines[place]), width, axis, kwargs)
    return padded
