"""Contributions as text: what `x.contributions()` gives, a line for each label."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from npdec._show.words import visible

__all__ = ["Contributions"]

_DIGITS = 6


class Contributions:
    """The value, the residual, and the amount of each label; printed, a line each.

    It holds what it was made of: `value`, `residual`, `labels`, and `amounts` of shape (C, *shape). Iterating gives
    (label, amount), so that `dict` makes a dict of it; an index is a label (KeyError if there is none such).
    """

    def __init__(self, x: Any) -> None:
        self.value = x.value
        self.residual = x.residual
        self.labels: tuple[Hashable, ...] = x.labels
        self.amounts = x.components

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[tuple[Hashable, Any]]:
        return zip(self.labels, self.amounts, strict=True)

    def __getitem__(self, label: Hashable) -> Any:
        try:
            return self.amounts[self.labels.index(label)]
        except ValueError:
            raise KeyError(label) from None

    def __repr__(self) -> str:
        return "\n".join(self._numbers() if not self.value.ndim else self._arrays())

    def _numbers(self) -> list[str]:
        """The lines for a scalar: numbers aligned at the right, and what part of the change each one is."""
        amounts = self.amounts.tolist()
        change = self.value.item() - self.residual.item()
        parts = [self.value.item(), self.residual.item(), *amounts]
        texts = [f"{part:.{_DIGITS}g}" for part in parts[:2]] + [f"{part:+.{_DIGITS}g}" for part in amounts]
        shares = ["", ""] + [
            f"{100 * a / change:.1f}%" if change and not isinstance(a, complex) else "" for a in amounts
        ]
        names = self._names()
        wide, long, last = (max(map(len, column)) for column in (names, texts, shares))
        rows = zip(names, texts, shares, strict=True)
        return [f"{name:{wide}}  {text:>{long}}  {share:>{last}}".rstrip() for name, text, share in rows]

    def _arrays(self) -> list[str]:
        """The lines for an array: each row of its parts as NumPy prints it."""
        names = self._names()
        wide = max(map(len, names)) + 2
        lines = []
        for name, part in zip(names, [self.value, self.residual, *self.amounts], strict=True):
            first, *more = str(part).splitlines()
            lines += [f"{name:{wide}}{first}", *(" " * wide + line for line in more)]
        return lines

    def _names(self) -> list[str]:
        return ["value", "residual", *(visible(str(label)) for label in self.labels)]
