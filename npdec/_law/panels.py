"""Panels of the path [0, 1], on which a few nodes integrate the derivative each: where they are too few, one is split.

Whether they are enough is told by the function's change along the panel, which the integral must equal. Of a function
along one path the worst panel is split, until the errors together are within the bound (`Panels`). Where each of many
rows has a path of its own, all panels that are beyond their row's bound are split at once (`refined`).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch

__all__ = [
    "AT_A_KINK",
    "NARROWEST",
    "SPLIT",
    "Panel",
    "Panels",
    "RowPanels",
    "chosen",
    "halves",
    "path_step",
    "pieces",
    "refined",
]

SPLIT = 0.4871  # off the middle, where symmetric paths have their singularities
NARROWEST = 2.0**-44  # narrower panels differ by rounding only
AT_A_KINK = 2.0**-30  # no smooth function needs panels as narrow, but beside a singularity


def path_step(x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """x − r, which is zero where both are the same infinity (a mask)."""
    return torch.where((x == r) & torch.isinf(x), 0, x - r)


# -- one path ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Panel:
    """A piece [a, b] of the path: the function at its ends, and the error of the integral over it. `narrow` says that a
    split would leave rounding only."""

    a: Any
    b: Any
    low: Any
    high: Any
    error: float
    narrow: bool

    @property
    def priority(self) -> float:
        """Minus the error, so that a heap pops the worst."""
        return -math.inf if math.isnan(self.error) else -self.error

    @property
    def start(self) -> float:
        """Where it begins, as a number."""
        return self.a.item() if isinstance(self.a, torch.Tensor) else self.a


P = TypeVar("P", bound=Panel)


class Panels(Generic[P]):
    """The panels of one path. `measured(a, b, low, high)` makes one, `place` says where it is split, `between` what the
    function is there. There are at most `most`; where `patience` splits have not made less of the error, rounding is
    all that is left of it."""

    def __init__(
        self,
        measured: Callable[[Any, Any, Any, Any], P],
        place: Callable[[P], Any],
        between: Callable[[Any], Any],
        most: int,
        patience: float = math.inf,
    ) -> None:
        self.measured, self.place, self.between = measured, place, between
        self.most, self.patience = most, patience
        self._heap: list[tuple[float, float, P]] = []  # of equal ones the first on the path

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[P]:
        return (panel for _, _, panel in self._heap)

    def along(self) -> list[P]:
        """The panels in their order on the path."""
        return sorted(self, key=lambda panel: panel.start)

    def error(self) -> float:
        """The errors of all panels together."""
        return -math.fsum(priority for priority, _, _ in self._heap)

    def refine(self, first: P, enough: Callable[[], bool]) -> None:
        """Split the worst panel, from the first on, until it is enough or no split helps."""
        self._add(first)
        stuck = 0
        while not enough() and len(self) < self.most and stuck < self.patience:
            priority, _, panel = item = heapq.heappop(self._heap)
            if priority == -math.inf or panel.narrow:
                heapq.heappush(self._heap, item)
                return
            place = self.place(panel)
            between = self.between(place)
            halves = (
                self.measured(panel.a, place, panel.low, between),
                self.measured(place, panel.b, between, panel.high),
            )
            stuck = stuck + 1 if halves[0].priority + halves[1].priority <= 0.9 * priority else 0
            for half in halves:
                self._add(half)

    def _add(self, panel: P) -> None:
        heapq.heappush(self._heap, (panel.priority, panel.start, panel))


# -- a path for each row -----------------------------------------------------------------------------------------------


class RowPanels(NamedTuple):
    """Pieces [a, b] of the paths of rows, (n,) each."""

    row: torch.Tensor
    a: torch.Tensor
    b: torch.Tensor


class _Rows(Protocol):
    """Tensors that have an element for each panel; the first are those of `RowPanels`."""

    @property
    def a(self) -> torch.Tensor: ...

    @property
    def b(self) -> torch.Tensor: ...

    def __iter__(self) -> Iterator[torch.Tensor]: ...


R = TypeVar("R", bound=_Rows)


def chosen(panels: R, which: Any) -> R:
    """Those that a mask or a slice chooses."""
    return type(panels)(*[item[which] for item in panels])


def pieces(panels: R, size: int) -> Iterator[R]:
    """So many at a time."""
    for i in range(0, len(panels.a), size):
        yield chosen(panels, slice(i, i + size))


def halves(left: R, right: R) -> R:
    """The left and the right halves as one."""
    return type(left)(*[torch.cat(pair) for pair in zip(left, right, strict=True)])


def refined(
    panels: R, settled: Callable[[R, int], torch.Tensor], halved: Callable[[R, torch.Tensor], R]
) -> Iterator[tuple[R, torch.Tensor]]:
    """Round by round the panels, and which of them are settled; the others are halved for the next. `settled` is given
    the number of halvings, `halved` the places where to."""
    for depth in itertools.count():
        done = settled(panels, depth)
        yield panels, done
        if bool(done.all()):
            return
        rest = chosen(panels, ~done)
        panels = halved(rest, rest.a + SPLIT * (rest.b - rest.a))
