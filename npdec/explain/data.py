"""The data of the command: a CSV file, the rows of it that are explained, and the baseline that they start from.

Only Python's `csv` module is used, so that every message can name the line and the column of what is wrong.
"""

from __future__ import annotations

import csv
import io
import math
import re
import stat
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npdec.explain.errors import InputError, one_line, resolved

__all__ = ["Table", "baseline_file", "read_baseline", "read_table", "select_columns", "select_rows"]

_MISSING = {"", "na", "n/a", "nan", "null", "none", "-nan", "+nan"}
_ROW = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Table:
    """A CSV file as text: the names of its columns, its rows, and the line of the file that each row starts at."""

    path: Path
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def number(self, row: int, name: str) -> float:
        """One cell as a finite number. Raises InputError naming line and column."""
        text = self.rows[row][self.names.index(name)].strip()
        number = _parse(text)
        place = f"{self.path}, line {self.lines[row]}, column {name!r}"
        if number is None:
            raise InputError(f"{place}: {one_line(text, 80)!r} is not a number")
        if math.isnan(number):
            raise InputError(f"{place}: {'the cell is empty' if not text else f'{text!r} is a missing value'}")
        if math.isinf(number):
            raise InputError(f"{place}: {text!r} is not finite as a float64")
        return number

    def numbers(self, row: int, names: Sequence[str]) -> list[float]:
        return [self.number(row, name) for name in names]

    def column(self, name: str) -> list[float]:
        return [self.number(row, name) for row in range(len(self))]

    def check_numeric(self, names: Sequence[str], advice: str) -> None:
        """Raise InputError, ending in the advice, for the first of these columns with a cell that is text.

        Missing values may pass.
        """
        for name in names:
            place = self.names.index(name)
            for row, line in zip(self.rows, self.lines):
                if _parse(row[place]) is None:
                    cell = one_line(row[place].strip(), 60)
                    raise InputError(f"{self.path}: column {name!r} is not numeric (line {line} has {cell!r}){advice}")


def _parse(text: str) -> float | None:
    """The number that a cell holds; NaN for a missing value, None for text."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    if text.lower() in _MISSING:
        return math.nan
    if text.lower().lstrip("+-") in {"inf", "infinity"}:
        return -math.inf if text.startswith("-") else math.inf
    return None


def read_table(path: Path) -> Table:
    """Read a CSV file with a header line: comma, semicolon or tab separated, in UTF-8 with or without a mark.

    Empty lines are passed over. Raises InputError for a file that cannot be read, that has no header or no rows, or a
    row of another length than the header.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(f"{path}: is a device, not a CSV file")
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory, not a CSV file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not text in UTF-8 (byte {error.start}); save it as CSV in UTF-8") from None
    except (OSError, ValueError) as error:  # a name with a null character
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None

    reader = csv.reader(io.StringIO(text), delimiter=_delimiter(text), strict=True)
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    start = 1
    try:
        for row in reader:
            if len(row) > 1 or (row and (row[0].strip() or (rows and len(rows[0]) == 1))):
                rows.append(tuple(row))
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {start}: is not valid CSV: {error}") from None

    if not rows:
        raise InputError(f"{path}: the file is empty")
    names = _header(path, rows[0], lines[0])
    for cells, line in zip(rows[1:], lines[1:]):
        if len(cells) != len(names):
            raise InputError(f"{path}, line {line}: has {len(cells)} cells, but the header names {len(names)} columns")
    if len(rows) == 1:
        raise InputError(f"{path}: has a header and no rows")
    return Table(path, names, tuple(rows[1:]), tuple(lines[1:]))


def _delimiter(text: str) -> str:
    header = next((line for line in text.splitlines() if line.strip()), "")
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t", key=bare.count)


def _header(path: Path, cells: Sequence[str], line: int) -> tuple[str, ...]:
    if all(_parse(cell) is not None and cell.strip() for cell in cells):
        raise InputError(f"{path}, line {line}: holds numbers only; the first line must name the columns")
    names = tuple(" ".join(cell.split()) or f"column {i}" for i, cell in enumerate(cells, 1))
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}, line {line}: two columns are named {name!r}")
    return names


def select_columns(table: Table, columns: Sequence[str] | None, drop: Sequence[str]) -> tuple[str, ...]:
    """The input columns: those asked for in that order, or all; without the dropped ones."""
    for name in (*(columns or ()), *drop):
        if name not in table.names:
            raise InputError(f"{table.path}: has no column {name!r}; it has {', '.join(table.names)}")
    if columns and len(set(columns)) < len(columns):
        raise InputError("--columns names a column twice")
    chosen = tuple(name for name in columns or table.names if name not in drop)
    if not chosen:
        raise InputError("no column is left as an input")
    return chosen


def select_rows(text: str, count: int) -> list[int]:
    """Row numbers from `7`, `3,5,8`, `0:10`, `-3:` or `all`; counted from 0, from the end where negative.

    >>> select_rows("0:3,-1", 10)
    [0, 1, 2, 9]
    """
    if text.strip() == "all":
        return list(range(count))
    rows: list[int] = []
    for part in text.split(","):
        numbers = part.strip().split(":")
        if len(numbers) > 3 or not all(re.fullmatch(r"-?\d{1,18}", n) or (not n and len(numbers) > 1) for n in numbers):
            raise InputError(f"--row {text}: {part!r} is no row number; give 7, or 3,5,8, or 0:10, or all")
        bounds = [int(number) if number else None for number in numbers]
        if len(bounds) == 1:
            rows.append(_row(bounds[0] or 0, count, "--row"))
            continue
        if len(bounds) == 3 and bounds[2] == 0:
            raise InputError(f"--row {text}: the step is zero")
        picked = range(count)[slice(*bounds)]
        if not picked:
            raise InputError(f"--row {text}: {part} selects none of the {count} rows")
        rows.extend(picked)
    return rows


def _row(number: int, count: int, option: str) -> int:
    if not -count <= number < count:
        raise InputError(f"{option} {number}: the data has {count} rows, numbered 0 to {count - 1}")
    return number % count


def baseline_file(text: str) -> Path | None:
    """The file that `--baseline` names, if it is none of the words and no row number."""
    return None if text in ("mean", "median", "zero") or _ROW.fullmatch(text) else Path(text)


def read_baseline(text: str, table: Table, names: Sequence[str]) -> list[float]:
    """The baseline of each named column, from `mean`, `median`, `zero`, a row number, or a CSV file of one row."""
    if text == "zero":
        return [0.0] * len(names)
    if text == "mean":
        return [_mean(table, name) for name in names]
    if text == "median":
        return [_median(table, name) for name in names]
    if _ROW.fullmatch(text):
        return table.numbers(_row(int(text), len(table), "--baseline"), names)
    path = baseline_file(text)
    if path is None or not resolved(path).exists():
        raise InputError(f"--baseline {text}: is neither mean, median, zero, a row number, nor a file")
    other = read_table(path)
    missing = [name for name in names if name not in other.names]
    if missing:
        raise InputError(f"{path}: has no column {missing[0]!r}, which the baseline needs")
    if len(other) != 1:
        raise InputError(f"{path}: has {len(other)} rows; a baseline file has one")
    return other.numbers(0, names)


def _mean(table: Table, name: str) -> float:
    numbers = table.column(name)
    try:
        return statistics.fmean(numbers)
    except OverflowError:  # in the sum
        return math.fsum(number / len(numbers) for number in numbers)


def _median(table: Table, name: str) -> float:
    numbers = sorted(table.column(name))
    low, high = numbers[(len(numbers) - 1) // 2], numbers[len(numbers) // 2]
    return low / 2 + high / 2 if math.isinf(low + high) else (low + high) / 2
