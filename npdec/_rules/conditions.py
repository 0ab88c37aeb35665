"""Conditions: how comparisons, logic and counts of decomposed numbers carry contributions.

A comparison is a step of the difference of its sides, and the derivative of a step is a point mass. Its integral along
the path is the secant of the step, (1[x] − 1[r]) · c / (x − r): the law, with nothing added. The result is a boolean
tensor whose value and residual are booleans and whose components are real numbers that sum to their difference. What is
made of such tensors (logic, counts, masks) is made of them as of the numbers 0 and 1, in which it is multilinear.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from npdec._decomposed.batching_rules import reshaped
from npdec._decomposed.call import Call
from npdec._decomposed.choices import compare_choices, is_watched
from npdec._decomposed.kept_components import dtype_of_steps
from npdec._decomposed.registry import Trait
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.size_warnings import warn_infinite
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._impl.histogram_impl import counted
from npdec._law.complex_laws import compared as compared_complex
from npdec._law.discrete import (
    as_numbers,
    common_dtype,
    dropped,
    magnitude,
    residual_of,
    value_of,
    where_same,
    with_numbers,
)
from npdec._law.jumps import stepped
from npdec._law.ordinary_choices import comparison
from npdec._law.ordinary_closeness import close
from npdec._law.ordinary_linear import cast as ordinary_cast
from npdec._law.ordinary_linear import like_another
from npdec._law.ordinary_logic import SHARES, finiteness, folded, how_many, logic, negation
from npdec._law.ordinary_steps import of_steps, searched
from npdec._law.pairs_of_numbers import compared
from npdec._law.pairs_of_numbers import logic as logic_of_numbers
from npdec._law.reverse_elements import compared as compared_in_reverse
from npdec._rules.by_formula import by_formula
from npdec._rules.rule import rule
from npdec._torch.functorch import mapped
from npdec._torch.tracing import name_of, tracing

__all__ = ["cast", "truth"]

Function = Callable[..., Any]


_EACH = Trait.ELEMENTWISE
_OF_TWO: dict[str, Any] = {
    "reverse": compared_in_reverse,
    "numbers": compared,
    "discrete": True,
}

# -- comparisons -------------------------------------------------------------------------------------------------------


@rule("eq __eq__", traits=_EACH, short=comparison(operator.eq), few_complex=compared_complex, **_OF_TWO)
@rule("ne not_equal __ne__", traits=_EACH, short=comparison(operator.ne), few_complex=compared_complex, **_OF_TWO)
@rule("lt less __lt__", traits=_EACH, short=comparison(operator.lt), **_OF_TWO)
@rule("le less_equal __le__", traits=_EACH, short=comparison(operator.le), **_OF_TWO)
@rule("gt greater __gt__", traits=_EACH, short=comparison(operator.gt), **_OF_TWO)
@rule("ge greater_equal __ge__", traits=_EACH, short=comparison(operator.ge), **_OF_TWO)
def _comparison(func: Function, input: Any, other: Any) -> Any:
    """<, <=, >, >=, ==, !=: a step of the difference of the two sides."""
    call = Call(func, None, (input, other), {})
    value, residual = call.ends()
    if not isinstance(value, torch.Tensor) or conditions_are_frozen():
        return value
    dtype = common_dtype(call.tensors)
    a, b = as_numbers(input, dtype), as_numbers(other, dtype)
    return stepped(name_of(func), value, residual, a - b, magnitude(a, b))


@rule(
    "isnan isinf isfinite isneginf isposinf",
    traits=Trait.ELEMENTWISE,
    short=finiteness,
    discrete=True,
)
def _finiteness(func: Function, input: Any) -> Any:
    """Whether numbers are finite: where the value and the residual differ in this, a step between the two, to which
    those contribute that are not finite themselves."""
    value, residual = Call(func, None, (input,), {}).ends()
    if not is_watched() or torch.equal(value, residual):
        return value
    x = as_numbers(input)
    return stepped(name_of(func), value, residual, x, magnitude(x))


def truth(x: Any) -> Any:
    """Whether numbers are not zero: booleans as they are."""
    return x if isinstance(x, torch.Tensor) and x.dtype is torch.bool else x != 0


# -- logic -------------------------------------------------------------------------------------------------------------

_PAIRS = 2**30  # comparisons of an element with a bound, above which their contributions are not tried to be kept
_LOGIC: dict[str, Function] = {
    "and": torch.mul,
    "or": lambda a, b: a + b - a * b,
    "xor": lambda a, b: a + b - 2 * (a * b),
}


def _logic(word: str, numeric: bool) -> Function:
    formula = _LOGIC[word]

    def logic(func: Function, input: Any, other: Any) -> Any:
        """and, or, xor of booleans; of numbers, where the function takes them, of whether they are zero."""
        call = Call(func, None, (input, other), {})
        value, residual = call.ends()
        if value.dtype is not torch.bool:  # bits of integers
            dropped(func, call)
            return value
        a, b = (truth(input), truth(other)) if numeric else (input, other)
        if not any(isinstance(x, DecomposedTensor) for x in (a, b)):  # conditions are frozen
            return value
        dtype = common_dtype([x for x in (a, b) if isinstance(x, DecomposedTensor)])
        a, b = (as_numbers(x if isinstance(x, torch.Tensor) else torch.tensor(x), dtype) for x in (a, b))
        return with_numbers(value, residual, formula(a, b))

    return logic


@rule("logical_not", traits=Trait.ELEMENTWISE, short=negation(numeric=True), discrete=True)
@rule("bitwise_not __invert__", traits=Trait.ELEMENTWISE, short=negation(numeric=False), discrete=True)
def _not(func: Function, x: Any) -> Any:
    """Logical not, and the complement of booleans and of integers (−1 − x)."""
    if name_of(func).startswith("logical"):
        x = truth(x)
        if not isinstance(x, DecomposedTensor):
            return ~x
    one = 1 if x.dtype is torch.bool else -1
    with no_graph(x.reverse):
        value, residual = ~x.value, ~x.residual
    return with_numbers(value, residual, one - as_numbers(x))


def _fold(everything: bool) -> Function:
    def folded(func: Function, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """all, any: the product of the conditions (of their complements), which is multilinear in them."""
        with no_graph(x.reverse):
            value, residual = func(x.value, dim, keepdim), func(x.residual, dim, keepdim)
        x = truth(x)
        if not isinstance(x, DecomposedTensor):
            return value
        axes = tuple(range(x.ndim)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        axes = tuple(a % max(x.ndim, 1) for a in axes)
        if not x.ndim or not axes:
            return with_numbers(value, residual, as_numbers(x).reshape(value.shape))
        numbers = as_numbers(x if everything else ~x)
        with no_graph(x.reverse):
            weights = _weights_of_product(numbers.value, numbers.residual, axes)
        return with_numbers(value, residual, torch.sum(as_numbers(x) * weights, axes, keepdim))

    return folded


def _weights_of_product(x: torch.Tensor, r: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """For factors of 0 and 1 the integral along the path of the product of all other ones.

    A factor is t where it becomes true and 1 − t where it ceases to be; of p and q such ones among the others the
    integral is Euler's beta function B(p + 1, q + 1), and zero if one of them is false all along.
    """
    rises, falls, never = ((x > r), (x < r), (x == 0) & (r == 0))
    p, q, zeros = (part.sum(axes, keepdim=True).to(x.dtype) for part in (rises, falls, never))
    p, q, zeros = p - rises.to(x.dtype), q - falls.to(x.dtype), zeros - never.to(x.dtype)
    few, both = 1 / (p + q + 1), (p > 0) & (q > 0)
    if tracing() or mapped() or bool(both.any()):
        beta = torch.exp(torch.lgamma(p + 1) + torch.lgamma(q + 1) - torch.lgamma(p + q + 2))
        few = torch.where(both, beta, few)  # without which it is right to the last digit
    return torch.where(zeros > 0, torch.zeros_like(few), few)


@rule("count_nonzero", short=how_many, discrete=True)
def _count(func: Function, x: Any, dim: Any = None) -> Any:
    """count_nonzero: the sum of the conditions."""
    return torch.sum(truth(x)) if dim is None else torch.sum(truth(x), dim)


# -- steps with plain thresholds ---------------------------------------------------------------------------------------


@rule("signbit", traits=Trait.ELEMENTWISE, short=of_steps((0,), None), discrete=True)
def _signbit(func: Function, x: Any) -> Any:
    with no_graph(x.reverse):
        value, residual = func(x.value), func(x.residual)
    return value if conditions_are_frozen() else stepped("signbit", value, residual, as_numbers(x), magnitude(x))


@rule("bucketize", discrete=True)
def _bucketize(func: Function, input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    call = Call(func, None, (input, boundaries), {"out_int32": out_int32, "right": right})
    return _searched(call, input, boundaries, right)


@rule("searchsorted", short=searched, discrete=True)
def _searchsorted(
    func: Function,
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    named = {"out_int32": out_int32, "right": right, "side": side, "sorter": sorter}
    bounds = sorted_sequence
    if isinstance(bounds, DecomposedTensor) and sorter is not None:
        bounds = torch.take_along_dim(bounds, value_of(sorter), -1)
    return _searched(Call(func, None, (sorted_sequence, input), named), input, bounds, right or side == "right")


def _searched(call: Call, x: Any, bounds: Any, right: bool) -> Any:
    """searchsorted, bucketize: how many bounds lie below, each of them a step."""
    name = name_of(call.func)
    with no_graph(call.reverse):  # torch warns of strides; those of a residual of zeros are no one's doing
        value = call(*[t.value for t in call.tensors])
        residual = call(*[t.residual.contiguous() for t in call.tensors])
    if conditions_are_frozen():
        return value
    if not isinstance(bounds, DecomposedTensor):
        return stepped(name, value, residual, as_numbers(x), magnitude(as_numbers(x)))
    x = x if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=bounds.dtype, device=bounds.device)
    pairs = bounds.shape[-1] * x.numel()
    if pairs > _PAIRS:
        raise MemoryError(
            f"{name}: {bounds.shape[-1]:,} bounds that carry contributions, and {x.numel():,} elements, are {pairs:,} "
            "comparisons, of which each is kept: search fewer elements at a time, give the bounds without what they "
            'carry (.value), or search under np.rule(conditions="frozen")'
        )
    # Bounds lie along the first axis, over which entries are summed where they are.
    rows = bounds.reshape(-1, *[1] * x.ndim) if bounds.ndim == 1 else bounds.movedim(-1, 0).unsqueeze(-1)
    made = torch.sum(as_numbers(rows <= x if right else rows < x), 0)
    counted = (made.value, made.residual) if isinstance(made, DecomposedTensor) else (made, made)
    ends = zip(counted, (value, residual), strict=True)
    if not tracing() and not all(torch.equal(count, end.to(count.dtype)) for count, end in ends):  # unordered bounds
        compare_choices(name, value, residual)
        return value
    return with_numbers(value, residual, made)


@rule(counted, discrete=True)
def _counted(func: Function, index: Any, weights: Any, size: int) -> Any:
    """How many, or what weights, are in each bin: each element is in two at the most, that of its value and that of its
    residual. What moves it from one to the other takes it from there, with the weight that it has halfway."""
    plain = value_of(weights), residual_of(weights)
    with no_graph(index.reverse):
        value, residual = func(index.value, plain[0], size), func(index.residual, plain[1], size)
    apart = index.value != index.residual
    nothing = apart.new_zeros(()).expand(apart.shape)
    places, dtype = index.value + index.residual, value.dtype if carries(value.dtype) else None
    share: Any = as_numbers(stepped("histogram", apart, nothing, index, places), dtype)
    del places
    if weights is not None:
        share = share * torch.where(apart, torch.add(plain[0] / 2, plain[1], alpha=0.5), 0).to(value.dtype)
    made: Any = torch.zeros(size, dtype=share.dtype, device=share.device)
    made = made.index_add(0, index.value, share).index_add(0, index.residual, share, alpha=-1)
    if isinstance(weights, DecomposedTensor):
        given = weights.to(value.dtype)
        made = made.index_add(0, index.value, torch.where(apart, given / 2, given))
        made = made.index_add(0, index.residual, torch.where(apart, given / 2, 0))
    return with_numbers(value, residual, made)


def _residual_of(x: Any) -> Any:
    return x.residual if isinstance(x, DecomposedTensor) else x


def _isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """|a − b| <= atol + rtol |b|, and equal infinities."""
    finite = torch.isfinite(value_of(other))
    if isinstance(other, DecomposedTensor):  # from or to what is infinite no path leads along which a condition changes
        before = torch.isfinite(other.residual)
        if not tracing() and not mapped() and bool((finite ^ before).any()):
            ends = [torch.isclose(end(input), end(other), rtol, atol) for end in (value_of, _residual_of)]
            if bool(((finite ^ before) & (ends[0] ^ ends[1])).any()):
                warn_infinite("isclose", other.value, other.residual)
        finite = finite & before
    close = (torch.abs(input - other) <= atol + rtol * torch.abs(other)) & finite
    close = close | (input == other)
    return close | (torch.isnan(value_of(input)) & torch.isnan(value_of(other))) if equal_nan else close


# -- casts -------------------------------------------------------------------------------------------------------------


def cast(x: DecomposedTensor, value: torch.Tensor, residual: torch.Tensor) -> Any:
    """`x` in the dtype of `value`, one of booleans or integers, or from one: a boolean says whether the number is
    zero, an integer is what the truncated number is."""
    if value.dtype is torch.bool:
        return truth(x)
    if carries(value.dtype):
        return with_numbers(value, residual, as_numbers(x, value.dtype))
    if not x.discrete and conditions_are_frozen():
        return value
    made: Any = as_numbers(x) if x.discrete else x.real if x.is_complex() else x
    made = made.to(dtype_of_steps(value.dtype, made.value.dtype))
    made = made if x.discrete else torch.trunc(made)
    return where_same(torch.Tensor.to, Call(torch.Tensor.to, None, (x,), {}), value, residual, made)


# -- of another tensor, shape and dtype alone are looked at ------------------------------------------------------------


_VIEW = Trait.RESHAPE | Trait.MOVE
_SHAPED = like_another(torch.Tensor.view, reshaped, _VIEW)
_RESHAPED = like_another(torch.Tensor.reshape, reshaped, _VIEW | Trait.STRIDED)


@rule("view_as", traits=_VIEW, short=_SHAPED, discrete=True, delegates=True)
def _view_as(func: Function, x: Any, other: Any) -> Any:
    return x.view(value_of(other).shape)


@rule("reshape_as", traits=Trait.MOVE, short=_RESHAPED, discrete=True, delegates=True)
def _reshape_as(func: Function, x: Any, other: Any) -> Any:
    return x.reshape(value_of(other).shape)


@rule("expand_as", traits=Trait.MOVE | Trait.STRIDED, discrete=True, delegates=True)
def _expand_as(func: Function, x: Any, other: Any) -> Any:
    return x.expand(value_of(other).shape)


@rule("type_as", traits=Trait.EACH | Trait.CAST, short=ordinary_cast, discrete=True, delegates=True)
def _type_as(func: Function, x: Any, other: Any) -> Any:
    return x.to(value_of(other).dtype)


rule("all", short=folded(everything=True), discrete=True)(_fold(True))
rule("any", short=folded(everything=False), discrete=True)(_fold(False))
rule("isclose", traits=Trait.ELEMENTWISE, short=close, discrete=True)(by_formula(_isclose))
for _word in _LOGIC:
    _names = {f"logical_{_word}": True, f"bitwise_{_word} __{_word}__ __r{_word}__": False}
    for _name, _numeric in _names.items():
        _forms: dict[str, Any] = {"short": logic(_word, _numeric), "numbers": partial(logic_of_numbers, SHARES[_word])}
        rule(_name, traits=Trait.ELEMENTWISE, discrete=True, **_forms)(_logic(_word, _numeric))
