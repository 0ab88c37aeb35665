"""The plain tensor over the memory of a decomposed one, and its residual, made where they are first asked for.

A view of a decomposed tensor is often asked for its components alone, or for another view. So what C makes of views
(`npdec/_native/decomposed.c`) has no attribute `value` of its own yet. In reverse mode most results are asked for
neither (`npdec/_native/reverse.c`): the next function takes what is on the graph, and one of the equal rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _python_dispatch as dispatch

from npdec._torch.functorch import is_transformed
from npdec._torch.outside import ordinarily

__all__ = ["ResidualOnce", "ValueOnce", "enable_grad", "of_no_class", "part"]

# The value is the part that a key of dots chooses, while torch asks no class: so in C as well.
part: Any = torch._C.TensorBase.__getitem__
of_no_class: Any = torch._C._disabled_torch_function_impl
enable_grad: Any = torch._C._set_grad_enabled
_modes = torch._C._len_torch_function_stack


def _over(tensor: Any) -> torch.Tensor:
    """The plain tensor over the memory of a decomposed one; in reverse mode what is on the graph lies there, too."""
    on_graph: torch.Tensor | None = vars(tensor).get("on_graph")
    if on_graph is not None:
        return on_graph.detach()
    made: torch.Tensor = of_no_class(part, (), (tensor, ...))
    return made


def _widened(tensor: Any) -> torch.Tensor:
    """The residual of equal rows, of which there is one."""
    made: torch.Tensor = tensor.row.expand(tensor.value.shape)
    return made


def _as_at_once(make: Callable[[Any], torch.Tensor], tensor: Any) -> torch.Tensor:
    """What is made of a tensor, as torch would have made it at once, whatever is going on now."""
    if dispatch._is_in_torch_dispatch_mode or _modes() or is_transformed():
        made: torch.Tensor = ordinarily(make, tensor)
        return made
    if torch.is_inference_mode_enabled():
        with torch._C._InferenceMode(False):  # which enables gradients
            return make(tensor)
    if torch.is_grad_enabled():
        return make(tensor)
    with torch.enable_grad():
        return make(tensor)


class ValueOnce:
    """The attribute `value` of a decomposed tensor that has none yet. Where it has one, that comes first."""

    def __get__(self, tensor: Any, owner: type) -> Any:
        if tensor is None:
            raise AttributeError("value")
        tensor.value = made = _as_at_once(_over, tensor)
        return made


class ResidualOnce:
    """The attribute `residual` of a tensor in reverse mode of which only one of the equal rows is known yet."""

    def __get__(self, tensor: Any, owner: type) -> Any:
        row: torch.Tensor | None = None if tensor is None else vars(tensor).get("row")
        if row is None:
            raise AttributeError("residual")
        tensor.residual = made = _as_at_once(_widened, tensor)
        tensor.row = made, row
        return made
