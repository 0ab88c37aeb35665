"""The path integral of the gradient of functions that give one number for each row of their arguments.

Elementwise functions of several arguments are such functions (a row is one element of each), and so are products and
determinants. Their components need one gradient, the mean of it along the path, however many components there are.
Each row has panels of its own: those whose change is not the integral of the derivative are halved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._decomposed.axes import lead
from npdec._decomposed.components import total as total_of
from npdec._decomposed.reverse_graph import guarded
from npdec._impl.slopes_impl import rates_of_power
from npdec._law.panels import AT_A_KINK, chosen, halves, path_step, pieces, refined
from npdec._law.powers_at_zero import real_at_ends, without_zeros
from npdec._law.quadrature import tolerance
from npdec._law.quadrature_error import evenness, warn_of_kink, warn_of_path
from npdec._law.quadrature_nodes import gauss_legendre, last_coefficients
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = ["combined", "gradients", "mean_gradients"]

Rows = Callable[..., torch.Tensor]
Rates = Callable[..., Sequence[torch.Tensor]]

_NODES = 8
_LITTLE = 2**10  # elements, of which twice the nodes cost as much as half of them, and seldom are too few
_DEEPEST = 50  # halvings: narrower panels differ by rounding only
_MOST = 64  # panels for each row, on average
_BLOCK = 2**16  # elements that are looked at together


class _Panels(NamedTuple):
    """Pieces [a, b] of the paths of rows, and the function at their ends."""

    row: torch.Tensor
    a: torch.Tensor
    b: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor


def _length(rows: Sequence[torch.Tensor]) -> int:
    """How many elements there are in a row of all arguments."""
    return max(1, sum(r[:1].numel() for r in rows))


def _at_once(rows: Sequence[torch.Tensor]) -> int:
    """How many rows are looked at together."""
    return max(1, _BLOCK // (_length(rows) * _NODES))


def _at_rows(tensor: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """What a tensor has for each of the rows; of one row there is no copy."""
    return tensor.expand(len(row), *tensor.shape[1:]) if len(tensor) == 1 else tensor[row]


def _wide(tensor: torch.Tensor, ndim: int) -> torch.Tensor:
    """A number for each row, to be multiplied with tensors of `ndim` axes of which the first is the row."""
    return tensor.reshape(tensor.shape[0], *[1] * (ndim - 1))


def gradients(
    function: Rows, points: Sequence[torch.Tensor], graph: bool, rates: Rates | None = None
) -> list[torch.Tensor]:
    """The derivatives of each row's number by the row of each argument: by a formula, the `rates`, if there is one."""
    if rates is not None and not graph:
        with torch.no_grad():
            return list(rates(*points))
    if is_transformed():  # those take no requires_grad_
        with torch.enable_grad():
            pair: tuple[Any, ...] = torch.func.vjp(function, *points)
            grads: tuple[torch.Tensor, ...] = pair[1](torch.ones_like(pair[0]))
        return [g.conj() if g.is_complex() else g for g in grads]
    with torch.enable_grad():
        inputs = list(points) if graph else [p.detach().requires_grad_() for p in points]
        for i, p in enumerate(inputs):
            if not p.requires_grad:
                inputs[i] = p.detach().requires_grad_()
        made = function(*inputs)
        if not made.requires_grad:
            return [torch.zeros_like(p) for p in inputs]
        found = torch.autograd.grad(made, inputs, torch.ones_like(made), create_graph=graph, allow_unused=True)
    # torch's complex gradient is the conjugate of the derivative.
    return [
        torch.zeros_like(p) if g is None else g.conj() if g.is_complex() else g
        for g, p in zip(found, inputs, strict=True)
    ]


def _along(
    function: Rows,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    panels: _Panels,
    graph: bool,
    rates: Rates | None,
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The integral of the gradients over each panel, and about how far it is from what more nodes would give, where the
    function changes so evenly (not at all, perhaps) that its change does not tell."""
    if not graph and _length(start) * _NODES > _BLOCK:
        return _node_by_node(function, start, step, panels, rates)
    count = 2 * _NODES if len(panels.row) * _length(start) <= _LITTLE else _NODES
    rules = gauss_legendre(count)
    nodes = panels.a.new_tensor([node for node, _ in rules])
    weights = panels.a.new_tensor([weight for _, weight in rules])
    length = panels.b - panels.a
    t = (panels.a[:, None] + length[:, None] * nodes).reshape(-1)
    row = panels.row.repeat_interleave(count)
    points = [r[row] + _wide(t, r.ndim).to(r.real.dtype) * d[row] for r, d in zip(start, step, strict=True)]
    found = [g.reshape(len(length), count, *g.shape[1:]) for g in gradients(function, points, graph, rates)]
    result = []
    for g in found:
        w = weights[None] * length[:, None]
        result.append((g * w.reshape(*w.shape, *[1] * (g.ndim - 2)).to(g.real.dtype)).sum(1))
    if graph:
        return result, torch.zeros_like(length)
    return result, _unresolved(found, [d[panels.row].unsqueeze(1) for d in step]) * length


def _node_by_node(
    function: Rows,
    start: Sequence[torch.Tensor],
    step: Sequence[torch.Tensor],
    panels: _Panels,
    derivatives: Rates | None,
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """As `_along`, of rows so long that what is known at all nodes together would be most of the memory."""
    length, row = panels.b - panels.a, panels.row
    steps = [_at_rows(d, row) for d in step]

    def found(node: float) -> list[torch.Tensor]:
        t = panels.a + length * node
        points = [_at_rows(r, row) + _wide(t, r.ndim).to(r.real.dtype) * d for r, d in zip(start, steps, strict=True)]
        return gradients(function, points, graph=False, rates=derivatives)

    result, rates, sizes = [torch.zeros_like(d) for d in steps], [], []
    for node, weight in gauss_legendre(_NODES):
        each = found(node)
        for i, g in enumerate(each):
            result[i].addcmul_(g, _wide(weight * length, g.ndim).to(g.dtype))
        moved = [torch.where(d == 0, 0, g * d) for g, d in zip(each, steps, strict=True)]
        rates.append(sum(map(_sum, moved), moved[0].new_zeros(())))
        sizes.append(sum((_sum(_size(m)) for m in moved), length.new_zeros(())))
        del each, moved  # before the next ones are made
    straight = _straight(torch.stack(rates, 1), torch.stack(sizes, 1))
    missing = torch.zeros_like(length)
    if not bool(straight.any()):
        return result, missing
    for i, d in enumerate(steps):
        size = torch.zeros_like(d.abs(), dtype=torch.float64)
        last = [torch.zeros_like(d) for _ in last_coefficients(_NODES)]
        for (node, _), coefficients in zip(
            gauss_legendre(_NODES), zip(*last_coefficients(_NODES), strict=True), strict=True
        ):
            m = torch.where(d == 0, 0, found(node)[i] * d)
            size = torch.maximum(size, _size(m))
            for total, number in zip(last, coefficients, strict=True):
                total.add_(m, alpha=number)
        for total in last:
            missing += _sum(torch.where(size == 0, 0, _size(total) ** 2 / size))
    return result, torch.where(straight, missing, 0) * length


def _straight(rates: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """For each panel whether the rates of change at its nodes (panels, nodes) are one, compared with their sizes."""
    most = sizes.amax(1)
    return (_size(rates - rates[:, :1]).amax(1) <= evenness(rates.real.dtype) * most) & (most > 0)


def _unresolved(gradients: Sequence[torch.Tensor], steps: Sequence[torch.Tensor]) -> torch.Tensor:
    """For each panel, of gradients (panels, nodes, ...): zero where the rates of change at the nodes differ."""
    moved = [torch.where(d == 0, 0, g * d) for g, d in zip(gradients, steps, strict=True)]
    rates = sum((m.reshape(*m.shape[:2], -1).sum(2) for m in moved), moved[0].new_zeros(()))
    sizes = sum((_size(m).reshape(*m.shape[:2], -1).sum(2) for m in moved), rates.new_zeros((), dtype=torch.float64))
    straight = _straight(rates, sizes)
    missing = torch.zeros_like(sizes[:, 0])
    if not bool(straight.any()):
        return missing
    for m in moved:
        chosen = m[straight]
        size = _size(chosen).amax(1)
        for row in last_coefficients(chosen.shape[1]):
            coefficients = chosen.real.new_tensor(row).reshape(1, -1, *[1] * (chosen.ndim - 2))
            last = _size((chosen * coefficients).sum(1))
            missing[straight] += _sum(torch.where(size == 0, 0, last * last / size))
    return missing


def _sum(tensor: torch.Tensor) -> torch.Tensor:
    """The sum over all axes but the first."""
    return tensor.reshape(len(tensor), -1).sum(1)


def _size(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes, zero where there is none to compare with."""
    size = tensor.abs().to(torch.float64)
    return torch.where(torch.isfinite(size), size, 0)


def _block(
    function: Rows,
    start: list[torch.Tensor],
    step: list[torch.Tensor],
    low: torch.Tensor,
    high: torch.Tensor,
    graph: bool,
    rates: Rates | None,
) -> tuple[list[torch.Tensor], torch.Tensor, bool]:
    """The mean gradients of some rows, what their changes lack, and whether a graph is made across a kink."""
    count = len(low)
    fixed_start, fixed_step = [r.detach() for r in start], [d.detach() for d in step]
    low, high = low.detach(), high.detach()
    real = low.real.dtype
    eps, wanted = torch.finfo(real).eps, tolerance(real) / 8
    scale = torch.maximum(_size(low), _size(high))
    row = torch.arange(count, device=low.device)
    panels = _Panels(row, torch.zeros(count, dtype=torch.float64, device=low.device), torch.ones_like(scale), low, high)
    total = [torch.zeros_like(r) for r in fixed_start]
    lacking = torch.zeros_like(low)
    leaves: list[_Panels] = []

    def added(panels: _Panels, anyway: bool, known: Any = None) -> torch.Tensor:
        """Which panels are done; those (or all, `anyway`) are added up. Integrals that are `known` come with zero."""
        parts, unresolved = known or _along(function, fixed_start, fixed_step, panels, False, rates)
        # What does not move may have no derivative: the exponent of a negative number.
        steps = [_at_rows(d, panels.row) for d in fixed_step]
        moved = [torch.where(d == 0, 0, p * d) for p, d in zip(parts, steps, strict=True)]
        change = sum(map(_sum, moved), torch.zeros_like(panels.low))
        missing = panels.high - panels.low - change.to(panels.low.dtype)
        missing = torch.where((panels.high == panels.low) & ~torch.isfinite(panels.high), 0, missing)
        rounding = 16 * eps * sum((_sum(_size(m)) for m in moved), torch.zeros_like(panels.a))
        local = torch.maximum(scale[panels.row], torch.maximum(_size(panels.low), _size(panels.high)))
        error = missing.abs().to(torch.float64) + unresolved
        done = (error <= torch.maximum(wanted * local, rounding)) | torch.isnan(error)
        done = torch.ones_like(done) if anyway else done
        kept = panels.row[done]
        for t, p in zip(total, parts, strict=True):
            t.index_add_(0, kept, p[done])
        lacking.index_add_(0, kept, missing[done])
        return done

    def settled(panels: _Panels, depth: int) -> torch.Tensor:
        done = torch.cat([added(some, depth == _DEEPEST) for some in pieces(panels, _at_once(start))])
        if int((~done).sum()) * 2 > _MOST * count:
            for some in pieces(chosen(panels, ~done), _at_once(start)):
                added(some, anyway=True)
            return torch.ones_like(done)
        return done

    def between(row: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return function(
                *[
                    r[row] + _wide(place, r.ndim).to(r.real.dtype) * d[row]
                    for r, d in zip(fixed_start, fixed_step, strict=True)
                ]
            )

    def halved(rest: _Panels, middle: torch.Tensor) -> _Panels:
        at = between(rest.row, middle)
        return halves(rest._replace(b=middle, high=at), rest._replace(a=middle, low=at))

    if rates is rates_of_power and not graph:
        panels = without_zeros(panels, fixed_start, fixed_step, between, added)
    for some, done in refined(panels, settled, halved) if len(panels.row) else ():
        if graph:
            leaves.append(chosen(some, done))
    if graph:
        total = [torch.zeros_like(r) for r in fixed_start]
        for some in leaves:
            parts, _ = _along(function, start, step, some, True, None)
            total = [t.index_add(0, some.row, p) for t, p in zip(total, parts, strict=True)]
    return total, lacking, any(bool((some.b - some.a < AT_A_KINK).any()) for some in leaves)


def mean_gradients(
    name: str,
    function: Rows,
    values: Sequence[torch.Tensor],
    residuals: Sequence[torch.Tensor],
    result: torch.Tensor,
    base: torch.Tensor,
    *,
    rates: Rates | None = None,
) -> list[torch.Tensor]:
    """For each argument the mean of the function's gradient along the path, in the shape of the argument.

    The arguments have shape (rows, ...), `function` gives a number for each row, of which `result` and `base` are those
    at the values and at the residuals; `rates` are its derivatives by each of arguments that are numbers. Warns
    (DecompositionWarning) if the changes of the function stay apart from the integrals of its derivative.
    """
    start = list(residuals)
    step = [path_step(x, r) for x, r in zip(values, residuals, strict=True)]
    del values
    graph = torch.is_grad_enabled() and any(t.requires_grad for t in (*start, *step))
    if result.is_complex() and rates is not rates_of_power:  # whose formula is one of complex numbers
        rates = None
    count, rows = len(result), _at_once(start)
    found: list[list[torch.Tensor]] = []
    missing: list[torch.Tensor] = []
    kinks = False
    for i in range(0, count, rows):
        part = slice(i, i + rows)
        total, lacking, kink = _block(
            function, [r[part] for r in start], [d[part] for d in step], base[part], result[part], graph, rates
        )
        found.append(total)
        missing.append(lacking)
        kinks |= kink
    if not found:
        return [torch.zeros_like(r) for r in start]
    made, lacks = [torch.cat(parts) for parts in zip(*found, strict=True)], torch.cat(missing)
    if rates is rates_of_power and not (graph or result.is_complex()):
        kind = result.dtype.to_complex()
        for row in real_at_ends(start, step, base, result).split(rows) if count else ():
            if len(row):
                some, moved, (low, high) = [[t[row].to(kind) for t in ts] for ts in (start, step, (base, result))]
                total, lacking, _ = _block(torch.pow, some, moved, low, high, False, rates)
                for mean, own in zip(made, total, strict=True):
                    mean[row] = own.real
                lacks[row] = lacking.real
    _warn_missing(name, lacks, result, base)
    if kinks:
        warn_of_kink(name)
    return made


def combined(
    components: Sequence[Any],
    means: Sequence[torch.Tensor],
    steps: Sequence[torch.Tensor],
    change: torch.Tensor,
) -> Any:
    """The components of an elementwise function, from those of its arguments, in whatever form, and its mean gradients.

    What does not move an argument contributes nothing through it, though the gradient be infinite; and an infinite step
    has the whole change of the function to itself (several of them share it).
    """
    if not all(isinstance(c, torch.Tensor) for c in components):
        if all(bool(torch.isfinite(mean).all()) for mean in means):
            given = zip(components, means, strict=True)
            return total_of([c * mean if isinstance(c, torch.Tensor) else c.times(mean) for c, mean in given])
        ndim = change.ndim
        components = [c if isinstance(c, torch.Tensor) else lead(c.dense(), ndim) for c in components]
    terms = [c * mean for c, mean in zip(components, means, strict=True)]
    if tracing() or all(bool(torch.isfinite(mean).all()) for mean in means):
        return functools.reduce(torch.add, terms)
    still = [_or_nothing(c, mean) for c, mean in zip(components, means, strict=True)]
    infinite = sum((torch.isinf(c).to(change.real.dtype) for c in components), torch.zeros_like(change.real))
    shares = infinite / infinite.sum(0).clamp(min=1)
    endless = functools.reduce(torch.logical_or, [torch.isinf(step) for step in steps])
    moved = torch.where(shares == 0, 0, change * shares)
    return torch.where(endless, moved, functools.reduce(torch.add, still))


def _or_nothing(components: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    """Components times a gradient that may be infinite or NaN: nothing of what does not move, nor back from where
    nothing comes, as zero times the gradient would be NaN."""
    mean = torch.where((components == 0) & ~torch.isfinite(mean), 0, mean)
    if components.requires_grad and not mean.requires_grad:
        return guarded(components, mean)
    return components * mean


def _warn_missing(name: str, missing: torch.Tensor, result: torch.Tensor, base: torch.Tensor) -> None:
    size = torch.maximum(_size(result.detach()), _size(base.detach()))
    scale = float(size.max())
    known = torch.isfinite(result.detach()) & torch.isfinite(base.detach())
    error = torch.where(known, missing.abs().to(torch.float64), 0)
    worst = float(torch.where(torch.isnan(error), torch.inf, error).max())
    worst = worst / scale if scale else worst
    if worst > tolerance(result.real.dtype):
        warn_of_path(name, worst)
