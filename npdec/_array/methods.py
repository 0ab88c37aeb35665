"""The methods and properties of arrays and scalars that are no functions of NumPy, or differ from the function."""

from __future__ import annotations

import inspect
import operator
from typing import Any

import torch

from npdec._array import iterators, memory, wrap
from npdec._array.buffers import BufferMethods
from npdec._array.convert import as_dtype, as_tensor, dtype_name
from npdec._array.decompose import DecompositionMixin
from npdec._array.element_order import counted, stands_for
from npdec._array.foreign_arrays import asks_ufuncs, copy_modes
from npdec._array.output import write, write_out
from npdec._array.protocols import ProtocolMixin
from npdec._array.shapes import as_shape
from npdec._core.base import MetAsking, MetSubclass, NDArrayBase, SubclassBase
from npdec._core.door import hand_over_method, open_method_to_guests
from npdec._core.tracebacks import ended, ends
from npdec._decomposed.choices import chosen
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _storage, _util, creation_impl, dtypes_impl, indexing_impl, shape_impl
from npdec._impl._by_numpy import selected
from npdec._native import calls
from npdec._torch.tracing import number_of, recording, tracing
from npdec.exceptions import AbsentDTypeError

__all__ = ["ArrayMethods"]

_Tensor = torch.Tensor


def _check_same_value(before: torch.Tensor, after: torch.Tensor) -> None:
    """Raise ValueError if a cast changed a value. For a cast to booleans NumPy takes any value for the same, too."""
    before, after = (x.value if type(x) is DecomposedTensor else x for x in (before, after))
    if after.dtype is torch.bool:
        return
    what = f"could not cast 'same_value' {dtype_name(before.dtype)} to {dtype_name(after.dtype)}"
    if before.is_complex() and not after.is_complex():
        if bool((before.imag != 0).any()):
            raise ValueError(f"{what}: imag is not 0")
        before = before.real
    if after.is_complex() and not before.is_complex():
        after = after.real
    again = _util.cast(after, before.dtype)
    same = (again == before) | (torch.isnan(again) & torch.isnan(before))
    if dtypes_impl.kind(after.dtype) in "ui":
        if dtypes_impl.kind(before.dtype) in "ui":
            same = same & (_util.is_negative(before) == _util.is_negative(after))  # what wraps comes back as it was
        elif before.is_floating_point():
            same = same & torch.isfinite(before)
    if not bool(same.all()):
        raise ValueError(what)


class ArrayMethods(DecompositionMixin, BufferMethods, ProtocolMixin):
    """What arrays and scalars share beyond NumPy's functions, which `npdec._normalizer.operators` attaches."""

    __slots__ = ()

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._t.dim()

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._t.numel()

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return self._d.itemsize

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        tensor = self._t
        return tensor.nbytes if type(tensor) is _Tensor else tensor.numel() * self._d.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride along each axis, in bytes."""
        return tuple([stride * self._d.itemsize for stride in wrap.lent(self).stride()])

    @property
    def device(self) -> Any:
        """The torch device that holds the elements."""
        return wrap.lent(self).device

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array on another device (itself if it is there already). `stream` is not supported: ValueError."""
        if stream is not None:
            raise ValueError("The stream argument in to_device() is not supported")
        moved = self._t.to(creation_impl.as_device(device))
        return self if moved is self._t else self._as(moved)

    @property
    def T(self) -> Any:
        """The transpose: a view with the axes reversed."""
        if type(self) is not wrap.ARRAY:
            return self
        tensor = self._t
        if type(tensor) is not _Tensor:
            return memory.view(self, shape_impl.transpose(tensor))
        try:
            return memory.seen_part(self, tensor.t())
        except RuntimeError:  # of more than two axes
            return memory.seen_part(self, shape_impl.transpose(tensor))

    def _is_array(self) -> bool:
        return type(self) is wrap.ARRAY

    def conjugate(self, /, *args: Any, **options: Any) -> Any:
        """The complex conjugate; an array of real numbers itself. See `np.conjugate` for the options.

        >>> np.array([1 + 2j]).conjugate()
        array([1.-2.j])
        """
        try:
            if self._is_array() and not (args or options or self._d.is_complex):
                return self
            return wrap.NAMESPACE.value.conjugate(self, *args, **options)
        except Exception as error:
            raise ended(error)  # noqa: B904

    conj = conjugate

    @property
    def mT(self) -> Any:
        """The matrix transpose: a view with the last two axes exchanged. Raises ValueError for fewer than two."""
        tensor = wrap.viewed(self)
        if tensor.dim() < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return memory.view(self, tensor.mT)

    @property
    def real(self) -> Any:
        """The real part: a view, for a complex array."""
        return self._part(_storage.part(self._t, 0)) if self._d.is_complex else self

    @real.setter
    @ends
    def real(self, value: Any) -> None:
        write("real", self.real, as_tensor(value))

    @property
    def imag(self) -> Any:
        """The imaginary part: a view, for a complex array; read-only zeros for a real one."""
        if self._d.is_complex:
            return self._part(_storage.part(self._t, 1))
        zeros = self._as(torch.zeros_like(self._t))
        if type(zeros) is wrap.ARRAY:
            memory.freeze(zeros, "a real array has no imaginary part")
        return zeros

    @imag.setter
    @ends
    def imag(self, value: Any) -> None:
        if not self._d.is_complex:
            raise TypeError("array does not have imaginary part to set")
        write("imag", self.imag, as_tensor(value))

    def _part(self, tensor: torch.Tensor) -> Any:
        if type(self) is not wrap.ARRAY:
            return wrap.wrap_scalar(tensor)
        return memory.seen(self, tensor) if type(tensor) is torch.Tensor else memory.view(self, tensor)

    # -- copies, dtypes, Python objects ---------------------------------------------------------------------------

    def astype(
        self, /, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: Any = True
    ) -> Any:
        """The array converted to a dtype; without `copy`, itself if nothing changes. Raises TypeError where `casting`
        forbids the cast, ValueError where a value would change under "same_value". Contributions to a cast to integers
        or booleans are those of its steps: real numbers that add up to it.

        >>> np.array([1.7, -1.7]).astype(int)
        array([ 1, -1])
        """
        try:
            if order == "K" and casting == "unsafe" and calls is not None and not tracing():
                made = calls.few_astype(self, dtype, copy)
                if made is not None:
                    return made
            absent = None
            try:
                target = as_dtype(dtype)
            except AbsentDTypeError as error:
                absent = error
            if absent is not None:
                options = {"order": order, "casting": casting, "subok": subok, "copy": copy}
                return hand_over_method("astype", self, (dtype,), options, absent)
            tensor = self._t
            plain = type(tensor) is torch.Tensor and type(self) is wrap.ARRAY
            if plain and order == "K" and casting == "unsafe" and copy is True and tensor.is_contiguous():
                return wrap.wrap_array(tensor.clone() if target is self._d else _util.cast(tensor, target))
            if type(copy) is not bool and isinstance(copy, copy_modes()):
                raise ValueError("_CopyMode enum is not allowed for astype function. Use true/false instead.")
            letter = _storage.check_order(order)
            same_value = casting == "same_value"
            if not same_value and not dtypes_impl.can_cast(self._d, target, casting):
                raise TypeError(
                    f"Cannot cast array data from {wrap.dtype_repr(self._d)} to {wrap.dtype_repr(target)} according to "
                    f"the rule '{casting}'"
                )
            contiguous, column_major = tensor.is_contiguous(), _storage.is_column_major(tensor)
            if stands_for(self) is not None:
                contiguous, column_major = self.flags.c_contiguous, self.flags.f_contiguous
            if letter == "A":
                letter = "F" if column_major and not contiguous else "C"
            if target is self._d:
                kept = {"K": True, "C": contiguous, "F": column_major}[letter]
                return self if kept and not copy else self._as(_storage.duplicate(tensor, letter))
            tensor = _util.cast(_storage.kept_order(tensor), target)
            if same_value:
                _check_same_value(self._t, tensor)
            if (letter == "C" and not tensor.is_contiguous()) or (
                letter == "F" and not _storage.is_column_major(tensor)
            ):
                tensor = _storage.duplicate(tensor, letter)
            return self._as(tensor)
        except Exception as error:
            raise ended(error)  # noqa: B904

    def copy(self, /, order: str = "C") -> Any:
        """A copy, in row-major order unless `order` says otherwise."""
        try:
            few = calls.few_copy_by_rows(self) if order == "C" and calls is not None and not tracing() else None
            if few is not None:
                return few
            tensor = self._t
            if order == "C" and type(self) is wrap.ARRAY and type(tensor) is torch.Tensor and tensor.is_contiguous():
                return wrap.wrap_array(tensor.clone())
            return self._as(creation_impl.copy(tensor, counted(self, order)))
        except Exception as error:
            raise ended(error)  # noqa: B904

    def item(self, /, *args: Any) -> Any:
        """The only element, or the one at an index, as a Python number (without contributions)."""
        if calls is not None and not tracing():
            number = calls.few_item(self, *args)
            if number is not None:
                return number
        tensor = self._t.value if type(self._t) is DecomposedTensor else self._t
        if len(args) == 1 and isinstance(args[0], tuple):
            args = args[0]
        if len(args) == 1:
            index, size = operator.index(args[0]), tensor.numel()
            if not -size <= index < size:
                raise IndexError(f"index {index} is out of bounds for axis 0 with size {size}")
            return number_of((tensor if tensor.dim() == 1 else tensor.reshape(-1))[index])
        if args:
            if len(args) != tensor.dim():
                raise ValueError("incorrect number of indices for array")
            return number_of(tensor[tuple(map(operator.index, args))])
        if tensor.numel() != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return number_of(tensor)

    def tolist(self, /) -> Any:
        """The elements as nested lists of Python numbers (without contributions)."""
        if (recorder := recording.get()) is not None:
            return recorder.numbers.tolist(self._t)
        listed = None if calls is None or tracing() else calls.few_tolist(self)
        return self._t.tolist() if listed is None else listed

    def __array_wrap__(self, /, array: Any, context: Any = None, return_scalar: bool | None = None) -> Any:
        if isinstance(self, SubclassBase) or isinstance(array, SubclassBase):
            options = {"return_scalar": return_scalar}
            return hand_over_method("__array_wrap__", self, (array, context), options, MetSubclass(type(self)))
        if return_scalar is None:
            return_scalar = not isinstance(self, NDArrayBase)
        if type(array) is wrap.ARRAY and not (return_scalar and array.ndim == 0):
            return array
        return (wrap.wrap if return_scalar else wrap.wrap_array)(as_tensor(array))

    # -- shape ----------------------------------------------------------------------------------------------------

    def reshape(self, /, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The array in another shape of the same size; a view where it can be. `x.reshape(2, 3)` or `((2, 3))`.

        Raises ValueError if the sizes differ, or under `copy=False` if a copy is needed.

        >>> np.arange(6).reshape(2, -1)
        array([[0, 1, 2],
               [3, 4, 5]])
        """
        try:
            if len(shape) == 1 and shape[0] is None:  # which stands for the shape that it has
                return memory.view(self, self._t.view(self._t.shape))
            size = as_shape(shape[0] if len(shape) == 1 else shape)
            tensor = wrap.viewed(self)
            return memory.view(self, shape_impl.reshape(tensor, size, order=counted(self, order), copy=copy))
        except Exception as error:
            raise ended(error)  # noqa: B904

    def transpose(self, /, *axes: Any) -> Any:
        """The array with its axes permuted: a view. `x.transpose()`, `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
        try:
            if not axes and type(self) is wrap.ARRAY:
                return self.T
            if calls is not None and type(self) is wrap.ARRAY and not tracing():
                made = calls.few_transpose(self, axes[0] if len(axes) == 1 else axes)
                if made is not None:
                    return made
            tensor = self._t
            if type(tensor) is torch.Tensor and type(self) is wrap.ARRAY:
                try:
                    given = axes[0] if len(axes) == 1 and type(axes[0]) is tuple else axes
                    if tuple(map(type, given)) == (int, int) and given == (1, 0) and tensor.dim() == 2:
                        return self.T
                    found = tensor.permute(given)
                except (TypeError, RuntimeError, IndexError):  # NumPy's words are found below
                    pass
                else:
                    if type(found) is _Tensor:
                        return memory.seen_part(self, found)
            order: Any = axes or None
            if len(axes) == 1 and (not hasattr(axes[0], "__index__") or getattr(axes[0], "ndim", None)):
                order = axes[0]
            order = None if order is None else as_shape(order)
            return memory.view(self, shape_impl.transpose(self._t, order))
        except Exception as error:
            raise ended(error)  # noqa: B904

    @open_method_to_guests
    def compress(self, /, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """The elements (or slices along an axis) where a vector of conditions holds; see `np.compress`."""
        if type(self) is wrap.ARRAY is type(condition) and axis is None is out and condition._d is torch.bool:
            mask, tensor = condition._t, self._t
            if type(mask) is type(tensor) is _Tensor and mask.dim() == 1 == tensor.dim() and mask.shape == tensor.shape:
                found = selected(tensor, mask)
                return wrap.array_of(tensor[mask] if found is None else found, self._d)
        mask = chosen("compress", as_tensor(condition))
        result = indexing_impl.compress(mask, self._t, axis)
        return wrap.wrap_array(result) if out is None else write_out("compress", out, result, "back")

    def choose(self, /, *choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """For each index in the array the element of the choice of that number; see `np.choose`. The choices are given
        as a sequence, or one by one."""
        try:
            if not choices:
                raise TypeError("choose() takes exactly 1 argument (0 given)")
            return wrap.NAMESPACE.value.choose(self, choices[0] if len(choices) == 1 else choices, out, mode)
        except Exception as error:
            raise ended(error)  # noqa: B904

    def clip(self, /, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """The elements with those beyond a bound replaced by it, where a bound is given; see `np.clip`."""
        try:
            for x in (min, max, out):
                if asks_ufuncs(x):  # by the method, which NumPy makes of ufuncs; the function would ask for itself
                    given = {"min": min, "max": max, "out": out, **kwargs}
                    return hand_over_method("clip", self, (), given, MetAsking(type(x)))
            return wrap.NAMESPACE.value.clip(self, min, max, out, **kwargs)
        except Exception as error:
            raise ended(error)  # noqa: B904

    def put(self, /, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write values at indices that count the elements in row-major order; see `np.put`."""
        try:
            wrap.NAMESPACE.value.put(self, indices, values, mode)
        except Exception as error:
            raise ended(error)  # noqa: B904

    def flatten(self, /, order: str = "C") -> NDArrayBase:
        """A copy of the elements as a 1-d array."""
        try:
            if order == "C" and calls is not None and not tracing():
                copied = calls.few_flatten(self)
                if copied is not None:
                    return copied
            made: NDArrayBase = wrap.wrap_array(shape_impl.ravel(self._t, counted(self, order)).clone())
            return made
        except Exception as error:
            raise ended(error)  # noqa: B904

    @property
    def flat(self) -> iterators.flatiter:
        """The elements in row-major order: an iterator that can be indexed and assigned to."""
        return iterators.flat(self)

    @flat.setter
    @ends
    def flat(self, value: Any) -> None:
        iterators.flat(self)[...] = value


def _written(self: Any, /, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """How NumPy writes `choose`, which takes the choices one by one as well, and `out` and `mode` by name only."""


vars(ArrayMethods.choose)["__signature__"] = inspect.signature(_written)
