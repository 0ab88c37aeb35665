"""Standard output and standard error of a command, which may be full, closed, or read by nobody."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

__all__ = ["OutputError", "check_stdout", "give_up", "let_go", "reporting", "say"]


class OutputError(Exception):
    """The report cannot be written to standard output."""


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Raise OutputError if what is written within does not reach standard output."""
    check_stdout()
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the report cannot be written: {error.strerror or error}") from error


def check_stdout() -> None:
    if sys.stdout is None or sys.stdout.closed:
        raise OutputError("standard output is closed; send it to /dev/null to do without the report")


def give_up(stream: TextIO | None) -> None:
    """Let what could not be written go to nobody: Python tries again when it ends, and has an exit code of its own for
    that."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(line: str) -> None:
    """Write a line to standard error, if anybody listens there."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it is full, or closed, or None
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def let_go() -> None:
    """Give up what standard error does not take, before the process ends."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        give_up(sys.stderr)
