"""Running sums, products and extremes by torch's own functions, where each of their steps is that of the ufunc."""

from __future__ import annotations

import math
from typing import Any

import torch

from npdec._array import fp_state, wrap
from npdec._core.base import UfuncBase
from npdec._core.installed_numpy import numpy_or_none
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util
from npdec._impl._promotion import RANGES
from npdec._native import calls
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import recording, tracing

__all__ = ["along", "of_integers", "of_slices", "of_vector"]


def of_vector(function: Any = None, array: Any = None, *more: Any) -> Any:
    """Running sums, products and extremes of a vector by torch's own functions; None where there is more to look at."""
    if type(array) is not wrap.ARRAY or more or fp_state.watching or array._d not in _STEPWISE:
        return None
    name = function.__name__
    if calls is not None and name in _FOLDED and not tracing():
        made = calls.few_running(_FOLDED[name], array, 0)
        if made is not None:
            return made
    tensor = wrap.lent(array)
    if not _util.are_numbers(tensor) or tensor.dim() != 1:
        return None
    if name not in _RUNNING:
        if name not in _EXTREMES or not 0 < tensor.numel() <= _FEW or _has_negative_zero(tensor):
            return None
        return wrap.array_of(_EXTREMES[name](tensor, 0)[0], array._d)
    step = _RUNNING[name]
    if array._d is torch.float64 and step is torch.cumsum:
        first = tensor[:1] if tensor.numel() > _FEW else tensor
        numbers = first.tolist()
        if not numbers or (not numbers[0] and math.copysign(1.0, numbers[0]) < 0):
            return None  # torch begins with 0.0, to which it adds
    made = step(tensor, 0)
    return wrap.array_of(made, made.dtype)


def of_slices(function: Any = None, array: Any = None, indices: Any = None, *more: Any) -> Any:
    """Slices of a vector of few numbers, each folded; None for others."""
    if calls is None or more or type(array) is not wrap.ARRAY or tracing():
        return None
    made = calls.few_reduceat(function.__name__, array, indices)
    return of_integers(function, "reduceat", array, indices) if made is None else made


def of_integers(function: UfuncBase, method: str, array: Any, axis: Any) -> Any:
    """What a method of NumPy's ufunc makes of few integers or booleans where that is exact: such ones again; None for
    others."""
    if calls is None or type(array) is not wrap.ARRAY or array._d not in _WHOLE or tracing():
        return None
    theirs = getattr(getattr(numpy_or_none(), function.__name__, None), method, None)
    made = None if theirs is None or function.nin != 2 else calls.few_by_numpy(theirs, array, axis)
    return None if made is None or made._d not in _WHOLE else made


_WHOLE = frozenset(RANGES) | {torch.bool}
_RUNNING = {"add": torch.cumsum, "multiply": torch.cumprod}
_FOLDED = {"add": "sum", "multiply": "prod", "maximum": "maximum", "minimum": "minimum"}
_FEW = 32  # elements that are all read sooner than one is chosen
_EXTREMES = {"maximum": torch.cummax, "minimum": torch.cummin}
_OF_CONDITIONS = {
    **_EXTREMES, "logical_or": torch.cummax, "bitwise_or": torch.cummax, "logical_and": torch.cummin,
    "bitwise_and": torch.cummin,
}  # fmt: skip
# In which torch takes each step as the ufunc does; sums of float32 it takes in float64.
_STEPWISE = frozenset({torch.float64, torch.int8, torch.int16, torch.int32, torch.int64})
_TINY = 2.0**-1022


def _has_negative_zero(a: torch.Tensor) -> bool:
    if a.dim() == 1 and a.numel() <= _FEW and _util.are_numbers(a):
        return any(not x and math.copysign(1.0, x) < 0 for x in a.tolist())
    negative = torch.signbit(a)
    return bool(negative.any()) and bool(((a == 0) & negative).any())


def along(function: UfuncBase, a: torch.Tensor, dim: int, found: set[str] | None) -> torch.Tensor | None:
    """Running sums, products and extremes by torch's own functions; None for other ufuncs, where steps differ, and
    where there are floating-point errors to be told from one another."""
    name, plain = function.__name__, _util.are_numbers(a)
    if not a.numel():
        return None
    if found is None and _is_recorded(a):
        return _recorded(name, a, dim)
    if not (plain or type(a) is DecomposedTensor):
        return None
    numbers = _util.numbers(a)
    if name in _RUNNING and a.dtype in _STEPWISE:
        if name == "add" and a.is_floating_point() and _has_negative_zero(numbers.select(dim, 0)):
            return None  # torch begins with 0.0, to which it adds
        result = _RUNNING[name](a, dim, dtype=a.dtype)
        if found is None or not a.is_floating_point():
            return result
        size = _util.numbers(result).abs()
        least = _TINY if name == "multiply" else 0.0
        return result if _util.is_known_true(((size < math.inf) & (size >= least)).all()) else None
    if plain and found is None and name in _EXTREMES and (a.dtype in _STEPWISE or a.dtype is torch.float32):
        if a.is_floating_point() and _has_negative_zero(a):
            return None  # which of two zeros is the greater one, torch's functions see otherwise
        return _EXTREMES[name](a, dim)[0]
    return None


def _is_recorded(a: torch.Tensor) -> bool:
    """Whether a tensor is np.jit's stand-in for one, with no transform around it."""
    return recording.get() is not None and not a.requires_grad and not is_transformed()


def _recorded(name: str, a: torch.Tensor, dim: int) -> torch.Tensor | None:
    """What goes into a graph, of which nobody knows the numbers, in place of a step for each row. Where zeros of both
    signs meet it may find the other one."""
    if name in _RUNNING and a.dtype in _STEPWISE:
        return _RUNNING[name](a, dim, dtype=a.dtype)
    extreme = _OF_CONDITIONS.get(name) if a.dtype is torch.bool else _EXTREMES.get(name)
    if extreme is not None and (a.dtype in _STEPWISE or a.dtype in (torch.float32, torch.bool)):
        return extreme(a, dim)[0]
    return None
