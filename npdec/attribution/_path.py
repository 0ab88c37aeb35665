"""Attribution along the straight path from the baseline: integrated gradients, and their second order."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from npdec._core.progress import Progress, Show
from npdec._impl import _util
from npdec._law.quadrature_nodes import gauss_legendre, last_coefficients
from npdec.attribution._problem import Found, Problem
from npdec.exceptions import DecompositionWarning

__all__ = ["Integral", "assembled", "columns", "grad", "gradient", "input_x_gradient", "pairs", "path"]

_NODES = 8
_MAX_PANELS = 1024
_NARROWEST = 2.0**-44  # relative to where it is: narrower panels differ by rounding only
_MARGIN = 2.0**-12  # of a panel, at its ends, where it is not split


def path(problem: Problem, steps: int | None, rtol: float | None, progress: Show) -> Found:
    """Integrated gradients: c_i · ∫ ∂f/∂c_i (r + t (x − r)) dt."""
    value, residual = problem.ends()

    def integrand(nodes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rates = _slopes(problem, _diagonal(problem, nodes))
        return rates, rates.sum(-1)

    def primitive(t: torch.Tensor) -> torch.Tensor:
        with problem.evaluating():
            return problem.many(problem.along(_diagonal(problem, t)))[0]

    shares = Integral(problem, integrand, primitive, value, residual, progress).over_path(steps, rtol)
    return Found(value, residual, shares)


def pairs(problem: Problem, steps: int | None, rtol: float | None, progress: Show) -> Found:
    """The second order: Taylor's formula with its remainder in integral form,

    f(x) − f(r) = Σ_i c_i ∂_i f(r) + Σ_ij c_i c_j ∫ (1 − t) ∂_ij f(r + t (x − r)) dt.
    """
    value, residual = problem.ends()

    def integrand(nodes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        curves = _curvatures(problem, _diagonal(problem, nodes))
        curves = curves * _like((1 - nodes), curves)
        return curves, curves.sum((-2, -1))

    def primitive(t: torch.Tensor) -> torch.Tensor:
        """∫ (1 − t) φ'' = (1 − t) φ' + φ, for φ(t) = f(r + t (x − r))."""
        at = _diagonal(problem, t)
        slope = _slopes(problem, at)[0].sum(-1)
        with problem.evaluating():
            return (1 - float(t)) * slope + problem.many(problem.along(at))[0]

    ends = primitive(_number(1.0)), primitive(_number(0.0))
    mixed = Integral(problem, integrand, primitive, *ends, progress, straight=False).over_path(steps, rtol)
    main = _slopes(problem, _diagonal(problem, _number(0.0)))[0]
    matrix = (mixed + mixed.transpose(-1, -2)) / 2 + torch.diag_embed(main)
    return Found(value, residual, matrix)


def gradient(problem: Problem) -> Found:
    """The gradient itself, by each element."""
    leaves = [value.clone().requires_grad_() for value in problem.values]
    made = problem.one([leaf.clone() for leaf in leaves])
    flat = made.reshape(-1)
    rows = []
    for i, number in enumerate(flat):
        if number.is_complex():
            raise TypeError(
                "attribute: a complex output has no gradient: choose its real or imaginary part with output="
            )
        slopes = grad(number, leaves, retain=i + 1 < len(flat), create=problem.graph)
        rows.append(torch.cat([slope.reshape(-1).to(problem.device) for slope in slopes]))
    return Found(problem.kept(made), None, torch.stack(rows).reshape(*made.shape, -1))


def input_x_gradient(problem: Problem) -> Found:
    """Each component times the slope at the value."""
    value, residual = problem.ends()
    shares = _slopes(problem, _diagonal(problem, _number(1.0)), inside=False)[0]
    return Found(value, residual, shares)


# -- derivatives with respect to the components' weights ---------------------------------------------------------------


def _diagonal(problem: Problem, nodes: torch.Tensor) -> torch.Tensor:
    """Points of the path, shape (m, C) for m nodes: all components by the same weight."""
    nodes = nodes.to(problem.device, problem.dtype).reshape(-1)
    return nodes[:, None].expand(len(nodes), problem.count).clone()


def _number(t: float) -> torch.Tensor:
    return torch.tensor(t, dtype=torch.float64)


def _like(nodes: torch.Tensor, rates: torch.Tensor) -> torch.Tensor:
    """Numbers for the nodes, shaped to multiply rates (m, ...)."""
    real = rates.real.dtype if rates.is_complex() else rates.dtype
    return nodes.to(rates.device, real).reshape(-1, *[1] * (rates.ndim - 1))


def grad(number: torch.Tensor, leaves: list[torch.Tensor], retain: bool, create: bool = False) -> list[torch.Tensor]:
    """The gradients of a number by the leaves; zeros for what it does not depend on."""
    if not number.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    found: tuple[torch.Tensor | None, ...] = torch.autograd.grad(
        number, leaves, retain_graph=retain or create, create_graph=create, allow_unused=True
    )
    return [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves, strict=True)]


def columns(made: torch.Tensor) -> list[torch.Tensor]:
    """Outputs (m,) or (m, k) at m points, each as real numbers (m,): of complex ones the two parts."""
    flat = made.reshape(len(made), -1)
    if flat.is_complex():
        flat = torch.view_as_real(flat.resolve_conj()).flatten(1)
    return list(flat.unbind(1))


def assembled(parts: list[torch.Tensor], made: torch.Tensor) -> torch.Tensor:
    """Derivatives (m, *C) of the columns, as (m, *C) for one output or (m, k, *C)."""
    stacked = torch.stack(parts, 1)
    if made.is_complex():
        stacked = torch.complex(stacked[:, 0::2], stacked[:, 1::2])
    return stacked.reshape((*made.shape, *stacked.shape[2:]))


def _slopes(problem: Problem, weights: torch.Tensor, inside: bool = True) -> torch.Tensor:
    """∂f/∂w at weights (m, C): (m, *O, C)."""
    parts: list[torch.Tensor] = []
    pieces = []
    for piece in weights.split(problem.at_once()):
        piece = piece.requires_grad_()
        made = problem.many(problem.along(piece, inside))
        each = columns(made)
        last = len(each) - 1
        parts = [grad(c.sum(), [piece], i < last, problem.graph)[0] for i, c in enumerate(each)]
        pieces.append(problem.kept(assembled(parts, made)))
    return torch.cat(pieces)


def _curvatures(problem: Problem, weights: torch.Tensor) -> torch.Tensor:
    """∂²f/∂w∂w at weights (m, C): (m, *O, C, C)."""
    pieces = []
    for piece in weights.split(problem.at_once()):
        piece = piece.requires_grad_()
        made = problem.many(problem.along(piece))
        parts = []
        for column in columns(made):
            (slope,) = grad(column.sum(), [piece], retain=True, create=True)
            rows = [grad(slope[:, i].sum(), [piece], retain=True)[0] for i in range(problem.count)]
            parts.append(torch.stack(rows, 1))
        pieces.append(assembled(parts, made).detach())
    return torch.cat(pieces)


def _unresolved(rates: torch.Tensor) -> float:
    """About how far the integral of rates (m, ...), given at m nodes, is from what more nodes would give."""
    size = float(rates.abs().max())
    numbers = [_like(rates.new_tensor(row, dtype=torch.float64), rates) for row in last_coefficients(len(rates))]
    last = max(float((row * rates).sum(0).abs().max()) for row in numbers)
    return last * last / size if size else 0.0


# -- the integral ------------------------------------------------------------------------------------------------------


class _Panel(NamedTuple):
    """A piece [a, b] of the path, its share of the integral and the magnitude of that, and where to split it: these
    move with what the function computes with, and have its graph. The priority is minus the error beyond rounding, so
    that a heap pops the worst."""

    priority: float
    order: int
    a: torch.Tensor
    b: torch.Tensor
    split: torch.Tensor
    total: torch.Tensor
    size: float
    low: torch.Tensor
    high: torch.Tensor


class Integral:
    """The integral over [0, 1] of rates, whose sums have a known primitive: it measures the error of the quadrature.

    `integrand(nodes)` gives rates (m, *O, ...) and their sums (m, *O); `primitive(t)` gives (*O). `straight` says that
    the sums are slopes of the primitive, so that tangents meet where a piecewise linear one has its kink.
    """

    def __init__(
        self,
        problem: Problem,
        integrand: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
        primitive: Callable[[torch.Tensor], torch.Tensor],
        high: torch.Tensor,
        low: torch.Tensor,
        progress: Show,
        straight: bool = True,
    ) -> None:
        self.problem = problem
        self.integrand, self.primitive = integrand, primitive
        self.high, self.low = high, low
        self.progress, self.straight = progress, straight
        self.made = 0

    def over_path(self, steps: int | None, rtol: float | None) -> torch.Tensor:
        """By that many nodes, or by as many as the error asks for."""
        if steps is None:
            return self._adapted(rtol)
        total = None
        pairs = gauss_legendre(steps)
        with Progress("attribute", steps, self.progress) as bar:
            at_once = self.problem.at_once() if self.problem.batched else 1
            for i in range(0, steps, at_once):
                some = pairs[i : i + at_once]
                part = self._sum(some, _number(0.0), _number(1.0))[0]
                total = part if total is None else total + part
                bar.advance(len(some))
        assert total is not None
        return total

    def _sum(
        self, pairs: tuple[tuple[float, float], ...], a: torch.Tensor, b: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The weighted sum of the rates at the nodes of a panel; their sums at each node, and themselves."""
        nodes, weights = (torch.tensor(row, dtype=torch.float64) for row in zip(*pairs, strict=True))
        rates, sums = self.integrand(a + (b - a) * nodes)
        return (rates * _like((b - a) * weights, rates)).sum(0), sums, rates

    def _panel(self, a: torch.Tensor, b: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> _Panel:
        total, sums, rates = self._sum(gauss_legendre(_NODES), a, b)
        change = high - low
        with torch.no_grad():
            errors = (change - total.sum(tuple(range(high.ndim, total.ndim)))).abs()
            rounding = 4 * torch.finfo(errors.dtype).eps * (high.abs() + low.abs())
            error = float((errors - rounding).clamp(min=0).max())
            spread = (sums - sums[:1]).abs().max()
            if spread <= torch.finfo(errors.dtype).eps ** 0.375 * float(rates.abs().max()):
                # Shares whose sum changes evenly (not at all, where x is a multiple of r and only their ratios count)
                # are complete with any nodes: whether these are enough, the shares themselves tell.
                error += _unresolved(rates) * float(b - a)
        self.made += 1
        split = (a + b) / 2
        if self.straight:
            worst = int(errors.argmax())
            first, last, rise = (s.reshape(-1)[worst].real.to(a) for s in (sums[0], sums[-1], change))
            # low + first · (t − a) and high + last · (t − b) meet at t.
            meet = (rise - last * (b - a)) / (first - last)
            if _MARGIN < meet / (b - a) < 1 - _MARGIN:
                split = a + meet
        return _Panel(
            -math.inf if math.isnan(error) else -error,
            self.made,
            a,
            b,
            split,
            total,
            float(total.detach().abs().sum()),
            low,
            high,
        )

    def _adapted(self, rtol: float | None) -> torch.Tensor:
        with Progress("attribute", None, self.progress) as bar:
            panels = [self._panel(_number(0.0), _number(1.0), self.low, self.high)]
            real = self.high.real.dtype if self.high.is_complex() else self.high.dtype
            bound = float(torch.finfo(real).eps ** (2 / 3)) if rtol is None else rtol
            ends = float(torch.maximum(self.high.detach().abs(), self.low.detach().abs()).max())
            while True:
                bar.advance()
                scale = max(ends, math.fsum(p.size for p in panels))
                missing = -math.fsum(p.priority for p in panels)
                if (math.isfinite(scale) and missing <= bound * scale) or len(panels) >= _MAX_PANELS:
                    break
                panel = heapq.heappop(panels)
                if panel.b - panel.a < _NARROWEST * panel.b or panel.priority == -math.inf:
                    heapq.heappush(panels, panel)
                    break
                between = self.primitive(panel.split)
                for half in (
                    self._panel(panel.a, panel.split, panel.low, between),
                    self._panel(panel.split, panel.b, between, panel.high),
                ):
                    heapq.heappush(panels, half)
        if not (math.isfinite(scale) and missing <= bound * scale):
            said = f"holds only to {missing / scale:.1e} of the largest magnitude" if math.isfinite(scale) else "fails"
            _util.warn(
                f"attribute: completeness {said}, with {len(panels)} panels of {_NODES} nodes: the path "
                "passes a singularity or very many kinks, or the function has no derivative; the rest is in .error",
                DecompositionWarning,
            )
        panels.sort(key=lambda panel: panel.a.item())
        total = panels[0].total
        for panel in panels[1:]:
            total = total + panel.total
        return total
