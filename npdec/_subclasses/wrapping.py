"""Which argument's class the result of a ufunc has, by NumPy's `__array_priority__` and `__array_wrap__`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.generic import generic
from npdec._core.base import ArrayBase, SubclassBase
from npdec._impl._util import warn
from npdec._normalizer.beside import priority_of
from npdec._subclasses.arguments import as_array
from npdec._subclasses.array import Subclassed, adopt

__all__ = ["dominant", "finished", "wrapped", "wrapper_among"]

_NUMBERS = frozenset({bool, int, float, complex})


def wrapper_among(inputs: Iterable[Any]) -> Any:
    """The argument that wraps what is computed of these: that of the highest priority, of several the first. None
    where it is a plain array or a number."""
    found, highest = None, -math.inf
    for x in inputs:
        own = x if isinstance(x, SubclassBase) else None
        if own is not None or type(x) is wrap.ARRAY:
            priority = priority_of(x)
        elif isinstance(x, ArrayBase) or type(x) in _NUMBERS:
            priority = generic.__array_priority__
        elif hasattr(type(x), "__array_wrap__") and not _is_plain(x):
            own, priority = x, float(getattr(x, "__array_priority__", 0.0))
        else:
            continue
        if priority > highest or (own is not None and found is None and priority == 0.0):
            found, highest = own, priority
    return found


def _is_plain(x: Any) -> bool:
    """Whether what another library has is an array as npdec's are, for which no class has to be kept."""
    numpy = sys.modules.get("numpy")
    return isinstance(x, torch.Tensor) or (numpy is not None and isinstance(x, (numpy.ndarray, numpy.generic)))


def dominant(inputs: Iterable[Any]) -> Any:
    """The argument of a subclass whose priority is above that of plain arrays, and of all others; None if there is
    none."""
    found, highest = None, 0.0
    for x in inputs:
        if isinstance(x, SubclassBase) and priority_of(x) > highest:
            found, highest = x, priority_of(x)
    return found


def wrapped(source: Any, result: Any, context: Any = None, scalar: bool = False) -> Any:
    """A result as `source` wraps it: by its `__array_wrap__`, to which it is an array, of no dimensions too. `scalar`
    says that a plain result would be a scalar."""
    array = as_array(result)
    if not isinstance(array, ArrayBase):
        return result
    if isinstance(array, SubclassBase):
        return source.__array_wrap__(array, context, scalar)
    if type(source).__array_wrap__ is Subclassed.__array_wrap__:
        return adopt(type(source), array, source)
    try:
        return source.__array_wrap__(array, context, scalar)
    except TypeError as error:
        refused = error
    for arguments in ((array, context), (array,)):  # as NumPy 1 called it
        try:
            made = source.__array_wrap__(*arguments)
        except TypeError:
            continue
        warn(
            "__array_wrap__ must accept context and return_scalar arguments (positionally) in the future. (Deprecated "
            "NumPy 2.0)",
            DeprecationWarning,
        )
        return made
    raise refused


def finished(out: Any, context: Any) -> Any:
    """An array that was written into, as its own class gives it back."""
    if isinstance(out, Subclassed) and type(out).__array_wrap__ is not Subclassed.__array_wrap__:
        return out.__array_wrap__(out, context, False)
    return out
