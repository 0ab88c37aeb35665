"""How numbers are written in reports, plots and pages."""

from __future__ import annotations

from dataclasses import dataclass

from npdec._show.words import number
from npdec.explain.errors import InputError, one_line
from npdec.explain.inputs import Cell

__all__ = ["PLAIN", "Numbers", "cell_text"]


def cell_text(cell: Cell) -> str:
    """An input: a category, or a number in six digits."""
    if isinstance(cell, str):
        return cell
    text = format(cell, ".6g")
    return format(cell, ",.0f") if "e+" in text and abs(cell) < 1e12 else text


@dataclass(frozen=True)
class Numbers:
    """The unit of the number that is explained, and the format that was asked for, or None.

    >>> Numbers("EUR", ",.0f").total(1234.5678, 2), Numbers().text(1234.5678, 2, sign=True)
    ('1,235 EUR', '+1,234.57')
    """

    unit: str = ""
    spec: str | None = None

    @staticmethod
    def check(spec: str) -> None:
        """Raise InputError unless this is a format of floats."""
        try:
            made = format(1234.5, spec)
        except ValueError as error:
            raise InputError(f"--format {one_line(spec, 40)}: {one_line(error, 100)}") from None
        if len(made) > 60 or not any(character.isdigit() for character in made):
            raise InputError(f"--format {one_line(spec, 40)}: shows no number")

    def text(self, value: float, places: int, sign: bool = False) -> str:
        """The number in the format that was asked for, or with so many decimals."""
        if self.spec is None:
            return number(value, places, sign)
        text = format(value, self.spec).strip()
        return f"+{text}" if sign and value >= 0 and text[:1] not in "+-" else text

    def total(self, value: float, places: int, sign: bool = False) -> str:
        """The same with its unit."""
        return f"{self.text(value, places, sign)} {self.unit}".rstrip()


PLAIN = Numbers()
