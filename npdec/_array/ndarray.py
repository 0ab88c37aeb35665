"""The array: `Composition`, which is `np.ndarray`.

It holds a torch tensor: a plain one, or a DecomposedTensor that carries the contributions of the inputs. What is
written out here is what touches memory or Python's protocols; the methods that are functions of NumPy come from the
kernels that declare them (`npdec._normalizer.operators`).
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Iterator
from typing import Any, Self
from weakref import ref

import torch

from npdec._array import construct, memory, ordinary_writes, printing, wrap
from npdec._array.arguments import as_value
from npdec._array.array_type import ArrayType
from npdec._array.buffers import ArrayBuffer, reduced, set_dtype, set_strides
from npdec._array.convert import SIGNED, as_tensor, check_scalar
from npdec._array.element_iteration import through
from npdec._array.elements import ElementAccess
from npdec._array.family import family_of
from npdec._array.methods import ArrayMethods
from npdec._array.ordinary_writes import sorted_in_place
from npdec._array.output import check_writeable, write
from npdec._array.shapes import as_shape
from npdec._core.base import NDArrayBase, plain_of
from npdec._core.door import hand_over, subclasses
from npdec._core.tags import NoValue
from npdec._core.tracebacks import ended, ends
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import INTERNED, subscripted
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._impl import shape_impl, sorting_impl
from npdec._impl._storage import reverse_axes
from npdec._native import calls
from npdec._torch.tracing import tracing
from npdec.exceptions import AbsentDTypeError

__all__ = ["Composition"]

_new, _Tensor = object.__new__, torch.Tensor


class Composition(ElementAccess, ArrayBuffer, ArrayMethods, NDArrayBase, metaclass=ArrayType):
    """An array over a torch tensor. Make one with `np.array`, `np.zeros`, ...; this constructor is the low-level one.

    `np.ndarray(shape, dtype=float, buffer=None, offset=0, strides=None, order=None)` gives an array of the shape,
    uninitialised or over the memory of `buffer` (any object with the buffer protocol; `strides` in bytes).
    Raises TypeError for a dtype that torch does not have and ValueError where the buffer is too small.

    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, x.T[0]
    ((2, 2), dtype('float64'), array([1., 3.]))
    """

    __module__, __qualname__ = "npdec", "ndarray"  # what users know it as
    __slots__ = ()
    _op_priority = 0.0  # by which SymPy leaves `symbol * array` to the array, as it does for NumPy's

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: str | None = None,
    ) -> Any:
        if cls is not Composition:
            return subclasses.value().constructed(cls, shape, dtype, buffer, offset, strides, order)
        try:
            return construct.construct(shape, dtype, buffer, offset, strides, order)
        except AbsentDTypeError as error:
            absent = error
        return hand_over("ndarray", (shape, dtype, buffer, offset, strides, order), {}, absent)

    def __class_getitem__(cls, item: Any, /) -> Any:
        return subscripted(cls, item, 2)

    # -- what it is -----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        shape = self._t.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    @property
    def base(self) -> Any:
        """The array, or the buffer, that owns the memory this one looks at; None if it is its own."""
        source = getattr(self, "_exporter", None)
        if source is None:
            family = getattr(self, "_m", None)
            if family is None:
                return None
            owner = family[0]() if family else None
            if owner is not None and owner is not self:
                source = owner if memory.shares_storage(owner._t, self._t) else None
            elif family.origin is not None and hasattr(self, "_src"):  # this is a copy that stands for a view
                source = self._src[0]
            if source is None:
                root = None if owner is self else self._t._base
                return None if root is None else family.led_by(memory.view(self, root))
        base = source.base if type(source) is Composition else None
        return base if type(base) is Composition else source

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis. Assigning a shape reshapes in place, where that needs no copy."""
        return tuple(self._t.shape)

    @shape.setter
    @ends
    def shape(self, shape: Any) -> None:
        reshaped = shape_impl.reshape(self._t, as_shape(shape))
        if self._t.numel() and not memory.shares_storage(reshaped, self._t):
            raise AttributeError("incompatible shape for in-place modification: use reshape to get a copy")
        if getattr(getattr(self, "_m", None), "origin", None) is not None:
            made = memory.view(self, reshaped)
            if not memory.shares_storage(made._t, self._t):
                raise AttributeError("incompatible shape for in-place modification: use reshape to get a copy")
        memory.seat(self, reshaped)

    @property
    def dtype(self) -> dtype_class:
        """The dtype. Assigning one reads the same memory as that, where it is contiguous along the last axis."""
        return INTERNED[self._d]

    @dtype.setter
    @ends
    def dtype(self, dtype: Any) -> None:
        set_dtype(self, dtype)

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride along each axis, in bytes. Assigning strides is deprecated, as in NumPy."""
        return tuple([stride * self._d.itemsize for stride in wrap.lent(self).stride()])

    @strides.setter
    @ends
    def strides(self, strides: Any) -> None:
        set_strides(self, strides)

    # Lengths that are named, not packed into a tuple and unpacked again, save a good part of the call's overhead.
    def reshape(self, length: Any = NoValue, width: Any = NoValue, /, *more: Any, **options: Any) -> Any:
        try:
            tensor: Any
            if options:
                return super().reshape(*_lengths(length, width, more), **options)
            shape = length if width is NoValue else (length, width, *more)
            tensor = None if calls is None or tracing() else calls.few_reshape(self, shape)
            if tensor is not None:
                return tensor
            try:
                if width is NoValue:
                    tensor = self._t.reshape(length)
                else:
                    tensor = self._t.reshape(length, width, *more)
            except (TypeError, RuntimeError):
                return super().reshape(*_lengths(length, width, more))
            if type(tensor) is not _Tensor:
                if type(tensor) is Composition:  # a length was a scalar of npdec's, to which torch hands the call over
                    return super().reshape(*_lengths(length, width, more))
                return memory.view(self, tensor)
            result = _new(Composition)
            result._t = tensor
            result._d = self._d
            family = self._m
            if family is None:
                family = family_of(self)
            result._m = family
            family.append(ref(result))
            if len(family) > family.limit:
                memory.settle(self, result)
            return result
        except Exception as error:
            raise ended(error)  # noqa: B904

    vars(reshape)["__signature__"] = inspect.signature(ArrayMethods.reshape)
    reshape.__doc__ = ArrayMethods.reshape.__doc__

    # -- indexing -------------------------------------------------------------------------------------------------

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements: np.delete returns an array without them")

    def __iter__(self) -> Iterator[Any]:
        return through(self)

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    # -- Python numbers -------------------------------------------------------------------------------------------

    def _only(self, what: str) -> Any:
        """The element of a 0-d array as a scalar; TypeError if there are dimensions."""
        if self._t.dim():
            raise TypeError(
                f"only 0-dimensional arrays can be converted to Python scalars ({what} of shape {self.shape}); "
                "use .item()"
            )
        return wrap.wrap_scalar(self._t)

    def __bool__(self) -> bool:
        size = self._t.numel()
        if size != 1:
            raise ValueError(
                "The truth value of an empty array is ambiguous. "
                "Use `array.size > 0` to check that an array is not empty."
                if not size
                else "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return bool(self._t if self._d is not torch.uint64 else self._t.view(torch.int64))

    def __float__(self) -> float:
        return float(self._only("float"))

    def __int__(self) -> int:
        return int(self._only("int"))

    def __complex__(self, /) -> complex:
        return complex(self._only("complex"))

    def __index__(self) -> int:
        if self._t.dim():
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return operator.index(self._only("index"))

    __hash__ = None  # type: ignore[assignment]

    # -- text -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return printing.array_repr(self)

    def __str__(self) -> str:
        return printing.array_str(self)

    def __format__(self, spec: str) -> str:
        if not self._t.dim():
            return format(wrap.wrap_scalar(self._t), spec)
        if spec:
            raise TypeError("unsupported format string passed to numpy.ndarray.__format__")
        return str(self)

    def __sizeof__(self) -> int:
        """The bytes of the array, those of its elements included if the memory is its own."""
        tensor, size = self._t, object.__sizeof__(self) + 16 * self._t.dim()
        if self.base is not None:
            return size
        parts: tuple[torch.Tensor, ...] = (tensor,)
        if isinstance(tensor, DecomposedTensor):
            parts = (tensor.value, tensor.residual, tensor.components)
        return size + sum(part.numel() * part.element_size() for part in parts)

    # -- copies and memory ----------------------------------------------------------------------------------------

    def __copy__(self, /) -> Self:
        return wrap.wrap_array(self._t.clone())

    def __deepcopy__(self, /, memo: dict[int, Any]) -> Self:
        return wrap.wrap_array(self._t.clone())

    def __reduce_ex__(self, /, protocol: Any) -> tuple[Any, ...]:
        return reduced(self, int(protocol))

    def to_numpy(self) -> Any:
        """NumPy's array of the elements, in the same memory on the host. matplotlib and others look for this method.

        >>> np.zeros((2, 3)).to_numpy().transpose().shape
        (3, 2)
        """
        return self.__array__()

    @ends
    def setflags(self, /, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """Make the array read-only (`write=False`) or writeable again. `align` and `uic` can only be what they are.

        >>> x = np.zeros(2)
        >>> x.setflags(write=False)
        >>> x[0] = 1.0
        Traceback (most recent call last):
        ValueError: assignment destination is read-only: setflags(write=False)
        """
        if align is not None and not align:
            raise ValueError("cannot set ALIGNED flag to False: torch's memory is always aligned")
        if uic:
            raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
        if write is not None and not write:
            memory.freeze(self, "setflags(write=False)")
        elif write:
            reason, base = getattr(self, "_ro", None), self.base
            if reason is not None and (
                not reason.startswith("setflags") or (type(base) is Composition and not base.flags.writeable)
            ):
                raise ValueError("cannot set WRITEABLE flag to True of this array")
            self._ro = None

    @ends
    def sort(
        self, /, axis: int = -1, kind: str | None = None, order: Any = None, *, stable: bool | None = None
    ) -> None:
        """Sort in place along an axis; see `np.sort` for the arguments.

        >>> x = np.array([3, 1, 2])
        >>> x.sort()
        >>> x
        array([1, 2, 3])
        """
        if kind is None is order and stable is None and sorted_in_place(self, axis):
            return
        tensor = self._to_be_written()
        write("sort", self, sorting_impl.sort(tensor, operator.index(axis), kind, order, stable=stable))

    @ends
    def partition(self, /, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
        """Rearrange in place along an axis so that the element `kth` is where sorting puts it; see `np.partition`."""
        tensor = self._to_be_written()
        write("partition", self, sorting_impl.partition(tensor, as_tensor(kth), operator.index(axis), kind, order))

    def _to_be_written(self) -> torch.Tensor:
        """The tensor, for what is written to the array itself: a copy if autograd may keep it."""
        return self._t.clone() if self._t.requires_grad else self._t

    def fill(self, /, value: Any) -> None:
        """Set every element to the value."""
        try:
            is_done = calls is not None and not tracing() and calls.few_fill(self, value)
            is_plain = type(value) not in (Composition, list, tuple)
            if is_done or (is_plain and ordinary_writes.write(self, Ellipsis, value)):
                return
            value = plain_of(value)
            check_writeable("fill", self)
            number = as_value(value, self._d, self._t.device)
            if self._d in SIGNED:
                check_scalar(value, self._d)
            if number.dim():
                raise ValueError(
                    f"setting an array element with a sequence: fill takes a number, not shape {tuple(number.shape)}"
                )
            write("fill", self, number.expand(self.shape), "unsafe")
        except Exception as error:
            raise ended(error)  # noqa: B904

    @ends
    def resize(self, /, *new_shape: Any, refcheck: bool = True) -> None:
        """Change shape and size in place: elements are dropped from the end of the memory, or zeros added.

        Raises ValueError for a view, and where a view of the array exists (`refcheck=False` leaves it as it is).

        >>> x = np.array([1, 2, 3])
        >>> x.resize(2, 2)
        >>> x
        array([[1, 2],
               [3, 0]])
        """
        refcheck = bool(operator.index(refcheck))
        if not new_shape or (len(new_shape) == 1 and new_shape[0] is None):
            return
        shape = as_shape(new_shape[0] if len(new_shape) == 1 else new_shape)
        if not (self.flags.c_contiguous or self.flags.f_contiguous):
            raise ValueError("resize only works on single-segment arrays")
        if any(n < 0 for n in shape):
            raise ValueError("negative dimensions not allowed")
        tensor, wanted = self._t, math.prod(shape)
        if wanted != tensor.numel():
            if self.base is not None:
                raise ValueError("cannot resize this array: it does not own its data")
            check_writeable("resize", self)
            family = getattr(self, "_m", None)
            if refcheck and family is not None and len(family.living()) > 1:
                raise ValueError(
                    "cannot resize an array that references or is referenced\nby another object in this way.\nUse the "
                    "np.resize function to get a new resized copy or\n set refcheck=False to disable this check"
                )
            self._m = None
        column_major = tensor.dim() > 1 and self.flags.fnc
        flat = reverse_axes(tensor).reshape(-1) if column_major else tensor.reshape(-1)
        if wanted > flat.shape[0]:
            flat = torch.cat([flat, torch.zeros(wanted - flat.shape[0], dtype=flat.dtype, device=flat.device)])
        if wanted != tensor.numel():
            flat = flat[:wanted].clone()
        self._t = reverse_axes(flat.reshape(shape[::-1])) if column_major else flat.reshape(shape)
        family_of(self)  # it may have no axes now


def _lengths(length: Any, width: Any, more: tuple[Any, ...]) -> tuple[Any, ...]:
    if length is NoValue:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    return (length,) if width is NoValue else (length, width, *more)


Composition.__name__ = "ndarray"
wrap.register_array(Composition)
