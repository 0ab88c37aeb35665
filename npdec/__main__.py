"""`python -m npdec` and the `npdec` command: the subcommands and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from npdec._core import interrupted_start
from npdec._running import command
from npdec.explain import cli

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; `argv` without the program's name, by default the command line. Returns the exit code."""
    interrupted_start.collect_again()
    interrupted_start.raise_on_interrupt()
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in command.COMMANDS:
        return command.main(words[0], words[1:])
    return cli.main(words, command.COMMANDS)


if __name__ == "__main__":
    sys.exit(main())
