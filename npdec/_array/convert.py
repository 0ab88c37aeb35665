"""What callers pass, turned into what kernels take: tensors. Axes and shapes are read by `npdec._array.shapes`.

Everything array-like becomes a tensor here and nowhere else. Memory is shared with the source where torch can share
it, contributions and autograd graphs inside nested lists flow on, and what torch cannot hold (text, objects, dates)
is refused with a message that says what to do. NumPy is recognised when the program has imported it; it is imported
here only for objects that speak no protocol but NumPy's own.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import fp_state
from npdec._array.convert_errors import inhomogeneous, layout_refused, no_numbers, too_deep
from npdec._array.packing import HOSTED, NUMBERS, from_numbers, from_scalars
from npdec._core.base import ArrayBase, NDArrayBase, Poly1dBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.spelling import FOREIGN_ORDER, SPELLINGS, as_dtype, dtype_name
from npdec._impl import _devices, dtypes_impl
from npdec._impl._util import cast
from npdec._torch.tracing import recording, tracing
from npdec.exceptions import AbsentDTypeError

__all__ = ["SPELLINGS", "as_dtype", "as_elements", "as_tensor", "dtype_name"]

_HOST = torch.device("cpu")
MAX_NDIM = 64  # of torch and of NumPy alike; nesting beyond it is a list that contains itself, or a mistake

# --- tensors ----------------------------------------------------------------------------------------------------------

_SEQUENCES = {list, tuple}
_BUFFER_KINDS = {"?": "b", **dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u"), **dict.fromkeys("efd", "f")}
SIGNED = frozenset({torch.int8, torch.int16, torch.int32, torch.int64})
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def as_tensor(obj: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The tensor that `obj` holds, shares or describes; converted to `dtype` if one is given.

    An array or a tensor gives its own tensor, a NumPy array or another exporter of memory is shared where torch can
    share it, and Python numbers in any nesting of lists are copied. Without `dtype`, Python numbers take NumPy's
    default dtypes, and the elements of a list promote to a common one.
    Raises ValueError for ragged nesting, OverflowError for Python integers that do not fit, TypeError for anything
    that holds no numbers.

    >>> as_tensor([[1, 2], [3, 4.5]])
    tensor([[1.0000, 2.0000],
            [3.0000, 4.5000]], dtype=torch.float64)
    """
    if type(obj) is list or type(obj) is tuple:
        return _from_sequence(obj, dtype)
    if isinstance(obj, ArrayBase):
        held: Any = obj
        # torch.compile does not see that a scalar's tensor is made when it is asked for.
        own: torch.Tensor = as_host_tensor(held._n, held._d) if tracing() and type(obj) in HOSTED else held._t
        return own if dtype is None else cast(own, dtype)
    if isinstance(obj, torch.Tensor):
        if type(obj) is not DecomposedTensor and (obj.layout is not torch.strided or obj.is_quantized or obj.is_nested):
            raise layout_refused(obj)
        return obj if dtype is None else cast(obj, dtype)
    kind = type(obj)
    if kind in NUMBERS:
        if dtype is None and (kind is not int or _INT64_MIN <= obj <= _INT64_MAX):
            make = torch.tensor if kind is complex else torch.scalar_tensor  # in half the time
            made = make(obj, dtype=NUMBERS[kind])
        else:
            made = from_numbers([obj], {kind}, dtype).reshape(())
        return _to_default_device(made) if _devices.used else made
    if isinstance(obj, (list, tuple)):
        return _from_sequence(obj, dtype)
    if isinstance(obj, Poly1dBase):
        return as_tensor(obj.coeffs, dtype)
    tensor = from_exporter(obj, dtype)
    if tensor is not None:
        return tensor if dtype is None else cast(tensor, dtype)
    return _from_object(obj, dtype)


def as_elements(obj: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The same of what becomes elements of an array, or names some: of a matrix, a masked array or another subclass of
    NumPy's arrays nothing but its elements counts there."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, numpy.ndarray) and not getattr(type(obj), "_is_guest", False):
        masked = not obj.ndim and obj.dtype.names is None and getattr(obj, "mask", False)
        obj = float(obj) if masked else numpy.asarray(obj)  # nan, of which NumPy warns
    return as_tensor(obj, dtype)


def as_host_tensor(number: Any, dtype: torch.dtype) -> torch.Tensor:
    """The 0-d tensor on the host of a Python number that the dtype holds."""
    if dtype is torch.uint64 and number > _INT64_MAX:
        return torch.tensor(number, dtype=dtype, device=_HOST)
    return torch.scalar_tensor(number, dtype=dtype, device=_HOST)


def _from_sequence(sequence: Sequence[Any], dtype: torch.dtype | None) -> torch.Tensor:
    """A tensor of nested lists and tuples: flattened a level at a time as long as all items are lists."""
    level: Sequence[Any] = sequence
    shape: tuple[int, ...] = (len(level),)
    kinds = dict.fromkeys(map(type, level)).keys()
    while kinds <= _SEQUENCES and kinds:
        lengths = set(map(len, level))
        if len(lengths) > 1:
            raise inhomogeneous(shape)
        shape += (lengths.pop(),)
        if len(shape) > MAX_NDIM:
            raise too_deep(MAX_NDIM)
        level = list(itertools.chain.from_iterable(level))
        kinds = dict.fromkeys(map(type, level)).keys()
    flat = from_numbers(level, kinds, dtype) if kinds <= NUMBERS.keys() else from_scalars(level, kinds, dtype)
    if flat is None:
        joined = _joined(level, len(shape)) if dtype is None and len(kinds) == 1 else None
        return _stack(level, shape, dtype) if joined is None else _nested(joined, shape)
    if _devices.used:
        flat = _to_default_device(flat)
    return flat if len(shape) == 1 else torch.reshape(flat, shape)  # which reads them sooner than the method


def _stack(level: Sequence[Any], shape: tuple[int, ...], dtype: torch.dtype | None) -> torch.Tensor:
    """Items some of which are arrays, joined by torch, so that gradients and contributions flow into the result."""
    if dtype in SIGNED:
        for item in level:
            check_scalar(item, dtype)
    recorder = recording.get()
    if recorder is not None:
        level = [recorder.numbers.as_value(item) for item in level]
    items = [as_elements(item, dtype) for item in level]
    if len({item.shape for item in items}) > 1:
        common = itertools.takewhile(lambda sizes: len(set(sizes)) == 1, zip(*(item.shape for item in items)))
        raise inhomogeneous(shape + tuple(sizes[0] for sizes in common))
    if len(devices := {item.device for item in items}) > 1:  # Python numbers join the tensors on their device
        home = [item.device for item, source in zip(items, level) if isinstance(source, (ArrayBase, torch.Tensor))]
        devices = set(home) or devices
        if len(devices) == 1:
            items = [item.to(home[0]) for item in items]
    if len({item.dtype for item in items}) > 1:
        common_dtype = functools.reduce(dtypes_impl.promote_types, (item.dtype for item in items))
        items = [item.to(common_dtype) for item in items]
    if items and items[0].dim() + len(shape) > MAX_NDIM:
        raise too_deep(MAX_NDIM)
    return _nested(torch.stack(items), shape)


def _nested(joined: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Items in a row, in the shape of their nesting."""
    return joined if len(shape) == 1 else joined.reshape(shape + joined.shape[1:])


def _joined(items: Sequence[Any], nesting: int) -> torch.Tensor | None:
    """Plain arrays of one class, dtype and shape in a row; None for others."""
    if not issubclass(type(items[0]), NDArrayBase):
        return None
    tensors, dtype = [item._t for item in items], items[0]._d
    for item, tensor in zip(items, tensors):
        if type(tensor) is not torch.Tensor or item._d is not dtype:
            return None
    try:
        return torch.stack(tensors) if tensors[0].dim() + nesting <= MAX_NDIM else None
    except RuntimeError:  # of several shapes, or on several devices
        return None


def check_scalar(value: Any, dtype: torch.dtype) -> None:
    """Raise where a scalar that becomes an element of signed integers is none: it is read there as `int()` reads it.

    ValueError for nan, OverflowError for what is out of range. An array of no dimensions is cast, whatever it holds.
    """
    if not isinstance(value, ArrayBase):
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, numpy.number):
            return
        if value.dtype.kind == "m" or value.dtype.char in "gG":
            return
        value = _from_numpy(value)
    elif hasattr(value, "__setitem__"):
        return
    else:
        value = value._t
    if dtypes_impl.can_cast(value.dtype, dtype) or torch.compiler.is_compiling():
        return
    if recording.get() is not None and bool(dtypes_impl.all_fit(value, dtype)):  # which a graph can ask for
        return
    try:
        number = getattr(value, "value", value).item()
    except RuntimeError:  # inside torch.func's transforms a tensor has no value
        return
    dtypes_impl.check_fits(int(number.real), dtype)


def from_exporter(obj: Any, dtype: torch.dtype | None = None) -> torch.Tensor | None:
    """The tensor of an object that exports its memory by some protocol, shared if possible; None if it has none. What
    NumPy holds and torch does not is cast by NumPy, if a dtype is given."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, (numpy.ndarray, numpy.generic)):
        return _from_numpy(obj, dtype)
    if isinstance(obj, (str, bytes, type)):
        return None
    if isinstance(obj, range):
        return _from_range(obj)
    if hasattr(type(obj), "__torch_function__") and hasattr(obj, "dtype"):
        return obj  # it stands for a tensor in torch functions
    if hasattr(type(obj), "__dlpack__"):
        return torch.utils.dlpack.from_dlpack(obj)
    if hasattr(obj, "__array_struct__") or hasattr(obj, "__array_interface__") or hasattr(obj, "__array__"):
        return _from_array_protocol(obj)
    try:
        view = memoryview(obj)
    except TypeError:
        return None
    return _from_buffer(view)


def asks_array(obj: Any) -> bool:
    """Whether an object of another library gives an array by its method `__array__`, and by no other protocol."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, (numpy.ndarray, numpy.generic)):
        return False
    if hasattr(type(obj), "__dlpack__") or hasattr(type(obj), "__torch_function__"):
        return False
    return not (hasattr(obj, "__array_struct__") or hasattr(obj, "__array_interface__")) and hasattr(obj, "__array__")


def _from_array_protocol(obj: Any) -> torch.Tensor:
    if asks_array(obj):
        return as_tensor(produced(obj.__array__()))
    try:
        import numpy
    except ImportError:
        raise ImportError(
            f"an object of type {type(obj).__name__!r} exports its data by NumPy's protocol: install NumPy"
        ) from None
    return _from_numpy(numpy.asarray(obj))


def produced(made: Any) -> Any:
    """What a method `__array__` returned, if it is an array. Raises ValueError otherwise."""
    if isinstance(made, (ArrayBase, torch.Tensor)):
        return made
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(made, numpy.ndarray):
        raise ValueError("object __array__ method not producing an array")
    return _from_numpy(made)


def _from_range(numbers: range) -> torch.Tensor:
    if not numbers:
        return _from_sequence([], None)  # of no elements, as an empty list: float64
    if not (_INT64_MIN <= min(numbers) and max(numbers) <= _INT64_MAX):
        return _from_sequence(list(numbers), None)
    device = _devices.as_device(None)
    return torch.arange(numbers.start, numbers.stop, numbers.step, dtype=torch.int64, device=device)


def _from_numpy(data: Any, target: torch.dtype | None = None) -> torch.Tensor:
    """A NumPy array or scalar. Its memory is shared unless torch cannot address it, or must not write to it.

    With a target, elements that torch cannot hold are cast: objects one by one, so that those that carry contributions
    keep them. Raises AbsentDTypeError for them without one, and for a matrix, a masked array or another subclass, which
    is more than its elements.
    """
    import numpy

    kind = type(data)
    if isinstance(data, numpy.ndarray) and not (
        kind is numpy.ndarray or kind is numpy.memmap or getattr(kind, "_is_guest", False)
    ):
        way = "x.filled(value), which says what stands under the mask" if hasattr(kind, "filled") else "np.asarray(x)"
        raise AbsentDTypeError(
            f"torch holds no {kind.__module__}.{kind.__name__} of {data.dtype!r}, which is more than its elements; "
            f"convert with {way}"
        )
    dtype = data.dtype
    if target is not None and (dtype.kind not in "biufc" or dtype.char in "gG"):
        return _cast_by_numpy(data, target)
    if target is None and not dtype.isnative and getattr(kind, "_is_guest", False):
        raise AbsentDTypeError(
            f"torch holds no {dtype!r}, numbers in this machine's byte order only; convert with "
            f".astype({dtype.newbyteorder('=').str!r})"
        )
    if not dtype.isnative and dtype.kind in "iufc":
        data = data.astype(dtype.newbyteorder("="))
    elif dtype.char in "qQ":  # C's long long, which torch.from_numpy does not know beside int64 and uint64
        data = data.view(f"{dtype.kind}8")
    torch_dtype = as_dtype(data.dtype)
    data = numpy.asarray(data)
    if not data.flags.writeable or any(stride < 0 or stride % data.itemsize for stride in data.strides):
        data = data.copy()
    if torch_dtype is torch.bfloat16:
        tensor = torch.from_numpy(data.view("i2")).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(data)
    return tensor if _devices.is_unchosen() else _to_default_device(tensor)


def _cast_by_numpy(data: Any, target: torch.dtype) -> torch.Tensor:
    """NumPy's elements of a dtype that torch does not have, in one that it has."""
    import numpy

    if data.dtype.kind == "O":
        flat = _from_sequence(list(data.flat), target) if data.size else torch.empty(0, dtype=target)
        return flat.reshape(data.shape)
    near = torch.float32 if target is torch.bfloat16 else target
    with fp_state.of_numpy(numpy):
        made = numpy.array(data, dtype_name(near))  # a scalar casts less than an array
    return cast(_from_numpy(made), target)


def _from_buffer(view: memoryview) -> torch.Tensor | None:
    """Memory in Python's buffer protocol: array.array, bytearray, memoryview, ctypes arrays, mmap."""
    order, code = view.format[:-1], view.format[-1:]
    if view.suboffsets:
        raise BufferError("NumPy currently does not support memory that is reached by pointers (suboffsets); copy it")
    kind = "c" if order.endswith("Z") else _BUFFER_KINDS.get(code, "")
    if order.startswith("&") or code == "u":
        what = "'&' (pointers)" if order.startswith("&") else "'u' (UCS-2 strings)"
        cause = NotImplementedError(f"Unrepresentable PEP 3118 data type {what}")
        raise ValueError(f"'{view.format}' is not a valid PEP 3118 buffer format string") from cause
    if not kind or (order[:1] == FOREIGN_ORDER and view.itemsize > 1):
        raise AbsentDTypeError(f"memory of format {view.format!r} holds no numbers in this machine's byte order")
    dtype, shape = SPELLINGS[f"{kind}{view.itemsize}"], view.shape or ()
    if view.nbytes == 0:
        return torch.empty(shape, dtype=dtype, device=_devices.as_device(None))
    memory = bytearray(view.tobytes()) if view.readonly or not view.c_contiguous else view.cast("B")
    return _to_default_device(torch.frombuffer(memory, dtype=dtype).reshape(shape))


def _to_default_device(tensor: torch.Tensor) -> torch.Tensor:
    device = _devices.current_device()
    return tensor if device == tensor.device else tensor.to(device)


def _from_object(obj: Any, dtype: torch.dtype | None) -> torch.Tensor:
    """Anything else: kinds of Python numbers, other sequences; with a dtype also what Python can convert to it."""
    kind: Any
    for kind in (int, float, complex):  # a subclass, say an IntEnum
        if isinstance(obj, kind):
            return as_tensor(kind(obj), dtype)
    text_or_none = obj is None or isinstance(obj, (str, bytes))
    if not text_or_none and hasattr(obj, "__len__") and hasattr(obj, "__getitem__") and not hasattr(obj, "keys"):
        try:
            len(obj)  # what has none at the moment is one object, whatever its items
            items = list(obj)
        except Exception as error:  # is it a sequence at all? NumPy knows, which raises the error anew if it is
            raise no_numbers(obj) from error
        return as_tensor(items, dtype)
    if dtype is None or not (text_or_none or hasattr(type(obj), "__float__")):
        raise no_numbers(obj)
    if dtype is torch.bool:
        return as_tensor(bool(obj), dtype)
    convert = complex if dtype.is_complex else float if dtype.is_floating_point else int
    if obj is None and convert is not int:
        return torch.tensor(complex(math.nan, math.nan) if dtype.is_complex else math.nan, dtype=dtype)
    try:
        number = convert(obj)
    except TypeError:
        raise no_numbers(obj) from None
    return as_tensor(number, dtype)
