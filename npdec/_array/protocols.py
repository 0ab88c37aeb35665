"""The protocols by which other libraries meet an array: torch's, NumPy's, DLPack, the array API."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import memory, wrap
from npdec._array.convert import as_tensor
from npdec._array.elements import close
from npdec._array.foreign_arrays import as_copy
from npdec._array.host_numpy import to_numpy_dtype
from npdec._array.module_names import OfTensors
from npdec._core import door
from npdec._core.base import ArrayBase, SubclassBase, UfuncBase
from npdec._core.containers import refilled
from npdec._core.signatures import read_parameters
from npdec._core.tracebacks import ended, met
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _util
from npdec.exceptions import AbsentDTypeError, DecompositionWarning

__all__ = ["ProtocolMixin", "own_function"]


_API_VERSIONS = (None, "2021.12", "2022.12", "2023.12", "2024.12")


def _unwrap(arg: Any) -> Any:
    if isinstance(arg, SubclassBase):
        arg = arg._p
    if isinstance(arg, ArrayBase):
        close(arg)
        return arg._t
    if isinstance(arg, (tuple, list)) and any(isinstance(item, (ArrayBase, tuple, list)) for item in arg):
        items = [_unwrap(item) for item in arg]
        return refilled(arg, items)
    return arg


def _rewrap(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return memory.over(result)
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


@functools.lru_cache(1024)
def own_ufunc(ufunc: Any) -> Any:
    """npdec's counterpart of a ufunc of NumPy's; None for a ufunc of another library, whatever its name."""
    if isinstance(ufunc, UfuncBase):
        return ufunc
    import numpy

    if not callable(ufunc) or not hasattr(ufunc, "__name__"):
        raise TypeError(f"__array_ufunc__: the first argument must be a ufunc, not {ufunc!r}")
    name = ufunc.__name__
    theirs = getattr(numpy, name, None) is ufunc or getattr(numpy._core.umath, name, None) is ufunc  # np.clip's own
    return getattr(wrap.NAMESPACE.value, name, None) if theirs else None


@functools.lru_cache(1024)
def own_function(func: Any) -> tuple[Any, int | None]:
    """npdec's counterpart of a function of NumPy's, None if it has none, and which positional argument it writes into:
    `out`, or an array that it changes."""
    owner: Any = wrap.NAMESPACE.value
    library, *parts = func.__module__.split(".")
    for part in parts:
        owner = getattr(owner, part, None)
    function = getattr(owner, func.__name__, None) if library in ("numpy", "npdec") else None
    kernel = getattr(function, "__kernel__", None)
    if kernel is None:
        return function, None
    tags = [p.tag for p in read_parameters(kernel)]
    return function, next((i for i, tag in enumerate(tags) if tag in ("InPlace", "OutArray")), None)


def _writes_to_numpy(written: Any) -> bool:
    """Whether the arrays that a call writes into are NumPy's."""
    if isinstance(written, tuple):
        return any(map(_writes_to_numpy, written))
    return written is not None and not isinstance(written, ArrayBase)


def _by_numpy(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a ufunc of another library (SciPy's special functions) gives, computed by itself on NumPy's arrays.

    Decomposed arrays leave their contributions behind, with a DecompositionWarning. What is written into has to be
    plain and on the host, where NumPy's array shares its memory: TypeError.
    """
    outs = kwargs.get("out") or ()
    written: list[Any] = [x for x in (inputs[:1] if method == "at" else outs) if isinstance(x, ArrayBase)]
    for array in written:
        if type(array._t) is DecomposedTensor or array._t.device.type != "cpu":
            raise TypeError(
                f"{ufunc.__name__}: npdec has no such ufunc, and NumPy can only write plain arrays on the host"
            )
    if method == "__call__" and not kwargs and any(type(as_tensor(x)) is DecomposedTensor for x in inputs):
        from npdec._array.scipy_special import special

        made = special(ufunc, inputs, lambda plain: ufunc(*_to_numpy(tuple(plain))))
        if made is not None:
            return made
    try:
        result = getattr(ufunc, method)(*_to_numpy(inputs), **_to_numpy(kwargs))
        for array in written:
            memory.written(array)
    except BaseException:
        for array in written:
            memory.written(array, failed=True)
        raise
    if outs:
        return outs[0] if len(outs) == 1 else outs
    return _as_arrays(result)


def _as_arrays(result: Any) -> Any:
    """NumPy's arrays and scalars as npdec's; what torch cannot hold stays as it is."""
    import numpy

    if isinstance(result, tuple):
        return tuple(map(_as_arrays, result))
    try:
        if isinstance(result, numpy.ndarray):
            return wrap.wrap_array(as_tensor(result))
        return wrap.wrap_scalar(as_tensor(result)) if isinstance(result, numpy.generic) else result
    except AbsentDTypeError:
        return result


def _is_array(kind: type) -> bool:
    """Whether objects of a class are npdec's or NumPy's arrays: functions of others know more of theirs."""
    numpy: Any = sys.modules.get("numpy")
    return issubclass(kind, ArrayBase) or (numpy is not None and issubclass(kind, numpy.ndarray))


class ProtocolMixin(ArrayBase):
    """torch functions take arrays and return arrays; NumPy's dispatch to npdec's function of the same name."""

    __slots__ = ()

    __array_priority__ = 1000.0

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        try:
            return _rewrap(func(*_unwrap(args), **{k: _unwrap(v) for k, v in (kwargs or {}).items()}))
        except Exception as error:
            raise met(error)  # noqa: B904

    # What torch.nn's modules ask of their inputs first.
    dim = OfTensors()
    numel = OfTensors()
    is_nested = OfTensors()
    is_floating_point = OfTensors()
    new_zeros = OfTensors()
    unsqueeze = OfTensors()

    def __array__(self, /, dtype: Any = None, copy: bool | None = None) -> Any:
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
        target = to_numpy_dtype(dtype)  # NumPy holds more of them: objects, text
        if tensor.dtype is torch.bfloat16:
            tensor = tensor.to(torch.float32)
        array = tensor.numpy()
        if target is not None and array.dtype != target:
            if copy is False:
                raise ValueError(f"an array of {array.dtype} cannot become {target} without a copy")
            return array.astype(target)
        return numpy.array(array, copy=True) if copy else array

    def __array_ufunc__(self, /, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        try:
            function = own_ufunc(ufunc)
            if function is ufunc or isinstance(self, SubclassBase):  # called by a class of a program's own
                known = ufunc if function is None else function
                return door.subclasses.value().default_of_ufunc(self, known, method, inputs, kwargs)
            if not kwargs and method == "__call__" and function is not None:  # the shortest way for the commonest call
                try:
                    return function(*inputs)
                except AbsentDTypeError:
                    return ufunc(*_to_numpy(inputs))
            out = kwargs.get("out")
            if function is None or not hasattr(function, method):
                return _by_numpy(ufunc, method, inputs, kwargs)
            if _writes_to_numpy(inputs[0] if method == "at" else out):
                return getattr(ufunc, method)(*_to_numpy(inputs), **_to_numpy(kwargs))
            if isinstance(out, tuple) and len(out) == 1:
                kwargs["out"] = out[0]
            try:
                return getattr(function, method)(*inputs, **kwargs)
            except AbsentDTypeError:
                if out is not None:
                    raise
                return getattr(ufunc, method)(*_to_numpy(inputs), **_to_numpy(kwargs))
        except Exception as error:
            raise ended(error)  # noqa: B904

    def __array_function__(self, /, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        try:
            if isinstance(self, SubclassBase):
                return door.subclasses.value().default_of_function(func, types, args, kwargs)
            if not isinstance(args, tuple) or not isinstance(kwargs, dict):
                which, kind = ("args", "tuple") if not isinstance(args, tuple) else ("kwargs", "dict")
                raise TypeError(f"{which} must be a {kind}.")
            for kind in types:
                if kind is not wrap.ARRAY and not _is_array(kind):
                    return NotImplemented
            function, place = own_function(func)
            if function is None:
                if func.__module__.partition(".")[0] == "numpy":
                    return NotImplemented
                # Another library's, which knows the protocol.
                return getattr(func, "_implementation", func)(*args, **kwargs)
            written = kwargs.get("out", args[place] if place is not None and place < len(args) else None)
            if _writes_to_numpy(written):
                return func(*_to_numpy(args), **_to_numpy(kwargs))
            try:
                return function(*args, **kwargs)
            except AbsentDTypeError:
                # A caller of NumPy itself may mix in what torch cannot hold (matplotlib broadcasts None): NumPy can.
                if "out" in kwargs:
                    raise
                return func(*_to_numpy(args), **_to_numpy(kwargs))
        except Exception as error:
            raise ended(error)  # noqa: B904

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """The module whose functions take this array: npdec. Raises ValueError for a version that NumPy 2.4 has not."""
        if api_version is not None and not isinstance(api_version, str):
            raise ValueError(
                f"Only None and strings are allowed as the Array API version, but received: {api_version}."
            )
        if api_version not in _API_VERSIONS:
            raise ValueError(f'Version "{api_version}" of the Array API Standard is not supported.')
        return wrap.NAMESPACE.value

    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the values. A read-only array is copied, where the caller does not refuse a copy.

        Raises BufferError for a decomposed array, for a device that it cannot be exported to, and for a read-only array
        if the caller knows no versions of DLPack; RuntimeError for a stream of the host.
        """
        if isinstance(self._t, DecomposedTensor):
            raise BufferError("DLPack cannot carry the contributions of a decomposed array: export .value")
        if max_version is not None and not (isinstance(max_version, tuple) and len(max_version) == 2):
            raise TypeError("max_version must be None or a tuple with two elements.")
        if dl_device is not None and not isinstance(dl_device, tuple):
            raise TypeError("dl_device must be a tuple")
        tensor, copy = self._t.detach(), None if copy is None else as_copy(copy)
        if tensor.device.type == "cpu":
            if stream is not None:
                raise RuntimeError("__dlpack__: the host has no streams, only stream=None")
            if dl_device not in (None, (1, 0)):
                raise BufferError("unsupported device requested")
        if tensor.is_conj() or tensor.is_neg():  # which torch says of a tensor over memory of other numbers
            if copy is False:
                raise BufferError("__dlpack__: the array is the conjugate of its memory, and needs a copy")
            tensor = tensor.resolve_conj().resolve_neg()
        reason = getattr(self, "_ro", None)
        if reason is not None and not copy:
            if copy is False or max_version is None or max_version < (1, 0):
                raise BufferError(f"__dlpack__: the array is read-only ({reason}), which this capsule cannot say")
            copy = True
        return tensor.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self, /) -> tuple[Any, int]:
        """(device type, device number) as DLPack counts them."""
        return self._t.__dlpack_device__()
