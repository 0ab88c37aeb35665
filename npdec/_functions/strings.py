"""The functions of text of the installed NumPy, taking and giving npdec's arrays of numbers."""

from __future__ import annotations

import functools
from typing import Any

from npdec._array import wrap
from npdec._array.host_numpy import arguments, numpy_for, result

__all__ = ["names", "text_function"]


def names(module: str) -> list[str]:
    """The public names of NumPy's module. Raises ImportError without NumPy."""
    return list(getattr(numpy_for(module), module).__all__)


def text_function(module: str, name: str) -> Any:
    """The function of NumPy's module, made one of npdec; a class of NumPy's stays itself."""
    function = getattr(getattr(numpy_for(module), module), name)
    if isinstance(function, type):
        return function
    where = f"{module}.{name}"

    def call(*args: Any, **options: Any) -> Any:
        given = [arguments(where, x) for x in args]
        out = options.pop("out", None)
        found = result(where, function(*given, **{k: arguments(where, x) for k, x in options.items()}), keep=True)
        if out is None:
            return found
        wrap.NAMESPACE.value.copyto(out[0] if isinstance(out, tuple) else out, found, casting="same_kind")
        return out[0] if isinstance(out, tuple) else out

    functools.update_wrapper(call, function)
    call.__name__ = call.__qualname__ = name
    call.__module__ = f"npdec.{module}"
    call.__doc__ = f"numpy.{where}, which documents it, on the host: text stays NumPy's, numbers come back as npdec's."
    return call
