"""The law for any differentiable function: the path integral of its Jacobian-vector product, by Gauss–Legendre panels.

On a panel [a, b] of the path the integral of the derivative along the whole difference x − r must equal the change of
the function: completeness itself measures the error of the quadrature, panel by panel, at no cost. The worst panel is
halved until the errors together are within the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._decomposed.axes import once
from npdec._decomposed.settings import settings
from npdec._decomposed.size_warnings import warn_of_size
from npdec._law.create_graph import wants_graph
from npdec._law.differentiable import Differentiable, jvp, load_jvp
from npdec._law.panels import AT_A_KINK, NARROWEST, SPLIT, Panel, Panels, path_step
from npdec._law.quadrature_at_once import at_once, stacked_rates
from npdec._law.quadrature_error import LastCoefficients, Straightness, largest, warn_of_kink, warn_of_path
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._torch.functorch import mapped
from npdec._torch.tracing import constant_when_traced, tracing

__all__ = ["integrate"]

_NODES = 8
_MAX_PANELS = 256
_PATIENCE = 12
_LITTLE = 2**13  # elements of the components, or of their sum, for which all nodes of a panel are made at once


def tolerance(dtype: torch.dtype) -> float:
    """How far completeness may miss, relative to the largest magnitude of the result: 1e-12 in double precision, 1e-5
    in single, as many roundings in the others; or what `np.rule(rtol=...)` says."""
    rtol = settings("quadrature").rtol
    if rtol is not None:
        return rtol
    eps = torch.finfo(dtype).eps
    return 1e-12 if eps < 1e-12 else 84 * eps


@constant_when_traced
def _load_traced() -> None:
    """Register the operator that graphs use, which takes longer than it may with the import of npdec."""
    import npdec._law.quadrature_traced  # noqa: F401


def _at(start: Sequence[torch.Tensor], step: Sequence[torch.Tensor], t: float) -> tuple[torch.Tensor, ...]:
    return tuple(r if t == 0.0 else r + t * d for r, d in zip(start, step, strict=True))


def _panel(
    function: Differentiable,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    tangents: tuple[torch.Tensor, ...],
    a: float,
    b: float,
    like: Sequence[torch.Tensor],
    batched: bool,
    seen: Straightness | LastCoefficients | None = None,
) -> list[torch.Tensor]:
    """The integrals of the derivatives over a panel. `seen` is told those at each node."""
    own = function.own
    try:
        if own is None:
            made = _together(function, start, step, tangents, a, b, like, batched, seen)
            if made is not None:
                return made
        total: list[torch.Tensor] = []
        for node, weight in gauss_legendre(_NODES):
            points = _at(start, step, a + (b - a) * node)
            rates: Sequence[Any]
            if own is not None:
                rates = own.rates(function.call, points, tangents, batched)
            elif batched:
                rates = torch.vmap(lambda *c, points=points: jvp(function, points, c))(*tangents)
            else:
                rates = jvp(function, points, tangents)
            rates = _in_memory(rates, like)
            if seen is not None:
                seen.see(rates)
            weight *= b - a
            total = [r * weight for r in rates] if not total else [
                s + r * weight for s, r in zip(total, rates, strict=True)
            ]  # fmt: skip
            del points, rates  # before those of the next node are made
    except torch.linalg.LinAlgError:  # the path meets a singular matrix: no derivative, and the caller warns
        return [torch.full_like(out, torch.nan) for out in like]
    return total


def _in_memory(rates: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """A derivative that vanishes identically comes as a tensor without memory, which little else accepts."""
    return [
        r.new_zeros(r.shape, device=out.device) if r._is_zerotensor() else r for r, out in zip(rates, like, strict=True)
    ]


def _is_little(function: Differentiable, tangents: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> bool:
    """Whether all nodes of a panel are made at once."""
    if function.own is not None or function.one_by_one:
        return False
    if not all(out.numel() for out in like):
        return False
    return sum(t.numel() for t in (*tangents, *like)) <= _LITTLE


def _together(
    function: Differentiable,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    tangents: tuple[torch.Tensor, ...],
    a: float,
    b: float,
    like: Sequence[torch.Tensor],
    batched: bool,
    seen: Straightness | LastCoefficients | None,
) -> list[torch.Tensor] | None:
    """The same with all the nodes of the panel at once, where that is little work; None where it is much, or where the
    function cannot be mapped over points."""
    if not _is_little(function, tangents, like):
        return None
    rule = gauss_legendre(_NODES)
    where = start[0].device
    nodes, weights = (torch.tensor(row, dtype=torch.float64, device=where) for row in zip(*rule, strict=True))
    nodes = a + (b - a) * nodes

    def rate(t: torch.Tensor, *tangents: torch.Tensor) -> Any:
        points = tuple(r + t.to(d.real.dtype) * d for r, d in zip(start, step, strict=True))
        return jvp(function, points, tangents)

    count = len(tangents[0]) if batched else 1
    if function.stacked is not None and not function.graph:
        made = stacked_rates(function.stacked, start, step, tangents, nodes, batched)
        return _summed(made, (b - a) * weights, seen)
    if batched:
        nodes = nodes.repeat_interleave(count)
        tangents = tuple(c.repeat(_NODES, *[1] * (c.ndim - 1)) for c in tangents)
    try:
        rates: Sequence[torch.Tensor] = torch.vmap(rate, (0, *[0 if batched else None] * len(tangents)))(
            nodes, *tangents
        )
    except RuntimeError as error:  # a branch that depends on numbers, or torch maps the function wrongly
        if isinstance(error, torch.linalg.LinAlgError):
            raise
        function.one_by_one = True
        return None
    rates = [r.reshape(_NODES, *([count] if batched else []), *r.shape[1:]) for r in _in_memory(rates, like)]
    return _summed(rates, (b - a) * weights, seen)


def _summed(
    rates: Sequence[torch.Tensor], weights: torch.Tensor, seen: Straightness | LastCoefficients | None
) -> list[torch.Tensor]:
    if seen is not None:
        for i in range(_NODES):
            seen.see([r[i] for r in rates])
    return [torch.tensordot(weights.to(r.dtype), r, 1) for r in rates]


def _all_panels(
    function: Differentiable,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    tangents: Sequence[torch.Tensor],
    panels: Sequence[Panel],
    like: Sequence[torch.Tensor],
) -> list[torch.Tensor] | None:
    """The integrals over several panels by a formula, all of their nodes at once; None where that is much work."""
    if function.stacked is None or function.graph or not _is_little(function, tangents, like):
        return None
    if len(panels) * sum(t.numel() for t in (*tangents, *like)) > _LITTLE * 16:
        return None
    rule = [(p.a + (p.b - p.a) * node, (p.b - p.a) * weight) for p in panels for node, weight in gauss_legendre(_NODES)]
    where = start[0].device
    nodes, weights = (torch.tensor(row, dtype=torch.float64, device=where) for row in zip(*rule, strict=True))
    try:
        return _summed(stacked_rates(function.stacked, start, step, tangents, nodes, True), weights, None)
    except torch.linalg.LinAlgError:  # which the panel of the node says
        return None


def _probe(step: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """A direction other than that of the path, for which numbers of any kind do."""
    made = []
    for d in step:
        size = d.abs() + d.abs().mean()
        places = torch.arange(d.numel(), dtype=size.dtype, device=d.device).reshape(d.shape)
        made.append((size * torch.cos(2.3 * places + 0.7)).to(d.dtype))
    return tuple(made)


class _Path(torch.autograd.Function):
    """Reverse mode: the change of the outputs, differentiated by the transposed Jacobians along the path."""

    @staticmethod
    def forward(
        ctx: Any, function: Differentiable, nodes: Any, start: Any, step: Any, changes: Any, *components: torch.Tensor
    ) -> Any:
        ctx.path = function, nodes, start, step
        return tuple(change.unsqueeze(0).clone() for change in changes)  # a view could not be written in place

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        function, nodes, start, step = ctx.path
        total: list[torch.Tensor] = []
        for node, weight in nodes:
            points, cotangents = _at(start, step, node), tuple(g.squeeze(0) * weight for g in grads)
            if function.own is not None:
                found = function.own.vjp(function.call, points, cotangents)
            else:
                made: tuple[Any, ...] = torch.func.vjp(function.call, *points)
                with torch.enable_grad():
                    found = made[1](cotangents)
            total = list(found) if not total else [s + f for s, f in zip(total, found, strict=True)]
        return (None,) * 5 + tuple(t.unsqueeze(0) for t in total)


class _Measured:
    """Panels of a function along the path, and how far the integral of its derivative is from its change there.

    `ends` are its outputs at the start and the end of the path, detached, as are `start` and `step`.
    """

    def __init__(
        self,
        function: Differentiable,
        start: Sequence[torch.Tensor],
        step: Sequence[torch.Tensor],
        ends: tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]],
        bound: float,
    ) -> None:
        self.function, self.start, self.step, self.ends, self.bound = function, start, step, ends, bound
        base, result = ends
        self.scale = [max(largest(out), largest(r0)) for out, r0 in zip(result, base, strict=True)]
        # Nothing is shared out to what is not a number at either end.
        self.unknown = [torch.isnan(out) | torch.isnan(r0) for out, r0 in zip(result, base, strict=True)]
        # A function that changes evenly along the path (as a direction of which only the length grows, not at all) is
        # complete with any nodes. In another direction it tells whether they are enough.
        self.several = sum(d.numel() for d in step) > 1

    def missed(self, total: Sequence[torch.Tensor], low: Sequence[torch.Tensor], high: Sequence[torch.Tensor]) -> float:
        """What integrals miss of the change between two outputs, relative to the largest magnitude at the ends."""
        missing = [
            torch.where(((h == lo) & torch.isinf(h)) | no, 0, h - lo - s.detach()).abs().max() if s.numel() else 0.0
            for h, lo, s, no in zip(high, low, total, self.unknown, strict=True)
        ]
        return max(float(e) / s if s else float(e) for e, s in zip(missing, self.scale, strict=True))

    def _unresolved(self, a: float, b: float, low: Sequence[torch.Tensor]) -> float:
        seen = LastCoefficients(_NODES)
        _panel(self.function, self.start, self.step, _probe(self.step), a, b, low, batched=False, seen=seen)
        return seen.missing(b - a, self.scale)

    def panel(self, a: float, b: float, low: Sequence[torch.Tensor], high: Sequence[torch.Tensor]) -> Panel:
        seen = Straightness(self.scale)
        total = _panel(self.function, self.start, self.step, tuple(self.step), a, b, low, batched=False, seen=seen)
        error = self.missed(total, low, high)
        if error <= self.bound and self.several and seen.holds:
            error = max(error, self._unresolved(a, b, low))
        return Panel(a, b, low, high, error, narrow=b - a < NARROWEST)

    def between(self, t: float) -> Sequence[torch.Tensor]:
        """The outputs at a point of the path."""
        with torch.no_grad():
            made: Sequence[torch.Tensor] = self.function.call(*_at(self.start, self.step, t))
        return made

    def panels(self) -> Panels[Panel]:
        """The path in panels whose errors together are within the bound, or cannot be made smaller."""
        first = self.panel(0.0, 1.0, *self.ends)
        mapped_by_torch = self.function.stacked is None or self.function.graph
        if mapped_by_torch and -first.priority > self.bound and _is_little(self.function, self.step, self.ends[0]):
            # torch maps some functions wrongly (solve, with vectors): then nodes one by one have less of an error.
            self.function.one_by_one = True
            alone = self.panel(0.0, 1.0, *self.ends)
            self.function.one_by_one = alone.priority > 0.9 * first.priority
            first = alone
        made = Panels(
            self.panel, lambda panel: panel.a + SPLIT * (panel.b - panel.a), self.between, _MAX_PANELS, _PATIENCE
        )
        made.refine(first, lambda: made.error() <= self.bound)
        return made


def integrate(
    name: str,
    function: Differentiable,
    values: Sequence[torch.Tensor],
    residuals: Sequence[torch.Tensor],
    components: Sequence[torch.Tensor],
    result: Sequence[torch.Tensor],
    base: Sequence[torch.Tensor],
    reverse: bool,
    rtol: float | None = None,
) -> list[torch.Tensor]:
    """The components of each output of `function`, a tuple-valued function of the tensors.

    `result` and `base` are its outputs at the values and at the residuals. `reverse` says that there is one component,
    which stands for the whole change and is to be differentiated. Warns (DecompositionWarning, naming the
    operation and the error) if completeness stays above `rtol` times the largest magnitude of an output.
    """
    count = len(components[0])
    if not count or not any(out.numel() for out in result):
        return [out.new_zeros((count, *out.shape)) for out in result]
    step = tuple(path_step(x, r) for x, r in zip(values, residuals, strict=True))
    bound = rtol or max(tolerance(out.dtype) for out in result)
    if tracing() or mapped():
        _load_traced()
        from npdec._law.quadrature_traced import integrate_traced

        def rate(points: Any, tangents: Any) -> Any:
            return torch.func.jvp(function.call, points, tangents)[1]

        return integrate_traced(name, rate, gauss_legendre(_NODES), residuals, step, components, result, base, bound)
    load_jvp()
    # In reverse mode the path is gone along once more when gradients go back, when its start may have been written to.
    start = [once(r.detach(), torch.clone) if reverse else r.detach() for r in residuals]
    ends = [b.detach() for b in base], [v.detach() for v in result]
    measured = _Measured(function, start, tuple(d.detach() for d in step), ends, bound)
    given = (*values, *residuals, *components)
    follows = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    few = not (reverse or follows or wants_graph()) and _is_little(function, components, result)
    whole = at_once(function, measured, components) if few else None
    if whole is not None:
        warn_of_size(name, whole, components, result, base, reverse)
        return whole
    panels = measured.panels()
    worst = panels.error()
    if worst > bound:
        warn_of_path(name, worst)

    graph = wants_graph() and count == 1
    if reverse or graph:
        nodes = [(p.a + (p.b - p.a) * t, w * (p.b - p.a)) for p in panels for t, w in gauss_legendre(_NODES)]
        changes = [(v - b).detach() for v, b in zip(result, base, strict=True)]
        path = (residuals, step) if graph else (measured.start, measured.step)
        made = list(_Path.apply(function, nodes, *path, changes, *components))
    else:
        function.graph = follows
        made = _along(function, residuals, step, components, measured, panels)
        if function.graph and not all(bool(torch.isfinite(part).all()) for part in made):
            function.graph = False  # that of logcumsumexp goes through logarithms of what may be zero
            made = _along(function, residuals, step, components, measured, panels)
    if (graph or function.graph) and any(p.b - p.a < AT_A_KINK for p in panels):
        warn_of_kink(name)
    if worst <= bound:
        warn_of_size(name, made, components, result, base, reverse)
    return made


def _along(
    function: Differentiable,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    components: Sequence[torch.Tensor],
    measured: _Measured,
    panels: Panels[Panel],
) -> list[torch.Tensor]:
    """The integrals of the derivative along the components, over all panels."""
    ordered, outputs = panels.along(), measured.ends[1]

    def integrals(tangents: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        shaped = [out.new_empty((len(tangents[0]), *out.shape)) for out in outputs]
        at_once = _all_panels(function, start, step, tangents, ordered, shaped)
        if at_once is not None:
            return at_once
        sums: list[torch.Tensor] = []
        for p in ordered:
            part = _panel(function, start, step, tuple(tangents), p.a, p.b, shaped, batched=True)
            sums = part if not sums else [s + more for s, more in zip(sums, part, strict=True)]
        return sums

    count = len(components[0])
    if _is_little(function, components, [out.new_empty(()).expand((count, *out.shape)) for out in outputs]):
        # Likewise the whole change goes along with the components, where its integral is known.
        sums = integrals([torch.cat([c, d.unsqueeze(0)]) for c, d in zip(components, step, strict=True)])
        if measured.missed([s[-1] for s in sums], *measured.ends) <= 2 * max(panels.error(), measured.bound):
            return [s[:-1] for s in sums]
        function.one_by_one = True
    return integrals(components)
