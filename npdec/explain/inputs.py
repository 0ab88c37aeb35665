"""From cells to what a function is given: numbers, categories, missing cells, and the baseline that all start from."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from npdec.explain.categories import Categories
from npdec.explain.data import PIPED, Reading, read_table, row_number
from npdec.explain.errors import InputError, counted, quoted, resolved
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
    categories: dict[str, Categories]
    missing: str | None
    fills: Mapping[str, Cell] = field(default_factory=dict)
    filled: set[tuple[int, str]] = field(default_factory=set)
    filled_by_model: set[tuple[int, str]] = field(default_factory=set)

    @classmethod
    def make(
        cls,
        table: Table,
        names: Sequence[str],
        encode: bool,
        missing: str | None,
        advice: str,
        known: Mapping[str, Categories] = MappingProxyType({}),
        fills: Mapping[str, Cell] = MappingProxyType({}),
    ) -> Inputs:
        """Raises InputError for a column that is neither numeric nor encoded. `known` and `fills` are what a model says
        of the categories of its columns, and of missing cells."""
        found = dict(known)
        for name in names:
            if encode and name not in found and table.kind(name).kind != "number":
                texts = sorted(
                    {" ".join(c.split()) for i, c in enumerate(table.cells(name)) if not _gap(table, i, name)}
                )
                if len(texts) > _MOST_CATEGORIES:
                    raise InputError(
                        f"{table.path}: column {name!r} has {len(texts)} different texts; --encode takes at most "
                        f"{_MOST_CATEGORIES}; leave it out with --drop"
                    )
                found[name] = Categories(tuple(texts))
        table.check_numeric([name for name in names if name not in found], advice)
        return cls(table, tuple(names), found, missing, fills)

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

    def cells(self, row: int) -> list[Cell | None]:
        """What a row holds: numbers, categories, and None where the model itself fills a missing cell."""
        cells = self.point(row).cells
        return [None if (row, name) in self.filled_by_model else cell for name, cell in zip(self.names, cells)]

    def _number(self, row: int, name: str) -> float:
        if (self.missing or self.fills) and _gap(self.table, row, name):
            if self.missing in ("mean", "median"):
                self.filled.add((row, name))
                return (_mean if self.missing == "mean" else _median)(self.table, name)
            if name in self.fills:
                self.filled_by_model.add((row, name))
                return float(self.fills[name])
        return self.table.number(row, name)

    def _category(self, row: int, name: str) -> str:
        known = self.categories[name]
        if not _gap(self.table, row, name):
            text = self.table.cells(name)[row]
            found = known.named(text, self.table.form.number(text) if known.numbers else None)
            if found is None:
                whose = "the model" if known.numbers else "the data"
                raise InputError(f"{self.table.place(row, name)}: {quoted(text.strip(), 60)} is none of the "
                                 f"categories of {whose}")  # fmt: skip
            return found
        if self.missing in ("mean", "median") and known.texts:
            self.filled.add((row, name))
            return self._most_frequent(name)
        if name in self.fills:
            self.filled_by_model.add((row, name))
            value = self.fills[name]
            return known.named(str(value), value if isinstance(value, (int, float)) else None) or str(value)
        if known.gap is not None:
            return known.gap
        raise InputError(f"{self.table.place(row, name)}: the cell is empty; --missing mean, median or drop goes on")

    def _coded(self, name: str, text: str) -> list[float]:
        return self.categories[name].coded(text)

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
            raise InputError(f"{path}: has {counted(len(other), 'row')}; a baseline file has one")
        return Inputs(other, self.names, self.categories, None, self.fills).point(0)

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
        if word == "zero" or not known.texts:
            return [0.0] * len(known), "none"
        if word == "median":
            common = self._most_frequent(name)
            return self._coded(name, common), common
        counts = self._counts(name)
        total = counts.total()
        return [counts[category] / total for category in known.texts], "the shares"

    def _counts(self, name: str) -> Counter[str]:
        """How many cells have each category. Missing cells count where they are one."""
        known, table = self.categories[name], self.table
        rows = [row for row in range(len(table)) if known.gap is not None or not _gap(table, row, name)]
        return Counter(self._category(row, name) for row in rows)

    def _most_frequent(self, name: str) -> str:
        """The first in the alphabet where several are."""
        counts = self._counts(name)
        return min(counts, key=lambda category: (-counts[category], category))


def baseline_file(text: str) -> Path | None:
    """The file that `--baseline` names, if it is none of the words and no row number."""
    return None if text in ("mean", "median", "zero") or _ROW.fullmatch(text) or Path(text) == PIPED else Path(text)


def _gap(table: Table, row: int, name: str) -> bool:
    return table.is_missing(row, name)


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
