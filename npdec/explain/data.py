"""The data of the command: a file or what is piped in, the columns and the rows of it that are explained.

Text is read with Python's `csv` module alone, so that every message can name the line and the column of what is wrong;
`formats` reads other files.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npdec.explain.errors import InputError, counted, one_line, quoted
from npdec.explain.formats import is_workbook, read_binary, unpacked
from npdec.explain.numbers import Format, found_format
from npdec.explain.table import Table

__all__ = ["PIPED", "Reading", "read_table", "row_number", "select_columns", "select_rows"]

PIPED = Path("-")  # standard input
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
          codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How a file is read: what `--encoding`, `--decimal` and `--sheet` say; None where the file itself decides."""

    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError):
                raise InputError(f"--encoding {one_line(self.encoding, 60)}: there is no such encoding") from None


def read_table(path: Path, how: Reading = Reading()) -> Table:
    """Read a table whose first line names its columns: CSV separated by comma, semicolon, tab or bar, in UTF-8, with a
    mark in UTF-16 or UTF-32, or in the encoding that is named; Parquet, Feather, Excel and `.npy`; any of them by gzip.

    Empty lines are passed over. Raises InputError for a file that cannot be read, that has no header or no rows, or a
    row of another length than the header.
    """
    content = unpacked(path, _content(path))
    cells = read_binary(path, content, how.sheet)
    if cells is None:
        names, rows, lines = _read_text(path, _decoded(path, content, how.encoding))
    else:
        names, rows = cells
        if not names:
            raise InputError(f"{path}: has no columns")
        names, lines = list(_header(path, names, "")), list(range(len(rows)))
    if not rows:
        raise InputError(f"{path}: has {'a header and ' * (cells is None)}no rows")
    unit, notes = ("line" if cells is None else "row"), []
    keep = _without_empty(names, rows)
    if len(keep) < len(names):
        names, rows = [names[i] for i in keep], [tuple(row[i] for i in keep) for row in rows]
    if how.decimal:
        form = Format(how.decimal, True)
    elif cells is None:
        form, shown = found_format(rows)
        if shown:
            notes.append(f"commas are decimal, as in {quoted(shown[1], 40)} (line {lines[shown[0]]}); --decimal . "
                         "reads them as separators")  # fmt: skip
    else:
        form = Format()
    takes = {"encoding", "decimal"} if cells is None else {"decimal", "sheet"} if is_workbook(content) else {"decimal"}
    return Table(path, tuple(names), tuple(rows), tuple(lines), form, unit, tuple(notes), frozenset(takes))


def _content(path: Path) -> bytes:
    try:
        if path == PIPED:
            if sys.stdin is None or sys.stdin.closed:
                raise InputError("standard input is closed")
            return sys.stdin.buffer.read()
        mode = path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(f"{path}: is a device, not a CSV file")
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory, not a CSV file") from None
    except (OSError, ValueError) as error:  # a name with a null character
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _decoded(path: Path, content: bytes, encoding: str | None) -> str:
    used = encoding or next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(used).removeprefix("\ufeff")
        if used == "utf-8" and "\0\0" not in text[:400] and text[:400].count("\0") > len(text[:400]) // 4:
            likely = "utf-16-be" if text.startswith("\0") else "utf-16-le"
            raise InputError(f"{path}: looks like UTF-16 without a mark; say so by --encoding {likely}")
        if "\0\0" in text[:400]:
            raise InputError(f"{path}: is no text, and of no kind that is known; save the table as CSV or Parquet")
        return text
    except UnicodeDecodeError as error:
        what = "UTF-8" if used.startswith("utf-8") else used
        advice = "" if encoding else "; say its encoding, as in --encoding cp1252, or save it as CSV in UTF-8"
        raise InputError(f"{path}: is not text in {what} (byte {error.start}){advice}") from None
    except (LookupError, ValueError, TypeError) as error:  # an encoding of something else than text
        raise InputError(f"{path}: cannot be decoded: {one_line(error, 100)}") from None


def _read_text(path: Path, text: str) -> tuple[list[str], list[tuple[str, ...]], list[int]]:
    """The names, the rows, and the line that each starts at."""
    if text.lstrip()[:1] in ("{", "[") and '"' in text[:200] and ":" in text[:200]:
        raise InputError(f"{path}: looks like JSON; save the table as CSV or Parquet")
    if text.lstrip()[:100].lower().startswith(("<!doctype", "<html", "<?xml")):
        what = "XML" if text.lstrip().startswith("<?xml") and "<html" not in text[:1000] else "a web page"
        raise InputError(f"{path}: looks like {what}, not a table")
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    start = 1
    if told := re.match(r"\s*sep=(.)\s*\r?\n", text):  # as spreadsheets write it
        start, text = start + text[: told.end()].count("\n"), text[told.end() :]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=told[1] if told else _delimiter(text), strict=True)
    skipped = start - 1
    longest = csv.field_size_limit()
    try:
        csv.field_size_limit(max(longest, len(text) + 1))  # of the process; a report may stand in a cell
        for row in reader:
            if len(row) > 1 or (row and (row[0].strip() or (rows and len(rows[0]) == 1))):
                rows.append(tuple(row))
                lines.append(start)
            start = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise InputError(f"{path}, line {start}: is not valid CSV: {error}") from None
    finally:
        csv.field_size_limit(longest)
    if not rows:
        raise InputError(f"{path}: the file is empty")
    names = _header(path, rows[0], f", line {lines[0]}")
    for cells, line in zip(rows[1:], lines[1:]):
        if len(cells) != len(names):
            said = f"has {counted(len(cells), 'cell')}, but the header names {counted(len(names), 'column')}"
            if len(names) == 1 and (names[0].startswith("#") or all(len(other) > 1 for other in rows[1:])):
                said += f" ({quoted(names[0], 40)}); take out the lines before the names"
            raise InputError(f"{path}, line {line}: {said}")
    if len(names) == 1 and _is_of_words(rows):
        raise InputError(f"{path}: has one column, {quoted(names[0], 60)}, of several words; columns are separated "
                         "by commas, semicolons, tabs or bars")  # fmt: skip
    return list(names), rows[1:], lines[1:]


def _is_of_words(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the cells of one column, its name among them, are as many words each, some of them numbers, which are no
    number together."""
    words = [row[0].split() for row in rows]
    numbers = Format().number
    return len(words) > 1 and 1 < len(words[0]) and len({*map(len, words)}) == 1 and all(
        numbers(row[0]) is None and any(numbers(word) is not None for word in found)
        for row, found in zip(rows[1:], words[1:])
    )  # fmt: skip


def _delimiter(text: str) -> str:
    header = next((line for line in text.splitlines() if line.strip()), "")
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t|", key=bare.count)


def _header(path: Path, cells: Sequence[str], place: str) -> tuple[str, ...]:
    if place and all(Format().number(cell) is not None and cell.strip() for cell in cells):
        raise InputError(f"{path}{place}: holds numbers only; the first line must name the columns")
    names = tuple(" ".join(cell.split()) or f"column {i}" for i, cell in enumerate(cells, 1))
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path}{place}: two columns are named {quoted(name, 80)}")
        seen.add(name)
    return names


def _without_empty(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[int]:
    """The places of all columns but those that have neither a name nor a cell, as spreadsheets leave them."""
    bare = re.compile(r"column \d+|Unnamed: \d+")
    empty = [i for i, name in enumerate(names) if bare.fullmatch(name) and not any(row[i].strip() for row in rows)]
    return [i for i in range(len(names)) if i not in empty] if len(empty) < len(names) else list(range(len(names)))


def select_columns(table: Table, columns: Sequence[str] | None, drop: Sequence[str]) -> tuple[str, ...]:
    """The input columns: those asked for in that order, or all; without the dropped ones."""
    for name in (*(columns or ()), *drop):
        if name not in table.names:
            raise InputError(f"{table.path}: has no column {name!r}; it has {one_line(', '.join(table.names), 200)}")
    if columns is not None and not columns:
        raise InputError("--columns names no column")
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
            rows.append(row_number(bounds[0] or 0, count, "--row"))
            continue
        if len(bounds) == 3 and bounds[2] == 0:
            raise InputError(f"--row {text}: the step is zero")
        picked = range(count)[slice(*bounds)]
        if not picked:
            raise InputError(f"--row {text}: {part} selects none of the {counted(count, 'row')}")
        rows.extend(picked)
    return rows


def row_number(number: int, count: int, option: str) -> int:
    if not -count <= number < count:
        raise InputError(f"{option} {number}: the data has {counted(count, 'row')}, numbered 0 to {count - 1}")
    return number % count
