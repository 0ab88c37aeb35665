"""Complex numbers by their order: comparisons, and the greater and the lesser of two.

The real parts decide, the imaginary ones where those are equal all along the path. So a comparison is one step of the
part that decides. The greater of two follows one of the two lines on each side of the place s where they change places:
each passes on its own contributions for the part of the path on which it leads. The real part has no jump there, the
imaginary part jumps from one line to the other, and this is shared as a step of the real parts is that cross.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.tensor import is_reverse
from npdec._impl.elementwise_extrema_impl import complex_extreme, leads
from npdec._impl.elementwise_logic_impl import complex_less, composed_less
from npdec._law.discrete import magnitude, residual_of, value_of, with_numbers
from npdec._law.jumps import stepped
from npdec._rules.rule import rule
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing

Function = Callable[..., Any]


class _Gap:
    """x1 − x2 along the path: `ends` of its real part, of its imaginary part, and of the one that decides; `alone`
    is where that is the imaginary part, `known` where all of it is finite."""

    def __init__(self, x1: Any, x2: Any) -> None:
        ends = [of(x1) - of(x2) for of in (value_of, residual_of)]
        self.real, self.imag = ([torch.real(end) for end in ends], [torch.imag(end) for end in ends])
        self.alone = (self.real[0] == 0) & (self.real[1] == 0)
        self.ends = [torch.where(self.alone, imag, real) for imag, real in zip(self.imag, self.real, strict=True)]
        self.known = torch.isfinite(ends[0]) & torch.isfinite(ends[1])


def _beside(known: torch.Tensor, closed: Function, composed: Function) -> Any:
    """The closed form, and where numbers are not finite, which have no line between them, what is composed of the
    functions that the order is made of."""
    looked_at = not (tracing() or mapped())
    if looked_at and bool(known.all()):
        return closed()
    return torch.where(known, closed(), composed())


@rule(complex_less, traits=Trait.ELEMENTWISE, discrete=True)
def _less(func: Function, x1: Any, x2: Any, or_equal: bool = False) -> Any:
    value, residual = Call(func, None, (x1, x2, or_equal), {}).ends()
    if conditions_are_frozen():
        return value
    with no_graph(is_reverse((x1, x2))):
        gap = _Gap(x1, x2)

    def closed() -> Any:
        moving: Any = torch.where(gap.alone, torch.imag(x1) - torch.imag(x2), torch.real(x1) - torch.real(x2))
        return stepped("less", value, residual, moving, magnitude(x1, x2))

    return with_numbers(value, residual, _beside(gap.known, closed, lambda: composed_less(x1, x2, or_equal)))


@rule(complex_extreme, traits=Trait.ELEMENTWISE)
def _extreme(func: Function, x1: Any, x2: Any, greater: bool, keep_nan: bool) -> Any:
    value, residual = Call(func, None, (x1, x2, greater, keep_nan), {}).ends()

    def composed() -> Any:
        return torch.where(leads(x1, x2, greater, keep_nan), x1, x2)

    if conditions_are_frozen():
        return composed()
    with no_graph(is_reverse((x1, x2))):
        gap = _Gap(x1, x2)
        at, before = (leads(of(x1), of(x2), greater, keep_nan) for of in (value_of, residual_of))
        late, early = (end.abs() for end in gap.ends)
        equal, apart = (late == 0) & (early == 0), at != before
        # How long the one leads that does at the baseline, and the other one: that of two which both are equal, half.
        long = torch.where(equal, 1, late + early)
        first, second = torch.where(equal, 0.5, early / long), torch.where(equal, 0.5, late / long)
        share = torch.where(apart | equal, torch.where(before, first, second), at.to(long.dtype))
        other = torch.where(apart | equal, torch.where(before, second, first), (~at).to(long.dtype))
        leap = gap.imag[0] * first + gap.imag[1] * second  # between the imaginary parts, where the real ones cross
        leap = torch.where(apart & ~gap.alone & gap.known, torch.where(at, leap, -leap), 0)

    def closed() -> Any:
        made: Any = x1 * share + x2 * other
        if tracing() or mapped() or bool(leap.any()):
            crossing: Any = torch.real(x1) - torch.real(x2)
            made = made + 1j * stepped(func.__name__, leap, torch.zeros_like(leap), crossing, magnitude(x1, x2))
        return made

    return with_numbers(value, residual, _beside(gap.known, closed, composed))
