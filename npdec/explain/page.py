"""The report as one HTML file: plots and tables, for a browser; nothing is loaded from elsewhere."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path

from npdec._show.words import decimals, percent, visible
from npdec.explain.errors import InputError
from npdec.explain.explanation import Explanation, over_rows
from npdec.explain.interactions import Pair
from npdec.explain.output import check_writable, replacing
from npdec.explain.plot import drawn
from npdec.explain.writing import Numbers, cell_text

__all__ = ["check_page", "write_page"]

_MOST_ROWS = 50  # rows that get a table each
_COLUMNS = 100  # columns in a table unless --top says otherwise

_STYLE = """\
:root { color-scheme: light dark; --ink: #22303c; --faint: #66747f; --line: #dde3e8; --back: #fff; --up: #0072b2;
  --down: #d55e00; --panel: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --faint: #9aa7b2; --line: #3a4650; --back: #15191d;
  --up: #56b4e9; --down: #e69f00; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.35rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; overflow-wrap: anywhere; }
p { overflow-wrap: anywhere; } .quiet { color: var(--faint); }
.plot { background: var(--panel); border-radius: 6px; padding: .5rem; overflow-x: auto; }
.plot svg { max-width: 100%; height: auto; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; max-width: 18rem; }
td.bar { width: 30%; min-width: 8rem; padding: 0; position: relative; }
td.bar span { position: absolute; top: calc(50% - .4em); height: .8em; }
.up { background: var(--up); } .down { background: var(--down); }
tfoot td { font-weight: 600; } details { margin: 1rem 0; } summary { cursor: pointer; }
"""


def check_page(path: Path) -> None:
    """Raise InputError, before any work, if the page cannot be written there."""
    check_writable(path, (".html", ".htm"), "--html")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("--html needs matplotlib: pip install matplotlib") from None


def write_page(
    path: Path,
    explanations: Sequence[Explanation],
    shown: tuple[str, str, str],
    top: int | None,
    numbers: Numbers,
    pairs: Sequence[Sequence[Pair]] = (),
    by: str = "group",
) -> None:
    """Write the page: a plot of all rows, a summary of them and of each group (of the column `by`), a table for each
    row."""
    what, data, baseline = shown
    worst = max(item.relative_error for item in explanations)
    about = f"{data} · baseline {baseline} · completeness error at most {worst:.1e} relative"
    parts = [f"<h1>{_escaped(what)}</h1>", f'<p class="quiet">{_escaped(about)}</p>']
    svg = drawn(explanations, what, top, numbers)
    parts.append(f'<div class="plot">{svg[svg.index("<svg") :]}</div>')
    if len(explanations) > 1:
        parts += [f"<h2>All {len(explanations)} rows</h2>", _summary(explanations, top, numbers)]
    for group in sorted({item.group for item in explanations if item.group is not None}):
        members = [item for item in explanations if item.group == group]
        parts += [f"<h2>{_escaped(f'{by}={group}')}: {len(members)} rows</h2>", _summary(members, top, numbers)]
    opened = " open" if len(explanations) == 1 else ""
    for i, item in enumerate(explanations[:_MOST_ROWS]):
        inside = _row(item, top, numbers) + (_together(pairs[i], top, numbers) if pairs else "")
        parts.append(f"<details{opened}><summary>{_escaped(item.title)}</summary>{inside}</details>")
    if left := len(explanations[_MOST_ROWS:]):
        parts.append(f'<p class="quiet">{left} more rows; --out FILE.csv writes all of them</p>')
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_escaped(what)}</title>'
    head += f"<style>{_STYLE}</style>"
    text = f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'
    with replacing(path, "--html") as temporary:
        temporary.write_text(text, "utf-8", "backslashreplace", newline="")


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def _row(item: Explanation, top: int | None, numbers: Numbers) -> str:
    ranked = item.ranked()
    places = decimals([*item.contributions, item.not_attributed])
    lines = [(line.name, cell_text(line.input), cell_text(line.baseline), line.contribution) for line in ranked]
    most = top or _COLUMNS
    if len(lines) > most:
        rest = math.fsum(line[-1] for line in lines[most:])
        lines = [*lines[:most], (f"{len(lines) - most} others", "", "", rest)]
    if item.not_attributed:
        lines.append(("(not attributed)", "", "", item.not_attributed))
    cells = [
        [*line[:3], numbers.text(line[3], places, sign=True), percent(item.share(line[3]))] for line in lines
    ]  # fmt: skip
    total = math.fsum(line[3] for line in lines)
    foot = ["sum", "", "", numbers.text(total, places, sign=True), percent(item.share(total)), ""]
    figures = f"value {numbers.total(item.value, places)}, at the baseline {numbers.total(item.baseline_value, places)}"
    head = (
        "column",
        "input",
        "baseline",
        f"contribution [{numbers.unit}]" if numbers.unit else "contribution",
        "share",
        "",
    )
    return f"<p>{_escaped(figures)}</p>" + _table(head, cells, [line[3] for line in lines], foot)


def _summary(explanations: Sequence[Explanation], top: int | None, numbers: Numbers) -> str:
    lines = over_rows(explanations, top or _COLUMNS)
    places = decimals(n for line in lines for n in line[1:])
    cells = [
        [line[0], numbers.text(line[1], places), *(numbers.text(n, places, sign=True) for n in line[2:])]
        for line in lines
    ]
    return _table(("column", "mean size", "mean", "least", "most", ""), cells, [line.size for line in lines])


def _together(pairs: Sequence[Pair], top: int | None, numbers: Numbers) -> str:
    shown = [pair for pair in pairs if pair[2]][: top or 20]
    places = decimals(pair[2] for pair in shown)
    cells = [[a, b if a != b else "alone", numbers.text(c, places, sign=True)] for a, b, c in shown]
    return _table(("column", "together with", "contribution", ""), cells, [pair[2] for pair in shown])


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], amounts: Sequence[float], foot: Sequence[str] = ()
) -> str:
    """A table whose last column has a bar for each amount, from an axis that all share."""
    low, high = min([0.0, *amounts]), max([0.0, *amounts])
    span = (high - low) or 1.0
    lines = []
    for row, amount in zip(rows, amounts):
        left, width = 100 * (min(amount, 0.0) - low) / span, 100 * abs(amount) / span
        kind = "down" if amount < 0 else "up"
        bar = f'<td class="bar"><span class="{kind}" style="left:{left:.2f}%;width:{width:.2f}%"></span></td>'
        lines.append("<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + bar + "</tr>")
    top = "".join(f"<th>{_escaped(cell)}</th>" for cell in head)
    end = f"<tfoot><tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in foot)}</tr></tfoot>" if foot else ""
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody>{end}</table></div>'
