"""The command line: `npdec explain FILE.py:FUNCTION --data DATA.csv --row K --baseline mean`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import npdec as np
from npdec._law.named_rules import has_reverse_mode
from npdec.explain.data import Table, baseline_file, read_baseline, read_table, select_columns, select_rows
from npdec.explain.errors import InputError, OutputError, one_line, tell
from npdec.explain.loader import Script
from npdec.explain.output import check_apart, check_writable, write_results
from npdec.explain.plot import check_plot, draw
from npdec.explain.report import Report
from npdec.explain.runner import Explanation, Model, noting

__all__ = ["main"]

T = TypeVar("T")

_COMPLETE = 1e-6  # relative; a larger completeness error gets a warning

_EPILOG = """\
FILE.py is an ordinary script that says `import numpy as np`; it is not edited. FUNCTION takes one row as a 1-d array of
the columns in their order, or parameters that are named like columns, and returns a number.

  npdec explain examples/diabetes.py:predict --data examples/diabetes.csv --row 0 --baseline mean
  npdec explain examples/black_scholes.py:value --data examples/market.csv --row 1 --baseline 0 --plot bridge.png

The exit code is 0, 2 for input that cannot be used, 1 where the report cannot be written, 130 after Ctrl-C.
"""


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        """argparse would pass over what cannot be written."""
        with _reporting():
            (file or sys.stdout).write(self.format_help())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="npdec", description="NumPy's API over torch tensors, with exact additive attribution.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    explain = commands.add_parser(
        "explain",
        help="which column moved the number that a NumPy script computes, and by how much",
        description="Attribute the number that FUNCTION computes from a row of DATA to the row's columns.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = explain.add_argument
    add("function", metavar="FILE.py:FUNCTION", help="the script and the function in it")
    add("--data", required=True, type=Path, metavar="CSV", help="the rows, under a line of column names")
    add("--row", required=True, metavar="K", help="row to explain, counted from 0: 7, or 3,5,8, or 0:10, or all")
    add(
        "--baseline",
        required=True,
        metavar="WHAT",
        help="where the explanation starts: mean, median or zero, a row number, or a CSV file with one row",
    )
    add("--columns", metavar="A,B,…", help="input columns, in this order (default: all)")
    add("--target", metavar="NAME", help="the column that is predicted, which is no input")
    add("--drop", metavar="A,B,…", help="columns that are no input, such as names and dates")
    add("--output", type=int, metavar="I", help="which element explains a function that returns several numbers")
    add("--mode", choices=("reverse", "forward"), default="reverse", help="how to compute it (default: reverse)")
    add("--rule", metavar="NAME", help="rule for nonlinear functions, as np.rule names it (default: affine)")
    add("--top", type=int, metavar="N", help="show the N largest contributions, and the others as one line")
    add("--out", type=Path, metavar="FILE", help="write the contributions to FILE.csv or FILE.json")
    add("--plot", type=Path, metavar="FILE", help="draw the bridge from baseline to value: FILE.png, .svg or .pdf")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments.

    Returns 0, or after one line on stderr 2 for input that cannot be used, 1 where the report cannot be written, 130
    after Ctrl-C; and 141, without a word, if the reader of a pipe has gone.
    """
    try:
        _explain(_parser().parse_args(argv))
        return 0
    except InputError as error:
        tell(f"error: {error}")
        return 2
    except OutputError as error:
        tell(f"error: {error}")
        _give_up_stdout()
        return 1
    except SystemExit as stop:  # --help
        return int(stop.code or 0)
    except KeyboardInterrupt:
        tell("interrupted")
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone
        _give_up_stdout()
        return 141


@contextlib.contextmanager
def _reporting() -> Iterator[None]:
    """Raise OutputError if what is written within does not reach standard output."""
    _check_stdout()
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the report cannot be written: {error.strerror or error}") from error


def _check_stdout() -> None:
    if sys.stdout is None or sys.stdout.closed:
        raise OutputError("standard output is closed; send it to /dev/null to do without the report")


def _give_up_stdout() -> None:
    """Let what could not be written go to nobody: Python tries again when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(options: argparse.Namespace) -> None:
    file, _, name = options.function.rpartition(":")
    if not file or not name:
        raise InputError(f"{options.function!r} is not FILE.py:FUNCTION")
    if options.top is not None and options.top < 1:
        raise InputError(f"--top {options.top}: must be at least 1")
    _check_stdout()
    _check_outputs(options, Path(file))
    if options.rule:
        _check_rule(options.rule, options.mode)

    table = read_table(options.data)
    rows = select_rows(options.row, len(table))
    drop = [*_names(options.drop), *([options.target] if options.target else [])]
    columns = select_columns(table, _names(options.columns) or None, drop)
    warned: dict[str, None] = {}
    with contextlib.ExitStack() as stack:
        with noting(warned):
            script = stack.enter_context(Script(Path(file)))
        model = Model.bind(script, name, columns, options.output, warned)
        advice = "" if model.by_name else "; leave it out with --drop, or choose the inputs with --columns"
        table.check_numeric(model.names, advice)
        inputs = [table.numbers(row, model.names) for row in rows]
        baseline = read_baseline(options.baseline, table, model.names)
        baseline_value = model.at_baseline(baseline)
        explanations = [
            model.explain(
                row, _title(table, row, model.names), values, baseline, baseline_value, options.mode, options.rule
            )
            for row, values in _progress(list(zip(rows, inputs)))
        ]
    worst = max(explanations, key=lambda item: item.relative_error)
    if worst.relative_error > _COMPLETE:
        warned[f"the contributions at row {worst.row} miss the value by {worst.relative_error:.1g} of it"] = None
    try:
        with noting(warned):
            _write_files(options, explanations)
    finally:
        for message in warned:
            tell(f"warning: {message}")
    with _reporting():
        report = Report(sys.stdout, options.top)
        report.show(explanations, options.function, str(options.data), _origin(options.baseline))


def _check_outputs(options: argparse.Namespace, script: Path) -> None:
    """Raise InputError if a file cannot be written, or is one that is read."""
    inputs = {"the data": options.data, "the script": script, "the baseline": baseline_file(options.baseline)}
    if options.out:
        check_writable(options.out, (".csv", ".json"), "--out")
    if options.plot:
        check_plot(options.plot)
    check_apart({"--out": options.out, "--plot": options.plot}, inputs)


def _write_files(options: argparse.Namespace, explanations: Sequence[Explanation]) -> None:
    if options.out:
        about = {
            "function": options.function,
            "data": str(options.data),
            "baseline": options.baseline,
            "mode": options.mode,
            "rule": options.rule or "affine",
        }
        write_results(options.out, explanations, about)
    if options.plot:
        draw(options.plot, explanations, options.function, options.top)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _origin(baseline: str) -> str:
    return f"row {baseline}" if baseline.lstrip("+-").isdigit() else baseline


def _title(table: Table, row: int, columns: Sequence[str]) -> str:
    """The row's number, and the cells of columns that are no input: a date, a name, the target."""
    other = [(name, cell.strip()) for name, cell in zip(table.names, table.rows[row]) if name not in columns]
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


def _progress(items: list[T]) -> Iterator[T]:
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
