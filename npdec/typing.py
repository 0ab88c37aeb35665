"""`np.typing`: names for annotations. They say what NumPy's say, of npdec's arrays.

`NDArray[np.float64]` is an array of a scalar type, `ArrayLike` whatever `np.array` takes, `DTypeLike` whatever
`np.dtype` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import torch

from npdec._array.generic import generic
from npdec._array.ndarray import Composition as ndarray
from npdec._dtypes.dtype import dtype

__all__ = ["ArrayLike", "DTypeLike", "NBitBase", "NDArray"]

_Scalar = TypeVar("_Scalar", bound=generic)

NDArray = ndarray[tuple[Any, ...], dtype[_Scalar]]  # type: ignore[type-arg]


class _Exporter(Protocol):
    """An object that exports its elements by NumPy's protocol."""

    def __array__(self) -> Any: ...


class _HasDType(Protocol):
    """An object with a dtype."""

    @property
    def dtype(self) -> Any: ...


ArrayLike = ndarray | generic | torch.Tensor | _Exporter | complex | Sequence[Any]
DTypeLike = dtype | torch.dtype | type[Any] | _HasDType | str | None


class NBitBase:
    """The root of what an annotation says of the precision of numbers. It has no instances and no subclasses."""

    __module__ = "npdec.typing"

    def __init_subclass__(cls) -> None:
        raise TypeError("cannot inherit from final class 'NBitBase'")
