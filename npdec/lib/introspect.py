"""What the running library is made of: `np.lib.introspect`. Its one function says why it is not here."""

from __future__ import annotations

from typing import Any

from npdec._core import absent
from npdec.exceptions import MissingNameError

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if f"lib.introspect.{name}" in absent.ABSENT:
        raise absent.absent(f"lib.introspect.{name}")
    raise MissingNameError("npdec.lib.introspect", name)
