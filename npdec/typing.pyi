from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import torch
from typing_extensions import TypeAliasType

from npdec import dtype, generic, ndarray

__all__ = ["ArrayLike", "DTypeLike", "NBitBase", "NDArray"]

_Scalar = TypeVar("_Scalar", bound=generic)

# The type of an array says nothing of its elements; an annotation may.
NDArray = TypeAliasType("NDArray", ndarray, type_params=(_Scalar,))

class _Exporter(Protocol):
    def __array__(self) -> Any: ...

class _HasDType(Protocol):
    @property
    def dtype(self) -> Any: ...

ArrayLike: TypeAlias = ndarray | generic | torch.Tensor | _Exporter | complex | Sequence[Any]
DTypeLike: TypeAlias = dtype | torch.dtype | type[Any] | _HasDType | str | None

class NBitBase: ...
