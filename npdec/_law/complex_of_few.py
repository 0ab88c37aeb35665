"""Calls of functions of torch with a few complex numbers that carry something: values and residuals are torch's, and
contributions are found by Python's complex numbers (`npdec._law.complex_laws`), sooner than by one call of torch for
each step, or in memory (`npdec/_native/few_complex.c`).
"""

from __future__ import annotations

import array
import cmath
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.aliasing import link_results
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import warn_infinite
from npdec._decomposed.tensor import DecomposedTensor, merged
from npdec._impl._storage import of_its_base
from npdec._law.complex_laws import LESS, MORE, REAL_OF, Law, Numbers, Sum, each, quotient
from npdec._law.complex_order_of_few import Extreme, Order
from npdec._law.of_few import FEW, listed
from npdec._law.ordinary import built
from npdec._native import calls

__all__ = ["answer", "are_few", "in_memory", "is_given", "of_few"]

_CODES = {torch.float64: "d", torch.complex128: "d", torch.float32: "f", torch.complex64: "f"}
_RESULTS = frozenset({torch.bool, *REAL_OF, *REAL_OF.values()})
_NUMBERS = frozenset({bool, int, float, complex})
_Tensor = torch.Tensor
_NAN = complex(math.nan, math.nan)
_LARGEST = 2**60  # Python's numbers that are taken


def is_given(args: Sequence[Any]) -> bool:
    """Whether an argument is decomposed complex numbers."""
    return any(type(x) is DecomposedTensor and x.value.dtype in REAL_OF for x in args)


def answer(law: Law | None, func: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What a function of torch gives of a few complex numbers that carry something; NotImplemented of other calls."""
    dtype, values, residuals = None, [], []
    if law is None or len(args) > 2:
        return NotImplemented
    found = in_memory(law, func, args)
    if found is not None:
        return found
    for x in args:
        kind = type(x)
        if kind is DecomposedTensor or kind is _Tensor:
            own = x.value.dtype if kind is DecomposedTensor else x.dtype
            if own not in REAL_OF or (dtype is not None and own is not dtype):
                return NotImplemented
            dtype = own
        elif kind not in _NUMBERS:
            return NotImplemented
        values.append(x.value if kind is DecomposedTensor else x)
        residuals.append(x.residual if kind is DecomposedTensor else x)
    here = settings.get()
    if dtype is None or here.rule != "affine" or here.frozen_conditions or not all(map(are_few, args)):
        return NotImplemented
    made = of_few(law, func, args, values, residuals, dtype)
    return NotImplemented if made is None else made


def in_memory(law: Law, func: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """What C finds of operands in one dtype (`npdec/_native/few_complex.c`); None of others."""
    return None if calls is None or law is each else calls.complex_of_few(law, func, tuple(operands))


def of_few(
    law: Law,
    func: Callable[..., Any],
    operands: Sequence[Any],
    values: Sequence[Any],
    residuals: Sequence[Any],
    dtype: torch.dtype,
) -> Any:
    """What a function gives of operands that are few (`are_few`), at their values and their residuals, which are in a
    complex dtype or Python's numbers; None where the law does not say it."""
    if isinstance(law, (Sum, Order, Extreme)) and all(type(x) is _Tensor and not x.ndim for x in values):
        func = law.of
    value = func(*values)
    if type(value) is not _Tensor or value.dtype not in _RESULTS or value.requires_grad:
        return None
    if law is each:
        (x,) = operands
        if value is values[0]:
            return None
        if value.dtype is not dtype:
            value = of_its_base(value)
        made: Any = built(value, func(*residuals), func(x.components), x.labels)
        if value._is_view():
            link_results(made, operands, {})
        return made
    shape, count = value.shape, value.numel()
    if value.dtype is not dtype and value.dtype in REAL_OF:
        return None
    if not 0 < count <= HANDFUL:
        return None
    residual, numbers = func(*residuals), []
    for x, end, base in zip(operands, values, residuals, strict=True):
        plain = type(x) is not DecomposedTensor
        if type(end) is not _Tensor:
            if not -_LARGEST <= end.real <= _LARGEST:
                return None
            u: list[complex] = [complex(end)] * count
            numbers.append(Numbers(u, u, None))
            continue
        times = 1
        if end.shape != shape:
            if end.ndim:
                return None
            times = count
        u = [*listed(end)] * times
        if plain:
            numbers.append(Numbers(u, u, None))
            continue
        components = listed(x.components)
        if times > 1:
            components = [c for c in components for _ in range(times)]
        numbers.append(Numbers(u, listed(base) * times, components))
    labels, numbers = _under_one(operands, numbers, count)
    if labels is None:
        return None
    try:
        multipliers = law(numbers, (value, residual), dtype)
    except (ArithmeticError, ValueError):
        return None
    made = None
    if multipliers is None:
        made = _over_zero(operands, numbers, labels, count) if law is quotient else None
        if made is None:
            return None
        multipliers = ()
    for its, weights in zip(numbers, multipliers, strict=False):
        if its.components is not None:
            own = [complex(w.real) for w in weights] if isinstance(law, Extreme) else weights
            term = _times(its.components, own, len(labels))
            made = term if made is None else map(operator.add, made, term)
    if isinstance(law, Extreme):
        made = law.crossed(numbers, multipliers, made)
    kind = dtype if value.dtype is dtype else REAL_OF[dtype]
    parts = [c.real for c in made] if kind is not dtype else [part for c in made for part in (c.real, c.imag)]
    together = torch.frombuffer(array.array(_CODES[kind], parts), dtype=kind)
    result = built(value, residual, together.reshape(len(labels), *shape) if shape else together, labels)
    result.discrete = value.dtype is torch.bool
    return result


def _over_zero(operands: Sequence[Any], numbers: list[Numbers], labels: Any, count: int) -> list[complex] | None:
    """The components of quotients whose divisors are all zero at one end: NaN comes of whatever the divisor has, and of
    what moves of the dividend. None of others."""
    a, b = numbers
    if b.components is None or not all(bool(x) != bool(r) for x, r in zip(b.x, b.r, strict=True)):
        return None
    if not all(map(cmath.isfinite, (*a.x, *a.r, *b.x, *b.r, *(a.components or ()), *b.components))):
        return None
    moved = set(operands[1].labels)
    first = a.components or [0j] * len(b.components)
    made = [_NAN if labels[i // count] in moved or c else 0j for i, c in enumerate(first)]
    after, before = ([1 / x if x else _NAN for x in end] for end in (b.x, b.r))
    warn_infinite("reciprocal", sum(after), sum(before))
    return made


def _times(components: Sequence[complex], weights: Sequence[complex], count: int) -> Sequence[complex]:
    """The products of so many components and their multipliers."""
    if weights is MORE:
        return components
    if weights is LESS:
        return [-c for c in components]
    if len(weights) == 1:
        (weight,) = weights
        return [c * weight for c in components]
    return list(map(operator.mul, components, [*weights] * count))


def are_few(x: Any) -> bool:
    """Whether it is a number, or a few numbers on the host that nobody differentiates, with a few dense components if
    it is decomposed."""
    if type(x) is not DecomposedTensor:
        return type(x) is not _Tensor or not (x.requires_grad or not x.is_cpu or x.numel() > HANDFUL)
    value, origin = x.value, x.origin
    if x.reverse or x.kept is not None or x.discrete or type(value) is not _Tensor or not value.is_cpu:
        return False
    count, elements = len(x.labels), value.numel()
    if (origin is not None and origin.is_near) or not 0 < count <= HANDFUL or elements > HANDFUL:
        return False
    components = x.components  # which are there: others are made when they are asked for
    if components.dtype is not value.dtype or not components.numel() == count * elements <= FEW:
        return False
    return not (value.requires_grad or x.residual.requires_grad or components.requires_grad)


def _under_one(operands: Sequence[Any], numbers: list[Numbers], count: int) -> tuple[Any, list[Numbers]]:
    """The labels of all operands, and these with components under all of them; no labels where there are many."""
    labels: Any = None
    for i, x in enumerate(operands):
        if type(x) is not DecomposedTensor:
            continue
        if labels is None or labels is x.labels or labels == x.labels:
            labels = x.labels
            continue
        labels, places = merged(labels, x.labels)
        if len(labels) > HANDFUL or len(labels) * count > FEW:
            return None, numbers
        first, its = numbers[0].components or (), numbers[i].components or ()
        made = [0j] * (len(labels) * count)
        for row, place in enumerate(places):
            made[place * count : (place + 1) * count] = its[row * count : (row + 1) * count]
        behind = [0j] * (len(made) - len(first))
        numbers = [numbers[0]._replace(components=[*first, *behind]), numbers[1]._replace(components=made)]
    return labels, numbers
