"""Closed forms for torch functions that the tags do not describe: distances, running maxima, reductions of groups, and
functions that are others in disguise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch

from npdec._decomposed.batching_rules import of_axes, reshaped
from npdec._decomposed.call import Call
from npdec._decomposed.choices import chosen, compare_choices, is_watched, places_beside
from npdec._decomposed.kept_components import handed_on
from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import derived_twice, no_graph
from npdec._decomposed.size_limits import has_many
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl.envelope_impl import leading_fractions
from npdec._law import law
from npdec._law.ordinary_linear import of_one
from npdec._law.ordinary_places import added_at, copied_to, filled_at
from npdec._law.reverse_elements import leaky
from npdec._law.reverse_forms import affine
from npdec._law.reverse_joint import put_at
from npdec._rules.by_formula import by_formula, own_numbers, pointwise, residual_of, value_of
from npdec._rules.group_reductions import index_reduce, scatter_reduce, segment_reduce
from npdec._rules.norms_reverse import distances, pairs
from npdec._rules.rule import rule
from npdec._torch.tracing import name_of, tracing

Function = Callable[..., Any]
_LARGE = 2**22  # pairs of elements of which a matrix is made
_MOST_PAIRS = 2**28
_V: Any = torch._C._VariableFunctions


# -- distances ---------------------------------------------------------------------------------------------------------


def _cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def _pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    return torch.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)


def _pdist(input: Any, p: float = 2.0) -> Any:
    first, second = torch.triu_indices(input.shape[0], input.shape[0], 1, device=input.device)
    return torch.linalg.vector_norm(input[first] - input[second], p, -1)


def _renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Slices along `dim` shrunk to a norm of `maxnorm`."""

    def factor(norm: torch.Tensor) -> torch.Tensor:
        return torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), torch.ones_like(norm))

    axes = [axis for axis in range(input.ndim) if axis != dim % input.ndim]
    return input * pointwise(factor, torch.linalg.vector_norm(input, p, axes, True))


# -- extrema -----------------------------------------------------------------------------------------------------------


def _aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> tuple[Any, Any]:
    axes: Any = () if dim is None else dim
    return torch.amin(input, axes, keepdim), torch.amax(input, axes, keepdim)


def _running(sign: int) -> Function:
    def running(func: Function, x: Any, dim: int) -> Any:
        """cummax, cummin: each number is the extremum of those up to it."""
        with no_graph(x.reverse):
            made = func(x.value, dim)
            base = func(x.residual, dim)
        if not x.ndim:
            return type(made)((x.clone(), made.indices))
        indices = places_beside(name_of(func), made.indices, base.indices) if is_watched() else made.indices
        if not tracing() and _each_leads_alone(x, made, dim):
            given = handed_on(cast(DecomposedTensor, torch.gather(x, dim, made.indices)))
            return type(made)((DecomposedTensor(made.values, base.values, given, x.labels, x.reverse), indices))
        value, residual = sign * x.value.movedim(dim, -1), sign * x.residual.movedim(dim, -1)
        n = value.shape[-1]
        _check_pairs(name_of(func), value.numel(), n)
        # Row k has the first k + 1 elements, and the first of them again in the place of the others.
        index = torch.arange(n, device=value.device).expand(n, n).tril()
        fractions = leading_fractions(value[..., index], residual[..., index], -1)
        shares = torch.zeros_like(fractions).scatter_add_(-1, index.expand(fractions.shape), fractions)
        moved = x.components.movedim(dim % x.ndim + 1, -1)
        components = torch.matmul(shares, moved.unsqueeze(-1)).squeeze(-1).movedim(-1, dim % x.ndim + 1)
        return type(made)((DecomposedTensor(made.values, base.values, components, x.labels, x.reverse), indices))

    return running


def _each_leads_alone(x: DecomposedTensor, made: Any, dim: int) -> bool:
    """Whether the greatest up to each number is one all along the path: all start as one, and no two are equal."""
    if not x.value.numel() or not bool((x.residual == x.residual.narrow(dim, 0, 1)).all()):
        return False
    if not bool(torch.isfinite(made.values).all()):
        return False
    places, values = made.indices.movedim(dim, -1), made.values.movedim(dim, -1)
    again = (values[..., 1:] == values[..., :-1]) & (places[..., 1:] != places[..., :-1])
    return not bool(again.any())


def _check_pairs(name: str, count: int, n: int) -> None:
    if count * n > _MOST_PAIRS:
        raise MemoryError(
            f"{name}: which of {n:,} numbers leads at each point of the path asks for a matrix of {count:,} x {n:,}: "
            "take a baseline of one number, for which it is one of them all along, or fewer numbers at a time"
        )


def _logcumsumexp(input: Any, dim: int) -> Any:
    """log(exp(x_1) + ... + exp(x_k)) for each k."""
    if not input.ndim:
        return input.clone()
    x = input.movedim(dim, -1)
    n = x.shape[-1]
    many = isinstance(x, DecomposedTensor) and (has_many(len(x.labels)) or derived_twice.get())
    much = x.numel() * n > _LARGE or (n > 8 and many)  # the graph of which is kept
    if much and isinstance(x, DecomposedTensor) and not x.is_complex() and not tracing():
        return law.quadrature(Call(torch.logcumsumexp, None, (x, -1), {})).movedim(-1, dim)
    later = torch.ones((n, n), dtype=torch.bool, device=x.device).triu(1)
    rows = x.unsqueeze(-2).expand(*x.shape[:-1], n, n)
    return torch.logsumexp(rows.masked_fill(later, -torch.inf), -1).movedim(-1, dim)


# -- selections --------------------------------------------------------------------------------------------------------


@rule("_unique2")
def _unique(
    func: Function, x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    return _distinct(func.__name__, x, None, return_inverse, lambda t: func(t, sorted, True, return_counts))


@rule(_V.unique_dim)
def _unique_dim(
    func: Function, x: Any, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    return _distinct(func.__name__, x, dim, return_inverse, lambda t: func(t, dim, sorted, True, return_counts))


@rule(_V.unique_consecutive)
def _unique_consecutive(
    func: Function, x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    return _distinct(func.__name__, x, dim, return_inverse, lambda t: func(t, True, return_counts, dim))


def _distinct(name: str, x: Any, dim: int | None, asked: bool, call: Callable[[torch.Tensor], Any]) -> Any:
    """What is equal is decided at the value: a distinct number has the parts of the first one that is equal to it.
    `call` gives the inverse, whether it is `asked` for or not."""
    made = call(x.value)
    values, inverse = made[0], made[1]
    axis = 0 if dim is None else dim
    flat = x.reshape(-1) if dim is None else x
    places = inverse.reshape(-1)
    first = torch.full((values.shape[axis],), len(places), dtype=torch.int64, device=places.device)
    first = first.scatter_reduce(0, places, torch.arange(len(places), device=places.device), "amin")
    picked = cast(DecomposedTensor, flat.index_select(axis, first))
    given = [inverse if asked else inverse.new_empty(0), *made[2:]]  # and the counts
    if is_watched():
        base, *others = call(x.residual)
        compare_choices(name, picked.residual, base)
        others = others if asked else [given[0], *others[1:]]
        given = [places_beside(name, one, other) for one, other in zip(given, others, strict=True)]
    picked = DecomposedTensor(values, picked.residual, handed_on(picked), x.labels, x.reverse)
    return (picked, *given)


@rule("msort")
def _msort(func: Function, x: Any) -> Any:
    return torch.sort(x, 0).values


@rule("prelu", reverse=leaky)
def _prelu(func: Function, x: Any, weight: Any) -> Any:
    """max(0, x) + w · min(0, x), of which the law's integral is taken over the part of the path on which x < 0."""
    w = weight
    if weight.numel() > 1 and x.ndim > 1:
        w = weight.reshape([-1 if axis == 1 else 1 for axis in range(x.ndim)])
    if not isinstance(weight, DecomposedTensor):
        return own_numbers(func, (x, weight), {}, pointwise(_leaky, x, w))
    x1, x0, w1, w0 = value_of(x), residual_of(x), w.value, w.residual
    with no_graph(w.reverse):
        low, high = torch.minimum(x1, x0), torch.maximum(x1, x0)
        length = torch.where(high > 0, low.clamp(max=0) / (low - high), 1.0)  # of the part below zero
        length = torch.where(low >= 0, 0.0, length)
        middle = torch.where(x0 < x1, length / 2, 1 - length / 2)
        below = length * torch.where(high > 0, low / 2, (low + high) / 2)
        slope = 1 - length + length * (w0 + middle * (w1 - w0))
    # Both are linear with these multipliers, whatever the values.
    parts = cast(DecomposedTensor, w.expand_as(x) if w.shape != x.shape else w) * below
    made = parts if not isinstance(x, DecomposedTensor) else parts + x * slope
    return own_numbers(func, (x, weight), {}, made)


def _leaky(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, weight * x)


# -- the same numbers otherwise ----------------------------------------------------------------------------------------


@rule("view", traits=Trait.RESHAPE | Trait.MOVE, batch=reshaped, short=of_one(reshaped, Trait.RESHAPE | Trait.MOVE))
def _view(func: Function, x: Any, *shape: Any, **named: Any) -> Any:
    """A view of another shape is linear, and so is one of complex numbers as pairs of real ones, or back; the bits read
    as integers are something that is looked at, and bits read as other numbers are no function of these."""
    dtype = named.get("dtype", shape[0] if shape else None)
    if not isinstance(dtype, torch.dtype) or dtype is x.dtype:
        return law.TaggedRule.of("Linear")(func, (x, *shape), named)
    if not carries(dtype):
        if x.discrete and torch.bool not in (dtype, x.dtype) and dtype.itemsize == x.dtype.itemsize:  # signs aside
            return DecomposedTensor(func(x.value, dtype), func(x.residual, dtype), x.components, x.labels, x.reverse)
        return chosen(name_of(func), x).view(dtype)
    if dtype.to_real() is not x.dtype.to_real():
        raise NotImplementedError(
            f"{func.__name__}: contributions do not pass through bits of {x.dtype} that are read as {dtype}: use .to("
            f"{dtype}) for the numbers, or .value.view({dtype}) for the bits"
        )

    def seen(part: torch.Tensor) -> torch.Tensor:
        part = part if part.stride(-1) == 1 else part.contiguous()
        if dtype.is_complex:
            return torch.view_as_complex(part.unflatten(-1, (-1, 2)))
        return torch.view_as_real(part.resolve_conj()).flatten(-2)

    return DecomposedTensor(func(x.value, dtype), seen(x.residual), seen(x.components), x.labels, x.reverse)


@rule("lu_unpack")
def _lu_unpack(
    func: Function, LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """The factors; without them, the permutation alone, which contributes nothing."""
    options = (LU_pivots, unpack_data, unpack_pivots)
    if not unpack_data or not isinstance(LU_data, DecomposedTensor):
        return func(value_of(LU_data), *options)
    made = law.quadrature(Call(func, None, (LU_data, LU_pivots, True, True), {}))
    return made if unpack_pivots else type(made)((func(LU_data.value, *options)[0], *made[1:]))


@rule("fake_quantize_per_tensor_affine")
def _fake_quantize(func: Function, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    return _quantized(func, input, scale, zero_point, quant_min, quant_max)


@rule("fake_quantize_per_channel_affine")
def _fake_quantize_channels(
    func: Function, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    return _quantized(func, input, scale, zero_point, axis, quant_min, quant_max)


def _quantized(func: Function, x: Any, *grid: Any) -> Any:
    """Rounded to a grid, element by element: the slope of the steps, not the one that torch trains with."""
    grid = tuple([value_of(item) for item in grid])
    if not isinstance(x, DecomposedTensor):
        return func(x, *grid)
    with no_graph(x.reverse):
        value, residual = func(x.value, *grid), func(x.residual, *grid)
        step = x.value - x.residual
        slope = torch.where(step == 0, 0, (value - residual) / torch.where(step == 0, 1, step))
    return DecomposedTensor(value, residual, x.components * slope, x.labels, x.reverse)


def _cond(A: Any, p: Any = None) -> Any:
    """The norm of a matrix times that of its inverse; of the spectral norm, the ratio of two singular values."""
    if p in (None, 2, -2):
        sizes = torch.linalg.svdvals(A)
        largest, smallest = sizes[..., 0], sizes[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    return torch.linalg.matrix_norm(A, p) * torch.linalg.matrix_norm(torch.linalg.inv(A), p)


# -- others in disguise ------------------------------------------------------------------------------------------------


def _addcdiv(input: Any, *tensors: Any, value: Any = 1) -> Any:
    *before, tensor1, tensor2 = tensors
    factor = before[0] if before else value  # torch still takes the factor in front of the tensors
    return input + factor * (tensor1 / tensor2)


def _linspace(start: Any, end: Any, steps: int, **kwargs: Any) -> Any:
    like = value_of(start) if isinstance(start, torch.Tensor) else value_of(end)
    way = torch.linspace(0, 1, steps, dtype=torch.float64, device=like.device)
    return start * (1 - way) + end * way


def _logspace(start: Any, end: Any, steps: int, base: float = 10.0, **kwargs: Any) -> Any:
    return torch.pow(base, _linspace(start, end, steps))


_INDEXED = law.TaggedRule.of("Linear", None, "Opaque", "Linear")
_INDEX = (2, "index")
_CHOSEN = Trait.MOVE | Trait.STRIDED
_TAKEN = _CHOSEN | Trait.SELECT
_OF_AXIS = of_axes(0, 1)


@rule("narrow", traits=_CHOSEN, batch=_OF_AXIS, short=of_one(_OF_AXIS, _CHOSEN), indices=(2, 3, "start", "length"))
def _narrow(func: Function, x: Any, dim: int, start: Any, length: int) -> Any:
    start = int(value_of(start)) if isinstance(start, torch.Tensor) else start
    return law.TaggedRule.of("Linear")(func, (x, dim, start, length), {})


_BY_INDEX: Any = {"tags": _INDEXED.tags, "indices": _INDEX}
_SELECTED = partial(affine, lambda call: call.args[1] % max(call.x.value.ndim, 1))  # before the axis rows are apart


@rule("index_select", traits=_TAKEN, batch=_OF_AXIS, short=of_one(_OF_AXIS, _TAKEN), reverse=_SELECTED, **_BY_INDEX)
def _index_select(func: Function, x: Any, dim: int, index: Any) -> Any:
    return _INDEXED(func, (x, dim, _with_axis(index, index)), {})


@rule("index_copy", traits=Trait.MOVE, short=copied_to, **_BY_INDEX)
def _index_copy(func: Function, x: Any, dim: int, index: Any, source: Any) -> Any:
    return _INDEXED(func, (x, dim, _with_axis(index, index), _with_axis(source, index)), {})


@rule("index_add", traits=Trait.ADD_AT, short=added_at, reverse=put_at, **_BY_INDEX)
def _index_add(func: Function, x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    more = {} if type(alpha) is int and alpha == 1 else {"alpha": alpha}
    return _INDEXED(func, (x, dim, _with_axis(index, index), _with_axis(source, index)), more)


def _with_axis(t: Any, index: Any) -> Any:
    """What has no axes, with one, if the index has none: torch.vmap takes that for a number."""
    return t if index.ndim or t.ndim else t.reshape(1)


def _as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    positions = torch.arange(input.numel(), device=input.device).reshape(tuple(input.shape))
    places = positions.as_strided(size, stride, storage_offset or 0).reshape(-1)
    return input.reshape(-1).index_copy(0, places, src.reshape(-1)).reshape(tuple(input.shape))


def _index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """By torch.where: torch.vmap, over the components of the value, gives all of them those of the last."""
    rows = torch.zeros(input.shape[dim] if input.ndim else 1, dtype=torch.bool, device=input.device)
    rows[value_of(index).long()] = True
    shape = [-1 if axis == dim % input.ndim else 1 for axis in range(input.ndim)]
    value = value.to(input.dtype) if isinstance(value, torch.Tensor) else value
    return torch.where(~rows.reshape(shape), input, value)


def _bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    places = value_of(input).long()
    if weights is None:
        return torch.bincount(places, minlength=minlength)
    length = max(minlength, int(places.max()) + 1 if places.numel() else 0)
    zeros = torch.zeros(length, dtype=torch.float64, device=places.device)
    return zeros.index_add(0, places, weights.double())


@rule("igamma igammac gammainc gammaincc zeta")
def _of_the_second(func: Function, input: Any, other: Any) -> Any:
    """Pointwise in its other argument."""
    if isinstance(input, DecomposedTensor):
        raise NotImplementedError(
            f"{func.__name__}: contributions do not pass through input: torch has no derivative by it"
        )
    return _SECOND(func, (input, other), {})


_SECOND = law.TaggedRule.of("Pointwise", "Pointwise")


rule("cdist", reverse=distances)(by_formula(_cdist))
rule("pairwise_distance", reverse=pairs)(by_formula(_pairwise_distance))
rule("pdist")(by_formula(_pdist))
rule(torch.renorm, torch.Tensor.renorm)(by_formula(_renorm))
rule(torch.aminmax, torch.Tensor.aminmax)(by_formula(_aminmax))
rule("cummax")(_running(1))
rule("cummin")(_running(-1))
rule("logcumsumexp")(by_formula(_logcumsumexp))
rule("scatter_reduce", indices=_INDEX)(by_formula(scatter_reduce, "input", "src"))
rule("index_reduce", indices=_INDEX)(by_formula(index_reduce, "input", "source"))
rule("segment_reduce")(by_formula(segment_reduce))
rule("addcdiv", traits=Trait.ELEMENTWISE)(by_formula(_addcdiv))
rule("linspace")(by_formula(_linspace))
rule("logspace")(by_formula(_logspace))
rule(torch.as_strided_scatter, torch.Tensor.as_strided_scatter)(by_formula(_as_strided_scatter))
rule("index_fill", traits=Trait.MOVE, short=filled_at, indices=_INDEX)(by_formula(_index_fill))
rule(torch.linalg.cond)(by_formula(_cond))
rule(torch.bincount, torch.Tensor.bincount, indices=(0, "input"))(by_formula(_bincount))
