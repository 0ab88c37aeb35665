"""Arithmetic of torch by formulas: interpolation between two tensors, powers of two, polar numbers, sums that skip nan,
quantiles, differences, integrals by trapezoids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._by_elements import by_elements
from npdec._impl.statistics_impl import gram
from npdec._rules import inplace
from npdec._rules.by_formula import by_formula, value_of, with_numbers
from npdec._rules.rule import rule

__all__ = []

Function = Callable[..., Any]


def _lerp(input: Any, end: Any, weight: Any) -> Any:
    return input + weight * (end - input)


def _ldexp(input: Any, other: Any) -> Any:
    return input * torch.exp2(other.to(input.dtype) if not other.is_floating_point() else other)


def _dist(input: Any, other: Any, p: float = 2) -> Any:
    return torch.linalg.vector_norm(input - other, p)


def _polar(abs: Any, angle: Any) -> Any:
    return torch.complex(abs * torch.cos(angle), abs * torch.sin(angle))


def _without_nan(x: Any) -> tuple[Any, torch.Tensor]:
    missing = torch.isnan(value_of(x))
    return torch.where(missing, 0, x), ~missing


def _nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
    return torch.sum(_without_nan(input)[0], dim, keepdim, dtype=dtype)


def _nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
    there, counted = _without_nan(input)
    return torch.sum(there, dim, keepdim, dtype=dtype) / torch.sum(counted, dim, keepdim)


def _column_stack(tensors: Any) -> Any:
    return torch.cat([t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors], 1)


def _diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x = input if prepend is None and append is None else torch.cat(
        [t for t in (prepend, input, append) if t is not None], dim
    )  # fmt: skip
    for _ in range(min(n, x.shape[dim])):
        x = x.narrow(dim, 1, x.shape[dim] - 1) - x.narrow(dim, 0, x.shape[dim] - 1)
    return x


def _trapezoids(y: Any, x: Any, dx: Any, dim: int) -> Any:
    count = y.shape[dim]
    sums = y.narrow(dim, 1, count - 1) + y.narrow(dim, 0, count - 1)
    if x is None:
        return sums * dx / 2
    axis = dim % y.ndim
    if x.ndim == 1:
        x = x.reshape([-1 if a == axis else 1 for a in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape((1,) * (y.ndim - x.ndim) + tuple(x.shape))
    width = x.narrow(axis, 1, x.shape[axis] - 1) - x.narrow(axis, 0, x.shape[axis] - 1)
    return sums * width / 2


def _trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    return _trapezoids(y, x, 1 if dx is None else dx, dim).sum(dim)


def _cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    return _trapezoids(y, x, 1 if dx is None else dx, dim).cumsum(dim)


def _constant_pad_nd(input: Any, pad: Any, value: float = 0) -> Any:
    return F.pad(input, tuple(pad), "constant", value)


def _cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Each row is a variable, each column an observation."""
    x = input if input.ndim == 2 else input.reshape(1, -1)
    if fweights is None and aweights is None:
        center, norm = x - x.mean(1, keepdim=True), max(x.shape[1] - correction, 0)
        return (gram(center) / norm).squeeze()
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    weights = weights.to(value_of(x).real.dtype)
    count = weights.sum()
    center = x - (x * weights).sum(1, keepdim=True) / count
    if aweights is None:
        norm = count - correction
    else:
        norm = count - correction * (weights * aweights).sum() / count if correction else count
    made = torch.matmul(center * weights, center.mT.conj()) / F.relu(norm)
    return made.squeeze()


@rule("quantile nanquantile")
def _quantile(
    func: Function, x: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """quantile, nanquantile: the order is the values', the parts follow it (residual included)."""
    if isinstance(q, DecomposedTensor):
        raise NotImplementedError(f"{func.__name__}: contributions do not pass through q: compute it from .value")
    with no_graph(x.reverse):
        value = func(x.value, q, dim, keepdim, interpolation=interpolation)
    row = x.reshape(-1) if dim is None or not x.ndim else x.movedim(dim, -1)
    ordered = torch.sort(row, -1).values
    places = torch.as_tensor(q, dtype=x.dtype, device=x.device)
    count = (~torch.isnan(value_of(row))).sum(-1, keepdim=True) if func.__name__ == "nanquantile" else row.shape[-1]
    at = places.reshape(-1) * (count - 1) + torch.zeros((*row.shape[:-1], 1), dtype=x.dtype, device=x.device)
    at = at.clamp(min=0)
    if interpolation == "nearest":
        at = at.round()
    elif interpolation in ("lower", "higher"):
        at = at.floor() if interpolation == "lower" else at.ceil()
    low, high = at.floor().long(), at.ceil().long()
    share = at - low if interpolation != "midpoint" else torch.full_like(at, 0.5)
    below, above = ordered.gather(-1, low), ordered.gather(-1, high)
    del row, ordered, places, at, low, high  # of many components all that is kept is large
    made: Any = by_elements(_lerp, below, above, share).movedim(-1, 0).reshape(tuple(value.shape))
    return with_numbers(value, made.residual, made)


def _native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, ...]:
    axes = list(range(-len(normalized_shape), 0))
    scale = torch.rsqrt(torch.var(input, axes, correction=0, keepdim=True) + eps)
    return F.layer_norm(input, normalized_shape, weight, bias, eps), input.mean(axes, keepdim=True), scale


def _native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, ...]:
    rows = input.reshape(N, group, -1)
    scale = torch.rsqrt(torch.var(rows, -1, correction=0) + eps)
    normal = F.group_norm(input.reshape(N, C, HxW), group, weight, bias, eps).reshape(tuple(input.shape))
    return normal, rows.mean(-1), scale


def _view_copy(input: Any, *size_or_dtype: Any, **named: Any) -> Any:
    (wanted,) = (*size_or_dtype, *named.values())
    return input.view(wanted) if isinstance(wanted, torch.dtype) else input.reshape(wanted)


def _unsafe_split(input: Any, split_size: Any, dim: int = 0) -> Any:
    return torch.split(input, split_size, dim)


# Copies of what is a view elsewhere.
_COPIES: dict[str, Function] = {
    "alias_copy": torch.clone,
    "as_strided_copy": torch.as_strided,
    "detach_copy": torch.detach,
    "diagonal_copy": torch.diagonal,
    "expand_copy": torch.Tensor.expand,
    "narrow_copy": torch.narrow,
    "permute_copy": torch.permute,
    "select_copy": torch.select,
    "split_copy": torch.Tensor.split,
    "split_with_sizes_copy": torch.split_with_sizes,
    "unsafe_split_with_sizes": torch.split_with_sizes,
    "unsafe_split": _unsafe_split,
    "unsafe_chunk": torch.chunk,
    "squeeze_copy": torch.squeeze,
    "t_copy": torch.t,
    "transpose_copy": torch.transpose,
    "unbind_copy": torch.unbind,
    "unfold_copy": torch.Tensor.unfold,
    "unsqueeze_copy": torch.unsqueeze,
    "view_as_complex_copy": torch.view_as_complex,
    "view_as_real_copy": lambda input: torch.view_as_real(input.resolve_conj()),
    "view_copy": _view_copy,
    "native_channel_shuffle": torch.channel_shuffle,
}


def _slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return input.movedim(dim, 0)[start:end:step].movedim(0, dim)


# -- operators ---------------------------------------------------------------------------------------------------------

# Most of them arrive as the method that they stand for; called by name, some arrive as themselves.
_OPERATORS = {
    "add": "__add__ __radd__",
    "sub": "__sub__",
    "mul": "__mul__ __rmul__",
    "div": "__truediv__ __div__",
    "matmul": "__matmul__",
    "remainder": "__mod__",
}
_TRAITS = {"mul": Trait.MULTIPLY, "div": Trait.DIVIDE, "matmul": Trait.MATMUL}
_IN_PLACE = {
    "add_": "__iadd__",
    "sub_": "__isub__",
    "mul_": "__imul__",
    "div_": "__idiv__ __itruediv__",
    "floor_divide_": "__ifloordiv__",
    "remainder_": "__imod__",
    "pow_": "__ipow__",
    "bitwise_and_": "__iand__",
    "bitwise_or_": "__ior__",
    "bitwise_xor_": "__ixor__",
}


@rule("sym_sum", delegates=True)
def _sym_sum(func: Function, args: Any) -> Any:
    """The sum of numbers, symbols or tensors. torch's own body asks for a rule again."""
    return sum(args)


def _standing_for(name: str) -> Function:
    """An operator, answered by its method."""

    def standing_for(func: Function, input: Any, other: Any) -> Any:
        return getattr(torch, name)(input, other)

    return standing_for


rule("lerp", traits=Trait.ELEMENTWISE)(by_formula(_lerp))
rule("ldexp", traits=Trait.ELEMENTWISE)(by_formula(_ldexp))
rule("dist")(by_formula(_dist))
rule("polar")(by_formula(_polar))
rule("nansum")(by_formula(_nansum))
rule("nanmean")(by_formula(_nanmean))
rule("column_stack", traits=Trait.MOVE)(by_formula(_column_stack))
rule("diff")(by_formula(_diff))
rule("trapezoid trapz")(by_formula(_trapezoid))
rule("cumulative_trapezoid")(by_formula(_cumulative_trapezoid))
rule("constant_pad_nd")(by_formula(_constant_pad_nd))
rule("cov")(by_formula(_cov))
rule("native_layer_norm")(by_formula(_native_layer_norm))
rule("native_group_norm")(by_formula(_native_group_norm))
rule("slice_copy")(by_formula(_slice_copy))
for _name, _copied in _COPIES.items():
    rule(_name, traits=Trait.MOVE if _name.startswith("unsafe") else 0)(by_formula(_copied))
for _name, _operators in _OPERATORS.items():
    rule(_operators, traits=_TRAITS.get(_name, 0), delegates=True)(_standing_for(_name))
for _name, _operators in _IN_PLACE.items():
    rule(_operators, short=inplace.short(_name))(inplace.method(_name))
