"""Real and imaginary parts, and whether there are any: arrays, scalars and Python numbers are asked for them."""

from __future__ import annotations

from typing import Any

from npdec._array.foreign_arrays import asks_functions, is_numpys_scalar
from npdec._array.ndarray import Composition
from npdec._array.scalars import complexfloating
from npdec._core.base import ArrayBase, MetAsking, MetSubclass, SubclassBase
from npdec._core.door import hand_over
from npdec._core.tracebacks import ended
from npdec._functions.creation import asanyarray

__all__ = ["imag", "iscomplexobj", "isrealobj", "real"]

_WITH_PARTS: Any = (ArrayBase, int, float, complex)


def _array_or_scalar(val: Any) -> Any:
    """What is no array of npdec's as one; a scalar of NumPy's as a scalar."""
    made = asanyarray(val)
    return made[()] if is_numpys_scalar(val) else made


def real(val: Any) -> Any:
    """The real part: of a complex array a view, any other array itself, of a Python number a Python number.

    >>> np.real(np.array([1 + 2j])), np.real(3.0)
    (array([1.]), 3.0)
    """
    try:
        if type(val) is Composition:
            return val.real
        if isinstance(val, SubclassBase):  # which may compute functions itself
            return hand_over("real", (val,), {}, MetSubclass(type(val)))
        if asks_functions(val):
            return hand_over("real", (val,), {}, MetAsking(type(val)))
        return val.real if isinstance(val, _WITH_PARTS) else _array_or_scalar(val).real
    except Exception as error:
        raise ended(error)  # noqa: B904


def imag(val: Any) -> Any:
    """The imaginary part: of a complex array a view, of any other array zeros of its dtype, of a Python number one.

    >>> np.imag(np.array([1 + 2j])), np.imag(3.0)
    (array([2.]), 0.0)
    """
    try:
        if type(val) is Composition:
            return val.imag
        if isinstance(val, SubclassBase):  # which may compute functions itself
            return hand_over("imag", (val,), {}, MetSubclass(type(val)))
        if asks_functions(val):
            return hand_over("imag", (val,), {}, MetAsking(type(val)))
        return val.imag if isinstance(val, _WITH_PARTS) else _array_or_scalar(val).imag
    except Exception as error:
        raise ended(error)  # noqa: B904


def iscomplexobj(x: Any) -> Any:
    """Whether the dtype is complex, whatever the values: a Python bool. Objects that say their dtype are asked for it.

    >>> np.iscomplexobj(np.array([1 + 0j])), np.iscomplexobj([1, 2j]), np.iscomplexobj(1.5)
    (True, True, False)
    """
    try:
        if type(x) is Composition:
            return x._d.is_complex
        if asks_functions(x):
            return hand_over("iscomplexobj", (x,), {}, MetAsking(type(x)))
        try:
            kind = x.dtype.type
        except AttributeError:
            kind = asanyarray(x).dtype.type
        return issubclass(kind, complexfloating)
    except Exception as error:
        raise ended(error)  # noqa: B904


def isrealobj(x: Any) -> Any:
    """Whether the dtype is not complex, whatever the values: a Python bool. See `iscomplexobj`.

    >>> np.isrealobj(np.array([1 + 0j]))
    False
    """
    try:
        if asks_functions(x):
            return hand_over("isrealobj", (x,), {}, MetAsking(type(x)))
        return not iscomplexobj(x)
    except Exception as error:
        raise ended(error)  # noqa: B904
