"""Functions whose results become complex where real numbers have none: `np.emath`, which is `np.lib.scimath`.

The dtype of the result follows the values: a decomposed array has the dtype that the plain one has.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._core.tracebacks import ends
from npdec._impl import dtypes_impl
from npdec._normalizer import namespace

__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]

_SINGLE = (torch.float32, torch.int8, torch.int16, torch.uint8, torch.uint16)


def _complex(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.complex64 if x.dtype in _SINGLE else torch.complex128)


def _value(x: torch.Tensor) -> torch.Tensor:
    return getattr(x, "value", x)


def _not_negative(x: Any) -> Any:
    """An array without negative numbers, or complex."""
    tensor = as_tensor(x)
    if dtypes_impl.kind(tensor.dtype) in "if" and bool((_value(tensor) < 0).any()):
        tensor = _complex(tensor)
    return wrap.wrap(tensor)


def _within_one(x: Any) -> Any:
    """An array of numbers from -1 to 1, or complex."""
    tensor = as_tensor(x)
    if dtypes_impl.kind(tensor.dtype) == "u":
        large = (_value(tensor).to(torch.float64) > 1).any()
    else:
        large = (_value(tensor).abs() > 1).any() if tensor.dtype is not torch.bool else torch.tensor(False)
    if not tensor.dtype.is_complex and bool(large):
        tensor = _complex(tensor)
    return wrap.wrap(tensor)


@ends
def sqrt(x: Any) -> Any:
    """The square root; complex if a number is negative.

    >>> np.emath.sqrt([4.0, -1.0])
    array([2.+0.j, 0.+1.j])
    """
    return namespace.functions["sqrt"](_not_negative(x))


@ends
def log(x: Any) -> Any:
    """The natural logarithm; complex if a number is negative.

    >>> np.emath.log(np.array([1.0, -1.0]))
    array([0.+0.j        , 0.+3.14159265j])
    """
    return namespace.functions["log"](_not_negative(x))


@ends
def log10(x: Any) -> Any:
    """The logarithm to base 10; complex if a number is negative.

    >>> np.emath.log10(100.0), np.emath.log10(-100.0).real
    (np.float64(2.0), np.float64(2.0))
    """
    return namespace.functions["log10"](_not_negative(x))


@ends
def log2(x: Any) -> Any:
    """The logarithm to base 2; complex if a number is negative.

    >>> np.emath.log2([8.0, 0.5])
    array([ 3., -1.])
    """
    return namespace.functions["log2"](_not_negative(x))


@ends
def logn(n: Any, x: Any) -> Any:
    """The logarithm of x to base n; complex if a number of either is negative.

    >>> np.emath.logn(2, [4.0, 8.0])
    array([2., 3.])
    """
    logarithm = namespace.functions["log"]
    return logarithm(_not_negative(x)) / logarithm(_not_negative(n))


@ends
def power(x: Any, p: Any) -> Any:
    """x to the power p; complex if a number of x is negative, and of floats if one of p is.

    >>> np.emath.power(-4.0, 0.5).imag, np.emath.power(2, -1)
    (np.float64(2.0), np.float64(0.5))
    """
    exponent = as_tensor(p)
    if dtypes_impl.kind(exponent.dtype) == "i" and bool((exponent < 0).any()):
        exponent = exponent.to(torch.float64)
    return namespace.functions["power"](_not_negative(x), wrap.wrap(exponent))


@ends
def arccos(x: Any) -> Any:
    """The inverse cosine; complex if a number is larger than 1 in magnitude.

    >>> np.emath.arccos(1), np.emath.arccos(2.0).real
    (np.float64(0.0), np.float64(0.0))
    """
    return namespace.functions["arccos"](_within_one(x))


@ends
def arcsin(x: Any) -> Any:
    """The inverse sine; complex if a number is larger than 1 in magnitude.

    >>> np.emath.arcsin([0.0, 0.5])
    array([0.        , 0.52359878])
    """
    return namespace.functions["arcsin"](_within_one(x))


@ends
def arctanh(x: Any) -> Any:
    """The inverse hyperbolic tangent; complex if a number is larger than 1 in magnitude.

    >>> np.emath.arctanh([0.0, 0.5])
    array([0.        , 0.54930614])
    """
    return namespace.functions["arctanh"](_within_one(x))
