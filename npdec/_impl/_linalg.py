"""What the functions of linear algebra share: their dtypes, the checks of shapes, the words of their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._impl import dtypes_impl
from npdec.exceptions import LinAlgError

__all__ = [
    "OF_THE_BASELINE",
    "adjoint",
    "check_2d",
    "check_matrices",
    "check_square",
    "failing_with",
    "in_double",
    "inexact",
]

OF_THE_BASELINE = "(the matrix of the baseline: decompose with another one)"

_HALVES = (torch.float16, torch.bfloat16)
_COMPUTED = frozenset({torch.float32, torch.float64, torch.complex64, torch.complex128})


def inexact(*arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The arrays in the common dtype of linear algebra: integers are float64. Raises TypeError for half precision."""
    dtype = arrays[0].dtype
    if dtype in _COMPUTED and all(x.dtype is dtype for x in arrays):
        return arrays
    for x in arrays:
        if x.dtype in _HALVES:
            raise TypeError(f"array type {str(x.dtype).removeprefix('torch.')} is unsupported in linalg")
    return dtypes_impl.promote(
        *(x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(dtype=torch.float64) for x in arrays)
    )


_DOUBLE = {torch.float32: torch.float64, torch.complex64: torch.complex128}
_SINGLE = {double: single for single, double in _DOUBLE.items()}
_WITHOUT_DOUBLE = ("mps",)  # devices


def in_double(function: Callable[..., Any], *arrays: torch.Tensor) -> Any:
    """The function of arrays in their common dtype; single precision is computed in double and rounded, as by NumPy.

    The function gives a tensor or several; a tuple of them is returned as a plain one. Matrices lie in memory by rows.
    """
    arrays = inexact(*arrays)
    wide = _DOUBLE.get(arrays[0].dtype)
    if wide is None or arrays[0].device.type in _WITHOUT_DOUBLE:
        result = function(*arrays)
        return tuple([x.contiguous() for x in result]) if isinstance(result, tuple) else result.contiguous()
    result = function(*(x.to(dtype=wide) for x in arrays))
    return tuple(map(_rounded, result)) if isinstance(result, tuple) else _rounded(result)


def _rounded(x: torch.Tensor) -> torch.Tensor:
    return x.to(_SINGLE[x.dtype], memory_format=torch.contiguous_format) if x.dtype in _SINGLE else x.contiguous()


def check_matrices(*arrays: torch.Tensor) -> None:
    for x in arrays:
        if x.ndim < 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")


def check_2d(*arrays: torch.Tensor) -> None:
    for x in arrays:
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")


def check_square(x: torch.Tensor) -> None:
    check_matrices(x)
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def adjoint(x: torch.Tensor) -> torch.Tensor:
    """The conjugate transpose of the matrices in the last two axes."""
    transposed = torch.transpose(x, -2, -1)
    return torch.conj(transposed) if x.dtype.is_complex else transposed


class failing_with:
    """A context in which what torch reports as a failure of linear algebra is raised as LinAlgError with a message."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, torch.linalg.LinAlgError):
            of = f" {OF_THE_BASELINE}" if str(error).endswith(OF_THE_BASELINE) else ""
            raise LinAlgError(self.message + of) from None
