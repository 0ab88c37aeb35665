"""The way to the installed NumPy and back, for what is done on the host: files, text, dates.

Arguments go as NumPy's arrays over the same memory, results come back as npdec's. NumPy never sees an array of npdec
here: its functions would hand it back to the function of npdec that called them.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_dtype, as_tensor
from npdec._core.base import ArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._dtypes.dtype import numpy_dtype
from npdec._impl._util import warn
from npdec.exceptions import AbsentDTypeError, DecompositionWarning

__all__ = ["arguments", "host_array", "numpy_for", "result", "storable", "to_numpy_dtype"]


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


def arguments(name: str, x: Any) -> Any:
    """An argument as NumPy takes it: npdec's arrays, scalars and dtypes as NumPy's, inside of containers as well."""
    if isinstance(x, (ArrayBase, torch.Tensor)):
        array = host_array(name, as_tensor(x))
        if not isinstance(x, ArrayBase) or type(x) is wrap.ARRAY:
            if getattr(x, "_ro", None) is not None:
                array.flags.writeable = False
            return array
        return array[()]
    if isinstance(x, dtype_class) or (isinstance(x, type) and issubclass(x, ArrayBase) and x is not wrap.ARRAY):
        return numpy_dtype(as_dtype(x))
    if type(x) in (list, tuple):
        return type(x)([arguments(name, item) for item in x])
    if type(x) is dict:
        return {key: arguments(name, item) for key, item in x.items()}
    return x


def result(name: str, x: Any, *, keep: bool = False) -> Any:
    """A result of NumPy as npdec's: arrays and scalars become arrays and scalars, containers keep their kind.

    What torch cannot hold (text, dates, records, objects) is returned as it is if `keep`; otherwise AbsentDTypeError.
    """
    numpy = numpy_for(name)
    if isinstance(x, (numpy.ndarray, numpy.generic)):
        masked = isinstance(x, numpy.ma.MaskedArray)
        if masked or x.dtype.kind not in "biufc" or x.dtype.char in "gG":
            if keep:
                return x
            what = "masked arrays" if masked else f"arrays of {x.dtype!r}"
            raise AbsentDTypeError(
                f"{name}: NumPy gives {what} here, which torch cannot hold; ask for a numeric dtype, or call "
                f"numpy.{name} and convert its parts"
            )
        tensor = as_tensor(x)
        return wrap.wrap_array(tensor) if isinstance(x, numpy.ndarray) else wrap.wrap_scalar(tensor)
    if type(x) in (list, tuple):
        return type(x)([result(name, item, keep=keep) for item in x])
    return x


def storable(name: str, arr: Any, allow_pickle: bool) -> Any:
    """What NumPy is to write for an array-like. Text and objects, which torch cannot hold, are left to NumPy."""
    numpy = numpy_for(name)
    try:
        made = arr if isinstance(arr, numpy.ndarray) else host_array(name, as_tensor(arr))
    except AbsentDTypeError:
        made = numpy.asanyarray(arguments(name, arr))
    if made.dtype.hasobject and not allow_pickle:
        raise ValueError("Object arrays cannot be saved when allow_pickle=False")
    return made


def to_numpy_dtype(dtype: Any) -> Any:
    """NumPy's dtype for what names a dtype of npdec; None stays. Raises AbsentDTypeError for text, records, ..."""
    return None if dtype is None else numpy_dtype(as_dtype(dtype))
