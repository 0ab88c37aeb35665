"""Helpers beside the functions of arrays: `np.lib`."""

from __future__ import annotations

import importlib
import math as _math
import warnings
from typing import Any

from npdec._core import absent as _absent
from npdec._core.installed_numpy import has_numpy
from npdec._guests.modules import published
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


_NUMPYS = (
    "add_docstring",
    "add_newdoc",
    "tracemalloc_domain",
    "user_array",
)  # of its own C, and what it advises against


def __getattr__(name: str) -> Any:
    if name == "recfunctions":
        return importlib.import_module("npdec.lib.recfunctions")
    if name == "math":
        warnings.warn("np.lib.math is Python's own module math: import that", DeprecationWarning, stacklevel=2)
        return _math
    if name in _NUMPYS and has_numpy():
        return published("lib", name)
    if f"lib.{name}" in _absent.ABSENT:
        raise _absent.absent(f"lib.{name}")
    raise _MissingNameError("npdec.lib", name)
