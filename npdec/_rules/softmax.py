"""The law for softmax, log_softmax, softmin and logsumexp.

Along the path the weights are p(t) = softmax(r + t d). Their derivative needs no jvp: softmax passes on ∫ p (c − p·c),
log_softmax c − ∫ p·c, logsumexp ∫ p·c. So p is evaluated at Gauss–Legendre nodes, of plain numbers, and the components
meet products with it.

How many nodes a row needs follows from D, the range of its d: the exponentials e^(r + t d) cannot cancel while their
phases stay within half a turn, so p is analytic for |Im t| < π / D, and N nodes leave an error below 10 ρ^(−2N) with
log ρ = asinh(2π / D). Rows of a large range have panels of their own. A panel is halved until its nodes are enough by
that bound, or completeness shows that they are: that of p, and that of log Σ exp, whose slope p·d never falls, so that
nothing can happen between two ends where it is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import axes_named, row_by_row
from npdec._decomposed.call import Call
from npdec._decomposed.reverse_graph import by_vjp, no_graph, uses_vjp
from npdec._decomposed.settings import settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util
from npdec._impl._util import working_dtype
from npdec._law import law
from npdec._law.native_forms import in_c
from npdec._law.ordinary_vectors import logarithm_of_sum
from npdec._law.panels import NARROWEST, RowPanels, chosen, halves, path_step, pieces, refined
from npdec._law.quadrature import tolerance
from npdec._law.quadrature_nodes import gauss_legendre
from npdec._rules.normalisation import apply_operator
from npdec._rules.rule import rule
from npdec._rules.softmax_of_few import digits_of, few_nodes, in_blocks, of_rows
from npdec._rules.softmax_reverse import log_sum, plan_of_sums
from npdec._rules.softmax_rows import averaged, dots, relative, rows_of, shaped
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing
from npdec.exceptions import DecompositionWarning

__all__ = ["SoftPath"]

Function = Callable[..., Any]

_CLASSES = (8, 16, 32)  # rows that need at most so many nodes are computed together
_MANY = 8
_PANEL = 16  # nodes of a panel
_LONG = 24.0  # rows of a larger range are computed in double precision
_SMALL = 2**18  # elements that are computed sooner than sorted
_BLOCK = 2**22  # elements that are looked at together
_ROWS = 2**14  # elements, from which on they are looked at at one node after the other


class _Piece(NamedTuple):
    """Nodes (R, N) or (N,) and their weights, for some rows (None: for all)."""

    rows: torch.Tensor | None
    times: torch.Tensor
    weights: torch.Tensor


class SoftPath:
    """The weights p(t) = softmax(r + t d) between rows r and x, (R, n), at the nodes that the tolerance asks for.

    `count` is the number of components that it is for. `empty_is_zero` says that a row of which nothing is left (all
    −inf) has weights of zero, not NaN.
    """

    def __init__(self, name: str, x: torch.Tensor, r: torch.Tensor, count: int, empty_is_zero: bool = False) -> None:
        dtype, blind = x.dtype, tracing() or mapped()
        self.dtype, self.empty = dtype, None
        if not blind and dtype is torch.float32 and self._is_short(x, r):
            if empty_is_zero:
                self.empty = _empty(r)
            with torch.no_grad():
                self.pieces = self._plan(name, count)
            return
        ends = torch.stack((x, r)).double()  # p knows no shift, and less their tops the points keep their digits
        tops = ends.detach().amax(-1, keepdim=True)
        x, r = (ends - tops).unbind()
        d = x - r
        longest = math.nan if blind else float(_lengths(d).amax())
        if not math.isfinite(longest):  # a mask does not move
            x, r = (ends - torch.where(torch.isfinite(tops), tops, 0)).unbind()
            d = path_step(x, r)
            longest = math.nan if blind else float(_lengths(d).amax())
        self.r, self.d, self.longest = r, d, longest
        if empty_is_zero:
            self.empty = _empty(r)
        if blind or dtype is torch.float64 or not longest > _LONG:
            self.r, self.d = r.to(dtype), d.to(dtype)
        with torch.no_grad():
            self.pieces = self._plan(name, count)

    def _is_short(self, x: torch.Tensor, r: torch.Tensor) -> bool:
        """Whether no row is of a large range, or of one that is not finite: single precision is enough for others, and
        equal rows are looked at once."""
        low = r if r.stride(0) or not len(r) else r[:1]
        low = low - low.detach().amax(-1, keepdim=True)
        d = x - x.detach().amax(-1, keepdim=True) - low
        self.longest = float(_lengths(d).amax())
        self.r, self.d = low.expand(x.shape), d
        return self.longest <= _LONG

    def _rule(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        times, weights = torch.tensor(gauss_legendre(n), dtype=self.r.dtype, device=self.r.device).unbind(1)
        return times, weights

    def _plan(self, name: str, count: int) -> list[_Piece]:
        if tracing() or mapped():
            return [_Piece(None, *self._rule(32))]
        wanted = tolerance(self.dtype)
        digits = digits_of(wanted)
        if needed := few_nodes(self.longest, wanted):
            return [_Piece(None, *self._rule(needed))]
        lengths = _lengths(self.d).double()
        if not math.isfinite(self.longest):
            _util.warn(
                f"{name}: the path from the baseline to the value has no finite length: contributions pass through a "
                "mask (-inf) only if it is the same for both",
                DecompositionWarning,
            )
            lengths = torch.where(torch.isfinite(lengths), lengths, 0)
        enough = torch.ceil(digits / torch.asinh(2 * math.pi / lengths)).clamp(min=2)  # of a length of zero, 0
        most = float(enough.amax())
        small = self.r.numel() * most <= _SMALL
        if most <= _CLASSES[-1] and (small or most <= 1.5 * float(enough.mean())):
            return [_Piece(None, *self._rule(int(most)))]
        pieces, below = [], 0
        if count >= _MANY:  # the nodes cost less than to pick the components of some rows
            below = _CLASSES[-1]
            few = enough <= below
            if bool(few.any()):
                times, weights = self._rule(int(enough[few].amax()))
                pieces.append(_Piece(None, times, weights if bool(few.all()) else weights * few.unsqueeze(1)))
        for limit in _CLASSES if not below else ():
            rows = ((enough > below) & (enough <= limit)).nonzero().squeeze(1)
            if len(rows):
                pieces.append(_Piece(rows, *self._rule(int(enough[rows].amax()))))
            below = limit
        rows = (enough > below).nonzero().squeeze(1)
        if len(rows):
            safe = 2 * math.pi / math.sinh(digits / _PANEL)
            pieces += self._panels(name, rows, lengths, safe, wanted)
        return pieces

    def _panels(self, name: str, rows: torch.Tensor, lengths: torch.Tensor, safe: float, wanted: float) -> list[_Piece]:
        """Panels for each of the rows, those of a row in different pieces."""
        nodes, weights = self._rule(_PANEL)
        ends = self._weights(rows, nodes.new_tensor([0.0, 1.0]))
        scale = ends.amax((1, 2))
        # What weighs anything on the path lies no further below the top than the range of d.
        rounding = 2 * torch.finfo(self.r.dtype).eps * lengths[rows].clamp(min=1)
        allowed = scale * rounding.clamp(min=wanted / 4)
        place = torch.full((len(self.r),), -1, device=rows.device)
        place[rows] = torch.arange(len(rows), device=rows.device)
        none = torch.zeros(len(rows), dtype=nodes.dtype, device=rows.device)
        worst, size = 0.0, max(1, _BLOCK // (18 * self.r.shape[1]))

        def settled(panels: RowPanels, depth: int) -> torch.Tensor:
            nonlocal worst
            row, a, b = panels
            error = torch.cat([self._missing(*some, nodes, weights) for some in pieces(panels, size)])
            short = lengths[row] * (b - a) <= safe
            narrow = (b - a < NARROWEST) & ~short & (error > allowed[place[row]])
            if bool(narrow.any()):
                worst = max(worst, float((error / scale[place[row]])[narrow].max()))
            return short | narrow | (error <= allowed[place[row]])

        def halved(rest: RowPanels, middle: torch.Tensor) -> RowPanels:
            return halves(rest._replace(b=middle), rest._replace(a=middle))

        found = refined(RowPanels(rows, none, torch.ones_like(none)), settled, halved)
        done = [chosen(panels, good) for panels, good in found]
        if worst > wanted:
            _util.warn(f"{name}: completeness holds only to {worst:.1e} of the largest magnitude", DecompositionWarning)
        row, a, b = (torch.cat(parts) for parts in zip(*done, strict=True))
        order = row.argsort(stable=True)
        row, a, b = row[order], a[order], b[order]
        first = torch.searchsorted(row, row)
        turn = torch.arange(len(row), device=row.device) - first
        made = []
        for k in range(int(turn.max()) + 1):
            at = turn == k
            width = (b - a)[at, None]
            made.append(_Piece(row[at], a[at, None] + width * nodes, width * weights))
        return made

    def _missing(
        self, row: torch.Tensor, a: torch.Tensor, b: torch.Tensor, nodes: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """The error of completeness on each panel [a, b]: of the weights, and of log Σ exp."""
        width = (b - a)[:, None]
        p = self._weights(row, torch.cat([a[:, None], a[:, None] + width * nodes, b[:, None]], 1))
        r, d = self.r[row], self.d[row]
        d = d - d.gather(1, p[:, -1].argmax(1, keepdim=True))  # a shift moves log Σ exp along, and p not at all
        inner = p[:, 1:-1]
        slopes = inner @ d.unsqueeze(-1)
        change = ((width * weights).unsqueeze(1) @ (inner * (d.unsqueeze(1) - slopes))).squeeze(1)
        rise = torch.logsumexp(r + b[:, None] * d, 1) - torch.logsumexp(r + a[:, None] * d, 1)
        missing = (rise - (width * weights * slopes.squeeze(-1)).sum(1)).abs()
        most = (d.abs().amax(1) * (b - a)).clamp(min=1)
        return torch.maximum((p[:, -1] - p[:, 0] - change).abs().amax(1), missing / most)

    def _weights(self, rows: torch.Tensor | None, times: torch.Tensor) -> torch.Tensor:
        """p at times (N,) or (R, N): (R, N, n)."""
        r, d = (self.r, self.d) if rows is None else (self.r[rows], self.d[rows])
        nodes = times.shape[-1]
        graph = torch.is_grad_enabled() and (r.requires_grad or d.requires_grad or times.requires_grad)
        if r.numel() <= _ROWS or graph or tracing() or mapped():
            p = torch.softmax(torch.addcmul(r.unsqueeze(-2), times.unsqueeze(-1), d.unsqueeze(-2)), -1)
        else:  # node by node: what lies before the softmax is as large as what comes of it
            p = r.new_empty((len(r), nodes, r.shape[1]))
            for i in range(nodes):
                p[:, i] = torch.softmax(torch.addcmul(r, times[..., i : i + 1], d), -1)
        if self.empty is None:
            return p
        return p.masked_fill((self.empty if rows is None else self.empty[rows]).unsqueeze(-2), 0)

    def mean(self) -> torch.Tensor:
        """∫ p dt, (R, n)."""
        total = None
        for rows, times, weights in self.pieces:
            count = len(self.r) if rows is None else len(rows)
            step = max(1, _BLOCK // max(1, count * self.r.shape[1]))
            for i in range(0, times.shape[-1], step):
                part = averaged(weights[..., i : i + step], self._weights(rows, times[..., i : i + step]))
                if rows is not None:
                    part = torch.zeros_like(self.r).index_add_(0, rows, part)
                total = part if total is None else total + part
        assert total is not None
        return total.to(self.dtype)

    def softmax(self, components: torch.Tensor) -> torch.Tensor:
        """∫ p (c − p·c) dt for components (C, R, n)."""
        sooner = in_blocks(self.r, self.d, self.empty, self.pieces, components)
        if sooner is not None:
            return sooner
        found = []
        mean: torch.Tensor | None = None
        for rows, times, weights in self.pieces:
            basis = self._weights(rows, times)
            part = averaged(weights, basis)
            part = part if rows is None else torch.zeros_like(self.r).index_add_(0, rows, part)
            mean = part if mean is None else mean + part
            found.append((rows, basis, weights.unsqueeze(-1)))
        assert mean is not None
        mean = mean.to(self.dtype)
        components, _ = relative(components, mean)
        n, nodes = self.r.shape[1], sum(p.times.shape[-1] for p in self.pieces)
        if n <= nodes and len(self.r) * n * n <= max(components.numel(), _BLOCK):
            matrix = self.r.new_zeros((len(self.r), n, n))
            for rows, basis, weights in found:
                product = basis.mT @ (weights * basis)
                matrix = matrix + product if rows is None else matrix.index_add(0, rows, product)
            correction = torch.bmm(matrix.to(self.dtype), components.permute(1, 2, 0)).permute(2, 0, 1)
            return components * mean - correction
        made: torch.Tensor | None = None
        for rows, basis, weights in found:
            if rows is None:
                made = apply_operator(components, mean, basis, basis, weights)
                continue
            made = components * mean if made is None else made
            part = apply_operator(components[:, rows], torch.zeros_like(mean[rows]), basis, basis, weights)
            made = made.index_add(1, rows, part)
        assert made is not None
        return made


def _empty(scores: torch.Tensor) -> torch.Tensor | None:
    """The rows of which all is masked, (R, 1); None if there is none."""
    empty = scores.amax(-1, keepdim=True) == -torch.inf
    return empty if tracing() or mapped() or bool(empty.any()) else None


def _lengths(d: torch.Tensor) -> torch.Tensor:
    """The range of each row."""
    d = d.detach()
    return d.amax(-1) - d.amin(-1)


# -- the functions -----------------------------------------------------------------------------------------------------


def _path(name: str, x: DecomposedTensor, axes: Sequence[int], dtype: torch.dtype) -> SoftPath:
    dtype = working_dtype(dtype)
    return SoftPath(name, rows_of(x.value, axes, 0).to(dtype), rows_of(x.residual, axes, 0).to(dtype), len(x.labels))


def _prepare(name: str, x: DecomposedTensor, axes: Sequence[int], dtype: torch.dtype) -> tuple[SoftPath, torch.Tensor]:
    """The path of the rows, and the rows of the components."""
    with no_graph(x.reverse):
        path = _path(name, x, axes, dtype)
    return path, rows_of(x.components, axes, 1).to(working_dtype(dtype))


def _along(x: torch.Tensor, dim: int) -> list[int]:
    return [dim % x.ndim] if x.ndim else []


@rule(torch.softmax, torch.Tensor.softmax, torch.special.softmax, along=axes_named, short=of_rows(log=False))
def _softmax(func: Function, x: Any, dim: int, dtype: torch.dtype | None = None) -> Any:
    return _of_axis("softmax", x, dim, lambda t: func(t, dim, dtype=dtype))


@rule(
    torch.log_softmax,
    torch.Tensor.log_softmax,
    torch.special.log_softmax,
    along=axes_named,
    short=of_rows(log=True),
)
def _log_softmax(func: Function, x: Any, dim: int, dtype: torch.dtype | None = None) -> Any:
    return _of_axis("log_softmax", x, dim, lambda t: func(t, dim, dtype=dtype))


@rule(F.softmax, along=axes_named, short=of_rows(log=False))
@rule(F.log_softmax, along=axes_named, short=of_rows(log=True))
def _functional(
    func: Function, x: Any, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> Any:
    axis = (0 if x.ndim in (0, 1, 3) else 1) if dim is None else dim
    return _of_axis(func.__name__, x, axis, lambda t: func(t, dim, _stacklevel, dtype))


def _of_axis(name: str, x: DecomposedTensor, dim: int, call: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """softmax and log_softmax, along one axis."""
    log = name == "log_softmax"
    with no_graph(x.reverse):
        value = call(x.value)
        if not log and settings(name).frozen_attention:
            return DecomposedTensor(value, value.clone(), _nothing(x, value), x.labels, x.reverse)
        axes = _along(value, dim)
        residual = row_by_row(call, x.residual, axes[0] if axes else 0)
    if not value.numel() or not x.labels:
        return DecomposedTensor(value, residual, _nothing(x, value), x.labels, x.reverse)
    if not log and x.dtype is value.dtype and uses_vjp(x.reverse, symmetric=True):
        with no_graph(True):
            path = _path(name, x, axes, value.dtype)

        def vjp(grad: torch.Tensor) -> torch.Tensor:  # the mean derivative is a symmetric matrix
            made = path.softmax(rows_of(grad, axes, 1).to(path.dtype))
            return shaped(made, axes, value.shape).to(grad.dtype)

        made = by_vjp(value, residual, x.components, vjp, symmetric=True)
        return DecomposedTensor(value, residual, made, x.labels, True)
    path, components = _prepare(name, x, axes, value.dtype)
    if log:
        with no_graph(x.reverse):
            mean = path.mean()
        components, _ = relative(components, mean)
        made = components - dots(components, mean).unsqueeze(-1)
    else:
        made = path.softmax(components)
    made = shaped(made, axes, value.shape)
    return DecomposedTensor(value, residual, made.to(value.dtype), x.labels, x.reverse)


def _nothing(x: DecomposedTensor, value: torch.Tensor) -> torch.Tensor:
    return value.new_zeros((len(x.labels), *value.shape))


@in_c("log summed", known=(partial(plan_of_sums, digits_of),))
def _log_sum_in_reverse(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
    return log_sum(digits_of, func, args, options)


@rule("logsumexp", short=logarithm_of_sum, reverse=_log_sum_in_reverse)
def _logsumexp(func: Function, x: Any, dim: Any, keepdim: bool = False) -> Any:
    """logsumexp, along one axis or several."""
    if x.value.is_complex():  # the largest is what complex numbers have not
        return law.quadrature(Call(func, None, (x, dim, keepdim), {}))
    with no_graph(x.reverse):
        value, residual = func(x.value, dim, keepdim), func(x.residual, dim, keepdim)
    if not x.value.numel() or not x.labels:
        return DecomposedTensor(value, residual, _nothing(x, value), x.labels, x.reverse)
    dims = [dim] if isinstance(dim, int) else list(dim)
    axes = [a % max(x.ndim, 1) for a in dims] or list(range(x.ndim))
    path, components = _prepare("logsumexp", x, axes if x.ndim else [], value.dtype)
    with no_graph(x.reverse):
        mean = path.mean()
    components, top = relative(components, mean)
    made = (top.squeeze(-1) + dots(components, mean)).reshape((len(components), *value.shape))
    return DecomposedTensor(value, residual, made.to(value.dtype), x.labels, x.reverse)
