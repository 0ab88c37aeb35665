"""Drawing programs: short texts in terms of `np` that NumPy and npdec both run.

A program is two lines: the first makes arrays, the second makes `r` of them. As text it is its own reproducer. Arrays
are drawn in every dtype, as views of every kind, with the numbers at which implementations differ.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from hypothesis import strategies as st

import samples

DTYPES = (
    "float64 float32 int64 int32 bool complex128 int8 uint8 float16 int16 uint16 uint32 uint64 complex64"
).split()  # fmt: skip
FLOATS = ("float64", "float32", "float16")
JUNK = (
    "None", "'abc'", "1.5", "-1", "(0, 0)", "()", "[]", "[[1], [1, 2]]", "{}", "2**70", "True", "1j", "slice(1)",
    "Ellipsis", "np.nan", "b'ab'", "(1.5, 2)", "object()", "np.array(2)", "np.array([1.5, 2])", "np.float32(2)", "int",
    "np.int8(1)", "[None]", "['a', 'b']", "range(3)",
)  # fmt: skip

# -- numbers -----------------------------------------------------------------------------------------------------------

_TAME = {
    "f": (0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 0.1, -0.7, 1.5, 7.25),
    "i": (0, 1, 2, 3, -1, -2, 5, 7, -8, 30),
    "u": (0, 1, 2, 3, 5, 7, 30, 100),
    "b": (False, True),
    "c": (0j, 1 + 0j, 1j, -1 + 0.5j, 2 - 3j, 0.1 + 0.7j, -2.5 + 0j, 1.5 + 1.5j),
}
_SPECIAL = (math.nan, math.inf, -math.inf, -0.0)


def _extreme(dtype: str) -> tuple[Any, ...]:
    kind = numpy.dtype(dtype).kind
    if kind in "iu":
        info = numpy.iinfo(dtype)
        return (info.max, info.min, info.max - 1, info.min + 1, 2 ** (info.bits // 2), info.max // 2 + 1)
    if kind in "fc":
        real = numpy.finfo(dtype)
        largest, eps = float(real.max), float(real.eps)
        found = (
            largest,
            -largest,
            float(real.tiny),
            float(real.smallest_subnormal),
            1 + eps,
            eps,
            largest / 2,
            1e4 + 0.5,
        )
        return found if kind == "f" else tuple(complex(a, b) for a in found[:3] for b in (0.0, found[2], 1.0))
    return ()


def numbers(dtype: str, profile: str) -> tuple[Any, ...]:
    """The numbers that arrays of a dtype hold: "tame", also "special" (nan, inf, -0.0) or also "extreme" ones."""
    kind = numpy.dtype(dtype).kind
    found: tuple[Any, ...] = _TAME[kind]
    if profile == "special" and kind == "f":
        found += _SPECIAL
    elif profile == "special" and kind == "c":
        found += tuple(complex(a, b) for a in (*_SPECIAL, 1.0) for b in (*_SPECIAL, 0.0))
    elif profile == "extreme":
        found += _extreme(dtype)
    return found


def text_of(value: Any) -> str:
    """A Python number, or nested lists of them, as an expression."""
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(text_of, value)) + ("," if isinstance(value, tuple) and len(value) == 1 else "")
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, complex):
        if all(math.isfinite(p) and math.copysign(1, p) > 0 for p in (value.real, value.imag)):
            return repr(value)
        return f"complex({text_of(value.real)}, {text_of(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def nested(flat: Sequence[Any], shape: Sequence[int]) -> Any:
    if not shape:
        return flat[0]
    step = math.prod(shape[1:])
    return [nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


# -- programs ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Program:
    """`setup` makes the arrays, `call` makes `r`. `name` is of the function, method or operator under test."""

    name: str
    setup: str
    call: str

    @property
    def text(self) -> str:
        return f"{self.setup}\n{self.call}"

    def __repr__(self) -> str:
        return f"\n{self.text}\n"

    def run(self, lib: Any) -> dict[str, Any] | Exception:
        """The names after the program, or what it raises."""
        scope: dict[str, Any] = {"np": lib, "samples": samples}
        try:
            exec(_compiled(self.text), scope)
        except Exception as error:
            return error
        return {name: item for name, item in scope.items() if len(name) == 1}


def _compiled(text: str) -> Any:
    return compile(text, "<program>", "exec")


class Builder:
    """What one program is drawn with: its profile of numbers, and the lines written so far."""

    def __init__(self, draw: Callable[[Any], Any], profiles: Sequence[str] = ("tame", "special", "extreme")) -> None:
        self.draw = draw
        self.profile = self.pick(profiles)
        self.lines: list[str] = []

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def chance(self, n: int) -> bool:
        """True once in n times; shrinks to False."""
        return self.draw(st.integers(0, n - 1)) == n - 1

    def bind(self, expression: str) -> str:
        name = "abcdefghijklmnopq"[len(self.lines)]
        self.lines.append(f"{name} = {expression}")
        return name

    def program(self, name: str, call: str) -> Program:
        lines = "; ".join(self.lines) or "pass"
        if "'wrap'" in call:  # NumPy goes around once for every length that an index is too large
            lines, call = (re.sub(r"\d{4,}", "9", text) for text in (lines, call))
        return Program(name, lines, call)

    # -- arrays ---------------------------------------------------------------------------------------------------

    def shape(self, least: int = 0, most: int = 3, longest: int = 3) -> tuple[int, ...]:
        lengths = [3, 2, 1, 0, 5][: longest + 1]
        return tuple(self.pick(lengths) for _ in range(self.draw(st.integers(least, most))))

    def flat(self, dtype: str, count: int) -> list[Any]:
        pool = numbers(dtype, self.profile)
        return [pool[i] for i in self.draw(st.lists(st.integers(0, len(pool) - 1), min_size=count, max_size=count))]

    def array(
        self, shape: Sequence[int], dtype: str, data: Sequence[Any] | None = None, form: str | None = None
    ) -> str:
        """An array of drawn numbers (or of `data`, flat), as a name that the setup binds, or as an expression."""
        shape = tuple(shape)
        if form is None:
            form = self.pick(("plain", "plain", "plain", "list", *_FORMS))
        if not shape:
            return self.zero_dim(dtype, data, form)
        count = math.prod(shape)
        if form == "broadcast" and count:
            inner = self.flat(dtype, count // shape[0]) if data is None else list(data)[: count // shape[0]]
            made = f"np.array({text_of(nested(inner, shape[1:]))}, '{dtype}')"
            return self.bind(f"np.broadcast_to({made}, {shape})")
        if not count:
            return self.bind(f"np.zeros({shape}, '{dtype}')" + (".T.T" if form == "F" else ""))
        flat = self.flat(dtype, count) if data is None else list(data)
        if form == "list" and dtype in ("bool", "int64", "float64", "complex128"):
            return text_of(nested(flat, shape))
        grid = numpy.empty(count, object)
        grid[:] = flat
        text, after = _FORMS.get(form, _FORMS["plain"])(grid.reshape(shape))
        return self.bind(f"np.array({text}, '{dtype}'){after}")

    def zero_dim(self, dtype: str, data: Sequence[Any] | None, form: str) -> str:
        value = text_of((self.flat(dtype, 1) if data is None else list(data))[0])
        if form in ("list", "step", "offset"):
            return value if form != "step" else f"np.{dtype.replace('bool', 'bool_')}({value})"
        return self.bind(f"np.array({value}, '{dtype}')")


def _grid(grid: Any) -> str:
    return text_of(grid.tolist())


def _stepped(grid: Any) -> tuple[str, str]:
    return _grid(numpy.repeat(grid, 2, -1)), "[..., ::2]"


# How the same numbers lie in memory: the text of the nested lists, and what is done with the array of them.
_FORMS: dict[str, Callable[[Any], tuple[str, str]]] = {
    "plain": lambda grid: (_grid(grid), ""),
    "F": lambda grid: (_grid(grid.T), ".T"),
    "step": _stepped,
    "offset": lambda grid: (_grid(numpy.concatenate([grid[:1], grid])), "[1:]"),
    "reversed": lambda grid: (_grid(grid[::-1]), "[::-1]"),
    "broadcast": lambda grid: (_grid(grid), ""),
}
