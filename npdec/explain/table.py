"""A table of cells as text: the kinds of its columns, and their numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npdec.explain.errors import InputError, quoted
from npdec.explain.numbers import MISSING, Format, affixes, is_date, resembles_number

__all__ = ["Column", "Table"]

_PLAIN = Format()


@dataclass(frozen=True)
class Column:
    """What a column holds. `kind`: "number"; "text" or "date" where no cell resembles a number; "mixed" otherwise.

    `numbers` of the first kind, NaN where a cell is missing; `unit` is what stands beside each of them; `odd` is the
    first row with a cell that is no number."""

    kind: str
    numbers: tuple[float, ...] = ()
    unit: str = ""
    odd: int = 0


@dataclass(frozen=True)
class Table:
    """Cells as text: the names of the columns, the rows, and the line of the file that each row starts at (`unit`)."""

    path: Path
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    form: Format = _PLAIN
    unit: str = "line"
    notes: tuple[str, ...] = ()
    takes: frozenset[str] = frozenset()  # which options of `Reading` say something about a file of this kind
    _kinds: dict[str, Column] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def cells(self, name: str) -> list[str]:
        place = self._places[name]
        return [row[place] for row in self.rows]

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def is_missing(self, row: int, name: str) -> bool:
        return self.rows[row][self._places[name]].strip().lower() in MISSING

    def kind(self, name: str) -> Column:
        """What the column holds, found when it is first asked for."""
        if name not in self._kinds:
            self._kinds[name] = self._kind(self.cells(name))
        return self._kinds[name]

    def _kind(self, cells: Sequence[str]) -> Column:
        found = [self.form.number(cell) for cell in cells]
        numbers = tuple(number for number in found if number is not None)
        if len(numbers) == len(cells):
            return Column("number", numbers)
        if with_unit := affixes(cells, self.form):
            return Column("number", tuple(with_unit[1]), with_unit[0])
        odd = [i for i, number in enumerate(found) if number is None]
        present = any(number is not None and not math.isnan(number) for number in found)
        if not present and all(is_date(cells[i]) for i in odd):
            return Column("date", odd=odd[0])
        if not present and not any(resembles_number(cells[i]) for i in odd):
            return Column("text", odd=odd[0])
        return Column("mixed", odd=odd[0])

    def place(self, row: int, name: str) -> str:
        return f"{self.path}, {self.unit} {self.lines[row]}, column {name!r}"

    def number(self, row: int, name: str) -> float:
        """One cell as a finite number. Raises InputError naming line and column."""
        column = self.kind(name)
        if column.numbers and math.isfinite(column.numbers[row]):
            return column.numbers[row]
        text = self.rows[row][self._places[name]].strip()
        number = column.numbers[row] if column.numbers else self.form.number(text)
        if number is None:
            raise InputError(f"{self.place(row, name)}: {quoted(text, 80)} is not a number")
        if math.isnan(number):
            what = "the cell is empty" if not text else f"{text!r} is a missing value"
            raise InputError(f"{self.place(row, name)}: {what}; --missing mean, median or drop goes on without it")
        if math.isinf(number):
            raise InputError(f"{self.place(row, name)}: {quoted(text, 80)} is not finite as a float64")
        return number

    def numbers(self, row: int, names: Sequence[str]) -> list[float]:
        return [self.number(row, name) for name in names]

    def column(self, name: str) -> list[float]:
        """All numbers of a column. Raises InputError for a cell that is missing or no finite number."""
        return [self.number(row, name) for row in range(len(self))]

    def present(self, name: str) -> list[float]:
        """The numbers of a column where there are some. Raises InputError if there are none, or one is not finite."""
        numbers = [number for number in self.kind(name).numbers if not math.isnan(number)]
        if self.rows and not numbers and self.kind(name).kind == "number":
            raise InputError(f"{self.path}: column {name!r} has no number whose mean or median could be taken")
        if not numbers or not all(map(math.isfinite, numbers)):
            return self.column(name)  # which says where and why
        return numbers

    def check_numeric(self, names: Sequence[str], advice: str) -> None:
        """Raise InputError, ending in the advice, for the first of these columns with a cell that is text.

        Missing values may pass.
        """
        for name in names:
            column = self.kind(name)
            if column.kind != "number":
                cell = self.cells(name)[column.odd].strip()
                if "," in cell and resembles_number(cell):
                    advice = "; say whether commas are decimal, with --decimal , or --decimal ."
                elif column.kind == "text":
                    advice = f"; --encode takes text as categories{advice}"
                where = f"{self.unit} {self.lines[column.odd]} has {quoted(cell, 60)}"
                raise InputError(f"{self.path}: column {name!r} is not numeric ({where}){advice}")
