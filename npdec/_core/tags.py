"""The vocabulary in which a kernel declares how its arguments are read.

A kernel is a plain function on torch tensors whose parameters are annotated with the tags below. The face of the
library (`npdec._normalizer.normalizer`) reads a signature once, at import, and compiles the public function from it;
the law (`npdec._law.law`) reads the same tags to know how a decomposition passes through. This module is a leaf: it
imports nothing of npdec, so that kernels can declare themselves without knowing who publishes them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

__all__ = [
    "Affine",
    "Array",
    "ArrayLike",
    "ArrayLikeOrScalar",
    "AxisLike",
    "Coefficients",
    "CountedMask",
    "DTypeLike",
    "Flat",
    "Frozen",
    "InPlace",
    "Inexact",
    "KeepDims",
    "LAW_TAGS",
    "Like",
    "Linear",
    "Mask",
    "Mirror",
    "Multilinear",
    "NoValue",
    "Opaque",
    "OutArray",
    "Pointwise",
    "Routed",
    "ShapeLike",
    "Smooth",
    "Spec",
    "Stepwise",
    "View",
    "gives_back",
    "law_tag",
    "out_casting",
    "public",
    "spec_of",
    "ufunc",
    "writes_back",
]

_SAYS: dict[str, str] = {}
# The tags that say how a decomposition passes through an argument: a view of all that `law_tag` has made.
LAW_TAGS = _SAYS.keys()


def law_tag(name: str, says: str) -> TypeVar:
    """A tag of arguments through which contributions pass by a law: `npdec._law.law.law_of(name)` says by which.

    `says` completes "the argument enters ...". Raises ValueError if there is such a tag.
    """
    if name in _SAYS:
        raise ValueError(f"there is a tag {name!r} already: the argument enters {_SAYS[name]}")
    _SAYS[name] = says
    return TypeVar(name)


# Within a kernel every tag below stands for what the kernel receives, so to a type checker the tags are `Any`; at run
# time they are distinct objects, so that an annotation says which one it is with and without postponed evaluation.
if TYPE_CHECKING:
    _Tag = TypeVar("_Tag")
    Affine = Annotated[_Tag, "the result is linear in all of these together, or constant"]
    Inexact = Annotated[_Tag, "integers are float64"]
    ArrayLike = Any
    Linear = Any
    Multilinear = Any
    Pointwise = Any
    Routed = Any
    Smooth = Any
    Stepwise = Any
    Opaque = Any
    ArrayLikeOrScalar = Any
    Coefficients = Any
    InPlace = Any
    DTypeLike = Any
    AxisLike = Any
    ShapeLike = Any
    KeepDims = Any
    Mask = Any
    CountedMask = Any
    Like = Any
    OutArray = Any
    Array = Any
    View = Any
    Flat = Any
    Frozen = Any
    Mirror = Any
else:
    # Arrays. All of these take anything array-like from the caller and hand the kernel a `torch.Tensor`.
    ArrayLike = TypeVar("ArrayLike")  # decomposes through the torch functions that the kernel calls
    Linear = law_tag("Linear", "linearly, jointly with the other Linear arguments")
    Multilinear = law_tag("Multilinear", "linearly, for the others held fixed")
    Pointwise = law_tag("Pointwise", "element by element, nonlinearly")
    Routed = law_tag("Routed", "by selection: the largest or smallest (torch functions with a closed form)")
    Stepwise = law_tag("Stepwise", "element by element, with jumps: as Pointwise; two arguments in both orders")
    Smooth = law_tag("Smooth", "differentiably, any other way: the law by quadrature")
    Opaque = TypeVar("Opaque")  # only by its value, which is a frozen choice: indices, sizes
    ArrayLikeOrScalar = TypeVar("ArrayLikeOrScalar")  # as ArrayLike; a Python scalar stays one: weak in promotion
    Coefficients = TypeVar("Coefficients")  # as ArrayLike; where it is a poly1d, the result is made of poly1ds
    InPlace = TypeVar("InPlace")  # an existing, writeable array that the kernel changes

    class Affine:
        """`Affine[ArrayLike]`, or of another tag of arrays: the result is linear in all such arguments together, or
        constant, whatever their numbers are. Of a few numbers it is computed as one map."""

        __class_getitem__ = classmethod(GenericAlias)

    class Inexact:
        """`Inexact[ArrayLike]`, or of another tag of arrays: integers and booleans come as float64, in which NumPy
        computes what is no integer of integers. For torch's functions that do not take them."""

        __class_getitem__ = classmethod(GenericAlias)

    # Everything else.
    DTypeLike = TypeVar("DTypeLike")  # the kernel receives a `torch.dtype`
    AxisLike = TypeVar("AxisLike")  # an int or a tuple of ints (or None where the annotation says so)
    ShapeLike = TypeVar("ShapeLike")  # the kernel receives a tuple of ints
    KeepDims = TypeVar("KeepDims")  # bool
    Mask = TypeVar("Mask")  # `where=`: True, or the tensor of a boolean mask
    CountedMask = TypeVar("CountedMask")  # as Mask, of what divides by their number: no None and no text
    Like = TypeVar("Like")  # `like=`: never reaches the kernel; the wrapper hands the call to the library of that array
    OutArray = TypeVar("OutArray")  # `out=`: never reaches the kernel; the wrapper writes the result there

    # Return annotations. Without one, a 0-d result is a scalar, as for NumPy's computing functions.
    Array = TypeVar("Array")  # always an array, 0-d included
    View = TypeVar("View")  # always an array, and one that may share memory with the first argument
    Flat = TypeVar("Flat")  # a View, where the elements follow each other in memory; else a copy
    Frozen = TypeVar("Frozen")  # a View that cannot be written, as NumPy's cannot
    Mirror = TypeVar("Mirror")  # a View in NumPy, where torch may have to copy: a write to either goes on to the other


class _NoValueType(enum.Enum):  # an enumeration, which torch.compile can trace (not NumPy's marker)
    """The default of a parameter for which None is a value of its own."""

    NO_VALUE = "no value"

    def __repr__(self) -> str:
        return "<no value>"


NoValue: Any = _NoValueType.NO_VALUE

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Spec:
    """What a kernel declares beside its signature.

    `name` is the public name. `method` names the methods of arrays that it is, separated by spaces. `torch` is the
    function of torch that is the whole ufunc for the dtypes in `LOOPS[loops].direct`, while the body serves the others;
    the law tags of the kernel are its rule. `loops` says in which dtypes a ufunc computes: a key of
    `npdec._impl.dtypes_impl.LOOPS`; it is None for a function that is no ufunc. `operator` is the stem of the operators
    that a ufunc stands for: "add" gives `__add__`, `__radd__`, `__iadd__`. `reflected` is the function of torch, which
    has a rule, that is the ufunc with its operands exchanged. `identity` is the value of a reduction over nothing.
    `flags` says what a ufunc's operands and results tell of floating-point errors (`npdec._impl._flags`), and
    `errors` under which name a function that is no ufunc reports them: NumPy's, or one for each kind.
    `signature` names the core dimensions of a generalised ufunc, whose body takes all the options itself. `folds` names
    the ufunc that a reduction folds along an axis, and so is the method `reduce` of. `direct` is its common call.
    `integers` is what torch makes of signed integers, where the operator stands between arrays of one dtype, or an
    array of int64 and a Python int; None says that the body has to. `in_place` writes what `torch` gives into its first
    operand, where that is no function with such a method. `spare` is an integer that stands for the last operand where
    a mask leaves elements out, of a ufunc that refuses some integers there. `by_numpy` names the dtypes in which NumPy,
    where it is installed, finds the same bits of many elements sooner. `unbound` functions are no methods of classes
    that have them.
    """

    name: str
    method: str | None = None
    torch: Callable[..., Any] | None = None
    loops: str | None = None
    operator: str | None = None
    identity: Any = None
    aliases: tuple[str, ...] = ()
    flags: Any = None
    errors: Any = None
    signature: str | None = None
    folds: str | None = None
    reflected: Callable[..., Any] | None = None
    direct: Any = None
    integers: Callable[..., Any] | None = None
    in_place: Callable[..., Any] | None = None
    by_numpy: frozenset[Any] = frozenset()
    unbound: bool = False
    spare: int | None = None


def _marked(kernel: Kernel, **declared: Any) -> Kernel:
    """The kernel, which carries what is declared of it: the wrapper that is compiled for it reads that once."""
    vars(kernel).update(declared)
    return kernel


def spec_of(kernel: Callable[..., Any]) -> Spec:
    """What a kernel declares. Raises AttributeError for a function that is none."""
    declared: Any = kernel
    spec: Spec = declared.__npdec__
    return spec


def public(
    kernel: Kernel | None = None,
    *,
    name: str | None = None,
    method: bool | str = False,
    aliases: tuple[str, ...] = (),
    errors: str | dict[str, str] | None = None,
    signature: str | None = None,
    folds: str | None = None,
    direct: Any = None,
    unbound: bool = False,
) -> Any:
    """Declare a kernel as a public function. It is returned unchanged, for other kernels to call."""

    def declare(kernel: Kernel) -> Kernel:
        public_name = name or kernel.__name__
        method_name = public_name if method is True else (method or None)
        spec = Spec(
            public_name, method_name, aliases=aliases, errors=errors, signature=signature, folds=folds, direct=direct,
            unbound=unbound,
        )  # fmt: skip
        return _marked(kernel, __npdec__=spec)

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
    flags: Any = None,
    reflected: Callable[..., Any] | None = None,
    integers: Callable[..., Any] | None = None,
    in_place: Callable[..., Any] | None = None,
    by_numpy: frozenset[Any] = frozenset(),
    spare: int | None = None,
) -> Callable[[Kernel], Kernel]:
    """Declare a kernel as a universal function: element by element, with broadcasting and a table of loops."""

    def declare(kernel: Kernel) -> Kernel:
        public_name = name or kernel.__name__
        method_name = public_name if method is True else (method or None)
        spec = Spec(
            public_name, method_name, torch_function, loops, operator, identity, aliases, flags,
            reflected=reflected, integers=integers, in_place=in_place, by_numpy=by_numpy, spare=spare,
        )  # fmt: skip
        return _marked(kernel, __npdec__=spec)

    return declare


def out_casting(rule: str, broadcasts: bool = False) -> Callable[[Kernel], Kernel]:
    """Declare what `out=` of a function may be, where that is not an array of its shape that is "same_kind".

    "unsafe": an array of any dtype. "back": one that casts safely to the dtype of the result. "same": that dtype only.
    `broadcasts`: an array of another shape, to which the result broadcasts.
    """

    def declare(kernel: Kernel) -> Kernel:
        return _marked(kernel, __out_casting__=rule, __out_broadcasts__=broadcasts)

    return declare


def writes_back(parameter: str) -> Callable[[Kernel], Kernel]:
    """Declare that where the flag `parameter` is false, the result is written into the first array."""

    def declare(kernel: Kernel) -> Kernel:
        return _marked(kernel, __writes_back__=parameter)

    return declare


def gives_back(parameter: str, value: Any) -> Callable[[Kernel], Kernel]:
    """Declare that where `parameter` has this value, the result is the first argument itself, whatever it is."""

    def declare(kernel: Kernel) -> Kernel:
        return _marked(kernel, __gives_back__=(parameter, value))

    return declare


def unshown(parameter: str, by_place: str) -> Callable[[Kernel], Kernel]:
    """Declare that NumPy takes the keyword `parameter` and leaves it out of the signature that it shows, in which the
    first parameter, whose name it is, has no default; and that it takes `by_place` so, which it shows as a keyword."""

    def declare(kernel: Kernel) -> Kernel:
        return _marked(kernel, __unshown__=(parameter, by_place))

    return declare
