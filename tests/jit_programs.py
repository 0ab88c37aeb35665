"""Random NumPy programs of views and writes, as source text, and what tells np.jit's run of one from NumPy's.

A program is a function of two arrays and a library. Its lines are drawn one by one and tried under NumPy: a line that
raises there is left out. All numbers are small integers, so that every sum and product is exact in every dtype.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy

import npdec

SHAPES = [(6,), (4, 5), (3, 4, 2), (1, 4)]
DTYPES = ["float64", "float64", "int64", "float32", "bool", "complex128", "int16"]


def _slice(rng: Any, size: int) -> str:
    start, stop = sorted(rng.integers(0, size + 1, 2).tolist())
    return rng.choice([f"{start}:{stop}", f"{start}:", ":", f"::{rng.integers(1, 3)}", "::-1", ":"])


def _key(rng: Any, shape: tuple[int, ...], most: int = 3) -> str:
    """A basic index: integers, slices with steps of both signs, new axes."""
    parts = []
    for size in shape[: rng.integers(0, min(most, len(shape)) + 1)]:
        parts.append(str(rng.integers(-size, size)) if size and rng.random() < 0.4 else _slice(rng, size))
    if rng.random() < 0.1:
        parts.insert(rng.integers(len(parts) + 1), "None")
    if rng.random() < 0.1 or not parts:
        parts.append("...")
    return ", ".join(parts)


class Drawn:
    """A program, line by line, and the arrays that its variables are under NumPy."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = numpy.random.default_rng(seed)
        self.lines: list[str] = []
        shape = SHAPES[rng.integers(len(SHAPES))]
        self.given = [self._numbers(shape), self._numbers(shape)]
        self.again = [self.rng.integers(-3, 4, shape).astype(one.dtype) for one in self.given]
        self.scope: dict[str, Any] = {"np": numpy, "a": self.given[0].copy(), "b": self.given[1].copy()}
        self.names = ["a", "b"]
        for name in "cd":
            dtype = DTYPES[rng.integers(len(DTYPES))]
            order = "F" if rng.random() < 0.15 else "C"
            self._try(f"{name} = np.{rng.choice(['zeros', 'ones'])}({shape}, {dtype!r}, {order!r})", name)
        for _ in range(rng.integers(4, 14)):
            self._step()
        self.lines.append(f"return [{', '.join(self._returned())}]")
        head = ["def program(np, a, b):"]
        self.source = "\n    ".join(head + self.lines) + "\n"

    def _numbers(self, shape: tuple[int, ...]) -> Any:
        dtype = "float64" if self.rng.random() < 0.6 else DTYPES[self.rng.integers(len(DTYPES))]
        return self.rng.integers(-3, 4, shape).astype(dtype)

    def _try(self, line: str, name: str = "") -> bool:
        before = {key: value.copy() for key, value in self.scope.items() if isinstance(value, numpy.ndarray)}
        try:
            with numpy.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(line, self.scope)
        except Exception:
            for key, value in before.items():  # half of it may be done
                if self.scope[key].flags.writeable:
                    self.scope[key][...] = value
            return False
        self.lines.append(line)
        if name and name not in self.names:
            self.names.append(name)
        return True

    def _any(self) -> str:
        return self.names[self.rng.integers(len(self.names))]

    def _of(self, name: str) -> str:
        return f"{name}[{_key(self.rng, numpy.shape(self.scope[name]))}]"

    def _value(self) -> str:
        one, other, number = self._of(self._any()), self._of(self._any()), self.rng.integers(-3, 4)
        forms = [
            one, one, f"{one} + {other}", f"{one} * {number}", f"{number}", f"{number}.0", f"{one}.sum()",
            f"np.where({one} > {number}, {other}, {number})", f"np.maximum({one}.real, {number})",
            f"{one}.T", f"{one}.copy()",
        ]  # fmt: skip
        return forms[self.rng.integers(len(forms))]

    def _step(self) -> None:
        rng, name, new = self.rng, self._any(), f"v{len(self.lines)}"
        place, shape = self._of(name), numpy.shape(self.scope[name])
        if not shape:
            self._try(f"{new} = {place} + {self._value()}", new)
            return
        places = rng.integers(-shape[0], max(shape[0], 1), rng.integers(1, 4)).tolist()
        mask = f"{name}.real > {rng.integers(-2, 3)}"
        views = [
            place, place, f"{name}.T", f"{name}.reshape(-1)", f"{name}.real", f"{name}.ravel()", f"{place}.real",
            f"{name}.reshape({shape[::-1]})", f"np.broadcast_to({place}, (2, *{place}.shape))", f"{name}.view('int64')",
            f"{name}.view('float64')", f"{name}.imag", f"np.diagonal({name})", f"{name}.swapaxes(0, -1)", f"+{place}",
        ]  # fmt: skip
        writes = [
            f"{place} = {self._value()}", f"{place} = {self._value()}", f"{place} = {self._value()}",
            f"{place} += {self._value()}", f"{name} *= {rng.integers(-2, 3)}", f"{name}.fill({rng.integers(-3, 4)})",
            f"np.add({place}, {self._value()}, out={self._of(self._any())}, casting='unsafe')",
            f"np.copyto({place}, {self._value()}, casting='unsafe')",
            f"np.copyto({name}, {self._value()}, where={mask}, casting='unsafe')",
            f"{name}[{mask}] = {rng.integers(-3, 4)}", f"{name}[{mask}] *= {rng.integers(-2, 3)}",
            f"{name}[{mask}] = {self._any()}[{mask}]", f"{name}[{places}] = {self._value()}",
            f"{name}[{places}] += {self._value()}", f"np.add.at({name}, {places}, {self._value()})",
            f"{name}[{mask}] += {self._any()}[{mask}] * {rng.integers(-2, 3)}",
        ]  # fmt: skip
        if rng.random() < 0.3:
            self._try(f"{new} = {views[rng.integers(len(views))]}", new)
        elif rng.random() < 0.3:
            self._try(f"{new} = {self._value()}", new)
        else:
            self._try(writes[rng.integers(len(writes))])

    def _returned(self) -> list[str]:
        found = [self._of(self._any()) for _ in range(2)] + [self._any() for _ in range(3)]
        return [*found, self._of(self._any()) + ".sum()"]


def _run(source: str, library: Any) -> Callable[..., Any]:
    scope: dict[str, Any] = {"np": library}
    exec(compile(source.replace("program(np, a, b)", "program(a, b)"), "<drawn>", "exec"), scope)
    return scope["program"]


def _seen(results: list[Any], given: list[Any]) -> list[Any]:
    """What is seen outside: numbers, dtypes, order in memory, and which of all these arrays share memory, by writing
    into each."""
    arrays = [*results, *given]
    found: list[Any] = [(numpy.asarray(one).copy(), str(numpy.asarray(one).dtype)) for one in arrays]
    for i, one in enumerate(arrays):
        if getattr(one, "shape", ()) and numpy.size(one) and one.flags.writeable:
            before = [numpy.asarray(other).copy() for other in arrays]
            one[...] = one * 0 + (7 if one.dtype != bool else True)
            after = [numpy.asarray(other) for other in arrays]
            found.append((i, [not numpy.array_equal(a, b) for a, b in zip(before, after)]))
        elif getattr(one, "shape", ()):
            found.append((i, one.flags.writeable))
    return found


def _differ(got: list[Any], want: list[Any]) -> str:
    for i, (a, b) in enumerate(itertools.zip_longest(got, want)):
        numbers = isinstance(b[1], str)
        if a[1] != b[1] or not (numpy.array_equal(a[0], b[0], equal_nan=b[1] != "bool") if numbers else a[0] == b[0]):
            return f"{i}: {a} for {b}"
    return ""


def difference(drawn: Drawn, **options: Any) -> str:
    """What np.jit's results differ in from NumPy's, over two calls; nothing if they do not."""
    theirs = _run(drawn.source, numpy)
    fast = npdec.jit(_run(drawn.source, npdec), **options)
    for given in (drawn.given, drawn.again):
        with numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            its = [one.copy() for one in given]
            mine = [npdec.array(one) for one in given]
            try:
                want = _seen(theirs(*its), its)
                if _differ(_seen(_run(drawn.source, npdec)(*mine), mine), want):
                    continue  # uncompiled too: scripts/fuzz.py looks for that
            except Exception:  # other numbers, another way
                continue
            mine = [npdec.array(one) for one in given]
            if found := _differ(_seen(fast(*mine), mine), want):
                return found
    return ""
