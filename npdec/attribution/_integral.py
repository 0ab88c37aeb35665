"""The integral over the path of rates whose sums have a known primitive, by panels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch

from npdec._core.progress import Progress, Show
from npdec._impl import _util
from npdec._law.panels import NARROWEST, Panel, Panels
from npdec._law.quadrature_error import evenness
from npdec._law.quadrature_nodes import gauss_legendre, last_coefficients
from npdec.attribution._kinks import Point, kink
from npdec.attribution._problem import Problem
from npdec.exceptions import DecompositionWarning

__all__ = ["Integral", "Rates", "at_number", "like"]

_NODES = 8
_MAX_PANELS = 1024
_MARGIN = 2.0**-12  # of a panel, at its ends, where it is not split


def at_number(t: float) -> torch.Tensor:
    return torch.tensor(t, dtype=torch.float64)


def like(nodes: torch.Tensor, rates: torch.Tensor) -> torch.Tensor:
    """Coefficients for the nodes, shaped to multiply rates (m, ...)."""
    real = rates.real.dtype if rates.is_complex() else rates.dtype
    return nodes.to(rates.device, real).reshape(-1, *[1] * (rates.ndim - 1))


def _unresolved(rates: torch.Tensor) -> float:
    """About how far the integral of rates (m, ...), given at m nodes, is from what more nodes would give."""
    size = float(rates.abs().max())
    coefficients = [like(rates.new_tensor(row, dtype=torch.float64), rates) for row in last_coefficients(len(rates))]
    last = max(float((row * rates).sum(0).abs().max()) for row in coefficients)
    return last * last / size if size else 0.0


class Rates(NamedTuple):
    """At m nodes: rates (m, *O, ...), their sums (m, *O), and the primitive of these, if it is known by the way."""

    rates: torch.Tensor
    sums: torch.Tensor
    values: torch.Tensor | None = None


class _Seen(NamedTuple):
    """The output of which most is missing, at the nodes of a panel, in order: places, slopes and values, each (m,)."""

    output: int
    places: torch.Tensor
    slopes: torch.Tensor
    values: torch.Tensor


@dataclass(slots=True)
class _Panel(Panel):
    """A piece [a, b] of the path, with its share of the integral and the magnitude of that. The error is that beyond
    rounding."""

    total: torch.Tensor
    size: float
    seen: _Seen | None


def _output(outputs: torch.Tensor, output: int) -> torch.Tensor:
    """Of outputs (m, *O) those of one output, as real numbers (m,)."""
    return outputs.reshape(len(outputs), -1)[:, output].real.double()


def _points(seen: _Seen) -> list[Point]:
    numbers = (each.detach().tolist() for each in (seen.places, seen.values, seen.slopes))
    return [Point(*each) for each in zip(*numbers, strict=True)]


class Integral:
    """The integral over [0, 1] of rates, whose sums have a known primitive: it measures the error of the quadrature,
    and tells where the function has a kink."""

    def __init__(
        self,
        problem: Problem,
        integrand: Callable[[torch.Tensor], Rates],
        primitive: Callable[[torch.Tensor], torch.Tensor],
        high: torch.Tensor,
        low: torch.Tensor,
        progress: Show,
    ) -> None:
        self.problem = problem
        self.integrand, self.primitive = integrand, primitive
        self.high, self.low = high, low
        self.progress = progress

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
                part = self._sum(some, at_number(0.0), at_number(1.0))[0]
                total = part if total is None else total + part
                bar.advance(len(some))
        assert total is not None
        return total

    def _sum(
        self, pairs: tuple[tuple[float, float], ...], a: torch.Tensor, b: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, Rates]:
        """The weighted sum of the rates at the nodes of a panel; the nodes, and what is known there."""
        nodes, weights = (torch.tensor(row, dtype=torch.float64) for row in zip(*pairs, strict=True))
        places = a + (b - a) * nodes
        found = self.integrand(places)
        return (found.rates * like((b - a) * weights, found.rates)).sum(0), places, found

    def _panel(self, a: torch.Tensor, b: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> _Panel:
        total, places, (rates, sums, values) = self._sum(gauss_legendre(_NODES), a, b)
        with torch.no_grad():
            errors = (high - low - total.sum(tuple(range(high.ndim, total.ndim)))).abs()
            rounding = 4 * torch.finfo(errors.dtype).eps * (high.abs() + low.abs())
            error = float((errors - rounding).clamp(min=0).max())
            spread = (sums - sums[:1]).abs().max()
            if spread <= evenness(errors.dtype) * float(rates.abs().max()):
                # Shares whose sum changes evenly (not at all, where x is a multiple of r and only their ratios count)
                # are complete with any nodes: whether these are enough, the shares themselves tell.
                error += _unresolved(rates) * float(b - a)
        seen = None
        if values is not None:
            worst = int(errors.argmax())
            seen = _Seen(worst, places, _output(sums, worst), _output(values, worst))
        narrow = bool(b - a < NARROWEST * b)  # relative to where it is
        return _Panel(a, b, low, high, error, narrow, total, float(total.detach().abs().sum()), seen)

    def _split(self, panel: _Panel) -> torch.Tensor:
        """Where a panel is split: at a kink, if one is seen. This moves with what the function computes with, and has
        its graph."""
        middle = (panel.a + panel.b) / 2
        if panel.seen is None:
            return middle
        output, seen = panel.seen.output, [panel.seen]

        def look(places: list[float]) -> list[Point]:
            at = torch.tensor(places, dtype=torch.float64)
            _, sums, values = self.integrand(at)
            assert values is not None
            more = _Seen(output, at, _output(sums, output), _output(values, output))
            seen.append(more)
            return _points(more)

        eps = torch.finfo(panel.high.dtype).eps
        place = kink(_points(panel.seen), look, eps)
        if place is None or not _MARGIN < (place - float(panel.a)) / float(panel.b - panel.a) < 1 - _MARGIN:
            return middle
        if not self.problem.graph:
            return at_number(place)
        places, slopes, values = (torch.cat([getattr(s, name) for s in seen]) for name in _Seen._fields[1:])
        low = int(torch.where(places <= place, places, -math.inf).argmax())
        high = int(torch.where(places > place, places, math.inf).argmin())
        rise = values[high] - values[low] - slopes[high] * (places[high] - places[low])
        meet = places[low] + rise / (slopes[low] - slopes[high])
        return place + (meet - meet.detach())

    def _adapted(self, rtol: float | None) -> torch.Tensor:
        with Progress("attribute", None, self.progress) as bar:
            real = self.high.real.dtype if self.high.is_complex() else self.high.dtype
            bound = float(torch.finfo(real).eps ** (2 / 3)) if rtol is None else rtol
            ends = float(torch.maximum(self.high.detach().abs(), self.low.detach().abs()).max())
            panels = Panels(self._panel, self._split, self.primitive, _MAX_PANELS)
            scale = missing = math.nan

            def enough() -> bool:
                nonlocal scale, missing
                bar.advance()
                scale, missing = max(ends, math.fsum(p.size for p in panels)), panels.error()
                return math.isfinite(scale) and missing <= bound * scale

            panels.refine(self._panel(at_number(0.0), at_number(1.0), self.low, self.high), enough)
        if not (math.isfinite(scale) and missing <= bound * scale):
            said = f"holds only to {missing / scale:.1e} of the largest magnitude" if math.isfinite(scale) else "fails"
            _util.warn(
                f"attribute: completeness {said}, with {len(panels)} panels of {_NODES} nodes: the path "
                "passes a singularity or very many kinks, or the function has no derivative; the rest is in .error",
                DecompositionWarning,
            )
        total, *others = [panel.total for panel in panels.along()]
        for share in others:
            total = total + share
        return total
