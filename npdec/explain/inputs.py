"""From cells to what a function is given: numbers, categories, missing cells, and the baseline that all start from."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npdec.explain.data import PIPED, Reading, read_table, row_number
from npdec.explain.errors import InputError, one_line, resolved
from npdec.explain.table import Table

__all__ = ["Cell", "Inputs", "Point", "baseline_file", "usable_columns"]

Cell = float | str  # an input as it is shown: a number, or a category
_ROW = re.compile(r"[+-]?\d{1,18}")
_MOST_CATEGORIES = 1000


@dataclass(frozen=True)
class Point:
    """Where a function is evaluated: what it is given, a number for each column or for each category of one, and the
    cells of the columns."""

    features: tuple[float, ...]
    cells: tuple[Cell, ...]


def usable_columns(table: Table, columns: Sequence[str], encode: bool) -> tuple[tuple[str, ...], list[str]]:
    """The columns that can be inputs of a function of a row, and what is to be said of those that are left out."""
    kept, left = [], {"text": [], "date": []}  # type: ignore[var-annotated]
    for name in columns:
        kind = table.kind(name).kind
        if encode or kind in ("number", "mixed"):
            kept.append(name)
        else:
            left[kind].append(name)
    said = [f"{what}: {', '.join(names)}" for what, names in (("text", left["text"]), ("dates", left["date"])) if names]
    notes = [f"left out, as {' and '.join(said)}; --encode takes such columns as categories"] if said else []
    if not kept:
        raise InputError(f"{table.path}: no column holds numbers; --encode takes text as categories")
    return tuple(kept), notes


@dataclass
class Inputs:
    """The columns that a function is given, in their order.

    A column with categories is a number for each of them, 1 for the one that a row has, and one component all together.
    `missing` is what is done about missing cells."""

    table: Table
    names: tuple[str, ...]
    categories: dict[str, tuple[str, ...]]
    missing: str | None
    filled: set[tuple[int, str]] = field(default_factory=set)

    @classmethod
    def make(cls, table: Table, names: Sequence[str], encode: bool, missing: str | None, advice: str) -> Inputs:
        """Raises InputError for a column that is neither numeric nor encoded."""
        found: dict[str, tuple[str, ...]] = {}
        for name in names:
            if encode and table.kind(name).kind != "number":
                texts = sorted(
                    {" ".join(c.split()) for i, c in enumerate(table.cells(name)) if not _gap(table, i, name)}
                )
                if len(texts) > _MOST_CATEGORIES:
                    raise InputError(
                        f"{table.path}: column {name!r} has {len(texts)} different texts; --encode takes at most "
                        f"{_MOST_CATEGORIES}; leave it out with --drop"
                    )
                found[name] = tuple(texts)
        table.check_numeric([name for name in names if name not in found], advice)
        return cls(table, tuple(names), found, missing)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many numbers stand for each column."""
        return tuple(len(self.categories[name]) if name in self.categories else 1 for name in self.names)

    def whole(self, rows: Sequence[int]) -> list[int]:
        """The rows that are explained: where missing cells are dropped, those that have all of theirs."""
        if self.missing != "drop":
            return list(rows)
        return [row for row in rows if not any(_gap(self.table, row, name) for name in self.names)]

    def point(self, row: int) -> Point:
        """What one row is. Raises InputError for a missing cell unless missing cells are filled."""
        features: list[float] = []
        cells: list[Cell] = []
        for name in self.names:
            if name in self.categories:
                cells.append(self._category(row, name))
                features += self._coded(name, str(cells[-1]))
            else:
                cells.append(self._number(row, name))
                features.append(float(cells[-1]))
        return Point(tuple(features), tuple(cells))

    def _number(self, row: int, name: str) -> float:
        if self.missing in ("mean", "median") and _gap(self.table, row, name):
            self.filled.add((row, name))
            return (_mean if self.missing == "mean" else _median)(self.table, name)
        return self.table.number(row, name)

    def _category(self, row: int, name: str) -> str:
        if not _gap(self.table, row, name):
            return " ".join(self.table.cells(name)[row].split())
        if self.missing in ("mean", "median") and self.categories[name]:
            self.filled.add((row, name))
            return _most_frequent(self.table, name)
        raise InputError(f"{self.table.place(row, name)}: the cell is empty; --missing mean, median or drop goes on")

    def _coded(self, name: str, text: str) -> list[float]:
        return [float(text == category) for category in self.categories[name]]

    # The baseline.

    def baseline(self, text: str, how: Reading) -> Point:
        """The baseline that `mean`, `median`, `zero`, a row number, or a file of one row says.

        Of categories the mean is the share of rows of each, and the median the most frequent one.
        """
        if text in ("mean", "median", "zero"):
            return self._summary(text)
        if _ROW.fullmatch(text):
            return self.point(row_number(int(text), len(self.table), "--baseline"))
        path = baseline_file(text)
        if path is None or not resolved(path).exists():
            raise InputError(f"--baseline {text}: is neither mean, median, zero, a row number, nor a file")
        other = read_table(path, how)
        if lacking := [name for name in self.names if name not in other.names]:
            raise InputError(f"{path}: has no column {lacking[0]!r}, which the baseline needs")
        if len(other) != 1:
            raise InputError(f"{path}: has {len(other)} rows; a baseline file has one")
        for name, known in self.categories.items():
            given = " ".join(other.cells(name)[0].split())
            if given not in known:
                raise InputError(
                    f"{other.place(0, name)}: {one_line(given, 60)!r} is none of the categories of the data"
                )
        return Inputs(other, self.names, self.categories, None).point(0)

    def _summary(self, word: str) -> Point:
        features: list[float] = []
        cells: list[Cell] = []
        for name in self.names:
            if name in self.categories:
                shares, cell = self._shares(name, word)
                features += shares
                cells.append(cell)
            else:
                number = 0.0 if word == "zero" else (_mean if word == "mean" else _median)(self.table, name)
                features.append(number)
                cells.append(number)
        return Point(tuple(features), tuple(cells))

    def _shares(self, name: str, word: str) -> tuple[list[float], str]:
        known = self.categories[name]
        if word == "zero" or not known:
            return [0.0] * len(known), "none"
        if word == "median":
            common = _most_frequent(self.table, name)
            return self._coded(name, common), common
        counts = _counts(self.table, name)
        total = counts.total()
        return [counts[category] / total for category in known], "the shares"


def baseline_file(text: str) -> Path | None:
    """The file that `--baseline` names, if it is none of the words and no row number."""
    return None if text in ("mean", "median", "zero") or _ROW.fullmatch(text) or Path(text) == PIPED else Path(text)


def _gap(table: Table, row: int, name: str) -> bool:
    return table.is_missing(row, name)


def _counts(table: Table, name: str) -> Counter[str]:
    return Counter(" ".join(cell.split()) for i, cell in enumerate(table.cells(name)) if not _gap(table, i, name))


def _most_frequent(table: Table, name: str) -> str:
    """The first in the alphabet where several are."""
    counts = _counts(table, name)
    return min(counts, key=lambda category: (-counts[category], category))


def _mean(table: Table, name: str) -> float:
    numbers = table.present(name)
    try:
        return statistics.fmean(numbers)
    except OverflowError:  # in the sum
        return math.fsum(number / len(numbers) for number in numbers)


def _median(table: Table, name: str) -> float:
    numbers = sorted(table.present(name))
    low, high = numbers[(len(numbers) - 1) // 2], numbers[len(numbers) // 2]
    return low / 2 + high / 2 if math.isinf(low + high) else (low + high) / 2
