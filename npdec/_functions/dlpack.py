"""Arrays from other libraries by DLPack: `np.from_dlpack`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from npdec._array import memory, wrap
from npdec._core.base import ArrayBase, SubclassBase
from npdec._core.unbound import unbound
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import creation_impl

if TYPE_CHECKING:
    from npdec._array.ndarray import Composition

__all__ = ["from_dlpack"]


@unbound
def from_dlpack(_: Any, x: Any, /, *, device: Any = None, copy: bool | None = None) -> Composition:
    """An array over the memory of any object with the DLPack protocol; of an npdec array, or a decomposed
    tensor, a view, contributions and all.

    It is read-only where it looks at an array of NumPy's that is, or the object cannot say that it may be written.
    What torch cannot look at (another device, NumPy's negative strides) is copied; with `copy=False` that raises
    ValueError. AttributeError without the protocol.

    >>> np.from_dlpack(torch.ones(2))
    array([1., 1.], dtype=float32)
    """
    if isinstance(x, SubclassBase) and _exports_as_arrays_do(type(x)):
        x = x._p
    numpy, maker, read_only = sys.modules.get("numpy"), x, False
    if numpy is not None and isinstance(x, numpy.ndarray):
        read_only = not x.flags.writeable
        if any(stride < 0 for stride in x.strides):
            x = x.copy()  # torch ends the process over one
    elif isinstance(x, SubclassBase) or not isinstance(x, (ArrayBase, torch.Tensor)):
        if not hasattr(x, "__dlpack__"):
            raise AttributeError(f"from_dlpack: {type(x).__name__!r} has no __dlpack__, by which arrays are exchanged")
        maker = x = _Exporter(x)
    if isinstance(x, ArrayBase):
        tensor = x._t
    else:
        tensor = x if isinstance(x, DecomposedTensor) else torch.from_dlpack(x)
    if isinstance(x, _Exporter):
        read_only = x.unversioned
    moved = tensor if device is None else tensor.to(creation_impl.as_device(device))
    if copy is False and (moved is not tensor or x is not maker):
        raise ValueError("from_dlpack: another device, or negative strides, need a copy")
    if copy:
        return wrap.wrap_array(moved.clone() if moved is tensor else moved)
    made = memory.view(x, moved) if isinstance(x, ArrayBase) else memory.over(moved)
    if read_only and x is maker and moved is tensor:
        memory.freeze(made, f"it looks at {'an array of another library' if x.__class__ is _Exporter else _NUMPYS}")
    return made


def _exports_as_arrays_do(kind: type) -> bool:
    """Whether a program's class below np.ndarray leaves `__dlpack__` as it is."""
    return next(cls for cls in kind.__mro__ if "__dlpack__" in vars(cls)).__module__.partition(".")[0] == "npdec"


_NUMPYS = "a read-only array of NumPy's"


class _Exporter:
    """An object of another library as torch asks it for its memory. A capsule of the protocol before version 1 cannot
    say whether that may be written: then it is not."""

    unversioned = False

    def __init__(self, source: Any) -> None:
        self._source = source

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._source.__dlpack__(**options)
        self.unversioned = '"dltensor"' in repr(capsule)
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._source.__dlpack_device__()
