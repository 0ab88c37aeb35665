"""Several steps that look at each element alone, as one function: decomposed arrays of many components go through it in
pieces, and nothing between the steps is as large as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function

__all__ = ["by_elements"]


def by_elements(function: Callable[..., Any], *tensors: torch.Tensor) -> Any:
    """`function(*tensors)`, a tensor or a tuple of them of the shape that the tensors broadcast to.

    `function` looks at each element alone. What it closes over are numbers and tensors without axes or contributions.
    """
    if has_torch_function(tensors):
        return handle_torch_function(by_elements, tensors, function, *tensors)
    return function(*tensors)
