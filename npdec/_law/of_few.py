"""The slopes of pointwise functions, and the shares of jumps and of the larger of two, of a handful of numbers: on the
host, sooner than one call of torch for each step.

They are found as `npdec._law.secant` and `npdec._law.ordinary_choices` find them, which find the others: where a number
is not finite, or something has to be said of a slope, or a difference has lost digits and there is no closed form.
"""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import torch

from npdec._decomposed.registry import Trait
from npdec._decomposed.size_warnings import STEEP, STEEPEST
from npdec._impl import slopes_impl
from npdec._law.all_components import current as chunk
from npdec._law.all_components import need_all
from npdec._law.close_of_few import Close

__all__ = [
    "CLOSED", "FEW", "LONGEST", "POLYNOMIALS", "RANGE", "ROUNDINGS", "all_listed", "larger_of_few", "larger_of_two",
    "listed", "multiplier", "multipliers", "polynomial_slope", "power_of_few", "repeated", "shares_of_few",
    "slope_of_number", "slopes_of_few", "tensor_of", "vector", "with_axes",
]  # fmt: skip

Numbers = Sequence[float]
Means = Callable[[list[list[float]]], list[float] | None]  # the mean derivatives of some x, r, f(x) and f(r)
FEW = 64  # components of all elements that Python goes through sooner than torch
ROUNDINGS = 32  # between a step and the sum of its components (npdec._law.jumps)
LONGEST = 2.0**40  # steps up to which the pieces of a piecewise linear function are looked at here
POLYNOMIALS = (2, 3, 4)  # exponents of powers whose slopes are polynomials
_CPU = torch.device("cpu")
_CODES = {torch.float64: "d", torch.float32: "f"}


def _range(dtype: torch.dtype) -> tuple[float, float, float, float]:
    info = torch.finfo(dtype)
    return info.tiny, info.tiny / info.eps, STEEPEST.get(dtype, STEEP), info.max


RANGE = {dtype: _range(dtype) for dtype in (torch.float32, torch.float64)}
_EPS = {dtype: torch.finfo(dtype).eps for dtype in RANGE}


def _sigmoid(step: float, fx: float, fr: float) -> float:
    return (math.tanh(step / 2) / step if step else 0.5) * (fx * (1 - fr) + fr * (1 - fx))


def _tanh(step: float, fx: float, fr: float) -> float:
    return (math.tanh(step) / step if step else 1.0) * (1 - fx * fr)


Function = Callable[..., Any]

# The closed forms of slopes.
CLOSED: dict[Any, Callable[[float, float, float], float]] = {
    slopes_impl.sigmoid: _sigmoid,
    slopes_impl.tanh: _tanh,
}


def listed(x: torch.Tensor) -> list[float]:
    """The numbers, in row-major order."""
    if x.ndim == 1:
        made: list[float] = x.tolist()
        return made
    if x.ndim == 2:
        return list(chain.from_iterable(x.tolist()))  # sooner than to make it one row, which may be a copy
    return x.reshape(-1).tolist() if x.ndim else [x.item()]


def vector(numbers: list[float], dtype: torch.dtype) -> torch.Tensor:
    """The numbers, of which there are some, as a vector on the host: in a third of the time that torch.tensor takes."""
    return torch.frombuffer(array.array(_CODES[dtype], numbers), dtype=dtype)


def tensor_of(numbers: list[float], like: torch.Tensor) -> torch.Tensor:
    """The numbers in the dtype and shape of a tensor on the host."""
    if not like.ndim:
        return torch.scalar_tensor(numbers[0], dtype=like.dtype, device=_CPU)
    made = vector(numbers, like.dtype)
    return made if like.ndim == 1 else made.reshape(like.shape)


def power_of_few(exponent: object, x: torch.Tensor, r: torch.Tensor) -> torch.Tensor | None:
    """The slopes of a small whole power, as `slopes_impl.power` finds them; None if one is not finite."""
    slopes = [polynomial_slope(exponent, u, w, x.dtype) for u, w in zip(listed(x), listed(r), strict=True)]
    found = [slope for slope in slopes if slope is not None]
    return tensor_of(found, x) if len(found) == len(slopes) else None


def polynomial_slope(exponent: object, x: float, r: float, dtype: torch.dtype) -> float | None:
    """The same of one number."""
    slope = x + r if exponent == 2 else x * (x + r) + r * r if exponent == 3 else (x + r) * (x * x + r * r)
    greatest = RANGE[dtype][3]
    return slope if -greatest <= slope <= greatest else None


def slopes_of_few(
    closed: Any,
    close: Close | None,
    traits: int,
    kept: float,
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    means: Means | None = None,
) -> torch.Tensor | None:
    """The slopes of a function between r and x, of one shape: by the closed form that it has, or the secants; where
    these have lost digits, by that of slopes between `close` numbers, if there is one, or the `means` of the
    derivative. None where one of the slopes is not to be found so."""
    dtype = x.dtype
    if dtype not in RANGE or not x.is_cpu or fx.requires_grad or fr.requires_grad:
        return None
    form = None if closed is None else CLOSED[closed]
    slopes = _slopes(form, close, traits, kept, (listed(x), listed(r), listed(fx), listed(fr)), dtype, means)
    return None if slopes is None else tensor_of(slopes, x)


def slope_of_number(
    form: Callable[[float, float, float], float] | None,
    close: Close | None,
    traits: int,
    kept: float,
    x: float,
    r: float,
    fx: float,
    fr: float,
    dtype: torch.dtype,
) -> float | None:
    """The same of one number."""
    found = _slopes(form, close, traits, kept, ((x,), (r,), (fx,), (fr,)), dtype)
    return None if found is None else found[0]


def _slopes(
    form: Callable[[float, float, float], float] | None,
    close: Close | None,
    traits: int,
    kept: float,
    ends: Sequence[Numbers],
    dtype: torch.dtype,
    means: Means | None = None,
) -> list[float] | None:
    """The same of a few. A difference d of a and b has its digits where `kept` d² is not less than a b."""
    tiny, least, most, _ = RANGE[dtype]
    slopes: list[float] = []
    left: list[tuple[int, float, float, float, float]] = []
    for x, r, fx, fr in zip(*ends, strict=True):
        step, difference = x - r, fx - fr
        slope = difference / step if step else 0.0
        try:
            if form is not None:
                slope = form(step, fx, fr)
                known = least < slope < math.inf
            elif traits & Trait.PIECEWISE_LINEAR and step:
                known = -LONGEST < step < LONGEST and -most <= slope <= most
            elif (
                step
                and tiny + fx * fr <= kept * difference * difference
                and (not traits & Trait.COARSE or x * r <= kept * step * step)
            ):
                known = least <= abs(slope) <= most
            elif step and x == -r and not difference:  # of an even function
                known = True
            elif not abs(difference) < math.inf or (close is None and means is None):
                known = False
            elif close is None:
                known = True
                left.append((len(slopes), x, r, fx, fr))
            else:
                found = close(x, r, step or tiny**0.5)
                if not step or abs(found - slope) <= 16 * _EPS[dtype] * (abs(fx) + abs(fr)) / abs(step):
                    slope = found
                known = least <= abs(slope) <= most or not (slope or difference)
        except (ArithmeticError, ValueError):
            return None
        if not known:
            return None
        slopes.append(slope)
    if left and means is not None:
        others = means([ends for _, *ends in left])
        if others is None or not all(least <= abs(slope) <= most or not slope for slope in others):
            return None
        for (place, *_), slope in zip(left, others, strict=True):
            slopes[place] = slope
    return slopes


def repeated(end: Any, like: torch.Tensor) -> Numbers | None:
    """The elements of a tensor of the shape of another, on the host; of a number, or a tensor of one element, that one,
    so often. None of another tensor, and of one that has a graph."""
    if not isinstance(end, torch.Tensor):
        return [float(end)] * like.numel()
    if end.requires_grad or not end.is_cpu:
        return None
    if end.shape == like.shape:
        return listed(end)
    return [end.item()] * like.numel() if end.numel() == 1 else None


def all_listed(
    ends: Sequence[Any], components: Sequence[torch.Tensor | None], like: torch.Tensor
) -> list[Numbers] | None:
    """The numbers of each (`repeated`), where there are few, with few components, and no graph; else None."""
    if not 0 < like.numel() <= FEW:
        return None
    for its in components:
        if its is not None and (its.requires_grad or not 0 < its.numel() <= FEW):
            return None
    made = [numbers for end in ends if (numbers := repeated(end, like)) is not None]
    return made if len(made) == len(ends) else None


def shares_of_few(
    jumps: Numbers, steps: Numbers, components: torch.Tensor, like: torch.Tensor, sizes: Numbers | None = None
) -> torch.Tensor | None:
    """What each component has of the jump of its element, as `npdec._law.jumps` shares it: components of a tensor like
    this one, which add up to the steps and do not cancel. None of others. `sizes` are given if the function moves
    beside its jumps as well."""
    count = components.shape[0]
    if sizes is None and not any(jumps):
        return components.new_zeros((count, *like.shape))
    if not like.ndim:
        alone = multipliers(jumps, steps, [components.tolist()], components.dtype, sizes)
        return None if alone is None else components * alone[0]
    whole = components if components.numel() == count * like.numel() else components.expand(count, *like.shape)
    rows = (whole if like.ndim < 2 else whole.reshape(count, -1)).tolist()
    made = multipliers(jumps, steps, list(zip(*rows, strict=True)), components.dtype, sizes)
    if made is None:
        return None
    shares = vector(made, components.dtype)
    return components * (shares if like.ndim == 1 else shares.reshape(like.shape))


def multipliers(
    jumps: Numbers, steps: Numbers, columns: Sequence[Numbers], dtype: torch.dtype, sizes: Numbers | None
) -> list[float] | None:
    """What the components of each element, a column, are multiplied with (`shares_of_few`)."""
    if chunk.get() is not None:
        need_all()
    rounding, digits, least, most, greatest = _LIMITS[dtype]
    made: list[float] = []
    for i, column in enumerate(columns):
        jump, total, gross = jumps[i], sum(column), sum(map(abs, column))
        if not gross < math.inf:  # or NaN
            return None
        known = abs(steps[i] - total) <= rounding * gross and abs(total) > digits * gross
        if sizes is not None and len(column) == 1:
            known = known and abs(total) > rounding * sizes[i]
        if jump:
            found = jump / total if known else 0.0
            if not (least <= abs(found) <= most and abs(found) * gross < greatest):
                return None
            made.append(found)
        elif known or sizes is None or not gross:
            made.append(0.0)
        else:
            return None
    return made


def multiplier(jump: float, step: float, column: Numbers, dtype: torch.dtype, size: float | None) -> float | None:
    """The same of one number."""
    made = multipliers((jump,), (step,), (column,), dtype, None if size is None else (size,))
    return None if made is None else made[0]


def _limits(dtype: torch.dtype) -> tuple[float, ...]:
    info = torch.finfo(dtype)
    return ROUNDINGS * info.eps, max(1 / STEEP, info.eps**0.5), info.tiny / info.eps, info.max * info.eps, info.max


_LIMITS = {dtype: _limits(dtype) for dtype in (torch.float32, torch.float64)}


def larger_of_few(sign: int, ends: Sequence[Numbers]) -> tuple[list[float], list[float]] | None:
    """What the components of both arguments of a maximum (sign 1) or minimum (−1) are multiplied with: the part of the
    path on which each is the larger. None where that is not finite."""
    shares: tuple[list[float], list[float]] = [], []
    for x, y, r, s in zip(*ends, strict=True):
        found = larger_of_two(sign, x, y, r, s)
        if found is None:
            return None
        shares[0].append(found[0])
        shares[1].append(found[1])
    return shares


def larger_of_two(sign: int, x: float, y: float, r: float, s: float) -> tuple[float, float] | None:
    """The same of x and y, which were r and s."""
    gap, before = sign * (x - y), sign * (r - s)
    first, second = max(gap, 0.0) + max(before, 0.0), min(gap, 0.0) + min(before, 0.0)
    path = first - second
    if not path < math.inf:  # NaN or infinite
        return None
    return (first / path, -second / path) if path else (0.5, 0.5)  # equal lines share evenly


def with_axes(components: torch.Tensor, axes: int) -> torch.Tensor:
    """Components as those of a tensor with so many axes at least."""
    missing = axes + 1 - components.ndim
    return components.reshape(components.shape[0], *[1] * missing, *components.shape[1:]) if missing > 0 else components
