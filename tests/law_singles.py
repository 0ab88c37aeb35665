"""Single calls against the path integral of the derivative, computed by NumPy alone.

The derivative is a difference of four points, the integral by Gauss–Legendre panels that are halved until it stays; how
well it adds up to the change of the function says how exact it is. Where it does not (a jump), nothing is compared.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy

import decomposition_cases
import npdec as np
import samples
from fuzz_draw import nested, text_of
from law_lines import TABLE, Call, Lines
from law_programs import Input, Program, compiled, quietly
from law_promises import Broken, Check

STEP = 1e-3
MOST = 300  # panels, beyond which a function is given up: it jumps
RTOL = 1e-4  # of the magnitudes of the result
_NODES, _WEIGHTS = numpy.polynomial.legendre.leggauss(8)
RANGES = {"any": (-2.0, 2.0), "positive": (0.3, 2.5), "unit": (-0.9, 0.9), "above": (1.1, 3.0), "near": (-0.05, 0.05)}

# Functions that are not one operation, or that do not follow the derivative: why.
_STEPS = "made of several operations, each of which has its own path"
COMPOSED: dict[str, str] = {
    **decomposition_cases.FREEZES,
    **dict.fromkeys("average polyval std nanstd corrcoef poly polydiv roots polyfit clip pad".split(), _STEPS),
    "divide": "the product with the reciprocal",
    "unwrap": "jumps",
}

# Keywords with which a function is.
COMPOSED_BY = {"cov": "aweights"}

# -- drawing -----------------------------------------------------------------------------------------------------------


class _OfInputs(Call):
    """A call of a sample in which the inputs stand for its arrays."""

    def __init__(self, lines: Lines, name: str, sample: samples.Sample, path: str, inputs: dict[Any, str]) -> None:
        super().__init__(lines, name, sample, path)
        self.inputs = inputs
        self.taken = set(inputs)

    def embedded(self, leaf: samples.Arr) -> str:
        return next(name for path, name in self.inputs.items() if self.leaves[path] is leaf)

    def line(self) -> str:
        words = [self.item(a, (i,)) for i, a in enumerate(self.sample.args)]
        return f"d = np.{self.function}({self._joined(words)})"


def drawn(seed: int) -> Program | None:
    """A program of one call; None if its arrays cannot be the inputs."""
    source = random.Random(seed)
    name = source.choice(sorted(TABLE.keys() - COMPOSED.keys()))
    place, sample = source.choice(TABLE[name])
    leaves = decomposition_cases.leaves(sample)
    paths = list(leaves)
    if COMPOSED_BY.get(name) in sample.kwargs:
        return None
    if sample.writes or sample.freezes or not 0 < len(paths) <= 3 or len({id(leaves[p]) for p in paths}) < len(paths):
        return None
    names = dict(zip(paths, "abc", strict=False))
    inputs, count = [], 0
    for path, letter in names.items():
        leaf = leaves[path]
        size = int(numpy.size(leaf.data))
        texts = [_drawn(source, leaf, sample.base) for _ in range(2)]
        inputs.append(Input(letter, *texts, tuple(source.randrange(3) for _ in range(size))))
        count += size
    numbers = sorted({g for one in inputs for g in one.groups})
    inputs = [Input(i.name, i.value, i.baseline, tuple(map(numbers.index, i.groups))) for i in inputs]
    if not count:
        return None
    lines = Lines(source, choices=False)
    program = Program(tuple(inputs), ("d = a",), (name,), seed)
    lines.arrays = {i.name: x for i, x in zip(inputs, program.arrays()[0], strict=True)}
    line = _OfInputs(lines, name, sample, f"samples.SAMPLES[{name!r}][{place}]", names).line()
    try:
        made = quietly(lambda: eval(line[4:], program.scope(program.arrays()[0])))
    except Exception:  # no call with these numbers
        return None
    if isinstance(made, (tuple, list)):
        k = source.randrange(len(made))
        line, made = f"{line}[{k}]", made[k]
    if not isinstance(made, (np.ndarray, np.generic)) or not np.issubdtype(made.dtype, np.inexact):
        return None
    return Program(tuple(inputs), (line,), (name,), seed)


def _drawn(source: random.Random, leaf: samples.Arr, base: str) -> str:
    low, high = RANGES[base]
    own = numpy.array(leaf.data, leaf.dtype)
    dtype = "complex128" if own.dtype.kind == "c" else "float64"
    flat = []
    for x in own.reshape(-1).tolist():
        shift = (
            complex(source.uniform(low, high), source.uniform(low, high))
            if dtype == "complex128"
            else source.uniform(low, high)
        )
        flat.append(x + shift if base == "near" else shift)
    data = [complex(round(x.real, 3), round(x.imag, 3)) if dtype == "complex128" else round(x, 3) for x in flat]
    return f"np.array({text_of(nested(data, own.shape))}, '{dtype}')" if data else f"np.zeros({own.shape}, '{dtype}')"


# -- the reference -----------------------------------------------------------------------------------------------------


_AMID = 0.3719  # a place on the way that nothing drawn singles out


class PathIntegral:
    """The components of the only line's result, one for each group."""

    def __init__(self, program: Program, step: float = STEP) -> None:
        self.step = step
        self.code = compiled(program.lines[0], 0)
        scope = {"np": numpy}
        pairs = [[eval(text, scope) for text in (i.value, i.baseline)] for i in program.inputs]
        self.names = [i.name for i in program.inputs]
        self.residuals = [r for _, r in pairs]
        self.changes = [x - r for x, r in pairs]
        groups = [
            numpy.reshape(numpy.array(i.groups, int), r.shape)
            for i, r in zip(program.inputs, self.residuals, strict=True)
        ]
        count = 1 + max(int(g.max()) for g in groups if g.size)
        self.parts = [
            [numpy.where(g == k, c, 0) for g, c in zip(groups, self.changes, strict=True)] for k in range(count)
        ]

        self.panels = 0

    def result(self, arrays: Sequence[Any]) -> Any:
        scope = {"np": numpy, "samples": samples, **dict(zip(self.names, arrays, strict=True))}
        exec(self.code, scope)
        made = numpy.asarray(scope["d"])
        return made if made.dtype.kind == "c" else made.astype(float)

    def at(self, t: float, part: Sequence[Any] | None = None, step: float = 0.0) -> Any:
        arrays = [r + t * c for r, c in zip(self.residuals, self.changes, strict=True)]
        return self.result(arrays if part is None else [u + step * c for u, c in zip(arrays, part, strict=True)])

    def rate(self, t: float) -> Any:
        """The derivative along each part."""
        h = self.step
        return numpy.stack([
            (8 * (self.at(t, p, h) - self.at(t, p, -h)) - (self.at(t, p, 2 * h) - self.at(t, p, -2 * h))) / (12 * h)
            for p in self.parts
        ])  # fmt: skip

    def panel(self, a: float, b: float) -> Any:
        return (
            sum(w * self.rate((a + b) / 2 + (b - a) / 2 * t) for t, w in zip(_NODES, _WEIGHTS, strict=True))
            * (b - a)
            / 2
        )

    def integral(self, a: float, b: float, whole: Any, tolerance: float, depth: int) -> Any:
        self.panels += 2
        if self.panels > MOST:
            raise ValueError("no integral")
        m = (a + b) / 2
        left, right = self.panel(a, m), self.panel(m, b)
        if depth == 0 or numpy.abs(left + right - whole).max(initial=0.0) <= tolerance:
            return left + right
        return self.integral(a, m, left, tolerance, depth - 1) + self.integral(m, b, right, tolerance, depth - 1)

    def components(self) -> tuple[Any, float]:
        """The components, and by how much they miss the change of the function: on the whole way or up to a place
        within it, as steps there and back (of histograms) change nothing on the whole."""
        first, amid, last = self.at(0.0), self.at(_AMID), self.at(1.0)
        scale = float(abs(first).max(initial=0.0) + abs(last).max(initial=0.0))
        tolerance = 1e-6 * scale + 1e-12
        before = self.integral(0.0, _AMID, self.panel(0.0, _AMID), tolerance, 16)
        after = self.integral(_AMID, 1.0, self.panel(_AMID, 1.0), tolerance, 16)
        missing = max(
            abs(amid - first - before.sum(0)).max(initial=0.0), abs(last - amid - after.sum(0)).max(initial=0.0)
        )
        return before + after, float(missing) / scale if scale else 0.0


def _reference(program: Program, step: float) -> Any:
    """The path integrals of the derivatives, by differences of this step; None if they could not be computed."""
    with numpy.errstate(all="ignore"):
        try:
            wanted, missing = quietly(PathIntegral(program, step).components)
        except (ValueError, TypeError, numpy.linalg.LinAlgError):
            return None
    return wanted if numpy.isfinite(wanted).all() and missing < RTOL / 10 else None


def agrees(program: Program) -> bool:
    """Raise Broken if the components are not the path integrals; False if these could not be computed."""
    wanted = _reference(program, STEP)
    if wanted is None:
        return False
    made = quietly(lambda: program.run(Check(program).decomposed()))["d"]
    got = numpy.zeros(wanted.shape)
    if made.is_decomposed:
        components = numpy.asarray(made.components)
        if components.dtype.kind == "f":  # eigenvalues that are real at the value, which is what makes them so for good
            wanted = wanted.real
        got = numpy.concatenate([components, numpy.zeros((len(wanted) - len(components), *components.shape[1:]))])
    scale = abs(numpy.asarray(made.value)).max(initial=0.0) + abs(wanted).sum(0).max(initial=0.0)
    error = abs(got - wanted).max(initial=0.0)
    if error > RTOL * scale and math.isfinite(scale):
        # Where another element nearly leads, the points of a difference may lie on both sides of a kink.
        finer = _reference(program, STEP / 16)
        if finer is None or abs(finer - wanted).max(initial=0.0) > RTOL * scale:
            return False
        raise Broken("path integral", program.names[0], f"is {got.tolist()}, not {wanted.tolist()}")
    return True
