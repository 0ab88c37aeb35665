"""Complex numbers by their order: comparisons, and the greater and the lesser of two.

The real parts decide, the imaginary ones where those are equal all along the path. So a comparison is one step of the
part that decides. The greater of two follows one of the two lines on each side of the place s where they change places:
each passes on its own contributions for the part of the path on which it leads. The real part has no jump there, the
imaginary part jumps from one line to the other, and this is shared as a step of the real parts is that cross. The
greatest of a row follows the upper envelope of the real parts in the same way: its lines lead in the order of their
slopes, and among lines with one real part the upper envelope of the imaginary parts does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.tensor import is_reverse
from npdec._impl.elementwise_extrema_impl import complex_extreme, leads
from npdec._impl.elementwise_logic_impl import complex_less, composed_less
from npdec._impl.envelope_impl import leading_fractions
from npdec._impl.extremes_impl import at_place, complex_extreme_of_rows
from npdec._law.complex_of_few import answer
from npdec._law.complex_order_of_few import ORDER
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


def _few_less(func: Function, args: Sequence[Any]) -> Any:
    x1, x2, *words = args
    return answer(ORDER["less_equal" if any(words) else "less"][0], lambda a, b: func(a, b, *words), (x1, x2))


def _few_extreme(func: Function, args: Sequence[Any]) -> Any:
    x1, x2, greater, keep_nan = args
    law, _ = ORDER["maximum" if greater else "minimum"]
    return answer(law, lambda a, b: func(a, b, greater, keep_nan), (x1, x2))


@rule(complex_less, traits=Trait.ELEMENTWISE, discrete=True, short=_few_less)
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


@rule(complex_extreme, traits=Trait.ELEMENTWISE, short=_few_extreme)
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


# -- the greatest and the least of a row -------------------------------------------------------------------------------


class _Stay(NamedTuple):
    """One of the lines that lead a row one after the other, or several with one real part: for which fraction of the
    path each leads, (*S, n), and which lead at its start and at its end, as weights (*S, n), with the imaginary part
    (*S, 1) there."""

    fractions: torch.Tensor | int
    first: torch.Tensor
    last: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor


def _leading(imag: torch.Tensor, among: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights of those with the largest imaginary part among some, and that part."""
    most = torch.where(among, imag, -torch.inf).amax(-1, keepdim=True)
    lead = (among & (imag == most)).to(imag.dtype)
    return lead / lead.sum(-1, keepdim=True).clamp(min=1), most


def _shared_by_imag(start: torch.Tensor, end: torch.Tensor, among: torch.Tensor) -> torch.Tensor:
    """The fractions for which lines among some lead by their imaginary parts."""
    if not bool((among.sum(-1) > 1).any()):
        return among.to(start.dtype)
    least = torch.minimum(start, end).amin(-1, keepdim=True)
    below = least - least.abs() - 1  # where no line leads
    return leading_fractions(torch.where(among, end, below), torch.where(among, start, below), -1)


def _stays(x: torch.Tensor, r: torch.Tensor) -> Iterator[_Stay]:
    """What leads rows of finite numbers along the path from r to x: what does at r itself, line after line, and what
    does at x itself. Where no line is left, the last one stays, for no time."""
    (high, up), (low, down) = ((torch.real(end), torch.imag(end)) for end in (x, r))
    led, slope = leading_fractions(high, low.expand(high.shape), -1), high - low
    last, at = _leading(down, low == low.amax(-1, keepdim=True))
    yield _Stay(0, last, last, at, at)
    waiting, gone, start = led > 0, torch.zeros_like(at), down
    while bool(waiting.any()):
        among = waiting & (slope == torch.where(waiting, slope, torch.inf).amin(-1, keepdim=True))
        some, waiting = among.any(-1, keepdim=True), waiting & ~among
        time, left = (torch.where(lines, led, 0).sum(-1, keepdim=True) for lines in (among, waiting))
        gone = gone + time
        early = gone < left  # of the two distances, the shorter has digits
        end = torch.where(early, 1 - gone, left) * down + torch.where(early, gone, 1 - left) * up
        (first, begins), (final, ends) = _leading(start, among), _leading(end, among)
        first, final = torch.where(some, first, last), torch.where(some, final, last)
        begins, ends = torch.where(some, begins, at), torch.where(some, ends, at)
        yield _Stay(_shared_by_imag(start, end, among) * time, first, final, begins, ends)
        last, at, start = final, ends, end
    last, at = _leading(up, high == high.amax(-1, keepdim=True))
    yield _Stay(0, last, last, at, at)


@rule(complex_extreme_of_rows)
def _extreme_of_rows(func: Function, rows: Any, greatest: bool) -> Any:
    if conditions_are_frozen() or tracing() or mapped() or not rows.numel():
        return at_place(rows, greatest)
    value, residual = Call(func, None, (rows, greatest), {}).ends()
    known = (torch.isfinite(rows.value) & torch.isfinite(rows.residual)).all(-1)
    name, sign = ("max", 1) if greatest else ("min", -1)

    def closed() -> Any:
        moving: Any = rows if bool(known.all()) else torch.where(known.unsqueeze(-1), rows, 0)
        ends = moving.value, moving.residual
        size, fractions, steps = ends[0].abs() + ends[1].abs(), torch.zeros_like(ends[0].real), []
        x, r = (sign * (end.detach() if rows.reverse else end) for end in ends)
        for before, after in itertools.pairwise(_stays(x, r)):
            fractions = fractions + after.fractions
            leap = sign * (after.start - before.end).squeeze(-1)  # of imaginary parts, where the real ones cross
            if bool(leap.any()):
                crossing: Any = torch.sum(torch.real(moving) * (after.first - before.last), -1)
                sizes = (size * (after.first + before.last)).sum(-1)
                steps.append(stepped(name, leap, torch.zeros_like(leap), crossing, sizes))
        made: Any = torch.sum(moving * fractions, -1)
        for step in steps:
            made = made + 1j * step
        return made

    return with_numbers(value, residual, _beside(known, closed, lambda: at_place(rows, greatest)))
