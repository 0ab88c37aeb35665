"""Between which numbers integers and booleans of a recording lie, whatever the function is given.

An index that was masked, clipped or made of a range needs no look at its numbers: what Python asks for has one answer,
and neither is a condition of the graph nor computed by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from npdec._jit.operations import is_view

__all__ = ["Bounds"]

Span = tuple[int, int]  # the least and the largest number there may be
Of = Callable[[Any], "Span | None"]  # the span of an argument, None of what is no integer
Rule = Callable[[Any, Any, Of, int], "Span | None"]  # of the arguments of an operation, and the place among its results

_FEW = 4096  # numbers of a constant


class Bounds:
    """The spans of the tensors of one recording. `epoch` says how often the memory of a tensor has been written."""

    def __init__(self, epoch: Callable[[torch.Tensor], int]) -> None:
        self._epoch = epoch
        self._spans: dict[int, tuple[Span, int]] = {}

    def of(self, value: Any) -> Span | None:
        """Between which numbers a tensor or a number lies, None if it is no integer."""
        if isinstance(value, (bool, int)):
            return int(value), int(value)
        if not isinstance(value, torch.Tensor) or value.dtype.is_floating_point or value.dtype.is_complex:
            return None
        span, epoch = self._spans.get(id(value), ((0, 0), -1))
        return span if epoch == self._epoch(value) else _limits(value.dtype)

    def note(self, tensor: torch.Tensor, span: Span) -> None:
        """The span of a tensor as it is now."""
        self._spans[id(tensor)] = span, self._epoch(tensor)

    def note_numbers(self, tensor: torch.Tensor, numbers: torch.Tensor) -> None:
        """The numbers of a constant."""
        if 0 < numbers.numel() <= _FEW and not numbers.dtype.is_floating_point and not numbers.dtype.is_complex:
            with _disable_current_modes():
                found = numbers.flatten().tolist()
            self.note(tensor, (int(min(found)), int(max(found))))

    def made(self, func: Any, args: Any, kwargs: Any, results: list[Any]) -> list[Span | None]:
        """The spans of the results of an operation, before anything is written: None for what is not known."""
        if func._schema.is_mutable and not func.overloadpacket.__name__.endswith("_"):
            return [None] * len(results)
        return [self._made(func, args, kwargs, result, part) for part, result in enumerate(results)]

    def _made(self, func: Any, args: Any, kwargs: Any, result: Any, part: int) -> Span | None:
        if not isinstance(result, torch.Tensor) or result.dtype.is_floating_point or result.dtype.is_complex:
            return None
        name = func.overloadpacket.__name__.removesuffix("_")
        rule = _RULES.get(name)
        if rule is None and (name in _SAME or (is_view(func) and name not in _OTHER_VIEWS)):
            rule = _first
        if rule is None or not result.numel():
            return None
        found, (low, top) = rule(args, kwargs, self.of, part), _limits(result.dtype)
        # What is beyond the limits of integers begins anew at their other end.
        return found if found is not None and low <= found[0] <= found[1] <= top and found != (low, top) else None


def _limits(dtype: torch.dtype) -> Span:
    if dtype is torch.bool:
        return 0, 1
    info = torch.iinfo(dtype)
    return info.min, info.max


# Functions of which each element of the result is one of the first argument, as for most views.
_SAME = frozenset(
    "clone contiguous _to_copy index index_select gather roll flip amin amax aminmax repeat _unsafe_view "
    "_unsafe_index take reshape lift_fresh_copy".split()
)
_OTHER_VIEWS = frozenset({"view", "as_strided"})  # of other elements, or as another dtype


def _first(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    return of(args[0])


def _view(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    return None if isinstance(args[1], torch.dtype) else of(args[0])


def _known(rule: Callable[[Span, Span], Span | None]) -> Rule:
    def of_two(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
        a, b = of(args[0]), of(args[1])
        return None if a is None or b is None else rule(a, b)

    return of_two


def _corners(function: Callable[[int, int], int]) -> Rule:
    def of_corners(a: Span, b: Span) -> Span:
        found = [function(x, y) for x in a for y in b]
        return min(found), max(found)

    return _known(of_corners)


def _added(sign: int) -> Rule:
    def added(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
        a, b, times = of(args[0]), of(args[1]), kwargs.get("alpha", args[2] if len(args) > 2 else 1)
        if a is None or b is None or not isinstance(times, int):
            return None
        one, other = sign * times * b[0], sign * times * b[1]
        return a[0] + min(one, other), a[1] + max(one, other)

    return added


def _and(a: Span, b: Span) -> Span | None:
    if a[0] == a[1] and b[0] == b[1]:
        return a[0] & b[0], a[0] & b[0]
    tops = [span[1] for span in (a, b) if span[0] >= 0]
    return (0, min(tops)) if tops else None


def _bits(function: Callable[[int, int], int], least: Callable[[Span, Span], int]) -> Rule:
    def of_bits(a: Span, b: Span) -> Span | None:
        if a[0] == a[1] and b[0] == b[1]:
            return function(a[0], b[0]), function(a[0], b[0])
        return (least(a, b), (1 << max(a[1], b[1]).bit_length()) - 1) if min(a[0], b[0]) >= 0 else None

    return _known(of_bits)


def _left(a: Span, b: Span) -> Span | None:
    return (min(a[0] << b[0], a[0] << b[1]), max(a[1] << b[0], a[1] << b[1])) if 0 <= b[0] <= b[1] < 64 else None


def _right(a: Span, b: Span) -> Span | None:
    return (min(a[0] >> b[0], a[0] >> b[1]), max(a[1] >> b[0], a[1] >> b[1])) if 0 <= b[0] <= b[1] < 64 else None


def _remainder(a: Span, b: Span) -> Span | None:
    if b[1] < 0:
        return b[0] + 1, 0
    if b[0] <= 0:
        return None
    return a if 0 <= a[0] and a[1] < b[0] else (0, b[1] - 1)


def _divided(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    a, b = of(args[0]), of(args[1])
    if a is None or b is None or b[0] <= 0 or (a[0] < 0 and kwargs.get("rounding_mode", "floor") != "floor"):
        return None
    return min(a[0] // b[0], a[0] // b[1]), max(a[1] // b[0], a[1] // b[1])


def _compared(is_sure: Callable[[Span, Span], bool], is_out: Callable[[Span, Span], bool]) -> Rule:
    return _known(lambda a, b: (1, 1) if is_sure(a, b) else (0, 0) if is_out(a, b) else None)


def _are_one(a: Span, b: Span) -> bool:
    return a[0] == a[1] == b[0] == b[1]


def _are_apart(a: Span, b: Span) -> bool:
    return a[1] < b[0] or b[1] < a[0]


def _union(spans: list[Span | None]) -> Span | None:
    known = [span for span in spans if span is not None]
    return (min(a for a, _ in known), max(b for _, b in known)) if known and len(known) == len(spans) else None


def _joined(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    return _union([of(one) for one in args[0]])


def _chosen(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    chooses = of(args[0])
    return of(args[1]) if chooses == (1, 1) else of(args[2]) if chooses == (0, 0) else _union([*map(of, args[1:3])])


def _clamped(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    found = of(args[0])
    for i, (name, choose) in enumerate((("min", max), ("max", min)), 1):
        limit = args[i] if len(args) > i else kwargs.get(name)
        if limit is not None:
            span = of(limit)
            if found is None or span is None:
                return None
            found = choose(found[0], span[0]), choose(found[1], span[1])
    return found


def _filled(place: int) -> Rule:
    return lambda args, kwargs, of, part: of(args[place])


def _number(number: int) -> Rule:
    return lambda args, kwargs, of, part: (number, number)


def _range(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    steps = range(*args) if all(type(arg) is int for arg in args) else ()
    return (min(steps[0], steps[-1]), max(steps[0], steps[-1])) if steps else None


def _places(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    """Of positions along an axis, or among all elements."""
    axis = args[1] if len(args) > 1 else kwargs.get("dim")
    return 0, (args[0].numel() if axis is None else _length(args[0], axis)) - 1


def _ordered(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    """Of elements, and of their positions along an axis."""
    if len(args) > 1 and isinstance(args[1], torch.Tensor):
        return None
    if part == 0:
        return of(args[0])
    return 0, _length(args[0], args[1] if len(args) > 1 else kwargs.get("dim", -1)) - 1


def _length(tensor: torch.Tensor, axis: int) -> int:
    return tensor.shape[axis] if tensor.dim() else 1


def _searched(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
    return 0, args[0].shape[-1]


def _truth(a: Span) -> Span:
    return int(a[0] > 0 or a[1] < 0), int(a != (0, 0))


def _one(rule: Callable[[Span], Span]) -> Rule:
    def of_one(args: Any, kwargs: Any, of: Of, part: int) -> Span | None:
        a = of(args[0])
        return None if a is None else rule(a)

    return of_one


_least = _known(lambda a, b: (min(a[0], b[0]), min(a[1], b[1])))
_largest = _known(lambda a, b: (max(a[0], b[0]), max(a[1], b[1])))

_RULES: dict[str, Rule] = {
    "bitwise_and": _known(_and), "bitwise_or": _bits(int.__or__, lambda a, b: max(a[0], b[0])),
    "bitwise_xor": _bits(int.__xor__, lambda a, b: 0), "bitwise_left_shift": _known(_left),
    "bitwise_right_shift": _known(_right), "remainder": _known(_remainder), "floor_divide": _divided, "div": _divided,
    "add": _added(1), "sub": _added(-1), "mul": _corners(int.__mul__), "minimum": _least, "maximum": _largest,
    "clamp": _clamped, "clamp_min": _largest, "clamp_max": _least,
    "abs": _one(lambda a: (max(a[0], -a[1], 0), max(abs(a[0]), abs(a[1])))), "neg": _one(lambda a: (-a[1], -a[0])),
    "any": _one(_truth), "all": _one(_truth),
    "lt": _compared(lambda a, b: a[1] < b[0], lambda a, b: a[0] >= b[1]),
    "le": _compared(lambda a, b: a[1] <= b[0], lambda a, b: a[0] > b[1]),
    "gt": _compared(lambda a, b: a[0] > b[1], lambda a, b: a[1] <= b[0]),
    "ge": _compared(lambda a, b: a[0] >= b[1], lambda a, b: a[1] < b[0]),
    "eq": _compared(_are_one, _are_apart), "ne": _compared(_are_apart, _are_one),
    "logical_not": _one(lambda a: (1 - a[1], 1 - a[0])), "cat": _joined, "stack": _joined, "where": _chosen,
    "full": _filled(1), "full_like": _filled(1), "new_full": _filled(2), "fill": _filled(1), "copy": _filled(1),
    "scalar_tensor": _filled(0), "zero": _number(0), "zeros": _number(0), "zeros_like": _number(0),
    "new_zeros": _number(0), "ones": _number(1), "ones_like": _number(1), "arange": _range, "argmax": _places,
    "argmin": _places, "sort": _ordered, "max": _ordered, "min": _ordered, "searchsorted": _searched, "view": _view,
}  # fmt: skip
