"""Files of arrays: `np.lib.npyio`. Files by name or address are found by NumPy's DataSource."""

from __future__ import annotations

from typing import Any

from npdec._array.host_numpy import numpy_for
from npdec._functions.files import NpzFile
from npdec.exceptions import MissingNameError

__all__ = ["DataSource", "NpzFile"]  # noqa: F822


def __getattr__(name: str) -> Any:
    if name == "DataSource":
        return numpy_for("lib.npyio.DataSource").lib.npyio.DataSource
    raise MissingNameError("npdec.lib.npyio", name)
