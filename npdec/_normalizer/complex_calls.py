"""Sums, differences and products of two scalars of which one is complex and carries something: by the law that all
linear and multilinear functions have, without asking which one it is."""

from __future__ import annotations

import functools
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.scalars import CONCRETE
from npdec._core.base import UfuncBase
from npdec._decomposed.registry import Trait, rows
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import STEEP
from npdec._decomposed.tensor import DecomposedTensor, merged, placed
from npdec._impl import dtypes_impl
from npdec._law.ordinary import built, is_observed
from npdec._normalizer.discrete_calls import CARRIED, as_number

__all__ = ["BESIDE", "COMPLEX", "TAKEN", "is_given", "of_complex"]

_REAL_OF = {torch.complex128: torch.float64, torch.complex64: torch.float32}
COMPLEX = frozenset(wrap.CARRIERS[dtype] for dtype in _REAL_OF)
_FLOATS = frozenset(wrap.CARRIERS[dtype] for dtype in _REAL_OF.values())
_HOSTS = frozenset(CONCRETE)
_PLAIN = frozenset({bool, int, float, complex})
TAKEN = COMPLEX | _FLOATS | CARRIED | _HOSTS | _PLAIN
# Those beside which a scalar that is none itself gives complex numbers.
_CARRIERS = _FLOATS | CARRIED
BESIDE = COMPLEX | {complex, *(cls for cls in CONCRETE if cls._torch_dtype in _REAL_OF)}
_ARITHMETIC = Trait.ARITHMETIC | Trait.MULTIPLY


def is_given(inputs: tuple[Any, ...]) -> bool:
    """Whether one of two operands is complex, and one a scalar that carries something."""
    a, b = map(type, inputs)
    return a in COMPLEX or b in COMPLEX or (a in BESIDE and b in _CARRIERS) or (b in BESIDE and a in _CARRIERS)


def of_complex(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """What a ufunc of two gives of such scalars; None where that is not to be found so."""
    row = rows.get(function._bare)
    if row is None or not row.traits & _ARITHMETIC or settings.get().rule != "affine" or is_observed():
        return None
    key = tuple([type(x) if type(x) in _PLAIN else x._d for x in inputs])
    dtype = _computed_in(function, key)
    if dtype not in _REAL_OF:
        return None
    ends: list[tuple[torch.Tensor, torch.Tensor]] = []
    components: list[torch.Tensor | None] = []
    labels: Any = None
    for x in inputs:
        kind = type(x)
        if kind in _PLAIN or kind in _HOSTS:
            constant = dtypes_impl.scalar_tensor(x if kind in _PLAIN else x._n, dtype)
            ends.append((constant, constant))
            components.append(None)
            continue
        tensor = as_number(x._t, _REAL_OF[dtype]) if kind in CARRIED else x._t
        if not _is_few(tensor):
            return None
        ends.append((tensor.value.to(dtype), tensor.residual.to(dtype)))
        components.append(tensor.components.to(dtype))
        if labels is None or labels is tensor.labels or labels == tensor.labels:
            labels = tensor.labels
            continue
        first, count = components[0], len(labels)
        labels, places = merged(labels, tensor.labels)
        if first is None or len(labels) > HANDFUL:
            return None
        components = [
            placed(first, range(count), len(labels)),
            placed(tensor.components.to(dtype), places, len(labels)),
        ]
    call: Any = function._bare if dtype in function._direct else function.__kernel__
    value, residual = (call(ends[0][i], ends[1][i]) for i in (0, 1))
    made = _linear(row.traits, components) if row.traits & Trait.ARITHMETIC else _product(ends, components)
    return None if made is None else wrap.wrap_scalar(built(value, residual, made, labels))


@functools.lru_cache(1024)
def _computed_in(function: UfuncBase, key: tuple[Any, ...]) -> Any:
    """The dtype in which a ufunc computes of operands of these dtypes, or types of numbers; None where it does not."""
    try:
        return dtypes_impl.LOOPS[function._loops].resolve(key, function.__name__)
    except TypeError:
        return None


def _is_few(x: Any) -> bool:
    """Whether it is a number on the host with a handful of dense components, that nobody differentiates."""
    if type(x) is not DecomposedTensor or x.reverse or x.kept is not None or x.discrete:
        return False
    value, components = x.value, x.components
    if (x.origin is not None and x.origin.is_near) or type(value) is not torch.Tensor or value.ndim or not value.is_cpu:
        return False
    if not 0 < len(x.labels) <= HANDFUL or components.dtype is not value.dtype:
        return False
    return not (value.requires_grad or x.residual.requires_grad or components.requires_grad)


def _linear(traits: int, components: list[torch.Tensor | None]) -> torch.Tensor | None:
    first, second = components
    if second is not None and traits & Trait.SUBTRACT:
        second = second.neg()
    if first is not None and traits & Trait.SUBTRACT_FROM:
        first = first.neg()
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _product(
    ends: list[tuple[torch.Tensor, torch.Tensor]], components: list[torch.Tensor | None]
) -> torch.Tensor | None:
    """Each times the middle of the other's path; None where that is large."""
    terms: list[torch.Tensor] = []
    for its, (x, r) in zip(components, ends[::-1], strict=True):
        middle = x if x is r else x / 2 + r / 2
        if its is None:
            continue
        if not abs(middle.item()) <= STEEP:
            return None
        terms.append(its * middle)
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]
