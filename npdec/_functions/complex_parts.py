"""Real and imaginary parts: arrays and scalars are asked for them, and so are Python numbers."""

from __future__ import annotations

from typing import Any

from npdec._core.base import ArrayBase
from npdec._core.tracebacks import ended
from npdec._functions.creation import asanyarray

__all__ = ["imag", "real"]

_WITH_PARTS: Any = (ArrayBase, int, float, complex)


def real(val: Any) -> Any:
    """The real part: of a complex array a view, any other array itself, of a Python number a Python number.

    >>> np.real(np.array([1 + 2j])), np.real(3.0)
    (array([1.]), 3.0)
    """
    try:
        return val.real if isinstance(val, _WITH_PARTS) else asanyarray(val).real
    except Exception as error:
        raise ended(error)  # noqa: B904


def imag(val: Any) -> Any:
    """The imaginary part: of a complex array a view, of any other array zeros of its dtype, of a Python number one.

    >>> np.imag(np.array([1 + 2j])), np.imag(3.0)
    (array([2.]), 0.0)
    """
    try:
        return val.imag if isinstance(val, _WITH_PARTS) else asanyarray(val).imag
    except Exception as error:
        raise ended(error)  # noqa: B904
