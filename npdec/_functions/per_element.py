"""Python functions called once for each element: what they are passed, and the tensor of what they return."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util
from npdec.exceptions import AbsentDTypeError

__all__ = ["call_each", "device_of", "gather", "operand", "shape_of"]


def operand(obj: Any) -> Any:
    """An argument as a tensor; an object that is no array, say None or an instance of a class, as it is."""
    try:
        return as_tensor(obj)
    except AbsentDTypeError:
        if isinstance(obj, (list, tuple)) or hasattr(obj, "__array__"):
            raise
        return obj


def shape_of(operands: Sequence[Any]) -> tuple[int, ...]:
    """The shape of the operands broadcast together."""
    return _util.broadcast_shapes(*[x.shape for x in operands if isinstance(x, torch.Tensor)])


def _elements(x: Any, shape: tuple[int, ...]) -> list[Any]:
    """The elements of an operand in a shape, as Python numbers; where these would lose contributions or the graph, as
    scalars."""
    count = math.prod(shape)
    if not isinstance(x, torch.Tensor):
        return [x] * count
    if type(x) is DecomposedTensor or (x.requires_grad and torch.is_grad_enabled()):
        numbers = [wrap.wrap_scalar(item) for item in x.reshape(-1).unbind()]
    else:
        numbers = x.reshape(-1).tolist()
    if tuple(x.shape) == shape:
        return numbers
    places = torch.arange(len(numbers)).reshape(x.shape).expand(shape).reshape(-1)
    return [numbers[place] for place in places.tolist()]


def call_each(
    function: Callable[..., Any],
    operands: Sequence[Any],
    shape: tuple[int, ...],
    nout: int,
    mask: torch.Tensor | None = None,
) -> list[list[Any]]:
    """What a function returns for the elements in row-major order, a list for each of its results; 0 where a mask, of
    the shape, is False."""
    columns = [_elements(x, shape) for x in operands]
    rows = zip(*columns, strict=True) if columns else [()] * math.prod(shape)
    if mask is None:
        returned = [function(*row) for row in rows]
    else:
        nothing = 0 if nout == 1 else (0,) * nout
        chosen = mask.reshape(-1).tolist()
        returned = [function(*row) if wanted else nothing for row, wanted in zip(rows, chosen, strict=True)]
    if nout == 1:
        return [returned]
    for item in returned:
        if not isinstance(item, tuple) or len(item) != nout:
            raise ValueError(f"the function must return a tuple of {nout} results, not {item!r}")
    return [[item[i] for item in returned] for i in range(nout)]


def gather(
    returned: list[Any], shape: tuple[int, ...], dtype: torch.dtype | None, device: torch.device | None = None
) -> torch.Tensor:
    """What a function returned for each element as a tensor of a shape, in a dtype or the common one."""
    tensor = as_tensor(returned, dtype)
    if tensor.dim() != 1:
        raise ValueError("setting an array element with a sequence.")
    tensor = tensor.reshape(shape)
    return tensor if device is None else tensor.to(device)


def device_of(operands: Sequence[Any]) -> torch.device | None:
    """The device of the operands, those with dimensions first; None if none is a tensor."""
    tensors = sorted((x for x in operands if isinstance(x, torch.Tensor)), key=lambda x: not x.dim())
    return tensors[0].device if tensors else None
