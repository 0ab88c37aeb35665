"""Operators in place on arrays of a few decomposed numbers, which nobody else looks at: what the ufunc gives is copied
over the parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._array import fp_state, wrap
from npdec._array.ordinary import is_free
from npdec._array.scalars import CONCRETE
from npdec._core.base import UfuncBase
from npdec._decomposed.size_limits import HANDFUL
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law.ordinary import is_observed, is_ordinary
from npdec._native import calls
from npdec._torch.tracing import tracing

__all__ = ["few_first"]

_REAL = frozenset({torch.float64, torch.float32})  # torch's loops for complex numbers round otherwise in place
_NUMBERS = frozenset({float, int, *(cls for cls in CONCRETE if cls._torch_dtype in _REAL)})


def few_first(function: UfuncBase, general: Callable[..., Any]) -> Callable[..., Any]:
    """The operator in place of a ufunc, before the general one."""
    if calls is None or function.__name__ == "power":  # which torch rounds otherwise beside a number
        return general

    def operator(self: Any, other: Any) -> Any:
        if type(self) is wrap.ARRAY and type(self._t) is DecomposedTensor and _is_written(function, self, other):
            return self
        return general(self, other)

    operator.__name__, operator.__qualname__ = general.__name__, general.__qualname__
    operator.__doc__ = general.__doc__
    return operator


def _is_written(function: UfuncBase, array: Any, other: Any) -> bool:
    tensor = array._t
    if tensor.views is not None or tensor.value.dtype not in _REAL or not 0 < tensor.value.numel() <= HANDFUL:
        return False
    if tracing() or fp_state.watching or not is_ordinary(tensor) or is_observed() or not is_free(array):
        return False
    if type(other) not in _NUMBERS:
        given = getattr(other, "_t", None)
        if type(given) is not DecomposedTensor or given.labels is not tensor.labels or given.dtype is not tensor.dtype:
            return False
    made = function(array, other)
    written = type(made) is wrap.ARRAY and type(made._t) is DecomposedTensor
    return written and calls.few_written_over(tensor, made._t) is not None
