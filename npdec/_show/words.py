"""Numbers and names as text, for tables and plots."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["cut", "decimals", "number", "percent", "visible"]


def visible(text: str) -> str:
    """The text with what a terminal would obey, and not show, written out: control characters, escape sequences, marks
    that reverse the direction of writing, bytes that are no text.

    >>> print(visible("a\\x1b[31mb"))
    a\\x1b[31mb
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cut(text: str, width: int) -> str:
    """The text, its end left out where it is longer than that many characters.

    >>> cut("a long name", 7)
    'a long…'
    """
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def decimals(numbers: Iterable[float]) -> int:
    """How many decimals show four digits of the largest number; -1 where only an exponent keeps it short."""
    largest = max((abs(n) for n in numbers if math.isfinite(n)), default=0.0)
    if largest == 0:
        return 2
    if not 1e-4 <= largest < 1e12:
        return -1
    return 0 if largest >= 1e7 else max(2, 3 - math.floor(math.log10(largest)))


def number(value: float, places: int, sign: bool = False) -> str:
    """The number with that many decimals and groups of three digits.

    >>> number(-1234.5678, 2), number(3.0, 1, sign=True), number(1e-9, -1)
    ('-1,234.57', '+3.0', '1.000e-09')
    """
    plus = "+" if sign else ""
    text = format(value, f"{plus}.3e" if places < 0 else f"{plus},.{places}f")
    return text.replace("-", "", 1) if text.startswith("-") and not float(text.replace(",", "")) else text


def percent(share: float | None) -> str:
    """A share with one decimal; nothing where there is none.

    >>> percent(0.25), percent(None)
    ('25.0%', '')
    """
    return "" if share is None else f"{number(100 * share, 1)}%"
