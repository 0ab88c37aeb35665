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
_brought: Callable[[torch.Tensor, Any, torch.device], torch.Tensor] = lambda made, obj, device: made.to(device)  # noqa: E731


def install(
    as_tensor: Callable[..., torch.Tensor],
    as_array: Callable[[torch.Tensor], Any],
    beside: Callable[[torch.Tensor, Any, torch.device], torch.Tensor],
) -> None:
    """Set how an array-like becomes a tensor, how a tensor becomes the array that a caller's function sees, and what
    becomes of a tensor made of an argument that has no device of its own. Called once; RuntimeError the second time."""
    global _as_tensor, _as_array, _brought
    if _as_tensor is not torch.as_tensor:
        raise RuntimeError("the conversions between arrays and tensors are installed already")
    _as_tensor, _as_array, _brought = as_tensor, as_array, beside


def as_tensor(obj: Any, dtype: torch.dtype | None = None, *, device: torch.device | None = None) -> torch.Tensor:
    """The tensor of an array-like; with a dtype, in which Python numbers have to fit. Numbers and lists go to the
    device, if one is given."""
    made = _as_tensor(obj, dtype) if dtype is not None else obj if isinstance(obj, torch.Tensor) else _as_tensor(obj)
    return made if device is None or made.device == device else _brought(made, obj, device)


def device_within(arrays: Any) -> torch.device | None:
    """The device of the first array in nested lists, None where there is none."""
    if isinstance(arrays, (list, tuple)):
        return next((found for item in arrays if (found := device_within(item)) is not None), None)
    return _as_tensor(arrays).device if hasattr(arrays, "__dlpack__") else None


def as_array(tensor: torch.Tensor) -> Any:
    """The array that a function of the caller sees for a tensor; it shares the tensor's memory."""
    return _as_array(tensor)
