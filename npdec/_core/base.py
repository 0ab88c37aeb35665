"""The root classes of arrays, scalars and ufuncs: what they hold, with no behaviour. Any module can import them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from npdec.exceptions import AbsentDTypeError


class ArrayBase:
    """Anything that holds a tensor: an array or a scalar (`np.float64`, ...).

    `_t` is the tensor (a plain one, or a DecomposedTensor), `_d` its torch dtype, kept beside it because reading it
    from the tensor costs as much as creating the array. A scalar on the host makes its tensor when it is asked for it.
    Methods and operators are attached to this class by `npdec._normalizer.operators`.
    """

    __slots__ = ()  # those of scalars differ: some are Python's own numbers

    _t: torch.Tensor
    _d: torch.dtype


class NDArrayBase(ArrayBase):
    """Any array: `npdec._array.ndarray.Composition` is the one class of them.

    `_m`: the arrays over the same memory, or None if there are no others yet and the array is known to have axes. An
    array that may have none, or whose tensor was given away, has a family, and its tensor is asked. The rest is rare
    and may be unset. `_ro`: why the array is read-only; `_src`: the array that this copy stands for a view of, and how
    it is made again (or a copy to keep); `_exporter`: whose memory it is, where that is not to be had of the tensor;
    `_pin`: tensors whose address was given away; `_w`: the window through which single elements are read and written
    (`npdec._array.elements`); `_e`: where the elements of a lazy array lie, which gets its tensor when `_t` or `_m` is
    asked for (npdec/_native/lazy.c). Nobody else reads `_e`.
    """

    __slots__ = ("__weakref__", "_d", "_e", "_exporter", "_m", "_pin", "_ro", "_src", "_t", "_w")

    _exporter: Any
    _m: Any
    _pin: tuple[torch.Tensor, ...]
    _ro: str | None
    _src: tuple[Any, Callable[[torch.Tensor], torch.Tensor] | None]
    _w: tuple[Any, ...]


class MetSubclass(AbsentDTypeError):
    """An array of a program's own class was met where plain arrays are computed with: the call goes to the door."""

    def __init__(self, cls: type) -> None:
        super().__init__(cls)

    def __str__(self) -> str:  # which nobody reads where the call goes on
        name = self.args[0].__name__
        return f"an array of class {name}, a subclass of np.ndarray, cannot be taken here; give np.asarray(x)"


class MetAsking(AbsentDTypeError):
    """An object of another library, which is to be asked what the call gives, was met among the arguments: the call
    goes to the door."""

    def __init__(self, cls: type) -> None:
        super().__init__(cls)

    def __str__(self) -> str:
        return f"an object of class {self.args[0].__name__} cannot be taken here; give np.asarray(x)"


class SubclassBase(NDArrayBase):
    """Any array of a program's own class below np.ndarray: `_p` is the plain array that it stands before, `_b` the
    array that it is a view of.

    It has no tensor to be computed with: whoever reaches for that meets an error that leads to `npdec._subclasses`.
    """

    __slots__ = ("_b", "_p")

    _b: Any
    _p: Any

    @property
    def _t(self) -> Any:  # type: ignore[override]
        raise MetSubclass(type(self))

    _d = _m = _t


def plain_of(x: Any) -> Any:
    """The plain array that one of a program's own class stands before; anything else as it is."""
    return x._p if isinstance(x, SubclassBase) else x


class UfuncBase:
    """Any universal function: `npdec._normalizer.ufunc.ufunc` defines the behaviour."""

    __name__: str
    nin: int
    nout: int
    nargs: int
    identity: Any
    signature: str | None = None
    reduction: Callable[..., Any] | None = None  # the function that folds it along an axis
    _loops: str = ""  # which of the tables of loops it has
    _tag: str | None  # of its first operand: how that enters
    _flags: Any  # which floating-point errors it can report
    _torch: Callable[..., Any] | None  # the torch function that is its kernel between arrays of the dtypes in _arrays
    _bare: Callable[..., Any] | None  # that function for plain tensors, without its rule
    _spare: int | None = None  # what its last operand may be where a mask leaves elements out, if some are refused
    _integers: Callable[..., Any] | None  # what torch makes of signed integers, None where it does otherwise
    _in_place: Callable[..., Any] | None = None  # the operator that writes the result into its first operand
    _direct: frozenset[torch.dtype]  # those of which it is the kernel beside anything
    _arrays: frozenset[torch.dtype]
    __kernel__: Callable[..., Any]  # what computes in all others
    _kernel: Callable[..., Any]  # the same, of what carries contributions too
    __call__: Callable[..., Any]

    @property
    def sums(self) -> bool:
        """Whether reductions of small integers are taken in 64 bits."""
        return self.identity in (0, 1) and self._loops in ("add", "any")

    def compute(self, operands: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
        """The tensor (or tuple of tensors) of the result, for tensors and Python scalars as operands."""
        raise NotImplementedError

    def _general(self, inputs: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
        """A call with any operands and options."""
        raise NotImplementedError


class Poly1dBase:
    """What `np.poly1d` is: an object that stands for the array of its coefficients, and that makes functions of
    polynomials (parameters tagged `Coefficients`) give polynomials. Defined by `npdec._functions.poly1d`."""

    coeffs: Any

    @classmethod
    def _through(cls, name: str, arguments: tuple[Any, ...]) -> Any:
        """The result of the public function of this name, where one of the arguments is a polynomial."""
        raise NotImplementedError
