"""Helpers beside the functions of arrays: `np.lib`."""

from __future__ import annotations

from typing import Any

from npdec._functions import absent as _absent
from npdec.exceptions import MissingNameError as _MissingNameError
from npdec.lib import array_utils, format, introspect, mixins, npyio, scimath, stride_tricks
from npdec.lib._arrayterator import Arrayterator
from npdec.lib._version import NumpyVersion

__all__ = [
    "Arrayterator",
    "NumpyVersion",
    "array_utils",
    "format",
    "introspect",
    "mixins",
    "npyio",
    "scimath",
    "stride_tricks",
]


def __getattr__(name: str) -> Any:
    if f"lib.{name}" in _absent.ABSENT:
        raise _absent.absent(f"lib.{name}")
    raise _MissingNameError("npdec.lib", name)
