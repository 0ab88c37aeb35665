"""Helpers that kernels share: axes, casts, warnings, and the dtypes for which torch has fewer kernels."""

from __future__ import annotations

import contextlib
import ctypes
import math
import operator
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils import _python_dispatch

from npdec.exceptions import AxisError, ComplexWarning

_HALVES = (torch.float16, torch.bfloat16)


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which contributions of numbers of a dtype are computed: of half precision, single."""
    return torch.float32 if dtype in _HALVES else dtype


def is_half(x: torch.Tensor) -> bool:
    return x.dtype in _HALVES


def single(x: torch.Tensor) -> torch.Tensor:
    """Numbers of half precision in single precision, with what they carry; others as they are."""
    return x.float() if x.dtype in _HALVES else x


def normalize_axis(axis: int, ndim: int, argname: str | None = None) -> int:
    """The axis counted from the front. Raises AxisError if it is out of range."""
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise AxisError(index, ndim, argname)
    return index + ndim if index < 0 else index


def normalize_axes(
    axis: int | Iterable[int] | None, ndim: int, argname: str | None = None, allow_duplicate: bool = False
) -> tuple[int, ...]:
    """A tuple of axes counted from the front; None means all. Raises AxisError, or ValueError on a repeated axis."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, int):
        return (normalize_axis(axis, ndim, argname),)
    axes = tuple(normalize_axis(item, ndim, argname) for item in axis)
    if not allow_duplicate and len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{argname}` argument" if argname else "repeated axis")
    return axes


def move_axes_last(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """`x` with the axes, counted from the front, merged into one last axis."""
    kept = [dim for dim in range(x.ndim) if dim not in axes]
    return x.permute((*kept, *axes)).reshape([x.shape[dim] for dim in kept] + [-1 if x.numel() else _size(x, axes)])


def restore_axes(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """`x` with an axis of length one inserted at each of the axes (keepdims)."""
    for axis in sorted(axes):
        x = x.unsqueeze(axis)
    return x


def _size(x: torch.Tensor, axes: tuple[int, ...]) -> int:
    size = 1
    for axis in axes:
        size *= x.shape[axis]
    return size


def broadcast_shapes(*given: Iterable[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together. Raises ValueError if they do not fit.

    torch's own function imports SymPy when it is first asked, which takes longer than most programs run.
    """
    shapes = [tuple(shape) for shape in given]
    result = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for axis, n in enumerate(shape, len(result) - len(shape)):
            if n != 1:
                if result[axis] not in (1, n):
                    text = " ".join(str(shape).replace(" ", "") for shape in shapes)
                    raise ValueError(f"operands could not be broadcast together with shapes {text} ")
                result[axis] = n
    return tuple(result)


# --- warnings, and conditions on values -------------------------------------------------------------------------------


# What was said of a call that is computed in pieces; its numbers are those of the first piece that it holds for.
_said: ContextVar[set[str] | None] = ContextVar("npdec.said", default=None)
_BETWEEN = frozenset({"npdec", "torch", "numpy"})
_NUMBER = re.compile(r"[0-9.]+(e[+-][0-9]+)?")


@contextlib.contextmanager
def saying_once() -> Iterator[None]:
    """Context manager: of warnings that differ in numbers only the first is given."""
    token = _said.set(set() if _said.get() is None else _said.get())
    try:
        yield
    finally:
        _said.reset(token)


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the line of the caller's own code, however many frames of this package, torch and NumPy lie between."""
    said = _said.get()
    if said is not None:
        kind = _NUMBER.sub("", message)
        if kind in said:
            return
        said.add(kind)
    level, frame = 1, sys._getframe(1)
    while True:
        module = frame.f_globals.get("__name__", "")
        if module and module.partition(".")[0] not in _BETWEEN:  # compiled wrappers stand in no module
            break
        level += 1
        if frame.f_back is None:
            break
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def is_negative(integers: torch.Tensor) -> torch.Tensor:
    """Whether each of the integers is below zero; for unsigned ones, of which torch cannot ask, without looking."""
    if integers.dtype in UNSIGNED:
        return torch.zeros_like(integers, dtype=torch.bool)
    return integers < 0


def integers(x: torch.Tensor) -> Any:
    """The integers of a tensor as Python's, in nested lists, to count or to index by: if they are computed from what
    carries contributions they are a choice, and each says so (`__index__`)."""
    if type(x) is torch.Tensor:
        return x.tolist()
    return [integers(row) for row in x] if x.ndim else operator.index(x)


def is_known_true(condition: torch.Tensor) -> bool:
    """Whether a 0-d condition holds. False where values cannot be looked at: under torch.compile and torch.vmap, and
    while a CUDA graph is captured.

    For errors and warnings that depend on values, which NumPy gives.
    """
    if torch.compiler.is_compiling() or is_capturing(condition):
        return False
    try:
        return bool(getattr(condition, "value", condition))
    except RuntimeError:
        return False


def is_capturing(x: torch.Tensor) -> bool:
    """Whether a CUDA graph is being captured of what is done with a tensor: nobody can look at its numbers then."""
    return x.is_cuda and torch.cuda.is_current_stream_capturing()


def numbers(x: torch.Tensor) -> torch.Tensor:
    """A tensor without what it carries: for what is decided by numbers and is no matter of contributions."""
    return getattr(x, "value", x)


def carries(x: object) -> bool:
    """Whether contributions or gradients flow through an argument, so that a number will not do in its place."""
    return isinstance(x, torch.Tensor) and (type(x) is not torch.Tensor or x.requires_grad)


def are_numbers(x: torch.Tensor, *others: torch.Tensor) -> bool:
    """Whether tensors are numbers on the CPU and nothing else, with which nobody follows what is done: without graph,
    tangent, contributions, transform or trace. A kernel may look at these, and may use what has no derivative."""
    if type(x) is not _Tensor or x.requires_grad or not x.is_cpu:
        return False
    if others:
        for other in others:
            if type(other) is not _Tensor or other.requires_grad or not other.is_cpu:
                return False
    if _is_transformed() or _is_compiling():
        return False
    return forward_ad._current_level < 0 and not _python_dispatch._is_in_torch_dispatch_mode


def _in_single(number: float) -> float:
    return ctypes.c_float(number).value


def rounding_to(dtype: torch.dtype) -> Callable[[float], float]:
    """What rounds a number to single precision, or to double: of the sum, difference, product or quotient of two such
    numbers it is what torch computes."""
    return float if dtype is torch.float64 else _in_single


_HOST = torch.device("cpu")


# What makes a tensor of a number and a dtype sooner than torch, or None; it may give None (`npdec._rules.direct`).
in_memory: Callable[[float, torch.dtype], torch.Tensor | None] | None = None


def tensor_of(number: float, dtype: torch.dtype) -> torch.Tensor:
    """The tensor without axes, on the host, of a number of single or double precision."""
    made = None if in_memory is None or _is_compiling() else in_memory(number, dtype)
    return torch.scalar_tensor(number, dtype=dtype, device=_HOST) if made is None else made


def is_unwatched() -> bool:
    """Whether nobody follows what is done with tensors: no transform, tangent, trace or mode."""
    if _is_transformed() or _is_compiling():
        return False
    return forward_ad._current_level < 0 and not _python_dispatch._is_in_torch_dispatch_mode


_Tensor = torch.Tensor
_is_transformed, _is_compiling = torch._C._are_functorch_transforms_active, torch.compiler.is_dynamo_compiling


def are_without_nan(x: torch.Tensor) -> bool:
    """Whether a tensor is nothing but numbers, none of which is nan."""
    return (  # `are_numbers`, written out
        type(x) is _Tensor
        and x.is_cpu
        and not x.requires_grad
        and not _is_transformed()
        and not _python_dispatch._is_in_torch_dispatch_mode
        and forward_ad._current_level < 0
        and not _is_compiling()
        and x.equal(x)
    )


def is_finite_number(x: torch.Tensor) -> bool:
    """Whether it is one number with contributions, and finite at the value and at the baseline."""
    value, residual = getattr(x, "value", None), getattr(x, "residual", None)
    if x.ndim or not isinstance(value, torch.Tensor) or not isinstance(residual, torch.Tensor):
        return False
    if value.is_complex() or not are_numbers(value, residual):
        return False
    return math.isfinite(value.item()) and math.isfinite(residual.item())


# --- casts ------------------------------------------------------------------------------------------------------------


# What is told of every cast, its source and its result, while floating-point errors are watched
# (`npdec._array.errstate`).
on_cast: Callable[[torch.Tensor, torch.Tensor], None] | None = None
on_number: Callable[[torch.Tensor, torch.Tensor], None] | None = None  # the same of Python numbers


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`x` in another dtype. From complex to real with a ComplexWarning."""
    if x.dtype is dtype:
        return x
    if x.dtype.is_complex and not dtype.is_complex and dtype is not torch.bool:
        x = real_part(x)
        if x.dtype is dtype:  # a view, which a cast is not
            x = torch.clone(x)
    return watched_cast(x, dtype)


def real_part(x: torch.Tensor) -> torch.Tensor:
    """What a cast leaves of complex numbers, with the ComplexWarning that says so."""
    warn("Casting complex values to real discards the imaginary part", ComplexWarning)
    return torch.real(x)


def on_parts(function: Callable[..., torch.Tensor], *operands: torch.Tensor) -> torch.Tensor:
    """A sum of complex numbers, part by part: torch multiplies by `alpha` first, which makes nan of infinite parts."""
    parts = (torch.view_as_real(torch.resolve_conj(x)) for x in operands)
    return torch.view_as_complex(function(*parts))


def watched_cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`x.to(dtype)`, of which `on_cast` is told."""
    if dtype is torch.float16 and x.dtype is torch.float64 and type(x) is torch.Tensor and not x.requires_grad:
        result = rounded_once(x)
    else:
        result = x.to(dtype=dtype)  # which torch reads sooner by its name
    if on_cast is not None:
        on_cast(x, result)
    return result


def rounded_once(x: torch.Tensor) -> torch.Tensor:
    """float64 in float16, rounded once. torch goes by way of float32, and rounds twice; where the first step rounds, to
    an odd last bit, the second one rounds as if it were the only one."""
    near = x.float()
    wide = near.double()
    even = (wide != x) & ((near.view(torch.int32) & 1) == 0)
    beside = torch.nextafter(near, torch.where(x > wide, torch.inf, -torch.inf).float())
    return torch.where(even, beside, near).half()


# torch lacks most integer kernels for uint16, uint32 and uint64. Arithmetic modulo 2**64 is that of int64 on the same
# bits; order is that of the signed integers of the same width, with the sign bit flipped.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
UNSIGNED = frozenset({torch.uint8, *_SIGNED})


def to_int64(x: torch.Tensor) -> torch.Tensor:
    """Integers or booleans in int64; those of uint64 by their bits."""
    return x.view(torch.int64) if x.dtype is torch.uint64 else x.to(dtype=torch.int64)


def from_int64(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The inverse of `to_int64`, modulo the range of the dtype. A bool is True where the number is not zero."""
    return x.view(torch.uint64) if dtype is torch.uint64 else x.to(dtype=dtype)


def to_ordered(x: torch.Tensor) -> torch.Tensor:
    """Real values in a dtype that torch can compare, sort and gather, in the same order."""
    signed = _SIGNED.get(x.dtype)
    if signed is not None:
        return x.view(signed) ^ torch.iinfo(signed).min
    return x.to(dtype=torch.uint8) if x.dtype is torch.bool else x


def from_ordered(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The inverse of `to_ordered`."""
    signed = _SIGNED.get(dtype)
    if signed is not None:
        return (x ^ torch.iinfo(signed).min).view(dtype)
    return x if x.dtype is dtype else x.to(dtype=dtype)
