"""The law of ordinary calls that take numbers apart, or move their exponents: modf, frexp and ldexp, of a handful of
numbers on the host, where Python computes what they give to the bit."""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.of_few import listed, multiplier, repeated, shares_of_few, slope_of_number, tensor_of, vector
from npdec._law.ordinary import built, is_ordinary, number_in, number_of
from npdec._law.ordinary_steps import condition_of
from npdec._law.secant import KEPT

__all__ = ["fraction_and_whole", "mantissa_and_exponent", "moved_exponent", "parts_of_torch"]

Function = Callable[..., Any]
Ends = tuple[list[float], list[float]]
_MOST = 2**12  # exponents that Python takes


def _ends_of(args: Sequence[Any], count: int) -> Ends | None:
    """The numbers of the first of so many arguments at the value and at the residual, if it is an ordinary one of a
    handful that are finite; else None."""
    x: Any = args[0] if len(args) == count else None
    number = number_in(x) if settings.get().rule == "affine" else None
    if number is not None:
        return ([number[0]], [number[1]]) if math.isfinite(number[0]) and math.isfinite(number[1]) else None
    if not is_ordinary(x) or settings.get().rule != "affine":
        return None
    value, residual = x.value, x.residual
    if not value.is_cpu or not 0 < value.numel() <= HANDFUL or not 0 < len(x.labels) <= HANDFUL:
        return None
    if not value.is_contiguous():  # as which the results lie
        return None
    if value.requires_grad or residual.requires_grad or x.components.requires_grad:
        return None
    ends = listed(value), listed(residual)
    return ends if all(map(math.isfinite, (*ends[0], *ends[1]))) else None


def _by_secants(x: DecomposedTensor, ends: Ends, made: Ends, slopes: Sequence[float]) -> Any:
    """What has moved from one to the other of what was `made`, by the secants; `slopes` are those on the pieces on
    which both ends lie, NaN where they do not."""
    like, found = x.value, []
    for u, w, after, before, slope in zip(*ends, *made, slopes, strict=True):
        one = slope_of_number(None, partial(_on_a_piece, slope), 0, KEPT, u, w, after, before, like.dtype)
        if one is None:
            return NotImplemented
        found.append(one)
    if not like.ndim:
        components = [c * found[0] for c in x.components.tolist()]
        return number_of(made[0][0], made[1][0], components, x.labels, like.dtype)
    value, residual = (tensor_of(numbers, like) for numbers in made)
    return built(value, residual, x.components * tensor_of(found, like), x.labels)


def _on_a_piece(slope: float, x: float, r: float, step: float) -> float:
    return slope


def fraction_and_whole(func: Function, args: Sequence[Any]) -> Any:
    """np.modf."""
    ends = _ends_of(args, 1)
    if ends is None:
        return NotImplemented
    x, (after, before) = args[0], ([math.modf(number) for number in numbers] for numbers in ends)
    fractions, wholes = [([pair[i] for pair in after], [pair[i] for pair in before]) for i in (0, 1)]
    slopes = [1.0 if a == b else math.nan for a, b in zip(*wholes, strict=True)]
    made = _by_secants(x, ends, fractions, slopes), _by_secants(x, ends, wholes, [0.0] * len(slopes))
    return NotImplemented if any(part is NotImplemented for part in made) else made


def mantissa_and_exponent(func: Function, args: Sequence[Any]) -> Any:
    """np.frexp."""
    ends = _ends_of(args, 1)
    if ends is None or settings.get().frozen_conditions:
        return NotImplemented
    x, (after, before) = args[0], ([math.frexp(number) for number in numbers] for numbers in ends)
    mantissas = [pair[0] for pair in after], [pair[0] for pair in before]
    exponents = [pair[1] for pair in after], [pair[1] for pair in before]
    slopes = [
        math.ldexp(1.0, -e) if e == f and u and w and abs(e) < 1000 else math.nan
        for e, f, u, w in zip(*exponents, *ends, strict=True)
    ]
    first = _by_secants(x, ends, mantissas, slopes)
    if not x.value.ndim:
        return NotImplemented if first is NotImplemented else _with_exponent(x, first, *exponents, *ends)
    jumps, steps = [[a - b for a, b in zip(*pair, strict=True)] for pair in (exponents, ends)]
    sizes = [abs(a) + abs(b) for a, b in zip(*ends, strict=True)]
    shares = shares_of_few(jumps, steps, x.components, x.value, sizes)
    if first is NotImplemented or shares is None:
        return NotImplemented
    value, residual = (_whole(its, x.value) for its in exponents)
    return first, condition_of(value, residual, shares, x.labels)


def parts_of_torch(func: Function, args: Sequence[Any]) -> Any:
    """torch.frexp."""
    made = mantissa_and_exponent(func, args)
    return made if made is NotImplemented else torch.return_types.frexp(made)


def _with_exponent(x: Any, first: Any, now: Any, before: Any, ends: Any, starts: Any) -> Any:
    """The mantissa of a number, and its exponent."""
    column, step = x.components.tolist(), ends[0] - starts[0]
    size = abs(ends[0]) + abs(starts[0])
    weight = multiplier(now[0] - before[0], step, column, x.value.dtype, size)
    if weight is None:
        return NotImplemented
    value, residual = (torch.scalar_tensor(its[0], dtype=torch.int32) for its in (now, before))
    made = number_of(value, residual, [c * weight for c in column], x.labels, x.value.dtype)
    made.discrete = True
    return first, made


def _whole(numbers: list[int], like: torch.Tensor) -> torch.Tensor:
    """Whole numbers in the shape of a tensor."""
    return torch.frombuffer(array.array("i", numbers), dtype=torch.int32).reshape(like.shape)


def moved_exponent(func: Function, args: Sequence[Any]) -> Any:
    """np.ldexp, by plain exponents; where one leaves the range of normal numbers, something may have to be said."""
    ends = _ends_of(args, 2)
    if ends is None:
        return NotImplemented
    x, given = args
    if type(given) is not int and (type(given) is not torch.Tensor or given.is_complex()):
        return NotImplemented
    moves = repeated(given, x.value)
    if moves is None or any(not -_MOST <= k <= _MOST or k != int(k) for k in moves):
        return NotImplemented
    alone, components = not x.value.ndim, x.components
    parts = [[c] for c in components.tolist()] if alone else components.reshape(len(x.labels), -1).tolist()
    rows, info = (*ends, *parts), torch.finfo(x.value.dtype)
    try:
        made = [[math.ldexp(a, int(k)) for a, k in zip(row, moves, strict=True)] for row in rows]
    except OverflowError:
        return NotImplemented
    for row, moved in zip(rows, made, strict=True):
        if not all(info.tiny <= abs(b) <= info.max if a else not b for a, b in zip(row, moved, strict=True)):
            return NotImplemented
    if alone:
        return number_of(made[0][0], made[1][0], [row[0] for row in made[2:]], x.labels, x.value.dtype)
    value, residual = (tensor_of(numbers, x.value) for numbers in made[:2])
    components = vector([c for row in made[2:] for c in row], x.value.dtype)
    return built(value, residual, components.reshape(x.components.shape), x.labels)
