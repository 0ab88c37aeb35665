"""Calls that no mode and no transform of torch sees, whatever is going on around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes

__all__ = ["ordinarily"]


def ordinarily(function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives that makes tensors, which are then as if they had been made before."""
    with (
        _disable_current_modes(),
        torch._C.DisableTorchFunction(),
        temporarily_clear_interpreter_stack(),
        torch.inference_mode(False),
        torch.enable_grad(),
    ):
        return function(*args)
