"""Prints the results: a ranked table with bars, in colour where rich is installed and the terminal shows it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from npdec._show.words import decimals, percent, visible
from npdec.explain.explanation import Explanation, over_rows
from npdec.explain.inputs import Cell
from npdec.explain.interactions import Pair
from npdec.explain.writing import PLAIN, Numbers, cell_text

__all__ = ["Report"]

Line = list[tuple[str, str]]  # pieces of text, each with a style of rich

_FANCY = {"full": "█", "left": "▌", "right": "▐", "axis": "│", "rule": "─", "more": "…", "dot": "·"}
_ASCII = {"full": "#", "left": "", "right": "", "axis": "|", "rule": "-", "more": "~", "dot": "-"}

_DETAILED = 5  # more rows than this are listed, a line each
_LISTED = 30
_PAIRS = 10
_UP, _DOWN, _QUIET, _HEAD = "green", "red", "bright_black", "bold"


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

    def __init__(self, stream: TextIO, top: int | None = None, numbers: Numbers = PLAIN) -> None:
        self.stream = stream
        self.top = top
        self.numbers = numbers
        self.width = max(60, min(shutil.get_terminal_size((80, 24)).columns, 120))
        try:
            "".join(_FANCY.values()).encode(getattr(stream, "encoding", None) or "utf-8")
            self.marks = _FANCY
        except (UnicodeEncodeError, LookupError):
            self.marks = _ASCII
        try:
            from rich.cells import cell_len
            from rich.console import Console

            class Shown(Console):
                def on_broken_pipe(self) -> NoReturn:
                    """rich ends the process, with another exit code than ours."""
                    raise BrokenPipeError

            self._console: Any = Shown(file=stream, highlight=False)
            self.length: Callable[[str], int] = cell_len
        except ImportError:
            self._console = None
            self.length = len

    def show(
        self,
        explanations: Sequence[Explanation],
        what: str,
        data: str,
        baseline: str,
        pairs: Sequence[Sequence[Pair]] = (),
        by: str = "group",
    ) -> None:
        """Print one row in full, a few rows one after the other, or many rows as a list; with their summary."""
        dot = f" {self.marks['dot']} "
        self._print([[(visible(what), _HEAD), (visible(f"{dot}baseline {baseline}{dot}{data}"), _QUIET)], []])
        if len(explanations) <= _DETAILED:
            for i, item in enumerate(explanations):
                self._print(self._detail(item))
                if pairs:
                    self._print(self._together(pairs[i]))
        else:
            self._print(self._list(explanations))
        if len(explanations) > 1:
            self._print(self._summary(explanations, ""))
        groups: dict[str, list[Explanation]] = {}
        for item in explanations:
            if item.group is not None:
                groups.setdefault(item.group, []).append(item)
        for group in sorted(groups)[:_LISTED]:
            self._print(self._summary(groups[group], f"{visible(f'{by}={group}')}: "))
        if len(groups) > _LISTED:
            self._print([[(f"  {self.marks['more']} {len(groups) - _LISTED} more groups", _QUIET)], []])
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
            cells = [self._fit(visible(line.name), 24), self._cell(line.input), self._cell(line.baseline)]
            rows.append([*cells, self.numbers.text(line.contribution, places, sign=True), percent(line.share)])
            amounts.append(line.contribution)
        if len(shown) < len(ranked):
            name = f"{len(ranked) - len(shown)} others"
            rows.append([name, "", "", self.numbers.text(rest, places, sign=True), percent(item.share(rest))])
            amounts.append(rest)
        if item.not_attributed:
            gap = item.not_attributed
            rows.append(
                ["(not attributed)", "", "", self.numbers.text(gap, places, sign=True), percent(item.share(gap))]
            )
            amounts.append(gap)
        total = math.fsum(amounts)
        rows.append(["sum", "", "", self.numbers.text(total, places, sign=True), percent(item.share(total))])
        headings = ("column", "input", "baseline", "contribution", "share")
        grid = _Grid(headings, rows, [""] * (len(rows) - 1) + [_HEAD])
        lines = self._with_bars(grid, amounts)
        lines.insert(len(lines) - 1, self._rule(grid))

        figures = [item.value, item.baseline_value]
        texts = [self.numbers.text(n, places) for n in figures] + [self.numbers.text(item.change, places, sign=True)]
        unit = f" {visible(self.numbers.unit)}".rstrip()
        width = max(map(len, texts))
        names = ("value", "value at the baseline", "change")
        head: list[Line] = [[(f"  {visible(item.title)}", _HEAD)], []]
        head += [[(f"  {name:21}  ", ""), (f"{text:>{width}}{unit}", _HEAD)] for name, text in zip(names, texts)]
        error = (
            f"  completeness error {item.error:.1e}, relative {item.relative_error:.1e}"
            if item.error
            else "  completeness error 0"
        )
        return [*head, [], *lines, [], [(error, _QUIET)], []]

    def _together(self, pairs: Sequence[Pair]) -> list[Line]:
        """What columns make alone and in pairs, the largest."""
        found = [pair for pair in pairs if pair[2]]
        shown = found[: self.top or _PAIRS]
        if not shown:
            return [[("  no column makes anything, alone or with another", _QUIET)], []]
        places = decimals(pair[2] for pair in shown)
        rows = []
        for one, other, amount in shown:
            names = [self._fit(visible(name), 24) for name in (one, other)]
            rows.append([names[0], names[1] if one != other else "alone", self.numbers.text(amount, places, sign=True)])
        grid = _Grid(("column", "together with", "contribution"), rows, [""] * len(rows), left=(0, 1))
        lines = self._with_bars(grid, [pair[2] for pair in shown])
        if left := len(found) - len(shown):
            lines.append([(f"  {self.marks['more']} {left} more; --out FILE.json writes all of them", _QUIET)])
        return [*lines, []]

    def _cell(self, cell: Cell) -> str:
        return self._fit(visible(cell_text(cell)), 16)

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
            cells = [
                str(item.row),
                self.numbers.text(item.value, places),
                self.numbers.text(item.change, places, sign=True),
            ]
            rows.append([*cells, f"{item.error:.0e}", ""])
        grid = _Grid(("row", "value", "change", "error", "largest contributions"), rows, [""] * len(rows), left=(4,))
        lines = grid.lines(self)
        room = self.width - self.length(lines[0][0][0]) + len("largest contributions")
        for line, item in zip(lines[1:], shown):
            line[0] = (line[0][0].rstrip() + "  ", "")
            for part in item.ranked()[: self.top]:
                text = f"{self._fit(visible(part.name), 20)} {self.numbers.text(part.contribution, places, sign=True)}"
                room_left = room - sum(self.length(piece) for piece, _ in line[1:])
                if not part.contribution or self.length(text) > room_left:
                    break
                line.append((f"{text}   ", _DOWN if part.contribution < 0 else _UP))
        if len(shown) < len(explanations):
            left = len(explanations) - len(shown)
            lines.append([(f"  {self.marks['more']} {left} more rows; --out FILE.csv writes all of them", _QUIET)])
        return [*lines, []]

    def _summary(self, explanations: Sequence[Explanation], group: str) -> list[Line]:
        """The columns over all rows, or those of a group, ranked by their mean magnitude."""
        count = len(explanations)
        shown = over_rows(explanations, self.top)
        places = decimals(n for column in shown for n in column[1:])
        rows = [
            [
                self._fit(visible(name), 24),
                self.numbers.text(size, places),
                *(self.numbers.text(n, places, sign=True) for n in others),
            ]
            for name, size, *others in shown
        ]
        grid = _Grid(("column", "mean size", "mean", "least", "most"), rows, [""] * len(rows))
        worst = max(item.relative_error for item in explanations)
        values = math.fsum(item.value / count for item in explanations)
        starts = math.fsum(item.baseline_value / count for item in explanations)
        mean, start = self.numbers.total(values, places), self.numbers.total(starts, places)
        head = f"{group}{count} row{'s' * (count > 1)}: mean value {mean}, value at the baseline {start}"
        tail = f"  completeness error at most {worst:.1e} relative"
        return [
            [(f"  {head}", _HEAD)],
            [],
            *self._with_bars(grid, [column.size for column in shown]),
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
