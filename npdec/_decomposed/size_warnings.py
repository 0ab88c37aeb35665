"""Contributions that are too large, infinite or not a number: what is said of them."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar, Token
from typing import Any, TypeVar

import torch

from npdec._impl import _util
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing
from npdec.exceptions import DecompositionWarning

__all__ = [
    "STEEP",
    "STEEPEST",
    "change",
    "has_few_digits",
    "half_of_digits",
    "has_finite_sum",
    "keeps_digits",
    "is_large",
    "of_what_stays",
    "warn_cancelled",
    "warn_infinite",
    "warn_missing",
    "warn_of_digits",
    "warn_of_factors",
    "warn_of_size",
    "warn_rounded",
    "watch_factors",
]

T = TypeVar("T")
# What is to be said of infinite results, until it is known which of the results are chosen.
_held: ContextVar[list[str] | None] = ContextVar("npdec.held", default=None)

# The slope up to which rounding errors of an argument are not looked at, where it is not STEEP: half of the digits.
STEEPEST = dict.fromkeys((torch.float32, torch.complex64), float(torch.finfo(torch.float32).eps ** -0.5))
STEEP = 2.0**20  # how many times larger than all that they come from and add up to contributions are without a warning


def has_finite_sum(x: torch.Tensor) -> bool:
    """Whether no element is infinite or NaN. (torch.isfinite of the sum takes longer than the sum.)"""
    return cmath.isfinite(x.sum().item())


def change(value: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """value − residual, zero where both are one infinity."""
    return torch.where(value == residual, 0, value - residual)


def warn_cancelled(name: str) -> None:
    """Warn that contributions have been shared out by other than the law, which would make them too large."""
    _util.warn(
        f"{name}: the contributions to its argument cancel to less than a millionth of their sizes, or to rounding "
        "errors, where it jumps or is steep: its change is shared among those that move towards the value, in "
        "proportion to their sizes",
        DecompositionWarning,
    )


def warn_missing(name: str) -> None:
    """Warn that a jump is nobody's: nothing but rounding, or the sign of a zero, has moved the argument across it."""
    _util.warn(
        f"{name}: the value has jumped from the residual, though nothing but rounding has moved its argument: "
        "the jump is missing from the contributions",
        DecompositionWarning,
    )


def warn_infinite(
    name: str, value: torch.Tensor | complex | None = None, residual: torch.Tensor | complex | None = None
) -> None:
    """Warn that contributions are infinite or NaN, as the value or the residual of the result is, if they are known."""
    at_baseline = residual is None or not _are_finite(residual)
    at_value = value is None or not _are_finite(value)
    place = "at the baseline" if at_baseline else "at the value" if at_value else "between"
    if residual is None:
        place += " or at the value"
    said = f"{name}: infinite or not a number {place}, and so are contributions"
    said += ": choose another baseline" if at_baseline else ""
    waiting = None if tracing() else _held.get()
    if waiting is None:
        _util.warn(said, DecompositionWarning)
    else:
        waiting.append(said)


def _are_finite(x: torch.Tensor | complex) -> bool:
    if not isinstance(x, torch.Tensor):
        return cmath.isfinite(x)
    return cmath.isfinite(x.item()) if not x.ndim else bool(torch.isfinite(x).all())


def of_what_stays(compute: Callable[[], T], parts: Callable[[T], Iterable[torch.Tensor]]) -> T:
    """What `compute` gives, which chooses among results. That some are infinite is said if one of them is chosen: if
    the parts of what it gives are not all finite."""
    said: list[str] = []
    tokens: list[Token[list[str] | None]] = []
    try:
        tokens.extend(map(_held.set, (said,)))  # in one: an interrupt would lose the token
        made = compute()
    finally:
        for token in tokens:
            _held.reset(token)
    if said and not all(bool(torch.isfinite(part).all()) for part in parts(made)):
        for one in dict.fromkeys(said):
            _util.warn(one, DecompositionWarning)
    return made


def warn_rounded(name: str) -> None:
    """Warn that part of a change is nobody's: a steep slope has made much of the rounding errors of the argument."""
    _util.warn(
        f"{name}: nothing but rounding has moved its argument, or part of the way, and it is steep there: part of the "
        "change is missing from the contributions: compute in a wider dtype, or choose another baseline",
        DecompositionWarning,
    )


def is_large(factor: Any) -> bool:
    """Whether what is multiplied with a factor, a number or a tensor of them, may become a million times as large."""
    if isinstance(factor, torch.Tensor):
        if not factor.numel() or not (factor.is_floating_point() or factor.is_complex()) or factor.is_meta:
            return False
        # The length takes a fraction of the time of the largest magnitude, and mostly says enough.
        if float(torch.linalg.vector_norm(factor.detach())) <= STEEP:
            return False
        factor = float(factor.detach().abs().max())
    return not isinstance(factor, (tuple, list)) and STEEP < abs(factor) < math.inf


def _magnitude(components: Any) -> torch.Tensor:
    """What the magnitudes of components, in whatever form, add up to."""
    if isinstance(components, torch.Tensor):
        return components.detach().abs().sum(0)
    made: torch.Tensor = components.magnitude().detach()
    return made


def _magnitude_at(components: Any, places: torch.Tensor) -> torch.Tensor:
    """The same at some of the flat elements."""
    if isinstance(components, torch.Tensor):
        return components.detach().reshape(len(components), -1)[:, places].abs().sum(0)
    made: torch.Tensor = components.magnitude_at(places).detach()
    return made


def _magnitudes(components: Any, changes: torch.Tensor) -> torch.Tensor:
    """The same of as many elements as may be looked at; of the others what their sum changes by, which is no more."""
    count, most = changes.numel(), getattr(components, "looked_at", math.inf)
    if count <= most:
        return _magnitude(components)
    places = torch.arange(0, count, math.ceil(count / most), device=changes.device)
    made = changes.reshape(-1).clone()
    made[places] = _magnitude_at(components, places).to(made.dtype)
    return made.reshape(changes.shape)


def warn_of_size(
    name: str,
    made: Sequence[Any],
    components: Sequence[Any],
    values: Sequence[torch.Tensor],
    residuals: Sequence[torch.Tensor],
    reverse: bool,
) -> None:
    """Warn where contributions that an operation has made of finite ones are not finite, or so large that they cancel
    to a millionth of what they are; in reverse mode, where the change of a result is not finite."""
    if tracing() or mapped():
        return
    given = sum(float(_magnitude(c).sum()) for c in components)
    if not math.isfinite(given):
        return
    for part, value, residual in zip(made, values, residuals, strict=True):
        sizes = change(value, residual).detach().abs()
        if not reverse:
            sizes = torch.where(torch.isfinite(sizes), _magnitudes(part, sizes), sizes)
        most = float(sizes.amax()) if sizes.numel() else 0.0
        if not math.isfinite(most):
            warn_infinite(name, value.detach(), residual.detach())
        elif most > STEEP * given and bool((sizes > STEEP * (value.abs() + residual.abs() + given)).any()):
            _warn_large(name)


def has_few_digits(dtype: torch.dtype) -> bool:
    """Whether numbers of the dtype lose half of their digits long before they are a million times too large."""
    return (dtype.is_floating_point or dtype.is_complex) and half_of_digits(dtype) < STEEP


def half_of_digits(dtype: torch.dtype) -> float:
    """How many times larger than their sum terms are that leave it half of the digits."""
    return float(torch.finfo(dtype).eps ** -0.5)


def keeps_digits(divisor: torch.Tensor, inverse: torch.Tensor) -> bool:
    """Whether a divisor at one end of its path is so near to the one at the other end, of which this is the inverse,
    that half of the digits of a quotient are left, whatever is divided."""
    if not divisor.numel():
        return True
    least, most = torch.aminmax(torch.mul(divisor, inverse).detach().abs())
    limit = half_of_digits(divisor.dtype) - 1
    return 1 / limit <= least.item() and most.item() <= limit


def warn_of_digits(
    name: str, gross: torch.Tensor, made: Any, value: torch.Tensor, residual: torch.Tensor, reverse: bool
) -> None:
    """Warn where what several arguments contribute, of magnitudes `gross` (*S), cancels to less than half of its
    digits in what is `made` of it."""
    limit = half_of_digits(value.dtype)
    with torch.no_grad():
        ends = torch.add(value.abs(), residual.abs())
        if not ends.numel() or gross.max().item() <= limit * ends.min().item():
            return
        # Contributions are no smaller than their sum is: mostly that is enough, and they need not be looked at.
        lost = gross > limit * (ends + change(value, residual).abs())
        places = lost.logical_and_(torch.isfinite(gross)).flatten().nonzero().squeeze(1)
        if not reverse and len(places):
            places = places[:: math.ceil(len(places) / getattr(made, "looked_at", math.inf)) or 1]
            gross, ends = gross.flatten()[places], ends.flatten()[places]
            del lost  # memory for looking at contributions
            places = (gross > limit * (ends + _magnitude_at(made, places))).nonzero()
    if len(places):
        digits = str(value.dtype).removeprefix("torch.")
        wider = "compute in a wider dtype, or " if has_few_digits(value.dtype) else ""
        _util.warn(
            f"{name}: what its arguments contribute cancels, and less than half of the digits of {digits} are left in "
            f"the contributions: {wider}choose another baseline",
            DecompositionWarning,
        )


def _warn_large(name: str) -> None:
    _util.warn(
        f"{name}: contributions are more than a million times as large as the value, the residual and what "
        "they are made of: they cancel, and few of their digits are left in what they add up to",
        DecompositionWarning,
    )


def warn_of_factors(
    name: str, gross: torch.Tensor, changes: torch.Tensor, value: torch.Tensor, residual: torch.Tensor
) -> None:
    """Warn where what the factors of a product contribute cancels to a millionth of its size.

    `gross` (*S) are the magnitudes of what the factors contribute, together, and `changes` those of the change of each.
    The largest of these may be the large factor's own (1/x from a baseline next to zero), and measures nothing.
    """
    given = changes.sum() - changes.max()
    if bool((torch.isfinite(gross) & (gross > STEEP * (value.abs() + residual.abs() + given))).any()):
        _warn_large(name)


def watch_factors(
    call: Any,
    factors: Sequence[int],
    nodes: Sequence[tuple[Sequence[torch.Tensor], float]],
    made: Any,
    value: torch.Tensor,
    residual: torch.Tensor,
) -> None:
    """The same of a call whose tensors `factors` enter linearly each, with the points of the path at which the others
    are held, and their weights; of the contributions `made` too, which a factor may have of many that cancel."""
    with torch.no_grad():
        steps = [change(call.tensors[i].value, call.tensors[i].residual) for i in factors]
        gross: Any = 0
        for points, weight in nodes:
            for i, step in zip(factors, steps, strict=True):
                gross = gross + weight * call.linear_part(*points[:i], step, *points[i + 1 :]).abs()
        gross = torch.maximum(gross, _magnitude(made).expand_as(gross))
        warn_of_factors(name_of(call.func), gross, torch.stack([s.abs().sum() for s in steps]), value, residual)
