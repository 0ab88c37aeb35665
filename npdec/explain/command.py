"""What the command does with its options: read, explain, write, show."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import npdec as np
from npdec._law.named_rules import has_reverse_mode
from npdec.explain.batches import explain_all
from npdec.explain.data import PIPED, Reading, read_table, select_columns, select_rows
from npdec.explain.errors import InputError, counted, one_line, tell
from npdec.explain.estimators import Saved
from npdec.explain.explanation import Explanation
from npdec.explain.inputs import Inputs, baseline_file, usable_columns
from npdec.explain.interactions import Pair, interactions
from npdec.explain.output import check_apart, check_writable, write_results
from npdec.explain.page import check_page, write_page
from npdec.explain.plot import check_plot, draw
from npdec.explain.report import Report
from npdec.explain.runner import Model, Start, Task, noting
from npdec.explain.sources import Again, named_function, opened
from npdec.explain.table import Table
from npdec.explain.writing import Numbers

__all__ = ["explain"]

T = TypeVar("T")

_COMPLETE = 1e-6  # relative; a larger completeness error gets a warning
_PAIRED = 5  # rows of which pairs are shown
_CHECKED = 200  # rows on which an estimator's own predictions are compared


def explain(options: argparse.Namespace, reporting: Callable[[], contextlib.AbstractContextManager[None]]) -> None:
    """Run the command. Raises InputError for what cannot be used; what `reporting` surrounds is the report."""
    path, name = named_function(options.function)
    _check_options(options, path)
    how = Reading(options.encoding, options.decimal, options.sheet)
    table = read_table(options.data, how)
    for option in ("encoding", "sheet"):
        if getattr(options, option) is not None and option not in table.takes:
            said = one_line(getattr(options, option), 60)
            raise InputError(f"--{option} {said}: {table.path} is no {'text' if option == 'encoding' else 'workbook'}")
    rows = select_rows(options.row, len(table))
    drop = [*_names(options.drop), *([options.target] if options.target else [])]
    columns = select_columns(table, None if options.columns is None else _names(options.columns), drop)
    if options.by is not None and options.by not in table.names:
        raise InputError(f"{table.path}: --by {options.by}: has no such column")
    warned: dict[str, None] = {}
    notes = list(table.notes)
    with contextlib.ExitStack() as stack:
        with noting(warned):
            source = opened(path)
            stack.enter_context(source)
        if isinstance(source, Saved):
            name, columns = name or source.default, source.columns_of(columns)
        model = Model.bind(source, name, columns, options.output, warned)
        advice = "" if model.by_name else "; leave it out with --drop, or choose the inputs with --columns"
        names = model.names
        if not (model.by_name or options.columns or isinstance(source, Saved)):
            names, left = usable_columns(table, names, options.encode)
            notes += left
        known: tuple[Mapping[str, Any], Mapping[str, Any]] = {}, {}
        if isinstance(source, Saved):
            known = source.categories(names), source.fills(names)
            names = source.used(names)
        inputs = Inputs.make(table, names, options.encode, options.missing, advice, *known)
        model.takes(inputs)
        if units := [f"{n!r} in {table.kind(n).unit}" for n in names if table.kind(n).unit]:
            notes.append(f"numbers with a unit are taken as they are written: {', '.join(units)}")
        kept = inputs.whole(rows)
        if len(kept) < len(rows):
            notes.append(_left_out([row for row in rows if row not in set(kept)]))
        if not kept:
            raise InputError(f"{table.path}: every row that was asked for has missing cells")
        group = table.cells(options.by) if options.by is not None else None
        tasks = [
            Task(row, _title(table, row, names), inputs.point(row), group[row].strip() if group else None)
            for row in kept
        ]
        if inputs.filled:
            filled = counted(len(inputs.filled), "missing cell")
            notes.append(f"filled {filled} with the {options.missing} of the column")
        if inputs.filled_by_model:
            notes.append(f"the model fills {counted(len(inputs.filled_by_model), 'missing cell')}")
        base = inputs.baseline(options.baseline, how)
        if isinstance(source, Saved):
            checked = tasks[:_CHECKED]
            points = [task.point.features for task in checked]
            source.check(model.function, name, points, [inputs.cells(task.row) for task in checked])
        start = Start(base, model.at_baseline(base), options.mode, options.rule)
        explanations = explain_all(model, tasks, start, _progress, options.jobs, Again.of(model))
        pairs = _pairs(model, tasks, start) if options.interactions else []
    worst = max(explanations, key=lambda item: item.relative_error)
    if worst.relative_error > _COMPLETE:
        warned[f"the contributions at row {worst.row} miss the value by {worst.relative_error:.1g} of it"] = None
    numbers = Numbers(options.unit or "", options.format)
    shown = str(options.function), _said(options.data), _origin(options.baseline)
    try:
        with noting(warned):
            _write_files(options, explanations, pairs, shown, numbers)
    finally:
        for note in notes:
            tell(f"note: {note}")
        for message in warned:
            tell(f"warning: {message}")
    with reporting():
        Report(sys.stdout, options.top, numbers).show(explanations, *shown, pairs, options.by or "")


def _pairs(model: Model, tasks: Sequence[Task], start: Start) -> list[list[Pair]]:
    if len(tasks) > _PAIRED:
        raise InputError(
            f"--interactions shows the pairs of {_PAIRED} rows at most, not of {len(tasks)}; choose with --row"
        )
    return [interactions(model, task, start) for task in tasks]


def _check_options(options: argparse.Namespace, path: Path) -> None:
    """Raise InputError if an option has no meaning, a file cannot be written, or is one that is read."""
    for option in ("top", "jobs"):
        number = getattr(options, option)
        if number is not None and number < 1:
            raise InputError(f"--{option} {number}: must be at least 1")
    if options.format is not None:
        Numbers.check(options.format)
    start = baseline_file(options.baseline)
    data = None if options.data == PIPED else options.data
    if options.out:
        check_writable(options.out, (".csv", ".json"), "--out")
    if options.plot:
        check_plot(options.plot)
    if options.html:
        check_page(options.html)
    outputs = {"--out": options.out, "--plot": options.plot, "--html": options.html}
    check_apart(outputs, {"the data": data, "the script": path, "the baseline": start})
    if options.rule:
        _check_rule(options.rule, options.mode)


def _write_files(
    options: argparse.Namespace,
    explanations: Sequence[Explanation],
    pairs: Sequence[Sequence[Pair]],
    shown: tuple[str, str, str],
    numbers: Numbers,
) -> None:
    if options.out:
        about = {
            "function": options.function,
            "data": shown[1],
            "baseline": options.baseline,
            "mode": options.mode,
            "rule": options.rule or "affine",
        }
        write_results(options.out, explanations, about, pairs)
    if options.plot:
        draw(options.plot, explanations, options.function, options.top, numbers)
    if options.html:
        write_page(options.html, explanations, shown, options.top, numbers, pairs, options.by or "")


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _said(path: Path) -> str:
    return "standard input" if path == PIPED else str(path)


def _origin(baseline: str) -> str:
    return f"row {baseline}" if baseline.lstrip("+-").isdigit() else baseline


def _left_out(rows: Sequence[int]) -> str:
    listed = ", ".join(map(str, rows[:10])) + (", …" if len(rows) > 10 else "")
    return f"left out {counted(len(rows), 'row')} with missing cells: {listed}"


def _title(table: Table, row: int, columns: Sequence[str]) -> str:
    """The row's number, and the cells of columns that are no input: a date, a name, the target."""
    used = set(columns)
    other = [(name, cell.strip()) for name, cell in zip(table.names, table.rows[row]) if name not in used]
    return " ".join([f"row {row}", *(one_line(f"{name}={cell}", 40) for name, cell in other[:2] if cell)])


def _check_rule(name: str, mode: str) -> None:
    try:
        with np.rule(name):
            pass
    except ValueError as error:
        raise InputError(f"--rule {name}: {one_line(error)}") from None
    if mode == "reverse" and not has_reverse_mode(name):
        raise InputError(
            f"--rule {name} is not linear in the contributions, so it has no reverse mode; use --mode forward"
        )


def _progress(items: Sequence[T]) -> Iterator[T]:
    """The items, with a progress bar on stderr if they are several and it is a terminal."""
    if len(items) < 2 or sys.stderr is None or not sys.stderr.isatty():
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError:
        for i, item in enumerate(items, 1):
            sys.stderr.write(f"\rexplaining row {i} of {len(items)}")
            sys.stderr.flush()
            yield item
        sys.stderr.write("\r\033[K")
        return
    yield from track(items, "explaining rows", console=Console(stderr=True), transient=True)
