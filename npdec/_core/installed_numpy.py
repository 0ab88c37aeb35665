"""The installed NumPy, which is optional: asked for here, it is imported when somebody needs it."""

from __future__ import annotations

import functools
import types

__all__ = ["has_numpy", "numpy_or_none"]


@functools.cache
def numpy_or_none() -> types.ModuleType | None:
    """The installed NumPy, imported when it is first asked for."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


@functools.cache
def has_numpy() -> bool:
    """Whether NumPy is installed."""
    return numpy_or_none() is not None
