"""What operators give of numbers on the host: Python's arithmetic, rounded to a dtype.

In float64 Python computes what NumPy computes. The sum, difference, product and quotient of narrower floats is the one
in float64, rounded: a result with twice as many digits and two more cannot be rounded wrong by that. What Python cannot
say as NumPy does is answered with None: integers that overflow, division by zero, floats that leave the range, and,
while floating-point errors are watched, all results that may be one.
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
from npdec._core.tracebacks import ended, ending
from npdec._dtypes.dtype import SCALARS

__all__ = [
    "ALONE", "ARITHMETIC", "BETWEEN", "BITS", "COMPARED", "DIVISION", "REAL", "ROUNDING", "SHIFTS", "WHOLE",
    "as_complex_single", "compiled", "core", "expression_of", "statements",
    "times_real",
]  # fmt: skip

_pack_single, _pack_half, _pack_pair = struct.Struct("f"), struct.Struct("e"), struct.Struct("2f")
_pack_products = struct.Struct("4f")

# The types, by how they compute: bfloat16, which a Python struct does not know, computes in torch.
WHOLE = (
    torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
)  # fmt: skip
REAL = (torch.float16, torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)


def as_complex_single(number: complex) -> complex:
    return complex(*_pack_pair.unpack(_pack_pair.pack(number.real, number.imag)))


# --- the source of an operator ----------------------------------------------------------------------------------------

ROUNDING = {
    torch.float16: "_half_unpack(_half_pack({}))[0]",
    torch.float32: "_single_unpack(_single_pack({}))[0]",
    torch.float64: "{}",
    torch.complex64: "_complex_single({})",
    torch.complex128: "{}",
}
ARITHMETIC = {"add": "a + b", "sub": "a - b", "mul": "a * b"}
DIVISION = {"floordiv": "a // b", "mod": "a % b"}
BITS = {"and": "a & b", "or": "a | b", "xor": "a ^ b"}
SHIFTS = {"lshift": "a << b", "rshift": "a >> b"}
COMPARED = {"lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b", "eq": "a == b", "ne": "a != b"}
ALONE = {"neg": "-a", "pos": "a", "abs": "abs(a)", "invert": "~a"}
# The operators that are made here, with numbers on the host.
BETWEEN = frozenset({*ARITHMETIC, "truediv", *DIVISION, *BITS, *SHIFTS, *COMPARED, *ALONE})

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
    return "whole" if dtype in WHOLE else "complex" if dtype.is_complex else "float"


def expression_of(stem: str, dtype: torch.dtype) -> str | None:
    """The number that the operator gives for numbers `a` and `b` of a dtype, or None if that is not for Python."""
    whole, boolean = dtype in WHOLE, dtype is torch.bool
    found: str | None = None
    if stem in COMPARED:
        return COMPARED[stem] if not dtype.is_complex or stem in ("eq", "ne") else None
    if boolean:
        return {**BITS, "invert": "not a"}.get(stem)
    if stem in ARITHMETIC:
        if stem == "mul" and dtype.is_complex:
            return None  # torch rounds products of complex numbers otherwise, and so the value of a decomposed one
        found = ARITHMETIC[stem]
    elif stem == "truediv":
        if whole:
            return "float(a) / float(b)"
        found = None if dtype.is_complex else "a / b"
    elif stem in DIVISION and (whole or dtype is torch.float64):
        found = DIVISION[stem]
    elif whole and stem in BITS:
        return BITS[stem]
    elif whole and stem in SHIFTS:
        return f"{SHIFTS[stem]} if 0 <= b < {8 * dtype.itemsize} else _beyond"
    elif stem in ("neg", "pos") or (stem == "abs" and not dtype.is_complex):
        return ALONE[stem]
    elif stem == "abs" and dtype is torch.complex128:
        return "abs(a)"
    elif stem == "invert" and whole:
        return "~a" if dtype.is_signed else "a ^ _high"
    return None if found is None else ROUNDING.get(dtype, "{}").format(found)


def _result(stem: str, dtype: torch.dtype) -> torch.dtype:
    if stem in COMPARED:
        return torch.bool
    if stem == "truediv" and dtype in WHOLE:
        return torch.float64
    return dtype.to_real() if stem == "abs" and dtype.is_complex else dtype


def statements(stem: str, dtype: torch.dtype) -> list[str]:
    """Statements that return the scalar of the number `r`."""
    result = _result(stem, dtype)
    if result is torch.bool:
        return ["return _bools[r]"]
    exact = stem in ("pos", "and", "or", "xor") or (stem in ("neg", "abs") and result not in WHOLE)
    lines = [] if exact else [_CHECK[_kind(result)].strip()]
    return [*lines, _MAKE.get(result, "s = _new(_result)"), "s._n = r", "return s"]


@functools.cache
def core(stem: str, dtype: torch.dtype) -> Callable[..., Any] | None:
    """The function of numbers of a dtype that gives the scalar, or None where the general operator is to say it."""
    expression = expression_of(stem, dtype)
    if expression is None:
        return None
    words = "a" if stem in ALONE else "a, b"
    return compiled(
        stem, dtype, [f"def operator({words}):", "try:", f" r = {expression}", *_REFUSED, *statements(stem, dtype)]
    )


def times_real(dtype: torch.dtype) -> Callable[..., Any]:
    """The product of a complex number with a real one, in which torch rounds as it is written here: the zeros of the
    imaginary part change no digit."""
    real = ROUNDING[dtype.to_real()].format("float(b)")
    found = ROUNDING[dtype].format("complex(a.real * b - a.imag * 0.0, a.real * 0.0 + a.imag * b)")
    lines = ["def operator(a, b):", "try:", f" b = {real}", f" r = {found}"]
    return compiled("mul", dtype, [*lines, *_REFUSED, *statements("mul", dtype)])


_REFUSED = ["except (ArithmeticError, ValueError, struct_error): return None"]


@functools.cache
def _code(source: str) -> CodeType:
    """The code of the function `operator`, compiled once for the dtypes that share its source: import is shorter. Each
    function takes a copy, in which Python caches the globals that it finds."""
    (code,) = (part for part in compile(source, "<string>", "exec").co_consts if isinstance(part, CodeType))
    return code


def compiled(stem: str, dtype: torch.dtype, lines: list[str], public: bool = False, **more: Any) -> Callable[..., Any]:
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
        "_complex_single": as_complex_single,
        "_beyond": 2**64,  # is out of range in all dtypes
        "struct_error": struct.error,
        **more,
    }
    if result in WHOLE:
        limits = torch.iinfo(result)
        scope |= {"_low": limits.min, "_high": limits.max}
    elif result in REAL:
        scope |= {"_low": torch.finfo(result).tiny, "_high": torch.finfo(result).max}
    source = "\n ".join([head, *body])
    return FunctionType(_code(ending(source) if public else source).replace(), scope)
