"""The commands `npdec run` and `npdec check`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from npdec._core.streams import OutputError, give_up, let_go, reporting, say
from npdec._running.check import checked
from npdec._running.program import ProgramError, run_file, run_module

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "run": "run a program with numpy meaning npdec in its own files, and in packages that are named",
    "check": "which names of NumPy a program or a package uses, and what npdec has for them",
}
_RUN = """\
What Python itself does: sys.argv, the folders that modules are looked for in, __main__, tracebacks, the exit code.
Its own files are those below the folder of FILE, or the package that MODULE is in and what is below the current folder;
numpy stays NumPy in all others that are not named by --also.

  npdec run simulation.py --steps 100
  npdec run --also filterpy --also pyquaternion tracker.py
  npdec run -m mypackage.report
"""
_CHECK = """\
Nothing is run or imported. Native names are npdec's own, guests and delegated ones NumPy's (docs: What torch cannot
hold; NumPy's names). The exit code is 1 if a name is absent.
"""


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line."""

    def error(self, message: str) -> NoReturn:
        raise ProgramError(f"{message}; see {self.prog} --help")


def _parser(command: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"npdec {command}",
        description=f"{COMMANDS[command][0].upper()}{COMMANDS[command][1:]}.",
        epilog=_RUN if command == "run" else _CHECK,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if command == "check":
        parser.add_argument("target", metavar="FILE|PACKAGE", help="a source, a folder, or the name of a package")
        return parser
    parser.usage = "npdec run [--also PACKAGE]... (FILE | -m MODULE) [ARGS...]"
    parser.add_argument(
        "--also", metavar="PACKAGE", action="append", default=[], help="numpy is npdec in this package too"
    )
    rest = argparse.REMAINDER
    parser.add_argument("-m", metavar="MODULE", dest="module", nargs=rest, help="run a module of a package")
    parser.add_argument("program", metavar="FILE", nargs=rest, help="the program, and what it finds in sys.argv")
    return parser


def main(command: str, argv: Sequence[str]) -> int:
    """Run one of the commands. Returns its exit code, which is 1 where the table of `check` cannot be written, and 141
    if the reader of a pipe has gone; what a program raises comes out."""
    try:
        options = _parser(command).parse_args(argv)
        if command == "check":
            return _check(options.target)
        _run(options)
    except ProgramError as error:
        say(f"npdec {command}: error: {error}")
        let_go()
        return 2
    return 0


def _check(target: str) -> int:
    try:
        with reporting():
            return checked(target, sys.stdout)
    except OutputError as error:
        say(f"npdec check: error: {error}")
        give_up(sys.stdout)
        let_go()
        return 1
    except BrokenPipeError:
        give_up(sys.stdout)
        return 141


def _run(options: Any) -> None:
    if options.module:
        name, *arguments = options.module
        run_module(name, arguments, options.also)
    elif options.program:
        file, *arguments = options.program
        run_file(file, arguments, options.also)
    else:
        raise ProgramError("which program? see npdec run --help")
