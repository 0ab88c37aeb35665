"""Words coloured by their contributions, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from npdec._show.html_style import block, escape, page
from npdec._show.parts import Parts, name_of
from npdec._show.words import decimals, number

__all__ = ["Html", "text"]

_UP, _DOWN = "0,114,178", "213,94,0"
_DEEPEST = 0.6  # of the colour of the largest contribution: the text on it stays legible, light or dark


class Html:
    """A piece of HTML: a notebook shows it, `str` is its source, `save` writes it as a page."""

    def __init__(self, title: str, source: str) -> None:
        self.title, self.source = title, source

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"<HTML of {len(self.source):,} characters: {self.title}>"

    def _repr_html_(self) -> str:
        return self.source

    def save(self, path: str | PathLike[str]) -> None:
        """Write a page of its own, which needs no other file."""
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page(self.title, self.source))


def text(parts: Parts, words: Sequence[Any] | None, title: str | None, unit: str) -> Html:
    """`Plots.text`."""
    parts = parts.real("plot.text").of_number("plot.text")
    shown = list(parts.labels) if words is None else list(words)
    if len(shown) != len(parts.labels):
        raise ValueError(f"plot.text: {len(parts.labels)} components need as many words, not {len(shown)}")
    amounts = parts.amounts.tolist()
    finite = [abs(amount) for amount in amounts if abs(amount) < float("inf")]
    most, places = max(finite, default=0.0) or 1.0, decimals(finite)
    between = "" if any(str(word) != str(word).strip() for word in shown) else " "  # tokens bring their blanks
    spans = []
    for word, amount in zip(shown, amounts, strict=True):
        depth = _DEEPEST * min(1.0, abs(amount) / most) if amount == amount else 0.0  # noqa: PLR0124 - nan
        told = f"{number(amount, places, sign=True)}{f' {unit}' if unit else ''}"
        colour = f"rgba({_UP if amount >= 0 else _DOWN},{depth:.3f})"
        spans.append(f'<span style="background:{colour}" title="{escape(told)}">{escape(word)}</span>')
    title = title or "Contributions of words"
    shades = f"linear-gradient(90deg,rgba({_DOWN},{_DEEPEST}),transparent,rgba({_UP},{_DEEPEST}))"
    low, high = (escape(number(end, places, sign=True)) for end in (-most, most))
    key = f'{low}<span class="key" style="background:{shades}"></span>{high}'
    head = f'<div class="head"><b>{escape(title)}</b></div><div class="head quiet">{escape(parts.notes(unit))}</div>'
    body = f'<div class="words">{between.join(spans)}</div><div class="quiet">{key} {escape(unit)}</div>'
    return Html(name_of(title), block(head + body))
