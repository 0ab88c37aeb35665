"""How elements lie in memory: bit patterns of unsigned integers, row and column order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

# torch stores uint16, uint32 and uint64 but lacks kernels for them: index_put, gather, scatter, tril, masked_fill and
# arange among others (pytorch/pytorch#58734). Moving data does not look at the elements, so the bits travel as signed.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def shares_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have one storage; of those that stand for others within torch.func, the others."""
    try:
        return a.untyped_storage()._cdata == b.untyped_storage()._cdata
    except NotImplementedError:
        return innermost(a).untyped_storage()._cdata == innermost(b).untyped_storage()._cdata


def is_new(made: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether what was made of a tensor is known to have memory of its own: asked sooner than `shares_memory`, which
    tells of the others. (Views that are made in inference mode know of no base.)"""
    return made._base is None and made is not source and not made.is_inference()


def innermost(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor that has the memory, of one that stands for it within torch.func."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def signed(x: torch.Tensor) -> torch.Tensor:
    """`x`, or where torch lacks kernels for its dtype the same memory seen as signed integers."""
    dtype = _SIGNED.get(x.dtype)
    return x if dtype is None else x.view(dtype)


def seen_as(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The inverse of `signed`: the memory of `x` seen as `dtype`."""
    return x if x.dtype is dtype else x.view(dtype)


def part(x: torch.Tensor, which: int) -> torch.Tensor:
    """The real (0) or imaginary (1) part of complex numbers, a view of their memory."""
    base = x._base if type(x) is torch.Tensor else None
    plain = base is not None and base.is_complex() and x.is_complex() and not (x.is_neg() or base.is_neg())
    if base is not None and plain and not (x.is_conj() or base.is_conj()):
        strides = [2 * stride for stride in x.stride()]  # as `of_its_base`, by one view less
        return torch.view_as_real(base).as_strided(x.shape, strides, 2 * x.storage_offset() + which)
    made = x.imag if which else x.real
    return of_its_base(made) if type(x) is torch.Tensor and x._base is not None else made


def of_its_base(x: torch.Tensor) -> torch.Tensor:
    """`x`; if it is of real parts of a view, the same made of what that is a view of. torch keeps one tensor more for
    the part of a view, which would count as one that misses what is written."""
    base = x._base
    if base is None or not base.is_complex() or x.is_complex() or x.is_neg() or base.is_conj() or base.is_neg():
        return x
    return base.real.as_strided(x.shape, x.stride(), x.storage_offset())


def moved(function: Callable[..., torch.Tensor], x: torch.Tensor, *args: Any) -> torch.Tensor:
    """`function(x, *args)` for a function of torch that moves elements about, whatever the dtype."""
    return seen_as(function(signed(x), *args), x.dtype)


def check_order(order: Any, allowed: str = "CFAK", complaint: str = "only 'C' or 'F' order is permitted") -> str:
    """The order as one upper-case letter, None meaning the first that is allowed. Raises ValueError, TypeError."""
    if order is None:
        return allowed[-1] if "K" in allowed else allowed[0]
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    letter = order.upper()
    if letter not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if letter not in allowed:
        raise ValueError(complaint)
    return letter


def reverse_axes(x: torch.Tensor) -> torch.Tensor:
    """The view of `x` with its axes in reverse order."""
    if x.ndim == 2:
        return x.mT
    return x.permute(*range(x.ndim - 1, -1, -1)) if x.ndim else x


def is_column_major(x: torch.Tensor) -> bool:
    """Whether the first axis varies fastest in memory, without gaps (NumPy's F_CONTIGUOUS)."""
    size = 1
    for n, stride in zip(x.shape, x.stride(), strict=True):  # no view: that of a decomposed tensor is many calls
        if n != 1 and stride != size:
            return 0 in x.shape
        size *= n
    return True


def kept_order(x: torch.Tensor) -> torch.Tensor:
    """`x`; where its elements overlap, as a broadcast view's do, a copy with its axes in the same order of strides."""
    if 0 not in x.stride() or not any(n > 1 and not stride for n, stride in zip(x.shape, x.stride(), strict=True)):
        return x
    return _laid_out(x, _in_order(x))


def in_order_of(source: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """`x` without gaps in memory, its axes there in the order of those of `source`, which has as many; by rows, if
    `source` itself has gaps, or elements that are one in memory."""
    if source.is_contiguous():
        return x.contiguous()
    axes = _in_order(source)
    return _laid_out(x, axes) if source.permute(axes).is_contiguous() else x.contiguous()


def _in_order(x: torch.Tensor) -> list[int]:
    """The axes, that of the largest stride first."""
    strides = x.stride()
    return sorted(range(x.ndim), key=lambda i: -strides[i])


def laid_as(source: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """`x` without gaps in memory, its axes there in the order of those of `source`."""
    return x if source.is_contiguous() else _laid_out(x, _in_order(source))


def _laid_out(x: torch.Tensor, axes: list[int]) -> torch.Tensor:
    inverse = sorted(range(x.ndim), key=axes.__getitem__)
    return x.permute(axes).contiguous().permute(inverse)


def duplicate(x: torch.Tensor, order: str = "K") -> torch.Tensor:
    """A copy of `x` in fresh memory: row major "C", column major "F", "A" the one of the two that x has, "K" as x."""
    if order == "A":
        order = "F" if is_column_major(x) and not x.is_contiguous() else "C"
    if order == "K" and x.is_contiguous():
        return x.clone()
    if order == "K":
        return kept_order(x).clone(memory_format=torch.preserve_format)
    if order == "C":
        return x.clone(memory_format=torch.contiguous_format)
    return reverse_axes(reverse_axes(x).clone(memory_format=torch.contiguous_format))


def in_columns_as(source: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """`x` in row-major order, or in column-major order if `source` is in that and no other."""
    columns = not source.is_contiguous() and is_column_major(source)
    return duplicate(x, "F") if columns else x.contiguous()


_LINE = 64  # bytes from which vector instructions load, and to which torch aligns memory
_SPARSE = 8  # elements of memory for each of the tensor's, from which on its strides are shortened


def laid_out_alike(x: torch.Tensor) -> torch.Tensor:
    """A copy of `x` whose elements lie in memory as those of `x` do, as sums and products take them in this order.

    Equal are the strides, which elements are one in memory, and the place within a line of the cache. Where nearly all
    of the memory between the elements is another's (a column of a wide table), the strides are shorter, but in the same
    order, and those that a loop cannot take as one stay so: kernels cannot tell.
    """
    if x.is_conj():
        return laid_out_alike(x.conj()).conj()
    if x.is_neg():
        return torch._neg_view(laid_out_alike(torch._neg_view(x)))
    offset = x.data_ptr() % _LINE // x.itemsize if x.numel() else 0
    if x.is_contiguous() and not offset:
        return x.clone()
    strides, shape = x.stride(), x.shape
    if any(n > 1 and not stride for n, stride in zip(shape, strides, strict=True)):
        once = tuple([slice(None) if stride else slice(1) for stride in strides])
        return laid_out_alike(x[once]).expand(shape)
    extent = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True)) if x.numel() else 0
    if has_overlap(x):
        return x.as_strided((extent,), (1,), x.storage_offset()).clone().as_strided(shape, strides)
    if extent > _SPARSE * x.numel():
        strides, extent = _shortened(shape, strides)
    storage = x.new_zeros(offset + extent).untyped_storage()
    made = x.new_empty(0).set_(storage, offset, shape, strides)  # which is no view of another tensor
    return made.copy_(x)


def _by_stride(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The axes longer than one, the shortest strides first."""
    return sorted([i for i, n in enumerate(shape) if n > 1], key=lambda i: strides[i])


def has_overlap(x: torch.Tensor) -> bool:
    """Whether several elements may be one in memory, as those of equal rows are, or of windows that slide."""
    if x.is_contiguous() or not x.numel():
        return False
    shape, strides, reach = x.shape, x.stride(), 0
    for i in _by_stride(shape, strides):
        if strides[i] <= reach:
            return True
        reach += (shape[i] - 1) * strides[i]
    return False


def _shortened(shape: Sequence[int], strides: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Short strides in the same order: one where that was one, and a multiple of the stride before where that was one
    and the two axes are one to a loop, but nowhere else. And how much memory they span."""
    made, reach, before = list(strides), 0, None
    for i in _by_stride(shape, strides):
        if before is None:
            made[i] = min(strides[i], 2)
        elif strides[i] == shape[before] * strides[before]:
            made[i] = shape[before] * made[before]
        else:
            made[i] = max(reach, shape[before] * made[before]) + 1
        reach += (shape[i] - 1) * made[i]
        before = i
    return tuple(made), reach + 1
