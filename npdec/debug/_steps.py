"""`np.debug.trace`: the operations of a program, listed as they run."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

import torch

from npdec._core.base import ArrayBase, NDArrayBase
from npdec._decomposed.tensor import DecomposedTensor
from npdec._show.words import visible
from npdec.debug._calls import Call
from npdec.debug._looking import looking_on
from npdec.debug._places import Place
from npdec.debug._values import arrays_in, elements_of, has_no_elements, is_array, name_of_dtype

__all__ = ["Step", "Trace", "trace"]

# What tells of an array, and computes nothing.
_NO_OPERATIONS = frozenset(
    {"tensor", "base", "value", "residual", "components", "contributions", "__array__", "labels", "__repr__", "__str__"}
)
_MOST_LARGEST = 3


@dataclass(frozen=True, slots=True)
class Step:
    """One result of an operation: what it is, and where the program called it.

    `name` is the operation's, `place` the line. `dtype`, `shape`, `low` and `high` are those of the result (or of what
    was written), the range of the numbers that are finite; `nans` and `infs` count the others. `largest` are the labels
    of the largest contributions to it, with the contribution that is largest in magnitude, for what is decomposed.
    """

    name: str
    place: Place
    dtype: str
    shape: tuple[int, ...]
    low: float
    high: float
    nans: int = 0
    infs: int = 0
    largest: tuple[tuple[Hashable, float], ...] = ()
    written: bool = False

    def __str__(self) -> str:
        numbers = f"{self.low:.6g}" if self.low == self.high else f"{self.low:.6g} … {self.high:.6g}"
        if math.isnan(self.low):
            numbers = "nothing finite" if self.nans or self.infs else "empty" if 0 in self.shape else "no numbers"
        parts = [f"{self.name:<14} {self.dtype} {self.shape}", numbers]
        parts += [f"{self.nans} nan"] * bool(self.nans) + [f"{self.infs} inf"] * bool(self.infs)
        if self.largest:
            parts.append("largest " + ", ".join(f"{visible(str(label))} {part:+.4g}" for label, part in self.largest))
        return "  ".join(parts) + ("  (written)" if self.written else "")


@dataclass
class Trace:
    """The steps of a program, in their order; printed, below the lines that took them."""

    steps: list[Step] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, place: Any) -> Any:
        return self.steps[place]

    def __str__(self) -> str:
        lines: list[str] = []
        last = None
        for step in self.steps:
            lines += _printed(step, last)
            last = step
        return "\n".join(lines)

    __repr__ = __str__


def _printed(step: Step, last: Step | None) -> list[str]:
    """A step as text, below its line if that is another than the last one's."""
    here = (step.place.file, step.place.line)
    new = last is None or here != (last.place.file, last.place.line)
    return [str(step.place)] * new + [f"    {step}"]


class _Tracer:
    def __init__(self, trace: Trace, file: TextIO | None) -> None:
        self.trace, self.file = trace, file

    def before(self, call: Call) -> None:
        call.notes[self] = [(array, version_of(array)) for array in arrays_in((call.args, call.kwargs))]

    def failed(self, call: Call) -> None:
        pass

    def after(self, call: Call, result: Any) -> None:
        given = call.notes.pop(self)
        name = call.attribute if call.kind != "torch" else call.name
        if name in _NO_OPERATIONS:
            return
        made = list(arrays_in(result))
        if not made:
            made = [array for array, version in given if version_of(array) != version]
        for array in made:
            written = any(array is one and version_of(one) != version for one, version in given)
            step = described(name, call.place, array, written)
            if step is None:
                continue
            if self.file is not None:
                last = self.trace.steps[-1] if self.trace.steps else None
                print(*_printed(step, last), sep="\n", file=self.file)
            self.trace.steps.append(step)


def version_of(array: Any) -> Any:
    """What changes when an array is written, as far as it is known."""
    if isinstance(array, NDArrayBase):
        array = array._t
    if isinstance(array, DecomposedTensor):
        return id(array), array.value._version
    return (id(array), array._version) if isinstance(array, torch.Tensor) and not array.is_inference() else None


def described(name: str, place: Place, array: Any, written: bool) -> Step | None:
    """The step of an array."""
    numbers = elements_of(array) if is_array(array) else None
    if numbers is None and not has_no_elements(array):
        return None
    low = high = math.nan
    nans = infs = 0
    if numbers is not None and numbers.numel():
        if numbers.is_complex():
            numbers = numbers.abs()
        wide = numbers.double()
        finite = wide[torch.isfinite(wide)]
        nans, infs = int(wide.isnan().sum()), int(wide.isinf().sum())
        if finite.numel():
            low, high = float(finite.min()), float(finite.max())
    tensor = array._t if isinstance(array, ArrayBase) else array
    largest = _largest(tensor) if isinstance(tensor, DecomposedTensor) and numbers is not None else ()
    return Step(name, place, name_of_dtype(array), tuple(array.shape), low, high, nans, infs, largest, written)


def _largest(tensor: DecomposedTensor) -> tuple[tuple[Hashable, float], ...]:
    """The labels with the largest contributions to an element."""
    if tensor.reverse or not len(tensor.labels) or not tensor.numel():
        return ()
    components = tensor.components.detach().reshape(len(tensor.labels), -1)
    if components.is_complex():
        components = components.abs()
    places = components.abs().nan_to_num(nan=torch.inf).argmax(1, keepdim=True)
    parts = components.gather(1, places)[:, 0].tolist()
    order = sorted(range(len(parts)), key=lambda i: -abs(parts[i]) if parts[i] == parts[i] else -math.inf)
    return tuple((tensor.labels[i], parts[i]) for i in order[:_MOST_LARGEST])


@contextlib.contextmanager
def trace(*, file: TextIO | None = None, quiet: bool = False) -> Iterator[Trace]:
    """Context manager: list the operations that run within it, as they run, below the lines that called them.

    Each has the dtype and shape of its result, the range of its values, and, where it is decomposed, the labels of the
    largest contributions. Functions, methods and operators of npdec are listed, and torch's functions, which the
    program itself calls in this thread; what is given is a `Trace`, whose steps can be read afterwards.

    Parameters
    ----------
    file : text stream, optional
        What the list is printed to; standard output if there is none.
    quiet : bool
        Print nothing: the steps are read afterwards.

    Raises
    ------
    RuntimeError
        If another profiler is running in this thread.

    >>> with np.debug.trace(quiet=True) as steps:
    ...     x = np.decompose(np.array([1.0, 2.0]), labels=["a", "b"])
    ...     y = np.exp(x).sum()
    >>> [(step.name, step.shape) for step in steps]
    [('array', (2,)), ('decompose', (2,)), ('exp', (2,)), ('sum', ())]
    >>> steps[-1].place.expression, steps[-1].largest[0][0]
    ('np.exp(x).sum()', 'b')
    """
    made = Trace()
    with looking_on(_Tracer(made, None if quiet else file or sys.stdout)):
        yield made
