"""Slopes that are steep or infinite: what contributions are there, and the warnings.

Where the components of an argument cancel, a steep function passes on little of what a slope makes of each of them: of
1/x at 1e-9 the components 1 and −1 become ±1e18, where neither the value nor the residual has that size. They are not
computed to any digits of what they add up to, either; the change is shared out instead, as at a jump
(`npdec._law.jumps`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.size_warnings import (
    STEEP,
    change,
    half_of_digits,
    warn_cancelled,
    warn_infinite,
    warn_missing,
    warn_rounded,
)
from npdec._law.all_components import need_all
from npdec._law.jumps import moved, share_of_jump
from npdec._law.secant import derivative
from npdec._law.slope import Slope

__all__ = ["tempered", "warn_if_infinite"]

Function = Callable[..., torch.Tensor]

_ROUNDED = 2.0**-17  # of what has been rounded to single precision before, a few times over


def tempered(
    name: str,
    f: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    r: torch.Tensor,
    fx: torch.Tensor,
    fr: torch.Tensor,
    components: Any,
    slope: Slope,
) -> Any:
    """What a steep slope makes of components. Warns (DecompositionWarning) where it is not finite, and where the change
    of the function is shared out instead, as it would be too large."""
    need_all()
    if not isinstance(components, torch.Tensor):  # what is left out is zero, and stays so
        alone = components.each_column(lambda numbers: tempered(name, f, x, r, fx, fr, numbers, slope))
        if alone is not None:
            return alone
    made = slope.apply(components)
    (total, gross), size = moved(components), moved(made)[1]
    bounded, difference = torch.isfinite(gross), change(fx, fr)
    there = torch.where(torch.isfinite(fx) & torch.isfinite(fr), fx.abs() + fr.abs(), 0).detach()
    lost = (change(x, r).detach() - total).abs() * slope.multiplier.detach().abs()
    moving = bounded & (x != r)  # of contributions at a baseline nothing is a change
    few = max(1 / half_of_digits(lost.dtype), _ROUNDED)
    if bool((moving & torch.isfinite(lost) & (lost > few * (there + size))).any()):
        warn_rounded(name)
    large = bounded & (gross > 0) & ~(size <= STEEP * (there + gross)) & (torch.isfinite(fx - fr) | (x == r))
    if bool(large.any()) and not fx.is_complex():
        warn_cancelled(name)
        jump, sizes = torch.where(large, difference, 0), x.abs() + r.abs()
        shared = share_of_jump(None, jump, change(x, r), sizes, components, lambda: derivative(f, x))
        dense = [part if isinstance(part, torch.Tensor) else part.dense() for part in (made, shared)]
        return torch.where(large, dense[1], dense[0])
    _warn_of_zeros(name, x, r, fx, fr)
    if bool((bounded & ~torch.isfinite(size)).any()):
        warn_infinite(name, fx, fr)
    return made


def warn_if_infinite(name: str, x: torch.Tensor, r: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> None:
    """The warnings in reverse mode, where the components are not known."""
    _warn_of_zeros(name, x, r, fx, fr)
    if bool(((x != r) & torch.isfinite(x) & torch.isfinite(r) & ~torch.isfinite(fx - fr)).any()):
        warn_infinite(name, fx, fr)


def _warn_of_zeros(name: str, x: torch.Tensor, r: torch.Tensor, fx: torch.Tensor, fr: torch.Tensor) -> None:
    """Warn of jumps between a zero and one of the other sign (of angles), which are one number."""
    if bool(((x == r) & (fx != fr) & torch.isfinite(fx - fr)).any()):
        warn_missing(name)
