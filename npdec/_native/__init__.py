"""The ordinary cases of methods that are called most, in C, where that was built (`hatch_build.py`); else None.

Each function there stands before one in Python, which it hands what is not ordinary. So this module changes how long a
call takes, and nothing else. The environment variable `NPDEC_PURE_PYTHON` leaves it out.

What the law looks at in several passes over memory is found in one (`slopes.c`, `normal.c`, `pools.c`): where that is
not built, or somebody follows, torch finds it.

Arrays of few elements are lazy: where their numbers lie is known, and a tensor is made when `_t` is asked for
(`lazy.c`, `holding.c`). What is computed of them is what gives the same on every processor, to the bit (`loops.c`).
"""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any

import torch

__all__ = ["calls"]

_INTERFACE = 27
calls: Any = None
if not os.environ.get("NPDEC_PURE_PYTHON"):
    with contextlib.suppress(ImportError):  # it is not built, or for another Python
        calls = importlib.import_module("npdec._native._calls")
if calls is not None and getattr(calls, "INTERFACE", 0) != _INTERFACE:
    raise ImportError(
        f"npdec._native: {calls.__file__} was compiled from other sources; install npdec again (pip install -e .), or "
        "set NPDEC_PURE_PYTHON=1 to do without it"
    )
if calls is not None and not calls.is_known(torch.Tensor.__dlpack_c_exchange_api__):
    calls = None  # torch exchanges tensors in another way
