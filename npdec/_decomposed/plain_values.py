"""The plain tensor over the memory of a view, made where it is first asked for.

A view of a decomposed tensor is often asked for its components alone, or for another view. So what C makes of views
(`npdec/_native/decomposed.c`) has no attribute `value` of its own yet.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _python_dispatch as dispatch

from npdec._torch.functorch import is_transformed
from npdec._torch.outside import ordinarily

__all__ = ["ValueOnce", "enable_grad", "of_no_class", "part"]

# The value is the part that a key of dots chooses, while torch asks no class: so in C as well.
part: Any = torch._C.TensorBase.__getitem__
of_no_class: Any = torch._C._disabled_torch_function_impl
enable_grad: Any = torch._C._set_grad_enabled
_modes = torch._C._len_torch_function_stack


def _over(tensor: Any) -> torch.Tensor:
    """The plain tensor over the memory of a decomposed one."""
    made: torch.Tensor = of_no_class(part, (), (tensor, ...))
    return made


def _as_at_once(tensor: Any) -> torch.Tensor:
    """The same, as torch would have made it at once, whatever is going on now."""
    if dispatch._is_in_torch_dispatch_mode or _modes() or is_transformed():
        made: torch.Tensor = ordinarily(_over, tensor)
        return made
    if torch.is_inference_mode_enabled():
        with torch._C._InferenceMode(False):  # which enables gradients
            return _over(tensor)
    if torch.is_grad_enabled():
        return _over(tensor)
    with torch.enable_grad():
        return _over(tensor)


class ValueOnce:
    """The attribute `value` of a decomposed tensor that has none yet. Where it has one, that comes first."""

    def __get__(self, tensor: Any, owner: type) -> Any:
        if tensor is None:
            raise AttributeError("value")
        tensor.value = made = _as_at_once(tensor)
        return made
