"""What the modules of series share: coefficients as arrays, domains and the maps between them, text of numbers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import npdec as np
from npdec._core.tracebacks import ends
from npdec.exceptions import AbsentDTypeError

__all__ = ["as_series", "format_float", "getdomain", "mapdomain", "mapparms", "trimcoef", "trimseq"]

DELEGATES_TO_NUMPY = frozenset({"format_float"})


@ends
def trimseq(seq: Any) -> Any:
    """The sequence without the zeros at its end, of which one stays if there is nothing else.

    An empty sequence comes back as it is; otherwise the result is a slice.

    >>> np.polynomial.polyutils.trimseq([1, 0, 2, 0, 0])
    [1, 0, 2]
    """
    length = len(seq)
    while length > 1 and seq[length - 1] == 0:
        length -= 1
    return seq if length == len(seq) else seq[:length]


def as_series(alist: Sequence[Any], trim: bool = True) -> list[Any]:
    """The coefficients as vectors of one inexact dtype, copies without the zeros at the end (with them if not `trim`).

    Raises ValueError if one is empty, has more than one dimension, or holds no numbers (bool, text). Objects such as
    fractions stay objects.

    >>> np.polynomial.polyutils.as_series([[1, 2, 0], 3.5])
    [array([1., 2.]), array([3.5])]
    """
    try:
        arrays = [np.atleast_1d(np.asarray(a)) for a in alist]
    except AbsentDTypeError:
        if any(isinstance(item, (str, bytes)) for a in alist for item in (a if isinstance(a, (list, tuple)) else [a])):
            raise ValueError("Coefficient arrays have no common type") from None
        raise
    if any(not a.size for a in arrays):
        raise ValueError("Coefficient array is empty")
    if any(a.ndim != 1 for a in arrays):
        raise ValueError("Coefficient array is not 1-d")
    if trim:
        arrays = [trimseq(a) for a in arrays]
    if any(a.dtype.kind == "O" for a in arrays):  # fractions and the like: each as it is
        return [np.array(a, dtype=object) for a in arrays]
    try:
        common = np.common_type(*arrays)
    except TypeError as error:
        raise ValueError("Coefficient arrays have no common type") from error
    return [np.array(a, dtype=common) for a in arrays]


def refuse_objects(*arrays: Any) -> None:
    """Raise AbsentDTypeError for arrays of objects, say of fractions: series of them are left to NumPy's functions."""
    if any(getattr(getattr(a, "dtype", None), "kind", None) == "O" for a in arrays):
        raise AbsentDTypeError("torch holds no objects; convert the coefficients with .astype(float)")


def coefficients(alist: Sequence[Any], trim: bool = True) -> list[Any]:
    """The same, of numbers."""
    made = as_series(alist, trim)
    refuse_objects(*made)
    return made


@ends
def trimcoef(c: Any, tol: float = 0) -> Any:
    """The coefficients without those at the end that are at most `tol` in magnitude; one zero if none is left.

    Raises ValueError for a negative `tol`.

    >>> np.polynomial.polyutils.trimcoef([1.0, 0.5, 1e-9, 0.0], tol=1e-6)
    array([1. , 0.5])
    """
    if tol < 0:
        raise ValueError("tol must be non-negative")
    (c,) = as_series([c])
    (large,) = np.nonzero(np.abs(c) > tol)
    return c[: int(large[-1]) + 1].copy() if len(large) else c[:1] * 0


@ends
def getdomain(x: Any) -> Any:
    """The least interval that holds the numbers, [lowest, highest]; of complex ones, two corners of a rectangle.

    >>> np.polynomial.polyutils.getdomain([3, 0, 2])
    array([0., 3.])
    """
    (x,) = as_series([x], trim=False)
    if not np.iscomplexobj(x):
        return np.stack([x.min(), x.max()])
    corners = [pick(x.real) + 1j * pick(x.imag) for pick in (np.min, np.max)]
    return np.stack(corners).astype(np.complex128)


@ends
def mapparms(old: Any, new: Any) -> tuple[Any, Any]:
    """(offset, scale) of the line that takes the interval `old` to the interval `new`, ends to ends.

    >>> np.polynomial.polyutils.mapparms((-1, 1), (0, 4))
    (2.0, 2.0)
    """
    length = old[1] - old[0]
    offset = (old[1] * new[0] - old[0] * new[1]) / length
    return offset, (new[1] - new[0]) / length


@ends
def mapdomain(x: Any, old: Any, new: Any) -> Any:
    """Where the line that takes the interval `old` to the interval `new` takes `x`, of whatever shape.

    >>> np.polynomial.polyutils.mapdomain(np.array([-1, 0, 1]), (-1, 1), (0, 4))
    array([0., 2., 4.])
    """
    offset, scale = mapparms(old, new)
    return offset + scale * as_argument(x)


@ends
def format_float(x: Any, parens: bool = False) -> str:
    """A number as the text of a series shows it, by the print options; what is no float as `str` has it.

    With an exponent if it is very large or small, and then in parentheses if `parens`. The digits are NumPy's; without
    it a float has up to eight.

    >>> np.polynomial.polyutils.format_float(np.float64(0.5)), np.polynomial.polyutils.format_float(np.float64(1e9))
    ('0.5', '1.0e+09')
    """
    if not np.issubdtype(getattr(x, "dtype", type(x)), np.floating):
        return str(x)
    try:
        import numpy
    except ImportError:
        return f"{float(x):.8}"
    number: Any = numpy.float64(x) if isinstance(x, float) else numpy.asarray(getattr(x, "value", x))[()]
    return numpy.polynomial.polyutils.format_float(number, parens)


# --- for the modules of the package -----------------------------------------------------------------------------------


def as_argument(x: Any) -> Any:
    """Where to evaluate: a Python number, a scalar or a series as it is, anything else as an array."""
    if isinstance(x, (bool, int, float, complex, np.generic)) or getattr(x, "__array_ufunc__", x) is None:
        return x
    return np.asanyarray(x)


def as_int(x: Any, what: str) -> int:
    """Raises TypeError, saying what it is, if it is no integer."""
    try:
        return operator.index(x)
    except TypeError as error:
        raise TypeError(f"{what} must be an integer, received {x}") from error


def as_computed(x: Any) -> Any:
    """An array of a dtype in which it is computed: integers and booleans as floats, as adding 0.0 makes them."""
    array: Any = np.asarray(x)
    return array + 0.0


def as_inexact(c: Any) -> Any:
    """The coefficients as an array of at least one axis, integers and booleans as floats. Not a copy if it need not."""
    c = np.atleast_1d(np.asarray(c))
    refuse_objects(c)
    return c if np.issubdtype(c.dtype, np.inexact) else c.astype(np.float64)


def constants(numbers: Any, like: Any, ndim: int = 1) -> Any:
    """Numbers along the first of `ndim` axes, real, in the precision and on the device of an array."""
    made = np.asarray([float(number) for number in numbers], dtype=like.real.dtype, device=like.device)
    return made.reshape((-1, *[1] * (ndim - 1)))


def pair(what: str, ends: Any) -> Any:
    """The two ends of a domain or a window. Raises ValueError for another number of them."""
    (ends,) = as_series([ends], trim=False)
    if len(ends) != 2:
        raise ValueError(f"{what} has wrong number of elements.")
    return ends


def is_empty(domain: Any) -> bool:
    """Whether a domain is the empty list, which stands for the basis's own."""
    return isinstance(domain, list) and not domain
