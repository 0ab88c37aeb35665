"""Calls of ufuncs with numbers on the host alone: scalars that carry nothing, and Python's numbers.

For each ufunc and the types of its operands a function is compiled when they are first met. What is rounded correctly,
or not at all, Python computes (`npdec._normalizer.number_operators`, `npdec._impl._numbers`). For the rest torch is
called, on tensors that are kept for that: to make one for every number, and an array or scalar of the result, takes
twice the time of the call. Whatever these functions answer with None is left to the general way: numbers that do not
fit, what Python refuses, all that is done while torch is watched or transformed.
"""

from __future__ import annotations

import builtins
import functools
import struct
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch.utils import _python_dispatch as _dispatch

from npdec._array import wrap
from npdec._array.element_memory import items_of
from npdec._core.tags import Spec
from npdec._dtypes.dtype import SCALARS
from npdec._impl import _devices, dtypes_impl
from npdec._impl._numbers import OF_INTEGERS, OF_NUMBERS, ROUNDED
from npdec._normalizer.number_operators import BETWEEN, COMPARED, core

__all__ = ["Calls", "CallsBeside", "keeper", "kinds", "raised"]

_PYTHON = (bool, int, float)
_WHOLE = frozenset(dtypes_impl.RANGES)


@functools.cache
def _dtypes() -> dict[Any, torch.dtype]:
    """The dtypes of scalars, by their types; bfloat16, which Python does not know, and complex numbers are torch's."""
    return {cls: d for d, cls in SCALARS.items() if d in _WHOLE or d in (torch.bool, *_REAL)}


@functools.cache
def kinds() -> frozenset[type]:
    """The types of operands that these calls are for."""
    return frozenset({*_dtypes(), *_PYTHON})


_REAL = (torch.float16, torch.float32, torch.float64)
_FORMATS = {torch.float64: "d", torch.float32: "f"}
_SINGLE = struct.Struct("f")


def _refuse(*numbers: Any) -> None:
    """Of operands that the general way computes."""


class Calls(dict[type, Callable[..., Any]]):
    """The functions of one number that a ufunc is, by its type."""

    __slots__ = ("spec",)

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def __missing__(self, kind: type) -> Callable[..., Any]:
        made = self[kind] = _made(self.spec, (kind,)) or _refuse
        return made


class CallsBeside(dict[type, Any]):
    """The functions of two numbers that a ufunc is, by the type of the first one, and these by that of the second."""

    __slots__ = ("first", "spec")

    def __init__(self, spec: Spec, first: type | None = None) -> None:
        self.spec, self.first = spec, first

    def __missing__(self, kind: type) -> Any:
        made: Any
        if self.first is None:
            made = CallsBeside(self.spec, kind)
        else:
            made = _made(self.spec, (self.first, kind)) or _refuse
        self[kind] = made
        return made


def _made(spec: Spec, kinds: tuple[type, ...]) -> Callable[..., Any] | None:
    """The function of numbers of these types, or None where there is nothing that is sooner than the general way."""
    operands = tuple(_dtypes().get(kind, kind) for kind in kinds)
    table = dtypes_impl.LOOPS[str(spec.loops)]
    if table.nout > 1 or table.mixed == "ldexp":
        return None
    dtype: torch.dtype | None
    # Integers are compared as they are, whether one dtype holds both or none.
    as_they_are = spec.operator in COMPARED and all(kind is int or _dtypes().get(kind) in _WHOLE for kind in kinds)
    if as_they_are:
        dtype = torch.int64
    else:
        try:
            dtype = table.resolve(operands, spec.name)
        except TypeError:
            return None
    if dtype not in _dtypes().values() or dtype is None:
        return None
    numbers = [_number(name, kind, dtype) for name, kind in zip("xy", kinds)]
    lines = _computed(spec, dtype, table.result(dtype), numbers)
    if lines is None:
        return None
    limits = {**dtypes_impl.RANGES, torch.bool: dtypes_impl.RANGES[torch.int64]}
    checks = []
    if all(kind in _PYTHON for kind in kinds):  # what is made of nothing else lies on the device that was chosen
        checks.append("if _devices.used or _count_modes(): return None")
    if dtype in limits and not as_they_are:
        checks += [f"if not _low <= {name} <= _high: return None" for name, kind in zip("xy", kinds) if kind is int]
    body = [
        *checks,
        "try:",
        *[f" {line}" for line in lines],
        "except (ArithmeticError, ValueError, RuntimeError, _error): return None",
    ]
    source = f"def call({', '.join('xy'[: len(kinds)])}):\n " + "\n ".join(body)
    low, high = limits.get(dtype, (0, 0))
    scope = {**_SCOPE, "_low": low, "_high": high, **_functions(spec, dtype, table.result(dtype))}
    exec(source, scope)
    return scope["call"]


def _number(name: str, kind: type, dtype: torch.dtype) -> str:
    """The number that an operand is in the dtype in which is computed."""
    own = f"{name}._n" if kind in _dtypes() else name
    if not dtype.is_floating_point:
        return f"int({own})" if dtype is not torch.bool and (kind is bool or _dtypes().get(kind) is torch.bool) else own
    if kind is float or (given := _dtypes().get(kind)) is None or not given.is_floating_point:
        narrow = kind in _PYTHON and dtype in _NARROWED
        number = own if kind is float else f"float({own})"
        return _NARROWED[dtype].format(number) if narrow else number
    return own


_NARROWED = {
    torch.float32: "_single_unpack(_single_pack({}))[0]",
    torch.float16: "_half_unpack(_half_pack({}))[0]",
}
_HALF = struct.Struct("e")
_SCOPE: dict[str, Any] = {
    "__builtins__": builtins,
    "_bools": wrap.BOOLS,
    "_count_modes": torch._C._len_torch_function_stack,
    "_dispatch": _dispatch,
    "_error": struct.error,
    "_half_pack": _HALF.pack,
    "_half_unpack": _HALF.unpack,
    "_devices": _devices,
    "_new": object.__new__,
    "_new_float": float.__new__,
    "_single_pack": _SINGLE.pack,
    "_single_unpack": _SINGLE.unpack,
}


def _functions(spec: Spec, dtype: torch.dtype, result: torch.dtype) -> dict[str, Any]:
    """What the source of a call names: the function, and the scalar type of the result."""
    return {
        "_core": _core_of(spec, dtype),
        "_of": _exact(spec, dtype),
        "_torch": _into(spec),
        "_kept": [],
        "_keep": _keep,
        "_dtype": dtype,
        "_result": SCALARS[result],
    }


def _core_of(spec: Spec, dtype: torch.dtype) -> Callable[..., Any] | None:
    return core(spec.operator, dtype) if spec.operator in BETWEEN else None


def _exact(spec: Spec, dtype: torch.dtype) -> Callable[..., Any] | None:
    table = OF_NUMBERS if dtype.is_floating_point else OF_INTEGERS
    return table.get(spec.torch, table.get(spec.name))


def _computed(spec: Spec, dtype: torch.dtype, result: torch.dtype, numbers: list[str]) -> list[str] | None:
    """Statements that return the scalar, None if there are none."""
    words = ", ".join(numbers)
    if _core_of(spec, dtype) is not None:
        return [f"return _core({words})"]
    exact = _exact(spec, dtype)
    rounded = spec.torch in ROUNDED and dtype is not torch.float64 and dtype.is_floating_point
    if exact is not None and not (rounded and dtype is not torch.float32):
        lines = [f"n = _of({words})", "if n is None: return None"]
        if rounded:
            lines.append(f"n = {_NARROWED[dtype].format('n')}")
        if result in dtypes_impl.RANGES:
            lines.append("if not _low <= n <= _high: return None")
        return [*lines, *_scalar(result)]
    if not _is_torchs(spec, dtype, result):
        return None
    several = len(numbers) > 1
    lines = [
        "if _dispatch._is_in_torch_dispatch_mode: return None",
        "try: kept = _kept.pop()",
        "except IndexError: kept = _keep(_torch, _dtype)",
        "compute, at_x, other, at_y = kept" if several else "compute, at_x, _, _ = kept",
        *[f"at_{name}[0] = {number}" for name, number in zip("xy", numbers)],
        f"compute({'other' if several else ''})",
        "n = at_x[0]",
        "_kept.append(kept)",
    ]
    return [*lines, *_scalar(result)]


def _scalar(result: torch.dtype) -> list[str]:
    if result is torch.bool:
        return ["return _bools[n]"]
    made = "s = _new_float(_result, n)" if result is torch.float64 else "s = _new(_result)"
    return [made, "s._n = n", "return s"]


def _is_torchs(spec: Spec, dtype: torch.dtype, result: torch.dtype) -> bool:
    direct = dtype in dtypes_impl.LOOPS[str(spec.loops)].direct and dtype is result
    return dtype in _FORMATS and direct and _into(spec) is not None


def keeper(spec: Spec) -> Callable[[], tuple[Callable[..., Any], int]] | None:
    """What makes the method that computes the ufunc of one double where its tensor has it, and where that is; None for
    what torch does not compute."""
    dtype, table = torch.float64, dtypes_impl.LOOPS[str(spec.loops)]
    if table.nout > 1 or _core_of(spec, dtype) is not None or _exact(spec, dtype) is not None:
        return None
    method = _into(spec)
    if method is None or not _is_torchs(spec, dtype, table.result(dtype)):
        return None

    def keep() -> tuple[Callable[..., Any], int]:
        compute: Any = _keep(method, dtype)[0]
        return compute, compute.__self__.data_ptr()

    return keep


def _into(spec: Spec) -> str | None:
    """The method of tensors that writes into them what torch's function gives: it computes by the same code."""
    function = spec.torch
    if function is None or isinstance(function, FunctionType):
        return None
    name = f"{function.__name__}_"
    return name if hasattr(torch.Tensor, name) else None


def _keep(method: str, dtype: torch.dtype) -> tuple[Callable[..., Any], memoryview, torch.Tensor, memoryview]:
    """The method of a tensor of one number, a view of its memory, and another tensor, with its own. They are kept by
    the call that is of this method and dtype: who takes them is alone with them, whatever thread or interrupt comes
    meanwhile, and what an exception keeps from being given back is made again."""
    with torch.inference_mode(False):
        x, y = torch.zeros((), dtype=dtype, device="cpu"), torch.zeros((), dtype=dtype, device="cpu")
    at_x, at_y = (items_of(tensor, dtype, tensor.data_ptr(), 1).flat for tensor in (x, y))
    return getattr(x, method), at_x, y, at_y


def raised(dtype: torch.dtype) -> Callable[[float, float], Any]:
    """The function that raises a float of a dtype to a number, as torch raises a tensor to a number, which is not as it
    raises to a tensor that holds it. None where torch is watched or refuses."""
    kept: list[Any] = []
    cls = SCALARS[dtype]

    def power(number: float, exponent: float) -> Any:
        if _dispatch._is_in_torch_dispatch_mode:
            return None
        try:
            one = kept.pop()
        except IndexError:
            one = _keep("pow_", dtype)
        compute, at, _, _ = one
        at[0] = number
        try:
            compute(exponent)
        except (RuntimeError, OverflowError):
            return None
        number = at[0]
        kept.append(one)
        return wrap.on_host(cls, number)

    return power
