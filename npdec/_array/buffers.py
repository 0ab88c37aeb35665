"""The memory of an array: as Python's buffer, NumPy's array interface, a C pointer, a file; as bytes of another dtype.

torch's strides and offsets count elements. Where NumPy gives a view that is not aligned so, there is a copy here that
follows the array, and whose bytes go into it when it is written.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
from typing import Any

import torch

from npdec._array import element_order, wrap
from npdec._array import memory as _memory
from npdec._array.convert import as_dtype, as_tensor
from npdec._array.flags import Flags
from npdec._array.host_numpy import Lender, host_array, numpy_for
from npdec._array.output import check_writeable, write
from npdec._array.shapes import as_shape
from npdec._array.tensor_bytes import bytes_of, reinterpreted, seen
from npdec._core.base import ArrayBase, MetSubclass, NDArrayBase, SubclassBase
from npdec._core.door import hand_over_method, open_method_to_guests
from npdec._core.tracebacks import ended, ends
from npdec._decomposed import pickling
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._util import cast, warn
from npdec._native import calls
from npdec._torch.tracing import refuse_recording, tracing
from npdec.exceptions import AbsentDTypeError, DecompositionWarning

__all__ = ["ArrayBuffer", "BufferMethods", "alias", "reduced"]

DELEGATES_TO_NUMPY = frozenset({"ctypes", "data", "tofile"})

# --- pickles ---------------------------------------------------------------------------------------------------------


def reduced(array: NDArrayBase, protocol: int) -> tuple[Any, ...]:
    """How an array is pickled: by its own elements, without those of the memory around them.

    From protocol 5 on the memory of plain numbers on the host, if they lie without gaps, is a buffer, which the pickler
    may take out of band.
    """
    tensor = array._t
    if protocol < 5 or not pickling.has_bytes(tensor) or not _is_dense(tensor):
        return wrap.reduced(wrap.wrap_array, tensor)
    memory, about = pickling.memory_of(tensor)
    frozen = getattr(array, "_ro", None) is not None
    return restored, (pickle.PickleBuffer(bytes(memory) if frozen else memory), *about)


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their memory, in some order of the axes: a buffer of others would be a copy."""
    axes = sorted(range(tensor.ndim), key=tensor.stride, reverse=True)
    return tensor.permute(axes).is_contiguous()


def restored(buffer: Any, *about: Any) -> Any:
    """The array that was pickled as a buffer: over that memory, and read-only if it is."""
    array = wrap.wrap_array(pickling.tensor_of(buffer, *about))
    if memoryview(buffer).readonly:
        _memory.freeze(array, "it was pickled as one that is read-only")
    return array


def alias(array: Any, look: Any) -> Any:
    """What `look` makes of the array's tensor, as a view; as a copy that follows, where torch cannot alias."""
    tensor, raw = look(array._t)
    if type(array) is not wrap.ARRAY:
        return wrap.wrap_scalar(tensor.clone())
    if raw is None:
        made = _memory.view(array, tensor)
        made._exporter = array  # as torch does not know what a tensor of another dtype is a view of
        return made
    made = wrap.wrap_array(tensor)
    _memory.mirror(array, made, _Unaligned(look))
    return made


class _Unaligned(element_order.Bytes):
    """How a copy is made that stands for a view that is not aligned."""

    def __init__(self, look: Any) -> None:
        self._look = look

    def __call__(self, source: torch.Tensor) -> torch.Tensor:
        return self._look(source)[0]

    def bytes_of(self, source: torch.Tensor) -> torch.Tensor:
        return self._look(source)[1]


# --- arrays -----------------------------------------------------------------------------------------------------------


def _exported(name: str, array: Any, error: type[Exception]) -> Any:
    """The elements as a NumPy array over the same memory, read-only if the array is; of a scalar a read-only copy."""
    tensor = array._t
    why = None
    if isinstance(tensor, DecomposedTensor):
        why = "the memory of a decomposed array holds its value only; use .value"
    elif tensor.device.type != "cpu":
        why = f"the array is on {tensor.device}; copy it with .to_device('cpu')"
    elif tensor.dtype is torch.bfloat16:
        why = "NumPy has no bfloat16; convert with .astype('float32')"
    elif tensor.is_conj() or tensor.is_neg():
        why = "the elements are not in memory as they are seen; take .copy()"
    if why is not None:
        raise error(f"{name}: {why}")
    if type(array) is not wrap.ARRAY:
        made = host_array(name, tensor).copy()
        made.flags.writeable = False
        return made
    made = host_array(name, tensor)
    if getattr(array, "_ro", None) is not None:
        made.flags.writeable = False
    _memory.pin(array)
    return made


class BufferMethods(ArrayBase):
    """What arrays and scalars give away of their memory."""

    __slots__ = ()

    @property
    def flags(self) -> Flags:
        """Memory layout: contiguity, ownership, writeability."""
        return Flags(self)

    @property
    def data(self) -> memoryview:
        """The memory as Python's buffer: read-only if the array is. Needs NumPy (ImportError).

        Raises BufferError for a decomposed array, and for one that is not on the host.

        >>> np.array([1, 2], dtype=np.int16).data.format
        'h'
        """
        numpy_for("data")
        return _exported("data", self, BufferError).data

    def __buffer__(self, flags: int, /) -> memoryview:
        """The same, which Python asks for from 3.12 on: `memoryview(x)`, `hashlib.sha256(x)`, `file.write(x)`. Flags
        say what the one who asks can take, and NumPy keeps to them: BufferError or ValueError where it cannot."""
        numpy_for("__buffer__")
        made: Any = _exported("__buffer__", self, BufferError)
        lent = made if type(self) is wrap.ARRAY else made[()]
        return lent.__buffer__(flags) if sys.version_info >= (3, 12) else lent.data

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The address, layout and type of the elements in NumPy's protocol, for the host's libraries."""
        numpy_for("__array_interface__")
        return _exported("__array_interface__", self, AttributeError).__array_interface__

    @property
    def __array_struct__(self) -> Any:
        """The same in a C structure."""
        numpy_for("__array_struct__")
        return _exported("__array_struct__", self, AttributeError).__array_struct__

    def tobytes(self, /, order: str | None = "C") -> bytes:
        """The elements' memory, in row-major ("C") or column-major ("F") order. Of a decomposed array that of the
        value, with a DecompositionWarning.

        >>> np.array([[1, 2], [3, 4]], dtype=np.uint8).tobytes("F")
        b'\\x01\\x03\\x02\\x04'
        """
        refuse_recording("Python asks for the bytes of an array, which depend on the arguments")
        if order == "C" and calls is not None and not tracing() and (few := calls.few_tobytes(self)) is not None:
            return few
        tensor = wrap.lent(self)
        if order == "C" and wrap.is_on_host(tensor) and tensor.is_contiguous() and not tensor.is_conj():
            return ctypes.string_at(tensor.data_ptr(), tensor.nbytes) if tensor.numel() else b""
        if not isinstance(order, str | None):
            raise TypeError(f"order must be str, not {type(order).__name__}")
        if (letter := "C" if order is None else order.upper()) not in ("C", "F", "A", "K"):
            raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
        if isinstance(tensor, DecomposedTensor):
            warn("tobytes drops the contributions of a decomposed array", DecompositionWarning)
            tensor = tensor.value
        letter, turned = element_order.counted(self, letter), tensor.permute(tuple(reversed(range(tensor.dim()))))
        fortran = tensor.dim() > 1 and not tensor.is_contiguous() and turned.is_contiguous()
        return bytes_of(turned if letter == "F" or (letter == "A" and fortran) else tensor)

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def tofile(self, /, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file (a name or a file), in row-major order: their bytes, or text with `sep` between
        them, each formatted by `format`. `np.fromfile` reads it, told the dtype. Needs NumPy (ImportError).

        Of a decomposed array the value is written, with a DecompositionWarning.
        """
        numpy_for("tofile")
        host_array("tofile", self._t).tofile(fid, sep, format)

    def dump(self, /, file: Any) -> None:
        """Pickle the array, contributions and all, to a file (a name or a file). `pickle.load` reads it."""
        if isinstance(file, (str, bytes, os.PathLike)):
            text = pickle.dumps(self, 2)
            with open(file, "wb") as opened:
                opened.write(text)
        else:
            pickle.dump(self, file, 2)

    def dumps(self, /) -> bytes:
        """The array pickled, as bytes."""
        return pickle.dumps(self, 2)

    @ends
    def byteswap(self, /, inplace: bool = False) -> Any:
        """The elements with their bytes in reverse order; with `inplace` in the same memory.

        >>> np.array([1, 256], dtype=np.int16).byteswap()
        array([256,   1], dtype=int16)
        """
        if inplace and type(self) is not wrap.ARRAY:
            raise ValueError("cannot byteswap a scalar in-place")
        if inplace and getattr(self, "_ro", None) is not None:
            raise ValueError("array to be byte-swapped is read-only")
        tensor = self._t
        if isinstance(tensor, DecomposedTensor):
            warn("byteswap drops the contributions of a decomposed array", DecompositionWarning)
            tensor = tensor.value
        swapped = element_order.swapped(tensor)
        if not inplace:
            return (wrap.wrap_array if type(self) is wrap.ARRAY else wrap.wrap_scalar)(swapped)
        write("byteswap", check_writeable("byteswap", self), swapped)
        return self

    @open_method_to_guests
    def getfield(self, /, dtype: Any, offset: int = 0) -> Any:
        """A view of a part of every element: the bytes from `offset` on, read as a dtype.

        Raises ValueError where the element ends before, TypeError for a decomposed array.

        >>> np.array([1 + 2j]).getfield(np.float64, 8)
        array([2.])
        """
        target = _check_field("getfield", self, dtype, offset)
        return alias(self, lambda tensor: _field(tensor, target, offset))

    def view(self, /, dtype: Any = None, type: Any = None) -> Any:
        """A view of the same memory, read as another dtype: of another size, if the last axis is contiguous and its
        length fits. Raises ValueError where they do not fit, TypeError for a decomposed array, which holds no bytes,
        but for one of complex numbers as their parts, or of such parts.

        >>> np.array([1.0, -1.0]).view(np.int32)
        array([          0,  1072693248,           0, -1074790400], dtype=int32)
        """
        try:
            if dtype is wrap.ARRAY:
                if type is not None:
                    raise ValueError("Cannot specify output type twice.")
                dtype, type = None, dtype
            absent = None
            try:
                if type is not None and type is not wrap.ARRAY:
                    if not _is_subclass(type):
                        raise ValueError("Type must be a sub-type of ndarray type")
                    raise MetSubclass(type)
                target = self._d if dtype is None else as_dtype(dtype)
            except AbsentDTypeError as error:
                absent = MetSubclass(dtype) if _is_subclass(dtype) else error
            if absent is not None:
                return hand_over_method("view", self, (dtype,), {} if type is None else {"type": type}, absent)
            tensor = self._t
            if target is not self._d and target.itemsize == self._d.itemsize and torch.Tensor is tensor.__class__:
                if type is None and self.__class__ is wrap.ARRAY:
                    made = _memory.seen_part(self, tensor.view(target), target)
                    made._exporter = self
                    return made
                return alias(self, lambda tensor: (tensor.view(target), None))
            if target is self._d:
                return alias(self, lambda tensor: (tensor.view_as(tensor), None))
            if isinstance(self._t, DecomposedTensor):
                if not _memory.is_kin(target, self._d) or reinterpreted(self._t.value, target)[1] is not None:
                    raise TypeError("view: contributions cannot be read as another dtype; use .value.view(dtype)")
                if self._d.is_complex:
                    return alias(self, lambda tensor: (torch.view_as_real(tensor).flatten(-2), None))
                return alias(self, lambda tensor: (torch.view_as_complex(tensor.unflatten(-1, (-1, 2))), None))
            return alias(self, lambda tensor: reinterpreted(tensor, target))
        except Exception as error:
            raise ended(error)  # noqa: B904


def _is_subclass(cls: Any) -> bool:
    return SubclassBase in getattr(cls, "__mro__", ())


def _field(tensor: torch.Tensor, target: torch.dtype, offset: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    strides = tuple(stride * tensor.element_size() for stride in tensor.stride())
    return seen(tensor, target, offset, tuple(tensor.shape), strides)


def _check_field(name: str, array: ArrayBase, dtype: Any, offset: int) -> torch.dtype:
    target = as_dtype(dtype)
    if offset < 0:
        raise ValueError("offset is negative")
    if target.itemsize > array._d.itemsize:
        raise ValueError("new type is larger than original type")
    if target.itemsize + offset > array._d.itemsize:
        raise ValueError("new type plus offset is larger than original type")
    if isinstance(array._t, DecomposedTensor):
        raise TypeError(f"{name}: contributions cannot be read as another dtype; use .value.{name}")
    return target


class ArrayBuffer(BufferMethods):
    """What only arrays have: memory that can be written."""

    __slots__ = ()

    def __array_finalize__(self, obj: Any, /) -> None:
        """Nothing: for classes of a program's own, which set their attributes here."""

    @open_method_to_guests
    def __reduce__(self, /) -> Any:
        """How the array is pickled by a class of a program's own, which may add what it holds."""
        return wrap.reduced(wrap.wrap_array, self._t)

    def __setstate__(self, state: Any, /) -> None:
        """Make the array, of a program's own class, what a pickle says."""
        hand_over_method("__setstate__", self, (state,), {}, MetSubclass(type(self)))

    @property
    def ctypes(self) -> Any:
        """The address, shape and strides for functions of C; it keeps the memory. Needs NumPy (ImportError).

        Raises BufferError for a decomposed array, and for one that is not on the host.

        >>> np.zeros((2, 3)).ctypes.strides[:]
        [24, 8]
        """
        numpy = numpy_for("ctypes")
        _exported("ctypes", self, BufferError)
        return numpy.asarray(Lender(self)).ctypes  # NumPy's array keeps this one, whose memory it is

    @open_method_to_guests
    def setfield(self, /, val: Any, dtype: Any, offset: int = 0) -> None:
        """Write numbers into a part of every element: the bytes from `offset` on, taken as a dtype.

        Raises ValueError where the element ends before or the array is read-only.

        >>> x = np.zeros(2, dtype=complex)
        >>> x.setfield([3, 4], np.float64, 8)
        >>> x
        array([0.+3.j, 0.+4.j])
        """
        check_writeable("setfield", self)
        target = _check_field("setfield", self, dtype, offset)
        value = as_tensor(val)
        if isinstance(value, DecomposedTensor):
            warn("setfield drops the contributions of what it writes", DecompositionWarning)
            value = value.value
        tensor, raw = _field(self._t, target, offset)
        if raw is None:
            write("setfield", _memory.view(self, tensor), cast(value, target))
            return
        given = torch.broadcast_to(cast(value, target), tuple(tensor.shape))
        given = given.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)
        write("setfield", _memory.view(self, raw), given.reshape(raw.shape))


def set_dtype(array: NDArrayBase, dtype: Any) -> None:
    """`x.dtype = dtype`: the array's own memory, read as another dtype from now on."""
    target = as_dtype(dtype)
    if isinstance(array._t, DecomposedTensor) and target is not array._d:
        raise TypeError("dtype: contributions cannot be read as another dtype; use .value")
    tensor, raw = reinterpreted(array._t, target)
    if raw is not None:
        raise ValueError(f"dtype: torch cannot see this memory as {target}, whose elements would not be aligned there")
    if hasattr(array, "_src") and tensor.dtype is not array._d:
        raise ValueError(f"dtype: the array stands for a view that torch does not have; take .view({target})")
    _memory.seat(array, tensor)


def set_strides(array: NDArrayBase, strides: Any) -> None:
    """Assign to `x.strides`, which NumPy 2.4 deprecates."""
    warn(
        "Setting the strides on an array is deprecated; make a view with np.lib.stride_tricks.as_strided",
        DeprecationWarning,
    )
    tensor, size = array._t, array._d.itemsize
    strides = as_shape(strides)
    if len(strides) != tensor.dim():
        raise ValueError(f"strides must be same length as shape ({tensor.dim()})")
    reach = sum((n - 1) * stride for n, stride in zip(tensor.shape, strides, strict=True)) if tensor.numel() else 0
    room = tensor.untyped_storage().nbytes() - tensor.storage_offset() * size - size
    if any(stride < 0 or stride % size for stride in strides) or reach > max(room, 0):
        raise ValueError("strides is not compatible with available memory")
    if hasattr(array, "_src"):
        raise ValueError("strides: the array stands for a view that torch does not have; take .copy()")
    _memory.seat(array, tensor.as_strided(tuple(tensor.shape), [stride // size for stride in strides]))
