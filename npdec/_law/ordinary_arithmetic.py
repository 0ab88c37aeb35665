"""The law of ordinary calls of arithmetic: sums, products and quotients of two (`npdec._law.ordinary_pairs`), or of one
and a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.registry import Trait
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import STEEP, half_of_digits, keeps_digits
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import complex_laws, complex_of_few, numbers_without_end, reverse_pairs, reverse_quotients
from npdec._law.native_forms import in_c
from npdec._law.ordinary import (
    FACTORS,
    Form,
    built,
    has_elements,
    is_moderate,
    is_ordinary,
    number_in,
    number_of,
    of_a_summand,
    rows_of,
)
from npdec._law.ordinary_numbers import constant_beside, is_finite, numbers_in_two, on_host, sum_of_two
from npdec._law.ordinary_pairs import Pair, midpoint, pair_of

__all__ = ["EVEN", "added", "is_even_quotient", "product", "quotient"]

Function = Callable[..., Any]
_CPU = torch.device("cpu")
_NUMBERS = (float, int, bool)
EVEN = {dtype: half_of_digits(dtype) - 3 for dtype in (torch.float32, torch.float64)}  # as in `_is_even`


def _is_tame(factor: Any) -> bool:
    """Whether a factor makes no contribution a million times as large."""
    return is_moderate(factor) if isinstance(factor, torch.Tensor) else abs(factor) <= STEEP


def _as_tensor(number: float, like: torch.Tensor) -> Any:
    """The number, as the tensor that torch makes of it beside another on the host: once for several calls."""
    return torch.scalar_tensor(number, dtype=like.dtype, device=_CPU) if like.is_cpu else number


def _scaled(func: Function, x: DecomposedTensor, number: float) -> Any:
    """x times or over a number, that is neither large nor small."""
    factor = _as_tensor(number, x.value)
    return built(func(x.value, factor), func(rows_of(x), factor), func(x.components, factor), x.labels)


def _moved(traits: int, func: Function, x: DecomposedTensor, number: float) -> Any:
    """x and a number, added up."""
    given = _as_tensor(number, x.value) if -STEEP <= number <= STEEP else number
    return built(func(x.value, given), func(rows_of(x), given), _own(traits, x), x.labels)


def _own(traits: int, x: DecomposedTensor) -> torch.Tensor:
    """What the first of two has in a sum or difference."""
    components: torch.Tensor = x.components
    return components.neg() if traits & Trait.SUBTRACT_FROM else components.clone()


def _are_alike(a: DecomposedTensor, b: DecomposedTensor) -> bool:
    """Whether two ordinary tensors have the same labels and shape, and no residual of equal rows."""
    return (
        a.labels is b.labels
        and a.value.dtype is b.value.dtype
        and a.value.shape == b.value.shape
        and 0 not in a.residual.stride()
        and 0 not in b.residual.stride()
    )


def _is_like(b: Any, x: DecomposedTensor) -> bool:
    """Whether it is a plain tensor of the shape and dtype."""
    value = x.value
    return type(b) in FACTORS and b.dtype is value.dtype and b.shape == value.shape and has_elements(b)


def added(traits: int) -> Form:
    """The form of a + b, a − b, b − a."""

    own = complex_laws.law_of_complex({}, traits)

    @in_c("added", traits)
    def form(func: Function, args: Sequence[Any], options: dict[str, Any] | None = None) -> Any:
        if len(args) != 2:
            return NotImplemented
        a, b = args
        if options:
            return _added_times(traits, func, a, b, options)
        if is_ordinary(a):
            if type(b) in _NUMBERS:
                return _moved(traits, func, a, b)
            if type(b) is DecomposedTensor:
                if is_ordinary(b) and _are_alike(a, b):
                    value, residual = func(a.value, b.value), func(a.residual, b.residual)
                    return built(value, residual, func(a.components, b.components), a.labels)
                made = None if a.value.ndim or not is_ordinary(b) else _sum_of_numbers(traits, func, a, b)
                if made is not None:
                    return made
            elif _is_like(b, a):
                return built(func(a.value, b), func(rows_of(a), b), _own(traits, a), a.labels)
        elif complex_of_few.is_given(args):
            made = complex_of_few.answer(own, func, args)
            return _added(traits, func, args) if made is NotImplemented else made
        return _added(traits, func, args)

    return form


def _added_times(traits: int, func: Function, a: Any, b: Any, options: dict[str, Any]) -> Any:
    """a + alpha b, or a − alpha b."""
    if traits & Trait.SUBTRACT_FROM or options.keys() != {"alpha"} or type(options["alpha"]) not in (int, float):
        return NotImplemented
    if not is_ordinary(a) or 0 in a.residual.stride():
        return NotImplemented
    if type(b) is DecomposedTensor and is_ordinary(b) and _are_alike(a, b):
        components = func(a.components, b.components, **options)
        return built(func(a.value, b.value, **options), func(a.residual, b.residual, **options), components, a.labels)
    if type(b) in FACTORS and b.dtype is a.value.dtype and _broadcasts(b.shape, a.value.shape) and has_elements(b):
        parts = func(a.value, b, **options), func(a.residual, b, **options)
        return built(*parts, a.components.clone(), a.labels)
    return NotImplemented


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    return len(shape) <= len(to) and all(n in (1, m) for n, m in zip(reversed(shape), reversed(to), strict=False))


def _sum_of_numbers(traits: int, func: Function, a: DecomposedTensor, b: DecomposedTensor) -> Any:
    """Of two ordinary numbers; None where somebody differentiates them, or there are many components."""
    numbers = numbers_in_two(a, b)
    if numbers is None:
        return None
    (x, r, _), (y, s, _) = numbers
    of_a, of_b = -1.0 if traits & Trait.SUBTRACT_FROM else 1.0, -1.0 if traits & Trait.SUBTRACT else 1.0
    value, residual = (
        on_host(x * of_a + y * of_b, func, a.value, b.value),
        on_host(r * of_a + s * of_b, func, a.residual, b.residual),
    )
    made = sum_of_two(value, residual, a, b, numbers, of_a, of_b)
    return None if made is NotImplemented else made


def _added(traits: int, func: Function, args: Sequence[Any]) -> Any:
    pair = pair_of(args, apart=True)
    if pair is None:
        return reverse_pairs.added(traits, func, args)
    first, second = pair.components
    if first is None or second is None:
        components = of_a_summand(traits, first, second)
    elif pair.apart:
        lessened = first.neg() if traits & Trait.SUBTRACT_FROM else first
        components = torch.cat((lessened, second.neg() if traits & Trait.SUBTRACT else second))
    else:
        components = func(first, second)
    return pair.made(func, components)


def _over_number(func: Function, a: Any, x: DecomposedTensor) -> Any:
    """A constant number over an ordinary one that nobody differentiates; NotImplemented of others."""
    known, value, residual = number_in(x), x.value, x.residual
    number = None if known is None else constant_beside(value, a)
    if known is None or number is None:
        return NotImplemented
    b, t, components = known
    if not b or not t:
        return NotImplemented
    steep = 1 / b / t
    if not (abs(number) <= STEEP and abs(steep) <= STEEP):
        return NotImplemented
    made = [c * (-number * steep) for c in components]
    if not is_finite(made, value.dtype):
        return NotImplemented
    return number_of(func(a, value), func(a, residual), made, x.labels, value.dtype)


@in_c("scaled")
def product(func: Function, args: Sequence[Any]) -> Any:
    """a b: each times the other's midpoint."""
    if len(args) != 2:
        return NotImplemented
    x, other = args
    if is_ordinary(x):
        if type(other) in _NUMBERS:
            if -STEEP <= other <= STEEP:
                return _scaled(func, x, other)
        elif type(other) is DecomposedTensor:
            numbers = None if x.value.ndim else numbers_in_two(x, other)
            if numbers is not None:
                (a, r, _), (b, t, _) = numbers
                at_a, at_b = (a + r) / 2, (b + t) / 2
                if abs(at_a) <= STEEP and abs(at_b) <= STEEP:
                    value = on_host(a * b, func, x.value, other.value)
                    residual = on_host(r * t, func, x.residual, other.residual)
                    return sum_of_two(value, residual, x, other, numbers, at_b, at_a)
        elif _is_like(other, x) and is_moderate(other):
            return built(func(x.value, other), func(rows_of(x), other), func(x.components, other), x.labels)
    elif complex_of_few.is_given(args):
        made = complex_of_few.answer(complex_laws.product, func, args)
        if made is not NotImplemented:
            return made
    pair = pair_of(args, apart=True)
    if pair is None:
        return reverse_pairs.product(func, args)
    first, second = pair.components
    if first is None or second is None:
        factor = pair.values[0 if first is None else 1]
        if not _is_tame(factor):
            return NotImplemented
        return pair.made(func, func(second if first is None else first, factor))
    middle_a = midpoint(pair, 0)
    middle_b = middle_a if args[1] is args[0] else midpoint(pair, 1)
    if not is_moderate(middle_a) or not (middle_b is middle_a or is_moderate(middle_b)):
        return NotImplemented
    return pair.made(func, pair.together(func(first, middle_b), func(middle_a, second)))


@in_c("divided")
def quotient(func: Function, args: Sequence[Any]) -> Any:
    """a / b: linear in a; in b the product of a with the reciprocal of b, whose slope is −1 / (x r)."""
    if len(args) != 2:
        return NotImplemented
    x, other = args
    if type(other) in _NUMBERS:
        if 1 / STEEP <= abs(other) <= STEEP and is_ordinary(x):
            return _scaled(func, x, other)
    elif type(other) is not DecomposedTensor:
        if is_ordinary(x) and _is_like(other, x) and _divides(other):
            return built(func(x.value, other), func(rows_of(x), other), func(x.components, other), x.labels)
    elif is_ordinary(x) and is_ordinary(other) and settings.get().rule == "affine":
        numbers = None if x.value.ndim else numbers_in_two(x, other)
        if numbers is not None and numbers[1][0] and numbers[1][1]:
            (a, r, _), (b, t, _) = numbers
            at, over, steep = (a + r) / 2, (1 / b + 1 / t) / 2, 1 / b / t
            moderate = abs(at) <= STEEP and abs(over) <= STEEP and abs(steep) <= STEEP
            if moderate and is_even_quotient(over, steep, x.value.dtype):
                value = on_host(a / b, func, x.value, other.value)
                residual = on_host(r / t, func, x.residual, other.residual)
                return sum_of_two(value, residual, x, other, numbers, over, -at * steep, finite=True)
    elif settings.get().rule == "affine" and is_ordinary(other) and (type(x) in _NUMBERS or type(x) in FACTORS):
        made = _over_number(func, x, other)
        if made is not NotImplemented:
            return made
    if not getattr(x, "ndim", 0) and not getattr(other, "ndim", 0) and settings.get().rule == "affine":
        made = numbers_without_end.over_zero(func, x, other)
        if made is not None:
            return made
    pair = pair_of(args, apart=True)
    if pair is None:
        if complex_of_few.is_given(args):
            return complex_of_few.answer(complex_laws.quotient, func, args)
        made = reverse_pairs.quotient(func, args)
        return reverse_quotients.quotient(func, args) if made is NotImplemented else made
    first, second = pair.components
    if second is None:
        divisor = pair.values[1]
        if not _divides(divisor):
            return NotImplemented
        return pair.made(func, func(first, divisor))
    if settings.get().rule != "affine":
        return NotImplemented
    after, before = torch.reciprocal(pair.values[1]), torch.reciprocal(pair.residuals[1])
    steepness = torch.mul(after, before)
    if first is None:
        through = torch.mul(steepness, pair.values[0]).neg_()
        if not _is_tame(pair.values[0]) or not is_moderate(steepness):
            return NotImplemented
        return _finite(pair, func, torch.mul(second, through))
    middle, inverse = midpoint(pair, 0), torch.lerp(before, after, 0.5)
    if not steepness.numel() or not is_moderate(middle) or not _is_even(pair, before, inverse, steepness):
        return NotImplemented
    first, second = torch.mul(first, inverse), torch.mul(second, steepness)
    if pair.apart:
        return _finite(pair, func, torch.cat((first, torch.mul(second, middle).neg_())))
    return _finite(pair, func, first.addcmul_(middle, second, value=-1))


def is_even_quotient(over: float, steep: float, dtype: torch.dtype) -> bool:
    """`_is_even`, of the mean reciprocal and the steepness of one number."""
    return 4 * over * over <= EVEN[dtype] * abs(steep)


def _is_even(pair: Pair, before: torch.Tensor, inverse: torch.Tensor, steepness: torch.Tensor) -> bool:
    """Whether the mean reciprocal of a divisor and its steepness are moderate, and half of the digits are left whatever
    is divided: the quotient q of the divisor's ends has |q| + 1 / |q| <= 4 inverse² / |steepness| + 2."""
    size, (low, high) = torch.linalg.vector_norm(inverse).item(), steepness.aminmax()
    least, most = low.item(), high.item()
    if not (size <= STEEP and -STEEP <= least and most <= STEEP):
        return False
    least = max(least, -most)  # the least magnitude, or less than zero
    return 4 * size * size <= EVEN[steepness.dtype] * least or keeps_digits(pair.values[1], before)


def _finite(pair: Pair, func: Function, components: torch.Tensor) -> Any:
    """The result, unless a divisor has moved to infinity, where it has no slope."""
    return pair.made(func, components) if math.isfinite(components.sum().item()) else NotImplemented


def _divides(divisor: Any) -> bool:
    """Whether a divisor is neither so small that something has to be said, nor infinite."""
    if not isinstance(divisor, torch.Tensor):
        return 1 / STEEP <= abs(divisor) < math.inf
    if not divisor.numel():
        return False
    if divisor.ndim == 1 and divisor.numel() <= HANDFUL and divisor.is_cpu:
        sizes = list(map(abs, divisor.tolist()))
        return 1 / STEEP <= min(sizes) and math.hypot(*sizes) < math.inf  # NaN: neither
    least, most = torch.aminmax(divisor.detach().abs())
    return 1 / STEEP <= least.item() and most.item() < math.inf
