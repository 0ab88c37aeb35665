"""Arrays from buffers, iterables and functions of places."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from npdec._array import wrap
from npdec._array.construct import over_buffer
from npdec._array.convert import as_dtype, as_tensor
from npdec._array.shapes import as_shape
from npdec._core.door import open_to_guests
from npdec._core.unbound import unbound
from npdec._impl import creation_impl
from npdec._normalizer.like import handed_on

if TYPE_CHECKING:
    from npdec._array.ndarray import Composition

__all__ = ["frombuffer", "fromfunction", "fromiter"]


@unbound
@open_to_guests
def frombuffer(
    _: Any, buffer: Any, dtype: Any = None, count: int = -1, offset: int = 0, *, like: Any = None
) -> Composition:
    """A 1-d array over the memory of an object with the buffer protocol, of float64 unless `dtype` is given. A buffer
    that is read-only is copied, and the array is read-only too. Raises ValueError where the sizes do not fit.

    >>> np.frombuffer(b"\\x01\\x02\\x03", dtype=np.uint8, count=2)
    array([1, 2], dtype=uint8)
    """
    if like is not None:
        return handed_on(frombuffer, like, buffer, dtype, count, offset)
    return over_buffer(
        buffer, torch.float64 if dtype is None else as_dtype(dtype), operator.index(count), operator.index(offset)
    )


@unbound
@open_to_guests
def fromiter(_: Any, iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Composition:
    """A 1-d array of the items of an iterable; `count` of them, or all. Raises ValueError if there are fewer.

    >>> np.fromiter((i * i for i in range(4)), dtype=float)
    array([0., 1., 4., 9.])
    """
    if like is not None:
        return handed_on(fromiter, like, iter, dtype, count)
    target = as_dtype(dtype)  # first: NumPy, if it is its dtype, must find the items unread
    items: list[Any] = []
    for item in iter:
        if len(items) == count:
            break
        items.append(item)
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    made = as_tensor(items, target)
    if made.dim() != 1 and items:
        kind = TypeError if isinstance(items[0], (list, tuple)) else ValueError
        raise kind(
            "fromiter: setting an array element with a sequence: each item is a number, not of shape "
            f"{tuple(made.shape[1:])}; np.array(list(iter)) makes an array of more axes"
        )
    return wrap.wrap_array(made)


@open_to_guests
def fromfunction(
    function: Callable[..., Any], shape: Sequence[int], *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """What `function` gives for the arrays of coordinates of a shape.

    >>> np.fromfunction(lambda i, j: i + j, (2, 3), dtype=int)
    array([[0, 1, 2],
           [1, 2, 3]])
    """
    if like is not None:
        return handed_on(fromfunction, like, function, shape, dtype=dtype, **kwargs)
    grids = creation_impl.indices(as_shape(shape), as_dtype(dtype))
    return function(*[wrap.wrap_array(grid) for grid in grids], **kwargs)
