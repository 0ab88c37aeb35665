"""Arrays among the arguments and results of operations: found, replaced, compared and described."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType
from typing import Any

import torch

from npdec._array.iterators import flatiter
from npdec._core.base import ArrayBase, UfuncBase
from npdec._core.containers import refilled
from npdec._core.unbound import is_function
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import dtype as dtype_class

__all__ = ["Unknown", "arrays_in", "has_no_elements", "is_array", "elements_of", "rebuilt", "shown", "value_of"]

_ATOMS = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, enum.Enum, type,
    torch.dtype, torch.device, torch.layout, torch.memory_format, dtype_class, UfuncBase, BuiltinFunctionType,
)  # fmt: skip


class Unknown(Exception):
    """An argument of a kind of which nobody knows whether a second call with it is the same call."""


def is_array(value: Any) -> bool:
    """Whether a value is an array, a scalar or a tensor, of npdec, torch or NumPy."""
    if isinstance(value, (ArrayBase, torch.Tensor)):
        return not isinstance(value, flatiter)
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def arrays_in(tree: Any) -> Iterator[Any]:
    """The arrays, scalars and tensors in a value, and in lists, tuples, dicts and slices of such."""
    if is_array(tree):
        yield tree
    elif isinstance(tree, (tuple, list)):
        for item in tree:
            yield from arrays_in(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from arrays_in(item)
    elif isinstance(tree, slice):
        yield from arrays_in((tree.start, tree.stop, tree.step))


def rebuilt(tree: Any, array: Callable[[Any], Any], atom: Callable[[Any], Any] = lambda value: value) -> Any:
    """The value with others in the place of its arrays and of what else it holds. Raises Unknown for an object that a
    second call may change or find changed, and for a function of the program."""
    if is_array(tree):
        return array(tree)
    if isinstance(tree, (tuple, list)):
        items = [rebuilt(item, array, atom) for item in tree]
        return refilled(tree, items)
    if type(tree) is dict:
        return {key: rebuilt(item, array, atom) for key, item in tree.items()}
    if isinstance(tree, slice):
        return slice(*rebuilt((tree.start, tree.stop, tree.step), array, atom))
    if isinstance(tree, _ATOMS):
        return atom(tree)
    if is_function(tree) and tree.__module__.partition(".")[0] in ("npdec", "torch", "numpy"):
        return atom(tree)
    raise Unknown(type(tree).__name__)


def value_of(array: Any) -> torch.Tensor:
    """The numbers of an array as a plain tensor, which may be its memory."""
    tensor = array._t if isinstance(array, ArrayBase) else array
    if not isinstance(tensor, torch.Tensor):
        tensor = torch.from_numpy(sys.modules["numpy"].array(tensor))
    if isinstance(tensor, DecomposedTensor):
        tensor = tensor.value
    return tensor.detach()


def elements_of(value: Any) -> torch.Tensor | None:
    """The elements of an array, or a number of Python's, on the host; None for anything else, and for an array on a
    device that holds no numbers (meta)."""
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, ArrayBase):
        try:
            return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
        except (OverflowError, RuntimeError):
            return torch.tensor(float(abs(value)))
    if not is_array(value):
        return None
    try:
        found = value_of(value)
    except (TypeError, ValueError):
        return None  # of a dtype that torch has not
    if has_no_elements(found):
        return None
    if found.layout is not torch.strided:
        found = found.to_dense()
    return found.cpu().resolve_conj().resolve_neg()


def has_no_elements(array: Any) -> bool:
    """Whether an array is on a device that holds shapes only."""
    tensor = array._t if isinstance(array, ArrayBase) else array
    return isinstance(tensor, torch.Tensor) and tensor.is_meta


def name_of_dtype(value: Any) -> str:
    """The dtype of an array or of a number of Python's."""
    found = getattr(value, "dtype", None)
    return type(value).__name__ if found is None else str(found).removeprefix("torch.")


def shown(value: Any) -> str:
    """The dtype and the shape of an array, as messages have them."""
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(shown, value)) + ")"
    if not is_array(value):
        text = repr(value) if not callable(value) else getattr(value, "__name__", repr(value))
        return text if len(text) <= 40 else f"{text[:37]}..."
    shape = "scalar" if not value.shape and not isinstance(value, torch.Tensor) else str(tuple(value.shape))
    return f"{name_of_dtype(value)} {shape}"
