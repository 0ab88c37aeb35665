"""The command line: `npdec explain FILE.py:FUNCTION --data DATA.csv --row K --baseline mean`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from npdec._core.streams import OutputError, check_stdout, give_up, let_go, reporting
from npdec.explain.command import explain
from npdec.explain.errors import InputError, tell

__all__ = ["main"]

_KINDS = "the rows: CSV, Parquet, Feather, Excel, .npy, or - to read what is piped in"
_EPILOG = """\
FILE.py is an ordinary script that says `import numpy as np`; it is not edited. FUNCTION takes one row as a 1-d array of
the columns in their order, or parameters that are named like columns, and returns a number.

  npdec explain examples/diabetes.py:predict --data examples/diabetes.csv --row 0 --baseline mean
  npdec explain examples/black_scholes.py:value --data examples/market.csv --row 1 --baseline 0 --plot bridge.png
  npdec explain model.joblib --data customers.xlsx --row all --baseline median --by region --html report.html

The exit code is 0, 2 for input that cannot be used, 1 where the report cannot be written, 130 after Ctrl-C.
"""


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        """argparse would pass over what cannot be written."""
        with reporting():
            (file or sys.stdout).write(self.format_help())


def _parser(others: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="npdec", description="NumPy's API over torch tensors, with exact additive attribution.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    explained = commands.add_parser(
        "explain",
        help="which column moved the number that a NumPy script computes, and by how much",
        description="Attribute the number that FUNCTION computes from a row of DATA to the row's columns.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = explained.add_argument
    add("function", metavar="FILE.py:FUNCTION", help="the script and the function, or a model that joblib saved")
    add("--data", required=True, type=Path, metavar="FILE", help=_KINDS)
    add("--row", required=True, metavar="K", help="row to explain, counted from 0: 7, or 3,5,8, or 0:10, or all")
    add(
        "--baseline",
        required=True,
        metavar="WHAT",
        help="where the explanation starts: mean, median or zero, a row number, or a file with one row",
    )
    some = explained.add_argument_group("the data").add_argument
    some("--columns", metavar="A,B,…", help="input columns, in this order (default: all that hold numbers)")
    some("--target", metavar="NAME", help="the column that is predicted, which is no input")
    some("--drop", metavar="A,B,…", help="columns that are no input, such as names and dates")
    some(
        "--missing",
        choices=("mean", "median", "drop"),
        help="fill missing cells so, or leave out the rows that have some",
    )
    some(
        "--encode",
        action="store_true",
        help="columns of text are inputs: a number for each category, 1 for the row's own",
    )
    some("--encoding", metavar="NAME", help="of the text, such as cp1252 (default: UTF-8, or what its mark says)")
    some("--decimal", choices=(".", ","), help="the decimal mark (default: found from the numbers)")
    some("--sheet", metavar="NAME", help="the sheet of a workbook (default: the first)")
    some = explained.add_argument_group("the explanation").add_argument
    some("--output", type=int, metavar="I", help="which element explains a function that returns several numbers")
    some("--mode", choices=("reverse", "forward"), default="reverse", help="how to compute it (default: reverse)")
    some("--rule", metavar="NAME", help="rule for nonlinear functions, as np.rule names it (default: affine)")
    some("--interactions", action="store_true", help="show what pairs of columns make together")
    some("--jobs", type=int, metavar="N", help="processes for many rows (default: one for each core)")
    some = explained.add_argument_group("what is shown and written").add_argument
    some("--by", metavar="COLUMN", help="sum up the rows by the groups that this column names")
    some("--top", type=int, metavar="N", help="show the N largest contributions, and the others as one line")
    some("--unit", metavar="TEXT", help="of the number that is explained, such as EUR")
    some("--format", metavar="SPEC", help="how numbers are written, as Python's format(): ,.0f or .3e")
    some("--out", type=Path, metavar="FILE", help="write the contributions to FILE.csv or FILE.json")
    some("--plot", type=Path, metavar="FILE", help="draw the bridge from baseline to value: FILE.png, .svg or .pdf")
    some("--html", type=Path, metavar="FILE", help="write a report with plots and tables: FILE.html")
    for name, says in others.items():
        commands.add_parser(name, help=says)
    return parser


def main(argv: Sequence[str] | None = None, others: Mapping[str, str] | None = None) -> int:
    """Run the command with these arguments. `others` are commands with a parser of their own, which `--help` lists.

    Returns 0, or after one line on stderr 2 for input that cannot be used, 1 where the report cannot be written, 130
    after Ctrl-C; and 141, without a word, if the reader of a pipe has gone.
    """
    try:
        options = _parser(others or {}).parse_args(argv)
        check_stdout()
        explain(options, reporting)
        return 0
    except InputError as error:
        tell(f"error: {error}")
        return 2
    except OutputError as error:
        tell(f"error: {error}")
        give_up(sys.stdout)
        return 1
    except SystemExit as stop:  # --help
        return int(stop.code or 0)
    except KeyboardInterrupt:
        tell("interrupted")
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone
        give_up(sys.stdout)
        return 141
    finally:
        let_go()
