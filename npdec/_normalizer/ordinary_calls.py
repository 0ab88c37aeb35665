"""Calls of ufuncs with plain operands on the CPU: what the compiled calls leave, of several dtypes and beside numbers.

What is decided here follows from dtypes alone, which `Loops.resolved` remembers. Anything else, and whatever torch
refuses, is left to the way that knows NumPy's words.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from npdec._array import fp_state, wrap
from npdec._array.convert import SIGNED
from npdec._array.ordinary import is_free
from npdec._array.scalars import CONCRETE
from npdec._core.base import ArrayBase, UfuncBase
from npdec._core.tags import NoValue, spec_of
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import SCALARS
from npdec._impl import dtypes_impl
from npdec._impl._by_numpy import are_many, by_numpy_into
from npdec._impl._promotion import RANGES
from npdec._impl._storage import shares_memory
from npdec._impl.dtypes_impl import WIDE_UNSIGNED
from npdec._native import calls
from npdec._normalizer import complex_calls, discrete_calls
from npdec._torch.tracing import tracing

__all__ = ["computed", "fits", "of_any_dtypes", "of_pairs", "of_two_dtypes", "wrapping", "written"]

_Tensor = torch.Tensor
_UNWRAPPING = (ArrayBase, _Tensor, bool, int, float, complex, list, tuple)
_NUMBERS = frozenset({bool, int, float, complex})
_HOSTS = frozenset(CONCRETE)
_FAR = 1000  # exponents that leave no range by themselves
_ALONE = frozenset({torch.float64, torch.float32})
_CARRIED = frozenset(wrap.CARRIERS[dtype] for dtype in _ALONE)
_HOLDING = _CARRIED | _HOSTS | discrete_calls.CARRIED
# torch takes a tensor to the dtype of a number beside it that is of a kind above its own, but to complex numbers of its
# own precision.
_RANKS = {dtype: "buifc".index(dtypes_impl.kind(dtype).replace("u", "i")) for dtype in SCALARS}
_COMPLEX = _RANKS[torch.complex64]
_KEPT: dict[torch.dtype, Callable[..., float]] = {
    torch.float64: float,
    **dict.fromkeys((torch.int64, *WIDE_UNSIGNED), int),
}
_PROMOTED = frozenset({torch.bool, torch.int32, torch.int64, torch.float32, torch.float64})
_ROUNDED_TWICE = torch.float16  # by torch, of float64: `_util.watched_cast` knows better


def _operands(function: UfuncBase, inputs: tuple[Any, ...]) -> tuple[list[Any] | None, torch.dtype | None]:
    """The operands as tensors of the dtype in which the ufunc computes, or as torch casts them to it beside a number,
    and that dtype; None if it is not known yet, or an operand is more than its numbers."""
    key: list[Any] = []
    numbers = len(inputs)
    for x in inputs:
        kind = type(x)
        if kind is wrap.ARRAY:
            tensor = wrap.lent(x)
            if type(tensor) is not _Tensor or not tensor.is_cpu:
                return None, None
            key.append(x._d)
            numbers -= 1
        elif kind in _NUMBERS:
            key.append(kind)
        elif kind in _HOSTS and not tracing():  # a trace would hold for this number alone
            key.append(x._d)
        else:
            return None, None
    loops = dtypes_impl.LOOPS[function._loops]
    dtype = loops.resolved.get(tuple(key))
    if dtype is None or dtype is _ROUNDED_TWICE or loops.mixed == "ldexp":  # which has an operand of another dtype
        return None, None
    operands: list[Any] = []
    direct = function._bare is not None and dtype in function._arrays
    casts = direct and function._bare is not torch.pow and type(function._bare) is not FunctionType
    beside = numbers < len(inputs)  # by itself a number is where arrays are made
    limits = torch.int64 if dtype is torch.bool else dtype  # a number that is only true or false has limits too
    for x in inputs:
        kind = type(x)
        if kind is wrap.ARRAY:
            operands.append(wrap.lent(x))
            continue
        if kind in _HOSTS:
            x = x._n
        elif kind is int and limits in RANGES and not dtypes_impl.fits(x, limits):
            return None, None
        own = _KEPT.get(dtype) if beside else None
        operands.append(dtypes_impl.scalar_tensor(x, dtype) if own is None else dtypes_impl.kept(own(x), dtype))
    for i, x in enumerate(inputs):
        by_torch = numbers and casts and type(x) is wrap.ARRAY and _RANKS[x._d] < _RANKS[dtype] < _COMPLEX
        if type(x) is wrap.ARRAY and x._d is not dtype and not by_torch:
            operands[i] = operands[i].to(dtype=dtype)
    return operands, dtype


def _divided(inputs: tuple[Any, ...]) -> Any:
    """np.divmod of an array of few numbers and another, or a Python number: quotients and rests are ufuncs of their
    own, which are computed in memory. None for others."""
    x, y = inputs
    if type(x) is not wrap.ARRAY or getattr(x, "_e", None) is None or tracing() or x.ndim == 0:
        return None
    if type(y) in _NUMBERS or (type(y) is wrap.ARRAY and y._d is x._d and getattr(y, "_e", None) is not None):
        return wrap.NAMESPACE.value.floor_divide(x, y), wrap.NAMESPACE.value.remainder(x, y)
    return None


def written_where(
    function: UfuncBase, inputs: tuple[Any, ...], out: Any, more: tuple[Any, ...], options: dict[str, Any]
) -> bool:
    """Whether a ufunc of arrays of few numbers has been written where a mask is true, and there are no other options.
    All of it is computed first."""
    if more or len(options) != 1 or (where := options.get("where")) is None:
        return False
    if calls is None or fp_state.watching or tracing() or function.nout != 1 or function._spare is not None:
        return False
    if type(out) is not wrap.ARRAY or type(where) is not wrap.ARRAY or where._d is not torch.bool:
        return False
    for x in inputs:
        if type(x) not in _NUMBERS and not (type(x) is wrap.ARRAY and _is_plain(x)):
            return False
    made = function(*inputs)
    if type(made) is not wrap.ARRAY or made._d is not out._d or made.shape != out.shape:
        return False
    merged = calls.few_where(where, made, out)
    return merged is not None and merged.shape == out.shape and bool(calls.few_copyto(out, merged))


def _is_plain(array: Any) -> bool:
    """Whether an array is of numbers and nothing else, which a lazy one is."""
    return getattr(array, "_e", None) is not None or (type(array._t) is _Tensor and not array._t.requires_grad)


def computed(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """What the ufunc gives, or NoValue where it is not to be found here."""
    if fp_state.watching:
        return NoValue
    if function.__name__ == "divmod" and (pair := _divided(inputs)) is not None:
        return pair
    made = _of_one_dtype(function, inputs)
    mixed = made is None and discrete_calls.is_mixed(inputs)
    if mixed and function._loops != "logical":
        made = _of_carried(function, inputs)
    if made is None and (mixed or discrete_calls.is_given(inputs)):
        made = None if tracing() else discrete_calls.of_discrete(function, inputs)
    if made is None and len(inputs) <= 2 and complex_calls.is_given(inputs) and not tracing():
        made = complex_calls.of_complex(function, inputs)
    if made is None and (type(inputs[0]) in _CARRIED or type(inputs[-1]) in _CARRIED):
        made = _of_carried(function, inputs)
    if made is not None:
        return made
    operands, dtype = _operands(function, inputs)
    if operands is None:
        return NoValue
    try:
        result = _call_of(function, dtype)(*operands)
    except (RuntimeError, ValueError):  # of shapes that do not fit is spoken before exponents that are negative
        return NoValue
    return tuple(map(wrap.wrap, result)) if isinstance(result, tuple) else wrap.wrap(result)


def _of_one_dtype(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """What a ufunc gives of one or two arrays in the dtype in which it computes; None for all other operands."""
    x1, x2 = inputs[0], inputs[-1]
    if type(x1) is not wrap.ARRAY or type(x2) is not wrap.ARRAY or x1._d is not x2._d:
        return None
    dtype, count, loops = x1._d, len(inputs), dtypes_impl.LOOPS[function._loops]
    if loops.resolved.get((dtype, dtype) if count > 1 else (dtype,)) is not dtype or count > 2:
        return None
    a, b = wrap.lent(x1), wrap.lent(x2)
    if type(a) is not _Tensor or type(b) is not _Tensor or not a.is_cpu or not b.is_cpu:
        return None
    if dtype is _ROUNDED_TWICE or loops.mixed == "ldexp":
        return None
    try:
        if function._integers is not None and dtype in SIGNED and not (are_many(a) or are_many(b)):
            made = function._integers(a, b)
            if made is not None:
                return wrap.wrap(made)
        call = _call_of(function, dtype)
        result = call(a, b) if count > 1 else call(a)
    except (RuntimeError, ValueError):
        return None
    return tuple(map(wrap.wrap, result)) if isinstance(result, tuple) else wrap.wrap(result)


def _of_carried(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """What a ufunc gives of scalars that carry contributions, or of one and a number, or a plain array in the dtype in
    which it computes; None for all other operands."""
    if function.__name__ == "ldexp":
        by = inputs[-1]
        if type(by) in discrete_calls.CARRIED and type(by._t) is DecomposedTensor:
            by = int(by._t.value)  # whose contributions do not pass
        if type(by) is int and -_FAR < by < _FAR and not tracing():
            x, exponent = inputs[0]._t, dtypes_impl.kept_beside(by, torch.int64)
            return wrap.wrap(function._kernel(x, exponent)) if type(x) is DecomposedTensor else None
    key = tuple([x._d if type(x) in _HOLDING or type(x) is wrap.ARRAY else type(x) for x in inputs])
    loops = dtypes_impl.LOOPS[function._loops]
    dtype = loops.resolved.get(key)
    if dtype not in _ALONE or loops.mixed == "ldexp" or tracing():
        return None
    operands: list[Any] = []
    for x in inputs:
        if type(x) is wrap.ARRAY:
            tensor = x._t
            known = type(tensor) is _Tensor or (type(tensor) is DecomposedTensor and not tensor.discrete)
            if x._d is not dtype or not known or not tensor.is_cpu or not tensor.dim():
                return None
            operands.append(tensor)
        elif type(x) in discrete_calls.CARRIED:
            operands.append(discrete_calls.as_number(x._t, dtype))
        elif type(x) not in _CARRIED:
            operands.append(dtypes_impl.kept_beside(x._n if type(x) in _HOSTS else x, dtype))
        elif type(x._t) is DecomposedTensor and x._t.value.is_cpu:
            operands.append(x._t if x._d is dtype else x._t.to(dtype))
        else:
            return None
    if any(operand is None for operand in operands):
        return None
    call = function._torch if dtype in function._direct else None
    result = (function._kernel if call is None else call)(*operands)
    return tuple(map(wrap.wrap, result)) if isinstance(result, tuple) else wrap.wrap(result)


def of_pairs(function: Any = None, A: Any = None, B: Any = None, *more: Any) -> Any:
    """What a ufunc gives of all pairs of an array and a vector in one dtype, in which torch computes; None for other
    operands."""
    if more or type(A) is not wrap.ARRAY or type(B) is not wrap.ARRAY or A._d is not B._d or function.nin != 2:
        return None
    if calls is not None and not tracing():
        few = calls.few_outer(function.__name__, A, B)
        if few is not None:
            return few
    a, b = wrap.lent(A), wrap.lent(B)
    if type(a) is not _Tensor or type(b) is not _Tensor or b.dim() != 1 or fp_state.watching or are_many(a):
        return None
    if A._d not in function._arrays or function.nout > 1:
        return None
    try:
        made = _call_of(function, A._d)(a.unsqueeze(-1), b)
    except RuntimeError:  # too many axes
        return None
    return wrap.array_of(made, made.dtype)


def _call_of(function: UfuncBase, dtype: torch.dtype | None) -> Callable[..., Any]:
    """What computes the ufunc of plain tensors in a dtype."""
    return function._bare if function._bare is not None and dtype in function._arrays else function.__kernel__


def of_two_dtypes(function: UfuncBase, slow: Callable[..., Any]) -> Callable[..., Any]:
    """The operator of torch's own function between arrays of two dtypes, which leaves it to torch where that promotes
    them as NumPy."""
    table, call = dtypes_impl.LOOPS[function._loops], function._torch
    assert call is not None
    known: dict[tuple[torch.dtype, torch.dtype], bool] = {}

    def promoted(pair: tuple[torch.dtype, torch.dtype]) -> bool:
        if not _PROMOTED.issuperset(pair) or (call is torch.sub and torch.bool in pair):  # which torch refuses
            return False
        try:
            dtype = table.resolve(pair, function.__name__)
        except TypeError:
            return False
        return dtype in function._direct and dtype is torch.promote_types(*pair)

    def operator(self: Any, other: Any) -> Any:
        pair, a, b = (self._d, other._d), wrap.lent(self), wrap.lent(other)
        if pair not in known:
            known[pair] = promoted(pair)
        # torch does not promote what has no dimensions as it does the rest.
        if known[pair] and type(a) is type(b) is _Tensor and a.dim() and b.dim() and not fp_state.watching:
            try:
                return wrap.wrap(call(a, b))
            except RuntimeError:
                pass
        return slow(self, other)

    return operator


def of_any_dtypes(function: UfuncBase, slow: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    """The operator that finds at once what it is between an array and any other or number, of whatever dtypes, and
    leaves the rest to `slow`."""
    operands = _NUMBERS | _HOSTS | {wrap.ARRAY}
    if reflected:
        operands -= {float, int}  # which the call of the ufunc takes sooner

    @functools.wraps(slow)
    def operator(self: Any, other: Any) -> Any:
        if type(self) is wrap.ARRAY and type(other) in operands and not tracing():
            made = computed(function, (other, self) if reflected else (self, other))
            if made is not NoValue:
                return made
        return slow(self, other)

    return operator


def wrapping(inputs: tuple[Any, ...]) -> bool:
    """Whether an operand of another library's may wrap what is computed of it."""
    for x in inputs:
        if type(x) is not wrap.ARRAY and not isinstance(x, _UNWRAPPING) and hasattr(type(x), "__array_wrap__"):
            return True
    return False


def fits(out: Any, *operands: Any) -> bool:
    """Whether an array is one to write into, of the dtype and shape of the operands, and all lie in row-major order: so
    torch finds for itself whether what it reads is in part what it writes."""
    target = out._t
    if type(target) is not _Tensor or target.requires_grad or not is_free(out):
        return False
    for x in operands:
        if x is not out:
            tensor = x._t
            if type(tensor) is not _Tensor or x._d is not out._d or tensor.shape != target.shape:
                return False
            if not tensor.is_contiguous() or tensor.requires_grad or not target.is_contiguous():
                return False
    return True


def written(function: UfuncBase, inputs: tuple[Any, ...], out: Any) -> bool:
    """Whether the result was written into `out`, an array of its dtype and shape."""
    if fp_state.watching or type(out) is not wrap.ARRAY or function.nout > 1:
        return False
    target = out._t
    if type(target) is not _Tensor or target.requires_grad or not is_free(out):
        return False
    operands, dtype = _operands(function, inputs)
    if operands is None or dtype is None or dtypes_impl.LOOPS[function._loops].result(dtype) is not out._d:
        return False
    direct = function._bare is not None and dtype in function._arrays
    call: Any = function._bare if direct else function.__kernel__
    shape, alike, whole = target.shape, direct and not isinstance(call, FunctionType) and out._d is dtype, False
    for x in operands:
        if x.requires_grad:
            return False
        whole = whole or x.shape == shape
        # What is read may have been written.
        alike = alike and (x.shape == shape or not x.dim()) and not shares_memory(x, target)
    try:
        many = out._d is dtype in spec_of(function.__kernel__).by_numpy and are_many(target)
        if many and by_numpy_into(function.__name__, target, *operands):
            return True
        if alike and whole and (target.is_contiguous() or not target.is_complex()):
            call(*operands, out=target)
            return True
        result = call(*operands)
    except (RuntimeError, TypeError):  # memory that overlaps in part, or a function without `out`
        return False
    if result.shape != shape:
        return False
    target.copy_(result)
    return True
