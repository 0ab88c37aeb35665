"""What holds for every program: the promises of the law, and by how much rounding may break them.

An error is compared with `MULTIPLE` eps a line of the magnitudes of the array in which it is found, |value| +
|residual| + Σ|components|. If it is larger, what rounding does to this program is measured: it is run in double
precision, at several points of the path from the baselines, with every number moved, wherever it is used, by eps times
the magnitudes that the decomposition has there (which is where cancellation shows). `MEASURED` times what that moves is
allowed, and `MULTIPLE` eps a line of the magnitudes of all arrays of the program. Where quadrature goes on until
completeness holds to `ADAPTIVE`, that is what eps times these multiples is at least.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
import torch

import npdec as np
import samples
from law_programs import FILE, Program, heard, quietly
from npdec._impl._storage import laid_out_alike

MULTIPLE = 16.0  # eps of the magnitudes of an array, for each line before it
MEASURED = 64.0
ADAPTIVE = {torch.float64: 1e-12, torch.complex128: 1e-12, torch.float32: 1e-5, torch.complex64: 1e-5}
HUGE = 1e6


class Broken(Exception):
    """A promise that a program breaks: which, and how."""

    def __init__(self, promise: str, name: str, text: str) -> None:
        super().__init__(f"{promise}: {name} {text}".strip())
        self.promise, self.name = promise, name


class Parts:
    """An array as numbers of NumPy's in double precision: value, residual, components."""

    def __init__(self, x: Any) -> None:
        self.tensor = x.tensor.detach()
        self.decomposed = isinstance(self.tensor, np.DecomposedTensor)
        value = self.tensor.value if self.decomposed else self.tensor
        self.dtype = value.dtype
        self.bits = _bits(value)
        self.value = _wide(value)
        self.residual = _wide(self.tensor.residual) if self.decomposed else self.value
        self.components = _wide(self.tensor.components) if self.decomposed else self.value[None][:0]

    @functools.cached_property
    def sizes(self) -> Any:
        """|value| + |residual| + Σ|components|, of each element; 0 where one is not finite."""
        found = abs(self.value) + abs(self.residual) + abs(self.components).sum(0)
        return numpy.where(numpy.isfinite(found), found, 0)

    @property
    def largest(self) -> float:
        return float(self.sizes.max()) if self.sizes.size else 0.0


def _largest(numbers: Any) -> float:
    """The largest magnitude; infinity if one is not a number."""
    return float(numpy.nan_to_num(abs(numbers), nan=numpy.inf).max()) if numbers.size else 0.0


def _bits(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().resolve_conj().resolve_neg()  # a copy, as a lone element may have any stride
    return plain.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).numpy().tobytes()


def _wide(tensor: torch.Tensor) -> Any:
    """Its numbers in double precision, booleans as numbers."""
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    return tensor.detach().to(wide).resolve_conj().resolve_neg().numpy()


def eps(dtype: torch.dtype) -> float:
    return float(torch.finfo(dtype).eps) if dtype.is_floating_point or dtype.is_complex else 0.0


# -- one program -------------------------------------------------------------------------------------------------------


class Check:
    """A program that is run, plain and decomposed; each method holds one promise or raises `Broken`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values, self.baselines = program.arrays()
        self.groups = [
            numpy.reshape(numpy.array(i.groups, int), x.shape) for i, x in zip(program.inputs, self.values, strict=True)
        ]
        self.count = 1 + max(g for i in program.inputs for g in i.groups)

    def everything(self) -> None:
        self.doing = "plain"
        self.plain = {k: Parts(x) for k, x in quietly(lambda: self.program.run(self._copies(self.values))).items()}
        self.at_base = {k: Parts(x) for k, x in quietly(lambda: self.program.run(self._copies(self.baselines))).items()}
        self.doing = "forward"
        made, self.heard = heard(lambda: self.program.run(self.decomposed()))
        self.made = {name: Parts(x) for name, x in made.items()}
        self.coarsest = max(eps(parts.dtype) for parts in self.made.values())
        self.values_are_the_plain_runs()
        self.completeness()
        self.residuals()
        self.moderate()
        self.doing = "reverse"
        self.reverse()
        self.doing = "alone"
        self.alone()

    @staticmethod
    def _copies(arrays: Sequence[Any]) -> list[Any]:
        """The inputs as they lie in memory: made anew, so that writes into them do not last."""
        return [x.__copy__() if not hasattr(x, "strides") else _kept(x) for x in arrays]

    def decomposed(self, only: int | None = None) -> list[Any]:
        values, baselines = self._copies(self.values), tuple(self._copies(self.baselines))
        inputs = list(np.decompose(tuple(values), baseline=baselines, groups=tuple(self.groups)))
        if only is None:
            return inputs
        tensors = [x.tensor for x in inputs]
        labels = (tensors[0].labels[only], *[f"others {i}" for i in range(self.count)])
        alone = []
        for t in tensors:
            one = t.components[only]
            others = (t.components.sum(0) - one) / self.count
            components = torch.stack([one, *[others] * self.count])
            alone.append(np.DecomposedTensor(t.value, t.residual, components, labels))
        return [np.asarray(t) if x.shape or isinstance(x, np.ndarray) else x for t, x in zip(alone, inputs)]

    # -- how large an error may be ------------------------------------------------------------------------------------

    @functools.cached_property
    def _moved(self) -> dict[str, float]:
        """How far each variable moves when all numbers before it are moved by eps of their magnitudes."""
        program, farthest = self.program.widened(), dict.fromkeys(self.made, 0.0)
        values, baselines = program.arrays(wide=True)
        source = random.Random(0)
        for t in (0.0, 0.03, 0.25, 0.5, 0.75, 0.97, 1.0):
            inputs = [r + t * (x - r) for x, r in zip(values, baselines, strict=True)]
            try:
                rest = quietly(lambda inputs=inputs: program.run(self._copies(inputs)))
                for _ in range(3):
                    moved = quietly(lambda inputs=inputs: program.run(self._copies(inputs), self._mover(source)))
                    for name in farthest:
                        if moved[name].shape == rest[name].shape:
                            with numpy.errstate(invalid="ignore"):
                                change = _wide(moved[name].tensor) - _wide(rest[name].tensor)
                            largest = _largest(change[numpy.isfinite(change)])
                            farthest[name] = max(farthest[name], largest)
            except Exception:  # the path leaves the domain of a function
                continue
        return farthest

    def _mover(self, source: random.Random) -> Any:
        def moved(name: str, x: Any) -> Any:
            parts = self.made.get(name)
            if name and (parts is None or parts.dtype is torch.bool or x.shape != parts.sizes.shape):
                return x
            if not isinstance(x, (np.ndarray, np.generic)) or not np.issubdtype(x.dtype, np.inexact):
                return x
            # Of what a call gives to another one in its line, which has no name, only the value is known; and what is
            # written over may have been larger than it is in the end.
            sizes = abs(_wide(x.tensor))
            sizes = sizes if parts is None else numpy.maximum(sizes, parts.sizes)
            signs = numpy.reshape([source.choice((-1.0, 1.0)) for _ in range(x.size)], x.shape)
            return x + np.array(signs * sizes * self.coarsest)

        return moved

    def allowed(self, name: str, size: float, error: float) -> bool:
        """Whether rounding may make this error in a variable whose magnitudes are of this size."""
        unit, adaptive = self.coarsest, max(ADAPTIVE.get(parts.dtype, 0.0) for parts in self.made.values())
        one = max(MULTIPLE * unit * (1 + len(self.program.lines)), adaptive)
        if error <= one * size:
            return True
        if not math.isfinite(error):
            return False
        given = [_largest(_wide(x.tensor)) for x in (*self.values, *self.baselines)]  # which may be written over
        along = one * (sum(x.largest for x in self.made.values()) + sum(given))
        return error <= along + max(MEASURED, adaptive / unit) * self._moved.get(name, 0.0)

    # -- promises -----------------------------------------------------------------------------------------------------

    def values_are_the_plain_runs(self) -> None:
        for name, want in self.plain.items():
            got = self.made.get(name)
            if got is None:
                raise Broken("value", name, "is no array")
            if got.dtype is not want.dtype or got.value.shape != want.value.shape:
                raise Broken("value", name, f"is {got.dtype} {got.value.shape}, not {want.dtype} {want.value.shape}")
            if got.bits != want.bits:
                off = numpy.nanmax(abs(got.value - want.value)) if got.value.dtype.kind in "fc" else numpy.nan
                raise Broken("value", name, f"is not the plain run's bit for bit: off by {off:.1e}")
            if not got.decomposed:
                continue
            # What integers and booleans carry are numbers: of a count (np.histogram), say, the part of a step.
            dtype = got.tensor.components.dtype
            if not (dtype.is_floating_point if got.tensor.discrete else dtype is got.dtype):
                raise Broken("value", name, f"of {got.dtype} has components of {dtype}")

    def _finite(self, parts: Parts) -> Any:
        return numpy.isfinite(parts.value) & numpy.isfinite(parts.residual)

    def completeness(self) -> None:
        for name, parts in self.made.items():
            if not parts.decomposed or not parts.value.size:
                continue
            with numpy.errstate(invalid="ignore"):
                missing = abs(parts.value - parts.residual - parts.components.sum(0))[self._finite(parts)]
            error = _largest(missing)
            if not self.allowed(name, parts.largest, error) and not self.heard:
                raise Broken("completeness", name, f"misses {error:.2e} of {parts.largest:.2e}")

    def residuals(self) -> None:
        for name, want in self.at_base.items():
            got = self.made[name]
            if got.residual.shape != want.value.shape:
                error, size = math.inf, 0.0
            else:
                finite = numpy.isfinite(want.value)
                with numpy.errstate(all="ignore"):
                    error = _largest((got.residual - want.value)[finite])
                size = max(got.largest, _largest(want.value[finite]))
            if not self.allowed(name, size, error) and not any(self._names_a_line(w) for w in self.heard):
                word = "the warnings name no line of the program" if self.heard else "no warning"
                raise Broken("residual", name, f"is off f(baseline) by {error:.2e} of {size:.2e}, {word}")

    def _names_a_line(self, warning: Any) -> bool:
        return warning.filename in (FILE, samples.__file__)

    def moderate(self) -> None:
        changes = [
            float(abs(_wide(x.tensor) - _wide(r.tensor)).sum())
            for x, r in zip(self.values, self.baselines, strict=True)
        ]
        for name, parts in self.made.items():
            if not parts.components.size or self.heard:
                continue
            odd = ~numpy.isfinite(parts.components)
            if (odd & numpy.isfinite(parts.value)).any():
                raise Broken("moderate", name, f"has {int(odd.sum())} components that are not finite")
            largest = abs(parts.components).max(0)
            scale = abs(parts.value) + abs(parts.residual) + sum(changes)
            if (largest > HUGE * scale).any():
                raise Broken("moderate", name, f"has a contribution of {largest.max():.1e}, scale {scale.min():.1e}")

    # -- reverse mode, and one component at a time --------------------------------------------------------------------

    @functools.cached_property
    def summed(self) -> list[str]:
        """The variables that reverse mode is compared on: the last that carries, and another one."""
        found = [n for n, p in self.made.items() if p.decomposed and p.value.size and p.dtype is not torch.bool]
        found = [n for n in found if numpy.isfinite(self.made[n].value).all()]
        found = [n for n in found if numpy.isfinite(self.made[n].components).all()]
        return sorted({*found[-1:], *random.Random(self.program.weights).sample(found, min(1, len(found)))})

    def total(self, *inputs: Any) -> Any:
        made, total = self.program.run(inputs), np.zeros(())[()]
        for name in self.summed:
            for part, weights in self._weighted(made[name]):
                total = total + (part * weights).sum()
        return total

    def _weighted(self, x: Any) -> Iterator[tuple[Any, Any]]:
        source = random.Random(self.program.weights)
        complexes = np.issubdtype(x.dtype, np.complexfloating)
        for part in (x.real, x.imag) if complexes else (x,):
            drawn = [source.choice((1.0, 0.5, -0.75, 1.25)) for _ in range(x.size)]
            yield part, np.array(numpy.reshape(drawn, x.shape))

    def reverse(self) -> None:
        if not self.summed:
            return
        inputs, bases = self._copies(self.values), tuple(self._copies(self.baselines))
        groups: Any = tuple(self.groups)
        if len(inputs) == 1:
            bases, groups = bases[0], groups[0]
        found, said = heard(lambda: np.attribute(self.total, *inputs, baseline=bases, groups=groups))
        forward = numpy.zeros(self.count)
        for name in self.summed:
            parts = self.made[name]
            drawn = [numpy.asarray(w) for _, w in self._weighted(np.asarray(parts.tensor))]
            split = (parts.components.real, parts.components.imag)[: len(drawn)]
            for components, weights in zip(split, drawn, strict=True):
                both = (components * weights).reshape(len(components), -1).sum(1)
                forward[: len(both)] += both
        assert found.attribution.shape == forward.shape
        # Before a jump contributions may cancel to what rounding leaves of them. Forward mode has their sum there,
        # reverse mode multiplies each with the slope of the jump, and says so where they cancel: no other law.
        if not any("they cancel" in str(w.message) for w in said):
            self._same("reverse", forward, _wide(found.attribution.tensor).real)

    @functools.cached_property
    def _shortest(self) -> float:
        """How much larger the inputs are than their changes, at most.

        Forward mode knows the change of a number by its components, to all digits. Reverse mode knows its two ends,
        whose difference has lost the digits that they have in common; and where a function jumps between them, the
        multiplier, which is the jump over this difference, has no more.
        """
        found = 1.0
        for x, r in zip(self.values, self.baselines, strict=True):
            ends = _wide(x.tensor), _wide(r.tensor)
            moved = ends[0] != ends[1]
            found = max([found, *((abs(ends[0]) + abs(ends[1]))[moved] / abs(ends[0] - ends[1])[moved]).tolist()])
        return found

    def _same(self, promise: str, forward: Any, other: Any) -> None:
        error = _largest(forward - other)
        if error <= MULTIPLE * self.coarsest * self._shortest * abs(forward).sum():
            return
        size = sum(float(self.made[name].sizes.sum()) for name in self.summed)
        if not any(self.allowed(name, size, error) for name in self.summed) and not self.heard:
            raise Broken(promise, "+".join(self.summed), f"{other} instead of {forward}")

    def alone(self) -> None:
        """One component is what it is whatever the others are: here their sum, shared evenly among one more."""
        which = self.program.weights % self.count
        made, _ = heard(lambda: self.program.run(self.decomposed(which)))
        for name, parts in self.made.items():
            if not parts.components.size or self.heard:
                continue
            one = Parts(made[name]).components
            got = one[0] if len(one) else numpy.zeros(parts.value.shape)
            if not self.allowed(name, parts.largest, _largest(parts.components[which] - got)):
                raise Broken("alone", name, f"component {which} is {got}, not {parts.components[which]}")


def _kept(x: Any) -> Any:
    """A copy that lies in memory as the array does, and of which the same elements are one, read-only if it is."""
    if not isinstance(x, np.ndarray):
        return x
    made = np.asarray(laid_out_alike(x.tensor))
    if not x.flags.writeable:
        made.setflags(write=False)
    return made
