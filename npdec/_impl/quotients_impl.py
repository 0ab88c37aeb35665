"""What each of two arguments has of the change of a function with jumps: of quotients that are rounded to integers, of
what these leave, and of any other.

Each function takes the arguments, the baseline's, the function itself, and what it gives for the two.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

__all__ = ["LEAST", "in_both_orders", "of_quotient", "of_rest"]

Function = Callable[..., torch.Tensor]
Shares = tuple[torch.Tensor, torch.Tensor]
LEAST = 2.0**-20  # of what two arguments make of a quotient, what it has to change by that their shares are known


def in_both_orders(
    a: torch.Tensor,
    b: torch.Tensor,
    a_r: torch.Tensor,
    b_r: torch.Tensor,
    f: Function,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> Shares:
    """Each argument moves first once, and the two orders are averaged: the Shapley value of the two."""
    only_a, only_b = f(a, b_r), f(a_r, b)
    return (_change(only_a, fr) + _change(fx, only_b)) / 2, (_change(only_b, fr) + _change(fx, only_a)) / 2


def of_quotient(
    a: torch.Tensor,
    b: torch.Tensor,
    a_r: torch.Tensor,
    b_r: torch.Tensor,
    f: Function,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> Shares:
    """a / b, rounded to an integer: the steps come as a / b moves, and the arguments share them as they share that.

    Where a / b hardly moves, or the path crosses b = 0, each moves first once."""
    share, known = _of_quotient(a, b, a_r, b_r)
    change = _change(fx, fr)
    by_a = change * share
    return _instead(known, (by_a, change - by_a), in_both_orders(a, b, a_r, b_r, f, fx, fr))


def of_rest(
    a: torch.Tensor,
    b: torch.Tensor,
    a_r: torch.Tensor,
    b_r: torch.Tensor,
    f: Function,
    fx: torch.Tensor,
    fr: torch.Tensor,
) -> Shares:
    """a − q · b, of which q is a / b, rounded to an integer: the product rule. Where less than half of the digits are
    left of that, each moves first once."""
    q, q_r = torch.round((a - fx) / b), torch.round((a_r - fr) / b_r)
    share, known = _of_quotient(a, b, a_r, b_r)
    steps, middle, mean = q - q_r, (b + b_r) / 2, (q + q_r) / 2
    known = known | ((steps == 0) & (torch.signbit(b) == torch.signbit(b_r)))
    of_a, of_b = middle * (steps * share), middle * (steps - steps * share)
    by_a, by_b = (a - a_r) - of_a, -mean * (b - b_r) - of_b
    gross = (a - a_r).abs() + of_a.abs() + of_b.abs() + (mean * (b - b_r)).abs()
    left = gross <= (fx.abs() + fr.abs() + by_a.abs() + by_b.abs()) / torch.finfo(q.dtype).eps ** 0.5
    return _instead(known & left, (by_a, by_b), in_both_orders(a, b, a_r, b_r, f, fx, fr))


def _of_quotient(a: torch.Tensor, b: torch.Tensor, a_r: torch.Tensor, b_r: torch.Tensor) -> Shares:
    """The share of a in the change of a / b, as the product of a with the reciprocal of b, and where it is known."""
    by_a = (a - a_r) * (1 / b + 1 / b_r) / 2
    by_b = (b_r - b) / (b * b_r) * (a + a_r) / 2
    change, gross = by_a + by_b, by_a.abs() + by_b.abs()
    known = torch.isfinite(gross) & (change.abs() > LEAST * gross) & (torch.signbit(b) == torch.signbit(b_r))
    return torch.where(known, by_a, 0) / torch.where(known, change, 1), known


def _change(after: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """The change; none between equal infinities."""
    return torch.where(after == before, 0, after - before)


def _instead(known: torch.Tensor, shares: Shares, others: Shares) -> Shares:
    first, second = (torch.where(known, share, other) for share, other in zip(shares, others, strict=True))
    return first, second
