"""What a call says where `npdec._native` answers it, and where Python does."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from npdec._native import calls

native = pytest.mark.skipif(calls is None, reason="not built")


def told(call: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """What a call gives, in all that can be seen of it."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = call(*args)
        except Exception as error:
            return type(error), str(error)
    return type(found), getattr(found, "dtype", None), repr(found), [str(warning.message) for warning in warned]


def in_python(call: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """The same, with all calls left to Python: a profiler is told of them."""
    before = sys.getprofile()
    sys.setprofile(lambda *event: None)
    try:
        return told(call, *args)
    finally:
        sys.setprofile(before)
