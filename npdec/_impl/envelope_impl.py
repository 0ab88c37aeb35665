"""The maximum of straight lines: how much of the path each element leads.

Along the path from r to x every element is a line r_j + t (x_j − r_j), and the maximum is their upper envelope, convex
and piecewise linear. The element that leads at t passes its own contributions on there, so that it passes on the
fraction of the path that it leads. Equal lines share evenly.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

_FEW = 4  # lines, up to which each is compared with each
_MANY = 64  # lines, from which on those that may lead are chosen before
_LEAST = 2**13  # elements that are looked at together, at the least
_MOST = 12  # parts of them


def leading_fractions(
    value: torch.Tensor, residual: torch.Tensor, dim: int, highest: torch.Tensor | None = None
) -> torch.Tensor:
    """The fraction of the path on which each element along `dim` is the maximum: same shape, sums to one along `dim`.

    `residual` broadcasts to the value, but has its length along `dim`. `highest` is the maximum of the values along it,
    if that is known. The leader at t = 0 is the largest residual (the
    steepest among equals). Where it is the largest at t = 1, too, it leads all along; elsewhere the envelope is walked.
    They have the graph of the lines.
    """
    fractions = _fractions(value.detach(), residual.detach(), dim, highest)
    if torch.is_grad_enabled() and (value.requires_grad or residual.requires_grad):
        return fractions + _movement(fractions, value, residual.expand(value.shape), dim)
    return fractions


def _movement(fractions: torch.Tensor, value: torch.Tensor, residual: torch.Tensor, dim: int) -> torch.Tensor:
    """Zeros that move as the fractions do: of two lines that lead one after the other the steeper gains what the other
    loses, as the time moves at which they cross."""
    pitch, leads = value - residual, fractions > 0
    order = torch.where(leads, pitch.detach(), torch.inf).argsort(dim)
    pitch, start, leads = (t.gather(dim, order).movedim(dim, 0) for t in (pitch, residual, leads))
    rise, drop = pitch[1:] - pitch[:-1], start[:-1] - start[1:]
    cross = leads[1:] & (rise > 0) & torch.isfinite(rise) & torch.isfinite(drop)
    crossing = torch.where(cross, drop, 0) / torch.where(cross, rise, 1)
    crossing = crossing - crossing.detach()
    nothing = torch.zeros_like(start[:1])
    gained = torch.cat([crossing, nothing]) - torch.cat([nothing, crossing])
    return torch.zeros_like(value).scatter(dim, order, gained.movedim(0, dim))


def _fractions(value: torch.Tensor, residual: torch.Tensor, dim: int, highest: torch.Tensor | None) -> torch.Tensor:
    if torch.compiler.is_compiling():
        residual = residual.expand(value.shape)
        return _walked(value, residual, _first(value, residual, dim), dim)
    value, residual = value.movedim(dim, 0), residual.movedim(dim, 0)
    highest = value.amax(0, keepdim=True) if highest is None else highest.detach().unsqueeze(0)
    first = residual == residual.amax(0, keepdim=True)
    same = value.clone(memory_format=torch.contiguous_format).eq_(highest)
    if bool(first.all()):  # where all lines start as one, the highest at the end leads
        return _shared(same).movedim(0, dim)
    count = same.mul_(first).sum(0, keepdim=True)
    fractions = same.div_(count)
    if not bool(count.all()):  # of the others none leads at the start and at the end
        walked = (residual != residual[:1]).any(0).logical_and(count[0] == 0)
        del highest, first, count
        _put_walked(fractions, value, residual, walked)
    return fractions.movedim(0, dim)


def _shared(same: torch.Tensor) -> torch.Tensor:
    """Even shares for those that are equal: ones among zeros, which are overwritten."""
    return same.div_(same.sum(0, keepdim=True))


def _put_walked(fractions: torch.Tensor, value: torch.Tensor, residual: torch.Tensor, where: torch.Tensor) -> None:
    """Overwrite the fractions where lines start apart, and another one leads at the end."""
    count, first = len(value), 1
    while first < residual.ndim and residual.shape[first] == 1:
        first += 1
    # What the residual is broadcast over along its first axes is computed once.
    start = residual.expand(count, *residual.shape[1:first], *value.shape[first:]).reshape(count, -1)
    everything, end, turns = where.reshape(-1).nonzero().squeeze(1), value.reshape(-1), value[0].numel()
    columns = start.shape[1]
    few = columns < len(everything)
    if few:
        start, orders = _in_order(start)
    for chosen in everything.split(max(-(-len(everything) // _MOST), _LEAST // count, 1)):
        column = chosen % columns if columns < turns else chosen
        low = start.index_select(1, column)
        low, order = (low, None if orders is None else orders.index_select(1, column)) if few else _in_order(low)
        if order is None:
            order = torch.arange(count, device=value.device).unsqueeze(1)
        places = (order * turns + chosen).reshape(-1)  # where the chosen are in memory, line by line
        high = end.index_select(0, places).reshape(count, -1)
        fractions.view(-1).index_copy_(0, places, _from_apart(high, low).reshape(-1))


def _in_order(start: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Lines in the order in which they start, and the order, where they are so few that each is compared with each."""
    if len(start) > _FEW:
        return start, None
    order = start.argsort(0, descending=True)
    return start.gather(0, order), order


def _from_apart(value: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """The fractions along the first of two axes, on which few lines have the order in which they start."""
    if len(value) <= _FEW and _is_tame(value) and _is_tame(residual):
        return _compared(value, residual)
    height, pitch, goal = _first(value, residual, 0)
    fractions = _shared(((residual == height) & (value - residual == pitch)).to(value.dtype))
    unknown = torch.isnan(height)  # nobody leads among lines of which one starts at nan
    fractions.masked_fill_(unknown, 0)
    moving = ((goal != value.amax(0, keepdim=True)) & ~unknown)[0]
    if bool(moving.any()):
        value, residual, *start = (
            t if bool(moving.all()) else t[:, moving] for t in (value, residual, height, pitch, goal)
        )
        index = _leading(value, residual, (start[0], start[1], start[2])) if len(value) > _MANY else None
        if index is None:
            fractions[:, moving] = _walked(value, residual, (start[0], start[1], start[2]), 0)
        else:
            found = _walked(value.gather(0, index), residual.gather(0, index), (start[0], start[1], start[2]), 0)
            fractions[:, moving] = torch.zeros_like(value).scatter_(0, index, found)
    return fractions


def _leading(
    value: torch.Tensor, residual: torch.Tensor, start: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
) -> torch.Tensor | None:
    """The places, along the first axis, of lines among which are all that lead; None if these are not few. No line
    leads that nowhere lies above the leader at the start, or nowhere above that at the end."""
    height, pitch, goal = start
    end = value.amax(0, keepdim=True)
    last = torch.where(value == end, residual, -torch.inf).amax(0, keepdim=True)
    may = ~(value <= goal) & (~(residual <= last) | ((value == end) & (residual == last)))
    may |= (residual == height) & (value - residual == pitch)
    width = int(may.sum(0).amax())
    return may.to(torch.uint8).topk(width, 0).indices if 4 * width <= len(value) else None


def _is_tame(x: torch.Tensor) -> bool:
    """Whether differences of elements are finite."""
    most = torch.finfo(x.dtype).max / 4
    return bool(x.amax() < most) and bool(x.amin() > -most)


def _compared(value: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """The fractions of few lines in the order in which they start: each leads from where it has crossed those before it
    until those after it cross it. (By arithmetic, as selection takes several times as long.)

    A time is kept as its distance from the start and from the end of the path, which may be small beside the path.
    """
    count = len(value)
    # Pairs of lines, those of the first line with all after it, those of the second, …: all pairs at once.
    firsts = range(count - 1)
    gaps = torch.cat([residual[i : i + 1] - residual[i + 1 :] for i in firsts])
    change = torch.cat([value[i + 1 :] - value[i : i + 1] for i in firsts])
    ties = (gaps == 0).to(gaps.dtype)
    some = ties.amax(1).tolist()
    gaps = gaps + ties
    gain = change.clamp(min=0)
    both = gain + gaps
    crossing, left = gaps / both, gain / both
    if any(some):  # of two that start as one the steeper leads, and of equal ones the first, for the time being
        apart, steeper = 1 - ties, gain.sign_().mul_(ties)
        crossing = crossing.mul_(apart).add_(ties).sub_(steeper)
        left = left.mul_(apart).add_(steeper)
    start: list[torch.Tensor | None] = [None] * count
    end, until, rest = list(start), list(start), list(start)
    equal: list[tuple[int, int, torch.Tensor]] = []
    at = 0
    for i in firsts:
        its = slice(at, at + count - 1 - i)
        until[i] = crossing[its].amin(0)
        if i:  # the first starts with the path
            rest[i] = left[its].amax(0)
        for j in range(i + 1, count):
            end[j] = _or(torch.minimum, end[j], left[at])
            if j < count - 1:  # the last ends with it
                start[j] = _or(torch.maximum, start[j], crossing[at])
            if some[at]:
                equal.append((i, j, change[at].eq_(0).mul_(ties[at])))
            at += 1
    middle = [_between(start[k], end[k], until[k], rest[k]) for k in range(1, count - 1)]
    fractions: list[torch.Tensor] = [until[0], *middle, end[-1]]  # type: ignore[list-item]
    if equal:
        shares = [torch.ones_like(line) for line in value]
        totals = [fraction.clone() for fraction in fractions]
        for i, j, same in equal:
            for a, b in ((i, j), (j, i)):
                shares[a].add_(same)
                totals[a].addcmul_(same, fractions[b])
        fractions = [total.div_(share) for total, share in zip(totals, shares, strict=True)]
    return torch.stack(fractions)


def _or(choose: Callable[..., torch.Tensor], time: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    return other if time is None else choose(time, other)


def _between(
    start: torch.Tensor | None, end: torch.Tensor | None, until: torch.Tensor | None, rest: torch.Tensor | None
) -> torch.Tensor:
    """How long it is from one time to another, zero if that is earlier."""
    assert start is not None
    assert end is not None
    assert until is not None
    assert rest is not None
    early = start.clone().lt_(0.5)
    return (end - rest).mul_(1 - early).addcmul_(until - start, early).clamp_(min=0)


def _first(value: torch.Tensor, residual: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The leader at the start of the path: its height there, its slope, and its height at the end."""
    slope = value - residual
    height = residual.amax(dim, keepdim=True)
    top = residual == height
    pitch = torch.where(top, slope, -torch.inf).amax(dim, keepdim=True)
    return height, pitch, torch.where(top & (slope == pitch), value, -torch.inf).amax(dim, keepdim=True)


def _walked(
    value: torch.Tensor, residual: torch.Tensor, start: tuple[torch.Tensor, torch.Tensor, torch.Tensor], dim: int
) -> torch.Tensor:
    """The fractions, from the leader at the start on: the next one is the steeper line that crosses it first."""
    slope = value - residual
    fractions = torch.zeros_like(value)
    minus = torch.full_like(slope, -torch.inf)
    height, pitch, goal = start
    # A time is kept as its distance from the start and from the end of the path, which may be small beside the path.
    now, left = torch.zeros_like(height), torch.ones_like(height)
    for _ in range(value.shape[dim]):
        steeper = slope > pitch
        crossing = torch.where(steeper, (height - residual) / (slope - pitch), torch.inf).clamp(min=0)
        ahead = torch.where(steeper, (value - goal) / (slope - pitch), -torch.inf).clamp(max=1)
        following, after = crossing.amin(dim, keepdim=True), ahead.amax(dim, keepdim=True)
        early = following < 0.5
        until, rest = following.clamp(max=1).maximum(now), after.clamp(min=0).minimum(left)
        same = (residual == height) & (slope == pitch)
        share = torch.where(now < 0.5, until - now, left - rest) / same.sum(dim, keepdim=True)
        fractions = fractions + torch.where(same, share, torch.zeros_like(share))
        going_on = rest > 0
        if not torch.compiler.is_compiling() and not bool(going_on.any()):
            break
        # Among the lines that cross first, the steepest goes on as the leader.
        first = steeper & torch.where(early, crossing == following, ahead == after)
        steepest = torch.where(first, slope, minus).amax(dim, keepdim=True)
        lines = first & (slope == steepest)
        pitch = torch.where(going_on, steepest, pitch)
        height = torch.where(going_on, torch.where(lines, residual, minus).amax(dim, keepdim=True), height)
        goal = torch.where(going_on, torch.where(lines, value, minus).amax(dim, keepdim=True), goal)
        now, left = until, rest
    return fractions
