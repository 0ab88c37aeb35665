"""Python numbers as a vector: by array.array, which takes a third of the time that torch.tensor takes."""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _python_dispatch as _dispatch

from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = ["packed"]

_CODES = {torch.float64: "d", torch.int64: "q", torch.bool: "b"}
_function_modes = torch._C._len_torch_function_stack


def packed(numbers: Sequence[Any], dtype: torch.dtype) -> torch.Tensor:
    """The vector of Python numbers that the dtype holds. It is left to torch.tensor where somebody follows what is
    made: a default device, np.jit, the modes and transforms of torch."""
    followed = _function_modes() or _dispatch._is_in_torch_dispatch_mode or is_transformed() or tracing()
    if followed or not numbers or dtype not in _CODES:
        return torch.tensor(numbers, dtype=dtype)
    return torch.frombuffer(array.array(_CODES[dtype], numbers), dtype=dtype)
