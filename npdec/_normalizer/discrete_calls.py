"""Calls of ufuncs with scalars that are decomposed booleans or integers.

The value and the residual are what the ufunc gives of plain scalars, which the host computes. What moves of one operand
is shared as its components share its step, whatever the law is. Of two the contributions are those that the ufunc gives
of floating numbers (`npdec._law.discrete`), where these do what booleans and integers do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.scalars import CONCRETE
from npdec._core.base import UfuncBase
from npdec._core.tags import Spec
from npdec._decomposed.kept_components import dtype_of_steps
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._dtypes.dtype import SCALARS
from npdec._impl import dtypes_impl
from npdec._law.discrete_of_few import number_in_discrete
from npdec._law.of_few import multiplier
from npdec._law.ordinary import Number, built, condition_in, is_observed, number_in, number_of
from npdec._normalizer import discrete_arrays

__all__ = ["CARRIED", "answered_at_once", "as_number", "is_given", "of_discrete"]

_BOOL, _INT64, _HALF, _DOUBLE = torch.bool, torch.int64, torch.float16, torch.float64
_REAL = (torch.float64, torch.float32)
CARRIED = frozenset((wrap.CARRIERS[_BOOL], wrap.CARRIERS[_INT64]))
_FLOATS = frozenset(wrap.CARRIERS[dtype] for dtype in _REAL)
_HOSTS = frozenset(cls for cls in CONCRETE if cls._torch_dtype in (_BOOL, _INT64, _DOUBLE))
_WHOLE = frozenset((SCALARS[_BOOL], SCALARS[_INT64]))
_PLAIN = frozenset({bool, int, float})
_LOGIC = frozenset({"and", "or", "xor"})
_KINDS = frozenset({"isfinite", "isinf", "isnan"})  # of which all booleans and integers are one
_FAR = 2**20  # up to which squares and cubes of integers are in their range
_LAWS = frozenset({"Pointwise", "Stepwise", "Linear"})
_ALONE = frozenset({"rint", "invert", "logical_not"})  # whose kernels leave the law to torch's functions


def answered_at_once(spec: Spec) -> frozenset[Any]:
    """The classes of scalars that carry something of which a function of torch is called at once: of booleans and
    integers the host knows more, but for logic."""
    carriers = frozenset(wrap.CARRIERS.values())
    return carriers if spec.operator in _LOGIC or spec.name.startswith("logical") else carriers - CARRIED


def is_given(inputs: tuple[Any, ...]) -> bool:
    """Whether an operand is decomposed booleans or integers, which carry something."""
    return any(type(x) in CARRIED for x in inputs) or discrete_arrays.is_given(inputs)


def as_number(x: Any, dtype: torch.dtype) -> Any:
    """A decomposed boolean or integer without axes as a number of a floating dtype; None where it is none of a few
    components, or somebody looks on."""
    found = None if is_observed() or settings.get().frozen_conditions else number_in_discrete(x)
    return None if found is None else number_of(*found, x.labels, dtype)


def of_discrete(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """What a ufunc gives of such scalars, alone or beside each other and beside plain ones; None where that is not to
    be found so."""
    here = settings.get()
    if here.frozen_conditions or here.rule != "affine" or is_observed():
        return None
    arrays = discrete_arrays.is_given(inputs)
    if len(inputs) == 1 and function.__name__ in _KINDS and not arrays:
        return None if number_in_discrete(inputs[0]._t) is None else function(wrap.BOOLS[0])
    if len(inputs) == 1:
        tags = function._tag
        if (tags not in _LAWS and function.__name__ not in _ALONE) or function.__name__ == "reciprocal":
            return None
        return discrete_arrays.of_one_array(function, inputs[0]) if arrays else _of_one(function, inputs[0])
    if function.nout > 1 or not _takes_floats(function._loops):
        return None
    return discrete_arrays.of_arrays(function, inputs) if arrays else _of_two(function, inputs)


@functools.cache
def _takes_floats(loops: str) -> bool:
    """Whether ufuncs with these loops compute of two floating numbers what they compute of two integers."""
    table = dtypes_impl.LOOPS[loops]
    try:
        return table.mixed != "ldexp" and table.resolve((_DOUBLE, _DOUBLE), "") is _DOUBLE
    except TypeError:
        return False


def _of_one(function: UfuncBase, x: Any) -> Any:
    tensor = x._t
    number = number_in_discrete(tensor)
    if number is None:
        return None
    after, before = (_computed(function, _host(x._d, end)) for end in number[:2])
    if function.nout == 1:
        return _shared(after, before, number, tensor)
    made = tuple([_shared(*ends, number, tensor) for ends in zip(after, before, strict=True)])
    return None if any(part is None for part in made) else made


def _computed(function: UfuncBase, *hosts: Any) -> Any:
    """What a ufunc gives of scalars on the host; of booleans and integers that is remembered."""
    return _remembered(function, *hosts) if all(type(x) in _WHOLE for x in hosts) else function(*hosts)


@functools.lru_cache(1024, typed=True)
def _remembered(function: UfuncBase, *hosts: Any) -> Any:
    return function(*hosts)


def _host(dtype: torch.dtype, number: float) -> Any:
    return wrap.BOOLS[number != 0] if dtype is _BOOL else wrap.on_host(SCALARS[dtype], int(number))


def _shared(after: Any, before: Any, number: Number, like: DecomposedTensor) -> Any:
    """One result, of which each component has the share that it has of the step."""
    x, r, column = number
    a, b = float(after._n), float(before._n)
    if not (math.isfinite(a) and math.isfinite(b)):
        return None
    dtype: torch.dtype = like.components.dtype
    weight = multiplier(a - b, x - r, column, dtype, abs(x) + abs(r))
    if weight is None or (weight and not -1e6 <= weight <= 1e6):
        return None
    return _made(after, before, [c * weight for c in column], like.labels, dtype)


def _made(after: Any, before: Any, components: list[float], labels: Labels, dtype: torch.dtype) -> Any:
    """The scalar of two ends that are scalars on the host, of components of a dtype, or of the dtype of the ends."""
    kind: torch.dtype = after._d
    if kind in _REAL:
        return wrap.wrap_scalar(number_of(float(after._n), float(before._n), components, labels, kind))
    if kind is _BOOL:
        return wrap.wrap_scalar(number_of(bool(after._n), bool(before._n), components, labels, dtype))
    value, residual = (torch.scalar_tensor(end._n, dtype=kind, device="cpu") for end in (after, before))
    if kind.is_floating_point:
        made: Any = built(value, residual, torch.tensor(components, dtype=kind, device="cpu"), labels)
    else:
        made = number_of(value, residual, components, labels, dtype_of_steps(kind, dtype))
        made.discrete = True
    return wrap.wrap_scalar(made)


# -- of two ------------------------------------------------------------------------------------------------------------


def _of_two(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    ends: list[Sequence[Any]] = []
    operands: list[Any] = []
    labels = 0
    for x in inputs:
        kind = type(x)
        if kind in CARRIED:
            number = number_in_discrete(x._t)
            if number is None:
                return None
            labels += len(number[2])
            ends.append([_host(x._d, end) for end in number[:2]])
            operands.append(number_of(*number, x._t.labels, _DOUBLE))
        elif kind in _HOSTS or kind in _PLAIN:
            ends.append((x, x))
            plain = x._n if kind in _HOSTS else x
            if not -_FAR <= plain <= _FAR:
                return None
            operands.append(dtypes_impl.kept_beside(float(plain), _DOUBLE))
        else:
            return None
    if labels > HANDFUL:
        return None
    after, before = (_computed(function, *[pair[i] for pair in ends]) for i in (0, 1))
    if type(after) not in _RESULTS or type(before) is not type(after):
        return None
    call = function._torch if _DOUBLE in function._direct else None
    made = (function._kernel if call is None else call)(*operands)
    found = _found(made, after, before)
    if found is None and after._d is _BOOL and function.__name__ == "add":
        made = made != 0  # "or" is the sum of booleans
        found = _found(made, after, before)
    return None if found is None else _made(after, before, found, made.labels, _DOUBLE)


def _found(made: Any, after: Any, before: Any) -> list[float] | None:
    """The components of a number or condition that ends as booleans and integers do; None of others."""
    found: Any = number_in(made) or condition_in(made) if type(made) is DecomposedTensor else None
    return found[2] if found is not None and _is_same(after, found[0]) and _is_same(before, found[1]) else None


_RESULTS = frozenset(SCALARS[d] for d in (_BOOL, torch.int8, _INT64, _HALF, *_REAL))


def _is_same(end: Any, number: float) -> bool:
    """Whether numbers do what booleans and integers do."""
    own = float(end._n)
    return math.isfinite(own) and abs(own - number) <= (1e-3 * abs(own) if end._d is _HALF else 1e-6 * abs(own))
