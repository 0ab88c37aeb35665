"""`np.set_default_device`: where arrays are made."""

from __future__ import annotations

from typing import Any

from npdec._impl import _devices

__all__ = ["set_default_device"]


class set_default_device:
    """Make arrays on a device of torch where no `device=` is given, in this thread or task. None: on torch's default.

    It holds from the call on; as a context manager, to the end of the block. What is computed from arrays stays on
    their device, and `np.frombuffer` with its memory. Raises ValueError for what is no device of torch.

    >>> with np.set_default_device("meta"):
    ...     np.zeros(3).device, np.array([1, 2]).device, np.zeros(3, device="cpu").device
    (device(type='meta'), device(type='meta'), device(type='cpu'))
    """

    __module__ = "npdec"
    __slots__ = ("_token",)

    def __init__(self, device: Any, /) -> None:
        self._token = _devices.choose(None if device is None else _devices.as_device(device))

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        _devices.chosen.reset(self._token)
