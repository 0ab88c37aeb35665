"""Arrays for NumPy's own functions of testing: the values, on the host, in NumPy's types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.generic import generic
from npdec._core.base import ArrayBase, SubclassBase, plain_of
from npdec._core.containers import refilled
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import is_own, numpy_dtype
from npdec._guests.array import as_plain
from npdec._guests.exchange import received
from npdec._subclasses.numpys import composed
from npdec._subclasses.overrides import sees_steps

__all__ = ["comparing", "from_host", "host", "numpy_testing"]


def numpy_testing(wanted: str) -> Any:
    """NumPy's testing module. Raises ImportError, naming what it is wanted for, where NumPy is not installed."""
    try:
        import numpy.testing
    except ImportError:
        raise ImportError(f"testing.{wanted}: NumPy compares and reports; install NumPy") from None
    return numpy.testing


def comparing(name: str, *compared: Any) -> tuple[Callable[..., None], Callable[[Any], Any]]:
    """NumPy's assertion of this name, and what becomes of its arguments: their values on the host. Where one is of a
    class that computes ufuncs, or wraps them, itself, which then compares, the arguments are left as they are."""
    function = getattr(numpy_testing(name), name)
    if sees_steps(x for x in compared if isinstance(x, SubclassBase)):
        return composed(f"testing.{name}") or function, lambda item: item
    return function, host


def host(item: Any) -> Any:
    """The item as NumPy compares it: arrays, scalars and dtypes of npdec, also inside lists, tuples and dicts.

    An array stays an array and a scalar a scalar. Of a decomposed array it is the value; bfloat16, which NumPy lacks,
    is float32. Torch tensors become arrays; what needs no conversion is returned itself.
    """
    item = plain_of(item)
    if isinstance(item, ArrayBase):
        values = _values(item._t)
        return values if type(item) is wrap.ARRAY else values[()]
    if isinstance(item, torch.Tensor):
        return _values(item)
    if getattr(type(item), "_is_guest", False):
        return as_plain(item)
    if is_own(item):
        return item if item.torch_dtype is torch.bfloat16 else numpy_dtype(item.torch_dtype)
    if isinstance(item, type) and issubclass(item, generic):
        return _scalar_type(item)
    if isinstance(item, (list, tuple)):
        items = [host(inner) for inner in item]
        if all(new is old for new, old in zip(items, item, strict=True)):
            return item
        return refilled(item, items)
    if isinstance(item, dict):
        values = {key: host(inner) for key, inner in item.items()}
        return item if all(values[key] is inner for key, inner in item.items()) else values
    if hasattr(type(item), "__array__") and not hasattr(type(item), "__array_interface__"):
        made = item.__array__()  # NumPy takes none but its own arrays from it
        return host(made) if isinstance(made, (ArrayBase, torch.Tensor)) else item
    return item


def _values(tensor: torch.Tensor) -> Any:
    if isinstance(tensor, DecomposedTensor):
        tensor = tensor.value
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()


def _scalar_type(cls: type[generic]) -> Any:
    """NumPy's scalar type of that name, abstract ones included."""
    import numpy

    return getattr(numpy, cls.__name__, cls)


def from_host(result: Any) -> Any:
    """An array or scalar of NumPy as npdec's."""
    return received(result)
