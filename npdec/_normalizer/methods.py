"""The methods of ufuncs: reduce, accumulate, reduceat and outer, in terms of the ufunc's own computation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import fp_errors, fp_state, wrap
from npdec._array.arguments import as_value
from npdec._array.convert import MAX_NDIM, as_dtype, as_tensor
from npdec._array.foreign_arrays import as_operand
from npdec._array.output import write
from npdec._array.shapes import as_axis
from npdec._array.together import as_operand_beside
from npdec._core import door
from npdec._core.base import UfuncBase
from npdec._core.door import open_ufunc_method
from npdec._core.tags import NoValue
from npdec._core.tracebacks import ended
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _storage, _util, dtypes_impl
from npdec._native import calls
from npdec._normalizer import running
from npdec._normalizer.call_options import as_mask, by_place, read_out, read_starts, shows_out
from npdec._normalizer.folding import fold, fold_slices, in_any_order
from npdec._normalizer.ordinary_calls import of_pairs, wrapping
from npdec._torch.tracing import tracing

_SEQUENCES = frozenset({list, tuple})
_MAGNITUDES = frozenset({"gcd", "hypot"})  # one operand with the identity is not itself, but its magnitude


def _check_binary(function: UfuncBase, method: str) -> None:
    if function.signature is not None:
        raise RuntimeError("Reduction not defined on ufunc with signature")
    if function.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if function.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


def _prepared(function: UfuncBase, a: torch.Tensor, dtype: Any, out: Any, found: set[str] | None) -> torch.Tensor:
    """The array in the dtype of the result, in which every step is computed.

    Sums and products of small integers are taken in int64 or uint64; without `dtype`, an array to write to takes part
    in promotion. Raises TypeError where the ufunc has no loop whose result can be its operand again.
    """
    name = function.__name__
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is None and out is None and function.sums and dtypes_impl.kind(a.dtype) in "bui":
        wanted = torch.uint64 if dtypes_impl.kind(a.dtype) == "u" else torch.int64
    loops = dtypes_impl.LOOPS[function._loops]
    if loops.output is torch.bool and loops.mixed == "bool":
        if wanted not in (None, torch.bool):
            raise TypeError(f"No loop matching the specified signature and casting was found for ufunc {name}")
        wanted = torch.bool
    first = a if out is None or wanted is not None else torch.empty((), dtype=out._d, device=a.device)
    computed = dtypes_impl.resolve_loop(function._loops, (first, a), wanted, name, "unsafe")
    if loops.output is torch.bool:
        if computed is not torch.bool and wanted is not torch.bool:
            raise TypeError(f"No loop matching the specified signature and casting was found for ufunc {name}")
        computed = torch.bool
    if loops.mixed == "ldexp":
        raise TypeError(f"ufunc '{name}' gives floats, which cannot be its exponents again")
    assert computed is not None
    if found is not None and a.dtype is not computed:
        with fp_state.ignored():
            cast = _util.cast(a, computed)
        found |= fp_errors.found_by_cast(a, cast)
        return cast
    return _util.cast(a, computed)


def _filled(shape: Sequence[int], value: Any, like: torch.Tensor) -> torch.Tensor:
    """An identity, of which -1 stands for all bits, in the dtype of a result."""
    value = torch.as_tensor(value, device=like.device)
    return torch.broadcast_to(_util.cast(value, like.dtype), tuple(shape)).clone()


def _check_mask(mask: torch.Tensor, a: torch.Tensor) -> None:
    """Raise ValueError unless the mask broadcasts to the array."""
    if mask.ndim > a.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    shape = _util.broadcast_shapes(a.shape, mask.shape)
    if shape != tuple(a.shape):
        raise ValueError(
            f"non-broadcastable operand with shape {wrap.shape_repr(a.shape)} doesn't match the broadcast shape "
            f"{wrap.shape_repr(shape)}"
        )


def _axes(function: UfuncBase, method: str, axis: Any, ndim: int) -> tuple[int, ...]:
    axis = as_axis(axis)
    if not ndim and type(axis) is int and axis in (0, -1):
        return ()
    items = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(_util.normalize_axis(item, ndim) for item in items)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    if len(axes) > 1 and not in_any_order(function):
        raise ValueError(
            f"{method} operation '{function.__name__}' is not reorderable, so at most one axis may be specified"
        )
    return axes


def _one_axis(method: str, axis: Any, ndim: int) -> int:
    axis = as_axis(axis)
    if axis is None and ndim == 1:
        axis = 0
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    if axis is None or isinstance(axis, tuple):
        for one in axis or ():
            _util.normalize_axis(one, ndim)
        raise ValueError(f"{method} does not allow multiple axes")
    if not ndim:
        raise TypeError(f"cannot {method} on a scalar")
    return _util.normalize_axis(axis, ndim)


def _check_shape(function: UfuncBase, target: Any, shape: tuple[int, ...], source: torch.Tensor) -> None:
    have = tuple(target._t.shape)
    if len(have) != len(shape):
        raise ValueError(
            f"output parameter for reduction operation {function.__name__} has the wrong number of dimensions: Found "
            f"{len(have)} but expected {len(shape)}"
        )
    if have != shape:
        mapped = " ".join(f"{wrap.shape_repr(x)}->({','.join(map(str, x))})" for x in (have, tuple(source.shape)))
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: {mapped} "
        )


def _finish(
    function: UfuncBase, method: str, result: torch.Tensor, out: Any, source: torch.Tensor, found: set[str] | None
) -> Any:
    """The result as a scalar or array, or written into `out`; floating-point errors are reported."""
    target = read_out(function, out)
    if target is None:
        given = wrap.wrap(result) if method == "reduce" and out is not Ellipsis else wrap.wrap_array(result)
    else:
        given = target[0]
        _check_shape(function, given, tuple(result.shape), source)
        write(function.__name__, given, result, "unsafe", None, found)
    if found:
        fp_state.report(found, method)
    return given


def _watched() -> set[str] | None:
    return set() if fp_state.watching else None


_OPTIONS = ("axis", "dtype", "out", "keepdims", "initial", "where")


def reduce(
    self: UfuncBase,
    array: Any,
    /,
    axis: Any = NoValue,
    dtype: Any = NoValue,
    *more: Any,
    out: Any = NoValue,
    keepdims: Any = NoValue,
    initial: Any = NoValue,
    where: Any = NoValue,
) -> Any:
    """Apply the ufunc along one or several axes until one element is left.

    `axis` is an int, a tuple, or None for all; only what can be taken in any order accepts more than one. `initial` is
    where it begins, `where` a mask of the elements that take part.

    >>> np.multiply.reduce(np.array([2, 3, 5]))
    np.int64(30)
    """
    try:
        if more:
            given = by_place("reduce", 3, more, _OPTIONS[2:], (out, keepdims, initial, where))
            out, keepdims, initial, where = given
        plain = out is NoValue and dtype is NoValue and initial is NoValue and where is NoValue and keepdims is NoValue
        if plain and type(array) is not wrap.ARRAY:  # which may have sums of its own
            plain = not (hasattr(type(array), "__array_ufunc__") or wrapping((array,)))
        if plain and self.reduction is not None and (type(axis) is int or axis is None or axis is NoValue):
            if calls is not None and type(array) in _SEQUENCES and not tracing():
                few = calls.few_array(array, None)
                array = array if few is None else few
            return self.reduction(array, 0 if axis is NoValue else axis)
        if plain and (made := running.of_integers(self, "reduce", array, 0 if axis is NoValue else axis)) is not None:
            return made
        given = (axis, dtype, out, keepdims, initial, where)  # what is given, a class is told: a default too
        made = _reduce(self, array, **{name: x for name, x in zip(_OPTIONS, given, strict=True) if x is not NoValue})
        if (out is NoValue or out is None) and wrapping((array,)):
            return door.subclasses.value().delivered(self, "reduce", (array,), {}, made)
        return made
    except Exception as error:
        raise ended(error)  # noqa: B904


@open_ufunc_method
def _reduce(
    self: UfuncBase,
    array: Any,
    /,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NoValue,
    where: Any = True,
) -> Any:
    _check_binary(self, "reduce")
    a = source = as_operand(array)
    outs = read_out(self, out)
    axes = _axes(self, "reduction", axis, a.ndim)
    found = _watched()
    a = _prepared(self, a, dtype, outs[0] if outs else None, found)
    mask = as_mask(where, (a,))
    if mask is not None:
        filler = self.identity if self.identity is not None or initial is NoValue else initial
        if filler is None:
            raise ValueError(
                f"reduction operation '{self.__name__}' does not have an identity, so to use a where mask one has to "
                "specify 'initial'"
            )
        _check_mask(mask, a)
        if in_any_order(self) and (initial is NoValue or self.__name__ not in _MAGNITUDES):
            a, mask = torch.where(mask, a, _filled((), _number(filler), a)), None
        else:
            mask = mask.expand(a.shape)
    start = None if initial is NoValue or initial is None else _util.cast(as_value(initial, a.dtype), a.dtype)
    if start is not None and start.ndim:
        raise ValueError(f"setting an array element with a sequence: initial= is a number, not of shape {start.shape}")
    if axes:
        folded = _util.move_axes_last(a, axes).movedim(-1, 0)
        if folded.shape[0]:
            masks = None if mask is None else _util.move_axes_last(mask, axes).movedim(-1, 0)
            result = fold(self, folded, found, None if start is None else start.expand(folded.shape[1:]), masks)
        elif initial is None or (initial is NoValue and self.identity is None):
            raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")
        else:
            result = _filled(folded.shape[1:], _number(self.identity if initial is NoValue else initial), a)
    else:
        folded = a.unsqueeze(0)
        start = None if start is None else start.expand(a.shape)
        result = fold(self, folded, found, start, None if mask is None else mask.unsqueeze(0))
    if folded.shape[0] == 1 and start is None and self.__name__ in _MAGNITUDES:
        result = self.compute((result, torch.zeros_like(result)), found=found)
    if keepdims:
        result = _util.restore_axes(result, axes)
    return _finish(self, "reduce", result, out, source, found)


_shown: Any = reduce
_shown.__signature__ = inspect.signature(_reduce)


def _number(value: Any) -> Any:
    tensor = as_tensor(value)
    return tensor.value if type(tensor) is DecomposedTensor else tensor


@functools.partial(open_ufunc_method, at_once=running.of_vector)
@shows_out
def accumulate(self: UfuncBase, array: Any, /, axis: Any = 0, dtype: Any = None, *more: Any, out: Any = NoValue) -> Any:
    """The results of all the partial reductions along an axis.

    >>> np.maximum.accumulate(np.array([1, 3, 2, 5]))
    array([1, 3, 3, 5])
    """
    if more:
        (out,) = by_place("accumulate", 3, more, ("out",), (out,))
    if axis == 0 and dtype is None and out is NoValue and (made := running.of_vector(self, array)) is not None:
        return made
    _check_binary(self, "accumulate")
    a = source = as_operand(array)
    outs = read_out(self, out)
    dim = _one_axis("accumulate", axis, a.ndim)
    found = _watched()
    a = _prepared(self, a, dtype, outs[0] if outs else None, found)
    result = running.along(self, a, dim, found)
    if result is None:
        rows = list(torch.unbind(a, dim))
        for i in range(1, len(rows)):
            rows[i] = self.compute((rows[i - 1], rows[i]), found=found)
        result = torch.stack(rows, dim) if rows else a.clone()
    return _finish(self, "accumulate", result, out, source, found)


@functools.partial(open_ufunc_method, at_once=running.of_slices)
@shows_out
def reduceat(
    self: UfuncBase, array: Any, /, indices: Any, axis: Any = 0, dtype: Any = None, *more: Any, out: Any = NoValue
) -> Any:
    """Reduce the slices that begin at each of the indices and end at the next.

    Where the next index is not larger, the result is the element at the index alone. Raises IndexError for an index
    outside of the axis.

    >>> np.add.reduceat(np.arange(8), [0, 4, 1, 5])
    array([ 6,  4, 10, 18])
    """
    if more:
        (out,) = by_place("reduceat", 4, more, ("out",), (out,))
    _check_binary(self, "reduceat")
    a = source = as_operand(array)
    outs = read_out(self, out)
    dim = _one_axis("reduceat", axis, a.ndim)
    length = a.shape[dim]
    first = read_starts(self, indices, length)
    found = _watched()
    a = _prepared(self, a, dtype, outs[0] if outs else None, found)
    moved = a.movedim(dim, 0)
    size = (torch.cat([first[1:], first.new_tensor([length])]) - first).clamp_(min=1)
    if _util.are_numbers(moved) and (folded := fold_slices(self, moved, first, size, found)) is not None:
        result = _storage.in_columns_as(a, folded.movedim(0, dim))
        return _finish(self, "reduceat", result, out, source, found)
    slices = zip(first.tolist(), size.tolist(), strict=True)
    rows = [fold(self, moved[start : start + count], found) for start, count in slices]
    result = _storage.in_columns_as(a, torch.stack(rows, dim)) if rows else moved[:0].movedim(0, dim)
    return _finish(self, "reduceat", result, out, source, found)


@functools.partial(open_ufunc_method, at_once=of_pairs)
def outer(self: UfuncBase, A: Any, B: Any, /, **kwargs: Any) -> Any:
    """The ufunc of all pairs (one element of `A`, one of `B`): shape `A.shape + B.shape`. Options are those of a call.

    >>> np.power.outer(np.array([2, 3]), np.array([1, 2]))
    array([[2, 4],
           [3, 9]])
    """
    if self.signature is not None:
        raise TypeError("method outer is not allowed in ufunc with non-trivial signature")
    if self.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    if not kwargs and type(A) is type(B) is wrap.ARRAY and B.ndim == 1:
        return self(wrap.wrap_array(wrap.lent(A).unsqueeze(-1)), B)
    left, right = as_operand_beside(A, (B,)), as_operand_beside(B, (A,))
    if left.ndim + right.ndim > MAX_NDIM:
        raise ValueError(f"outer: arrays have at most {MAX_NDIM} axes, not {left.ndim} and {right.ndim} together")
    out = kwargs.pop("out", NoValue)
    rows = wrap.wrap_array(left.reshape(tuple(left.shape) + (1,) * right.ndim))
    return self._general((rows, wrap.wrap_array(right)), out, (), kwargs)
