"""Calls of ufuncs with arrays of a handful of decomposed booleans or integers, as `npdec._normalizer.discrete_calls`
has them of scalars: the value and the residual are what the ufunc gives of plain arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.scalars import CONCRETE
from npdec._core.base import UfuncBase
from npdec._decomposed.kept_components import dtype_of_steps
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._impl import dtypes_impl
from npdec._law.discrete_of_few import FAR, are_same, as_few_numbers, is_discrete
from npdec._law.of_few import FEW, listed, multipliers, tensor_of
from npdec._law.ordinary import built, is_ordinary

__all__ = ["DIVIDING", "is_given", "of_arrays", "of_one_array"]

_REAL = (torch.float64, torch.float32)
_DOUBLE = torch.float64
_DISCRETE = frozenset({torch.bool, torch.int64})
_CARRIED = frozenset(wrap.CARRIERS[dtype] for dtype in (*_DISCRETE, *_REAL))
_HOSTS = frozenset(cls for cls in CONCRETE if cls._torch_dtype in (*_DISCRETE, _DOUBLE))
_PLAIN = frozenset({bool, int, float})
_STEEP = 1e6
DIVIDING = frozenset({"divide", "floor_divide", "remainder", "fmod", "divmod"})


def is_given(inputs: tuple[Any, ...]) -> bool:
    """Whether an operand is an array of decomposed booleans or integers."""
    return any(type(x) is wrap.ARRAY and x._d in _DISCRETE and type(wrap.lent(x)) is DecomposedTensor for x in inputs)


def _is_few(x: Any) -> bool:
    """Whether a decomposed tensor is of a handful of booleans, or of moderate integers, that lie by rows."""
    if not is_discrete(x) or not 0 < x.components.numel() <= FEW or not x.value.is_cpu or x.components.requires_grad:
        return False
    if x.value.dtype is torch.bool:
        return x.value.is_contiguous()
    return x.value.is_contiguous() and all(-FAR <= n <= FAR for end in (x.value, x.residual) for n in listed(end))


def of_one_array(function: UfuncBase, x: Any) -> Any:
    """Of one array: what has moved is shared as the components share the step. None where that is not to be found."""
    tensor = x._t
    if not _is_few(tensor):
        return None
    after, before = (function(wrap.wrap_array(end)) for end in (tensor.value, tensor.residual))
    if function.nout == 1:
        return _shared(after._t, before._t, tensor)
    made = tuple([_shared(a._t, b._t, tensor) for a, b in zip(after, before, strict=True)])
    return None if any(part is None for part in made) else made


def _shared(after: torch.Tensor, before: torch.Tensor, x: DecomposedTensor) -> Any:
    u, w, a, b = (list(map(float, listed(end))) for end in (x.value, x.residual, after, before))
    if after.shape != x.value.shape or not all(map(math.isfinite, (*a, *b))):
        return None
    jumps, steps = list(map(operator.sub, a, b)), list(map(operator.sub, u, w))
    sizes = [abs(p) + abs(q) for p, q in zip(u, w, strict=True)]
    columns = list(zip(*x.components.reshape(len(x.labels), -1).tolist(), strict=True))
    weights = multipliers(jumps, steps, columns, x.components.dtype, sizes)
    if weights is None or not all(-_STEEP <= weight <= _STEEP for weight in weights):
        return None
    components = x.components * tensor_of(weights, x.components[0])
    return _made(after, before, components, x.labels)


def _made(value: torch.Tensor, residual: torch.Tensor, components: torch.Tensor, labels: Labels) -> Any:
    kind = value.dtype
    wide = kind if kind.is_floating_point else dtype_of_steps(kind, components.dtype)
    made = built(value, residual, components.to(wide), labels)
    made.discrete = not kind.is_floating_point
    return wrap.wrap(made)


def of_arrays(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """Of two operands, one of them such an array; None where that is not to be found so."""
    key = tuple([type(x) if type(x) in _PLAIN else getattr(x, "_d", None) for x in inputs])
    table = dtypes_impl.LOOPS[function._loops]
    dtype: Any = table.resolved.get(key)
    floating = dtype in _REAL
    numbers: list[Any] = []
    ends: list[tuple[Any, Any]] = []
    for x in inputs:
        kind = type(x)
        if kind in _PLAIN or kind in _HOSTS:
            number = x._n if kind in _HOSTS else x
            if not floating and not -FAR <= number <= FAR:
                return None
            numbers.append(
                dtypes_impl.kept_beside(number if floating else float(number), dtype if floating else _DOUBLE)
            )
            ends.append((x, x))
            continue
        tensor = x._t if kind is wrap.ARRAY or kind in _CARRIED else None
        if type(tensor) is not DecomposedTensor:
            if not floating or x._d is not dtype or type(tensor) is not torch.Tensor or not tensor.is_cpu:
                return None
            numbers.append(tensor)
        elif tensor.discrete:
            if not _is_few(tensor):
                return None
            wanted = dtype if floating else _DOUBLE
            given = as_few_numbers(tensor)
            numbers.append(given if given is None or given.value.dtype is wanted else given.to(wanted))
            ends.append((wrap.wrap(tensor.value), wrap.wrap(tensor.residual)))
        elif floating and x._d is dtype and is_ordinary(tensor):
            numbers.append(tensor)
        else:
            return None
    if any(number is None for number in numbers):
        return None
    if not floating and function.__name__ in DIVIDING and _has_zero(ends[1]):
        return None  # of which the general way speaks
    computed = dtype if floating else _DOUBLE
    call = function._torch if computed in function._direct else None
    made = (function._kernel if call is None else call)(*numbers)
    if floating:
        return wrap.wrap(made)
    after, before = (function(*[pair[i] for pair in ends]) for i in (0, 1))
    if not _are_same(made, after, before):
        if after._d is not torch.bool or function.__name__ != "add" or type(made) is not DecomposedTensor:
            return None
        made = made != 0  # "or" is the sum of booleans
    return _made(after._t, before._t, made.components, made.labels) if _are_same(made, after, before) else None


def _has_zero(ends: tuple[Any, Any]) -> bool:
    """Whether an operand is zero somewhere, at the value or at the residual."""
    return any(not all(listed(end._t)) if type(end) is wrap.ARRAY else not end for end in ends)


def _are_same(made: Any, after: Any, before: Any) -> bool:
    """Whether numbers end as the booleans and integers do."""
    if type(made) is not DecomposedTensor or made.value.shape != after._t.shape or after._t.is_complex():
        return False
    own, others = (
        [*map(float, listed(value)), *map(float, listed(residual))]
        for value, residual in ((after._t, before._t), (made.value, made.residual))
    )
    return are_same(own, others, after._t.dtype)
