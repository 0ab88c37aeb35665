"""Categories of a column: what stands in its cells, with a number for each, 1 for the one that a row has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Categories"]

_GAP, _OTHER = "missing", "another"


@dataclass(frozen=True)
class Categories:
    """The texts of categories, in their order. `numbers` has what is to be compared as a number; `gap` and `other` are
    the texts that stand for a missing cell, and for all that is none of the others, where that is a category."""

    texts: tuple[str, ...]
    numbers: tuple[float | None, ...] = ()
    gap: str | None = None
    other: str | None = None

    @classmethod
    def of_values(cls, values: Sequence[object], open_to_others: bool) -> Categories:
        """Those that a fitted encoder has: texts, numbers, and NaN or None for a missing cell."""
        texts: list[str] = []
        numbers: list[float | None] = []
        gap = None
        for value in values:
            number = float(value) if isinstance(value, (int, float)) else None
            if value is None or (number is not None and math.isnan(number)):
                gap = _free(_GAP, texts)
                texts.append(gap)
                numbers.append(None)
                continue
            texts.append(" ".join(str(value).split()) if number is None else f"{number:.15g}")
            numbers.append(number)
        other = _free(_OTHER, texts) if open_to_others else None
        return cls(
            (*texts, other) if other else tuple(texts), (*numbers, None) if other else tuple(numbers), gap, other
        )

    def __len__(self) -> int:
        return len(self.texts)

    def named(self, text: str, number: float | None) -> str | None:
        """The category of a cell that is not missing, and may be a number; None if there is none."""
        if number is not None and number in self.numbers:
            return self.texts[self.numbers.index(number)]
        cell = " ".join(text.split())
        known = cell in self.texts and cell not in (self.gap, self.other)
        return cell if known and not (self.numbers and self.numbers[self.texts.index(cell)] is not None) else self.other

    def coded(self, category: str) -> list[float]:
        """The numbers that stand for a category."""
        return [float(category == text) for text in self.texts]


def _free(text: str, taken: Sequence[str]) -> str:
    while text in taken:
        text = f"({text})"
    return text
