"""`like=`: the library of the given array makes the result (NEP 35), by NumPy's protocol `__array_function__`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from npdec._core.base import ArrayBase, NDArrayBase, SubclassBase

__all__ = ["handed_on"]


def handed_on(function: Callable[..., Any], like: Any, *args: Any, **kwargs: Any) -> Any:
    """What the library of `like` gives for a call of npdec's `function`: npdec itself for its own and NumPy's arrays.

    Raises TypeError for what does not implement the protocol, or refuses the call.
    """
    numpy = sys.modules.get("numpy")
    own = isinstance(like, NDArrayBase) and not isinstance(like, SubclassBase)
    if own or (numpy is not None and isinstance(like, numpy.ndarray)):
        return function(*args, **kwargs)
    scalar = isinstance(like, ArrayBase) and not isinstance(like, NDArrayBase)
    if scalar or not hasattr(type(like), "__array_function__"):
        raise TypeError("The `like` argument must be an array-like that implements the `__array_function__` protocol.")
    result = like.__array_function__(function, (type(like),), args, kwargs)
    if result is NotImplemented:
        raise TypeError(
            f"no implementation found for 'numpy.{function.__name__}' on types that implement __array_function__: "
            f"[{type(like)!r}]"
        )
    return result
