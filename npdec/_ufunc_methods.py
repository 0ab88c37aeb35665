"""The methods of ufuncs: reduce, accumulate, reduceat, outer, at, in terms of the ufunc's own computation.

An associative ufunc is folded by halves, in about log2(n) steps; any other from first to last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from npdec import _wrap
from npdec._convert import as_axis, as_dtype, as_tensor
from npdec._decomposed import DecomposedTensor
from npdec._impl import _util, dtypes_impl
from npdec._output import check_writeable, write, write_out
from npdec._tags import NoValue

if TYPE_CHECKING:
    from npdec._ufunc import ufunc

_ASSOCIATIVE = frozenset({"maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "gcd", "lcm", "hypot"})
_SUMMING = frozenset({"add", "multiply"})
_BITS = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}  # torch copies only these
_MAGNITUDES = frozenset({"gcd", "hypot"})  # one operand with the identity is not itself, but its magnitude


def _check_binary(function: ufunc, method: str) -> None:
    if function.nin != 2 or function.nout != 1:
        raise ValueError(f"{method} only supported for binary functions")


def _prepared(function: ufunc, a: torch.Tensor, dtype: Any) -> torch.Tensor:
    """The array in the dtype of the result, in which every step is computed.

    Sums and products of small integers are taken in int64 or uint64. Raises TypeError where the ufunc has no loop whose
    result can be its operand again.
    """
    name = function.__name__
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is None and name in _SUMMING and dtypes_impl.kind(a.dtype) in "bui":
        wanted = torch.uint64 if dtypes_impl.kind(a.dtype) == "u" else torch.int64
    loops = dtypes_impl.LOOPS[function._loops]
    if loops.output is torch.bool and loops.mixed == "bool":
        wanted = torch.bool
    computed = dtypes_impl.resolve_loop(function._loops, (a, a), wanted, name, "unsafe")
    if loops.output is torch.bool:
        if computed is not torch.bool and wanted is not torch.bool:
            raise TypeError(f"ufunc '{name}' gives booleans, which are no operands of a loop for {a.dtype}")
        computed = torch.bool
    if loops.mixed == "ldexp":
        raise TypeError(f"ufunc '{name}' gives floats, which cannot be its exponents again")
    assert computed is not None
    return _util.cast(a, computed)


def _filled(shape: Sequence[int], value: Any, like: torch.Tensor) -> torch.Tensor:
    """An identity, of which -1 stands for all bits, in the dtype of a result."""
    value = torch.as_tensor(value, device=like.device)
    return torch.broadcast_to(_util.cast(value, like.dtype), tuple(shape)).clone()


def _fold(function: ufunc, a: torch.Tensor) -> torch.Tensor:
    """`a` folded along its first axis, which is not empty."""
    if function.identity is not None or function.__name__ in _ASSOCIATIVE:
        while a.shape[0] > 1:
            half = a.shape[0] // 2
            folded = function.compute((a[:half], a[half : 2 * half]))
            a = torch.cat([folded, a[2 * half :]]) if a.shape[0] % 2 else folded
        return a[0]
    result = a[0]
    for row in torch.unbind(a)[1:]:
        result = function.compute((result, row))
    return result


def reduce(
    self: ufunc,
    array: Any,
    /,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NoValue,
    where: Any = True,
) -> Any:
    """Apply the ufunc along one or several axes until one element is left.

    >>> np.multiply.reduce(np.array([2, 3, 5]))
    np.int64(30)
    """
    _check_binary(self, "reduce")
    a = as_tensor(array)
    axes = _util.normalize_axes(as_axis(axis), a.ndim) if a.ndim else ()
    a = _prepared(self, a, dtype)
    if where is not True:
        start = self.identity if initial is NoValue else initial
        if start is None:
            raise ValueError(
                f"reduction operation '{self.__name__}' does not have an identity, so to use a where mask one has to "
                "specify 'initial'"
            )
        a = torch.where(as_tensor(where), a, _filled((), start, a))
    folded = a if not axes else _util.move_axes_last(a, axes).movedim(-1, 0)
    if axes:
        if folded.shape[0]:
            result = _fold(self, folded)
            if folded.shape[0] == 1 and self.__name__ in _MAGNITUDES:
                result = self.compute((result, torch.zeros_like(result)))
        elif self.identity is None and initial is NoValue:
            raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")
        else:
            start = self.identity if initial is NoValue else initial
            result = _filled(folded.shape[1:], start, a)
    else:
        result = a.clone()
    if initial is not NoValue and initial is not None:
        result = self.compute((_util.cast(as_tensor(initial), result.dtype), result))
    if keepdims:
        result = _util.restore_axes(result, axes)
    return _wrap.wrap(result) if out is None else write_out(self.__name__, out, result)


def accumulate(self: ufunc, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """The results of all the partial reductions along an axis.

    >>> np.maximum.accumulate(np.array([1, 3, 2, 5]))
    array([1, 3, 3, 5])
    """
    _check_binary(self, "accumulate")
    a = as_tensor(array)
    if a.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    dim = _util.normalize_axis(as_axis(axis), a.ndim)
    a = _prepared(self, a, dtype)
    rows = list(torch.unbind(a, dim))
    for i in range(1, len(rows)):
        rows[i] = self.compute((rows[i - 1], rows[i]))
    result = torch.stack(rows, dim) if rows else a.clone()
    return _wrap.wrap_array(result) if out is None else write_out(self.__name__, out, result)


def reduceat(self: ufunc, array: Any, /, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """Reduce the slices that begin at each of the indices and end at the next.

    >>> np.add.reduceat(np.arange(8), [0, 4, 1, 5])
    array([ 6,  4, 10, 18])
    """
    _check_binary(self, "reduceat")
    a = as_tensor(array)
    dim = _util.normalize_axis(as_axis(axis), a.ndim)
    a = _prepared(self, a, dtype)
    rows, moved = [], a.movedim(dim, 0)
    starts = [int(i) for i in as_tensor(indices).tolist()]
    for start, stop in zip(starts, [*starts[1:], moved.shape[0]], strict=True):
        if not 0 <= start < moved.shape[0]:
            raise IndexError(f"index {start} out-of-bounds in {self.__name__}.reduceat [0, {moved.shape[0]})")
        rows.append(_fold(self, moved[start : max(stop, start + 1)]))
    result = torch.stack(rows).movedim(0, dim) if rows else moved[:0].movedim(0, dim)
    return _wrap.wrap_array(result) if out is None else write_out(self.__name__, out, result)


def outer(self: ufunc, a: Any, b: Any, /, **options: Any) -> Any:
    """The ufunc of all pairs (one element of `a`, one of `b`): shape `a.shape + b.shape`.

    >>> np.power.outer(np.array([2, 3]), np.array([1, 2]))
    array([[2, 4],
           [3, 9]])
    """
    _check_binary(self, "outer")
    left, right = as_tensor(a), as_tensor(b)
    return self._general((left.reshape(tuple(left.shape) + (1,) * right.ndim), right), **options)


def at(self: ufunc, a: Any, indices: Any, b: Any = NoValue, /) -> None:
    """Apply the ufunc in place at the indices; an index that occurs several times counts each time.

    >>> x = np.zeros(3)
    >>> np.add.at(x, [0, 0, 2], 1.0)
    >>> x
    array([2., 0., 1.])
    """
    array = check_writeable(f"{self.__name__}.at", a)
    if (b is NoValue) != (self.nin == 1):
        raise ValueError(
            "second operand needed for ufunc" if b is NoValue else "second operand provided when ufunc is unary"
        )
    positions = torch.arange(array._t.numel(), device=array._t.device).reshape(tuple(array._t.shape))
    keys = indices if isinstance(indices, tuple) else (indices,)
    keys = tuple(k if isinstance(k, slice) or k is None or k is Ellipsis else as_tensor(k) for k in keys)
    keys = tuple(k.to(torch.int64) if isinstance(k, torch.Tensor) and k.dtype is not torch.bool else k for k in keys)
    where = positions[keys].reshape(-1)
    flat = array._t.reshape(-1)
    values = None if b is NoValue else torch.broadcast_to(as_tensor(b), tuple(positions[keys].shape)).reshape(-1)
    if (
        values is not None
        and self._torch is torch.add
        and flat.dtype in self._arrays
        and dtypes_impl.promote_types(values.dtype, flat.dtype) is flat.dtype
    ):
        result = torch.index_add(flat, 0, where, values.to(flat.dtype))
        write(self.__name__, array, result.reshape(tuple(array._t.shape)))
        return
    result = flat.clone()
    # Each round applies the ufunc once at every position that is still due: repeated indices take several rounds.
    order = torch.argsort(where, stable=True)
    placed = where[order]
    rank = torch.arange(len(where), device=where.device) - torch.searchsorted(placed, placed)
    rounds = torch.bincount(rank).tolist()
    for due in order[torch.argsort(rank, stable=True)].split(rounds):
        spots = where[due]
        operands = (result[spots],) if values is None else (result[spots], values[due])
        update = self.compute(operands).to(flat.dtype)
        if isinstance(update, DecomposedTensor) or isinstance(result, DecomposedTensor):
            result = torch.index_put(result, (spots,), update)
        else:
            bits = _BITS.get(flat.dtype, flat.dtype)
            result.view(bits).index_copy_(0, spots, update.view(bits))
    write(self.__name__, array, result.reshape(tuple(array._t.shape)))
