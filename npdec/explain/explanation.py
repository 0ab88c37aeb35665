"""What is said of a row: the bridge from the value at the baseline to the value, in contributions of the columns."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from npdec.explain.inputs import Cell

__all__ = ["Contribution", "Explanation", "OverRows", "over_rows"]

_VISIBLE = 1e-9  # relative to the numbers of the bridge: what is smaller is rounding


@dataclass(frozen=True)
class Contribution:
    """One line of the table. `share` is the fraction of the whole change; None where nothing changes."""

    name: str
    input: Cell
    baseline: Cell
    contribution: float
    share: float | None


@dataclass(frozen=True)
class Explanation:
    """The bridge of one row: `value == baseline_value + not_attributed + sum + error`.

    `residual` is what the law starts from. It is the function's value at the baseline unless a branch, a mask or a sort
    order differs between the two (the row's selection holds on the whole path) or the rule says so; that difference is
    `not_attributed`. `group` is the cell of the column by which rows are grouped.
    """

    row: int
    title: str
    names: tuple[str, ...]
    inputs: tuple[Cell, ...]
    baselines: tuple[Cell, ...]
    contributions: tuple[float, ...]
    value: float
    baseline_value: float
    residual: float
    group: str | None = None

    @property
    def change(self) -> float:
        return self.value - self.baseline_value

    @property
    def sum(self) -> float:
        return math.fsum(self.contributions)

    def has_finite_sums(self) -> bool:
        """Whether all sums of the numbers, in any order, can be written as a float64."""
        numbers = (*self.contributions, self.value, self.baseline_value, self.residual)
        return math.isfinite(sum(map(abs, numbers)))

    @property
    def scale(self) -> float:
        """The largest of the numbers between which the bridge runs."""
        return max(abs(self.value), abs(self.baseline_value), abs(self.residual))

    @property
    def not_attributed(self) -> float:
        """`residual - baseline_value`, or 0.0 where that is rounding."""
        gap = self.residual - self.baseline_value
        return gap if abs(gap) > _VISIBLE * max(self.scale, *map(abs, self.contributions)) else 0.0

    @property
    def error(self) -> float:
        """The completeness error, `value - residual - sum`."""
        return math.fsum((self.value, -self.residual, *(-c for c in self.contributions)))

    @property
    def relative_error(self) -> float:
        return abs(self.error) / self.scale if self.scale else 0.0

    @functools.cached_property
    def _has_shares(self) -> bool:
        return abs(self.change) > _VISIBLE * max(self.scale, *map(abs, self.contributions))

    def share(self, contribution: float) -> float | None:
        return contribution / self.change if self._has_shares else None

    def ranked(self) -> list[Contribution]:
        """The contributions, largest magnitude first; equal ones in the order of the columns."""
        lines = [
            Contribution(*line, self.share(line[-1]))
            for line in zip(self.names, self.inputs, self.baselines, self.contributions)
        ]
        return sorted(lines, key=lambda line: -abs(line.contribution))


class OverRows(NamedTuple):
    """What a column contributes to rows: the mean of the magnitudes, and mean, least and most."""

    name: str
    size: float
    mean: float
    least: float
    most: float


def over_rows(explanations: Sequence[Explanation], most: int | None = None) -> list[OverRows]:
    """The columns of all rows, ranked by their mean magnitude; with `most`, all but so many as one."""
    names, moves = explanations[0].names, [item.contributions for item in explanations]
    columns = sorted(map(_over, names, zip(*moves, strict=True)), key=lambda pair: -pair[0].size)
    shown = [column for column, _ in columns[:most]]
    if left := [moves for _, moves in columns[len(shown) :]]:
        shown.append(_over(f"{len(left)} others", [math.fsum(move) for move in zip(*left, strict=True)])[0])
    return shown


def _over(name: str, moves: Sequence[float]) -> tuple[OverRows, Sequence[float]]:
    """A column, and its contribution to each row."""
    size, mean = (math.fsum(n / len(moves) for n in numbers) for numbers in (map(abs, moves), moves))
    return OverRows(name, size, mean, min(moves), max(moves)), moves
