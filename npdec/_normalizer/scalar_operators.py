"""The operators of scalars on the host.

For each scalar type and operator a function is compiled. Between two scalars of the type, and with the Python numbers
that take its dtype, it computes at once (`npdec._normalizer.number_operators`); other numbers go by way of the type
that both promote to (`npdec._normalizer.number_calls`). What is not computed there is left to the general operator
(`npdec._normalizer.operators`).
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_host_tensor
from npdec._array.methods import ArrayMethods
from npdec._core.tags import Spec
from npdec._dtypes.dtype import SCALARS
from npdec._impl import dtypes_impl
from npdec._normalizer.number_calls import CallsBeside, kinds, raised
from npdec._normalizer.number_operators import (
    ALONE,
    ARITHMETIC,
    BITS,
    COMPARED,
    DIVISION,
    ROUNDING,
    SHIFTS,
    WHOLE,
    as_complex_single,
    compiled,
    core,
    expression_of,
    statements,
    times_real,
)
from npdec._torch.tracing import tracing

__all__ = ["attach_scalar_operators", "turned"]


def _traced(scalar: Any) -> Any:
    """The scalar as one that holds a tensor: torch.compile does not see that one is made when it is asked for."""
    return wrap.wrap_scalar(as_host_tensor(scalar._n, scalar._d))


# --- operands ---------------------------------------------------------------------------------------------------------


def _taken(dtype: torch.dtype) -> dict[type, str]:
    """For the types of Python's numbers that take the dtype, the number `b` of `other`."""
    if dtype is torch.bool:
        return {bool: "other"}
    if dtype in WHOLE:
        return {int: "other", bool: "other"}
    if dtype.is_complex:
        number = ROUNDING[dtype].format("complex(other)")
        return dict.fromkeys((complex, float, int, bool), number)
    if dtype is torch.float64:
        return {float: "other", int: "float(other)", bool: "float(other)"}
    return dict.fromkeys((float, int, bool), ROUNDING[dtype].format("float(other)"))


@functools.cache
def _targets(dtype: torch.dtype) -> dict[type, torch.dtype]:
    """The complex dtype in which a scalar of the dtype and an operand of another type are computed."""
    found: dict[type, torch.dtype] = {}
    for other, cls in SCALARS.items():
        if torch.bfloat16 not in (other, dtype) and other is not dtype and (other.is_complex or dtype.is_complex):
            found[cls] = dtypes_impl.promote_types(dtype, other)
    if not dtype.is_complex:
        found[complex] = torch.complex64 if dtype in (torch.float16, torch.float32) else torch.complex128
    return found


def _mixed(stem: str, reflected: bool) -> Callable[..., Any]:
    """The operator for a scalar and an operand of another type, one of them complex."""

    def operator(self: Any, other: Any) -> Any:
        dtype = _targets(self._d).get(type(other))
        computed = None if dtype is None else core(stem, dtype)
        if computed is None:
            return None
        try:
            a, b = complex(self._n), other if type(other) is complex else complex(other._n)
            if dtype is torch.complex64:
                a, b = as_complex_single(a), as_complex_single(b)
        except (OverflowError, struct.error):
            return None
        return computed(b, a) if reflected else computed(a, b)

    return operator


_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def turned(stem: str, dtype: torch.dtype, reflected: bool) -> Callable[..., Any] | None:
    """The operator of arrays that computes the same with its operands exchanged, where it takes the scalar at once."""
    if dtype not in (torch.float64, torch.int64) or reflected:
        return None
    name = f"__{_MIRRORED[stem]}__" if stem in COMPARED else f"__r{stem}__" if stem in ARITHMETIC else None
    return None if name is None else vars(ArrayMethods)[name]


def _beside(calls: CallsBeside, dtype: torch.dtype, reflected: bool) -> tuple[str, dict[str, Any]]:
    """The call of a ufunc with a scalar of a dtype and a number of another type, `kind`, and what it names."""
    call = "_calls[kind][_cls](other, self)" if reflected else "_calls[kind](self, other)"
    cls = SCALARS[dtype]
    return call, {"_cls": cls, "_kinds": kinds(), "_calls": calls if reflected else calls[cls]}


def _by_call(
    stem: str, calls: CallsBeside, dtype: torch.dtype, slow: Callable[..., Any], reflected: bool
) -> Callable[..., Any]:
    """The operator that has no expression here, or not in the dtype; with the exponent 2 the power is a product, with
    others torch's, whose last digit may be another than C's."""
    call, more = _beside(calls, dtype, reflected)
    lines = ["def operator(self, other):", "if _tracing(): return _slow(_traced(self), other)"]
    lines.append("if _state.watching: return _slow(self, other)")
    lines += ["kind = type(other)", "s = None"]
    product = core("mul", dtype)
    if stem == "pow" and not reflected and dtype is not torch.float16 and product is not None:
        lines += ["if kind is int and other == 2: s = _product(self._n, self._n)"]
        more["_product"] = product
        if dtype.is_floating_point:
            lines += ["elif kind is float or kind is int:", " if other <= _highest: s = _raised(self._n, other)"]
            lines += [" if s is None: return _slow(self, other)"]
            more |= {"_raised": raised(dtype), "_highest": torch.iinfo(torch.int64).max}
    lines += [f"if s is None and kind in _kinds: s = {call}", "return _slow(self, other) if s is None else s"]
    return compiled(stem, dtype, lines, True, _slow=slow, _tracing=tracing, _traced=_traced, **more)


def _by_real(dtype: torch.dtype, slow: Callable[..., Any]) -> Callable[..., Any]:
    """The product of a complex scalar, with a real number; with others it is torch's."""
    lines = ["def operator(self, other):", "if _tracing(): return _slow(_traced(self), other)", "kind = type(other)"]
    lines += ["s = _product(self._n, other) if kind is float or kind is int else None"]
    lines += ["return _slow(self, other) if s is None else s"]
    product = times_real(dtype)
    return compiled("mul", dtype, lines, True, _slow=slow, _tracing=tracing, _traced=_traced, _product=product)


def _generally(stem: str, dtype: torch.dtype, slow: Callable[..., Any]) -> Callable[..., Any]:
    """The general operator, before which one in C may stand."""
    lines = ["def operator(self, other):", "return _slow(_traced(self) if _tracing() else self, other)"]
    return compiled(stem, dtype, lines, True, _slow=slow, _tracing=tracing, _traced=_traced)


def _both(
    dtype: torch.dtype, calls: dict[str, CallsBeside], slow: Callable[..., Any], reflected: bool, at_once: bool
) -> Any:
    """divmod: the quotient and the rest."""
    if not at_once:
        return _generally("divmod", dtype, slow)
    call, more = _beside(calls["floordiv"], dtype, reflected)
    rest, of_rest = _beside(calls["mod"], dtype, reflected)
    lines = ["def operator(self, other):", "kind = type(other)"]
    lines += ["if kind in _kinds and not _tracing() and not _state.watching:"]
    lines += [f" q = {call}", f" r = None if q is None else {rest.replace('_calls', '_rests')}"]
    lines += [" if r is not None: return q, r", "return _slow(_traced(self) if _tracing() else self, other)"]
    return compiled(
        "divmod", dtype, lines, True, _slow=slow, _tracing=tracing, _traced=_traced, _rests=of_rest["_calls"], **more
    )


def _binary(
    stem: str, dtype: torch.dtype, slow: Callable[..., Any], reflected: bool, calls: CallsBeside
) -> Callable[..., Any] | None:
    expression = expression_of(stem, dtype)
    if expression is None and stem == "mul" and dtype.is_complex:
        return _by_real(dtype, slow)
    if expression is None and dtype.is_complex:
        return _generally(stem, dtype, slow) if stem in ("truediv", "pow") or stem in COMPARED else None
    if expression is None:
        return _by_call(stem, calls, dtype, slow, reflected) if SCALARS[dtype] in kinds() else None
    call, of_call = _beside(calls, dtype, reflected)
    lines = [
        "def operator(self, other):",
        "if _tracing(): return _slow(_traced(self), other)",
        "kind = type(other)",
        "try:",
    ]
    lines.append(" if kind is _cls: b = other._n")
    for kind, number in _taken(dtype).items():
        lines.append(f" elif kind is {kind.__name__}:")
        if kind is int and dtype in WHOLE and stem not in COMPARED:  # it has to be one of the dtype
            lines.append("  if not _least <= other <= _most: return _slow(self, other)")
        lines.append(f"  b = {number}")
    exchanged = turned(stem, dtype, reflected)
    if exchanged is not None:  # beside an array: its operator takes the scalar as a number
        lines.append(" elif kind is _Array: return _turned(other, self)")
    in_kinds = SCALARS[dtype] in kinds()
    lines += [
        " else:",
        f"  s = {call} if kind in _kinds else _mixed(self, other)" if in_kinds else "  s = _mixed(self, other)",
    ]
    lines += ["  return _slow(self, other) if s is None else s"]
    lines += [" b, a = self._n, b" if reflected else " a = self._n", f" r = {expression}"]
    lines += ["except (ArithmeticError, ValueError, struct_error): return _slow(self, other)"]
    lines += [line.replace("return None", "return _slow(self, other)") for line in statements(stem, dtype)]
    more = {
        "_cls": SCALARS[dtype],
        "_slow": slow,
        "_mixed": _mixed(stem, reflected),
        "_tracing": tracing,
        "_traced": _traced,
    }
    more |= {"_Array": wrap.ARRAY, "_turned": exchanged, **of_call}
    if dtype in WHOLE:
        more |= {"_least": torch.iinfo(dtype).min, "_most": torch.iinfo(dtype).max}
    return compiled(stem, dtype, lines, True, **more)


def _unary(stem: str, dtype: torch.dtype, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    expression = expression_of(stem, dtype)
    if expression is None:
        return None
    lines = [
        "def operator(self):",
        "if _tracing(): return _slow(_traced(self))",
        "a = self._n",
        "try:",
        f" r = {expression}",
    ]
    lines += ["except ArithmeticError: return _slow(self)"]
    lines += [line.replace("return None", "return _slow(self)") for line in statements(stem, dtype)]
    return compiled(stem, dtype, lines, True, _slow=slow, _tracing=tracing, _traced=_traced)


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
    if dtype in WHOLE:
        found["__index__"] = _to_int
    return found


def attach_scalar_operators(specs: dict[str, Spec]) -> None:
    """Give the scalar types the operators for numbers on the host, and the carriers the general ones; `specs` are those
    of the ufuncs that operators stand for."""
    calls = {stem: CallsBeside(spec) for stem, spec in specs.items()}
    stems = [*ARITHMETIC, "truediv", *DIVISION, *BITS, *SHIFTS, "pow"]
    for dtype, cls in SCALARS.items():
        found: dict[str, Any] = {}
        if dtype is not torch.bfloat16:
            for stem in stems:
                for name, reflected in ((f"__{stem}__", False), (f"__r{stem}__", True)):
                    found[name] = _binary(stem, dtype, vars(ArrayMethods)[name], reflected, calls[stem])
            for stem in COMPARED:
                found[f"__{stem}__"] = _binary(stem, dtype, vars(ArrayMethods)[f"__{stem}__"], False, calls[stem])
            for name, reflected in (("__divmod__", False), ("__rdivmod__", True)):
                if cls in kinds() or dtype.is_floating_point:
                    found[name] = _both(dtype, calls, vars(ArrayMethods)[name], reflected, cls in kinds())
            for stem in ALONE:
                found[f"__{stem}__"] = _unary(stem, dtype, vars(ArrayMethods)[f"__{stem}__"])
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
