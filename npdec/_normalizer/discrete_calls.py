"""Calls of ufuncs with scalars that are decomposed booleans or integers.

The value and the residual are what the ufunc gives of plain scalars, which the host computes. What moves of one operand
is shared as its components share its step, whatever the law is. Of two the contributions are those that the ufunc gives
of floating numbers (`npdec._law.discrete`), where these do what booleans and integers do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.scalars import CONCRETE
from npdec._core.base import UfuncBase
from npdec._core.tags import Spec
from npdec._decomposed.kept_components import dtype_of_steps
from npdec._decomposed.registry import rows
from npdec._decomposed.settings import current as settings
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.size_warnings import warn_infinite
from npdec._decomposed.tensor import DecomposedTensor, Labels
from npdec._dtypes.dtype import SCALARS
from npdec._impl import dtypes_impl
from npdec._law.discrete import warn_dropped
from npdec._law.discrete_of_few import FAR, are_same, number_in_discrete
from npdec._law.of_few import multiplier
from npdec._law.ordinary import Number, built, condition_in, is_observed, number_in, number_of
from npdec._law.pairs_of_numbers import Operand, compared, numbers_of, total
from npdec._native import calls
from npdec._normalizer import discrete_arrays
from npdec._torch.tracing import name_of

__all__ = ["CARRIED", "MIXED", "TAKEN", "answered_at_once", "as_number", "is_given", "of_discrete"]

_BOOL, _INT64, _HALF, _DOUBLE = torch.bool, torch.int64, torch.float16, torch.float64
_REAL = (torch.float64, torch.float32)
CARRIED = frozenset((wrap.CARRIERS[_BOOL], wrap.CARRIERS[_INT64]))
_FLOATS = frozenset(wrap.CARRIERS[dtype] for dtype in _REAL)
_HOSTS = frozenset(cls for cls in CONCRETE if cls._torch_dtype in (_BOOL, _INT64, *_REAL))
_SINGLE = SCALARS[torch.float32]
_WHOLE = frozenset((SCALARS[_BOOL], SCALARS[_INT64]))
_PLAIN = frozenset({bool, int, float})
_KEYS = frozenset({*_WHOLE, bool, int})
_LOGIC = frozenset({"and", "or", "xor"})
_KINDS = frozenset({"isfinite", "isinf", "isnan"})  # of which all booleans and integers are one
TAKEN = CARRIED | _FLOATS | _HOSTS | _PLAIN  # the operands of which two are found here
# Those beside which a floating scalar that carries something is found here: others the law takes as they are.
MIXED = CARRIED | _FLOATS | _HOSTS | {bool}
Ends = Sequence[Any]
_LAWS = frozenset({"Pointwise", "Stepwise", "Linear"})
_ALONE = frozenset({"rint", "invert", "logical_not", "signbit"})  # whose kernels leave the law to torch's functions


def answered_at_once(spec: Spec) -> frozenset[Any]:
    """The classes of scalars that carry something of which a function of torch is called at once: of booleans and
    integers the host knows more, but for logic."""
    carriers = frozenset(cls for dtype, cls in wrap.CARRIERS.items() if not (dtype.is_complex and spec.name == "sign"))
    return carriers if spec.operator in _LOGIC or spec.name == "logical_not" else carriers - CARRIED


def is_given(inputs: tuple[Any, ...]) -> bool:
    """Whether an operand is decomposed booleans or integers, which carry something."""
    return any(type(x) in CARRIED for x in inputs) or discrete_arrays.is_given(inputs)


def is_mixed(inputs: tuple[Any, ...]) -> bool:
    """Whether it is a floating scalar that carries something beside one of another dtype, or a number that is none."""
    if len(inputs) != 2:
        return False
    a, b = type(inputs[0]), type(inputs[1])
    return a is not b and ((a in _FLOATS and b in MIXED) or (b in _FLOATS and a in MIXED))


def as_number(x: Any, dtype: torch.dtype) -> Any:
    """A decomposed boolean or integer without axes as a number of a floating dtype; None where it is none of a few
    components, or somebody looks on."""
    made = None if calls is None else calls.numbers_as(x, dtype)
    if made is not None:
        return made
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
    if function.__name__ == "reciprocal":
        return None if arrays else _reciprocal(function, inputs[0])
    if len(inputs) == 1:
        tags = function._tag
        if tags not in _LAWS and function.__name__ not in _ALONE:
            return None
        if function.__name__ == "signbit" and (arrays or inputs[0]._d is _BOOL):  # half precision is asked
            return None
        return discrete_arrays.of_one_array(function, inputs[0]) if arrays else _of_one(function, inputs[0])
    if not _takes_floats(function._loops):
        return None
    if arrays and function.nout > 1:
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


def _reciprocal(function: UfuncBase, x: Any) -> Any:
    """The reciprocal of a boolean or an integer, if that is none of the number that it is."""
    number = number_in_discrete(x._t)
    if number is None:
        return None
    u, w, column = number
    ends = [_computed(function, _host(x._d, end)) for end in (u, w)]
    if all(end and _is_same(made, 1 / end) for made, end in zip(ends, (u, w), strict=True)):
        return None
    return _without_contributions(function, ends[0], [Operand(u, w, column, x._t.labels)])


def _of_one(function: UfuncBase, x: Any) -> Any:
    tensor = x._t
    number = number_in_discrete(tensor)
    if number is None:
        return None
    after, before = (_computed(function, _host(x._d, end)) for end in number[:2])
    if function.nout == 1:
        made = _endless(function, after, before, number, tensor)
        return _shared(after, before, number, tensor) if made is None else made
    made = tuple([_shared(*ends, number, tensor) for ends in zip(after, before, strict=True)])
    return None if any(part is None for part in made) else made


def _computed(function: Any, *hosts: Any) -> Any:
    """What a ufunc gives of scalars on the host; of booleans and integers that is remembered."""
    return _remembered(function, *hosts) if all(type(x) in _KEYS for x in hosts) else function(*hosts)


@functools.lru_cache(1024, typed=True)
def _remembered(function: Any, *hosts: Any) -> Any:
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


def _endless(function: UfuncBase, after: Any, before: Any, number: Number, like: DecomposedTensor) -> Any:
    """A result that is infinite or NaN at one end, of a function without jumps: whatever moves has an infinite share,
    and of NaN all have NaN. None of others. Half precision says so twice: of the slope, and of what it rounds to."""
    x, r, column = number
    a, b, kind = float(after._n), float(before._n), after._d
    if math.isfinite(a) == math.isfinite(b):
        return None
    bare = function._bare
    direct = bare is not None and kind in function._direct and not isinstance(bare, FunctionType)
    if function._tag != "Pointwise" or x == r or not (kind is _HALF or direct) or not all(map(math.isfinite, column)):
        return None
    moved = (a - b) / (x - r)
    undefined = math.isnan(moved)
    made = _made(after, before, [moved * c if c or undefined else 0.0 for c in column], like.labels, kind)
    name = function.__name__ if bare is None or kind is _HALF else name_of(bare)
    for _ in range((2 if kind is _HALF else 1) * (undefined or any(column))):
        warn_infinite(name, made._t.value, made._t.residual)
    return made


def _made(after: Any, before: Any, components: list[float], labels: Labels, dtype: torch.dtype) -> Any:
    """The scalar of two ends that are scalars on the host, of components of a dtype, or of the dtype of the ends."""
    kind: torch.dtype = after._d
    if kind in _REAL:
        return wrap.wrap_scalar(number_of(float(after._n), float(before._n), components, labels, kind))
    if kind is _BOOL:
        return wrap.wrap_scalar(number_of(bool(after._n), bool(before._n), components, labels, dtype))
    if kind is _INT64:
        return wrap.wrap_scalar(number_of(int(after._n), int(before._n), components, labels, _DOUBLE))
    ends = float(after._n), float(before._n)
    half = calls.number_of(*ends, components, labels, kind) if kind is _HALF and calls is not None else None
    if half is not None:
        return wrap.wrap_scalar(half)
    value, residual = (torch.scalar_tensor(end._n, dtype=kind, device="cpu") for end in (after, before))
    if kind.is_floating_point:
        made: Any = built(value, residual, torch.tensor(components, dtype=kind, device="cpu"), labels)
    else:
        made = number_of(value, residual, components, labels, dtype_of_steps(kind, dtype))
        made.discrete = True
    return wrap.wrap_scalar(made)


# -- of two ------------------------------------------------------------------------------------------------------------


def _of_two(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """Of two, one of which is such a scalar, and the other one as well, a floating one that carries something, or a
    plain number: by the law of two numbers (`npdec._law.pairs_of_numbers`), or by the function of floating ones."""
    made = _of_floats(function, inputs)
    if made is not None:
        return made
    ends: list[Sequence[Any]] = []
    operands: list[Operand] = []
    labels, floating, narrow, wide = 0, False, False, torch.float32
    for x in inputs:
        kind = type(x)
        if kind in CARRIED or kind in _FLOATS:
            number = number_in_discrete(x._t) if kind in CARRIED else number_in(x._t)
            if number is None:
                return None
            labels += len(number[2])
            wide = wide if x._t.components.dtype is wide else _DOUBLE
            operands.append(Operand(*number, x._t.labels, x._d is _BOOL))
            if kind in CARRIED:
                ends.append((_host(x._d, number[0]), _host(x._d, number[1])))
            else:
                floating = True
                ends.append((wrap.wrap_scalar(x._t.value), wrap.wrap_scalar(x._t.residual)))
        elif kind in _HOSTS or kind in _PLAIN:
            ends.append((x, x))
            plain = x._n if kind in _HOSTS else x
            if not -FAR <= plain <= FAR:
                return None
            operands.append(Operand(float(plain), float(plain), [], None))
            narrow = narrow or kind is _SINGLE
            wide = wide if kind is bool or kind is SCALARS[_BOOL] or function._loops == "logical" else _DOUBLE
        else:
            return None
    if labels > HANDFUL or (narrow and not floating):  # in which booleans are computed in single precision
        return None
    dtype = _dtype_beside(function, inputs) if floating else _DOUBLE
    if dtype is None:
        return None
    wide = dtype if floating and function._loops != "logical" else wide
    call: Any = divmod if function.nout > 1 else function  # which scalars compute at once
    after, before = (_computed(call, *[pair[i] for pair in ends]) for i in (0, 1))
    direct = dtype in function._direct
    known = function._bare if direct else function.__kernel__
    form = _law_of(function, known)
    if function.nout > 1:
        if type(form) is not tuple:
            return None
        if _divides_by_zero(function, operands[1]):
            return _without_contributions(function, after, operands)
        made = [
            _passed(its, function, (known, i), operands, (after[i], before[i]), dtype, wide)
            for i, its in enumerate(form)
        ]
        return None if any(part is None for part in made) else tuple(made)
    if type(after) not in _RESULTS or type(before) is not type(after):
        return None
    if _divides_by_zero(function, operands[1]):
        return _without_contributions(function, after, operands)
    one = None if form is None else _passed(form, function, known, operands, (after, before), dtype, wide)
    if one is not None or floating:
        return one
    numbers = [
        dtypes_impl.kept_beside(x, _DOUBLE) if labels is None else number_of(x, r, column, labels, _DOUBLE)
        for x, r, column, labels, _ in operands
    ]
    call = function._torch if direct else function._kernel
    found = call(*numbers)
    given: Any = number_in(found) or condition_in(found) if type(found) is DecomposedTensor else None
    if given is None or not _is_same(after, given[0]) or not _is_same(before, given[1]):
        return None
    return _made(after, before, given[2], found.labels, wide)


def _without_contributions(function: UfuncBase, after: Any, operands: Sequence[Operand]) -> Any:
    """What a function gives of integers, through which contributions do not pass; None of floating results."""
    if any(end._d.is_floating_point for end in (after if type(after) is tuple else (after,))):
        return None
    if any(x.x != x.r or any(x.column) for x in operands):
        warn_dropped(function.__name__)
    return after


def _of_floats(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """What a ufunc gives that computes of the operands in single or double precision, of numbers in that; None of
    others, and of plain ones in single precision, beside which booleans are computed in double."""
    dtype = None if function._loops == "logical" else _dtype_beside(function, inputs)
    if dtype is None:
        return None
    numbers, floating = [], False
    for x in inputs:
        kind = type(x)
        if kind in CARRIED or kind in _FLOATS:
            floating = floating or kind in _FLOATS
            number = x._t if x._d is dtype else as_number(x._t, dtype)
            if type(number) is not DecomposedTensor:
                return None
        elif kind is wrap.ARRAY:
            number = x._t
            known = type(number) is torch.Tensor or (type(number) is DecomposedTensor and not number.discrete)
            if x._d is not dtype or not known or not number.is_cpu or not number.dim():
                return None
        elif kind in _PLAIN or kind in _HOSTS:
            number = dtypes_impl.kept_beside(float(x if kind in _PLAIN else x._n), dtype)
        else:
            return None
        numbers.append(number)
    if not floating and dtype is not _DOUBLE:
        return None
    call: Any = function._torch if dtype in function._direct else function._kernel
    made = call(*numbers)
    return tuple(map(wrap.wrap, made)) if type(made) is tuple else wrap.wrap(made)


def _divides_by_zero(function: UfuncBase, divisor: Operand) -> bool:
    """Whether a ufunc divides by zero at an end, of which there is no number that an integer is."""
    return function.__name__ in discrete_arrays.DIVIDING and not (divisor.x and divisor.r)


def _dtype_beside(function: UfuncBase, inputs: tuple[Any, ...]) -> torch.dtype | None:
    """The dtype in which a ufunc computes of operands of which one is floating, if it is known yet, and a real one."""
    if function._loops == "logical":
        return _DOUBLE
    key = tuple([type(x) if type(x) in _PLAIN else getattr(x, "_d", None) for x in inputs])
    dtype = dtypes_impl.LOOPS[function._loops].resolved.get(key)
    return dtype if dtype in _REAL else None


def _law_of(function: UfuncBase, known: Any) -> Any:
    """The law of two numbers for a ufunc, which is this function of torch, or its own kernel."""
    row = rows.get(known)
    return _law_by_tags(function) if row is None or row.found else row.numbers


@functools.cache
def _law_by_tags(function: Any) -> Any:
    return numbers_of({i: p.tag for i, p in enumerate(function._parameters)}, 0, None, None)


def _passed(
    form: Any, function: UfuncBase, known: Any, operands: list[Operand], ends: Ends, *dtypes: torch.dtype
) -> Any:
    """A result of a ufunc by the law of the function `known`, or of that and the place of its result; None where the
    law does not find it, or floating numbers do not what booleans and integers do. The two dtypes are
    those in which the law computes, and of the components of booleans."""
    a, b = operands
    after, before = ends
    kind = after._d
    if kind in _REAL:
        own = float(after._n), float(before._n)
        if not (math.isfinite(own[0]) and math.isfinite(own[1])):
            return None
    else:
        place = known[1] if type(known) is tuple else None
        own = _in_doubles(function, place, a.x, b.x), _in_doubles(function, place, a.r, b.r)
        if not (_is_same(after, own[0]) and _is_same(before, own[1])):
            found = total(a, b, 1.0, 1.0) if kind is _BOOL and function.__name__ == "add" else None
            if found is None:
                return None
            form = compared  # "or" is the sum of booleans
            a, b = Operand(a.x + b.x, a.r + b.r, *found), Operand(0.0, 0.0, [], None)
            own = float(after._n), float(before._n)
    passed = form(known, a, b, own, dtypes[0])
    return None if passed is None else _made(after, before, passed[0], passed[1], dtypes[1])


@functools.lru_cache(1024)
def _in_doubles(function: UfuncBase, place: int | None, x: float, y: float) -> float:
    """What a ufunc gives of two numbers in double precision."""
    call: Any = function if place is None else divmod
    made = call(wrap.FLOAT64(x), wrap.FLOAT64(y))
    return float((made if place is None else made[place])._n)


_RESULTS = frozenset(SCALARS[d] for d in (_BOOL, torch.int8, _INT64, _HALF, *_REAL))


def _is_same(end: Any, number: float) -> bool:
    """Whether numbers do what booleans and integers do."""
    return are_same((float(end._n),), (number,), end._d)
