"""The maximum of straight lines: how much of the path each element leads.

Along the path from r to x every element is a line r_j + t (x_j − r_j), and the maximum is their upper envelope, convex
and piecewise linear. The element that leads at t passes its own contributions on there, so that it passes on the
fraction of the path that it leads. Equal lines share evenly.
"""

from __future__ import annotations

import torch


def leading_fractions(value: torch.Tensor, residual: torch.Tensor, dim: int) -> torch.Tensor:
    """The fraction of the path on which each element along `dim` is the maximum: same shape, sums to one along `dim`.

    `residual` broadcasts to the value, but has its length along `dim`. The leader at t = 0 is the largest residual (the
    steepest among equals). Where it is the largest at t = 1, too, it leads all along; elsewhere the envelope is walked.
    """
    value, residual = value.detach(), residual.detach()
    if torch.compiler.is_compiling():
        residual = residual.expand(value.shape)
        return _walked(value, residual, _first(value, residual, dim), dim)
    # Where all lines start as one, the highest at the end leads.
    fractions = _shared(value == value.amax(dim, keepdim=True), value.dtype, dim)
    apart = (residual != residual.narrow(dim, 0, 1)).any(dim)
    if not bool(apart.any()):
        return fractions
    residual = residual.expand(value.shape).movedim(dim, 0)
    value, first = value.movedim(dim, 0), fractions.movedim(dim, 0)
    apart = apart.expand(value.shape[1:])
    first[:, apart] = _from_apart(value[:, apart], residual[:, apart])
    return fractions


def _shared(same: torch.Tensor, dtype: torch.dtype, dim: int) -> torch.Tensor:
    """Even shares for those that are equal."""
    shares = same.to(dtype)
    return shares / shares.sum(dim, keepdim=True)


def _from_apart(value: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """The fractions along the first of two axes."""
    height, pitch, goal = _first(value, residual, 0)
    fractions = _shared((residual == height) & (value - residual == pitch), value.dtype, 0)
    moving = (goal != value.amax(0, keepdim=True))[0]
    if bool(moving.any()):
        value, residual, *start = (t[:, moving] for t in (value, residual, height, pitch, goal))
        fractions[:, moving] = _walked(value, residual, (start[0], start[1], start[2]), 0)
    return fractions


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
