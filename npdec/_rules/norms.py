"""The law for norms, spreads and unit vectors: lengths of rows of numbers along a straight path.

The mean of a length's gradient along the path is elementary (`npdec._impl.segments_impl`), and so is that of a vector
over its length. The sum of magnitudes has one kink for each element that changes its sign; the largest magnitude is the
maximum of the lines u and −u; other orders go by quadrature of the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.call import Call
from npdec._decomposed.choices import chosen
from npdec._decomposed.kept_components import entries, handed_on
from npdec._decomposed.registry import Answer
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl._util import single, working_dtype
from npdec._impl.envelope_impl import leading_fractions
from npdec._impl.segments_impl import mean_direction, mean_jacobian, unit_segments
from npdec._law import law
from npdec._law.discrete import with_numbers
from npdec._law.mean_gradient import mean_gradients
from npdec._rules.elementary import by_position, read
from npdec._rules.normalisation import apply_operator
from npdec._rules.rule import rule
from npdec._torch.tracing import mapped, name_of, tracing

Function = Callable[..., Any]


def _axes(dim: Any, ndim: int) -> list[int]:
    """The axes that `dim` names; all, for None or nothing."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(ndim))
    return [a % max(ndim, 1) for a in (dim if isinstance(dim, (tuple, list)) else [dim])] if ndim else []


def _rows(t: torch.Tensor, axes: Sequence[int], lead: int = 0) -> torch.Tensor:
    """The axes last and as one, the others as one: (R, n), with `lead` more axes in front."""
    axes = [a + lead for a in axes]
    kept = [a for a in range(lead, t.ndim) if a not in axes]
    n = math.prod([t.shape[a] for a in axes])
    count = math.prod([t.shape[a] for a in kept])
    return t.permute((*range(lead), *kept, *axes)).reshape((*t.shape[:lead], count, n))


def _back(rows: torch.Tensor, shape: Sequence[int], axes: Sequence[int]) -> torch.Tensor:
    """Rows (..., R, n) as the tensor of this shape that they are of, with the axes before them in front."""
    order = [*[a for a in range(len(shape)) if a not in axes], *axes]
    lead = rows.ndim - 2
    made = rows.reshape(*rows.shape[:lead], *[shape[a] for a in order])
    return made.permute((*range(lead), *[lead + order.index(a) for a in range(len(shape))]))


def _by_gradient(x: DecomposedTensor, axes: Sequence[int], value: Any, residual: Any, gradient: Function) -> Any:
    """The result whose components are those of the rows times their gradient, (R, n), which `gradient` gives for the
    rows of residual and value."""
    dtype = working_dtype(x.value.dtype)
    with no_graph(x.whole):
        mean = gradient(_rows(single(x.residual), axes), _rows(single(x.value), axes)).to(dtype)
    known = entries(x)
    if known is not None:
        kept = known.like(known.numbers.to(dtype)).times(_back(mean, x.shape, axes)).reduced(axes)
        return DecomposedTensor(value, residual, kept.to(value.dtype).reshape((len(known), *value.shape)), x.labels)
    components = _rows(x.components.to(dtype), axes, 1)
    made = torch.bmm(mean.unsqueeze(-2), components.permute(1, 2, 0)).squeeze(-2).T
    made = made.to(value.dtype).reshape((len(components), *value.shape))
    return DecomposedTensor(value, residual, made, x.labels, x.whole)


def _handed_on(made: DecomposedTensor, dtype: torch.dtype) -> Any:
    """The components of a result of another dtype, perhaps."""
    return handed_on(made) if made.dtype is dtype else made.components.to(dtype)


def _ends(func: Function, x: DecomposedTensor, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    with no_graph(x.whole):
        return func(x.value, *args[1:], **kwargs), func(x.residual, *args[1:], **kwargs)


def _of_numbers(rule: Function) -> Function:
    """The rule, with the arguments behind the first (the order of a norm, eps) by their values, which it looks at."""

    def applied(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        name = name_of(func)
        looked = {key: chosen(name, item) for key, item in kwargs.items()}
        return rule(func, (args[0], *[chosen(name, item) for item in args[1:]]), looked)

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


def _vector_norm(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x, order, dim, _keepdim, dtype = read(args, kwargs, ord=2, dim=None, keepdim=False, dtype=None)
    if dtype is not None:
        kwargs = {k: v for k, v in kwargs.items() if k != "dtype"}
        args, x = (x.to(dtype), *args[1:]), x.to(dtype)
    if x.value.is_complex() and order == 2 and x.value.numel():  # the length of the real and the imaginary parts
        value, residual = _ends(func, x, args, kwargs)
        pairs: Any = torch.view_as_real(x)
        return _by_gradient(pairs, [*_axes(dim, x.ndim), x.ndim], value, residual, _length)
    if x.value.is_complex() or not x.value.numel() or order == 0:
        return law.quadrature(Call(func, None, args, kwargs))
    gradient = {1: _magnitudes, 2: _length, math.inf: _largest}.get(order)
    if gradient is None and (tracing() or mapped()):
        return law.quadrature(Call(func, None, args, kwargs))
    value, residual = _ends(func, x, args, kwargs)
    if gradient is None:

        def gradient(r: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            def norm(u: torch.Tensor) -> torch.Tensor:
                return torch.linalg.vector_norm(u, order, -1)

            same = x.dtype is value.dtype  # half precision is rows of single
            ends = [value.reshape(-1), residual.reshape(-1)] if same else [norm(x), norm(r)]
            return mean_gradients("vector_norm", norm, [x], [r], *ends)[0]

    return _by_gradient(x, _axes(dim, x.ndim), value, residual, gradient)


def _matrix_norm(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x, order, dim, keepdim, dtype = read(args, kwargs, ord="fro", dim=(-2, -1), keepdim=False, dtype=None)
    rows, columns = (a % x.ndim for a in dim)
    wide = single(x)
    if order == "fro":
        made = torch.linalg.vector_norm(wide, 2, (rows, columns), keepdim, dtype=dtype)
    elif order in (1, -1, math.inf, -math.inf):  # sums of magnitudes, and the largest or smallest of them
        summed, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = torch.linalg.vector_norm(wide, 1, summed, True, dtype=dtype)
        made = (torch.amax if order > 0 else torch.amin)(sums, compared, True)
        made = made if keepdim else made.squeeze((rows, columns))
    else:
        return law.quadrature(Call(func, None, args, kwargs))
    value, residual = _ends(func, x, args, kwargs)
    return DecomposedTensor(value, residual, _handed_on(made, value.dtype), x.labels, x.whole)


def _norm(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """torch.linalg.norm: of vectors or of matrices, by the number of axes; without an order, of all as one vector."""
    x, order, dim, keepdim, dtype = read(args, kwargs, ord=None, dim=None, keepdim=False, dtype=None)
    axes, wide = _axes(dim, x.ndim), single(x)
    if order is None or len(axes) == 1:
        made = torch.linalg.vector_norm(wide, 2 if order is None else order, axes, keepdim, dtype=dtype)
    else:
        made = torch.linalg.matrix_norm(wide, order, axes, keepdim, dtype=dtype)
    value, residual = _ends(func, x, args, kwargs)
    return DecomposedTensor(value, residual, _handed_on(made, value.dtype), x.labels, x.whole)


# -- variance and standard deviation -----------------------------------------------------------------------------------


def _spread(root: bool) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """var and std, with the mean beside them or not. A variance is a quadratic: its slope is that at the middle."""
        x, rest = args[0], list(args[1:])
        names = ["unbiased"] if rest and isinstance(rest[0], bool) else ["dim", "unbiased", "keepdim"]
        given = {**dict(zip(names, rest, strict=False)), **kwargs}
        unbiased = given.get("unbiased")
        correction = given.get("correction")
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        axes = _axes(given.get("dim"), x.ndim)
        count = math.prod([x.shape[a] for a in axes])  # torch.compile traces no generator here
        if x.value.is_complex() or not x.value.numel() or count <= correction:
            return law.quadrature(Call(func, None, args, kwargs))

        def gradient(r: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            d = (x - r).double()
            r, d = (t - t.mean(-1, keepdim=True) for t in (r.double(), d))
            freedom = count - correction
            if not root:
                return (2 * r + d) / freedom
            # The direction of equal numbers is that of their rounding errors, which does not add up to zero by itself.
            direction = mean_direction(r, d)
            return (direction - direction.mean(-1, keepdim=True)) / math.sqrt(freedom)

        value, residual = _ends(func, x, args, kwargs)
        if isinstance(value, torch.Tensor):
            return _by_gradient(x, axes, value, residual, gradient)
        spread = _by_gradient(x, axes, value[0], residual[0], gradient)
        mean: Any = torch.mean(x, axes, bool(given.get("keepdim", False))) if axes else x.clone()
        return spread, DecomposedTensor(value[1], residual[1], handed_on(mean), x.labels, x.whole)

    return rule


# -- unit vectors ------------------------------------------------------------------------------------------------------


def _normalize(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Vectors over their length, or over eps where that is larger."""
    x, order, dim, eps, _out = read(args, kwargs, p=2.0, dim=1, eps=1e-12, out=None)
    if order == 2 and x.value.is_complex():  # a real vector of both parts of its numbers has its length
        axes = [*_axes(dim, x.ndim), -1] if x.ndim else [-1]
        made = torch.view_as_complex(F.normalize(torch.view_as_real(x), 2.0, axes, eps))  # type: ignore[arg-type]
        return with_numbers(*_ends(func, x, args, kwargs), made)
    if order != 2 or not carries(x.value.dtype) or not x.value.numel():
        return x / torch.linalg.vector_norm(x, order, dim, True).clamp_min(eps).expand_as(x)
    value, residual = _ends(func, x, args, kwargs)
    axes = _axes(dim, x.ndim)
    dtype = working_dtype(x.value.dtype)
    with no_graph(x.whole):
        r = _rows(x.residual, axes).double()
        d = _rows(x.value, axes).double() - r
        inside, segments = unit_segments(r, d, eps)
        diagonal, bases, images = inside / eps, [], []
        for length, u in segments:
            part, basis, matrix, _ = mean_jacobian(u, 0.0)
            diagonal = diagonal + length * part
            bases.append(basis)
            images.append(matrix * length.unsqueeze(-1) @ basis)
    components = _rows(x.components.to(dtype), axes, 1)
    made = apply_operator(components, diagonal, torch.cat(bases, -2), torch.cat(images, -2)).to(value.dtype)
    return DecomposedTensor(value, residual, _back(made, x.shape, axes), x.labels, x.whole)


def _cosine_similarity(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The inner product of unit vectors."""
    if not args:
        kwargs = dict(kwargs)
        args = (kwargs.pop("x1"),)
    x1, x2, dim, eps = read(args, kwargs, x2=None, dim=1, eps=1e-8)
    if x1.shape != x2.shape:  # the axis is one of the common shape
        x1, x2 = torch.broadcast_tensors(x1, x2)
    made: Any = (F.normalize(single(x1), 2.0, dim, eps) * F.normalize(single(x2), 2.0, dim, eps)).sum(dim)
    ends = []
    with no_graph(made.whole):
        for part in ("value", "residual"):
            both = [getattr(t, part) if isinstance(t, DecomposedTensor) else t for t in (x1, x2)]
            ends.append(func(*both, dim, eps))
    return DecomposedTensor(ends[0], ends[1], _handed_on(made, ends[0].dtype), made.labels, made.whole)


_T = torch.Tensor
_OF_VAR, _OF_STD = by_position(_spread(False)), by_position(_spread(True))

rule("vector_norm")(Answer(by_position(_of_numbers(_vector_norm))))
rule("matrix_norm")(Answer(by_position(_of_numbers(_matrix_norm))))
rule(torch.linalg.norm)(Answer(by_position(_of_numbers(_norm))))
rule("var var_mean")(Answer(_OF_VAR))
rule("std std_mean")(Answer(_OF_STD))
rule("normalize")(Answer(by_position(_of_numbers(_normalize))))
rule("cosine_similarity")(Answer(_cosine_similarity))
