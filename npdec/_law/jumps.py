"""How a jump is shared: what each component contributes to a change that comes at one point of the path.

Between the two sides of a jump the slope is the jump over the step x − r. That is a difference of rounded numbers, and
where the components cancel, it may be nothing but their rounding errors: 0.1 + 0.2 − 0.3 is 5.6e-17, and a slope over
it would make contributions of 1e15 of a jump of one. So the step is taken to be what the components add up to. Where
they cancel so far that no digits are left of that, or where the step is rounding and another one than they make, those
that move towards the value share the jump in proportion to their sizes, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.axes import lead
from npdec._decomposed.kept_components import stand_in
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.size_warnings import STEEP, change, warn_cancelled, warn_infinite, warn_missing
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.all_components import need_all
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing

__all__ = ["moved", "share_of_jump", "stepped"]

_ROUNDINGS = 32  # between a step and the sum of all of its components
_ANOTHER = 1 / 2  # of a step, from where on it is another one than components make


def _noise(info: torch.finfo) -> float:
    """How much of its size these may be: of half precision fewer, which would be real steps."""
    return min(_ROUNDINGS * info.eps, info.eps**0.5 / 4)


def share_of_jump(
    name: str | None,
    difference: torch.Tensor,
    step: torch.Tensor,
    size: torch.Tensor,
    components: Any,
    slope: Callable[[], torch.Tensor] | None = None,
) -> Any:
    """The contributions (C, *S) to `difference`, the change (*S) of a function with jumps from residual to value.

    `step` is x − r (of a comparison, the change of the difference of its sides), `size` the magnitude of the numbers
    whose rounding errors are in that, |x| + |r|; `components` (C, ...) are those of the step, as a tensor or what
    stands for it. They are all that there are: what they miss of the step is rounding, of whatever it was made of. A
    graph of torch.compile may be called with a chunk: there it is that of other chunks, if it is more than rounding of
    numbers of this size.
    `slope` makes that of the function beside its jumps. Warns (DecompositionWarning), naming the operation, where
    components cancel.
    """
    traced = tracing()
    if not traced:
        need_all()
    if not isinstance(components, torch.Tensor):  # what is left out is zero, and takes no share
        if slope is None:
            shape = difference.shape
            parts = (part.expand(shape) for part in (difference, step, size))
            alone = components.each_column(
                lambda c, change, step, size: share_of_jump(name, change, step, size, c), *parts
            )
        else:
            alone = components.each_column(lambda c: share_of_jump(name, difference, step, size, c, slope))
        if alone is not None:
            return alone
    total, gross = moved(components)
    info = torch.finfo(gross.dtype)
    others = None
    if traced:
        rest = step.detach() - total
        others = torch.where(rest.abs() > _noise(info) * (size.detach() + gross), rest, 0)
        total, gross = total + others, gross + others.abs()
    jumps, bounded = difference != 0, torch.isfinite(gross)
    apart = bounded & (total.abs() > max(1 / STEEP, info.eps**0.5) * gross)
    if not traced and len(components) > 1:  # one that moves has it all, by however little
        length = step.detach().abs()
        other = (step.detach() - total).abs() > _ANOTHER * torch.maximum(length, total.abs())
        apart &= ~(other & (torch.minimum(length, total.abs()) <= _noise(info) * size.detach()))
    # The graph is that of the step: the components may be constants of it.
    divisor = torch.where(apart, step + (total - step).detach() if step.requires_grad else total, 1)
    multiplier = difference / divisor
    length = multiplier.detach().abs()
    usual = jumps & apart & (length >= info.tiny / info.eps) & (length <= info.max * info.eps)
    multiplier = torch.where(usual, multiplier, 0)
    if slope is not None and len(components) == 1 and not traced and not mapped():
        multiplier = _of_rounding(multiplier, difference, total, size, bounded, slope)
    rare = jumps & ~usual
    if slope is not None:  # components that cancel have it, though the function has not moved
        rare = rare | (bounded & ~apart if step.requires_grad else bounded & ~apart & (gross > 0))
    known = not traced and not mapped()
    if known and not bool(rare.any()):
        return _times(components, multiplier, bool(bounded.all()))
    dense = components if isinstance(components, torch.Tensor) else components.dense()
    dense = lead(dense, difference.ndim)
    cancelled = rare & bounded & ~apart
    smooth = torch.zeros_like(gross)
    if slope is not None and known:  # torch.compile traces no derivative of what is traced
        smooth = torch.where(cancelled, slope().detach(), 0)
        smooth = torch.where(smooth.abs() * gross <= STEEP * (gross + difference.detach().abs()), smooth, 0)
    jump = torch.where(rare, difference - torch.where(smooth == 0, 0, smooth * total), 0)
    if known and name is not None:
        rounding = _noise(info) * (smooth.abs() * (size + gross) + difference.abs() * (smooth != 0))
        if bool((rare & bounded & ~torch.isfinite(difference)).any()):
            warn_infinite(name)
        lost = cancelled & (jump.abs() > rounding)
        if bool((lost & (gross == 0)).any()):
            warn_missing(name)
        elif bool(lost.any()):
            warn_cancelled(name)
    shared = jump * torch.where(apart, dense / divisor, _shares(dense, others, step, bounded))
    shared = torch.where(smooth == 0, shared, shared + dense * smooth)
    return torch.where(rare, shared, _times(dense, multiplier, False))


def _of_rounding(
    multiplier: torch.Tensor,
    difference: torch.Tensor,
    total: torch.Tensor,
    size: torch.Tensor,
    known: torch.Tensor,
    slope: Callable[[], torch.Tensor],
) -> torch.Tensor:
    """The multiplier of one component, in which nobody knows what has cancelled (that of reverse mode stands for all).

    Where nothing but rounding has moved the argument, and the function by no more than its slope beside the jumps and
    rounding, it is that slope: a quotient of two rounding errors would be any number."""
    size = size.detach()
    noise = _noise(torch.finfo(size.dtype))
    still = known & (total.abs() <= noise * size)
    if not bool(still.any()):
        return multiplier
    smooth = slope().detach()
    by_rounding = (difference.detach() - smooth * total).abs() <= noise * smooth.abs() * size
    return torch.where(still & by_rounding, smooth, multiplier)


def stepped(
    name: str, value: torch.Tensor, residual: torch.Tensor, moving: DecomposedTensor, size: torch.Tensor
) -> DecomposedTensor:
    """A boolean or an integer that changes by jumps as `moving` does, a number or an integer. `size` is the magnitude
    of the numbers whose rounding errors are in that."""
    given = stand_in(moving) or moving.components
    with no_graph(moving.reverse):
        if moving.discrete:
            step = change(moving.value.to(given.dtype), moving.residual.to(given.dtype))
        else:
            step = change(moving.value, moving.residual)
        dtype = step.real.dtype  # torch.compile does not trace to_real
        jump = value.to(dtype) - residual.to(dtype)
    components = share_of_jump(name, jump, step, size, given)
    if isinstance(components, torch.Tensor) and components.is_complex():
        components = components.real
    return DecomposedTensor(value, residual, components, moving.labels, moving.reverse)


def moved(components: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """What components add up to, and what their magnitudes do."""
    if not isinstance(components, torch.Tensor):
        return components.sum().detach(), components.magnitude().detach()
    components = components.detach()
    if len(components) == 1:
        return components[0], components[0].abs()
    return components.sum(0), components.abs().sum(0)


def _times(components: Any, multiplier: torch.Tensor, finite: bool) -> Any:
    """The product; nothing comes of what is multiplied with zero, though it be infinite."""
    if not isinstance(components, torch.Tensor):
        if finite:
            return components.times(multiplier)
        components = components.dense()
    made = lead(components, multiplier.ndim) * multiplier
    return made if finite else torch.where(multiplier == 0, 0, made)


def _shares(
    dense: torch.Tensor, others: torch.Tensor | None, step: torch.Tensor, bounded: torch.Tensor
) -> torch.Tensor:
    """Of components that cancel, the share of each: of those that move in the direction of the step. Infinite ones
    share with each other alone."""
    towards = _forward(dense.detach(), step)
    towards = torch.where(bounded, towards, (~torch.isfinite(dense)).to(towards.dtype))
    among = towards.sum(0)
    if others is not None:
        among = among + torch.where(bounded, _forward(others, step), 0)
    return torch.where(towards == 0, 0, towards / torch.where(among == 0, 1, among))


def _forward(moves: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
    return torch.where(step == 0, moves.abs(), (moves * torch.sgn(step.detach()).conj()).real.clamp(min=0))
