"""The operators of scalars on the host: Python's arithmetic, rounded to their dtype.

For each scalar type and operator a function is compiled. Between two scalars of the type, and with the Python numbers
that take its dtype, it computes at once; other scalars go by way of the type that both promote to. What Python cannot
say as NumPy does is left to the general operator (`npdec._normalizer.operators`): integers that overflow, division by
zero, floats that leave the range, and, while floating-point errors are watched, all results that may be one.

In float64 Python computes what NumPy computes. The sum, difference, product and quotient of narrower floats is the one
in float64, rounded: a result with twice as many digits and two more cannot be rounded wrong by that.
"""

from __future__ import annotations

import builtins
import functools
import struct
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import torch

from npdec._array import fp_state, wrap
from npdec._array.methods import ArrayMethods
from npdec._core.tracebacks import ended, ending
from npdec._dtypes.dtype import SCALARS
from npdec._impl import dtypes_impl
from npdec._torch.tracing import tracing

__all__ = ["BETWEEN", "attach_scalar_operators", "core"]

_pack_single, _pack_half, _pack_pair = struct.Struct("f"), struct.Struct("e"), struct.Struct("2f")
_pack_products = struct.Struct("4f")

# The types, by how they compute: bfloat16, which a Python struct does not know, computes in torch.
_WHOLE = (
    torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
)  # fmt: skip
_REAL = (torch.float16, torch.float32, torch.float64)
_COMPLEX = (torch.complex64, torch.complex128)


def _complex_single(number: complex) -> complex:
    return complex(*_pack_pair.unpack(_pack_pair.pack(number.real, number.imag)))


# --- the source of an operator ----------------------------------------------------------------------------------------

_ROUNDING = {
    torch.float16: "_half_unpack(_half_pack({}))[0]",
    torch.float32: "_single_unpack(_single_pack({}))[0]",
    torch.float64: "{}",
    torch.complex64: "_complex_single({})",
    torch.complex128: "{}",
}
_ARITHMETIC = {"add": "a + b", "sub": "a - b", "mul": "a * b"}
_DIVISION = {"floordiv": "a // b", "mod": "a % b"}
_BITS = {"and": "a & b", "or": "a | b", "xor": "a ^ b"}
_SHIFTS = {"lshift": "a << b", "rshift": "a >> b"}
_COMPARED = {"lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b", "eq": "a == b", "ne": "a != b"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_ALONE = {"neg": "-a", "pos": "a", "abs": "abs(a)", "invert": "~a"}
# The operators that are made here, with numbers on the host.
BETWEEN = frozenset({*_ARITHMETIC, "truediv", *_DIVISION, *_BITS, *_SHIFTS, *_COMPARED, *_ALONE})

_MAKE = {
    torch.float64: "s = _new_float(_result, r)",
    torch.complex128: "s = _new_complex(_result, r)",
}
# A float that is an infinity, nan, zero or below the normal numbers may be an error, of which somebody wants to know.
_CHECK = {
    "whole": "    if not _low <= r <= _high: return None",
    "float": "    if _state.watching and not _low <= abs(r) <= _high: return None",
    "complex": "    if _state.watching: return None",
}


def _kind(dtype: torch.dtype) -> str:
    return "whole" if dtype in _WHOLE else "complex" if dtype.is_complex else "float"


def _expression(stem: str, dtype: torch.dtype) -> str | None:
    """The number that the operator gives for numbers `a` and `b` of a dtype, or None if that is not for Python."""
    whole, boolean = dtype in _WHOLE, dtype is torch.bool
    found: str | None = None
    if stem in _COMPARED:
        return _COMPARED[stem] if not dtype.is_complex or stem in ("eq", "ne") else None
    if boolean:
        return {**_BITS, "invert": "not a"}.get(stem)
    if stem in _ARITHMETIC:
        if stem == "mul" and dtype.is_complex:
            return None  # torch rounds products of complex numbers otherwise, and so the value of a decomposed one
        found = _ARITHMETIC[stem]
    elif stem == "truediv":
        if whole:
            return "float(a) / float(b)"
        found = None if dtype.is_complex else "a / b"
    elif stem in _DIVISION and (whole or dtype is torch.float64):
        found = _DIVISION[stem]
    elif whole and stem in _BITS:
        return _BITS[stem]
    elif whole and stem in _SHIFTS:
        return f"{_SHIFTS[stem]} if 0 <= b < {8 * dtype.itemsize} else _beyond"
    elif stem in ("neg", "pos") or (stem == "abs" and not dtype.is_complex):
        return _ALONE[stem]
    elif stem == "abs" and dtype is torch.complex128:
        return "abs(a)"
    elif stem == "invert" and whole:
        return "~a" if dtype.is_signed else "a ^ _high"
    return None if found is None else _ROUNDING.get(dtype, "{}").format(found)


def _result(stem: str, dtype: torch.dtype) -> torch.dtype:
    if stem in _COMPARED:
        return torch.bool
    if stem == "truediv" and dtype in _WHOLE:
        return torch.float64
    return dtype.to_real() if stem == "abs" and dtype.is_complex else dtype


def _made(stem: str, dtype: torch.dtype) -> list[str]:
    """Statements that return the scalar of the number `r`."""
    result = _result(stem, dtype)
    if result is torch.bool:
        return ["return _bools[r]"]
    exact = stem in ("pos", "and", "or", "xor") or (stem in ("neg", "abs") and result not in _WHOLE)
    lines = [] if exact else [_CHECK[_kind(result)].strip()]
    return [*lines, _MAKE.get(result, "s = _new(_result)"), "s._n = r", "return s"]


@functools.cache
def core(stem: str, dtype: torch.dtype) -> Callable[..., Any] | None:
    """The function of numbers of a dtype that gives the scalar, or None where the general operator is to say it."""
    expression = _expression(stem, dtype)
    if expression is None:
        return None
    words = "a" if stem in _ALONE else "a, b"
    return _compiled(
        stem, dtype, [f"def operator({words}):", "try:", f" r = {expression}", *_REFUSED, *_made(stem, dtype)]
    )


_REFUSED = ["except (ArithmeticError, ValueError, struct_error): return None"]


@functools.cache
def _code(source: str) -> CodeType:
    """The code of the function `operator`, compiled once for the dtypes that share its source: import is shorter. Each
    function takes a copy, in which Python caches the globals that it finds."""
    (code,) = (part for part in compile(source, "<string>", "exec").co_consts if isinstance(part, CodeType))
    return code


def _compiled(stem: str, dtype: torch.dtype, lines: list[str], public: bool = False, **more: Any) -> Callable[..., Any]:
    head, *body = lines
    result = _result(stem, dtype)
    scope: dict[str, Any] = {
        "__builtins__": builtins,
        "_bools": wrap.BOOLS,
        "_new": object.__new__,
        "_new_float": float.__new__,
        "_new_complex": complex.__new__,
        "_state": fp_state,
        "_ended": ended,
        "_result": SCALARS[result],
        "_single_pack": _pack_single.pack,
        "_single_unpack": _pack_single.unpack,
        "_half_pack": _pack_half.pack,
        "_half_unpack": _pack_half.unpack,
        "_complex_single": _complex_single,
        "_beyond": 2**64,  # is out of range in all dtypes
        "struct_error": struct.error,
        **more,
    }
    if result in _WHOLE:
        limits = torch.iinfo(result)
        scope |= {"_low": limits.min, "_high": limits.max}
    elif result in _REAL:
        scope |= {"_low": torch.finfo(result).tiny, "_high": torch.finfo(result).max}
    source = "\n ".join([head, *body])
    return FunctionType(_code(ending(source) if public else source).replace(), scope)


# --- operands ---------------------------------------------------------------------------------------------------------


def _taken(dtype: torch.dtype) -> dict[type, str]:
    """For the types of Python's numbers that take the dtype, the number `b` of `other`."""
    if dtype is torch.bool:
        return {bool: "other"}
    if dtype in _WHOLE:
        return {int: "other", bool: "other"}
    if dtype.is_complex:
        number = _ROUNDING[dtype].format("complex(other)")
        return dict.fromkeys((complex, float, int, bool), number)
    if dtype is torch.float64:
        return {float: "other", int: "float(other)", bool: "float(other)"}
    return dict.fromkeys((float, int, bool), _ROUNDING[dtype].format("float(other)"))


_WEAK = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


@functools.cache
def _targets(dtype: torch.dtype) -> dict[type, torch.dtype]:
    """The dtype in which a scalar of the dtype and an operand of another type are computed."""
    found: dict[type, torch.dtype] = {}
    for other, cls in SCALARS.items():
        if torch.bfloat16 not in (other, dtype) and other is not dtype:
            found[cls] = dtypes_impl.promote_types(dtype, other)
    if dtype is torch.bool:
        found |= {int: torch.int64, float: torch.float64, complex: torch.complex128}
    elif dtype in _WHOLE:
        found |= {float: torch.float64, complex: torch.complex128}
    elif dtype in _REAL:
        found |= {complex: torch.complex128 if dtype is torch.float64 else torch.complex64}
    return found


def _as_number(number: Any, dtype: torch.dtype) -> Any:
    """A number of one dtype as that of another, to which it promotes: rounded only from integers to floats."""
    if dtype in _WHOLE:
        return int(number)
    if dtype is torch.complex64:
        return _complex_single(number)
    return number if dtype is torch.bool else complex(number) if dtype.is_complex else float(number)


def _mixed(stem: str, reflected: bool) -> Callable[..., Any]:
    """The operator for a scalar and an operand of another type, by way of the dtype that both promote to."""

    def operator(self: Any, other: Any) -> Any:
        dtype = _targets(self._d).get(type(other))
        if dtype is None:
            return None
        a, b = self._n, other._n if type(other) not in _WEAK else other
        if type(other) is int and not dtypes_impl.fits(other, dtype):
            return None
        both_whole = type(a) is int and type(b) is int
        computed = core(stem, torch.int64 if both_whole and stem in _COMPARED else dtype)
        if computed is None:
            return None
        if not (both_whole and stem in _COMPARED):  # integers are compared as they are
            try:
                a, b = _as_number(a, dtype), _as_number(b, dtype)
            except (OverflowError, struct.error):
                return None
        return computed(b, a) if reflected else computed(a, b)

    return operator


def _turned(stem: str, dtype: torch.dtype, reflected: bool) -> Callable[..., Any] | None:
    """The operator of arrays that computes the same with its operands exchanged, where it takes the scalar at once."""
    if dtype not in (torch.float64, torch.int64) or reflected:
        return None
    name = f"__{_MIRRORED[stem]}__" if stem in _COMPARED else f"__r{stem}__" if stem in _ARITHMETIC else None
    return None if name is None else vars(ArrayMethods)[name]


def _binary(stem: str, dtype: torch.dtype, slow: Callable[..., Any], reflected: bool) -> Callable[..., Any] | None:
    expression = _expression(stem, dtype)
    if expression is None:
        return None
    lines = ["def operator(self, other):", "if _tracing(): return _slow(self, other)", "kind = type(other)", "try:"]
    lines.append(" if kind is _cls: b = other._n")
    for kind, number in _taken(dtype).items():
        lines.append(f" elif kind is {kind.__name__}:")
        if kind is int and dtype in _WHOLE and stem not in _COMPARED:  # it has to be one of the dtype
            lines.append("  if not _least <= other <= _most: return _slow(self, other)")
        lines.append(f"  b = {number}")
    turned = _turned(stem, dtype, reflected)
    if turned is not None:  # beside an array: its operator takes the scalar as a number
        lines.append(" elif kind is _Array: return _turned(other, self)")
    lines += [" else:", "  s = _mixed(self, other)", "  return _slow(self, other) if s is None else s"]
    lines += [" b, a = self._n, b" if reflected else " a = self._n", f" r = {expression}"]
    lines += ["except (ArithmeticError, ValueError, struct_error): return _slow(self, other)"]
    lines += [line.replace("return None", "return _slow(self, other)") for line in _made(stem, dtype)]
    more = {"_cls": SCALARS[dtype], "_slow": slow, "_mixed": _mixed(stem, reflected), "_tracing": tracing}
    more |= {"_Array": wrap.ARRAY, "_turned": turned}
    if dtype in _WHOLE:
        more |= {"_least": torch.iinfo(dtype).min, "_most": torch.iinfo(dtype).max}
    return _compiled(stem, dtype, lines, True, **more)


def _unary(stem: str, dtype: torch.dtype, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    expression = _expression(stem, dtype)
    if expression is None:
        return None
    lines = ["def operator(self):", "if _tracing(): return _slow(self)", "a = self._n", "try:", f" r = {expression}"]
    lines += ["except ArithmeticError: return _slow(self)"]
    lines += [line.replace("return None", "return _slow(self)") for line in _made(stem, dtype)]
    return _compiled(stem, dtype, lines, True, _slow=slow, _tracing=tracing)


# --- the conversions that Python asks for -----------------------------------------------------------------------------


def _to_bool(self: Any) -> bool:
    return self._n != 0


def _to_float(self: Any) -> float:
    return float(self._n)


def _to_int(self: Any) -> int:
    return int(self._n)


def _to_hash(self: Any) -> int:
    return hash(self._n)


def _conversions(dtype: torch.dtype) -> dict[str, Any]:
    if dtype is torch.float64:
        return {name: vars(float)[name] for name in ("__bool__", "__float__", "__int__")}
    found: dict[str, Any] = {"__bool__": _to_bool, "__hash__": _to_hash}
    if not dtype.is_complex:
        found |= {"__float__": _to_float, "__int__": _to_int}
    if dtype in _WHOLE:
        found["__index__"] = _to_int
    return found


def _power(dtype: torch.dtype, slow: Callable[..., Any]) -> Callable[..., Any]:
    """The power: with the exponent 2 a product; with others it is torch's, whose last digit may be another than C's."""
    product = core("mul", dtype)
    assert product is not None

    def operator(self: Any, other: Any) -> Any:
        if type(other) is int and other == 2 and not tracing():
            made = product(self._n, self._n)
            if made is not None:
                return made
        try:
            return slow(self, other)
        except Exception as error:
            raise ended(error)  # noqa: B904

    return operator


def attach_scalar_operators() -> None:
    """Give the scalar types the operators for numbers on the host, and the carriers the general ones."""
    stems = [*_ARITHMETIC, "truediv", *_DIVISION, *_BITS, *_SHIFTS]
    for dtype, cls in SCALARS.items():
        found: dict[str, Any] = {}
        if dtype is not torch.bfloat16:
            for stem in stems:
                for name, reflected in ((f"__{stem}__", False), (f"__r{stem}__", True)):
                    found[name] = _binary(stem, dtype, vars(ArrayMethods)[name], reflected)
            for stem in _COMPARED:
                found[f"__{stem}__"] = _binary(stem, dtype, vars(ArrayMethods)[f"__{stem}__"], False)
            for stem in _ALONE:
                found[f"__{stem}__"] = _unary(stem, dtype, vars(ArrayMethods)[f"__{stem}__"])
            if dtype in (*_WHOLE, torch.float64, torch.float32):
                found["__pow__"] = _power(dtype, vars(ArrayMethods)["__pow__"])
        named = {name: function for name, function in found.items() if function is not None}
        for name, function in named.items():
            general = vars(ArrayMethods)[name]
            function.__name__, function.__qualname__ = name, general.__qualname__
            function.__module__, function.__doc__ = general.__module__, general.__doc__
        named |= _conversions(dtype)
        carrier = wrap.CARRIERS[dtype]
        inherits = cls in carrier.__mro__
        for name in named:
            if inherits:
                setattr(carrier, name, getattr(cls, name))  # the general one, as yet
        for name, function in named.items():
            setattr(cls, name, function)
