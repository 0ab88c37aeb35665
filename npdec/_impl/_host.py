"""What kernels need of the face that publishes them.

A kernel sees tensors only. A few take a function of the caller, which must see arrays and gives back array-likes, or
arguments in nested lists that no type tag describes. The face installs the two conversions once, when it is imported;
without a face, tensors are passed as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_as_tensor: Callable[..., torch.Tensor] = torch.as_tensor
_as_array: Callable[[torch.Tensor], Any] = lambda tensor: tensor  # noqa: E731


def install(as_tensor: Callable[..., torch.Tensor], as_array: Callable[[torch.Tensor], Any]) -> None:
    """Set how an array-like becomes a tensor, and how a tensor becomes the array that a caller's function sees. Called
    once; RuntimeError the second time."""
    global _as_tensor, _as_array
    if _as_tensor is not torch.as_tensor:
        raise RuntimeError("the conversions between arrays and tensors are installed already")
    _as_tensor, _as_array = as_tensor, as_array


def as_tensor(obj: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The tensor of an array-like; with a dtype, in which Python numbers have to fit."""
    if dtype is not None:
        return _as_tensor(obj, dtype)
    return obj if isinstance(obj, torch.Tensor) else _as_tensor(obj)


def as_array(tensor: torch.Tensor) -> Any:
    """The array that a function of the caller sees for a tensor; it shares the tensor's memory."""
    return _as_array(tensor)
