"""Prints the results: a ranked table with bars, in colour where rich is installed and the terminal shows it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from npdec._show.words import decimals, number, percent, visible
from npdec.explain.runner import Explanation

__all__ = ["Report"]

Line = list[tuple[str, str]]  # pieces of text, each with a style of rich

_FANCY = {"full": "█", "left": "▌", "right": "▐", "axis": "│", "rule": "─", "more": "…", "dot": "·"}
_ASCII = {"full": "#", "left": "", "right": "", "axis": "|", "rule": "-", "more": "~", "dot": "-"}

_DETAILED = 5  # more rows than this are listed, a line each
_LISTED = 30
_UP, _DOWN, _QUIET, _HEAD = "green", "red", "bright_black", "bold"


def _short(value: float) -> str:
    text = format(value, ".6g")
    return format(value, ",.0f") if "e+" in text and abs(value) < 1e12 else text


@dataclass
class _Grid:
    """Cells under headings, each column as wide as its widest cell; the first two characters of a line are margin."""

    headings: Sequence[str]
    rows: list[list[str]]
    styles: list[str]
    left: tuple[int, ...] = (0,)  # the columns that are aligned on the left

    def widths(self, report: Report) -> list[int]:
        return [max(map(report.length, column)) for column in zip(self.headings, *self.rows)]

    def lines(self, report: Report) -> list[Line]:
        widths = self.widths(report)

        def line(cells: Sequence[str], style: str) -> Line:
            padded = []
            for i, (cell, width) in enumerate(zip(cells, widths)):
                space = " " * (width - report.length(cell))
                padded.append(cell + space if i in self.left else space + cell)
            return [("  " + "  ".join(padded), style)]

        return [line(self.headings, _HEAD), *map(line, self.rows, self.styles)]


class Report:
    """Writes to a stream, with rich if it is installed."""

    def __init__(self, stream: TextIO, top: int | None = None) -> None:
        self.stream = stream
        self.top = top
        self.width = max(60, min(shutil.get_terminal_size((80, 24)).columns, 120))
        try:
            "".join(_FANCY.values()).encode(getattr(stream, "encoding", None) or "utf-8")
            self.marks = _FANCY
        except (UnicodeEncodeError, LookupError):
            self.marks = _ASCII
        try:
            from rich.cells import cell_len
            from rich.console import Console

            self._console: Any = Console(file=stream, highlight=False)
            self.length: Callable[[str], int] = cell_len
        except ImportError:
            self._console = None
            self.length = len

    def show(self, explanations: Sequence[Explanation], what: str, data: str, baseline: str) -> None:
        """Print one row in full, a few rows one after the other, or many rows as a list; with their summary."""
        dot = f" {self.marks['dot']} "
        self._print([[(visible(what), _HEAD), (visible(f"{dot}baseline {baseline}{dot}{data}"), _QUIET)], []])
        if len(explanations) <= _DETAILED:
            for item in explanations:
                self._print(self._detail(item))
        else:
            self._print(self._list(explanations))
        if len(explanations) > 1:
            self._print(self._summary(explanations))
        if any(item.not_attributed for item in explanations):
            why = (
                "  not attributed: a branch, a mask or a sort order is not the same at the",
                "  baseline, a conversion dropped contributions, or the rule leaves a part",
            )
            self._print([*([(line, _QUIET)] for line in why), []])

    # One row.

    def _detail(self, item: Explanation) -> list[Line]:
        ranked = item.ranked()
        shown = ranked[: self.top]
        rest = math.fsum(line.contribution for line in ranked[len(shown) :])
        places = decimals([*item.contributions, item.not_attributed])
        rows, amounts = [], []
        for line in shown:
            cells = [self._fit(visible(line.name), 24), _short(line.input), _short(line.baseline)]
            rows.append([*cells, number(line.contribution, places, sign=True), percent(line.share)])
            amounts.append(line.contribution)
        if len(shown) < len(ranked):
            name = f"{len(ranked) - len(shown)} others"
            rows.append([name, "", "", number(rest, places, sign=True), percent(item.share(rest))])
            amounts.append(rest)
        if item.not_attributed:
            gap = item.not_attributed
            rows.append(["(not attributed)", "", "", number(gap, places, sign=True), percent(item.share(gap))])
            amounts.append(gap)
        total = math.fsum(amounts)
        rows.append(["sum", "", "", number(total, places, sign=True), percent(item.share(total))])
        headings = ("column", "input", "baseline", "contribution", "share")
        grid = _Grid(headings, rows, [""] * (len(rows) - 1) + [_HEAD])
        lines = self._with_bars(grid, amounts)
        lines.insert(len(lines) - 1, self._rule(grid))

        figures = [item.value, item.baseline_value]
        texts = [number(n, places) for n in figures] + [number(item.change, places, sign=True)]
        width = max(map(len, texts))
        names = ("value", "value at the baseline", "change")
        head: list[Line] = [[(f"  {visible(item.title)}", _HEAD)], []]
        head += [[(f"  {name:21}  ", ""), (f"{text:>{width}}", _HEAD)] for name, text in zip(names, texts)]
        error = (
            f"  completeness error {item.error:.1e}, relative {item.relative_error:.1e}"
            if item.error
            else "  completeness error 0"
        )
        return [*head, [], *lines, [], [(error, _QUIET)], []]

    def _with_bars(self, grid: _Grid, amounts: Sequence[float]) -> list[Line]:
        """The lines of the grid, those of the amounts with a bar to the left or right of a common axis."""
        lines = grid.lines(self)
        used = sum(grid.widths(self)) + 2 * len(grid.headings) + 2
        room = max(8, min(self.width - used - 2, 48))
        below = max(0.0, -min(amounts, default=0.0))
        above = max(0.0, max(amounts, default=0.0))
        span = below + above or 1.0
        for line, amount in zip(lines[1:], amounts):
            line.append(("  ", ""))
            line.extend(self._bar(amount, below, span, room))
        return lines

    def _bar(self, amount: float, below: float, span: float, room: int) -> Line:
        """A bar in half characters, `room` wide for `span`, from an axis that leaves room for `below` on its left."""
        marks = self.marks
        axis = [(marks["axis"], _QUIET)] if below else []
        before = math.ceil(room * below / span)
        halves = round(2 * room * abs(amount) / span)
        full, half = divmod(halves, 2)
        if amount < 0:
            body = (marks["right"] if half else "") + marks["full"] * full
            return [(" " * (before - len(body)) + body, _DOWN), *axis]
        body = marks["full"] * full + (marks["left"] if half else "")
        return [(" " * before, ""), *axis, (body, _UP)]

    def _rule(self, grid: _Grid) -> Line:
        return [("  " + self.marks["rule"] * (sum(grid.widths(self)) + 2 * (len(grid.headings) - 1)), _QUIET)]

    # Several rows.

    def _list(self, explanations: Sequence[Explanation]) -> list[Line]:
        shown = explanations[:_LISTED]
        places = decimals(n for item in shown for n in (item.change, *item.contributions))
        rows = []
        for item in shown:
            cells = [str(item.row), number(item.value, places), number(item.change, places, sign=True)]
            rows.append([*cells, f"{item.error:.0e}", ""])
        grid = _Grid(("row", "value", "change", "error", "largest contributions"), rows, [""] * len(rows), left=(4,))
        lines = grid.lines(self)
        room = self.width - self.length(lines[0][0][0]) + len("largest contributions")
        for line, item in zip(lines[1:], shown):
            line[0] = (line[0][0].rstrip() + "  ", "")
            for part in item.ranked()[: self.top]:
                text = f"{self._fit(visible(part.name), 20)} {number(part.contribution, places, sign=True)}"
                room_left = room - sum(self.length(piece) for piece, _ in line[1:])
                if not part.contribution or self.length(text) > room_left:
                    break
                line.append((f"{text}   ", _DOWN if part.contribution < 0 else _UP))
        if len(shown) < len(explanations):
            left = len(explanations) - len(shown)
            lines.append([(f"  {self.marks['more']} {left} more rows; --out FILE.csv writes all of them", _QUIET)])
        return [*lines, []]

    def _summary(self, explanations: Sequence[Explanation]) -> list[Line]:
        """The columns over all rows, ranked by their mean magnitude."""
        count = len(explanations)
        columns = []
        for i, name in enumerate(explanations[0].names):
            moves = [item.contributions[i] for item in explanations]
            size = math.fsum(abs(move) / count for move in moves)
            columns.append((name, size, math.fsum(move / count for move in moves), min(moves), max(moves)))
        columns.sort(key=lambda column: -column[1])
        shown = columns[: self.top]
        places = decimals(n for column in shown for n in column[1:])
        rows = [
            [self._fit(visible(name), 24), number(size, places), *(number(n, places, sign=True) for n in others)]
            for name, size, *others in shown
        ]
        grid = _Grid(("column", "mean size", "mean", "least", "most"), rows, [""] * len(rows))
        worst = max(item.relative_error for item in explanations)
        values = math.fsum(item.value / count for item in explanations)
        starts = math.fsum(item.baseline_value / count for item in explanations)
        head = f"{count} rows: mean value {number(values, places)}, value at the baseline {number(starts, places)}"
        tail = f"  completeness error at most {worst:.1e} relative"
        return [
            [(f"  {head}", _HEAD)],
            [],
            *self._with_bars(grid, [column[1] for column in shown]),
            [],
            [(tail, _QUIET)],
            [],
        ]

    # Text.

    def _fit(self, text: str, width: int) -> str:
        """The text, cut to the width."""
        if self.length(text) <= width:
            return text
        while self.length(text) > width - 1:
            text = text[:-1]
        return text + self.marks["more"]

    def _print(self, lines: Sequence[Line]) -> None:
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        for line in lines:
            text = "".join(text for text, _ in line).rstrip() + "\n" if self._console is None else self._styled(line)
            self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def _styled(self, line: Line) -> str:
        """The line as rich shows it on this stream; written by us, who say what is wrong if it cannot be."""
        from rich.text import Text

        text = Text.assemble(*line)
        text.rstrip()
        with self._console.capture() as captured:
            self._console.print(text, soft_wrap=True)
        shown: str = captured.get()
        return shown
