"""What NumPy computes in torch's place, where it is installed: of plain numbers in the host's memory, which both see.

Only what is exact is left to it (integers, booleans, orders, places, selections, the bits of floats), so that the
result is the same bits whichever of the two computes it. Of everything else, and of whatever somebody follows, the
answer is None, and the kernel goes torch's way.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._core.installed_numpy import numpy_or_none
from npdec._impl._util import is_unwatched

__all__ = [
    "MANY", "are_many", "by_numpy", "by_numpy_elementwise", "by_numpy_into", "by_numpy_together", "compared",
    "places", "put_selected", "selected",
]  # fmt: skip

MANY = 5000  # elements, from which on NumPy is ahead although torch is asked sooner
_SHARED, _THREADS = 2**17, 4  # elements that torch divides among more threads than NumPy, which has one, makes up for

_Tensor = torch.Tensor
_is_compiling = torch.compiler.is_dynamo_compiling
_modes, _traced, _from_numpy = torch._C._len_torch_function_stack, torch._C._get_tracing_state, torch.from_numpy
_COMPARISONS = {"eq": "equal", "lt": "less", "le": "less_equal", "ge": "greater_equal"}
_RANGE = 1e38  # in which all floats lie that float32 holds, and few others
_UNMOVED = frozenset({torch.uint16, torch.uint32, torch.uint64})  # which torch does not select
_increment_version = torch._C._increment_version
_REFUSALS = (RuntimeError, TypeError, ValueError)  # a dtype or a bit that NumPy lacks; arguments that it refuses


@functools.cache
def _known(name: str) -> tuple[Callable[..., Any], type, contextvars.Context] | None:
    """NumPy's function, its class of arrays, and a context in which it says nothing of floating-point errors, which
    npdec finds by itself; None where NumPy is not installed."""
    numpy = numpy_or_none()
    if numpy is None:
        return None
    context = contextvars.Context()
    context.run(numpy.seterr, all="ignore")
    return getattr(numpy, name), numpy.ndarray, context


def are_many(x: torch.Tensor) -> bool:
    """Whether a tensor has so many elements that NumPy is worth asking; of what is traced it is not to be asked."""
    return not _is_compiling() and type(x) is _Tensor and x.numel() >= MANY and not _is_shared(x)


def _is_shared(x: torch.Tensor) -> bool:
    return x.numel() > _SHARED and torch.get_num_threads() > _THREADS


def by_numpy(name: str, *operands: Any, **options: Any) -> Any:
    """What NumPy's function gives for tensors (and Python's own numbers): a tensor, or a tuple of them, in row-major
    order. None where torch has to compute it."""
    arrays = _arrays(operands)
    return None if arrays is None else _computed(name, arrays, options)


def by_numpy_together(name: str, operands: Sequence[torch.Tensor], **options: Any) -> Any:
    """As `by_numpy`, of a function that takes its arrays in one sequence."""
    arrays = _arrays(operands)
    return None if arrays is None else _computed(name, (arrays,), options)


def by_numpy_elementwise(name: str, *operands: Any) -> Any:
    """As `by_numpy`, of a ufunc. Tensors that do not lie in row-major order are left to torch, which lays out the
    result as they are, and so are booleans of one shape, which torch goes through as fast."""
    if _is_compiling():
        return None
    for x in operands:
        if type(x) is _Tensor and not x.is_contiguous():
            return None
    first = operands[0]
    if type(first) is not _Tensor or _is_shared(first):
        return None
    if first.dtype is torch.bool and first.shape == operands[-1].shape:
        return None
    arrays = _arrays(operands)
    return None if arrays is None else _computed(name, arrays, {})


def compared(how: str, x: torch.Tensor, y: Any) -> torch.Tensor:
    """A comparison of tensors in one dtype, by torch's name, by whichever of the two makes it sooner."""
    found = by_numpy_elementwise(_COMPARISONS[how], x, y) if are_many(x) else None
    return getattr(torch, how)(x, y) if found is None else found


def by_numpy_into(name: str, out: torch.Tensor, *operands: Any) -> bool:
    """Whether NumPy's ufunc has been written into a tensor, with its dtype and shape, that torch may write into."""
    for x in operands:
        if type(x) is _Tensor and not (x.is_contiguous() and x.dtype is out.dtype and x.shape in (out.shape, ())):
            return False
    free = out.is_contiguous() and not out.is_inference() and not _is_shared(out)
    arrays = _arrays((*operands, out)) if free else None
    known = None if arrays is None else _known(name)
    if arrays is None or known is None:
        return False
    _increment_version((out,))  # first: an interrupt may come between
    known[2].copy().run(known[0], *arrays[:-1], out=arrays[-1])
    return True


def places(truth: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The indices of what is true along each axis."""
    found = by_numpy("nonzero", truth) if truth.dim() == 1 and are_many(truth) else None
    return torch.nonzero(truth, as_tuple=True) if found is None else found


def selected(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor | None:
    """`x[mask]` of a long mask of as many elements as x, or of slices along its first axis. None: torch may select."""
    if not are_many(mask) or x.dtype in _UNMOVED or not x.is_contiguous():
        return None
    if mask.shape != x.shape and (mask.dim() != 1 or mask.shape[0] != x.shape[0]):
        return None
    index = by_numpy("flatnonzero", mask)
    return None if index is None else torch.index_select(x if mask.dim() == 1 else x.view(-1), 0, index)


def put_selected(x: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> bool:
    """Whether `x[mask] = values` was written, of a long mask of as many elements and as many values as it is true."""
    if not are_many(mask) or x.dtype in _UNMOVED or not x.is_contiguous() or mask.shape != x.shape:
        return False
    if type(x) is not _Tensor or type(values) is not _Tensor or values.dtype is not x.dtype or values.dim() != 1:
        return False
    index = by_numpy("flatnonzero", mask)
    if index is None or index.shape != values.shape:
        return False
    x.view(-1).scatter_(0, index, values)
    return True


def _arrays(operands: Sequence[Any]) -> list[Any] | None:
    """The memory of tensors as NumPy sees it; None where it is not plain numbers, or somebody follows what is done."""
    if not is_unwatched() or _modes() or _traced() is not None or numpy_or_none() is None:
        return None
    arrays: list[Any] = []
    try:
        for x in operands:
            if type(x) is _Tensor:
                if x.requires_grad or not x.is_cpu:
                    return None
                arrays.append(x.numpy())
            elif type(x) is int or (type(x) is float and -_RANGE < x < _RANGE):
                arrays.append(x)
            else:
                return None
    except _REFUSALS:
        return None
    return arrays


def _computed(name: str, arrays: Sequence[Any], options: dict[str, Any]) -> Any:
    known = _known(name)
    if known is None:
        return None
    function, ndarray, context = known
    try:  # each call in a copy: no context is entered twice at a time
        result = context.copy().run(function, *arrays, **options)
    except _REFUSALS:
        return None
    if type(result) is ndarray:
        made = _from_numpy(result)
        return made if made.is_contiguous() else made.contiguous()
    if isinstance(result, tuple):
        return tuple([_as_tensor(item) for item in result])
    return _as_tensor(result)


def _as_tensor(item: Any) -> torch.Tensor:
    """An array, or a number of NumPy's or Python's, as a tensor."""
    if type(item) is int or type(item) is bool:
        return torch.tensor(item)
    made = _from_numpy(item if item.ndim else item.reshape(1))
    return made.contiguous() if item.ndim else made.reshape(())
