"""Calls of ufuncs with plain operands on the CPU: what the compiled calls leave, of several dtypes and beside numbers.

What is decided here follows from dtypes alone, which `Loops.resolved` remembers. Anything else, and whatever torch
refuses, is left to the way that knows NumPy's words.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import torch

from npdec._array import fp_state, wrap
from npdec._array.ordinary import is_free
from npdec._core.base import ArrayBase, UfuncBase
from npdec._core.tags import NoValue, spec_of
from npdec._impl import dtypes_impl
from npdec._impl._by_numpy import are_many, by_numpy_into
from npdec._impl._promotion import RANGES
from npdec._impl._storage import shares_memory

__all__ = ["computed", "fits", "wrapping", "written"]

_Tensor = torch.Tensor
_UNWRAPPING = (ArrayBase, _Tensor, bool, int, float, complex, list, tuple)
_NUMBERS = frozenset({bool, int, float, complex})
_ROUNDED_TWICE = torch.float16  # by torch, of float64: `_util.watched_cast` knows better


def _operands(function: UfuncBase, inputs: tuple[Any, ...]) -> tuple[list[Any] | None, torch.dtype | None]:
    """The operands as tensors of the dtype in which the ufunc computes, and that dtype; None if it is not known yet, or
    an operand is more than its numbers."""
    key: list[Any] = []
    for x in inputs:
        kind = type(x)
        if kind is wrap.ARRAY:
            tensor = x._t
            if type(tensor) is not _Tensor or not tensor.is_cpu:
                return None, None
            key.append(x._d)
        elif kind in _NUMBERS:
            key.append(kind)
        else:
            return None, None
    dtype = dtypes_impl.LOOPS[function._loops].resolved.get(tuple(key))
    if dtype is None or dtype is _ROUNDED_TWICE:
        return None, None
    operands = []
    limits = torch.int64 if dtype is torch.bool else dtype  # a number that is only true or false has limits too
    for x in inputs:
        if type(x) is not wrap.ARRAY:
            if type(x) is int and limits in RANGES and not dtypes_impl.fits(x, limits):
                return None, None
            tensor = dtypes_impl.scalar_tensor(x, dtype)
        else:
            tensor = x._t if x._d is dtype else x._t.to(dtype=dtype)
        operands.append(tensor)
    return operands, dtype


def computed(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """What the ufunc gives, or NoValue where it is not to be found here."""
    if fp_state.watching:
        return NoValue
    operands, dtype = _operands(function, inputs)
    if operands is None:
        return NoValue
    call = function._torch if function._torch is not None and dtype in function._direct else function.__kernel__
    try:
        result = call(*operands)
    except RuntimeError:
        return NoValue
    return tuple(map(wrap.wrap, result)) if isinstance(result, tuple) else wrap.wrap(result)


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
    direct = function._torch is not None and dtype in function._direct
    call: Any = function._torch if direct else function.__kernel__
    shape, alike = target.shape, direct and not isinstance(call, FunctionType) and out._d is dtype
    for x in operands:
        if x.requires_grad:
            return False
        alike = alike and x.shape == shape and not shares_memory(x, target)  # what is read may have been written
    try:
        many = out._d is dtype in spec_of(function.__kernel__).by_numpy and are_many(target)
        if many and by_numpy_into(function.__name__, target, *operands):
            return True
        if alike and (target.is_contiguous() or not target.is_complex()):
            call(*operands, out=target)
            return True
        result = call(*operands)
    except (RuntimeError, TypeError):  # memory that overlaps in part, or a function without `out`
        return False
    if result.shape != shape:
        return False
    target.copy_(result)
    return True
