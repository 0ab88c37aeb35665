"""`np.core`: names of NumPy's private modules that libraries import from (`numpy.core`, `numpy._core`).

A name that the main namespace has is npdec's; any other is NumPy's own, a function as one that takes and gives npdec's
arrays. Each of the modules can be imported (`npdec.core.multiarray`).
"""

from __future__ import annotations

import sys
from typing import Any

from npdec._guests.modules import Standing, standing_name

DELEGATES_TO_NUMPY = True

_MODULES = (
    "_dtype", "_exceptions", "_internal", "_methods", "_multiarray_umath", "_type_aliases", "_ufunc_config",
    "arrayprint", "defchararray", "einsumfunc", "fromnumeric", "function_base", "getlimits", "memmap", "multiarray",
    "numeric", "numerictypes", "overrides", "records", "shape_base", "umath",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    return standing_name("_core", name)


for _name in _MODULES:
    _where = f"{__name__}.{_name}"
    globals()[_name] = sys.modules[_where] = Standing(_where, f"_core.{_name}")
