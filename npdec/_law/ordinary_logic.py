"""The law of ordinary calls of logic: and, or, xor and not of conditions, which are linear in each of them; and of
functions that tell finite numbers from others."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from npdec._decomposed import size_limits
from npdec._decomposed.axes import axes_of
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor, merged, placed
from npdec._law.complex_laws import REAL_OF, compared
from npdec._law.complex_of_few import answer, are_few
from npdec._law.numbers_in_c import stepped_beside
from npdec._law.of_few import FEW, listed
from npdec._law.ordinary import (
    Form,
    built,
    condition_in,
    has_elements,
    is_condition,
    is_ordinary,
    made_of,
    number_in,
    number_of,
)
from npdec._law.ordinary_choices import comparison
from npdec._law.ordinary_numbers import sum_of_two
from npdec._law.ordinary_rows import rows_along
from npdec._law.ordinary_steps import condition_of

__all__ = ["SHARES", "finiteness", "folded", "how_many", "logic", "negation", "replaced"]

Function = Callable[..., Any]
_NUMBERS = frozenset({float, int, bool, type(None)})

_DIFFERS = comparison(operator.ne)

# What is passed on of one of two conditions, by the middle of the path of the other.
SHARES: dict[str, Function] = {
    "and": lambda other: other,
    "or": lambda other: 1 - other,
    "xor": lambda other: 1 - 2 * other,
}


def logic(word: str, numeric: bool) -> Form:
    """The form of "and", "or" or "xor" of two conditions; with `numeric`, of numbers, whether they are not zero."""
    return partial(_logic, SHARES[word], numeric)


def negation(numeric: bool) -> Form:
    """The form of the complement of a condition; with `numeric`, of a number, whether it is zero."""
    return partial(_negation, numeric)


def finiteness(func: Function, args: Sequence[Any]) -> Any:
    """Whether numbers are finite, infinite or nan, where value and residual are so alike: then nothing moves."""
    if len(args) != 1 or not (is_ordinary(args[0]) or _are_few_complex(args[0])):
        return NotImplemented
    value = func(args[0].value)
    return value if torch.equal(value, func(args[0].residual)) else NotImplemented


def _are_few_complex(x: Any) -> bool:
    return type(x) is DecomposedTensor and x.value.dtype in REAL_OF and are_few(x)


def replaced(func: Function, args: Sequence[Any]) -> Any:
    """nan_to_num, where value and residual are finite alike: what is finite stays, and the same is put for the rest."""
    x, *rest = args
    if settings.get().rule != "affine" or not all(type(r) in _NUMBERS for r in rest):
        return NotImplemented
    if not is_ordinary(x):
        return _as_they_are(func, x, rest)
    value, residual = func(x.value, *rest), func(x.residual, *rest)
    number = number_in(x)
    if number is not None and math.isfinite(number[0]) and math.isfinite(number[1]):
        return number_of(value, residual, number[2], x.labels, x.value.dtype)
    finite = torch.isfinite(x.value)
    if not torch.equal(finite, torch.isfinite(x.residual)) or bool(((value != residual) & ~finite).any()):
        return NotImplemented
    return made_of(value, residual, torch.where(finite, x.components, 0), x)


def _as_they_are(func: Function, x: Any, rest: Sequence[Any]) -> Any:
    """The same of a few complex numbers that are all finite."""
    if not _are_few_complex(x):
        return NotImplemented
    if not all(map(cmath.isfinite, (*listed(x.value), *listed(x.residual)))):
        return NotImplemented
    return built(func(x.value, *rest), func(x.residual, *rest), x.components.clone(), x.labels)


def folded(everything: bool) -> Form:
    """The form of whether all of a handful of conditions hold, or any."""
    return partial(_folded, everything)


def _folded(everything: bool, func: Function, args: Sequence[Any]) -> Any:
    if not args or type(args[0]) is not DecomposedTensor:
        return NotImplemented
    if len(args) > 1:
        return _folded_rows(everything, func, *args)
    x = _truth(args[0])
    if x is NotImplemented or not is_condition(x) or not 0 < x.value.numel() <= HANDFUL or not x.value.is_cpu:
        return NotImplemented
    value, residual = func(args[0].value), func(args[0].residual)
    if not x.value.ndim and value.dtype is torch.bool:
        return condition_of(value, residual, x.components.clone(), x.labels)
    if value.dtype is not torch.bool or settings.get().frozen_conditions or settings.get().rule == "none":
        return NotImplemented
    weights = _weights_of_product(*[[flag is everything for flag in listed(end)] for end in (x.value, x.residual)])
    components = x.components
    made = torch.mv(components.reshape(len(x.labels), -1), torch.tensor(weights, dtype=components.dtype))
    return condition_of(value, residual, made, x.labels)


def _folded_rows(everything: bool, func: Function, given: DecomposedTensor, dim: Any, *rest: Any) -> Any:
    """The same along axes."""
    x, here = _truth(given), settings.get()
    if x is NotImplemented or not is_condition(x) or not 0 < x.value.numel() <= HANDFUL or not x.value.is_cpu:
        return NotImplemented
    axes = axes_of(dim, x.value.ndim)
    if axes is None or len(rest) > 1 or here.frozen_conditions or here.rule == "none" or x.components.requires_grad:
        return NotImplemented
    value, residual = func(given.value, dim, *rest), func(given.residual, dim, *rest)
    if value.dtype is not torch.bool:
        return NotImplemented
    ends = [rows_along(end, axes).tolist() for end in (x.value, x.residual)]
    weights = [
        _weights_of_product(*[[flag is everything for flag in end] for end in row]) for row in zip(*ends, strict=True)
    ]
    components = (rows_along(x.components, axes, 1) * torch.tensor(weights, dtype=x.components.dtype)).sum(-1)
    return condition_of(value, residual, components.reshape(len(x.labels), *value.shape), x.labels)


def how_many(func: Function, args: Sequence[Any]) -> Any:
    """torch.count_nonzero of a handful of numbers, of all or along axes: the sum of the conditions."""
    here = settings.get()
    if not 1 <= len(args) <= 2 or type(args[0]) is not DecomposedTensor or here.frozen_conditions:
        return NotImplemented
    given, x = args[0], _truth(args[0])
    if x is NotImplemented or not is_condition(x) or not 0 < x.value.numel() <= HANDFUL or not x.value.is_cpu:
        return NotImplemented
    axes = axes_of(args[1], x.value.ndim) if len(args) > 1 and args[1] is not None else tuple(range(x.value.ndim))
    if axes is None or here.rule != "affine" or x.components.requires_grad:
        return NotImplemented
    value, residual = func(given.value, *args[1:]), func(given.residual, *args[1:])
    components = x.components.to(torch.float64)
    components = rows_along(components, axes, 1).sum(-1) if axes else components.clone()
    return condition_of(value, residual, components.reshape(len(x.labels), *value.shape), x.labels)


def _weights_of_product(now: Sequence[bool], before: Sequence[bool]) -> list[float]:
    """For factors of 0 and 1 the integral along the path of the product of all other ones: of p that become true and q
    that cease to be it is Euler's beta function B(p + 1, q + 1), and zero if one is false all along."""
    kinds = list(zip(now, before, strict=True))
    rising, falling, never = (kinds.count(kind) for kind in ((True, False), (False, True), (False, False)))
    weights: list[float] = []
    for at, was in kinds:
        p, q = rising - (at and not was), falling - (was and not at)
        none = never - (not at and not was)
        weights.append(0.0 if none else 1 / ((p + q + 1) * math.comb(p + q, p)))
    return weights


def _logic(share: Function, numeric: bool, func: Function, args: Sequence[Any]) -> Any:
    if len(args) != 2:
        return NotImplemented
    made = _of_still_numbers(func, *args) if numeric else None
    if made is None and numeric:
        made = _beside_constants(func, *args)
    if made is not None:
        return made
    a, b = (_truth(args[0]), _truth(args[1])) if numeric else args
    made = _of_numbers(share, func, a, b)
    if made is not NotImplemented:
        return made
    made = _number_beside_few(share, func, a, b)
    if made is not NotImplemented:
        return made
    if not is_condition(a):
        if not is_condition(b) or not _is_constant(a, b):
            return NotImplemented
        return _made(func, (a, b.value), (a, b.residual), b.components * share(_number(a, b)), b, b.labels)
    if not is_condition(b):
        if not _is_constant(b, a):
            return NotImplemented
        return _made(func, (a.value, b), (a.residual, b), a.components * share(_number(b, a)), a, a.labels)
    if a.value.shape != b.value.shape or a.components.dtype is not b.components.dtype:
        return NotImplemented
    labels, first, second = a.labels, a.components, b.components
    if labels is not b.labels and labels != b.labels:
        labels, places = merged(a.labels, b.labels)
        if len(labels) >= size_limits.MANY:
            return NotImplemented
        first, second = placed(first, range(len(a.labels)), len(labels)), placed(second, places, len(labels))
    components = first * share(_middle(b)) + second * share(_middle(a))
    return _made(func, (a.value, b.value), (a.residual, b.residual), components, a, labels)


def _beside_constants(func: Function, a: Any, b: Any) -> Any:
    """Of one number and a few constants: each result is a step of it. None of others."""
    x, other = (b, a) if type(a) is torch.Tensor else (a, b)
    here = settings.get()
    if (
        type(x) is not DecomposedTensor
        or x.value.ndim
        or type(other) is not torch.Tensor
        or not 0 < other.numel() <= FEW
    ):
        return None
    if here.frozen_conditions or here.rule == "none" or other.requires_grad or not other.is_cpu:
        return None
    value, residual = (func(end, b) if x is a else func(a, end) for end in (x.value, x.residual))
    return stepped_beside(value, residual, x)


def _of_numbers(share: Function, func: Function, a: Any, b: Any) -> Any:
    """Of two numbers, or of one and a constant."""
    known, others = condition_in(a), condition_in(b)
    if known is not None and others is not None:
        if a.components.dtype is not b.components.dtype:
            return NotImplemented
        (u, w, _), (v, z, _) = known, others
        value, residual = func(a.value, b.value), func(a.residual, b.residual)
        made = sum_of_two(value, residual, a, b, (known, others), share((v + z) / 2), share((u + w) / 2))
        return made
    swapped = known is None
    x, other, known = (b, a, others) if swapped else (a, b, known)
    if known is None:
        return NotImplemented
    if type(other) is torch.Tensor:
        if other.ndim or other.dtype is not torch.bool or not other.is_cpu:
            return NotImplemented
        weight = share(float(other.item()))
    elif type(other) is bool:
        weight = share(float(other))
    else:
        return NotImplemented
    value, residual = [func(other, end) if swapped else func(end, other) for end in (x.value, x.residual)]
    return number_of(value, residual, [c * weight for c in known[2]], x.labels, x.components.dtype)


def _number_beside_few(share: Function, func: Function, a: Any, b: Any) -> Any:
    """Of a condition without axes and a few constant ones: of as many as these are."""
    swapped = type(a) is not DecomposedTensor
    x, other = (b, a) if swapped else (a, b)
    if not is_condition(x) or x.value.ndim or type(other) is not torch.Tensor or other.dtype is not torch.bool:
        return NotImplemented
    if not other.ndim or not 0 < other.numel() <= HANDFUL or not (other.is_cpu and x.value.is_cpu):
        return NotImplemented
    if x.components.requires_grad:
        return NotImplemented
    value, residual = [func(other, end) if swapped else func(end, other) for end in (x.value, x.residual)]
    components = x.components.reshape(-1, *[1] * other.ndim)
    return condition_of(value, residual, components * share(_number(other, x)), x.labels)


def _of_still_numbers(func: Function, *args: Any) -> Any:
    """Of numbers, or constants beside one, none of which becomes zero or ceases to be it; None of others."""
    here = settings.get()
    moving = [x for x in args if type(x) is DecomposedTensor]
    if here.frozen_conditions or here.rule == "none" or not moving:
        return None
    labels, dtype = moving[0].labels, moving[0].value.dtype
    for x in moving:
        number = _number_in(x) if x.value.dtype is dtype else None
        if number is None or (number[0] == 0) != (number[1] == 0):
            return None
        labels = labels if labels is x.labels else merged(labels, x.labels)[0]
    for x in args:
        plain = type(x) in (DecomposedTensor, float, int) or (type(x) is torch.Tensor and not x.ndim and x.is_cpu)
        if not plain or len(labels) > HANDFUL:
            return None
    values = [x.value if type(x) is DecomposedTensor else x for x in args]
    residuals = [x.residual if type(x) is DecomposedTensor else x for x in args]
    return number_of(func(*values), func(*residuals), [0.0] * len(labels), labels, REAL_OF.get(dtype, dtype))


def _number_in(x: DecomposedTensor) -> Any:
    """A real or complex number at the value and at the residual; None of others."""
    if x.value.dtype not in REAL_OF:
        return number_in(x)
    return None if x.value.ndim or not are_few(x) else (x.value.item(), x.residual.item())


def _negation(numeric: bool, func: Function, args: Sequence[Any]) -> Any:
    made = _of_still_numbers(func, args[0]) if numeric and len(args) == 1 else None
    if made is not None:
        return made
    x = _truth(args[0]) if numeric else args[0]
    if len(args) != 1 or not is_condition(x):
        return NotImplemented
    return condition_of(~x.value, ~x.residual, x.components.neg(), x.labels)


def _truth(x: Any) -> Any:
    """Whether numbers are not zero."""
    if type(x) is float or type(x) is int:
        return x != 0
    if type(x) is torch.Tensor and x.dtype is not torch.bool:
        return x != 0
    if type(x) is DecomposedTensor and x.value.dtype in REAL_OF:
        return answer(compared, torch.ne, (x, 0.0))
    return _DIFFERS(torch.ne, (x, 0)) if is_ordinary(x) else x


def _made(func: Function, values: Any, residuals: Any, components: torch.Tensor, like: Any, labels: Any) -> Any:
    value = func(*values)
    if value.shape != like.value.shape:
        return NotImplemented
    return condition_of(value, func(*residuals), components, labels)


def _middle(x: DecomposedTensor) -> torch.Tensor:
    """The middle of the path of a condition, as a number."""
    return (x.value.to(x.components.dtype) + x.residual) / 2


def _is_constant(x: Any, like: DecomposedTensor) -> bool:
    if type(x) is bool:
        return True
    return type(x) is torch.Tensor and x.dtype is torch.bool and x.ndim <= like.value.ndim and has_elements(x)


def _number(x: Any, like: DecomposedTensor) -> Any:
    return float(x) if type(x) is bool else x.to(like.components.dtype)
