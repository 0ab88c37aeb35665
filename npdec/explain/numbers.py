"""How numbers are written in a table: the decimal mark, groups of three digits, units, and what stands for none."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Format", "affixes", "found_format", "is_date", "resembles_number"]

MISSING = {"", "na", "n/a", "nan", "null", "none", "-nan", "+nan", "<na>", "#n/a", "#na", "nat"}
_TRUTH = {"true": 1.0, "false": 0.0}
_SIGN = "[+\u2212-]"  # typeset tables have the minus sign of formulas
_SPACES = " \u00a0\u202f'\u2019"  # between groups of digits, beside the mark that is not the decimal one
_DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2})|\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*"
    r"|\d{1,2}[-/ .][A-Za-z]{3,9}[-/ .]\d{2,4}|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)"
)
_RESEMBLES = re.compile(rf"{_SIGN}?(0[xX][\da-fA-F]+|\d[\d_.,{_SPACES}]*([eE][+-]?\d*)?\s*%?|[.,]\d+)")
_CURRENCY = "$€£¥₹"
_AFFIXED = re.compile(
    rf"(?P<sign>{_SIGN}?)(?P<before>[{_CURRENCY}]|[A-Z]{{3}}\s)?\s*(?P<number>[^A-Za-z%°{_CURRENCY}]*\d)"
    rf"\s*(?P<after>(?:[A-Za-z%°µμ{_CURRENCY}][^\d\s]*)?)"
)
# Numbers that leave no doubt about which mark is the decimal one.
_COMMA = re.compile(rf"{_SIGN}?(\d{{1,3}}([.{_SPACES}]\d{{3}})+,\d+|0,\d+|\d{{4,}},\d+|\d+,(\d{{1,2}}|\d{{4,}}))")
_POINT = re.compile(
    rf"{_SIGN}?(\d{{1,3}}([,{_SPACES}]\d{{3}})+\.\d+|\d{{1,3}}(,\d{{3}}){{2,}}|0?\.\d+|\d{{4,}}\.\d+|\d+\.(\d{{1,2}}|\d{{4,}}))"
)


@dataclass(frozen=True)
class Format:
    """The decimal mark of a table; `grouped` where the other mark is known to separate groups of three digits."""

    decimal: str = "."
    grouped: bool = False
    _plain: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _grouped: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        mark, other = re.escape(self.decimal), "," if self.decimal == "." else "."
        groups = _SPACES + other * self.grouped
        plain = rf"[+-]?(\d+{mark}?\d*|{mark}\d+)([eE][+-]?\d+)?"
        object.__setattr__(self, "_plain", re.compile(plain))
        object.__setattr__(self, "_grouped", re.compile(rf"[+-]?\d{{1,3}}([{groups}])\d{{3}}(\1\d{{3}})*({mark}\d*)?"))

    def number(self, text: str) -> float | None:
        """The number that a cell holds; NaN for a missing value, None for text."""
        text = text.strip().replace("\u2212", "-")
        if self._plain.fullmatch(text):
            return float(text if self.decimal == "." else text.replace(",", "."))
        word = text.lower()
        if word in MISSING:
            return math.nan
        if word.lstrip("+-") in {"inf", "infinity"}:
            return -math.inf if text.startswith("-") else math.inf
        if found := self._grouped.fullmatch(text):
            return float(text.replace(found[1], "").replace(self.decimal, "."))
        return _TRUTH.get(word)


def found_format(rows: Iterable[Iterable[str]]) -> tuple[Format, tuple[int, str] | None]:
    """The format of a table, and where it is not the usual one a cell that says so, with its row.

    Commas are decimal where some number can mean nothing else and none says that points are.
    """
    comma: tuple[int, str] | None = None
    point = grouped = False
    for i, row in enumerate(rows):
        for cell in row:
            if "," in cell and not (comma and point):
                text = _without_unit(cell.strip())
                if _COMMA.fullmatch(text):
                    comma = comma or (i, text)
                elif _POINT.fullmatch(text):
                    point = grouped = True
            elif "." in cell and not point and _POINT.fullmatch(_without_unit(cell.strip())):
                point = True
        if point and comma:
            return Format(), None
    if comma:
        return Format(",", True), comma
    return Format(".", grouped), None


def _without_unit(text: str) -> str:
    """The number of a cell that has a unit beside it; any other as it is."""
    if text[-1:].isdecimal() and text.lstrip("+-\u2212.,")[:1].isdecimal():
        return text
    found = _AFFIXED.fullmatch(text)
    return found["sign"] + found["number"].strip() if found else text


def is_date(text: str) -> bool:
    return _DATE.fullmatch(text.strip()) is not None


def resembles_number(text: str) -> bool:
    """Whether a cell that is no number could have been meant as one."""
    return _RESEMBLES.fullmatch("".join(filter(str.isprintable, text)).strip()) is not None


def affixes(cells: Iterable[str], form: Format) -> tuple[str, list[float]] | None:
    """The unit that all cells of a column have beside a number, `$` or `kg` or `%`, and the numbers as they are
    written; None if they have none, or not the same."""
    units: set[tuple[str, str]] = set()
    numbers: list[float] = []
    for cell in cells:
        text = cell.strip()
        if text.lower() in MISSING:
            numbers.append(math.nan)
            continue
        match = _AFFIXED.fullmatch(text)
        number = form.number(match["sign"] + match["number"].strip()) if match else None
        if match is None or number is None:
            return None
        units.add(((match["before"] or "").strip(), match["after"]))
        if len(units) > 1:
            return None
        numbers.append(number)
    if len(units) != 1 or units == {("", "")}:
        return None
    return "".join(units.pop()), numbers
