"""Running a program with both libraries and comparing: errors, kinds, dtypes, shapes, numbers, memory.

Rounding is measured, not guessed: what differs by more than a few units in the last place of the largest number is
compared with how far NumPy's own result moves when its arguments change in their last digit.
"""

from __future__ import annotations

import functools
import math
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch

import npdec
import samples
from fuzz_calls import BITWISE, ELEMENTWISE
from fuzz_draw import Program

RTOL = {"float16": 4e-3, "float32": 4e-6, "complex64": 1e-5, "float64": 1e-13, "complex128": 1e-13}
EXACT = (samples.MOVEMENT.keys() | samples.SORTING.keys()) - {"pad"}


class Differs(Exception):
    """What is not as NumPy has it."""


def quietly(function: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function()


# -- errors ------------------------------------------------------------------------------------------------------------


def compare_errors(got: Any, want: Any) -> None:
    if isinstance(want, Exception):
        if not isinstance(got, Exception):
            raise Differs(f"{got.get('r')!r} instead of {type(want).__name__}: {want}")
        wanted = next(cls for cls in type(want).__mro__ if not cls.__name__.startswith(("_", "UFunc")))
        names = {cls.__name__ for cls in type(got).__mro__}
        if wanted.__name__ not in names or type(got).__module__ == "torch":
            raise Differs(f"{type(got).__name__}: {got}\n  instead of {type(want).__name__}: {want}")
        return
    raise Differs(f"{type(got).__name__}: {got}\n  instead of {want.get('r')!r}")


# -- results -----------------------------------------------------------------------------------------------------------


def plain(x: Any) -> Any:
    return numpy.asarray(x)


def pairs(got: Any, want: Any, where: str = "r") -> Iterator[tuple[str, Any, Any]]:
    """The arrays of two results, side by side, when everything else about them is the same."""
    if isinstance(want, (numpy.ndarray, numpy.generic)):
        kind, noun = (npdec.ndarray, "array") if isinstance(want, numpy.ndarray) else (npdec.generic, "scalar")
        if not isinstance(got, kind) or (kind is npdec.generic and isinstance(got, npdec.ndarray)):
            raise Differs(f"{where}: {type(got).__name__} {got!r} instead of a NumPy {noun} {want!r}")
        g = plain(got)
        if g.dtype != want.dtype:
            raise Differs(f"{where}: dtype {g.dtype} instead of {want.dtype}")
        if g.shape != want.shape:
            raise Differs(f"{where}: shape {g.shape} instead of {want.shape}")
        if want.dtype.kind in "biufc":
            yield where, g, numpy.asarray(want)
        elif repr(numpy.asarray(want)) != repr(g):
            raise Differs(f"{where}: {g!r} instead of {want!r}")
    elif isinstance(want, numpy.dtype):
        if not isinstance(got, npdec.dtype) or str(got) != str(want):
            raise Differs(f"{where}: {got!r} instead of {want!r}")
    elif isinstance(want, (tuple, list)):
        same_kind = isinstance(got, tuple if isinstance(want, tuple) else list)
        if not same_kind or len(got) != len(want):
            raise Differs(f"{where}: {got!r} instead of {want!r}")
        if getattr(want, "_fields", None) != getattr(got, "_fields", None):
            raise Differs(f"{where}: {type(got)} instead of {type(want)}")
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            yield from pairs(g, w, f"{where}[{i}]")
    elif isinstance(want, types.ModuleType | types.FunctionType | type) or type(want).__module__.startswith("samples"):
        return
    elif isinstance(
        want, (types.NoneType, bool, int, float, complex, str, bytes, types.EllipsisType, slice, dict, range)
    ):
        same = type(got) is type(want) and (got == want or (got != got and want != want))
        if not same and not (
            isinstance(want, float) and isinstance(got, float) and math.isclose(got, want, rel_tol=1e-12)
        ):
            raise Differs(f"{where}: {got!r} instead of {want!r}")


def agree(got: Any, want: Any, rtol: float, scale: float = 0.0) -> bool:
    """Whether the numbers are the same within rounding; nan and infinities in the same places."""
    got, want = numpy.atleast_1d(got, want)
    if want.dtype.kind in "biu":
        return bool((got == want).all())
    if rtol == 0:
        bits = numpy.array_equal(got, want, equal_nan=True)
        parts = [(got.real, want.real), (got.imag, want.imag)] if want.dtype.kind == "c" else [(got, want)]
        return bits and all((numpy.signbit(g) == numpy.signbit(w))[~numpy.isnan(w)].all() for g, w in parts)
    strange = ~(numpy.isfinite(want) & numpy.isfinite(got))
    if not (numpy.isnan(got) == numpy.isnan(want)).all():
        return False
    if want.dtype.kind != "c" and not ((got == want) | numpy.isnan(want))[strange].all():
        return False
    if want.dtype.kind == "c" and not (numpy.isfinite(got) == numpy.isfinite(want)).all():
        return False
    g, w = (numpy.where(strange, 0, x).astype(complex) for x in (got, want))
    tiniest = 2 * float(numpy.finfo(want.dtype).smallest_subnormal)
    return bool((abs(g - w) <= rtol * numpy.maximum(abs(w), scale) + tiniest).all())


def largest(x: Any) -> float:
    x = numpy.atleast_1d(x)
    finite = abs(x)[numpy.isfinite(x)] if x.dtype.kind in "fc" else x[:0]
    return float(finite.max()) if finite.size else 0.0


def _numbers_in(scope: dict[str, Any]) -> list[Any]:
    return [numpy.zeros(1), *(x for x in scope.values() if isinstance(x, numpy.ndarray) and x.dtype.kind in "biufc")]


class Nearby:
    """NumPy, making arrays that differ from those asked for in the last digits."""

    def __init__(self, seed: int, strength: float) -> None:
        self.rng, self.strength = numpy.random.default_rng(seed), strength

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)

    def array(self, *args: Any, **kwargs: Any) -> Any:
        made = numpy.array(*args, **kwargs)
        if made.dtype.kind not in "fc":
            return made
        eps = float(numpy.finfo(made.dtype).eps) * self.strength
        return (made * (1 + eps * self.rng.choice([-1.0, 0.0, 1.0], made.shape))).astype(made.dtype)


def within_conditioning(program: Program, where: str, got: Any, want: Any, rtol: float) -> bool:
    """Whether the difference is no larger than what the last digits of the arguments make of NumPy's result."""
    got, want = numpy.atleast_1d(got, want)
    spread = numpy.zeros(want.shape)
    for seed in range(8):
        nearby = Nearby(seed, 1 + seed)
        moved = quietly(functools.partial(program.run, nearby))
        if isinstance(moved, Exception):
            return True  # on the edge of being an error
        other = numpy.atleast_1d(_at(moved, where))
        if other.shape != want.shape or other.dtype != want.dtype or agree(got, other, rtol, largest(other)):
            return other.shape != want.shape or other.dtype == want.dtype
        if want.dtype.kind in "fc":
            spread = numpy.fmax(spread, abs(other.astype(complex) - want.astype(complex)))
    if want.dtype.kind not in "fc" or not (numpy.isfinite(got) == numpy.isfinite(want)).all():
        return False
    finite = numpy.isfinite(want)
    difference = abs(got.astype(complex) - want.astype(complex))[finite]
    return bool((difference <= 16 * spread[finite] + rtol * largest(want)).all())


def _at(scope: dict[str, Any], where: str) -> Any:
    """The part of a result that `pairs` calls so: "r[0][1]"."""
    name, *steps = where.replace("]", "").split("[")
    item = scope[name]
    for step in steps:
        item = item[int(step)]
    return item


# -- memory ------------------------------------------------------------------------------------------------------------


def compare_memory(program: Program, got: dict[str, Any], want: dict[str, Any]) -> None:
    """Results that are views of the arrays of the setup are so in both libraries, with the same strides."""
    for name in [n for n in want if n != "r"]:
        if not isinstance(want[name], numpy.ndarray):
            continue
        results = want["r"] if isinstance(want["r"], (tuple, list)) else [want["r"]]
        mine = got["r"] if isinstance(got["r"], (tuple, list)) else [got["r"]]
        for w, g in zip(results, mine, strict=True):
            if not isinstance(w, numpy.ndarray) or not w.size or not want[name].size:
                continue
            if (g is got[name]) is not (w is want[name]):
                raise Differs(f"the result is {'not ' * (w is want[name])}the very array {name}")
            shared = numpy.may_share_memory(w, want[name])
            if not isinstance(g, npdec.ndarray) or not isinstance(got[name], npdec.ndarray):
                continue
            if _shares(g, got[name]) is not shared:
                raise Differs(f"the result shares {'no ' * shared}memory with {name}")
            if shared:
                _compare_layout(g, w)


def _shares(a: Any, b: Any) -> bool:
    if not (hasattr(a, "_t") and hasattr(b, "_t")):  # arrays of objects, which NumPy keeps
        return npdec.may_share_memory(a, b)
    return a._t.untyped_storage().data_ptr() == b._t.untyped_storage().data_ptr()


def _compare_layout(got: Any, want: Any) -> None:
    steps = [(g, w) for g, w, n in zip(got.strides, want.strides, want.shape) if n > 1]
    if any(g != w for g, w in steps):
        raise Differs(f"strides {got.strides} instead of {want.strides}")
    if got.flags.writeable is not bool(want.flags.writeable):
        raise Differs(f"writeable is {got.flags.writeable} instead of {want.flags.writeable}")


# -- all of it ---------------------------------------------------------------------------------------------------------


def check(program: Program) -> None:
    """Run the program with both libraries. Raises Differs where npdec is not as NumPy, and no rule says why."""
    from fuzz_rules import Difference, excuse

    want = quietly(lambda: program.run(numpy))
    got = quietly(lambda: program.run(npdec))
    try:
        quietly(lambda: compare(program, got, want))
    except Differs as difference:
        if excuse(Difference(program, got, want, str(difference))) is None:
            raise


def _rounding(program: Program, dtype: Any) -> float:
    """The rounding of results of a dtype, of which some may have been computed in a lower precision."""
    if str(dtype) not in RTOL:
        return 0.0
    return max(RTOL[str(dtype)], *(r for name, r in RTOL.items() if name in program.text), 0.0)


def compare(program: Program, got: Any, want: Any) -> None:
    if isinstance(got, Exception) or isinstance(want, Exception):
        compare_errors(got, want)
        return
    assert torch.get_default_dtype() is torch.float32
    from fuzz_special import special

    if (other := special(program)) is not None:
        other(got, want)
        return
    size = max(largest(x.astype(complex)) for x in _numbers_in(want))
    exact = program.name.removeprefix("ndarray.") in EXACT
    for name in want:
        for where, g, w in pairs(got[name], want[name], name):
            elementwise = program.name in ELEMENTWISE
            rtol = 0.0 if exact else _rounding(program, w.dtype)
            if agree(g, w, rtol, 0.0 if elementwise else max(largest(w), size)):
                continue
            if not exact and within_conditioning(program, where, g, w, rtol):
                continue
            raise Differs(f"{where}: {g!r}\n  instead of {w!r}")
    compare_memory(program, got, want)


__all__ = ["BITWISE", "Differs", "check", "compare"]
