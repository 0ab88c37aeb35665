"""From a tensor to the array or scalar that holds it.

The classes register themselves here when they are defined (`_composition` and `_scalars` import this module, not the
other way round), so everything that returns arrays can be written without knowing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._array.convert import dtype_name
from npdec._core.base import NDArrayBase
from npdec._decomposed.pickling import Stored, safe
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import SCALARS

__all__ = [
    "ARRAY", "BOOLS", "NAMESPACE", "dtype_repr", "reduced", "register_array", "shape_repr", "wrap", "wrap_array",
    "wrap_scalar",
]  # fmt: skip

ARRAY: Any = None  # ArrayBase, once it is defined
NAMESPACE: list[Any] = []  # the public module, once it is imported
BOOLS: list[Any] = []  # np.False_ and np.True_, once they are defined: on the host there are no others

_new = object.__new__
_BOOL, _TENSOR, _is_compiling = torch.bool, torch.Tensor, torch.compiler.is_dynamo_compiling


def register_array(cls: type[NDArrayBase]) -> None:
    """Make `cls` the class of arrays. Called once, where it is defined."""
    global ARRAY  # noqa: PLW0603
    ARRAY = cls


def wrap(tensor: torch.Tensor) -> Any:
    """The tensor as NumPy's computing functions return it: a scalar if it is 0-d, else an array."""
    if tensor.dim():
        array = _new(ARRAY)
        array._t = tensor
        array._d = tensor.dtype
        return array
    return wrap_scalar(tensor)


@safe
def wrap_array(tensor: torch.Tensor) -> Any:
    """The tensor as an array, of whatever dimension."""
    array = _new(ARRAY)
    array._t = tensor
    array._d = tensor.dtype
    return array


def reduced(wrap: Callable[[torch.Tensor], Any], tensor: torch.Tensor) -> tuple[Any, ...]:
    """How an array or scalar that holds the tensor is pickled."""
    return wrap, (tensor if isinstance(tensor, DecomposedTensor) else Stored(tensor),)


@safe
def wrap_scalar(tensor: torch.Tensor) -> Any:
    """The 0-d tensor as a scalar of its dtype. It must alias nothing that is ever written."""
    dtype = tensor.dtype
    if dtype is _BOOL and type(tensor) is _TENSOR and tensor.is_cpu and BOOLS and not _is_compiling():
        try:
            return BOOLS[int(tensor.item())]
        except RuntimeError:  # inside torch.func's transforms a tensor has no value
            pass
    scalar = _new(SCALARS[dtype])
    scalar._t = tensor
    scalar._d = dtype
    return scalar


def dtype_repr(dtype: torch.dtype) -> str:
    """A torch dtype as NumPy's messages spell it.

    >>> dtype_repr(torch.float32)
    "dtype('float32')"
    """
    return f"dtype('{dtype_name(dtype)}')"


def shape_repr(shape: Sequence[int]) -> str:
    """A shape as NumPy's messages spell it, without spaces.

    >>> shape_repr((2, 3)), shape_repr((2,))
    ('(2,3)', '(2,)')
    """
    return "(" + ",".join(map(str, shape)) + (",)" if len(shape) == 1 else ")")
