"""Writing into an existing array: `out=`, assignment, in-place operators. Every write goes through here."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from npdec._array import fp_errors, fp_state, memory, transforms, wrap
from npdec._array.ordinary import is_free
from npdec._core.base import ArrayBase, MetSubclass, NDArrayBase, SubclassBase
from npdec._decomposed.settings import conditions_are_frozen
from npdec._decomposed.tensor import DecomposedTensor, carries, under_labels_of
from npdec._dtypes.spelling import dtype_name
from npdec._impl import _util, dtypes_impl
from npdec._torch.functorch import is_transformed
from npdec._torch.interrupts import each
from npdec.exceptions import AbsentDTypeError, DecompositionWarning

__all__ = ["check_out", "check_writeable", "dtype_of_out", "refuse_numpys", "write", "write_out", "writeable_tensor"]


def check_writeable(name: str, array: Any) -> Any:
    """The array, if it is one and may be written. Raises TypeError or ValueError."""
    if type(array) is not wrap.ARRAY:
        refuse_numpys(array)
        raise TypeError(f"{name}: the array to write must be an npdec array, not {type(array).__name__}")
    reason = getattr(array, "_ro", None)
    if reason is not None:
        raise ValueError(f"assignment destination is read-only: {reason}")
    return array


def refuse_numpys(array: Any) -> None:
    """Raise for an array of NumPy's, what is written to one being NumPy's to compute, for one of a program's own class,
    and for an object that answers to ufuncs itself."""
    if isinstance(array, SubclassBase):
        raise MetSubclass(type(array))
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ndarray):
        raise AbsentDTypeError(f"npdec cannot write to an array of NumPy's (of {array.dtype!r})")
    # Such an object is asked by the ufunc, or says that it takes none.
    if hasattr(type(array), "__array_ufunc__") and not isinstance(array, ArrayBase):
        raise AbsentDTypeError("return arrays must be of ArrayType")


def check_out(out: Any) -> None:
    """Raise, as that does, where what is to be written is such an array or object, or a tuple of them."""
    for item in out if isinstance(out, tuple) else (out,):
        if item is not None and type(item) is not wrap.ARRAY:
            refuse_numpys(item)


def prepare(name: str, array: NDArrayBase, value: Any, written: Iterable[Any]) -> torch.Tensor:
    """The tensor to write into: the array's own, or one that stands in for it until the array becomes, with the write,
    decomposed as `value` is. `written` is all that the write depends on."""
    target = _decomposed_as(name, array, value)
    if transforms.current.get() is not None and type(target) is not DecomposedTensor:
        transforms.renew(name, array, written)
        target = array._t
    return target


def _decomposed_as(name: str, array: NDArrayBase, value: Any) -> torch.Tensor:
    tensor = array._t
    if type(value) is not DecomposedTensor:
        return memory.decomposed_by_writing(array, tensor) if type(tensor) is DecomposedTensor else tensor
    steps = not carries(array._d) and not value.discrete and conditions_are_frozen()
    if steps or memory.is_foreign(array):
        _util.warn(
            f"{name}: writing decomposed values into an array of dtype {dtype_name(array._d)} drops their "
            "contributions",
            DecompositionWarning,
        )
        return tensor
    return memory.decomposed_by_writing(array, value)


_CARRYING_NOTHING = frozenset({torch.Tensor, bool, int, float, complex})


def writeable_tensor(name: str, array: Any, others: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensor for a kernel to change in place: the array's own, or one that stands in for it until it is written.
    Then the other tensors (or array-likes) of the call: their values, where the array cannot have contributions."""
    plain = type(array) is wrap.ARRAY and type(array._t) is torch.Tensor and is_free(array)
    if plain and all(type(other._t if type(other) is wrap.ARRAY else other) in _CARRYING_NOTHING for other in others):
        return array._t, *others
    found = [one for other in others for one in _decomposed_within(other)]
    like = found[0] if len(found) == 1 else under_labels_of(found)
    target = prepare(name, check_writeable(name, array), like, others)
    if found and type(target) is not DecomposedTensor:
        others = tuple(map(_value_of, others))
    return target, *others


def _decomposed_within(other: Any) -> Iterator[DecomposedTensor]:
    if isinstance(other, ArrayBase):
        other = other._t
    if type(other) is DecomposedTensor:
        yield other
    elif isinstance(other, (list, tuple)):
        for item in other:
            yield from _decomposed_within(item)


def _value_of(other: Any) -> Any:
    if isinstance(other, (list, tuple)):
        return [_value_of(item) for item in other]
    tensor = other._t if isinstance(other, ArrayBase) else other
    return other.value if type(tensor) is DecomposedTensor else other


def write(
    name: str,
    array: NDArrayBase,
    value: torch.Tensor,
    casting: str = "unsafe",
    mask: Any = None,
    found: set[str] | None = None,
) -> None:
    """Copy `value` into the array, broadcast and cast, where the mask allows.

    Floating-point errors in the cast are added to `found`, or reported if there is no such set.

    Nothing is written if the cast or the shapes do not fit (TypeError, ValueError).
    """
    check_writeable(name, array)
    if casting != "unsafe" and value.dtype is not array._d and not dtypes_impl.can_cast(value.dtype, array._d, casting):
        raise _cannot_cast(name, value.dtype, array._d, casting)
    if value.dtype.is_complex and not array._d.is_complex:
        value = _util.cast(value, torch.bool) if array._d is torch.bool else _util.real_part(value)
    if tuple(value.shape) != tuple(array._t.shape):
        value = _broadcast_into(name, value, tuple(array._t.shape))
    if type(mask) is DecomposedTensor:  # what is there contributes as well
        value, mask = torch.where(mask, value.to(array._d), array._t), None
    target = prepare(name, array, value, (value, mask))
    if type(value) is DecomposedTensor and type(target) is not DecomposedTensor:
        value = value.value
    if fp_state.watching and value.dtype is not array._d:
        _look(value, array._d, mask, found)
    if mask is not None:
        value = torch.where(mask, value.to(array._d), target)
    elif value.dtype is not array._d and is_transformed():
        value = value.to(array._d)  # what torch copies with a cast keeps a tangent of the dtype that it had
    try:
        target.copy_(value)
        memory.written(array)
    except BaseException:  # an interrupt
        memory.written(array, failed=True)
        raise


def _look(value: torch.Tensor, dtype: torch.dtype, mask: Any, found: set[str] | None) -> None:
    errors = fp_errors.found_by_cast(value, value.to(dtype), mask)
    if found is None:
        fp_state.report(errors, "cast")
    else:
        found |= errors


def _broadcast_into(name: str, value: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    try:
        return torch.broadcast_to(value, shape)
    except RuntimeError:
        raise ValueError(
            f"{name}: could not broadcast input array from shape {tuple(value.shape)} into shape {shape}"
        ) from None


def _check_out_dtype(name: str, out: torch.dtype, result: torch.dtype, casting: str) -> str:
    """The casting with which a result is written into `out=`, given what `npdec._core.tags.out_casting` declares."""
    if casting == "back":
        if not dtypes_impl.can_cast(out, result, "safe"):
            raise TypeError(
                f"{name}: cannot cast array data from {wrap.dtype_repr(out)} to {wrap.dtype_repr(result)} according "
                "to the rule 'safe': out= must be of the result's dtype"
            )
        return "unsafe"
    if casting == "same":
        if out is not result:
            raise ValueError(
                f"{name}: output array is not acceptable: it is of {wrap.dtype_repr(out)}, and the result of "
                f"{wrap.dtype_repr(result)}"
            )
    elif not dtypes_impl.can_cast(result, out, casting):
        raise _cannot_cast(name, result, out, casting)
    return casting


def _cannot_cast(name: str, value: torch.dtype, array: torch.dtype, casting: str) -> TypeError:
    return TypeError(
        f"Cannot cast ufunc '{name}' output from {wrap.dtype_repr(value)} to {wrap.dtype_repr(array)} with casting "
        f"rule '{casting}'"
    )


def dtype_of_out(out: Any, dtype: Any) -> torch.dtype:
    """The dtype in which arrays are joined into `out=`, in whose place a dtype can be given, but not both."""
    if dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    if type(out) is not wrap.ARRAY:
        refuse_numpys(out)
        raise TypeError("'out' must be an array")
    return out._d


def write_out(name: str, out: Any, result: Any, casting: str = "same_kind", broadcasts: bool = False) -> Any:
    """Write what a kernel returned into `out=` and return `out`. The cast must be safe enough, and the shapes agree
    (or the result broadcast)."""
    if isinstance(out, tuple):
        if isinstance(result, torch.Tensor):
            if len(out) != 1:
                raise ValueError(f"{name}: out= holds {len(out)} arrays for one result")
            return write_out(name, out[0], result, casting, broadcasts)
        if len(out) != len(result):
            raise ValueError(f"{name}: out= holds {len(out)} arrays for {len(result)} results")
        return tuple(each(write_out, [(name, o, r, casting, broadcasts) for o, r in zip(out, result, strict=True)]))
    if not isinstance(result, torch.Tensor):
        raise TypeError(f"{name}: out= needs a tuple of {len(result)} arrays")
    if type(out) is not wrap.ARRAY:
        refuse_numpys(out)
        raise TypeError(f"{name}: return arrays must be of ArrayType, an npdec array, not {type(out).__name__}")
    check_writeable(name, out)
    if broadcasts:
        result = _broadcast_into(name, result, tuple(out._t.shape))
    if tuple(result.shape) != tuple(out._t.shape):
        raise ValueError(
            f"{name}: output array has wrong shape: {tuple(out._t.shape)} instead of {tuple(result.shape)}"
        )
    if casting == "same" and not out._t.is_contiguous():
        raise ValueError(f"{name}: output array is not acceptable: its memory is not contiguous in row-major order")
    casting = _check_out_dtype(name, out._d, result.dtype, casting)
    write(name, out, result, "unsafe")
    return out
