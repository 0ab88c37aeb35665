"""Arrays from other libraries by DLPack: `np.from_dlpack`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from npdec._array import memory, wrap
from npdec._core.base import ArrayBase, SubclassBase
from npdec._core.unbound import unbound
from npdec._impl import creation_impl

if TYPE_CHECKING:
    from npdec._array.ndarray import Composition

__all__ = ["from_dlpack"]


@unbound
def from_dlpack(_: Any, x: Any, /, *, device: Any = None, copy: bool | None = None) -> Composition:
    """An array over the memory of any object with the DLPack protocol; of an npdec array a view, contributions and all.

    It is read-only where it looks at an array of NumPy's that is. What torch cannot look at (another device, NumPy's
    negative strides) is copied; with `copy=False` that raises ValueError. AttributeError without the protocol.

    >>> np.from_dlpack(torch.ones(2))
    array([1., 1.], dtype=float32)
    """
    if isinstance(x, SubclassBase):
        x = x._p
    numpy, maker, read_only = sys.modules.get("numpy"), x, False
    if numpy is not None and isinstance(x, numpy.ndarray):
        read_only = not x.flags.writeable
        if any(stride < 0 for stride in x.strides):
            x = x.copy()  # torch ends the process over one
    elif not isinstance(x, (ArrayBase, torch.Tensor)) and not hasattr(x, "__dlpack__"):
        raise AttributeError(f"from_dlpack: {type(x).__name__!r} has no __dlpack__, by which arrays are exchanged")
    tensor = x._t if isinstance(x, ArrayBase) else torch.from_dlpack(x)
    moved = tensor if device is None else tensor.to(creation_impl.as_device(device))
    if copy is False and (moved is not tensor or x is not maker):
        raise ValueError("from_dlpack: another device, or negative strides, need a copy")
    if copy:
        return wrap.wrap_array(moved.clone() if moved is tensor else moved)
    made = memory.view(x, moved) if isinstance(x, ArrayBase) else memory.over(moved)
    if read_only and x is maker and moved is tensor:
        memory.freeze(made, "it looks at a read-only array of NumPy's")
    return made
