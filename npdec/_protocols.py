"""The protocols by which other libraries meet an array: torch's, NumPy's, DLPack, the array API."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch

from npdec import _wrap
from npdec._base import ArrayBase
from npdec._convert import as_dtype
from npdec._decomposed import DecomposedTensor
from npdec._dtypes import numpy_dtype
from npdec._impl import _util
from npdec.exceptions import AbsentDTypeError, DecompositionWarning

__all__ = ["ProtocolMixin"]


def _unwrap(arg: Any) -> Any:
    if isinstance(arg, ArrayBase):
        return arg._t
    if isinstance(arg, (tuple, list)) and any(isinstance(item, (ArrayBase, tuple, list)) for item in arg):
        items = [_unwrap(item) for item in arg]
        return type(arg)(*items) if hasattr(arg, "_fields") else type(arg)(items)
    return arg


def _rewrap(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return _wrap.wrap_array(result)
    if isinstance(result, (tuple, list)):
        items = [_rewrap(item) for item in result]
        return type(result)(items) if not hasattr(result, "_replace") else type(result)(*items)
    return result


def _to_numpy(arg: Any) -> Any:
    """The arguments of a call with NumPy's arrays for npdec's."""
    if isinstance(arg, ProtocolMixin):
        return arg.__array__()
    if isinstance(arg, dict):
        return {name: _to_numpy(item) for name, item in arg.items()}
    if type(arg) in (tuple, list):
        return type(arg)(_to_numpy(item) for item in arg)
    return arg


class ProtocolMixin(ArrayBase):
    """torch functions take arrays and return arrays; NumPy's dispatch to npdec's function of the same name."""

    __slots__ = ()

    __array_priority__ = 1000.0

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _rewrap(func(*_unwrap(args), **{k: _unwrap(v) for k, v in (kwargs or {}).items()}))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The values as a NumPy array, sharing memory where they are on the host. Contributions are left behind with a
        DecompositionWarning."""
        import numpy

        tensor = self._t
        if isinstance(tensor, DecomposedTensor):
            _util.warn(
                "conversion to a NumPy array drops the contributions of a decomposed array; use .value to say that "
                "only the value matters",
                DecompositionWarning,
            )
            tensor = tensor.value
        tensor = tensor.detach().resolve_conj().resolve_neg()
        if tensor.device.type != "cpu":
            if copy is False:
                raise ValueError(f"an array on {tensor.device} cannot become a NumPy array without a copy")
            tensor = tensor.cpu()
        target = numpy_dtype(as_dtype(dtype)) if dtype is not None else None
        if tensor.dtype is torch.bfloat16:
            tensor = tensor.to(torch.float32)
        array = tensor.numpy()
        if target is not None and array.dtype != target:
            if copy is False:
                raise ValueError(f"an array of {array.dtype} cannot become {target} without a copy")
            return array.astype(target)
        return numpy.array(array, copy=True) if copy else array

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = getattr(_wrap.NAMESPACE[0], ufunc.__name__, None)
        if function is None or not hasattr(function, method):
            return NotImplemented
        out = kwargs.get("out")
        if isinstance(out, tuple) and len(out) == 1:
            kwargs["out"] = out[0]
        try:
            return getattr(function, method)(*inputs, **kwargs)
        except AbsentDTypeError:
            if out is not None:
                raise
            return getattr(ufunc, method)(*_to_numpy(inputs), **_to_numpy(kwargs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        owner: Any = _wrap.NAMESPACE[0]
        for part in func.__module__.split(".")[1:]:
            owner = getattr(owner, part, None)
        function = getattr(owner, func.__name__, None)
        if function is None or sys.modules.get("numpy") is None:
            return NotImplemented
        try:
            return function(*args, **kwargs)
        except AbsentDTypeError:
            # A caller of NumPy itself may mix in what torch cannot hold (matplotlib broadcasts None): NumPy can.
            if "out" in kwargs:
                raise
            return func(*_to_numpy(args), **_to_numpy(kwargs))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module whose functions take this array: npdec."""
        return _wrap.NAMESPACE[0]

    def __dlpack__(self, **options: Any) -> Any:
        """A DLPack capsule of the values."""
        if isinstance(self._t, DecomposedTensor):
            raise BufferError("DLPack cannot carry the contributions of a decomposed array: export .value")
        return self._t.detach().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        """(device type, device number) as DLPack counts them."""
        return self._t.__dlpack_device__()
