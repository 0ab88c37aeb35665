"""Arrays from anything: `array` and its relatives, which read Python objects, buffers and other libraries' arrays."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import torch

from npdec._array import element_order, memory, wrap
from npdec._array.convert import MAX_NDIM, as_dtype, as_tensor
from npdec._array.convert_errors import too_deep
from npdec._array.foreign_arrays import as_copy, exports_memory, given
from npdec._core.base import ArrayBase
from npdec._core.door import hand_over, open_to_guests
from npdec._core.tracebacks import ended
from npdec._core.unbound import unbound
from npdec._impl import _storage, _util, creation_impl
from npdec._native import calls
from npdec._normalizer.like import handed_on
from npdec._normalizer.torch_errors import refusal
from npdec._torch.tracing import tracing
from npdec.exceptions import AbsentDTypeError

if TYPE_CHECKING:
    from npdec._array.ndarray import Composition

__all__ = [
    "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "isfortran",
    "require",
]  # fmt: skip

_ROW_MAJOR = ("K", "C", None)  # of what is made of a list


def _check_depth(ndmin: int, ndmax: int) -> None:
    if not 0 <= operator.index(ndmax) <= MAX_NDIM:
        raise ValueError(f"ndmax must be in the range [0, NPY_MAXDIMS ({MAX_NDIM})] ")
    if ndmin > ndmax:
        raise ValueError(f"ndmin must be <= ndmax ({ndmax})")


def _laid_out(tensor: torch.Tensor, order: str | None, given: Any) -> torch.Tensor:
    """The tensor, made of what was given, in the asked memory order; itself if it is in it already."""
    own = type(given) is wrap.ARRAY and tensor is given._t
    if order in ("C", "F") and own and not element_order.follow_each_other(given, order):
        return creation_impl.copy(tensor, order)
    if order == "C" and not tensor.is_contiguous():
        return tensor.contiguous()
    if order == "F" and not _storage.is_column_major(tensor):
        return creation_impl.copy(tensor, "F")
    return tensor


def _converted(obj: Any, dtype: Any, device: Any) -> torch.Tensor:
    target = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, (ArrayBase, torch.Tensor)):
        tensor = as_tensor(obj)
        if target is not None:
            tensor = _util.cast(tensor, target)
    else:
        tensor = as_tensor(obj, target)
    return tensor if device is None else tensor.to(creation_impl.as_device(device))


@unbound
def array(
    _: Any,
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = MAX_NDIM,
    like: Any = None,
) -> Composition:
    """A new array from an array, a number, nested sequences, a buffer or any object with an array protocol.

    The shape is that of the nesting, the dtype the smallest that holds all the numbers unless given. `copy=False`
    raises ValueError where a copy cannot be avoided, `copy=None` copies only where needed. `ndmin` adds leading axes
    of length one. Decomposed and differentiable elements keep what they carry. Raises ValueError for a ragged nesting,
    TypeError for objects that torch cannot hold, OverflowError for a Python int out of range.

    >>> np.array([[1, 2], [3, 4.5]])
    array([[1. , 2. ],
           [3. , 4.5]])
    >>> np.array([1, 2], dtype=np.float32, ndmin=2)
    array([[1., 2.]], dtype=float32)
    """
    try:
        if like is not None:
            return handed_on(
                array, like, object, dtype=dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, ndmax=ndmax
            )
        try:
            if copy is True and order == "K" and not ndmin and ndmax == MAX_NDIM:
                few = None if calls is None or tracing() else calls.few_array(object, dtype)
                if few is not None:
                    return few
                if type(object) in _COPIED:
                    tensor = _copied(object, dtype)
                    if tensor is not None:
                        return wrap.wrap_array(tensor)
            return _array(object, dtype, copy, order, ndmin, ndmax)
        except AbsentDTypeError as error:
            absent = error
        options: dict[str, Any] = {"copy": copy, "order": order, "subok": subok, "ndmin": ndmin}
        if ndmax != MAX_NDIM:
            options["ndmax"] = ndmax
        if dtype is not None:
            options["dtype"] = dtype
        return hand_over("array", (object,), options, absent)
    except Exception as error:
        raise ended(error)  # noqa: B904


def _array(object: Any, dtype: Any, copy: Any, order: str, ndmin: int = 0, ndmax: int = MAX_NDIM) -> Composition:
    """`array` of what torch can hold."""
    order = _storage.check_order(order)
    if ndmin or ndmax != MAX_NDIM:
        _check_depth(ndmin, ndmax)
    if copy is not True and copy is not None:
        copy = as_copy(copy)
    maker = object
    if type(object) is not list:
        object, copy = given(object, copy, dtype is not None and copy is not False)
    source = object if isinstance(object, torch.Tensor) else object._t if type(object) is wrap.ARRAY else None
    if copy is False and source is None:
        raise _unavoidable()
    try:
        tensor = _laid_out(_converted(object, dtype, None), order, object)
    except RuntimeError as error:
        raise refusal("array", error) from None
    if source is None and tensor.dim() > ndmax:
        raise too_deep(ndmax)
    shared = source is not None and memory.shares_storage(tensor, source)
    if copy is False and not shared:
        raise _unavoidable()
    if source is None and isinstance(object, ArrayBase) and tensor is object._t:
        tensor = tensor.clone()  # the memory of a scalar is never written
    if copy and shared:
        try:
            tensor = _storage.duplicate(tensor, element_order.counted(object, "A") if order == "A" else "K")
        except RuntimeError as error:
            raise refusal("array", error) from None
    for _ in range(ndmin - tensor.dim()):
        tensor = tensor.unsqueeze(0)
    if shared and not copy:
        return _shared(maker, object, source, tensor)
    return wrap.wrap_array(tensor)


_COPIED = frozenset({list, tuple, int, float, bool, wrap.ARRAY})


def _copied(source: Any, dtype: Any) -> torch.Tensor | None:
    """A copy of an array, or of Python numbers, in the memory order that it has; None where torch refuses."""
    target = None if dtype is None else as_dtype(dtype)
    try:
        if type(source) is not wrap.ARRAY:
            if type(source) is list and source and type(source[0]) is wrap.ARRAY and target is None:
                stacked = _stacked(source)
                if stacked is not None:
                    return stacked
            return as_tensor(source, target)
        if target is None or target is source._d:
            return _storage.duplicate(source._t)
    except RuntimeError:
        pass
    return None


def _stacked(arrays: list[Any]) -> torch.Tensor | None:
    """Plain arrays of one dtype along a new axis; None for others, and where torch refuses to stack them."""
    dtype, tensors = arrays[0]._d, []
    for x in arrays:
        if type(x) is not wrap.ARRAY or x._d is not dtype or type(x._t) is not torch.Tensor:
            return None
        tensors.append(x._t)
    return torch.stack(tensors) if tensors[0].dim() < MAX_NDIM else None


def _unavoidable() -> ValueError:
    return ValueError(
        "Unable to avoid copy while creating an array as requested.\nnp.asarray(obj) copies where it has to; see "
        "https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-keyword"
    )


def _shared(maker: Any, given: Any, source: Any, tensor: torch.Tensor) -> Composition:
    """A tensor over the memory that was given, as an array: the very array, a view of it, or one whose base is the
    object that has the memory."""
    if type(given) is wrap.ARRAY:
        return given if tensor is source else memory.view(given, tensor)
    made = memory.over(tensor)
    if exports_memory(maker):
        made._exporter = maker
    return made


@unbound
def asarray(
    _: Any,
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Composition:
    """The input as an array: itself if it is one of the dtype and order, sharing memory where that is possible.

    >>> x = np.array([1.0, 2.0])
    >>> np.asarray(x) is x
    True
    """
    try:
        if like is not None:
            return handed_on(asarray, like, a, dtype, order, device=device, copy=copy)
        if type(a) is wrap.ARRAY and dtype is None and order is None and device is None and copy is None:
            return a
        few = _few(a, dtype) if order is None and device is None and copy is None else None
        if few is not None:
            return few
        try:
            return _asarray(a, dtype, order, device, copy)
        except AbsentDTypeError as error:
            absent = error
        options = {"dtype": dtype, "order": order, "device": device, "copy": copy}
        return hand_over("asarray", (a,), {name: x for name, x in options.items() if x is not None}, absent)
    except Exception as error:
        raise ended(error)  # noqa: B904


def _few(a: Any, dtype: Any, order: str | bool = True) -> Any:
    """`asarray` of a few elements on the host, by rows ("C") or columns ("F") if asked; None of others."""
    return None if calls is None or tracing() else calls.few_array(a, dtype, order)


def _asarray(a: Any, dtype: Any = None, order: str | None = None, device: Any = None, copy: Any = None) -> Composition:
    """`asarray` of what torch can hold."""
    if type(a) is list and order in _ROW_MAJOR and device is None and copy is None:
        try:
            return wrap.wrap_array(as_tensor(a, None if dtype is None else as_dtype(dtype)).contiguous())
        except RuntimeError:
            pass
    if order is not None:
        order = _storage.check_order(order)
    if copy is not None:
        return _array(
            a if device is None else wrap.wrap_array(_converted(a, None, device)),
            dtype,
            copy=copy,
            order=order or "K",
        )
    if type(a) is wrap.ARRAY and dtype is None and order is None and device is None:
        return a
    maker = a
    if type(a) is not list:
        a, _ = given(a, None, dtype is not None)
    tensor = _laid_out(_converted(a, dtype, device), order, a)
    if isinstance(a, ArrayBase):
        if tensor is a._t:
            return a if type(a) is wrap.ARRAY else wrap.wrap_array(tensor.clone())  # type: ignore[return-value]
    elif tensor is a:
        return memory.over(tensor) if maker is a else _shared(maker, a, a, tensor)
    return wrap.wrap_array(tensor)


@unbound
@open_to_guests
def asanyarray(
    _: Any,
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Composition:
    """The same as `asarray`, but for subclasses of NumPy's arrays (a matrix, a masked array), which stay what they are.

    >>> np.asanyarray([1, 2])
    array([1, 2])
    """
    if like is not None:
        return handed_on(asanyarray, like, a, dtype, order, device=device, copy=copy)
    few = _few(a, dtype) if order is None and device is None and copy is None else None
    return _asarray(a, dtype, order, device, copy) if few is None else few


@unbound
@open_to_guests
def ascontiguousarray(_: Any, a: Any, dtype: Any = None, *, like: Any = None) -> Composition:
    """The input as an array of at least one axis, contiguous in row-major order.

    >>> np.ascontiguousarray(np.ones((2, 3)).T).flags.c_contiguous
    True
    """
    if like is not None:
        return handed_on(ascontiguousarray, like, a, dtype)
    few = _few(a, dtype, "C")
    result = _asarray(a, dtype, "C") if few is None else few
    return result if result.ndim else result.reshape(1)


@unbound
@open_to_guests
def asfortranarray(_: Any, a: Any, dtype: Any = None, *, like: Any = None) -> Composition:
    """The input as an array of at least one axis, laid out in column-major order.

    >>> np.asfortranarray(np.ones((2, 3))).flags.f_contiguous
    True
    """
    if like is not None:
        return handed_on(asfortranarray, like, a, dtype)
    few = _few(a, dtype, "F")
    result = _asarray(a, dtype, "F") if few is None else few
    return result if result.ndim else result.reshape(1)


def isfortran(a: Any) -> bool:
    """Whether an array is laid out in column-major order, and not in row-major order as well (as a 1-d array is).

    >>> np.isfortran(np.ones((2, 3), order="F")), np.isfortran(np.ones(3))
    (True, False)
    """
    return (wrap.wrap_array(a) if isinstance(a, torch.Tensor) else a).flags.fnc


@open_to_guests
def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Composition:
    """The input as an array; raises ValueError if it holds NaN or infinity.

    >>> np.asarray_chkfinite([1.0, np.inf])
    Traceback (most recent call last):
    ValueError: array must not contain infs or NaNs
    """
    result = _asarray(a, dtype, order)
    tensor = as_tensor(result.value)
    if tensor.is_floating_point() and _util.are_numbers(tensor) and math.isfinite(torch.sum(tensor).item()):
        return result  # a sum that is not finite may be one of finite numbers
    if (tensor.is_floating_point() or tensor.is_complex()) and not bool(torch.isfinite(tensor).all()):
        raise ValueError("array must not contain infs or NaNs")
    return result


_REQUIREMENTS = {
    **{letter: letter for letter in "CFAWOE"},
    "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F_CONTIGUOUS": "F", "FORTRAN": "F",
    "ALIGNED": "A", "WRITEABLE": "W", "OWNDATA": "O", "ENSUREARRAY": "E",
}  # fmt: skip


@open_to_guests
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Composition:
    """The input as an array that meets requirements: "C", "F" (order), "A" (aligned), "W" (writeable), "O" (owns).

    Raises KeyError for an unknown requirement, ValueError for "C" and "F" together.

    >>> np.require(np.ones((2, 3)).T, requirements=["C"]).flags["C"]
    True
    """
    if like is not None:
        return handed_on(require, like, a, dtype, requirements)
    wanted = {_REQUIREMENTS[str(r).upper()] for r in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "C" if "C" in wanted else "F" if "F" in wanted else "A" if wanted else None
    result = _asarray(a, dtype, order)
    if ("W" in wanted and not result.flags.writeable) or ("O" in wanted and not result.flags.owndata):
        result = result.copy(order or "A")
    return result
