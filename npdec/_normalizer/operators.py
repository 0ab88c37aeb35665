"""Operators and methods of arrays and scalars, made from the kernels that declare them.

`ufunc(operator="add")` gives `__add__`, `__radd__` and, on arrays, `__iadd__`; `public(method=True)` gives the method.
Between operands of one dtype that torch computes itself, and with a Python number, an operator goes straight to the
torch function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import torch

from npdec._array import fp_state, wrap
from npdec._array.convert import SIGNED, as_tensor
from npdec._array.methods import ArrayMethods
from npdec._array.ndarray import Composition
from npdec._array.ordinary import is_free
from npdec._array.scalars import CONCRETE
from npdec._core.base import ArrayBase, MetSubclass, SubclassBase
from npdec._core.door import hand_over_method
from npdec._core.installed_numpy import numpy_or_none
from npdec._core.tags import spec_of
from npdec._core.tracebacks import ended, ending
from npdec._dtypes.dtype import SCALARS
from npdec._impl import dtypes_impl
from npdec._impl._promotion import RANGES
from npdec._impl._storage import shares_memory
from npdec._impl.products_impl import DIRECT
from npdec._native import calls
from npdec._normalizer.beside import apart, beside, into, leaves_it_to
from npdec._normalizer.few_in_place import few_first
from npdec._normalizer.normalizer import compile_method
from npdec._normalizer.ordinary_calls import of_any_dtypes, of_two_dtypes
from npdec._normalizer.sources import SOURCES, of_many, without_many
from npdec._normalizer.ufunc import ufunc
from npdec._torch.tracing import constant_when_traced, restart_trace, tracing

__all__ = ["COMPARISONS", "UNARY", "attach_matmul", "attach_methods", "attach_operators", "make"]

UNARY = {"neg", "pos", "abs", "invert"}
COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne"}
_COMMUTATIVE = {"add", "mul", "and", "or", "xor"}
_COMPLEX = frozenset({torch.complex64, torch.complex128})
_NARROW = frozenset({torch.int8, torch.int16, torch.int32, torch.uint8})
_HOLDERS = frozenset({Composition, *CONCRETE, *wrap.CARRIERS.values()})
# Of the dtypes that Python's own numbers have.
_HOSTS = frozenset({SCALARS[torch.float64], SCALARS[torch.int64]})
_PYTHON_SCALARS = frozenset({bool, int, float, complex})
_TAKEN = _HOLDERS | _PYTHON_SCALARS | {torch.Tensor, list, tuple, range}
_NONE_EQ = type(None).__eq__
_Tensor = torch.Tensor


@functools.cache
def _code(kind: str, many: bool) -> Any:
    source = SOURCES[kind] if many else without_many(SOURCES[kind])
    if source.startswith("\ndef operator(self, other)"):
        head, _, body = source.strip("\n").partition(":\n")
        indented = "".join(f"    {line}\n" for line in body.splitlines())
        source = f"{head}:\n    try:\n{indented}    except _Met as error: met = error\n{_TO_THE_DOOR}"
    return compile(ending(source), f"<{kind} operator>", "exec")


# `np.ndarray.__add__(x, y)`, where x is of a program's own class.
_TO_THE_DOOR = "    return _hand_over(_operator, self, (other,), {}, met)"


def _accepts(array: Any, other: Any) -> bool:
    """Whether the other operand of an operator is something array-like, to be taken in by npdec. Raises MetSubclass for
    an array of a program's own class."""
    kind = type(other)
    if kind in _TAKEN:
        return True
    if isinstance(other, (ArrayBase, torch.Tensor, list, tuple, range)):
        if getattr(kind, "__array_ufunc__", 0) is None:
            return False
        if isinstance(other, SubclassBase):
            raise MetSubclass(kind)
        return True
    if isinstance(other, str) or other is None or leaves_it_to(array, other):
        return False
    return (
        hasattr(kind, "__array_ufunc__")
        or hasattr(other, "__array__")
        or hasattr(other, "__array_interface__")
        or isinstance(other, (int, float, complex))
    )


def _accepts_factor(array: Any, other: Any) -> bool:
    """As `_accepts`. A scalar leaves lists to Python, which repeats them as often as an integer says."""
    return (type(array) is Composition or not isinstance(other, (list, tuple))) and _accepts(array, other)


def _accepts_compared(array: Any, other: Any) -> bool:
    """As `_accepts`. A scalar leaves its comparison with an array of a program's own class to that, as Python does for
    a plain array."""
    return (type(array) is Composition or not isinstance(other, SubclassBase)) and _accepts(array, other)


def _is_unlike(array: Any, other: Any) -> bool:
    """Whether something is unequal to every element: text, and for an array also None, a collection by name, an object
    that is equal to itself only. A scalar leaves these to Python."""
    if isinstance(other, (str, bytes)):
        return True
    if type(array) is not Composition or leaves_it_to(array, other):
        return False
    return isinstance(other, (dict, set, frozenset, slice)) or type(other).__eq__ in (object.__eq__, _NONE_EQ)


def make(kind: str, function: ufunc, name: str, **more: Any) -> Callable[..., Any]:
    """The operator `name` of a kind, for a ufunc."""
    scope: dict[str, Any] = {
        "_function": function,
        "_accepts": _accepts,
        "_is_unlike": _is_unlike,
        "_apart": apart,
        "_beside": beside,
        "_into": into,
        "_wrap": wrap.wrap,
        "_full": torch.full,
        "_Array": Composition,
        "_as_tensor": as_tensor,
        "_carried": frozenset(wrap.CARRIERS.values()),
        "_fp_state": fp_state,
        "_Met": MetSubclass,
        "_hand_over": hand_over_method,
        "_operator": name,
        "_ended": ended,
        **more,
    }
    exec(_code(kind, bool(more.get("_many"))), scope)
    return _name(scope["operator"], name, f"The operator of np.{function.__name__}.")


def _name(function: Callable[..., Any], name: str, text: str) -> Callable[..., Any]:
    function.__name__ = name
    function.__qualname__ = f"ndarray.{name}"
    function.__module__ = "npdec"
    function.__doc__ = text
    return function


def attach_operators(functions: Iterable[Any]) -> None:
    """Give the classes the operators of the ufuncs that declare one."""
    for function in functions:
        if not isinstance(function, ufunc):
            continue
        spec = spec_of(function.__kernel__)
        stem = spec.operator
        if stem is None:
            continue
        plain, reflected, in_place = f"__{stem}__", f"__r{stem}__", f"__i{stem}__"
        if stem in UNARY:
            _attach(ArrayMethods, plain, make("unary", function, plain))
            continue
        if stem in COMPARISONS:
            unlike = {"eq": False, "ne": True}.get(stem)
            slow = make("comparison", function, plain, _unlike=unlike, _accepts=_accepts_compared)
            _attach(ArrayMethods, plain, _fast(function, of_any_dtypes(function, slow)))
            continue
        more: dict[str, Any] = {"_accepts": _accepts_factor} if stem == "mul" else {}
        kind = "binary"
        if stem == "pow":
            kind, more = "power", {"_bool": torch.bool, "_int8": torch.int8, "_complex": _COMPLEX, "_Tensor": _Tensor}
        slow = make(kind, function, plain, **more)
        if stem != "pow":
            slow = of_any_dtypes(function, slow)
        if spec.integers is not None:
            slow = _fast_of_integers(function, slow, spec.integers)
        _attach(ArrayMethods, plain, _fast(function, slow))
        slow = of_any_dtypes(function, make("reflected", function, reflected, **more), reflected=True)
        if stem in _COMMUTATIVE:
            slow = _fast(function, slow, without=_COMPLEX)
        elif spec.reflected is not None:  # arrays and scalars are asked for their plain operators first
            slow = _fast(function, slow, without=_COMPLEX, torch_function=spec.reflected)
        _attach(ArrayMethods, reflected, slow)
        if function.nout == 1:
            slow = make("in place", function, in_place)
            if stem == "pow":
                numbers = frozenset({int, float, complex})
                slow = make("power in place", function, in_place, _general=slow, _numbers=numbers)
            function._in_place = _fast_in_place(function, few_first(function, slow))
            _attach(Composition, in_place, function._in_place)


def _fast(
    function: ufunc,
    slow: Callable[..., Any],
    without: frozenset[torch.dtype] = frozenset(),
    torch_function: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """The operator that leaves to torch what torch does as NumPy, and the rest to `slow`."""
    if function._torch is None or not function._arrays:
        return slow
    direct = function._direct - without
    # Beside int64 torch takes a Python int for one too. From 2**63 on it would wrap around.
    numbers = {
        int: fp_state.guarded(direct | (function._arrays & {torch.int64})),
        float: fp_state.guarded(direct),
    }
    return make(
        "fast comparison" if function._loops == "compare" else "fast",
        function,
        slow.__name__,
        _arrays=fp_state.guarded(function._arrays),
        _holders=_HOLDERS,
        _hosts=_hosts_of(function),
        _tracing=tracing,
        _Tensor=torch.Tensor,
        _new=object.__new__,
        _numbers=numbers if function._takes_numbers else {},
        _narrow=fp_state.guarded(_NARROW & function._arrays if _is_of_torch(function) else frozenset()),
        _highest=torch.iinfo(torch.int64).max,
        _slow=slow,
        **of_many(spec_of(function.__kernel__), torch_function is None),
        _of_two=of_two_dtypes(function, slow) if torch_function is None and _is_of_torch(function) else slow,
        _bool=torch.bool,
        _torch=torch_function or _comparing(function) or function._torch,
        _keeps=_keeps(function),
        _kept=dtypes_impl.kept,
    )


def _comparing(function: ufunc) -> Callable[..., Any] | None:
    """torch's comparison as a method of tensors, which is called sooner than its function."""
    return getattr(torch.Tensor, function._torch.__name__, None) if function._loops == "compare" else None  # type: ignore[union-attr]


def _keeps(function: ufunc) -> dict[torch.dtype, int]:
    """The dtypes of arrays beside which the operator may take numbers as tensors, and how great ones: torch raises to a
    number in another way than to a tensor that holds it."""
    return dtypes_impl.KEEPS if function._takes_numbers and function._torch is not torch.pow else {}


def _hosts_of(function: ufunc) -> frozenset[Any]:
    """The scalars that the operator may take as their numbers: of a power torch rounds the two otherwise."""
    return frozenset() if function._torch is torch.pow or not function._takes_numbers else _HOSTS


def _is_of_torch(function: ufunc) -> bool:
    return function._takes_numbers and not isinstance(function._torch, FunctionType)


def _fast_of_integers(
    function: ufunc, slow: Callable[..., Any], torch_function: Callable[..., Any]
) -> Callable[..., Any]:
    """The operator that leaves to torch what torch does with signed integers as NumPy, and the rest to `slow`."""
    return make(
        "fast of integers",
        function,
        slow.__name__,
        _arrays=fp_state.guarded(SIGNED),
        _holders=_HOLDERS,
        _hosts=_hosts_of(function),
        _tracing=tracing,
        _Tensor=torch.Tensor,
        _new=object.__new__,
        _numbers={int: fp_state.guarded({torch.int64})},
        _narrow=frozenset(),
        _highest=torch.iinfo(torch.int64).max,
        _slow=slow,
        **of_many(spec_of(function.__kernel__)),
        _of_two=slow,
        _torch=torch_function,
        _keeps={},
        _kept=dtypes_impl.kept,
    )


def _fast_in_place(function: ufunc, slow: Callable[..., Any]) -> Callable[..., Any]:
    """The operator that writes its result into its first operand, by torch's method for that where there is one."""
    method = _method_in_place(function)
    if method is None:
        return slow
    direct = function._direct
    return make(
        "fast in place",
        function,
        slow.__name__,
        _arrays=fp_state.guarded(function._arrays),
        _Tensor=torch.Tensor,
        _numbers={
            int: fp_state.guarded(direct | (function._arrays & {torch.int64})),
            float: fp_state.guarded(direct),
        }
        if function._takes_numbers
        else {},
        _highest=torch.iinfo(torch.int64).max,
        _slow=slow,
        **of_many(spec_of(function.__kernel__), into=True),
        _torch=method,
        _apart=_copied_into(function._torch) if function._torch is not None else method,
        _complex=_COMPLEX,
        _is_free=is_free,
        _shares=shares_memory,
        _hosts=_hosts_of(function),
        _tracing=tracing,
        _keeps=_keeps(function),
        _kept=dtypes_impl.kept,
    )


def _method_in_place(function: ufunc) -> Callable[..., Any] | None:
    """torch's method for tensors that is the ufunc and writes into its first operand."""
    if not function._arrays:
        return None
    own = spec_of(function.__kernel__).in_place
    if own is not None:
        return own
    if isinstance(function._torch, FunctionType):
        return _copied_into(function._torch)
    return getattr(torch.Tensor, f"{getattr(function._torch, '__name__', '')}_", None)


def _copied_into(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """A method that writes what the function gives into the first operand, if that has its shape."""

    def method(tensor: torch.Tensor, other: Any) -> None:
        result = function(tensor, other)
        if result.shape != tensor.shape:
            raise RuntimeError("the result is of another shape")
        tensor.copy_(result)

    return method


def attach_matmul(matmul: Any) -> None:
    """The operator @, which is no ufunc of elements. Scalars have none."""
    more = {"_direct": fp_state.guarded(DIRECT), "_Tensor": torch.Tensor}
    more |= {"_array_of": wrap.array_of, "_wrap_total": wrap.wrap_total}
    numpy = None if calls is None else numpy_or_none()
    few = None if numpy is None else functools.partial(calls.few_by_numpy, numpy.matmul)  # of integers it is exact
    more |= {"_few": few, "_whole": frozenset(RANGES), "_tracing": tracing}
    _attach(Composition, "__matmul__", make("matmul", matmul, "__matmul__", **more))
    _attach(Composition, "__rmatmul__", make("reflected matmul", matmul, "__rmatmul__"))
    more = {"_ArrayBase": ArrayBase}
    _attach(Composition, "__imatmul__", make("in place matmul", matmul, "__imatmul__", **more))


class _Method:
    """A method of arrays that is compiled when it is first asked for, and then stands in its place."""

    def __init__(self, kernel: Callable[..., Any], name: str) -> None:
        self._kernel = kernel
        self._name = name

    def __get__(self, array: Any, owner: type | None = None) -> Any:
        if tracing():
            _compile(self._name)
        method = compile_method(self._kernel, self._name)
        setattr(ArrayMethods, self._name, method)
        return method if array is None else method.__get__(array)


@constant_when_traced
def _compile(name: str) -> None:
    getattr(ArrayMethods, name)
    restart_trace("a method of arrays that was compiled")


def attach_methods(kernels: Iterable[Callable[..., Any]]) -> None:
    """Give the classes the methods that kernels declare."""
    for kernel in kernels:
        for name in (spec_of(kernel).method or "").split():
            _attach(ArrayMethods, name, _Method(kernel, name))


def _attach(cls: type, name: str, function: Any) -> None:
    if name in vars(cls):
        raise TypeError(f"{cls.__name__}.{name} is declared twice")
    setattr(cls, name, function)
