"""Attribution by leaving components out: Shapley values, exact or from samples, and occlusion."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

from npdec._core.progress import Progress, Show
from npdec.attribution import _hierarchy
from npdec.attribution._problem import Found, Problem
from npdec.attribution._ranks import shared

__all__ = ["occlusion", "shapley", "shapley_of_worths"]

_EXACT = 12  # components, whose 4096 coalitions are all tried
_EXACT_BATCHED = 16
_SAMPLES = 25
_MOST = 24
_MOST_IN_HIERARCHY = 20


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


def shapley(problem: Problem, samples: int | str | None, seed: int, hierarchy: Any, progress: Show) -> Found:
    """By all coalitions, or by random orders of the components, each gone through forwards and backwards. In a
    hierarchy the members of a group come one after the other."""
    n = problem.count
    tree = None if hierarchy is None else _hierarchy.parsed(hierarchy, n, problem.labels)
    coalitions = 2**n if tree is None else _hierarchy.number_of_coalitions(tree)
    if samples is None:
        samples = "all" if coalitions <= 2 ** (_EXACT_BATCHED if problem.batched else _EXACT) else _SAMPLES
    value, residual = _ends(problem)
    if n == 0:
        return Found(value, residual, value.new_zeros((*value.shape, 0)))
    if samples == "all":
        if coalitions > 2 ** (_MOST if tree is None else _MOST_IN_HIERARCHY):
            said = f"2**{n}" if tree is None else f"up to {coalitions}"
            raise ValueError(f"attribute: {n} components have {said} coalitions: give a number of samples")
        if tree is not None:
            return Found(value, residual, _in_hierarchy(problem, tree, value, residual, progress))
        with Progress("attribute", 2**n, progress) as bar:
            worths = _of_coalitions(problem, bar)
        worths[0], worths[-1] = residual, value
        return Found(value, residual, shapley_of_worths(worths).movedim(0, -1))
    assert isinstance(samples, int)
    source = torch.Generator().manual_seed(seed)
    if tree is None:
        orders = torch.stack([torch.randperm(n, generator=source) for _ in range(samples)])
    else:
        orders = _hierarchy.orders(tree, samples, source)
    at_once = max(1, problem.at_once() // (2 * n)) if problem.batched else 1
    found = []
    with Progress("attribute", samples * 2 * (n - 1), progress) as bar:
        one = functools.partial(_both_ways, problem, value, residual)
        for (gains,) in shared(problem.ranks, orders.split(at_once), one):
            found.append(gains)
            bar.advance(len(gains) * 2 * (n - 1))
    rows = torch.cat(found)
    error = rows.std(0) / math.sqrt(samples) if samples > 1 else None
    return Found(value, residual, rows.mean(0), error)


def _in_hierarchy(
    problem: Problem, tree: _hierarchy.Tree, value: torch.Tensor, residual: torch.Tensor, progress: Show
) -> torch.Tensor:
    """The shares (*O, C) by all coalitions that the hierarchy leaves."""
    n = problem.count
    contexts = _hierarchy.contexts(tree)
    masks = sorted({mask for i, some in contexts.items() for one in some for mask in (one, one | 1 << i)})
    place = {mask: k for k, mask in enumerate(masks)}
    present = torch.tensor([[mask >> i & 1 for i in range(n)] for mask in masks], dtype=torch.bool)
    with Progress("attribute", len(masks), progress) as bar:
        worths = _worths(problem, present, bar)
    worths[0], worths[-1] = residual, value
    shares = []
    for i in range(n):
        before = [place[mask] for mask in contexts[i]]
        after = [place[mask | 1 << i] for mask in contexts[i]]
        gains = worths[after] - worths[before]
        real = gains.real.dtype if gains.is_complex() else gains.dtype
        weights = torch.tensor(list(contexts[i].values()), dtype=torch.float64).to(gains.device, real)
        shares.append((weights.reshape(-1, *[1] * (gains.ndim - 1)) * gains).sum(0))
    return torch.stack(shares, -1)


def _ends(problem: Problem) -> tuple[torch.Tensor, torch.Tensor]:
    """The outputs with all present, and with all absent."""
    if problem.absent is None:
        value, residual = problem.ends()
    else:
        with problem.evaluating():
            value, residual = (problem.with_absent(torch.full((problem.count,), here)) for here in (True, False))
    if problem.ranks is not None:
        problem.ranks.agree("the outputs", value, residual)
    return value, residual


def occlusion(problem: Problem, progress: Show) -> Found:
    """What is lost when one component is at its baseline and the others are not."""
    value, residual = _ends(problem)
    present = ~torch.eye(problem.count, dtype=torch.bool)
    with Progress("attribute", problem.count, progress) as bar:
        worths = _worths(problem, present, bar)
    return Found(value, residual, (value - worths).movedim(0, -1))


def _both_ways(
    problem: Problem, value: torch.Tensor, residual: torch.Tensor, orders: torch.Tensor
) -> tuple[torch.Tensor]:
    """What each component adds in each of the orders (m, C), gone through forwards and backwards: rows (m, *O, C)."""
    gains = _in_order(problem, torch.cat([orders, orders.flip(1)]), value, residual)
    return ((gains[: len(orders)] + gains[len(orders) :]) / 2,)


def _in_order(problem: Problem, orders: torch.Tensor, value: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """What each component adds when they come one after the other: for each of the orders (m, C) a row (*O, C)."""
    m, n = orders.shape
    rank = orders.argsort(1)
    between = rank[:, None] < torch.arange(1, n)[:, None]
    parts = [residual.expand(m, 1, *residual.shape), value.expand(m, 1, *value.shape)]
    if n > 1:
        calls = _calls(problem, between.reshape(-1, n))
        worths = torch.cat([part for some in calls for part in _of_call(problem, some)])
        parts.insert(1, worths.reshape(m, n - 1, *value.shape))
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
    """The outputs (m, *O) where coalitions, booleans (m, C), are present. On a mesh each rank computes some of them."""
    parts = []
    for (part,) in shared(problem.ranks, _calls(problem, present), functools.partial(_of_call, problem)):
        parts.append(part)
        bar.advance(len(part))
    return torch.cat(parts)


def _calls(problem: Problem, present: torch.Tensor) -> Sequence[torch.Tensor]:
    """The coalitions of each call of the function, or of the few that are made together."""
    return present.split(problem.at_once() if problem.batched else 1)


def _of_call(problem: Problem, present: torch.Tensor) -> tuple[torch.Tensor]:
    with problem.evaluating():
        if problem.absent is None:
            return (problem.many(problem.present(present)),)
        return (torch.stack([problem.with_absent(one) for one in present]),)
