"""The law for normalisation layers: layer, RMS, group, instance and batch norm.

Each divides elements by the root of their variance (or mean square) q, a quadratic along the path, so that the path
integrals of its derivative are elementary (`npdec._impl.segments_impl`). Weight and bias follow as a product and a sum:
for a decomposed weight the product has the midpoints of both. The value is always the function's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from npdec._decomposed.axes import narrowed, row_by_row
from npdec._decomposed.components import Use
from npdec._decomposed.kept_components import handed_on, summed
from npdec._decomposed.reverse_graph import by_vjp, no_graph, uses_vjp
from npdec._decomposed.settings import settings
from npdec._decomposed.size_warnings import half_of_digits
from npdec._decomposed.tensor import DecomposedTensor, align
from npdec._impl import _util
from npdec._impl._util import single, working_dtype
from npdec._impl.segments_impl import mean_jacobian, mean_jacobian_beside, of_sums
from npdec._torch.functorch import is_transformed, mapped
from npdec._torch.tracing import tracing
from npdec.exceptions import DecompositionWarning

__all__ = ["apply_operator", "deepest", "flatness"]

Function = Callable[..., Any]
_SMALL = 2**14
_BLOCK = 2**15  # elements


class _Path(NamedTuple):
    """A decomposed input, or what blocks see of it."""

    value: torch.Tensor
    residual: torch.Tensor
    reverse: bool


class Layer(NamedTuple):
    """What a normalisation layer does: which elements it normalises together, and how.

    `rows` brings a tensor, with `lead` leading axes, into the form (…, m) of the m elements normalised together;
    `shaped` undoes it. `leading` axes are looked at row by row. `weight_shape` is the shape in which weight and bias
    broadcast with the input. `call(x, weight, bias)` is the function; `again` the same without its effects (running
    statistics). `scale` is 1 / σ, in a shape that broadcasts with the rows, where it does not come from the input.
    """

    name: str
    call: Function
    again: Function
    rows: Callable[[torch.Tensor, int], torch.Tensor]
    shaped: Callable[[torch.Tensor, int], torch.Tensor]
    weight_shape: tuple[int, ...]
    eps: float
    centred: bool
    leading: int = 0
    scale: torch.Tensor | None = None


def apply_operator(
    components: torch.Tensor,
    diagonal: torch.Tensor,
    basis: torch.Tensor,
    images: torch.Tensor,
    weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """diagonal · c − Σₖ weights[k] images[k] (basis[k] · c), for components (C, R, m), diagonal (R, m or 1), basis and
    images (R, k, m), weights (R, k, 1 or broadcasting), which are made the components' dtype."""
    dtype = components.dtype
    diagonal, basis, images = diagonal.to(dtype), basis.to(dtype), images.to(dtype)
    shares = torch.bmm(basis, components.permute(1, 2, 0))
    correction = torch.bmm((-shares if weights is None else shares * -weights.to(dtype)).mT, images).transpose(0, 1)
    grad = torch.is_grad_enabled() and (components.requires_grad or diagonal.requires_grad or correction.requires_grad)
    if grad or tracing() or is_transformed():
        return torch.addcmul(correction, components, diagonal)
    return torch.addcmul(correction, components, diagonal, out=torch.empty_like(components))


def _centred(rows: torch.Tensor) -> torch.Tensor:
    return rows - rows.mean(-1, keepdim=True)


def deepest(dtype: torch.dtype) -> float:
    """The depth (`npdec._impl.segments_impl.Jacobian`) from which on a path passes through zero variance."""
    return -1.7 * math.log(torch.finfo(dtype).eps)


def flatness(dtype: torch.dtype) -> float:
    """The variance beside the mean square up to which a row is taken for constant."""
    return 64 * torch.finfo(dtype).eps


def _warn_of_poles(name: str, depth: torch.Tensor | None, x: _Path | DecomposedTensor) -> None:
    """Across a path through zero variance contributions are infinite, and near it they depend on the last digits."""
    if depth is None or tracing() or mapped():
        return
    if bool((depth < deepest(x.value.dtype)).all()) or not bool(
        (torch.isfinite(x.value) & torch.isfinite(x.residual)).all()
    ):
        return
    _util.warn(
        f"{name}: the path from the baseline to the value passes through zero variance, where contributions have no "
        "limit: choose another baseline, or a larger eps",
        DecompositionWarning,
    )


def _jacobian(layer: Layer, x: _Path | DecomposedTensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The mean derivative of the normalised elements: diagonal − Vᵀ W V (less the mean, if the rows are centred), with
    the diagonal (…, 1), V (…, 2, m) and W (…, 2, 2)."""
    rows = layer.rows(x.value, 0)
    m, dtype = rows.shape[-1], working_dtype(rows.dtype)
    ends = layer.rows(x.residual, 0), layer.rows(single(x.value) - single(x.residual), 0)
    if torch.is_grad_enabled() or tracing() or mapped():
        u = torch.stack(ends, -2).double()
        u = _centred(u) if layer.centred else u
    else:
        u = rows.new_empty((*rows.shape[:-1], 2, m), dtype=torch.float64)
        for part, end in zip(u.unbind(-2), ends, strict=True):
            part.copy_(end)
        u = u.sub_(u.mean(-1, keepdim=True)) if layer.centred else u
    # y = u / √(|u|² / m + eps) = √m u / √(|u|² + m eps)
    diagonal, basis, matrix, depth = mean_jacobian(u, m * layer.eps, layer.centred)
    _warn_of_poles(layer.name, depth, x)
    return diagonal * math.sqrt(m), basis.to(dtype), (matrix * math.sqrt(m)).to(dtype)


def _operator(
    layer: Layer, x: _Path | DecomposedTensor, scale: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """The same as diagonal (…, 1), basis (…, k, m) and its images (…, k, m), as `apply_operator` takes them. `scale`
    replaces the integrals where it is given."""
    with no_graph(x.reverse):
        rows = layer.rows(x.value, 0)
        m, dtype = rows.shape[-1], working_dtype(rows.dtype)
        one = rows.new_full((), m**-0.5, dtype=dtype).expand(*rows.shape[:-1], 1, m)
        if scale is not None:
            return (scale, one, one * scale.unsqueeze(-1)) if layer.centred else (scale, None, None)
        diagonal, basis, matrix = _jacobian(layer, x)
        if layer.centred:
            basis, matrix = torch.cat([basis, one], -2), F.pad(matrix, (0, 1, 0, 1))
            matrix[..., 2, 2:] = diagonal
        return diagonal, basis, matrix @ basis


def _vjp(
    layer: Layer, x: DecomposedTensor, weight: torch.Tensor | None, scale: torch.Tensor | None
) -> Callable[[torch.Tensor], torch.Tensor]:
    """What takes gradients of the contributions to those of the input's, (1, *shape) both. The mean derivative is a
    symmetric matrix; the weight comes after it, and so before on the way back."""
    # Sums of a few numbers keep twice the digits at no cost, and more of them cancel than the result shows.
    dtype = torch.float64 if x.value.numel() <= _SMALL else working_dtype(x.value.dtype)
    spans: list[torch.Tensor] = []
    numbers: list[torch.Tensor] = []
    if scale is None:
        scale, spans, numbers = _directions(layer, x, dtype)
    diagonal = scale.to(dtype)
    if weight is not None and layer.scale is not None:  # which stands where the weight does
        diagonal, weight = diagonal * weight.reshape(layer.weight_shape), None
    wide = None
    if weight is not None:  # a copy: it may be written to before gradients go back
        wide = layer.rows(weight.clone().reshape(layer.weight_shape).expand(x.value.shape), 0)

    def of_rows(rows: torch.Tensor, of: Callable[[torch.Tensor], torch.Tensor], out: torch.Tensor | None) -> Any:
        """Of some rows, of which `of` takes what is beside all."""
        rows = rows if wide is None else rows * of(wide)
        made = rows * of(diagonal)
        if spans:
            here = [of(span) for span in spans]
            first, second = [_dots(rows, span) for span in here]
            for span, a, b in zip(here, numbers[:2], numbers[1:], strict=True):
                made.addcmul_(span, torch.addcmul(of(a) * first, of(b), second), value=-1)
        return torch.sub(made, made.mean(-1, keepdim=True), out=out) if layer.centred else made

    def vjp(grad: torch.Tensor) -> torch.Tensor:
        rows = layer.rows(grad, 1).to(dtype)
        step = _step(rows[0])
        if not spans or not layer.centred or step >= rows.shape[1]:
            made = of_rows(rows, lambda t: t, None)
        else:  # what lies together stays where the processor finds it again
            made = torch.empty_like(rows)
            for i in range(0, rows.shape[1], step):
                part = slice(i, i + step)
                of_rows(rows[:, part], lambda t: t[part] if len(t) > 1 else t, made[:, part])  # noqa: B023
        return layer.shaped(made, 1).to(grad.dtype)

    return vjp


def _dots(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The products of rows, (…, 1)."""
    return (a * b).sum(-1, keepdim=True)


def _step(rows: torch.Tensor) -> int:
    """How many of the first axis are looked at together."""
    return max(1, _BLOCK * len(rows) // max(1, rows.numel()))


def _directions(
    layer: Layer, x: DecomposedTensor, dtype: torch.dtype
) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """The mean derivative of the normalised elements as `_jacobian` gives it, where no graph is made: the diagonal, the
    two rows of V and the three numbers of W. Baselines that several rows have in common are looked at once."""
    value, residual = layer.rows(x.value, 0), layer.rows(x.residual, 0)
    low, m = narrowed(residual, residual.ndim - 1).double(), value.shape[-1]
    floor, root = m * layer.eps, math.sqrt(m)
    low = _centred(low) if layer.centred else low
    step = _step(value) if value.ndim > 1 else 1
    if value.ndim < 2 or step >= len(value):
        moved = _moved(layer, value, residual)
        diagonal, *spans, numbers, depth = mean_jacobian_beside(low, moved, floor, layer.centred)
    else:
        made = value.new_empty(value.shape, dtype=dtype)
        sums: list[tuple[torch.Tensor, torch.Tensor]] = []
        for i in range(0, len(value), step):
            part = slice(i, i + step)
            moved = _moved(layer, value[part], residual[part])
            made[part] = moved
            here = low if len(low) == 1 else low[part]
            sums.append((_dots(moved, here), _dots(moved, moved)))
        rd, dd = (torch.cat(parts) for parts in zip(*sums, strict=True))
        found = of_sums((low * low).sum(-1, keepdim=True) + floor, rd, dd)
        if found is None:
            moved = _moved(layer, value, residual)
            diagonal, *spans, numbers, depth = mean_jacobian_beside(low, moved, floor, layer.centred)
        else:
            (diagonal, *numbers), spans, depth = found, [low, made], None
    _warn_of_poles(layer.name, depth, x)
    return diagonal * root, [span.to(dtype) for span in spans], [(number * root).to(dtype) for number in numbers]


def _moved(layer: Layer, value: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """How far the elements of some rows move."""
    moved = (single(value) - single(residual)).double()
    return moved.sub_(moved.mean(-1, keepdim=True)) if layer.centred else moved


def _frozen_scale(layer: Layer, x: DecomposedTensor) -> torch.Tensor | None:
    """1 / σ of the value, if that is what `np.rule` says."""
    if layer.scale is not None or not settings(layer.name).frozen_normalisation:
        return None
    with no_graph(x.reverse):
        rows = layer.rows(x.value, 0).double()
        rows = _centred(rows) if layer.centred else rows
        return (rows.square().mean(-1, keepdim=True) + layer.eps).rsqrt()


def _contributions(
    layer: Layer,
    x: _Path | DecomposedTensor,
    components: Any,
    weight: torch.Tensor | None,
    scale: torch.Tensor | None,
) -> Any:
    """The components, in whatever form, of the normalised elements, times the weight if there is one."""
    if not isinstance(components, torch.Tensor):

        def of_rows(rows: torch.Tensor, value: torch.Tensor, residual: torch.Tensor, scale: torch.Tensor | None) -> Any:
            return _contributions(layer, _Path(value, residual, x.reverse), rows, weight, scale)

        return components.each_row(of_rows, layer.leading, x.value, x.residual, scale)
    diagonal, basis, images = _operator(layer, x, scale)
    if weight is not None:
        wide = layer.rows(weight.reshape(layer.weight_shape).expand(x.value.shape), 0)
        diagonal = diagonal * wide
        images = None if images is None else images * wide.unsqueeze(-2)
    rows = layer.rows(components, 1).to(working_dtype(components.dtype))
    if basis is None or images is None:
        made = rows * diagonal.to(rows.dtype)
    else:
        leading, m = rows.shape[1:-1], rows.shape[-1]
        k = basis.shape[-2]
        made = apply_operator(
            rows.reshape(len(rows), -1, m),
            diagonal.expand(*leading, -1).reshape(-1, diagonal.shape[-1]),
            basis.expand(*leading, k, m).reshape(-1, k, m),
            images.expand(*leading, k, m).reshape(-1, k, m),
        ).reshape(rows.shape)
    return layer.shaped(made, 1).to(components.dtype)


def _frozen_residual(
    layer: Layer, x: DecomposedTensor, scale: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None
) -> torch.Tensor:
    """The residual under the value's scale: (r − mean(r)) / σ(x) · weight + bias."""
    rows = layer.rows(x.residual, 0).double()
    made = layer.shaped((_centred(rows) if layer.centred else rows) * scale, 0).to(x.value.dtype)
    made = made if weight is None else made * weight.reshape(layer.weight_shape)
    return made if bias is None else made + bias.reshape(layer.weight_shape)


def _wide(layer: Layer, components: torch.Tensor, ndim: int) -> torch.Tensor:
    """Components of a weight or bias, for broadcasting with those of the input."""
    return components.reshape(len(components), *(1,) * (ndim - len(layer.weight_shape)), *layer.weight_shape)


def _warn_of_rounding(layer: Layer, x: DecomposedTensor, made: DecomposedTensor) -> None:
    """Of elements that are equal, or of one alone, less their mean nothing is left but rounding, which is divided by
    the root of eps: no contribution accounts for it. Say so where less than half of the digits are left in a row."""
    if tracing() or mapped() or x.value.is_meta:
        return
    with torch.no_grad():
        if made.reverse and layer.rows(x.value, 0).shape[-1] > 1:  # what several contribute is known added up alone
            return
        at_value, length = _flatness(layer, x.value)
        if not bool(at_value.any()):
            return
        at_baseline, other = _flatness(layer, x.residual)
        flat = at_value & at_baseline & (length + other > 0)
        components = handed_on(made)
        if not bool(flat.any()) or getattr(components, "looked_at", math.inf) < made.value.numel():
            return
        value, residual = single(made.value.detach()), single(made.residual.detach())
        sums, sizes = summed(made).detach(), summed(made, True).detach()
        missing = layer.rows((value - residual - sums).abs(), 0).amax(-1)
        sizes = layer.rows(value.abs() + residual.abs() + sizes, 0).amax(-1)
        if bool((flat & (half_of_digits(made.value.dtype) * missing > sizes)).any()):
            _util.warn(
                f"{layer.name}: what it normalises is constant, or one element, so that the result is rounding of "
                f"{str(made.value.dtype).removeprefix('torch.')}, which no contribution accounts for: normalise over "
                "several elements, or with a larger eps",
                DecompositionWarning,
            )


def _flatness(layer: Layer, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Which rows have hardly any variance beside their mean square; and their lengths."""
    rows = layer.rows(single(x.detach()), 0)
    m, limit = rows.shape[-1], flatness(rows.dtype)
    length = torch.linalg.vector_norm(rows, dim=-1)
    return m * length * length * (1 - limit) <= rows.sum(-1).square(), length


def normalise(layer: Layer, x: Any, weight: Any, bias: Any) -> Any:
    """Input, weight and bias, each decomposed or not; says what rounding has made of the result."""
    made = _normalised(layer, x, weight, bias)
    if isinstance(x, DecomposedTensor) and layer.centred and made.value.numel() and not made.value.is_complex():
        _warn_of_rounding(layer, x, made)
    return made


def _normalised(layer: Layer, x: Any, weight: Any, bias: Any) -> Any:
    arguments = x, weight, bias
    parts = [t for t in arguments if isinstance(t, DecomposedTensor)]
    reverse = parts[0].reverse
    values = [t.value if isinstance(t, DecomposedTensor) else t for t in arguments]
    residuals = [t.residual if isinstance(t, DecomposedTensor) else t for t in arguments]
    labels, aligned = align(parts, Use.LAW if len(parts) == 1 and parts[0] is x and not reverse else None)
    rest = iter(aligned)
    of_x, of_weight, of_bias = [next(rest) if isinstance(t, DecomposedTensor) else None for t in arguments]
    middle, factor, frozen = None, weight, None
    with no_graph(reverse):
        value = layer.call(*values)
        if isinstance(x, DecomposedTensor) and value.numel():
            frozen = _frozen_scale(layer, x)
        if frozen is None:
            residual = row_by_row(lambda row: layer.again(row, *residuals[1:]), residuals[0], layer.leading)
        else:
            residual = _frozen_residual(layer, x, frozen, *residuals[1:])
        if isinstance(weight, DecomposedTensor):
            factor = weight.value / 2 + weight.residual / 2
            first = layer.again(residuals[0], None, None)
            if frozen is not None:
                first = _frozen_residual(layer, x, frozen, None, None)
            middle = layer.again(values[0], None, None) / 2 + first / 2
    terms: list[Any] = []
    if len(parts) == 1 and parts[0] is x and value.numel() and uses_vjp(reverse) and not value.is_complex():
        with no_graph(True):
            vjp = _vjp(layer, x, factor, layer.scale if frozen is None else frozen)
        return DecomposedTensor(value, residual, by_vjp(value, residual, x.components, vjp), labels, reverse)
    if of_x is not None and value.numel() and labels:
        terms.append(_contributions(layer, x, of_x, factor, layer.scale if frozen is None else frozen))
    if middle is not None and of_weight is not None:
        terms.append(_wide(layer, of_weight, value.ndim) * middle)
    if of_bias is not None:
        terms.append(_wide(layer, of_bias, value.ndim))
    made = sum(terms[1:], terms[0]) if terms else value.new_zeros((len(labels), *value.shape))
    if isinstance(made, torch.Tensor):
        made = made.expand(len(labels), *value.shape)
    return DecomposedTensor(value, residual, made, labels, reverse)
