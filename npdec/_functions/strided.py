"""Views by strides and by windows, whose contributions alias as their values do."""

from __future__ import annotations

import operator
from typing import Any

import torch

from npdec._array import memory, wrap
from npdec._array.convert import as_tensor
from npdec._array.ndarray import Composition
from npdec._array.shapes import as_axis, as_shape
from npdec._core.door import open_to_guests_as
from npdec._decomposed.tensor import DecomposedTensor, is_broadcast
from npdec._impl import _util
from npdec._rules.inplace_views import is_laid_out_alike, restrided

__all__ = ["as_strided", "sliding_window_view"]


def _array(x: Any) -> Composition:
    return x if type(x) is Composition else wrap.wrap_array(as_tensor(x))


@open_to_guests_as("lib.stride_tricks.as_strided")
def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Composition:
    """A view of the memory of an array, from its first element on, in another shape and with other strides, in bytes.

    Elements may overlap. The contributions of a decomposed array are viewed alike. Negative strides, which torch does
    not have, give a copy that stands for the view, in which writes go on to the array; it must stay within the elements
    of the array, or of the one that it is a view of. An array of a program's own class stays one under `subok`.
    Raises ValueError for strides that are not whole elements, and for a view that leaves the memory of the array.

    >>> np.lib.stride_tricks.as_strided(np.arange(4), shape=(3, 2), strides=(8, 8))
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    array = _array(x)
    size = array.shape if shape is None else tuple(map(operator.index, tuple(shape)))
    if strides is not None:
        strides = tuple(map(operator.index, tuple(strides)))
    else:  # row major, as the array is
        strides = _packed(size, array.itemsize) if array._t.is_contiguous() else array.strides
    if len(size) != len(strides):
        raise ValueError("mismatch in length of strides and shape")
    if any(length < 0 for length in size):
        raise ValueError("negative dimensions are not allowed")
    width = array.itemsize
    if any(stride % width and length > 1 for stride, length in zip(strides, size, strict=True)):
        raise ValueError(
            f"as_strided: strides {strides} are no multiples of the {width} bytes of an element; torch counts elements"
        )
    strides = tuple(stride // width if length > 1 else 1 for stride, length in zip(strides, size, strict=True))
    if any(stride < 0 for stride in strides) and 0 not in size:
        made = _reversed(array, size, strides)
    else:
        made = memory.view(array, _restrided(array, size, strides))
        if is_broadcast(made._t):
            memory.freeze(made, memory.ONE_IN_MEMORY)
    if not writeable:
        memory.freeze(made, "as_strided(writeable=False)")
    return made


def _packed(size: tuple[int, ...], width: int) -> tuple[int, ...]:
    """The strides of an array in row-major order without gaps, whose elements are `width` apart."""
    strides = []
    for length in reversed(size):
        strides.append(width)
        width *= max(length, 1)
    return tuple(reversed(strides))


def _restrided(array: Composition, size: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    tensor = array._t
    if type(tensor) is not DecomposedTensor:
        return _checked(tensor, size, strides)
    if not is_laid_out_alike(tensor):
        tensor = memory.seen_alike(array, tensor)
    _checked(tensor.value, size, strides)
    return restrided(tensor, size, strides)


def _checked(tensor: torch.Tensor, size: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    """The view of a tensor's memory, if that reaches as far."""
    held = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    needed = 0 if 0 in size else 1 + sum((n - 1) * stride for n, stride in zip(size, strides, strict=True))
    if needed > held:
        raise ValueError(
            f"as_strided: a view of shape {size} with strides of {strides} elements needs {needed} elements of memory "
            f"from the first one of the array on, and there are {held}"
        )
    return tensor.as_strided(size, strides)


def _reversed(array: Composition, size: tuple[int, ...], strides: tuple[int, ...]) -> Composition:
    """A copy that stands for the view with negative strides, by the positions of the elements that it shows."""
    shown = _offsets(size, strides).reshape(-1)
    for owner in (array, array.base):
        if owner is None or not memory.shares_storage(owner._t, array._t):
            continue
        start = int(array._t.storage_offset() - owner._t.storage_offset())
        held = _offsets(owner.shape, tuple(owner._t.stride())).reshape(-1).tolist()
        places = dict(zip(reversed(held), reversed(range(len(held))), strict=True))
        chosen = [places.get(offset) for offset in (shown + start).tolist()]
        if None not in chosen:
            break
    else:
        raise ValueError(
            f"as_strided: a view of shape {size} with negative strides ({strides}, in elements) must show elements of "
            "the array, or of the one that it is a view of: torch has no negative strides"
        )
    index = torch.tensor(chosen).reshape(size)

    def again(source: torch.Tensor) -> torch.Tensor:
        return source.reshape(-1)[index.to(source.device)]

    made = wrap.wrap_array(again(owner._t))
    memory.mirror(owner, made, again)
    return made


def _offsets(size: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    """The place in memory of each element of a view, counted in elements from the first one."""
    offsets = torch.zeros((), dtype=torch.int64)
    for length, stride in zip(size, strides, strict=True):
        offsets = offsets[..., None] + torch.arange(length) * stride
    return offsets


@open_to_guests_as("lib.stride_tricks.sliding_window_view")
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Composition:
    """A view in which each place of a window on an array has axes of its own, at the end: its positions, then it.

    `window_shape` has a length for each of the axes given by `axis` (by default all). The view is read-only unless
    `writeable`. An array of a program's own class stays one under `subok`. Raises ValueError for a window larger than
    the array, or of another number of axes.

    >>> np.lib.stride_tricks.sliding_window_view(np.arange(4), 3)
    array([[0, 1, 2],
           [1, 2, 3]])
    """
    window, array = as_shape(window_shape), _array(x)
    if any(length < 0 for length in window):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(array.ndim))
        if len(window) != len(axes):
            raise ValueError(
                "Since axis is `None`, must provide window_shape for all dimensions of `x`; got "
                f"{len(window)} window_shape elements and `x.ndim` is {array.ndim}."
            )
    else:
        axes = _util.normalize_axes(as_axis(axis), array.ndim, allow_duplicate=True)
        if len(window) != len(axes):
            raise ValueError(
                f"Must provide matching length window_shape and axis; got {len(window)} window_shape elements and "
                f"{len(axes)} axes elements."
            )
    tensor = array._t
    for dim, length in zip(axes, window, strict=True):
        if length > tensor.shape[dim]:
            raise ValueError("window shape cannot be larger than input array shape")
        tensor = tensor.unfold(dim, length, 1)
    made = memory.view(array, tensor.view_as(tensor) if tensor is array._t else tensor)
    if not writeable:
        memory.freeze(made, "sliding_window_view(writeable=False)")
    return made
