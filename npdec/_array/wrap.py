"""From a tensor to the array or scalar that holds it, and from a Python number to the scalar that is it.

The classes register themselves here when they are defined (`_composition` and `_scalars` import this module, not the
other way round), so everything that returns arrays can be written without knowing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad as _forward_ad
from torch.utils import _python_dispatch as _dispatch

from npdec._array.convert import dtype_name
from npdec._array.family import family_of
from npdec._core.base import NDArrayBase
from npdec._core.slots import Slot
from npdec._decomposed.pickling import Stored, safe
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import SCALARS
from npdec._native import calls
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = [
    "ARRAY", "BOOLS", "CARRIERS", "FLOAT64", "INT64", "INTEGERS", "NAMESPACE", "array_of", "dtype_repr", "is_on_host",
    "lent", "on_host", "read_scalar", "reduced", "register_array", "shape_repr", "wrap", "wrap_array", "wrap_scalar",
    "wrap_total",
]  # fmt: skip

ARRAY: Any = None  # ArrayBase, once it is defined
NAMESPACE: Slot[Any] = Slot("the public module")
BOOLS: list[Any] = []  # np.False_ and np.True_, once they are defined: on the host there are no others
FLOAT64: Any = None  # np.float64 and np.int64, once they are defined
INT64: Any = None
INTEGERS: set[Any] = set()  # the types of integer scalars
CARRIERS: dict[torch.dtype, Any] = {}  # the class of scalars that hold a tensor, for what a Python number cannot carry

_new, _new_float, _new_complex = object.__new__, float.__new__, complex.__new__
_BOOL, _FLOAT, _COMPLEX, _TENSOR = torch.bool, torch.float64, torch.complex128, torch.Tensor
_TO_INT64 = frozenset({torch.bool, torch.int64, torch.float32, torch.float64})
_is_compiling, _is_transformed = torch.compiler.is_dynamo_compiling, is_transformed
_scalar_from = None if calls is None else calls.scalar_from


def lent(array: Any) -> torch.Tensor:
    """The tensor of an array or a scalar, to be read: a lazy array stays lazy. What is made of it has memory of its
    own. torch.compile knows no tensor but the one that an array has."""
    tensor: torch.Tensor = array._t if calls is None or type(array) is not ARRAY or tracing() else array._lent
    return tensor


def viewed(array: Any) -> torch.Tensor:
    """The same, to make views of for `memory.view`: only an array that runs backwards does not stay lazy."""
    tensor: torch.Tensor = array._t if calls is None or type(array) is not ARRAY or tracing() else array._viewed
    return tensor


def register_array(cls: type[NDArrayBase]) -> None:
    """Make `cls` the class of arrays. Called once, where it is defined; RuntimeError if there is one."""
    global ARRAY  # noqa: PLW0603  (read more often than a slot could be)
    if ARRAY is not None:
        raise RuntimeError(f"the class of arrays is {ARRAY!r} already")
    ARRAY = cls


def wrap(tensor: torch.Tensor) -> Any:
    """The tensor as NumPy's computing functions return it: a scalar if it is 0-d, else an array."""
    plain = tensor.value if type(tensor) is DecomposedTensor else tensor  # which answers without being dispatched
    if plain.dim():
        array = _new(ARRAY)
        array._t = tensor
        array._d = plain.dtype
        array._m = None
        return array
    return wrap_scalar(tensor)


@safe
def wrap_array(tensor: torch.Tensor) -> Any:
    """The tensor as an array, of whatever dimension."""
    plain = tensor.value if type(tensor) is DecomposedTensor else tensor
    array = _new(ARRAY)
    array._t = tensor
    array._d = plain.dtype
    array._m = None
    if not plain.dim():
        family_of(array)  # which says that it may have no axes (`npdec._core.base.NDArrayBase`)
    return array


def array_of(tensor: torch.Tensor, dtype: torch.dtype) -> Any:
    """`wrap_array` of a tensor that is known to be of a dtype, and to have axes."""
    array = _new(ARRAY)
    array._t = tensor
    array._d = dtype
    array._m = None
    return array


def reduced(wrap: Callable[[torch.Tensor], Any], tensor: torch.Tensor) -> tuple[Any, ...]:
    """How an array or scalar that holds the tensor is pickled."""
    return wrap, (tensor if isinstance(tensor, DecomposedTensor) else Stored(tensor),)


def is_on_host(tensor: torch.Tensor) -> bool:
    """Whether the tensor is nothing but numbers in the host's memory: it carries neither contributions nor a graph or
    tangent, and nobody follows what is done with it (torch.compile, torch.func's transforms, dispatch modes)."""
    return (
        type(tensor) is _TENSOR
        and not _is_compiling()
        and tensor.is_cpu
        and not tensor.requires_grad
        and not _is_transformed()
        and not _dispatch._is_in_torch_dispatch_mode
        and _forward_ad._current_level < 0
    )


@safe
def wrap_scalar(tensor: torch.Tensor) -> Any:
    """The 0-d tensor as a scalar of its dtype. It must alias nothing that is ever written."""
    if _scalar_from is not None and not _is_compiling():
        made = _scalar_from(tensor)
        if made is not None:
            return made
    dtype = tensor.dtype
    if not (  # `is_on_host`, written out: nearly every reduction of small arrays ends here
        type(tensor) is _TENSOR
        and tensor.is_cpu
        and not tensor.requires_grad
        and not _is_transformed()
        and not _dispatch._is_in_torch_dispatch_mode
        and _forward_ad._current_level < 0
        and not _is_compiling()
    ):
        scalar = _new(CARRIERS[dtype])
        scalar._t = tensor
        return scalar
    return _of_number(tensor, dtype, tensor.item())


def _of_number(tensor: torch.Tensor, dtype: torch.dtype, number: Any) -> Any:
    """The scalar of a tensor that is nothing but this number."""
    if dtype is _BOOL and BOOLS:
        return BOOLS[number]
    cls = SCALARS[dtype]
    if dtype is _FLOAT:
        scalar = _new_float(cls, number)
    else:
        scalar = on_host(cls, number)
        if dtype is _BOOL:
            return scalar
    scalar._n = number
    scalar._t = tensor
    return scalar


def wrap_total(tensor: torch.Tensor, dtype: torch.dtype) -> Any:
    """As `wrap_scalar`, of what was computed of arrays of a dtype: of float64, a float is of float64 too, and an int is
    of int64 unless the dtype is one of fewer bits. Only of other numbers the tensor is asked, which takes its time."""
    if _scalar_from is not None and not _is_compiling():
        made = _scalar_from(tensor)
        if made is not None:
            return made
    if (
        type(tensor) is _TENSOR
        and tensor.is_cpu
        and not tensor.requires_grad
        and not _is_transformed()
        and not _dispatch._is_in_torch_dispatch_mode
        and _forward_ad._current_level < 0
        and not _is_compiling()
    ):
        number: Any = tensor.item()
        kind = type(number)
        if kind is float and dtype is _FLOAT:
            scalar = _new_float(FLOAT64, number)
            scalar._n = number
            scalar._t = tensor
            return scalar
        if kind is int and dtype in _TO_INT64:
            scalar = _new(INT64)
            scalar._n = number
            scalar._t = tensor
            return scalar
        return BOOLS[number] if kind is bool else _of_number(tensor, tensor.dtype, number)
    return wrap_scalar(tensor)


def read_scalar(tensor: torch.Tensor) -> Any:
    """The number of a 0-d tensor, which may be written later, as a scalar."""
    return on_host(SCALARS[tensor.dtype], tensor.item()) if is_on_host(tensor) else wrap_scalar(tensor.clone())


@safe
def on_host(cls: Any, number: Any) -> Any:
    """The scalar of a concrete type for a Python number: a bool, int, float or complex that its dtype holds exactly."""
    dtype = cls._torch_dtype
    if dtype is _FLOAT:
        scalar = _new_float(cls, number)
    elif dtype is _BOOL and BOOLS:
        return BOOLS[number]
    elif dtype is _COMPLEX:
        scalar = _new_complex(cls, number)
    else:
        scalar = _new(cls)
    scalar._n = number
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
