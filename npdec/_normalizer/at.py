"""`ufunc.at`: in place at indices, each occurrence of an index by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import fp_state, memory, wrap
from npdec._array.foreign_arrays import asks_ufuncs
from npdec._array.indexing import normalize_key
from npdec._array.ordinary import is_free
from npdec._array.output import check_writeable, refuse_numpys, write
from npdec._array.together import as_operand_beside
from npdec._core.base import MetAsking, UfuncBase
from npdec._core.tags import NoValue
from npdec._decomposed.kept_components import handed_on
from npdec._decomposed.size_warnings import warn_of_size
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _storage, _util, dtypes_impl, getitem_impl
from npdec._impl._by_numpy import compared
from npdec._impl._storage import has_overlap
from npdec._native import calls
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing

_BITS = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}  # torch copies only these

_FEW = 64  # numbers that Python looks at sooner than torch

_SIGNS: dict[Any, int] = {torch.add: 1, torch.sub: -1}  # of what is added
_EXTREMES: dict[Any, str] = {torch.minimum: "amin", torch.maximum: "amax"}


def _in_any_order(tensor: torch.Tensor) -> bool:
    """Whether it matters to nothing in which order an extreme of these numbers is looked for: neither to a derivative
    nor to the sign of a zero."""
    if isinstance(tensor, DecomposedTensor) or tensor.requires_grad or mapped():
        return False
    if not tensor.is_floating_point():
        return True
    zero = compared("eq", tensor, 0)
    return not torch.count_nonzero(zero) or not bool((torch.signbit(tensor) & zero).any())


def _no_negative_zeros(tensor: torch.Tensor) -> bool:
    """As `_in_any_order`, of tensors that are numbers and nothing else: few are looked at one by one."""
    if tensor.is_floating_point() and tensor.numel() <= _FEW:
        zeros = [x for x in tensor.reshape(-1).tolist() if x == 0]
        return not zeros or all(math.copysign(1.0, x) > 0 for x in zeros)
    return _in_any_order(tensor)


def at(self: UfuncBase, a: Any, indices: Any, b: Any = None, /) -> None:
    """Apply the ufunc in place at the indices; an index that occurs several times counts each time.

    >>> x = np.zeros(3)
    >>> np.add.at(x, [0, 0, 2], 1.0)
    >>> x
    array([2., 0., 1.])
    """
    name = self.__name__
    if self.nin == 2 and calls is not None and not tracing() and calls.few_at(name, a, indices, b):
        return
    if self.signature is not None:
        raise TypeError(
            f"{name}.at does not support ufunc with non-trivial signature: {name} has signature {self.signature}."
        )
    if self.nin > 2:
        raise ValueError("Only unary and binary ufuncs supported at this time")
    if self.nout != 1:
        raise ValueError("Only single output ufuncs supported at this time")
    if (b is None or b is NoValue) != (self.nin == 1):
        raise ValueError(
            "second operand needed for ufunc" if self.nin == 2 else "second operand provided when ufunc is unary"
        )
    for x in (a, b):
        if asks_ufuncs(x):
            raise MetAsking(type(x))
    if type(a) is not wrap.ARRAY:
        refuse_numpys(a)
        raise TypeError("first operand must be array")
    array = check_writeable(f"{name}.at", a)
    if not fp_state.watching and _at_once(self, array, indices, b):
        return
    positions = torch.arange(array._t.numel(), device=array._t.device).reshape(tuple(array._t.shape))
    values = as_operand_beside(b, (array,)) if self.nin == 2 else None
    try:
        chosen = getitem_impl.getitem(positions, normalize_key(indices))
        if values is not None:
            values = _broadcast(values, chosen.shape)
    except (IndexError, ValueError):
        none = [x.reshape(-1)[:0] for x in (array._t, values) if x is not None]
        self.compute(tuple(none))  # a dtype is refused before indices and shapes
        raise
    found: set[str] | None = set() if fp_state.watching else None
    result = _applied(self, array._t.reshape(-1), chosen.reshape(-1), values, found)
    _look_at_size(name, result, (array._t, values))
    write(name, array, result.reshape(tuple(array._t.shape)), "unsafe", None, found)
    if found:
        same = values is not None and array.ndim == 1 and values.dtype is array._d
        fp_state.report(found, name if same and self._flags is not None else "at")


def _look_at_size(name: str, result: torch.Tensor, operands: Sequence[torch.Tensor | None]) -> None:
    """Warn where contributions are large: each occurrence is moderate beside the one before, and not all together."""
    if type(result) is DecomposedTensor:
        given = [handed_on(x) for x in operands if type(x) is DecomposedTensor]
        warn_of_size(f"{name}.at", [handed_on(result)], given, [result.value], [result.residual], result.reverse)


def _broadcast(values: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    try:
        return torch.broadcast_to(values, tuple(shape)).reshape(-1)
    except RuntimeError:
        raise ValueError("array is not broadcastable to correct shape") from None


def _at_once(function: UfuncBase, array: Any, indices: Any, b: Any) -> bool:
    """Whether numbers were added to those of an array (or subtracted) where arrays of indices say, or compared with
    them, in its own memory and by one call of torch."""
    dtype, how = array._d, function._torch
    if dtype not in function._arrays or (how not in _SIGNS and how not in _EXTREMES):
        return False
    found = _one_index(array._t, indices)
    if found is None or not is_free(array):
        return False
    target, index = found
    values, shape = _values(b, dtype), (index.shape[0], *target.shape[1:])
    if values is None or not _util.are_numbers(target, index, values):
        return False
    if values.shape != shape:
        if values.dim():
            return False
        values = values.expand(shape)
    if memory.shares_storage(index, target) or memory.shares_storage(values, target) or has_overlap(target):
        return False
    if how in _SIGNS:
        target.index_add_(0, index, values if _SIGNS[how] > 0 else -values)
        return True
    if not (_no_negative_zeros(target) and _no_negative_zeros(values)):
        return False
    if target.dim() > 1:
        index = index.reshape(-1, *[1] * (target.dim() - 1)).expand(shape)
    target.scatter_reduce_(0, index, values, _EXTREMES[how])
    return True


def _one_index(target: torch.Tensor, indices: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """A view of the target and where along its first axis vectors of indices point, all of them within it: one, or one
    for each axis, of which the places in memory are made."""
    several = type(indices) is tuple
    given = indices if several else (indices,)
    if several and (len(given) != target.dim() or not target.is_contiguous()):
        return None
    for index in given:
        if type(index) is not wrap.ARRAY or index._d is not torch.int64:
            return None
    tensors = [index._t for index in given]
    if not target.dim() or not target.numel() or not _util.are_numbers(target, *tensors):
        return None
    count = tensors[0].numel()
    found: torch.Tensor | None = None
    for tensor, n in zip(tensors, target.shape, strict=False):
        if tensor.dim() != 1 or not count or tensor.numel() != count:
            return None
        places = tensor.tolist() if count <= _FEW else [end.item() for end in torch.aminmax(tensor)]
        low, high = min(places), max(places)
        if low < -n or high >= n:
            return None
        if low < 0:
            tensor = torch.where(tensor < 0, tensor + n, tensor)
        found = tensor if found is None else torch.add(tensor, found, alpha=n)
    assert found is not None
    return (target.view(-1) if several else target), found


def _values(b: Any, dtype: torch.dtype) -> torch.Tensor | None:
    """The second operand, if it is of the dtype or a Python number that fits it."""
    if type(b) is wrap.ARRAY:
        tensor: torch.Tensor = b._t
        return tensor if b._d is dtype else None
    if (type(b) is float and dtype is torch.float64) or (type(b) is int and dtype is torch.int64):
        return dtypes_impl.kept_beside(b, dtype)
    return None


def _applied(
    function: UfuncBase, flat: torch.Tensor, where: torch.Tensor, values: torch.Tensor | None, found: set[str] | None
) -> torch.Tensor:
    if (
        values is not None
        and found is None
        and flat.dtype in function._arrays
        and dtypes_impl.promote_types(values.dtype, flat.dtype) is flat.dtype
    ):
        if function._torch in _SIGNS:
            values = values.to(flat.dtype)
            return torch.index_add(flat, 0, where, values if _SIGNS[function._torch] > 0 else -values)
        extreme = _EXTREMES.get(function._torch)
        if extreme is not None and _in_any_order(flat) and _in_any_order(values):
            return torch.scatter_reduce(flat, 0, where, values.to(flat.dtype), extreme)
    return _in_rounds(function, flat.clone(), where, values, found)


def _in_rounds(
    function: UfuncBase, result: torch.Tensor, where: torch.Tensor, values: torch.Tensor | None, found: set[str] | None
) -> torch.Tensor:
    """Each round applies the ufunc once at every position that is still due: repeated indices take several rounds."""
    if not len(where):  # there is nothing to do, but the ufunc says whether it could
        function.compute((result[:0],) if values is None else (result[:0], values[:0]), found=found)
    order = torch.argsort(where, stable=True)
    placed = where[order]
    rank = torch.arange(len(where), device=where.device) - torch.searchsorted(placed, placed)
    rounds = torch.bincount(rank).tolist()
    for due in order[torch.argsort(rank, stable=True)].split(rounds):
        spots = where[due]
        bits = _BITS.get(result.dtype)
        before = result[spots] if bits is None else result.view(bits)[spots].view(result.dtype)
        operands = (
            (before,) if values is None else (before, _storage.seen_as(_storage.signed(values)[due], values.dtype))
        )
        update = function.compute(operands, found=found).to(result.dtype)
        if bits is not None:
            result.view(bits).index_copy_(0, spots, update.view(bits))
        elif isinstance(update, DecomposedTensor) or update.requires_grad or mapped():
            result = torch.index_put(result, (spots,), update)
        else:
            result.index_copy_(0, spots, update)
    return result
