"""A decomposition in HTML: the value, and a table with a bar for each label. Notebooks ask for it."""

from __future__ import annotations

from collections.abc import Sequence

from npdec._show.html_style import block, escape
from npdec._show.parts import Others, Parts, Ranked
from npdec._show.words import decimals, number, percent

__all__ = ["MOST", "table"]

MOST = 100  # labels that have a line
_FIRST = 10  # labels that have one without being asked for, where there are many
_MANY = 16
_LINES = 12  # lines of text, up to which the numbers are not folded


def table(parts: Parts, head: str, text: str) -> str:
    """The HTML. `head` says what it is; `text` is the value, of which one number needs none."""
    single = parts.value.numel() == 1
    body = f'<div class="head"><b>{escape(head)}</b></div><div class="head quiet">{escape(parts.notes())}</div>'
    if not single:
        body += _folded("numbers", f"<pre>{escape_lines(text)}</pre>", text.count("\n") < _LINES)
    lines = _of_number if single else _of_array
    count = sum(label if isinstance(label, Others) else 1 for label in parts.labels)
    if count <= _MANY:
        return block(body + f'<div class="scroll">{lines(parts, MOST)}</div>')
    most = f"all {count:,}" if count <= MOST + 1 else f"the largest {MOST} of {count:,}"
    everything = _folded(f"{most} components", f'<div class="scroll">{lines(parts, MOST)}</div>', False)
    return block(body + f'<div class="scroll">{lines(parts, _FIRST)}</div>' + everything)


def escape_lines(text: str) -> str:
    return "\n".join(map(escape, text.split("\n")))


def _folded(summary: str, body: str, shown: bool) -> str:
    return f"<details{' open' if shown else ''}><summary>{escape(summary)}</summary>{body}</details>"


def _of_number(parts: Parts, most: int) -> str:
    ranked = parts.of_number("_repr_html_").ranked(most)
    complex_ = parts.amounts.is_complex()
    sizes = [abs(line.amount) if complex_ else line.amount for line in ranked]
    places = decimals(map(abs, sizes))
    rows = [
        [line.name, f"{line.amount:.6g}" if complex_ else number(line.amount, places, sign=True), percent(line.share)]
        for line in ranked
    ]
    shares = any(line.share is not None for line in ranked) and not complex_
    return _drawn(
        ["label", "contribution", *(["share"] if shares else []), ""], rows, sizes, _total(ranked, places, shares)
    )


def _total(ranked: Sequence[Ranked], places: int, shares: bool) -> list[str]:
    if any(isinstance(line.amount, complex) for line in ranked):
        return []
    return ["sum", number(sum(line.amount for line in ranked), places, sign=True), *(["100.0%"] if shares else [])]


def _of_array(parts: Parts, most: int) -> str:
    """Of several numbers: the mean of the magnitudes, the mean, and the least and most."""
    shown = parts.top(most)
    flat = shown.amounts.reshape(len(shown.labels), -1)
    if not flat.shape[1]:
        return _drawn(["label", ""], [[name] for name in shown.names()], [0.0] * len(shown.labels), [])
    sizes = flat.abs().mean(1).tolist()
    if flat.is_complex():
        rows = [[name, number(size, decimals(sizes))] for name, size in zip(shown.names(), sizes, strict=True)]
        return _drawn(["label", "mean size", ""], rows, sizes, [])
    least, largest = (bound.tolist() for bound in flat.aminmax(dim=1))
    means = flat.mean(1).tolist()
    places = decimals([*map(abs, least), *map(abs, largest)])
    rows = [
        [name, number(size, places), *(number(n, places, sign=True) for n in others)]
        for name, size, *others in zip(shown.names(), sizes, means, least, largest, strict=True)
    ]
    return _drawn(["label", "mean size", "mean", "least", "most", ""], rows, sizes, [])


def _drawn(headings: Sequence[str], rows: Sequence[Sequence[str]], sizes: Sequence[float], total: Sequence[str]) -> str:
    finite = [size if abs(size) < float("inf") else 0.0 for size in sizes]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    span = (high - low) or 1.0
    zero = -low / span
    cells = [_row("th", headings)]
    wide = len(headings) - 1
    for row, size in zip(rows, finite, strict=True):
        start, end = sorted((zero, zero + size / span))
        bar = (
            f'<td class="bar"><div class="track"><i class="{"up" if size >= 0 else "down"}" '
            f'style="left:{100 * start:.2f}%;width:{100 * (end - start):.2f}%"></i>'
            f'<b style="left:{100 * min(zero, 0.995):.2f}%"></b></div></td>'
        )
        cells.append(_row("td", row[:wide], bar))
    if total:
        cells.append(_row("td", total, "<td></td>", " sum"))
    return f"<table>{''.join(cells)}</table>"


def _row(tag: str, texts: Sequence[str], more: str = "", kind: str = "") -> str:
    first, *others = texts
    cells = f'<{tag} class="name{kind}">{escape(first)}</{tag}>'
    cells += "".join(f'<{tag} class="number{kind}">{escape(text)}</{tag}>' for text in others)
    return f"<tr>{cells}{more}</tr>"
