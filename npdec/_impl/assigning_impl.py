"""Inserting data into arrays (NumPy: "Indexing routines", inserting data), in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._core.direct import Direct
from npdec._core.tags import ArrayLike, ArrayLikeOrScalar, InPlace, Mask, Opaque, public
from npdec._impl import _host, _promotion, _storage, _util, dtypes_impl
from npdec._impl.getitem_impl import shape_text
from npdec._impl.index_tricks_impl import coordinates
from npdec._impl.indexing_impl import along_index, along_shape, apply_mode, as_integers, is_alike, read_mode
from npdec._impl.setitem_impl import broadcast_input, fit_indexed, fit_leading, setitem


def _values(values: Any, x: torch.Tensor) -> torch.Tensor:
    """What is to be written into `x`, in its dtype, and not in its memory. Python numbers have to fit it."""
    if not isinstance(values, torch.Tensor):
        return dtypes_impl.element(values, x.dtype, x.device)
    values = _util.cast(values, x.dtype)
    return values.clone() if _storage.shares_memory(values, x) else values


def _check_cast(source: torch.dtype, x: torch.Tensor, casting: str, what: str = "array data") -> None:
    if not dtypes_impl.can_cast(source, x.dtype, casting):
        names = [str(dtype).removeprefix("torch.") for dtype in (source, x.dtype)]
        raise TypeError(
            f"Cannot cast {what} from dtype('{names[0]}') to dtype('{names[1]}') according to the rule '{casting}'"
        )


def _repeated(values: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """The values at the places, counted from the start again after the end. There is at least one value."""
    flat = values.reshape(-1)
    return flat[torch.remainder(place, flat.shape[0])] if flat.shape[0] > 1 else flat.expand(place.shape)


def _first(values: torch.Tensor, count: int) -> torch.Tensor:
    """So many values, counted from the start again after the end. There is at least one value."""
    flat = values.reshape(-1)
    if flat.shape[0] == 1:
        return flat.expand(count)
    return (flat if flat.shape[0] >= count else flat.repeat(-(-count // flat.shape[0])))[:count]


_KNOWN = frozenset({*dtypes_impl.RANGES, torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64})
_KNOWN |= {torch.complex64, torch.complex128}


def _copied(dst: torch.Tensor, src: torch.Tensor) -> bool:
    if src.untyped_storage()._cdata == dst.untyped_storage()._cdata:
        return False
    dst.copy_(src)
    return True


@public(direct=Direct(_copied, _KNOWN))
def copyto(dst: InPlace, src: ArrayLikeOrScalar, casting: str = "same_kind", where: Mask = True) -> None:
    """Copy `src`, broadcast, into `dst`, everywhere or where a mask (broadcast too) is true.

    Raises TypeError if `casting` does not allow the cast, ValueError if the shapes do not fit, OverflowError for a
    Python int outside the range of the dtype.

    >>> x = np.zeros(3, dtype=int)
    >>> np.copyto(x, [1, 2, 3], where=[True, False, True])
    >>> x
    array([1, 0, 3])
    """
    if isinstance(src, torch.Tensor) and where is True and src.shape == dst.shape and src.dtype is dst.dtype:
        _check_cast(src.dtype, dst, casting)
        dst.copy_(_values(src, dst))
        return
    if isinstance(src, torch.Tensor):
        _check_cast(src.dtype, dst, casting, "array data" if src.ndim else "scalar")
        values = _values(src, dst)
    else:
        natural = dtypes_impl.result_type(src)
        dtypes_impl.can_cast(natural, natural, casting)  # the name of the rule is checked, whether or not it is needed
        if dst.dtype is torch.bool:
            dtypes_impl.check_truth(src)
        if isinstance(src, bool) or dtypes_impl.result_type(dst.dtype, src) is not dst.dtype:
            _check_cast(natural, dst, casting, "scalar")
        elif casting == "equiv" and natural is not dst.dtype:  # "no" is allowed, in NumPy too
            name = str(dst.dtype).removeprefix("torch.")
            raise TypeError(f"cannot cast Python {type(src).__name__} to {name} under the casting rule '{casting}'")
        if _promotion.converts(src, dst.dtype):
            values = dtypes_impl.element(src, dst.dtype, dst.device)
        else:
            values = _util.cast(dtypes_impl.scalar_tensor(src, natural, dst.device), dst.dtype)
    shape = tuple(dst.shape)
    values = broadcast_input(fit_leading(values, dst.ndim), shape)
    if where is not True:
        mask = where.to(torch.bool)
        try:
            mask = mask.expand(shape)
        except RuntimeError:
            raise ValueError(
                f"could not broadcast where mask from shape {shape_text(mask.shape)} into shape {shape_text(shape)}"
            ) from None
        values = torch.where(mask, values, dst)
    dst.copy_(values)


def _put_masked(a: torch.Tensor, mask: torch.Tensor, values: Any) -> bool:
    if type(values) is not torch.Tensor or values.dtype is not a.dtype or mask.dtype is not torch.bool:
        return False
    if values.requires_grad or not values.shape == a.shape == mask.shape:
        return False
    a.copy_(torch.where(mask, values, a))
    return True


@public(direct=Direct(_put_masked))
def putmask(a: InPlace, /, mask: ArrayLike, values: object) -> None:
    """Write values where a mask of the array's size is true: at each place the value of the same row-major number.

    Too few values are repeated; none write nothing. Raises ValueError if the mask has another size, TypeError for
    an array of a dtype that does not cast safely (of a list, each number has to fit).

    >>> x = np.array([1, 2, 3, 4])
    >>> np.putmask(x, x > 2, [10, 20])
    >>> x
    array([ 1,  2, 10, 20])
    """
    if mask.numel() != a.numel():
        raise ValueError("putmask: mask and data must be the same size")
    values = _given(values, a, "safe")
    if values.shape == a.shape == mask.shape:
        a.copy_(torch.where(mask if mask.dtype is torch.bool else mask != 0, values, a))
    elif values.numel() and a.numel():
        full = _first(values, a.numel()).reshape(a.shape)
        a.copy_(torch.where((mask != 0).reshape(a.shape), full, a))


def _given(values: Any, a: torch.Tensor, casting: str) -> torch.Tensor:
    """What is to be written into `a`, in its dtype. An array casts by the rule; the numbers of a list, or one number,
    become of that dtype as `np.array(values, dtype)` makes them."""
    if type(values) in (bool, int, float, complex):
        return _values(values, a)
    if isinstance(values, Sequence):
        return _host.as_tensor(values, a.dtype, device=a.device)
    made = _host.as_tensor(values, device=a.device)
    if hasattr(values, "__setitem__"):  # not a scalar
        _check_cast(made.dtype, a, casting, "array data" if made.ndim else "scalar")
    return _values(made, a)


def _placed(arr: torch.Tensor, mask: torch.Tensor, values: Any) -> bool:
    if type(values) is not torch.Tensor or values.dtype is not arr.dtype or values.requires_grad:
        return False
    if mask.dtype is not torch.bool or mask.shape != arr.shape or not values.numel():
        return False
    if arr.dtype in dtypes_impl.WIDE_UNSIGNED or not _util.are_numbers(arr, mask, values):
        return False
    arr.copy_(torch.masked_scatter(arr, mask, _first(values, int(torch.count_nonzero(mask)))))
    return True


@public(direct=Direct(_placed))
def place(arr: InPlace, mask: ArrayLike, vals: object) -> None:
    """Write the values one after the other to the places where a mask of the array's size is true.

    Too few values are repeated. Raises ValueError if the mask has another size or if there is no value to write,
    TypeError for an array of a dtype that does not cast safely (of a list, each number has to fit).

    >>> x = np.array([1, 2, 3, 4])
    >>> np.place(x, x > 2, [10, 20])
    >>> x
    array([ 1,  2, 10, 20])
    """
    if mask.numel() != arr.numel():
        raise ValueError("place: mask and data must be the same size")
    values = _given(vals, arr, "safe")
    chosen = (mask != 0).reshape(-1)
    if not values.numel():
        if _util.is_known_true(chosen.any()):
            raise ValueError("Cannot insert from an empty array!")
        return
    if arr.numel():
        full = _repeated(values, torch.cumsum(chosen, 0) - 1).reshape(arr.shape)
        arr.copy_(torch.where(chosen.reshape(arr.shape), full, arr))


def _put_few(a: torch.Tensor, ind: Any, v: Any) -> bool:
    """Whether plain numbers were written at one index, or few of them: a Python float, or a value for each."""
    if a.dtype is not torch.float64 or not a.is_contiguous() or not _util.are_numbers(a):
        return False
    if type(ind) is torch.Tensor and ind.dtype is torch.int64 and ind.numel() <= _FEW and _util.are_numbers(ind):
        places = ind.reshape(-1).tolist()
    else:
        places = [ind] if type(ind) is int else ind
        if type(places) is not list or len(places) > _FEW or any(type(place) is not int for place in places):
            return False
    size = a.numel()
    if not places or min(places) < -size or max(places) >= size:
        return False
    if type(v) is list and all(type(number) is float for number in v):
        v = torch.tensor(v, dtype=torch.float64, device=a.device)
    if type(v) is torch.Tensor:
        if v.dtype is not a.dtype or not _util.are_numbers(v) or _storage.shares_memory(v, a):
            return False
        if v.numel() != len(places) or len({place % size for place in places}) != len(places):
            return False
        v = v.reshape(-1)
    elif type(v) is not float:
        return False
    flat = a if a.dim() == 1 else a.view(-1)
    if len(places) == 1:
        flat[places[0]] = v
    else:  # in one call, which no interrupt divides
        flat[ind.reshape(-1) if type(ind) is torch.Tensor else torch.tensor(places, device=a.device)] = v
    return True


_FEW = 20


@public(direct=Direct(_put_few, given=("ind",)))
def put(a: InPlace, ind: Opaque, v: object, mode: str = "raise") -> None:
    """Write values at indices that count the elements in row-major order.

    Too few values are repeated; none write nothing. Of several values for one element the last stays. `mode` says what
    an index out of range does: "raise" an IndexError, "wrap" around, or be "clip"ped to the range.

    >>> x = np.zeros((2, 2), dtype=int)
    >>> np.put(x, [0, -1], [7, 8])
    >>> x
    array([[7, 0],
           [0, 8]])
    """
    index = as_integers(ind, "safe").reshape(-1)
    values = _given(v, a, "unsafe")
    if index.numel() and not a.numel():
        raise IndexError("cannot replace elements of an empty array")
    mode = read_mode(mode)
    if index.numel() and values.numel():
        index = apply_mode(index, a.numel(), 0, mode)
        _put_flat(a, index, _first(values, index.numel()))


def _put_flat(a: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> None:
    """Write one value for each index, in range, into the elements in row-major order."""
    if a.ndim == 1:
        setitem(a, (index,), values)
    elif a.ndim:
        setitem(a, coordinates(index, tuple(a.shape)), values)
    else:
        a.copy_(values[-1])


def _scattered(arr: torch.Tensor, index: torch.Tensor, number: Any, axis: Any) -> bool:
    """Whether a number was written at few indices of plain numbers that are counted from the front, and in bounds."""
    if type(axis) is not int or type(number) is not float or arr.dtype is not torch.float64:
        return False
    rank = arr.dim()
    if index.dtype is not torch.int64 or rank > 2 or rank != index.dim() or not -rank <= axis < rank:
        return False
    if not 0 < index.numel() <= _FEW or not is_alike(arr, index, axis % rank) or not _util.are_numbers(arr, index):
        return False
    rows = index.tolist()
    places = rows if rank == 1 else [place for row in rows for place in row]
    if min(places) < 0 or max(places) >= arr.shape[axis]:
        return False
    arr.scatter_(axis, index, number)
    return True


@public(direct=Direct(_scattered))
def put_along_axis(arr: InPlace, indices: Opaque, values: object, axis: int | None) -> None:
    """Write into every vector along an axis at its own indices: the inverse of `np.take_along_axis`.

    The values are broadcast to the indices. Raises IndexError for an index out of range, ValueError for shapes that
    do not fit.

    >>> x = np.array([[10, 30, 20]])
    >>> np.put_along_axis(x, np.argmax(x, axis=1, keepdims=True), 99, axis=1)
    >>> x
    array([[10, 99, 20]])
    """
    index, axis_index = along_index(arr, indices, axis)
    new = _given(values, arr, "unsafe")
    if axis is None:
        new = fit_indexed(new, tuple(index.shape)).expand(index.shape)
        if index.numel():
            _put_flat(arr, apply_mode(index, arr.numel(), 0, "raise"), new)
        return
    if isinstance(values, (int, float)) and is_alike(arr, index, axis_index) and _util.are_numbers(arr, index):
        low, high = torch.aminmax(index) if index.numel() else (index, index)
        if index.numel() and low >= 0 and high < arr.shape[axis_index]:
            _storage.signed(arr).scatter_(axis_index, index, _storage.signed(new.expand(index.shape)))
            return
    along_shape(tuple(arr.shape), index, axis_index)
    key = [
        torch.arange(n, device=arr.device).reshape([-1 if i == at else 1 for i in range(arr.ndim)])
        for at, n in enumerate(arr.shape)
    ]
    key[axis_index] = index
    setitem(arr, tuple(key), new)


@public
def fill_diagonal(a: InPlace, val: object, wrap: bool = False) -> None:
    """Write a value, or values one after the other, to the main diagonal of an array of at least two axes.

    With more than two axes all must be of one length, and the diagonal is where all indices are equal. With `wrap` the
    diagonal of a tall matrix goes on, after a row left out, as often as there is room. Too few values are repeated.
    Raises ValueError for other shapes.

    >>> x = np.zeros((2, 2), dtype=int)
    >>> np.fill_diagonal(x, [1, 2])
    >>> x
    array([[1, 0],
           [0, 2]])
    """
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    values = _given(val, a, "unsafe")
    if not a.numel() or not values.numel():
        return
    rows, columns = a.shape[0], a.shape[1]
    if a.ndim == 2 and wrap and rows > columns:
        at = torch.arange(rows, device=a.device)
        at = at[torch.remainder(at, columns + 1) < columns]
        setitem(a, (at, torch.remainder(at, columns + 1)), _first(values, at.shape[0]))
        return
    diagonal = a
    for _ in range(a.ndim - 1):
        diagonal = diagonal.diagonal(0, 0, -1)
    diagonal.copy_(_first(values, diagonal.shape[0]))
