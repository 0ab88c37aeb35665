"""What callers pass, turned into what kernels take: tensors, torch dtypes, axes and shapes.

Everything array-like becomes a tensor here and nowhere else. Memory is shared with the source where torch can share
it, contributions and autograd graphs inside nested lists flow on, and what torch cannot hold (text, objects, dates)
is refused with a message that says what to do. NumPy is recognised when the program has imported it; it is imported
here only for objects that speak no protocol but NumPy's own.
"""

from __future__ import annotations

import array
import functools
import itertools
import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import torch

from npdec._base import ArrayBase
from npdec._impl import dtypes_impl
from npdec._impl._util import cast
from npdec.exceptions import AbsentDTypeError

__all__ = ["SPELLINGS", "as_axis", "as_dtype", "as_shape", "as_tensor"]

MAX_NDIM = 64  # of torch and of NumPy alike; nesting beyond it is a list that contains itself, or a mistake

# --- dtypes -----------------------------------------------------------------------------------------------------------

# One row a dtype: name, NumPy's code with the size, and the other names and characters that NumPy gives it.
_NAMES = {
    torch.bool: "bool b1 bool_ ?",
    torch.int8: "int8 i1 byte b",
    torch.int16: "int16 i2 short h",
    torch.int32: "int32 i4 intc i",
    torch.int64: "int64 i8 int int_ intp long longlong l q p n",
    torch.uint8: "uint8 u1 ubyte B",
    torch.uint16: "uint16 u2 ushort H",
    torch.uint32: "uint32 u4 uintc I",
    torch.uint64: "uint64 u8 uint uintp ulong ulonglong L Q P N",
    torch.float16: "float16 f2 half e",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32 f4 single f",
    torch.float64: "float64 f8 double float d",
    torch.complex64: "complex64 c8 csingle F",
    torch.complex128: "complex128 c16 cdouble complex D",
}

# Every spelling met so far. `_dtypes` and `_scalars` add npdec's own dtype objects and scalar types.
SPELLINGS: dict[Any, torch.dtype] = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
    None: torch.float64,
    **{dtype: dtype for dtype in _NAMES},
    **{name: dtype for dtype, names in _NAMES.items() for name in names.split()},
}

_FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"
_REFUSED_WORDS = {
    "O": "objects", "S": "bytes", "a": "bytes", "U": "text", "M": "dates", "m": "time spans", "V": "records",
    "T": "text", "g": "extended-precision floats", "G": "extended-precision complex numbers",
}  # fmt: skip

_REFUSED_NAMES = {
    object: "objects", str: "text", bytes: "bytes", memoryview: "records",
    "object": "objects", "str": "text", "bytes": "bytes", "void": "records", "longdouble": "extended-precision floats",
    "clongdouble": "extended-precision complex numbers", "datetime64": "dates", "timedelta64": "time spans",
}  # fmt: skip


def as_dtype(obj: Any) -> torch.dtype:
    """The torch dtype that `obj` names, in any spelling that NumPy accepts. Raises TypeError if there is none.

    >>> as_dtype("f4"), as_dtype(int), as_dtype("<c16")
    (torch.float32, torch.int64, torch.complex128)
    """
    try:
        found = SPELLINGS.get(obj)
    except TypeError:  # unhashable: the description of a record
        raise AbsentDTypeError(
            f"Cannot interpret '{obj!r}' as a data type: npdec holds numbers and booleans, no records"
        ) from None
    if found is None:
        if word := _REFUSED_NAMES.get(obj):
            raise AbsentDTypeError(
                f"Cannot interpret '{obj!r}' as a data type: npdec holds numbers and booleans, no {word}"
            )
        found = _dtype_of_text(obj) if isinstance(obj, str) else _dtype_of_object(obj)
        SPELLINGS[obj] = found
    return found


def _dtype_of_text(text: str) -> torch.dtype:
    order, code = (text[0], text[1:]) if text[:1] in ("<", ">", "=", "|") else ("", text)
    found = SPELLINGS.get(code) if len(code) <= 3 else None
    if found is None:
        word = _REFUSED_WORDS.get(code[:1])
        if word is None or (len(code) > 1 and code[1].isalpha()):
            word = _REFUSED_NAMES.get(code.partition("[")[0])
        if "," in code:
            word = "records"
        if word:
            raise AbsentDTypeError(f"data type {text!r} is not supported: npdec holds numbers and booleans, no {word}")
        raise TypeError(f"data type {text!r} not understood")
    if order == _FOREIGN_ORDER and found.itemsize > 1:
        raise AbsentDTypeError(
            f"data type {text!r} is not supported: torch holds numbers in this machine's byte order only; "
            f"use {code!r}, and convert such data with .astype({code!r}) in NumPy first"
        )
    return found


def _dtype_of_object(obj: Any) -> torch.dtype:
    if isinstance(obj, tuple | list):
        raise AbsentDTypeError(
            f"Cannot interpret '{obj!r}' as a data type: npdec holds numbers and booleans, no records"
        )
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(obj, type) and issubclass(obj, numpy.generic):
            try:
                obj = numpy.dtype(obj)
            except TypeError as error:  # an abstract type: numpy.floating
                raise TypeError(f"Cannot interpret '{obj!r}' as a data type: {error}") from None
        if isinstance(obj, numpy.dtype):
            return _dtype_of_numpy(obj)
    if isinstance(obj, torch.dtype):
        raise TypeError(
            f"Cannot interpret '{obj!r}' as a data type: NumPy has no such type; "
            "convert the tensor with .to(torch.bfloat16) or another dtype of npdec first"
        )
    raise TypeError(f"Cannot interpret '{obj!r}' as a data type")


def _dtype_of_numpy(dtype: Any) -> torch.dtype:
    if dtype.kind in "biufc" and dtype.isnative:
        found = SPELLINGS.get(f"{dtype.kind}{dtype.itemsize}")
    else:
        found = SPELLINGS.get(dtype.name) if dtype.isnative else None  # ml_dtypes.bfloat16
    if found is not None:
        return found
    if dtype.kind in "iufc" and not dtype.isnative:
        hint = f"numbers in this machine's byte order only; convert with .astype({dtype.newbyteorder('=').str!r})"
    elif dtype.kind in "fc":
        hint = "no extended precision; convert with .astype('f8') or .astype('c16')"
    elif dtype.kind == "O":
        hint = "no objects; convert with .astype(float), or keep the data in a list"
    elif dtype.kind in "mM":
        hint = "no dates; convert with .astype('i8') and keep the unit beside it"
    elif dtype.names is not None:
        hint = "no records; pass the fields one by one"
    else:
        hint = "numbers and booleans only; convert with .astype(float), or keep the data in NumPy"
    raise AbsentDTypeError(f"Cannot interpret '{dtype!r}' as a data type: torch holds {hint}")


# --- tensors ----------------------------------------------------------------------------------------------------------

_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
_SEQUENCES = {list, tuple}
_BUFFER_KINDS = {"?": "b", **dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u"), **dict.fromkeys("efd", "f")}
_LONG = 100  # from this length on, a list is packed by array.array
_PACKED = {torch.float64: "d", torch.int64: "q"}
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
    if isinstance(obj, ArrayBase):
        return obj._t if dtype is None else cast(obj._t, dtype)
    if isinstance(obj, torch.Tensor):
        return obj if dtype is None else cast(obj, dtype)
    kind = type(obj)
    if kind in _NUMBERS:
        if dtype is None and (kind is not int or _INT64_MIN <= obj <= _INT64_MAX):
            return torch.tensor(obj, dtype=_NUMBERS[kind])
        return _from_numbers([obj], {kind}, dtype).reshape(())
    if isinstance(obj, (list, tuple)):
        return _from_sequence(obj, dtype)
    tensor = _from_exporter(obj)
    if tensor is not None:
        return tensor if dtype is None else cast(tensor, dtype)
    return _from_object(obj, dtype)


def _from_numbers(numbers: Sequence[Any], kinds: set[type], dtype: torch.dtype | None) -> torch.Tensor:
    """A flat tensor of Python numbers, `kinds` being the types among them."""
    if dtype is None:
        dtype = _discover(numbers, kinds)
    elif dtype is torch.bool:
        numbers = list(map(bool, numbers))
    elif not dtype.is_complex and complex in kinds:
        what = "float() argument must be a string" if dtype.is_floating_point else "int() argument must be a string"
        raise TypeError(f"{what} or a real number, not 'complex'; take .real or convert to a complex dtype")
    elif not (dtype.is_complex or dtype.is_floating_point) and numbers:
        if float in kinds:
            numbers = list(map(int, numbers))
        limits = torch.iinfo(dtype)
        for number in (min(numbers), max(numbers)):
            if not limits.min <= number <= limits.max:
                raise OverflowError(f"Python integer {number} out of bounds for {dtype_name(dtype)}")
    if len(numbers) >= _LONG and dtype in _PACKED:  # three times as fast as torch.tensor
        return _to_default_device(torch.frombuffer(array.array(_PACKED[dtype], numbers), dtype=dtype))
    return torch.tensor(numbers, dtype=dtype)


class _IntegerTooLarge(AbsentDTypeError, OverflowError):
    """NumPy holds such an integer as an object."""


def _discover(numbers: Sequence[Any], kinds: set[type]) -> torch.dtype:
    """The dtype that NumPy gives to a list of Python numbers."""
    if int in kinds:
        integers = numbers if len(kinds) == 1 else [number for number in numbers if type(number) is int]
        low, high = min(integers), max(integers)
        if low < _INT64_MIN or high > _INT64_MAX:
            if low < _INT64_MIN or high > 2 * _INT64_MAX + 1:
                raise _IntegerTooLarge(
                    f"Python integer {low if low < _INT64_MIN else high} fits neither int64 nor uint64: NumPy would "
                    "make an object array, which torch cannot hold; give dtype=float, or pass floats"
                )
            if kinds <= {int, bool}:
                return torch.uint64 if low > _INT64_MAX else torch.float64  # int64 and uint64 promote to float64
    if complex in kinds:
        return torch.complex128
    if float in kinds or not kinds:
        return torch.float64
    return torch.int64 if int in kinds else torch.bool


def _from_sequence(sequence: Sequence[Any], dtype: torch.dtype | None) -> torch.Tensor:
    """A tensor of nested lists and tuples: flattened a level at a time as long as all items are lists."""
    level: Sequence[Any] = sequence
    shape: tuple[int, ...] = (len(level),)
    kinds = set(map(type, level))
    while kinds and kinds <= _SEQUENCES:
        lengths = set(map(len, level))
        if len(lengths) > 1:
            raise _inhomogeneous(shape)
        shape += (lengths.pop(),)
        if len(shape) > MAX_NDIM:
            raise ValueError(f"lists are nested deeper than {MAX_NDIM} levels, the most dimensions of an array")
        level = list(itertools.chain.from_iterable(level))
        kinds = set(map(type, level))
    if kinds <= _NUMBERS.keys():
        flat = _from_numbers(level, kinds, dtype)
        return flat if len(shape) == 1 else flat.reshape(shape)
    return _stack(level, shape, dtype)


def _stack(level: Sequence[Any], shape: tuple[int, ...], dtype: torch.dtype | None) -> torch.Tensor:
    """Items some of which are arrays, joined by torch, so that gradients and contributions flow into the result."""
    items = [as_tensor(item, dtype) for item in level]
    if len({item.shape for item in items}) > 1:
        common = itertools.takewhile(lambda sizes: len(set(sizes)) == 1, zip(*(item.shape for item in items)))
        raise _inhomogeneous(shape + tuple(sizes[0] for sizes in common))
    if len(devices := {item.device for item in items}) > 1:  # Python numbers join the tensors on their device
        home = [item.device for item, source in zip(items, level) if isinstance(source, (ArrayBase, torch.Tensor))]
        devices = set(home) or devices
        if len(devices) == 1:
            items = [item.to(home[0]) for item in items]
    if len({item.dtype for item in items}) > 1:
        common_dtype = functools.reduce(dtypes_impl.promote_types, (item.dtype for item in items))
        items = [item.to(common_dtype) for item in items]
    stacked = torch.stack(items)
    return stacked if len(shape) == 1 else stacked.reshape(shape + stacked.shape[1:])


def _inhomogeneous(shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
        f"{len(shape)} dimensions. The detected shape was {shape} + inhomogeneous part."
    )


def _from_exporter(obj: Any) -> torch.Tensor | None:
    """The tensor of an object that exports its memory by some protocol, shared if possible; None if it has none."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, (numpy.ndarray, numpy.generic)):
        return _from_numpy(obj)
    if isinstance(obj, (str, bytes, type)):
        return None
    if isinstance(obj, range):
        return _from_range(obj)
    if hasattr(obj, "__torch_function__") and hasattr(obj, "dtype"):
        return obj  # it stands for a tensor in torch functions
    if hasattr(obj, "__dlpack__"):
        return torch.utils.dlpack.from_dlpack(obj)
    if hasattr(obj, "__array_interface__") or hasattr(obj, "__array__"):
        return _from_array_protocol(obj)
    try:
        view = memoryview(obj)
    except TypeError:
        return None
    return _from_buffer(view)


def _from_array_protocol(obj: Any) -> torch.Tensor:
    try:
        import numpy
    except ImportError:
        raise ImportError(
            f"an object of type {type(obj).__name__!r} exports its data by NumPy's protocol: install NumPy"
        ) from None
    return _from_numpy(numpy.asarray(obj))


def _from_range(numbers: range) -> torch.Tensor:
    if numbers and not (_INT64_MIN <= min(numbers) and max(numbers) <= _INT64_MAX):
        return _from_sequence(list(numbers), None)
    return torch.arange(numbers.start, numbers.stop, numbers.step, dtype=torch.int64)


def _from_numpy(data: Any) -> torch.Tensor:
    """A NumPy array or scalar. Its memory is shared unless torch cannot address it, or must not write to it."""
    import numpy

    dtype = data.dtype
    if not dtype.isnative and dtype.kind in "iufc":
        data = data.astype(dtype.newbyteorder("="))
    elif dtype.char in "qQ":  # C's long long, which torch.from_numpy does not know beside int64 and uint64
        data = data.view(f"{dtype.kind}8")
    torch_dtype = as_dtype(data.dtype)
    data = numpy.asarray(data)
    if not data.flags.writeable or any(step < 0 or step % data.itemsize for step in data.strides):
        data = data.copy()
    if torch_dtype is torch.bfloat16:
        tensor = torch.from_numpy(data.view("i2")).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(data)
    return _to_default_device(tensor)


def _from_buffer(view: memoryview) -> torch.Tensor | None:
    """Memory in Python's buffer protocol: array.array, bytearray, memoryview, ctypes arrays, mmap."""
    order, code = view.format[:-1], view.format[-1:]
    kind = "c" if order.endswith("Z") else _BUFFER_KINDS.get(code, "")
    if not kind or (order[:1] == _FOREIGN_ORDER and view.itemsize > 1):
        raise TypeError(f"memory of format {view.format!r} holds no numbers in this machine's byte order")
    dtype, shape = SPELLINGS[f"{kind}{view.itemsize}"], view.shape or ()
    if view.nbytes == 0:
        return torch.empty(shape, dtype=dtype)
    memory = bytearray(view.tobytes()) if view.readonly or not view.c_contiguous else view.cast("B")
    return _to_default_device(torch.frombuffer(memory, dtype=dtype).reshape(shape))


def _to_default_device(tensor: torch.Tensor) -> torch.Tensor:
    device = torch.get_default_device()
    return tensor if device.type == "cpu" else tensor.to(device)


def _from_object(obj: Any, dtype: torch.dtype | None) -> torch.Tensor:
    """Anything else: kinds of Python numbers, other sequences; with a dtype also what Python can convert to it."""
    kind: Any
    for kind in (int, float, complex):  # a subclass, say an IntEnum
        if isinstance(obj, kind):
            return as_tensor(kind(obj), dtype)
    text_or_none = obj is None or isinstance(obj, (str, bytes))
    if not text_or_none and hasattr(obj, "__len__") and hasattr(obj, "__getitem__") and not hasattr(obj, "keys"):
        return as_tensor(list(obj), dtype)
    if dtype is None or not (text_or_none or hasattr(type(obj), "__float__")):
        raise _no_numbers(obj)
    if dtype is torch.bool:
        return as_tensor(bool(obj), dtype)
    convert = complex if dtype.is_complex else float if dtype.is_floating_point else int
    if obj is None and convert is not int:
        return torch.tensor(math.nan, dtype=dtype)
    try:
        number = convert(obj)
    except TypeError:
        raise _no_numbers(obj) from None
    return as_tensor(number, dtype)


def _no_numbers(obj: Any) -> AbsentDTypeError:
    shown = repr(obj)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    if isinstance(obj, (str, bytes)):
        hint = "give a numeric dtype to parse it (dtype=float), or keep text in a list"
    elif hasattr(obj, "__next__"):
        hint = "pass list(...), or use np.fromiter"
    elif hasattr(obj, "__iter__"):
        hint = "pass list(...) of its numbers"
    elif hasattr(type(obj), "__float__"):
        hint = "give a dtype (dtype=float)"
    else:
        hint = "pass numbers, arrays, or nested lists of them"
    return AbsentDTypeError(
        f"cannot make an array of {shown} of type {type(obj).__name__!r}: NumPy would make an array of objects or "
        f"text, and torch holds numbers and booleans only; {hint}"
    )


# --- axes and shapes --------------------------------------------------------------------------------------------------


def as_axis(obj: Any) -> Any:
    """None, an int, or a tuple of ints, as given. Raises TypeError for anything that is no integer.

    >>> as_axis([0, -1])
    (0, -1)
    """
    if obj is None or type(obj) is int:
        return obj
    if isinstance(obj, (tuple, list)):
        return tuple(map(operator.index, obj))
    return operator.index(obj)


def as_shape(obj: Any) -> tuple[int, ...]:
    """A shape: a tuple of ints from an integer or from a sequence of them. Sizes are not checked.

    >>> as_shape(3), as_shape([2, -1])
    ((3,), (2, -1))
    """
    if isinstance(obj, (tuple, list)):
        return tuple(map(operator.index, obj))
    try:
        return (operator.index(obj),)
    except TypeError:
        if isinstance(obj, (str, bytes)) or not hasattr(obj, "__iter__"):
            raise
    return tuple(map(operator.index, obj))


def dtype_name(dtype: torch.dtype) -> str:
    """NumPy's name of a torch dtype.

    >>> dtype_name(torch.float32)
    'float32'
    """
    return str(dtype).removeprefix("torch.")
