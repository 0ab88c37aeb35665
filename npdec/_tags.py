"""The vocabulary in which a kernel declares how its arguments are read.

A kernel is a plain function on torch tensors whose parameters are annotated with the tags below. The face of
the library (`npdec._normalizer`) reads a signature once, at import, and compiles the public function from it;
the law (`npdec._law`) reads the same tags to know how a decomposition passes through. This module is a leaf: it
imports nothing of npdec, so that kernels can declare themselves without knowing who publishes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = [
    "Array",
    "ArrayLike",
    "ArrayLikeOrScalar",
    "AxisLike",
    "DTypeLike",
    "InPlace",
    "KeepDims",
    "Linear",
    "Mask",
    "Multilinear",
    "NoValue",
    "Opaque",
    "OutArray",
    "Pointwise",
    "Routed",
    "ShapeLike",
    "Smooth",
    "Spec",
    "View",
    "public",
    "ufunc",
]

# Within a kernel every tag below stands for what the kernel receives, so the aliases are `Any` to a type checker;
# the compiler of wrappers goes by their names.

# Arrays. All of these take anything array-like from the caller and hand the kernel a `torch.Tensor`.
ArrayLike = Any  # decomposes through the torch functions that the kernel calls
Linear = Any  # the kernel is linear in this argument, jointly with its other Linear arguments
Multilinear = Any  # linear in this argument, for the others held fixed
Pointwise = Any  # element by element, nonlinearly
Routed = Any  # by selection of elements
Smooth = Any  # differentiably, any other way: the law by quadrature
Opaque = Any  # only by its value: indices, conditions, masks
ArrayLikeOrScalar = Any  # as ArrayLike, but a Python scalar stays one, and so is weak in promotion
InPlace = Any  # an existing, writeable array that the kernel changes

# Everything else.
DTypeLike = Any  # the kernel receives a `torch.dtype`
AxisLike = Any  # an int or a tuple of ints (or None where the annotation says so)
ShapeLike = Any  # the kernel receives a tuple of ints
KeepDims = Any  # bool
Mask = Any  # `where=`: True, or the tensor of a boolean mask
OutArray = Any  # `out=`: never reaches the kernel; the wrapper writes the result there

# Return annotations. Without one, a 0-d result is a scalar, as for NumPy's computing functions.
Array = Any  # always an array, 0-d included
View = Any  # always an array, and one that may share memory with the first argument


class _NoValueType:
    """The default of a parameter for which None is a value of its own."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<no value>"

    def __reduce__(self) -> str:
        return "NoValue"


NoValue = _NoValueType()

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Spec:
    """What a kernel declares beside its signature.

    `name` is the public name. `method` says that the array has a method of that name. `torch` is the torch function
    that computes a ufunc entirely; such a kernel has a docstring and no body, and its law tags are the rule of the
    torch function. `loops` names the dtypes that a ufunc computes in (a key of `npdec._impl.dtypes_impl.LOOPS`);
    it is None for a function that is no ufunc. `operator` is the stem of the operators that a ufunc stands for:
    "add" gives `__add__`, `__radd__`, `__iadd__`. `identity` is the value of a reduction over nothing.
    """

    name: str
    method: str | None = None
    torch: Callable[..., Any] | None = None
    loops: str | None = None
    operator: str | None = None
    identity: Any = None
    aliases: tuple[str, ...] = ()


def public(
    kernel: F | None = None, *, name: str | None = None, method: bool | str = False, aliases: tuple[str, ...] = ()
) -> Any:
    """Declare a kernel as a public function. It is returned unchanged, for other kernels to call."""

    def declare(kernel: F) -> F:
        public_name = name or kernel.__name__
        method_name = public_name if method is True else (method or None)
        kernel.__npdec__ = Spec(public_name, method_name, aliases=aliases)  # type: ignore[attr-defined]
        return kernel

    return declare if kernel is None else declare(kernel)


def ufunc(
    torch_function: Callable[..., Any] | None = None,
    *,
    loops: str,
    operator: str | None = None,
    identity: Any = None,
    method: bool | str = False,
    name: str | None = None,
    aliases: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Declare a kernel as a universal function: element by element, with broadcasting and a table of loops."""

    def declare(kernel: F) -> F:
        public_name = name or kernel.__name__
        method_name = public_name if method is True else (method or None)
        kernel.__npdec__ = Spec(  # type: ignore[attr-defined]
            public_name, method_name, torch_function, loops, operator, identity, aliases
        )
        return kernel

    return declare
