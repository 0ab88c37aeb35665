"""Closed forms for torch functions in other words: special functions, casts, factorisations that read one triangle,
functions of a keyword's several forms; and what is refused, with the reason."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from npdec._decomposed.call import Call
from npdec._decomposed.choices import compare_choices, is_watched
from npdec._decomposed.kept_components import handed_on
from npdec._decomposed.registry import Answer, Trait, attributes
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl import elementwise_float_impl
from npdec._impl.quotients_impl import in_both_orders
from npdec._impl.torch_refused_impl import REFUSED
from npdec._impl.torch_special_impl import BESSEL, POLYNOMIALS, spherical_j0
from npdec._law import law
from npdec._law.ordinary_forms import instead
from npdec._law.ordinary_linear import cast as ordinary_cast
from npdec._law.ordinary_linear import cast_to, clone, contiguous, to_host
from npdec._law.ordinary_steps import stepwise_instead
from npdec._law.reverse_quotients import reciprocal_times
from npdec._rules.by_formula import by_formula, own_numbers, pointwise, value_of
from npdec._rules.conditions import cast
from npdec._rules.matrix_rates import (
    hermitian_of,
    pseudo_inverse,
    rates_of_cholesky,
    rates_of_hermitian_values,
    rates_of_inverse,
    rates_of_pseudo_inverse,
    rates_of_singular_values,
    rates_of_solution,
)
from npdec._rules.rule import ClosedForm, rule
from npdec._rules.transformer_layers import encoder_layer, linear_cross_entropy, native_attention
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing

Function = Callable[..., Any]
_CAST = Trait.ELEMENTWISE | Trait.EACH | Trait.CAST


# -- casts and layouts -------------------------------------------------------------------------------------------------


@rule("to", traits=_CAST, short=ordinary_cast, discrete=True)
@rule("double", traits=_CAST, short=cast_to(torch.float64), discrete=True)
@rule("float", traits=_CAST, short=cast_to(torch.float32), discrete=True)
@rule("type", traits=_CAST, short=ordinary_cast, discrete=True)
@rule("half bfloat16", traits=_CAST, discrete=True)
@rule("cpu", short=to_host, discrete=True)
@rule("contiguous", traits=Trait.EACH | Trait.CAST, short=contiguous, discrete=True)
@rule("clone", traits=Trait.ELEMENTWISE | Trait.EACH | Trait.FRESH, short=clone, discrete=True)
@rule("long", short=cast_to(torch.int64), discrete=True)
@rule("int", short=cast_to(torch.int32), discrete=True)
@rule("short", short=cast_to(torch.int16), discrete=True)
@rule("char", short=cast_to(torch.int8), discrete=True)
@rule("byte", short=cast_to(torch.uint8), discrete=True)
@rule("cdouble cfloat chalf cuda bool", discrete=True)
def _formatted(func: Function, x: Any, *rest: Any, **named: Any) -> Any:
    """Casts and copies: the layout in memory that is asked for is the value's."""
    given = tuple(map(value_of, rest))
    if not isinstance(x, DecomposedTensor):
        return func(x, *given, **named)
    if given and isinstance(given[0], torch.memory_format):
        named["memory_format"], given = given[0], given[1:]
    memory_format = named.pop("memory_format", None)
    wanted = func(x.value, *given, **named)
    if not isinstance(wanted, torch.Tensor):  # the name of its type
        return wanted
    if x.discrete or not carries(wanted.dtype):
        if wanted.dtype is x.value.dtype:
            return _LINEAR(func, (x, *given), named)
        return cast(x, wanted, func(x.residual, *given, **named))
    made = _LINEAR(func, (x, *given), named)
    if memory_format is None or not isinstance(made, DecomposedTensor):
        return made
    value = func(x.value, *given, **named, memory_format=memory_format)
    return DecomposedTensor(value, made.residual, handed_on(made), made.labels, made.reverse)


_LINEAR = law.TaggedRule.of("Linear")


# -- one triangle of a matrix ------------------------------------------------------------------------------------------


# Functions that read one triangle of a matrix: so does the path.


@rule("cholesky cholesky_ex")
def _cholesky(func: Function, A: Any, upper: bool = False, **named: Any) -> Any:
    call = Call(func, None, (A,), {"upper": upper, **named})
    rates = None if named else functools.partial(rates_of_cholesky, upper=upper)
    return law.quadrature(call, lambda A, **named: func(hermitian_of(A, upper), **named), stacked=rates)


@rule("eigvalsh")
def of_eigh(func: Function, A: Any, UPLO: str = "L") -> Any:
    call, upper = Call(func, None, (A, UPLO), {}), UPLO in ("U", "u")
    own = rates_of_hermitian_values if name_of(func) == "linalg_eigvalsh" else getattr(func, "stacked", None)
    rates = None if own is None else functools.partial(own, upper=upper)
    return law.quadrature(call, lambda A, UPLO: func(hermitian_of(A, upper), UPLO), stacked=rates)


@rule("inv inverse")
def _inverse(func: Function, A: Any) -> Any:
    return law.quadrature(Call(func, None, (A,), {}), stacked=rates_of_inverse)


@rule("svdvals")
def _singular_values(func: Function, A: Any, *, driver: str | None = None) -> Any:
    named = {} if driver is None else {"driver": driver}
    return law.quadrature(Call(func, None, (A,), named), stacked=rates_of_singular_values)


@rule(torch.linalg.solve)
def _solve(func: Function, A: Any, B: Any, *, left: bool = True) -> Any:
    call = Call(func, None, (A, B), {} if left else {"left": False})
    if not left:
        return law.quadrature(call)
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    matrix, right = (None if isinstance(x, DecomposedTensor) else x for x in (A, B))
    rates = rates_of_solution(matrix, right, vector, max(A.ndim, B.ndim + vector))
    return law.quadrature(call, stacked=rates)


@rule("cholesky_solve")
def _cholesky_solve(func: Function, input: Any, input2: Any, upper: bool = False) -> Any:
    call = Call(func, None, (input, input2, upper), {})
    return law.quadrature(call, lambda b, root, upper: func(b, root.triu() if upper else root.tril(), upper))


def _cholesky_inverse(input: Any, upper: bool = False) -> Any:
    one = torch.eye(input.shape[-1], dtype=input.dtype, device=input.device)
    root = torch.linalg.solve_triangular(input, one, upper=upper)
    return torch.matmul(root, root.mH) if upper else torch.matmul(root.mH, root)


def _triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Any, Any]:
    matrix = A.mT if transpose else A
    solved = torch.linalg.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return solved, A.clone()


def _has_full_rank(a: torch.Tensor, tolerances: Iterable[Any]) -> bool:
    """Whether the matrices are far from having fewer singular values than they could have."""
    if not a.numel():
        return False
    sizes = torch.linalg.svdvals(a)
    least = torch.as_tensor(torch.finfo(sizes.dtype).eps ** 0.375, dtype=sizes.dtype, device=a.device)
    for given in tolerances:
        least = torch.maximum(least, torch.as_tensor(value_of(given), dtype=sizes.dtype, device=a.device))
    return bool((sizes[..., -1] > least * sizes[..., 0]).all())


@rule("pinv")
def _pinv(
    func: Function, A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    """pinv: of matrices whose rank is full at both ends by triangular factors, of which a derivative takes a third of
    the time."""
    named = {key: item for key, item in {"rcond": rcond, "atol": atol, "rtol": rtol}.items() if item is not None}
    simple = not hermitian and atol is None and isinstance(A, DecomposedTensor) and not tracing() and not mapped()
    full = simple and all(_has_full_rank(t.detach(), named.values()) for t in (A.value, A.residual))

    def formula(A: torch.Tensor, hermitian: bool = False, **named: Any) -> Any:
        if full:
            return pseudo_inverse(A) if A.shape[-2] >= A.shape[-1] else pseudo_inverse(A.mH).mH
        if hermitian:
            return func(hermitian_of(A, False), hermitian=True, **named)
        return func(A, **named)

    options = {"hermitian": True, **named} if hermitian else named
    return law.quadrature(Call(func, None, (A,), options), formula, stacked=rates_of_pseudo_inverse if full else None)


@rule("pinverse")
def _pinverse(func: Function, input: Any, rcond: float = 1e-15) -> Any:
    return _pinv(func, input, rcond)


def phase_of(largest: torch.Tensor) -> torch.Tensor:
    """What turns eigenvectors so that their largest elements are real, of the sign that these have."""
    sign = torch.where(largest.detach().real < 0, -1.0, 1.0)
    return sign * largest.conj() / largest.abs()


def of_eig(func: Function, A: Any) -> Any:
    """Each eigenvector is turned so that its largest element is real, as LAPACK does: torch's derivative is of another
    choice."""

    def formula(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, vectors = func(A)
        place = vectors.detach().abs().argmax(-2, keepdim=True)
        return values, vectors * phase_of(vectors.gather(-2, place))

    return law.quadrature(Call(func, None, (A,), {}), formula, stacked=getattr(func, "stacked", None))


def _lstsq(A: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> tuple[Any, ...]:
    """The solution, what is left, the rank, and the singular values (by some drivers)."""
    one = b.ndim == 1 or (A.ndim - 1 == b.ndim and b.shape == A.shape[:-1])
    right = b.unsqueeze(-1) if one else b
    solved = torch.matmul(torch.linalg.pinv(A), right)
    left = (torch.matmul(A, solved) - right).abs().square().sum(-2)
    singular = torch.linalg.svdvals(A) if driver in ("gelsd", "gelss") else None
    return solved.squeeze(-1) if one else solved, left, None, singular


# -- others in disguise ------------------------------------------------------------------------------------------------


def _reciprocal_times(self: Any, other: Any) -> Any:
    return self.reciprocal() * other


def _heaviside(x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, values, (x > 0).to(values.dtype)) + 0 * x


_STEPPED = law.TaggedRule.of("Stepwise", "Stepwise")


@rule("heaviside", tags=_STEPPED.tags, short=stepwise_instead((0, 1), in_both_orders, elementwise_float_impl.heaviside))
def _heaviside_rule(func: Function, input: Any, values: Any) -> Any:
    return own_numbers(func, (input, values), {}, _STEPPED(_heaviside, (input, values), {}))


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers, column by column."""
    count = x.shape[-1] if N is None else N
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return torch.stack([torch.pow(x, k) if k else torch.ones_like(value_of(x)) for k in powers], -1)


def _increasing_vander(x: Any, *, N: int | None = None) -> Any:
    return _vander(x, N, True)


@rule(torch.cartesian_prod)
def _cartesian_prod(func: Function, *tensors: Any) -> Any:
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([grid.reshape(-1) for grid in torch.meshgrid(*tensors, indexing="ij")], -1)


def _fill(input: Any, value: Any) -> Any:
    """As the method in place does."""
    return input.clone().fill_(value)


def _special(f: Function) -> Function:
    return by_formula(lambda input: pointwise(f, input))


def _polynomial(f: Function) -> ClosedForm:
    def formula(input: Any, n: Any) -> Any:
        if not isinstance(input, torch.Tensor):
            input = torch.as_tensor(input, dtype=value_of(n).dtype, device=value_of(n).device)
        return pointwise(f, input, torch.as_tensor(value_of(n), device=input.device))

    def body(func: Function, x: Any, n: Any) -> Any:
        """Pointwise in x; the degree is looked at only."""
        return own_numbers(func, (x, value_of(n)), {}, formula(x, n)) if _has(x) else func(x, value_of(n))

    made = ClosedForm(body)
    made.formula = formula
    return made


def _has(x: Any) -> bool:
    return isinstance(x, DecomposedTensor)


@rule("histogram histogramdd")
def _histogram(
    func: Function, x: Any, bins: Any = 100, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """How many elements (or how much of the weights) lie between the edges: linear in the weights."""
    settings: dict[str, Any] = {"weight": value_of(weight), "density": density}
    if range is not None:  # which edges do not go with
        settings["range"] = range
    bins = _plain(bins)
    made = func(value_of(x), bins, **settings)
    if isinstance(x, DecomposedTensor) and is_watched():
        compare_choices(func.__name__, made, func(x.residual, bins, **settings))
    if not isinstance(weight, DecomposedTensor):
        return made
    edges = made.bin_edges if isinstance(made.bin_edges, (tuple, list)) else [made.bin_edges]
    points = value_of(x).reshape(-1, len(edges))
    shape = [len(edge) - 1 for edge in edges]
    flat = torch.zeros(len(points), dtype=torch.int64, device=points.device)
    counted = torch.ones(len(points), dtype=torch.bool, device=points.device)
    for axis, edge in enumerate(edges):
        column = points[:, axis].contiguous()
        place = torch.searchsorted(edge, column, right=True) - 1
        place = torch.where(column == edge[-1], shape[axis] - 1, place)
        counted &= (place >= 0) & (place < shape[axis])
        flat = flat * shape[axis] + place.clamp(0, shape[axis] - 1)
    zeros = torch.zeros(made.hist.numel(), dtype=made.hist.dtype, device=points.device)
    counts: Any = zeros.index_add(0, flat, torch.where(counted, weight.reshape(-1), 0)).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for axis, edge in enumerate(edges):
            width = [1] * len(edges)
            width[axis] = -1
            counts = counts / edge.diff().reshape(width)
    settings["weight"] = weight
    hist = own_numbers(lambda *a, **k: func(*a, **k)[0], (value_of(x), bins), settings, counts)
    return type(made)((hist, made.bin_edges))


def _plain(item: Any) -> Any:
    return type(item)(map(value_of, item)) if isinstance(item, (tuple, list)) else value_of(item)


# -- what is refused ---------------------------------------------------------------------------------------------------


def _refusal(reason: str) -> Function:
    def rule(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        name = getattr(func, "__name__", str(func))
        raise NotImplementedError(f"{name}: contributions do not pass through it: {reason}")

    made = Answer(rule)
    made.refused = reason
    return made


rule(torch.vander)(by_formula(_vander))
rule(torch.linalg.vander)(by_formula(_increasing_vander))
rule(torch.fill)(by_formula(_fill))
rule("__rdiv__", reverse=reciprocal_times)(by_formula(_reciprocal_times))
rule("linear_cross_entropy")(by_formula(linear_cross_entropy))
rule("_native_multi_head_attention")(by_formula(native_attention))
rule("_transformer_encoder_layer_fwd")(by_formula(encoder_layer))
rule(torch.linalg.lstsq)(by_formula(_lstsq))
rule("cholesky_inverse")(by_formula(_cholesky_inverse))
rule("triangular_solve")(by_formula(_triangular_solve))
rule(*attributes("__cuda_array_interface__"))(
    _refusal("memory that others read has no place for contributions; take .value first")
)
for _name, _function in BESSEL.items():
    _short = None if _function is spherical_j0 else instead(_function)  # which rounds otherwise than torch's
    rule(_name, traits=Trait.ELEMENTWISE, short=_short)(_special(_function))
for _name, _function in POLYNOMIALS.items():
    rule(_name, traits=Trait.ELEMENTWISE)(_polynomial(_function))
for _name, _reason in REFUSED.items():
    rule(_name)(_refusal(_reason))
