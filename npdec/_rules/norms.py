"""The law for norms, spreads and unit vectors: lengths of rows of elements along a straight path.

The mean of a length's gradient along the path is elementary (`npdec._impl.segments_impl`), and so is that of a vector
over its length. The sum of magnitudes has one kink for each element that changes its sign; the largest magnitude is the
maximum of the lines u and −u; other orders go by quadrature of the gradient.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.call import Call
from npdec._decomposed.choices import chosen
from npdec._decomposed.kept_components import handed_on, stand_in
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.size_warnings import warn_of_size
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl._util import single, working_dtype
from npdec._impl.envelope_impl import leading_fractions
from npdec._impl.segments_impl import mean_direction, mean_jacobian, unit_segments
from npdec._law import law, ordinary_together
from npdec._law.discrete import as_numbers, with_numbers
from npdec._law.mean_gradient import mean_gradients
from npdec._law.ordinary_rows import unit_vectors
from npdec._law.ordinary_vectors import length_of_vector
from npdec._law.ordinary_vectors import spread as ordinary_spread
from npdec._rules import norms_reverse as short
from npdec._rules.rule import rule
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing

Function = Callable[..., Any]


def _axes(dim: Any, ndim: int) -> list[int]:
    """The axes that `dim` names; all, for None or nothing."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(ndim))
    return [a % max(ndim, 1) for a in (dim if isinstance(dim, (tuple, list)) else [dim])] if ndim else []


def _rows(t: torch.Tensor, axes: Sequence[int], lead: int = 0) -> torch.Tensor:
    """The axes last and as one, the others as one: (R, n), with `lead` leading axes."""
    axes = [a + lead for a in axes]
    kept = [a for a in range(lead, t.ndim) if a not in axes]
    n = math.prod([t.shape[a] for a in axes])
    count = math.prod([t.shape[a] for a in kept])
    return t.permute((*range(lead), *kept, *axes)).reshape((*t.shape[:lead], count, n))


def _back(rows: torch.Tensor, shape: Sequence[int], axes: Sequence[int]) -> torch.Tensor:
    """Rows (..., R, n) as the tensor of this shape that they are of, after the axes before them."""
    order = [*[a for a in range(len(shape)) if a not in axes], *axes]
    lead = rows.ndim - 2
    made = rows.reshape(*rows.shape[:lead], *[shape[a] for a in order])
    return made.permute((*range(lead), *[lead + order.index(a) for a in range(len(shape))]))


def _by_gradient(x: DecomposedTensor, axes: Sequence[int], value: Any, residual: Any, gradient: Function) -> Any:
    """The result whose components are those of the rows times their gradient, (R, n), which `gradient` gives for the
    rows of residual and value."""
    dtype = working_dtype(x.value.dtype)
    with no_graph(x.reverse):
        mean = gradient(_rows(single(x.residual), axes), _rows(single(x.value), axes)).to(dtype)
    given = stand_in(x)
    wide = None if given is None else given.to(dtype)
    found = None
    if wide is not None and not isinstance(wide, torch.Tensor):
        found = wide.weighted(_back(mean, x.shape, axes), axes)
    if found is not None:
        return DecomposedTensor(value, residual, found.to(value.dtype).reshape((len(found), *value.shape)), x.labels)
    components = _rows(x.components.to(dtype), axes, 1)
    made = torch.bmm(mean.unsqueeze(-2), components.permute(1, 2, 0)).squeeze(-2).T
    made = made.to(value.dtype).reshape((len(components), *value.shape))
    return DecomposedTensor(value, residual, made, x.labels, x.reverse)


def _handed_on(made: DecomposedTensor, dtype: torch.dtype) -> Any:
    """The components of a result of another dtype, perhaps."""
    return handed_on(made) if made.dtype is dtype else made.components.to(dtype)


def _ends(x: DecomposedTensor, call: Callable[[torch.Tensor], Any]) -> tuple[Any, Any]:
    with no_graph(x.reverse):
        return call(x.value), call(x.residual)


def _of_numbers(body: Function) -> Function:
    """The closed form, with the arguments behind the first (the order of a norm, eps) by their values, which it looks
    at."""

    @functools.wraps(body)
    def applied(func: Function, x: Any, *rest: Any, **named: Any) -> Any:
        name = name_of(func)
        looked = {key: chosen(name, item) for key, item in named.items()}
        return body(func, x, *[chosen(name, item) for item in rest], **looked)

    return applied


# -- norms -------------------------------------------------------------------------------------------------------------


def _length(r: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return mean_direction(r.double(), (x - r).double())


def _magnitudes(r: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The mean sign of each element: the slope of its magnitude."""
    crosses = torch.sign(x) * torch.sign(r) < 0
    step = torch.where(crosses, x - r, 1)
    return torch.where(crosses, (x.abs() - r.abs()) / step, torch.sign(torch.sign(x) + torch.sign(r)))


def _largest(r: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    fractions = leading_fractions(torch.cat([x, -x], -1), torch.cat([r, -r], -1), x.ndim - 1)
    up, down = fractions.chunk(2, -1)
    return up - down


@rule("vector_norm", short=length_of_vector, reverse=short.length)
@_of_numbers
def _vector_norm(
    func: Function, x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Any:
    x = x if dtype is None else x.to(dtype)

    def call(t: torch.Tensor) -> Any:
        return func(t, ord, dim, keepdim)

    if x.value.is_complex() and ord == 2 and x.value.numel():  # the length of the real and the imaginary parts
        value, residual = _ends(x, call)
        pairs: Any = torch.view_as_real(x)
        return _by_gradient(pairs, [*_axes(dim, x.ndim), x.ndim], value, residual, _length)
    if x.value.is_complex() and x.value.numel() and ord and (ord == 1 or _length_of_rows(x, dim) == 1):
        value, residual = _ends(x, call)  # the sum of the lengths of both parts
        return with_numbers(value, residual, torch.sum(torch.abs(x), _axes(dim, x.ndim), keepdim))
    gradient = {1: _magnitudes, 2: _length, math.inf: _largest}.get(ord)
    if ord == 0 and x.value.numel():  # how many are not zero
        there: Any = x != 0
        value, residual = _ends(x, call)
        if not isinstance(there, DecomposedTensor):  # conditions are frozen
            return value
        return with_numbers(value, residual, torch.sum(as_numbers(there, value.dtype), _axes(dim, x.ndim), keepdim))
    if ord and _length_of_rows(x, dim) == 1:  # its magnitude
        gradient = _magnitudes
    by_quadrature = x.value.is_complex() or not x.value.numel()
    if by_quadrature or (gradient is None and (tracing() or mapped())):
        return law.quadrature(Call(func, None, (x, ord, dim, keepdim), {}))
    value, residual = _ends(x, call)
    if gradient is None:

        def gradient(r: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            def norm(u: torch.Tensor) -> torch.Tensor:
                return torch.linalg.vector_norm(u, ord, -1)

            same = x.dtype is value.dtype  # half precision is rows of single
            ends = [value.reshape(-1), residual.reshape(-1)] if same else [norm(x), norm(r)]
            return mean_gradients("vector_norm", norm, [x], [r], *ends)[0]

    return _by_gradient(x, _axes(dim, x.ndim), value, residual, gradient)


def _length_of_rows(x: torch.Tensor, dim: Any) -> int:
    return math.prod([x.shape[a] for a in _axes(dim, x.ndim)])


@rule("matrix_norm")
@_of_numbers
def _matrix_norm(
    func: Function,
    x: Any,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    rows, columns = (a % x.ndim for a in dim)
    wide = single(x)
    if ord == "fro":
        made = torch.linalg.vector_norm(wide, 2, (rows, columns), keepdim, dtype=dtype)
    elif ord in (1, -1, math.inf, -math.inf):  # sums of magnitudes, and the largest or smallest of them
        summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = torch.linalg.vector_norm(wide, 1, summed, True, dtype=dtype)
        made = (torch.amax if ord > 0 else torch.amin)(sums, compared, True)
        made = made if keepdim else made.squeeze((rows, columns))
    else:
        return law.quadrature(Call(func, None, (x, ord, dim, keepdim), {"dtype": dtype}))
    value, residual = _ends(x, lambda t: func(t, ord, dim, keepdim, dtype=dtype))
    return DecomposedTensor(value, residual, _handed_on(made, value.dtype), x.labels, x.reverse)


@rule(torch.linalg.norm)
@_of_numbers
def _norm(
    func: Function,
    x: Any,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """torch.linalg.norm: of vectors or of matrices, by the number of axes; without an order, of all as one vector."""
    axes, wide = _axes(dim, x.ndim), single(x)
    if ord is None or len(axes) == 1:
        made = torch.linalg.vector_norm(wide, 2 if ord is None else ord, axes, keepdim, dtype=dtype)
    else:
        made = torch.linalg.matrix_norm(wide, ord, axes, keepdim, dtype=dtype)
    value, residual = _ends(x, lambda t: func(t, ord, dim, keepdim, dtype=dtype))
    return DecomposedTensor(value, residual, _handed_on(made, value.dtype), x.labels, x.reverse)


# -- variance and standard deviation -----------------------------------------------------------------------------------


def _spread(root: bool) -> Function:
    def spread(
        func: Function, x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        """var and std, with the mean beside them or not. A variance is a quadratic: its slope is that at the middle."""
        if isinstance(dim, bool):  # in the place of `unbiased`, of all elements
            dim, unbiased = None, dim
        if correction is None:
            correction = int(unbiased)
        axes = _axes(dim, x.ndim)
        count = math.prod([x.shape[a] for a in axes])  # torch.compile traces no generator here
        if not x.value.numel() or count <= correction:
            return law.quadrature(Call(func, None, (x, dim), {"correction": correction, "keepdim": keepdim}))
        parts = 2 if x.value.is_complex() else 1  # of a number, of each of which there is a mean

        def centred(t: torch.Tensor) -> torch.Tensor:
            apart = t.double().unflatten(-1, (-1, parts))
            return (apart - apart.mean(-2, keepdim=True)).flatten(-2)

        def gradient(r: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            r, d = centred(r), centred(x - r)
            freedom = count - correction
            if not root:
                return (2 * r + d) / freedom
            # The direction of equal numbers is that of their rounding errors, which does not add up to zero by itself.
            return centred(mean_direction(r, d)) / math.sqrt(freedom)

        value, residual = _ends(x, lambda t: func(t, dim, correction=correction, keepdim=keepdim))
        if isinstance(value, torch.Tensor):
            rows: Any = torch.view_as_real(x) if parts == 2 else x
            return _by_gradient(rows, [*axes, x.ndim] if parts == 2 else axes, value, residual, gradient)
        alone: Any = (torch.std if root else torch.var)(x, axes, correction=correction, keepdim=keepdim)
        made = DecomposedTensor(value[0], residual[0], handed_on(alone), x.labels, x.reverse)
        mean: Any = torch.mean(x, axes, keepdim) if axes else x.clone()
        return made, DecomposedTensor(value[1], residual[1], handed_on(mean), x.labels, x.reverse)

    return spread


rule("var", short=ordinary_spread(root=False), reverse=functools.partial(short.spread, False))(_spread(False))
rule("std", short=ordinary_spread(root=True), reverse=functools.partial(short.spread, True))(_spread(True))
rule("var_mean")(_spread(False))
rule("std_mean")(_spread(True))


# -- unit vectors ------------------------------------------------------------------------------------------------------


_BLOCK = 2**14  # elements of rows that are looked at together: the path of each takes thirty of their size


def _of_unit(x: torch.Tensor, r: torch.Tensor, components: torch.Tensor, eps: float, reverse: bool) -> torch.Tensor:
    """The components (C, R, m) of rows over their length, or over eps where that is larger: the mean derivative has a
    diagonal (R, 1), less Vᵀ W V for the V (R, 2, m) and W (R, 2, 2) of each part of the path outside of that."""
    with no_graph(reverse):
        inside, parts = unit_segments(r.double(), x.double(), eps)
        diagonal, spans = inside / eps, []
        for length, u in parts:
            part, basis, matrix, _ = mean_jacobian(u, 0.0)
            diagonal = diagonal + length * part
            spans.append([t.to(components.dtype) for t in (basis, matrix * length.unsqueeze(-1))])
    made = components * diagonal.to(components.dtype)
    for basis, matrix in spans:  # from the right: the graph keeps V alone
        shares = torch.matmul(matrix, torch.bmm(basis, components.permute(1, 2, 0)))
        made = made - torch.bmm(shares.mT, basis).transpose(0, 1)
    return made


def _unit_vectors(func: Function, args: Any, options: dict[str, Any] | None = None) -> Any:
    return unit_vectors(func, *args, **(options or {}))


@rule("normalize", short=_unit_vectors, reverse=short.unit)
@_of_numbers
def _normalize(func: Function, x: Any, p: Any = 2.0, dim: Any = 1, eps: Any = 1e-12, out: None = None) -> Any:
    """Vectors over their length, or over eps where that is larger."""

    def call(t: torch.Tensor) -> Any:
        return func(t, p, dim, eps)

    if p == 2 and x.value.is_complex():  # a real vector of both parts of its numbers has its length
        axes = [*_axes(dim, x.ndim), -1] if x.ndim else [-1]
        made = torch.view_as_complex(F.normalize(torch.view_as_real(x), 2.0, axes, eps))  # type: ignore[arg-type]
        return with_numbers(*_ends(x, call), made)
    if p != 2 or not carries(x.value.dtype) or not x.value.numel():
        return x / torch.linalg.vector_norm(x, p, dim, True).clamp_min(eps)
    value, residual = _ends(x, call)
    axes = _axes(dim, x.ndim)
    high, low = _rows(x.value, axes), _rows(x.residual, axes)
    parts = _rows(x.components.to(working_dtype(x.value.dtype)), axes, 1)
    step = len(high) if tracing() or mapped() else max(1, _BLOCK // max(1, high.shape[1]))
    pieces = zip(high.split(step), low.split(step), parts.split(step, 1), strict=True)
    blocks = [_of_unit(*piece, eps, x.reverse) for piece in pieces]
    made = (blocks[0] if len(blocks) == 1 else torch.cat(blocks, 1)).to(value.dtype)
    del blocks, high, low, parts
    made = _back(made, x.shape, axes)
    if not x.reverse:
        warn_of_size("normalize", [made], [x.components], [value], [residual], reverse=False)
    return DecomposedTensor(value, residual, made, x.labels, x.reverse)


def _cosine(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    return (F.normalize(x1, 2.0, dim, eps) * F.normalize(x2, 2.0, dim, eps)).sum(dim)


def _short_cosine(func: Function, args: Any, options: dict[str, Any] | None = None) -> Any:
    given = args[:2]
    if len(given) < 2 or given[0].shape != given[1].shape or given[0].dtype is not given[1].dtype:
        return NotImplemented
    return ordinary_together.by_formula(_cosine, func, args, options)


@rule("cosine_similarity", short=_short_cosine, reverse=short.cosine)
def _cosine_similarity(func: Function, x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The inner product of unit vectors."""
    if x1.dtype is not x2.dtype:  # of integers there is no norm
        x1, x2 = (x.to(torch.result_type(x1, x2)) for x in (x1, x2))
    if x1.shape != x2.shape:  # the axis is one of the common shape
        shape = torch.broadcast_shapes(x1.shape, x2.shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    made: Any = (F.normalize(single(x1), 2.0, dim, eps) * F.normalize(single(x2), 2.0, dim, eps)).sum(dim)
    ends = []
    with no_graph(made.reverse):
        for part in ("value", "residual"):
            both = [getattr(t, part) if isinstance(t, DecomposedTensor) else t for t in (x1, x2)]
            ends.append(func(*both, dim, eps))
    return DecomposedTensor(ends[0], ends[1], _handed_on(made, ends[0].dtype), made.labels, made.reverse)


@rule("norm_except_dim")
@_of_numbers
def _norm_except_dim(func: Function, v: Any, pow: Any = 2, dim: Any = 0) -> Any:
    """The norm of all numbers, or of those at each index of one axis, the first or the last."""
    if dim == -1 or not v.ndim:
        made: Any = torch.linalg.vector_norm(v, pow)
    else:
        row = v.movedim(dim, 0).reshape(v.shape[dim], -1)
        made = torch.linalg.vector_norm(row, pow, 1)
        made = made.reshape([n if a == dim % v.ndim else 1 for a, n in enumerate(v.shape)])
    return with_numbers(*_ends(v, lambda t: func(t, pow, dim)), made)
