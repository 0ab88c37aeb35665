"""Random choices, permutations and shuffles of the elements of arrays, which keep their contributions and gradients.

The stream gives the positions; the elements are moved here.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_dtype, as_tensor, dtype_name
from npdec._array.output import check_writeable, write
from npdec._array.scalars import float64
from npdec._array.shapes import as_shape
from npdec._core.base import ArrayBase, plain_of
from npdec._core.tracebacks import cut, cuts
from npdec._impl import _storage, _util
from npdec._impl._util import normalize_axis
from npdec._native import calls
from npdec._torch.tracing import tracing
from npdec.exceptions import AbsentDTypeError, AxisError

__all__ = ["chosen", "filled", "permutation", "shuffle"]


def as_count(x: Any) -> int | None:
    """The number that a scalar integer stands for, None for anything else."""
    if isinstance(x, bool) or (isinstance(x, ArrayBase) and plain_of(x)._t.ndim):
        return None
    try:
        return operator.index(x)
    except TypeError:
        return None


def _elements_of(x: Any) -> Any:
    """The tensor of an array-like; of what torch cannot hold, the guest."""
    try:
        return as_tensor(x)
    except AbsentDTypeError:
        made = wrap.NAMESPACE.value.asarray(x)
        return made._t if type(made) is wrap.ARRAY else made


def selected(x: Any, indices: Any, axis: int) -> Any:
    """The elements of a tensor (or a guest) along an axis at an index, or at an array of indices that replaces the
    axis."""
    if not isinstance(x, torch.Tensor):
        found = x.take(indices, axis)
        if isinstance(indices, int) or indices.ndim or x.ndim > 1:
            return found
        made = wrap.NAMESPACE.value.empty((), x.dtype)
        made[()] = found
        return made
    if isinstance(indices, int):
        return wrap.wrap(torch.select(x, axis, indices).clone())
    places = indices._t.to(x.device)
    found = torch.index_select(x, axis, places.reshape(-1))
    return wrap.wrap_array(found.reshape(x.shape[:axis] + places.shape + x.shape[axis + 1 :]))


@cuts
def chosen(stream: Any, a: Any, size: Any, replace: bool, p: Any, axis: int | None, **options: Any) -> Any:
    """Elements of `a` along an axis (None: of a vector), or numbers below it."""
    n = None if type(a) is wrap.ARRAY else as_count(a)
    if n is not None:
        return stream.choice(n, size, replace, p, **options)
    if type(a) is wrap.ARRAY and a.ndim == 1 and a.size and axis in (None, 0):
        return a[stream.choice(a.size, size, replace, p, **options)]
    if isinstance(a, (list, tuple)) and size is None and any(isinstance(item, str) for item in a):
        return a[stream.choice(len(a), None, replace, p, **options)]  # one word; arrays of text there are not
    x = _elements_of(a)
    if x.ndim != 1 and (axis is None or not x.ndim):
        raise ValueError("a must be 1-dimensional or an integer" if not x.ndim else "a must be 1-dimensional")
    axis = normalize_axis(axis or 0, x.ndim)
    drawn = size is None or 0 not in as_shape(size)
    if drawn and not x.shape[axis]:
        raise ValueError("'a' cannot be empty unless no samples are taken")
    return selected(x, stream.choice(x.shape[axis], size, replace, p, **options), axis)


@cuts
def permutation(stream: Any, x: Any, axis: int) -> Any:
    n = None if type(x) is wrap.ARRAY else as_count(x)
    if n is not None:
        return stream.order(n)
    if type(x) is wrap.ARRAY and x.ndim and normalize_axis(axis, x.ndim) == 0:
        return x[stream.order(len(x))]
    x = _elements_of(x)
    if not x.ndim:
        raise AxisError(axis, 0)
    axis = normalize_axis(axis, x.ndim)
    return selected(x, wrap.wrap_array(stream.permutation(x.shape[axis])), axis)


@cuts
def shuffle(stream: Any, x: Any, axis: int) -> None:
    """Shuffle an array, or any mutable sequence, in place."""
    x = plain_of(x)
    if isinstance(x, (ArrayBase, torch.Tensor)):
        given: Any = x
        is_lazy = axis == 0 and type(x) is wrap.ARRAY and calls is not None and not tracing() and calls.few_strides(x)
        if is_lazy:  # all in memory; of what cannot be written there the rest says why
            drawn = stream.order(given.shape[0])
            if calls.few_copyto(given, given[drawn]):
                return
        check = as_tensor(x)
        if not check.ndim:
            raise TypeError("shuffle: a 0-d array has no order")
        axis = normalize_axis(axis, check.ndim)
        order = (as_tensor(drawn) if is_lazy else stream.permutation(check.shape[axis])).to(check.device)
        if isinstance(x, torch.Tensor):
            x.copy_(torch.index_select(x, axis, order))
        else:
            write("shuffle", check_writeable("shuffle", x), torch.index_select(check, axis, order))
        return
    if hasattr(x, "__array_interface__"):
        order = stream.permutation(x.shape[axis]).tolist()
        x[...] = x.take(order, axis)
        return
    if axis:
        raise NotImplementedError("Axis argument is only supported on ndarray objects")
    if not isinstance(x, Sequence):
        _util.warn(
            f"you are shuffling a {type(x).__name__!r} object which is not a subclass of 'Sequence'; `shuffle` is not "
            "guaranteed to behave correctly: items that are views, not values, may be repeated",
            UserWarning,
        )
    for i, item in enumerate([x[i] for i in stream.permutation(len(x)).tolist()]):
        x[i] = item


def filled(stream: Any, name: str, parameters: tuple[Any, ...], size: Any, dtype: Any, out: Any, **options: Any) -> Any:
    """Draws in float64 or float32, written into `out` if it is given."""
    try:
        if dtype is float64 and out is None:
            return stream.draw(name, *parameters, size=size, **options)
        wanted = as_dtype(dtype)
        if wanted not in (torch.float32, torch.float64):
            raise TypeError(f"Unsupported dtype {wrap.dtype_repr(wanted)} for {name}")
        if out is None:
            return stream.draw(name, *parameters, size=size, dtype=dtype, **options)
        return _written(stream, name, parameters, size, wanted, out, options)
    except Exception as error:
        raise cut(error)  # noqa: B904


def _written(stream: Any, name: str, parameters: Any, size: Any, dtype: torch.dtype, out: Any, options: Any) -> Any:
    given, out = out, plain_of(out)
    shape = _check_output(name, out, dtype)
    if size is not None and as_shape(size) != shape:
        raise ValueError("size must match out.shape when used together")
    rows = out._t.is_contiguous()
    if not rows and parameters:
        raise ValueError(_LAYOUT.format("C-contiguous"))
    drawn = as_tensor(stream.draw(name, *parameters, size=shape if rows else shape[::-1], dtype=dtype, **options))
    write(name, out, drawn if rows else _storage.reverse_axes(drawn))  # in the order in which they lie in memory
    return given


_LAYOUT = "Supplied output array must be {}, writable, aligned, and in machine byte-order."


def _check_output(name: str, out: Any, dtype: torch.dtype) -> tuple[int, ...]:
    """The shape of `out=`, if draws of that dtype can be put there. Raises TypeError, ValueError."""
    target = check_writeable(name, out)
    if target._d is not dtype:
        raise TypeError(
            f"Supplied output array has the wrong type. Expected {dtype_name(dtype)}, got {dtype_name(target._d)}"
        )
    if not target._t.is_contiguous() and not _storage.is_column_major(target._t):
        raise ValueError(_LAYOUT.format("contiguous"))
    return tuple(target._t.shape)
