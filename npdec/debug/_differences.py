"""How much two results differ, and what the report says of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from npdec.debug._calls import Call
from npdec.debug._places import Place
from npdec.debug._values import arrays_in, elements_of, is_array, name_of_dtype, shown

__all__ = ["Difference", "departure", "difference_of", "unlike"]

# What rounding may make of one operation, by the bits of a number.
_ROUNDING = {16: 2.0**-7, 32: 2.0**-16, 64: 2.0**-36}


@dataclass(frozen=True)
class Difference:
    """The first operation whose result differs.

    `operation` is its name, `place` the line of the program, `arguments` their dtypes and shapes. `kind` says what
    differs: "dtype", "shape", "type" (a scalar or an array), "values" (of arithmetic, signs of zeros too), "memory"
    (whether the result looks at the memory of an argument, or may be written where NumPy's is read-only), "written"
    (what was written into an argument), "raises" or "way" (the program goes another way). `ours` and `theirs` are the
    two results in words; `absolute` and `relative` the largest difference of elements (nan where none can be said),
    `relative` to the largest magnitude; `index` where it is; `before` the largest relative difference that the
    arguments had already.
    """

    operation: str
    place: Place
    kind: str
    ours: str
    theirs: str
    arguments: str = ""
    absolute: float = math.nan
    relative: float = math.nan
    index: tuple[int, ...] | None = None
    before: float = 0.0

    @property
    def line(self) -> int:
        """The number of the line."""
        return self.place.line

    def __str__(self) -> str:
        text = f"{self.operation}({self.arguments}): {self.kind}: {self.ours} | {self.theirs}"
        if not math.isnan(self.relative):
            text += f", off by {self.absolute:.1e}, {self.relative:.1e} of the largest magnitude"
            text += f", most at {list(self.index)}" if self.index else ""
        if self.before:
            text += f" (its arguments by {self.before:.1e})"
        expression = self.place.expression
        where = f"{self.place.file}:{self.place.line}, in {self.place.function}: {self.place.text}"
        return text + f"\n  {where}" + (f"\n  {expression}" if expression != self.place.text else "")


def difference_of(call: Call, kind: str, ours: str, theirs: str, **more: Any) -> Difference:
    """The difference at an operation."""
    words = [shown(arg) for arg in call.args] + [f"{name}={shown(arg)}" for name, arg in call.kwargs.items()]
    return Difference(call.name, call.place, kind, ours, theirs, ", ".join(words), **more)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _wide(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.to(torch.complex128 if numbers.is_complex() else torch.float64)


def _unlike(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The magnitude of the difference of each two elements: 0 for two NaNs and for one infinity, inf where only one of
    them is finite."""
    if a.dtype is b.dtype and not (a.is_floating_point() or a.is_complex()):
        return torch.where(a == b, 0.0, (_wide(a) - _wide(b)).abs().clamp(min=1.0))  # int64 has more digits
    a, b = _wide(a), _wide(b)
    error = (a - b).abs()
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(same, 0.0, torch.where(error.isnan(), math.inf, error))


def _scale(*numbers: torch.Tensor) -> float:
    """The largest finite magnitude."""
    found = 0.0
    for one in numbers:
        sizes = _wide(one).abs()
        sizes = sizes[torch.isfinite(sizes)]
        found = max(found, float(sizes.max()) if sizes.numel() else 0.0)
    return found


def departure(ours: Any, theirs: Any) -> tuple[float, float, tuple[int, ...]] | None:
    """The largest difference of elements, itself and relative to the largest magnitude, and where. Of booleans the part
    of the elements that differ is the relative one. None for what is not two arrays of one shape."""
    a, b = elements_of(ours), elements_of(theirs)
    if a is None or b is None or a.shape != b.shape:
        return None
    if not a.numel():
        return 0.0, 0.0, ()
    error = _unlike(a, b)
    place = int(error.argmax())
    largest = float(error.reshape(-1)[place])
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), tuple(error.shape))) if error.dim() else ()
    if a.dtype is torch.bool:
        return largest, float((error > 0).double().mean()), index
    scale = _scale(a, b)
    return largest, largest / scale if scale else largest, index


def unlike(
    ours: Any, theirs: Any, rtol: float | None, signs: bool = False
) -> tuple[float, float, tuple[int, ...]] | None:
    """As `departure`, if any element differs by more than `rtol` of itself: by default, by more than an operation's
    rounding. `signs` compares those of zeros too."""
    a, b = elements_of(ours), elements_of(theirs)
    if a is None or b is None or a.shape != b.shape or not a.numel():
        return None
    error = _unlike(a, b)
    allowed = 0.0
    if a.is_floating_point() or a.is_complex() or b.is_floating_point() or b.is_complex():
        bits = min(_bits(a), _bits(b))
        allowed = _ROUNDING[bits] if rtol is None else rtol
    size = torch.maximum(_wide(a).abs(), _wide(b).abs())
    size = torch.where(torch.isfinite(size), size, 0.0)
    if (error > allowed * size).any():
        return departure(ours, theirs)
    if not (signs and a.is_floating_point() and b.is_floating_point()):
        return None
    zeros = ((a == 0) & (b == 0) & (a.signbit() != b.signbit())).nonzero()  # of which one is negative
    return (0.0, 0.0, tuple(zeros[0].tolist())) if len(zeros) else None


def _bits(numbers: torch.Tensor) -> int:
    if not (numbers.is_floating_point() or numbers.is_complex()):
        return 64
    return int(torch.finfo(numbers.dtype).bits)


def in_words(value: Any, index: tuple[int, ...] | None = None) -> str:
    """A result in words; with an element of it, where an index is given."""
    text = shown(value)
    numbers = elements_of(value) if is_array(value) else None
    if numbers is not None and numbers.numel() and index is not None:
        element = numbers[index].item()
        text += f" {element:.10g}" if isinstance(element, float) else f" {element}"
    return text


def dtypes_of(value: Any) -> tuple[str, ...]:
    """The dtypes of the arrays in a result."""
    return tuple(name_of_dtype(array) for array in arrays_in(value))
