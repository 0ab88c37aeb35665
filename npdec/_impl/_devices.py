"""The device on which arrays are made where none is asked for: npdec's own default, or else torch's."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import torch

# Of this thread or task; None leaves it to torch (`torch.set_default_device`, `with torch.device(...)`).
chosen: ContextVar[torch.device | None] = ContextVar("npdec.default_device", default=None)
# Whether one was ever chosen, in any thread: until then nobody asks.
used = False
_count_contexts = torch._C._len_torch_function_stack  # torch.set_default_device enters one as well


def as_device(device: Any) -> torch.device | None:
    """The torch device that `device=` names; for None the default that was chosen, None if there is none."""
    if device is None:
        return default_device() if used else None
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"Device not understood: {device!r} is no device of torch ({error})") from None


def default_device() -> torch.device | None:
    """The default that was chosen here, None if there is none. Compiled code keeps that of its compilation."""
    return chosen.get()


vars(default_device)["_dynamo_marked_constant"] = True


def is_unchosen() -> bool:
    """Whether arrays are made on the host, as nobody has ever chosen a device and no context of torch's is entered."""
    return not (used or _count_contexts())


def current_device(device: Any = None) -> torch.device:
    """The torch device that `device=` names; for None the default: npdec's own, or torch's."""
    found = as_device(device)
    if found is not None:
        return found
    if torch.compiler.is_dynamo_compiling():  # it cannot trace torch.get_default_device()
        return torch.empty(0, dtype=torch.bool).device
    return torch.get_default_device()


def choose(device: torch.device | None) -> Any:
    """Choose the default; the token takes it back."""
    global used  # noqa: PLW0603
    used = True
    return chosen.set(device)
