"""What tables and plots are made of: the numbers of a decomposition, on the host and in double precision."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import torch

from npdec._show.words import cut, decimals, number, visible
from npdec._torch.tracing import refuse_trace

__all__ = ["Others", "Parts", "Ranked", "grid_of", "name_of", "numbers_of", "of_tensor", "on_host"]

_LENGTH = 40  # characters of a name


class Others(int):
    """The label of components that were merged: how many."""

    def __str__(self) -> str:
        return f"{int(self):,} others"

    __repr__ = __str__


class Ranked(NamedTuple):
    """The contribution of one label to one number. `share` is the fraction of the change; None where there is none."""

    name: str
    amount: Any
    share: float | None


class Parts(NamedTuple):
    """`value == residual + amounts.sum(0)`: shapes S, S and (C, *S). `what` they are of, in words for messages.

    `residual` is None where there is no baseline, as for a gradient. `grid` is the shape of the input, where each of
    its elements is a component.
    """

    what: str
    value: torch.Tensor
    residual: torch.Tensor | None
    amounts: torch.Tensor
    labels: Sequence[Hashable]
    grid: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def error(self) -> float | None:
        """What completeness misses, where it misses most: value − residual − the sum of the amounts."""
        if self.residual is None:
            return None
        missing = (self.value - self.residual - self.amounts.sum(0)).reshape(-1)
        return float(missing[missing.abs().argmax()].real) if missing.numel() else 0.0

    @property
    def relative_error(self) -> float:
        """The error, relative to the largest number that it is one of."""
        parts = [self.value, *([] if self.residual is None else [self.residual]), self.amounts]
        scale = max((float(part.abs().max()) for part in parts if part.numel()), default=0.0)
        return abs(self.error or 0.0) / scale if scale else 0.0

    @property
    def components(self) -> torch.Tensor:
        """The amounts, by the name that tensors and arrays have for them."""
        return self.amounts

    def notes(self, unit: str = "") -> str:
        """The baseline, the value and what completeness misses, in words."""
        word = f" {unit}" if unit else ""
        known = [
            (name, part) for name, part in (("baseline", self.residual), ("value", self.value)) if part is not None
        ]
        said = ", ".join(f"{name} {_span(part)}{word}" for name, part in known)
        if self.residual is None:
            return f"{said}, no baseline"
        missed = self.error
        error = (
            f"completeness error {missed:.1e} (relative {self.relative_error:.1e})"
            if missed
            else "completeness error 0"
        )
        return f"{said} · {error}"

    def real(self, name: str) -> Parts:
        """The same; TypeError if the numbers are complex."""
        if self.amounts.is_complex():
            raise TypeError(
                f"{name}: complex numbers have no bars: take the real part (x.real) or a magnitude (np.abs(x))"
            )
        return self

    def of_number(self, name: str) -> Parts:
        """The same; ValueError if they are not of one number."""
        if self.value.numel() != 1:
            raise ValueError(
                f"{name}: it shows one number, and the {self.what} has shape {self.shape}: choose one, as x[0], or "
                "reduce it, as x.sum()"
            )
        flat = (
            self.amounts.reshape(-1),
            self.value.reshape(()),
            None if self.residual is None else self.residual.reshape(()),
        )
        return self._replace(amounts=flat[0], value=flat[1], residual=flat[2])

    def of_rows(self, name: str) -> Parts:
        """The same; ValueError if they are not of a one-dimensional array."""
        if len(self.shape) != 1:
            what = "one number" if not self.shape else f"shape {self.shape}"
            advice = "x.plot.bar() shows it" if not self.shape else "choose an axis, as x[:, 0], or reduce, as x.sum(1)"
            raise ValueError(f"{name}: it shows the numbers of a 1-d array, and the {self.what} has {what}: {advice}")
        return self

    def from_baseline(self, name: str) -> torch.Tensor:
        """The residual; ValueError if there is none."""
        if self.residual is None:
            raise ValueError(f"{name}: the {self.what} has no baseline: a gradient is no bridge; plot.bar shows it")
        return self.residual

    def sizes(self) -> list[float]:
        """The sum of the magnitudes of each label's amounts; what is not a number counts as the largest."""
        sizes = self.amounts.abs().reshape(len(self.labels), -1).sum(1)
        found: list[float] = torch.nan_to_num(sizes, nan=math.inf).tolist()
        return found

    def top(self, most: int) -> Parts:
        """The `most` largest, in falling order, and the sum of all others as one more."""
        sizes = self.sizes()
        order = sorted(range(len(sizes)), key=lambda i: (isinstance(self.labels[i], Others), -sizes[i]))
        return self._chosen(order, most)

    def first_of_size(self, most: int) -> Parts:
        """The `most` largest, in the order in which they are, and the sum of all others as one more."""
        sizes = self.sizes()
        order = sorted(range(len(sizes)), key=lambda i: (isinstance(self.labels[i], Others), -sizes[i]))
        return self._chosen(sorted(order[:most]) + order[most:], most)

    def _chosen(self, order: list[int], most: int) -> Parts:
        if len(order) <= most + 1:  # a single other one is shown itself
            return self._replace(amounts=self.amounts[order], labels=[self.labels[i] for i in order])
        kept, rest = order[:most], order[most:]
        count = sum(label if isinstance(label, Others) else 1 for label in (self.labels[i] for i in rest))
        amounts = torch.cat([self.amounts[kept], self.amounts[rest].sum(0, keepdim=True)])
        return self._replace(amounts=amounts, labels=[*(self.labels[i] for i in kept), Others(count)])

    def names(self) -> list[str]:
        return [name_of(label) for label in self.labels]

    def ranked(self, most: int) -> list[Ranked]:
        """The contributions to one number, the largest first, and the others as one."""
        top = self.top(most)
        change = self.amounts.sum().item()
        certain = abs(change) > 1e-9 * float(self.amounts.abs().max()) if len(self.labels) else False
        return [
            Ranked(name, amount, (amount / change).real if certain else None)
            for name, amount in zip(top.names(), top.amounts.tolist(), strict=True)
        ]


def _span(part: torch.Tensor) -> str:
    """The number, or the least and the largest."""
    if not part.numel():
        return "of nothing"
    if part.is_complex():
        return f"{part.item():.6g}" if part.numel() == 1 else f"of magnitude {_span(part.abs())}"
    low, high = (bound.item() for bound in part.aminmax())
    places = decimals([low, high])
    return number(low, places) if low == high else f"{number(low, places)} to {number(high, places)}"


def name_of(label: Hashable, length: int = _LENGTH) -> str:
    """A label as text that can be shown."""
    return cut(visible(str(label)), length)


def on_host(numbers: torch.Tensor) -> torch.Tensor:
    """A copy of the numbers on the host, in double precision."""
    numbers = numbers.detach().cpu().resolve_conj().resolve_neg()
    return numbers.to(torch.complex128 if numbers.is_complex() else torch.float64)


def of_tensor(tensor: Any, what: str, name: str, most: int | None = None) -> Parts:
    """The parts of a decomposed tensor; with `most`, all but so many of its components merged before they are made."""
    refuse_trace(name, "call it on what the compiled function returns")
    if tensor.reverse:
        raise ValueError(f"{name}: inside np.attribute there is one component for all inputs; its result has a plot")
    labels: Sequence[Hashable] = tensor.labels
    if most is not None and len(labels) > most + 1:
        tensor = tensor.top(most, Others(len(labels) - most))
    return Parts(
        what, on_host(tensor.value), on_host(tensor.residual), on_host(tensor.components), tuple(tensor.labels)
    )


def grid_of(parts: Parts) -> tuple[int, ...] | None:
    """The shape of the input whose elements the components are, where their labels tell it."""
    if parts.grid is not None:
        return parts.grid
    indices: list[Any] = [getattr(label, "index", None) for label in parts.labels]
    if not indices or not all(isinstance(index, tuple) for index in indices) or len({*map(len, indices)}) > 1:
        return None
    shape = tuple(max(places) + 1 for places in zip(*indices, strict=True))
    return shape if math.prod(shape) == len(indices) else None


def numbers_of(given: Any, name: str) -> Any:
    """An array, tensor, data frame or list as a NumPy array of numbers; of what is decomposed, the value."""
    import numpy

    if hasattr(given, "components") and hasattr(given, "residual"):
        given = given.value
    if isinstance(given, torch.Tensor):
        given = on_host(given)
    try:
        return numpy.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: numbers are asked for, not {type(given).__name__}: {given!r:.60}") from None
