"""The way to the installed NumPy: itself, and the values of a tensor as its array."""

from __future__ import annotations

from typing import Any

import torch

from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._dtypes.dtype import is_own, numpy_dtype
from npdec._impl._util import warn
from npdec.exceptions import DecompositionWarning

__all__ = ["Lender", "host_array", "numpy_for", "to_numpy_dtype"]


def numpy_for(name: str) -> Any:
    """NumPy. Raises ImportError, naming the function that needs it, where it is not installed."""
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{name} is done by NumPy itself: install NumPy") from None
    return numpy


def host_array(name: str, x: torch.Tensor) -> Any:
    """The values of a tensor as a NumPy array, which shares their memory where that is on the host.

    Contributions are left behind with a DecompositionWarning. Raises TypeError for bfloat16, which NumPy lacks.
    """
    if isinstance(x, DecomposedTensor):
        warn(
            f"{name} drops the contributions of a decomposed array; pass .value to say that only the value matters",
            DecompositionWarning,
        )
        x = x.value
    if x.dtype is torch.bfloat16:
        raise TypeError(f"{name}: NumPy has no bfloat16; convert with .astype('float32') first")
    return x.detach().cpu().resolve_conj().resolve_neg().numpy()


def to_numpy_dtype(dtype: Any) -> Any:
    """NumPy's dtype for what names a dtype; None stays. Raises TypeError for what names none."""
    if dtype is None:
        return None
    found = dtype_class(dtype)
    return numpy_dtype(found.torch_dtype) if is_own(found) else found


class Lender:
    """An array as NumPy takes its memory by strides that are its own: buffers, which Python asks arrays for from 3.12
    on, have others along axes of length 1."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def __array_struct__(self) -> Any:
        return self._array.__array_struct__
