"""Attribution by leaving components out: Shapley values, exact or from samples, and occlusion."""

from __future__ import annotations

import math

import torch

from npdec._core.progress import Progress, Show
from npdec.attribution._problem import Found, Problem

__all__ = ["occlusion", "shapley", "shapley_of_worths"]

_EXACT = 12  # components, whose 4096 coalitions are all tried
_EXACT_BATCHED = 16
_SAMPLES = 25
_MOST = 24


def shapley_of_worths(worths: torch.Tensor) -> torch.Tensor:
    """The Shapley values (n, *O) of the worths (2**n, *O) of all coalitions; bit i of the index says whether i is in.

    φ_i = Σ |T|! (n − |T| − 1)! / n! · (v(T and i) − v(T)), over the T without i.
    """
    n = len(worths).bit_length() - 1
    subsets = torch.arange(len(worths))
    size = sum(((subsets >> i) & 1 for i in range(n)), start=torch.zeros_like(subsets))
    weight = torch.tensor([1 / (n * math.comb(n - 1, k)) for k in range(n)], dtype=torch.float64)
    shares = []
    for i in range(n):
        without = subsets[(subsets >> i) & 1 == 0]
        gains = worths[without | (1 << i)] - worths[without]
        real = gains.real.dtype if gains.is_complex() else gains.dtype
        weights = weight[size[without]].to(gains.device, real)
        shares.append((weights.reshape(-1, *[1] * (gains.ndim - 1)) * gains).sum(0))
    return torch.stack(shares)


def shapley(problem: Problem, samples: int | str | None, seed: int, progress: Show) -> Found:
    """By all coalitions, or by random orders of the components, each gone through forwards and backwards."""
    n = problem.count
    if samples is None:
        samples = "all" if n <= (_EXACT_BATCHED if problem.batched else _EXACT) else _SAMPLES
    value, residual = problem.ends()
    if n == 0:
        return Found(value, residual, value.new_zeros((*value.shape, 0)))
    if samples == "all":
        if n > _MOST:
            raise ValueError(f"attribute: {n} components have 2**{n} coalitions: give a number of samples")
        with Progress("attribute", 2**n, progress) as bar:
            worths = _of_coalitions(problem, bar)
        worths[0], worths[-1] = residual, value
        return Found(value, residual, shapley_of_worths(worths).movedim(0, -1))
    assert isinstance(samples, int)
    source = torch.Generator().manual_seed(seed)
    orders = torch.stack([torch.randperm(n, generator=source) for _ in range(samples)])
    at_once = max(1, problem.at_once() // (2 * n)) if problem.batched else 1
    found = []
    with Progress("attribute", samples * 2 * (n - 1), progress) as bar:
        for some in orders.split(at_once):
            gains = _in_order(problem, torch.cat([some, some.flip(1)]), value, residual, bar)
            found.append((gains[: len(some)] + gains[len(some) :]) / 2)
    rows = torch.cat(found)
    error = rows.std(0) / math.sqrt(samples) if samples > 1 else None
    return Found(value, residual, rows.mean(0), error)


def occlusion(problem: Problem, progress: Show) -> Found:
    """What is lost when one component is at its baseline and the others are not."""
    value, residual = problem.ends()
    present = ~torch.eye(problem.count, dtype=torch.bool)
    with Progress("attribute", problem.count, progress) as bar:
        worths = _worths(problem, present, bar)
    return Found(value, residual, (value - worths).movedim(0, -1))


def _in_order(
    problem: Problem, orders: torch.Tensor, value: torch.Tensor, residual: torch.Tensor, bar: Progress
) -> torch.Tensor:
    """What each component adds when they come one after the other: for each of the orders (m, C) a row (*O, C)."""
    m, n = orders.shape
    rank = orders.argsort(1)
    between = rank[:, None] < torch.arange(1, n)[:, None]
    parts = [residual.expand(m, 1, *residual.shape), value.expand(m, 1, *value.shape)]
    if n > 1:
        parts.insert(1, _worths(problem, between.reshape(-1, n), bar).reshape(m, n - 1, *value.shape))
    gains = torch.cat(parts, 1).diff(dim=1)
    rank = rank.to(gains.device).reshape(m, n, *[1] * value.ndim)
    return gains.gather(1, rank.expand(gains.shape)).movedim(1, -1)


def _of_coalitions(problem: Problem, bar: Progress) -> torch.Tensor:
    """The worths (2**n, *O) of all coalitions."""
    at_once = 4096
    bits = torch.arange(problem.count)
    subsets = torch.arange(2**problem.count).split(at_once)
    return torch.cat([_worths(problem, ((some[:, None] >> bits) & 1).bool(), bar) for some in subsets])


def _worths(problem: Problem, present: torch.Tensor, bar: Progress) -> torch.Tensor:
    """The outputs (m, *O) where coalitions, booleans (m, C), are present."""
    parts = []
    with problem.evaluating():
        for some in present.split(problem.at_once() if problem.batched else 1):
            parts.append(problem.many(problem.present(some)))
            bar.advance(len(some))
    return torch.cat(parts)
