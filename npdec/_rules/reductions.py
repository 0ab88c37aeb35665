"""Closed forms for torch functions that the tags do not describe: distances, running maxima, reductions of groups, and
functions that are others in disguise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from npdec._decomposed.batching_rules import of_axes, reshaped
from npdec._decomposed.call import Call
from npdec._decomposed.choices import chosen, compare_choices, is_watched, places_beside
from npdec._decomposed.kept_components import handed_on
from npdec._decomposed.registry import Answer, Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.size_limits import has_many
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl.envelope_impl import leading_fractions
from npdec._law import law
from npdec._law.ordinary import of_one
from npdec._rules.by_formula import by_formula, own_numbers, pointwise, residual_of, value_of
from npdec._rules.elementary import read
from npdec._rules.group_reductions import index_reduce, scatter_reduce, segment_reduce
from npdec._rules.rule import rule
from npdec._torch.tracing import name_of, tracing

Function = Callable[..., Any]
_LARGE = 2**22  # pairs of numbers of which a matrix is made
_MOST_PAIRS = 2**28
_NO_DERIVATIVE = "torch has no derivative by it"


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
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """cummax, cummin: each number is the extremum of those up to it."""
        x, dim = read(args, kwargs, dim=0) if args else (kwargs["input"], kwargs["dim"])
        with no_graph(x.whole):
            made = func(x.value, dim)
            base = func(x.residual, dim)
        if not x.ndim:
            return type(made)((x.clone(), made.indices))
        indices = places_beside(name_of(func), made.indices, base.indices) if is_watched() else made.indices
        if not tracing() and _each_leads_alone(x, made, dim):
            given = handed_on(cast(DecomposedTensor, torch.gather(x, dim, made.indices)))
            return type(made)((DecomposedTensor(made.values, base.values, given, x.labels, x.whole), indices))
        value, residual = sign * x.value.movedim(dim, -1), sign * x.residual.movedim(dim, -1)
        n = value.shape[-1]
        _check_pairs(name_of(func), value.numel(), n)
        # Row k has the first k + 1 elements, and the first of them again in the place of the others.
        index = torch.arange(n, device=value.device).expand(n, n).tril()
        fractions = leading_fractions(value[..., index], residual[..., index], -1)
        shares = torch.zeros_like(fractions).scatter_add_(-1, index.expand(fractions.shape), fractions)
        moved = x.components.movedim(dim % x.ndim + 1, -1)
        components = torch.matmul(shares, moved.unsqueeze(-1)).squeeze(-1).movedim(-1, dim % x.ndim + 1)
        return type(made)((DecomposedTensor(made.values, base.values, components, x.labels, x.whole), indices))

    return rule


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
    much = x.numel() * n > _LARGE or (n > 8 and isinstance(x, DecomposedTensor) and has_many(len(x.labels)))
    if much and isinstance(x, DecomposedTensor) and not x.is_complex() and not tracing():
        return law.quadrature(Call(torch.logcumsumexp, None, (x, -1), {})).movedim(-1, dim)
    later = torch.ones((n, n), dtype=torch.bool, device=x.device).triu(1)
    rows = x.unsqueeze(-2).expand(*x.shape[:-1], n, n)
    return torch.logsumexp(rows.masked_fill(later, -torch.inf), -1).movedim(-1, dim)


# -- selections --------------------------------------------------------------------------------------------------------


def _unique(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What is equal is decided at the value: a distinct number has the parts of the first one that is equal to it."""
    x, *rest = args if args else (kwargs["input"],)
    kwargs = {key: item for key, item in kwargs.items() if key != "input"}
    names = {"_unique2": 1, "unique_dim": 2, "unique_consecutive": 0}
    place = names[func.__name__]
    wanted = dict(kwargs)
    if len(rest) > place:
        rest[place] = True
    else:
        wanted["return_inverse"] = True
    made = func(x.value, *rest, **wanted)
    dim = {"_unique2": None, "unique_dim": rest[0] if rest else kwargs.get("dim")}.get(
        func.__name__, kwargs.get("dim", rest[2] if len(rest) > 2 else None)
    )
    values, inverse = made[0], made[1]
    axis = 0 if dim is None else dim
    flat = x.reshape(-1) if dim is None else x
    places = inverse.reshape(-1)
    first = torch.full((values.shape[axis],), len(places), dtype=torch.int64, device=places.device)
    first = first.scatter_reduce(0, places, torch.arange(len(places), device=places.device), "amin")
    asked = args[place + 1] if len(args) > place + 1 else kwargs.get("return_inverse", False)
    picked = cast(DecomposedTensor, flat.index_select(axis, first))
    given = [inverse if asked else inverse.new_empty(0), *made[2:]]  # and the counts
    if is_watched():
        base, *others = func(x.residual, *rest, **wanted)
        compare_choices(func.__name__, picked.residual, base)
        others = others if asked else [given[0], *others[1:]]
        given = [places_beside(func.__name__, one, other) for one, other in zip(given, others, strict=True)]
    picked = DecomposedTensor(values, picked.residual, handed_on(picked), x.labels, x.whole)
    return (picked, *given)


def _msort(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x = args[0] if args else kwargs["input"]
    return torch.sort(x, 0).values


def _prelu(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """max(0, x) + w · min(0, x), of which the law's integral is taken over the part of the path on which x < 0."""
    x, weight = read(args, kwargs, weight=None)
    w = weight
    if weight.numel() > 1 and x.ndim > 1:
        w = weight.reshape([-1 if axis == 1 else 1 for axis in range(x.ndim)])
    if not isinstance(weight, DecomposedTensor):
        return own_numbers(func, args, kwargs, pointwise(_leaky, x, w))
    x1, x0, w1, w0 = value_of(x), residual_of(x), w.value, w.residual
    with no_graph(w.whole):
        low, high = torch.minimum(x1, x0), torch.maximum(x1, x0)
        length = torch.where(high > 0, low.clamp(max=0) / (low - high), 1.0)  # of the part below zero
        length = torch.where(low >= 0, 0.0, length)
        middle = torch.where(x0 < x1, length / 2, 1 - length / 2)
        below = length * torch.where(high > 0, low / 2, (low + high) / 2)
        slope = 1 - length + length * (w0 + middle * (w1 - w0))
    # Both are linear with these multipliers, whatever the values.
    parts = cast(DecomposedTensor, w.expand_as(x) if w.shape != x.shape else w) * below
    made = parts if not isinstance(x, DecomposedTensor) else parts + x * slope
    return own_numbers(func, args, kwargs, made)


def _leaky(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, weight * x)


# -- the same numbers otherwise ----------------------------------------------------------------------------------------


def _view(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A view of another shape is linear, and so is one of complex numbers as pairs of real ones, or back; the bits read
    as integers are something that is looked at, and bits read as other numbers are no function of these."""
    x = args[0] if args else kwargs["input"]
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    if not isinstance(dtype, torch.dtype) or dtype is x.dtype:
        return law.TaggedRule.of("Linear")(func, args, kwargs)
    if not carries(dtype):
        if x.discrete and torch.bool not in (dtype, x.dtype) and dtype.itemsize == x.dtype.itemsize:  # signs aside
            return DecomposedTensor(func(x.value, dtype), func(x.residual, dtype), x.components, x.labels, x.whole)
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

    return DecomposedTensor(func(x.value, dtype), seen(x.residual), seen(x.components), x.labels, x.whole)


def _lu_unpack(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The factors; without them, the permutation alone, which contributes nothing."""
    data, pivots, wanted, permuted = read(
        args or (kwargs["LU_data"],), kwargs, LU_pivots=None, unpack_data=True, unpack_pivots=True
    )
    if not wanted or not isinstance(data, DecomposedTensor):
        return func(value_of(data), pivots, wanted, permuted)
    made = law.quadrature(Call(func, None, (data, pivots, True, True), {}))
    return made if permuted else type(made)((func(data.value, pivots, wanted, permuted)[0], *made[1:]))


def _fake_quantize(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Rounded to a grid, element by element: the slope of the steps, not the one that torch trains with."""
    x, *rest = args if args else (kwargs["input"],)
    kwargs = {key: value_of(item) for key, item in kwargs.items() if key != "input"}
    rest = [value_of(item) for item in rest]
    if not isinstance(x, DecomposedTensor):
        return func(x, *rest, **kwargs)
    with no_graph(x.whole):
        value, residual = func(x.value, *rest, **kwargs), func(x.residual, *rest, **kwargs)
        step = x.value - x.residual
        slope = torch.where(step == 0, 0, (value - residual) / torch.where(step == 0, 1, step))
    return DecomposedTensor(value, residual, x.components * slope, x.labels, x.whole)


def _cond(A: Any, p: Any = None) -> Any:
    """The norm of a matrix times that of its inverse; of the spectral norm, the ratio of two singular values."""
    if p in (None, 2, -2):
        sizes = torch.linalg.svdvals(A)
        largest, smallest = sizes[..., 0], sizes[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    return torch.linalg.matrix_norm(A, p) * torch.linalg.matrix_norm(torch.linalg.inv(A), p)


# -- others in disguise ------------------------------------------------------------------------------------------------


def _addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return input + value * (tensor1 / tensor2)


def _linspace(start: Any, end: Any, steps: int, **kwargs: Any) -> Any:
    like = value_of(start) if isinstance(start, torch.Tensor) else value_of(end)
    way = torch.linspace(0, 1, steps, dtype=torch.float64, device=like.device)
    return start * (1 - way) + end * way


def _logspace(start: Any, end: Any, steps: int, base: float = 10.0, **kwargs: Any) -> Any:
    return torch.pow(base, _linspace(start, end, steps))


def _narrow(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    x, dim, start, length = (
        read(args, kwargs, dim=0, start=0, length=0)
        if args
        else [kwargs[name] for name in ("input", "dim", "start", "length")]
    )
    start = int(value_of(start)) if isinstance(start, torch.Tensor) else start
    return law.TaggedRule.of("Linear")(func, (x, dim, start, length), {})


def _with_index(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """index_select, index_add, index_copy; torch.vmap takes an index of no axes for a number."""
    index = value_of(args[2] if len(args) > 2 else kwargs["index"])
    if isinstance(index, torch.Tensor) and not index.ndim:
        kwargs = dict(zip(("input", "dim", "index", "source"), args, strict=False)) | kwargs
        source = kwargs.get("source")
        if isinstance(source, torch.Tensor) and not source.ndim:
            kwargs["source"] = source.reshape(1)
        kwargs["index"] = index.reshape(1)
        args = (kwargs.pop("input"), kwargs.pop("dim"), kwargs.pop("index"))
    return _INDEXED(func, args, kwargs)


_INDEXED = law.TaggedRule.of("Linear", None, "Opaque", "Linear")
_INDEXED.tags["source"] = "Linear"


def _tensor_split(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    args = [a.tolist() if isinstance(a, torch.Tensor) and i else a for i, a in enumerate(args)]
    by_tensor = kwargs.get("tensor_indices_or_sections")
    if by_tensor is not None:
        kwargs = {k: a for k, a in kwargs.items() if k != "tensor_indices_or_sections"}
        kwargs["indices" if by_tensor.ndim else "sections"] = by_tensor.tolist()
    return law.TaggedRule.of("Linear")(func, args, kwargs)


def _as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    numbers = torch.arange(input.numel(), device=input.device).reshape(tuple(input.shape))
    places = numbers.as_strided(size, stride, storage_offset or 0).reshape(-1)
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


def _first_only(reason: str, *, position: int, name: str) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Pointwise in its other argument."""
        refused = args[position] if len(args) > position else kwargs.get(name)
        if isinstance(refused, DecomposedTensor):
            raise NotImplementedError(f"{func.__name__}: contributions do not pass through {name}: {reason}")
        tags: list[str | None] = ["Pointwise", "Pointwise"]
        tags[position] = None
        return law.TaggedRule.of(*tags)(func, args, kwargs)

    return rule


_V: Any = torch._C._VariableFunctions
rule("cdist")(by_formula(_cdist))
rule("pairwise_distance")(by_formula(_pairwise_distance))
rule("pdist")(by_formula(_pdist))
rule(torch.renorm, torch.Tensor.renorm)(by_formula(_renorm))
rule(torch.aminmax, torch.Tensor.aminmax)(by_formula(_aminmax))
rule("cummax")(Answer(_running(1)))
rule("cummin")(Answer(_running(-1)))
rule("logcumsumexp")(by_formula(_logcumsumexp))
rule("scatter_reduce")(by_formula(scatter_reduce, "input", "src"))
rule("index_reduce")(by_formula(index_reduce, "input", "source"))
rule("segment_reduce")(by_formula(segment_reduce))
rule("_unique2", _V.unique_dim, _V.unique_consecutive)(Answer(_unique))
rule("msort")(Answer(_msort))
rule("prelu")(Answer(_prelu))
rule("addcdiv", traits=Trait.ELEMENTWISE)(by_formula(_addcdiv))
rule("linspace")(by_formula(_linspace))
rule("logspace")(by_formula(_logspace))
rule("narrow", traits=Trait.MOVE | Trait.STRIDED)(Answer(_narrow))
rule("tensor_split", traits=Trait.MOVE)(Answer(_tensor_split))
rule(torch.as_strided_scatter, torch.Tensor.as_strided_scatter)(by_formula(_as_strided_scatter))
rule("index_fill", traits=Trait.MOVE)(by_formula(_index_fill))
rule("view", traits=Trait.RESHAPE | Trait.MOVE, batch=reshaped, short=of_one(reshaped, 0))(Answer(_view))
rule("lu_unpack")(Answer(_lu_unpack))
rule("fake_quantize_per_tensor_affine fake_quantize_per_channel_affine")(Answer(_fake_quantize))
rule(torch.linalg.cond)(by_formula(_cond))
rule(torch.bincount, torch.Tensor.bincount)(by_formula(_bincount))
rule("igamma igammac gammainc gammaincc zeta")(Answer(_first_only(_NO_DERIVATIVE, position=0, name="input")))
rule("index_select", traits=Trait.MOVE | Trait.STRIDED, batch=of_axes(0, 1))(Answer(_with_index, tags=_INDEXED.tags))
rule("index_add", traits=Trait.ADD_AT)(Answer(_with_index, tags=_INDEXED.tags))
rule("index_copy", traits=Trait.MOVE)(Answer(_with_index, tags=_INDEXED.tags))
