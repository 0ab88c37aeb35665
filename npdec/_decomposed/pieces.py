"""Functions of each element alone, computed for a part of the elements at a time.

The slope of such a function takes a dozen tensors of the size of the value. Beside dense components these are nothing;
beside entries, of which there are one or two for each element, they would be most of the memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.containers import refilled
from npdec._decomposed.components import Components, Use
from npdec._decomposed.kept_components import stand_in
from npdec._decomposed.registry import Trait, traits_of
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util

__all__ = ["in_pieces"]

_LEAST = 2**12  # elements of a piece, at the least
_MOST = 12  # pieces
_ALIGNED = 64  # elements: vector instructions meet the same ones together as in one piece


def _is_elementwise(func: Any, rule: Any) -> bool:
    rule = rule.inner or rule  # that of a function with an argument `inplace` is within another
    traits = traits_of(func)  # sums and casts take no memory but their own
    return rule.elementwise or bool(traits & Trait.ELEMENTWISE and not traits & (Trait.ARITHMETIC | Trait.EACH))


def in_pieces(rule: Callable[..., Any], func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What the rule answers, in pieces along an axis that are put together; None if the call is no such one, or gives
    components that do not lie in memory as the elements do."""
    if not _is_elementwise(func, rule):
        return None
    given: dict[int, Components] = {}
    shapes: list[torch.Size] = []
    reverse = False
    for arg in (*args, *kwargs.values()):
        if type(arg) is DecomposedTensor:
            found = None if arg.reverse else stand_in(arg)
            if found is not None and found.tensors() is not None:
                given[id(arg)] = found
            elif arg.reverse:
                reverse = True
            else:  # blocks are left as they are
                return None
        if isinstance(arg, torch.Tensor):
            shapes.append(_plain(arg).shape)
    shape = _util.broadcast_shapes(*shapes)
    if math.prod(shape) < 2 * _LEAST:
        return None
    size, axis = math.prod(shape), max(range(len(shape)), key=shape.__getitem__)
    n = shape[axis]
    step = max(-(-n // _MOST), _LEAST * n // size, 1)
    step = min(-(-step // _ALIGNED) * _ALIGNED, n)

    def piece(arg: Any, start: int) -> Any:
        if not isinstance(arg, torch.Tensor):
            return arg
        plain = _plain(arg)
        own = axis - len(shape) + plain.ndim
        if own < 0 or plain.shape[own] == 1:
            return arg
        length = min(step, n - start)
        if type(arg) is not DecomposedTensor:
            return arg.narrow(own, start, length)
        value, residual = (part.narrow(own, start, length) for part in (arg.value, arg.residual))
        if arg.reverse:
            cut: Any = arg.components.narrow(own + 1, start, length)
        else:
            its = given[id(arg)]
            cut = its.of_tensors([part.narrow(own + 1, start, length) for part in its.tensors() or ()])
        return DecomposedTensor(value, residual, cut, arg.labels, arg.reverse)

    made: list[list[DecomposedTensor]] = []
    value: Any = None
    with _util.saying_once():
        for start in range(0, n, step):
            answer = rule(
                func, [piece(arg, start) for arg in args], {k: piece(arg, start) for k, arg in kwargs.items()}
            )
            items = list(answer) if isinstance(answer, tuple) else [answer]
            if not all(_is_in_tensors(item, reverse) for item in items):
                return None
            made.append(items)
            if not start:  # before there are more of the pieces, as its own steps take memory too
                value = func(*map(_plain, args), **{key: _plain(arg) for key, arg in kwargs.items()})
    each = [list(pieces) for pieces in zip(*made, strict=True)]
    made.clear()
    if not isinstance(value, tuple):
        return _together(value, each[0], axis, given)
    joined = [_together(v, pieces, axis, given) for v, pieces in zip(value, each, strict=True)]
    return refilled(value, joined)


def _plain(arg: Any) -> Any:
    return arg.value if type(arg) is DecomposedTensor else arg


def _is_in_tensors(item: Any, reverse: bool) -> bool:
    if type(item) is not DecomposedTensor or item.reverse is not reverse:
        return False
    found: Any = None if "components" in vars(item) else item.kept
    return reverse or (found is not None and bool(found.uses & Use.LAW) and found.tensors() is not None)


def _together(
    value: torch.Tensor, pieces: list[DecomposedTensor], axis: int, given: dict[int, Components]
) -> DecomposedTensor:
    first, residuals = pieces[0], [piece.residual for piece in pieces]
    labels, reverse = first.labels, first.reverse
    parts: list[Any] = [piece.components if reverse else piece.kept for piece in pieces]
    del first
    pieces.clear()  # what is put together is not needed any more
    residual = _joined(residuals, axis).expand(value.shape)
    residuals.clear()
    if reverse:
        return DecomposedTensor(value, residual, torch.cat(parts, axis + 1), labels, True)
    kind = type(parts[0])
    return DecomposedTensor(value, residual, kind.joined(parts, axis + 1, list(given.values())), labels)


def _joined(parts: Sequence[torch.Tensor], axis: int) -> torch.Tensor:
    """The parts beside each other; one of them, if they are the same and repeat their first row along the axis."""
    first, *others = parts = [_row_once(part, axis) for part in parts]
    if not first.stride(axis):
        row = first.narrow(axis, 0, 1)
        if all(torch.equal(row, other.narrow(axis, 0, 1)) and not other.stride(axis) for other in others):
            return row
    return torch.cat(list(parts), axis)


def _row_once(part: torch.Tensor, axis: int) -> torch.Tensor:
    """The part, its first row along the axis expanded if all are equal to the bit: a baseline of one number need not
    lie in memory as often as there are elements."""
    row = part.narrow(axis, 0, 1)
    if not part.stride(axis) or not torch.equal(part, row.expand(part.shape)):
        return part
    if part.is_floating_point() and bool((torch.signbit(part) != torch.signbit(row)).any()):
        return part
    return row.clone().expand(part.shape) if not part.is_complex() else part
