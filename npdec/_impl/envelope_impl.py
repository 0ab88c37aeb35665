"""The maximum of straight lines: how much of the path each element leads.

Along the path from r to x every element is a line r_j + t (x_j − r_j), and the maximum is their upper envelope, convex
and piecewise linear. The element that leads at t passes its own contributions on there, so that it passes on the
fraction of the path that it leads. Equal lines share evenly.
"""

from __future__ import annotations

import torch


def leading_fractions(value: torch.Tensor, residual: torch.Tensor, dim: int) -> torch.Tensor:
    """The fraction of the path on which each element along `dim` is the maximum: same shape, sums to one along `dim`.

    The envelope is walked from t = 0: the leader there is the largest residual (the steepest among equals), and the
    next one is the steeper line that crosses the leader first.
    """
    value, residual = value.detach(), residual.detach()
    slope = value - residual
    fractions = torch.zeros_like(value)
    minus = torch.full_like(slope, -torch.inf)
    # The leader, by its height at the start, its slope, and its height at the end of the path.
    height = residual.amax(dim, keepdim=True)
    lines = residual == height
    pitch = torch.where(lines, slope, minus).amax(dim, keepdim=True)
    goal = torch.where(lines & (slope == pitch), value, minus).amax(dim, keepdim=True)
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
